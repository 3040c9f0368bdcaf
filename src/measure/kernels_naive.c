/* One number after the other, with the C library's functions. */
#include <math.h>
#include <stdlib.h>

#include "bang/measure/calibration.h"
#include "measure/kernels.h"

static void widen(double *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double)in[i];
}

static int all_finite(const double *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(z[i]))
            return 0;
    return 1;
}

static void mix(double *out, const double *a, double w0, const double *b, double w1, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = b ? w0 * a[i] + w1 * b[i] : w0 * a[i];
}

static size_t largest(const double *z, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (z[i] > z[best])
            best = i;
    return best;
}

static void exponentials(double *e, const double *z, size_t count, double top, double scale,
                         double sums[2])
{
    sums[0] = sums[1] = 0;
    for (size_t i = 0; i < count; i++) {
        double y = exp(scale * (z[i] - top));
        if (e)
            e[i] = y;
        sums[0] += y;
        sums[1] += y * y;
    }
}

static void moments(const double *z, size_t count, double top, double scale, double sums[3])
{
    sums[0] = sums[1] = sums[2] = 0;
    for (size_t i = 0; i < count; i++) {
        double d = z[i] - top, y = exp(scale * d);
        sums[0] += y;
        if (y > 0) { /* else d may be infinite */
            sums[1] += y * d;
            sums[2] += y * d * d;
        }
    }
}

static void logarithms(double *out, const double *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = p[i] == 0 ? BANG_LOG_LEAST : log(p[i]);
}

static void turn_f32(double *out, const float *const rows[BANG_SIDE], size_t count)
{
    for (size_t j = 0; j < BANG_SIDE; j++)
        for (size_t k = 0; k < count; k++)
            out[BANG_SIDE * k + j] = (double)rows[j][k];
}

static void turn_f64(double *out, const double *const rows[BANG_SIDE], size_t count)
{
    for (size_t j = 0; j < BANG_SIDE; j++)
        for (size_t k = 0; k < count; k++)
            out[BANG_SIDE * k + j] = rows[j][k];
}

static void scan(bang_scan *out, const double *z, size_t count)
{
    for (size_t j = 0; j < BANG_SIDE; j++) {
        size_t best = 0;
        for (size_t k = 1; k < count; k++)
            if (z[BANG_SIDE * k + j] > z[BANG_SIDE * best + j])
                best = k;
        out->index[j] = (double)best;
        out->top[j] = z[BANG_SIDE * best + j];
        out->second[j] = (double)-INFINITY;
        for (size_t k = 0; k < count; k++)
            if (k != best)
                out->second[j] = fmax(out->second[j], z[BANG_SIDE * k + j]);
    }
}

/* Scores the probabilities p of row j, (count). */
static void score_row(bang_score *out, size_t j, const double *p, size_t count, size_t best,
                      double label)
{
    size_t class = label > 0 ? (size_t)label : 0;
    double rival = 0;
    out->prediction[j] = (double)best;
    out->confidence[j] = p[best];
    out->brier[j] = 0;
    for (size_t k = 0; k < count; k++) {
        double off = p[k] - (k == class ? 1 : 0);
        out->brier[j] += off * off;
        if (k != class)
            rival = fmax(rival, p[k]);
    }
    out->margin[j] = p[class] - rival;
}

static void warm(double (*sums)[BANG_SIDE], const double *z, size_t count, const double *top,
                 double scale)
{
    for (size_t j = 0; j < BANG_SIDE; j++) {
        sums[0][j] = sums[1][j] = sums[2][j] = 0;
        for (size_t k = 0; k < count; k++) {
            double d = z[BANG_SIDE * k + j] - top[j], y = exp(scale * d);
            sums[0][j] += y;
            sums[1][j] += y > 0 ? y * d : 0;
            sums[2][j] += y > 0 ? y * d * d : 0;
        }
    }
}

