/* Small pieces of a file, kept for a while: tensors whose numbers do not lie one
 * after the other (a transposed matrix) come back to the same pages again and
 * again. Private to this room. */
#ifndef BANG_STORE_PAGES_H
#define BANG_STORE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"

typedef struct bang_pages bang_pages;

/* NULL when memory is out. */
bang_pages *bang_pages_new(void);
void bang_pages_free(bang_pages *pages);
/* Bytes that one may take. */
size_t bang_pages_memory(void);
/* size bytes (at most 16) at offset of source, whose number in the checkpoint is file. */
int bang_pages_read(bang_pages *pages, const bang_source *source, size_t file, uint64_t offset,
                    void *out, size_t size, bang_error *err);

#endif
