/* One block of rows: the heart of a tally. Rows that count are taken four at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/tally.h"

/* Rows side by side, the last repeated where there are fewer. */
typedef struct group {
    size_t count;
    size_t row[BANG_SIDE];
    double label[BANG_SIDE];
    uint64_t right[BANG_SIDE];
    size_t at; /* place of the first among the counted rows */
} group;

static void *floats(bang_arena *arena, size_t count)
{
    return bang_arena_alloc(arena, count, BANG_SIDE * sizeof(double));
}

/* Scratch memory, when a worker begins. */
static int prepare(bang_worker *w, const bang_job *job, bang_error *err)
{
    const bang_plan *plan = &job->plan;
    size_t sources = job->input->source_count, members = job->input->member_count;
    size_t pairs = members * (members - 1) / 2, cells = members * job->bins;
    bang_arena *a = &w->arena;
    int fine = 1;
    w->kernels = bang_measure_best();
    w->readers = bang_arena_alloc(a, sources, sizeof *w->readers);
    w->z = bang_arena_alloc(a, sources, sizeof *w->z);
    w->p = bang_arena_alloc(a, sources, sizeof *w->p);
    w->scans = bang_arena_alloc(a, sources, sizeof *w->scans);
    w->e = bang_arena_alloc(a, plan->softmax_count, sizeof *w->e);
    w->soft = bang_arena_alloc(a, plan->softmax_count, sizeof *w->soft);
    w->softs = bang_arena_alloc(a, plan->softmax_count, sizeof *w->softs);
    w->scores = bang_arena_alloc(a, members, sizeof *w->scores);
    w->bin = bang_arena_alloc(a, members, sizeof *w->bin);
    w->folds = bang_arena_alloc(a, members, sizeof *w->folds);
    w->cells = bang_arena_alloc(a, cells, sizeof *w->cells);
    w->accords = bang_arena_alloc(a, pairs, sizeof *w->accords);
    w->bin_count = bang_arena_alloc(a, cells, sizeof *w->bin_count);
    w->bin_right = bang_arena_alloc(a, cells, sizeof *w->bin_right);
    if (!w->readers || !w->z || !w->p || !w->scans || !w->e || !w->soft || !w->softs ||
        !w->scores || !w->bin || !w->folds || !w->cells || !w->accords || !w->bin_count ||
        !w->bin_right)
        return bang_fail_memory(err);
    for (size_t s = 0; s < sources; s++)
        fine &= !plan->read[s] ||
                ((w->z[s] = floats(a, job->classes)) &&
                 (!job->input->sources[s].probabilities || (w->p[s] = floats(a, job->classes))));
    for (size_t i = 0; i < plan->softmax_count; i++)
        fine &= !plan->softmax[i].kept || (w->e[i] = floats(a, job->classes));
    fine &= !plan->mixes || (w->mixed = floats(a, job->classes));
    if (job->options->by_class && job->input->labels) {
        w->class_rows = bang_arena_alloc(a, job->classes, sizeof *w->class_rows);
        if (members <= SIZE_MAX / job->classes)
            w->class_right = bang_arena_alloc(a, job->classes * members, sizeof *w->class_right);
        fine &= w->class_rows && w->class_right;
    }
    if (!fine)
        return bang_fail_memory(err);
    for (size_t s = 0; s < sources; s++) {
        int rc = plan->read[s] ? bang_reader_init(&w->readers[s], &job->input->sources[s],
                                                  job->piece_rows, err)
                               : 0;
        if (rc < 0)
            return rc;
        w->readers[s].probabilities = w->p[s];
    }
    return bang_counts_init(&w->counts, members, err);
}

/* The lowest row of the group that cannot be read, and why. */
static int explain(const bang_worker *w, const bang_job *job, const group *g, bang_error *err)
{
    for (size_t j = 0; j < g->count; j++)
        for (size_t s = 0; s < job->input->source_count; s++) {
            int rc =
                job->plan.read[s] ? bang_reader_row(w->z[s], &w->readers[s], g->row[j], err) : 0;
            if (rc < 0)
                return rc;
        }
    return bang_fail(err, BANG_EDATA, "row %zu: cannot be read", g->row[0]);
}

