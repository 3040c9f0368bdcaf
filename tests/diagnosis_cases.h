/* Data sets for the diagnosis, and what is true of them: plain loops over rows in double, with
 * exp and log of the C library, no tally, no patterns. */
#ifndef BANG_TESTS_DIAGNOSIS_CASES_H
#define BANG_TESTS_DIAGNOSIS_CASES_H

#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/measure/diagnosis.h"

enum { CASE_ALPHAS = 3, CASE_ROWS_MAX = 2000, CASE_CLASSES_MAX = 12 };
static const double case_alphas[CASE_ALPHAS] = {.25, .5, .75};

typedef struct case_set {
    size_t rows, classes;
    double *pre, *fine, *avg; /* (rows, classes) */
    double *at[CASE_ALPHAS];  /* (rows, classes); the second is avg */
    bang_label *labels;       /* (rows) some are left out */
    bang_table tables[3 + CASE_ALPHAS];
    bang_logits averages[CASE_ALPHAS];
    bang_diagnosis_set set; /* of them; without averages at alphas */
} case_set;

/* What a set is made of: how much PM and FM know, and how loud FM is. */
typedef struct case_kind {
    size_t rows, classes;
    double pre, fine, loud;
    uint64_t stream;
} case_kind;

static inline void case_free(case_set *c)
{
    free(c->pre);
    free(c->fine);
    free(c->avg);
    free(c->at[0]);
    free(c->at[2]);
    free(c->labels);
}

static inline bang_logits case_logits(case_set *c, size_t i, const char *name,
                                      const double *numbers)
{
    bang_table_of(&c->tables[i], name, BANG_F64, numbers, c->rows, c->classes);
    return (bang_logits){&c->tables[i], 0, NULL};
}

/* One row in 16 is left out. Averages lie near the mix of both models, with features of
 * their own. The case must not be moved: the set points into it. */
