/* Text that is measured before it is placed, and the SVG around it. */
#include <stdint.h>
#include <string.h>

#include "report/draw.h"

/* Decodes one character and moves on; U+FFFD for broken UTF-8 and for what XML
 * cannot hold. Moves by at least one byte unless s is at its end. */
static uint32_t next_character(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    uint32_t c = p[0];
    int more = c < 0x80 ? 0 : c >= 0xF0 && c < 0xF8 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : -1;
    *s += c != 0;
    if (more == 0)
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r' || c == 0 ? c : 0xFFFD;
    if (more < 0 || c >= 0xF8)
        return 0xFFFD;
    c &= 0x3FU >> more;
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0xFFFD;
        c = c << 6 | (p[i] & 0x3F);
    }
    if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) || (c & 0xFFFE) == 0xFFFE ||
        (c >= 0x7F && c < 0xA0))
        return 0xFFFD;
    *s += more;
    return c;
}

static void escape(bang_text *out, const char *s, const char *end, int flat)
{
    char plain[5] = "";
    while (s < end) {
        const char *before = s;
        uint32_t c = next_character(&s);
        size_t size = (size_t)(s - before);
        if (c == 0xFFFD) {
            bang_text_add_bytes(out, "\uFFFD", 3);
        } else if (size > 1) {
            bang_text_add_bytes(out, before, size);
        } else {
            plain[0] = flat && c < ' ' ? ' ' : (char)c;
            plain[1] = '\0';
            bang_text_add_escaped(out, plain);
        }
    }
}

void bang_draw_escaped(bang_text *out, const char *s)
{
    if (s)
        escape(out, s, s + strlen(s), 0);
}

void bang_draw_escaped_line(bang_text *out, const char *s)
{
    if (s)
        escape(out, s, s + strlen(s), 1);
}

/* Advance widths of Helvetica in 1/1000 em, from the space on. */
static const uint16_t advance[95] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

static double character_width(uint32_t c)
{
    const double wide_font = 1.15; /* DejaVu and Verdana run this much wider */
    if (c >= 0x20 && c < 0x7F)
        return wide_font * advance[c - 0x20] / 1000;
    if (c >= 0x300 && c < 0x370)
        return 0; /* combining marks */
    if (c == 0x2070 || c == 0xB9 || c == 0xB2 || c == 0xB3 || (c >= 0x2074 && c < 0x2080))
        return 0.42; /* raised digits */
    return c >= 0x1100 && c != 0xFFFD && !(c >= 0x1E00 && c < 0x2E80) ? 1.05 : 0.7;
}

double bang_draw_text_width(const char *s, double size)
{
    double width = 0;
    while (s && *s)
        width += character_width(next_character(&s));
    return width * size;
}

/* The end of the longest start of s that fits, at a space or after one of the
 * breaks where there is one; at least one character. */
static const char *line_end(const char *s, double size, double width, const char *breaks)
{
    const char *space = NULL, *p = s;
    double used = 0;
    while (*p) {
        const char *before = p;
        uint32_t c = next_character(&p);
        used += size * character_width(c);
        if (c == '\n')
            return before;
        if (c == ' ' && before > s)
            space = before; /* which may hang over the end */
        if (used > width && before > s)
            return space ? space : before;
        if (c < 0x80 && strchr(breaks, (int)c) && *p)
            space = p;
    }
    return p;
}

static void wrap(bang_draw_block *block, const char *text, double size, double width,
                 int most_lines, const char *breaks)
{
    *block = (bang_draw_block){.text = text, .size = size, .width = width};
    if (!text)
        return;
    if (most_lines > BANG_DRAW_LINES)
        most_lines = BANG_DRAW_LINES;
    const char *p = text + strspn(text, " \n");
    while (*p && block->line_count < most_lines) {
        const char *end = line_end(p, size, width, breaks);
        int last = block->line_count + 1 == most_lines;
        if (last && end[strspn(end, " \n")]) {
            block->cut = 1;
            end = line_end(p, size, width - size, breaks);
        }
        block->start[block->line_count] = (size_t)(p - text);
        block->length[block->line_count++] = (size_t)(end - p);
        p = end + strspn(end, " \n");
    }
}

