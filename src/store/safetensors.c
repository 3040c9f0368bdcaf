#include "bang/store/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "store/bytes.h"

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

/* One entry of the header. */
struct entry {
    const char *name; /* borrowed from the JSON */
    bang_dtype dtype;
    int rank;
    size_t shape[BANG_RANK_MAX];
    size_t begin, end; /* bytes from the end of the header */
};

/* A size or an offset; 0 when json is one. */
static int to_size(size_t *out, const json_t *json)
{
    json_int_t value = json_integer_value(json);
    if (!json_is_integer(json) || value < 0 || (uint64_t)value > PTRDIFF_MAX)
        return -1;
    *out = (size_t)value;
    return 0;
}

static int fail_entry(const struct entry *entry, const char *file, const char *why, bang_error *err)
{
    char name[BANG_SHOWN];
    return bang_fail(err, BANG_EDATA, "%s: tensor \"%s\": %s", file,
                     bang_bytes_show(name, entry->name), why);
}

static int parse_dtype(struct entry *entry, const json_t *json, const char *file, bang_error *err)
{
    const char *name = json_string_value(json_object_get(json, "dtype"));
    if (!name)
        return fail_entry(entry, file, "its dtype is missing or no text", err);
    for (int i = 0; i < BANG_DTYPE_COUNT; i++) {
        if (strcmp(name, bang_dtype_name((bang_dtype)i)) == 0) {
            entry->dtype = (bang_dtype)i;
            return 0;
        }
    }
    char tensor[BANG_SHOWN], dtype[BANG_SHOWN];
    return bang_fail(err, BANG_EDATA,
                     "%s: tensor \"%s\": number type \"%s\" is not known: convert it first", file,
                     bang_bytes_show(tensor, entry->name), bang_bytes_show(dtype, name));
}

/* Also the number of bytes that the shape needs. */
static int parse_shape(struct entry *entry, size_t *bytes, const json_t *json, const char *file,
                       bang_error *err)
{
    const json_t *shape = json_object_get(json, "shape");
    char name[BANG_SHOWN];
    if (!json_is_array(shape))
        return fail_entry(entry, file, "its shape is missing or no list", err);
    if (json_array_size(shape) > BANG_RANK_MAX)
        return bang_fail(err, BANG_EDATA, "%s: tensor \"%s\": %zu dimensions: at most %d are read",
                         file, bang_bytes_show(name, entry->name), json_array_size(shape),
                         BANG_RANK_MAX);
    entry->rank = (int)json_array_size(shape);
    *bytes = bang_dtype_size(entry->dtype);
    for (int i = 0; i < entry->rank; i++) {
        size_t *size = &entry->shape[i];
        if (to_size(size, json_array_get(shape, (size_t)i)) < 0)
            return fail_entry(entry, file, "its shape is no list of sizes", err);
        if (*size != 0 && *bytes > PTRDIFF_MAX / *size)
            return fail_entry(entry, file, "its shape is larger than memory can address", err);
        *bytes *= *size;
    }
    return 0;
}

static int parse_entry(struct entry *entry, const json_t *json, const char *file, bang_error *err)
{
    size_t bytes = 0;
    const json_t *offsets = json_object_get(json, "data_offsets");
    if (!json_is_object(json))
        return fail_entry(entry, file, "its entry is no object", err);
    int code = parse_dtype(entry, json, file, err);
    if (code == 0)
        code = parse_shape(entry, &bytes, json, file, err);
    if (code < 0)
        return code;
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        to_size(&entry->begin, json_array_get(offsets, 0)) < 0 ||
        to_size(&entry->end, json_array_get(offsets, 1)) < 0)
        return fail_entry(entry, file, "its data_offsets are no two offsets", err);
    if (entry->end < entry->begin || entry->end - entry->begin != bytes)
        return fail_entry(entry, file, "its data_offsets do not fit its shape", err);
    return 0;
}

static int by_offset(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) /* an empty tensor before the one that begins there too */
        return a->end < b->end ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Sorted by offset, the tensors cover all size bytes of data. */
static int check_cover(const struct entry *entries, size_t count, size_t size, const char *file,
                       bang_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].begin != at)
            return fail_entry(&entries[i], file,
                              entries[i].begin < at ? "its data overlap with another's"
                                                    : "bytes before its data are nobody's",
                              err);
        at = entries[i].end;
    }
    if (at != size)
        return bang_fail(err, BANG_EDATA,
                         "%s: its tensors need %zu bytes, but %zu follow: the file is %s", file, at,
                         size, at > size ? "cut" : "damaged");
    return 0;
}

