#include "bang/measure/temperature.h"

#include <math.h>
#include <stdlib.h>

#include "measure/reader.h"
#include "measure/temperature_root.h"

/* Some rows tell nearly as much as all: the search begins on the first of these numbers of
 * rows, and only ends on all of them. */
enum { SAMPLE_LEAST = 256, SAMPLE_MOST = 4096, SAMPLE_BLOCK = 32 };
#define TOLERANCE 1e-12
#define VANISHED 1e-300

/* Sums over rows of the function whose zero is sought, its slope, its integral. */
enum { VALUE, SLOPE, INTEGRAL, SUMS };

/* A sum, and what rounding took from it (Knuth's way, without a branch): there may be millions of
 * rows, and the value is a small difference. */
struct sum {
    double total, lost;
};

static inline void add(struct sum *sum, double x)
{
    double total = sum->total + x, added = total - sum->total;
    sum->lost += (sum->total - (total - added)) + (x - added);
    sum->total = total;
}

struct worker {
    bang_reader reader;
    double *z; /* (classes, 4) */
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
    /* The pass: over some rows, or all. Blocks do not depend on threads, and their sums are added
     * in their order. */
    const size_t *rows; /* (row_count), or NULL: all */
    size_t row_count, per_block;
    double beta;
    struct sum (*sums)[SUMS]; /* (blocks) */
};

static int is_left_out(const struct search *s, size_t row)
{
    return s->labels && s->labels[row] < 0;
}

/* Adds one row. With d_k = z_k - top, e_k = exp(beta d_k), S the sum of e_k, and M, V the mean
 * and variance of d_k by the weights e_k/S:
 *
 *     fit        NLL = log S - beta d_l     NLL' = M - d_l              NLL'' = V
 *     balance    confidence = 1/S           confidence' = -M/S
 *
 * moments: S, S M, S (V + M^2), and the logarithm of S; below: d_l.
 */
static inline void add_row(struct sum sums[SUMS], const struct search *s, const double moments[4],
                           double below)
{
    double mean = moments[1] / moments[0];
    if (!s->balance) {
        /* A row that is right has a mean below 0, also where exponentials are too small for it. */
        if (moments[0] == 1 && s->classes > 1)
            mean = fmin(mean, -VANISHED);
        add(&sums[VALUE], mean - below);
        add(&sums[SLOPE], fmax(0, moments[2] / moments[0] - mean * mean));
        add(&sums[INTEGRAL], moments[3] - s->beta * below);
    } else {
        add(&sums[VALUE], 1 / moments[0] - s->target);
        add(&sums[SLOPE], -mean / moments[0]);
    }
}

static int add_single(struct sum sums[SUMS], const struct search *s, const struct worker *worker,
                      size_t row, bang_error *err)
{
    const bang_reader *reader = &worker->reader;
    const double *z = worker->z;
    int rc = bang_reader_row(worker->z, reader, row, err);
    if (rc < 0)
        return rc;
    double top = z[reader->kernels->largest(z, s->classes)], moments[4];
    reader->kernels->moments(z, s->classes, top, s->beta, moments);
    moments[3] = log(moments[0]);
    add_row(sums, s, moments, s->balance ? 0 : z[s->labels[row]] - top);
    return 0;
}

/* The same of up to four rows at once. */
static int add_side(struct sum sums[SUMS], const struct search *s, const struct worker *worker,
                    size_t rows[BANG_SIDE], size_t count, bang_error *err)
{
    const bang_measure_kernels *kernels = worker->reader.kernels;
    const double *z = worker->z;
    double moments[4][BANG_SIDE] = {{0}};
    bang_scan scan;
    for (size_t j = count; j < BANG_SIDE; j++)
        rows[j] = rows[0];
    if (!bang_reader_side(worker->z, &worker->reader, rows)) {
        int rc = 0;
        for (size_t j = 0; j < count && rc == 0; j++)
            rc = bang_reader_row(worker->z, &worker->reader, rows[j], err);
        return rc;
    }
    kernels->scan(&scan, z, s->classes);
    kernels->warm(moments, z, s->classes, scan.top, s->beta);
    if (!s->balance)
        kernels->logarithms(moments[3], moments[0], BANG_SIDE);
    for (size_t j = 0; j < count; j++) {
        double of[4] = {moments[0][j], moments[1][j], moments[2][j], moments[3][j]};
        double label = s->balance ? scan.top[j] : z[BANG_SIDE * (size_t)s->labels[rows[j]] + j];
        add_row(sums, s, of, label - scan.top[j]);
    }
    return 0;
}

