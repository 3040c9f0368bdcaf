/* Training of a vision transformer on pictures: from scratch, its head alone, or
 * all of it.
 *
 *     bang_tune_options options = BANG_TUNE_OPTIONS_INIT;
 *     options.train.steps = 1000;
 *     bang_tune_vit(&model, &images, NULL, &options, &result, &err);
 *
 * A batch is cut into pieces of a few pictures; thread t takes pieces t, t + threads,
 * ... through forward and backward on its own, adding up its own gradient; the sum of
 * the threads' gradients, in their order, makes the step. So memory does not grow with the
 * batch, nothing waits within a step, and the same options with the same number of threads
 * give the same bits, however often the run was stopped and resumed.
 */
#ifndef BANG_TRAIN_TUNE_H
#define BANG_TRAIN_TUNE_H

#include "bang/data/feed.h"
#include "bang/model/vit_file.h"
#include "bang/train/train.h"

/* After a step, or an evaluation. */
typedef struct bang_tune_event {
    uint64_t step, steps; /* done, of so many */
    double loss, rate;    /* of the step */
    double gradient_norm; /* before clipping */
    size_t images;        /* in its batch */
    int evaluated;        /* 1: the two below were measured now */
    double accuracy, validation_loss;
    int best; /* 1: the best so far */
} bang_tune_event;

typedef struct bang_tune_options {
    bang_train_options train; /* loss cross-entropy; progress, step and context unused */
    bang_feed_options feed;   /* of training; size and channels are the model's */
    int only_head;
    int recompute;           /* less memory, more work */
    int threads;             /* 0: all cores */
    size_t piece;            /* pictures a thread takes at once; 0: chosen by the model's size */
    uint64_t evaluate_every; /* steps; 0: at the end only */
    int keep_best;           /* end with the weights of the best evaluation */
    const char *state;       /* file of the state, or NULL: not resumable */
    double state_seconds;    /* between two writes of it */
    int resume;              /* go on from state if it is there */
    void (*event)(void *context, const bang_tune_event *event); /* may be NULL */
    void *context;
} bang_tune_options;
#define BANG_TUNE_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .train = BANG_TRAIN_OPTIONS_INIT, .feed = {.transform = BANG_TRANSFORM_INIT},              \
        .state_seconds = 300                                                                       \
    }

typedef struct bang_tune_result {
    double loss;     /* mean over the pictures of the last epoch or what there was of it */
    double accuracy; /* on the validation set at the end (of what is kept); NaN without */
    double validation_loss;
    uint64_t best_step;    /* of what is kept */
    uint64_t resumed_from; /* step, 0: from the beginning */
    size_t bad;            /* pictures left out */
    size_t bytes;          /* of memory: parameters, gradients, moments, activations */
} bang_tune_result;

/* Trains in place; model has a head of images->classes outputs or more. validation may be
 * NULL. On a cancel the state is written and BANG_ECANCELLED returned; when the training is
 * done the state is removed. */
int bang_tune_vit(bang_vit_model *model, const bang_images *images, const bang_images *validation,
                  const bang_tune_options *options, bang_tune_result *result, bang_error *err);

#endif
