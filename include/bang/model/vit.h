/* A vision transformer: patches and a class token through pre-norm blocks, the
 * class token through a last norm (and CLIP's projection) to a linear head.
 *
 *     x_0 = [class, patches W_p (+ b_p)] + positions       (CLIP: then ln_pre)
 *     x  += proj(attention(norm1(x)));   x += fc2(gelu(fc1(norm2(x))))      each block
 *     f   = norm(x[class]) (projection),  CLIP: f/|f|;   logits = f W^T + b
 *
 *     bang_vit vit;
 *     bang_vit_init(&vit, &config, &err);                    // all zero
 *     bang_vit_randomise(&vit, seed);
 *     bang_vit_worker_f32 worker;
 *     bang_vit_worker_init_f32(&worker, &vit.config, 8, BANG_VIT_TRAIN, &err);
 *     bang_vit_forward_f32(&worker, vit.parameters, pixels, count);   // worker.logits
 *     ... gradient of the logits into worker.logits_gradient ...
 *     bang_vit_backward_f32(&worker, vit.parameters, gradient, count, 0);
 *
 * A worker belongs to one thread and holds the activations of a few images:
 * batches of any size are taken through it piece by piece, gradients adding up.
 * Per image and block it keeps x, q k v, the attention's output, x again and what
 * goes into the GELU: 6 + hidden/width numbers per token and channel; the norms'
 * outputs, the softmax and the GELU are computed again on the way back. In the last
 * block all but keys and values is computed for the class token alone.
 */
#ifndef BANG_MODEL_VIT_H
#define BANG_MODEL_VIT_H

#include <stdint.h>

#include "bang/base/arena.h"
#include "bang/base/error.h"
#include "bang/tensor/layers.h"

typedef struct bang_vit_config {
    size_t image, patch; /* pixels of an edge; image is a multiple of patch */
    size_t channels;     /* 1 or 3 */
    size_t width, depth, heads;
    size_t hidden;     /* units of the MLP */
    size_t projection; /* width of CLIP's features; 0: no projection */
    size_t classes;    /* outputs of the head; 0: no head */
    bang_gelu gelu;
    double epsilon;    /* of the norms */
    int patch_bias;    /* the patch embedding has one (timm), or not (CLIP) */
    int norm_first;    /* CLIP's ln_pre */
    int unit_features; /* features are scaled to length 1 before the head (CLIP) */
} bang_vit_config;

/* Tokens with the class token; numbers in f, the head's input. */
size_t bang_vit_tokens(const bang_vit_config *config);
size_t bang_vit_features(const bang_vit_config *config);
/* All that is wrong, in one message. */
int bang_vit_check(const bang_vit_config *config, bang_error *err);

/* One parameter tensor. Weights are (out, in) as PyTorch's Linear has them. */
typedef struct bang_vit_tensor {
    /* "patch.weight", "class", "positions", "norm_first.gain", "blocks.0.qkv.weight",
     * "norm.bias", "projection" (projection, width), "head.weight", ... */
    char name[48];
    size_t offset, count;
    int rank;
    size_t shape[4];
} bang_vit_tensor;

/* Where a block's tensors begin in the parameters. */
typedef struct bang_vit_block {
    size_t norm1_gain, norm1_bias; /* (width) */
    size_t qkv_weight, qkv_bias;   /* (3*width, width), (3*width): q, k, v stacked */
    size_t proj_weight, proj_bias; /* (width, width), (width) */
    size_t norm2_gain, norm2_bias; /* (width) */
    size_t fc1_weight, fc1_bias;   /* (hidden, width), (hidden) */
    size_t fc2_weight, fc2_bias;   /* (width, hidden), (width) */
} bang_vit_block;

/* All of it; offsets of what a configuration lacks are SIZE_MAX. The head is last,
 * so that the parameters before head_weight are the tower's. */
typedef struct bang_vit_map {
    size_t count;                  /* of all parameters */
    size_t patch_weight;           /* (width, channels, patch, patch) */
    size_t patch_bias;             /* (width) */
    size_t token, positions;       /* (width), (tokens, width) */
    size_t first_gain, first_bias; /* (width) ln_pre */
    bang_vit_block *blocks;        /* (depth) */
    size_t norm_gain, norm_bias;   /* (width) */
    size_t projection;             /* (projection, width) */
    size_t head_weight, head_bias; /* (classes, features), (classes) */
    size_t tensor_count;
    bang_vit_tensor *tensors; /* (tensor_count) in the order of their offsets */
} bang_vit_map;

/* The caller releases it. */
int bang_vit_map_init(bang_vit_map *out, const bang_vit_config *config, bang_error *err);
void bang_vit_map_release(bang_vit_map *map);

