#include "measure/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MOST = 1024, BLOCKS_LEAST = 16, BLOCK_ROWS_LEAST = 16, SUMS_BYTES = 32 << 20 };

const char *const bang_group_names[BANG_GROUPS] = {
    "TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF",
};
const char *const bang_pair_names[BANG_PAIRS] = {"TT", "TF", "FT", "FF"};

static int check_sources(const bang_tally_input *input, bang_error *err)
{
    if (input->source_count == 0)
        return bang_fail(err, BANG_EUSAGE, "no outputs of models to measure");
    const bang_logits *first = &input->sources[0];
    for (size_t s = 0; s < input->source_count; s++) {
        const bang_logits *logits = &input->sources[s];
        size_t classes = bang_logits_classes(logits);
        if (logits->table->rows != first->table->rows)
            return bang_fail(err, BANG_EDATA,
                             "%s: has %zu rows, but %s has %zu: all must be of the same samples",
                             logits->table->name, logits->table->rows, first->table->name,
                             first->table->rows);
        if (classes != bang_logits_classes(first))
            return bang_fail(
                err, BANG_EDATA, "%s: has %zu classes, but %s has %zu: all must have the same",
                logits->table->name, classes, first->table->name, bang_logits_classes(first));
        if (classes == 0 || classes > INT32_MAX)
            return bang_fail(err, BANG_EDATA, "%s: has %zu classes: 1 to %d are possible",
                             logits->table->name, classes, INT32_MAX);
    }
    return 0;
}

static int check_options(const bang_tally_input *input, const bang_tally_options *options,
                         bang_error *err)
{
    if (options->bins < 1 || options->bins > BANG_BINS_MAX)
        return bang_fail(err, BANG_EUSAGE, "%d bins: 1 to %d are possible", options->bins,
                         BANG_BINS_MAX);
    if (input->member_count < 1 || input->member_count > BANG_MEMBERS_MAX)
        return bang_fail(err, BANG_EUSAGE, "%zu members: 1 to %d are possible", input->member_count,
                         BANG_MEMBERS_MAX);
    if (options->listed && input->member_count < 3)
        return bang_fail(err, BANG_EUSAGE, "samples of groups: they need three members, not %zu",
                         input->member_count);
    return 0;
}

/* Blocks and pieces depend on the shape of the data and the number of sums alone. */
static void cut(bang_job *job)
{
    size_t width = job->input->member_count * (BANG_SUMS + job->bins) * sizeof(double);
    size_t blocks = SUMS_BYTES / width;
    blocks = blocks < BLOCKS_LEAST ? BLOCKS_LEAST : blocks > BLOCKS_MOST ? BLOCKS_MOST : blocks;
    size_t rows = job->rows / blocks + (job->rows % blocks > 0);
    rows = rows < BLOCK_ROWS_LEAST ? BLOCK_ROWS_LEAST : rows;
    job->block_rows = (rows + BANG_SIDE - 1) / BANG_SIDE * BANG_SIDE;
    job->block_count = job->rows / job->block_rows + (job->rows % job->block_rows > 0);
    job->piece_rows = job->block_rows;
    for (size_t s = 0; s < job->input->source_count; s++) {
        size_t most = bang_reader_rows(&job->input->sources[s]) / BANG_SIDE * BANG_SIDE;
        job->piece_rows = most < job->piece_rows ? most : job->piece_rows;
    }
    job->piece_rows = job->piece_rows > 0 ? job->piece_rows : BANG_SIDE;
}

/* Checks labels and counts the rows that count. */
static int count_rows(bang_job *job, bang_error *err)
{
    const bang_label *labels = job->input->labels;
    job->offset = calloc(job->block_count + 1, sizeof *job->offset);
    if (!job->offset)
        return bang_fail_memory(err);
    size_t counted = 0;
    for (size_t b = 0; b < job->block_count; b++) {
        size_t first = b * job->block_rows, rows = job->rows - first;
        rows = rows < job->block_rows ? rows : job->block_rows;
        for (size_t i = first; labels && i < first + rows; i++) {
            if (labels[i] < BANG_LEFT_OUT || labels[i] >= (bang_label)job->classes)
                return bang_fail(err, BANG_EDATA,
                                 "labels: row %zu has class %d: classes are 0 to %zu", i,
                                 (int)labels[i], job->classes - 1);
            counted += labels[i] >= 0;
        }
        counted += labels ? 0 : rows;
        job->offset[b + 1] = counted;
    }
    return 0;
}

