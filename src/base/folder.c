#include "bang/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100 }; /* to empty a folder */

/* One folder; 0 or an errno. */
static int make_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return 0;
    int why = errno;
    if (stat(path, &status) < 0)
        return why;
    return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

int bang_folder_create(const char *path, bang_error *err)
{
    if (!*path)
        return bang_fail(err, BANG_EUSAGE, "\"\": not the name of a folder");
    char *copy = strdup(path);
    if (!copy)
        return bang_fail_memory(err);
    int why = 0;
    /* Cut behind each name in turn; a leading slash belongs to the first. */
    for (char *end = copy + 1; !why && *end; end++) {
        if (*end != '/' || end[-1] == '/')
            continue;
        *end = '\0';
        why = make_folder(copy);
        *end = '/';
    }
    if (!why)
        why = make_folder(copy);
    free(copy);
    return why ? bang_fail(err, BANG_EIO, "%s: %s: cannot make this folder", path, strerror(why))
               : 0;
}

int bang_folder_create_below(const char *top, const char *path, bang_error *err)
{
    char *copy = strdup(path);
    size_t from = strlen(top);
    struct stat status;
    int rc = copy ? bang_folder_create(top, err) : bang_fail_memory(err);
    for (size_t end = from + 1; rc == 0 && strlen(path) > from; end++) {
        if (path[end] && path[end] != '/')
            continue;
        copy[end] = '\0';
        int why = make_folder(copy);
        if (why)
            rc = bang_fail(err, BANG_EIO, "%s: %s: cannot make this folder", copy, strerror(why));
        else if (lstat(copy, &status) == 0 && S_ISLNK(status.st_mode))
            rc = bang_fail(err, BANG_EIO, "%s: is a link, which outputs do not follow: remove it",
                           copy);
        if (!path[end])
            break;
        copy[end] = '/';
    }
    free(copy);
    return rc;
}

static int remove_entry(int folder, const char *name, int attempts, bang_error *err);

/* Empties a folder that is open; the descriptor is used up. */
static int remove_content(int descriptor, const char *name, bang_error *err)
{
    DIR *folder = NULL;
    for (int i = 0; !folder && i < ATTEMPTS; i++) /* what is left would be in the way */
        folder = fdopendir(descriptor);
    if (!folder) {
        int why = errno;
        close(descriptor);
        return bang_fail(err, BANG_EIO, "%s: %s: cannot list it", name, strerror(why));
    }
    int code = 0;
    const struct dirent *entry;
    while (code == 0 && (errno = 0, entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = remove_entry(descriptor, entry->d_name, ATTEMPTS, err);
    }
    if (code == 0 && errno)
        code = bang_fail(err, BANG_EIO, "%s: %s: cannot list it", name, strerror(errno));
    closedir(folder);
    return code;
}

/* Every name is looked up in the folder that is held open, and a link is never
 * opened: nobody can lead this elsewhere by moving folders while it runs. */
static int remove_entry(int folder, const char *name, int attempts, bang_error *err)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    int why = errno; /* Linux says EISDIR, POSIX EPERM */
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return bang_fail(err, BANG_EIO, "%s: %s: cannot remove it", name,
                         strerror(errno == ENOTDIR || errno == ELOOP ? why : errno));
    int code = remove_content(fd, name, err);
    if (code < 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return code;
    /* A program that a killed run had started may still write there. */
    if ((errno == ENOTEMPTY || errno == EEXIST) && attempts > 1)
        return remove_entry(folder, name, attempts - 1, err);
    return bang_fail(err, BANG_EIO, "%s: %s: cannot remove it", name, strerror(errno));
}

int bang_folder_remove(const char *path, bang_error *err)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return errno == ENOENT && *path ? 0
                                        : bang_fail(err, BANG_EIO, "\"%s\": %s: cannot remove it",
                                                    path, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return bang_fail(err, BANG_EUSAGE, "%s: is no folder: not removed", path);
    return remove_entry(AT_FDCWD, path, ATTEMPTS, err);
}

/* $NAME, or NULL when it is not set or empty. */
static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int bang_cache_folder(char **out, bang_error *err)
{
    const char *own = setting("BANG_CACHE"), *base = setting("XDG_CACHE_HOME"),
               *home = setting("HOME");
    *out = NULL;
    if (own) {
        *out = strdup(own);
    } else if (base && base[0] == '/') { /* its specification: a relative path is ignored */
        *out = bang_path_join(base, "bang");
    } else if (home) {
        *out = bang_path_join(home, ".cache/bang");
    } else {
        return bang_fail(err, BANG_EUSAGE,
                         "no folder for downloads: HOME is not set: set BANG_CACHE to a folder");
    }
    return *out ? 0 : bang_fail_memory(err);
}
