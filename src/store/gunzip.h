/* Bytes in memory that are read as they are or through zlib. Private to this room. */
#ifndef BANG_STORE_GUNZIP_H
#define BANG_STORE_GUNZIP_H

#define ZLIB_CONST /* our input stays ours */
#include <stddef.h>
#include <zlib.h>

#include "bang/base/error.h"

typedef struct bang_gunzip {
    const char *name;    /* borrowed, for messages */
    const char *content; /* what it holds, for messages: "bytes", "numbers" */
    const unsigned char *data;
    size_t size, used;
    int compressed;
    int ended; /* a member of the compressed file is complete */
    z_stream zlib;
} bang_gunzip;

/* data and name must stay. The caller closes it. */
int bang_gunzip_open(bang_gunzip *out, const void *data, size_t size, const char *name,
                     bang_error *err);
void bang_gunzip_close(bang_gunzip *stream);
/* 1 when nothing follows. */
int bang_gunzip_is_at_end(const bang_gunzip *stream);
/* Up to size bytes to out, *made of them; 0 made is no end. What is cut is an error. */
int bang_gunzip_some(bang_gunzip *stream, void *out, size_t size, size_t *made, bang_error *err);
/* All of size bytes. */
int bang_gunzip_read(bang_gunzip *stream, void *out, size_t size, bang_error *err);
/* That the bytes end too early. Returns the code. */
int bang_gunzip_fail_cut(const bang_gunzip *stream, bang_error *err);

#endif
