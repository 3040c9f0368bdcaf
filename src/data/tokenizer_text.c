/* White space and case, as Python and the module regex see them. */
#include <string.h>
#include <utf8proc.h>

#include "data/tokenizer.h"

size_t bang_text_not_utf8(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        utf8proc_int32_t point;
        utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                   (utf8proc_ssize_t)(size - at), &point);
        if (length <= 0)
            return at;
        at += (size_t)length;
    }
    return size;
}

const char *bang_text_show(char out[BANG_TEXT_SHOWN], const char *text, size_t size)
{
    size_t used = 0, at = 0;
    while (at < size) {
        utf8proc_int32_t point;
        utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                   (utf8proc_ssize_t)(size - at), &point);
        int plain = length > 0 && utf8proc_category(point) != UTF8PROC_CATEGORY_CC;
        size_t bytes = plain ? (size_t)length : 1;
        if (used + bytes + sizeof "..." > BANG_TEXT_SHOWN) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, plain ? text + at : "?", bytes);
        used += bytes;
        at += length > 0 ? (size_t)length : 1;
    }
    out[used] = '\0';
    return out;
}

/* The character at text, which is UTF-8; its bytes to length. */
static int32_t point_at(const char *text, size_t size, size_t *length)
{
    utf8proc_int32_t point = (unsigned char)*text;
    *length = 1;
    if (point >= 0x80)
        *length = (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size,
                                           &point);
    return point;
}

/* Unicode's White_Space, which \s means in CLIP's patterns. */
static int is_space(int32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

/* str.strip takes four controls away as well. */
static int is_stripped(int32_t c)
{
    return is_space(c) || (c >= 0x1c && c <= 0x1f);
}

/* Without what str.strip takes away at both ends. */
static void strip(const char **text, size_t *size)
{
    size_t length;
    while (*size > 0 && is_stripped(point_at(*text, *size, &length))) {
        *text += length;
        *size -= length;
    }
    while (*size > 0) {
        size_t last = *size - 1;
        while (last > 0 && ((unsigned char)(*text)[last] & 0xc0) == 0x80)
            last--;
        if (!is_stripped(point_at(*text + last, *size - last, &length)))
            return;
        *size = last;
    }
}

/* Letters of a case, also those that are no letters by their category. */
static int is_cased(int32_t c)
{
    utf8proc_category_t kind = utf8proc_category(c);
    return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL ||
           kind == UTF8PROC_CATEGORY_LT || c == 0xaa || c == 0xba || (c >= 0x2160 && c <= 0x217f) ||
           (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
           (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

/* What may stand inside a word without being of it: marks, formats, apostrophes. */
static int is_case_ignorable(int32_t c)
{
    static const int32_t others[] = {'\'',   '.',    ':',    0xb7,   0x387,  0x55f,
                                     0x5f4,  0x2018, 0x2019, 0x2024, 0x2027, 0xfe13,
                                     0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (c == others[i])
            return 1;
    utf8proc_category_t kind = utf8proc_category(c);
    return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_ME ||
           kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
           kind == UTF8PROC_CATEGORY_SK;
}

/* A capital sigma at the end of a word is written otherwise: behind a cased letter, and
 * before none. */
static int is_final(const char *text, size_t size, size_t at)
{
    size_t length, before = at;
    int32_t c = 0;
    int cased = 0;
    while (before > 0) {
        for (before--; before > 0 && ((unsigned char)text[before] & 0xc0) == 0x80;)
            before--;
        c = point_at(text + before, size - before, &length);
        cased = is_cased(c);
        if (!is_case_ignorable(c))
            break;
        cased = 0;
    }
    if (!cased)
        return 0;
    for (at += 2; at < size; at += length) { /* a sigma has two bytes */
        c = point_at(text + at, size - at, &length);
        if (!is_case_ignorable(c))
            return !is_cased(c);
    }
    return 1;
}

static void add_lower(bang_text *out, const char *text, size_t size, size_t at, int32_t c)
{
    enum { SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, DOTTED_I = 0x130 };
    utf8proc_uint8_t bytes[4];
    if (c == DOTTED_I) { /* becomes two characters, whatever the language */
        bang_text_add_bytes(out, "i\xcc\x87", 3);
        return;
    }
    int32_t lower = c == SIGMA && is_final(text, size, at) ? FINAL_SIGMA : utf8proc_tolower(c);
    utf8proc_ssize_t length = utf8proc_encode_char(lower, bytes);
    bang_text_add_bytes(out, (const char *)bytes, (size_t)length);
}

void bang_text_lower(bang_text *out, const char *text, size_t size)
{
    size_t length;
    int space = 0;
    strip(&text, &size);
    for (size_t at = 0; at < size; at += length) {
        int32_t c = point_at(text + at, size - at, &length);
        if (is_space(c)) {
            space = 1;
            continue;
        }
        if (space)
            bang_text_add_bytes(out, " ", 1);
        space = 0;
        if (c < 0x80) {
            char lower = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
            bang_text_add_bytes(out, &lower, 1);
        } else {
            add_lower(out, text, size, at, c);
        }
    }
}
