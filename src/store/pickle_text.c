/* Protocol 0: numbers in decimal digits, texts with escapes. */
#include "store/pickle_text.h"

#include <string.h>

#include "bang/base/text.h"

static bang_value *whole_number(bang_pickle *pickle, const char *line, size_t size)
{
    char digits[32] = "";
    int64_t integer;
    if (size > 0 && line[size - 1] == 'L')
        size--;
    if (size < sizeof digits)
        memcpy(digits, line, size);
    int is_small = size < sizeof digits && bang_text_to_int64(&integer, digits) == 0;
    bang_value *value = bang_pickle_value(pickle, is_small ? BANG_VALUE_INT : BANG_VALUE_BIG);
    if (value && is_small)
        value->integer = integer;
    return value;
}

static bang_value *decimal_number(bang_pickle *pickle, const char *line, size_t size)
{
    char digits[64] = "";
    bang_value *value = bang_pickle_value(pickle, BANG_VALUE_FLOAT);
    if (size < sizeof digits)
        memcpy(digits, line, size);
    if (value && bang_text_to_double(&value->number, digits) < 0)
        value->number = 0; /* inf, nan: no number of these is ever used */
    return value;
}

/* count hexadecimal digits; -1 if there are others. */
static int64_t hexadecimal(const char *digits, size_t count)
{
    int64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        const char *all = "0123456789abcdef0123456789ABCDEF";
        const char *found = digits[i] ? strchr(all, digits[i]) : NULL;
        if (!found)
            return -1;
        value = value * 16 + (found - all) % 16;
    }
    return value;
}

static size_t put_utf8(char *out, uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | point >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (point >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* An escape of size characters at least; what it stands for into out, its own
 * length into *used. 0: it is none. */
static size_t unescape(char *out, size_t *used, const char *from, size_t size, int is_unicode)
{
    static const char simple[] = "\\'\"nrtabfv0", meant[] = "\\'\"\n\r\t\a\b\f\v";
    size_t digits = 0;
    if (size < 2 || from[0] != '\\')
        return 0;
    if (is_unicode)
        digits = from[1] == 'u' ? 4 : from[1] == 'U' ? 8 : 0;
    else if (from[1] == 'x')
        digits = 2;
    if (digits > 0 && size >= 2 + digits) {
        int64_t point = hexadecimal(from + 2, digits);
        *used = 2 + digits;
        if (point >= 0 && point <= 0x10ffff)
            return put_utf8(out, (uint32_t)point);
    }
    const char *found = is_unicode || !from[1] ? NULL : strchr(simple, from[1]);
    *used = 2;
    if (found)
        *out = meant[found - simple];
    return found != NULL;
}

static bang_value *text(bang_pickle *pickle, const char *line, size_t size, int is_unicode)
{
    if (!is_unicode && size >= 2 && (line[0] == '\'' || line[0] == '"')) {
        line++;
        size -= 2;
    }
    bang_value *value = bang_pickle_value(pickle, BANG_VALUE_TEXT);
    char *out = bang_pickle_room(pickle, size, 2); /* a byte above 0x7f becomes two */
    if (!value || !out)
        return NULL;
    size_t length = 0;
    for (size_t i = 0; i < size;) {
        size_t used = 1, made = unescape(out + length, &used, line + i, size - i, is_unicode);
        if (made == 0) {
            used = 1;
            made = put_utf8(out + length, (unsigned char)line[i]);
        }
        length += made;
        i += used;
    }
    value->text.bytes = out;
    value->text.size = length;
    return value;
}

bang_value *bang_pickle_line(bang_pickle *pickle, int opcode, const char *line, size_t size)
{
    if (opcode == 'I' || opcode == 'L')
        return whole_number(pickle, line, size);
    if (opcode == 'F')
        return decimal_number(pickle, line, size);
    return text(pickle, line, size, opcode == 'V');
}
