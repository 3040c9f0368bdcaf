#include "train/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bang/base/agree.h"
#include "bang/base/digest.h"
#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/checkpoint.h"
#include "bang/store/safetensors.h"

static const char metadata_key[] = "bang.state";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

json_t *train_about(const bang_train_options *o)
{
    static const char *const optimizers[] = {"sgd", "adam", "adamw"};
    static const char *const schedules[] = {"constant", "cosine", "step"};
    static const char *const smoothings[] = {"original", "others", "classy_vision"};
    return json_pack(
        "{ss sI sI sI ss so so so so so so so sI so ss sI sI so so ss so sI}", "loss",
        o->loss == BANG_MSE ? "mse" : "cross-entropy", "steps", (json_int_t)o->steps, "batch",
        (json_int_t)o->batch, "seed", (json_int_t)o->seed, "optimizer", optimizers[o->optimizer],
        "learning rate", bang_json_number(o->rate), "beta1", bang_json_number(o->beta1), "beta2",
        bang_json_number(o->beta2), "epsilon", bang_json_number(o->epsilon), "momentum",
        bang_json_number(o->momentum), "weight decay", bang_json_number(o->weight_decay),
        "clip norm", bang_json_number(o->clip_norm), "stream", (json_int_t)o->stream, "in order",
        json_boolean(o->in_order), "schedule", schedules[o->schedule], "warm-up",
        (json_int_t)o->warmup, "step every", (json_int_t)o->step_every, "step factor",
        bang_json_number(o->step_factor), "label smoothing", bang_json_number(o->label_smoothing),
        "smoothing mode", smoothings[o->smoothing], "mixup", bang_json_number(o->mixup), "format",
        (json_int_t)1);
}

int train_about_bytes(json_t *about, const char *key, const void *data, size_t size,
                      bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_digest_bytes(digest, data, size, err);
    if (rc == 0 && json_object_set_new(about, key, json_string(digest)) < 0)
        rc = bang_fail_memory(err);
    return rc;
}

int train_saver_init(train_saver *out, const bang_train_state *how, bang_ranks *ranks,
                     json_t *about, bang_error *err)
{
    *out = (train_saver){.how = how, .ranks = ranks, .about = about, .last = now()};
    if (!about)
        return bang_fail_memory(err);
    train_saver_add(out, "own", BANG_F64, how->own_count, how->own);
    return 0;
}

void train_saver_release(train_saver *saver)
{
    json_decref(saver->about);
    *saver = (train_saver){0};
}

void train_saver_add(train_saver *saver, const char *name, bang_dtype dtype, size_t count,
                     void *data)
{
    saver->items[saver->count].name = name;
    saver->items[saver->count].dtype = dtype;
    saver->items[saver->count].count = count;
    saver->items[saver->count++].data = data;
}

/* Between runs of different numbers of ranks, how many threads each has means nothing. */
static void compare(bang_text *differences, const json_t *old, const json_t *new)
{
    json_t *there = json_copy((json_t *)old), *here = json_copy((json_t *)new);
    if (!there || !here) {
        differences->failed = 1;
    } else if (json_object_get(old, "ranks") || json_object_get(new, "ranks")) {
        json_object_del(there, "ranks");
        json_object_del(there, "threads");
        json_object_del(here, "ranks");
        json_object_del(here, "threads");
    }
    if (!differences->failed)
        bang_agree_compare(differences, there, here);
    json_decref(there);
    json_decref(here);
}

/* text is another such description; -1 if it is none. */
static int compare_text(bang_text *differences, const json_t *about, const char *text)
{
    json_t *old = NULL;
    if (!text || bang_json_parse(&old, text, strlen(text), NULL) < 0 || !json_is_object(old)) {
        json_decref(old);
        return -1;
    }
    compare(differences, old, about);
    json_decref(old);
    return 0;
}

int train_about_accept(const json_t *about, const char *text, const char *path, bang_error *err)
{
    bang_text differences = {0};
    int rc = 0;
    if (compare_text(&differences, about, text) < 0)
        rc = bang_fail(err, BANG_EDATA,
                       "%.300s: is no state of a training: name another file for it, or remove "
                       "this one",
                       path);
    else if (differences.failed)
        rc = bang_fail_memory(err);
    else if (differences.size)
        rc = bang_fail(err, BANG_EUSAGE,
                       "%.300s: is the state of another training: %.600s: use the same options, or "
                       "begin anew without resuming",
                       path, differences.data + 2);
    bang_text_release(&differences);
    return rc;
}

/* Is this a state of ours, and of this training? */
static int check(const train_saver *saver, const bang_checkpoint *file, bang_error *err)
{
    const char *path = saver->how->path;
    const char *text = json_string_value(json_object_get(file->metadata, metadata_key));
    int rc = train_about_accept(saver->about, text, path, err);
    for (size_t i = 0; rc == 0 && i < saver->count; i++) {
        const bang_entry *entry = bang_checkpoint_find(file, saver->items[i].name);
        if (!entry || entry->dtype != saver->items[i].dtype ||
            bang_entry_count(entry) != saver->items[i].count)
            rc = bang_fail(err, BANG_EDATA, "%.300s: its tensor %s is missing or of another size",
                           path, saver->items[i].name);
    }
    return rc;
}

