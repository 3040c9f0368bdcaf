/* The values of a pickle, and the memory they live in. */
#include <stdlib.h>
#include <string.h>

#include "store/pickle.h"

enum {
    CHUNK = 8192,  /* small values share a piece of the arena */
    ALIGNMENT = 8, /* what a value wants */
};

_Static_assert(_Alignof(bang_value) <= ALIGNMENT, "values fit the alignment of their room");

void *bang_pickle_room(bang_pickle *pickle, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size)
        return NULL;
    size_t need = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (need > CHUNK / 4)
        return bang_arena_alloc(&pickle->arena, need, 1);
    if (need > pickle->left) {
        pickle->room = bang_arena_alloc(&pickle->arena, CHUNK, 1);
        pickle->left = pickle->room ? CHUNK : 0;
        if (!pickle->room)
            return NULL;
    }
    void *out = pickle->room;
    pickle->room += need;
    pickle->left -= need;
    return out;
}

bang_value *bang_pickle_value(bang_pickle *pickle, bang_value_kind kind)
{
    pickle->is_full = pickle->is_full || pickle->values >= BANG_PICKLE_VALUES_MOST;
    bang_value *value = pickle->is_full ? NULL : bang_pickle_room(pickle, 1, sizeof *value);
    if (!value)
        return NULL;
    pickle->values++;
    value->kind = kind;
    return value;
}

int bang_pickle_extend(bang_pickle *pickle, bang_value *list, bang_value *const *items,
                       size_t count)
{
    pickle->is_full = pickle->is_full || count > BANG_PICKLE_ITEMS_MOST - pickle->items;
    if (pickle->is_full)
        return -1;
    pickle->items += count;
    if (count > list->list.capacity - list->list.count) {
        size_t need = list->list.count + count;
        size_t capacity = need < 2 * list->list.capacity ? 2 * list->list.capacity : need;
        bang_value **grown = bang_pickle_room(pickle, capacity, sizeof(bang_value *));
        if (!grown)
            return -1;
        if (list->list.count > 0)
            memcpy(grown, list->list.items, list->list.count * sizeof(bang_value *));
        list->list.items = grown;
        list->list.capacity = capacity;
    }
    if (count > 0)
        memcpy(list->list.items + list->list.count, items, count * sizeof(bang_value *));
    list->list.count += count;
    return 0;
}

void bang_pickle_release(bang_pickle *pickle)
{
    bang_arena_release(&pickle->arena);
    *pickle = (bang_pickle){0};
}

int bang_value_is_global(const bang_value *value, const char *name)
{
    if (!value || value->kind != BANG_VALUE_GLOBAL)
        return 0;
    size_t module = value->global.module_size, own = value->global.name_size;
    return strlen(name) == module + 1 + own && name[module] == '.' &&
           memcmp(name, value->global.module, module) == 0 &&
           memcmp(name + module + 1, value->global.name, own) == 0;
}

int bang_value_is_text(const bang_value *value, const char *text)
{
    return value && value->kind == BANG_VALUE_TEXT && value->text.size == strlen(text) &&
           memcmp(value->text.bytes, text, value->text.size) == 0;
}

/* As much of size bytes as fits at *at, and a zero. */
static void add_shown(char *out, size_t *at, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && *at < BANG_SHOWN - 1; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        out[(*at)++] = (char)(byte < 0x20 || byte == 0x7f ? '?' : byte);
    }
    out[*at] = '\0';
}

const char *bang_value_show(char out[BANG_SHOWN], const bang_value *value)
{
    size_t at = 0;
    out[0] = '\0';
    if (value->kind == BANG_VALUE_GLOBAL) {
        add_shown(out, &at, value->global.module, value->global.module_size);
        add_shown(out, &at, ".", 1);
        add_shown(out, &at, value->global.name, value->global.name_size);
    } else {
        add_shown(out, &at, "a value", sizeof "a value" - 1);
    }
    return out;
}

bang_value *bang_value_get(const bang_value *dict, const char *key)
{
    if (!dict || dict->kind != BANG_VALUE_DICT)
        return NULL;
    for (size_t i = dict->list.count; i >= 2; i -= 2)
        if (bang_value_is_text(dict->list.items[i - 2], key))
            return dict->list.items[i - 1];
    return NULL;
}

bang_value *bang_value_state(const bang_value *object)
{
    if (!object || (object->kind != BANG_VALUE_OBJECT && object->kind != BANG_VALUE_CALL))
        return NULL;
    bang_value *state = object->object.state;
    /* A class with slots has (attributes or None, slots). */
    if (state && state->kind == BANG_VALUE_TUPLE && state->list.count == 2)
        state = state->list.items[0];
    return state && state->kind == BANG_VALUE_DICT ? state : NULL;
}
