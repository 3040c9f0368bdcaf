/* An average while it is planned and made. Private to this room. */
#ifndef BANG_COMBINE_AVERAGE_PRIVATE_H
#define BANG_COMBINE_AVERAGE_PRIVATE_H

#include <stdatomic.h>

#include "bang/base/arena.h"
#include "bang/combine/average.h"

typedef enum bang_tensor_kind {
    TENSOR_COPY, /* bytes of one input */
    TENSOR_MIX,  /* numbers, as the method says */
} bang_tensor_kind;

#define NO_COPY SIZE_MAX

typedef struct bang_average_tensor {
    const char *name;
    bang_tensor_kind kind;
    size_t *copies;    /* (output_count) whose bytes the output has; NO_COPY: they are computed */
    bang_feed *feeds;  /* (feed_count) */
    bang_dtype *types; /* (feed_count) */
    bang_dtype dtype;  /* of the output */
    int rank;
    const size_t *shape;
    int partial;        /* not all have it */
    const double *rule; /* weights that a rule gives, or NULL */
    double *weights;    /* (output_count, feed_count) of a linear combination; NULL: not one */
    size_t group;       /* what it is measured with */
    uint64_t key;       /* of its name */
    atomic_ullong *bad; /* (output_count) numbers that are not finite */
} bang_average_tensor;

struct bang_average {
    bang_average_options options;
    bang_arena arena;
    /* Feeds: base first where there is one, then inputs, then fishers. */
    const bang_checkpoint **sources; /* (feed_count) */
    size_t feed_count, first_input;  /* which feed input 0 is */
    bang_average_tensor *tensors;    /* (count) in the order of the first input */
    size_t count;
    bang_stream_item *items;         /* (count) */
    bang_output_item **output_items; /* (output_count) each (count) */
    bang_output **outputs;           /* (output_count) */
    size_t group_count;
    const char **groups; /* (group_count) names of layers, or NULL */
    double *grams;       /* (group_count, feed_count, feed_count) */
    float *thresholds;   /* (group_count, feed_count) ties */
    bang_average_scale *scales;
    size_t scale_count;
    double target;
    json_t *files, *base_files, *fisher_files; /* what recipes tell of them */
    bang_text problems, warnings;
};

/* average_match.c: which tensors there are, and what happens to each. */
int bang_average_match(bang_average *a, bang_stream *scan, bang_error *err);
/* average_copies.c: from which input tensors without arithmetic come; for those that
 * must be equal the comparison follows. */
void bang_average_choose_copies(bang_average *a);
int bang_average_compare_copies(bang_average *a, bang_stream *scan, bang_error *err);
/* The outputs' bytes are those of one feed. */
void bang_average_copy_from(const bang_average *a, bang_average_tensor *tensor, size_t feed);
/* A counter of the batches that batch norm has seen: no weight, whatever its type. */
int bang_average_is_counter(const bang_average_tensor *tensor);
/* A running mean or variance of batch norm: combined linearly whatever the method, since
 * a variance must not be negative. */
int bang_average_is_statistic(const bang_average_tensor *tensor);
/* The only input that an output has of a tensor, whose bytes it then is, or NO_COPY. */
size_t bang_average_sole_feed(const bang_average *a, const bang_average_tensor *tensor,
                              size_t output);
/* average_measure.c: norms, angles, thresholds; then the weights of every tensor. */
int bang_average_measure(bang_average *a, bang_stream *stream, bang_error *err);
/* The weights that options and rules give a tensor in an output: (input_count). */
const double *bang_average_weights(const bang_average *a, const bang_average_tensor *tensor,
                                   size_t output);
int bang_average_has_base(const bang_average *a);
/* average_recipe.c: what is told of the inputs; then the metadata of an output, a
 * new reference. */
int bang_average_identify(bang_average *a, bang_error *err);
int bang_average_recipe(json_t **out, const bang_average *a, size_t output, bang_error *err);

/* Names that have the same thing wrong: the first few, then how many more. */
typedef struct bang_average_names {
    bang_text list;
    size_t count;
    const char *last; /* the same one again does not count */
} bang_average_names;
void bang_average_add_name(bang_average_names *names, const char *name);
/* Adds a line with them, if there are any, and releases them. */
void bang_average_end_names(bang_average_names *names, bang_text *to, const char *what,
                            const char *advice);

/* Adds a line to problems or warnings. */
void bang_average_say(bang_text *to, const char *format, ...) BANG_PRINTF(2, 3);

#endif
