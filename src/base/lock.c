#include "bang/base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"

struct bang_lock {
    char *path;
    int descriptor;
};

int bang_lock_take(bang_lock **out, const char *path, bang_error *err)
{
    *out = NULL;
    bang_lock *lock = calloc(1, sizeof *lock);
    char *copy = strdup(path);
    if (!lock || !copy) {
        free(lock);
        free(copy);
        return bang_fail_memory(err);
    }
    lock->path = copy;
    int why = bang_os_open_held(&lock->descriptor, path);
    if (why == 0) {
        *out = lock;
        return 0;
    }
    free(copy);
    free(lock);
    return why == EWOULDBLOCK
               ? 1
               : bang_fail(err, BANG_EIO, "%s: %s: cannot make this lock", path, strerror(why));
}

int bang_lock_wait(bang_lock **out, const char *path, bang_cancel *cancel, bang_error *err)
{
    int code;
    while ((code = bang_lock_take(out, path, err)) > 0) {
        if (bang_cancelled(cancel))
            return bang_fail(err, BANG_ECANCELLED, "cancelled");
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    }
    return code;
}

/* Removed while it is held, so that nobody else's goes. */
void bang_lock_give(bang_lock *lock)
{
    if (!lock)
        return;
    unlink(lock->path);
    close(lock->descriptor);
    free(lock->path);
    free(lock);
}

int bang_lock_is_held(const char *path)
{
    int fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd < 0)
        return 0;
    int held = bang_os_lock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}
