/* bang train: the work. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

typedef struct job {
    cli *c;
    train_request *r;
    int first;                      /* of all ranks: the one that writes */
    bang_dataset train, validation; /* count 0 when there is none */
    bang_mlp mlp;                   /* reads all numbers */
    uint64_t epoch_steps;
    size_t parameters, reduced_inputs;
    double loss, accuracy[2], seconds;
    /* while training */
    cli_bar bar;
    char label[48];
    double recent; /* loss, smoothed for the eye */
    train_log log;
    double log_sum; /* saved with the state */
    uint64_t saved, resumed_from;
} job;

static size_t parameter_count(const bang_mlp *mlp)
{
    size_t count = 0;
    for (int l = 0; l < mlp->layers; l++)
        count += (mlp->width[l] + 1) * mlp->width[l + 1];
    return count;
}

/* A network to go on with: it must fit the data, and what was said of it. */
static int load_first(job *j, bang_error *err)
{
    cli *c = j->c;
    train_request *r = j->r;
    int rc = bang_mlp_load(&j->mlp, r->init, err);
    if (rc < 0)
        return rc;
    size_t classes = j->mlp.width[j->mlp.layers], wanted = r->width[r->layers];
    if (r->activation)
        j->mlp.activation = r->activation_kind;
    if (j->mlp.width[0] != r->width[0])
        cli_problem(c, "--init %.200s: reads %zu numbers: an input of %.200s has %zu", r->init,
                    j->mlp.width[0], r->data, r->width[0]);
    if (classes < wanted)
        cli_problem(c, "--init %.200s: has %zu outputs: the data have %zu classes", r->init,
                    classes, wanted);
    if (r->hidden &&
        (j->mlp.layers != r->layers ||
         memcmp(j->mlp.width + 1, r->width + 1, (size_t)(r->layers - 1) * sizeof *r->width) != 0))
        cli_problem(c, "--hidden %.80s: %.200s has other layers: leave --hidden out", r->hidden,
                    r->init);
    return 0;
}

/* There are labels for all, or for none. */
static void check_labels(cli *c, const char *option, const char *source, const bang_dataset *set)
{
    if (set->classes == 0)
        cli_problem(c, "--%s %.200s: has no labels: training needs labels.npy beside images.npy",
                    option, source);
}

/* Data, network, number of steps; what does not fit is a problem. */
static int prepare(job *j, bang_error *err)
{
    train_request *r = j->r;
    bang_train_options *o = &r->options;
    int rc = bang_dataset_open(&j->train, r->data, err);
    if (rc == 0 && r->validation)
        rc = bang_dataset_open(&j->validation, r->validation, err);
    if (rc < 0)
        return rc;
    check_labels(j->c, "data", r->data, &j->train);
    if (j->validation.count)
        check_labels(j->c, "val", r->validation, &j->validation);
    if (j->c->problems.size)
        return 0;
    if (j->validation.count && j->validation.width != j->train.width)
        cli_problem(j->c, "--val %.200s: its inputs have %zu numbers: those of %.200s have %zu",
                    r->validation, j->validation.width, r->data, j->train.width);
    r->width[0] = j->train.width;
    r->width[r->layers] = j->train.classes;
    j->epoch_steps = (j->train.count + o->batch - 1) / o->batch;
    train_count_steps(j->c, r, j->train.count);
    rc = r->init ? load_first(j, err)
                 : bang_mlp_init(&j->mlp, r->layers, r->width, r->activation_kind, err);
    if (rc == 0 && !r->init)
        bang_mlp_randomise(&j->mlp, o->seed, o->stream);
    if (rc == 0 && j->validation.classes > j->mlp.width[j->mlp.layers])
        cli_problem(j->c, "--val %.200s: has labels up to %zu: the network has %zu outputs",
                    r->validation, j->validation.classes - 1, j->mlp.width[j->mlp.layers]);
    return rc;
}

