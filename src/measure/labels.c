/* What labels mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/measure/subset.h"

/* Any integer; what is larger than an int64_t is its largest. */
static int64_t label_at(const bang_array *labels, size_t i)
{
    const void *data = labels->data;
    switch ((int)labels->dtype) {
    case BANG_U8:
        return ((const uint8_t *)data)[i];
    case BANG_I8:
        return ((const int8_t *)data)[i];
    case BANG_U16:
        return ((const uint16_t *)data)[i];
    case BANG_I16:
        return ((const int16_t *)data)[i];
    case BANG_U32:
        return ((const uint32_t *)data)[i];
    case BANG_I32:
        return ((const int32_t *)data)[i];
    case BANG_U64: {
        uint64_t value = ((const uint64_t *)data)[i];
        return value > INT64_MAX ? INT64_MAX : (int64_t)value;
    }
    default:
        return ((const int64_t *)data)[i];
    }
}

static int check_array(const bang_array *labels, bang_error *err)
{
    char shape[256];
    bang_array_shape_text(shape, sizeof shape, labels);
    if (labels->rank == 2 && labels->shape[1] > 1)
        return bang_fail(err, BANG_EDATA,
                         "shape %s: a class number for each row is needed, (rows,): give "
                         "y.argmax(1) if these are one-hot",
                         shape);
    if (labels->rank != 1 && !(labels->rank == 2 && labels->shape[1] == 1))
        return bang_fail(err, BANG_EDATA,
                         "shape %s: a class number for each row is needed, (rows,): reshape it",
                         shape);
    if (labels->dtype == BANG_BOOL)
        return bang_fail(err, BANG_EDATA,
                         "is BOOL: labels are class numbers: give y.astype(\"int64\") if False "
                         "and True are classes 0 and 1");
    if (!bang_dtype_is_integer(labels->dtype))
        return bang_fail(err, BANG_EDATA,
                         "is %s: labels are whole numbers: give y.astype(\"int64\")",
                         bang_dtype_name(labels->dtype));
    return 0;
}

/* Labels that are none. */
typedef struct strays {
    size_t count, row;          /* the first one's */
    int64_t label, least, most; /* the first one; of all labels */
    uint64_t large;             /* the first one where it is larger than label can say, else 0 */
} strays;

static int fail_range(const strays *s, size_t rows, size_t limit, const char *what,
                      const char *hint, bang_error *err)
{
    char first[32];
    if (s->large)
        snprintf(first, sizeof first, "%llu", (unsigned long long)s->large);
    else
        snprintf(first, sizeof first, "%lld", (long long)s->label);
    return bang_fail(err, BANG_EDATA,
                     "%zu of %zu labels %s out of range: the first is %s, in row %zu (from 0), but "
                     "%s are 0 to %zu%s",
                     s->count, rows, s->count == 1 ? "is" : "are", first, s->row, what, limit - 1,
                     hint);
}

/* Counts those that are not 0 .. limit - 1. */
static strays find_strays(const bang_array *labels, size_t limit)
{
    strays s = {.least = INT64_MAX, .most = INT64_MIN};
    for (size_t i = 0; i < labels->count; i++) {
        int64_t label = label_at(labels, i);
        s.least = label < s.least ? label : s.least;
        s.most = label > s.most ? label : s.most;
        if (label >= 0 && (uint64_t)label < limit)
            continue;
        if (s.count++ == 0) {
            s.row = i;
            s.label = label;
            if (labels->dtype == BANG_U64 && label == INT64_MAX)
                s.large = ((const uint64_t *)labels->data)[i];
        }
    }
    return s;
}

static const char *hint_for(const strays *s, size_t limit)
{
    if (s->least == -1)
        return ": bang predict writes -1 for a picture without label: leave such rows out of all "
               "files";
    if (s->least == 1 && (uint64_t)s->most == limit)
        return ": they begin at 1: give y - 1";
    return "";
}

static int check_range(const bang_array *labels, size_t limit, const char *what, const char *hint,
                       bang_error *err)
{
    strays s = find_strays(labels, limit);
    const char *own = hint_for(&s, limit);
    return s.count ? fail_range(&s, labels->count, limit, what, *own ? own : hint, err) : 0;
}

enum { NO_CLASS = -1, SEVERAL = -2 };

/* The class of each output into owner, (outputs). */
static void find_owners(int32_t *owner, size_t outputs, const bang_class_outputs *columns)
{
    for (size_t k = 0; k < outputs; k++)
        owner[k] = NO_CLASS;
    for (size_t c = 0; c < columns->classes; c++)
        for (uint32_t k = columns->first[c]; k < columns->first[c + 1]; k++) {
            int32_t *of = &owner[columns->output[k]];
            *of = *of == NO_CLASS ? (int32_t)c : SEVERAL;
        }
}