static int prepare(bang_job *job, bang_error *err)
{
    size_t members = job->input->member_count, counted = job->offset[job->block_count];
    size_t width = members * (BANG_SUMS + job->bins);
    int threads = job->options->threads > 0 ? job->options->threads : bang_threads_available();
    job->worker_count = (size_t)threads < job->block_count ? (size_t)threads : job->block_count;
    job->workers = calloc(job->worker_count + 1, sizeof *job->workers);
    job->listings = calloc(job->block_count + 1, sizeof *job->listings);
    job->sums = calloc(job->block_count * width + 1, sizeof *job->sums);
    job->mass = calloc(members, sizeof *job->mass);
    if (!job->workers || !job->listings || !job->sums || !job->mass)
        return bang_fail_memory(err);
    for (size_t m = 0; m < members; m++) {
        if (!job->input->members[m].equal_mass)
            continue;
        if (counted < SIZE_MAX / sizeof(double))
            job->mass[m] = malloc((counted + 1) * sizeof(double));
        if (!job->mass[m])
            return bang_fail_memory(err);
        bang_memory_large(job->mass[m], counted * sizeof(double));
    }
    return 0;
}

static void release(bang_job *job)
{
    for (size_t i = 0; job->workers && i < job->worker_count; i++) {
        bang_worker *w = &job->workers[i];
        for (size_t s = 0; w->readers && s < job->input->source_count; s++)
            bang_reader_release(&w->readers[s]);
        bang_counts_release(&w->counts);
        bang_arena_release(&w->arena);
    }
    for (size_t b = 0; job->listings && b < job->block_count; b++)
        free(job->listings[b].samples);
    for (size_t m = 0; job->mass && m < job->input->member_count; m++)
        free(job->mass[m]);
    free(job->mass);
    free(job->listings);
    free(job->workers);
    free(job->sums);
    free(job->offset);
    bang_plan_release(&job->plan);
}

static int allocate(bang_tally *out, const bang_job *job, bang_error *err)
{
    size_t members = job->input->member_count, bins = job->bins, classes = job->classes;
    out->rows = job->rows;
    out->counted = job->offset[job->block_count];
    out->classes = classes;
    out->bins = (int)bins;
    out->labelled = job->input->labels != NULL;
    out->of = calloc(members, sizeof *out->of);
    out->agree = calloc(members * members, sizeof *out->agree);
    out->same_mistake = calloc(members * members, sizeof *out->same_mistake);
    if (!out->of || !out->agree || !out->same_mistake)
        return bang_fail_memory(err);
    out->member_count = members;
    int fine = 1;
    for (size_t m = 0; m < members; m++) {
        fine &= (out->of[m].width = calloc(bins, sizeof(bang_bin))) != NULL;
        if (job->mass[m])
            fine &= (out->of[m].mass = calloc(bins, sizeof(bang_bin))) != NULL;
    }
    if (job->options->by_class && out->labelled) {
        out->class_rows = calloc(classes, sizeof *out->class_rows);
        if (classes <= SIZE_MAX / members)
            out->class_right = calloc(classes * members, sizeof *out->class_right);
        fine &= out->class_rows && out->class_right;
    }
    return fine ? 0 : bang_fail_memory(err);
}

