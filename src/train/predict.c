#include "train/predict.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 3,              /* batches asked for and not yet taken */
    BATCH_BYTES = 16 << 20, /* of prepared pictures, if nobody says */
    BATCH_MOST = 256,
    PIECE_TOKENS = 800, /* enough rows for a product to run well; more only costs cache */
};

static int same_config(const bang_vit_config *a, const bang_vit_config *b)
{
    return a->image == b->image && a->patch == b->patch && a->channels == b->channels &&
           a->width == b->width && a->depth == b->depth && a->heads == b->heads &&
           a->hidden == b->hidden && a->projection == b->projection && a->classes == b->classes &&
           a->gelu == b->gelu && !(a->epsilon < b->epsilon) && !(a->epsilon > b->epsilon) &&
           !a->patch_bias == !b->patch_bias && !a->norm_first == !b->norm_first &&
           !a->unit_features == !b->unit_features;
}

static size_t find_source(bang_predictor *p, const bang_vit_config *config)
{
    size_t s = 0;
    while (s < p->source_count && (p->sources[s].transform.size != config->image ||
                                   p->sources[s].transform.channels != config->channels))
        s++;
    if (s == p->source_count) {
        p->sources[s].transform = p->options.feed.transform;
        p->sources[s].transform.size = config->image;
        p->sources[s].transform.channels = config->channels;
        p->source_count++;
    }
    return s;
}

static size_t find_crew(bang_predictor *p, const bang_vit_config *config)
{
    size_t c = 0;
    while (c < p->crew_count && !same_config(&p->crews[c].config, config))
        c++;
    if (c == p->crew_count) {
        p->crews[c].config = *config;
        p->crew_count++;
    }
    return c;
}

/* calloc that adds up what is held. */
static void *hold(bang_predictor *p, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (memory)
        p->bytes += count * size;
    return memory;
}

/* All that is wrong with the models at once. */
static int check_models(const bang_predictor *p, bang_error *err)
{
    bang_text problems = {0};
    if (p->count == 0)
        bang_text_add(&problems, "; no model: give one or more");
    for (size_t m = 0; m < p->count; m++)
        if (!p->options.features && p->subjects[m].model->vit.config.classes == 0)
            bang_text_add(&problems, "; model %zu: has no head: give it one", m + 1);
    if (bang_transform_is_random(&p->options.feed.transform))
        bang_text_add(&problems, "; the transform is random: a prediction takes the centre");
    return bang_text_fail(&problems, err);
}

static size_t choose_piece(const bang_predictor *p, const bang_vit_config *config)
{
    size_t tokens = bang_vit_tokens(config);
    size_t piece = p->options.piece ? p->options.piece : PIECE_TOKENS / (tokens ? tokens : 1);
    return piece ? piece : 1;
}

/* The size of a batch: what was said, or as many pictures as fit into some megabytes, and
 * enough that every thread gets two pieces. */
static size_t choose_batch(const bang_predictor *p)
{
    size_t largest = 1, batch = p->options.batch, least = 1;
    for (size_t s = 0; s < p->source_count; s++) {
        const bang_transform *t = &p->sources[s].transform;
        size_t bytes = t->size * t->size * t->channels;
        largest = bytes > largest ? bytes : largest;
    }
    for (size_t c = 0; c < p->crew_count; c++) {
        size_t all = 2 * (size_t)p->threads * choose_piece(p, &p->crews[c].config);
        least = all > least ? all : least;
    }
    if (batch == 0) {
        batch = BATCH_BYTES / largest < BATCH_MOST ? BATCH_BYTES / largest : BATCH_MOST;
        batch = batch < least ? least : batch;
    }
    size_t ranks = (size_t)bang_ranks_count(p->options.ranks);
    size_t most = (p->images->count + ranks - 1) / ranks;
    return batch < most ? batch : most ? most : 1;
}

/* Ranks may have different numbers of threads, but their shares make one round: rank 0's counts. */
static int agree_batch(bang_predictor *p, bang_error *err)
{
    uint64_t batch = choose_batch(p);
    int rc = bang_ranks_broadcast(p->options.ranks, &batch, sizeof batch, err);
    p->batch = batch ? (size_t)batch : 1;
    return rc;
}

static int make_crew(bang_predictor *p, crew *c, bang_error *err)
{
    const bang_vit_config *config = &c->config;
    size_t share = p->batch / (size_t)p->threads;
    c->pixels = config->channels * config->image * config->image;
    c->piece = choose_piece(p, config);
    if (p->options.piece == 0 && c->piece > share) /* leave no thread without work */
        c->piece = share;
    c->piece = c->piece < p->batch ? c->piece : p->batch;
    c->piece = c->piece ? c->piece : 1;
    if (c->pixels > SIZE_MAX / sizeof *c->input / c->piece / (size_t)p->threads)
        return bang_fail_memory(err);
    c->workers = hold(p, (size_t)p->threads, sizeof *c->workers);
    c->input = hold(p, (size_t)p->threads * c->piece * c->pixels, sizeof *c->input);
    int rc = c->workers && c->input ? 0 : bang_fail_memory(err);
    for (int t = 0; t < p->threads && rc == 0; t++) {
        rc = bang_vit_worker_init_f32(&c->workers[t], config, c->piece, BANG_VIT_PREDICT, err);
        if (rc == 0)
            p->bytes += c->workers[t].bytes;
    }
    return rc;
}

