/* Reading tensors, also those whose numbers lie scattered, big-endian, or
 * compressed. */
#include <stdlib.h>
#include <string.h>

#include "store/checkpoint.h"
#include "store/pages.h"

/* The bytes of a file; a packed one is unpacked first. */
static const bang_source *source_of(const bang_checkpoint *c, size_t file, bang_error *err)
{
    bang_input *input = c->files[file].input;
    if (!input->is_packed)
        return &input->source;
    int code = 0;
    pthread_mutex_lock(&input->lock);
    if (input->source.descriptor < 0) {
        const bang_source *zip = bang_checkpoint_source(c, input->packed.file);
        code = bang_inflate(&input->source, zip, &input->packed, c->files[file].size, err);
        input->source.name = c->files[file].name;
    }
    pthread_mutex_unlock(&input->lock);
    return code < 0 ? NULL : &input->source;
}

/* Numbers first .. first+count-1 in C order, each fetched from where it lies. */
static int gather(const bang_checkpoint *c, const bang_source *source, const bang_entry *entry,
                  uint64_t first, unsigned char *out, size_t count, bang_error *err)
{
    size_t size = bang_dtype_size(entry->dtype);
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++, out += size) {
        uint64_t rest = first + i, at = entry->offset;
        for (int d = entry->rank - 1; d >= 0; d--) {
            at += rest % entry->shape[d] * (uint64_t)entry->strides[d] * size;
            rest /= entry->shape[d];
        }
        code = bang_pages_read(c->state->pages, source, entry->file, at, out, size, err);
    }
    return code;
}

/* 1 for a matrix that lies transposed: what is a column here is a row there. */
static int is_transposed(const bang_entry *entry)
{
    return entry->rank == 2 && entry->strides[0] == 1 &&
           (size_t)entry->strides[1] >= entry->shape[0];
}

/* Numbers first .. first+count-1 of a transposed matrix: of each row there the part that
 * these rows need is read at once, whatever the size of the matrix. */
static int gather_transposed(const bang_source *source, const bang_entry *entry, uint64_t first,
                             unsigned char *out, size_t count, bang_error *err)
{
    size_t size = bang_dtype_size(entry->dtype), columns = entry->shape[1];
    uint64_t top = first / columns, bottom = (first + count - 1) / columns;
    size_t rows = (size_t)(bottom - top) + 1;
    unsigned char *part = malloc(rows * size);
    int code = part ? 0 : bang_fail_memory(err);
    for (size_t j = 0; code == 0 && j < columns; j++) {
        uint64_t at = entry->offset + (j * (uint64_t)entry->strides[1] + top) * size;
        code = bang_source_read(source, part, (size_t)at, rows * size, err);
        for (size_t i = 0; code == 0 && i < rows; i++) {
            uint64_t number = (top + i) * columns + j;
            if (number >= first && number < first + count)
                memcpy(out + (number - first) * size, part + i * size, size);
        }
    }
    free(part);
    return code;
}

/* The same under the lock of the cache, cut to whole numbers at both ends. */
static int read_scattered(const bang_checkpoint *c, const bang_source *source,
                          const bang_entry *entry, uint64_t offset, unsigned char *out, size_t size,
                          bang_error *err)
{
    size_t step = bang_dtype_size(entry->dtype);
    int code = 0;
    pthread_mutex_lock(&c->state->lock);
    if (!c->state->pages)
        c->state->pages = bang_pages_new();
    if (!c->state->pages)
        code = bang_fail_memory(err);
    while (code == 0 && size > 0) {
        unsigned char number[16];
        size_t within = (size_t)(offset % step), part = step - within < size ? step - within : size;
        if (within == 0 && size >= step) {
            part = size / step * step;
            code = gather(c, source, entry, offset / step, out, part / step, err);
        } else {
            code = gather(c, source, entry, offset / step, number, 1, err);
            memcpy(out, number + within, part);
        }
        out += part;
        offset += part;
        size -= part;
    }
    pthread_mutex_unlock(&c->state->lock);
    return code;
}

/* Big-endian: whole numbers are read and turned round. */
static int read_swapped(const bang_checkpoint *c, const bang_entry *entry, uint64_t offset,
                        unsigned char *out, size_t size, bang_error *err)
{
    size_t step = bang_entry_step(entry);
    /* A complex number is two, each turned by itself. */
    size_t turn = entry->dtype == BANG_C64 ? step / 2 : step;
    bang_entry as_is = *entry;
    as_is.swapped = 0;
    while (size > 0) {
        unsigned char numbers[4096];
        uint64_t start = offset / step * step;
        size_t within = (size_t)(offset - start), most = sizeof numbers - within;
        size_t part = size < most ? size : most, whole = (within + part + step - 1) / step * step;
        int code = bang_checkpoint_read(c, &as_is, start, numbers, whole, err);
        if (code < 0)
            return code;
        bang_bytes_swap(numbers, whole / turn, turn);
        memcpy(out, numbers + within, part);
        out += part;
        offset += part;
        size -= part;
    }
    return 0;
}

int bang_checkpoint_read(const bang_checkpoint *c, const bang_entry *entry, uint64_t offset,
                         void *out, size_t size, bang_error *err)
{
    char shown[BANG_SHOWN];
    if (offset > entry->bytes || size > entry->bytes - offset)
        return bang_fail(err, BANG_EUSAGE, "%s: tensor \"%s\": has %llu bytes only",
                         c->files[entry->file].name, bang_bytes_show(shown, entry->name),
                         (unsigned long long)entry->bytes);
    if (size == 0)
        return 0;
    if (entry->swapped && bang_entry_step(entry) > 1)
        return read_swapped(c, entry, offset, out, size, err);
    const bang_source *source = source_of(c, entry->file, err);
    if (!source)
        return err ? err->code : BANG_EIO;
    size_t step = bang_entry_step(entry);
    if (entry->strides && is_transposed(entry) && offset % step == 0 && size % step == 0)
        return gather_transposed(source, entry, offset / step, out, size / step, err);
    if (entry->strides)
        return read_scattered(c, source, entry, offset, out, size, err);
    return bang_source_read(source, out, (size_t)(entry->offset + offset), size, err);
}