/* 0, 1 if it is there, or an error. */
static int is_there(const char *path, bang_error *err)
{
    FILE *file = fopen(path, "rb");
    if (file) {
        fclose(file);
        return 1;
    }
    return errno == ENOENT ? 0 : bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
}

static int load(train_saver *saver, bang_error *err)
{
    const char *path = saver->how->path;
    bang_checkpoint *file = NULL;
    int rc = is_there(path, err);
    if (rc <= 0)
        return rc;
    rc = bang_checkpoint_open(&file, path, err);
    if (rc == 0)
        rc = check(saver, file, err);
    for (size_t i = 0; rc == 0 && i < saver->count; i++) {
        const bang_entry *entry = bang_checkpoint_find(file, saver->items[i].name);
        rc = bang_checkpoint_read(file, entry, 0, saver->items[i].data, (size_t)entry->bytes, err);
    }
    bang_checkpoint_close(file);
    return rc < 0 ? rc : 1;
}

/* A state is written beside the one before; where there is none yet, it and what comes in the end
 * are on the disk together. */
static int check_room(const train_saver *saver, int found, bang_error *err)
{
    uint64_t state = 0, beside = saver->how->beside;
    for (size_t i = 0; i < saver->count; i++)
        state += (uint64_t)saver->items[i].count * bang_dtype_size(saver->items[i].dtype);
    uint64_t need = !found ? state + beside : state > beside ? state : beside;
    return bang_file_room(saver->how->path, NULL, need, err);
}

/* The file is rank 0's: others may be on machines that do not see it. */
int train_saver_load(train_saver *saver, bang_error *err)
{
    int first = bang_ranks_rank(saver->ranks) == 0;
    int found = first && saver->how->resume ? load(saver, err) : 0;
    int rc = found < 0 || !first ? found : check_room(saver, found, err);
    if (rc < 0 || !saver->how->resume)
        return rc;
    rc = bang_ranks_broadcast(saver->ranks, &found, sizeof found, err);
    for (size_t i = 0; rc == 0 && found && i < saver->count; i++)
        rc = bang_ranks_broadcast(saver->ranks, saver->items[i].data,
                                  saver->items[i].count * bang_dtype_size(saver->items[i].dtype),
                                  err);
    return rc < 0 ? rc : found;
}

int train_saver_accept(const train_saver *saver, uint64_t step, uint64_t steps, int sound,
                       bang_error *err)
{
    if (step >= 1 && step <= steps && sound)
        return 0;
    return bang_fail(err, BANG_EDATA,
                     "%.300s: is damaged: %sstep %llu of %llu: remove it, or begin anew without "
                     "resuming",
                     saver->how->path, sound ? "" : "impossible numbers at ",
                     (unsigned long long)step, (unsigned long long)steps);
}

int train_saver_is_due(const train_saver *saver)
{
    return now() - saver->last >= saver->how->seconds;
}

int train_saver_save(train_saver *saver, uint64_t step, bang_error *err)
{
    if (bang_ranks_rank(saver->ranks) > 0) { /* rank 0 holds the same */
        saver->saved = step;
        return 0;
    }
    /* The arrays only borrow their numbers: a large state is written from where it is. */
    char names[TRAIN_ITEMS_MOST][32];
    bang_tensor items[TRAIN_ITEMS_MOST];
    bang_tensors tensors = {.count = saver->count, .items = items};
    for (size_t i = 0; i < saver->count; i++) {
        snprintf(names[i], sizeof names[i], "%s", saver->items[i].name);
        items[i] = (bang_tensor){.name = names[i],
                                 .array = {.dtype = saver->items[i].dtype,
                                           .rank = 1,
                                           .shape = {saver->items[i].count},
                                           .count = saver->items[i].count,
                                           .data = saver->items[i].data}};
    }
    char *text = bang_json_line(saver->about);
    int rc =
        text ? bang_tensors_set_metadata(&tensors, metadata_key, text, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_safetensors_write(saver->how->path, &tensors, err);
    json_decref(tensors.metadata);
    free(text);
    if (rc == 0) {
        saver->last = now();
        saver->saved = step;
    }
    return rc;
}

int train_saver_try(train_saver *saver, uint64_t step, bang_error *err)
{
    const bang_train_state *how = saver->how;
    bang_error why = {0};
    int rc = train_saver_save(saver, step, &why);
    if (rc == BANG_EIO && how->missed) {
        saver->last = now();
        how->missed(how->context, why.message);
        return 0;
    }
    return rc < 0 ? bang_fail(err, rc, "%s", why.message) : 0;
}

int bang_train_state_remove(const char *path, bang_error *err)
{
    int rc = is_there(path, err);
    if (rc < 0)
        return rc;
    bang_file_sweep(path);
    if (rc > 0 && remove(path) != 0 && errno != ENOENT)
        return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
    return 0;
}
