/* A network at work, in float or double: the forward and the backward pass over
 * one batch. Layout of parameters as in bang_mlp.
 *
 *     bang_network_f32 net;
 *     bang_network_init_f32(&net, &mlp, parameters, batch, 1, &err);
 *     bang_network_accept_f32(&net, &rows, &err);
 *     bang_network_tabulate_f32(&net, &rows);
 *     bang_network_forward_f32(&net, &rows, index, count, NULL);
 *     ... net.x[layers] holds the outputs, net.delta[layers] takes the loss's gradient ...
 *     bang_network_backward_f32(&net, count, NULL);
 *     bang_network_backward_compact_f32(&net, &rows, index, count);
 */
#ifndef BANG_MODEL_NETWORK_H
#define BANG_MODEL_NETWORK_H

#include "bang/base/arena.h"
#include "bang/model/mlp.h"
#include "bang/tensor/kernels.h"

#define BANG_NETWORK(real, suffix)                                                                 \
    typedef struct bang_mixing_##suffix {                                                          \
        real lambda;             /* of the row itself; the rest is its partner's */                \
        const uint32_t *partner; /* (count) places, of different rows of the batch or behind it */ \
        size_t behind;           /* rows behind the count ones, which are only mixed into them */  \
    } bang_mixing_##suffix;                                                                        \
                                                                                                   \
    typedef struct bang_network_##suffix {                                                         \
        const bang_kernels_##suffix *kernels;                                                      \
        bang_arena arena;                                                                          \
        int layers;                                                                                \
        size_t width[BANG_MLP_LAYERS_MAX + 1], stride[BANG_MLP_LAYERS_MAX + 1];                    \
        bang_activation activation;                                                                \
        size_t batch;                                                  /* largest */               \
        real *parameters;                                              /* borrowed; (mlp.count) */ \
        real *weight[BANG_MLP_LAYERS_MAX], *bias[BANG_MLP_LAYERS_MAX]; /* into parameters */       \
        real *gradient; /* (mlp.count), NULL before training */                                    \
        real *weight_gradient[BANG_MLP_LAYERS_MAX], *bias_gradient[BANG_MLP_LAYERS_MAX];           \
        real *input;                          /* (batch, width[0]) of dense rows */                \
        real *x[BANG_MLP_LAYERS_MAX + 1];     /* (batch, stride[l]) outputs of layer l */          \
        real *z[BANG_MLP_LAYERS_MAX + 1];     /* the same before GELU */                           \
        real *delta[BANG_MLP_LAYERS_MAX + 1]; /* (batch, stride[l]) gradient of z_l */             \
        real *mixed;                          /* (batch, stride[1]) before mixing */               \
        real *turned;                         /* a layer's weights, output by input */             \
        real *table, *table_gradient;         /* (codes, stride[1]) */                             \
        size_t table_rows;                                                                         \
        real *panel; /* columns of dense rows */                                                   \
    } bang_network_##suffix;                                                                       \
                                                                                                   \
    int bang_network_init_##suffix(bang_network_##suffix *out, const bang_mlp *shape,              \
                                   real *parameters, size_t batch, int training, bang_error *err); \
    void bang_network_release_##suffix(bang_network_##suffix *net);                                \
    /* Room for the codes of these rows; before any pass over them. */                             \
    int bang_network_accept_##suffix(bang_network_##suffix *net, const bang_rows *rows,            \
                                     bang_error *err);                                             \
    /* The table of a compact data set's codes, after parameters have changed. */                  \
    void bang_network_tabulate_##suffix(bang_network_##suffix *net, const bang_rows *rows);        \
    /* x[layers] = outputs of count rows; mixing may be NULL. index (count + behind). */           \
    void bang_network_forward_##suffix(bang_network_##suffix *net, const bang_rows *rows,          \
                                       const uint32_t *index, size_t count,                        \
                                       const bang_mixing_##suffix *mixing);                        \
    /* The parts of it: first layer without and with codes, and the rest. */                       \
    void bang_network_numbers_##suffix(bang_network_##suffix *net, const bang_rows *rows,          \
                                       const uint32_t *index, size_t count);                       \
    void bang_network_codes_##suffix(bang_network_##suffix *net, const bang_rows *rows,            \
                                     const uint32_t *index, size_t count);                         \
    void bang_network_rest_##suffix(bang_network_##suffix *net, size_t count);                     \
    /* From delta[layers] to the gradient of all but the first layer's weights ... */              \
    void bang_network_backward_##suffix(bang_network_##suffix *net, size_t count,                  \
                                        const bang_mixing_##suffix *mixing);                       \
    /* ... and those: all at once for compact rows, from input `from` to `to` for dense ones;      \
     * count has with it what is behind. */                                                        \
    void bang_network_backward_compact_##suffix(bang_network_##suffix *net, const bang_rows *rows, \
                                                const uint32_t *index, size_t count);              \
    void bang_network_backward_dense_##suffix(bang_network_##suffix *net, real *out, size_t from,  \
                                              size_t to, size_t count)

BANG_NETWORK(float, f32);
BANG_NETWORK(double, f64);

enum { BANG_PANEL = 48 }; /* inputs at a time in the backward pass over dense rows */

#endif
