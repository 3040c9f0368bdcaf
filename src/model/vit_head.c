/* Models as values: new ones, other heads, the names of classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/places.h"
#include "model/problems.h"
#include "model/vit_settings.h"

static void release_names(char **class_names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(class_names[i]);
    free((void *)class_names);
}

void bang_vit_model_release(bang_vit_model *model)
{
    release_names(model->class_names, model->class_count);
    json_decref(model->metadata);
    bang_vit_release(&model->vit);
    *model = (bang_vit_model){0};
}

int bang_vit_model_make(bang_vit_model *out, const bang_vit_config *config, uint64_t seed,
                        bang_error *err)
{
    *out = (bang_vit_model){.names = BANG_VIT_TIMM,
                            .mean = {0.5F, 0.5F, 0.5F},
                            .std = {0.5F, 0.5F, 0.5F}};
    if (config->projection)
        return bang_fail(err, BANG_EUSAGE, "projection %zu: only a CLIP has one",
                         config->projection);
    int rc = bang_vit_init(&out->vit, config, err);
    if (rc < 0) {
        bang_vit_model_release(out);
        return rc;
    }
    bang_vit_randomise(&out->vit, seed);
    return 0;
}

/* A copy of (count) names; the caller owns it. */
static int copy_names(char ***out, const char *const *class_names, size_t count, bang_error *err)
{
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(class_names[i]))) {
            release_names(copy, i);
            copy = NULL;
        }
    *out = copy;
    return copy ? 0 : bang_fail_memory(err);
}

int bang_vit_model_new_head(bang_vit_model *model, size_t classes, const char *const *names,
                            bang_error *err)
{
    char **copy = NULL;
    int rc = names ? copy_names(&copy, names, classes, err) : 0;
    if (rc == 0)
        rc = bang_vit_new_head(&model->vit, classes, err);
    if (rc < 0) {
        if (copy)
            release_names(copy, classes);
        return rc;
    }
    release_names(model->class_names, model->class_count);
    model->class_names = copy;
    model->class_count = copy ? classes : 0;
    return 0;
}
