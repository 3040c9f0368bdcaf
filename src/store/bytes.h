/* What the file formats share: bytes that come from a file or from memory, and
 * the byte order of numbers. Private to this room. */
#ifndef BANG_STORE_BYTES_H
#define BANG_STORE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"
#include "bang/base/file.h"
#include "bang/tensor/array.h"

/* The size is known before anything is read, so that what a header claims can
 * be held against it; parts are read to where they belong. */
typedef struct bang_source {
    const char *name;          /* borrowed, for messages */
    const unsigned char *data; /* NULL when it comes from the descriptor */
    char *owned;
    int descriptor;
    size_t size;
} bang_source;

/* The caller closes it; path must stay. */
int bang_source_open(bang_source *out, const char *path, bang_error *err);
/* The caller closes it or not; name and data must stay. */
void bang_source_memory(bang_source *out, const void *data, size_t size, const char *name);
void bang_source_close(bang_source *source);
/* All size bytes at offset, or an error when they are not there. */
int bang_source_read(const bang_source *source, void *out, size_t offset, size_t size,
                     bang_error *err);

/* 1 on a machine whose numbers end with their most significant byte. */
int bang_bytes_native_little(void);
/* Turns each of count numbers of size bytes, 1, 2, 4 or 8, round. */
void bang_bytes_swap(void *data, size_t count, size_t size);
/* The numbers of array in that byte order; errors are the file's to tell. */
void bang_bytes_write(bang_file *file, const bang_array *array, int little);

/* Text of a file for a message: cut, and without control characters. */
enum { BANG_SHOWN = 128 };
const char *bang_bytes_show(char out[BANG_SHOWN], const char *text);

/* Bytes; the format's own limit. */
enum { BANG_SAFETENSORS_HEADER_MOST = 100000000 };

#endif
