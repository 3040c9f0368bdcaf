#include "bang/store/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "store/npy.h"

enum {
    PREFIX = 8, /* magic and version */
    ALIGNMENT = 64,
    /* NumPy leaves room to let the first dimension grow in place. */
    GROWTH_DIGITS = 21,
};

static const char magic[] = "\x93NUMPY";

/* Fortran order of from, the numbers as they are in the file, to C order. */
static void reorder(bang_array *to, const void *from)
{
    size_t size = bang_dtype_size(to->dtype), index[BANG_RANK_MAX] = {0};
    const char *in = from;
    char *out = to->data;
    for (size_t i = 0; i < to->count; i++) {
        size_t place = 0;
        for (int d = to->rank - 1; d >= 0; d--)
            place = place * to->shape[d] + index[d];
        memcpy(out + i * size, in + place * size, size);
        for (int d = to->rank - 1; d >= 0 && ++index[d] == to->shape[d]; d--)
            index[d] = 0;
    }
}

int bang_npy_check(const bang_npy_head *head, const bang_source *source, bang_error *err)
{
    size_t left = source->size - head->start;
    if (head->dtype == BANG_C64)
        return bang_fail(err, BANG_EDATA,
                         "%s: number type \"%cc8\" is not known to arrays: convert it to f4",
                         source->name, head->big ? '>' : '<');
    if (head->bytes != left)
        return bang_fail(err, BANG_EDATA,
                         "%s: its shape needs %zu bytes of numbers, but %zu follow: the file is %s",
                         source->name, head->bytes, left,
                         left < head->bytes ? "cut" : "no single array");
    return 0;
}

static int read_numbers(bang_array *out, const bang_npy_head *head, const bang_source *source,
                        bang_error *err)
{
    bang_array array = {0}, ordered = {0};
    int code = bang_array_init(&array, head->dtype, head->rank, head->shape, err);
    if (code == 0)
        code = bang_source_read(source, array.data, head->start, head->bytes, err);
    if (code == 0 && head->big == bang_bytes_native_little())
        bang_bytes_swap(array.data, array.count, bang_dtype_size(head->dtype));
    if (code == 0 && head->fortran && head->rank > 1) {
        code = bang_array_init(&ordered, head->dtype, head->rank, head->shape, err);
        if (code == 0) {
            reorder(&ordered, array.data);
            bang_array_release(&array);
            array = ordered;
        }
    }
    if (code == 0)
        *out = array;
    else
        bang_array_release(&array);
    return code;
}

static int read_source(bang_array *out, const bang_source *source, bang_error *err)
{
    bang_npy_head head;
    *out = (bang_array){0};
    int code = bang_npy_head_read(&head, source, err);
    if (code == 0)
        code = bang_npy_check(&head, source, err);
    return code < 0 ? code : read_numbers(out, &head, source, err);
}

int bang_npy_parse(bang_array *out, const void *data, size_t size, const char *name,
                   bang_error *err)
{
    bang_source source;
    bang_source_memory(&source, data, size, name);
    return read_source(out, &source, err);
}

int bang_npy_read(bang_array *out, const char *path, bang_error *err)
{
    bang_source source;
    *out = (bang_array){0};
    int code = bang_source_open(&source, path, err);
    if (code < 0)
        return code;
    code = read_source(out, &source, err);
    bang_source_close(&source);
    return code;
}

/* Everything before the numbers, byte for byte as NumPy writes it. */
static void add_header(bang_text *out, char kind, char size, const bang_array *array)
{
    bang_text dict = {0};
    char shape[256], first[32];
    bang_array_shape_text(shape, sizeof shape, array);
    bang_text_add(&dict, "{'descr': '%c%c%c', 'fortran_order': False, 'shape': %s, }",
                  size == '1' ? '|' : '<', kind, size, shape);
    if (array->rank > 0) {
        int digits = snprintf(first, sizeof first, "%zu", array->shape[0]);
        bang_text_add(&dict, "%*s", GROWTH_DIGITS - digits, "");
    }
    /* A header that fits without spaces still gets a block of them. */
    size_t prefix = PREFIX + 2, length = dict.size + 1;
    size_t padding = ALIGNMENT - (prefix + length) % ALIGNMENT;
    bang_text_add(&dict, "%*s\n", (int)padding, "");
    length += padding;
    const char head[] = {1, 0, (char)(length & 255), (char)(length >> 8)};
    bang_text_add_bytes(out, magic, sizeof magic - 1);
    bang_text_add_bytes(out, head, sizeof head);
    if (dict.failed)
        out->failed = 1;
    else
        bang_text_add_bytes(out, dict.data, dict.size);
    bang_text_release(&dict);
}

int bang_npy_header(bang_text *out, const bang_array *array, bang_error *err)
{
    char kind, size;
    if (bang_npy_type(&kind, &size, array->dtype) < 0)
        return bang_fail(err, BANG_EUSAGE,
                         "npy has no number type %s: write it as F32, with --dtype f32",
                         bang_dtype_name(array->dtype));
    add_header(out, kind, size, array);
    return out->failed ? bang_fail_memory(err) : 0;
}

int bang_npy_put(bang_file *file, const char *name, const bang_array *array, bang_error *err)
{
    bang_text header = {0};
    bang_error why = {0};
    int code = array->dtype == BANG_C64
                   ? bang_fail(&why, BANG_EUSAGE, "arrays of C64 are not written")
                   : bang_npy_header(&header, array, &why);
    if (code < 0) {
        code = bang_fail(err, code, "%s: %s", name, why.message);
    } else {
        bang_file_write(file, header.data, header.size);
        bang_bytes_write(file, array, 1);
    }
    bang_text_release(&header);
    return code;
}

int bang_npy_write(const char *path, const bang_array *array, bang_error *err)
{
    bang_file *file;
    int code = bang_file_begin(&file, path, err);
    if (code < 0)
        return code;
    code = bang_npy_put(file, path, array, err);
    if (code == 0)
        return bang_file_commit(file, err);
    bang_file_discard(file);
    return code;
}
