/* Files that may be compressed with gzip, as a whole; their first bytes tell.
 *
 *     bang_gzip_read(&text, &size, "bpe_simple_vocab_16e6.txt.gz", 64 << 20, &err);
 */
#ifndef BANG_STORE_GZIP_H
#define BANG_STORE_GZIP_H

#include <stddef.h>

#include "bang/base/error.h"

/* The content, unpacked, and terminated by a 0 that size does not count; one of more than
 * most bytes is an error. The caller frees it. */
int bang_gzip_read(char **out, size_t *size, const char *path, size_t most, bang_error *err);
/* The same from bytes in memory; name is for messages. */
int bang_gzip_parse(char **out, size_t *size, const void *data, size_t given, const char *name,
                    size_t most, bang_error *err);

#endif
