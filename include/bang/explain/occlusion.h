/* Which parts of an image a network uses: parts are made black and the change
 * of its outputs is measured (the paper's figure in appendix C.3).
 *
 *     bang_occlusion o;
 *     bang_occlusion_run(&o, models, 2, &images, labels, &grid, NULL, &err);
 *     double map = bang_occlusion_change(&o, member, mask);
 *     bang_occlusion_release(&o);
 *
 * An image is a grid of cells; a mask says which cells turn black. With f the
 * output of an image's true class, the change of a mask is the mean over images of
 *     | f(image) - f(image with the mask's cells black) |:
 * what the cells add to the right answer, or take from it. (All outputs together
 * would also count how the wrong ones move among themselves, and tell cells less
 * apart: docs/ERRATA.md has what that measure finds.)
 */
#ifndef BANG_EXPLAIN_OCCLUSION_H
#define BANG_EXPLAIN_OCCLUSION_H

#include "bang/base/thread.h"
#include "bang/model/mlp.h"

typedef struct bang_occlusion_grid {
    size_t rows, columns; /* cells; they divide the image's height and width */
    size_t mask_count;    /* masks below, beyond one for every cell by itself */
    const uint8_t *masks; /* (mask_count, rows, columns): 1 turns black; may be NULL */
} bang_occlusion_grid;

typedef struct bang_occlusion {
    size_t members; /* the models, then their output-space ensemble if there are several */
    size_t masks;   /* rows*columns cells, then the masks of the grid */
    size_t classes;
    size_t *images;   /* (classes) of each true class */
    double *change;   /* (members, masks, classes) mean over the images of a true class */
    double *accuracy; /* (members, masks + 1) with the mask; last without any */
} bang_occlusion;

/* images: (n, height, width[, channels]) u8 or f32; models read all numbers of
 * an image and are of the same number of outputs. The caller releases the
 * result. */
int bang_occlusion_run(bang_occlusion *out, const bang_mlp *const *models, size_t model_count,
                       const bang_array *images, const int64_t *labels,
                       const bang_occlusion_grid *grid, bang_cancel *cancel, bang_error *err);
/* The same for networks of any kind. */
typedef struct bang_occlusion_network {
    size_t classes;
    /* logits (n, classes) of images, of the shape and type that were given. */
    int (*score)(void *context, float *logits, const bang_array *images, bang_error *err);
    void *context;
} bang_occlusion_network;
int bang_occlusion_run_networks(bang_occlusion *out, const bang_occlusion_network *networks,
                                size_t count, const bang_array *images, const int64_t *labels,
                                const bang_occlusion_grid *grid, bang_cancel *cancel,
                                bang_error *err);
/* The result over the images of both, which are of the same networks and grid: for more images
 * than fit into memory at once. sum may be empty ({0}). */
int bang_occlusion_add(bang_occlusion *sum, const bang_occlusion *more, bang_error *err);
void bang_occlusion_release(bang_occlusion *occlusion);

/* The change over all images. */
double bang_occlusion_change(const bang_occlusion *occlusion, size_t member, size_t mask);

/* How many of the parts count: (sum a)^2 / sum a^2, which is n when n parts
 * matter equally and the others not at all. 0 when all are 0. */
double bang_occlusion_effective(const double *amount, size_t count);
/* Of the cells, per true class, then the mean over classes. */
double bang_occlusion_effective_cells(const bang_occlusion *occlusion, size_t member, size_t cells);
/* How many parts two models share, per true class, then the mean over classes:
 * cos(a, b) sqrt(n_a n_b), which is the size of the intersection when both use
 * their parts equally. */
double bang_occlusion_shared_cells(const bang_occlusion *occlusion, size_t member, size_t other,
                                   size_t cells);

#endif
