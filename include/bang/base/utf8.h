/* Names of files as text. A path may hold any bytes, a page or JSON only UTF-8.
 *
 *     char heading[64];
 *     bang_utf8_clip(heading, sizeof heading, path);
 *     json_object_set_new(object, "file", bang_utf8_json(path));
 */
#ifndef BANG_BASE_UTF8_H
#define BANG_BASE_UTF8_H

#include <stddef.h>

#include "bang/base/json.h"

/* Bytes of the character that s begins with; 0 if that is none: a byte that begins nothing, one
 * of too few, longer than need be, a surrogate or beyond the last. */
size_t bang_utf8_character(const char *s);
/* Every byte that belongs to no character of UTF-8 becomes '?'. */
void bang_utf8_mend(char *s);
/* As much of s as fits into out, cut between two characters, mended; control characters become
 * '?' too. */
void bang_utf8_clip(char *out, size_t size, const char *s);
/* s, mended, as a new reference; null for NULL. NULL only when memory is out. */
json_t *bang_utf8_json(const char *s);

#endif
