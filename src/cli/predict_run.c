/* bang predict: the work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/npy.h"
#include "bang/train/predict.h"
#include "predict.h"

typedef struct run {
    cli *c;
    const predict_request *r;
    predict_result *result;
    forward how;
    outputs merged;
    bang_predictor *predictor; /* of the ViTs; NULL: perceptrons only */
    inputs in;                 /* of the perceptrons */
    bang_mlp *reduced;         /* (models) perceptrons that read groups of columns */
    float **logits;            /* (models) of the perceptrons, (rows, width) */
    size_t rows;               /* that a piece has at most */
    const float **from;        /* (models) outputs of a piece */
    uint32_t *index;           /* (rows) where there is no predictor */
    bang_npy_rows *file;       /* or NULL */
    bang_file *label_file;     /* or NULL */
    bang_array labels;         /* of what was kept */
    cli_bar bar;
} run;

static int open_vits(run *a, bang_error *err)
{
    const predict_request *r = a->r;
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    const bang_vit_model **models = calloc(r->count, sizeof(const bang_vit_model *));
    size_t vits = 0;
    if (!models)
        return bang_fail_memory(err);
    for (size_t m = 0; m < r->count; m++)
        if (r->models[m].is_vit)
            models[vits++] = &r->models[m].vit;
    options.feed.transform.crop = r->pictures.crop;
    options.feed.transform.border = r->has_map ? r->map.border : 0;
    options.feed.threads = options.threads = a->how.threads;
    options.feed.skip_bad = r->pictures.skip_bad;
    options.feed.cancel = a->how.cancel;
    options.batch = (size_t)r->batch;
    options.features = r->features;
    options.progress = &a->bar.progress;
    options.ranks = a->how.ranks;
    int rc = vits ? bang_predictor_open(&a->predictor, models, vits, &r->set, &options, err) : 0;
    free(models);
    return rc;
}

/* With ViTs in the ensemble, pieces are as large as theirs. */
static int open_mlps(run *a, bang_error *err)
{
    const predict_request *r = a->r;
    int rc = 0, any = 0;
    a->rows = a->predictor ? bang_predictor_batch(a->predictor)
                           : forward_piece(r->set.count, r->width * r->count);
    a->index = calloc(a->rows + 1, sizeof *a->index);
    if (!a->index)
        return bang_fail_memory(err);
    for (size_t m = 0; m < r->count && rc == 0; m++) {
        if (r->models[m].is_vit)
            continue;
        if (!any++)
            rc = inputs_init(&a->in, &r->set.memory, 1, err);
        if (rc == 0)
            rc = bang_mlp_reduce(&a->reduced[m], &r->models[m].mlp, &a->in.columns, err);
        if (rc == 0 && !(a->logits[m] = calloc(a->rows * r->width + 1, sizeof *a->logits[m])))
            rc = bang_fail_memory(err);
    }
    return rc;
}

static int open_all(run *a, bang_error *err)
{
    const predict_request *r = a->r;
    a->merged = (outputs){.models = r->count,
                          .width = r->width,
                          .map = r->has_map ? &r->map : NULL,
                          .probabilities = r->probabilities,
                          .weights = r->weights,
                          .scored = r->match != PREDICT_NO_MATCH,
                          .paths = r->set.paths};
    a->reduced = calloc(r->count, sizeof *a->reduced);
    a->logits = calloc(r->count, sizeof *a->logits);
    a->from = calloc(r->count, sizeof *a->from);
    a->result->accuracy = calloc(r->count + 1, sizeof *a->result->accuracy);
    if (r->single)
        a->result->top = calloc(r->set.count + 1, sizeof *a->result->top);
    int rc =
        a->reduced && a->logits && a->from && a->result->accuracy && (a->result->top || !r->single)
            ? outputs_init(&a->merged, err)
            : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_array_init(&a->labels, BANG_I64, 1, &r->set.count, err);
    if (rc == 0)
        rc = open_vits(a, err);
    if (rc == 0)
        rc = open_mlps(a, err);
    int first = bang_ranks_rank(a->how.ranks) == 0; /* the one that writes */
    if (rc == 0 && first && r->output)
        rc = bang_npy_rows_begin(&a->file, r->output, r->columns, r->set.count, err);
    if (rc == 0 && first && r->labels)
        rc = bang_file_begin(&a->label_file, r->labels, err);
    return rc;
}

static void close_all(run *a)
{
    for (size_t m = 0; m < a->r->count; m++) {
        if (a->reduced)
            bang_mlp_release(&a->reduced[m]);
        if (a->logits)
            free(a->logits[m]);
    }
    free(a->reduced);
    free(a->logits);
    free(a->from);
    free(a->index);
    inputs_release(&a->in);
    outputs_release(&a->merged);
    bang_predictor_close(a->predictor);
    bang_npy_rows_discard(a->file);
    bang_file_discard(a->label_file);
    bang_array_release(&a->labels);
}

/* The next inputs of all models into from: 1, 0 at the end, or a negative code. */
static int next_piece(run *a, bang_predicted *some, size_t done, bang_error *err)
{
    const predict_request *r = a->r;
    int more = done < r->set.count;
    if (a->predictor) {
        more = bang_predictor_next(some, a->predictor, err);
    } else if (more) {
        size_t left = r->set.count - done, many = left < a->rows ? left : a->rows;
        for (size_t i = 0; i < many; i++)
            a->index[i] = (uint32_t)(done + i);
        *some = (bang_predicted){many, NULL, r->set.labels + done, a->index};
    }
    size_t vit = 0;
    for (size_t m = 0; m < r->count && more > 0; m++) {
        if (some->outputs && r->models[m].is_vit) {
            a->from[m] = some->outputs[vit++];
            continue;
        }
        /* what is in memory cannot be left out: the rows follow each other */
        int rc = forward_rows(a->logits[m], &a->reduced[m], &a->in, some->index[0], some->count,
                              &a->how, err);
        if (rc < 0)
            return rc;
        a->from[m] = a->logits[m];
    }
    return more;
}