static void soften(bang_soft *out, double *e, const double *z, size_t count, const bang_scan *scan,
                   double scale, const double *label)
{
    for (size_t j = 0; j < BANG_SIDE; j++) {
        size_t class = label[j] > 0 ? (size_t)label[j] : 0;
        double below = z[BANG_SIDE * class + j] - scan->top[j];
        out->sum[j] = out->square[j] = 0;
        for (size_t k = 0; k < count; k++) {
            double y = exp(scale * (z[BANG_SIDE * k + j] - scan->top[j]));
            out->sum[j] += y;
            out->square[j] += y * y;
            if (e)
                e[BANG_SIDE * k + j] = y;
        }
        out->index[j] = scan->index[j];
        out->label[j] = scale * below;
        if (scan->index[j] == label[j])
            below = scan->second[j] - scan->top[j];
        out->other[j] = scale * below / log(2);
    }
}

static void score(bang_score *out, const bang_soft *soft, size_t count, const double *label)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < BANG_SIDE; j++) {
            double top = 1 / soft[i].sum[j], other = exp2(soft[i].other[j]) / soft[i].sum[j];
            int right = soft[i].index[j] == label[j];
            double p = right ? top : other;
            out[i].prediction[j] = soft[i].index[j];
            out[i].confidence[j] = top;
            out[i].nll[j] = log(soft[i].sum[j]) - soft[i].label[j];
            out[i].brier[j] = soft[i].square[j] * top * top - 2 * p + 1;
            out[i].margin[j] = right ? top - other : other - top;
        }
}

static void blend(bang_score *out, const double *const *e, const double (*factor)[BANG_SIDE],
                  size_t parts, size_t count, const double *label)
{
    for (size_t j = 0; j < BANG_SIDE; j++) {
        double *p = calloc(count, sizeof *p);
        size_t best = 0;
        for (size_t k = 0; p && k < count; k++) {
            for (size_t i = 0; i < parts; i++)
                p[k] += e[i][BANG_SIDE * k + j] * factor[i][j];
            if (p[k] > p[best])
                best = k;
        }
        if (p) {
            score_row(out, j, p, count, best, label[j]);
            out->nll[j] = -log(p[label[j] > 0 ? (size_t)label[j] : 0]);
        }
        free(p);
    }
}

static int fold(bang_fold *folds, bang_accord *accords, uint64_t right[BANG_SIDE],
                uint64_t (*bin)[BANG_SIDE], size_t bins, const bang_score *scores, size_t members,
                const double *label, size_t rows)
{
    int fine = 1;
    for (size_t j = 0; j < BANG_SIDE; j++)
        right[j] = 0;
    for (size_t j = 0; j < rows; j++) {
        size_t pair = 0;
        for (size_t m = 0; m < members; m++) {
            right[j] |= (uint64_t)(scores[m].prediction[j] == label[j]) << m;
            bin[m][j] = bang_bin_of(scores[m].confidence[j], bins);
            fine &= scores[m].confidence[j] > 0;
        }
        size_t group = 3 - (size_t)((right[j] & 1) << 1 | (right[j] >> 1 & 1));
        for (size_t m = 0; m < members; m++) {
            folds[m].confidence[j] += scores[m].confidence[j];
            folds[m].nll[j] += scores[m].nll[j];
            folds[m].brier[j] += scores[m].brier[j];
            folds[m].margin[group][j] += scores[m].margin[j];
            for (size_t n = m + 1; n < members; n++, pair++) {
                int same = scores[m].prediction[j] == scores[n].prediction[j];
                accords[pair].agree[j] += (uint64_t)same;
                accords[pair].mistake[j] += (uint64_t)(same && !(right[j] >> m & 1));
            }
        }
    }
    return fine;
}

const bang_measure_kernels bang_measure_naive = {
    .name = "naive",
    .widen = widen,
    .finite = all_finite,
    .mix = mix,
    .largest = largest,
    .exponentials = exponentials,
    .moments = moments,
    .logarithms = logarithms,
    .turn_f32 = turn_f32,
    .turn_f64 = turn_f64,
    .scan = scan,
    .warm = warm,
    .soften = soften,
    .score = score,
    .blend = blend,
    .fold = fold,
};
