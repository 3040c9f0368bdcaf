/* Captions of pictures: ASCII in one face, drawn into pixels. Private to this room. */
#ifndef BANG_EXPLAIN_LETTERS_H
#define BANG_EXPLAIN_LETTERS_H

#include <stddef.h>
#include <stdint.h>

enum { LETTERS_HEIGHT = 18 }; /* pixels of a line, from the top of a capital to below a g */

typedef struct letters_canvas {
    uint8_t *pixels; /* (height, width, 3) */
    size_t width, height;
} letters_canvas;

/* Pixels from left to right. What is no ASCII counts as one '?' a character. */
size_t bang_letters_width(const char *text);
/* At (left, top) in grey, at most so many pixels wide: what does not fit ends in "..". */
void bang_letters_draw(const letters_canvas *canvas, const char *text, size_t left, size_t top,
                       size_t most, uint8_t grey);

#endif
