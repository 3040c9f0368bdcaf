/* The parts of training on pictures. Private to this room.
 *
 *     tune.c           what is asked for, memory, the loop
 *     tune_batch.c     which pictures a step trains on, and how they mix
 *     tune_step.c      one step: pieces of a batch, the sum of gradients, the update
 *     tune_sum.c       the sum over ranks while the way back goes on
 *     tune_loss.c      losses of rows of logits
 *     tune_head.c      the head alone, on features
 *     tune_evaluate.c  accuracy and loss on the validation set
 *     tune_state.c     what is saved
 */
#ifndef BANG_TRAIN_TUNE_PRIVATE_H
#define BANG_TRAIN_TUNE_PRIVATE_H

#include <stdatomic.h>

#include "bang/base/pool.h"
#include "bang/tensor/kernels.h"
#include "bang/train/predict.h"
#include "bang/train/tune.h"
#include "train/loop.h"
#include "train/ranks.h"
#include "train/state.h"

enum {
    TUNE_SLOTS = 3,           /* batches: one that is computed, two asked for */
    TUNE_ROWS = 64,           /* of features that go through the head at once */
    TUNE_CHUNK = 8192,        /* parameters that are summed and updated at once, in the cache */
    TUNE_SLICE = 1 << 17,     /* parameters that ranks sum at once, at least ... */
    TUNE_SLICE_MOST = 1 << 19 /* ... and at most */
};

/* What a step leaves to the next besides weights and moments: doubles only, as they
 * are saved. */
typedef struct tune_kept {
    double power1, power2;           /* beta^t */
    double epoch_loss, in_epoch;     /* sum over the pictures of this epoch, and their number */
    double loss, rate, norm, images; /* of the last step */
    double pending;                  /* 1: its evaluation and event are still to come */
    double accuracy, validation_loss;
    double best_accuracy, best_loss, best_step; /* best_step 0: none yet */
    double validation_bad;
} tune_kept;

/* The targets of rows: row i is mixed with row partner[i]. */
typedef struct tune_targets {
    bang_loss kind;
    size_t classes;
    size_t batch;            /* pictures that the mean is taken over, on all ranks */
    const int64_t *labels;   /* (rows) */
    const uint32_t *partner; /* (rows), or NULL */
    double lambda;
    double hit, miss;
} tune_targets;

/* A batch as it was asked for: count positions, the same on all ranks, of which this rank takes
 * [from, to). It asks for those, and behind them for partners that lie elsewhere. */
typedef struct tune_request {
    size_t count, from, to;
    uint32_t *picture;  /* (count) */
    uint32_t *partner;  /* (count) the position that each mixes with */
    uint32_t *position; /* (asked) */
    size_t asked;
    double lambda;
} tune_request;

/* Features of a whole set, computed once. */
typedef struct tune_features {
    float *rows;    /* (images, features); NULL: not kept */
    uint8_t *known; /* (images) 0: a bad picture */
} tune_features;

/* What one thread works with. */
typedef struct tune_thread {
    struct tune *run;
    size_t slice;               /* the next that is to be final here */
    bang_vit_worker_f32 worker; /* all of the network, or the tower to predict features */
    float *pixels;              /* (piece, channels, image, image) */
    float *gradient;            /* (count) */
    double loss;                /* sum over its pictures of this step */
    /* the head alone */
    float *rows;                     /* (TUNE_ROWS, features) */
    float *logits, *logits_gradient; /* (TUNE_ROWS, classes) */
    float *scratch;                  /* of products */
    double correct;                  /* while evaluating */
} tune_thread;