static void mix_parts(double *out, const bang_worker *w, const bang_member *member, size_t count)
{
    const bang_measure_kernels *k = w->kernels;
    const bang_member_part *a = &member->parts[0];
    const bang_member_part *b = member->part_count > 1 ? &member->parts[1] : NULL;
    k->mix(out, w->z[a->source], a->share * a->scale, b ? w->z[b->source] : NULL,
           b ? b->share * b->scale : 0, count);
    for (size_t i = 2; i < member->part_count; i++) {
        const bang_member_part *part = &member->parts[i];
        k->mix(out, out, 1, w->z[part->source], part->share * part->scale, count);
    }
}

static void sum_softmax(bang_worker *w, const bang_job *job, size_t index, const double *label)
{
    const bang_softmax *softmax = &job->plan.softmax[index];
    const bang_measure_kernels *k = w->kernels;
    const double *z = w->z[softmax->source];
    const bang_scan *scan = &w->scans[softmax->source];
    bang_scan own;
    if (softmax->mixed) {
        mix_parts(w->mixed, w, softmax->mixed, BANG_SIDE * job->classes);
        k->scan(&own, w->mixed, job->classes);
        z = w->mixed;
        scan = &own;
    }
    k->soften(&w->softs[index], w->e[index], z, job->classes, scan, softmax->scale, label);
}

/* -log sum_i w_i p_i from -log p_i, where the probabilities themselves are too small. */
static double nll_of_parts(const bang_worker *w, const bang_recipe *recipe, size_t j)
{
    double least = INFINITY, sum = 0;
    for (size_t i = 0; i < recipe->part_count; i++)
        if (recipe->share[i] > 0)
            least = fmin(least, w->soft[recipe->softmax[i]].nll[j]);
    for (size_t i = 0; i < recipe->part_count; i++)
        if (recipe->share[i] > 0)
            sum += recipe->share[i] * exp(least - w->soft[recipe->softmax[i]].nll[j]);
    return least - log(sum);
}

/* Of probabilities that were given: as they are, not by way of their logarithms. p (classes, 4). */
static void score_given(bang_score *out, const double *p, size_t classes, const double *label)
{
    for (size_t j = 0; j < BANG_SIDE; j++) {
        double top = -1, other = 0, own = 0, brier = 0, index = 0;
        for (size_t k = 0; k < classes; k++) {
            double x = p[BANG_SIDE * k + j];
            int is_label = (double)k == label[j];
            if (x > top) {
                top = x;
                index = (double)k;
            }
            if (is_label)
                own = x;
            else if (x > other)
                other = x;
            brier += is_label ? (x - 1) * (x - 1) : x * x;
        }
        out->prediction[j] = index;
        out->confidence[j] = top;
        out->nll[j] = own > 0 ? -log(own) : -BANG_LOG_LEAST;
        out->brier[j] = brier;
        out->margin[j] = own - other;
    }
}

static void score_member(bang_worker *w, const bang_job *job, size_t m, const double *label)
{
    const bang_recipe *recipe = &job->plan.members[m];
    if (recipe->part_count == 0) {
        w->scores[m] = w->soft[recipe->softmax[0]];
        return;
    }
    const double *e[BANG_PARTS_MAX];
    double factor[BANG_PARTS_MAX][BANG_SIDE];
    for (size_t i = 0; i < recipe->part_count; i++) {
        const bang_softmax *softmax = &job->plan.softmax[recipe->softmax[i]];
        e[i] = softmax->given ? w->p[softmax->source] : w->e[recipe->softmax[i]];
        /* The largest exponential is 1, so a row's confidence is one over its sum. */
        for (size_t j = 0; j < BANG_SIDE; j++)
            factor[i][j] =
                recipe->share[i] * (softmax->given ? 1 : w->soft[recipe->softmax[i]].confidence[j]);
    }
    w->kernels->blend(&w->scores[m], e, (const double(*)[BANG_SIDE])factor, recipe->part_count,
                      job->classes, label);
    for (size_t j = 0; j < BANG_SIDE; j++)
        if (w->scores[m].nll[j] > 600)
            w->scores[m].nll[j] = nll_of_parts(w, recipe, j);
}

