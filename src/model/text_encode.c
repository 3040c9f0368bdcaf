#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/text.h"
#include "model/vit_block.h"

enum { PIECE = 16 }; /* texts that go through the tower together */

/* What one thread works with. */
typedef struct text_worker {
    void *memory; /* NULL until the thread has its first piece */
    vit_pass_f32 pass;
    vit_kept_f32 kept;
    float *out; /* (PIECE, width) */
} text_worker;

typedef struct encoding {
    float *features;
    const bang_text_tower *tower;
    const int32_t *ids;
    size_t count;
    text_worker *workers; /* (threads) */
    const bang_progress *progress;
    atomic_size_t done;
} encoding;

static void place_worker(text_worker *w, const bang_text_config *c, vit_room_f32 *room)
{
    bang_vit_pass_place_f32(&w->pass, room, PIECE, 0);
    w->out = bang_vit_place_f32(room, PIECE, c->width);
    w->kept =
        (vit_kept_f32){.qkv = w->pass.wide, .attended = w->pass.normed, .inner = w->pass.wide};
    w->kept.x = w->kept.x2 = bang_vit_place_f32(room, PIECE * c->context, c->width);
    w->kept.sums = bang_vit_place_f32(room, PIECE * c->context, c->heads);
}

static int prepare(text_worker *w, const bang_text_config *c, bang_error *err)
{
    vit_room_f32 room = {0};
    w->pass = (vit_pass_f32){.layers = bang_layers_best_f32(),
                             .width = c->width,
                             .heads = c->heads,
                             .hidden = c->hidden,
                             .tokens = c->context,
                             .causal = 1,
                             .gelu = c->gelu,
                             .epsilon = (float)c->epsilon};
    place_worker(w, c, &room);
    if (room.used == SIZE_MAX || posix_memalign(&w->memory, 64, room.used * sizeof(float)) != 0) {
        w->memory = NULL;
        return bang_fail_memory(err);
    }
    bang_memory_large(w->memory, room.used * sizeof(float));
    room = (vit_room_f32){.base = memset(w->memory, 0, room.used * sizeof(float))};
    place_worker(w, c, &room);
    return 0;
}

/* How many tokens matter: up to the end token, the first of the largest. */
static size_t length_of(const int32_t *ids, size_t context)
{
    size_t end = 0;
    for (size_t t = 1; t < context; t++)
        if (ids[t] > ids[end])
            end = t;
    return end + 1;
}

/* Token embeddings and positions of the texts, one after the other. */
static void embed(text_worker *w, const bang_text_tower *tower, const int32_t *ids, size_t *start,
                  size_t count)
{
    size_t width = tower->config.width, context = tower->config.context;
    start[0] = 0;
    for (size_t i = 0; i < count; i++, ids += context) {
        start[i + 1] = start[i] + length_of(ids, context);
        for (size_t t = 0; t < start[i + 1] - start[i]; t++) {
            float *x = w->kept.x + (start[i] + t) * width;
            memcpy(x, tower->tokens + (size_t)ids[t] * width, width * sizeof *x);
            w->pass.layers->add(x, tower->positions + t * width, width);
        }
    }
}

static int encode_piece(void *context, size_t index, int worker, bang_error *err)
{
    encoding *e = context;
    const bang_text_tower *tower = e->tower;
    const bang_text_config *c = &tower->config;
    text_worker *w = &e->workers[worker];
    size_t first = index * PIECE, count = e->count - first < PIECE ? e->count - first : PIECE;
    size_t start[PIECE + 1];
    if (!w->memory && prepare(w, c, err) < 0)
        return err->code;
    embed(w, tower, e->ids + first * c->context, start, count);
    w->pass.start = start;
    w->pass.count = count;
    for (size_t l = 0; l + 1 < c->depth; l++)
        bang_vit_block_forward_f32(&w->pass, &tower->blocks[l], tower->parameters, &w->kept,
                                   w->kept.x);
    vit_kept_f32 last = w->kept;
    last.x2 = w->pass.last;
    bang_vit_last_forward_f32(&w->pass, &tower->blocks[c->depth - 1], tower->parameters, &last,
                              w->out);
    w->pass.layers->norm_forward(w->pass.rows, NULL, NULL, w->out, tower->norm_gain,
                                 tower->norm_bias, count, c->width, w->pass.epsilon);
    bang_vit_linear_f32(&w->pass, e->features + first * c->projection, c->projection, w->pass.rows,
                        tower->projection, NULL, count, c->projection, c->width);
    w->pass.start = NULL;
    size_t done = atomic_fetch_add(&e->done, count) + count;
    bang_progress_step(e->progress, done, e->count);
    return 0;
}

static int check_ids(const bang_text_config *c, const int32_t *ids, size_t count, bang_error *err)
{
    for (size_t i = 0; i < count * c->context; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= c->vocabulary)
            return bang_fail(err, BANG_EUSAGE, "text %zu: token %ld: the vocabulary has 0 to %zu",
                             i / c->context, (long)ids[i], c->vocabulary - 1);
    return 0;
}

int bang_text_tower_encode(float *features, const bang_text_tower *tower, const int32_t *ids,
                           size_t count, int threads, const bang_progress *progress,
                           bang_cancel *cancel, bang_error *err)
{
    encoding e = {.tower = tower, .ids = ids, .count = count, .progress = progress};
    e.features = features;
    bang_error none = {0};
    err = err ? err : &none;
    int rc = check_ids(&tower->config, ids, count, err);
    if (rc < 0)
        return rc;
    threads = threads > 0 ? threads : bang_threads_available();
    e.workers = calloc((size_t)threads, sizeof *e.workers);
    if (!e.workers)
        return bang_fail_memory(err);
    rc = bang_parallel_for((count + PIECE - 1) / PIECE, threads, encode_piece, &e, cancel, err);
    for (int i = 0; i < threads; i++)
        free(e.workers[i].memory);
    free(e.workers);
    return rc;
}

/* The factor that gives x length 1. */
static double to_unit(const float *x, size_t width)
{
    double square = 0;
    for (size_t j = 0; j < width; j++)
        square += (double)x[j] * (double)x[j];
    return square > 0 ? 1 / sqrt(square) : 0;
}

void bang_zeroshot_class(float *weight, const float *features, size_t count, size_t width,
                         double logit_scale)
{
    enum { PART = 512 }; /* sums in double for so many columns at a time */
    double sum[PART];
    for (size_t from = 0; from < width; from += PART) {
        size_t columns = width - from < PART ? width - from : PART;
        memset(sum, 0, sizeof sum);
        for (size_t i = 0; i < count; i++) {
            const float *row = features + i * width;
            double scale = to_unit(row, width) / (double)count;
            for (size_t j = 0; j < columns; j++)
                sum[j] += scale * (double)row[from + j];
        }
        for (size_t j = 0; j < columns; j++)
            weight[from + j] = (float)sum[j];
    }
    double scale = to_unit(weight, width) * exp(logit_scale);
    for (size_t j = 0; j < width; j++)
        weight[j] = (float)(scale * (double)weight[j]);
}
