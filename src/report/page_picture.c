/* Pictures that a record brings along, and lists of facts. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "report/draw.h"
#include "report/page.h"

#define WIDTH_MOST 100000.0 /* px of a picture on the page */

/* The six bits that a character of base64 stands for; -1 for any other. */
static int six_bits(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes the start of the text into out; 0, or -1 if any of it is no base64. */
static int decode_start(unsigned char *out, size_t size, const char *text)
{
    size_t length = strlen(text), used = length;
    while (used > 0 && length - used < 2 && text[used - 1] == '=')
        used--;
    if (length % 4)
        return -1;
    uint32_t bits = 0;
    for (size_t i = 0; i < used; i++) {
        int six = six_bits(text[i]);
        if (six < 0)
            return -1;
        bits = bits << 6 | (uint32_t)six;
        /* Characters 1, 2 and 3 of each four complete a byte. */
        size_t byte = i / 4 * 3 + i % 4 - 1;
        if (i % 4 && byte < size)
            out[byte] = (unsigned char)(bits >> (6 - i % 4 * 2) & 0xFF);
    }
    return 0;
}

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A PNG begins with its signature and the chunk IHDR, whose first members are
 * the width and the height. */
static int read_size(double *width, double *height, const char *base64, bang_error *err)
{
    static const unsigned char start[16] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n',
                                            0,    0,   0,   13,  'I',  'H',  'D',  'R'};
    unsigned char head[24] = {0};
    if (decode_start(head, sizeof head, base64) < 0)
        return bang_fail(err, BANG_EDATA, "\"png\" is no base64");
    uint32_t w = big_endian(head + 16), h = big_endian(head + 20);
    if (memcmp(head, start, sizeof start) != 0 || w == 0 || h == 0 || w > INT32_MAX ||
        h > INT32_MAX)
        return bang_fail(err, BANG_EDATA, "\"png\" is no PNG picture");
    *width = w;
    *height = h;
    return 0;
}

static int read_scale(double *out, const json_t *entry, double width, bang_error *err)
{
    const json_t *scale = json_object_get(entry, "scale");
    *out = scale && !json_is_null(scale) ? json_number_value(scale) : 1;
    if ((scale && !json_is_null(scale) && !json_is_number(scale)) || !(*out > 0))
        return bang_fail(err, BANG_EDATA, "\"scale\" is no number above 0");
    if (width * *out > WIDTH_MOST || width * *out < 1)
        return bang_fail(err, BANG_EDATA, "\"scale\" makes it %g wide, not 1 to %g pixels",
                         width * *out, WIDTH_MOST);
    return 0;
}

int bang_page_picture(bang_page *page, const json_t *entry, bang_error *err)
{
    const char *title, *note, *png, *alt;
    int pixelated;
    double width = 0, height = 0, scale;
    if (bang_page_string(&title, entry, "title", err) < 0 ||
        bang_page_string(&note, entry, "note", err) < 0 ||
        bang_page_string(&png, entry, "png", err) < 0 ||
        bang_page_string(&alt, entry, "alt", err) < 0 ||
        bang_page_flag(&pixelated, entry, "pixelated", err) < 0)
        return err->code;
    if (!png)
        return bang_fail(err, BANG_EDATA, "\"png\" is missing");
    if (read_size(&width, &height, png, err) < 0 || read_scale(&scale, entry, width, err) < 0)
        return err->code;
    bang_text *out = &page->out;
    bang_page_open_figure(page);
    bang_text_add(out,
                  "<div class=\"picture\"><img%s width=\"%.0f\" style=\"aspect-ratio:%.0f/%.0f\" "
                  "alt=\"",
                  pixelated ? " class=\"pixelated\"" : "", round(width * scale), width, height);
    bang_draw_escaped(out, alt ? alt : title);
    bang_text_add(out, "\" src=\"data:image/png;base64,");
    bang_text_add_bytes(out, png, strlen(png));
    bang_text_add(out, "\"></div>\n");
    bang_page_close_figure(page, entry, title, note);
    return 0;
}

int bang_page_facts(bang_page *page, const json_t *entry, bang_error *err)
{
    const char *title;
    const json_t *rows;
    if (bang_page_string(&title, entry, "title", err) < 0 ||
        bang_page_array(&rows, entry, "rows", err) < 0)
        return err->code;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r), *value = json_array_get(row, 1);
        if (json_array_size(row) != 2 || !json_is_string(json_array_get(row, 0)) ||
            !(json_is_string(value) || json_is_number(value)))
            return bang_fail(err, BANG_EDATA, "row %zu is no name with a text or a number", r + 1);
    }
    bang_text *out = &page->out;
    bang_text_add(out, "<div class=\"facts\">\n");
    if (title) {
        bang_text_add(out, "<p class=\"over\">");
        bang_draw_escaped(out, title);
        bang_text_add(out, "</p>\n");
    }
    bang_text_add(out, "<dl>\n");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r);
        bang_text_add(out, "<dt>");
        bang_draw_escaped(out, json_string_value(json_array_get(row, 0)));
        bang_text_add(out, "</dt><dd>");
        bang_page_value(out, json_array_get(row, 1));
        bang_text_add(out, "</dd>\n");
    }
    bang_text_add(out, "</dl>\n</div>\n");
    return 0;
}
