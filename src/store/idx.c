#define ZLIB_CONST /* our input stays ours */
#include "bang/store/idx.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "store/bytes.h"

/* No compressed byte becomes more: deflate spends two bits at least on a copy
 * of at most 258 bytes. */
enum { DEFLATE_MOST = 1032 };

static const struct {
    unsigned char code;
    bang_dtype dtype;
} types[] = {
    {8, BANG_U8}, {9, BANG_I8}, {11, BANG_I16}, {12, BANG_I32}, {13, BANG_F32}, {14, BANG_F64},
};

enum { TYPE_COUNT = sizeof types / sizeof *types };

/* Bytes that come as they are or through zlib. */
struct stream {
    const char *name;
    const unsigned char *data;
    size_t size, used;
    int compressed;
    int ended; /* a member of the compressed file is complete */
    z_stream zlib;
};

static int fail_cut(const struct stream *stream, bang_error *err)
{
    return bang_fail(err, BANG_EDATA, "%s: ends before its numbers do: the file is cut",
                     stream->name);
}

/* One call of inflate: up to size bytes to out, *made of them. */
static int inflate_some(struct stream *stream, unsigned char *out, size_t size, size_t *made,
                        bang_error *err)
{
    z_stream *zlib = &stream->zlib;
    size_t left = stream->size - stream->used;
    if (stream->ended) { /* members may follow each other */
        if (inflateReset(zlib) != Z_OK)
            return bang_fail(err, BANG_EDATA, "%s: cannot decompress it", stream->name);
        stream->ended = 0;
    }
    uInt given = left < UINT_MAX ? (uInt)left : UINT_MAX;
    uInt space = size < UINT_MAX ? (uInt)size : UINT_MAX;
    zlib->next_in = stream->data + stream->used;
    zlib->avail_in = given;
    zlib->next_out = out;
    zlib->avail_out = space;
    int rc = inflate(zlib, Z_NO_FLUSH);
    stream->used += given - zlib->avail_in;
    *made = space - zlib->avail_out;
    stream->ended = rc == Z_STREAM_END;
    if (rc == Z_OK || rc == Z_STREAM_END)
        return 0;
    if (rc == Z_MEM_ERROR)
        return bang_fail_memory(err);
    if (rc == Z_BUF_ERROR) /* nothing more can be done with what there is */
        return fail_cut(stream, err);
    return bang_fail(err, BANG_EDATA, "%s: its compressed data are damaged: get it again",
                     stream->name);
}

static int read_bytes(struct stream *stream, void *out, size_t size, bang_error *err)
{
    unsigned char *to = out;
    if (!stream->compressed) {
        if (size > stream->size - stream->used)
            return fail_cut(stream, err);
        if (size > 0)
            memcpy(to, stream->data + stream->used, size);
        stream->used += size;
        return 0;
    }
    while (size > 0) {
        size_t made = 0;
        if (stream->ended && stream->used == stream->size)
            return fail_cut(stream, err);
        int code = inflate_some(stream, to, size, &made, err);
        if (code < 0)
            return code;
        to += made;
        size -= made;
    }
    return 0;
}

/* The file must end where its numbers do; of a compressed one the checksum is
 * still to come. */
static int check_end(struct stream *stream, bang_error *err)
{
    unsigned char extra;
    size_t made = 0;
    while (stream->compressed && made == 0 && !(stream->ended && stream->used == stream->size)) {
        int code = inflate_some(stream, &extra, 1, &made, err);
        if (code < 0)
            return code;
    }
    if (made > 0 || stream->used < stream->size)
        return bang_fail(err, BANG_EDATA, "%s: bytes follow behind its numbers: not an idx file",
                         stream->name);
    return 0;
}

struct header {
    bang_dtype dtype;
    int rank;
    size_t shape[BANG_RANK_MAX];
};

