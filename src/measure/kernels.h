/* Loops over logits in double, one table per kind of vector instructions; all give the same
 * bits. kernels_naive.c has the plain versions that tests compare with. */
#ifndef BANG_SRC_MEASURE_KERNELS_H
#define BANG_SRC_MEASURE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Four rows side by side, so that lanes of a vector are rows: number k of row j is z[4 k + j],
 * (count, 4). A row's results do not depend on those beside it, and short rows are as quick as
 * long ones. */
enum { BANG_SIDE = 4 };

/* The largest of every row, the second largest (equal to it in a tie; -inf of a single one)
 * and the index of the first of the largest. */
typedef struct bang_scan {
    double top[BANG_SIDE], second[BANG_SIDE], index[BANG_SIDE];
} bang_scan;

/* softmax(scale z) of four rows, with e = exp(scale (z - top)). */
typedef struct bang_soft {
    double sum[BANG_SIDE], square[BANG_SIDE]; /* of e and of e^2 */
    double index[BANG_SIDE];                  /* of the largest */
    double label[BANG_SIDE];                  /* scale (z - top) of the label */
    double other[BANG_SIDE]; /* the same over log(2), of the second where the largest is the
                                label, else of the label */
} bang_soft;

/* What tally.h says of four rows. Without a label all but prediction and confidence is
 * of no use. */
typedef struct bang_score {
    double prediction[BANG_SIDE], confidence[BANG_SIDE];
    double nll[BANG_SIDE], brier[BANG_SIDE], margin[BANG_SIDE];
} bang_score;

/* Sums over rows, in four lanes. */
typedef struct bang_fold {
    double confidence[BANG_SIDE], nll[BANG_SIDE], brier[BANG_SIDE];
    double margin[4][BANG_SIDE]; /* by the pair group of members 0 and 1: TT, TF, FT, FF */
} bang_fold;
/* Of two members. */
typedef struct bang_accord {
    uint64_t agree[BANG_SIDE], mistake[BANG_SIDE];
} bang_accord;

/* What a temperature is found by (temperature.h): sums over rows of the function that is sought
 * the zero of, its first two derivatives and its integral, in four lanes; lost is what rounding
 * took from total. */
enum { BANG_VALUE, BANG_SLOPE, BANG_BEND, BANG_INTEGRAL, BANG_WARMTHS };
typedef struct bang_warmth {
    double total[BANG_WARMTHS][BANG_SIDE], lost[BANG_WARMTHS][BANG_SIDE];
} bang_warmth;

typedef struct bang_measure_kernels {
    const char *name; /* "avx2", "portable", "naive" */
    /* out = w0 a + w1 b; b may be NULL, out may be a. */
    void (*mix)(double *out, const double *a, double w0, const double *b, double w1, size_t count);
    /* out = log(p) of numbers >= 0, and that of the least double for 0; out may be p. */
    void (*logarithms)(double *out, const double *p, size_t count);

    /* Rows to rows side by side, out (count, 4). 1 if all numbers are finite. */
    int (*turn_f32)(double *out, const float *const rows[BANG_SIDE], size_t count);
    int (*turn_f64)(double *out, const double *const rows[BANG_SIDE], size_t count);
    void (*scan)(bang_scan *out, const double *z, size_t count);
    /* Adds the first `rows` rows. With d_k = z_k - top, e_k = exp(beta d_k), S the sum of e_k, and
     * M, V, W the mean, variance and third central moment of d_k by the weights e_k/S:
     *
     *                value         slope    bend         integral
     *     labels     M - d_l       V        W            log S - beta d_l, the NLL
     *     NULL       1/S - target  -M/S     (M^2 - V)/S  none: 1/S is the confidence
     */
    void (*warm)(bang_warmth *sums, const double *z, size_t count, double beta, const double *label,
                 double target, size_t rows);
    /* With labels (4), -1 where there is none; keeps e, (count, 4), unless it is NULL. */
    void (*soften)(bang_soft *out, double *e, const double *z, size_t count, const bang_scan *scan,
                   double scale, const double *label);
    /* Scores `count` softmaxes. */
    void (*score)(bang_score *out, const bang_soft *soft, size_t count, const double *label);
    /* Scores sum_i factor_i e_i, parts of (count, 4) with factors of rows. */
    void (*blend)(bang_score *out, const double *const *e, const double (*factor)[BANG_SIDE],
                  size_t parts, size_t count, const double *label);
    /* Adds the first `rows` rows of all members' scores. accords: of the pairs (0,1), (0,2), ..,
     * (1,2), ..; bit m of right[j] says whether member m is right in row j; bin (members, 4) is
     * bang_bin_of its confidence. 0 if a confidence is not above 0 or no number, else 1. */
    int (*fold)(bang_fold *folds, bang_accord *accords, uint64_t right[BANG_SIDE],
                uint64_t (*bin)[BANG_SIDE], size_t bins, const bang_score *scores, size_t members,
                const double *label, size_t rows);
} bang_measure_kernels;

const bang_measure_kernels *bang_measure_best(void);
extern const bang_measure_kernels bang_measure_naive, bang_measure_portable;
#if defined(__x86_64__)
extern const bang_measure_kernels bang_measure_avx2;
#endif

/* The mean of d_k of a row that is right is below 0, also where exponentials are too small for
 * it. */
#define BANG_VANISHED 1e-300

/* What the logarithm of no probability at all is: that of the least double. */
#define BANG_LOG_LEAST (-0x1.74385446d71c3p9)

#endif
