/* Kernels of four rows side by side; included by kernels_template.h. A vector holds one
 * or two numbers each of L rows; the vectors of the four rows are worked on one after the other,
 * so that sums are in registers. */
#ifndef BANG_SRC_MEASURE_KERNELS_GROUP_H
#define BANG_SRC_MEASURE_KERNELS_GROUP_H

enum { S = BANG_SIDE };

static void turn_f32(double *restrict out, const float *const rows[S], size_t count)
{
    const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    for (size_t k = 0; k < count; k++) {
        out[S * k] = (double)a[k];
        out[S * k + 1] = (double)b[k];
        out[S * k + 2] = (double)c[k];
        out[S * k + 3] = (double)d[k];
    }
}

static void turn_f64(double *restrict out, const double *const rows[S], size_t count)
{
    const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    for (size_t k = 0; k < count; k++) {
        out[S * k] = a[k];
        out[S * k + 1] = b[k];
        out[S * k + 2] = c[k];
        out[S * k + 3] = d[k];
    }
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
    l->index = choose(next > l->top, l->at, l->index);
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

static inline __attribute__((always_inline)) void soften_lanes(bang_score *out, double *e,
                                                               const double *z, size_t count,
                                                               const bang_scan *scan, double scale,
                                                               const double *label, size_t q)
{
    vector top = load(scan->top + q), sum = {0}, square = {0};
    for (size_t k = 0; k < count; k++) {
        vector y = exponential((load(z + S * k + q) - top) * scale);
        if (e)
            store(e + S * k + q, y);
        sum += y;
        square += y * y;
    }
    vector inverse = 1 / sum, index = load(scan->index + q), class = load(label + q);
    /* The largest e is 1: of the label's and its rival's only the other one is unknown. */
    whole right = (whole)(index == class);
    vector labels = (at_label(z + q, label + q) - top) * scale;
    vector rivals = (load(scan->second + q) - top) * scale;
    vector other = exponential(choose(right, rivals, labels)) * inverse;
    vector p = choose(right, inverse, other), rival = choose(right, other, inverse);
    store(out->prediction + q, index);
    store(out->confidence + q, inverse);
    store(out->nll + q, logarithm(sum) - labels);
    store(out->brier + q, brier_of(square * inverse * inverse, p));
    store(out->margin + q, p - rival);
}

static void soften(bang_score *out, double *e, const double *z, size_t count, const bang_scan *scan,
                   double scale, const double *label)
{
    for (size_t q = 0; q < S; q += L)
        if (e)
            soften_lanes(out, e, z, count, scan, scale, label, q);
        else
            soften_lanes(out, NULL, z, count, scan, scale, label, q);
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

static inline void fold_lanes(bang_fold *folds, bang_accord *accords, uint64_t *right,
                              const bang_score *scores, size_t members, const double *label,
                              whole valid, size_t q)
{
    vector class = load(label + q);
    whole pattern = {0}, bit = {0}, groups[4];
    bit += 1;
    for (size_t m = 0; m < members; m++, bit <<= 1)
        pattern |= bit & valid & (whole)(load(scores[m].prediction + q) == class);
    *(loose_whole *)(void *)(right + q) = pattern;
    whole first = -(pattern & 1), second = -((pattern >> 1) & 1);
    groups[0] = first & second & valid;
    groups[1] = first & ~second & valid;
    groups[2] = ~first & second & valid;
    groups[3] = ~first & ~second & valid;
    for (size_t m = 0; m < members; m++) {
        add_masked(folds[m].confidence + q, scores[m].confidence + q, valid);
        add_masked(folds[m].nll + q, scores[m].nll + q, valid);
        add_masked(folds[m].brier + q, scores[m].brier + q, valid);
        for (size_t g = 0; g < 4; g++)
            add_masked(folds[m].margin[g] + q, scores[m].margin + q, groups[g]);
    }
    for (size_t m = 0; accords && m < members; m++) {
        vector prediction = load(scores[m].prediction + q);
        whole wrong = ~(whole)(prediction == class);
        for (size_t n = m + 1; n < members; n++, accords++) {
            whole same = (whole)(prediction == load(scores[n].prediction + q)) & valid;
            count_masked(accords->agree + q, same);
            count_masked(accords->mistake + q, same & wrong);
        }
    }
}

static void fold(bang_fold *folds, bang_accord *accords, uint64_t right[S],
                 const bang_score *scores, size_t members, const double *label, size_t rows)
{
    for (size_t q = 0; q < S; q += L) {
        whole valid;
        for (size_t l = 0; l < L; l++)
            valid[l] = q + l < rows ? -1 : 0;
        fold_lanes(folds, accords, right, scores, members, label, valid, q);
    }
}

#endif