/* Names what the member is a mix of. */
static int fail_member(const bang_job *job, size_t m, size_t row, bang_error *err)
{
    const bang_member *member = &job->input->members[m];
    const char *first = job->input->sources[member->parts[0].source].table->name;
    const char *last =
        job->input->sources[member->parts[member->part_count - 1].source].table->name;
    int several = member->part_count > 1;
    return bang_fail(err, BANG_EDATA,
                     "%.200s%s%.200s: row %zu: logits are too large: their mix is no finite "
                     "number: divide both files by a large one",
                     first, several ? " and " : "", several ? last : "", row);
}

static int fail_mix(const bang_worker *w, const bang_job *job, const group *g, bang_error *err)
{
    for (size_t j = 0; j < g->count; j++)
        for (size_t m = 0; m < job->input->member_count; m++)
            if (!(w->scores[m].confidence[j] > 0))
                return fail_member(job, m, g->row[j], err);
    return bang_fail(err, BANG_EDATA, "row %zu: cannot be scored", g->row[0]);
}

static void count_bins(const bang_worker *w, const bang_job *job, const group *g)
{
    for (size_t m = 0; m < job->input->member_count; m++) {
        const double *confidence = w->scores[m].confidence;
        bang_cell *cells = w->cells + m * job->bins;
        for (size_t j = 0; j < g->count; j++) {
            bang_cell *cell = &cells[w->bin[m][j]];
            cell->confidence += confidence[j];
            cell->counts += 1 + ((g->right[j] >> m & 1) << 32);
        }
        double *mass = job->mass[m] ? job->mass[m] + g->at : NULL;
        for (size_t j = 0; mass && j < g->count; j++) {
            int wrong = job->input->labels && !(g->right[j] >> m & 1);
            mass[j] = wrong ? -confidence[j] : confidence[j];
        }
    }
}

static int list_sample(bang_listing *listing, const bang_worker *w, const group *g, size_t j,
                       int kind, bang_error *err)
{
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity > 0 ? 2 * listing->capacity : 16;
        bang_sample *grown = capacity <= SIZE_MAX / sizeof *grown
                                 ? realloc(listing->samples, capacity * sizeof *grown)
                                 : NULL;
        if (!grown)
            return bang_fail_memory(err);
        listing->samples = grown;
        listing->capacity = capacity;
    }
    bang_sample *sample = &listing->samples[listing->count++];
    *sample = (bang_sample){.index = g->row[j], .group = kind, .label = (bang_label)g->label[j]};
    for (size_t m = 0; m < 3; m++) {
        sample->prediction[m] = (uint32_t)w->scores[m].prediction[j];
        sample->confidence[m] = w->scores[m].confidence[j];
        sample->margin[m] = w->scores[m].margin[j];
    }
    return 0;
}

/* TTT is 0: a group's bits say who is wrong, member 0 in the highest. */
static int kind_of(uint64_t right)
{
    return (int)((~right & 1) << 2 | (~right >> 1 & 1) << 1 | (~right >> 2 & 1));
}

static int count_labels(bang_worker *w, const bang_job *job, bang_listing *listing, const group *g,
                        bang_error *err)
{
    size_t members = job->input->member_count;
    int rc = 0;
    for (size_t j = 0; j < g->count && rc == 0; j++) {
        rc = bang_counts_add(&w->counts, g->right[j], err);
        if (w->class_rows) {
            size_t label = (size_t)g->label[j];
            w->class_rows[label]++;
            for (size_t m = 0; m < members; m++)
                w->class_right[label * members + m] += (size_t)(g->right[j] >> m & 1);
        }
        int kind = kind_of(g->right[j]);
        if (rc == 0 && (job->options->listed >> kind & 1))
            rc = list_sample(listing, w, g, j, kind, err);
    }
    return rc;
}

