#include "store/checkpoint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages.h"

int bang_checkpoint_new(bang_checkpoint **out, const char *path, bang_error *err)
{
    bang_checkpoint *c = calloc(1, sizeof *c);
    *out = c;
    if (!c)
        return bang_fail_memory(err);
    c->format = "";
    c->path = strdup(path);
    c->state = calloc(1, sizeof *c->state);
    if (c->state)
        pthread_mutex_init(&c->state->lock, NULL);
    if (c->path && c->state)
        return 0;
    bang_checkpoint_close(c);
    *out = NULL;
    return bang_fail_memory(err);
}

static void close_file(bang_checkpoint_file *file)
{
    if (file->input) {
        bang_source_close(&file->input->source);
        if (file->input->direct >= 0)
            close(file->input->direct);
        pthread_mutex_destroy(&file->input->lock);
        free(file->input);
    }
    free(file->path);
    free(file->name);
}

void bang_checkpoint_close(bang_checkpoint *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->file_count; i++)
        close_file(&c->files[i]);
    free(c->files);
    free(c->entries);
    json_decref(c->metadata);
    json_decref(c->notes);
    free(c->path);
    free(c->index);
    if (c->state) {
        bang_pages_free(c->state->pages);
        pthread_mutex_destroy(&c->state->lock);
        free(c->state->order);
        bang_arena_release(&c->state->arena);
        free(c->state);
    }
    free(c);
}

/* The part of path behind its last slash. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A new, closed file at the end of the list; path may be NULL. */
static int add_file(bang_checkpoint *c, size_t *index, const char *path, const char *name,
                    bang_error *err)
{
    bang_checkpoint_file *files = realloc(c->files, (c->file_count + 1) * sizeof *files);
    if (!files)
        return bang_fail_memory(err);
    c->files = files;
    bang_checkpoint_file *file = &files[c->file_count];
    *file = (bang_checkpoint_file){.input = calloc(1, sizeof *file->input), .name = strdup(name)};
    if (path)
        file->path = strdup(path);
    if (file->input) {
        file->input->direct = -1;
        file->input->source.descriptor = -1;
        pthread_mutex_init(&file->input->lock, NULL);
    }
    if (!file->input || !file->name || (path && !file->path)) {
        close_file(file);
        return bang_fail_memory(err);
    }
    *index = c->file_count++;
    return 0;
}

int bang_checkpoint_add_source(bang_checkpoint *c, size_t *index, const char *path,
                               bang_source *source, bang_error *err)
{
    int code = add_file(c, index, path, base_name(path), err);
    if (code < 0)
        return code;
    bang_checkpoint_file *file = &c->files[*index];
    file->input->source = *source;
    file->input->source.name = file->path;
    file->size = source->size;
    *source = (bang_source){.descriptor = -1};
    return 0;
}

int bang_checkpoint_add_path(bang_checkpoint *c, size_t *index, const char *path, bang_error *err)
{
    bang_source source;
    int code = bang_source_open(&source, path, err);
    if (code == 0)
        code = bang_checkpoint_add_source(c, index, path, &source, err);
    bang_source_close(&source);
    return code;
}

int bang_checkpoint_add_memory(bang_checkpoint *c, size_t *index, const void *data, size_t size,
                               const char *name, bang_error *err)
{
    int code = add_file(c, index, NULL, name, err);
    if (code < 0)
        return code;
    bang_checkpoint_file *file = &c->files[*index];
    bang_source_memory(&file->input->source, data, size, file->name);
    file->size = file->input->source.size;
    return 0;
}

int bang_checkpoint_add_packed(bang_checkpoint *c, size_t *index, const char *name, uint64_t size,
                               const bang_packed *packed, bang_error *err)
{
    int code = add_file(c, index, NULL, name, err);
    if (code < 0)
        return code;
    bang_checkpoint_file *file = &c->files[*index];
    file->size = size;
    file->input->is_packed = 1;
    file->input->packed = *packed;
    return 0;
}

const bang_source *bang_checkpoint_source(const bang_checkpoint *c, size_t file)
{
    return &c->files[file].input->source;
}

int bang_checkpoint_note(bang_checkpoint *c, bang_error *err, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!c->notes)
        c->notes = json_array();
    json_t *note = json_string(text);
    if (!note) /* cut within a character, or a file's text that is no UTF-8 */
        note = json_string("something was left out whose name is no UTF-8");
    return json_array_append_new(c->notes, note) < 0 ? bang_fail_memory(err) : 0;
}