static void add_log(job *j, uint64_t step, double rate)
{
    uint64_t every = (uint64_t)j->r->log_every, many = (step - 1) % every + 1;
    train_log_add(&j->log, json_pack("{sI so so}", "step", (json_int_t)step, "loss",
                                     bang_json_number(j->log_sum / (double)many), "rate",
                                     bang_json_number(rate)));
    j->log_sum = 0;
}

static void on_step(void *context, uint64_t step, double loss, double rate)
{
    job *j = context;
    j->recent = step ? 0.98 * j->recent + 0.02 * loss : loss;
    if (j->bar.active && step % 32 == 31) /* the bar is drawn after this */
        snprintf(j->label, sizeof j->label, "loss %.3g", j->recent);
    if (!j->log.path)
        return;
    train_log_begin(&j->log, step);
    j->log_sum += loss;
    if ((step + 1) % (uint64_t)j->r->log_every == 0 || step + 1 == j->r->options.steps ||
        !isfinite(loss))
        add_log(j, step + 1, rate);
}

/* Trains the network on groups of equal inputs and leads it back. */
static int train_reduced(job *j, const inputs *in, bang_error *err)
{
    bang_train_options *o = &j->r->options;
    bang_train_result result = {0};
    bang_mlp reduced;
    j->loss = NAN;
    if (o->steps == 0) /* and no rounding */
        return 0;
    int rc = bang_mlp_reduce(&reduced, &j->mlp, &in->columns, err);
    if (rc < 0)
        return rc;
    snprintf(j->label, sizeof j->label, "training");
    cli_bar_start(&j->bar, j->c, j->label);
    o->progress = &j->bar.progress;
    o->cancel = cli_cancel();
    o->ranks = j->c->ranks;
    o->step = on_step;
    o->context = j;
    o->state.own = &j->log_sum;
    o->state.own_count = 1;
    double begin = cli_seconds();
    rc = bang_train_mlp(&reduced, &in->rows, j->train.labels.data, o, &result, err);
    j->seconds = cli_seconds() - begin;
    cli_bar_finish(&j->bar);
    j->saved = result.saved;
    j->resumed_from = result.resumed_from;
    if (rc == 0) {
        j->loss = result.loss;
        rc = bang_mlp_expand(&j->mlp, &reduced, &in->columns, result.decay, err);
    }
    bang_mlp_release(&reduced);
    return rc;
}

static int measure(double *accuracy, const job *j, const bang_dataset *set, const inputs *ready,
                   bang_error *err)
{
    forward how = {.threads = (int)j->c->threads, .cancel = cli_cancel(), .ranks = j->c->ranks};
    inputs own = {0};
    int rc = ready ? 0 : inputs_init(&own, set, 1, err);
    if (rc == 0)
        rc = forward_accuracy(accuracy, &j->mlp, ready ? ready : &own, &how, err);
    inputs_release(&own);
    return rc;
}

/* Accuracies are measured on the network that is saved, by the same way as
 * `bang predict` goes, so that the two never differ. */
static int work(job *j, bang_error *err)
{
    train_request *r = j->r;
    const bang_train_options *o = &r->options;
    int reduce = !r->no_reduction && !(o->optimizer == BANG_ADAM && o->weight_decay > 0);
    inputs in;
    int rc = inputs_init(&in, &j->train, reduce, err);
    if (rc < 0)
        return rc;
    j->parameters = parameter_count(&j->mlp);
    j->reduced_inputs = in.columns.group_count;
    if (j->first)
        rc = train_reserve(&r->options.state, r, j->parameters, &j->bar, err);
    if (rc == 0)
        rc = train_reduced(j, &in, err);
    if (j->resumed_from == 0 && rc == 0)
        train_log_begin(&j->log, 0); /* of no steps: an empty one */
    bang_error why = {0};
    if (train_log_end(&j->log, &why) < 0 && rc == 0)
        rc = bang_fail(err, why.code, "%s", why.message);
    if (rc == 0 && j->first)
        rc = bang_mlp_save(&j->mlp, r->output, err);
    if (rc == 0 && j->first && r->state)
        rc = bang_train_state_remove(r->state, err);
    if (rc == 0)
        j->saved = 0;
    if (rc == 0)
        rc = measure(&j->accuracy[0], j, &j->train, reduce ? &in : NULL, err);
    inputs_release(&in);
    if (rc == 0 && j->validation.count)
        rc = measure(&j->accuracy[1], j, &j->validation, NULL, err);
    return rc;
}

