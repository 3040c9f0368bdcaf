#include "data/shift.h"

#include <string.h>

enum { CHUNK = 64 }; /* images of one task */

const char *const bang_shift_names[BANG_SHIFT_KINDS] = {"broad", "id", "v2", "r", "a", "s", "o"};
static const char *const splits[] = {"train", "val", "test"};

int bang_shift_find(bang_shift_kind *out, const char *name)
{
    for (int kind = 0; kind < BANG_SHIFT_KINDS; kind++)
        if (strcmp(bang_shift_names[kind], name) == 0) {
            *out = (bang_shift_kind)kind;
            return 0;
        }
    return -1;
}

int bang_shift_find_split(bang_shift_split *out, const char *name)
{
    for (int split = 0; split < 3; split++)
        if (strcmp(splits[split], name) == 0) {
            *out = (bang_shift_split)split;
            return 0;
        }
    return -1;
}

const char *bang_shift_split_name(bang_shift_split split)
{
    return splits[split];
}

/* Digits of a split in the file of 60,000 (of v2: 10,000), and how many renderings of them. */
typedef struct range {
    size_t first, end, renderings; /* end 0: there is no such split */
} range;

static const range ranges[BANG_SHIFT_KINDS][3] = {
    [BANG_SHIFT_BROAD] = {{0, 40000, 60000}, {0}, {44000, 45000, 1000}},
    [BANG_SHIFT_ID] = {{40000, 43000, 3000}, {43000, 44000, 1000}, {45000, 50000, 5000}},
    [BANG_SHIFT_V2] = {{0}, {0}, {0, 10000, 10000}},
    [BANG_SHIFT_R] = {{0}, {0}, {50000, 52500, 2500}},
    [BANG_SHIFT_A] = {{0}, {0}, {52500, 55000, 2500}},
    [BANG_SHIFT_S] = {{0}, {0}, {55000, 57500, 2500}},
    [BANG_SHIFT_O] = {{0}, {0}, {57500, 60000, 2500}},
};

bang_shift_split bang_shift_usual_split(bang_shift_kind kind)
{
    return ranges[kind][BANG_SHIFT_TRAIN].end ? BANG_SHIFT_TRAIN : BANG_SHIFT_TEST;
}

/* Files of another size are cut in the same shares. A bound grows with the digit it stands for,
 * so that no two ranges overlap whatever the rounding. */
static size_t share(size_t bound, size_t digits, size_t full)
{
    return (size_t)((uint64_t)bound * digits / full); /* below 2^16 * 2^32 */
}

static range find_range(const bang_mnist *mnist, bang_shift_kind kind, bang_shift_split split)
{
    const range whole = ranges[kind][split];
    int other = kind == BANG_SHIFT_V2;
    size_t digits = (other ? &mnist->test_labels : &mnist->train_labels)->count;
    size_t full = other ? 10000 : 60000;
    range r = {share(whole.first, digits, full), share(whole.end, digits, full), 0};
    /* as many as digits, but for the broad mixture, which shows some of them twice */
    r.renderings = whole.renderings == whole.end - whole.first
                       ? r.end - r.first
                       : share(whole.renderings, digits, full);
    return r;
}

size_t bang_shift_count(const bang_mnist *mnist, bang_shift_kind kind, bang_shift_split split)
{
    return find_range(mnist, kind, split).renderings;
}

typedef struct job {
    const bang_shift_recipe *recipe;
    const uint8_t *digits, *sources; /* pixels and labels of the split's digits */
    size_t digit_count, count;
    uint64_t seed;
    uint32_t purpose;
    uint8_t *images;
    int64_t *labels;
} job;

static int render_chunk(void *context, size_t index, int worker, bang_error *err)
{
    const job *j = context;
    size_t end = (index + 1) * CHUNK < j->count ? (index + 1) * CHUNK : j->count;
    (void)worker;
    (void)err;
    for (size_t i = index * CHUNK; i < end; i++) {
        size_t digit = i % j->digit_count;
        bang_random random;
        bang_shift_plan plan;
        bang_random_init(&random, j->seed, j->purpose, i);
        bang_shift_draw_plan(&plan, j->recipe, &random);
        bang_shift_render(j->images + i * SHIFT_PIXELS, j->digits + digit * SHIFT_PIXELS, &plan,
                          &random);
        j->labels[i] = j->sources[digit];
    }
    return 0;
}

/* Which images are meant, or why there are none such. */
static int choose(job *out, const bang_mnist *mnist, const bang_shift_options *options,
                  bang_error *err)
{
    int kind = options->kind, split = options->split;
    if (kind < 0 || kind >= BANG_SHIFT_KINDS || split < 0 || split > BANG_SHIFT_TEST)
        return bang_fail(err, BANG_EUSAGE, "kind %d, split %d: there is none such", kind, split);
    const char *name = bang_shift_names[kind];
    if (ranges[kind][split].end == 0)
        return bang_fail(err, BANG_EUSAGE, "split %s: kind %s has none: choose %s", splits[split],
                         name, kind == BANG_SHIFT_BROAD ? "train or test" : "test");
    range r = options->spare ? find_range(mnist, BANG_SHIFT_BROAD, BANG_SHIFT_TEST)
                             : find_range(mnist, options->kind, options->split);
    if (r.renderings == 0)
        return bang_fail(err, BANG_EUSAGE, "split %s of kind %s: MNIST has too few digits for it",
                         splits[split], name);
    size_t count = options->count ? options->count : r.renderings;
    if (count > r.renderings && !options->spare) /* of few spare digits some come again */
        return bang_fail(err, BANG_EUSAGE,
                         "count %zu: the split %s of kind %s has %zu images at most", count,
                         splits[split], name, r.renderings);
    int other = kind == BANG_SHIFT_V2 && !options->spare;
    const bang_array *images = other ? &mnist->test_images : &mnist->train_images;
    const bang_array *labels = other ? &mnist->test_labels : &mnist->train_labels;
    *out = (job){
        .recipe = &bang_shift_recipes[kind],
        .digits = (const uint8_t *)images->data + r.first * SHIFT_PIXELS,
        .sources = (const uint8_t *)labels->data + r.first,
        .digit_count = r.end - r.first,
        .count = count,
        .seed = options->seed,
        .purpose = BANG_PURPOSE('s', 'h', 'a' + kind, '0' + split),
    };
    return 0;
}

int bang_shift_make(bang_array *images, bang_array *labels, const bang_mnist *mnist,
                    const bang_shift_options *options, bang_error *err)
{
    job j;
    *images = *labels = (bang_array){0};
    int rc = choose(&j, mnist, options, err);
    if (rc < 0)
        return rc;
    size_t shape[3] = {j.count, BANG_SHIFT_SIDE, BANG_SHIFT_SIDE};
    rc = bang_array_init(images, BANG_U8, 3, shape, err);
    if (rc == 0)
        rc = bang_array_init(labels, BANG_I64, 1, shape, err);
    if (rc == 0) {
        j.images = images->data;
        j.labels = labels->data;
        rc = bang_parallel_for((j.count + CHUNK - 1) / CHUNK, options->threads, render_chunk, &j,
                               options->cancel, err);
    }
    if (rc < 0) {
        bang_array_release(images);
        bang_array_release(labels);
    }
    return rc;
}
