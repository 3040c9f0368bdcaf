/* The geometry of PyTorch's tensors: a storage, an offset, sizes and strides. */
#include <stdlib.h>
#include <string.h>

#include "store/pytorch.h"

static const struct {
    const char *storage, *name, *other;
    bang_dtype dtype;
} types[] = {
    {"torch.FloatStorage", "torch.float32", "torch.float", BANG_F32},
    {"torch.DoubleStorage", "torch.float64", "torch.double", BANG_F64},
    {"torch.HalfStorage", "torch.float16", "torch.half", BANG_F16},
    {"torch.BFloat16Storage", "torch.bfloat16", "", BANG_BF16},
    {"torch.LongStorage", "torch.int64", "torch.long", BANG_I64},
    {"torch.IntStorage", "torch.int32", "torch.int", BANG_I32},
    {"torch.ShortStorage", "torch.int16", "torch.short", BANG_I16},
    {"torch.CharStorage", "torch.int8", "", BANG_I8},
    {"torch.ByteStorage", "torch.uint8", "", BANG_U8},
    {"torch.BoolStorage", "torch.bool", "", BANG_BOOL},
    {"torch.ComplexFloatStorage", "torch.complex64", "torch.cfloat", BANG_C64},
    {"torch.Float8_e4m3fnStorage", "torch.float8_e4m3fn", "", BANG_F8_E4M3},
    {"torch.Float8_e5m2Storage", "torch.float8_e5m2", "", BANG_F8_E5M2},
    {"torch.Float8_e4m3fnuzStorage", "torch.float8_e4m3fnuz", "", BANG_F8_E4M3FNUZ},
    {"torch.Float8_e5m2fnuzStorage", "torch.float8_e5m2fnuz", "", BANG_F8_E5M2FNUZ},
    {"", "torch.float8_e8m0fnu", "", BANG_F8_E8M0},
    {"", "torch.uint16", "", BANG_U16},
    {"", "torch.uint32", "", BANG_U32},
    {"", "torch.uint64", "", BANG_U64},
};

int bang_torch_dtype(bang_dtype *out, int *is_untyped, const bang_value *global)
{
    bang_value plain = *global;
    /* torch.cuda.FloatStorage lies in the file as any other. */
    if (global->kind == BANG_VALUE_GLOBAL && global->global.module_size == 10 &&
        memcmp(global->global.module, "torch.cuda", 10) == 0)
        plain.global.module_size = 5;
    *is_untyped = bang_value_is_global(&plain, "torch.storage.UntypedStorage") ||
                  bang_value_is_global(&plain, "torch.UntypedStorage");
    *out = BANG_U8;
    for (size_t i = 0; !*is_untyped && i < sizeof types / sizeof *types; i++) {
        if (!bang_value_is_global(&plain, types[i].storage) &&
            !bang_value_is_global(&plain, types[i].name) &&
            !bang_value_is_global(&plain, types[i].other))
            continue;
        *out = types[i].dtype;
        return 0;
    }
    return *is_untyped ? 0 : -1;
}

static int fail(const char *file, const char *tensor, const char *why, bang_error *err)
{
    char shown[BANG_SHOWN];
    return bang_fail(err, BANG_EDATA, "%s: tensor \"%s\": %s", file, bang_bytes_show(shown, tensor),
                     why);
}

/* Shape and strides, in numbers. */
struct geometry {
    int rank;
    size_t shape[BANG_RANK_MAX];
    ptrdiff_t strides[BANG_RANK_MAX];
    uint64_t offset;
    uint64_t reach; /* numbers from offset to behind the farthest; 0: it is empty */
};

/* A number of a tuple that is neither negative nor larger than memory. */
static int get_size(uint64_t *out, const bang_value *tuple, size_t index)
{
    const bang_value *value = tuple->list.items[index];
    if (value->kind != BANG_VALUE_INT || value->integer < 0)
        return -1;
    *out = (uint64_t)value->integer;
    return 0;
}

static int read_geometry(struct geometry *out, const bang_value *tensor, const char *file,
                         const char *name, bang_error *err)
{
    const bang_value *arguments = tensor->tensor.geometry;
    const bang_value *sizes = arguments->list.items[2], *strides = arguments->list.items[3];
    char shown[BANG_SHOWN];
    if (sizes->list.count != strides->list.count)
        return fail(file, name, "its strides do not fit its shape: damaged", err);
    if (sizes->list.count > BANG_RANK_MAX)
        return bang_fail(err, BANG_EDATA, "%s: tensor \"%s\": %zu dimensions: at most %d are read",
                         file, bang_bytes_show(shown, name), sizes->list.count, BANG_RANK_MAX);
    *out = (struct geometry){.rank = (int)sizes->list.count, .reach = 1};
    int empty = 0;
    if (get_size(&out->offset, arguments, 1) < 0)
        return fail(file, name, "its offset is negative: damaged", err);
    for (int i = 0; i < out->rank; i++) {
        uint64_t size, stride;
        if (get_size(&size, sizes, (size_t)i) < 0 || get_size(&stride, strides, (size_t)i) < 0)
            return fail(file, name, "its shape or strides are no sizes: damaged", err);
        out->shape[i] = (size_t)size;
        out->strides[i] = (ptrdiff_t)stride;
        empty = empty || size == 0;
    }
    for (int i = 0; i < out->rank && !empty; i++) {
        uint64_t steps = out->shape[i] - 1, stride = (uint64_t)out->strides[i];
        if (steps > 0 && stride > (INT64_MAX - out->reach) / steps)
            return fail(file, name, "its strides reach farther than a file can: damaged", err);
        out->reach += steps * stride;
    }
    if (empty)
        out->reach = 0;
    return 0;
}

