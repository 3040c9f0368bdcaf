#include "model/vit_settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"

const char bang_vit_key[] = "bang.vit";

/* Where a value was found, for messages. */
typedef struct origin {
    const char *name;
    bang_text *problems;
} origin;

static void take_count(size_t *out, const json_t *object, const char *key, const origin *from)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return;
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > 1000000)
        bang_text_add(from->problems, "%s: %s: is no count\n", from->name, key);
    else
        *out = (size_t)json_integer_value(value);
}

static void take_epsilon(double *out, const json_t *object, const char *key, const origin *from)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return;
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number > 0) || number > 1)
        bang_text_add(from->problems, "%s: %s: must be a small positive number\n", from->name, key);
    else
        *out = number;
}

/* Three numbers, or one for all channels. */
static void take_channels(float out[3], const json_t *object, const char *key, int positive,
                          const origin *from)
{
    const json_t *list = json_object_get(object, key);
    size_t count = json_array_size(list);
    int fits = count == 1 || count == 3;
    float numbers[3] = {0};
    if (!list || json_is_null(list))
        return;
    for (size_t i = 0; i < 3 && fits; i++) {
        const json_t *value = json_array_get(list, count == 1 ? 0 : i);
        numbers[i] = (float)json_number_value(value);
        fits = json_is_number(value) && isfinite(numbers[i]) && (!positive || numbers[i] > 0);
    }
    if (fits)
        memcpy(out, numbers, sizeof numbers);
    else
        bang_text_add(from->problems, "%s: %s: must be one or three %snumbers\n", from->name, key,
                      positive ? "positive " : "");
}

/* Names of activations in configs, ours first. */
static void take_gelu(int *out, const json_t *object, const char *key, const origin *from)
{
    static const struct {
        const char *name;
        bang_gelu gelu;
    } known[] = {{"exact", BANG_GELU_EXACT},
                 {"quick", BANG_GELU_QUICK},
                 {"tanh", BANG_GELU_TANH},
                 {"gelu", BANG_GELU_EXACT},
                 {"quick_gelu", BANG_GELU_QUICK},
                 {"gelu_new", BANG_GELU_TANH},
                 {"gelu_pytorch_tanh", BANG_GELU_TANH}};
    const json_t *value = json_object_get(object, key);
    const char *name = json_string_value(value);
    if (!value || json_is_null(value))
        return;
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = (int)known[i].gelu;
            return;
        }
    bang_text_add(from->problems,
                  "%s: %s %.40s: only gelu, quick_gelu and gelu_pytorch_tanh are "
                  "known\n",
                  from->name, key, name ? name : "");
}

static void take_tower(tower_settings *out, const json_t *object, const origin *from)
{
    take_count(&out->heads, object, "num_attention_heads", from);
    take_gelu(&out->gelu, object, "hidden_act", from);
    take_epsilon(&out->epsilon, object, "layer_norm_eps", from);
}

/* Hugging Face's {"0": name, ...}, timm's [name, ...]; what is neither says nothing, nor do
 * the names that Hugging Face gives where nobody gave any. */
static void take_labels(vit_settings *out, const json_t *config)
{
    const json_t *map = json_object_get(config, "id2label");
    json_t *list = json_array(), *names = json_object_get(config, "label_names");
    size_t count = json_is_object(map) ? json_object_size(map) : json_array_size(names);
    for (size_t i = 0; i < count; i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        json_t *name = json_is_object(map) ? json_object_get(map, key) : json_array_get(names, i);
        const char *text = json_string_value(name);
        if (text && strncmp(text, "LABEL_", strlen("LABEL_")) != 0)
            json_array_append(list, name);
    }
    if (count && json_array_size(list) == count) {
        json_decref(out->labels);
        out->labels = json_incref(list);
    }
    json_decref(list);
}

