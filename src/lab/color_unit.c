/* Trains and measures the networks of one seed. Units run in waves of a few
 * seeds: their data are made in parallel, then every network of the wave is a
 * task of its own. Whoever trains the last network of a unit measures it. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "lab/color.h"
#include "lab/ledger.h"

typedef struct color_data {
    bang_columns columns;
    bang_rows train, test[COLOR_SHIFTS];
    int64_t *train_labels, *test_labels;
    float **logits;    /* (models * COLOR_SHIFTS) of (tests, classes) */
    bang_mlp *trained; /* (models) on reduced inputs */
} color_data;

typedef struct scratch {
    bang_array train, test; /* images as pixels, one worker's; made once and reused */
} scratch;

typedef struct wave {
    const color_plan *plan;
    const bang_mnist *mnist;
    const bang_lab_options *options;
    size_t *unit;     /* (count) which units */
    color_data *data; /* (count) */
    size_t count;
    scratch *scratch;   /* (threads) */
    atomic_size_t done; /* networks, those of other ranks too */
    size_t total;
    atomic_size_t *left; /* (count) networks that are still to train */
    ledger *ledger;
} wave;

static int64_t *copy_labels(const bang_color_set *set)
{
    int64_t *out = calloc(set->count, sizeof *out);
    for (size_t i = 0; out && i < set->count; i++)
        out[i] = set->labels[i];
    return out;
}

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
    if (rc == 0 && !*labels && !(*labels = copy_labels(&set)))
        rc = bang_fail_memory(err);
    if (rc == 0)
        bang_color_render(images->data, &set, 0, set.count);
    bang_color_release(&set);
    return rc;
}

static int read_test(color_data *d, size_t p, scratch *s, const bang_mnist *mnist,
                     const bang_color_options *options, bang_error *err)
{
    int rc = render(&s->test, &d->test_labels, mnist, options, err);
    if (rc == 0)
        rc = bang_columns_refine(&d->columns, &s->test, err);
    bang_rows_release(&d->test[p]);
    return rc < 0 ? rc : bang_rows_init(&d->test[p], &d->columns, &s->test, err);
}

static int make_data(void *context, size_t index, int worker, bang_error *err)
{
    wave *w = context;
    color_data *d = &w->data[index];
    scratch *s = &w->scratch[worker];
    bang_color_options o = BANG_COLOR_OPTIONS_INIT;
    o.single = w->plan->single;
    o.protocol = w->plan->protocol;
    o.seed = color_data_seed(w->plan, w->unit[index]);
    int rc = bang_columns_init(&d->columns, BANG_COLOR_PIXELS, err);
    if (rc == 0)
        rc = render(&s->train, &d->train_labels, w->mnist, &o, err);
    if (rc == 0)
        rc = bang_columns_refine(&d->columns, &s->train, err);
    o.test = 1;
    /* Columns must be equal in all the data. The largest shift shows nearly
     * always what there is to see, so tests are read on the way and again only
     * when a later one parts columns after all. */
    for (size_t groups = 0; rc == 0 && groups != d->columns.group_count;) {
        for (size_t p = COLOR_SHIFTS; p-- > 0 && rc == 0;) {
            o.shift = color_shifts[p];
            rc = read_test(d, p, s, w->mnist, &o, err);
            if (p == COLOR_SHIFTS - 1)
                groups = d->columns.group_count;
            if (rc == 0 && bang_cancelled(w->options->cancel))
                rc = bang_fail(err, BANG_ECANCELLED, "stopped");
        }
    }
    if (rc == 0)
        rc = bang_rows_init(&d->train, &d->columns, &s->train, err);
    size_t outputs = w->plan->models * COLOR_SHIFTS;
    d->logits = rc == 0 ? calloc(outputs, sizeof *d->logits) : NULL;
    d->trained = rc == 0 ? calloc(w->plan->models, sizeof *d->trained) : NULL;
    if (rc == 0 && (!d->logits || !d->trained))
        rc = bang_fail_memory(err);
    for (size_t i = 0; i < outputs && rc == 0; i++)
        if (!(d->logits[i] = calloc(d->test[0].count * BANG_COLOR_CLASSES, sizeof **d->logits)))
            rc = bang_fail_memory(err);
    return rc;
}

