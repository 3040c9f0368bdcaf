#include "data/images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"

void bang_images_release(bang_images *set)
{
    for (size_t i = 0; set->paths && i < set->count; i++)
        free(set->paths[i]);
    for (size_t i = 0; set->class_names && i < set->classes; i++)
        free(set->class_names[i]);
    free(set->paths);
    free(set->class_names);
    free(set->labels);
    bang_dataset_release(&set->memory);
    *set = (bang_images){0};
}

int bang_images_digest(char out[BANG_DIGEST_TEXT], const bang_images *set, bang_error *err)
{
    bang_text all = {0};
    int rc = 0;
    bang_text_add(&all, "%zu pictures", set->count);
    bang_text_add_bytes(&all, (const char *)set->labels, set->count * sizeof(int64_t));
    for (size_t i = 0; set->class_names && i < set->classes; i++)
        bang_text_add(&all, "/%s", set->class_names[i]);
    for (size_t i = 0; set->paths && i < set->count; i++) {
        const char *name = strrchr(set->paths[i], '/');
        bang_text_add(&all, "/%s", name ? name + 1 : set->paths[i]);
    }
    if (!set->paths) {
        const bang_array *pixels = &set->memory.inputs;
        rc = bang_digest_bytes(out, pixels->data, pixels->count * bang_dtype_size(pixels->dtype),
                               err);
        bang_text_add(&all, "/%s", rc < 0 ? "" : out);
    }
    if (rc == 0)
        rc = all.failed ? bang_fail_memory(err) : bang_digest_bytes(out, all.data, all.size, err);
    bang_text_release(&all);
    return rc;
}

int bang_images_digest_sizes(char out[BANG_DIGEST_TEXT], const bang_images *set, bang_error *err)
{
    bang_text all = {0};
    bang_text_add(&all, "%zu files", set->paths ? set->count : 0);
    for (size_t i = 0; set->paths && i < set->count; i++) {
        struct stat info;
        bang_text_add(&all, "/%lld",
                      stat(set->paths[i], &info) == 0 ? (long long)info.st_size : -1LL);
    }
    int rc = all.failed ? bang_fail_memory(err) : bang_digest_bytes(out, all.data, all.size, err);
    bang_text_release(&all);
    return rc;
}

int bang_images_add(bang_images_list *list, char *path, int64_t label, bang_error *err)
{
    bang_images *set = list->set;
    if (path && set->count == list->capacity && list->capacity < SIZE_MAX / 32) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        char **paths = realloc(set->paths, capacity * sizeof *paths);
        set->paths = paths ? paths : set->paths;
        int64_t *labels = paths ? realloc(set->labels, capacity * sizeof *labels) : NULL;
        set->labels = labels ? labels : set->labels;
        list->capacity = labels ? capacity : list->capacity;
    }
    if (!path || set->count == list->capacity) {
        free(path);
        return bang_fail_memory(err);
    }
    set->paths[set->count] = path;
    set->labels[set->count++] = label;
    return 0;
}

int bang_images_named(const char *name)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".png", ".webp"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) && strcasecmp(name + length - strlen(ends[i]), ends[i]) == 0)
            return 1;
    return 0;
}

/* What a source is by its looks. */
typedef enum kind { NOTHING, FOLDER, ARRAYS, CSV, PICTURE } kind;

static int exists_in(const char *folder, const char *name)
{
    struct stat info;
    char *path = bang_path_join(folder, name);
    int found = path && stat(path, &info) == 0;
    free(path);
    return found;
}

static kind kind_of(const char *source)
{
    struct stat info;
    size_t length = strlen(source);
    if (stat(source, &info) < 0)
        return NOTHING;
    if (S_ISDIR(info.st_mode))
        return exists_in(source, "images.npy") || exists_in(source, "labels.npy") ? ARRAYS : FOLDER;
    return length > 4 && strcasecmp(source + length - 4, ".csv") == 0 ? CSV : PICTURE;
}

static int copy_names(bang_images *out, const char *const *names, bang_error *err)
{
    out->class_names = calloc(out->classes, sizeof *out->class_names);
    int failed = !out->class_names;
    for (size_t i = 0; !failed && i < out->classes; i++)
        failed = !(out->class_names[i] = strdup(names[i]));
    return failed ? bang_fail_memory(err) : 0;
}

/* Arrays in memory: the labels once more, so that all sets have them in one place. */
static int open_memory(bang_images *out, const char *source, bang_error *err)
{
    int rc = bang_dataset_open(&out->memory, source, err);
    if (rc < 0)
        return rc;
    out->count = out->memory.count;
    out->classes = out->memory.classes;
    out->labels = calloc(out->count, sizeof *out->labels);
    if (!out->labels)
        return bang_fail_memory(err);
    memcpy(out->labels, out->memory.labels.data, out->count * sizeof *out->labels);
    return out->memory.class_names ? copy_names(out, out->memory.class_names, err) : 0;
}

/* A name that is no file: a data set's, unless it looks like a path. */
static int open_named(bang_images *out, const char *source, bang_error *err)
{
    if (strchr(source, '/') || bang_images_named(source) || bang_text_ends_with(source, ".csv"))
        return bang_fail(err, BANG_EIO, "%.600s: %s", source, strerror(ENOENT));
    return open_memory(out, source, err);
}

static int open_any(bang_images *out, const char *source, bang_error *err)
{
    switch (kind_of(source)) {
    case FOLDER:
        return bang_images_folder(out, source, err);
    case CSV:
        return bang_images_csv(out, source, err);
    case PICTURE:
        return bang_images_add(&(bang_images_list){.set = out}, strdup(source), -1, err);
    case ARRAYS:
        return open_memory(out, source, err);
    default:
        return open_named(out, source, err);
    }
}

int bang_images_open(bang_images *out, const char *source, bang_error *err)
{
    *out = (bang_images){0};
    int rc = open_any(out, source, err);
    if (rc < 0)
        bang_images_release(out);
    return rc;
}

int bang_images_open_all(bang_images *out, const char *const *sources, size_t count,
                         bang_error *err)
{
    *out = (bang_images){0};
    if (count == 0)
        return bang_fail(err, BANG_EUSAGE, "no data: name a folder, a CSV, a data set or pictures");
    if (count == 1)
        return bang_images_open(out, sources[0], err);
    bang_text problems = {0};
    int misused = 0;
    for (size_t i = 0; i < count; i++) {
        kind what = kind_of(sources[i]);
        misused |= what != NOTHING && what != PICTURE;
        if (what == NOTHING)
            bang_text_add(&problems, "; %.300s: %s", sources[i], strerror(ENOENT));
        else if (what != PICTURE)
            bang_text_add(&problems,
                          "; %.300s: is a data set: only single pictures can be several at once",
                          sources[i]);
    }
    int rc = bang_text_fail(&problems, err);
    if (rc == BANG_EUSAGE && !misused) { /* only missing */
        rc = BANG_EIO;
        if (err)
            err->code = rc;
    }
    bang_images_list list = {.set = out};
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = bang_images_add(&list, strdup(sources[i]), -1, err);
    if (rc < 0)
        bang_images_release(out);
    return rc;
}