static size_t lanes_total(const uint64_t lanes[BANG_SIDE])
{
    return (size_t)(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
}

/* Whole numbers of one worker. */
static void add_worker(bang_tally *out, const bang_worker *w)
{
    size_t members = out->member_count, bins = (size_t)out->bins;
    const bang_accord *accord = w->accords;
    for (size_t m = 0; m < members; m++) {
        for (size_t n = m + 1; n < members; n++, accord++) {
            out->agree[m * members + n] += lanes_total(accord->agree);
            out->same_mistake[m * members + n] += lanes_total(accord->mistake);
        }
        for (size_t b = 0; b < bins; b++) {
            out->of[m].width[b].count += w->bin_count[m * bins + b];
            out->of[m].width[b].accuracy += (double)w->bin_right[m * bins + b];
        }
    }
    for (size_t c = 0; out->class_rows && c < out->classes; c++) {
        out->class_rows[c] += w->class_rows[c];
        for (size_t m = 0; m < members; m++)
            out->class_right[c * members + m] += w->class_right[c * members + m];
    }
}

/* The other half of the matrices; a member agrees with itself. */
static void complete(bang_tally *out)
{
    size_t members = out->member_count;
    for (size_t m = 0; m < members; m++) {
        out->agree[m * members + m] = out->counted;
        if (out->labelled)
            out->same_mistake[m * members + m] = out->counted - out->of[m].right;
        for (size_t n = m + 1; n < members; n++) {
            if (!out->labelled)
                out->same_mistake[m * members + n] = 0;
            out->agree[n * members + m] = out->agree[m * members + n];
            out->same_mistake[n * members + m] = out->same_mistake[m * members + n];
        }
    }
}

static double mean(double sum, size_t count)
{
    return count > 0 ? sum / (double)count : (double)NAN;
}

static void finish_bins(bang_member_tally *of, const bang_job *job, const double *sums,
                        int labelled)
{
    for (size_t b = 0; b < job->bins; b++) {
        bang_bin *bin = &of->width[b];
        bin->low = (double)b / (double)job->bins;
        bin->high = (double)(b + 1) / (double)job->bins;
        bin->confidence = mean(sums[b], bin->count);
        bin->accuracy = labelled ? mean(bin->accuracy, bin->count) : (double)NAN;
    }
}

/* Sums of blocks in the order of blocks. */
static void finish_member(bang_tally *out, const bang_job *job, size_t m, double *sums,
                          const size_t pairs[BANG_PAIRS])
{
    bang_member_tally *of = &out->of[m];
    size_t members = out->member_count, width = BANG_SUMS + job->bins;
    memset(sums, 0, width * sizeof *sums);
    for (size_t b = 0; b < job->block_count; b++)
        for (size_t i = 0; i < width; i++)
            sums[i] += job->sums[(b * members + m) * width + i];
    of->confidence = mean(sums[0], out->counted);
    of->nll = out->labelled ? mean(sums[1], out->counted) : (double)NAN;
    of->brier = out->labelled ? mean(sums[2], out->counted) : (double)NAN;
    for (size_t p = 0; p < BANG_PAIRS; p++)
        of->margin[p] = out->labelled && members > 1 ? mean(sums[3 + p], pairs[p]) : (double)NAN;
    finish_bins(of, job, sums + BANG_SUMS, out->labelled);
}

typedef struct masses {
    const bang_job *job;
    bang_tally *out;
} masses;

/* A bang_task: the bins of equal mass of one member. */
static int cut_mass(void *context, size_t m, int worker, bang_error *err)
{
    (void)worker, (void)err;
    const bang_job *job = ((const masses *)context)->job;
    const bang_tally *out = ((const masses *)context)->out;
    bang_bin *bins = out->of[m].mass;
    if (!bins)
        return 0;
    bang_bins_equal_mass(bins, job->bins, job->mass[m], out->counted);
    for (size_t b = 0; b < job->bins && !out->labelled; b++)
        bins[b].accuracy = (double)NAN;
    free(job->mass[m]);
    job->mass[m] = NULL;
    return 0;
}

static int finish_patterns(bang_tally *out, const bang_job *job, size_t pairs[BANG_PAIRS],
                           bang_error *err)
{
    bang_counts *counts = calloc(job->worker_count + 1, sizeof *counts); /* borrowed */
    size_t used = 0;
    if (!counts)
        return bang_fail_memory(err);
    for (size_t i = 0; i < job->worker_count; i++)
        if (job->workers[i].ready)
            counts[used++] = job->workers[i].counts;
    int rc = bang_counts_collect(&out->patterns, &out->pattern_count, counts, used,
                                 out->member_count, err);
    free(counts);
    for (size_t i = 0; i < out->pattern_count; i++) {
        uint64_t right = out->patterns[i].right;
        pairs[(~right & 1) << 1 | (~right >> 1 & 1)] += out->patterns[i].count;
        for (size_t m = 0; m < out->member_count; m++)
            out->of[m].right += right >> m & 1 ? out->patterns[i].count : 0;
    }
    return rc;
}

static int finish_listed(bang_tally *out, const bang_job *job, bang_error *err)
{
    size_t count = 0, at = 0;
    for (size_t b = 0; b < job->block_count; b++)
        count += job->listings[b].count;
    if (count == 0)
        return 0;
    if (count <= SIZE_MAX / sizeof *out->listed)
        out->listed = malloc(count * sizeof *out->listed);
    if (!out->listed)
        return bang_fail_memory(err);
    for (size_t b = 0; b < job->block_count; b++) {
        bang_listing *listing = &job->listings[b];
        if (listing->count > 0)
            memcpy(out->listed + at, listing->samples, listing->count * sizeof *out->listed);
        at += listing->count;
        free(listing->samples);
        *listing = (bang_listing){0};
    }
    out->listed_count = count;
    return 0;
}

static int finish(bang_tally *out, const bang_job *job, bang_error *err)
{
    size_t pairs[BANG_PAIRS] = {0};
    int rc = finish_patterns(out, job, pairs, err);
    if (rc == 0)
        rc = finish_listed(out, job, err);
    double *sums = calloc(BANG_SUMS + job->bins, sizeof *sums);
    if (rc == 0 && !sums)
        rc = bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < job->worker_count; i++)
        if (job->workers[i].ready)
            add_worker(out, &job->workers[i]);
    for (size_t m = 0; rc == 0 && m < out->member_count; m++)
        finish_member(out, job, m, sums, pairs);
    free(sums);
    complete(out);
    masses context = {job, out};
    if (rc == 0)
        rc = bang_parallel_for(out->member_count, (int)job->worker_count, cut_mass, &context,
                               job->options->cancel, err);
    return rc;
}

