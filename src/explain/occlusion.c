#include "bang/explain/occlusion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const bang_mlp *const *models;          /* or NULL: */
    const bang_occlusion_network *networks; /* of any kind */
    size_t model_count, classes;
    const bang_array *images;
    const int64_t *labels;
    const bang_occlusion_grid *grid;
    bang_columns columns;
    bang_mlp *reduced;  /* (model_count) */
    bang_array covered; /* the images under one mask */
    float *logits;      /* (model_count, masks + 1, n, classes), the last without mask */
    bang_occlusion *out;
} job;

static size_t image_count(const job *j)
{
    return j->images->shape[0];
}

static int covers(const job *j, size_t mask, size_t row, size_t column)
{
    const bang_occlusion_grid *g = j->grid;
    size_t cell = row * g->columns + column, cells = g->rows * g->columns;
    if (mask >= j->out->masks)
        return 0;
    return mask < cells ? mask == cell : g->masks[(mask - cells) * cells + cell];
}

static void cover(job *j, size_t mask)
{
    const bang_occlusion_grid *g = j->grid;
    const bang_array *a = j->images;
    size_t height = a->shape[1], width = a->shape[2], channels = a->rank > 3 ? a->shape[3] : 1;
    size_t number = bang_dtype_size(a->dtype), span = width / g->columns * channels * number;
    memcpy(j->covered.data, a->data, a->count * number);
    for (size_t i = 0; i < image_count(j); i++)
        for (size_t y = 0; y < height; y++)
            for (size_t c = 0; c < g->columns; c++)
                if (covers(j, mask, y / (height / g->rows), c))
                    memset((char *)j->covered.data + (i * height + y) * width * channels * number +
                               c * span,
                           0, span);
}

static int check(const job *j, bang_error *err)
{
    const bang_array *a = j->images;
    const bang_occlusion_grid *g = j->grid;
    char shape[96];
    bang_array_shape_text(shape, sizeof shape, a);
    if (a->rank < 3 || a->rank > 4 || a->shape[0] == 0)
        return bang_fail(err, BANG_EDATA,
                         "images: shape %s: occlusion needs (n, height, width[, channels])", shape);
    if (g->rows == 0 || g->columns == 0 || a->shape[1] % g->rows || a->shape[2] % g->columns)
        return bang_fail(err, BANG_EUSAGE,
                         "grid: %zu x %zu cells do not divide images of %zu x %zu", g->rows,
                         g->columns, a->shape[1], a->shape[2]);
    if (g->mask_count > 0 && !g->masks)
        return bang_fail(err, BANG_EUSAGE, "grid: %zu masks are announced, none is given",
                         g->mask_count);
    for (size_t m = 0; j->networks && m < j->model_count; m++)
        if (j->networks[m].classes != j->classes)
            return bang_fail(err, BANG_EUSAGE, "models: %zu and %zu outputs: they must agree",
                             j->classes, j->networks[m].classes);
    for (size_t m = 0; j->models && m < j->model_count; m++) {
        const bang_mlp *model = j->models[m];
        if (model->width[model->layers] != j->classes)
            return bang_fail(err, BANG_EUSAGE, "models: %zu and %zu outputs: they must agree",
                             j->classes, model->width[model->layers]);
        if (model->width[0] * a->shape[0] != a->count)
            return bang_fail(err, BANG_EUSAGE, "model %zu: reads %zu numbers, an image has %zu",
                             m + 1, model->width[0], a->count / a->shape[0]);
    }
    for (size_t i = 0; i < a->shape[0]; i++)
        if (j->labels[i] < 0 || (size_t)j->labels[i] >= j->classes)
            return bang_fail(err, BANG_EDATA,
                             "labels: image %zu has label %lld: there are %zu classes", i,
                             (long long)j->labels[i], j->classes);
    return 0;
}

static int allocate(job *j, bang_error *err)
{
    bang_occlusion *o = j->out;
    size_t n = image_count(j), sets = o->masks + 1;
    o->images = calloc(o->classes, sizeof *o->images);
    o->change = calloc(o->members * o->masks * o->classes, sizeof *o->change);
    o->accuracy = calloc(o->members * sets, sizeof *o->accuracy);
    j->reduced = calloc(j->model_count, sizeof *j->reduced);
    if (n <= SIZE_MAX / sets / o->classes) /* calloc checks the rest of the product */
        j->logits = calloc(j->model_count, sets * n * o->classes * sizeof *j->logits);
    if (!o->images || !o->change || !o->accuracy || !j->reduced || !j->logits)
        return bang_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        o->images[j->labels[i]]++;
    return bang_array_init(&j->covered, j->images->dtype, j->images->rank, j->images->shape, err);
}

