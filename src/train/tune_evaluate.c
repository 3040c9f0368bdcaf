/* The validation set during training. */
#include <string.h>

#include "train/tune.h"

/* One pass of the network over the set. */
static int measure(double *accuracy, double *loss, tune *run, bang_error *err)
{
    size_t classes = run->model->vit.config.classes, seen = 0, correct = 0;
    bang_predicted some;
    double sum = 0;
    int rc;
    atomic_store(&run->done, 0);
    atomic_store(&run->total, run->validation->count);
    while ((rc = bang_predictor_next(&some, run->predictor, err)) > 0) {
        run->targets.labels = some.labels;
        sum += tune_loss(NULL, some.outputs[0], &run->targets, 0, some.count);
        for (size_t i = 0; i < some.count; i++)
            correct +=
                tune_arg_max(some.outputs[0] + i * classes, classes) == (size_t)some.labels[i];
        seen += some.count;
        tune_progress(run, BANG_TUNE_EVALUATION, some.count);
    }
    size_t bad = bang_predictor_bad_count(run->predictor);
    for (; run->validation_told < bad; run->validation_told++)
        if (run->options.bad)
            run->options.bad(run->options.context,
                             bang_predictor_bad(run->predictor, run->validation_told));
    if (rc < 0)
        return rc;
    if (seen == 0)
        return bang_fail(err, BANG_EDATA, "validation: no picture could be read");
    *accuracy = (double)correct / (double)seen;
    *loss = sum / (double)seen;
    run->kept.validation_bad = (double)bad;
    return 0;
}

int tune_evaluate(tune *run, bang_error *err)
{
    tune_kept *kept = &run->kept;
    run->targets = (tune_targets){.kind = run->options.train.loss,
                                  .classes = run->model->vit.config.classes,
                                  .batch = 1,
                                  .labels = run->validation->labels,
                                  .lambda = 1,
                                  .hit = 1};
    double accuracy = 0, loss = 0, first[2];
    uint64_t done = atomic_load(&run->done), total = atomic_load(&run->total);
    int rc = run->options.only_head ? tune_head_evaluate(&accuracy, &loss, run, err)
                                    : measure(&accuracy, &loss, run, err);
    atomic_store(&run->done, done);
    atomic_store(&run->total, total);
    /* ranks with other numbers of threads add up in another order, and all must keep the same */
    first[0] = accuracy;
    first[1] = loss;
    if (rc == 0)
        rc = bang_ranks_broadcast(run->options.train.ranks, first, sizeof first, err);
    if (rc < 0)
        return rc;
    kept->accuracy = accuracy = first[0];
    kept->validation_loss = loss = first[1];
    int better = accuracy > kept->best_accuracy ||
                 (accuracy == kept->best_accuracy && loss < kept->best_loss);
    if (kept->best_step > 0 && !better)
        return 0;
    kept->best_accuracy = accuracy;
    kept->best_loss = loss;
    kept->best_step = (double)run->step;
    if (run->best)
        memcpy(run->best, run->weights, run->count * sizeof *run->best);
    return 0;
}
