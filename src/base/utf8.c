#include "bang/base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

size_t bang_utf8_character(const char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    size_t size = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (size < 2)
        return size;
    uint32_t point = p[0] & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xC0) != 0x80) /* so is the end */
            return 0;
        point = point << 6 | (p[i] & 0x3F);
    }
    int fits = p[0] < 0xF8 && point >= least[size] && point <= 0x10FFFF &&
               (point < 0xD800 || point > 0xDFFF);
    return fits ? size : 0;
}

void bang_utf8_mend(char *s)
{
    while (*s) {
        size_t size = bang_utf8_character(s);
        if (size == 0)
            *s = '?';
        s += size ? size : 1;
    }
}

void bang_utf8_clip(char *out, size_t size, const char *s)
{
    size_t length = strlen(s);
    if (size == 0)
        return;
    if (length >= size) {
        size_t end = 0, next = 0; /* of the last character that fits */
        while (next < size) {
            end = next;
            next += bang_utf8_character(s + next) ? bang_utf8_character(s + next) : 1;
        }
        length = end;
    }
    memcpy(out, s, length);
    out[length] = '\0';
    bang_utf8_mend(out);
    bang_text_flatten(out);
}

json_t *bang_utf8_json(const char *s)
{
    if (!s)
        return json_null();
    char *copy = strdup(s);
    if (!copy) {
        bang_memory_refuse();
        return NULL;
    }
    bang_utf8_mend(copy);
    json_t *out = json_string(copy);
    free(copy);
    return out;
}