static inline void case_make(case_set *c, const char *name, const case_kind *kind)
{
    *c = (case_set){.rows = kind->rows, .classes = kind->classes};
    size_t size = c->rows * c->classes;
    double **all[] = {&c->pre, &c->fine, &c->avg, &c->at[0], &c->at[2]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_non_null(*all[i] = calloc(size, sizeof(double)));
    c->at[1] = c->avg;
    assert_non_null(c->labels = calloc(c->rows, sizeof *c->labels));
    bang_random random;
    bang_random_init(&random, 11, BANG_PURPOSE('c', 'a', 's', 'e'), kind->stream);
    for (size_t i = 0; i < c->rows; i++) {
        size_t label = bang_random_below(&random, c->classes);
        double ease = bang_random_normal(&random);
        c->labels[i] = bang_random_below(&random, 16) == 0 ? BANG_LEFT_OUT : (bang_label)label;
        for (size_t k = 0; k < c->classes; k++) {
            double known = k == label, both = .5 * bang_random_normal(&random);
            double pre = known * (kind->pre + ease) + both + bang_random_normal(&random);
            double fine = known * (kind->fine + ease) + both + bang_random_normal(&random);
            size_t at = i * c->classes + k;
            c->pre[at] = pre;
            c->fine[at] = kind->loud * fine;
            for (size_t a = 0; a < CASE_ALPHAS; a++)
                c->at[a][at] = (1 - case_alphas[a]) * c->pre[at] + case_alphas[a] * c->fine[at] +
                               .4 * bang_random_normal(&random);
        }
    }
    c->set = (bang_diagnosis_set){
        .name = name,
        .pre = case_logits(c, 0, "pre", c->pre),
        .fine = case_logits(c, 1, "fine", c->fine),
        .avg = case_logits(c, 2, "avg", c->avg),
        .labels = c->labels,
    };
    c->averages[0] = case_logits(c, 3, "at 0.25", c->at[0]);
    c->averages[1] = c->set.avg;
    c->averages[2] = case_logits(c, 4, "at 0.75", c->at[2]);
}

/* What one member says about every row that counts. */
typedef struct plain {
    size_t n; /* rows that count */
    size_t prediction[CASE_ROWS_MAX];
    int right[CASE_ROWS_MAX];
    double confidence[CASE_ROWS_MAX], margin[CASE_ROWS_MAX], nll[CASE_ROWS_MAX],
        brier[CASE_ROWS_MAX];
} plain;

static inline void plain_softmax(double *p, const double *z, size_t classes)
{
    double top = -INFINITY, sum = 0;
    for (size_t k = 0; k < classes; k++)
        top = fmax(top, z[k]);
    for (size_t k = 0; k < classes; k++)
        sum += p[k] = exp(z[k] - top);
    for (size_t k = 0; k < classes; k++)
        p[k] /= sum;
}

/* softmax(w0 s0 a + w1 s1 b), or w0 softmax(s0 a) + w1 softmax(s1 b). b may be NULL. */
static inline void plain_member(plain *out, const case_set *c, const double *a, const double *b,
                                const double share[2], const double scale[2], int probabilities)
{
    out->n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        double z[2][CASE_CLASSES_MAX] = {{0}}, p[2][CASE_CLASSES_MAX];
        double mix[CASE_CLASSES_MAX] = {0};
        if (c->set.labels && c->labels[i] < 0)
            continue;
        for (size_t k = 0; k < c->classes; k++) {
            z[0][k] = scale[0] * a[i * c->classes + k];
            z[1][k] = b ? scale[1] * b[i * c->classes + k] : 0;
            mix[k] = share[0] * z[0][k] + (b ? share[1] * z[1][k] : 0);
        }
        plain_softmax(p[0], z[0], c->classes);
        plain_softmax(p[1], z[1], c->classes);
        if (probabilities)
            for (size_t k = 0; k < c->classes; k++)
                mix[k] = share[0] * p[0][k] + share[1] * p[1][k];
        else
            plain_softmax(mix, mix, c->classes);
        size_t label = c->set.labels ? (size_t)c->labels[i] : 0, n = out->n++, best = 0;
        double other = -INFINITY, square = 0;
        for (size_t k = 0; k < c->classes; k++) {
            if (mix[k] > mix[best])
                best = k;
            if (k != label)
                other = fmax(other, mix[k]);
            square += (mix[k] - (k == label)) * (mix[k] - (k == label));
        }
        out->prediction[n] = best;
        out->right[n] = best == label;
        out->confidence[n] = mix[best];
        out->margin[n] = mix[label] - other;
        out->nll[n] = -log(mix[label]);
        out->brier[n] = square;
    }
}

static inline void plain_single(plain *out, const case_set *c, const double *z, double scale)
{
    plain_member(out, c, z, NULL, (double[]){1, 0}, (double[]){scale, 0}, 0);
}

static inline double plain_mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static inline double plain_accuracy(const plain *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++)
        sum += m->right[i];
    return sum / (double)m->n;
}

