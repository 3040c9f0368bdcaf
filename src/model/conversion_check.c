/* What is missing in a CLIP, and what does not fit the rest of it. */
#include <stdio.h>
#include <string.h>

#include "model/conversion.h"

/* Sizes by their letter, 0 while not seen; see clip_slot. */
typedef struct clip_sizes {
    size_t of['Z' + 1];
} clip_sizes;

static size_t expected(const clip_sizes *sizes, char letter)
{
    return letter == 'T' ? 3 * sizes->of['W'] : sizes->of[(unsigned char)letter];
}

static void say_shape(planning *p, const bang_entry *entry, const clip_sizes *sizes,
                      const char *letters)
{
    char is[256];
    bang_text must = {0};
    bang_entry_shape_text(is, sizeof is, entry);
    for (size_t i = 0; letters[i]; i++) {
        size_t size = expected(sizes, letters[i]);
        bang_text_add(&must, i ? ", " : "(");
        if (size)
            bang_text_add(&must, "%zu", size);
        else
            bang_text_add(&must, "any");
    }
    bang_conversion_problem(p, "%.200s: shape %s: must be %s%s", entry->name, is,
                            must.data ? must.data : "(", letters[1] ? ")" : ",)");
    bang_text_release(&must);
}

/* Takes sizes that are not known yet from entry; what is known must agree. */
static void check_shape(planning *p, const bang_entry *entry, clip_sizes *sizes,
                        const char *letters)
{
    int fits = (size_t)entry->rank == strlen(letters);
    for (size_t i = 0; fits && letters[i]; i++) {
        size_t size = expected(sizes, letters[i]);
        fits = entry->shape[i] > 0 && (size == 0 || size == entry->shape[i]);
    }
    if (!fits) {
        say_shape(p, entry, sizes, letters);
        return;
    }
    for (size_t i = 0; letters[i]; i++)
        if (letters[i] != 'T')
            sizes->of[(unsigned char)letters[i]] = entry->shape[i];
}

/* The letters of a slot as this checkpoint has it. */
static void letters_of(char out[8], const clip_slot *slot, int hf)
{
    size_t size = strlen(slot->shape);
    for (size_t i = 0; i < size; i++) {
        out[i] = slot->shape[hf && slot->form == CLIP_TURNED ? size - 1 - i : i];
        if (hf && slot->form == CLIP_STACKED && out[i] == 'T')
            out[i] = 'W';
    }
    out[size] = '\0';
}

static void check_place(planning *p, const clip_place *where, clip_sizes *sizes)
{
    const clip_slot *slot = bang_clip_slot(where);
    clip_sources *sources = bang_conversion_sources(p, where);
    int parts = p->from_hf && slot->form == CLIP_STACKED ? 3 : 1;
    char letters[8] = "", name[200];
    letters_of(letters, slot, p->from_hf);
    for (int i = 0; i < parts; i++) {
        clip_place third = *where;
        third.third = i;
        bang_clip_name(name, sizeof name, &third, p->from_hf);
        const bang_entry *entry = sources->entries[i], *first = sources->entries[0];
        if (!entry)
            bang_conversion_problem(p, "%s: missing", name);
        else
            check_shape(p, entry, sizes, letters);
        if (entry && first && !p->to_hf && entry->dtype != first->dtype)
            bang_conversion_problem(p, "%.200s: is %s: %.200s, which it is joined with, is %s",
                                    entry->name, bang_dtype_name(entry->dtype), first->name,
                                    bang_dtype_name(first->dtype));
    }
}

static int layer_is_empty(const planning *p, int tower, size_t layer)
{
    for (size_t s = 0; s < CLIP_LAYER_SLOTS; s++) {
        const clip_sources *sources = &p->layers[tower][layer * CLIP_LAYER_SLOTS + s];
        if (sources->entries[0] || sources->entries[1] || sources->entries[2])
            return 0;
    }
    return 1;
}

static void check_layers(planning *p, int tower, clip_sizes *sizes)
{
    for (size_t l = 0; l < p->depth[tower]; l++) {
        clip_place place = {.tower = tower, .layered = 1, .layer = l};
        char name[200];
        sizes->of['M'] = 0; /* may differ between layers */
        if (layer_is_empty(p, tower, l)) {
            bang_clip_name(name, sizeof name, &place, p->from_hf);
            bang_conversion_problem(p, "%s and all others of that layer: missing", name);
            continue;
        }
        for (place.slot = 0; place.slot < CLIP_LAYER_SLOTS; place.slot++)
            check_place(p, &place, sizes);
    }
}

void bang_conversion_check(planning *p)
{
    int present[CLIP_TOWERS];
    size_t embedding = 0;
    for (int t = 0; t < CLIP_TOWERS; t++) {
        present[t] = p->depth[t] > 0;
        for (int s = 0; s < CLIP_SLOTS; s++)
            if (bang_clip_slots[s].tower == t && p->fixed[s].entries[0])
                present[t] = 1;
    }
    for (int t = 0; t < CLIP_TOWERS; t++) {
        clip_sizes sizes = {0};
        sizes.of['E'] = embedding;
        for (int s = 0; s < CLIP_SLOTS && present[t]; s++) {
            const clip_slot *slot = &bang_clip_slots[s];
            int spare = slot->form == CLIP_TURNED && !p->fixed[s].entries[0] && !present[1 - t];
            if (slot->tower == t && !spare)
                check_place(p, &(clip_place){.tower = t, .slot = s}, &sizes);
        }
        check_layers(p, t, &sizes);
        embedding = sizes.of['E'];
    }
    if (present[CLIP_VISION] && p->depth[CLIP_VISION] == 0)
        bang_conversion_problem(p, "the image tower: has no layers");
    if (present[CLIP_TEXT] && p->depth[CLIP_TEXT] == 0)
        bang_conversion_note(p, "the text tower has no layers, and will have none");
}
