#include "bang/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for more bytes and the terminator; 0, or -1 with failed set. */
static int reserve(bang_text *text, size_t more)
{
    if (text->failed)
        return -1;
    if (more >= SIZE_MAX / 2 - text->size) {
        text->failed = 1;
        return -1;
    }
    size_t need = text->size + more + 1;
    if (need <= text->capacity)
        return 0;
    size_t capacity = text->capacity < 128 ? 128 : text->capacity;
    while (capacity < need)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        bang_memory_refuse();
        text->failed = 1;
        return -1;
    }
    text->data = data;
    text->capacity = capacity;
    return 0;
}

void bang_text_add(bang_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t space = text->failed ? 0 : text->capacity - text->size;
    int length = vsnprintf(space ? text->data + text->size : NULL, space, format, args);
    va_end(args);
    if (length < 0) {
        text->failed = 1;
    } else if ((size_t)length < space) {
        text->size += (size_t)length;
    } else if (reserve(text, (size_t)length) == 0) {
        vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    } else if (text->data) {
        text->data[text->size] = '\0'; /* the first try may have left a part */
    }
    va_end(again);
}

void bang_text_add_bytes(bang_text *text, const char *bytes, size_t size)
{
    if (reserve(text, size) < 0)
        return;
    if (size)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void bang_text_add_escaped(bang_text *text, const char *s)
{
    while (*s) {
        size_t plain = strcspn(s, "&<>\"'");
        bang_text_add_bytes(text, s, plain);
        s += plain;
        const char *entity = NULL;
        switch (*s) {
        case '&':
            entity = "&amp;";
            break;
        case '<':
            entity = "&lt;";
            break;
        case '>':
            entity = "&gt;";
            break;
        case '"':
            entity = "&quot;";
            break;
        case '\'':
            entity = "&#39;";
            break;
        default:
            return;
        }
        bang_text_add_bytes(text, entity, strlen(entity));
        s++;
    }
}

void bang_text_add_base64(bang_text *text, const void *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = data;
    if (size > SIZE_MAX / 4 || reserve(text, (size + 2) / 3 * 4) < 0) {
        text->failed = 1;
        return;
    }
    char *out = text->data + text->size;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t bits = (uint32_t)in[i] << 16;
        bits |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        bits |= left > 2 ? in[i + 2] : 0;
        *out++ = digits[bits >> 18];
        *out++ = digits[bits >> 12 & 63];
        *out++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[bits & 63] : '=';
    }
    *out = '\0';
    text->size = (size_t)(out - text->data);
}

void bang_text_release(bang_text *text)
{
    free(text->data);
    *text = (bang_text){0};
}

int bang_text_fail(bang_text *problems, bang_error *err)
{
    int rc = 0;
    if (problems->failed)
        rc = bang_fail_memory(err);
    else if (problems->size > 2)
        rc = bang_fail(err, BANG_EUSAGE, "%s", problems->data + 2);
    bang_text_release(problems);
    return rc;
}

void bang_text_flatten(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            *s = '?';
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* strtod takes more than a decimal number (space, +, hexadecimal, inf, nan),
 * so the form is checked first. */
static int is_decimal(const char *s)
{
    s += *s == '-';
    size_t whole = digits(s), fraction = 0;
    s += whole;
    if (*s == '.') {
        fraction = digits(s + 1);
        s += 1 + fraction;
    }
    if (whole + fraction == 0)
        return 0;
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        size_t exponent = digits(s);
        if (!exponent)
            return 0;
        s += exponent;
    }
    return *s == '\0';
}

int bang_text_to_double(double *out, const char *s)
{
    if (!is_decimal(s))
        return -1;
    char *end;
    double value = strtod(s, &end);
    /* The second can only happen where somebody has set a locale. A number too
     * small to be told from 0 is the nearest double and fine. */
    if (!isfinite(value) || *end != '\0')
        return -1;
    *out = value;
    return 0;
}

int bang_text_to_int64(int64_t *out, const char *s)
{
    const char *number = s + (*s == '-');
    size_t length = digits(number);
    if (length == 0 || number[length] != '\0')
        return -1;
    errno = 0;
    long long value = strtoll(s, NULL, 10);
    if (errno == ERANGE || value < INT64_MIN || value > INT64_MAX)
        return -1;
    *out = value;
    return 0;
}

int bang_text_ends_with(const char *s, const char *end)
{
    size_t length = strlen(s), tail = strlen(end);
    return length >= tail && strcmp(s + length - tail, end) == 0;
}
