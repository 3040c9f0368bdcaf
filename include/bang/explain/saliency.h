/* Which parts of a picture a vision transformer's output depends on, as a map over its patches
 * or pixels.
 *
 *     bang_saliency *maps;
 *     bang_saliency_open(&maps, &vit, &err);
 *     bang_saliency_map(out, maps, BANG_GRADCAM, pixels, SIZE_MAX);    // of the likeliest class
 *     bang_saliency_close(maps);
 *
 * Grad-CAM (Selvaraju et al. 2017) on tokens: with A (patches, width) the patches' output of the
 * last block's first norm, which is where they last reach the class token, and
 * G = d logit_class/dA, the weight of a channel is its mean gradient over patches and
 *
 *     map_t = max(0, sum_c A_tc mean_s G_sc)          over the grid of patches.
 *
 * It explains what the last block still adds: small networks often decide in the first ones, and
 * then, as the mean over patches forgets which of them were attended to, the map is near chance
 * even where a network is always right (tests/test_explain_region.c has such a case). So also
 *
 * the weighting of HiResCAM (Draelos and Carin 2020), each patch by its own gradient. Theirs is of
 * one layer; the sum over all blocks is ours:
 *
 *     map_t = sum_l max(0, sum_c A_ltc G_ltc)         A_l, G_l of block l.
 *
 * Input gradients: |d logit_class/d pixel|, the largest over the channels, per pixel; pixels as
 * the network reads them, normalised.
 *
 * Attention rollout (Abnar and Zuidema 2020): with P_l the attention of block l, mean over its
 * heads, the row of the class token in prod_l (P_l + I)/2, later blocks to the left, over the
 * patches; it knows no class.
 */
#ifndef BANG_EXPLAIN_SALIENCY_H
#define BANG_EXPLAIN_SALIENCY_H

#include "bang/base/progress.h"
#include "bang/base/thread.h"
#include "bang/model/vit.h"

typedef enum bang_saliency_kind {
    BANG_GRADCAM,
    BANG_HIRESCAM,
    BANG_INPUT_GRADIENT,
    BANG_ROLLOUT,
    BANG_SALIENCY_KINDS,
} bang_saliency_kind;

typedef struct bang_saliency bang_saliency;

/* vit is borrowed and must outlive it; without a head it has rollouts, all other maps are zero.
 * The caller closes it. Belongs to one thread. */
int bang_saliency_open(bang_saliency **out, const bang_vit *vit, bang_error *err);
/* NULL is allowed. */
void bang_saliency_close(bang_saliency *maps);
/* Edge of the square map: patches of an edge, or pixels for input gradients. */
size_t bang_saliency_side(const bang_saliency *maps, bang_saliency_kind kind);
/* pixels (channels, image, image) normalised; out (side, side), not scaled. which: the logit;
 * SIZE_MAX: the largest one. Returns the class that was explained, SIZE_MAX without a head. */
size_t bang_saliency_map(double *out, bang_saliency *maps, bang_saliency_kind kind,
                         const float *pixels, size_t which);
/* (classes) of the last picture; valid until the next. */
const float *bang_saliency_logits(const bang_saliency *maps);

/* Maps of many pictures, shared out among threads; what comes does not depend on their number. */
typedef struct bang_saliency_run {
    const bang_vit *vit;
    bang_saliency_kind kind;
    size_t count;
    /* The pixels of a picture, as bang_saliency_map reads them, from any thread. */
    void (*pixels)(void *context, size_t picture, float *out);
    void *context;
    const size_t *which; /* (count) the logits; NULL: the largest ones */
    int threads;         /* 0: all cores */
    bang_cancel *cancel; /* may be NULL, as may be progress, told of pictures by any thread */
    const bang_progress *progress;
    uint64_t done, total; /* that progress is told: pictures before these, and of all */
} bang_saliency_run;

/* maps (count, side, side) if cells is 0, else their means over (count, cells, cells);
 * explained (count) and logits (count, classes), either may be NULL. Refuses a network without a
 * head, but for rollouts. */
int bang_saliency_maps(double *maps, size_t *explained, float *logits, size_t cells,
                       const bang_saliency_run *run, bang_error *err);

/* A map (side, side) as the means of its cells, out (cells, cells); cells divides side. Maps over
 * pixels are compared cell by cell with those over patches so. */
void bang_saliency_cells(double *out, size_t cells, const double *map, size_t side);

/* Share of a map's mass within a region, (count) of 0 and 1; NaN for a map that is zero. */
double bang_saliency_inside(const double *map, const uint8_t *region, size_t count);
/* How alike two maps are: Pearson's correlation, NaN where one has the same value everywhere; and
 * sum_t min(a_t/sum a, b_t/sum b), the mass in common: 1 for equal maps, 0 for maps of different
 * places, NaN where one is zero. */
double bang_saliency_correlation(const double *a, const double *b, size_t count);
double bang_saliency_overlap(const double *a, const double *b, size_t count);

#endif
