#include "lab/shift_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/tensor/product.h"

enum { STEPS = 100 }; /* on features of the lab the loss is then within 1e-4 of its least */

/* Features may depend on each other, as behind a norm they do. */
static const double ridge = 1e-6; /* of S's mean diagonal; in the steps only, not in L */

typedef struct fit {
    const shift_probe *probe;
    size_t n, d, k;           /* d: with the 1 */
    double *x;                /* (n, d) features less their means, and 1 */
    double *mean;             /* (d) of the features, and 0 */
    double *s;                /* (d, d) S, then L of S = L L^T in its lower half */
    double *w, *v, *g, *next; /* (d, k) */
    double *p;                /* (n, k) */
    double *scratch;
} fit;

static double *numbers(size_t count)
{
    size_t bytes = (count * sizeof(double) + 63) / 64 * 64;
    double *block = aligned_alloc(64, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

static void release(fit *f)
{
    double *blocks[] = {f->x, f->mean, f->s, f->w, f->v, f->g, f->next, f->p, f->scratch};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static int prepare(fit *f, const shift_probe *probe, bang_error *err)
{
    size_t n = probe->count, d = probe->features + 1, k = probe->classes;
    *f = (fit){.probe = probe, .n = n, .d = d, .k = k};
    f->x = numbers(n * d);
    f->mean = numbers(d);
    f->s = numbers(d * d);
    f->w = numbers(d * k);
    f->v = numbers(d * k);
    f->g = numbers(d * k);
    f->next = numbers(d * k);
    f->p = numbers(n * k);
    f->scratch = numbers(bang_product_scratch_f64());
    if (!f->x || !f->mean || !f->s || !f->w || !f->v || !f->g || !f->next || !f->p || !f->scratch)
        return bang_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j + 1 < d; j++)
            f->mean[j] += (double)probe->x[i * (d - 1) + j] / (double)n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j + 1 < d; j++)
            f->x[i * d + j] = (double)probe->x[i * (d - 1) + j] - f->mean[j];
        f->x[i * d + d - 1] = 1;
    }
    return 0;
}

/* out (d, columns) = X^T right / n */
static void product_of_transpose(double *out, const fit *f, const double *right, size_t columns)
{
    bang_product_f64 product = {.m = f->d,
                                .n = columns,
                                .k = f->n,
                                .a = f->x,
                                .a_row = 1,
                                .a_column = f->d,
                                .b = right,
                                .b_row = columns,
                                .b_column = 1,
                                .c = out,
                                .c_row = columns};
    bang_product_run_f64(&product, f->scratch);
    for (size_t i = 0; i < f->d * columns; i++)
        out[i] /= (double)f->n;
}

/* S and its Cholesky factor. */
static void factor(fit *f)
{
    size_t d = f->d;
    double *s = f->s, trace = 0;
    product_of_transpose(s, f, f->x, d);
    for (size_t i = 0; i < d; i++)
        trace += s[i * d + i];
    for (size_t i = 0; i < d; i++)
        s[i * d + i] += ridge * trace / (double)d;
    for (size_t j = 0; j < d; j++)
        for (size_t i = j; i < d; i++) {
            double sum = s[i * d + j];
            for (size_t m = 0; m < j; m++)
                sum -= s[i * d + m] * s[j * d + m];
            /* rounding must not make a diagonal of the ridge alone vanish */
            s[i * d + j] = i == j ? sqrt(fmax(sum, ridge * ridge * trace)) : sum / s[j * d + j];
        }
}

/* b (d, k) becomes S^-1 b. */
static void solve(const fit *f, double *b)
{
    size_t d = f->d, k = f->k;
    for (size_t c = 0; c < k; c++) {
        for (size_t i = 0; i < d; i++) {
            for (size_t m = 0; m < i; m++)
                b[i * k + c] -= f->s[i * d + m] * b[m * k + c];
            b[i * k + c] /= f->s[i * d + i];
        }
        for (size_t i = d; i-- > 0;) {
            for (size_t m = i + 1; m < d; m++)
                b[i * k + c] -= f->s[m * d + i] * b[m * k + c];
            b[i * k + c] /= f->s[i * d + i];
        }
    }
}

/* L at weights (d, k), and its gradient into f->g. */
static double loss_at(fit *f, const double *weights)
{
    size_t k = f->k;
    double loss = 0;
    bang_product_f64 product = {.m = f->n,
                                .n = k,
                                .k = f->d,
                                .a = f->x,
                                .a_row = f->d,
                                .a_column = 1,
                                .b = weights,
                                .b_row = k,
                                .b_column = 1,
                                .c = f->p,
                                .c_row = k};
    bang_product_run_f64(&product, f->scratch);
    for (size_t i = 0; i < f->n; i++) {
        double *p = f->p + i * k, largest = p[0], sum = 0;
        size_t label = (size_t)f->probe->labels[i];
        for (size_t c = 1; c < k; c++)
            largest = fmax(largest, p[c]);
        double own = p[label] - largest;
        for (size_t c = 0; c < k; c++)
            sum += p[c] = exp(p[c] - largest);
        for (size_t c = 0; c < k; c++)
            p[c] /= sum;
        p[label] -= 1;
        loss += log(sum) - own;
    }
    product_of_transpose(f->g, f, f->p, k);
    return loss / (double)f->n;
}

/* One step from v, which looks ahead of w; theta is the momentum's. */
static void step(fit *f, double *theta)
{
    size_t count = f->d * f->k;
    double uphill = 0;
    loss_at(f, f->v);
    memcpy(f->next, f->g, count * sizeof *f->next);
    solve(f, f->next);
    for (size_t i = 0; i < count; i++) {
        f->next[i] = f->v[i] - 2 * f->next[i];
        uphill += f->g[i] * (f->next[i] - f->w[i]);
    }
    double last = uphill > 0 ? 1 : *theta;
    *theta = (1 + sqrt(1 + 4 * last * last)) / 2;
    for (size_t i = 0; i < count; i++) {
        f->v[i] = f->next[i] + (last - 1) / *theta * (f->next[i] - f->w[i]);
        f->w[i] = f->next[i];
    }
}

int shift_probe_fit(float *weight, float *bias, double *loss, const shift_probe *probe,
                    bang_error *err)
{
    fit f;
    double theta = 1;
    int rc = prepare(&f, probe, err);
    if (rc == 0)
        factor(&f);
    for (int i = 0; rc == 0 && i < STEPS; i++) {
        step(&f, &theta);
        if (bang_cancelled(probe->cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "stopped");
    }
    for (size_t c = 0; rc == 0 && c < f.k; c++) {
        double offset = f.w[(f.d - 1) * f.k + c];
        for (size_t j = 0; j + 1 < f.d; j++) {
            weight[c * probe->features + j] = (float)f.w[j * f.k + c];
            offset -= f.w[j * f.k + c] * f.mean[j];
        }
        bias[c] = (float)offset;
    }
    if (rc == 0 && loss)
        *loss = loss_at(&f, f.w);
    release(&f);
    return rc;
}
