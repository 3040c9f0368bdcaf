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

#endif
