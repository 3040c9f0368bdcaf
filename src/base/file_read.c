#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"

enum {
    DEVICE_MOST = 1 << 26, /* bytes from one without end, as /dev/zero, to which a link may lead */
};

/* Reads to the end, which comes after most bytes; *data is the caller's even on failure. 0 or an
 * errno. */
static int read_all(char **data, size_t *size, int descriptor, size_t expected, size_t most)
{
    size_t capacity = expected + 2; /* one to see the end, one for the terminator */
    for (;;) {
        char *grown = realloc(*data, capacity);
        if (!grown)
            return ENOMEM;
        *data = grown;
        while (*size + 1 < capacity) {
            ssize_t n = read(descriptor, *data + *size, capacity - *size - 1);
            if (n < 0 && errno != EINTR)
                return errno;
            if (n == 0) {
                (*data)[*size] = '\0';
                return 0;
            }
            *size += n > 0 ? (size_t)n : 0;
        }
        if (capacity > most)
            return EFBIG;
        capacity = capacity < 4096 ? 8192 : capacity * 2;
    }
}

int bang_file_read(char **out, size_t *size, const char *path, bang_error *err)
{
    *out = NULL;
    *size = 0;
    int fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
    struct stat status;
    int why = fstat(fd, &status) < 0 ? errno : 0;
    if (!why && S_ISDIR(status.st_mode))
        why = EISDIR;
    if (!why && (status.st_size < 0 || (uintmax_t)status.st_size > SIZE_MAX / 2))
        why = EFBIG;
    if (!why)
        why = read_all(out, size, fd, (size_t)status.st_size,
                       S_ISCHR(status.st_mode) ? DEVICE_MOST : SIZE_MAX / 2);
    close(fd);
    if (!why)
        return 0;
    free(*out);
    *out = NULL;
    *size = 0;
    return why == ENOMEM ? bang_fail_memory(err)
                         : bang_fail(err, BANG_EIO, "%s: %s", path, strerror(why));
}