typedef struct tune {
    bang_vit_model *model;
    const bang_images *images, *validation;
    bang_tune_options options;
    int threads;
    size_t piece;          /* pictures */
    size_t offset;         /* of what is trained in the model's parameters */
    size_t count;          /* how many numbers are trained */
    float *weights;        /* (count) the model's own, or a copy of the head */
    float *first, *second; /* (count) moments; second NULL for SGD */
    float *best;           /* (count) or NULL */
    double *squares;       /* (chunks) of the gradient */
    tune_thread *team;     /* (threads) */
    bang_pool *pool;
    bang_arena arena;
    size_t bytes;

    bang_feed *feed; /* NULL when the features are kept */
    train_order order;
    tune_request requests[TUNE_SLOTS];
    uint64_t asked; /* steps asked for so far */
    size_t heard;   /* bad pictures that the caller heard of */
    uint8_t *told;  /* (images) the same with several ranks, 1: heard of */
    uint8_t *bad;   /* (images) 1: was left out */
    tune_features features, validation_features;
    bang_predictor *predictor; /* of the validation set */
    size_t validation_told;    /* its bad pictures that the caller heard of */

    uint64_t step; /* done */
    tune_kept kept;
    train_saver saver;
    int due; /* with several ranks: rank 0 wants to save */

    /* with several ranks: the gradient in slices, from its end on */
    size_t slice_count;
    size_t *slice;       /* (slice_count + 1) slice s is [slice[s + 1], slice[s]) */
    atomic_int *settled; /* (slice_count, threads) who of a pair has left it */
    bang_tune_sums sums;
    int active;           /* threads that have a picture */
    bang_error sum_error; /* of the first sum that could not begin */

    /* this step */
    bang_batch batch;      /* its pixels are NULL when features are kept */
    size_t mine;           /* rows of it to train on, the first; behind them are partners */
    size_t whole;          /* the same over all ranks */
    int64_t *labels;       /* (batch) where features are kept */
    uint32_t *index;       /* (batch) likewise */
    uint32_t *partner;     /* (mine) rows */
    uint32_t *row;         /* (batch) of a position */
    uint8_t *missing;      /* (batch) 1: the picture of that position is bad */
    float *batch_features; /* (batch, features) where they are not kept */
    tune_targets targets;
    bang_step_f32 update;
    atomic_int cut;                   /* cancel kept a piece from being computed */
    atomic_uint_fast64_t done, total; /* pictures, for progress */
} tune;

/* count zeroed numbers aligned to 64, counted in run->bytes; the caller frees. NULL when memory
 * is out. */
float *tune_block(tune *run, size_t count);
/* Pictures [*from, *to) of count that thread t of run works on. */
void tune_share(size_t *from, size_t *to, const tune *run, size_t count, int t);
void tune_progress(tune *run, bang_tune_phase phase, uint64_t more);

/* The pictures of this step, and its targets. */
int tune_next_batch(tune *run, bang_error *err);

/* One batch: forward, backward, update. On a cancel nothing has changed. */
int tune_step(tune *run, bang_error *err);

/* For several ranks. How the gradient is cut into slices. */
int tune_sum_prepare(tune *run, bang_error *err);
void tune_sum_begin(tune *run);
/* Told by a worker on its last way back, with its tune_thread: parameters from there on are
 * final. Slices that are so for all threads begin to be summed over ranks. */
void tune_settled(void *thread, size_t from);
/* All slices at once: for who had no picture, and for the head alone. */
void tune_sum_all(tune *run);
/* Waits for them; the gradient of the first thread is then that of the batch. Called in any case,
 * as sums that are under way hold on to it. */
int tune_sum_end(tune *run, bang_error *err);

/* Sum of the losses of rows first .. first+count-1 of the batch, with logits (count, classes);
 * gradient (count, classes) = that of the batch's mean, unless NULL. */
double tune_loss(float *gradient, const float *logits, const tune_targets *targets, size_t first,
                 size_t count);
/* The place of the largest, the first of equals. */
size_t tune_arg_max(const float *logits, size_t classes);

/* Memory for the head alone, and features where they stay the same. */
int tune_head_prepare(tune *run, bang_error *err);
/* The step's batch of features, if they are not kept, and its gradients; parts of a pool. */
void tune_head_features(void *context, int t);
void tune_head_part(void *context, int t);
/* Accuracy and loss over kept features. */
int tune_head_evaluate(double *accuracy, double *loss, tune *run, bang_error *err);

/* Of the memory for prepared pictures, what the training does not take: the validation's. */
size_t tune_cache_left(const tune *run);

/* Measures on the validation set into run->kept and keeps the best. */
int tune_evaluate(tune *run, bang_error *err);

/* Of all that the weights at the end depend on; the model is that of the beginning. With several
 * ranks, or any_threads, the number of threads is left out. */
int tune_state_digest(char out[BANG_DIGEST_TEXT], const tune *run, int any_threads,
                      bang_error *err);
/* What is saved; loads it when that is asked for. */
int tune_state_prepare(tune *run, bang_error *err);

#endif
