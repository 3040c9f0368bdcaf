/* The images of a seed and the networks trained on them. */
#include <stdlib.h>

#include "bang/base/json.h"
#include "lab/average.h"

enum {
    PRE_STEPS = 150,
    FINE_STEPS = 300,
    HIDDEN = 64,
    ORDERS = 16, /* streams of a pair: of PM, then of what is fine-tuned from it */
};
static const double pre_rate = 1e-3, fine_rate = 3e-4;

/* Images of a set in the worker's scratch, which keeps its memory. */
static int render(bang_array *images, int64_t **labels, const bang_mnist *mnist,
                  const bang_color_options *options, bang_error *err)
{
    bang_color_set set;
    int rc = bang_color_make(&set, mnist, options, err);
    if (rc < 0)
        return rc;
    const size_t shape[] = {set.count, BANG_COLOR_SIDE, BANG_COLOR_SIDE, 3};
    if (!images->data)
        rc = bang_array_init(images, BANG_U8, 4, shape, err);
    if (rc == 0 && !*labels) {
        *labels = calloc(set.count + 1, sizeof **labels);
        rc = *labels ? 0 : bang_fail_memory(err);
        for (size_t k = 0; k < set.count && rc == 0; k++)
            (*labels)[k] = set.labels[k];
    }
    if (rc == 0)
        bang_color_render(images->data, &set, 0, set.count);
    bang_color_release(&set);
    return rc;
}

/* One set as rows; columns that differ in it are parted. */
static int read_set(bang_rows *out, average_data *d, bang_array *images, int64_t **labels,
                    const bang_mnist *mnist, const bang_color_options *options, bang_error *err)
{
    int rc = render(images, labels, mnist, options, err);
    if (rc == 0)
        rc = bang_columns_refine(&d->columns, images, err);
    bang_rows_release(out);
    *out = (bang_rows){0};
    return rc < 0 ? rc : bang_rows_init(out, &d->columns, images, err);
}

int average_data_make(average_data *out, average_scratch *scratch, const color_plan *plan, size_t i,
                      average_tests tests, const bang_mnist *mnist, bang_cancel *cancel,
                      bang_error *err)
{
    *out = (average_data){.test_count = tests.count};
    int rc = bang_columns_init(&out->columns, BANG_COLOR_PIXELS, err);
    /* Columns must be equal in all the data. Random colours show nearly always what there is to
     * see, so that all is read again only when a later set parts columns after all. */
    for (size_t groups = 0; rc == 0 && groups != out->columns.group_count;) {
        bang_color_options o = BANG_COLOR_OPTIONS_INIT;
        o.protocol = plan->protocol;
        o.seed = color_data_seed(plan, i);
        o.shift = 1;
        rc = read_set(&out->pre, out, &scratch->train, &out->train_labels, mnist, &o, err);
        groups = out->columns.group_count;
        o.shift = 0;
        if (rc == 0)
            rc = read_set(&out->fine, out, &scratch->train, &out->train_labels, mnist, &o, err);
        o.test = 1;
        o.count = tests.images;
        for (size_t p = 0; p < tests.count && rc == 0; p++) {
            o.shift = tests.shifts[p];
            rc = read_set(&out->test[p], out, &scratch->test, &out->test_labels, mnist, &o, err);
            if (rc == 0 && bang_cancelled(cancel))
                rc = bang_fail(err, BANG_ECANCELLED, "stopped");
        }
    }
    if (rc < 0)
        average_data_release(out);
    return rc;
}

void average_data_release(average_data *data)
{
    bang_rows_release(&data->pre);
    bang_rows_release(&data->fine);
    for (size_t p = 0; p < data->test_count; p++)
        bang_rows_release(&data->test[p]);
    bang_columns_release(&data->columns);
    free(data->train_labels);
    free(data->test_labels);
    *data = (average_data){0};
}

int average_network(bang_mlp *out, const color_plan *plan, size_t i, size_t pair, int hidden,
                    bang_error *err)
{
    const size_t one[] = {BANG_COLOR_PIXELS, HIDDEN, BANG_COLOR_CLASSES};
    const size_t two[] = {BANG_COLOR_PIXELS, HIDDEN, HIDDEN, BANG_COLOR_CLASSES};
    int rc = bang_mlp_init(out, hidden + 1, hidden == 1 ? one : two, BANG_RELU, err);
    if (rc == 0)
        bang_mlp_randomise(out, color_data_seed(plan, i), color_stream(plan, i, pair));
    return rc;
}

static bang_train_options training_options(const color_plan *plan, size_t i)
{
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT; /* Adam, batch 100 */
    o.loss = BANG_CROSS_ENTROPY;
    o.schedule = BANG_COSINE;
    o.seed = color_data_seed(plan, i);
    return o;
}

int average_train_pre(bang_mlp *out, const bang_mlp *start, const average_data *data,
                      const color_plan *plan, size_t i, size_t pair, bang_cancel *cancel,
                      bang_error *err)
{
    bang_train_options o = training_options(plan, i);
    o.steps = PRE_STEPS;
    o.rate = pre_rate;
    o.stream = color_stream(plan, i, pair) * ORDERS;
    o.cancel = cancel;
    int rc = bang_mlp_reduce(out, start, &data->columns, err);
    if (rc < 0)
        return rc;
    rc = bang_train_mlp(out, &data->pre, data->train_labels, &o, NULL, err);
    if (rc < 0)
        bang_mlp_release(out);
    return rc;
}

int average_train_fine(bang_mlp *out, const bang_mlp *pre, const average_data *data,
                       const color_plan *plan, size_t i, size_t pair, average_training training,
                       bang_cancel *cancel, bang_error *err)
{
    bang_train_options o = training_options(plan, i);
    o.steps = training.steps ? training.steps : FINE_STEPS;
    o.rate = fine_rate;
    o.stream = color_stream(plan, i, pair) * ORDERS + 1 + training.order;
    o.label_smoothing = training.smoothing;
    o.mixup = training.mixup;
    o.cancel = cancel;
    int rc = bang_mlp_copy(out, pre, err);
    if (rc < 0)
        return rc;
    rc = bang_train_mlp(out, &data->fine, data->train_labels, &o, NULL, err);
    if (rc < 0)
        bang_mlp_release(out);
    return rc;
}

int average_mix(bang_mlp *out, const bang_mlp *a, const bang_mlp *b, double alpha, bang_error *err)
{
    int rc = bang_mlp_copy(out, a, err);
    for (size_t k = 0; k < a->count && rc == 0; k++)
        out->parameters[k] =
            (float)((1 - alpha) * (double)a->parameters[k] + alpha * (double)b->parameters[k]);
    return rc;
}

json_t *average_options(const color_plan *plan, int hidden, const char *digest)
{
    bang_train_options o = training_options(plan, 0);
    return json_pack("{ss ss ss sI sI s[Ii] s[ff] ss ss}", "data", "multicolor", "protocol",
                     bang_color_protocol_name(plan->protocol), "loss", "cross-entropy", "models",
                     (json_int_t)plan->models, "batch", (json_int_t)o.batch, "steps",
                     (json_int_t)PRE_STEPS, FINE_STEPS, "rate", pre_rate, fine_rate, "network",
                     hidden == 1 ? "5292-64-10" : "5292-64-64-10", "mnist", digest);
}
