/* Vision transformers in files: timm's and Hugging Face's ViT, the image tower of
 * a CLIP in OpenAI's, open_clip's and Hugging Face's layout, with or without a
 * head (classification_head.weight/.bias; timm's head; Hugging Face's classifier),
 * under wrappers' prefixes (module., model., image_encoder.model., ...) or not.
 *
 *     bang_vit_model model;
 *     bang_vit_model_load(&model, "vit.safetensors", &hints, &err);
 *     bang_vit_model_save(&model, "tuned.safetensors", &err);
 *     bang_vit_model_release(&model);
 *
 * A file is saved under the names that it was loaded with (wrappers removed), the
 * image tower and the head only; a CLIP's head as classification_head.weight and
 * .bias. What shapes do not tell stands in the metadata under "bang.vit", a JSON
 * object: {"heads", "gelu": "exact"|"quick"|"tanh", "epsilon", "mean": [..],
 * "std": [..], "unit_features": true|false, "classes": [names]?}; a file without it
 * is read as its layout has it (heads width/64, or 16 for the widths 1280, 1408 and 1664
 * of the largest; CLIP: quick GELU, exact in open_clip's own files, epsilon 1e-5, CLIP's
 * mean and std, unit features; ViT: exact, 1e-6 for timm, 1e-12 for Hugging Face, 0.5).
 * Where a folder holds the weights, its config.json, preprocessor_config.json and
 * open_clip_config.json are asked, too, also for the names of the classes (id2label, or
 * timm's label_names).
 */
#ifndef BANG_MODEL_VIT_FILE_H
#define BANG_MODEL_VIT_FILE_H

#include "bang/base/json.h"
#include "bang/model/layout.h"
#include "bang/model/vit.h"
#include "bang/store/checkpoint.h"

/* What the user knows better than the file; 0, NULL or -1: as the file says. */
typedef struct bang_vit_hints {
    size_t heads; /* of the image tower */
    int gelu;     /* bang_gelu, or -1 */
    double epsilon;
    size_t text_heads; /* of the text tower */
} bang_vit_hints;
#define BANG_VIT_HINTS_INIT                                                                        \
    {                                                                                              \
        0, -1, 0, 0                                                                                \
    }

typedef enum bang_vit_names {
    BANG_VIT_TIMM,        /* also what bang trains from scratch */
    BANG_VIT_HF,          /* Hugging Face's ViTForImageClassification */
    BANG_VIT_CLIP_OPENAI, /* and open_clip */
    BANG_VIT_CLIP_HF,
} bang_vit_names;

typedef struct bang_vit_model {
    bang_vit vit;
    bang_vit_names names;
    int bare;              /* Hugging Face's ViT without "vit." before its names */
    float mean[3], std[3]; /* of the input, per channel */
    size_t class_count;    /* names of the classes, 0 or vit.config.classes */
    char **class_names;    /* owned */
    json_t *metadata;      /* further entries to keep, object of strings, or NULL; owned */
} bang_vit_model;

/* path: any checkpoint that room store opens. All problems in one message. f16 and
 * bf16 are widened. The caller releases it. */
int bang_vit_model_load(bang_vit_model *out, const char *path, const bang_vit_hints *hints,
                        bang_error *err);
int bang_vit_model_read(bang_vit_model *out, bang_checkpoint *checkpoint,
                        const bang_vit_hints *hints, bang_error *err);
/* A new one, random, in timm's layout, mean = std = 0.5. */
int bang_vit_model_make(bang_vit_model *out, const bang_vit_config *config, uint64_t seed,
                        bang_error *err);
/* .safetensors in f32. Same model, same bytes. */
int bang_vit_model_save(const bang_vit_model *model, const char *path, bang_error *err);
void bang_vit_model_release(bang_vit_model *model);

/* Replaces the head by that of a file (classification_head.*, head.*, classifier.*) with its
 * class names, if there are any. */
int bang_vit_model_set_head(bang_vit_model *model, const char *path, bang_error *err);
/* names may be NULL; else (classes) of them, copied. */
int bang_vit_model_new_head(bang_vit_model *model, size_t classes, const char *const *names,
                            bang_error *err);
/* A head alone: classification_head.weight (classes, features) and .bias, and the names
 * (or NULL) in the metadata under "bang.vit". */
int bang_head_save(const char *path, const float *weight, const float *bias, size_t classes,
                   size_t features, const char *const *names, bang_error *err);

#endif
