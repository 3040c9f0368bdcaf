/* What becomes of networks' outputs: accuracy of each, one output of them all. */
#ifndef BANG_CLI_OUTPUTS_H
#define BANG_CLI_OUTPUTS_H

#include "bang/data/class_map.h"

/* Outputs of several models, piece by piece, into one. */
typedef struct outputs {
    /* set by the caller */
    size_t models, width;
    const bang_class_map *map; /* scores in place of logits; or NULL */
    int probabilities;         /* softmax before the mean */
    const double *weights;     /* (models), taken as they are; NULL: the mean */
    int scored;                /* labels are columns: count what is right */
    char *const *paths;        /* of the inputs, for messages; or NULL */
    /* kept */
    size_t columns;
    size_t rows;          /* seen so far */
    size_t labelled;      /* of them with a label */
    size_t *right;        /* (models + 1): of each, then of all together */
    size_t capacity;      /* rows that the three below hold */
    float *scores, *mean; /* (capacity, columns); mean: the outputs of the last piece */
    double *sum;          /* (capacity, columns) */
} outputs;

/* The caller releases it. */
int outputs_init(outputs *o, bang_error *err);
/* from (models) of (count, width); labels (count) may be NULL; index (count) says which inputs
 * these are. */
int outputs_add(outputs *o, const float *const *from, const int64_t *labels, const uint32_t *index,
                size_t count, bang_error *err);
/* Of model m, or of all for m = models; NaN when nothing had a label. */
double outputs_accuracy(const outputs *o, size_t m);
void outputs_release(outputs *o);

#endif
