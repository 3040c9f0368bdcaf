/* Members against each other, image by image. */
#include <stdio.h>
#include <string.h>

#include "lab/shift_show.h"
#include "lab/shift_unit.h"

static const shift_member *find(const shift_run *run, const shift_seed *seed, const char *name)
{
    for (size_t m = 0; m < run->plan->method_count; m++)
        for (size_t i = 0; i < seed->found[m].member_count; i++)
            if (strcmp(seed->found[m].members[i].name, name) == 0)
                return &seed->found[m].members[i];
    return NULL;
}

/* What is compared so far. */
typedef struct pairs {
    const shift_run *run;
    const shift_seed *seed;
    json_t *list, *seen; /* seen: "a b" of each */
} pairs;

static int is_new(const pairs *p, const char *a, const char *b)
{
    char one[160], two[160];
    snprintf(one, sizeof one, "%s %s", a, b);
    snprintf(two, sizeof two, "%s %s", b, a);
    if (json_object_get(p->seen, one) || json_object_get(p->seen, two))
        return 0;
    json_object_set_new(p->seen, one, json_true());
    return 1;
}

/* Adds a against b, if both are there. */
static void add(const pairs *p, const char *a, const char *b)
{
    const shift_member *one = find(p->run, p->seed, a), *two = find(p->run, p->seed, b);
    if (!one || !two || one == two || !is_new(p, a, b))
        return;
    json_t *only_a = json_array(), *only_b = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        const bang_images *part = shift_part(p->seed, s);
        size_t first = p->seed->first[s];
        json_int_t alone[2] = {0, 0};
        for (size_t i = 0; i < part->count; i++) {
            int right = one->classes[first + i] == part->labels[i];
            int other = two->classes[first + i] == part->labels[i];
            alone[0] += right && !other;
            alone[1] += other && !right;
        }
        json_array_append_new(only_a, json_integer(alone[0]));
        json_array_append_new(only_b, json_integer(alone[1]));
    }
    json_array_append_new(
        p->list, json_pack("{ss ss so so}", "a", a, "b", b, "only_a", only_a, "only_b", only_b));
}

/* Two members of methods: METHOD/NAME. */
static void add_named(const pairs *p, const char *method, const char *name, const char *other,
                      const char *against)
{
    char a[64], b[64];
    snprintf(a, sizeof a, "%s/%s", method, name);
    snprintf(b, sizeof b, "%s%s%s", other, *other ? "/" : "", against);
    add(p, a, b);
}

/* A method against itself in other forms, and against its base. */
static void add_method(const pairs *p, const shift_method *method)
{
    static const char *const within[] = {"fine", "ose", "calibrated_ose"};
    static const char *const chosen[] = {"exp1",
                                         "exp2",
                                         "id-alpha",
                                         "confidence-id",
                                         "confidence-ood",
                                         "confidence-root-id",
                                         "confidence-root-ood",
                                         "layer-confidence-id",
                                         "layer-confidence-ood",
                                         "exp1-20",
                                         "exp1-30",
                                         "exp1-40",
                                         "exp2-20",
                                         "exp2-30",
                                         "exp2-40"};
    const char *name = method->name, *base = shift_base(method);
    add_named(p, name, "avg", "", "pre");
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        add_named(p, name, "avg", name, within[i]);
    add_named(p, name, "avg", base, "avg");
    add_named(p, name, "fine", base, "fine");
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        add_named(p, name, chosen[i], name, "avg");
        if (strcmp(name, base) != 0) /* against plain averages whose alpha was chosen */
            add_named(p, name, "avg", base, chosen[i]);
    }
    add_named(p, name, "exp2", name, "exp1");
}

enum { NAMES_MOST = 128 };

static size_t add_name(const char **names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return count;
    if (count < NAMES_MOST)
        names[count++] = name;
    return count;
}

/* Members whose accuracy a claim compares, each once, in the order of the claims. */
static size_t claimed(const char *names[NAMES_MOST])
{
    size_t claims, count = 0;
    const shift_claim *all = shift_claims(&claims);
    for (size_t c = 0; c < claims; c++)
        for (size_t k = 0; k < all[c].count; k++) {
            const shift_difference *d = &all[c].parts[k].difference;
            if (d->quantity != SHIFT_ACCURACY || !d->b)
                continue;
            count = add_name(names, count, d->a);
            count = add_name(names, count, d->b);
        }
    return count;
}

/* 1: both are MAIN or both LONG; the pre-trained model is of both. */
static int together(const char *a, const char *b)
{
    int one = strncmp(a, "long-", 5) == 0, two = strncmp(b, "long-", 5) == 0;
    return one == two || strcmp(a, "pre") == 0 || strcmp(b, "pre") == 0;
}

json_t *shift_contrasts(const shift_run *run, const shift_seed *seed)
{
    pairs p = {run, seed, json_array(), json_object()};
    const char *names[NAMES_MOST];
    for (size_t m = 0; m < run->plan->method_count; m++)
        add_method(&p, run->plan->methods[m]);
    /* any two of the claims' members, so that claims may change and records stay */
    size_t count = claimed(names);
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (together(names[i], names[k]))
                add(&p, names[i], names[k]);
    json_decref(p.seen);
    return p.list;
}
