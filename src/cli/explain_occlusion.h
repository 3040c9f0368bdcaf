/* What the two halves of bang explain occlusion share. */
#ifndef BANG_CLI_EXPLAIN_OCCLUSION_H
#define BANG_CLI_EXPLAIN_OCCLUSION_H

#include "bang/explain/occlusion.h"
#include "explain.h"

typedef struct occlusion {
    const explain_request *request;
    size_t vits; /* models that are such: none or all */
    size_t images, rows, columns;
    const bang_array *array; /* the images while they are worked on */
    uint8_t *masks; /* (2, rows, columns): the digit, all but the digit; NULL for other images */
    bang_occlusion result;
} occlusion;

/* The first of the images at the size that the models read. */
int occlude_vits(occlusion *o, cli *c, bang_error *err);

#endif
