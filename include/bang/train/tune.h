/* Training of a vision transformer on pictures: from scratch, its head alone, or
 * all of it.
 *
 *     bang_tune_options options = BANG_TUNE_OPTIONS_INIT;
 *     options.train.loss = BANG_CROSS_ENTROPY;
 *     bang_tune_vit(&model, &images, NULL, &options, &result, &err);
 *
 * Every thread has its share of a batch and takes it in pieces of a few pictures through
 * forward and backward on its own, adding up its own gradient; the sum of the threads'
 * gradients, in their order, makes the step. So memory does not grow with the
 * batch, nothing waits within a step, and the same options with the same number of threads
 * give the same bits, however often the run was stopped and resumed.
 *
 * Ranks (options.train.ranks) share every batch, as train.h says. A rank reads and computes its
 * share, and with Mixup reads the partners of it; gradients are summed over ranks while the way
 * back goes on, layer by layer. Evaluations and features are shared out likewise. All ranks
 * are given the same options, data and network, which is checked; that their weights stay
 * the same is checked whenever the state is saved, and at the end.
 */
#ifndef BANG_TRAIN_TUNE_H
#define BANG_TRAIN_TUNE_H

#include "bang/base/digest.h"
#include "bang/data/feed.h"
#include "bang/model/vit_file.h"
#include "bang/train/train.h"

/* After a step, and the evaluation that was due. */
typedef struct bang_tune_event {
    uint64_t step, steps; /* done, of so many */
    double loss, rate;    /* of the step */
    double gradient_norm; /* before clipping */
    size_t images;        /* in its batch */
    int evaluated;        /* 1: the two below were measured now */
    double accuracy, validation_loss;
    int best; /* 1: the best so far */
} bang_tune_event;

/* What is being done, for a bar of progress. */
typedef enum bang_tune_phase {
    BANG_TUNE_FEATURES,
    BANG_TUNE_STEPS,
    BANG_TUNE_EVALUATION
} bang_tune_phase;

typedef struct bang_tune_options {
    bang_train_options train; /* progress, step and context unused */
    bang_feed_options feed;   /* of training; size and channels are the model's. What its cache
                               * leaves of cache_bytes is the validation's */
    int only_head;            /* the tower stays; its features are kept if nothing changes them */
    int recompute;            /* less memory, more work */
    int threads;              /* 0: all cores */
    size_t piece;             /* pictures a thread takes at once; 0: chosen by the model's size */
    uint64_t evaluate_every;  /* steps; 0: at the end only */
    int keep_best;            /* end with the weights of the best evaluation */
    /* All may be NULL. progress counts pictures and comes from any thread. */
    void (*event)(void *context, const bang_tune_event *event);
    void (*bad)(void *context, const char *message); /* a picture that is left out */
    void (*progress)(void *context, bang_tune_phase phase, uint64_t done, uint64_t total);
    void *context;
} bang_tune_options;
#define BANG_TUNE_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .train = BANG_TRAIN_OPTIONS_INIT, .feed = {.transform = BANG_TRANSFORM_INIT }              \
    }

/* What ranks told each other of gradients, in all steps of a run; zeros for one rank. */
typedef struct bang_tune_sums {
    uint64_t count, bytes; /* messages, and numbers in them */
    double waited;         /* seconds for the sums, when there was nothing left to compute */
} bang_tune_sums;

typedef struct bang_tune_result {
    double loss;     /* mean over the pictures of the last epoch or what there was of it */
    double accuracy; /* on the validation set at the end (of what is kept); NaN without */
    double validation_loss;
    uint64_t best_step;    /* of what is kept */
    uint64_t resumed_from; /* step, 0: from the beginning */
    uint64_t saved;        /* step of the state's file, as written or read; 0: none */
    size_t bad;            /* pictures left out of the training */
    size_t validation_bad; /* and of the validation */
    size_t piece;          /* pictures a thread takes at once at most */
    int threads;           /* that shared the work, of this rank */
    bang_tune_sums sums;
    size_t bytes; /* of memory: parameters, gradients, moments, activations */
} bang_tune_result;

/* Trains in place; labels of both sets are below the number of the model's outputs.
 * validation may be NULL. The validation's loss knows no smoothing. On a cancel the state is
 * written, where there is to be one, and BANG_ECANCELLED returned; result is filled then,
 * too. Steps whose pictures were all bad change nothing. */
int bang_tune_vit(bang_vit_model *model, const bang_images *images, const bang_images *validation,
                  const bang_tune_options *options, bang_tune_result *result, bang_error *err);

/* What bang_tune_vit would do, as a digest: options, data and model as they are before it. Runs
 * of the same digest end with the same weights (of files the names count, not the pixels); those
 * of several ranks up to the order of sums, as the number of ranks and threads is left out
 * there. It is too with options->threads BANG_TUNE_ANY_THREADS. */
enum { BANG_TUNE_ANY_THREADS = -1 };
int bang_tune_digest(char out[BANG_DIGEST_TEXT], bang_vit_model *model, const bang_images *images,
                     const bang_images *validation, const bang_tune_options *options,
                     bang_error *err);

#endif