static int fail_entry(const bang_checkpoint *c, const bang_entry *entry, const char *why,
                      bang_error *err)
{
    char name[BANG_SHOWN];
    return bang_fail(err, BANG_EDATA, "%s: tensor \"%s\": %s", c->files[entry->file].name,
                     bang_bytes_show(name, entry->name), why);
}

/* Bytes that the numbers take when they lie together. */
static int count_bytes(const bang_checkpoint *c, bang_entry *entry, bang_error *err)
{
    uint64_t numbers = 1, bits = bang_dtype_bits(entry->dtype);
    int empty = 0;
    for (int i = 0; i < entry->rank; i++)
        empty = empty || entry->shape[i] == 0;
    for (int i = 0; i < entry->rank && !empty; i++) {
        if (numbers > INT64_MAX / bits / entry->shape[i])
            return fail_entry(c, entry, "its shape is larger than memory can address", err);
        numbers *= entry->shape[i];
    }
    if (empty)
        numbers = 0;
    if (numbers * bits % 8 != 0)
        return fail_entry(c, entry, "its numbers do not fill whole bytes", err);
    entry->bytes = numbers * bits / 8;
    return 0;
}

/* Drops strides that are those of C order, whatever they are where a dimension
 * has one element. Otherwise *span is how many bytes they reach over. */
static int check_strides(const bang_checkpoint *c, bang_entry *entry, uint64_t *span,
                         bang_error *err)
{
    uint64_t size = bang_dtype_size(entry->dtype), expected = 1;
    int contiguous = 1;
    *span = entry->bytes;
    for (int i = entry->rank - 1; i >= 0; i--) {
        if (entry->shape[i] != 1 && entry->strides[i] != (ptrdiff_t)expected)
            contiguous = 0;
        expected *= entry->shape[i]; /* no overflow: count_bytes has looked, or it is 0 */
    }
    if (contiguous || entry->bytes == 0) {
        entry->strides = NULL;
        return 0;
    }
    if (size == 0)
        return fail_entry(c, entry, "has strides, but its numbers share bytes", err);
    uint64_t last = 0; /* the number that lies farthest */
    for (int i = 0; i < entry->rank; i++) {
        if (entry->strides[i] < 0)
            return fail_entry(c, entry, "has a negative stride", err);
        uint64_t steps = entry->shape[i] - 1, stride = (uint64_t)entry->strides[i];
        if (steps > 0 && stride > (INT64_MAX / size - 1 - last) / steps)
            return fail_entry(c, entry, "its strides reach farther than a file can", err);
        last += steps * stride;
    }
    *span = (last + 1) * size;
    return 0;
}

static void *keep(bang_checkpoint *c, const void *data, size_t count, size_t size)
{
    void *copy = bang_arena_alloc(&c->state->arena, count, size);
    if (copy && count > 0)
        memcpy(copy, data, count * size);
    return copy;
}

int bang_checkpoint_add(bang_checkpoint *c, const bang_entry *given, bang_error *err)
{
    bang_entry entry = *given;
    uint64_t size = c->files[entry.file].size;
    int code = count_bytes(c, &entry, err);
    uint64_t span = entry.bytes;
    if (code == 0 && entry.strides)
        code = check_strides(c, &entry, &span, err);
    if (code < 0)
        return code;
    if (entry.bytes > 0 && (entry.offset > size || span > size - entry.offset))
        return fail_entry(c, &entry, "its data end behind the file: the file is cut", err);
    size_t rank = (size_t)entry.rank;
    entry.name = keep(c, given->name, strlen(given->name) + 1, 1);
    entry.shape = keep(c, given->shape, rank, sizeof *entry.shape);
    int strided = entry.strides != NULL;
    if (strided)
        entry.strides = keep(c, entry.strides, rank, sizeof *entry.strides);
    if (c->count == c->state->capacity) {
        size_t capacity = c->count ? 2 * c->count : 64;
        bang_entry *entries = realloc(c->entries, capacity * sizeof *entries);
        if (!entries)
            return bang_fail_memory(err);
        c->entries = entries;
        c->state->capacity = capacity;
    }
    if (!entry.name || !entry.shape || (strided && !entry.strides))
        return bang_fail_memory(err);
    c->entries[c->count++] = entry;
    return 0;
}