static inline int plain_order(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* ECE, MCE, RMS from which bin every row is in. */
static inline void plain_errors(double out[3], const double *confidence, const int *right,
                                const size_t *bin, size_t n, size_t bins)
{
    out[0] = out[1] = out[2] = 0;
    for (size_t b = 0; b < bins; b++) {
        double c = 0, a = 0, count = 0;
        for (size_t i = 0; i < n; i++)
            if (bin[i] == b) {
                c += confidence[i];
                a += right[i];
                count++;
            }
        if (count == 0)
            continue;
        double gap = fabs(a / count - c / count);
        out[0] += count / (double)n * gap;
        out[1] = fmax(out[1], gap);
        out[2] += count / (double)n * gap * gap;
    }
    out[2] = sqrt(out[2]);
}

static inline void plain_width(double out[3], const plain *m, size_t bins)
{
    static size_t bin[CASE_ROWS_MAX];
    for (size_t i = 0; i < m->n; i++) {
        double place = ceil((double)bins * m->confidence[i]) - 1;
        bin[i] = (size_t)fmin(fmax(place, 0), (double)bins - 1);
    }
    plain_errors(out, m->confidence, m->right, bin, m->n, bins);
}

/* Confidences of these cases are all different. */
static inline void plain_mass(double out[3], const plain *m, size_t bins)
{
    static double sorted[CASE_ROWS_MAX][2], confidence[CASE_ROWS_MAX];
    static int right[CASE_ROWS_MAX];
    static size_t bin[CASE_ROWS_MAX];
    for (size_t i = 0; i < m->n; i++) {
        sorted[i][0] = m->confidence[i];
        sorted[i][1] = m->right[i];
    }
    qsort(sorted, m->n, sizeof *sorted, plain_order);
    for (size_t b = 0, i = 0; b < bins; b++)
        for (size_t end = i + m->n / bins + (b < m->n % bins); i < end; i++) {
            bin[i] = b;
            confidence[i] = sorted[i][0];
            right[i] = sorted[i][1] > 0;
        }
    plain_errors(out, confidence, right, bin, m->n, bins);
}

/* The T between 0.05 and 20 with f(T) least (f has one minimum). */
static inline double plain_least(double (*f)(const case_set *, const double *, double),
                                 const case_set *c, const double *z)
{
    double low = log(.05), high = log(20.);
    for (int i = 0; i < 100; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (f(c, z, exp(a)) < f(c, z, exp(b)))
            high = b;
        else
            low = a;
    }
    return exp((low + high) / 2);
}

static inline double plain_nll(const case_set *c, const double *z, double t)
{
    static plain m;
    plain_single(&m, c, z, 1 / t);
    return plain_mean(m.nll, m.n);
}

/* The T at which FM is as confident as PM. */
static inline double plain_balance(const case_set *c)
{
    static plain m;
    plain_single(&m, c, c->pre, 1);
    double target = plain_mean(m.confidence, m.n), low = .02, high = 50;
    for (int i = 0; i < 80; i++) {
        double t = sqrt(low * high);
        plain_single(&m, c, c->fine, 1 / t);
        if (plain_mean(m.confidence, m.n) > target)
            low = t;
        else
            high = t;
    }
    return low;
}

#define assert_near(a, b, within) assert_near_at(#a, a, b, within, __LINE__)
static inline void assert_near_at(const char *what, double a, double b, double within, int line)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= within))
        fail_msg("line %d: %s: %.17g, expected %.17g", line, what, a, b);
}

static inline bang_diagnosis *case_diagnose(const bang_diagnosis_set *sets, size_t count,
                                            const bang_diagnosis_options *options)
{
    bang_diagnosis *found = NULL;
    bang_error err = {0};
    if (bang_diagnose(&found, sets, count, options, &err) < 0)
        fail_msg("%s", err.message);
    assert_non_null(found);
    return found;
}

/* Quantile as NumPy's, of sorted values. */
static inline double plain_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static inline int plain_less(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Holds an interval of `replicates` draws against values drawn row by row, count of them; grid:
 * the step between possible values. Deviations of normal numbers, five of them are allowed:
 * of a standard deviation 1/sqrt(2 R), of its quantile q sqrt(q(1-q)/R)/density. */
static inline void assert_interval(const char *what, const bang_interval *got, double *values,
                                   size_t count, size_t replicates, double level, double grid)
{
    double mean = plain_mean(values, count), square = 0;
    for (size_t i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean);
    double sd = sqrt(square / (double)(count - 1));
    double both = sqrt(1 / (double)count + 1 / (double)replicates);
    qsort(values, count, sizeof *values, plain_less);
    double low = plain_quantile(values, count, (1 - level) / 2);
    double high = plain_quantile(values, count, (1 + level) / 2);
    /* Density at the 2.5 % points 0.0584, in the middle 0.399; of the standard normal. */
    double q = (1 - level) / 2, density = q < .1 ? .0584 : .3989;
    double allowed = grid + 5 * sd * both * sqrt(q * (1 - q)) / density;
    if (!(fabs(got->sd - sd) <= 5 * sd * both / sqrt(2) + 1e-15))
        fail_msg("%s: standard error %g, by rows %g", what, got->sd, sd);
    if (!(fabs(got->low - low) <= allowed && fabs(got->high - high) <= allowed))
        fail_msg("%s: [%g, %g], by rows [%g, %g], allowed %g", what, got->low, got->high, low, high,
                 allowed);
}

#endif
