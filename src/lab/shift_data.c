/* Images of a seed. */
#include <stdlib.h>
#include <string.h>

#include "lab/shift_unit.h"

/* Makes a set in memory of images (count, 28, 28) and labels (count) i64, which it takes. */
static int take(bang_images *out, bang_array *images, bang_array *labels, bang_error *err)
{
    size_t count = images->shape[0];
    *out = (bang_images){.count = count, .classes = BANG_SHIFT_CLASSES};
    out->labels = calloc(count + 1, sizeof *out->labels);
    if (out->labels)
        memcpy(out->labels, labels->data, count * sizeof *out->labels);
    out->memory = (bang_dataset){.inputs = *images,
                                 .labels = *labels,
                                 .count = count,
                                 .width = images->count / (count ? count : 1),
                                 .classes = BANG_SHIFT_CLASSES};
    *images = *labels = (bang_array){0};
    return out->labels ? 0 : bang_fail_memory(err);
}

static int render(bang_images *out, const shift_run *run, bang_shift_kind kind,
                  bang_shift_split split, uint64_t seed, size_t count, int spare, bang_error *err)
{
    bang_shift_options how = BANG_SHIFT_OPTIONS_INIT;
    bang_array images = {0}, labels = {0};
    how.kind = kind;
    how.split = split;
    how.seed = seed;
    how.count = count;
    how.threads = 1;
    how.spare = spare;
    how.cancel = run->options->cancel;
    int rc = bang_shift_make(&images, &labels, run->mnist, &how, err);
    if (rc == 0)
        rc = take(out, &images, &labels, err);
    bang_array_release(&images);
    bang_array_release(&labels);
    return rc;
}

/* Images of all OOD kinds, drawn anew, of digits that the lab uses nowhere else: what balance may
 * see shares neither a digit nor a rendering with what is tested on, nor kinds with each other. */
static int render_unlabelled(bang_images *out, const shift_run *run, uint64_t seed, bang_error *err)
{
    size_t each = run->plan->unlabelled, kinds = SHIFT_SETS - 1, count = each * kinds;
    bang_array images = {0}, labels = {0};
    int rc = bang_array_init(&images, BANG_U8, 3,
                             (size_t[]){count, BANG_SHIFT_SIDE, BANG_SHIFT_SIDE}, err);
    if (rc == 0)
        rc = bang_array_init(&labels, BANG_I64, 1, &count, err);
    for (size_t k = 0; rc == 0 && k < kinds; k++) {
        bang_images some = {0};
        size_t first = k * each, size = BANG_SHIFT_SIDE * BANG_SHIFT_SIDE;
        rc = render(&some, run, (bang_shift_kind)(BANG_SHIFT_V2 + k), BANG_SHIFT_TEST, seed,
                    first + each, 1, err);
        if (rc == 0) {
            memcpy((uint8_t *)images.data + first * size,
                   (const uint8_t *)some.memory.inputs.data + first * size, each * size);
            memcpy((int64_t *)labels.data + first, some.labels + first, each * sizeof(int64_t));
        }
        bang_images_release(&some);
    }
    if (rc == 0)
        rc = take(out, &images, &labels, err);
    bang_array_release(&images);
    bang_array_release(&labels);
    return rc;
}

const bang_images *shift_part(const shift_seed *seed, size_t part)
{
    return part < SHIFT_SETS          ? &seed->data.test[part]
           : part == SHIFT_VALIDATION ? &seed->data.validation
                                      : &seed->unlabelled;
}

int shift_data_make(shift_seed *seed, const shift_run *run, bang_error *err)
{
    const shift_plan *plan = run->plan;
    const uint64_t other = UINT64_C(1) << 32; /* away from the seeds of all units */
    uint64_t s = plan->seed + seed->unit;
    shift_data *d = &seed->data;
    int rc = render(&d->broad, run, BANG_SHIFT_BROAD, BANG_SHIFT_TRAIN, s, plan->broad, 0, err);
    if (rc == 0)
        rc = render(&d->tune, run, BANG_SHIFT_ID, BANG_SHIFT_TRAIN, s, plan->tune, 0, err);
    if (rc == 0)
        rc =
            render(&d->validation, run, BANG_SHIFT_ID, BANG_SHIFT_VAL, s, plan->validation, 0, err);
    for (size_t k = 0; rc == 0 && k < SHIFT_SETS; k++)
        rc = render(&d->test[k], run, (bang_shift_kind)(BANG_SHIFT_ID + k), BANG_SHIFT_TEST, s,
                    plan->test, 0, err);
    if (rc == 0)
        rc = render_unlabelled(&seed->unlabelled, run, s + other, err);
    for (size_t k = 0; rc == 0 && k < SHIFT_PARTS; k++)
        seed->first[k + 1] = seed->first[k] + shift_part(seed, k)->count;
    return rc;
}

void shift_data_release(shift_seed *seed)
{
    bang_images_release(&seed->data.broad);
    bang_images_release(&seed->data.tune);
    bang_images_release(&seed->data.validation);
    for (size_t k = 0; k < SHIFT_SETS; k++)
        bang_images_release(&seed->data.test[k]);
    bang_images_release(&seed->unlabelled);
}
