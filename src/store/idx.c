#include "bang/store/idx.h"

#include <stdlib.h>

#include "store/bytes.h"
#include "store/gunzip.h"

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

/* The file must end where its numbers do; of a compressed one the checksum is
 * still to come. */
static int check_end(bang_gunzip *stream, bang_error *err)
{
    unsigned char extra;
    size_t made = 0;
    while (made == 0 && !bang_gunzip_is_at_end(stream)) {
        int code = bang_gunzip_some(stream, &extra, 1, &made, err);
        if (code < 0)
            return code;
    }
    if (made > 0)
        return bang_fail(err, BANG_EDATA, "%s: bytes follow behind its numbers: not an idx file",
                         stream->name);
    return 0;
}

struct header {
    bang_dtype dtype;
    int rank;
    size_t shape[BANG_RANK_MAX];
};

static int read_header(struct header *header, bang_gunzip *stream, bang_error *err)
{
    unsigned char bytes[4];
    int code = bang_gunzip_read(stream, bytes, 4, err);
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
        code = bang_gunzip_read(stream, bytes, 4, err);
        if (code < 0)
            return code;
        header->shape[i] =
            (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
    }
    return 0;
}

/* Before memory is taken: could the rest of the file become that many bytes? */
static int check_claim(const struct header *header, const bang_gunzip *stream, bang_error *err)
{
    size_t most = stream->size - stream->used, bytes = bang_dtype_size(header->dtype);
    if (stream->compressed) /* a part of what was used may still be in zlib */
        most =
            stream->size > PTRDIFF_MAX / DEFLATE_MOST ? PTRDIFF_MAX : stream->size * DEFLATE_MOST;
    for (int i = 0; i < header->rank; i++) {
        if (header->shape[i] != 0 && bytes > SIZE_MAX / header->shape[i])
            return bang_gunzip_fail_cut(stream, err);
        bytes *= header->shape[i];
    }
    return bytes > most ? bang_gunzip_fail_cut(stream, err) : 0;
}

static int read_stream(bang_array *out, bang_gunzip *stream, bang_error *err)
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
        code = bang_gunzip_read(stream, array.data, array.count * size, err);
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
    bang_gunzip stream;
    *out = (bang_array){0};
    int code = bang_gunzip_open(&stream, data, size, name, err);
    if (code < 0)
        return code;
    stream.content = "numbers";
    code = read_stream(out, &stream, err);
    bang_gunzip_close(&stream);
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