static void print_table(const job *j)
{
    const train_request *r = j->r;
    const bang_mlp *mlp = &j->mlp;
    char ranks[32] = "";
    if (bang_ranks_count(j->c->ranks) > 1)
        snprintf(ranks, sizeof ranks, ", %d ranks", bang_ranks_count(j->c->ranks));
    printf("data       %s: %zu inputs of %zu numbers, %zu classes\n", r->data, j->train.count,
           j->train.width, j->train.classes);
    printf("network    %zu", mlp->width[0]);
    for (int l = 1; l <= mlp->layers; l++)
        printf("-%zu", mlp->width[l]);
    printf(" %s, %zu parameters", bang_activation_name(mlp->activation), j->parameters);
    if (j->reduced_inputs < mlp->width[0])
        printf("; inputs reduced to the %zu that differ", j->reduced_inputs);
    putchar('\n');
    train_print_recipe(r, "row", j->epoch_steps);
    if (j->seconds > 0 && r->options.steps)
        printf("speed      %.0f steps/s%s\n",
               (double)(r->options.steps - j->resumed_from) / j->seconds, ranks);
    if (j->resumed_from)
        printf("resumed    after step %llu\n", (unsigned long long)j->resumed_from);
    if (r->options.steps)
        printf("loss       %.4g\n", j->loss);
    printf("accuracy   %.2f %% on the training data", 100 * j->accuracy[0]);
    if (j->validation.count)
        printf(", %.2f %% on %s", 100 * j->accuracy[1], r->validation);
    printf("\nwritten    %s\n", r->output);
}

static int print_result(const job *j)
{
    const train_request *r = j->r;
    const bang_train_options *o = &r->options;
    if (!j->c->json) {
        if (!j->c->quiet)
            print_table(j);
        return CLI_DONE;
    }
    json_t *accuracy =
        json_pack("{so so}", "train", bang_json_number(j->accuracy[0]), "val",
                  j->validation.count ? bang_json_number(j->accuracy[1]) : json_null());
    return cli_print_json(
        j->c, json_pack("{sI so so so sI sI sI sI so ss}", "steps", (json_int_t)o->steps, "epochs",
                        bang_json_number((double)o->steps / (double)j->epoch_steps), "loss",
                        bang_json_number(j->loss), "accuracy", accuracy, "parameters",
                        (json_int_t)j->parameters, "inputs", (json_int_t)j->mlp.width[0],
                        "reduced_inputs", (json_int_t)j->reduced_inputs, "resumed_from",
                        (json_int_t)j->resumed_from, "seconds", bang_json_number(j->seconds),
                        "output", r->output));
}

int train_run(cli *c, train_request *r)
{
    job j = {.c = c, .r = r, .first = bang_ranks_rank(c->ranks) == 0};
    bang_error err = {0};
    j.log.path = j.first ? r->log : NULL;
    int rc = prepare(&j, &err), status = CLI_FAILED;
    if (rc < 0) {
        status = cli_fail(c, &err);
    } else if (!cli_usage_failed(c)) {
        train_state_notes(c, r);
        train_locks locks;
        rc = train_hold(&locks, c, r, &err);
        if (rc == 0)
            rc = work(&j, &err);
        train_let_go(&locks);
        status = rc == BANG_ECANCELLED ? train_interrupted(c, r, j.saved)
                 : rc < 0              ? cli_fail(c, &err)
                                       : print_result(&j);
        if (rc < 0 && rc != BANG_ECANCELLED && c->ranks)
            train_failed(c, r, j.saved, 0);
    }
    bang_mlp_release(&j.mlp);
    bang_dataset_release(&j.train);
    bang_dataset_release(&j.validation);
    return status;
}
