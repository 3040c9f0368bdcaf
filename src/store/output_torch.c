/* What PyTorch reads: an OrderedDict of tensors in a pickle of protocol 2, each
 * storage a member of its own. */
#include <stdio.h>
#include <string.h>

#include "store/output_zip.h"

/* Storages that have a class of their own; others are bytes beside a dtype. */
static const struct {
    bang_dtype dtype;
    const char *storage, *name;
} types[] = {
    {BANG_F32, "FloatStorage", NULL},
    {BANG_F64, "DoubleStorage", NULL},
    {BANG_F16, "HalfStorage", NULL},
    {BANG_BF16, "BFloat16Storage", NULL},
    {BANG_I64, "LongStorage", NULL},
    {BANG_I32, "IntStorage", NULL},
    {BANG_I16, "ShortStorage", NULL},
    {BANG_I8, "CharStorage", NULL},
    {BANG_U8, "ByteStorage", NULL},
    {BANG_BOOL, "BoolStorage", NULL},
    {BANG_C64, "ComplexFloatStorage", NULL},
    {BANG_F8_E4M3, NULL, "float8_e4m3fn"},
    {BANG_F8_E5M2, NULL, "float8_e5m2"},
    {BANG_F8_E4M3FNUZ, NULL, "float8_e4m3fnuz"},
    {BANG_F8_E5M2FNUZ, NULL, "float8_e5m2fnuz"},
    {BANG_F8_E8M0, NULL, "float8_e8m0fnu"},
    {BANG_U16, NULL, "uint16"},
    {BANG_U32, NULL, "uint32"},
    {BANG_U64, NULL, "uint64"},
};

static void add_number(bang_text *out, uint64_t value, int size)
{
    char bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (char)(value >> (8 * i) & 255);
    bang_text_add_bytes(out, bytes, (size_t)size);
}

/* A whole number in the shortest opcode. */
static void add_int(bang_text *out, uint64_t value)
{
    int size = value < 256 ? 1 : value < 65536 ? 2 : value <= INT32_MAX ? 4 : 8;
    bang_text_add_bytes(out,
                        size == 1   ? "K"
                        : size == 2 ? "M"
                        : size == 4 ? "J"
                                    : "\x8a\x08",
                        size == 8 ? 2 : 1);
    add_number(out, value, size);
}

static void add_string(bang_text *out, const char *text)
{
    size_t size = strlen(text);
    bang_text_add_bytes(out, "X", 1);
    add_number(out, size, 4);
    bang_text_add_bytes(out, text, size);
}

/* The persistent id that stands for the storage. */
static void add_storage(bang_text *out, const bang_output_item *item, const char *storage,
                        size_t key)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", key);
    bang_text_add(out, "(");
    add_string(out, "storage");
    if (storage)
        bang_text_add(out, "ctorch\n%s\n", storage);
    else
        bang_text_add(out, "ctorch.storage\nUntypedStorage\n");
    add_string(out, text);
    add_string(out, "cpu");
    add_int(out, storage ? item->bytes / bang_dtype_size(item->dtype) : item->bytes);
    bang_text_add(out, "tQ");
}

/* Shape and strides of C order. */
static void add_geometry(bang_text *out, const bang_output_item *item)
{
    uint64_t strides[BANG_RANK_MAX], step = 1;
    bang_text_add(out, "(");
    for (int i = 0; i < item->rank; i++)
        add_int(out, item->shape[i]);
    bang_text_add(out, "t(");
    for (int i = item->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= item->shape[i] > 0 ? item->shape[i] : 1; /* as PyTorch counts empty ones */
    }
    for (int i = 0; i < item->rank; i++)
        add_int(out, strides[i]);
    bang_text_add(out, "t");
}

static int add_tensor(bang_text *out, const bang_output_item *item, size_t key, const char *path,
                      bang_error *err)
{
    size_t type = 0;
    while (type < sizeof types / sizeof *types && types[type].dtype != item->dtype)
        type++;
    if (type == sizeof types / sizeof *types || item->rank > BANG_RANK_MAX)
        return bang_fail(err, BANG_EUSAGE,
                         "%s: tensor \"%.100s\": PyTorch has no number type %s: write safetensors",
                         path, item->name, bang_dtype_name(item->dtype));
    add_string(out, item->name);
    bang_text_add(out, "ctorch._utils\n_rebuild_tensor_v%d\n(", types[type].storage ? 2 : 3);
    add_storage(out, item, types[type].storage, key);
    add_int(out, 0); /* offset in the storage */
    add_geometry(out, item);
    bang_text_add(out, "\x89"); /* no gradient, no hooks */
    bang_text_add(out, "ccollections\nOrderedDict\n)R");
    if (!types[type].storage)
        bang_text_add(out, "ctorch\n%s\n", types[type].name);
    bang_text_add(out, "tR");
    return 0;
}

static bang_zip_part *add_part(bang_zip_parts *out, const char *name)
{
    bang_zip_part *part = bang_zip_add_part(out);
    if (part)
        bang_text_add(&part->name, "archive/%s", name);
    return part;
}

int bang_zip_torch_parts(bang_zip_parts *out, const bang_output *output, bang_error *err)
{
    bang_zip_part *part = add_part(out, "data.pkl");
    if (!part)
        return bang_fail_memory(err);
    bang_text *pickle = &part->content;
    bang_text_add(pickle, "\x80\x02"
                          "ccollections\nOrderedDict\n)R(");
    for (size_t i = 0; i < output->item_count; i++) {
        int code = add_tensor(pickle, &output->items[i], i, output->path, err);
        if (code < 0)
            return code;
    }
    bang_text_add(pickle, "u.");
    part = add_part(out, "byteorder");
    if (!part)
        return bang_fail_memory(err);
    bang_text_add(&part->content, "little");
    for (size_t i = 0; i < output->item_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "data/%zu", i);
        part = add_part(out, name);
        if (!part)
            return bang_fail_memory(err);
        part->item = &output->items[i];
    }
    part = add_part(out, "version");
    if (!part)
        return bang_fail_memory(err);
    bang_text_add(&part->content, "3\n");
    return 0;
}
