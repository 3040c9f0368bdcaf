/* Zip files that are written: what is in them. Private to this room. */
#ifndef BANG_STORE_OUTPUT_ZIP_H
#define BANG_STORE_OUTPUT_ZIP_H

#include "store/output.h"

/* Members are stored, not compressed: content, then the bytes of a tensor. */
typedef struct bang_zip_part {
    bang_text name, content;
    const bang_output_item *item; /* whose bytes follow, or NULL */
} bang_zip_part;

typedef struct bang_zip_parts {
    size_t count, capacity;
    bang_zip_part *items;
} bang_zip_parts;

/* A new part at the end, or NULL when memory is out. */
bang_zip_part *bang_zip_add_part(bang_zip_parts *parts);

/* The members of an .npz, and of a .pt file; item i is that of the i-th tensor. */
int bang_zip_npz_parts(bang_zip_parts *out, const bang_output *output, bang_error *err);
int bang_zip_torch_parts(bang_zip_parts *out, const bang_output *output, bang_error *err);

#endif
