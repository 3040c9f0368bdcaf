#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/safetensors.h"
#include "store/bytes.h"
#include "store/output.h"

/* The reference writer's order of number types: by ascending alignment. Data
 * are written the other way round, so that all are aligned. */
static const bang_dtype alignment_order[] = {
    BANG_BOOL,    BANG_F4,      BANG_F6_E2M3, BANG_F6_E3M2,     BANG_U8,          BANG_I8,
    BANG_F8_E5M2, BANG_F8_E4M3, BANG_F8_E8M0, BANG_F8_E4M3FNUZ, BANG_F8_E5M2FNUZ, BANG_I16,
    BANG_U16,     BANG_F16,     BANG_BF16,    BANG_I32,         BANG_U32,         BANG_F32,
    BANG_C64,     BANG_F64,     BANG_I64,     BANG_U64,
};

enum { ORDER_COUNT = sizeof alignment_order / sizeof *alignment_order };

_Static_assert(ORDER_COUNT == (int)BANG_DTYPE_COUNT, "every number type has a place");

static int place(bang_dtype dtype)
{
    int i = 0;
    while (i < ORDER_COUNT && alignment_order[i] != dtype)
        i++;
    return i;
}

static int by_type_and_name(const void *left, const void *right)
{
    const bang_output_item *a = *(bang_output_item *const *)left;
    const bang_output_item *b = *(bang_output_item *const *)right;
    int difference = place(b->dtype) - place(a->dtype);
    /* strcmp compares unsigned bytes, as the reference does. */
    return difference ? difference : strcmp(a->name, b->name);
}

/* A JSON string as the reference writer escapes it; jansson's differs in the
 * case of hexadecimal digits. */
static void add_string(bang_text *out, const char *s)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    bang_text_add_bytes(out, "\"", 1);
    for (; *s; s++) {
        const char *found = strchr(plain, *s);
        if (found)
            bang_text_add(out, "\\%c", letters[found - plain]);
        else if ((unsigned char)*s < 0x20)
            bang_text_add(out, "\\u%04x", (unsigned char)*s);
        else
            bang_text_add_bytes(out, s, 1);
    }
    bang_text_add_bytes(out, "\"", 1);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The reference writes keys in no order; sorted, equal metadata give equal
 * files. */
static void add_metadata(bang_text *out, json_t *metadata)
{
    size_t count = 0;
    const char **keys = calloc(json_object_size(metadata) + 1, sizeof *keys);
    const char *key;
    json_t *value;
    if (!keys) {
        out->failed = 1;
        return;
    }
    json_object_foreach(metadata, key, value) keys[count++] = key;
    qsort(keys, count, sizeof *keys, by_text);
    bang_text_add(out, "\"__metadata__\":{");
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_object_get(metadata, keys[i]));
        bang_text_add(out, "%s", i ? "," : "");
        add_string(out, keys[i]);
        bang_text_add(out, ":");
        add_string(out, text ? text : "");
    }
    bang_text_add(out, "}");
    free(keys);
}

static void add_tensor(bang_text *out, const bang_output_item *item, uint64_t begin)
{
    add_string(out, item->name);
    bang_text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", bang_dtype_name(item->dtype));
    for (int i = 0; i < item->rank; i++)
        bang_text_add(out, "%s%zu", i ? "," : "", item->shape[i]);
    bang_text_add(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + item->bytes);
}

/* Names that a reader would refuse are found before anything is written. */
static int check(const bang_text *header, const char *path, bang_error *err)
{
    json_t *again = NULL;
    bang_error why = {0};
    if (header->failed)
        return bang_fail_memory(err);
    if (header->size > BANG_SAFETENSORS_HEADER_MOST)
        return bang_fail(err, BANG_EUSAGE, "%s: too many tensors: its header may have %d bytes",
                         path, BANG_SAFETENSORS_HEADER_MOST);
    int code = bang_json_parse(&again, header->data + 8, header->size - 8, &why);
    json_decref(again);
    return code < 0
               ? bang_fail(err, code == BANG_EMEMORY ? code : BANG_EUSAGE,
                           "%s: the names of its tensors or its metadata: %s", path, why.message)
               : 0;
}

int bang_safetensors_header(bang_text *out, bang_output_item **items, size_t count,
                            json_t *metadata, const char *path, bang_error *err)
{
    uint64_t offset = 0;
    char length[8] = {0};
    qsort((void *)items, count, sizeof(void *), by_type_and_name);
    bang_text_add_bytes(out, length, sizeof length); /* known in the end */
    bang_text_add(out, "{");
    if (metadata)
        add_metadata(out, metadata);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || metadata)
            bang_text_add(out, ",");
        if (strcmp(items[i]->name, "__metadata__") == 0)
            return bang_fail(err, BANG_EUSAGE,
                             "%s: no tensor of a safetensors file can be called __metadata__",
                             path);
        add_tensor(out, items[i], offset);
        items[i]->offset = offset;
        offset += items[i]->bytes;
    }
    bang_text_add(out, "}");
    bang_text_add(out, "%*s", (int)((8 - out->size % 8) % 8), "");
    int code = check(out, path, err);
    if (code < 0)
        return code;
    for (int i = 0; i < 8; i++)
        out->data[i] = (char)((uint64_t)(out->size - 8) >> (8 * i) & 255);
    for (size_t i = 0; i < count; i++)
        items[i]->offset += out->size;
    return 0;
}

static int write_file(const char *path, const bang_text *header, const bang_tensors *tensors,
                      const bang_output_item *items, bang_output_item *const *sorted,
                      bang_error *err)
{
    bang_file *file;
    int code = bang_file_begin(&file, path, err);
    if (code < 0)
        return code;
    bang_file_write(file, header->data, header->size);
    for (size_t i = 0; i < tensors->count; i++)
        bang_bytes_write(file, &tensors->items[sorted[i] - items].array, 1);
    return bang_file_commit(file, err);
}

int bang_safetensors_write(const char *path, const bang_tensors *tensors, bang_error *err)
{
    bang_output_item *items = calloc(tensors->count + 1, sizeof *items);
    bang_output_item **sorted = calloc(tensors->count + 1, sizeof(void *));
    bang_text header = {0};
    int code = items && sorted ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < tensors->count; i++) {
        const bang_array *array = &tensors->items[i].array;
        items[i] = (bang_output_item){.name = tensors->items[i].name,
                                      .dtype = array->dtype,
                                      .rank = array->rank,
                                      .shape = array->shape,
                                      .bytes = array->count * bang_dtype_size(array->dtype)};
        sorted[i] = &items[i];
    }
    if (code == 0)
        code =
            bang_safetensors_header(&header, sorted, tensors->count, tensors->metadata, path, err);
    if (code == 0)
        code = write_file(path, &header, tensors, items, sorted, err);
    bang_text_release(&header);
    free((void *)sorted);
    free(items);
    return code;
}
