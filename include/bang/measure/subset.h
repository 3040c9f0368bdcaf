/* Subsets of a model's outputs, and what labels mean then: ImageNet-A and -R are asked about 200
 * of the 1000 classes of ImageNet.
 *
 *     bang_class_outputs columns;
 *     bang_class_outputs_parse(&columns, "0,3,5-9", NULL, 1000, &err);
 *     bang_labels_number(labels, &how, &array, 1000, &columns, BANG_NUMBERS_AUTO, &err);
 *     bang_class_outputs_release(&columns);
 */
#ifndef BANG_MEASURE_SUBSET_H
#define BANG_MEASURE_SUBSET_H

#include "bang/measure/logits.h"

/* What the outputs of a model are called, by their number. */
typedef struct bang_output_names {
    size_t count;
    const char *const *keys;  /* (count) what data sets call them: "n01440764" */
    const char *const *names; /* (count) what people call them; may be the same */
} bang_output_names;

/* Classes of one output each, in that order, at least one. Fails on outputs that are there twice
 * or not among the `most` of the model; the message begins with why. The caller releases it. */
int bang_class_outputs_of(bang_class_outputs *out, const int64_t *outputs, size_t count,
                          size_t most, bang_error *err);
/* The same from text: numbers and ranges as 5-9, by commas, blanks or lines. With names, a
 * line, a part of it between commas or, where that is none, a word may be a key or a name. */
int bang_class_outputs_parse(bang_class_outputs *out, const char *text,
                             const bang_output_names *names, size_t most, bang_error *err);
/* For columns that were made so. */
void bang_class_outputs_release(bang_class_outputs *columns);

/* What the numbers of labels are. */
typedef enum bang_numbers {
    BANG_NUMBERS_AUTO,
    BANG_NUMBERS_PLACES,  /* of classes in the subset, from 0 */
    BANG_NUMBERS_OUTPUTS, /* of the model; rows of outputs outside the subset are left out */
} bang_numbers;

typedef struct bang_numbered {
    bang_numbers numbers; /* as they were taken */
    int doubtful;         /* the other way fits, too, and means something else */
    size_t left_out;      /* rows */
} bang_numbered;

/* Labels, (rows) or (rows, 1) of integers, as classes into out, (rows). columns NULL: all outputs
 * are classes. AUTO takes places if all are below the number of classes: where they could be
 * outputs, too, that is how ImageNet-A and -R are labelled; it refuses to guess where small
 * numbers would leave out most rows as outputs. Fails on other types and shapes and on labels
 * out of range; the message begins with why. */
int bang_labels_number(bang_label *out, bang_numbered *how, const bang_array *labels,
                       size_t outputs, const bang_class_outputs *columns, bang_numbers numbers,
                       bang_error *err);

#endif
