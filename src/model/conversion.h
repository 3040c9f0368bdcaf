/* How a conversion is planned: every tensor gets its place in a CLIP, the places
 * are checked, and then filled in the other layout. Private to this room. */
#ifndef BANG_MODEL_CONVERSION_PRIVATE_H
#define BANG_MODEL_CONVERSION_PRIVATE_H

#include "bang/base/arena.h"
#include "bang/model/conversion.h"
#include "model/layout.h"

struct bang_conversion_state {
    bang_arena arena; /* names, shapes, tensors, items */
    bang_output_item *items;
};

/* What fills one place: q, k, v where they are apart, else the first alone. */
typedef struct clip_sources {
    const bang_entry *entries[3];
    int has_prefix; /* its name had open_clip's "text." */
    int done;       /* its tensors are in the plan */
} clip_sources;

/* What one tensor of the checkpoint is. */
typedef enum clip_role { CLIP_EXTRA, CLIP_PLACED, CLIP_IDS, CLIP_DROPPED } clip_role;
typedef struct clip_assigned {
    clip_role role;
    const char *name; /* of an extra: without what wraps the whole file */
    clip_place place; /* if placed; of position_ids the tower */
    int has_prefix;   /* if placed: open_clip's "text." */
} clip_assigned;

typedef struct planning {
    bang_conversion *plan;
    bang_checkpoint *checkpoint;
    int from_hf, to_hf;
    const char *foreign;     /* an image tower that is no ViT: how its names begin */
    clip_assigned *assigned; /* (count of the checkpoint) */
    clip_sources fixed[CLIP_SLOTS];
    clip_sources *layers[CLIP_TOWERS]; /* (depth, CLIP_LAYER_SLOTS) */
    size_t depth[CLIP_TOWERS];
    int ids[CLIP_TOWERS]; /* position_ids were left out, or are to be made */
    int keep_prefix;      /* "text." stays where it is */
    int lost_prefix;      /* it was before all names of the text tower and goes */
    int add_prefix;       /* it was noted and comes back */
    bang_text problems;   /* one line each */
    size_t problem_count;
} planning;

extern const char *const bang_clip_ids[CLIP_TOWERS];
/* What open_clip puts before its text tower when that is a module of its own. */
extern const char bang_clip_text[];

void bang_conversion_problem(planning *p, const char *format, ...) BANG_PRINTF(2, 3);
void bang_conversion_note(planning *p, const char *format, ...) BANG_PRINTF(2, 3);

clip_sources *bang_conversion_sources(planning *p, const clip_place *place);
/* The position embedding of a tower, which has as many rows as position_ids; or NULL. */
const bang_entry *bang_conversion_positions(planning *p, int tower);
/* Gives every tensor its role and place; notes what is unusual. */
int bang_conversion_assign(planning *p, bang_error *err);
/* All that is missing or does not fit. */
void bang_conversion_check(planning *p);

#endif
