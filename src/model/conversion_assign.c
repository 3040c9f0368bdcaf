/* Which tensor of a CLIP each tensor of a checkpoint is. */
#include <stdlib.h>
#include <string.h>

#include "model/conversion.h"

const char *const bang_clip_ids[CLIP_TOWERS] = {"vision_model.embeddings.position_ids",
                                                "text_model.embeddings.position_ids"};
const char bang_clip_text[] = "text.";

clip_sources *bang_conversion_sources(planning *p, const clip_place *place)
{
    if (!place->layered)
        return &p->fixed[place->slot];
    return &p->layers[place->tower][place->layer * CLIP_LAYER_SLOTS + (size_t)place->slot];
}

const bang_entry *bang_conversion_positions(planning *p, int tower)
{
    clip_place place;
    bang_clip_find(&place,
                   tower == CLIP_TEXT ? "positional_embedding" : "visual.positional_embedding", 0);
    return bang_conversion_sources(p, &place)->entries[0];
}

/* How many bytes of wrappers all names share. */
static size_t shared_wrapper(const bang_checkpoint *c)
{
    size_t size = 0;
    for (;;) {
        const char *first = c->entries[0].name;
        size_t longer = (size_t)(bang_layout_unwrap_once(first + size) - first);
        if (longer == size)
            return size;
        for (size_t i = 1; i < c->count; i++)
            if (strncmp(c->entries[i].name, first, longer) != 0)
                return size;
        size = longer;
    }
}

/* The numbers 0, 1, 2, ... of shape (1, n) can be left out and made again. */
static int is_counting(const planning *p, const bang_entry *entry)
{
    enum { POSITIONS_MOST = 65536 };
    bang_error err;
    if (entry->dtype != BANG_I64 || entry->rank != 2 || entry->shape[0] != 1 ||
        entry->shape[1] > POSITIONS_MOST)
        return 0;
    unsigned char *bytes = malloc(entry->bytes + 1);
    int counting = bytes && bang_checkpoint_read(p->checkpoint, entry, 0, bytes,
                                                 (size_t)entry->bytes, &err) == 0;
    for (size_t i = 0; counting && i < entry->shape[1]; i++) {
        uint64_t number = 0;
        for (size_t b = 0; b < 8; b++)
            number |= (uint64_t)bytes[8 * i + b] << 8 * b;
        counting = number == i;
    }
    free(bytes);
    return counting;
}

static void assign_one(planning *p, const bang_entry *entry, clip_assigned *out)
{
    const char *inner = bang_layout_unwrap(entry->name);
    for (int t = 0; p->from_hf && t < CLIP_TOWERS; t++)
        if (strcmp(inner, bang_clip_ids[t]) == 0) {
            out->role = CLIP_IDS;
            out->place.tower = t;
            return;
        }
    int found = bang_clip_find(&out->place, inner, p->from_hf) == 0;
    if (!found && !p->from_hf && bang_layout_begins(inner, bang_clip_text))
        found = out->has_prefix =
            bang_clip_find(&out->place, inner + strlen(bang_clip_text), 0) == 0 &&
            out->place.tower == CLIP_TEXT;
    if (found && !(p->foreign && out->place.tower == CLIP_VISION))
        out->role = CLIP_PLACED;
}

static int put(planning *p, const bang_entry *entry, const clip_assigned *a)
{
    const clip_place *place = &a->place;
    clip_sources *sources = bang_conversion_sources(p, place);
    if (sources->entries[place->third]) {
        bang_conversion_problem(p, "%.200s and %.200s: are the same tensor: leave one out",
                                sources->entries[place->third]->name, entry->name);
        return -1;
    }
    sources->entries[place->third] = entry;
    sources->has_prefix = a->has_prefix;
    return 0;
}

/* position_ids are worth keeping only where the layout has them or they are odd. */
static void settle_ids(planning *p, const bang_entry *entry, clip_assigned *a)
{
    const bang_entry *embedding = bang_conversion_positions(p, a->place.tower);
    if (p->to_hf)
        return;
    if (embedding && embedding->rank == 2 && entry->rank == 2 &&
        embedding->shape[0] == entry->shape[1] && is_counting(p, entry)) {
        a->role = CLIP_DROPPED;
        p->ids[a->place.tower] = 1;
        bang_conversion_note(p,
                             "%s: left out: it counts 0, 1, 2, ...; the metadata of safetensors "
                             "note it for the way back, other formats lose it",
                             entry->name);
    } else {
        a->role = CLIP_EXTRA;
        a->name = entry->name;
    }
}