/* Hugging Face's config.json; timm's has pretrained_cfg. */
static void take_config(vit_settings *out, const json_t *config, const origin *from)
{
    const json_t *trained = json_object_get(config, "pretrained_cfg");
    take_tower(&out->image, config, from);
    take_tower(&out->image, json_object_get(config, "vision_config"), from);
    take_tower(&out->text, json_object_get(config, "text_config"), from);
    take_channels(out->mean, trained, "mean", 0, from);
    take_channels(out->std, trained, "std", 1, from);
    take_labels(out, config);
}

static void take_preprocessor(vit_settings *out, const json_t *config, const origin *from)
{
    take_channels(out->mean, config, "image_mean", 0, from);
    take_channels(out->std, config, "image_std", 1, from);
}

static void take_open_clip(vit_settings *out, const json_t *config, const origin *from)
{
    const json_t *model = json_object_get(config, "model_cfg");
    const json_t *vision = json_object_get(model, "vision_cfg");
    const json_t *preprocess = json_object_get(config, "preprocess_cfg");
    if (json_is_object(model))
        out->image.gelu = out->text.gelu =
            json_is_true(json_object_get(model, "quick_gelu")) ? BANG_GELU_QUICK : BANG_GELU_EXACT;
    take_count(&out->image.head_width, vision, "head_width", from);
    take_count(&out->text.heads, json_object_get(model, "text_cfg"), "heads", from);
    take_channels(out->mean, preprocess, "mean", 0, from);
    take_channels(out->std, preprocess, "std", 1, from);
}

/* Of the folder that holds the weights, if it holds nothing else: it was named itself,
 * or the file has the name that such folders give it. */
static char *config_folder(const bang_checkpoint *c)
{
    static const char *const usual[] = {"model.safetensors", "pytorch_model.bin",
                                        "open_clip_model.safetensors",
                                        "open_clip_pytorch_model.bin"};
    const char *slash = strrchr(c->path, '/'), *name = slash ? slash + 1 : c->path;
    int is_usual = c->is_folder || c->index != NULL;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        is_usual |= strcmp(name, usual[i]) == 0;
    if (!is_usual)
        return NULL;
    return c->is_folder ? strdup(c->path)
           : slash      ? strndup(c->path, (size_t)(slash - c->path) + 1)
                        : strdup(".");
}

static void read_configs(vit_settings *out, const bang_checkpoint *c, bang_text *problems)
{
    static const struct {
        const char *name;
        void (*take)(vit_settings *out, const json_t *config, const origin *from);
    } files[] = {{"config.json", take_config},
                 {"preprocessor_config.json", take_preprocessor},
                 {"open_clip_config.json", take_open_clip}};
    char *folder = config_folder(c);
    for (size_t i = 0; folder && i < sizeof files / sizeof *files; i++) {
        char *path = bang_path_join(folder, files[i].name), *text = NULL;
        size_t size;
        json_t *config = NULL;
        bang_error why = {0};
        origin from = {files[i].name, problems};
        /* one that is not there, or cannot be read, says nothing */
        if (path && bang_file_read(&text, &size, path, &why) == 0) {
            if (bang_json_parse(&config, text, size, &why) < 0)
                bang_text_add(problems, "%s: %s\n", files[i].name, why.message);
            else
                files[i].take(out, config, &from);
        }
        json_decref(config);
        free(text);
        free(path);
    }
    free(folder);
}

json_t *bang_vit_classes(const json_t *metadata, bang_text *problems)
{
    const char *text = json_string_value(json_object_get(metadata, bang_vit_key));
    json_t *object = NULL, *classes = NULL;
    bang_error why = {0};
    if (!text)
        return NULL;
    if (bang_json_parse(&object, text, strlen(text), &why) < 0) {
        bang_text_add(problems, "metadata: %s: %s\n", bang_vit_key, why.message);
        return NULL;
    }
    json_t *list = json_object_get(object, "classes");
    int strings = json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++)
        strings &= json_is_string(json_array_get(list, i));
    if (list && !strings)
        bang_text_add(problems, "metadata: %s: classes: must be a list of names\n", bang_vit_key);
    else if (list)
        classes = json_incref(list);
    json_decref(object);
    return classes;
}