static int open_sources(bang_predictor *p, bang_error *err)
{
    bang_feed_options options = p->options.feed;
    int rc = 0;
    options.cache_bytes /= p->source_count ? p->source_count : 1;
    for (size_t s = 0; s < p->source_count && rc == 0; s++) {
        options.transform = p->sources[s].transform;
        rc = bang_feed_open(&p->sources[s].feed, p->images, &options, err);
    }
    return rc;
}

static int prepare(bang_predictor *p, bang_error *err)
{
    int rc = check_models(p, err);
    if (rc < 0)
        return rc;
    for (size_t m = 0; m < p->count; m++) {
        subject *s = &p->subjects[m];
        bang_vit_config config = s->model->vit.config;
        s->width = p->options.features ? bang_vit_features(&config) : config.classes;
        if (p->options.features)
            config.classes = 0; /* the head's work is not needed */
        s->source = find_source(p, &config);
        s->crew = find_crew(p, &config);
    }
    rc = agree_batch(p, err);
    if (rc < 0)
        return rc;
    p->round = p->batch * (size_t)bang_ranks_count(p->options.ranks);
    p->index = hold(p, p->batch, sizeof *p->index);
    rc = p->index ? 0 : bang_fail_memory(err);
    for (size_t m = 0; m < p->count && rc == 0; m++) {
        subject *s = &p->subjects[m];
        if (s->width <= SIZE_MAX / sizeof *s->outputs / p->round)
            s->outputs = hold(p, p->round * s->width, sizeof *s->outputs);
        rc = s->outputs ? 0 : bang_fail_memory(err);
        p->outputs[m] = s->outputs;
    }
    for (size_t c = 0; c < p->crew_count && rc == 0; c++)
        rc = make_crew(p, &p->crews[c], err);
    if (rc == 0)
        rc = predict_round_init(p, err);
    return rc == 0 ? open_sources(p, err) : rc;
}

int bang_predictor_open(bang_predictor **out, const bang_vit_model *const *models, size_t count,
                        const bang_images *images, const bang_predict_options *options,
                        bang_error *err)
{
    size_t some = count ? count : 1;
    bang_predictor *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return bang_fail_memory(err);
    p->images = images;
    p->options = *options;
    p->threads = options->threads > 0 ? options->threads : bang_threads_available();
    p->count = count;
    p->subjects = calloc(some, sizeof *p->subjects);
    p->sources = calloc(some, sizeof *p->sources);
    p->crews = calloc(some, sizeof *p->crews);
    p->outputs = calloc(some, sizeof *p->outputs);
    int rc = p->subjects && p->sources && p->crews && p->outputs ? 0 : bang_fail_memory(err);
    for (size_t m = 0; m < count && rc == 0; m++)
        p->subjects[m].model = models[m];
    if (rc == 0)
        rc = prepare(p, err);
    if (rc < 0)
        bang_predictor_close(p);
    else
        *out = p;
    return rc;
}

/* Keeps AHEAD batches under way in every feed: of each round, this rank's share. */
static int ask_ahead(bang_predictor *p, bang_error *err)
{
    while (p->asked < p->images->count && p->asked - p->taken < AHEAD * p->round) {
        size_t left = p->images->count - p->asked, many = left < p->round ? left : p->round;
        size_t from, to;
        bang_ranks_share(&from, &to, p->options.ranks, many);
        for (size_t i = from; i < to; i++)
            p->index[i - from] = (uint32_t)(p->asked + i);
        for (size_t s = 0; s < p->source_count; s++) {
            int rc = bang_feed_ask(p->sources[s].feed, p->index, to - from, 0, err);
            if (rc < 0)
                return rc;
        }
        p->asked += many;
    }
    return 0;
}

/* The next batch of every feed; they hold the same pictures, or a file has changed. */
static int take_batches(bang_predictor *p, size_t from, size_t to, bang_error *err)
{
    for (size_t s = 0; s < p->source_count; s++) {
        bang_batch *batch = &p->sources[s].batch, *first = &p->sources[0].batch;
        int rc = bang_feed_take(batch, p->sources[s].feed, err);
        if (rc < 0)
            return rc;
        if (batch->count != first->count ||
            (batch->count &&
             memcmp(batch->index, first->index, batch->count * sizeof *batch->index) != 0))
            return bang_fail(err, BANG_EDATA,
                             "pictures %zu to %zu: one was read once and could not be read "
                             "again: is the folder being changed?",
                             p->taken + from, p->taken + to - 1);
    }
    return 0;
}

