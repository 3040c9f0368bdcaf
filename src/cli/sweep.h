/* bang theory --sweep NAME=FROM:TO:STEP */
#ifndef BANG_CLI_SWEEP_H
#define BANG_CLI_SWEEP_H

#include "models.h"

typedef struct sweep {
    const char *text; /* as given; NULL: no sweep */
    char name[8];
    double from, to, step;
} sweep;

int cli_read_sweep(void *target, const char *value, bang_error *err);

/* 1 if the sweep sets the shift itself. */
int sweep_sets_shift(const sweep *s);

/* Checks all points, computes them, prints CSV or JSON to stdout, or CSV to
 * path when it is not NULL. Returns an exit status. */
int run_sweep(cli *c, const sweep *s, const cli_models *models, const bang_theory_options *options,
              const char *path);

#endif