/* Places fit, and mean something else than outputs, which fit as well: all of them, or, with
 * samples left out, some. */
static int is_doubtful(const bang_array *labels, const int32_t *owner, size_t outputs)
{
    int other = 0, some = 0;
    for (size_t i = 0; i < labels->count; i++) {
        int64_t label = label_at(labels, i);
        if ((uint64_t)label >= outputs)
            return 0;
        some = some || owner[label] >= 0;
        other = other || owner[label] != label;
    }
    return some && other;
}

static int number_outputs(bang_label *out, bang_numbered *how, const bang_array *labels,
                          const int32_t *owner, bang_error *err)
{
    for (size_t i = 0; i < labels->count; i++) {
        int64_t label = label_at(labels, i);
        if (owner[label] == SEVERAL)
            return bang_fail(err, BANG_EDATA,
                             "label %lld in row %zu is an output of several classes of the subset: "
                             "number labels by their place in it",
                             (long long)label, i);
        out[i] = owner[label] < 0 ? BANG_LEFT_OUT : owner[label];
        how->left_out += owner[label] < 0;
    }
    return how->left_out < labels->count || labels->count == 0
               ? 0
               : bang_fail(err, BANG_EDATA,
                           "no label is an output of the subset: nothing is left: are these places "
                           "in it (--label-numbers places)?");
}

static int number_places(bang_label *out, const bang_array *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        out[i] = (bang_label)label_at(labels, i);
    return 0;
}

static int number_by_subset(bang_label *out, bang_numbered *how, const bang_array *labels,
                            size_t outputs, const bang_class_outputs *columns, const int32_t *owner,
                            bang_error *err)
{
    int64_t guessed = -1; /* the largest label, where it was guessed that they are outputs */
    if (how->numbers == BANG_NUMBERS_AUTO) {
        /* What is below 0 or beyond the outputs is neither; range checks tell it. */
        strays beyond = find_strays(labels, columns->classes);
        how->numbers = beyond.count == 0 || beyond.most < (int64_t)columns->classes
                           ? BANG_NUMBERS_PLACES
                           : BANG_NUMBERS_OUTPUTS;
        how->doubtful = beyond.count == 0 && is_doubtful(labels, owner, outputs);
        guessed = how->numbers == BANG_NUMBERS_OUTPUTS ? beyond.most : -1;
    }
    int rc = how->numbers == BANG_NUMBERS_PLACES
                 ? check_range(labels, columns->classes, "places in the subset",
                               ": are they outputs of the model (--label-numbers outputs)?", err)
                 : check_range(labels, outputs, "outputs of the model", "", err);
    if (rc < 0)
        return rc;
    if (how->numbers == BANG_NUMBERS_PLACES)
        return number_places(out, labels);
    rc = number_outputs(out, how, labels, owner, err);
    /* Small numbers of which most are no outputs of the subset: it lacks a class, more likely. */
    if (rc == 0 && guessed >= 0 && (uint64_t)guessed < 2 * columns->classes &&
        how->left_out > labels->count / 2)
        rc = bang_fail(err, BANG_EDATA,
                       "labels up to %lld are too large for places in a subset of %zu classes, and "
                       "as outputs of the model %zu of %zu are outside of it: mend the subset, or "
                       "say --label-numbers outputs",
                       (long long)guessed, columns->classes, how->left_out, labels->count);
    return rc;
}

int bang_labels_number(bang_label *out, bang_numbered *how, const bang_array *labels,
                       size_t outputs, const bang_class_outputs *columns, bang_numbers numbers,
                       bang_error *err)
{
    *how = (bang_numbered){.numbers = numbers};
    int rc = check_array(labels, err);
    if (rc < 0)
        return rc;
    if (outputs > INT32_MAX)
        return bang_fail(err, BANG_EDATA, "%zu outputs: a label is at most %ld", outputs,
                         (long)INT32_MAX);
    if (!columns) {
        rc = check_range(labels, outputs, "classes", "", err);
        return rc < 0 ? rc : number_places(out, labels);
    }
    int32_t *owner = malloc((outputs + 1) * sizeof *owner);
    if (!owner)
        return bang_fail_memory(err);
    find_owners(owner, outputs, columns);
    rc = number_by_subset(out, how, labels, outputs, columns, owner, err);
    free(owner);
    return rc;
}
