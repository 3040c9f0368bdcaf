#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "data/images.h"

/* Names in one folder. */
typedef struct names {
    size_t count, capacity;
    char **list;
} names;

static void release_names(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    *n = (names){0};
}

static int add_name(names *n, char *name, bang_error *err)
{
    if (name && n->count == n->capacity) {
        size_t capacity = n->capacity ? 2 * n->capacity : 32;
        char **list = realloc(n->list, capacity * sizeof *list);
        n->list = list ? list : n->list;
        n->capacity = list ? capacity : n->capacity;
    }
    if (!name || n->count == n->capacity) {
        free(name);
        return bang_fail_memory(err);
    }
    n->list[n->count++] = name;
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(names *n)
{
    if (n->count > 1)
        qsort(n->list, n->count, sizeof *n->list, by_bytes);
}

/* A folder on the way from the top to where we are, to notice links that lead back. */
typedef struct step {
    const struct step *above;
    dev_t device;
    ino_t node;
} step;

static int leads_back(const step *at)
{
    for (const step *s = at->above; s; s = s->above)
        if (s->device == at->device && s->node == at->node)
            return 1;
    return 0;
}

static int is_folder(const char *folder, const struct dirent *entry, int *out, bang_error *err)
{
    *out = entry->d_type == DT_DIR;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return 0;
    struct stat info;
    char *path = bang_path_join(folder, entry->d_name);
    if (!path)
        return bang_fail_memory(err);
    *out = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    free(path);
    return 0;
}

/* The names of the folders in a folder, and of all else, each sorted. Names that begin
 * with a dot are for the system, not for us. */
static int list_folder(names *folders, names *files, const char *path, bang_error *err)
{
    DIR *folder = opendir(path);
    if (!folder)
        return bang_fail(err, BANG_EIO, "%.600s: %s", path, strerror(errno));
    int rc = 0, inner = 0;
    const struct dirent *entry;
    while (rc == 0 && (errno = 0, entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        rc = is_folder(path, entry, &inner, err);
        if (rc == 0)
            rc = add_name(inner ? folders : files, strdup(entry->d_name), err);
    }
    if (rc == 0 && errno)
        rc = bang_fail(err, BANG_EIO, "%.600s: %s", path, strerror(errno));
    closedir(folder);
    sort_names(folders);
    sort_names(files);
    return rc;
}

/* All folders from path down, unsorted, each with path at its front. */
static int find_folders(names *out, const char *path, const step *above, bang_error *err)
{
    struct stat info;
    names folders = {0}, files = {0};
    if (stat(path, &info) < 0)
        return bang_fail(err, BANG_EIO, "%.600s: %s", path, strerror(errno));
    step here = {above, info.st_dev, info.st_ino};
    if (leads_back(&here))
        return bang_fail(err, BANG_EDATA, "%.600s: is a link to a folder above it: remove it",
                         path);
    int rc = add_name(out, strdup(path), err);
    if (rc == 0)
        rc = list_folder(&folders, &files, path, err);
    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        char *inner = bang_path_join(path, folders.list[i]);
        rc = inner ? find_folders(out, inner, &here, err) : bang_fail_memory(err);
        free(inner);
    }
    release_names(&folders);
    release_names(&files);
    return rc;
}

/* The pictures that lie in a folder itself. */
static int take_files(bang_images_list *list, const char *folder, const names *files, int64_t label,
                      bang_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        if (bang_images_named(files->list[i]))
            rc = bang_images_add(list, bang_path_join(folder, files->list[i]), label, err);
        else
            list->set->passed_over++;
    }
    return rc;
}

/* A class: folders in the order of their paths, in each the pictures by name. */
static int take_class(bang_images_list *list, const char *path, int64_t label, bang_error *err)
{
    names below = {0};
    int rc = find_folders(&below, path, NULL, err);
    sort_names(&below);
    for (size_t i = 0; rc == 0 && i < below.count; i++) {
        names folders = {0}, files = {0};
        rc = list_folder(&folders, &files, below.list[i], err);
        if (rc == 0)
            rc = take_files(list, below.list[i], &files, label, err);
        release_names(&folders);
        release_names(&files);
    }
    release_names(&below);
    return rc;
}

static int take_classes(bang_images *out, const char *folder, const names *classes, bang_error *err)
{
    bang_images_list list = {.set = out};
    bang_some empty = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < classes->count; i++) {
        size_t before = out->count;
        char *path = bang_path_join(folder, classes->list[i]);
        rc = path ? take_class(&list, path, (int64_t)i, err) : bang_fail_memory(err);
        free(path);
        if (rc == 0 && out->count == before)
            bang_some_add(&empty, classes->list[i]);
    }
    bang_text message = {0};
    size_t count = empty.count;
    bang_some_end(&message, &empty);
    if (rc == 0 && count > 0)
        rc = bang_fail(err, BANG_EDATA,
                       "%.300s: class folder%s without pictures (.jpg .jpeg .png .webp): %s: fill "
                       "or remove %s",
                       folder, count == 1 ? "" : "s", message.data ? message.data : "",
                       count == 1 ? "it" : "them");
    bang_text_release(&message);
    return rc;
}

int bang_images_folder(bang_images *out, const char *folder, bang_error *err)
{
    names classes = {0}, files = {0};
    int rc = list_folder(&classes, &files, folder, err);
    if (rc == 0 && classes.count > 0) {
        out->passed_over = files.count;
        rc = take_classes(out, folder, &classes, err);
        if (rc == 0) {
            out->classes = classes.count;
            out->class_names = classes.list;
            classes = (names){0};
        }
    } else if (rc == 0) {
        rc = take_files(&(bang_images_list){.set = out}, folder, &files, -1, err);
        if (rc == 0 && out->count == 0)
            rc = bang_fail(err, BANG_EDATA,
                           "%.600s: holds neither class folders nor pictures nor images.npy",
                           folder);
    }
    release_names(&classes);
    release_names(&files);
    return rc;
}
