/* Kernels of four rows side by side; included by kernels_template.h. A vector holds one
 * or two numbers each of L rows; the vectors of the four rows are worked on one after the other,
 * so that sums are in registers. */
#ifndef BANG_SRC_MEASURE_KERNELS_GROUP_H
#define BANG_SRC_MEASURE_KERNELS_GROUP_H

enum { S = BANG_SIDE };

/* 0 z is 0 unless z is not finite. */
#ifdef __AVX2__
/* Four numbers of four rows; lanes become rows. */
static inline vector turn_four(double *out, vector a, vector b, vector c, vector d)
{
    vector ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    vector cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    store(out, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    store(out + 4, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    store(out + 8, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    store(out + 12, _mm256_permute2f128_pd(ab1, cd1, 0x31));
    return (a * 0 + b * 0) + (c * 0 + d * 0);
}
#define WIDE(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
/* The last four overlap those before. */
#define TURN_FOUR(load)                                                                            \
    for (size_t k = 0; count >= 4 && done < count; done = k += 4) {                                \
        k = k + 4 > count ? count - 4 : k;                                                         \
        none += turn_four(out + S * k, load(a + k), load(b + k), load(c + k), load(d + k));        \
    }
#else
#define TURN_FOUR(load)
#endif

#define TURN(load)                                                                                 \
    vector none = {0};                                                                             \
    size_t done = 0;                                                                               \
    double rest = 0;                                                                               \
    TURN_FOUR(load)                                                                                \
    for (size_t k = done; k < count; k++) {                                                        \
        double *to = out + S * k;                                                                  \
        to[0] = (double)a[k], to[1] = (double)b[k], to[2] = (double)c[k], to[3] = (double)d[k];    \
        rest += (to[0] * 0 + to[1] * 0) + (to[2] * 0 + to[3] * 0);                                 \
    }                                                                                              \
    for (size_t l = 0; l < L; l++)                                                                 \
        rest += none[l];                                                                           \
    return rest == 0;

static int turn_f32(double *restrict out, const float *const rows[S], size_t count)
{
    const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    TURN(WIDE)
}

static int turn_f64(double *restrict out, const double *const rows[S], size_t count)
{
    const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    TURN(_mm256_loadu_pd)
}

/* The two largest so far and where the larger is. */
typedef struct leaders {
    vector top, second, index, at;
} leaders;

static inline leaders lead(vector first)
{
    return (leaders){first, spread((double)-INFINITY), spread(0), spread(0)};
}

static inline void follow(leaders *l, vector next)
{
    l->at += 1;
    l->index = choose((whole)(next > l->top), l->at, l->index);
    l->second = larger(l->second, smaller(next, l->top));
    l->top = larger(l->top, next);
}

static void scan(bang_scan *out, const double *z, size_t count)
{
    for (size_t q = 0; q < S; q += L) {
        leaders l = lead(load(z + q));
        for (size_t k = 1; k < count; k++)
            follow(&l, load(z + S * k + q));
        store(out->top + q, l.top);
        store(out->second + q, l.second);
        store(out->index + q, l.index);
    }
}

/* Numbers of L rows, each in the place of its row's label, which is a class or -1. */
static inline vector at_label(const double *z, const double *label)
{
    vector out;
    for (size_t l = 0; l < L; l++)
        out[l] = z[S * (label[l] > 0 ? (size_t)label[l] : 0) + l];
    return out;
}

/* Rounding may lead below 0. */
static inline vector brier_of(vector square, vector p)
{
    return larger(square - 2 * p + 1, spread(0));
}

#define LOG2_E 0x1.71547652b82fep0

/* Knuth's way, without a branch: there may be millions of rows, and a value is a small
 * difference. */
static inline void add_exactly(double *total, double *lost, vector x)
{
    vector before = load(total), after = before + x, added = after - before;
    store(lost, load(lost) + ((before - (after - added)) + (x - added)));
    store(total, after);
}

static inline whole first_lanes(size_t rows, size_t q)
{
    whole valid = {0};
    for (size_t l = 0; l < L; l++)
        valid[l] = q + l < rows ? UINT64_MAX : 0;
    return valid;
}

static void warm(bang_warmth *sums, const double *z, size_t count, double beta, const double *label,
                 double target, size_t rows)
{
    double binary = beta * LOG2_E;
    for (size_t q = 0; q < S; q += L) {
        vector top = load(z + q), of[BANG_WARMTHS] = {0};
        vector sum = {0}, first = {0}, second = {0}, third = {0};
        for (size_t k = 1; k < count; k++)
            top = larger(top, load(z + S * k + q));
        for (size_t k = 0; k < count; k++) {
            vector d = load(z + S * k + q) - top, x = d * binary, y = power(x);
            /* Far down d may be infinite, and e is nothing. */
            d = (vector)((whole)d & ~(whole)(x < -1022));
            vector yd = y * d, ydd = yd * d;
            sum += y;
            first += yd;
            second += ydd;
            third += ydd * d;
        }
        vector inverse = 1 / sum, mean = first * inverse;
        vector square = mean * mean, variance = larger(second * inverse - square, spread(0));
        if (label) {
            vector below = at_label(z + q, label + q) - top;
            whole alone = (whole)(sum == 1) & (count > 1 ? UINT64_MAX : 0);
            mean = choose(alone, smaller(mean, spread(-BANG_VANISHED)), mean);
            of[BANG_VALUE] = mean - below;
            of[BANG_SLOPE] = variance;
            of[BANG_BEND] = third * inverse - mean * (3 * variance + square);
            of[BANG_INTEGRAL] = logarithm(sum) - below * beta;
        } else {
            of[BANG_VALUE] = inverse - target;
            of[BANG_SLOPE] = -mean * inverse;
            of[BANG_BEND] = (square - variance) * inverse;
        }
        whole valid = first_lanes(rows, q);
        for (size_t i = 0; i < BANG_WARMTHS; i++)
            add_exactly(sums->total[i] + q, sums->lost[i] + q, (vector)((whole)of[i] & valid));
    }
}

static inline __attribute__((always_inline)) void soften_lanes(bang_soft *out, double *e,
                                                               const double *z, size_t count,
                                                               const bang_scan *scan, double scale,
                                                               const double *label, size_t q)
{
    vector top = load(scan->top + q), sum = {0}, square = {0};
    double binary = scale * LOG2_E;
    for (size_t k = 0; k < count; k++) {
        vector y = power((load(z + S * k + q) - top) * binary);
        if (e)
            store(e + S * k + q, y);
        sum += y;
        square += y * y;
    }
    vector index = load(scan->index + q), below = at_label(z + q, label + q) - top;
    whole right = (whole)(index == load(label + q));
    store(out->sum + q, sum);
    store(out->square + q, square);
    store(out->index + q, index);
    store(out->label + q, below * scale);
    store(out->other + q, choose(right, load(scan->second + q) - top, below) * binary);
}

static void soften(bang_soft *out, double *e, const double *z, size_t count, const bang_scan *scan,
                   double scale, const double *label)
{
    for (size_t q = 0; q < S; q += L)
        if (e)
            soften_lanes(out, e, z, count, scan, scale, label, q);
        else
            soften_lanes(out, NULL, z, count, scan, scale, label, q);
}

/* Apart from the sums: several are under way at once, whatever they wait for. */
static void score(bang_score *out, const bang_soft *soft, size_t count, const double *label)
{
    for (size_t q = 0; q < S; q += L)
        for (size_t i = 0; i < count; i++) {
            vector sum = load(soft[i].sum + q), index = load(soft[i].index + q);
            vector inverse = 1 / sum;
            whole right = (whole)(index == load(label + q));
            /* The largest e is 1: of the label's and its rival's only the other is unknown. */
            vector other = power(load(soft[i].other + q)) * inverse;
            vector p = choose(right, inverse, other), rival = choose(right, other, inverse);
            vector square = load(soft[i].square + q) * inverse * inverse;
            store(out[i].prediction + q, index);
            store(out[i].confidence + q, inverse);
            store(out[i].nll + q, logarithm(sum) - load(soft[i].label + q));
            store(out[i].brier + q, brier_of(square, p));
            store(out[i].margin + q, p - rival);
        }
}

/* sum_i factor_i e_i of class k, in one order of parts. */
static inline __attribute__((always_inline)) vector
blended(const double *const *e, const double (*factor)[S], size_t parts, size_t k, size_t q)
{
    vector p = load(e[0] + S * k + q) * load(factor[0] + q);
    for (size_t i = 1; i < parts; i++)
        p += load(e[i] + S * k + q) * load(factor[i] + q);
    return p;
}

static inline __attribute__((always_inline)) void
blend_lanes(bang_score *out, const double *const *e, const double (*factor)[S], size_t parts,
            size_t count, const double *label, size_t q)
{
    vector p = blended(e, factor, parts, 0, q), square = p * p;
    leaders l = lead(p);
    for (size_t k = 1; k < count; k++) {
        p = blended(e, factor, parts, k, q);
        square += p * p;
        follow(&l, p);
    }
    p = at_label(e[0] + q, label + q) * load(factor[0] + q);
    for (size_t i = 1; i < parts; i++)
        p += at_label(e[i] + q, label + q) * load(factor[i] + q);
    whole right = (whole)(l.index == load(label + q));
    /* Of a single class there is no rival. */
    vector rival = larger(choose(right, l.second, l.top), spread(0));
    store(out->prediction + q, l.index);
    store(out->confidence + q, l.top);
    store(out->nll + q, -logarithm(p));
    store(out->brier + q, brier_of(square, p));
    store(out->margin + q, p - rival);
}

static void blend(bang_score *out, const double *const *e, const double (*factor)[S], size_t parts,
                  size_t count, const double *label)
{
    for (size_t q = 0; q < S; q += L)
        if (parts == 2)
            blend_lanes(out, e, factor, 2, count, label, q);
        else
            blend_lanes(out, e, factor, parts, count, label, q);
}

static inline void add_masked(double *to, const double *from, whole mask)
{
    store(to, load(to) + (vector)((whole)load(from) & mask));
}

/* One less is one more counted: a comparison that holds is -1. */
static inline void count_masked(uint64_t *to, whole mask)
{
    *(loose_whole *)(void *)to -= mask;
}

/* ceil(bins c) - 1 within 0 .. bins - 1: adding 2^52 rounds to a whole number. */
static inline whole bin_of(vector confidence, double bins)
{
    const vector shift = spread(0x1p52);
    vector x = confidence * bins, nearest = (x + shift) - shift;
    vector bin = nearest - (vector)((whole)(nearest >= x) & (whole)spread(1));
    bin = smaller(larger(bin, spread(0)), spread(bins - 1));
    return (whole)(bin + shift) & (((uint64_t)1 << 52) - 1);
}

/* groups: TT, TF, FT, FF, and all. */
static inline void fold_groups(bang_fold *fold, const bang_score *score, const whole groups[5],
                               size_t q)
{
    add_masked(fold->confidence + q, score->confidence + q, groups[4]);
    add_masked(fold->nll + q, score->nll + q, groups[4]);
    add_masked(fold->brier + q, score->brier + q, groups[4]);
    for (size_t g = 0; g < 4; g++)
        add_masked(fold->margin[g] + q, score->margin + q, groups[g]);
}

static inline void fold_accords(bang_accord *accords, const bang_score *scores, size_t members,
                                vector class, whole valid, size_t q)
{
    for (size_t m = 0; m < members; m++) {
        vector prediction = load(scores[m].prediction + q);
        whole wrong = ~(whole)(prediction == class);
        for (size_t n = m + 1; n < members; n++, accords++) {
            whole same = (whole)(prediction == load(scores[n].prediction + q)) & valid;
            count_masked(accords->agree + q, same);
            count_masked(accords->mistake + q, same & wrong);
        }
    }
}

static int fold(bang_fold *folds, bang_accord *accords, uint64_t right[S], uint64_t (*bin)[S],
                size_t bins, const bang_score *scores, size_t members, const double *label,
                size_t rows)
{
    uint64_t fine = UINT64_MAX;
    for (size_t q = 0; q < S; q += L) {
        vector class = load(label + q);
        whole none = {0}, pattern = none, bit = none + 1, usable = ~none;
        whole valid = first_lanes(rows, q);
        for (size_t m = 0; m < members; m++, bit <<= 1) {
            vector confidence = load(scores[m].confidence + q);
            usable &= (whole)(confidence > 0);
            pattern |= bit & (whole)(load(scores[m].prediction + q) == class);
            *(loose_whole *)(void *)(bin[m] + q) = bin_of(confidence, (double)bins);
        }
        pattern &= valid;
        *(loose_whole *)(void *)(right + q) = pattern;
        whole first = -(pattern & 1), second = -((pattern >> 1) & 1);
        const whole groups[5] = {first & second, first & ~second, ~first & second,
                                 ~first & ~second & valid, valid};
        for (size_t m = 0; m < members; m++)
            fold_groups(&folds[m], &scores[m], groups, q);
        fold_accords(accords, scores, members, class, valid, q);
        for (size_t l = 0; l < L; l++)
            fine &= usable[l];
    }
    return fine != 0;
}

#endif
