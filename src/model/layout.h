/* The names of a CLIP in its layouts, and what surrounds them. Private to this room. */
#ifndef BANG_MODEL_LAYOUT_PRIVATE_H
#define BANG_MODEL_LAYOUT_PRIVATE_H

#include "bang/model/layout.h"

/* Where the part of a name begins that a wrapper has not put there. */
const char *bang_layout_unwrap(const char *name);
/* The same for one wrapper; name itself when there is none. */
const char *bang_layout_unwrap_once(const char *name);
/* 1 when text begins so. */
int bang_layout_begins(const char *text, const char *begin);
/* The tensor that is called so inside its wrappers; NULL if there is none. */
const bang_entry *bang_layout_entry(const bang_checkpoint *checkpoint, const char *name);
/* PREFIX, a number without leading zeros, a point: what follows, or NULL. */
const char *bang_layout_number(size_t *number, const char *name, const char *prefix);
/* Splits "PREFIX.12.weight": size of what stands before the number, the number,
 * what follows it; -1 where a name has no number so. */
int bang_layout_split(const char *name, size_t *size, unsigned long *number, const char **what);

enum { CLIP_VISION, CLIP_TEXT, CLIP_TOWERS };

/* How a tensor lies in Hugging Face's layout compared to OpenAI's. */
enum clip_form {
    CLIP_SAME,
    CLIP_TURNED,  /* transposed */
    CLIP_STACKED, /* q, k, v apart: thirds of OpenAI's, along dimension 0 */
};

/* One tensor of a tower or of one of its layers. */
typedef struct clip_slot {
    const char *openai, *hf; /* a % in hf stands for q, k, v */
    /* One letter per dimension in OpenAI's layout: W width, T 3 W, M hidden, E embedding,
     * N positions, V vocabulary, C channels, P and Q the patch; NULL: any shape. */
    const char *shape;
    enum clip_form form;
    int tower; /* of those that are no layer's; logit_scale belongs to CLIP_TOWERS */
} clip_slot;

enum { CLIP_SLOTS = 14, CLIP_LAYER_SLOTS = 12, CLIP_LAYERS_MAX = 10000 };
extern const clip_slot bang_clip_slots[CLIP_SLOTS];
extern const clip_slot bang_clip_layer_slots[CLIP_LAYER_SLOTS];

/* Which tensor of a CLIP a name means. */
typedef struct clip_place {
    int tower, layered;
    size_t layer; /* if layered */
    int slot;     /* of bang_clip_layer_slots if layered, else of bang_clip_slots */
    int third;    /* 0, 1, 2 for q, k, v where they are apart */
} clip_place;

const clip_slot *bang_clip_slot(const clip_place *place);
/* By a name inside its wrappers, in Hugging Face's layout or the other; -1: none. */
int bang_clip_find(clip_place *out, const char *name, int hf);
void bang_clip_name(char *out, size_t size, const clip_place *place, int hf);

/* An image tower that is no ViT (ResNet, timm): its name's beginning, or NULL. */
const char *bang_clip_foreign(const char *name);

#endif