void bang_draw_wrap(bang_draw_block *block, const char *text, double size, double width,
                    int most_lines)
{
    wrap(block, text, size, width, most_lines, "");
}

static const char name_breaks[] = "-_/";

void bang_draw_wrap_name(bang_draw_block *block, const char *name, double size, double width,
                         int most_lines)
{
    wrap(block, name, size, width, most_lines, name_breaks);
}

double bang_draw_name_width(const char *name, double size)
{
    double widest = 0, used = 0;
    while (name && *name) {
        uint32_t c = next_character(&name);
        if (c == ' ' || c == '\n') {
            used = 0;
            continue;
        }
        used += size * character_width(c);
        if (used > widest)
            widest = used;
        if (c < 0x80 && strchr(name_breaks, (int)c))
            used = 0;
    }
    return widest;
}

double bang_draw_block_height(const bang_draw_block *block)
{
    return block->line_count * (block->size * 1.3);
}

void bang_draw_block_add(bang_text *out, const bang_draw_block *block, double x, double y,
                         int sideways, const char *attributes)
{
    for (int i = 0; i < block->line_count; i++) {
        double along = i * block->size * 1.3;
        if (sideways)
            bang_text_add(out, "<text transform=\"translate(%.2f %.2f) rotate(-90)\"", x + along,
                          y);
        else
            bang_text_add(out, "<text x=\"%.2f\" y=\"%.2f\"", x, y + along);
        bang_text_add(out, " font-size=\"%g\" %s>", block->size, attributes);
        if (block->cut) {
            bang_text_add(out, "<title>");
            bang_draw_escaped(out, block->text);
            bang_text_add(out, "</title>");
        }
        const char *line = block->text + block->start[i];
        escape(out, line, line + block->length[i], 0);
        bang_text_add(out, "%s</text>\n", block->cut && i + 1 == block->line_count ? "…" : "");
    }
}

void bang_draw_label(bang_text *out, double x, double y, const char *attributes, const char *s)
{
    bang_text_add(out, "<text x=\"%.2f\" y=\"%.2f\" %s>", x, y, attributes);
    bang_draw_escaped(out, s);
    bang_text_add(out, "</text>\n");
}

void bang_draw_title(bang_draw_block *block, const char *title, double width)
{
    bang_draw_wrap(block, title, 15, (width - 2 * BANG_DRAW_PAD) / BANG_DRAW_BOLD, 3);
}

double bang_draw_title_room(const bang_draw_block *block)
{
    double head = bang_draw_block_height(block);
    return BANG_DRAW_PAD + (head > 0 ? head + 10 : 0);
}

void bang_draw_title_add(bang_text *out, const bang_draw_block *block)
{
    bang_draw_block_add(out, block, BANG_DRAW_PAD, BANG_DRAW_PAD + 14, 0,
                        "font-weight=\"600\" fill=\"#111\"");
}

void bang_draw_no_data(bang_text *out, double x, double y)
{
    bang_draw_label(out, x, y,
                    "text-anchor=\"middle\" font-size=\"14\" class=\"soft\" fill=\"#777\"",
                    "no data");
}

void bang_draw_open(bang_text *out, double width, double height, const char *name)
{
    bang_text_add(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" role=\"img\"",
                  width, height, width, height);
    if (name && *name) {
        bang_text_add(out, " aria-label=\"");
        bang_draw_escaped(out, name);
        bang_text_add(out, "\"");
    }
    bang_text_add(out, " font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
                       "'Helvetica Neue', Arial, sans-serif\" font-size=\"12\" fill=\"#333\">\n"
                       "<rect class=\"ground\" width=\"100%%\" height=\"100%%\" "
                       "fill=\"#fff\"/>\n");
}
