/* What models say about samples, and how it is read: rows of logits, or of probabilities, of
 * which some columns may stand for the classes that are asked about.
 *
 *     bang_logits pre = {&table, 0, NULL};
 *     bang_logits_check(&pre, NULL, 0, &err);        // "these are probabilities: ..."
 */
#ifndef BANG_MEASURE_LOGITS_H
#define BANG_MEASURE_LOGITS_H

#include "bang/tensor/table.h"

/* Which outputs stand for which class: class c has the outputs output[first[c]] ..
 * output[first[c + 1] - 1], at least one, and the largest of their logits. */
typedef struct bang_class_outputs {
    size_t classes;
    const uint32_t *first;  /* (classes + 1) */
    const uint32_t *output; /* (first[classes]) */
} bang_class_outputs;

/* The outputs of one model. */
typedef struct bang_logits {
    const bang_table *table; /* (samples, outputs) */
    int probabilities;       /* they are: see tally.h; their logarithms are taken as logits, 0 as
                                the least double */
    const bang_class_outputs *columns; /* NULL: every output is a class */
} bang_logits;

/* Classes: of the columns, or all outputs. */
size_t bang_logits_classes(const bang_logits *logits);

/* Which rows count, and their classes: label[i] is the class of row i, or -1: the row is left
 * out. A NULL in place of labels: all rows count, and none has a class. */
typedef int32_t bang_label;
enum { BANG_LEFT_OUT = -1 };

/* Looks at up to 1000 rows spread over the table, those aside that are left out. Fails when
 * probabilities are given as logits (all rows lie in 0..1 and sum to 1 within 1e-3), unless sure
 * says that they are logits; when what is called probabilities is none (negative, or a sum
 * farther than 1e-2 from 1); and when a number is not finite. One row of two classes that sums to
 * 1 by chance is no proof: fewer than 2 rows, or a single class, are taken as they are called.
 * Every row that counts is checked again, for numbers that are not finite and for probabilities
 * that are none, when it is measured. */
int bang_logits_check(const bang_logits *logits, const bang_label *labels, int sure,
                      bang_error *err);

#endif
