/* How the tensors of a checkpoint are named and shaped: whose model it is.
 *
 *     bang_layout layout = bang_layout_guess(model);         // BANG_LAYOUT_CLIP_HF
 *     bang_layout_describe(&text, model, layout);            // "ViT-B/16, 224 px, ..."
 *
 * Only names and shapes are looked at. Names that a wrapper put in front
 * (module., model., image_encoder.model., _orig_mod., ...) are seen through; a
 * CLIP may lack one of its towers, or come with a head (classification_head.*).
 *
 * OpenAI's and open_clip's files of one model have the same names and shapes.
 * What tells them apart, in this order:
 *   clip-openai     input_resolution, context_length or vocab_size: scalars that
 *                   only OpenAI's own archives hold
 *   clip-open_clip  a text tower under "text.", attn_mask, logit_bias, an image
 *                   tower of timm (visual.trunk.), layer scale (ls_1.gamma)
 * Where nothing does, the guess is clip-openai: whoever reads one reads the other.
 */
#ifndef BANG_MODEL_LAYOUT_H
#define BANG_MODEL_LAYOUT_H

#include "bang/base/text.h"
#include "bang/store/checkpoint.h"

typedef enum bang_layout {
    BANG_LAYOUT_UNKNOWN,
    BANG_LAYOUT_CLIP_HF,        /* Hugging Face's CLIPModel */
    BANG_LAYOUT_CLIP_OPENAI,    /* OpenAI's, also with a ResNet */
    BANG_LAYOUT_CLIP_OPEN_CLIP, /* open_clip's */
    BANG_LAYOUT_VIT,            /* image classifiers of timm, Hugging Face, torchvision */
    BANG_LAYOUT_MLP,            /* N.weight and N.bias only: nn.Sequential, as bang trains it */
    BANG_LAYOUT_COUNT,
} bang_layout;

/* "clip-hf", "clip-openai", "clip-open_clip", "vit", "mlp", "unknown". */
const char *bang_layout_name(bang_layout layout);
/* The layout of that name into out; -1 if there is none. */
int bang_layout_find(bang_layout *out, const char *name);

bang_layout bang_layout_guess(const bang_checkpoint *checkpoint);

/* Sizes that names and shapes give away; 0: not there or not clear. */
typedef struct bang_layout_sizes {
    size_t width, depth, patch, image_size; /* of the image tower; pixels */
    size_t text_width, text_depth, context, vocabulary;
    size_t embedding; /* what both towers of a CLIP project to */
} bang_layout_sizes;
void bang_layout_measure(bang_layout_sizes *out, const bang_checkpoint *checkpoint,
                         bang_layout layout);

/* Adds such as "ViT-B/16, 224 px, width 768, depth 12; text width 512, depth 12"
 * or "784-512-10"; nothing when nothing is known. */
void bang_layout_describe(bang_text *out, const bang_checkpoint *checkpoint, bang_layout layout);

#endif
