/* Models of the lab: trained, kept in files, and taken from them by a run that goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "lab/shift_unit.h"

static const char digest_key[] = "bang.run"; /* as bang train has it */

int shift_make_model(bang_vit_model *out, uint64_t seed, bang_error *err)
{
    const bang_vit_config config = {.image = BANG_SHIFT_SIDE,
                                    .patch = 7,
                                    .channels = 1,
                                    .width = 64,
                                    .depth = SHIFT_DEPTH,
                                    .heads = 4,
                                    .hidden = 128,
                                    .classes = BANG_SHIFT_CLASSES,
                                    .gelu = BANG_GELU_EXACT,
                                    .epsilon = 1e-5,
                                    .patch_bias = 1};
    int rc = bang_vit_model_make(out, &config, seed, err);
    for (int i = 0; rc == 0 && i < 3; i++) {
        out->mean[i] = .3F;
        out->std[i] = .35F;
    }
    return rc;
}

int shift_copy(bang_vit_model *out, const bang_vit_model *model, bang_error *err)
{
    int rc = bang_vit_model_make(out, &model->vit.config, 0, err);
    if (rc < 0)
        return rc;
    memcpy(out->mean, model->mean, sizeof out->mean);
    memcpy(out->std, model->std, sizeof out->std);
    memcpy(out->vit.parameters, model->vit.parameters,
           model->vit.map.count * sizeof *model->vit.parameters);
    return 0;
}

/* FOLDER/models/seed-S or, with a name, its file; the caller frees it. */
static char *path_of(const shift_run *run, const shift_seed *seed, const char *name)
{
    bang_text path = {0};
    bang_text_add(&path, "%s/models/seed-%zu", run->options->folder, seed->unit + 1);
    if (name)
        bang_text_add(&path, "/%s.safetensors", name);
    if (path.failed)
        bang_text_release(&path);
    return path.data;
}

/* 1: the file holds what this digest stands for, and model is it. Whatever else there is, a torn
 * or foreign file too, will be replaced. */
static int take_file(bang_vit_model *model, const char *path, const char *digest)
{
    const bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    bang_checkpoint *file = NULL;
    bang_vit_model there = {0};
    bang_error ignored = {0};
    if (bang_checkpoint_open(&file, path, &ignored) < 0)
        return 0;
    const char *found = json_string_value(json_object_get(file->metadata, digest_key));
    int fits = found && strcmp(found, digest) == 0 &&
               bang_vit_model_read(&there, file, &hints, &ignored) == 0;
    if (fits && (fits = there.vit.map.count == model->vit.map.count))
        memcpy(model->vit.parameters, there.vit.parameters,
               model->vit.map.count * sizeof *model->vit.parameters);
    bang_vit_model_release(&there);
    bang_checkpoint_close(file);
    return fits;
}

static int keep(bang_vit_model *model, const char *top, const char *folder, const char *path,
                const char *digest, bang_error *err)
{
    int rc = bang_folder_create_below(top, folder, err);
    json_decref(model->metadata);
    model->metadata = json_pack("{ss}", digest_key, digest);
    if (rc == 0 && !model->metadata)
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = bang_vit_model_save(model, path, err);
    if (rc == 0)
        bang_folder_sweep(folder, NULL, NULL);
    return rc;
}

typedef struct watch {
    shift_run *run;
    uint64_t told;
} watch;

static void watch_training(void *context, bang_tune_phase phase, uint64_t done, uint64_t total)
{
    watch *w = context;
    (void)total;
    if (phase != BANG_TUNE_STEPS)
        return;
    shift_trained(w->run, done - w->told);
    w->told = done;
}

/* Trains model, which is as it begins, or takes what an earlier run made of it. */
static int obtain(bang_vit_model *model, shift_run *run, const shift_seed *seed,
                  const bang_images *images, const char *name, const bang_tune_options *options,
                  bang_error *err)
{
    char digest[BANG_DIGEST_TEXT], *folder = path_of(run, seed, NULL);
    char *path = path_of(run, seed, name);
    watch w = {run, 0};
    bang_tune_options how = *options;
    how.train.cancel = run->options->cancel;
    how.progress = watch_training;
    how.context = &w;
    int rc = folder && path ? bang_tune_digest(digest, model, images, NULL, &how, err)
                            : bang_fail_memory(err);
    if (rc == 0 && run->options->resume && take_file(model, path, digest)) {
        shift_trained(run, shift_pictures(&how, images->count));
    } else if (rc == 0) {
        rc = bang_tune_vit(model, images, NULL, &how, NULL, err);
        if (rc == 0)
            rc = keep(model, run->options->folder, folder, path, digest, err);
    }
    free(folder);
    free(path);
    return rc;
}

int shift_train_pre(shift_run *run, shift_seed *seed, bang_error *err)
{
    bang_tune_options options;
    shift_recipe_pre(&options, run->plan, seed->unit);
    int rc = shift_make_model(&seed->pre, run->plan->seed + seed->unit, err);
    return rc < 0 ? rc : obtain(&seed->pre, run, seed, &seed->data.broad, "pre", &options, err);
}

int shift_train_fine(shift_run *run, shift_seed *seed, bang_vit_model *fine, const char *name,
                     const bang_tune_options *options, bang_error *err)
{
    int rc = shift_copy(fine, &seed->pre, err);
    return rc < 0 ? rc : obtain(fine, run, seed, &seed->data.tune, name, options, err);
}
