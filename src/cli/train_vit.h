/* `bang train` for vision transformers: what its three parts share. */
#ifndef BANG_CLI_TRAIN_VIT_H
#define BANG_CLI_TRAIN_VIT_H

#include "train.h"

/* Where the head comes from. */
typedef enum vit_head { HEAD_NEW, HEAD_OF_INIT, HEAD_OF_FILE } vit_head;

enum { VIT_OWN = 4 }; /* numbers of the log that are saved with the state */

typedef struct vit_job {
    cli *c;
    train_request *r;
    int first;                     /* of all ranks: the one that writes */
    bang_images train, validation; /* count 0 when there is none */
    bang_vit_model model;
    vit_head head;
    int in_order; /* the data's classes have other names than the head's */
    uint64_t epoch_steps;
    bang_tune_options options;
    bang_tune_result result;
    char run[BANG_DIGEST_TEXT];  /* of options, data and first weights */
    char task[BANG_DIGEST_TEXT]; /* the same without threads and ranks */
    double seconds;
    /* while training */
    train_log log;
    cli_bar bar, other; /* of the steps; of features and evaluations */
    char label[96];
    char measured[32]; /* accuracy on the validation data, for the label */
    uint64_t other_done;
    double recent;       /* loss, smoothed for the eye */
    double pictures;     /* that this run has trained on */
    double own[VIT_OWN]; /* sums since the last line of the log: loss, norm, images, steps */
} vit_job;

/* Opens data and network and makes them fit; what fails is said on stderr or through c.
 * Returns an exit status; problems of c count too. */
int vit_prepare(vit_job *j);
/* 1 if what is to be resumed is done: its output is there and no state. */
int vit_is_finished(vit_job *j, bang_error *err);
/* Trains and saves. */
int vit_work(vit_job *j, bang_error *err);
/* What will be done, before it is, and what came out or was there. Return an exit status. */
void vit_print_plan(const vit_job *j);
int vit_print_finished(const vit_job *j);
int vit_print(const vit_job *j);

#endif
