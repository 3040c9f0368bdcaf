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
    *out = (bang_vit_model){
        .names = BANG_VIT_TIMM, .mean = {0.5F, 0.5F, 0.5F}, .std = {0.5F, 0.5F, 0.5F}};
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

/* The head of a file: what it is called, and its numbers. */
typedef struct head {
    name_index index;
    places list;
    sizes sizes;
    json_t *classes; /* names, or NULL */
    float *numbers;  /* weight (K, F), then bias (K) */
    bang_text problems;
} head;

static int find_head(head *h, const bang_checkpoint *c, size_t features, bang_error *err)
{
    static const char *const known[] = {"classification_head", "head", "classifier"};
    char name[PLACE_NAME];
    h->sizes.of['F'] = features;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        vit_parts parts = {.head = known[i]};
        snprintf(name, sizeof name, "%s.weight", known[i]);
        if (!bang_names_find(&h->index, name))
            continue;
        snprintf(name, sizeof name, "%s.bias", known[i]);
        parts.head_bias = bang_names_find(&h->index, name) != NULL;
        return bang_head_places(&h->list, &parts, err);
    }
    return bang_fail(err, BANG_EDATA,
                     "%s: no head: it has neither classification_head.weight nor head.weight nor "
                     "classifier.weight",
                     c->path);
}

static int read_head(head *h, bang_checkpoint *c, bang_error *err)
{
    bang_places_check(&h->list, &h->index, &h->sizes, &h->problems);
    size_t classes = h->sizes.of['K'], features = h->sizes.of['F'];
    h->classes = bang_vit_classes(c->metadata, &h->problems);
    if (h->classes && json_array_size(h->classes) != classes)
        bang_text_add(&h->problems, "metadata: %s: names %zu classes: the head has %zu\n",
                      bang_vit_key, json_array_size(h->classes), classes);
    bang_places_claim(&h->list, &h->sizes, c, &h->problems);
    int rc = bang_problems_fail(&h->problems, c->path, NULL, err);
    if (rc < 0)
        return rc;
    bang_vit_map map = {.head_weight = 0, .head_bias = classes * features};
    size_t count = bang_places_count(&h->list, &h->sizes);
    if (count < SIZE_MAX - classes && features < SIZE_MAX / classes)
        h->numbers = calloc(count + classes, sizeof *h->numbers);
    if (!h->numbers)
        return bang_fail_memory(err);
    rc = bang_places_read(h->numbers, &h->list, &map, NULL, c, &h->problems, err);
    return rc == 0 ? bang_problems_fail(&h->problems, c->path, NULL, err) : rc;
}

static int put_head(bang_vit_model *model, const head *h, bang_error *err)
{
    size_t classes = h->sizes.of['K'], features = h->sizes.of['F'];
    const char **class_names = NULL;
    if (h->classes && !(class_names = calloc(classes + 1, sizeof *class_names)))
        return bang_fail_memory(err);
    for (size_t i = 0; class_names && i < classes; i++)
        class_names[i] = json_string_value(json_array_get(h->classes, i));
    int rc = bang_vit_model_new_head(model, classes, class_names, err);
    free((void *)class_names);
    if (rc < 0)
        return rc;
    const bang_vit_map *map = &model->vit.map;
    memcpy(model->vit.parameters + map->head_weight, h->numbers,
           classes * features * sizeof *h->numbers);
    memcpy(model->vit.parameters + map->head_bias, h->numbers + classes * features,
           classes * sizeof *h->numbers);
    return 0;
}

int bang_vit_model_set_head(bang_vit_model *model, const char *path, bang_error *err)
{
    bang_checkpoint *checkpoint;
    head h = {0};
    int rc = bang_checkpoint_open(&checkpoint, path, err);
    if (rc < 0)
        return rc;
    rc = bang_names_init(&h.index, checkpoint, err);
    if (rc == 0)
        rc = find_head(&h, checkpoint, bang_vit_features(&model->vit.config), err);
    if (rc == 0)
        rc = read_head(&h, checkpoint, err);
    if (rc == 0)
        rc = put_head(model, &h, err);
    free(h.numbers);
    json_decref(h.classes);
    bang_text_release(&h.problems);
    bang_places_release(&h.list);
    bang_name_index_release(&h.index);
    bang_checkpoint_close(checkpoint);
    return rc;
}
