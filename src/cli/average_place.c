/* Where averages that are to be scored are written. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "average.h"
#include "bang/base/file.h"
#include "hold.h"

/* OUT as it was typed, whatever alpha it will be of, without a slash at its end; folders that
 * depend on alpha become part of the name. *folder is the length of what is before the name. The
 * caller frees it. */
static char *plain_name(size_t *folder, const char *output)
{
    size_t length = strlen(output);
    while (length > 1 && output[length - 1] == '/')
        length--;
    char *name = strndup(output, length);
    const char *alpha = name ? strstr(name, "{alpha}") : NULL;
    size_t start = alpha ? (size_t)(alpha - name) : length;
    while (start > 0 && output[start - 1] != '/')
        start--;
    for (size_t i = start; name && i < length; i++)
        name[i] = name[i] == '/' ? '_' : name[i];
    *folder = start;
    return name;
}

/* Where OUT is a folder, those above it may have to be made. */
static int make_parents(average_place *p, bang_error *err)
{
    struct stat status;
    size_t length = strlen(p->parents);
    for (p->kept = length; p->kept > 0; p->kept--) {
        char held = p->parents[p->kept];
        p->parents[p->kept] = '\0';
        int there = stat(p->parents, &status) == 0;
        p->parents[p->kept] = held;
        if (there)
            break;
    }
    return p->kept < length ? bang_folder_create(p->parents, err) : 0;
}

static void remove_parents(average_place *p)
{
    size_t length = p->parents ? strlen(p->parents) : 0;
    while (length > p->kept && rmdir(p->parents) == 0) {
        while (length > p->kept && p->parents[length - 1] == '/')
            length--;
        while (length > p->kept && p->parents[length - 1] != '/')
            length--;
        p->parents[length] = '\0';
    }
}

int average_place_open(average_place *p, const average_request *r, bang_error *err)
{
    size_t start = 0;
    const char *last = strrchr(r->paths[0], '/');
    last = last ? last + 1 : r->paths[0];
    char *name = plain_name(&start, r->output);
    p->parents = name ? strndup(name, start) : NULL;
    p->folder = name ? bang_path_hidden(name, ".bang-soup") : NULL;
    p->path = p->folder ? bang_path_join(p->folder, r->options.folder ? "model" : last) : NULL;
    int rc = p->parents && p->path ? make_parents(p, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = cli_hold(&p->lock, name, err);
    free(name);
    return rc;
}

int average_place_clear(const average_place *p, bang_error *err)
{
    return bang_folder_remove(p->folder, err);
}

void average_place_close(average_place *p)
{
    if (p->lock)
        bang_folder_remove(p->folder, NULL);
    bang_lock_give(p->lock);
    remove_parents(p);
    free(p->parents);
    free(p->folder);
    free(p->path);
    *p = (average_place){0};
}

void average_place_sweep(const average_request *r)
{
    size_t start = 0;
    struct stat status;
    bang_lock *lock = NULL;
    char *name = plain_name(&start, r->output);
    char *folder = name ? bang_path_hidden(name, ".bang-soup") : NULL;
    char *held = name ? bang_path_hidden(name, ".bang-lock") : NULL;
    int left = folder && held && (lstat(folder, &status) == 0 || lstat(held, &status) == 0);
    if (left && bang_lock_take(&lock, held, NULL) == 0)
        bang_folder_remove(folder, NULL);
    bang_lock_give(lock);
    free(held);
    free(folder);
    free(name);
}
