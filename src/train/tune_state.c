/* What is saved of a training on pictures, and what must be the same when it goes on. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "train/tune.h"

static int set(json_t *about, const char *key, json_t *value)
{
    return json_object_set_new(about, key, value);
}

static int set_whole(json_t *about, const char *key, uint64_t value)
{
    return set(about, key, json_integer((json_int_t)value));
}

static int set_real(json_t *about, const char *key, double value)
{
    return set(about, key, bang_json_number(value));
}

static int describe_model(json_t *about, const bang_vit_model *model)
{
    static const char *const gelus[] = {"exact", "quick", "tanh"};
    const bang_vit_config *c = &model->vit.config;
    json_t *mean = json_array(), *std = json_array();
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        failed |= json_array_append_new(mean, bang_json_number((double)model->mean[i]));
        failed |= json_array_append_new(std, bang_json_number((double)model->std[i]));
    }
    failed |= set(about, "mean", mean) | set(about, "std", std);
    failed |= set_whole(about, "image size", c->image) | set_whole(about, "patch", c->patch);
    failed |= set_whole(about, "channels", c->channels) | set_whole(about, "width", c->width);
    failed |= set_whole(about, "depth", c->depth) | set_whole(about, "heads", c->heads);
    failed |= set_whole(about, "hidden", c->hidden) | set_whole(about, "classes", c->classes);
    failed |= set_whole(about, "projection", c->projection);
    failed |= set(about, "gelu", json_string(gelus[c->gelu])) | set_real(about, "eps", c->epsilon);
    return failed;
}

static int describe_options(json_t *about, const tune *run)
{
    const bang_tune_options *o = &run->options;
    const bang_transform *t = &o->feed.transform;
    int failed = set_whole(about, "threads", (uint64_t)run->threads);
    int ranks = bang_ranks_count(o->train.ranks);
    if (ranks > 1)
        failed |= set_whole(about, "ranks", (uint64_t)ranks);
    failed |= set_whole(about, "piece", o->piece); /* 0: follows from the rest */
    failed |= set(about, "only head", json_boolean(o->only_head));
    failed |= set(about, "recompute", json_boolean(o->recompute));
    failed |= set_whole(about, "evaluate every", o->evaluate_every);
    failed |= set(about, "keep best", json_boolean(o->keep_best));
    failed |= set_whole(about, "seed of changes", o->feed.seed);
    failed |= set_whole(about, "border", t->border) | set_whole(about, "crop", t->crop);
    failed |= set(about, "random crop", json_boolean(t->random_crop));
    failed |= set_real(about, "least scale", t->scale[0]);
    failed |= set_real(about, "most scale", t->scale[1]);
    failed |= set(about, "flip", json_boolean(t->flip)) | set_real(about, "rotate", t->degrees);
    return failed | set_real(about, "color", t->color);
}

static int describe_images(json_t *about, const char *key, const bang_images *images,
                           bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_images_digest(digest, images, err);
    return rc == 0 && set(about, key, json_string(digest)) < 0 ? bang_fail_memory(err) : rc;
}

static int describe(json_t **out, const tune *run, bang_error *err)
{
    const bang_vit *vit = &run->model->vit;
    json_t *about = train_about(&run->options.train);
    int failed = !about || describe_model(about, run->model) || describe_options(about, run);
    int rc = failed ? bang_fail_memory(err) : describe_images(about, "data", run->images, err);
    if (rc == 0 && run->validation)
        rc = describe_images(about, "validation data", run->validation, err);
    if (rc == 0)
        rc = train_about_bytes(about, "first weights", vit->parameters,
                               vit->map.count * sizeof(float), err);
    if (rc < 0)
        json_decref(about);
    *out = rc < 0 ? NULL : about;
    return rc;
}

int tune_state_digest(char out[BANG_DIGEST_TEXT], const tune *run, int any_threads, bang_error *err)
{
    json_t *about = NULL;
    int rc = describe(&about, run, err);
    if (rc == 0 && (any_threads || bang_ranks_count(run->options.train.ranks) > 1)) {
        json_object_del(about, "threads");
        json_object_del(about, "ranks");
    }
    char *line = rc == 0 ? bang_json_line(about) : NULL;
    if (rc == 0)
        rc = line ? bang_digest_bytes(out, line, strlen(line), err) : bang_fail_memory(err);
    free(line);
    json_decref(about);
    return rc;
}

static int is_count(double value, double most)
{
    return value >= 0 && value <= most; /* not of NaN */
}

/* Numbers that become counts; the others are as good as any. */
static int is_sound(const tune *run)
{
    const tune_kept *kept = &run->kept;
    return is_count(kept->images, (double)run->options.train.batch) && is_count(kept->pending, 1) &&
           is_count(kept->best_step, (double)run->step) &&
           is_count(kept->validation_bad, run->validation ? (double)run->validation->count : 0);
}

/* Ranks may have a copy of the pictures each. A state does without the sizes: who resumes has but
 * one. */
static int agree(const json_t *about, const tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    const bang_images *sets[] = {run->images, run->validation};
    static const char *const keys[] = {"sizes of files", "sizes of files of validation data"};
    char digest[BANG_DIGEST_TEXT];
    if (bang_ranks_count(o->ranks) == 1)
        return 0;
    json_t *all = json_copy((json_t *)about);
    int rc = all ? 0 : bang_fail_memory(err);
    for (int i = 0; rc == 0 && i < 2 && sets[i]; i++) {
        rc = bang_images_digest_sizes(digest, sets[i], err);
        if (rc == 0 && set(all, keys[i], json_string(digest)) < 0)
            rc = bang_fail_memory(err);
    }
    if (rc == 0)
        rc = train_agree_about(all, &o->state, run->options.feed.skip_bad, o->ranks, err);
    json_decref(all);
    return rc;
}

int tune_state_prepare(tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    json_t *about = NULL;
    if (!o->state.path && bang_ranks_count(o->ranks) == 1)
        return 0;
    int rc = describe(&about, run, err);
    if (rc == 0)
        rc = agree(about, run, err);
    if (rc < 0 || !o->state.path) {
        json_decref(about);
        return rc;
    }
    rc = train_saver_init(&run->saver, &o->state, o->ranks, about, err);
    if (rc < 0)
        return rc;
    train_saver *saver = &run->saver;
    train_saver_add(saver, "parameters", BANG_F32, run->count, run->weights);
    train_saver_add(saver, "first", BANG_F32, run->count, run->first);
    if (run->second)
        train_saver_add(saver, "second", BANG_F32, run->count, run->second);
    if (run->best)
        train_saver_add(saver, "best", BANG_F32, run->count, run->best);
    train_saver_add(saver, "bad", BANG_U8, run->images->count, run->bad);
    train_saver_add(saver, "kept", BANG_F64, sizeof run->kept / sizeof(double), &run->kept);
    train_saver_add(saver, "step", BANG_U64, 1, &run->step);
    rc = train_saver_load(saver, err);
    if (rc > 0)
        rc = train_saver_accept(saver, run->step, run->options.train.steps, is_sound(run), err);
    if (rc < 0) { /* what was loaded says nothing */
        run->step = 0;
        run->kept = (tune_kept){0};
    }
    saver->saved = run->step;
    return rc;
}
