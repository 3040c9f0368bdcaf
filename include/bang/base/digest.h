/* SHA-256, for telling one input from another.
 *
 *     char sum[BANG_DIGEST_TEXT];
 *     bang_digest_file(sum, path, &err);     // 64 hexadecimal digits
 */
#ifndef BANG_BASE_DIGEST_H
#define BANG_BASE_DIGEST_H

#include <stddef.h>

#include "bang/base/error.h"

enum { BANG_DIGEST_TEXT = 65 }; /* with the terminator */

int bang_digest_bytes(char out[BANG_DIGEST_TEXT], const void *data, size_t size, bang_error *err);
int bang_digest_file(char out[BANG_DIGEST_TEXT], const char *path, bang_error *err);

#endif
