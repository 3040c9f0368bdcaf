/* The parts of prediction: predict.c, and predict_round.c, what several ranks make of their
 * shares. Private to this room. */
#ifndef BANG_TRAIN_PREDICT_PRIVATE_H
#define BANG_TRAIN_PREDICT_PRIVATE_H

#include <stdatomic.h>

#include "bang/train/predict.h"

/* A round: the next pictures of the set, a contiguous share of them for each rank, in their
 * order. Afterwards all ranks have the outputs of all. */
typedef struct predict_round {
    uint8_t *missing; /* (round) 1: a bad picture */
    uint32_t *index;  /* (round) */
    int64_t *labels;  /* (round) */
    uint8_t *told;    /* (images) 1: among those below */
    size_t bad_count, bad_capacity;
    char **bad; /* (bad_count) messages, in the order of the pictures of a pass */
    int failed; /* memory is out */
} predict_round;

/* Pictures of one size, for all models that read it. */
typedef struct source {
    bang_transform transform;
    bang_feed *feed;
    bang_batch batch;
} source;

/* Memory for all models of one configuration: one worker and some pixels per thread. */
typedef struct crew {
    bang_vit_config config;
    size_t piece;                 /* pictures */
    size_t pixels;                /* numbers in a picture */
    bang_vit_worker_f32 *workers; /* (threads) */
    float *input;                 /* (threads, piece, pixels) */
} crew;

typedef struct subject {
    const bang_vit_model *model;
    size_t source, crew;
    size_t width;   /* numbers in an output */
    float *outputs; /* (round, width) */
} subject;

struct bang_predictor {
    const bang_images *images;
    bang_predict_options options;
    int threads;
    size_t batch; /* pictures of this rank at a time, at most */
    size_t round; /* the same of all ranks */
    size_t count; /* models */
    subject *subjects;
    size_t source_count, crew_count;
    source *sources;
    crew *crews;
    const float **outputs; /* (count) */
    uint32_t *index;       /* (batch) of a request */
    size_t asked, taken;   /* pictures of this pass, by all ranks */
    predict_round *whole;  /* what the ranks have made together; NULL: this one is alone */
    size_t bytes;
    atomic_size_t work; /* pictures of this pass, once for each model */
};

/* For several ranks; the caller releases predictor->whole. */
int predict_round_init(bang_predictor *predictor, bang_error *err);
void predict_round_release(predict_round *whole);
/* Every rank has computed its share of the next many pictures. */
int predict_round_gather(bang_predicted *out, bang_predictor *predictor, size_t many,
                         bang_error *err);

#endif