static int check_metadata(const json_t *metadata, const char *file, bang_error *err)
{
    const char *key;
    json_t *value;
    char shown[BANG_SHOWN];
    if (!json_is_object(metadata))
        return bang_fail(err, BANG_EDATA, "%s: its %s is no object", file, metadata_key);
    /* The macro wants no const, but changes nothing. */
    json_object_foreach((json_t *)metadata, key, value)
    {
        if (!json_is_string(value))
            return bang_fail(err, BANG_EDATA, "%s: %s: \"%s\" is no text", file, metadata_key,
                             bang_bytes_show(shown, key));
    }
    return 0;
}

/* Every entry of the header in the order of the data; the caller frees. */
static int parse_entries(struct entry **out, size_t *count, json_t *header,
                         const bang_source *source, size_t data_size, bang_error *err)
{
    struct entry *entries = calloc(json_object_size(header) + 1, sizeof *entries);
    *out = entries;
    *count = 0;
    if (!entries)
        return bang_fail_memory(err);
    const char *name;
    json_t *value;
    json_object_foreach(header, name, value)
    {
        if (strcmp(name, metadata_key) == 0)
            continue;
        entries[*count].name = name;
        int code = parse_entry(&entries[*count], value, source->name, err);
        if (code < 0)
            return code;
        ++*count;
    }
    qsort(entries, *count, sizeof *entries, by_offset);
    return check_cover(entries, *count, data_size, source->name, err);
}

/* *header is a new reference; *start is where the data begin. */
static int read_header(json_t **header, size_t *start, const bang_source *source, bang_error *err)
{
    unsigned char bytes[8];
    uint64_t length = 0;
    if (source->size < sizeof bytes)
        return bang_fail(err, BANG_EDATA, "%s: %zu bytes: too short for a safetensors file",
                         source->name, source->size);
    int code = bang_source_read(source, bytes, 0, sizeof bytes, err);
    if (code < 0)
        return code;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length > BANG_SAFETENSORS_HEADER_MOST)
        return bang_fail(err, BANG_EDATA,
                         "%s: a header of %llu bytes: at most %d are allowed: not a safetensors "
                         "file",
                         source->name, (unsigned long long)length, BANG_SAFETENSORS_HEADER_MOST);
    if (length > source->size - sizeof bytes)
        return bang_fail(err, BANG_EDATA, "%s: ends within its header: the file is cut",
                         source->name);
    char *text = malloc((size_t)length + 1);
    if (!text)
        return bang_fail_memory(err);
    code = bang_source_read(source, text, sizeof bytes, (size_t)length, err);
    if (code == 0 && (length == 0 || text[0] != '{'))
        code = bang_fail(err, BANG_EDATA,
                         "%s: its header is no JSON object: not a safetensors file", source->name);
    bang_error why = {0};
    if (code == 0) {
        code = bang_json_parse(header, text, (size_t)length, &why);
        if (code < 0)
            bang_fail(err, code, "%s: its header: %s", source->name, why.message);
    }
    free(text);
    *start = sizeof bytes + (size_t)length;
    return code;
}

static int read_tensors(bang_tensors *out, const struct entry *entries, size_t count, size_t start,
                        const bang_source *source, bang_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct entry *entry = &entries[i];
        bang_array array;
        code = bang_array_init(&array, entry->dtype, entry->rank, entry->shape, err);
        if (code == 0)
            code = bang_source_read(source, array.data, start + entry->begin,
                                    entry->end - entry->begin, err);
        if (code == 0 && !bang_bytes_native_little())
            bang_bytes_swap(array.data, array.count, bang_dtype_size(entry->dtype));
        if (code == 0) /* that names differ, the JSON parser has seen to */
            code = append(out, entry->name, &array, err);
        bang_array_release(&array);
    }
    return code;
}

static int read_source(bang_tensors *out, const bang_source *source, bang_error *err)
{
    json_t *header = NULL;
    struct entry *entries = NULL;
    size_t start = 0, count = 0;
    *out = (bang_tensors){0};
    int code = read_header(&header, &start, source, err);
    if (code == 0)
        code = parse_entries(&entries, &count, header, source, source->size - start, err);
    json_t *metadata = json_object_get(header, metadata_key);
    if (code == 0 && metadata)
        code = check_metadata(metadata, source->name, err);
    if (code == 0)
        code = read_tensors(out, entries, count, start, source, err);
    if (code == 0)
        out->metadata = json_incref(metadata);
    else
        bang_tensors_release(out);
    free(entries);
    json_decref(header);
    return code;
}

int bang_safetensors_parse(bang_tensors *out, const void *data, size_t size, const char *name,
                           bang_error *err)
{
    bang_source source;
    bang_source_memory(&source, data, size, name);
    return read_source(out, &source, err);
}

int bang_safetensors_read(bang_tensors *out, const char *path, bang_error *err)
{
    bang_source source;
    *out = (bang_tensors){0};
    int code = bang_source_open(&source, path, err);
    if (code < 0)
        return code;
    code = read_source(out, &source, err);
    bang_source_close(&source);
    return code;
}
