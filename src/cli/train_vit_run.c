/* bang train: vision transformers at work. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "train_vit.h"

enum { OWN_LOSS, OWN_NORM, OWN_IMAGES, OWN_STEPS };

static void add_log(vit_job *j, const bang_tune_event *event)
{
    double *own = j->own, steps = own[OWN_STEPS];
    json_t *line =
        json_pack("{sI so so so sI}", "step", (json_int_t)event->step, "loss",
                  bang_json_number(own[OWN_LOSS] / steps), "rate", bang_json_number(event->rate),
                  "gradient_norm", bang_json_number(own[OWN_NORM] / steps), "images",
                  (json_int_t)own[OWN_IMAGES]);
    if (event->evaluated && line &&
        (json_object_set_new(line, "accuracy", bang_json_number(event->accuracy)) < 0 ||
         json_object_set_new(line, "validation_loss", bang_json_number(event->validation_loss)) <
             0 ||
         json_object_set_new(line, "best", json_boolean(event->best)) < 0)) {
        json_decref(line);
        line = NULL;
    }
    train_log_add(&j->log, line);
    memset(j->own, 0, sizeof j->own);
}

static void on_event(void *context, const bang_tune_event *event)
{
    vit_job *j = context;
    j->recent = j->pictures > 0 ? 0.95 * j->recent + 0.05 * event->loss : event->loss;
    j->pictures += (double)event->images;
    int used =
        snprintf(j->label, sizeof j->label, "step %llu/%llu loss %.3g",
                 (unsigned long long)event->step, (unsigned long long)event->steps, j->recent);
    if (event->evaluated)
        snprintf(j->measured, sizeof j->measured, " val %.2f %%", 100 * event->accuracy);
    if (used > 0 && (size_t)used < sizeof j->label)
        snprintf(j->label + used, sizeof j->label - (size_t)used, "%s", j->measured);
    if (!j->log.path)
        return;
    train_log_begin(&j->log, event->step - 1);
    j->own[OWN_LOSS] += event->loss;
    j->own[OWN_NORM] += event->gradient_norm;
    j->own[OWN_IMAGES] += (double)event->images;
    j->own[OWN_STEPS]++;
    if (event->step % (uint64_t)j->r->log_every == 0 || event->step == event->steps ||
        event->evaluated)
        add_log(j, event);
}

static void on_bad(void *context, const char *message)
{
    vit_job *j = context;
    if (j->c->quiet)
        return;
    fputs(j->bar.active ? "\r\033[K" : "", stderr);
    cli_say("bang %s: left out: %s\n", j->c->command, message);
}

/* Steps count pictures in one bar from the beginning to the end; passes over a whole set have
 * bars of their own in between. */
static void on_progress(void *context, bang_tune_phase phase, uint64_t done, uint64_t total)
{
    vit_job *j = context;
    if (phase == BANG_TUNE_STEPS) {
        if (!j->bar.label) { /* the first call comes from the thread that began */
            cli_bar_start(&j->bar, j->c, j->label);
            j->bar.from = done;
        }
        bang_progress_step(&j->bar.progress, done, total);
        return;
    }
    if (done < j->other_done || !j->other.label)
        cli_bar_start(&j->other, j->c, phase == BANG_TUNE_FEATURES ? "features" : "measuring");
    j->other_done = done;
    bang_progress_step(&j->other.progress, done, total);
}

static void set_options(vit_job *j)
{
    const train_request *r = j->r;
    j->options = (bang_tune_options){
        .train = r->options,
        .feed = {.transform = r->transform,
                 .seed = (uint64_t)j->c->seed,
                 .threads = (int)j->c->threads,
                 .skip_bad = r->pictures.skip_bad,
                 .cache_bytes = (size_t)r->cache},
        .only_head = r->only_head,
        .recompute = r->recompute,
        .threads = (int)j->c->threads,
        .piece = r->piece == TRAIN_NOT_GIVEN ? 0 : (size_t)r->piece,
        .evaluate_every = r->eval_every == TRAIN_NOT_GIVEN ? 0 : (uint64_t)r->eval_every,
        .keep_best = r->keep && strcmp(r->keep, "best") == 0,
        .event = on_event,
        .bad = on_bad,
        .progress = on_progress,
        .context = j};
    j->options.train.cancel = cli_cancel();
    j->options.train.ranks = j->c->ranks;
    j->options.train.state.own = j->own;
    j->options.train.state.own_count = VIT_OWN;
}

/* Where the digest of a run stands in the model that it has made; and that of what it was to do,
 * by however many threads and ranks. */
static const char run_key[] = "bang.run", task_key[] = "bang.task";

static int digest_task(char out[BANG_DIGEST_TEXT], vit_job *j, bang_error *err)
{
    bang_tune_options any = j->options;
    any.threads = BANG_TUNE_ANY_THREADS;
    return bang_tune_digest(out, &j->model, &j->train, j->validation.count ? &j->validation : NULL,
                            &any, err);
}