static int read_header(struct header *header, struct stream *stream, bang_error *err)
{
    unsigned char bytes[4];
    int code = read_bytes(stream, bytes, 4, err);
    if (code < 0)
        return code;
    int type = 0;
    while (type < TYPE_COUNT && types[type].code != bytes[2])
        type++;
    if (bytes[0] != 0 || bytes[1] != 0 || type == TYPE_COUNT)
        return bang_fail(err, BANG_EDATA, "%s: does not begin as an idx file", stream->name);
    if (bytes[3] > BANG_RANK_MAX)
        return bang_fail(err, BANG_EDATA, "%s: %d dimensions: at most %d are read", stream->name,
                         bytes[3], BANG_RANK_MAX);
    header->dtype = types[type].dtype;
    header->rank = bytes[3];
    for (int i = 0; i < header->rank; i++) {
        code = read_bytes(stream, bytes, 4, err);
        if (code < 0)
            return code;
        header->shape[i] =
            (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
    }
    return 0;
}

/* Before memory is taken: could the rest of the file become that many bytes? */
static int check_claim(const struct header *header, const struct stream *stream, bang_error *err)
{
    size_t most = stream->size - stream->used, bytes = bang_dtype_size(header->dtype);
    if (stream->compressed) /* a part of what was used may still be in zlib */
        most =
            stream->size > PTRDIFF_MAX / DEFLATE_MOST ? PTRDIFF_MAX : stream->size * DEFLATE_MOST;
    for (int i = 0; i < header->rank; i++) {
        if (header->shape[i] != 0 && bytes > SIZE_MAX / header->shape[i])
            return fail_cut(stream, err);
        bytes *= header->shape[i];
    }
    return bytes > most ? fail_cut(stream, err) : 0;
}

static int read_stream(bang_array *out, struct stream *stream, bang_error *err)
{
    struct header header = {0};
    bang_array array = {0};
    int code = read_header(&header, stream, err);
    if (code == 0)
        code = check_claim(&header, stream, err);
    if (code == 0)
        code = bang_array_init(&array, header.dtype, header.rank, header.shape, err);
    size_t size = bang_dtype_size(header.dtype);
    if (code == 0)
        code = read_bytes(stream, array.data, array.count * size, err);
    if (code == 0)
        code = check_end(stream, err);
    if (code < 0) {
        bang_array_release(&array);
        return code;
    }
    if (bang_bytes_native_little())
        bang_bytes_swap(array.data, array.count, size);
    *out = array;
    return 0;
}

int bang_idx_parse(bang_array *out, const void *data, size_t size, const char *name,
                   bang_error *err)
{
    struct stream stream = {.name = name, .data = data, .size = size};
    *out = (bang_array){0};
    stream.compressed = size >= 2 && stream.data[0] == 0x1f && stream.data[1] == 0x8b;
    /* 15: the largest window; 16: a gzip header and nothing else. */
    if (stream.compressed && inflateInit2(&stream.zlib, 15 + 16) != Z_OK)
        return bang_fail_memory(err);
    int code = read_stream(out, &stream, err);
    if (stream.compressed)
        inflateEnd(&stream.zlib);
    return code;
}

int bang_idx_read(bang_array *out, const char *path, bang_error *err)
{
    char *data;
    size_t size;
    *out = (bang_array){0};
    int code = bang_file_read(&data, &size, path, err);
    if (code < 0)
        return code;
    code = bang_idx_parse(out, data, size, path, err);
    free(data);
    return code;
}

int bang_idx_write(const char *path, const bang_array *array, bang_error *err)
{
    unsigned char header[4 + 4 * BANG_RANK_MAX] = {0};
    int type = 0;
    while (type < TYPE_COUNT && types[type].dtype != array->dtype)
        type++;
    if (type == TYPE_COUNT)
        return bang_fail(err, BANG_EUSAGE, "%s: idx has no number type %s", path,
                         bang_dtype_name(array->dtype));
    header[2] = types[type].code;
    header[3] = (unsigned char)array->rank;
    for (int i = 0; i < array->rank; i++) {
        size_t dimension = array->shape[i];
        if (dimension > UINT32_MAX)
            return bang_fail(err, BANG_EUSAGE, "%s: a dimension of %zu: idx has 32 bits for it",
                             path, dimension);
        for (int k = 0; k < 4; k++)
            header[4 + 4 * i + k] = (unsigned char)(dimension >> (24 - 8 * k) & 255);
    }
    bang_file *file;
    int code = bang_file_begin(&file, path, err);
    if (code < 0)
        return code;
    bang_file_write(file, header, 4 + 4 * (size_t)array->rank);
    bang_bytes_write(file, array, 0);
    return bang_file_commit(file, err);
}