struct named {
    const char *name;
    size_t index;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct named *)left)->name, ((const struct named *)right)->name);
}

int bang_checkpoint_complete(bang_checkpoint *c, bang_error *err)
{
    struct named *list = calloc(c->count + 1, sizeof *list);
    c->state->order = calloc(c->count + 1, sizeof *c->state->order);
    int code = list && c->state->order ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < c->count; i++)
        list[i] = (struct named){c->entries[i].name, i};
    if (code == 0)
        qsort(list, c->count, sizeof *list, by_name);
    for (size_t i = 0; code == 0 && i < c->count; i++) {
        char shown[BANG_SHOWN];
        c->state->order[i] = list[i].index;
        if (i > 0 && strcmp(list[i - 1].name, list[i].name) == 0)
            code =
                bang_fail(err, BANG_EDATA, "%s: tensor \"%s\": is there twice: the file is damaged",
                          c->path, bang_bytes_show(shown, list[i].name));
    }
    free(list);
    return code;
}

const bang_entry *bang_checkpoint_find(const bang_checkpoint *c, const char *name)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const bang_entry *entry = &c->entries[c->state->order[middle]];
        int order = strcmp(name, entry->name);
        if (order == 0)
            return entry;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

int bang_entry_is_plain(const bang_entry *entry)
{
    return !entry->strides && (!entry->swapped || bang_dtype_size(entry->dtype) == 1);
}

size_t bang_entry_step(const bang_entry *entry)
{
    size_t size = bang_dtype_size(entry->dtype);
    return size ? size : 1;
}

uint64_t bang_entry_count(const bang_entry *entry)
{
    return entry->bytes / bang_entry_step(entry);
}

int bang_entry_same_shape(const bang_entry *a, const bang_entry *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0);
}

void bang_entry_shape_text(char *out, size_t size, const bang_entry *entry)
{
    size_t used = (size_t)snprintf(out, size, "(");
    for (int i = 0; i < entry->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%zu", i ? ", " : "", entry->shape[i]);
    if (used < size)
        snprintf(out + used, size - used, "%s)", entry->rank == 1 ? "," : "");
}

const bang_entry *bang_checkpoint_transposed(bang_checkpoint *c, const bang_entry *entry,
                                             bang_error *err)
{
    if (entry->rank != 2 || bang_dtype_size(entry->dtype) == 0) {
        fail_entry(c, entry, "is no matrix that could be transposed", err);
        return NULL;
    }
    size_t shape[2] = {entry->shape[1], entry->shape[0]};
    ptrdiff_t strides[2] = {entry->strides ? entry->strides[1] : 1,
                            entry->strides ? entry->strides[0] : (ptrdiff_t)entry->shape[1]};
    bang_entry view = *entry, *kept = bang_arena_alloc(&c->state->arena, 1, sizeof view);
    uint64_t span;
    view.shape = keep(c, shape, 2, sizeof *shape);
    view.strides = keep(c, strides, 2, sizeof *strides);
    if (!kept || !view.shape || !view.strides) {
        bang_fail_memory(err);
        return NULL;
    }
    if (check_strides(c, &view, &span, err) < 0) /* back to C order, if it was turned before */
        return NULL;
    *kept = view;
    return kept;
}

const bang_entry *bang_checkpoint_rows(bang_checkpoint *c, const bang_entry *entry, size_t first,
                                       size_t count, bang_error *err)
{
    if (entry->rank < 1 || first > entry->shape[0] || count > entry->shape[0] - first ||
        bang_dtype_size(entry->dtype) == 0) {
        fail_entry(c, entry, "has no such rows", err);
        return NULL;
    }
    bang_entry view = *entry, *kept = bang_arena_alloc(&c->state->arena, 1, sizeof view);
    size_t *shape = keep(c, entry->shape, (size_t)entry->rank, sizeof *shape);
    if (!kept || !shape) {
        bang_fail_memory(err);
        return NULL;
    }
    uint64_t row = entry->shape[0] ? entry->bytes / entry->shape[0] : 0;
    view.offset += entry->strides
                       ? (uint64_t)entry->strides[0] * first * bang_dtype_size(entry->dtype)
                       : row * first;
    view.bytes = row * count;
    shape[0] = count;
    view.shape = shape;
    *kept = view;
    return kept;
}
