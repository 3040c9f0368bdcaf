/* Networks at work on a whole data set, piece by piece. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "networks.h"

int inputs_init(inputs *out, const bang_dataset *set, int reduce, bang_error *err)
{
    *out = (inputs){.set = set};
    int rc = reduce ? bang_columns_init(&out->columns, set->width, err)
                    : bang_columns_init_all(&out->columns, set->width, err);
    if (rc == 0 && reduce)
        rc = bang_columns_refine(&out->columns, &set->inputs, err);
    if (rc == 0 && reduce)
        bang_columns_settle(&out->columns);
    if (rc == 0)
        rc = reduce ? bang_rows_init(&out->rows, &out->columns, &set->inputs, err)
                    : bang_rows_init_dense(&out->rows, &out->columns, &set->inputs, err);
    if (rc < 0)
        inputs_release(out);
    return rc;
}

void inputs_release(inputs *in)
{
    bang_rows_release(&in->rows);
    bang_columns_release(&in->columns);
    *in = (inputs){0};
}

typedef struct piece {
    const inputs *in;
    const bang_mlp *mlp; /* reads groups of columns */
    float *logits;       /* (count, classes) */
    size_t first, count, classes;
} piece;

enum { TASK = 1024 }; /* rows */

static int run_task(void *context, size_t index, int worker, bang_error *err)
{
    const piece *p = context;
    size_t at = index * TASK, many = p->count - at < TASK ? p->count - at : TASK;
    (void)worker;
    return bang_mlp_predict(p->logits + at * p->classes, p->mlp, &p->in->rows, p->first + at, many,
                            err);
}

static size_t count_right(const piece *p, const float *outputs)
{
    const int64_t *labels = p->in->set->labels.data;
    size_t right = 0;
    for (size_t i = 0; i < p->count; i++) {
        const float *z = outputs + i * p->classes;
        size_t best = 0;
        for (size_t c = 1; c < p->classes; c++)
            best = z[c] > z[best] ? c : best;
        right += best == (size_t)labels[p->first + i];
    }
    return right;
}

/* sum += the logits or their softmax */
static void add_outputs(double *sum, const piece *p, int probabilities)
{
    for (size_t i = 0; i < p->count; i++) {
        const float *z = p->logits + i * p->classes;
        double *to = sum + i * p->classes, most = (double)z[0], mass = 0;
        for (size_t c = 1; c < p->classes; c++)
            most = fmax(most, (double)z[c]);
        for (size_t c = 0; probabilities && c < p->classes; c++)
            mass += exp((double)z[c] - most);
        for (size_t c = 0; c < p->classes; c++)
            to[c] += probabilities ? exp((double)z[c] - most) / mass : (double)z[c];
    }
}

/* One piece: each network, then the mean. */
static int run_piece(double *accuracy, piece *p, const bang_mlp *reduced, size_t count, double *sum,
                     const forward *how, bang_error *err)
{
    memset(sum, 0, p->count * p->classes * sizeof *sum);
    for (size_t m = 0; m < count; m++) {
        p->mlp = &reduced[m];
        int rc = bang_parallel_for((p->count + TASK - 1) / TASK, how->threads, run_task, p,
                                   how->cancel, err);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < p->count * p->classes; i++)
            if (!isfinite(p->logits[i]))
                return bang_fail(err, BANG_EDATA,
                                 "network %zu: its output for input %zu is not finite: its weights "
                                 "or the data are broken",
                                 m + 1, p->first + i / p->classes);
        accuracy[m] += (double)count_right(p, p->logits);
        add_outputs(sum, p, how->probabilities);
    }
    for (size_t i = 0; i < p->count * p->classes; i++)
        p->logits[i] = (float)(sum[i] / (double)count);
    accuracy[count] += (double)count_right(p, p->logits);
    if (how->take)
        how->take(how->context, p->logits, p->count);
    return 0;
}

int forward_run(double *accuracy, const bang_mlp *mlps, size_t count, const inputs *in,
                const forward *how, bang_error *err)
{
    enum { NUMBERS = 1 << 21, ROWS = 16384 }; /* of outputs at a time */
    size_t total = in->set->count, classes = mlps[0].width[mlps[0].layers];
    size_t rows = NUMBERS / classes < ROWS ? NUMBERS / classes : ROWS;
    rows = rows < TASK ? TASK : rows;
    rows = rows < total ? rows : total;
    bang_mlp *reduced = calloc(count, sizeof *reduced);
    float *logits = calloc(rows * classes, sizeof *logits);
    double *sum = calloc(rows * classes, sizeof *sum);
    int rc = reduced && logits && sum ? 0 : bang_fail_memory(err);
    for (size_t m = 0; rc == 0 && m < count; m++)
        rc = bang_mlp_reduce(&reduced[m], &mlps[m], &in->columns, err);
    memset(accuracy, 0, (count + 1) * sizeof *accuracy);
    for (size_t first = 0; rc == 0 && first < total; first += rows) {
        piece p = {in, NULL, logits, first, total - first < rows ? total - first : rows, classes};
        rc = run_piece(accuracy, &p, reduced, count, sum, how, err);
        bang_progress_step(how->progress, first + p.count, total);
    }
    for (size_t m = 0; m <= count; m++)
        accuracy[m] /= (double)total;
    for (size_t m = 0; reduced && m < count; m++)
        bang_mlp_release(&reduced[m]);
    free(reduced);
    free(logits);
    free(sum);
    return rc;
}