static void release_data(color_data *d, size_t models)
{
    bang_rows_release(&d->train);
    for (size_t p = 0; p < COLOR_SHIFTS; p++)
        bang_rows_release(&d->test[p]);
    bang_columns_release(&d->columns);
    free(d->train_labels);
    free(d->test_labels);
    for (size_t i = 0; d->logits && i < models * COLOR_SHIFTS; i++)
        free(d->logits[i]);
    for (size_t i = 0; d->trained && i < models; i++)
        bang_mlp_release(&d->trained[i]);
    free(d->trained);
    free(d->logits);
    *d = (color_data){0};
}

/* How a group's outputs are combined: their sum, the sum of each divided by its
 * scale, or of its probabilities. */
typedef enum combination { SUM, BALANCED, PROBABILITIES } combination;

/* Root mean square of a model's outputs in distribution, around the mean of
 * each image: the same for outputs that differ by a constant. */
static double output_scale(const float *z, size_t images)
{
    double sum = 0;
    for (size_t i = 0; i < images; i++, z += BANG_COLOR_CLASSES) {
        double mean = 0;
        for (int c = 0; c < BANG_COLOR_CLASSES; c++)
            mean += (double)z[c] / BANG_COLOR_CLASSES;
        for (int c = 0; c < BANG_COLOR_CLASSES; c++)
            sum += ((double)z[c] - mean) * ((double)z[c] - mean);
    }
    return sqrt(sum / ((double)images * BANG_COLOR_CLASSES));
}

static void add_outputs(double out[BANG_COLOR_CLASSES], const float *z, combination how,
                        double scale)
{
    double most = (double)z[0], sum = 0, e[BANG_COLOR_CLASSES];
    if (how != PROBABILITIES) {
        for (int c = 0; c < BANG_COLOR_CLASSES; c++)
            out[c] += how == BALANCED ? (double)z[c] / scale : (double)z[c];
        return;
    }
    for (int c = 1; c < BANG_COLOR_CLASSES; c++)
        most = fmax(most, (double)z[c]);
    for (int c = 0; c < BANG_COLOR_CLASSES; c++)
        sum += e[c] = exp((double)z[c] - most);
    for (int c = 0; c < BANG_COLOR_CLASSES; c++)
        out[c] += e[c] / sum;
}

/* Accuracies at every p of models first .. first+size-1 together. */
static json_t *group_accuracy(const color_data *d, const double *scale, size_t first, size_t size,
                              combination how)
{
    json_t *out = json_array();
    size_t images = d->test[0].count;
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        size_t right = 0;
        for (size_t i = 0; i < images; i++) {
            double sum[BANG_COLOR_CLASSES] = {0};
            int best = 0;
            for (size_t m = first; m < first + size; m++)
                add_outputs(sum, d->logits[m * COLOR_SHIFTS + p] + i * BANG_COLOR_CLASSES, how,
                            scale[m]);
            for (int c = 1; c < BANG_COLOR_CLASSES; c++)
                best = sum[c] > sum[best] ? c : best;
            right += best == d->test_labels[i];
        }
        json_array_append_new(out, bang_json_number((double)right / (double)images));
    }
    return out;
}

static json_t *all_groups(const color_data *d, const double *scale, size_t models, size_t size,
                          combination how)
{
    json_t *out = json_array();
    for (size_t first = 0; first + size <= models; first += size)
        json_array_append_new(out, group_accuracy(d, scale, first, size, how));
    return out;
}

/* The trained networks with all pixels as inputs, and images to try them on. */
static int inspect(json_t *result, const wave *w, size_t index, bang_error *err)
{
    enum { IMAGES = 500 };
    const color_data *d = &w->data[index];
    const color_plan *plan = w->plan;
    bang_array images = {0};
    int64_t *labels = NULL;
    bang_color_options o = BANG_COLOR_OPTIONS_INIT;
    o.single = plan->single;
    o.protocol = plan->protocol;
    o.seed = color_data_seed(plan, w->unit[index]);
    o.test = 1;
    o.count = d->test[0].count < IMAGES ? d->test[0].count : IMAGES;
    bang_mlp *dense = calloc(plan->models, sizeof *dense);
    const bang_mlp **models = calloc(plan->models, sizeof(const bang_mlp *));
    int rc = dense && models ? render(&images, &labels, w->mnist, &o, err) : bang_fail_memory(err);
    for (size_t m = 0; m < plan->models && rc == 0; m++) {
        bang_train_options training = color_training(plan, w->unit[index], m);
        models[m] = &dense[m];
        rc = color_network(&dense[m], plan, err);
        if (rc < 0)
            break;
        bang_mlp_randomise(&dense[m], training.seed, training.stream);
        rc = bang_mlp_expand(&dense[m], &d->trained[m], &d->columns, 1, err);
    }
    if (rc == 0)
        rc = plan->inspect(result, models, plan->models, &images, labels, err);
    for (size_t m = 0; dense && m < plan->models; m++)
        bang_mlp_release(&dense[m]);
    free(dense);
    free(models);
    free(labels);
    bang_array_release(&images);
    return rc;
}

