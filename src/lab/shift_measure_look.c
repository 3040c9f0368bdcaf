/* What models say of a seed's images, and averages of models. One thread does it: tasks are shared
 * out among threads, not images. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/combine/blocks.h"
#include "lab/shift_unit.h"

enum { PIECE = 48 }; /* images: enough rows for large products, little enough for the cache */

/* Images first .. first + count - 1 of a set through the worker. */
static void look_at(bang_vit_worker_f32 *worker, float *pixels, const bang_vit_model *model,
                    const float *parameters, const bang_images *images, size_t first, size_t count)
{
    const bang_transform plain = {.size = BANG_SHIFT_SIDE, .channels = 1};
    const bang_batch batch = {.count = images->count,
                              .dtype = BANG_U8,
                              .pixels = images->memory.inputs.data,
                              .labels = images->labels};
    for (size_t i = 0; i < count; i++)
        bang_batch_pixels(pixels + i * images->memory.width, &batch, &plain, first + i, first + i,
                          1, model->mean, model->std);
    bang_vit_forward_f32(worker, parameters, pixels, count);
}

int shift_look(float *out, float *features, shift_run *run, const shift_seed *seed,
               const float *parameters, size_t from, size_t to, bang_error *err)
{
    enum { K = BANG_SHIFT_CLASSES };
    const bang_vit_model *model = &seed->pre;
    size_t width = bang_vit_features(&model->vit.config);
    bang_vit_worker_f32 worker = {0};
    float *pixels = aligned_alloc(64, sizeof(float) * PIECE * BANG_SHIFT_SIDE * BANG_SHIFT_SIDE);
    int rc =
        pixels ? bang_vit_worker_init_f32(&worker, &model->vit.config, PIECE, BANG_VIT_PREDICT, err)
               : bang_fail_memory(err);
    for (size_t part = from; rc == 0 && part < to; part++) {
        const bang_images *images = shift_part(seed, part);
        for (size_t i = 0; rc == 0 && i < images->count; i += PIECE) {
            size_t count = images->count - i < PIECE ? images->count - i : PIECE;
            look_at(&worker, pixels, model, parameters, images, i, count);
            memcpy(out, worker.logits, count * K * sizeof *out);
            out += count * K;
            if (features) {
                memcpy(features, worker.features, count * width * sizeof *features);
                features += count * width;
            }
            shift_looked(run, count);
            if (bang_cancelled(run->options->cancel))
                rc = bang_fail(err, BANG_ECANCELLED, "stopped");
        }
    }
    bang_vit_worker_release_f32(&worker);
    free(pixels);
    return rc;
}

void shift_mix(float *out, const float *pre, const float *fine, double alpha, size_t count)
{
    const void *const in[] = {pre, fine};
    const bang_dtype types[] = {BANG_F32, BANG_F32};
    bang_block block = {
        .inputs = 2, .count = count, .in = in, .in_types = types, .out_type = BANG_F32};
    block.out = out;
    bang_block_linear(&block, (double[]){1 - alpha, alpha});
}

void shift_classes(uint8_t *out, const float *logits, size_t count)
{
    enum { K = BANG_SHIFT_CLASSES };
    for (size_t i = 0; i < count; i++, logits += K) {
        int best = 0;
        for (int k = 1; k < K; k++)
            best = logits[k] > logits[best] ? k : best;
        out[i] = (uint8_t)best;
    }
}

double shift_accuracy(const uint8_t *classes, const bang_images *part)
{
    size_t right = 0;
    for (size_t i = 0; i < part->count; i++)
        right += classes[i] == part->labels[i];
    return (double)right / (double)part->count;
}

shift_member *shift_add_member(shift_found *found, const shift_seed *seed, const char *method,
                               const char *name)
{
    if (found->member_count == SHIFT_MEMBERS_MOST)
        return NULL;
    shift_member *member = &found->members[found->member_count];
    snprintf(member->name, sizeof member->name, "%s%s%s", method, *method ? "/" : "", name);
    member->classes = calloc(seed->first[SHIFT_SETS] + 1, 1);
    if (member->classes)
        found->member_count++;
    return member->classes ? member : NULL;
}

void shift_found_release(shift_found *found)
{
    json_decref(found->record);
    json_decref(found->pre);
    for (size_t i = 0; i < found->member_count; i++)
        free(found->members[i].classes);
    *found = (shift_found){0};
}
