/* The header of a safetensors file, held against every rule of the format. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/digest.h"
#include "bang/base/text.h"
#include "store/checkpoint.h"

static const char metadata_key[] = "__metadata__";

/* One entry of the header. */
struct entry {
    const char *name; /* borrowed from the JSON, as is the next */
    const json_t *shape;
    bang_dtype dtype;
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
    if (bang_dtype_parse(&entry->dtype, name) == 0)
        return 0;
    char tensor[BANG_SHOWN], dtype[BANG_SHOWN];
    return bang_fail(err, BANG_EDATA,
                     "%s: tensor \"%s\": number type \"%s\" is not known, so its size cannot be "
                     "checked: convert it first",
                     file, bang_bytes_show(tensor, entry->name), bang_bytes_show(dtype, name));
}

/* Also the number of bytes that the shape needs. */
static int parse_shape(struct entry *entry, size_t *bytes, const json_t *json, const char *file,
                       bang_error *err)
{
    size_t bits = bang_dtype_bits(entry->dtype), count = 1, size = 0;
    int empty = 0;
    entry->shape = json_object_get(json, "shape");
    if (!json_is_array(entry->shape))
        return fail_entry(entry, file, "its shape is missing or no list", err);
    for (size_t i = 0; i < json_array_size(entry->shape); i++) {
        if (to_size(&size, json_array_get(entry->shape, i)) < 0)
            return fail_entry(entry, file, "its shape is no list of sizes", err);
        if (size != 0 && count > PTRDIFF_MAX / bits / size)
            return fail_entry(entry, file, "its shape is larger than memory can address", err);
        empty = empty || size == 0;
        count *= size ? size : 1;
    }
    count = empty ? 0 : count;
    if (count * bits % 8 != 0)
        return fail_entry(entry, file, "its numbers do not fill whole bytes", err);
    *bytes = count * bits / 8;
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

static int is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] >= 127 || (bytes[i] < 32 && !strchr("\t\n\r", bytes[i])))
            return 0;
    return size > 0;
}

/* A length that no header has. If neither the name nor what follows the length speaks
 * for safetensors, it is most likely something else altogether. */
static int fail_length(const bang_source *source, uint64_t length, const unsigned char bytes[8],
                       bang_error *err)
{
    int named = bang_text_ends_with(source->name, ".safetensors"), cut = source->size < 8;
    char next = 0;
    if (source->size > 8 && bang_source_read(source, &next, 8, 1, err) < 0)
        return err->code;
    if (source->size > 0 && next != '{' && (!named || is_text(bytes, cut ? source->size : 8)))
        return bang_fail(err, BANG_EDATA,
                         "%s: is no checkpoint: neither safetensors, PyTorch nor NumPy",
                         source->name);
    if (cut)
        return bang_fail(err, BANG_EDATA, "%s: %zu bytes: too short for a safetensors file",
                         source->name, source->size);
    return bang_fail(err, BANG_EDATA,
                     "%s: a header of %llu bytes: at most %d are allowed: not a safetensors file",
                     source->name, (unsigned long long)length, BANG_SAFETENSORS_HEADER_MOST);
}

/* *header is a new reference; *start is where the data begin; digest is that of the JSON. */
static int read_header(json_t **header, size_t *start, char digest[BANG_DIGEST_TEXT],
                       const bang_source *source, bang_error *err)
{
    unsigned char bytes[8] = {0};
    uint64_t length = 0;
    int cut = source->size < sizeof bytes;
    int code = bang_source_read(source, bytes, 0, cut ? source->size : sizeof bytes, err);
    if (code < 0)
        return code;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (cut || length > BANG_SAFETENSORS_HEADER_MOST)
        return fail_length(source, length, bytes, err);
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
        code = bang_json_parse_foreign(header, text, (size_t)length, &why);
        if (code < 0)
            bang_fail(err, code, "%s: its header: %s", source->name, why.message);
    }
    if (code == 0)
        code = bang_digest_bytes(digest, text, (size_t)length, err);
    free(text);
    *start = sizeof bytes + (size_t)length;
    return code;
}

/* Adds the entries, which are in the order of the data. */
static int add_entries(bang_checkpoint *c, size_t file, const struct entry *entries, size_t count,
                       size_t start, bang_error *err)
{
    size_t *shape = NULL, most = 0;
    int code = 0;
    for (size_t i = 0; i < count; i++)
        most = json_array_size(entries[i].shape) > most ? json_array_size(entries[i].shape) : most;
    shape = calloc(most + 1, sizeof *shape);
    if (!shape)
        return bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        size_t rank = json_array_size(entries[i].shape);
        for (size_t k = 0; k < rank; k++)
            to_size(&shape[k], json_array_get(entries[i].shape, k));
        bang_entry entry = {.name = entries[i].name,
                            .dtype = entries[i].dtype,
                            .rank = (int)rank, /* a header holds fewer than 2^31 characters */
                            .shape = shape,
                            .file = file,
                            .offset = start + entries[i].begin};
        code = bang_checkpoint_add(c, &entry, err);
    }
    free(shape);
    return code;
}

int bang_open_safetensors(bang_checkpoint *c, size_t file, bang_error *err)
{
    const bang_source *source = bang_checkpoint_source(c, file);
    json_t *header = NULL;
    struct entry *entries = NULL;
    size_t start = 0, count = 0;
    int code = read_header(&header, &start, c->files[file].header_digest, source, err);
    if (code == 0)
        code = parse_entries(&entries, &count, header, source, source->size - start, err);
    json_t *metadata = json_object_get(header, metadata_key);
    if (code == 0 && metadata)
        code = check_metadata(metadata, source->name, err);
    if (code == 0)
        code = add_entries(c, file, entries, count, start, err);
    if (code == 0) {
        c->format = "safetensors";
        if (!c->metadata)
            c->metadata = json_incref(metadata);
    }
    free(entries);
    json_decref(header);
    return code;
}
