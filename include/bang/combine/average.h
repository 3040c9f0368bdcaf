/* Checkpoints of one architecture, whatever it is, combined into new ones.
 *
 *     bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
 *     options.inputs = (const bang_checkpoint *[]){pre, fine};
 *     options.input_count = 2;
 *     options.weights = (double[]){0.5, 0.5};
 *     options.paths = (const char *[]){"out.safetensors"};
 *     options.output_count = 1;
 *     bang_average *average;
 *     if (bang_average_plan(&average, &options, &stream, &err) == 0)   // writes nothing
 *         bang_average_run(average, &stream, &err);
 *     bang_average_free(average);
 *
 * With x_i the inputs, w_i their weights, b the base, d_i = x_i - b and s the scale:
 *
 *   linear  sum_i w_i x_i
 *   slerp   (sin((1-t)o) x_0 + sin(t o) x_1)/sin o, t = w_1, o the angle between them
 *   task    b + s sum_i w_i d_i                               (Ilharco et al. 2023)
 *   ties    b + s times the mean of the d_i that agree with the elected sign, after
 *           all but the largest are set to zero               (Yadav et al. 2023)
 *   dare    b + s sum_i w_i m_i d_i/(1 - drop), m_i random    (Yu et al. 2023)
 *   stock   t mean_i x_i + (1 - t) b, t from the angles between the d_i (Jang et al. 2024)
 *   fisher  sum_i w_i f_i x_i / sum_i w_i f_i, number by number (Matena and Raffel 2022)
 *
 * Running means and variances of batch norm are combined linearly by every method:
 * sum_i w_i x_i, or b + sum_i w_i d_i.
 */
#ifndef BANG_COMBINE_AVERAGE_H
#define BANG_COMBINE_AVERAGE_H

#include "bang/base/text.h"
#include "bang/store/checkpoint.h"
#include "bang/store/stream.h"

typedef enum bang_average_method {
    BANG_AVERAGE_LINEAR,
    BANG_AVERAGE_SLERP,
    BANG_AVERAGE_TASK,
    BANG_AVERAGE_TIES,
    BANG_AVERAGE_DARE,
    BANG_AVERAGE_STOCK,
    BANG_AVERAGE_FISHER,
} bang_average_method;

/* What is measured together: each tensor for itself, those of a layer (see
 * bang_layer_length), or all. USUAL: ties all, slerp and stock each tensor. */
typedef enum bang_average_scope {
    BANG_SCOPE_USUAL,
    BANG_SCOPE_TENSOR,
    BANG_SCOPE_LAYER,
    BANG_SCOPE_MODEL,
} bang_average_scope;

/* Balance: the change x_i - x_0 of every further input is multiplied by
 * target |x_0|/|x_i - x_0|, norms taken over the model or over each layer, before it
 * is weighted. Layers that are or stay zero are left alone. */
typedef enum bang_average_balance {
    BANG_BALANCE_NONE,
    BANG_BALANCE_NORM,
    BANG_BALANCE_LAYER_NORM,
} bang_average_balance;

/* From which input a tensor without arithmetic is taken when they differ. Counters of
 * batches (*.num_batches_tracked) are never an error: ERROR takes those of the last
 * input that has a weight. */
typedef enum bang_average_choice {
    BANG_CHOOSE_ERROR,
    BANG_CHOOSE_FIRST,
    BANG_CHOOSE_LAST,
} bang_average_choice;

/* Tensors that not all inputs have, or that the base lacks. */
typedef enum bang_average_missing {
    BANG_MISSING_ERROR,
    BANG_MISSING_KEEP, /* from the first that has it */
    BANG_MISSING_DROP,
} bang_average_missing;

/* Other weights for tensors whose name matches (* also matches . and /). */
typedef struct bang_average_rule {
    const char *glob;
    const double *weights; /* (input_count) */
    int layer; /* glob is the name of a layer (see bang_layer_length): all its tensors */
} bang_average_rule;

typedef struct bang_average_options {
    bang_average_method method;
    const bang_checkpoint *const *inputs; /* (input_count) */
    size_t input_count;
    const bang_checkpoint *base;           /* task, ties, dare, stock */
    const bang_checkpoint *const *fishers; /* (input_count) fisher */
    const char *const *paths;              /* (output_count) */
    size_t output_count;
    const double *weights; /* (output_count, input_count) */
    const char *const
        *weight_text; /* (output_count) as the user said it, for the recipe; or NULL */
    const bang_average_rule *rules; /* (rule_count) the last that matches wins */
    size_t rule_count;
    bang_average_scope scope;
    double scale, density, drop; /* ties keeps this part of the numbers; dare drops that */
    uint64_t seed;               /* dare */
    bang_average_balance balance;
    double target; /* of balance, relative to |x_0|; negative: the median over the layers */
    bang_average_choice on_integer;
    bang_average_missing on_missing;
    int dtype; /* a bang_dtype for all real tensors; -1: as in the first input */
    int allow_nan;
    int hash; /* SHA-256 of all bytes of the inputs into the recipe */
    uint64_t shard_size;
    int folder;           /* outputs are folders */
    const json_t *recipe; /* further entries of the recipe: how weights were found; or NULL */
} bang_average_options;
#define BANG_AVERAGE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .scale = 1, .density = 0.2, .drop = 0.9, .seed = 1, .target = -1, .dtype = -1              \
    }

typedef struct bang_average bang_average;

/* What balance found: of one input, over one layer or (layer NULL) the model. */
typedef struct bang_average_scale {
    const char *layer; /* borrowed; NULL: the model */
    size_t input;      /* 1 .. */
    double norm;       /* |x_0| */
    double change;     /* |x_i - x_0| */
    double scale;
} bang_average_scale;

typedef struct bang_average_result {
    size_t tensors, copied; /* copied: whose bytes are those of an input, in every output */
    double target;          /* of balance */
    size_t scale_count;
    const bang_average_scale *scales; /* (scale_count) */
    const char *warnings;             /* a line each; "" without any */
    uint64_t bytes;                   /* of all outputs */
} bang_average_result;

/* Holds the inputs against each other and plans the outputs. Everything that is
 * wrong is told at once: err has the first problem, bang_average_problems all of
 * them. Numbers are read where the answer depends on them (integers that differ;
 * scan takes what it reads). On failure *out is still to be freed, if not NULL. */
int bang_average_plan(bang_average **out, const bang_average_options *options, bang_stream *scan,
                      bang_error *err);
/* A line each; borrowed; "" when there are none. */
const char *bang_average_problems(const bang_average *average);
/* Measures, writes, commits. Numbers that are not finite are a problem unless they
 * were allowed. */
int bang_average_run(bang_average *average, bang_stream *stream, bang_error *err);
/* Complete once it has run; before that without scales. */
bang_average_result bang_average_get(const bang_average *average);
/* What will be or was written: for its files, or to add others to a folder. Borrowed;
 * NULL after a failure. */
bang_output *bang_average_target(const bang_average *average, size_t output);
/* What is done to each tensor, a line each, for people. */
void bang_average_describe(bang_text *out, const bang_average *average);
void bang_average_free(bang_average *average);

#endif