static void read_metadata(vit_settings *out, const bang_checkpoint *c, bang_text *problems)
{
    const char *text = json_string_value(json_object_get(c->metadata, bang_vit_key));
    origin from = {"metadata: bang.vit", problems};
    json_t *object = NULL;
    out->classes = bang_vit_classes(c->metadata, problems); /* says if it is no JSON */
    if (!text || bang_json_parse(&object, text, strlen(text), NULL) < 0)
        return;
    const json_t *unit = json_object_get(object, "unit_features");
    take_count(&out->image.heads, object, "heads", &from);
    take_gelu(&out->image.gelu, object, "gelu", &from);
    take_epsilon(&out->image.epsilon, object, "epsilon", &from);
    take_channels(out->mean, object, "mean", 0, &from);
    take_channels(out->std, object, "std", 1, &from);
    if (json_is_boolean(unit))
        out->unit_features = json_is_true(unit);
    json_decref(object);
}

static void set_defaults(vit_settings *out, const bang_checkpoint *c, bang_vit_names names)
{
    static const float clip_mean[] = {0.48145466F, 0.4578275F, 0.40821073F};
    static const float clip_std[] = {0.26862954F, 0.26130258F, 0.27577711F};
    int clip = names == BANG_VIT_CLIP_OPENAI || names == BANG_VIT_CLIP_HF;
    bang_gelu gelu = clip && bang_layout_guess(c) != BANG_LAYOUT_CLIP_OPEN_CLIP ? BANG_GELU_QUICK
                                                                                : BANG_GELU_EXACT;
    double epsilon = clip ? 1e-5 : names == BANG_VIT_HF ? 1e-12 : 1e-6;
    *out = (vit_settings){.image = {.gelu = (int)gelu, .epsilon = epsilon},
                          .text = {.gelu = (int)gelu, .epsilon = epsilon},
                          .unit_features = clip};
    for (int i = 0; i < 3; i++) {
        out->mean[i] = clip ? clip_mean[i] : 0.5F;
        out->std[i] = clip ? clip_std[i] : 0.5F;
    }
}

void bang_vit_settings_read(vit_settings *out, const bang_checkpoint *checkpoint,
                            bang_vit_names names, const bang_vit_hints *hints, bang_text *problems)
{
    set_defaults(out, checkpoint, names);
    read_configs(out, checkpoint, problems);
    read_metadata(out, checkpoint, problems);
    if (hints && hints->heads)
        out->image.heads = hints->heads;
    if (hints && hints->text_heads)
        out->text.heads = hints->text_heads;
    if (hints && hints->gelu >= 0)
        out->image.gelu = out->text.gelu = hints->gelu;
    if (hints && hints->epsilon > 0)
        out->image.epsilon = out->text.epsilon = hints->epsilon;
}

void bang_vit_settings_release(vit_settings *settings)
{
    json_decref(settings->classes);
    json_decref(settings->labels);
    settings->classes = settings->labels = NULL;
}

size_t bang_vit_settings_heads(const tower_settings *tower, size_t width, int is_text,
                               bang_text *problems)
{
    const char *option = is_text ? "--text-heads" : "--heads";
    size_t heads = tower->heads;
    if (!heads && tower->head_width && width % tower->head_width == 0)
        heads = width / tower->head_width;
    if (!heads && !is_text && (width == 1280 || width == 1408 || width == 1664)) /* -H, -g, -bigG */
        heads = 16;
    if (!heads && width % 64 == 0)
        heads = width / 64;
    if (!heads)
        bang_text_add(problems,
                      "heads: not in the file, and its width %zu is no multiple of 64: say how "
                      "many with %s N\n",
                      width, option);
    else if (width % heads != 0)
        bang_text_add(problems, "heads: %zu: do not divide the width %zu: say how many with %s N\n",
                      heads, width, option);
    return heads;
}
