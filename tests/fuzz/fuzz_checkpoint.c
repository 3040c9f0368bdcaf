/* A safetensors file becomes tensors that lie within it and can be read, turned
 * and cut, or an error with a reason on one line. */
#include "bang/store/checkpoint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All bytes, in pieces of an odd size; returns their sum. */
static uint64_t read_all(const bang_checkpoint *c, const bang_entry *entry)
{
    unsigned char piece[37];
    uint64_t sum = 0;
    bang_error err = {0};
    for (uint64_t at = 0; at < entry->bytes; at += sizeof piece) {
        size_t part = entry->bytes - at < sizeof piece ? (size_t)(entry->bytes - at) : sizeof piece;
        if (bang_checkpoint_read(c, entry, at, piece, part, &err) < 0)
            abort();
        for (size_t i = 0; i < part; i++)
            sum += piece[i];
    }
    if (bang_checkpoint_read(c, entry, entry->bytes, piece, 1, &err) != BANG_EUSAGE)
        abort();
    return sum;
}

/* The same numbers in another order, and the same in two parts. */
static void try_views(bang_checkpoint *c, const bang_entry *entry, uint64_t sum)
{
    bang_error err = {0};
    const bang_entry *turned = bang_checkpoint_transposed(c, entry, &err);
    if (turned && (turned->bytes != entry->bytes || read_all(c, turned) != sum))
        abort();
    if (entry->rank == 0)
        return;
    size_t rows = entry->shape[0], half = rows / 2;
    const bang_entry *upper = bang_checkpoint_rows(c, entry, 0, half, &err);
    const bang_entry *lower = bang_checkpoint_rows(c, entry, half, rows - half, &err);
    if (!upper != !lower || (upper && read_all(c, upper) + read_all(c, lower) != sum))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_checkpoint *c;
    bang_error err = {0};
    if (bang_checkpoint_parse(&c, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || c)
            abort();
        return 0;
    }
    uint64_t bytes = 0;
    int ours = strcmp(c->format, "safetensors") == 0; /* others have targets of their own */
    for (size_t i = 0; ours && i < c->count; i++) {
        const bang_entry *entry = &c->entries[i];
        if (bang_checkpoint_find(c, entry->name) != entry)
            abort();
        bytes += entry->bytes;
        if (bytes > size)
            abort();
        try_views(c, entry, read_all(c, entry));
    }
    bang_checkpoint_close(c);
    return 0;
}
