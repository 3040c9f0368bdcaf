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

/* Cuts bins first .. last - 1, whose samples are in their places as a whole, apart; start (bins +
 * 1) says where they begin. */
static void cut(double *values, const size_t *start, size_t first, size_t last)
{
    while (last - first > 1) {
        size_t middle = first + (last - first) / 2, begin = start[first];
        if (start[middle] > begin && start[middle] < start[last])
            select_rank(values + begin, start[last] - begin, start[middle] - begin);
        cut(values, start, first, middle);
        first = middle;
    }
}

/* What is known of the samples of a bin. Confidences are summed as whole multiples of 2^-62 in
 * 128 bits: no order of them gives another sum. */
struct content {
    uint64_t low, high;
    size_t right;
    double least, most;
    int wild; /* one is no confidence */
};

static inline void add(struct content *to, double value)
{
    double confidence = fabs(value);
    if (!(confidence < 2)) {
        to->wild = 1;
        return;
    }
    uint64_t units = (uint64_t)(int64_t)(confidence * 0x1p62);
    to->low += units;
    to->high += to->low < units;
    to->right += !signbit(value);
    to->least = confidence < to->least ? confidence : to->least;
    to->most = confidence > to->most ? confidence : to->most;
}

/* Of the slices of 0..1 few hold a cut: only samples in these need to be in order. What a
 * confidence lacks to 1 decides, in 128 slices for every factor of 2, as many models are all but
 * certain; the last one is for 1 itself. */
enum { SLICES = 128 * 53 + 1, SLICE_SHIFT = 45, IS_CUT = UINT16_MAX };
_Static_assert((int)BANG_BINS_MAX < (int)IS_CUT, "a bin has a number");

static inline size_t slice_of(double value)
{
    double lack = 1 - fabs(value);
    if (!(lack > 0)) /* also of a NaN */
        return SLICES;
    return (size_t)((key_of(1) >> SLICE_SHIFT) - (key_of(lack) >> SLICE_SHIFT));
}

/* The bin of every slice that lies in one. start becomes where the bins begin among the samples of
 * the others, which have cuts. */
static void place_slices(uint16_t home[SLICES + 1], size_t *start, size_t bins,
                         const double *values, size_t n)
{
    size_t held[SLICES + 1] = {0};
    for (size_t i = 0; i < n; i++)
        held[slice_of(values[i])]++;
    size_t bin = 0, before = 0, kept = 0; /* kept: of those before in slices with cuts */
    start[0] = 0;
    for (size_t slice = 0; slice <= SLICES; slice++) {
        size_t end = before + held[slice], next;
        int is_cut = 0;
        for (; bin + 1 < bins && (next = start_of(bin + 1, bins, n)) < end; bin++) {
            start[bin + 1] = kept + (next - before);
            is_cut |= next > before;
        }
        home[slice] = is_cut ? IS_CUT : (uint16_t)bin;
        kept += is_cut ? held[slice] : 0;
        before = end;
    }
    for (; bin < bins; bin++)
        start[bin + 1] = kept;
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

/* Bins first .. last have samples of one confidence in common: each of them gets its share of the
 * right ones, as accuracy, and has no others of them. */
static void share(bang_bin *bins, struct content *of, size_t first, size_t last,
                  const double *values, const size_t *start)
{
    double confidence = bins[first].high;
    struct ties all = count_ties(values + start[first], start[last + 1] - start[first], confidence);
    for (size_t b = first; b <= last; b++) {
        struct ties here = count_ties(values + start[b], start[b + 1] - start[b], confidence);
        bins[b].accuracy += (double)here.count * ((double)all.right / (double)all.count);
        of[b].right -= here.right;
    }
}

/* Everything but the accuracy. */
static bang_bin bin_with(const struct content *of, size_t count)
{
    if (count == 0)
        return (bang_bin){0, NAN, NAN, NAN, NAN};
    double sum = ((double)of->high * 0x1p64 + (double)of->low) * 0x1p-62;
    return (bang_bin){count, of->wild ? (double)NAN : sum / (double)count, 0, of->least, of->most};
}

void bang_bins_equal_mass(bang_bin *bins, size_t count, double *confidence, size_t n)
{
    uint16_t home[SLICES + 1];
    size_t start[BANG_BINS_MAX + 1], kept = 0;
    struct content of[BANG_BINS_MAX];
    for (size_t b = 0; b < count; b++)
        of[b] = (struct content){.least = INFINITY, .most = -INFINITY};
    place_slices(home, start, count, confidence, n);
    for (size_t i = 0; i < n; i++) {
        size_t bin = home[slice_of(confidence[i])];
        if (bin == IS_CUT)
            swap(&confidence[kept++], &confidence[i]);
        else
            add(&of[bin], confidence[i]);
    }
    cut(confidence, start, 0, count);
    for (size_t b = 0; b < count; b++) {
        for (size_t i = start[b]; i < start[b + 1]; i++)
            add(&of[b], confidence[i]);
        bins[b] = bin_with(&of[b], start_of(b + 1, count, n) - start_of(b, count, n));
    }
    size_t filled = n < count ? n : count;
    for (size_t b = 0; b + 1 < filled;) {
        size_t last = b;
        while (last + 1 < filled && bins[last + 1].low == bins[b].high)
            last++;
        if (last > b)
            share(bins, of, b, last, confidence, start);
        b = last > b ? last : b + 1; /* what the last one begins, another run may end */
    }
    for (size_t b = 0; b < filled; b++)
        bins[b].accuracy = (bins[b].accuracy + (double)of[b].right) / (double)bins[b].count;
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