static void note_wrappers(planning *p)
{
    size_t wrapped = 0;
    const char *first = NULL;
    for (size_t i = 0; i < p->checkpoint->count; i++) {
        const char *name = p->checkpoint->entries[i].name;
        if (p->assigned[i].role != CLIP_PLACED || bang_layout_unwrap(name) == name)
            continue;
        first = wrapped++ ? first : name;
    }
    if (wrapped > 0)
        bang_conversion_note(p, "%zu names lose what wraps the model: %.*s", wrapped,
                             (int)(bang_layout_unwrap(first) - first), first);
}

/* What becomes of "text.", which only open_clip has, and OpenAI's layout where it came so. */
static void settle_prefix(planning *p)
{
    size_t with = 0, without = 0;
    for (size_t i = 0; i < p->checkpoint->count; i++) {
        const clip_assigned *a = &p->assigned[i];
        if (a->role != CLIP_PLACED || a->place.tower != CLIP_TEXT)
            continue;
        with += (size_t)a->has_prefix;
        without += (size_t)!a->has_prefix;
    }
    p->keep_prefix = p->plan->from == p->plan->to || p->plan->to == BANG_LAYOUT_CLIP_OPEN_CLIP;
    p->lost_prefix = !p->keep_prefix && with > 0 && without == 0;
    if (p->lost_prefix)
        bang_conversion_note(p,
                             "%zu names lose %s; the metadata of safetensors note it for the way "
                             "back, other formats do not",
                             with, bang_clip_text);
    else if (!p->keep_prefix && with > 0)
        bang_conversion_note(p,
                             "%zu names lose %s, which others of the text tower lack: the way "
                             "back will not restore it",
                             with, bang_clip_text);
}

/* Says in one note which tensors are kept though the layout has no name for them. */
static void note_extras(planning *p)
{
    enum { NAMED = 6 };
    size_t count = 0;
    bang_text list = {0};
    for (size_t i = 0; i < p->checkpoint->count; i++) {
        const clip_assigned *a = &p->assigned[i];
        if (a->role != CLIP_EXTRA || (p->foreign && bang_layout_begins(a->name, "visual.")))
            continue;
        if (count++ < NAMED)
            bang_text_add(&list, "%s%.200s", count > 1 ? ", " : "", a->name);
    }
    if (count > NAMED)
        bang_text_add(&list, " and %zu more", count - NAMED);
    if (count > 0)
        bang_conversion_note(p, "%zu tensor%s without a name in %s, kept: %s", count,
                             count > 1 ? "s" : "", bang_layout_name(p->plan->to),
                             list.data ? list.data : "");
    bang_text_release(&list);
}

static int make_layers(planning *p, bang_error *err)
{
    for (size_t i = 0; i < p->checkpoint->count; i++) {
        const clip_place *place = &p->assigned[i].place;
        if (p->assigned[i].role == CLIP_PLACED && place->layered &&
            place->layer >= p->depth[place->tower])
            p->depth[place->tower] = place->layer + 1;
    }
    for (int t = 0; t < CLIP_TOWERS; t++) {
        p->layers[t] = bang_arena_alloc(&p->plan->state->arena, p->depth[t] * CLIP_LAYER_SLOTS,
                                        sizeof **p->layers);
        if (!p->layers[t])
            return bang_fail_memory(err);
    }
    return 0;
}

int bang_conversion_assign(planning *p, bang_error *err)
{
    const bang_checkpoint *c = p->checkpoint;
    size_t wrapper = shared_wrapper(c);
    p->assigned = bang_arena_alloc(&p->plan->state->arena, c->count, sizeof *p->assigned);
    if (!p->assigned)
        return bang_fail_memory(err);
    for (size_t i = 0; i < c->count && !p->foreign && !p->from_hf; i++)
        p->foreign = bang_clip_foreign(bang_layout_unwrap(c->entries[i].name));
    for (size_t i = 0; i < c->count; i++) {
        clip_assigned *a = &p->assigned[i];
        a->name = c->entries[i].name + wrapper;
        assign_one(p, &c->entries[i], a);
    }
    int rc = make_layers(p, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->count; i++)
        if (p->assigned[i].role == CLIP_PLACED)
            put(p, &c->entries[i], &p->assigned[i]);
    for (size_t i = 0; i < c->count; i++)
        if (p->assigned[i].role == CLIP_IDS)
            settle_ids(p, &c->entries[i], &p->assigned[i]);
    note_wrappers(p);
    settle_prefix(p);
    note_extras(p);
    return 0;
}
