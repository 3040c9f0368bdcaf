/* Text that grows, and numbers read strictly.
 *
 *     bang_text csv = {0};
 *     bang_text_add(&csv, "%s,%.17g\n", name, value);
 *     if (csv.failed) ...                // out of memory, checked once
 *     bang_text_release(&csv);
 */
#ifndef BANG_BASE_TEXT_H
#define BANG_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"

typedef struct bang_text {
    char *data;  /* terminated; NULL while nothing was added */
    size_t size; /* without the terminator */
    size_t capacity;
    int failed; /* an allocation failed; further additions do nothing */
} bang_text;

void bang_text_add(bang_text *text, const char *format, ...) BANG_PRINTF(2, 3);
void bang_text_add_bytes(bang_text *text, const char *bytes, size_t size);
/* Adds s with & < > " ' replaced by entities, for HTML and SVG. */
void bang_text_add_escaped(bang_text *text, const char *s);
void bang_text_add_base64(bang_text *text, const void *data, size_t size);
void bang_text_release(bang_text *text);

/* Ends a list of problems, each added as "; what: why": fails with BANG_EUSAGE
 * and the list as its message, or returns 0 when it is empty. Releases text. */
int bang_text_fail(bang_text *problems, bang_error *err);

/* Makes one line of what files hold: control characters become '?'. */
void bang_text_flatten(char *s);
/* 1 if s ends so. */
int bang_text_ends_with(const char *s, const char *end);

/* The whole of s as a finite number; 0, or -1 if s is anything else (empty,
 * trailing characters, white space, hexadecimal, inf, nan, out of range). */
int bang_text_to_double(double *out, const char *s);
int bang_text_to_int64(int64_t *out, const char *s);

#endif
