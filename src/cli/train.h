/* `bang train` in parts: what is asked for (cmd_train.c, train_check.c), perceptrons
 * (train_run.c), vision transformers (train_vit.c: model and data; train_vit_run.c: the work;
 * train_vit_print.c: what is said about it), and the log (train_log.c). */
#ifndef BANG_CLI_TRAIN_H
#define BANG_CLI_TRAIN_H

#include <stdio.h>

#include "bang/base/lock.h"
#include "bang/data/images.h"
#include "bang/train/tune.h"
#include "networks.h"
#include "pictures.h"

#define TRAIN_NOT_GIVEN INT64_MIN

typedef enum train_kind { TRAIN_MLP, TRAIN_VIT, TRAIN_CLIP } train_kind;

typedef struct train_request {
    const char *data, *validation, *init, *output, *log;
    const char *arch, *loss, *optimizer, *schedule, *smoothing; /* NULL unless given */
    int64_t epochs, steps; /* TRAIN_NOT_GIVEN, or one of them */
    int64_t batch, warmup, step_every, log_every;
    const char *state; /* NULL unless given; then where it is, or NULL: none */
    double state_minutes;
    int resume;
    char *state_path;           /* owned: the default */
    bang_train_options options; /* all but steps and warm-up, which depend on the data */
    train_kind kind;
    /* perceptrons */
    const char *hidden, *activation; /* NULL unless given */
    int no_reduction;
    int layers; /* of the network: hidden ones and the last */
    size_t width[BANG_MLP_LAYERS_MAX + 1];
    bang_activation activation_kind;
    /* vision transformers */
    picture_options pictures;
    int64_t patch, channels, embedding, depth; /* 0 unless given */
    double mlp_ratio;                          /* NaN unless given, as are the two below */
    double degrees, color;
    const char *head, *augment, *crop_scale, *keep; /* NULL unless given */
    int64_t eval_every, piece;                      /* TRAIN_NOT_GIVEN unless given */
    int only_head, recompute;
    uint64_t cache;
    bang_transform transform;
} train_request;

/* Reads what was typed, chooses what was not; says through c what is wrong. */
void train_check(cli *c, train_request *r);
/* A new transformer for pictures of image pixels, as was asked for; and what is wrong with it. */
bang_vit_config train_new_config(const train_request *r, size_t image, size_t channels,
                                 size_t classes);
void train_check_config(cli *c, const bang_vit_config *config);
/* Steps and warm-up, once the number of inputs is known. */
void train_count_steps(cli *c, train_request *r, size_t rows);

/* Opens the data, trains, saves, reports. Return an exit status. */
int train_run(cli *c, train_request *r);
int train_vit(cli *c, train_request *r);

/* What is known about a state before the training: notes for a person. */
void train_state_notes(const cli *c, const train_request *r);
/* What a training writes: output, state and log; NULL: not held. */
enum { TRAIN_LOCKS = 3 };
typedef struct train_locks {
    bang_lock *of[TRAIN_LOCKS];
} train_locks;

/* Two trainings that write one of these would mix, or one would be lost: the second is refused. The
 * caller gives them back, also after a failure. */
int train_hold(train_locks *out, const cli *c, const train_request *r, bang_error *err);
void train_let_go(train_locks *locks);
/* Sees to it that there is room for the output, and for a state beside it; what becomes of a state
 * that cannot be written is told around the bar. On the rank that writes. */
int train_reserve(bang_train_state *state, const train_request *r, size_t parameters, cli_bar *bar,
                  bang_error *err);
/* Says that the work was interrupted and how it goes on; saved: step of the state, 0: none. */
int train_interrupted(const cli *c, const train_request *r, uint64_t saved);
/* 1 if that failure was one of a picture that cannot be read. */
int train_is_bad_picture(const bang_error *err, const bang_images *train,
                         const bang_images *validation);
/* Says how a training that has failed goes on, if something of it is saved. */
void train_failed(const cli *c, const train_request *r, uint64_t saved, int bad_picture);
/* "3000 steps of 64 rows ..., rate 0.001 cosine, ..." as one line. */
void train_print_recipe(const train_request *r, const char *rows, uint64_t epoch_steps);

/* The log: a JSON object a line. Lines of an earlier run after the step that this one begins
 * with are dropped. */
typedef struct train_log {
    const char *path; /* NULL: none */
    FILE *file;
    int begun;
    bang_error err; /* the first failure */
} train_log;

/* Before anything is added; step is that which was done before. */
void train_log_begin(train_log *log, uint64_t step);
/* Takes line over; NULL is out of memory. */
void train_log_add(train_log *log, json_t *line);
/* 0, or the first failure. */
int train_log_end(train_log *log, bang_error *err);

/* What is trained that a checkpoint of this layout holds; of an unknown one a perceptron. */
train_kind train_kind_of(bang_layout layout);

#endif