static int do_group(bang_worker *w, const bang_job *job, bang_listing *listing, group *g,
                    bang_error *err)
{
    const bang_measure_kernels *k = w->kernels;
    const bang_plan *plan = &job->plan;
    size_t members = job->input->member_count;
    for (size_t j = g->count; j < BANG_SIDE; j++)
        g->row[j] = g->row[g->count - 1];
    for (size_t j = 0; j < BANG_SIDE; j++)
        g->label[j] = job->input->labels ? (double)job->input->labels[g->row[j]] : -1;
    for (size_t s = 0; s < job->input->source_count; s++) {
        if (plan->read[s] && !bang_reader_side(w->z[s], &w->readers[s], g->row))
            return explain(w, job, g, err);
        if (plan->scanned[s])
            k->scan(&w->scans[s], w->z[s], job->classes);
    }
    for (size_t i = 0; i < plan->softmax_count; i++)
        sum_softmax(w, job, i, g->label);
    k->score(w->soft, w->softs, plan->softmax_count, g->label);
    for (size_t i = 0; i < plan->softmax_count; i++)
        if (plan->softmax[i].given)
            score_given(&w->soft[i], w->p[plan->softmax[i].source], job->classes, g->label);
    for (size_t m = 0; m < members; m++)
        score_member(w, job, m, g->label);
    if (!k->fold(w->folds, w->accords, g->right, w->bin, job->bins, w->scores, members, g->label,
                 g->count))
        return fail_mix(w, job, g, err);
    count_bins(w, job, g);
    int rc = job->input->labels ? count_labels(w, job, listing, g, err) : 0;
    g->at += g->count;
    g->count = 0;
    return rc;
}

static int do_piece(bang_worker *w, const bang_job *job, bang_listing *listing, group *g,
                    size_t first, size_t count, bang_error *err)
{
    const bang_label *labels = job->input->labels;
    int rc = 0;
    size_t from = first, end = first + count;
    while (labels && from < end && labels[from] < 0)
        from++;
    if (from == end)
        return 0;
    for (size_t s = 0; s < job->input->source_count && rc == 0; s++)
        if (job->plan.read[s])
            rc = bang_reader_load(&w->readers[s], first, count, err);
    for (size_t row = from; row < end && rc == 0; row++) {
        if (labels && labels[row] < 0)
            continue;
        g->row[g->count++] = row;
        if (g->count == BANG_SIDE)
            rc = do_group(w, job, listing, g, err);
    }
    if (rc == 0 && g->count > 0)
        rc = do_group(w, job, listing, g, err);
    return rc;
}

static double lanes_sum(const double lanes[BANG_SIDE])
{
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/* Brings what the block summed to its place, and whole numbers to those of the worker. */
static void settle(bang_worker *w, const bang_job *job, size_t index)
{
    size_t members = job->input->member_count, width = BANG_SUMS + job->bins;
    for (size_t m = 0; m < members; m++) {
        double *sums = job->sums + (index * members + m) * width;
        const bang_fold *fold = &w->folds[m];
        sums[0] = lanes_sum(fold->confidence);
        sums[1] = lanes_sum(fold->nll);
        sums[2] = lanes_sum(fold->brier);
        for (size_t p = 0; p < BANG_PAIRS; p++)
            sums[3 + p] = lanes_sum(fold->margin[p]);
        for (size_t b = 0; b < job->bins; b++) {
            const bang_cell *cell = &w->cells[m * job->bins + b];
            sums[BANG_SUMS + b] = cell->confidence;
            w->bin_count[m * job->bins + b] += (size_t)(cell->counts & UINT32_MAX);
            w->bin_right[m * job->bins + b] += (size_t)(cell->counts >> 32);
        }
    }
}

int bang_tally_block(void *context, size_t index, int worker, bang_error *err)
{
    bang_job *job = context;
    bang_worker *w = &job->workers[worker];
    if (!w->ready) {
        int rc = prepare(w, job, err);
        if (rc < 0)
            return rc;
        w->ready = 1;
    }
    memset(w->folds, 0, job->input->member_count * sizeof *w->folds);
    memset(w->cells, 0, job->input->member_count * job->bins * sizeof *w->cells);
    group g = {.at = job->offset[index]};
    size_t first = index * job->block_rows;
    size_t end = job->rows - first < job->block_rows ? job->rows : first + job->block_rows;
    for (size_t from = first; from < end; from += job->piece_rows) {
        size_t count = end - from < job->piece_rows ? end - from : job->piece_rows;
        int rc = do_piece(w, job, &job->listings[index], &g, from, count, err);
        if (rc < 0)
            return rc;
    }
    settle(w, job, index);
    size_t done = atomic_fetch_add(&job->done, end - first) + (end - first);
    bang_progress_step(job->options->progress, done, job->rows);
    return 0;
}