/* Task index is (model, piece). */
typedef struct work {
    bang_predictor *predictor;
    size_t from;   /* where in the outputs */
    size_t *first; /* (count + 1) task with which each model begins */
} work;

static int run_piece(void *context, size_t index, int worker, bang_error *err)
{
    const work *r = context;
    bang_predictor *p = r->predictor;
    size_t m = 0;
    (void)err;
    while (index >= r->first[m + 1])
        m++;
    const subject *s = &p->subjects[m];
    const source *from = &p->sources[s->source];
    crew *c = &p->crews[s->crew];
    bang_vit_worker_f32 *w = &c->workers[worker];
    size_t at = (index - r->first[m]) * c->piece, left = from->batch.count - at;
    size_t many = left < c->piece ? left : c->piece;
    float *input = c->input + (size_t)worker * c->piece * c->pixels;
    for (size_t i = 0; i < many; i++)
        bang_batch_pixels(input + i * c->pixels, &from->batch, &from->transform, at + i, at + i, 1,
                          s->model->mean, s->model->std);
    bang_vit_forward_f32(w, s->model->vit.parameters, input, many);
    memcpy(s->outputs + (r->from + at) * s->width, p->options.features ? w->features : w->logits,
           many * s->width * sizeof *s->outputs);
    size_t done = atomic_fetch_add(&p->work, many) + many;
    bang_progress_step(p->options.progress, done / p->count, p->images->count);
    return 0;
}

static int run_models(bang_predictor *p, size_t from, bang_error *err)
{
    work r = {p, from, calloc(p->count + 1, sizeof *r.first)};
    if (!r.first)
        return bang_fail_memory(err);
    for (size_t m = 0; m < p->count; m++) {
        size_t piece = p->crews[p->subjects[m].crew].piece;
        r.first[m + 1] = r.first[m] + (p->sources[0].batch.count + piece - 1) / piece;
    }
    int rc = bang_parallel_for(r.first[p->count], p->threads, run_piece, &r, p->options.feed.cancel,
                               err);
    free(r.first);
    return rc;
}

size_t bang_predictor_batch(const bang_predictor *p)
{
    return p->round;
}

/* This rank's share [from, to) of the next many pictures: it comes to lie at from in the outputs.
 */
static int compute_share(bang_predictor *p, size_t many, bang_error *err)
{
    size_t from, to;
    bang_ranks_share(&from, &to, p->options.ranks, many);
    int rc = ask_ahead(p, err);
    if (rc == 0)
        rc = take_batches(p, from, to, err);
    if (rc == 0 && p->sources[0].batch.count)
        rc = run_models(p, from, err);
    return rc;
}

int bang_predictor_next(bang_predicted *out, bang_predictor *p, bang_error *err)
{
    if (!p)
        return bang_fail(err, BANG_EUSAGE, "predictor: missing: it is not open");
    const bang_batch *batch = &p->sources[0].batch;
    do {
        atomic_store(&p->work, p->taken * p->count);
        if (p->taken == p->images->count) {
            p->asked = p->taken = 0;
            return 0;
        }
        size_t left = p->images->count - p->taken, many = left < p->round ? left : p->round;
        int rc = compute_share(p, many, err);
        *out = (bang_predicted){batch->count, p->outputs, batch->labels, batch->index};
        if (rc == 0 && p->whole)
            rc = predict_round_gather(out, p, many, err);
        if (rc < 0)
            return rc;
        p->taken += many;
    } while (out->count == 0);
    return 1;
}

size_t bang_predictor_bad_count(const bang_predictor *p)
{
    return p->whole ? p->whole->bad_count : bang_feed_bad_count(p->sources[0].feed);
}

const char *bang_predictor_bad(const bang_predictor *p, size_t n)
{
    if (p->whole)
        return n < p->whole->bad_count ? p->whole->bad[n] : NULL;
    return bang_feed_bad(p->sources[0].feed, n);
}

size_t bang_predictor_bytes(const bang_predictor *p)
{
    return p->bytes;
}

void bang_predictor_close(bang_predictor *p)
{
    if (!p)
        return;
    for (size_t s = 0; s < p->source_count; s++)
        bang_feed_close(p->sources[s].feed);
    for (size_t c = 0; c < p->crew_count; c++) {
        for (int t = 0; p->crews[c].workers && t < p->threads; t++)
            bang_vit_worker_release_f32(&p->crews[c].workers[t]);
        free(p->crews[c].workers);
        free(p->crews[c].input);
    }
    for (size_t m = 0; p->subjects && m < p->count; m++)
        free(p->subjects[m].outputs);
    predict_round_release(p->whole);
    free(p->subjects);
    free(p->sources);
    free(p->crews);
    free(p->outputs);
    free(p->index);
    free(p);
}
