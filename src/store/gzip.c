#include "bang/store/gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "store/gunzip.h"

int bang_gunzip_open(bang_gunzip *out, const void *data, size_t size, const char *name,
                     bang_error *err)
{
    *out = (bang_gunzip){.name = name, .content = "bytes", .data = data, .size = size};
    out->compressed = size >= 2 && out->data[0] == 0x1f && out->data[1] == 0x8b;
    /* 15: the largest window; 16: a gzip header and nothing else. */
    if (out->compressed && inflateInit2(&out->zlib, 15 + 16) != Z_OK)
        return bang_fail_memory(err);
    return 0;
}

void bang_gunzip_close(bang_gunzip *stream)
{
    if (stream->compressed)
        inflateEnd(&stream->zlib);
}

int bang_gunzip_is_at_end(const bang_gunzip *stream)
{
    return stream->used == stream->size && (stream->ended || !stream->compressed);
}

int bang_gunzip_fail_cut(const bang_gunzip *stream, bang_error *err)
{
    return bang_fail(err, BANG_EDATA, "%s: ends before its %s do: the file is cut", stream->name,
                     stream->content);
}

/* One call of inflate. */
static int inflate_some(bang_gunzip *stream, unsigned char *out, size_t size, size_t *made,
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
        return bang_gunzip_fail_cut(stream, err);
    return bang_fail(err, BANG_EDATA, "%s: its compressed data are damaged: get it again",
                     stream->name);
}

int bang_gunzip_some(bang_gunzip *stream, void *out, size_t size, size_t *made, bang_error *err)
{
    size_t left = stream->size - stream->used;
    if (stream->compressed)
        return inflate_some(stream, out, size, made, err);
    *made = size < left ? size : left;
    if (*made > 0)
        memcpy(out, stream->data + stream->used, *made);
    stream->used += *made;
    return 0;
}

int bang_gunzip_read(bang_gunzip *stream, void *out, size_t size, bang_error *err)
{
    unsigned char *to = out;
    while (size > 0) {
        size_t made = 0;
        if (bang_gunzip_is_at_end(stream))
            return bang_gunzip_fail_cut(stream, err);
        int code = bang_gunzip_some(stream, to, size, &made, err);
        if (code < 0)
            return code;
        to += made;
        size -= made;
    }
    return 0;
}

int bang_gzip_parse(char **out, size_t *size, const void *data, size_t given, const char *name,
                    size_t most, bang_error *err)
{
    enum { FIRST = 1 << 16 };
    bang_gunzip stream;
    char *text = NULL;
    size_t count = 0, room = 0;
    *out = NULL;
    *size = 0;
    int code = bang_gunzip_open(&stream, data, given, name, err);
    if (code < 0)
        return code;
    while (code == 0 && (!text || !bang_gunzip_is_at_end(&stream))) {
        size_t made = 0;
        if (count + 1 >= room) { /* a byte stays for the terminator */
            room = room ? 2 * room : FIRST;
            char *more = realloc(text, room);
            if (!more) {
                code = bang_fail_memory(err);
                break;
            }
            text = more;
        }
        code = bang_gunzip_some(&stream, text + count, room - count - 1, &made, err);
        count += made;
        if (code == 0 && count > most)
            code = bang_fail(err, BANG_EDATA,
                             "%s: unpacks to more than %zu bytes: is it the right "
                             "file?",
                             name, most);
    }
    bang_gunzip_close(&stream);
    if (code < 0) {
        free(text);
        return code;
    }
    text[count] = '\0';
    *out = text;
    *size = count;
    return 0;
}

int bang_gzip_read(char **out, size_t *size, const char *path, size_t most, bang_error *err)
{
    char *data;
    size_t given;
    *out = NULL;
    *size = 0;
    int code = bang_file_read(&data, &given, path, err);
    if (code < 0)
        return code;
    code = bang_gzip_parse(out, size, data, given, path, most, err);
    free(data);
    return code;
}
