/* CLIP's text tower, forward: tokens to features that share a space with the
 * image tower's.
 *
 *     x_0 = token embedding + positions;  causal pre-norm blocks;
 *     f   = (norm(x)[end token]) projection
 *
 *     bang_text_tower tower;
 *     bang_text_tower_load(&tower, checkpoint, &hints, &err);
 *     bang_text_tower_encode(features, &tower, ids, count, threads, cancel, &err);
 *
 * The end token is the one with the largest id (arg max, the first of equals).
 */
#ifndef BANG_MODEL_TEXT_H
#define BANG_MODEL_TEXT_H

#include "bang/base/progress.h"
#include "bang/base/thread.h"
#include "bang/model/vit.h"
#include "bang/model/vit_file.h"

typedef struct bang_text_config {
    size_t vocabulary, context, width, depth, heads, hidden, projection;
    bang_gelu gelu;
    double epsilon;
} bang_text_config;

typedef struct bang_text_tower {
    bang_text_config config;
    float *parameters;      /* owned, one block */
    float *tokens;          /* (vocabulary, width) and on, into parameters */
    float *positions;       /* (context, width) */
    bang_vit_block *blocks; /* (depth) offsets into parameters; owned */
    float *norm_gain, *norm_bias;
    float *projection;  /* (projection, width) */
    double logit_scale; /* as stored: the logarithm */
} bang_text_tower;

/* From a CLIP in any of the three layouts. The caller releases it. */
int bang_text_tower_load(bang_text_tower *out, bang_checkpoint *checkpoint,
                         const bang_vit_hints *hints, bang_error *err);
void bang_text_tower_release(bang_text_tower *tower);

/* features (count, projection), not normalised, of ids (count, context). progress
 * (texts) and cancel may be NULL. */
int bang_text_tower_encode(float *features, const bang_text_tower *tower, const int32_t *ids,
                           size_t count, int threads, const bang_progress *progress,
                           bang_cancel *cancel, bang_error *err);

/* A class from its prompts: mean of the rows of features (count, width) scaled to
 * length 1, again scaled to length 1, times exp(logit_scale), into weight (width). */
void bang_zeroshot_class(float *weight, const float *features, size_t count, size_t width,
                         double logit_scale);

#endif
