/* What must hold for a checkpoint from any bytes. */
#ifndef BANG_TESTS_FUZZ_CHECKPOINT_H
#define BANG_TESTS_FUZZ_CHECKPOINT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The largest place of a tensor's numbers, counted from its first. */
static uint64_t reach(const bang_entry *entry)
{
    uint64_t last = 0;
    if (!entry->strides || entry->bytes == 0)
        return entry->bytes;
    for (int i = 0; i < entry->rank; i++)
        last += (entry->shape[i] - 1) * (uint64_t)entry->strides[i];
    return (last + 1) * bang_entry_step(entry);
}

static void try_entry(const bang_checkpoint *c, const bang_entry *entry)
{
    char bytes[64];
    bang_error err = {0};
    size_t size = entry->bytes < sizeof bytes ? (size_t)entry->bytes : sizeof bytes;
    if (bang_checkpoint_find(c, entry->name) != entry || entry->rank < 0 ||
        entry->rank > BANG_RANK_MAX || entry->file >= c->file_count)
        abort();
    uint64_t file = c->files[entry->file].size;
    if (entry->bytes > 0 && (entry->offset > file || reach(entry) > file - entry->offset))
        abort();
    size -= size % bang_entry_step(entry);
    /* Only a compressed member can fail, once it is unpacked. */
    if (bang_checkpoint_read(c, entry, 0, bytes, size, &err) < 0 &&
        (entry->file == 0 || !err.message[0]))
        abort();
}

static int try_checkpoint(const uint8_t *data, size_t size)
{
    bang_checkpoint *c;
    bang_error err = {0};
    if (bang_checkpoint_parse(&c, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || c)
            abort();
        return 0;
    }
    /* Tensors may share bytes, but there are not many more of them than bytes. */
    if (c->count > 16 * size + 1024)
        abort();
    for (size_t i = 0; i < c->count && i < 100; i++)
        try_entry(c, &c->entries[i]);
    bang_checkpoint_close(c);
    return 0;
}

#endif
