#include "explain/letters.h"

enum { UNIT = 2, ROWS = 9, GAP = 1, FIRST = ' ', LAST = '~', DETAIL = 4 };

static const struct letter {
    uint8_t width, rows[ROWS];
} letters[] = {
#include "explain/letters.inc"
};

/* The next character's letter; moves on. */
static const struct letter *next_letter(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    int c = *s++;
    while ((*s & 0xC0) == 0x80) /* the rest of a character of UTF-8 */
        s++;
    *text = (const char *)s;
    return &letters[(c >= FIRST && c <= LAST ? c : '?') - FIRST];
}

static size_t width_of(const struct letter *letter)
{
    return (size_t)(letter->width + GAP) * UNIT;
}

size_t bang_letters_width(const char *text)
{
    size_t width = 0;
    while (*text)
        width += width_of(next_letter(&text));
    return width ? width - GAP * UNIT : 0;
}

static double bit(const struct letter *letter, int row, int column)
{
    return row >= 0 && row < ROWS && column >= 0 && column < letter->width &&
                   letter->rows[row] >> column & 1
               ? 1
               : 0;
}

/* How much of a pixel is ink: the bits are taken as samples of a smooth shape, inside of which
 * their linear interpolation is above a half; so steps become slopes. */
static double ink(const struct letter *letter, size_t x, size_t y)
{
    int inside = 0;
    for (int i = 0; i < DETAIL * DETAIL; i++) {
        int across = i % DETAIL, down = i / DETAIL;
        double u = ((double)x + (across + .5) / DETAIL) / UNIT + .5;
        double v = ((double)y + (down + .5) / DETAIL) / UNIT + .5;
        int column = (int)u, row = (int)v;
        u -= column;
        v -= row;
        double above =
            (1 - u) * bit(letter, row - 1, column - 1) + u * bit(letter, row - 1, column);
        double below = (1 - u) * bit(letter, row, column - 1) + u * bit(letter, row, column);
        inside += (1 - v) * above + v * below > .45;
    }
    return inside / (double)(DETAIL * DETAIL);
}

static void draw_letter(const letters_canvas *c, const struct letter *letter, size_t left,
                        size_t top, uint8_t grey)
{
    for (size_t y = 0; y < ROWS * UNIT && top + y < c->height; y++)
        for (size_t x = 0; x < (size_t)letter->width * UNIT && left + x < c->width; x++) {
            uint8_t *to = c->pixels + 3 * ((top + y) * c->width + left + x);
            double share = ink(letter, x, y);
            for (int k = 0; k < 3; k++)
                to[k] = (uint8_t)(to[k] + (grey - to[k]) * share + .5);
        }
}

void bang_letters_draw(const letters_canvas *canvas, const char *text, size_t left, size_t top,
                       size_t most, uint8_t grey)
{
    static const char more[] = "..";
    int cut = bang_letters_width(text) > most;
    size_t end = left + most - (cut ? bang_letters_width(more) + GAP * UNIT : 0);
    if (cut && most < bang_letters_width(more) + GAP * UNIT)
        return;
    while (*text) {
        const struct letter *letter = next_letter(&text);
        if (left + (size_t)letter->width * UNIT > end)
            break;
        draw_letter(canvas, letter, left, top, grey);
        left += width_of(letter);
    }
    for (const char *s = more; cut && *s;) {
        const struct letter *letter = next_letter(&s);
        draw_letter(canvas, letter, left, top, grey);
        left += width_of(letter);
    }
}
