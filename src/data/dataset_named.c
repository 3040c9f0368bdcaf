#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/base/utf8.h"
#include "bang/data/color.h"
#include "bang/data/shift.h"
#include "data/dataset.h"

enum { SPLIT, COUNT, SHIFT, SEED, PROTOCOL, KIND, KEYS };
static const char *const keys[KEYS] = {"split", "count", "p", "seed", "protocol", "kind"};

/* What a name asks for. */
typedef struct request {
    int which; /* of the sets below */
    bang_color_options color;
    bang_shift_options shift;
    unsigned seen; /* bit per key */
} request;

static int make_plain(bang_dataset *out, const bang_mnist *mnist, const request *r,
                      bang_error *err);
static int make_color(bang_dataset *out, const bang_mnist *mnist, const request *r,
                      bang_error *err);
static int make_shift(bang_dataset *out, const bang_mnist *mnist, const request *r,
                      bang_error *err);

static const struct {
    const char *name;
    unsigned keys; /* that it has */
    const char *give;
    int (*make)(bang_dataset *out, const bang_mnist *mnist, const request *r, bang_error *err);
} sets[] = {
    {"mnist", 1u << SPLIT | 1u << COUNT, "split or count", make_plain},
    {"multicolor", 1u << SPLIT | 1u << COUNT | 1u << SHIFT | 1u << SEED | 1u << PROTOCOL,
     "split, count, p, seed or protocol", make_color},
    {"singlecolor", 1u << SPLIT | 1u << COUNT | 1u << SHIFT | 1u << SEED | 1u << PROTOCOL,
     "split, count, p, seed or protocol", make_color},
    {"shift", 1u << SPLIT | 1u << COUNT | 1u << SEED | 1u << KIND, "kind, split, seed or count",
     make_shift},
    {"fashion-mnist", 1u << SPLIT | 1u << COUNT, "split or count", make_plain},
};
enum { SETS = sizeof sets / sizeof *sets, SINGLE = 2, SHIFTED = 3, FASHION = 4 };

/* All sets know train and test, one of them val. */
static const char *take_split(request *r, const char *value)
{
    int known = bang_shift_find_split(&r->shift.split, value) == 0;
    r->color.test = known && r->shift.split == BANG_SHIFT_TEST;
    if (r->which == SHIFTED)
        return known ? NULL : "train, val or test";
    return known && r->shift.split != BANG_SHIFT_VAL ? NULL : "train or test";
}

/* One key of a name. Says what is wrong in problems. */
static void take_setting(request *r, int key, const char *value, bang_text *problems)
{
    int64_t whole = 0;
    const char *must = NULL;
    switch (key) {
    case SPLIT:
        must = take_split(r, value);
        break;
    case COUNT:
        must = bang_text_to_int64(&whole, value) < 0 || whole < 1 ? "a whole number of 1 or more"
                                                                  : NULL;
        r->color.count = r->shift.count = (size_t)whole;
        break;
    case SHIFT:
        must = bang_text_to_double(&r->color.shift, value) < 0 || r->color.shift < 0 ||
                       r->color.shift > 1
                   ? "a number from 0 to 1"
                   : NULL;
        break;
    case SEED:
        must = bang_text_to_int64(&whole, value) < 0 || whole < 0 ? "a whole number of 0 or more"
                                                                  : NULL;
        r->color.seed = r->shift.seed = (uint64_t)whole;
        break;
    case PROTOCOL:
        must = bang_color_find_protocol(&r->color.protocol, value) < 0
                   ? "default, published or paper"
                   : NULL;
        break;
    default:
        must = bang_shift_find(&r->shift.kind, value) < 0 ? "broad, id, v2, r, a, s or o" : NULL;
    }
    if (must)
        bang_text_add(problems, "; %s=%s: must be %s", keys[key], value, must);
}

/* "key=value,key=value", each key once. */
static int take_settings(request *r, const char *settings, bang_text *problems, bang_error *err)
{
    char *copy = strdup(settings);
    if (!copy)
        return bang_fail_memory(err);
    for (char *item = copy, *next; item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        char *value = strchr(item, '=');
        if (!value) {
            bang_text_add(problems, "; \"%s\": write key=value", item);
            continue;
        }
        *value++ = '\0';
        int key = 0;
        while (key < KEYS && strcmp(keys[key], item) != 0)
            key++;
        unsigned bit = key < KEYS ? sets[r->which].keys & 1u << key : 0;
        if (!bit)
            bang_text_add(problems, "; %s: unknown: give %s", item, sets[r->which].give);
        else if (r->seen & bit)
            bang_text_add(problems, "; %s: given twice", item);
        else
            take_setting(r, key, value, problems);
        r->seen |= bit;
    }
    free(copy);
    return 0;
}