static int measure_unit(json_t **out, const wave *w, size_t index, bang_error *err)
{
    const color_data *d = &w->data[index];
    size_t models = w->plan->models;
    double *scale = calloc(models, sizeof *scale);
    json_t *scales = json_array(), *ensembles = json_object();
    char size_text[16];
    if (!scale || !scales || !ensembles) {
        free(scale);
        json_decref(scales);
        json_decref(ensembles);
        return bang_fail_memory(err);
    }
    for (size_t i = 0; i < models; i++) {
        scale[i] = output_scale(d->logits[i * COLOR_SHIFTS], d->test[0].count);
        json_array_append_new(scales, bang_json_number(scale[i]));
    }
    for (int s = 1; s < COLOR_SIZES; s++)
        if ((size_t)color_sizes[s] <= models) {
            snprintf(size_text, sizeof size_text, "%d", color_sizes[s]);
            json_object_set_new(ensembles, size_text,
                                all_groups(d, scale, models, (size_t)color_sizes[s], SUM));
        }
    json_t *result =
        json_pack("{so so so so so}", "models", all_groups(d, scale, models, 1, SUM), "ensembles",
                  ensembles, "balanced", all_groups(d, scale, models, 2, BALANCED), "probabilities",
                  all_groups(d, scale, models, 2, PROBABILITIES), "scale", scales);
    free(scale);
    int rc = !result            ? bang_fail_memory(err)
             : w->plan->inspect ? inspect(result, w, index, err)
                                : 0;
    if (rc < 0)
        json_decref(result);
    else
        *out = result;
    return rc;
}

/* After the last network of a unit: its numbers, its record; its data go. */
static int finish_unit(wave *w, size_t unit, bang_error *err)
{
    json_t *result = NULL;
    int rc = measure_unit(&result, w, unit, err);
    if (rc < 0)
        return rc;
    release_data(&w->data[unit], w->plan->models);
    return ledger_put(w->ledger, w->unit[unit], result, err);
}

static void report(wave *w, size_t networks)
{
    size_t done = atomic_fetch_add(&w->done, networks) + networks;
    bang_progress_step(w->options->progress, done, w->total);
}

static int train_model(void *context, size_t index, int worker, bang_error *err)
{
    wave *w = context;
    size_t unit = index / w->plan->models, model = index % w->plan->models;
    color_data *d = &w->data[unit];
    bang_train_options o = color_training(w->plan, w->unit[unit], model);
    bang_mlp dense, *reduced = &d->trained[model];
    const bang_rows *tests[COLOR_SHIFTS];
    (void)worker;
    o.cancel = w->options->cancel;
    int rc = color_network(&dense, w->plan, err);
    if (rc < 0)
        return rc;
    bang_mlp_randomise(&dense, o.seed, o.stream);
    rc = bang_mlp_reduce(reduced, &dense, &d->columns, err);
    bang_mlp_release(&dense);
    if (rc < 0)
        return rc;
    rc = bang_train_mlp(reduced, &d->train, d->train_labels, &o, NULL, err);
    for (size_t p = 0; p < COLOR_SHIFTS; p++)
        tests[p] = &d->test[p];
    if (rc == 0)
        rc = bang_mlp_predict_sets(d->logits + model * COLOR_SHIFTS, reduced, tests, COLOR_SHIFTS,
                                   err);
    report(w, 1);
    if (rc == 0 && atomic_fetch_sub(&w->left[unit], 1) == 1)
        rc = finish_unit(w, unit, err);
    return rc < 0 ? rc : ledger_look(w->ledger, err);
}

