/* A multi-layer perceptron: linear layers with an activation between them.
 *
 *     x_0 = input,  z_l = x_(l-1) W_l + b_l,  x_l = activation(z_l),  output z_L
 *
 *     bang_mlp mlp;
 *     bang_mlp_init(&mlp, 3, (size_t[]){5292, 64, 64, 10}, BANG_RELU, &err);
 *     bang_mlp_randomise(&mlp, seed, 0);
 *     bang_mlp_save(&mlp, "model.safetensors", &err);
 *     bang_mlp_release(&mlp);
 *
 * A file holds `0.weight` (out, in), `0.bias` (out), `2.weight`, ... as
 * PyTorch's nn.Sequential(Linear, ReLU, Linear, ...) names them, and the
 * activation in its metadata.
 */
#ifndef BANG_MODEL_MLP_H
#define BANG_MODEL_MLP_H

#include "bang/model/rows.h"

typedef enum bang_activation { BANG_RELU, BANG_GELU, BANG_TANH } bang_activation;

/* "relu", "gelu" (exact, with erf), "tanh"; -1 when name is none of them. */
int bang_activation_find(bang_activation *out, const char *name);
const char *bang_activation_name(bang_activation activation);

enum { BANG_MLP_LAYERS_MAX = 32 };

typedef struct bang_mlp {
    int layers;                             /* linear layers, at least 1 */
    size_t width[BANG_MLP_LAYERS_MAX + 1];  /* of the input and of each layer's output */
    size_t stride[BANG_MLP_LAYERS_MAX + 1]; /* widths rounded up to a multiple of 16; [0] as is */
    bang_activation activation;
    size_t count;                       /* numbers in the block below */
    float *parameters;                  /* owned; padding is zero */
    float *weight[BANG_MLP_LAYERS_MAX]; /* (width[l], stride[l + 1]): input by output */
    float *bias[BANG_MLP_LAYERS_MAX];   /* (stride[l + 1]) */
} bang_mlp;

/* All zero. The caller releases it. */
int bang_mlp_init(bang_mlp *out, int layers, const size_t *width, bang_activation activation,
                  bang_error *err);
int bang_mlp_copy(bang_mlp *out, const bang_mlp *mlp, bang_error *err);
void bang_mlp_release(bang_mlp *mlp);

/* Weights and biases uniform on +-1/sqrt(inputs of the layer), the default of
 * PyTorch's Linear. What is drawn depends on seed and stream alone. */
void bang_mlp_randomise(bang_mlp *mlp, uint64_t seed, uint64_t stream);

/* A network that reads groups of columns: first-layer weights are summed over
 * each group, so that it computes the same function. */
int bang_mlp_reduce(bang_mlp *out, const bang_mlp *mlp, const bang_columns *columns,
                    bang_error *err);
/* The way back after training: each weight of a group has moved by the same
 * amount. mlp holds the weights from before the training and receives those
 * after it; decay is by how much weight decay alone would have scaled them (1
 * without). Other layers are copied. */
int bang_mlp_expand(bang_mlp *mlp, const bang_mlp *reduced, const bang_columns *columns,
                    double decay, bang_error *err);

/* Outputs for rows [first, first + count): logits (count, width[layers]), no
 * padding. The network reads the groups of rows->columns. */
int bang_mlp_predict(float *logits, const bang_mlp *mlp, const bang_rows *rows, size_t first,
                     size_t count, bang_error *err);
/* The same for several data sets that share what is not coded (the digits of
 * one test set under eleven shifts): that part is computed once. logits[s]
 * holds (rows[s]->count, width[layers]). */
int bang_mlp_predict_sets(float *const *logits, const bang_mlp *mlp, const bang_rows *const *rows,
                          size_t sets, bang_error *err);

int bang_mlp_save(const bang_mlp *mlp, const char *path, bang_error *err);
/* The caller releases it. Any float type is read; layers are found by name. */
int bang_mlp_load(bang_mlp *out, const char *path, bang_error *err);
/* The same from the bytes of a file; name is for messages. */
int bang_mlp_parse(bang_mlp *out, const void *data, size_t size, const char *name, bang_error *err);

#endif