/* "NAME" or "NAME:settings". */
static int parse_name(request *r, const char *source, bang_error *err)
{
    size_t length = strcspn(source, ":");
    int which = 0;
    while (which < SETS &&
           (strlen(sets[which].name) != length || memcmp(sets[which].name, source, length) != 0))
        which++;
    if (which == SETS) {
        char shown[300];
        bang_utf8_clip(shown, sizeof shown, source);
        return bang_fail(err, BANG_EIO,
                         "%s: is no folder and no data set: give a folder, mnist, "
                         "fashion-mnist, multicolor, singlecolor or shift",
                         shown);
    }
    *r = (request){
        .which = which, .color = BANG_COLOR_OPTIONS_INIT, .shift = BANG_SHIFT_OPTIONS_INIT};
    r->color.single = which == SINGLE;
    bang_text problems = {0};
    int rc = source[length] ? take_settings(r, source + length + 1, &problems, err) : 0;
    if (!(r->seen & 1u << SPLIT))
        r->shift.split = bang_shift_usual_split(r->shift.kind);
    bang_error why = {0};
    if (bang_text_fail(&problems, &why) < 0 && rc == 0)
        rc = bang_fail(err, why.code, "%s: %s", sets[which].name, why.message);
    return rc;
}

static int copy_labels(bang_dataset *out, const uint8_t *labels, size_t count, bang_error *err)
{
    int rc = bang_array_init(&out->labels, BANG_I64, 1, &count, err);
    int64_t *to = out->labels.data;
    for (size_t i = 0; rc == 0 && i < count; i++)
        to[i] = labels[i];
    out->count = count;
    out->classes = BANG_COLOR_CLASSES;
    return rc;
}

static int make_plain(bang_dataset *out, const bang_mnist *mnist, const request *r, bang_error *err)
{
    const bang_color_options *options = &r->color;
    const bang_array *images = options->test ? &mnist->test_images : &mnist->train_images;
    const bang_array *labels = options->test ? &mnist->test_labels : &mnist->train_labels;
    size_t count = options->count ? options->count : images->shape[0];
    if (count > images->shape[0])
        return bang_fail(err, BANG_EUSAGE, "%s: count %zu: the split %s has %zu images at most",
                         sets[r->which].name, count, options->test ? "test" : "train",
                         images->shape[0]);
    size_t shape[3] = {count, images->shape[1], images->shape[2]};
    int rc = bang_array_init(&out->inputs, BANG_U8, 3, shape, err);
    if (rc < 0)
        return rc;
    memcpy(out->inputs.data, images->data, out->inputs.count);
    out->width = shape[1] * shape[2];
    out->class_names = r->which == FASHION ? bang_fashion_names : NULL;
    return copy_labels(out, labels->data, count, err);
}

static int make_color(bang_dataset *out, const bang_mnist *mnist, const request *r, bang_error *err)
{
    bang_color_set set;
    bang_error why = {0};
    int rc = bang_color_make(&set, mnist, &r->color, &why);
    if (rc < 0)
        return bang_fail(err, rc, "%s: %s", sets[r->which].name, why.message);
    size_t shape[4] = {set.count, BANG_COLOR_SIDE, BANG_COLOR_SIDE, 3};
    rc = bang_array_init(&out->inputs, BANG_U8, 4, shape, err);
    if (rc == 0) {
        bang_color_render(out->inputs.data, &set, 0, set.count);
        out->width = BANG_COLOR_PIXELS;
        rc = copy_labels(out, set.labels, set.count, err);
    }
    bang_color_release(&set);
    return rc;
}

static int make_shift(bang_dataset *out, const bang_mnist *mnist, const request *r, bang_error *err)
{
    bang_error why = {0};
    int rc = bang_shift_make(&out->inputs, &out->labels, mnist, &r->shift, &why);
    if (rc < 0)
        return bang_fail(err, rc, "shift: %s", why.message);
    out->count = out->labels.count;
    out->width = (size_t)BANG_SHIFT_SIDE * BANG_SHIFT_SIDE;
    out->classes = BANG_SHIFT_CLASSES;
    return 0;
}

int bang_dataset_named(bang_dataset *out, const char *source, bang_error *err)
{
    request r;
    bang_mnist mnist = {0};
    int rc = parse_name(&r, source, err);
    int fashion = rc == 0 && r.which == FASHION;
    if (rc == 0 && !fashion && !bang_mnist_present())
        rc = bang_mnist_get(NULL, NULL, err);
    if (rc == 0)
        rc = fashion ? bang_fashion_open(&mnist, err) : bang_mnist_open(&mnist, err);
    if (rc == 0)
        rc = sets[r.which].make(out, &mnist, &r, err);
    bang_mnist_release(&mnist);
    return rc;
}
