#include "model/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/tensor/convert.h"
#include "model/layout.h"

static int by_name(const void *left, const void *right)
{
    return strcmp(((const named *)left)->name, ((const named *)right)->name);
}

int bang_names_init(name_index *out, const bang_checkpoint *checkpoint, bang_error *err)
{
    *out = (name_index){.items = calloc(checkpoint->count + 1, sizeof *out->items)};
    if (!out->items)
        return bang_fail_memory(err);
    for (size_t i = 0; i < checkpoint->count; i++)
        out->items[out->count++] =
            (named){bang_layout_unwrap(checkpoint->entries[i].name), &checkpoint->entries[i], 0};
    qsort(out->items, out->count, sizeof *out->items, by_name);
    return 0;
}

void bang_name_index_release(name_index *index)
{
    free(index->items);
    *index = (name_index){0};
}

/* The first that does not stand before name. */
static size_t lower_bound(const name_index *index, const char *name)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

named *bang_names_begin(const name_index *index, const char *begin)
{
    size_t i = lower_bound(index, begin);
    return i < index->count && bang_layout_begins(index->items[i].name, begin) ? &index->items[i]
                                                                               : NULL;
}

named *bang_names_find(const name_index *index, const char *name)
{
    named *found = bang_names_begin(index, name);
    return found && strcmp(found->name, name) == 0 ? found : NULL;
}

size_t bang_names_layers(const name_index *index, const char *prefix)
{
    size_t depth = 0, number;
    for (size_t i = lower_bound(index, prefix);
         i < index->count && bang_layout_begins(index->items[i].name, prefix); i++)
        if (bang_layout_number(&number, index->items[i].name, prefix) && number >= depth)
            depth = number + 1;
    return depth;
}

place *bang_places_add(places *list)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        place *items = capacity <= SIZE_MAX / sizeof *items
                           ? realloc(list->items, capacity * sizeof *items)
                           : NULL;
        if (!items)
            return NULL;
        list->items = items;
        list->capacity = capacity;
    }
    place *added = &list->items[list->count++];
    *added = (place){.block = PLACE_WHOLE, .parts = 1};
    return added;
}

void bang_places_release(places *list)
{
    free(list->items);
    *list = (places){0};
}

static size_t size_of(const sizes *s, char letter)
{
    return letter == 'T' ? 3 * s->of['W'] : s->of[(unsigned char)letter];
}

/* The letters of one part as the file has it; 1 stands for a dimension of 1. */
static int letters_of(char out[PLACE_RANK + 1], const place *p)
{
    int rank = 0, dimensions = (int)strlen(p->shape);
    for (int i = 0; i < p->ones && rank < PLACE_RANK; i++)
        out[rank++] = '1';
    for (int i = 0; i < dimensions && rank < PLACE_RANK; i++) {
        char letter = p->shape[p->turned ? dimensions - 1 - i : i];
        out[rank++] = p->parts == 3 && letter == 'T' ? 'W' : letter;
    }
    out[rank] = '\0';
    return rank;
}

int bang_place_shape(size_t shape[PLACE_RANK], const place *p, const sizes *s)
{
    char letters[PLACE_RANK + 1];
    int rank = letters_of(letters, p);
    for (int i = 0; i < rank; i++)
        shape[i] = letters[i] == '1' ? 1 : size_of(s, letters[i]);
    return rank;
}

static void say_shape(const bang_entry *entry, const sizes *s, const char *letters,
                      bang_text *problems)
{
    char is[256];
    bang_entry_shape_text(is, sizeof is, entry);
    bang_text_add(problems, "%.200s: shape %s: must be (", entry->name, is);
    for (size_t i = 0; letters[i]; i++) {
        size_t size = letters[i] == '1' ? 1 : size_of(s, letters[i]);
        bang_text_add(problems, i ? ", " : "");
        if (size)
            bang_text_add(problems, "%zu", size);
        else
            bang_text_add(problems, "any");
    }
    bang_text_add(problems, letters[0] && !letters[1] ? ",)\n" : ")\n");
}

/* Takes sizes that are not known yet from entry, once all that is known agrees. */
static void check_entry(const place *p, const bang_entry *entry, sizes *s, bang_text *problems)
{
    char letters[PLACE_RANK + 1];
    sizes seen = *s;
    int fits = letters_of(letters, p) == entry->rank;
    for (int i = 0; fits && i < entry->rank; i++) {
        size_t size = letters[i] == '1' ? 1 : size_of(&seen, letters[i]);
        fits = entry->shape[i] > 0 && (size == 0 || size == entry->shape[i]);
        if (letters[i] >= 'A' && letters[i] != 'T')
            seen.of[(unsigned char)letters[i]] = entry->shape[i];
    }
    if (!fits)
        say_shape(entry, s, letters, problems);
    else
        *s = seen;
    if (!bang_dtype_is_real(entry->dtype))
        bang_text_add(problems, "%.200s: type %s: must be F16, BF16, F32 or F64\n", entry->name,
                      bang_dtype_name(entry->dtype));
}

