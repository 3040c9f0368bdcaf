#include "bang/measure/calibration.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

size_t bang_bin_of(double confidence, size_t bins)
{
    double bin = ceil((double)bins * confidence) - 1;
    if (!(bin > 0)) /* also a NaN */
        return 0;
    return bin < (double)bins ? (size_t)bin : bins - 1;
}

/* Numbers without their signs are in the order of their bits. */
static inline uint64_t key_of(double confidence)
{
    uint64_t bits;
    memcpy(&bits, &confidence, sizeof bits);
    return bits & ~(UINT64_C(1) << 63);
}

static inline void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

/* About the middle one: the median of three medians of three. */
static uint64_t middle_value(const double *values, size_t n)
{
    uint64_t of[3];
    size_t step = n / 9;
    for (size_t i = 0; i < 3; i++) {
        const double *third = values + 3 * i * step;
        of[i] = median(key_of(third[0]), key_of(third[step]), key_of(third[2 * step]));
    }
    return median(of[0], of[1], of[2]);
}

static uint64_t middle_of_range(const double *values, size_t n)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = key_of(values[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    return least + (most - least) / 2;
}

/* Smaller ones to the front, larger ones to the end; counts the smaller and the equal. */
static void part(double *values, size_t n, uint64_t pivot, size_t *smaller, size_t *equal)
{
    size_t low = 0, next = 0, high = n;
    while (next < high) {
        uint64_t key = key_of(values[next]);
        if (key < pivot)
            swap(&values[low++], &values[next++]);
        else if (key > pivot)
            swap(&values[next], &values[--high]);
        else
            next++;
    }
    *smaller = low;
    *equal = high - low;
}

/* Reorders values so that none before `rank` is larger than one from there on. Every second
 * round halves the range of the keys, so that 128 rounds are the most, whatever the values. */
static void select_rank(double *values, size_t n, size_t rank)
{
    for (int by_range = 0; n > 1; by_range = !by_range) {
        uint64_t pivot = by_range ? middle_of_range(values, n) : middle_value(values, n);
        size_t smaller, equal;
        part(values, n, pivot, &smaller, &equal);
        if (rank < smaller) {
            n = smaller;
        } else if (rank <= smaller + equal) { /* equal: where the larger ones begin */
            return;
        } else {
            values += smaller + equal;
            n -= smaller + equal;
            rank -= smaller + equal;
        }
    }
}

/* Where bin b of n samples begins: as numpy.array_split. */
static size_t start_of(size_t b, size_t bins, size_t n)
{
    size_t longer = n % bins;
    return b * (n / bins) + (b < longer ? b : longer);
}

/* Cuts bins first .. last - 1, whose samples are in their places as a whole, apart. */
static void cut(double *values, size_t n, size_t bins, size_t first, size_t last)
{
    while (last - first > 1) {
        size_t middle = first + (last - first) / 2, begin = start_of(first, bins, n);
        size_t at = start_of(middle, bins, n), end = start_of(last, bins, n);
        if (at > begin && at < end)
            select_rank(values + begin, end - begin, at - begin);
        cut(values, n, bins, first, middle);
        first = middle;
    }
}

/* Fills everything but the accuracy. The confidences are summed as whole multiples of 2^-63 in
 * 128 bits: no order of them gives another sum. */
static void sum_bin(bang_bin *bin, const double *values, size_t n)
{
    *bin = (bang_bin){n, NAN, NAN, NAN, NAN};
    if (n == 0)
        return;
    uint64_t low = 0, high = 0;
    double least = fabs(values[0]), most = least;
    int sane = 1;
    for (size_t i = 0; i < n; i++) {
        double confidence = fabs(values[i]);
        if (!(confidence < 2)) {
            sane = 0;
            continue;
        }
        uint64_t units = (uint64_t)(confidence * 0x1p63);
        low += units;
        high += low < units;
        least = confidence < least ? confidence : least;
        most = confidence > most ? confidence : most;
    }
    if (sane)
        bin->confidence = ((double)high * 0x1p64 + (double)low) * 0x1p-63 / (double)n;
    bin->low = least;
    bin->high = most;
}

/* The right ones, but those of confidences that are not this bin's alone. */
static double own_right(const bang_bin *bin, const double *values, int low_shared, int high_shared)
{
    size_t right = 0;
    for (size_t i = 0; i < bin->count; i++) {
        double confidence = fabs(values[i]);
        int shared =
            (low_shared && confidence == bin->low) || (high_shared && confidence == bin->high);
        right += !signbit(values[i]) && !shared;
    }
    return (double)right;
}

struct ties {
    size_t count, right;
};

static struct ties count_ties(const double *values, size_t n, double confidence)
{
    struct ties ties = {0, 0};
    for (size_t i = 0; i < n; i++) {
        int equal = fabs(values[i]) == confidence;
        ties.count += (size_t)equal;
        ties.right += (size_t)(equal && !signbit(values[i]));
    }
    return ties;
}

/* Adds to each of bins first .. last its share of the right ones among the samples of one
 * confidence that they have in common; values (samples of these bins). */
static void share(bang_bin *bins, size_t first, size_t last, const double *values)
{
    double confidence = bins[first].high;
    struct ties all = {0, 0};
    for (size_t b = first, at = 0; b <= last; at += bins[b++].count) {
        struct ties here = count_ties(values + at, bins[b].count, confidence);
        all.count += here.count;
        all.right += here.right;
    }
    for (size_t b = first, at = 0; b <= last; at += bins[b++].count) {
        size_t here = count_ties(values + at, bins[b].count, confidence).count;
        bins[b].accuracy += (double)here * ((double)all.right / (double)all.count);
    }
}

void bang_bins_equal_mass(bang_bin *bins, size_t count, double *confidence, size_t n)
{
    cut(confidence, n, count, 0, count);
    for (size_t b = 0; b < count; b++) {
        size_t start = start_of(b, count, n);
        sum_bin(&bins[b], confidence + start, start_of(b + 1, count, n) - start);
    }
    size_t filled = n < count ? n : count;
    for (size_t b = 0; b < filled; b++) {
        int low_shared = b > 0 && bins[b - 1].high == bins[b].low;
        int high_shared = b + 1 < filled && bins[b + 1].low == bins[b].high;
        bins[b].accuracy =
            own_right(&bins[b], confidence + start_of(b, count, n), low_shared, high_shared);
    }
    for (size_t b = 0; b + 1 < filled;) {
        size_t last = b;
        while (last + 1 < filled && bins[last + 1].low == bins[b].high)
            last++;
        if (last > b)
            share(bins, b, last, confidence + start_of(b, count, n));
        b = last > b ? last : b + 1; /* what the last one begins, another run may end */
    }
    for (size_t b = 0; b < filled; b++)
        bins[b].accuracy /= (double)bins[b].count;
}

void bang_calibration_of(bang_calibration *out, const bang_bin *bins, size_t count)
{
    double total = 0, sum = 0, squares = 0, most = 0;
    for (size_t b = 0; b < count; b++) {
        if (bins[b].count == 0)
            continue;
        double mass = (double)bins[b].count, gap = fabs(bins[b].accuracy - bins[b].confidence);
        total += mass;
        sum += mass * gap;
        squares += mass * gap * gap;
        most = gap > most ? gap : most;
    }
    *out = (bang_calibration){NAN, NAN, NAN};
    if (!(total > 0) || isnan(sum))
        return;
    *out = (bang_calibration){sum / total, most, sqrt(squares / total)};
}
