#include "store/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void bang_source_memory(bang_source *out, const void *data, size_t size, const char *name)
{
    static const unsigned char nothing[1];
    *out = (bang_source){
        .name = name, .data = data ? data : nothing, .descriptor = -1, .size = data ? size : 0};
}

int bang_source_open(bang_source *out, const char *path, bang_error *err)
{
    *out = (bang_source){.name = path, .descriptor = -1};
    struct stat status;
    int fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0 &&
        (uintmax_t)status.st_size <= PTRDIFF_MAX) {
        out->descriptor = fd;
        out->size = (size_t)status.st_size;
        return 0;
    }
    close(fd);
    /* A pipe has no size until it was read. */
    int code = bang_file_read(&out->owned, &out->size, path, err);
    out->data = (const unsigned char *)out->owned;
    return code;
}

void bang_source_close(bang_source *source)
{
    if (source->descriptor >= 0)
        close(source->descriptor);
    free(source->owned);
    *source = (bang_source){.descriptor = -1};
}

int bang_source_read(const bang_source *source, void *out, size_t offset, size_t size,
                     bang_error *err)
{
    if (offset > source->size || size > source->size - offset)
        return bang_fail(err, BANG_EDATA, "%s: ends after %zu bytes: the file is cut", source->name,
                         source->size);
    if (source->data) {
        if (size > 0)
            memcpy(out, source->data + offset, size);
        return 0;
    }
    char *to = out;
    while (size > 0) {
        ssize_t n = pread(source->descriptor, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bang_fail(err, BANG_EIO, "%s: %s", source->name, strerror(errno));
        if (n == 0)
            return bang_fail(err, BANG_EDATA, "%s: became shorter while it was read: try again",
                             source->name);
        to += n;
        offset += (size_t)n;
        size -= (size_t)n;
    }
    return 0;
}

int bang_bytes_native_little(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

#define SWAP(bits)                                                                                 \
    static void swap_##bits(unsigned char *bytes, size_t count)                                    \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint##bits##_t number;                                                                 \
            memcpy(&number, bytes + i * sizeof number, sizeof number);                             \
            number = __builtin_bswap##bits(number);                                                \
            memcpy(bytes + i * sizeof number, &number, sizeof number);                             \
        }                                                                                          \
    }
SWAP(16)
SWAP(32)
SWAP(64)

void bang_bytes_swap(void *data, size_t count, size_t size)
{
    unsigned char *bytes = data;
    if (size == 2)
        swap_16(bytes, count);
    else if (size == 4)
        swap_32(bytes, count);
    else if (size == 8)
        swap_64(bytes, count);
}

void bang_bytes_write(bang_file *file, const bang_array *array, int little)
{
    size_t size = bang_dtype_size(array->dtype);
    if (size == 1 || little == bang_bytes_native_little()) {
        bang_file_write(file, array->data, array->count * size);
        return;
    }
    unsigned char turned[4096];
    size_t most = sizeof turned / size;
    for (size_t done = 0; done < array->count;) {
        size_t count = array->count - done < most ? array->count - done : most;
        memcpy(turned, (const char *)array->data + done * size, count * size);
        bang_bytes_swap(turned, count, size);
        bang_file_write(file, turned, count * size);
        done += count;
    }
}

const char *bang_bytes_show(char out[BANG_SHOWN], const char *text)
{
    size_t i = 0;
    for (; i < BANG_SHOWN - 1 && text[i]; i++)
        out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    out[i] = '\0';
    if (text[i])
        memcpy(out + i - 3, "...", 3);
    return out;
}
