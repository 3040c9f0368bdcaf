/* Character references of HTML: &amp; &#8217; &eacute and their like. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "data/tokenizer.h"

typedef struct entity {
    const char *name;
    int32_t first, second; /* code points; second may be 0 */
    int bare;              /* stands without its semicolon, too */
} entity;

static const entity entities[] = {
#include "data/entities.inc"
};

typedef struct key {
    const char *name;
    size_t size;
} key;

static int by_key(const void *left, const void *right)
{
    const key *k = left;
    const entity *e = right;
    int order = strncmp(k->name, e->name, k->size);
    return order ? order : -(e->name[k->size] != '\0');
}

static const entity *find_entity(const char *name, size_t size)
{
    key k = {name, size};
    return bsearch(&k, entities, sizeof entities / sizeof *entities, sizeof *entities, by_key);
}

static void add_point(bang_text *out, int32_t point)
{
    utf8proc_uint8_t bytes[4];
    utf8proc_ssize_t size = utf8proc_encode_char(point, bytes);
    bang_text_add_bytes(out, (const char *)bytes, (size_t)size);
}

static void add_entity(bang_text *out, const entity *e)
{
    add_point(out, e->first);
    if (e->second)
        add_point(out, e->second);
}

/* A number that HTML does not take as it is: 0 and carriage return, windows-1252, what
 * is no character; then what may not be written so. -1: nothing at all. */
static int32_t point_of(int32_t number)
{
    static const int32_t windows[32] = {
        0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
        0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};
    if (number >= 0x80 && number < 0xa0)
        return windows[number - 0x80];
    if (number == 0 || (number >= 0xd800 && number < 0xe000) || number > 0x10ffff)
        return 0xfffd;
    int control =
        number < 0x20 && number != '\t' && number != '\n' && number != '\f' && number != '\r';
    int not_one = (number & 0xfffe) == 0xfffe || (number >= 0xfdd0 && number < 0xfdf0);
    return control || number == 0x7f || not_one ? -1 : number;
}

static int digit_of(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 16;
    return value < base ? value : -1;
}

/* What follows "&#"; returns how much of it was read, 0 when it is no reference. */
static size_t add_number(bang_text *out, const char *text, size_t size)
{
    int hexadecimal = size > 0 && (text[0] == 'x' || text[0] == 'X'), digit;
    size_t at = (size_t)hexadecimal, first = at;
    int32_t number = 0;
    for (; at < size && (digit = digit_of(text[at], hexadecimal ? 16 : 10)) >= 0; at++)
        number = number > 0x10ffff ? number : number * (hexadecimal ? 16 : 10) + digit;
    if (at == first)
        return 0;
    int32_t point = point_of(number);
    if (point >= 0)
        add_point(out, point);
    return at + (at < size && text[at] == ';');
}

/* What follows "&": up to 32 characters and a semicolon. Where the whole is no name, its
 * longest beginning that may stand without semicolon is one. */
static size_t add_name(bang_text *out, const char *text, size_t size)
{
    enum { CHARACTERS = 32, SHORTEST = 2 };
    size_t end = 0, characters = 0;
    for (; end < size && !strchr("\t\n\f <&#;", text[end]); end++) {
        characters += ((unsigned char)text[end] & 0xc0) != 0x80;
        if (characters > CHARACTERS)
            break;
    }
    if (end == 0)
        return 0;
    int closed = end < size && text[end] == ';';
    const entity *found = find_entity(text, end);
    if (found && (closed || found->bare)) {
        add_entity(out, found);
        return end + (size_t)closed;
    }
    for (size_t length = end - (size_t)!closed; length >= SHORTEST; length--) {
        found = find_entity(text, length);
        if (found && found->bare) {
            add_entity(out, found);
            bang_text_add_bytes(out, text + length, end + (size_t)closed - length);
            return end + (size_t)closed;
        }
    }
    bang_text_add_bytes(out, "&", 1);
    bang_text_add_bytes(out, text, end + (size_t)closed);
    return end + (size_t)closed;
}

void bang_html_unescape(bang_text *out, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *mark = memchr(text, '&', (size_t)(end - text));
        bang_text_add_bytes(out, text, (size_t)((mark ? mark : end) - text));
        if (!mark)
            return;
        text = mark + 1;
        size_t left = (size_t)(end - text), used;
        if (left > 0 && *text == '#') {
            used = add_number(out, text + 1, left - 1);
            text += used ? used + 1 : 0;
        } else {
            used = add_name(out, text, left);
            text += used;
        }
        if (!used)
            bang_text_add_bytes(out, "&", 1);
    }
}
