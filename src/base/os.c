#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Who sweeps a folder holds what it removes for a moment, and must not be taken for a run. */
enum { PATIENCE = 20, MOST_ATTEMPTS = 1000 };

int bang_os_lock(int descriptor, int operation)
{
    int rc;
    do
        rc = flock(descriptor, operation);
    while (rc < 0 && errno == EINTR);
    return rc;
}

/* 0 if the locked descriptor is still what path means, ESTALE if not, or an errno. */
static int is_named(int descriptor, const char *path)
{
    struct stat held, named;
    if (fstat(descriptor, &held) < 0)
        return errno;
    if (!S_ISREG(held.st_mode))
        return EEXIST;
    if (stat(path, &named) < 0 || named.st_dev != held.st_dev || named.st_ino != held.st_ino)
        return ESTALE;
    return named.st_nlink == 1 ? 0 : EEXIST; /* what has another name is somebody else's */
}

int bang_os_open_held(int *out, const char *path)
{
    int why = EWOULDBLOCK, refused = 0;
    *out = -1;
    for (int attempt = 0; attempt < MOST_ATTEMPTS && refused < PATIENCE; attempt++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0)
            return errno;
        why = bang_os_lock(fd, LOCK_EX | LOCK_NB) < 0 ? errno : is_named(fd, path);
        if (why == 0) {
            *out = fd;
            return 0;
        }
        close(fd);
        if (why != EWOULDBLOCK && why != ESTALE)
            return why;
        if (why == EWOULDBLOCK && ++refused < PATIENCE)
            nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
    return EWOULDBLOCK;
}

int bang_os_sync(int descriptor)
{
    int rc;
    do
        rc = fsync(descriptor);
    while (rc < 0 && errno == EINTR);
    return rc;
}

int bang_os_sync_folder_of(const char *path)
{
    /* Nothing is allocated: the file has its name already, so this must not fail lightly. */
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    if (length >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (slash)
        memcpy(folder, path, length);
    folder[length] = '\0';
    int fd;
    do
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == EACCES ? 0 : -1; /* a folder that we may write but not read */
    int rc = bang_os_sync(fd), why = errno;
    close(fd);
    errno = why;
    /* Some file systems cannot sync a folder; there is nothing to be done. */
    return rc < 0 && why != EINVAL ? -1 : 0;
}
