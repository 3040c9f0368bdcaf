/* `bang train` in two parts: what is asked for (cmd_train.c) and the work. */
#ifndef BANG_CLI_TRAIN_H
#define BANG_CLI_TRAIN_H

#include "bang/train/train.h"
#include "networks.h"

#define TRAIN_NOT_GIVEN INT64_MIN

typedef struct train_request {
    const char *arch, *data, *validation, *init, *output, *log;
    const char *hidden; /* NULL unless given */
    const char *activation, *loss, *optimizer, *schedule, *smoothing;
    int64_t epochs, steps; /* TRAIN_NOT_GIVEN, or one of them */
    int64_t batch, warmup, step_every, log_every;
    int no_reduction;
    int layers; /* of the network: hidden ones and the last */
    size_t width[BANG_MLP_LAYERS_MAX + 1];
    bang_activation activation_kind;
    bang_train_options options; /* all but steps, when epochs are counted */
} train_request;

/* Opens the data, trains, saves, reports. Returns an exit status. */
int train_run(cli *c, train_request *r);

#endif
