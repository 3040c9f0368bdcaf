/* Where the tensors of a transformer are: in our parameters, and under which names
 * and in which form in a file. One list of places serves to check a file, to read it
 * and to write it. Private to this room.
 *
 *     bang_vit_places(&places, names, &parts, &err);        // what there should be
 *     bang_places_check(&places, &index, &sizes, &problems) // is it, and how large
 *     bang_places_read(parameters, &places, &map, map.blocks, checkpoint, &problems, &err);
 */
#ifndef BANG_MODEL_PLACES_H
#define BANG_MODEL_PLACES_H

#include "bang/base/text.h"
#include "bang/model/vit_file.h"

/* The tensors of a checkpoint by their names inside wrappers. */
typedef struct named {
    const char *name; /* borrowed from the entry */
    const bang_entry *entry;
    int used; /* some place has taken it */
} named;
typedef struct name_index {
    size_t count;
    named *items; /* (count) sorted by name */
} name_index;

/* The caller releases it; the checkpoint must stay. */
int bang_names_init(name_index *out, const bang_checkpoint *checkpoint, bang_error *err);
void bang_name_index_release(name_index *index);
/* Borrowed, or NULL. */
named *bang_names_find(const name_index *index, const char *name);
/* The first that begins so, or NULL. */
named *bang_names_begin(const name_index *index, const char *begin);
/* One more than the largest number N of names "PREFIXN.what". */
size_t bang_names_layers(const name_index *index, const char *prefix);

/* Sizes by their letter, 0 while not known: W width, T 3 W, M hidden, N positions,
 * C channels, P patch, E projection, F features, K classes, V vocabulary. */
typedef struct sizes {
    size_t of['Z' + 1];
} sizes;

enum { PLACE_NAME = 96, PLACE_PARTS = 3, PLACE_RANK = 6 };
#define PLACE_WHOLE SIZE_MAX

typedef struct place {
    size_t block;      /* whose tensor it is, or PLACE_WHOLE: the tower's */
    size_t field;      /* where its offset stands in a bang_vit_block, or in the map */
    const char *shape; /* in our parameters, a letter for each dimension */
    int ones;          /* dimensions of 1 that the file has before these */
    int turned;        /* the file has it transposed */
    int parts;         /* 1, or 3: q, k, v apart, thirds along dimension 0 */
    char names[PLACE_PARTS][PLACE_NAME];
    const bang_entry *entries[PLACE_PARTS]; /* once checked */
} place;

typedef struct places {
    size_t count, capacity;
    place *items; /* (count) */
} places;

/* A zeroed one at the end, borrowed; NULL when memory is out. */
place *bang_places_add(places *list);
void bang_places_release(places *list);

/* Finds the tensors of all places; sizes that are not known are taken from the first
 * that has them, and what does not agree, or is missing, is a line of problems. */
void bang_places_check(places *list, const name_index *index, sizes *sizes, bang_text *problems);
/* The shape in the file of one part, into shape; returns its rank. */
int bang_place_shape(size_t shape[PLACE_RANK], const place *p, const sizes *sizes);
/* Numbers of all places together; SIZE_MAX where that overflows. */
size_t bang_places_count(const places *list, const sizes *sizes);
/* More numbers than the files have bytes are a line of problems: tensors may share bytes,
 * but memory is not taken for what cannot be meant. */
void bang_places_claim(const places *list, const sizes *sizes, const bang_checkpoint *checkpoint,
                       bang_text *problems);
/* Where it begins in the parameters; map is what fields of PLACE_WHOLE count in. */
size_t bang_place_offset(const place *p, const void *map, const bang_vit_block *blocks);
/* Reads all places that were checked. Numbers that are not finite are lines of problems. */
int bang_places_read(float *parameters, const places *list, const void *map,
                     const bang_vit_block *blocks, bang_checkpoint *checkpoint, bang_text *problems,
                     bang_error *err);

/* What an image tower in a file has, beside what all have. */
typedef struct vit_parts {
    int bare; /* Hugging Face's ViT without "vit." */
    size_t depth;
    int patch_bias, norm_first, projection;
    const char *head; /* what stands before .weight and .bias, or NULL */
    int head_bias;
} vit_parts;
int bang_vit_places(places *out, bang_vit_names names, const vit_parts *parts, bang_error *err);
/* Those of the head alone. */
int bang_head_places(places *out, const vit_parts *parts, bang_error *err);
/* "head", "classifier" or "classification_head" */
const char *bang_vit_head_name(bang_vit_names names);

/* Where a text tower begins in its parameters. */
typedef struct text_map {
    size_t tokens, positions, norm_gain, norm_bias, projection;
} text_map;
/* prefix goes before all names: "" or open_clip's "text.". */
int bang_text_places(places *out, int hf, const char *prefix, size_t depth, bang_error *err);

#endif