static const bang_entry *take(const name_index *index, const char *name, bang_text *problems)
{
    named *found = bang_names_find(index, name);
    if (!found)
        return NULL;
    found->used = 1;
    size_t next = (size_t)(found - index->items) + 1;
    if (next < index->count && strcmp(index->items[next].name, name) == 0) {
        index->items[next].used = 1;
        bang_text_add(problems, "%.200s and %.200s: are the same tensor: leave one out\n",
                      found->entry->name, index->items[next].entry->name);
    }
    return found->entry;
}

/* A block of which nothing is there deserves one line, not twelve. */
static int skip_missing_block(const places *list, size_t i, const name_index *index, size_t *end,
                              bang_text *problems)
{
    size_t block = list->items[i].block;
    int found = 0;
    for (*end = i; *end < list->count && list->items[*end].block == block; ++*end)
        for (int k = 0; k < list->items[*end].parts; k++)
            found |= bang_names_find(index, list->items[*end].names[k]) != NULL;
    if (!found)
        bang_text_add(problems, "%s and all others of that block: missing\n",
                      list->items[i].names[0]);
    return !found;
}

void bang_places_check(places *list, const name_index *index, sizes *s, bang_text *problems)
{
    for (size_t i = 0; i < list->count; i++) {
        place *p = &list->items[i];
        size_t end;
        int first = p->block != PLACE_WHOLE && (i == 0 || p[-1].block != p->block);
        if (first && skip_missing_block(list, i, index, &end, problems)) {
            i = end - 1;
            continue;
        }
        for (int k = 0; k < p->parts; k++) {
            p->entries[k] = take(index, p->names[k], problems);
            if (p->entries[k])
                check_entry(p, p->entries[k], s, problems);
            else
                bang_text_add(problems, "%s: missing\n", p->names[k]);
        }
    }
}

/* Numbers of one part; SIZE_MAX where they are too many to count. */
static size_t count_part(const place *p, const sizes *s)
{
    size_t shape[PLACE_RANK], count = 1;
    int rank = bang_place_shape(shape, p, s);
    for (int i = 0; i < rank; i++) {
        if (shape[i] && count > SIZE_MAX / shape[i])
            return SIZE_MAX;
        count *= shape[i];
    }
    return count;
}

size_t bang_places_count(const places *list, const sizes *s)
{
    size_t all = 0;
    for (size_t i = 0; i < list->count; i++)
        for (int k = 0; k < list->items[i].parts; k++) {
            size_t part = count_part(&list->items[i], s);
            if (part > SIZE_MAX - all)
                return SIZE_MAX;
            all += part;
        }
    return all;
}

void bang_places_claim(const places *list, const sizes *s, const bang_checkpoint *checkpoint,
                       bang_text *problems)
{
    uint64_t bytes = 0;
    if (problems->size) /* sizes that do not fit are no claim */
        return;
    for (size_t i = 0; i < checkpoint->file_count; i++)
        bytes += checkpoint->files[i].size;
    if (bang_places_count(list, s) > bytes)
        bang_text_add(problems, "claims more numbers than its %llu bytes can hold\n",
                      (unsigned long long)bytes);
}

size_t bang_place_offset(const place *p, const void *map, const bang_vit_block *blocks)
{
    const char *base = p->block == PLACE_WHOLE ? map : (const void *)&blocks[p->block];
    size_t offset;
    memcpy(&offset, base + p->field, sizeof offset);
    return offset;
}

/* Any type to f32, piece by piece. */
static int read_numbers(float *out, const bang_entry *entry, size_t count,
                        const bang_checkpoint *checkpoint, bang_error *err)
{
    enum { PIECE = 8192 };
    unsigned char bytes[PIECE * sizeof(double)];
    size_t size = bang_dtype_size(entry->dtype);
    if (entry->dtype == BANG_F32)
        return bang_checkpoint_read(checkpoint, entry, 0, out, count * sizeof *out, err);
    for (size_t i = 0; i < count; i += PIECE) {
        size_t many = count - i < PIECE ? count - i : PIECE;
        int rc =
            bang_checkpoint_read(checkpoint, entry, (uint64_t)i * size, bytes, many * size, err);
        if (rc < 0)
            return rc;
        bang_to_f32(out + i, bytes, entry->dtype, many);
    }
    return 0;
}

int bang_places_read(float *parameters, const places *list, const void *map,
                     const bang_vit_block *blocks, bang_checkpoint *checkpoint, bang_text *problems,
                     bang_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const place *p = &list->items[i];
        float *out = parameters + bang_place_offset(p, map, blocks);
        for (int k = 0; k < p->parts; k++) {
            const bang_entry *entry = p->entries[k];
            size_t count = (size_t)bang_entry_count(entry), wrong = 0;
            if (p->turned && !(entry = bang_checkpoint_transposed(checkpoint, entry, err)))
                return err && err->code ? err->code : bang_fail_memory(err);
            int rc = read_numbers(out, entry, count, checkpoint, err);
            if (rc < 0)
                return rc;
            for (size_t n = 0; n < count; n++)
                wrong += (size_t)!isfinite(out[n]);
            if (wrong)
                bang_text_add(problems, "%.200s: %zu of its numbers %s not finite\n", entry->name,
                              wrong, wrong == 1 ? "is" : "are");
            out += count;
        }
    }
    return 0;
}
