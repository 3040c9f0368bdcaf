/* Members against each other, image by image. */
#include <stdio.h>
#include <string.h>

#include "lab/shift_unit.h"

static const shift_member *find(const shift_run *run, const shift_seed *seed, const char *name)
{
    for (size_t m = 0; m < run->plan->method_count; m++)
        for (size_t i = 0; i < seed->found[m].member_count; i++)
            if (strcmp(seed->found[m].members[i].name, name) == 0)
                return &seed->found[m].members[i];
    return NULL;
}

/* Adds a against b, if both are there. */
static void add(json_t *list, const shift_run *run, const shift_seed *seed, const char *a,
                const char *b)
{
    const shift_member *one = find(run, seed, a), *two = find(run, seed, b);
    if (!one || !two || one == two)
        return;
    json_t *only_a = json_array(), *only_b = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        const bang_images *part = shift_part(seed, s);
        size_t first = seed->first[s];
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
        list, json_pack("{ss ss so so}", "a", a, "b", b, "only_a", only_a, "only_b", only_b));
}

/* Two members of methods: METHOD/NAME. */
static void add_named(json_t *list, const shift_run *run, const shift_seed *seed,
                      const char *method, const char *name, const char *other, const char *against)
{
    char a[64], b[64];
    snprintf(a, sizeof a, "%s/%s", method, name);
    snprintf(b, sizeof b, "%s%s%s", other, *other ? "/" : "", against);
    add(list, run, seed, a, b);
}

json_t *shift_contrasts(const shift_run *run, const shift_seed *seed)
{
    static const char *const within[] = {"fine", "ose", "calibrated_ose"};
    static const char *const chosen[] = {"exp1",
                                         "exp2",
                                         "confidence-id",
                                         "confidence-ood",
                                         "confidence-root-id",
                                         "confidence-root-ood",
                                         "layer-confidence-id",
                                         "layer-confidence-ood"};
    json_t *list = json_array();
    for (size_t m = 0; m < run->plan->method_count; m++) {
        const shift_method *method = run->plan->methods[m];
        const char *name = method->name, *base = shift_base(method);
        add_named(list, run, seed, name, "avg", "", "pre");
        for (size_t i = 0; i < sizeof within / sizeof *within; i++)
            add_named(list, run, seed, name, "avg", name, within[i]);
        add_named(list, run, seed, name, "avg", base, "avg");
        add_named(list, run, seed, name, "fine", base, "fine");
        for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
            add_named(list, run, seed, name, chosen[i], name, "avg");
            if (strcmp(name, base) != 0) /* against plain averages whose alpha was chosen */
                add_named(list, run, seed, name, "avg", base, chosen[i]);
        }
        add_named(list, run, seed, name, "exp2", name, "exp1");
    }
    return list;
}