/* Columns that stay equal under every mask; networks that read those. */
static int reduce(job *j, bang_cancel *cancel, bang_error *err)
{
    if (j->networks)
        return 0;
    int rc = bang_columns_init(&j->columns, j->images->count / image_count(j), err);
    for (size_t s = 0; s <= j->out->masks && rc == 0; s++) {
        cover(j, s);
        rc = bang_columns_refine(&j->columns, &j->covered, err);
        if (rc == 0 && bang_cancelled(cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "stopped");
    }
    if (rc == 0)
        bang_columns_settle(&j->columns);
    for (size_t m = 0; m < j->model_count && rc == 0; m++)
        rc = bang_mlp_reduce(&j->reduced[m], j->models[m], &j->columns, err);
    return rc;
}

static float *logits_of(const job *j, size_t model, size_t set)
{
    return j->logits + (model * (j->out->masks + 1) + set) * image_count(j) * j->classes;
}

static int predict_networks(job *j, size_t set, bang_error *err)
{
    int rc = 0;
    for (size_t m = 0; m < j->model_count && rc == 0; m++)
        rc = j->networks[m].score(j->networks[m].context, logits_of(j, m, set), &j->covered, err);
    return rc;
}

static int predict_mlps(job *j, size_t set, bang_error *err)
{
    bang_rows rows;
    int rc = bang_rows_init(&rows, &j->columns, &j->covered, err);
    for (size_t m = 0; m < j->model_count && rc == 0; m++)
        rc = bang_mlp_predict(logits_of(j, m, set), &j->reduced[m], &rows, 0, image_count(j), err);
    bang_rows_release(&rows);
    return rc;
}

/* One mask at a time, so that only one copy of the images is there. */
static int predict(job *j, bang_cancel *cancel, bang_error *err)
{
    int rc = 0;
    for (size_t s = 0; s <= j->out->masks && rc == 0; s++) {
        cover(j, s);
        rc = j->networks ? predict_networks(j, s, err) : predict_mlps(j, s, err);
        if (rc == 0 && bang_cancelled(cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "stopped");
    }
    return rc;
}

/* Of a model, or the mean of all. */
static double output(const job *j, size_t member, size_t set, size_t index)
{
    size_t size = image_count(j) * j->classes, sets = j->out->masks + 1;
    if (member < j->model_count)
        return (double)j->logits[(member * sets + set) * size + index];
    double sum = 0;
    for (size_t m = 0; m < j->model_count; m++)
        sum += (double)j->logits[(m * sets + set) * size + index];
    return sum / (double)j->model_count;
}

static void measure(job *j, size_t member)
{
    bang_occlusion *o = j->out;
    size_t k = j->classes, n = image_count(j), sets = o->masks + 1;
    for (size_t s = 0; s < sets; s++) {
        size_t right = 0;
        for (size_t i = 0; i < n; i++) {
            size_t best = 0, label = (size_t)j->labels[i];
            for (size_t c = 1; c < k; c++)
                if (output(j, member, s, i * k + c) > output(j, member, s, i * k + best))
                    best = c;
            right += best == label;
            if (s < o->masks)
                o->change[(member * o->masks + s) * k + label] +=
                    fabs(output(j, member, s, i * k + label) -
                         output(j, member, o->masks, i * k + label)) /
                    (double)o->images[label];
        }
        o->accuracy[member * sets + s] = (double)right / (double)n;
    }
}

static int run(bang_occlusion *out, job *j, bang_cancel *cancel, bang_error *err)
{
    int rc = check(j, err);
    if (rc < 0)
        return rc;
    *out = (bang_occlusion){.members = j->model_count + (j->model_count > 1),
                            .masks = j->grid->rows * j->grid->columns + j->grid->mask_count,
                            .classes = j->classes};
    j->out = out;
    rc = allocate(j, err);
    if (rc == 0)
        rc = reduce(j, cancel, err);
    if (rc == 0)
        rc = predict(j, cancel, err);
    for (size_t m = 0; m < out->members && rc == 0; m++)
        measure(j, m);
    for (size_t m = 0; j->reduced && m < j->model_count; m++)
        bang_mlp_release(&j->reduced[m]);
    free(j->reduced);
    free(j->logits);
    bang_columns_release(&j->columns);
    bang_array_release(&j->covered);
    if (rc < 0)
        bang_occlusion_release(out);
    return rc;
}

static int fail_without_model(bang_error *err)
{
    return bang_fail(err, BANG_EUSAGE, "occlusion: no model: give at least one");
}

int bang_occlusion_run(bang_occlusion *out, const bang_mlp *const *models, size_t model_count,
                       const bang_array *images, const int64_t *labels,
                       const bang_occlusion_grid *grid, bang_cancel *cancel, bang_error *err)
{
    *out = (bang_occlusion){0};
    if (model_count == 0)
        return fail_without_model(err);
    job j = {.models = models, .model_count = model_count, .images = images, .labels = labels};
    j.grid = grid;
    j.classes = models[0]->width[models[0]->layers];
    return run(out, &j, cancel, err);
}

int bang_occlusion_run_networks(bang_occlusion *out, const bang_occlusion_network *networks,
                                size_t count, const bang_array *images, const int64_t *labels,
                                const bang_occlusion_grid *grid, bang_cancel *cancel,
                                bang_error *err)
{
    *out = (bang_occlusion){0};
    if (count == 0)
        return fail_without_model(err);
    job j = {.networks = networks, .model_count = count, .images = images, .labels = labels};
    j.grid = grid;
    j.classes = networks[0].classes;
    return run(out, &j, cancel, err);
}

static double count_images(const bang_occlusion *o)
{
    double count = 0;
    for (size_t c = 0; c < o->classes; c++)
        count += (double)o->images[c];
    return count;
}

static int start_sum(bang_occlusion *sum, const bang_occlusion *like, bang_error *err)
{
    *sum =
        (bang_occlusion){.members = like->members, .masks = like->masks, .classes = like->classes};
    sum->images = calloc(sum->classes, sizeof *sum->images);
    sum->change = calloc(sum->members * sum->masks * sum->classes, sizeof *sum->change);
    sum->accuracy = calloc(sum->members * (sum->masks + 1), sizeof *sum->accuracy);
    if (sum->images && sum->change && sum->accuracy)
        return 0;
    bang_occlusion_release(sum);
    return bang_fail_memory(err);
}

int bang_occlusion_add(bang_occlusion *sum, const bang_occlusion *more, bang_error *err)
{
    int rc = sum->images ? 0 : start_sum(sum, more, err);
    if (rc < 0)
        return rc;
    if (sum->members != more->members || sum->masks != more->masks || sum->classes != more->classes)
        return bang_fail(err, BANG_EUSAGE,
                         "occlusion: %zu members, %zu masks, %zu classes and %zu, %zu, %zu: they "
                         "must agree",
                         sum->members, sum->masks, sum->classes, more->members, more->masks,
                         more->classes);
    double before = count_images(sum), added = count_images(more);
    for (size_t i = 0; i < sum->members * sum->masks * sum->classes; i++) {
        double a = (double)sum->images[i % sum->classes],
               b = (double)more->images[i % sum->classes];
        if (b > 0)
            sum->change[i] = (sum->change[i] * a + more->change[i] * b) / (a + b);
    }
    for (size_t i = 0; added > 0 && i < sum->members * (sum->masks + 1); i++)
        sum->accuracy[i] = (round(sum->accuracy[i] * before) + round(more->accuracy[i] * added)) /
                           (before + added);
    for (size_t c = 0; c < sum->classes; c++)
        sum->images[c] += more->images[c];
    return 0;
}

void bang_occlusion_release(bang_occlusion *occlusion)
{
    free(occlusion->images);
    free(occlusion->change);
    free(occlusion->accuracy);
    *occlusion = (bang_occlusion){0};
}

double bang_occlusion_change(const bang_occlusion *o, size_t member, size_t mask)
{
    double sum = 0, images = 0;
    for (size_t c = 0; c < o->classes; c++) {
        sum += o->change[(member * o->masks + mask) * o->classes + c] * (double)o->images[c];
        images += (double)o->images[c];
    }
    return images > 0 ? sum / images : 0;
}

double bang_occlusion_effective(const double *amount, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += amount[i];
        squares += amount[i] * amount[i];
    }
    return squares > 0 ? sum * sum / squares : 0;
}

double bang_occlusion_shared_cells(const bang_occlusion *o, size_t member, size_t other,
                                   size_t cells)
{
    double total = 0;
    size_t seen = 0;
    for (size_t c = 0; c < o->classes; c++) {
        double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
        for (size_t i = 0; i < cells; i++) {
            double x = o->change[(member * o->masks + i) * o->classes + c];
            double y = o->change[(other * o->masks + i) * o->classes + c];
            a += x;
            b += y;
            aa += x * x;
            bb += y * y;
            ab += x * y;
        }
        seen += o->images[c] > 0;
        /* cos(a, b) sqrt(n_a n_b) with n_a = a^2/aa, n_b = b^2/bb */
        total += aa > 0 && bb > 0 ? ab * a * b / (aa * bb) : 0;
    }
    return seen ? total / (double)seen : 0;
}

double bang_occlusion_effective_cells(const bang_occlusion *o, size_t member, size_t cells)
{
    return bang_occlusion_shared_cells(o, member, member, cells);
}