static int run_wave(wave *w, bang_error *err)
{
    int threads = w->options->threads;
    bang_cancel *cancel = w->options->cancel;
    w->data = calloc(w->count, sizeof *w->data);
    w->left = calloc(w->count, sizeof *w->left);
    int rc = w->data && w->left ? 0 : bang_fail_memory(err);
    for (size_t i = 0; i < w->count && rc == 0; i++)
        atomic_store(&w->left[i], w->plan->models);
    if (rc == 0)
        rc = bang_parallel_for(w->count, threads, make_data, w, cancel, err);
    if (rc == 0)
        rc = bang_parallel_for(w->count * w->plan->models, threads, train_model, w, cancel, err);
    for (size_t i = 0; w->data && i < w->count; i++)
        release_data(&w->data[i], w->plan->models);
    free(w->data);
    free(w->left);
    return rc;
}

/* Seeds at a time: so many that waiting for the last network of a wave costs
 * little, and so few that a run that is stopped loses little. */
static size_t wave_size(const color_plan *plan, int threads)
{
    size_t tasks = 8 * (size_t)threads;
    return (tasks + plan->models - 1) / plan->models;
}

static int run_missing(wave *w, bang_error *err)
{
    const color_plan *plan = w->plan;
    int threads = w->options->threads > 0 ? w->options->threads : bang_threads_available(), rc = 0;
    size_t most = wave_size(plan, threads), there = 0;
    for (size_t i = 0; i < plan->seeds; i++)
        there += (size_t)ledger_has(w->ledger, i);
    w->total = plan->before + plan->seeds * plan->models + plan->after;
    report(w, plan->before + there * plan->models);
    w->scratch = calloc((size_t)threads, sizeof *w->scratch);
    size_t *units = calloc(plan->seeds, sizeof *units);
    if (!w->scratch || !units)
        rc = bang_fail_memory(err);
    size_t missing = units ? ledger_missing(units, w->ledger) : 0;
    for (size_t next = 0; rc == 0 && next < missing; next += w->count) {
        w->unit = units + next;
        w->count = missing - next < most ? missing - next : most;
        rc = run_wave(w, err);
    }
    for (int t = 0; w->scratch && t < threads; t++) {
        bang_array_release(&w->scratch[t].train);
        bang_array_release(&w->scratch[t].test);
    }
    free(w->scratch);
    free(units);
    return rc;
}

static const char *experiment_of(const color_plan *plan)
{
    return plan->inspect ? "occlusion" : plan->single ? "singlecolor" : "multicolor";
}

void color_unit_key(char *out, size_t size, const color_plan *plan, size_t unit)
{
    snprintf(out, size, "%s/%s%zux%zu", experiment_of(plan),
             plan->loss == BANG_MSE ? "seed-" : "cross-entropy-seed-", unit + 1, plan->models);
}

static void ledger_key(char *out, size_t size, const void *context, size_t unit)
{
    const wave *w = context;
    color_unit_key(out, size, w->plan, unit);
}

static json_t *ledger_settings(const void *context, size_t unit)
{
    const wave *w = context;
    return color_unit_options(w->plan, unit, w->mnist->digest);
}

static void ledger_arrived(void *context, size_t unit)
{
    wave *w = context;
    (void)unit;
    report(w, w->plan->models);
}

int color_units(json_t **out, const color_plan *plan, const char *summary, const bang_mnist *mnist,
                const bang_lab_options *options, bang_error *err)
{
    wave w = {.plan = plan, .mnist = mnist, .options = options};
    const ledger_units units = {.count = plan->seeds,
                                .experiment = experiment_of(plan),
                                .section = color_section(plan),
                                .key = ledger_key,
                                .settings = ledger_settings,
                                .arrived = ledger_arrived,
                                .context = &w};
    json_t *settings = color_plan_options(plan, mnist->digest), *earlier = NULL;
    int rc =
        settings ? lab_recall(&earlier, summary, settings, options, err) : bang_fail_memory(err);
    json_decref(earlier);
    json_decref(settings);
    *out = NULL;
    if (rc == 0)
        rc = ledger_open(&w.ledger, &units, options, err);
    if (rc == 0)
        rc = run_missing(&w, err);
    if (rc == 0)
        rc = ledger_finish(out, w.ledger, err);
    ledger_close(w.ledger);
    return rc;
}
