/* How far confidence is from accuracy.
 *
 * Confidence is the largest probability of a row, over-confidence the mean confidence
 * minus accuracy. Samples are put into bins by confidence; with n_b samples in bin b, their
 * mean confidence c_b and accuracy a_b,
 *
 *     ECE = sum n_b/n |a_b - c_b|      MCE = max |a_b - c_b|      RMS = sqrt(sum n_b/n (a_b -
 * c_b)^2)
 *
 * over bins that are not empty. Equal width: B bins (lo, hi], bin = ceil(B c) - 1, clipped to
 * 0 .. B-1. Equal mass: the samples in the order of their confidence, cut into B runs
 * whose sizes differ by at most one, the longer ones first (as numpy.array_split); samples of
 * equal confidence on both sides of a cut share their mean accuracy, so that no result depends
 * on the order of the samples.
 */
#ifndef BANG_MEASURE_CALIBRATION_H
#define BANG_MEASURE_CALIBRATION_H

#include <stddef.h>

enum { BANG_BINS = 15, BANG_BINS_MAX = 1000 };

typedef struct bang_bin {
    size_t count;
    double confidence; /* mean; NaN when the bin is empty */
    double accuracy;   /* mean; NaN when the bin is empty */
    double low,
        high; /* of an equal width: its ends; of an equal mass: least and largest confidence */
} bang_bin;

typedef struct bang_calibration {
    double ece, mce, rms; /* NaN without samples */
} bang_calibration;

/* The bin of equal width. */
size_t bang_bin_of(double confidence, size_t bins);

/* Fills bins, (count <= BANG_BINS_MAX), of equal mass. confidence (n) holds the confidences,
 * negative where the prediction is wrong; it is reordered. */
void bang_bins_equal_mass(bang_bin *bins, size_t count, double *confidence, size_t n);

void bang_calibration_of(bang_calibration *out, const bang_bin *bins, size_t count);

#endif
