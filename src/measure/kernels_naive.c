/* One number after the other, with the C library's functions. */
#include <math.h>
#include <stdlib.h>

#include "bang/measure/calibration.h"
#include "measure/kernels.h"

static void mix(double *out, const double *a, double w0, const double *b, double w1, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = b ? w0 * a[i] + w1 * b[i] : w0 * a[i];
}

static void logarithms(double *out, const double *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = p[i] == 0 ? BANG_LOG_LEAST : log(p[i]);
}

static int turn_f32(double *out, const float *const rows[BANG_SIDE], size_t count)
{
    int fine = 1;
    for (size_t j = 0; j < BANG_SIDE; j++)
        for (size_t k = 0; k < count; k++) {
            out[BANG_SIDE * k + j] = (double)rows[j][k];
            fine &= isfinite(rows[j][k]) != 0;
        }
    return fine;
}

static int turn_f64(double *out, const double *const rows[BANG_SIDE], size_t count)
{
    int fine = 1;
    for (size_t j = 0; j < BANG_SIDE; j++)
        for (size_t k = 0; k < count; k++) {
            out[BANG_SIDE * k + j] = rows[j][k];
            fine &= isfinite(rows[j][k]) != 0;
        }
    return fine;
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

static void add_exactly(bang_warmth *sums, size_t i, size_t j, double x)
{
    double before = sums->total[i][j], after = before + x;
    sums->lost[i][j] += fabs(before) > fabs(x) ? x - (after - before) : before - (after - x);
    sums->total[i][j] = after;
}

static void warm(bang_warmth *sums, const double *z, size_t count, double beta, const double *label,
                 double target, size_t rows)
{
    bang_scan of;
    scan(&of, z, count);
    for (size_t j = 0; j < rows; j++) {
        double sum = 0, first = 0, second = 0, third = 0;
        for (size_t k = 0; k < count; k++) {
            double d = z[BANG_SIDE * k + j] - of.top[j], y = exp(beta * d);
            sum += y;
            first += y > 0 ? y * d : 0; /* else d may be infinite */
            second += y > 0 ? y * d * d : 0;
            third += y > 0 ? y * d * d * d : 0;
        }
        double mean = first / sum, variance = fmax(0, second / sum - mean * mean);
        if (!label) {
            add_exactly(sums, BANG_VALUE, j, 1 / sum - target);
            add_exactly(sums, BANG_SLOPE, j, -mean / sum);
            add_exactly(sums, BANG_BEND, j, (mean * mean - variance) / sum);
            continue;
        }
        double below = z[BANG_SIDE * (size_t)label[j] + j] - of.top[j];
        if (sum == 1 && count > 1)
            mean = fmin(mean, -BANG_VANISHED);
        add_exactly(sums, BANG_VALUE, j, mean - below);
        add_exactly(sums, BANG_SLOPE, j, variance);
        add_exactly(sums, BANG_BEND, j, third / sum - mean * (3 * variance + mean * mean));
        add_exactly(sums, BANG_INTEGRAL, j, log(sum) - beta * below);
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
    .mix = mix,
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