/* A view of an older file: which numbers of the storage it covers. */
static int read_view(uint64_t *from, uint64_t *count, const bang_value *storage, const char *file,
                     const char *name, bang_error *err)
{
    const bang_value *view = storage->storage.view;
    *from = 0;
    *count = (uint64_t)storage->storage.count;
    if (!view)
        return 0;
    if (view->kind != BANG_VALUE_TUPLE || view->list.count != 3 || get_size(from, view, 1) < 0 ||
        get_size(count, view, 2) < 0)
        return fail(file, name, "the view of its storage is damaged", err);
    return 0;
}

/* The number type; *storage_size are the bytes of one number of its storage. */
static int read_types(bang_dtype *dtype, size_t *storage_size, const bang_value *tensor,
                      const char *file, const char *name, bang_error *err)
{
    const bang_value *type = tensor->tensor.storage->storage.type;
    const bang_value *own = tensor->tensor.dtype;
    bang_dtype stored;
    int untyped = 0, also;
    char shown[BANG_SHOWN], shown_type[BANG_SHOWN];
    const bang_value *unknown = bang_torch_dtype(&stored, &untyped, type) < 0 ? type : NULL;
    *dtype = stored;
    *storage_size = bang_dtype_size(stored);
    if (!unknown && own && bang_torch_dtype(dtype, &also, own) < 0)
        unknown = own;
    if (!unknown && untyped && !own)
        unknown = type;
    if (unknown)
        return bang_fail(err, BANG_EDATA,
                         "%s: tensor \"%s\": number type %s is not known: convert it first", file,
                         bang_bytes_show(shown, name), bang_value_show(shown_type, unknown));
    return 0;
}

/* Strides of 0 make a tensor of any size from one number: what is usual (a bias for
 * each of a batch) is read, not what would fill a disk from nothing. */
static int check_expanded(const struct geometry *geometry, uint64_t size, uint64_t stored,
                          const char *file, const char *name, bang_error *err)
{
    const uint64_t least = (uint64_t)4 << 30, times = 1000;
    uint64_t bytes = size;
    char shown[BANG_SHOWN];
    for (int i = 0; i < geometry->rank && geometry->reach > 0; i++) {
        if (geometry->shape[i] > INT64_MAX / bytes)
            return fail(file, name, "is larger than a file can be: damaged", err);
        bytes *= geometry->shape[i];
    }
    if (geometry->reach == 0 || bytes <= least || bytes / times <= stored)
        return 0;
    return bang_fail(err, BANG_EDATA,
                     "%s: tensor \"%s\": is expanded from %llu to %llu bytes: save a contiguous "
                     "copy",
                     file, bang_bytes_show(shown, name), (unsigned long long)stored,
                     (unsigned long long)bytes);
}

static int add(bang_checkpoint *c, const struct bang_torch_item *item, const char *file,
               bang_torch_find *find, void *context, int swapped, bang_error *err)
{
    const bang_value *storage = item->tensor->tensor.storage;
    struct geometry geometry;
    bang_torch_place place = {0};
    bang_dtype dtype = BANG_U8;
    size_t unit = 1;
    uint64_t from = 0, count = 0;
    int code = read_types(&dtype, &unit, item->tensor, file, item->name, err);
    if (code == 0)
        code = read_geometry(&geometry, item->tensor, file, item->name, err);
    if (code == 0)
        code = read_view(&from, &count, storage, file, item->name, err);
    if (code == 0)
        code = find(&place, context, storage->storage.key, unit, err);
    if (code < 0)
        return code;
    /* The storage within its place, then the tensor within the storage. */
    if (from > place.bytes / unit || count > place.bytes / unit - from)
        return fail(file, item->name, "its storage is larger than what the file has: cut", err);
    uint64_t size = bang_dtype_size(dtype), numbers = count * unit / size;
    if (geometry.reach > 0 &&
        (geometry.offset > numbers || geometry.reach > numbers - geometry.offset))
        return fail(file, item->name, "reaches beyond its storage: damaged", err);
    code = check_expanded(&geometry, size, count * unit, file, item->name, err);
    if (code < 0)
        return code;
    if (swapped && dtype == BANG_C64)
        return fail(file, item->name, "big-endian complex numbers are not read: convert it", err);
    uint64_t offset = geometry.reach > 0 ? geometry.offset * size : 0;
    bang_entry entry = {.name = item->name,
                        .dtype = dtype,
                        .rank = geometry.rank,
                        .shape = geometry.shape,
                        .strides = geometry.strides,
                        .file = place.file,
                        .offset = place.offset + from * unit + offset,
                        .swapped = swapped};
    return bang_checkpoint_add(c, &entry, err);
}

int bang_torch_add(bang_checkpoint *c, const bang_torch_list *list, const char *name,
                   bang_torch_find *find, void *context, int swapped, bang_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < list->count; i++)
        code = add(c, &list->items[i], name, find, context, swapped, err);
    return code;
}
