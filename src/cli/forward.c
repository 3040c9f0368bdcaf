/* Perceptrons at work on a whole data set, piece by piece. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "networks.h"
#include "outputs.h"

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

int forward_rows(float *logits, const bang_mlp *reduced, const inputs *in, size_t first,
                 size_t count, const forward *how, bang_error *err)
{
    size_t classes = reduced->width[reduced->layers], from, to;
    bang_ranks_share(&from, &to, how->ranks, count);
    piece p = {.in = in, .mlp = reduced, .first = first + from, .count = to - from};
    p.logits = logits + from * classes;
    p.classes = classes;
    int rc = bang_parallel_for((p.count + TASK - 1) / TASK, how->threads, run_task, &p, how->cancel,
                               err);
    return rc < 0 ? rc
                  : bang_ranks_gather(how->ranks, logits, classes * sizeof *logits, count, err);
}

size_t forward_piece(size_t total, size_t classes)
{
    enum { NUMBERS = 1 << 21, ROWS = 16384 }; /* of outputs at a time */
    size_t rows = NUMBERS / classes < ROWS ? NUMBERS / classes : ROWS;
    rows = rows < TASK ? TASK : rows;
    return rows < total ? rows : total;
}

int forward_accuracy(double *accuracy, const bang_mlp *mlp, const inputs *in, const forward *how,
                     bang_error *err)
{
    size_t total = in->set->count, classes = mlp->width[mlp->layers];
    size_t rows = forward_piece(total, classes);
    outputs o = {.models = 1, .width = classes, .scored = 1};
    const int64_t *labels = in->set->labels.data;
    float *logits = calloc(rows * classes, sizeof *logits);
    uint32_t *index = calloc(rows + 1, sizeof *index);
    bang_mlp reduced = {0};
    int rc = logits && index ? outputs_init(&o, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_mlp_reduce(&reduced, mlp, &in->columns, err);
    for (size_t first = 0; rc == 0 && first < total; first += rows) {
        size_t count = total - first < rows ? total - first : rows;
        for (size_t i = 0; i < count; i++)
            index[i] = (uint32_t)(first + i);
        rc = forward_rows(logits, &reduced, in, first, count, how, err);
        if (rc == 0)
            rc = outputs_add(&o, (const float *const[]){logits}, labels + first, index, count, err);
    }
    if (rc == 0)
        *accuracy = outputs_accuracy(&o, 0);
    bang_mlp_release(&reduced);
    outputs_release(&o);
    free(logits);
    free(index);
    return rc;
}
