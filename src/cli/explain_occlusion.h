/* What the two halves of bang explain occlusion share. */
#ifndef BANG_CLI_EXPLAIN_OCCLUSION_H
#define BANG_CLI_EXPLAIN_OCCLUSION_H

#include "bang/explain/occlusion.h"
#include "explain.h"

typedef struct occlusion {
    const explain_request *request;
    size_t vits; /* models that are such: none or all */
    explain_choice choice;
    size_t images; /* those of it that could be read */
    size_t skipped;
    bang_text bad; /* a line per picture that was left out */
    size_t rows, columns;
    const bang_array *array; /* the images of perceptrons while they are worked on */
    uint8_t *masks; /* (2, rows, columns): the digit, all but the digit; NULL for other images */
    bang_occlusion result;
} occlusion;

/* The images of the choice at the size that the models read. */
int occlude_vits(occlusion *o, cli *c, bang_error *err);

#endif
