/* Lays out a zip file. The check sums of tensors are only known when all bytes
 * went by, so everything between them is made twice: for its size, and at the end. */
#include "store/output_zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    ALIGNMENT = 64, /* of tensors, as PyTorch has it */
    LOCAL = 30,
    FULL16 = 0xffff,
    VERSION = 20,
    VERSION64 = 45, /* of who can read ZIP64 */
    UTF8 = 1 << 11,
    DATE = 0x21, /* the first day of 1980: no time of ours */
};

static const uint64_t full32 = 0xffffffff;

bang_zip_part *bang_zip_add_part(bang_zip_parts *parts)
{
    if (parts->count == parts->capacity) {
        size_t capacity = parts->capacity ? 2 * parts->capacity : 64;
        bang_zip_part *items = realloc(parts->items, capacity * sizeof *items);
        if (!items)
            return NULL;
        parts->items = items;
        parts->capacity = capacity;
    }
    parts->items[parts->count] = (bang_zip_part){0};
    return &parts->items[parts->count++];
}

static void release(bang_zip_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        bang_text_release(&parts->items[i].name);
        bang_text_release(&parts->items[i].content);
    }
    free(parts->items);
}

static void add_number(bang_text *out, uint64_t value, int size)
{
    char bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (char)(value >> (8 * i) & 255);
    bang_text_add_bytes(out, bytes, (size_t)size);
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

/* What both headers of a member have in common, from the version on. */
static void add_common(bang_text *out, const bang_zip_part *part, uint64_t size, uint32_t crc,
                       int large)
{
    add_number(out, large ? VERSION64 : VERSION, 2);
    add_number(out, UTF8, 2);
    add_number(out, 0, 2); /* stored */
    add_number(out, 0, 2);
    add_number(out, DATE, 2);
    add_number(out, crc, 4);
    add_number(out, large ? full32 : size, 4);
    add_number(out, large ? full32 : size, 4);
    add_number(out, part->name.size, 2);
}

/* The local header, with an extra field that brings what follows the content to
 * a multiple of ALIGNMENT. offset: where the header begins. */
static void add_local(bang_text *out, const bang_zip_part *part, uint64_t offset, uint64_t size,
                      uint32_t crc)
{
    int large = size >= full32;
    size_t fixed = LOCAL + part->name.size + (large ? 20 : 0) + 4 + part->content.size;
    size_t padding = (ALIGNMENT - (size_t)((offset + fixed) % ALIGNMENT)) % ALIGNMENT;
    bang_text_add_bytes(out, "PK\3\4", 4);
    add_common(out, part, size, crc, large);
    add_number(out, (large ? 20 : 0) + 4 + padding, 2);
    bang_text_add_bytes(out, part->name.data, part->name.size);
    if (large) {
        add_number(out, 1, 2);
        add_number(out, 16, 2);
        add_number(out, size, 8);
        add_number(out, size, 8);
    }
    bang_text_add_bytes(out, "FB", 2); /* the field that PyTorch pads with */
    add_number(out, padding, 2);
    for (size_t i = 0; i < padding; i++)
        bang_text_add_bytes(out, "Z", 1);
    bang_text_add_bytes(out, part->content.data ? part->content.data : "", part->content.size);
}

static void add_central(bang_text *out, const bang_zip_part *part, uint64_t offset, uint64_t size,
                        uint32_t crc)
{
    int large = size >= full32, far = offset >= full32;
    unsigned extra = (large ? 16U : 0U) + (far ? 8U : 0U);
    bang_text_add_bytes(out, "PK\1\2", 4);
    add_number(out, large || far ? VERSION64 : VERSION, 2);
    add_common(out, part, size, crc, large);
    add_number(out, extra ? extra + 4 : 0, 2);
    add_number(out, 0, 2); /* comment */
    add_number(out, 0, 2); /* disk */
    add_number(out, 0, 6); /* attributes */
    add_number(out, at_most(offset, full32), 4);
    bang_text_add_bytes(out, part->name.data, part->name.size);
    if (extra) {
        add_number(out, 1, 2);
        add_number(out, extra, 2);
    }
    if (large) {
        add_number(out, size, 8);
        add_number(out, size, 8);
    }
    if (far)
        add_number(out, offset, 8);
}

/* Behind the directory of that place and size. */
static void add_end(bang_text *out, uint64_t count, uint64_t offset, uint64_t size)
{
    if (count >= FULL16 || offset >= full32 || size >= full32) {
        uint64_t at = offset + size;
        bang_text_add_bytes(out, "PK\6\6", 4);
        add_number(out, 44, 8); /* bytes that follow */
        add_number(out, VERSION64, 2);
        add_number(out, VERSION64, 2);
        add_number(out, 0, 8); /* disks */
        add_number(out, count, 8);
        add_number(out, count, 8);
        add_number(out, size, 8);
        add_number(out, offset, 8);
        bang_text_add_bytes(out, "PK\6\7", 4);
        add_number(out, 0, 4);
        add_number(out, at, 8);
        add_number(out, 1, 4);
    }
    bang_text_add_bytes(out, "PK\5\6", 4);
    add_number(out, 0, 4); /* disks */
    add_number(out, at_most(count, FULL16), 2);
    add_number(out, at_most(count, FULL16), 2);
    add_number(out, at_most(size, full32), 4);
    add_number(out, at_most(offset, full32), 4);
    add_number(out, 0, 2); /* comment */
}

/* The index-th span of the file, empty, at offset. */
static bang_text *span_at(bang_output_file *file, size_t index, uint64_t offset)
{
    bang_span *span =
        index < file->span_count ? &file->spans[index] : bang_output_add_span(file, offset);
    if (!span)
        return NULL;
    bang_text_release(&span->bytes);
    return &span->bytes;
}

static uint32_t sum_of(const bang_zip_part *part, const bang_output *output)
{
    uint32_t crc =
        (uint32_t)crc32_z(0, (const unsigned char *)(part->content.data ? part->content.data : ""),
                          part->content.size);
    if (!part->item || !output->sums)
        return crc;
    uint32_t rest = output->sums[part->item - output->items];
    return (uint32_t)crc32_combine(crc, rest, (z_off_t)part->item->bytes);
}

/* Makes all spans; places the tensors and sets the file's size. */
static int lay_out(bang_output *output, const bang_zip_parts *parts, bang_error *err)
{
    bang_output_file *file = &output->files[0];
    bang_text directory = {0};
    uint64_t at = 0;
    int failed = 0;
    for (size_t i = 0; i < parts->count && !failed; i++) {
        const bang_zip_part *part = &parts->items[i];
        uint64_t bytes = part->item ? part->item->bytes : 0, start = at;
        uint64_t size = part->content.size + bytes;
        uint32_t crc = sum_of(part, output);
        bang_text *span = span_at(file, i, at);
        if (!span)
            return bang_text_release(&directory), bang_fail_memory(err);
        add_local(span, part, start, size, crc);
        add_central(&directory, part, start, size, crc);
        failed = span->failed || part->name.failed || part->content.failed;
        at += span->size;
        if (part->item)
            output->items[part->item - output->items].offset = at;
        at += bytes;
    }
    bang_text *span = failed ? NULL : span_at(file, parts->count, at);
    if (span) {
        bang_text_add_bytes(span, directory.data ? directory.data : "", directory.size);
        add_end(span, parts->count, at, directory.size);
        file->size = at + span->size;
        failed = span->failed || directory.failed;
    }
    bang_text_release(&directory);
    return failed || !span ? bang_fail_memory(err) : 0;
}

static int make(bang_output *output, bang_error *err)
{
    const char *path = output->files[0].path;
    size_t length = strlen(path);
    int npz = length >= 4 && strcmp(path + length - 4, ".npz") == 0;
    bang_zip_parts parts = {0};
    int code =
        npz ? bang_zip_npz_parts(&parts, output, err) : bang_zip_torch_parts(&parts, output, err);
    if (code == 0)
        code = lay_out(output, &parts, err);
    release(&parts);
    return code;
}

/* Once all tensors are written and their sums are known. */
static int finish(bang_output *output, bang_error *err)
{
    int code = make(output, err);
    return code < 0 ? code : bang_output_rewrite(&output->files[0], err);
}

int bang_output_plan_zip(bang_output *output, json_t *metadata, bang_error *err)
{
    (void)metadata; /* neither format has a place for it */
    for (size_t i = 0; i < output->item_count; i++)
        output->items[i].file = 0;
    if (!bang_output_add_file(output, strdup(output->path)))
        return bang_fail_memory(err);
    output->in_order = 1;
    output->finish = finish;
    return make(output, err);
}