static void find_top(predict_top *top, const outputs *o, size_t row, uint32_t index)
{
    const float *z = o->mean + row * o->columns;
    double mass = 0, most = (double)z[0];
    for (size_t c = 1; c < o->columns; c++)
        most = fmax(most, (double)z[c]);
    for (size_t c = 0; c < o->columns; c++)
        mass += exp((double)z[c] - most);
    *top = (predict_top){.index = index};
    for (size_t c = 0; c < o->columns; c++) {
        double p = o->probabilities ? (double)z[c] : exp((double)z[c] - most) / mass;
        size_t at = top->count < PREDICT_TOP ? top->count++ : PREDICT_TOP;
        while (at > 0 && p > top->probability[at - 1]) {
            if (at < PREDICT_TOP) {
                top->probability[at] = top->probability[at - 1];
                top->column[at] = top->column[at - 1];
            }
            at--;
        }
        if (at < PREDICT_TOP) {
            top->probability[at] = p;
            top->column[at] = c;
        }
    }
}

static int keep_piece(run *a, const bang_predicted *some, bang_error *err)
{
    outputs *o = &a->merged;
    int64_t *labels = a->labels.data;
    size_t at = o->rows;
    int rc = outputs_add(o, a->from, some->labels, some->index, some->count, err);
    if (rc < 0)
        return rc;
    memcpy(labels + at, some->labels, some->count * sizeof *labels);
    if (a->file)
        bang_npy_rows_add(a->file, o->mean, some->count);
    for (size_t i = 0; a->r->single && i < some->count; i++)
        find_top(&a->result->top[at + i], o, i, some->index[i]);
    return 0;
}

static int run_all(run *a, bang_error *err)
{
    bang_predicted some = {0};
    size_t done = 0;
    int more;
    cli_bar_start(&a->bar, a->c, a->r->set.paths ? "pictures" : "inputs");
    while ((more = next_piece(a, &some, done, err)) > 0) {
        int rc = keep_piece(a, &some, err);
        if (rc < 0) {
            more = rc;
            break;
        }
        done = (size_t)some.index[some.count - 1] + 1;
        bang_progress_step(&a->bar.progress, done, a->r->set.count);
    }
    cli_bar_finish(&a->bar);
    return more;
}

/* Outputs and labels, or neither: all that can fail comes before the first has its name. Old labels
 * go before the new outputs come, so that outputs never lie beside labels that are not theirs. */
static int write_files(run *a, bang_error *err)
{
    int rc = 0;
    if (a->label_file)
        rc = bang_npy_put(a->label_file, a->r->labels, &a->labels, err);
    if (rc == 0 && a->file)
        rc = bang_npy_rows_settle(a->file, err);
    if (rc == 0 && a->label_file)
        rc = bang_file_settle(a->label_file, err);
    if (rc == 0 && a->file && a->label_file)
        rc = bang_file_vacate(a->label_file, err);
    if (rc == 0 && a->file) {
        rc = bang_npy_rows_commit(a->file, err);
        a->file = NULL;
    }
    if (rc == 0 && a->label_file) {
        rc = bang_file_commit(a->label_file, err);
        a->label_file = NULL;
    }
    return rc;
}

static int finish(run *a, bang_error *err)
{
    const predict_request *r = a->r;
    predict_result *result = a->result;
    result->count = a->merged.rows;
    for (size_t m = 0; m <= r->count; m++)
        result->accuracy[m] = outputs_accuracy(&a->merged, m);
    result->skipped = a->predictor ? bang_predictor_bad_count(a->predictor) : 0;
    for (size_t i = 0; i < result->skipped; i++)
        bang_text_add(&result->bad, "%s\n", bang_predictor_bad(a->predictor, i));
    if (result->bad.failed)
        return bang_fail_memory(err);
    if (result->count == 0 && r->single && result->skipped)
        return bang_fail(err, BANG_EDATA, "%s", bang_predictor_bad(a->predictor, 0));
    if (result->count == 0)
        return bang_fail(err, BANG_EDATA, "%.300s: no picture in it can be read: %s",
                         predict_source(r),
                         result->skipped ? bang_predictor_bad(a->predictor, 0) : "it is empty");
    a->labels.shape[0] = a->labels.count = result->count;
    return write_files(a, err);
}

int predict_run(predict_result *result, cli *c, predict_request *r, bang_error *err)
{
    run a = {.c = c, .r = r, .result = result, .how = {(int)c->threads, cli_cancel(), c->ranks}};
    *result = (predict_result){0};
    int rc = predict_agree(c, r, err);
    if (rc == 0)
        rc = open_all(&a, err);
    if (rc == 0)
        rc = run_all(&a, err);
    if (rc == 0)
        rc = finish(&a, err);
    close_all(&a);
    return rc;
}

void predict_result_release(predict_result *result)
{
    free(result->accuracy);
    free(result->top);
    bang_text_release(&result->bad);
    *result = (predict_result){0};
}