static int has_string(const json_t *metadata, const char *key, const char *value)
{
    const char *found = json_string_value(json_object_get(metadata, key));
    return found && strcmp(found, value) == 0;
}

/* Is there an output of this run? Or, where that one or this is of several ranks, of one that was
 * to do the same? */
static int has_output(const vit_job *j)
{
    const train_request *r = j->r;
    struct stat info;
    bang_checkpoint *file;
    if (!r->resume || stat(r->state, &info) == 0 || stat(r->output, &info) < 0 ||
        !S_ISREG(info.st_mode) || bang_checkpoint_open(&file, r->output, NULL) < 0)
        return 0;
    int several = bang_ranks_count(j->c->ranks) > 1;
    int same = has_string(file->metadata, run_key, j->run) ||
               has_string(file->metadata, run_key, j->task) ||
               (several && has_string(file->metadata, task_key, j->task));
    bang_checkpoint_close(file);
    return same;
}

int vit_is_finished(vit_job *j, bang_error *err)
{
    set_options(j);
    int rc = bang_tune_digest(j->run, &j->model, &j->train,
                              j->validation.count ? &j->validation : NULL, &j->options, err);
    if (rc == 0)
        rc = digest_task(j->task, j, err);
    int same = rc == 0 && j->first ? has_output(j) : 0;
    if (rc == 0) /* others may not see the files */
        rc = bang_ranks_broadcast(j->c->ranks, &same, sizeof same, err);
    return rc < 0 ? rc : same;
}

static int save(vit_job *j, bang_error *err)
{
    if (!j->model.metadata)
        j->model.metadata = json_object();
    if (json_object_set_new(j->model.metadata, run_key, json_string(j->run)) < 0 ||
        json_object_set_new(j->model.metadata, task_key, json_string(j->task)) < 0)
        return bang_fail_memory(err);
    return bang_vit_model_save(&j->model, j->r->output, err);
}

int vit_work(vit_job *j, bang_error *err)
{
    const train_request *r = j->r;
    vit_print_plan(j);
    snprintf(j->label, sizeof j->label, "training");
    double begin = cli_seconds();
    int rc = j->first
                 ? train_reserve(&j->options.train.state, r, j->model.vit.map.count, &j->bar, err)
                 : 0;
    if (rc == 0)
        rc = bang_tune_vit(&j->model, &j->train, j->validation.count ? &j->validation : NULL,
                           &j->options, &j->result, err);
    j->seconds = cli_seconds() - begin;
    cli_bar_finish(&j->other);
    cli_bar_finish(&j->bar);
    if (rc == 0 && j->result.resumed_from == 0)
        train_log_begin(&j->log, 0); /* of no steps: an empty one */
    bang_error why = {0};
    if (train_log_end(&j->log, &why) < 0 && rc == 0)
        rc = bang_fail(err, why.code, "%s", why.message);
    if (rc == 0 && j->first)
        rc = save(j, err);
    if (rc == 0 && j->first && r->state)
        rc = bang_train_state_remove(r->state, err);
    return rc;
}

/* A run that was killed in its last moment has left them. */
static void sweep_locks(const cli *c, const train_request *r)
{
    train_locks locks;
    bang_error ignored = {0};
    (void)train_hold(&locks, c, r, &ignored);
    train_let_go(&locks);
}

int train_vit(cli *c, train_request *r)
{
    vit_job j = {.c = c, .r = r, .first = bang_ranks_rank(c->ranks) == 0};
    bang_error err = {0};
    j.log.path = j.first ? r->log : NULL;
    int status = vit_prepare(&j);
    if (status == CLI_DONE && cli_usage_failed(c))
        status = CLI_FAILED;
    int finished = status == CLI_DONE ? vit_is_finished(&j, &err) : 0;
    if (finished < 0) {
        status = cli_fail(c, &err);
    } else if (finished) {
        sweep_locks(c, r);
        status = vit_print_finished(&j);
    } else if (status == CLI_DONE) {
        train_state_notes(c, r);
        train_locks locks;
        int rc = train_hold(&locks, c, r, &err);
        if (rc == 0)
            rc = vit_work(&j, &err);
        train_let_go(&locks);
        if (rc < 0 && rc != BANG_ECANCELLED)
            cli_agree(&err); /* what another rank met counts */
        status = rc == BANG_ECANCELLED ? train_interrupted(c, r, j.result.saved)
                 : rc < 0              ? cli_fail(c, &err)
                                       : vit_print(&j);
        if (rc < 0 && rc != BANG_ECANCELLED)
            train_failed(c, r, j.result.saved, train_is_bad_picture(&err, &j.train, &j.validation));
    }
    bang_vit_model_release(&j.model);
    bang_images_release(&j.train);
    bang_images_release(&j.validation);
    return status;
}
