/* The lab on a few made-up digits, by one process or by several: lab FOLDER [resume] */
#include "shift_tiny.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    bang_ranks *ranks = NULL;
    bang_error err = {0};
    bang_mnist digits;
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    shift_plan plan = tiny_plan();
    json_t *result = json_object();
    int rc = argc > 1 ? bang_ranks_open(&ranks, NULL, &err) : -1;
    plan.seeds = 3;
    options.folder = argv[1];
    options.threads = 1;
    options.resume = argc > 2;
    options.ranks = ranks;
    make_digits(&digits);
    if (rc == 0)
        rc = shift_run_lab(result, &plan, &digits, &options, &err);
    bang_mnist_release(&digits);
    json_decref(result);
    rc = bang_ranks_finish(ranks, rc < 0 ? &err : NULL, &err);
    if (rc < 0 && bang_ranks_speaks(ranks))
        fprintf(stderr, "lab: %s\n", err.message);
    bang_ranks_close(ranks, NULL, &err);
    return rc < 0;
}
