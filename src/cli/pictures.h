/* What commands that read pictures with a vision transformer share: how pictures
 * become its input, and what the file of a model does not tell.
 *
 *     picture_options pictures = PICTURE_OPTIONS_INIT;
 *     cli_option options[] = {..., PICTURE_OPTIONS(&pictures), {0}};
 *     picture_options_check(c, &pictures);                   // before any file is read
 *     bang_vit_model_load(&model, path, &pictures.hints, &err);
 *     picture_options_apply(c, &pictures, &model, path);     // mean, std
 *     feed.transform.crop = pictures.crop;
 */
#ifndef BANG_CLI_PICTURES_H
#define BANG_CLI_PICTURES_H

#include "bang/data/transform.h"
#include "bang/model/vit_file.h"
#include "cli.h"

typedef struct picture_options {
    /* as typed */
    int64_t size, heads; /* 0: not given */
    const char *mean_text, *std_text, *crop_text, *gelu_text, *bad_text;
    /* after picture_options_check */
    float mean[3], std[3];     /* valid where the text is given */
    int mean_count, std_count; /* numbers that were typed: 1 or 3 */
    bang_crop crop;
    bang_vit_hints hints;
    int skip_bad;
} picture_options;
#define PICTURE_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .hints = BANG_VIT_HINTS_INIT                                                               \
    }

#define PICTURE_OPTIONS(p)                                                                          \
    {"image-size",   0,         "N", "edge of a network's input, pixels (the model's)",             \
     cli_read_whole, &(p)->size},                                                                   \
        {"mean",         0, "M[,M,M]", "taken off the pixels, 0 to 1 (the model's)", cli_read_text, \
         &(p)->mean_text},                                                                          \
        {"std", 0, "S[,S,S]", "then divided by this (the model's)", cli_read_text, &(p)->std_text}, \
        {"crop",        0,                                                                          \
         "HOW",         "centre as torchvision or hf places it (torchvision)",                      \
         cli_read_text, &(p)->crop_text},                                                           \
        {"heads",                                                                                   \
         0,                                                                                         \
         "N",                                                                                       \
         "attention heads (the file's, else width/64; 4 in a new one)",                             \
         cli_read_whole,                                                                            \
         &(p)->heads},                                                                              \
        {"gelu",        0,                                                                          \
         "KIND",        "exact, quick or tanh (as the file's layout has it)",                       \
         cli_read_text, &(p)->gelu_text},                                                           \
    {                                                                                               \
        "on-bad-image", 0, "HOW", "fail, or skip what cannot be read (fail)", cli_read_text,        \
            &(p)->bad_text                                                                          \
    }

/* Reads what was typed; says through c what is wrong. */
void picture_options_check(cli *c, picture_options *o);
/* Puts mean and standard deviation into the model and its positions on another grid if the
 * size is another; says through c where that cannot be. */
void picture_options_apply(cli *c, const picture_options *o, bang_vit_model *model,
                           const char *path);

#endif
