#include "bang/measure/temperature.h"

#include <math.h>
#include <stdlib.h>

#include "measure/reader.h"
#include "measure/temperature_root.h"

/* Some rows tell nearly as much as all: the search begins on about the first of these numbers of
 * rows, goes on with the next, and only ends on all of them. */
static const size_t samples[] = {256, 4096, 65536};
#define TOLERANCE 1e-12

struct worker {
    bang_reader reader;
    double *z; /* (classes, 4) */
};

/* Of a block of rows. */
struct part {
    bang_warmth sums;
    size_t count;
};

struct search {
    const bang_logits *logits;
    const bang_label *labels; /* or NULL */
    int balance;              /* not a fit */
    double target;            /* of a balance */
    int threads;
    bang_cancel *cancel;
    struct worker *workers; /* (threads) */
    size_t classes;
    size_t counted;  /* rows that are not left out */
    size_t capacity; /* rows of a piece */
    /* The pass: runs of rows, each so far behind the one before. Blocks of runs do not depend on
     * threads, and their sums are added in their order. */
    size_t run_rows, stride, run_count, per_block;
    double beta;
    struct part *parts; /* (blocks) */
};

/* A block is a run or more, and of a sample there are no more than so many. */
enum { SAMPLE_BLOCKS = 256 };

static int is_left_out(const struct search *s, size_t row)
{
    return s->labels && s->labels[row] < 0;
}

/* Adds up to four rows. */
static int add_side(struct part *to, const struct search *s, const struct worker *worker,
                    size_t rows[BANG_SIDE], size_t count, bang_error *err)
{
    const bang_reader *reader = &worker->reader;
    double label[BANG_SIDE];
    for (size_t j = count; j < BANG_SIDE; j++)
        rows[j] = rows[0];
    if (!bang_reader_side(worker->z, reader, rows)) {
        int rc = 0;
        for (size_t j = 0; j < count && rc == 0; j++)
            rc = bang_reader_row(worker->z, reader, rows[j], err);
        return rc;
    }
    for (size_t j = 0; j < BANG_SIDE; j++)
        label[j] = s->balance ? 0 : (double)s->labels[rows[j]];
    reader->kernels->warm(&to->sums, worker->z, s->classes, s->beta, s->balance ? NULL : label,
                          s->target, count);
    to->count += count;
    return 0;
}

static int add_run(struct part *to, const struct search *s, struct worker *worker, size_t first,
                   size_t count, bang_error *err)
{
    size_t rows[BANG_SIDE], found = 0;
    int rc = bang_reader_load(&worker->reader, first, count, err);
    for (size_t row = first; rc == 0 && row < first + count; row++) {
        if (!is_left_out(s, row))
            rows[found++] = row;
        if (found == BANG_SIDE || (found > 0 && row + 1 == first + count)) {
            rc = add_side(to, s, worker, rows, found, err);
            found = 0;
        }
    }
    return rc;
}

static int add_block(void *context, size_t index, int worker, bang_error *err)
{
    struct search *s = context;
    struct part part = {.count = 0};
    size_t rows = s->logits->table->rows, end = (index + 1) * s->per_block;
    int rc = 0;
    for (size_t r = index * s->per_block; r < end && r < s->run_count && rc == 0; r++) {
        size_t first = r * s->stride, left = rows - first;
        rc = add_run(&part, s, &s->workers[worker], first, left < s->run_rows ? left : s->run_rows,
                     err);
    }
    s->parts[index] = part;
    return rc;
}

static void add(double sum[2], double x)
{
    double total = sum[0] + x, added = total - sum[0];
    sum[1] += (sum[0] - (total - added)) + (x - added);
    sum[0] = total;
}

/* One pass at point->beta. */
static int evaluate(void *context, bang_root_point *point, bang_error *err)
{
    struct search *s = context;
    double sums[BANG_WARMTHS][2] = {{0}}, count = 0;
    size_t blocks = s->run_count / s->per_block + (s->run_count % s->per_block > 0);
    s->beta = point->beta;
    int rc = bang_parallel_for(blocks, s->threads, add_block, s, s->cancel, err);
    if (rc < 0)
        return rc;
    for (size_t b = 0; b < blocks; b++) {
        const struct part *part = &s->parts[b];
        count += (double)part->count;
        for (size_t i = 0; i < BANG_WARMTHS; i++)
            for (size_t j = 0; j < BANG_SIDE; j++) {
                add(sums[i], part->sums.total[i][j]);
                add(sums[i], part->sums.lost[i][j]);
            }
    }
    point->value = (sums[BANG_VALUE][0] + sums[BANG_VALUE][1]) / count;
    point->slope = (sums[BANG_SLOPE][0] + sums[BANG_SLOPE][1]) / count;
    point->bend = (sums[BANG_BEND][0] + sums[BANG_BEND][1]) / count;
    point->integral = (sums[BANG_INTEGRAL][0] + sums[BANG_INTEGRAL][1]) / count;
    return 0;
}

/* Runs of four rows, evenly spread, that have about `least` rows that count; 0 if there are not
 * that many. */