static int add_some(struct sum sums[SUMS], const struct search *s, struct worker *worker,
                    size_t first, size_t count, bang_error *err)
{
    int rc = 0;
    for (size_t i = first; rc == 0 && i < first + count; i++) {
        rc = bang_reader_load(&worker->reader, s->rows[i], 1, err);
        if (rc == 0)
            rc = add_single(sums, s, worker, s->rows[i], err);
    }
    return rc;
}

static int add_all(struct sum sums[SUMS], const struct search *s, struct worker *worker,
                   size_t first, size_t count, bang_error *err)
{
    size_t rows[BANG_SIDE], found = 0;
    int rc = bang_reader_load(&worker->reader, first, count, err);
    for (size_t row = first; rc == 0 && row < first + count; row++) {
        if (!is_left_out(s, row))
            rows[found++] = row;
        if (found == BANG_SIDE || (found > 0 && row + 1 == first + count)) {
            rc = add_side(sums, s, worker, rows, found, err);
            found = 0;
        }
    }
    return rc;
}

static int add_block(void *context, size_t index, int worker, bang_error *err)
{
    struct search *s = context;
    struct worker *self = &s->workers[worker];
    struct sum sums[SUMS] = {{0, 0}};
    size_t first = index * s->per_block, count = s->row_count - first;
    count = count < s->per_block ? count : s->per_block;
    int rc = s->rows ? add_some(sums, s, self, first, count, err)
                     : add_all(sums, s, self, first, count, err);
    for (int k = 0; k < SUMS; k++)
        s->sums[index][k] = sums[k];
    return rc;
}

static size_t blocks_of(const struct search *s)
{
    return s->row_count / s->per_block + (s->row_count % s->per_block > 0);
}

/* One pass at point->beta. */
static int evaluate(void *context, bang_root_point *point, bang_error *err)
{
    struct search *s = context;
    struct sum total[SUMS] = {{0, 0}};
    size_t blocks = blocks_of(s);
    s->beta = point->beta;
    int rc = bang_parallel_for(blocks, s->threads, add_block, s, s->cancel, err);
    if (rc < 0)
        return rc;
    for (size_t b = 0; b < blocks; b++)
        for (int k = 0; k < SUMS; k++) {
            add(&total[k], s->sums[b][k].total);
            add(&total[k], s->sums[b][k].lost);
        }
    double n = (double)(s->rows ? s->row_count : s->counted);
    point->value = (total[VALUE].total + total[VALUE].lost) / n;
    point->slope = (total[SLOPE].total + total[SLOPE].lost) / n;
    point->integral = (total[INTEGRAL].total + total[INTEGRAL].lost) / n;
    return 0;
}

/* Every k-th of the rows that count, at least `least` of them, into rows (2 least). */
static size_t pick_rows(size_t *rows, const struct search *s, size_t least)
{
    size_t step = s->counted / least, seen = 0, picked = 0;
    for (size_t row = 0; row < s->logits->table->rows; row++)
        if (!is_left_out(s, row) && seen++ % step == 0 && picked < 2 * least)
            rows[picked++] = row;
    return picked;
}

static int find(bang_root *root, struct search *s, bang_error *err)
{
    size_t rows[2 * SAMPLE_MOST];
    double beta = 1;
    for (size_t least = SAMPLE_LEAST; least <= SAMPLE_MOST; least *= SAMPLE_MOST / SAMPLE_LEAST) {
        if (s->counted < 4 * least)
            break;
        s->rows = rows;
        s->row_count = pick_rows(rows, s, least);
        s->per_block = SAMPLE_BLOCK;
        /* A tenth of what the choice of rows leaves unsure. */
        int rc = bang_root_find(root, evaluate, s, beta, 0.1 / sqrt((double)least), err);
        if (rc < 0)
            return rc;
        beta = root->beta;
    }
    s->rows = NULL;
    s->row_count = s->logits->table->rows;
    s->per_block = s->capacity;
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
    size_t blocks = rows / s->capacity + 1, samples = 2 * SAMPLE_MOST / SAMPLE_BLOCK;
    blocks = blocks > samples ? blocks : samples;
    s->threads = threads > 0 ? threads : bang_threads_available();
    s->threads = (size_t)s->threads < blocks ? s->threads : (int)blocks;
    s->sums = calloc(blocks, sizeof *s->sums);
    s->workers = calloc((size_t)s->threads, sizeof *s->workers);
    if (!s->sums || !s->workers)
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
    free(s->sums);
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
