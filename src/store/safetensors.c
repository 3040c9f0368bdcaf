#include "bang/store/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "store/checkpoint.h"

static const char metadata_key[] = "__metadata__";

/* Room for one more; the caller has made sure that the name is new. */
static int append(bang_tensors *tensors, const char *name, bang_array *array, bang_error *err)
{
    if (tensors->count == tensors->capacity) {
        size_t capacity = tensors->capacity ? 2 * tensors->capacity : 16;
        if (capacity > SIZE_MAX / 2 / sizeof *tensors->items)
            return bang_fail_memory(err);
        bang_tensor *items = realloc(tensors->items, capacity * sizeof *items);
        if (!items)
            return bang_fail_memory(err);
        tensors->items = items;
        tensors->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return bang_fail_memory(err);
    tensors->items[tensors->count++] = (bang_tensor){.name = copy, .array = *array};
    *array = (bang_array){0};
    return 0;
}

int bang_tensors_add(bang_tensors *tensors, const char *name, bang_array *array, bang_error *err)
{
    if (strcmp(name, metadata_key) == 0)
        return bang_fail(err, BANG_EUSAGE, "tensor \"%s\": the name is taken by the format", name);
    if (bang_tensors_find(tensors, name))
        return bang_fail(err, BANG_EUSAGE, "tensor \"%s\": is there already", name);
    return append(tensors, name, array, err);
}

const bang_array *bang_tensors_find(const bang_tensors *tensors, const char *name)
{
    for (size_t i = 0; i < tensors->count; i++)
        if (strcmp(tensors->items[i].name, name) == 0)
            return &tensors->items[i].array;
    return NULL;
}

int bang_tensors_set_metadata(bang_tensors *tensors, const char *key, const char *value,
                              bang_error *err)
{
    json_t *metadata = tensors->metadata ? json_incref(tensors->metadata) : json_object();
    if (!metadata)
        return bang_fail_memory(err);
    if (json_object_set_new(metadata, key, json_string(value)) < 0) {
        json_decref(metadata);
        return bang_fail(err, BANG_EUSAGE, "metadata: not UTF-8, or out of memory");
    }
    if (tensors->metadata)
        json_decref(metadata);
    else
        tensors->metadata = metadata;
    return 0;
}

const char *bang_tensors_metadata(const bang_tensors *tensors, const char *key)
{
    return json_string_value(json_object_get(tensors->metadata, key));
}

void bang_tensors_release(bang_tensors *tensors)
{
    for (size_t i = 0; i < tensors->count; i++) {
        free(tensors->items[i].name);
        bang_array_release(&tensors->items[i].array);
    }
    free(tensors->items);
    json_decref(tensors->metadata);
    *tensors = (bang_tensors){0};
}

/* Reads every tensor of the one file of c. */
static int read_tensors(bang_tensors *out, bang_checkpoint *c, bang_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < c->count; i++) {
        const bang_entry *entry = &c->entries[i];
        bang_array array = {0};
        char shown[BANG_SHOWN];
        if (entry->rank > BANG_RANK_MAX)
            return bang_fail(err, BANG_EDATA,
                             "%s: tensor \"%s\": %d dimensions: at most %d are read", c->path,
                             bang_bytes_show(shown, entry->name), entry->rank, BANG_RANK_MAX);
        code = bang_array_init(&array, entry->dtype, entry->rank, entry->shape, err);
        if (code == 0)
            code = bang_checkpoint_read(c, entry, 0, array.data, (size_t)entry->bytes, err);
        if (code == 0 && !bang_bytes_native_little())
            bang_bytes_swap(array.data, array.count, bang_dtype_size(entry->dtype));
        if (code == 0) /* that names differ, the JSON parser has seen to */
            code = append(out, entry->name, &array, err);
        bang_array_release(&array);
    }
    out->metadata = json_incref(c->metadata);
    return code;
}

/* path is opened when data is NULL. */
static int read_whole(bang_tensors *out, const char *path, const void *data, size_t size,
                      bang_error *err)
{
    bang_checkpoint *c;
    size_t file = 0;
    *out = (bang_tensors){0};
    int code = bang_checkpoint_new(&c, path, err);
    if (code == 0)
        code = data ? bang_checkpoint_add_memory(c, &file, data, size, path, err)
                    : bang_checkpoint_add_path(c, &file, path, err);
    if (code == 0)
        code = bang_open_safetensors(c, file, err);
    if (code == 0)
        code = read_tensors(out, c, err);
    if (code < 0)
        bang_tensors_release(out);
    bang_checkpoint_close(c);
    return code;
}

int bang_safetensors_parse(bang_tensors *out, const void *data, size_t size, const char *name,
                           bang_error *err)
{
    return read_whole(out, name, data ? data : "", data ? size : 0, err);
}

int bang_safetensors_read(bang_tensors *out, const char *path, bang_error *err)
{
    return read_whole(out, path, NULL, 0, err);
}
