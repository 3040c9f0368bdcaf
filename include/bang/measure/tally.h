/* One pass over the outputs of some models on one data set: everything that is counted.
 *
 * What is scored are members: a model, a model at another temperature, an ensemble. A
 * member is made of parts, each a source (a model's logits z), a scale s and a share w:
 *
 *     ensemble of logits           softmax(sum_i w_i s_i z_i)
 *     ensemble of probabilities    sum_i w_i softmax(s_i z_i)
 *
 * Probabilities p, the label l, K classes; all in double:
 *
 *     prediction    arg max, the lowest index among equals
 *     confidence    max_k p_k
 *     margin        p_l - max_{k != l} p_k
 *     NLL           -log p_l              Brier    sum_k (p_k - [k = l])^2
 *
 * Where a source holds probabilities, those of softmax(z) are the given ones themselves, whatever
 * they sum to; of a choice of columns, divided by their sum. Everything else, other scales and
 * ensembles of logits, is computed from their logarithms.
 *
 *     bang_tally *tally;
 *     bang_tally_run(&tally, &input, &options, &err);
 *     double accuracy = (double)tally->of[0].right / (double)tally->counted;
 *     bang_tally_free(tally);
 *
 * A member of a single part predicts what its logits say, ties included, at every temperature.
 * Rows that are left out are not looked at.
 *
 * Memory: a few MB, 8 bytes per row and member with equal_mass, what `listed` collects. No
 * result depends on the number of threads.
 */
#ifndef BANG_MEASURE_TALLY_H
#define BANG_MEASURE_TALLY_H

#include "bang/base/progress.h"
#include "bang/base/thread.h"
#include "bang/measure/calibration.h"
#include "bang/measure/logits.h"

enum { BANG_MEMBERS_MAX = 64, BANG_PARTS_MAX = 8 };

typedef struct bang_member_part {
    size_t source; /* index into the sources */
    double scale;  /* 1/T, above 0 */
    double share;
} bang_member_part;

typedef struct bang_member {
    size_t part_count; /* 1 .. BANG_PARTS_MAX */
    bang_member_part parts[BANG_PARTS_MAX];
    int probabilities; /* an ensemble of probabilities; shares are >= 0 and sum to 1 */
    int equal_mass;    /* keep confidences, for bins of equal mass */
} bang_member;

typedef struct bang_tally_input {
    size_t source_count;
    const bang_logits *sources; /* all of one number of rows and of classes */
    const bang_label *labels;   /* (rows), or NULL: what needs labels is not counted */
    size_t member_count;        /* 1 .. BANG_MEMBERS_MAX */
    const bang_member *members;
} bang_tally_input;

/* The eight groups by whether members 0, 1 and 2 (pre, fine, average) are right: bit 2 of the
 * index is set when member 0 is wrong, bit 1 member 1, bit 0 member 2: TTT is 0, FFT 6, FFF 7. */
enum {
    BANG_TTT,
    BANG_TTF,
    BANG_TFT,
    BANG_TFF,
    BANG_FTT,
    BANG_FTF,
    BANG_FFT,
    BANG_FFF,
    BANG_GROUPS,
};
/* The four by members 0 and 1 alone: the same index over 2. */
enum { BANG_TT, BANG_TF, BANG_FT, BANG_FF, BANG_PAIRS };

extern const char *const bang_group_names[BANG_GROUPS]; /* "TTT", ... */
extern const char *const bang_pair_names[BANG_PAIRS];   /* "TT", ... */

typedef struct bang_tally_options {
    int bins;                      /* of both kinds; BANG_BINS */
    unsigned listed;               /* bit g: collect the samples of group g; needs three members */
    int by_class;                  /* count rows and right ones per class */
    int threads;                   /* 0: all */
    const bang_progress *progress; /* in rows; or NULL */
    bang_cancel *cancel;           /* or NULL */
} bang_tally_options;
#define BANG_TALLY_OPTIONS_INIT ((bang_tally_options){.bins = BANG_BINS})

/* Of one member; means over the counted rows, NaN where there are none. Margins need two
 * members. */
typedef struct bang_member_tally {
    size_t right;
    double confidence;         /* mean */
    double nll, brier;         /* means; NaN without labels */
    double margin[BANG_PAIRS]; /* mean within the group by members 0 and 1; NaN when it is empty */
    bang_bin *width;           /* (bins) of equal width; without labels accuracies are NaN */
    bang_bin *mass;            /* (bins) of equal mass, or NULL */
} bang_member_tally;

/* How many rows have exactly these members right. */
typedef struct bang_pattern {
    uint64_t right; /* bit m: member m is right */
    size_t count;
} bang_pattern;

typedef struct bang_sample {
    size_t index; /* row */
    int group;    /* BANG_TTT .. */
    bang_label label;
    uint32_t prediction[3]; /* of members 0, 1, 2 */
    double confidence[3], margin[3];
} bang_sample;

typedef struct bang_tally {
    size_t rows, counted; /* of the tables; of them not left out */
    size_t classes, member_count;
    int bins;
    int labelled;
    bang_member_tally *of; /* (member_count) */
    size_t pattern_count;
    bang_pattern
        *patterns;        /* by `right`, ascending; sum of counts = counted; none without labels */
    size_t *agree;        /* (members, members) rows with the same prediction */
    size_t *same_mistake; /* (members, members) of them with a wrong one; 0 without labels */
    size_t *class_rows;   /* (classes), or NULL */
    size_t *class_right;  /* (classes, members), or NULL */
    size_t listed_count;
    bang_sample *listed; /* by index */
} bang_tally;

/* The caller frees it. Fails on sources that do not fit together, labels out of range and
 * numbers that are not finite; the message names source, row and column. */
int bang_tally_run(bang_tally **out, const bang_tally_input *input,
                   const bang_tally_options *options, bang_error *err);
/* NULL is allowed. */
void bang_tally_free(bang_tally *tally);

#endif
