/* Members of zip files that are compressed: to memory where they are small, to
 * a temporary file where any part of them may be wanted later. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "store/checkpoint.h"
#include "store/zip.h"

enum { PIECE = 1 << 16 };

/* Where unpacked bytes go: to memory, or to a file. */
struct sink {
    char *memory; /* room for size bytes, or NULL */
    int descriptor;
    uint64_t size, done; /* what was declared, and what came */
    uint32_t crc;
};

static int put(struct sink *sink, const unsigned char *bytes, size_t size, const char *name,
               bang_error *err)
{
    if (size > sink->size - sink->done)
        return bang_fail(err, BANG_EDATA,
                         "%s: a member unpacks to more than the %llu bytes it says: damaged", name,
                         (unsigned long long)sink->size);
    sink->crc = (uint32_t)crc32(sink->crc, bytes, (uInt)size);
    if (sink->memory)
        memcpy(sink->memory + sink->done, bytes, size);
    sink->done += size;
    while (!sink->memory && size > 0) {
        ssize_t n = write(sink->descriptor, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bang_fail(err, BANG_EIO,
                             "%s: unpacking to a temporary file: %s: set TMPDIR to a folder with "
                             "room",
                             name, strerror(errno));
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Runs zlib over the next bytes until it wants more; *ended at the stream's end. */
static int turn(z_stream *stream, unsigned char *out, struct sink *sink, int *ended,
                const char *name, bang_error *err)
{
    do {
        stream->next_out = out;
        stream->avail_out = PIECE;
        int state = inflate(stream, Z_NO_FLUSH);
        if (state == Z_MEM_ERROR)
            return bang_fail_memory(err);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            return bang_fail(err, BANG_EDATA, "%s: a compressed member is damaged", name);
        int code = put(sink, out, PIECE - stream->avail_out, name, err);
        if (code < 0)
            return code;
        *ended = state == Z_STREAM_END;
    } while (!*ended && stream->avail_out == 0);
    return 0;
}

static int unpack(struct sink *sink, const bang_source *zip, uint64_t offset, uint64_t packed,
                  bang_error *err)
{
    z_stream stream = {0};
    unsigned char *buffers = malloc(2 * (size_t)PIECE);
    if (!buffers || inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
        free(buffers);
        return bang_fail_memory(err);
    }
    int code = 0, ended = 0;
    while (code == 0 && packed > 0 && !ended) {
        size_t size = packed < PIECE ? (size_t)packed : PIECE;
        code = bang_source_read(zip, buffers, (size_t)offset, size, err);
        stream.next_in = buffers;
        stream.avail_in = (uInt)size;
        if (code == 0)
            code = turn(&stream, buffers + PIECE, sink, &ended, zip->name, err);
        offset += size;
        packed -= size;
    }
    if (code == 0 && (!ended || packed > 0 || stream.avail_in > 0 || sink->done != sink->size))
        code = bang_fail(err, BANG_EDATA, "%s: a compressed member ends too early or too late",
                         zip->name);
    inflateEnd(&stream);
    free(buffers);
    return code;
}

static int check_crc(const struct sink *sink, uint32_t crc, const char *name, bang_error *err)
{
    if (sink->crc == crc)
        return 0;
    return bang_fail(err, BANG_EDATA, "%s: a member's check sum differs: the file is damaged",
                     name);
}

/* A file that nobody else sees and that ends with its descriptor; -1 if none can be made. */
static int open_temporary(const char *folder)
{
    int fd = -1;
#ifdef O_TMPFILE
    fd = (int)TEMP_FAILURE_RETRY(open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd >= 0)
        return fd;
#endif
    size_t size = strlen(folder) + sizeof "/bang-XXXXXX";
    char *path = malloc(size);
    if (!path)
        return -1;
    snprintf(path, size, "%s/bang-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

int bang_inflate(bang_source *out, const bang_source *zip, const bang_packed *packed, uint64_t size,
                 bang_error *err)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/var/tmp"; /* /tmp is often memory */
    *out = (bang_source){.descriptor = -1};
    if (size > PTRDIFF_MAX)
        return bang_fail(err, BANG_EDATA, "%s: a member is larger than a file can be", zip->name);
    struct sink sink = {.descriptor = open_temporary(folder), .size = size};
    if (sink.descriptor < 0)
        return bang_fail(err, BANG_EIO,
                         "%s: no temporary file: %s: set TMPDIR to a folder that can be written",
                         folder, strerror(errno));
    int code = unpack(&sink, zip, packed->offset, packed->size, err);
    if (code == 0)
        code = check_crc(&sink, packed->crc, zip->name, err);
    if (code < 0) {
        close(sink.descriptor);
        return code;
    }
    *out = (bang_source){.name = zip->name, .descriptor = sink.descriptor, .size = (size_t)size};
    return 0;
}

int bang_zip_load(char **out, const bang_source *source, const bang_zip_member *member,
                  uint64_t limit, bang_error *err)
{
    char shown[BANG_SHOWN];
    *out = NULL;
    if (member->size > limit)
        return bang_fail(err, BANG_EDATA, "%s: member \"%s\" has %llu bytes: at most %llu are read",
                         source->name, bang_bytes_show(shown, member->name),
                         (unsigned long long)member->size, (unsigned long long)limit);
    struct sink sink = {
        .memory = malloc((size_t)member->size + 1), .descriptor = -1, .size = member->size};
    if (!sink.memory)
        return bang_fail_memory(err);
    int code;
    if (member->method == BANG_ZIP_DEFLATED) {
        code = unpack(&sink, source, member->offset, member->packed, err);
        if (code == 0)
            code = check_crc(&sink, member->crc, source->name, err);
    } else { /* PyTorch can be told to write no crc (set_crc32_options) */
        code = bang_source_read(source, sink.memory, (size_t)member->offset, (size_t)member->size,
                                err);
    }
    if (code == 0) {
        sink.memory[member->size] = '\0';
        *out = sink.memory;
    } else {
        free(sink.memory);
    }
    return code;
}

int bang_zip_peek(void *out, size_t *got, size_t size, const bang_source *source,
                  const bang_zip_member *member, bang_error *err)
{
    unsigned char packed[4096];
    size_t want = size < member->size ? size : (size_t)member->size;
    *got = want;
    if (member->method == BANG_ZIP_STORED)
        return bang_source_read(source, out, (size_t)member->offset, want, err);
    z_stream stream = {.next_out = out, .avail_out = (uInt)want};
    if (want > UINT32_MAX || inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return bang_fail_memory(err);
    int code = 0, state = Z_OK;
    uint64_t done = 0;
    while (code == 0 && state == Z_OK && stream.avail_out > 0 && done < member->packed) {
        uint64_t left = member->packed - done;
        size_t piece = left < sizeof packed ? (size_t)left : sizeof packed;
        code = bang_source_read(source, packed, (size_t)(member->offset + done), piece, err);
        stream.next_in = packed;
        stream.avail_in = (uInt)piece;
        if (code == 0)
            state = inflate(&stream, Z_NO_FLUSH);
        done += piece;
    }
    if (code == 0 && state == Z_MEM_ERROR)
        code = bang_fail_memory(err);
    if (code == 0 && stream.avail_out > 0)
        code = bang_fail(err, BANG_EDATA, "%s: a compressed member is damaged", source->name);
    inflateEnd(&stream);
    return code;
}