int bang_tally_run(bang_tally **out, const bang_tally_input *input,
                   const bang_tally_options *options, bang_error *err)
{
    bang_job job = {.input = input, .options = options};
    bang_tally *tally = NULL;
    *out = NULL;
    int rc = check_options(input, options, err);
    if (rc == 0)
        rc = check_sources(input, err);
    if (rc == 0)
        rc = bang_plan_init(&job.plan, input, err);
    if (rc < 0)
        goto done;
    job.rows = input->sources[0].table->rows;
    job.classes = bang_logits_classes(&input->sources[0]);
    job.bins = (size_t)options->bins;
    cut(&job);
    rc = count_rows(&job, err);
    if (rc == 0)
        rc = prepare(&job, err);
    if (rc == 0 && !(tally = calloc(1, sizeof *tally)))
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = allocate(tally, &job, err);
    if (rc == 0)
        rc = bang_parallel_for(job.block_count, (int)job.worker_count, bang_tally_block, &job,
                               options->cancel, err);
    if (rc == 0)
        rc = finish(tally, &job, err);
done:
    release(&job);
    if (rc < 0)
        bang_tally_free(tally);
    else
        *out = tally;
    return rc;
}

void bang_tally_free(bang_tally *tally)
{
    if (!tally)
        return;
    for (size_t m = 0; tally->of && m < tally->member_count; m++) {
        free(tally->of[m].width);
        free(tally->of[m].mass);
    }
    free(tally->of);
    free(tally->patterns);
    free(tally->agree);
    free(tally->same_mistake);
    free(tally->class_rows);
    free(tally->class_right);
    free(tally->listed);
    free(tally);
}
