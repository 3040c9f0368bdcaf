#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int bang_os_lock(int descriptor, int operation)
{
    int rc;
    do
        rc = flock(descriptor, operation);
    while (rc < 0 && errno == EINTR);
    return rc;
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
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder)
        return -1;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return errno == EACCES ? 0 : -1; /* a folder that we may write but not read */
    int rc = bang_os_sync(fd), why = errno;
    close(fd);
    errno = why;
    /* Some file systems cannot sync a folder; there is nothing to be done. */
    return rc < 0 && why != EINVAL ? -1 : 0;
}
