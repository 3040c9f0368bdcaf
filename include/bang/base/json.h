/* JSON through jansson, with the two things every caller needs: results keep
 * all their digits, and a number that is not finite becomes null.
 */
#ifndef BANG_BASE_JSON_H
#define BANG_BASE_JSON_H

#include <jansson.h>

#include "bang/base/error.h"

/* A new reference; null when value is not finite. */
json_t *bang_json_number(double value);

/* One line, keys in the order of insertion, 17 significant digits; the caller
 * frees it. NULL when memory is out. */
char *bang_json_line(const json_t *value);
/* The same as json_dumps has it, with its flags. */
char *bang_json_text(const json_t *value, size_t flags);

/* Reads a whole text; duplicate keys are an error. *out is a new reference. */
int bang_json_parse(json_t **out, const char *text, size_t size, bang_error *err);

/* The same for a text of somebody else's that may be large, and whose values have names and some
 * length each: it is looked through first, and refused if its values would take more memory than
 * BANG_JSON_FACTOR times its size and BANG_JSON_FREE bytes, as those of "[{},{},{}" do. */
enum { BANG_JSON_FACTOR = 32, BANG_JSON_FREE = 1 << 20 };
int bang_json_parse_foreign(json_t **out, const char *text, size_t size, bang_error *err);

#endif
