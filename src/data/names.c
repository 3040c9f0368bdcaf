#include "data/names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"

void bang_names_release(bang_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    *n = (bang_names){0};
}

int bang_names_add(bang_names *n, char *name, bang_error *err)
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

void bang_names_sort(bang_names *n)
{
    if (n->count > 1)
        qsort(n->list, n->count, sizeof *n->list, by_bytes);
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

int bang_names_list(bang_names *folders, bang_names *files, const char *path, bang_error *err)
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
            rc = bang_names_add(inner ? folders : files, strdup(entry->d_name), err);
    }
    if (rc == 0 && errno)
        rc = bang_fail(err, BANG_EIO, "%.600s: %s", path, strerror(errno));
    closedir(folder);
    bang_names_sort(folders);
    bang_names_sort(files);
    return rc;
}

enum { SAID = 5 }; /* names of a long list */

void bang_some_add(bang_some *some, const char *name)
{
    if (some->count < SAID)
        bang_text_add(&some->text, "%s%.120s", some->count ? ", " : "", name);
    some->count++;
}

void bang_some_end(bang_text *out, bang_some *some)
{
    bang_text_add(out, "%s", some->text.data ? some->text.data : "");
    if (some->count > SAID)
        bang_text_add(out, " and %zu more", some->count - SAID);
    out->failed |= some->text.failed;
    bang_text_release(&some->text);
}