typedef struct bang_vit {
    bang_vit_config config;
    bang_vit_map map;
    float *parameters; /* (map.count) owned, aligned to 64 */
} bang_vit;

/* All zero. The caller releases it. */
int bang_vit_init(bang_vit *out, const bang_vit_config *config, bang_error *err);
void bang_vit_release(bang_vit *vit);
/* Weights of linear layers and patches uniform with variance 2/(in + out) (Glorot), class
 * token and positions N(0, .02), gains 1, biases and the head 0. Depends on seed alone. */
void bang_vit_randomise(bang_vit *vit, uint64_t seed);
/* Another head of so many classes, all zero; the tower stays. */
int bang_vit_new_head(bang_vit *vit, size_t classes, bang_error *err);
/* For pictures of another size, a multiple of the patch: positions are resampled over the
 * grid (bicubic, a = -1/2, widened when it shrinks), all else stays. On failure vit is as it
 * was. */
int bang_vit_resize(bang_vit *vit, size_t image, bang_error *err);

/* What a worker is for. */
typedef enum bang_vit_purpose {
    BANG_VIT_PREDICT,   /* forward only: memory for one block */
    BANG_VIT_TRAIN,     /* forward and backward */
    BANG_VIT_RECOMPUTE, /* the same with only x kept per block: less memory, a fifth more work */
} bang_vit_purpose;

/* For backward, added up. */
enum {
    BANG_VIT_ONLY_HEAD = 1, /* no gradient but the head's; all that a worker for PREDICT can */
    BANG_VIT_OVERWRITE = 2, /* the gradient (with ONLY_HEAD: the head's) is set, not added to:
                             * saves clearing it, and reading it once */
};

#define BANG_VIT_WORKER(real, suffix)                                                              \
    typedef struct bang_vit_worker_##suffix {                                                      \
        bang_vit_config config;                                                                    \
        bang_vit_map map;                                                                          \
        bang_vit_purpose purpose;                                                                  \
        size_t images;         /* most at a time */                                                \
        real *features;        /* (images, features) after forward */                              \
        real *logits;          /* (images, classes) after forward */                               \
        real *logits_gradient; /* (images, classes) for backward */                                \
        /* Told by backward, or NULL: the gradient of all parameters from that offset on is as     \
         * this call leaves it. Offsets fall to 0; only the head's is told with ONLY_HEAD. */      \
        void (*settled)(void *context, size_t from);                                               \
        void *context;                                                                             \
        size_t bytes; /* of memory held */                                                         \
        bang_arena arena;                                                                          \
        struct vit_state_##suffix *state; /* private */                                            \
    } bang_vit_worker_##suffix;                                                                    \
    /* The caller releases it. */                                                                  \
    int bang_vit_worker_init_##suffix(bang_vit_worker_##suffix *out,                               \
                                      const bang_vit_config *config, size_t images,                \
                                      bang_vit_purpose purpose, bang_error *err);                  \
    void bang_vit_worker_release_##suffix(bang_vit_worker_##suffix *worker);                       \
    /* pixels (count, channels, image, image), normalised. Without a head (or with                 \
     * worker->config.classes == 0) only features. */                                              \
    void bang_vit_forward_##suffix(bang_vit_worker_##suffix *worker, const real *parameters,       \
                                   const real *pixels, size_t count);                              \
    /* gradient (map.count) += that of all parameters. Once after a forward of so many             \
     * images: what was kept is spoiled on the way. */                                             \
    void bang_vit_backward_##suffix(bang_vit_worker_##suffix *worker, const real *parameters,      \
                                    real *gradient, size_t count, int flags);                      \
    /* The way back to what was seen, in place of backward, for a worker that trains and a model   \
     * with a head: no gradient of parameters is made. tokens and tokens_gradient (blocks, count,  \
     * tokens, width): what the first norms of the last so many blocks put out, by which patches   \
     * reach others and the class token, and its gradient; the last block is the first.            \
     * pixels_gradient (count, channels, image, image), or NULL: then the way ends there. */       \
    void bang_vit_sensitivity_##suffix(bang_vit_worker_##suffix *worker, const real *parameters,   \
                                       size_t count, size_t blocks, real *tokens,                  \
                                       real *tokens_gradient, real *pixels_gradient);              \
    /* Queries, keys and values (images, tokens, 3, heads, width of a head) of a block after a     \
     * forward, for a worker for TRAIN; in the last block the class token alone has a query. */    \
    const real *bang_vit_qkv_##suffix(const bang_vit_worker_##suffix *worker, size_t block)

BANG_VIT_WORKER(float, f32);
BANG_VIT_WORKER(double, f64);

#endif
