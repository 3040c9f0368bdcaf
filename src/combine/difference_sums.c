#include <math.h>
#include <string.h>

#include "bang/tensor/convert.h"
#include "combine/difference.h"

enum {
    CHUNK = 512, /* numbers that are converted at a time */
    LANES = 8,   /* sums side by side: vectors, and rounding errors that stay small */
};

int bang_pair_is_number(bang_dtype dtype)
{
    return bang_dtype_is_real(dtype) || bang_dtype_is_integer(dtype);
}

#define LOAD(type)                                                                                 \
    for (size_t i = 0; i < count; i++) {                                                           \
        type number;                                                                               \
        memcpy(&number, (const char *)in + i * sizeof number, sizeof number);                      \
        out[i] = (double)number;                                                                   \
    }                                                                                              \
    break

static void load(double *out, const void *in, bang_dtype dtype, size_t count)
{
    switch (dtype) {
    case BANG_BOOL: /* any byte but 0 is true */
        for (size_t i = 0; i < count; i++)
            out[i] = ((const unsigned char *)in)[i] != 0;
        break;
    case BANG_U8:
        LOAD(uint8_t);
    case BANG_I8:
        LOAD(int8_t);
    case BANG_U16:
        LOAD(uint16_t);
    case BANG_I16:
        LOAD(int16_t);
    case BANG_U32:
        LOAD(uint32_t);
    case BANG_I32:
        LOAD(int32_t);
    case BANG_U64:
        LOAD(uint64_t);
    case BANG_I64:
        LOAD(int64_t);
    default:
        bang_to_f64(out, in, dtype, count);
    }
}

static double sum_lanes(const double *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* count is a multiple of LANES. */
static void add_lanes(bang_pair_sums *sums, const double *a, const double *b, size_t count)
{
    double lane[BANG_SUM_COUNT][LANES] = {{0}}, most[LANES] = {0};
    for (size_t i = 0; i < count; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            double x = a[i + k], y = b[i + k], d = y - x, size = fabs(d);
            lane[BANG_SUM_AA][k] += x * x;
            lane[BANG_SUM_BB][k] += y * y;
            lane[BANG_SUM_AB][k] += x * y;
            lane[BANG_SUM_DD][k] += d * d;
            most[k] = size > most[k] ? size : most[k];
        }
    for (size_t s = 0; s < BANG_SUM_COUNT; s++)
        sums->sum[s] += sum_lanes(lane[s]);
    for (size_t k = 0; k < LANES; k++)
        sums->max_abs = fmax(sums->max_abs, most[k]);
}

/* Pairs of zeros change no sum: they fill up the last lanes, and take the place
 * of pairs that are not finite. */
static void add_chunk(bang_pair_sums *sums, double *a, double *b, size_t count)
{
    size_t padded = (count + LANES - 1) / LANES * LANES;
    double trap[LANES] = {0}; /* stays 0 unless some number is not finite */
    for (size_t i = count; i < padded; i++)
        a[i] = b[i] = 0;
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            trap[k] += 0 * a[i + k] + 0 * b[i + k];
    for (size_t i = 0; i < count && sum_lanes(trap) != 0; i++) {
        if (isfinite(a[i]) && isfinite(b[i]))
            continue;
        sums->not_finite++;
        a[i] = b[i] = 0;
    }
    add_lanes(sums, a, b, padded);
}

void bang_pair_block(bang_pair_sums *sums, const void *a, bang_dtype a_type, const void *b,
                     bang_dtype b_type, size_t count)
{
    double x[CHUNK] = {0}, y[CHUNK] = {0}; /* the last lanes may not be loaded */
    size_t a_size = bang_dtype_size(a_type), b_size = bang_dtype_size(b_type);
    if (a_type != b_type || memcmp(a, b, count * a_size) != 0)
        sums->unequal = 1;
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t n = count - first < CHUNK ? count - first : CHUNK;
        load(x, (const char *)a + first * a_size, a_type, n);
        load(y, (const char *)b + first * b_size, b_type, n);
        add_chunk(sums, x, y, n);
    }
}

void bang_pair_add(bang_pair_sums *sums, const bang_pair_sums *more)
{
    for (size_t s = 0; s < BANG_SUM_COUNT; s++) {
        double before = sums->sum[s], add = more->sum[s], after = before + add;
        double lost = fabs(before) >= fabs(add) ? before - after + add : add - after + before;
        sums->sum[s] = after;
        sums->lost[s] += lost + more->lost[s];
    }
    sums->max_abs = fmax(sums->max_abs, more->max_abs);
    sums->not_finite += more->not_finite;
    sums->unequal |= more->unequal;
}

void bang_pair_finish(bang_change *change, const bang_pair_sums *sums, uint64_t count)
{
    double s[BANG_SUM_COUNT];
    int usable = 1;
    for (size_t i = 0; i < BANG_SUM_COUNT; i++) {
        s[i] = sums->sum[i] + sums->lost[i];
        usable &= isfinite(s[i]) != 0;
    }
    double a = sqrt(s[BANG_SUM_AA]), b = sqrt(s[BANG_SUM_BB]), d = sqrt(s[BANG_SUM_DD]);
    /* One rounding fewer than a * b, where the product of the squares is a number. */
    double product = s[BANG_SUM_AA] * s[BANG_SUM_BB];
    double norm = isnormal(product) ? sqrt(product) : a * b;
    *change = (bang_change){count, sums->not_finite, a, b, NAN, NAN, NAN, sums->max_abs};
    if (!usable) {
        change->norm_a = change->norm_b = NAN;
    } else if (sums->max_abs == 0) {
        change->relative_change = 0;
        change->cosine = change->norm_ratio = a > 0 ? 1 : NAN;
    } else if (a > 0) {
        change->relative_change = d / a;
        change->norm_ratio = b / a;
        if (b > 0)
            change->cosine = fmax(-1, fmin(1, s[BANG_SUM_AB] / norm));
    }
}
