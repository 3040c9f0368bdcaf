/* Text as CLIP's tokenizer wants it before it is cut into words. Private to this room. */
#ifndef BANG_DATA_TOKENIZER_PRIVATE_H
#define BANG_DATA_TOKENIZER_PRIVATE_H

#include "bang/base/text.h"

/* Adds text to out with its html entities replaced, as Python's html.unescape does. */
void bang_html_unescape(bang_text *out, const char *text, size_t size);

/* Adds text, which is UTF-8, to out: white space collapsed and stripped, lower case as
 * Python's str.lower. */
void bang_text_lower(bang_text *out, const char *text, size_t size);

/* The first byte that is not UTF-8; size when all is. */
size_t bang_text_not_utf8(const char *text, size_t size);

/* The beginning of text for a message: cut between characters, controls and what is not
 * UTF-8 as '?'. Returns out. */
enum { BANG_TEXT_SHOWN = 48 };
const char *bang_text_show(char out[BANG_TEXT_SHOWN], const char *text, size_t size);

#endif