static int choose_sample(struct search *s, size_t least)
{
    size_t rows = s->logits->table->rows, found = 0;
    if (s->counted / 4 < least)
        return 0;
    s->run_rows = BANG_SIDE;
    s->stride = s->counted / (least / BANG_SIDE);
    s->run_count = rows / s->stride + (rows % s->stride > 0);
    s->per_block = s->run_count / SAMPLE_BLOCKS + 1;
    for (size_t r = 0; r < s->run_count; r++)
        for (size_t row = r * s->stride; row < rows && row < r * s->stride + BANG_SIDE; row++)
            found += !is_left_out(s, row);
    return found > least / 2;
}

static int find(bang_root *root, struct search *s, bang_error *err)
{
    size_t rows = s->logits->table->rows;
    double beta = 1;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        if (!choose_sample(s, samples[i]))
            continue;
        /* A last step leaves about its square: a tenth of what the choice of rows leaves unsure. */
        double unsure = 1 / sqrt((double)samples[i]);
        int rc = bang_root_find(root, evaluate, s, beta, sqrt(0.1 * unsure), err);
        if (rc < 0)
            return rc;
        beta = root->beta;
    }
    s->run_rows = s->stride = s->capacity;
    s->run_count = rows / s->capacity + (rows % s->capacity > 0);
    s->per_block = 1;
    return bang_root_find(root, evaluate, s, beta, TOLERANCE, err);
}

static int check_rows(struct search *s, bang_error *err)
{
    const bang_table *table = s->logits->table;
    size_t classes = s->classes = bang_logits_classes(s->logits);
    for (size_t row = 0; row < table->rows; row++) {
        if (is_left_out(s, row))
            continue;
        if (!s->balance && (size_t)s->labels[row] >= classes)
            return bang_fail(err, BANG_EDATA,
                             "%s: the label of row %zu is %ld, and there are %zu classes: labels "
                             "count from 0",
                             table->name, row, (long)s->labels[row], classes);
        s->counted++;
    }
    if (s->counted == 0)
        return bang_fail(err, BANG_EDATA, "%s: no row counts: a temperature needs one",
                         table->name);
    return 0;
}

/* Threads, and for each of them a reader. */
static int make_workers(struct search *s, int threads, bang_error *err)
{
    size_t rows = s->logits->table->rows;
    s->capacity = bang_reader_rows(s->logits);
    size_t blocks = rows / s->capacity + 1;
    blocks = blocks > SAMPLE_BLOCKS ? blocks : SAMPLE_BLOCKS;
    s->threads = threads > 0 ? threads : bang_threads_available();
    s->threads = (size_t)s->threads < blocks ? s->threads : (int)blocks;
    s->parts = calloc(blocks, sizeof *s->parts);
    s->workers = calloc((size_t)s->threads, sizeof *s->workers);
    if (!s->parts || !s->workers)
        return bang_fail_memory(err);
    for (int i = 0; i < s->threads; i++) {
        struct worker *worker = &s->workers[i];
        int rc = bang_reader_init(&worker->reader, s->logits, s->capacity, err);
        if (rc < 0)
            return rc;
        worker->z = malloc(s->classes * BANG_SIDE * sizeof *worker->z);
        if (!worker->z)
            return bang_fail_memory(err);
    }
    return 0;
}

static void release(struct search *s)
{
    for (int i = 0; s->workers && i < s->threads; i++) {
        bang_reader_release(&s->workers[i].reader);
        free(s->workers[i].z);
    }
    free(s->workers);
    free(s->parts);
}

static void take(bang_temperature *out, const bang_root *root)
{
    out->temperature = 1 / root->beta;
    if (root->beta == BANG_BETA_MOST)
        out->temperature = BANG_TEMPERATURE_LEAST;
    if (root->beta == BANG_BETA_LEAST)
        out->temperature = BANG_TEMPERATURE_MOST;
    out->at_limit = root->at_limit;
}

int bang_temperature_fit(bang_temperature *out, const bang_logits *logits, const bang_label *labels,
                         int threads, bang_cancel *cancel, bang_error *err)
{
    struct search s = {.logits = logits, .labels = labels, .cancel = cancel};
    bang_root root;
    *out = (bang_temperature){NAN, NAN, 0};
    int rc = labels ? check_rows(&s, err)
                    : bang_fail(err, BANG_EUSAGE, "%s: a temperature is fitted to labels",
                                logits->table->name);
    if (rc == 0)
        rc = make_workers(&s, threads, err);
    if (rc == 0)
        rc = find(&root, &s, err);
    if (rc == 0) {
        take(out, &root);
        out->nll = root.integral;
    }
    release(&s);
    return rc;
}

int bang_temperature_balance(bang_temperature *out, const bang_logits *logits,
                             const bang_label *labels, double target, int threads,
                             bang_cancel *cancel, bang_error *err)
{
    struct search s = {
        .logits = logits, .labels = labels, .balance = 1, .target = target, .cancel = cancel};
    bang_root root;
    *out = (bang_temperature){NAN, NAN, 0};
    int rc = isfinite(target) ? check_rows(&s, err)
                              : bang_fail(err, BANG_EUSAGE, "%s: a mean confidence of %g",
                                          logits->table->name, target);
    if (rc == 0)
        rc = make_workers(&s, threads, err);
    if (rc == 0)
        rc = find(&root, &s, err);
    if (rc == 0)
        take(out, &root);
    release(&s);
    return rc;
}
