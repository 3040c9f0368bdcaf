/* What the parts of bang diff share. */
#ifndef BANG_CLI_DIFF_H
#define BANG_CLI_DIFF_H

#include "bang/combine/difference.h"
#include "cli.h"

typedef struct diff_request {
    const char *html, *sort; /* sort: "change", "name" or "file" */
    int64_t top;
    int tensors;
    uint64_t max_memory;
} diff_request;

/* What was found, with the order in which it is shown. */
typedef struct diff_result {
    bang_difference found;
    const bang_layer_change **layers;   /* (found.layer_count) as --sort says */
    const bang_tensor_change **tensors; /* (found.count) as --sort says */
    const bang_tensor_change **moved;   /* (moved_count) weights that differ, most first */
    size_t moved_count;
    char *a, *b; /* as little of the paths as tells them apart */
} diff_result;

/* How far something moved, to sort by: beyond all numbers where they are not finite,
 * below them where it was 0 before, and then where nothing moved. */
double diff_rank(const bang_change *change, int equal);

/* The three ways to tell it. */
json_t *diff_json(const diff_result *r);
void diff_print(const diff_request *request, const diff_result *r);
int diff_write_page(const char *path, const diff_result *r, bang_error *err);

#endif
