/* bang explain: pictures and maps side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/explain/overlay.h"
#include "explain.h"

enum { CAPTION = 192, NAME = 80 };

static void picture_caption(char out[CAPTION], const explain_result *result, size_t i)
{
    char name[NAME], class[NAME];
    explain_name(name, sizeof name, result, i);
    if (explain_label(result, i) < 0) {
        snprintf(out, CAPTION, "%s", name);
        return;
    }
    explain_class(class, sizeof class, result, explain_label(result, i));
    snprintf(out, CAPTION, "%s\n%s", class, name);
}

/* "dog 87 %" and, where it is known, whether that is right; which class the map is of unless
 * that is it. */
static void map_caption(char out[CAPTION], const explain_result *result, size_t m, size_t i)
{
    const explain_member *e = &result->members[m];
    char predicted[NAME], explained[NAME];
    int right = explain_is_right(result, m, i);
    int other = result->request->kind != BANG_ROLLOUT && e->explained[i] != e->predicted[i];
    explain_class(predicted, sizeof predicted, result, (int64_t)e->predicted[i]);
    explain_class(explained, sizeof explained, result, (int64_t)e->explained[i]);
    snprintf(out, CAPTION, "%s, %.0f %%%s%s%s%s%s", predicted, 100 * e->confidence[i],
             right >= 0 || other ? "\n" : "",
             right < 0 ? ""
             : right   ? "right"
                       : "wrong",
             right >= 0 && other ? ", " : "", other ? "map of " : "", other ? explained : "");
}

int explain_sheet_fits(const explain_result *result, bang_error *err)
{
    size_t columns = 1 + result->model_count, count = result->shown * columns;
    const double some = 0;
    const uint8_t *picture = result->pictures;
    bang_overlay_tile *tiles = calloc(count + 1, sizeof *tiles);
    if (!tiles)
        return bang_fail_memory(err);
    for (size_t t = 0; t < count; t++)
        tiles[t] = (bang_overlay_tile){picture, &some, 1, "two\nlines"};
    const char *heading = "";
    bang_overlay_sheet sheet = {.rows = result->shown,
                                .columns = columns,
                                .size = result->size,
                                .channels = result->channels,
                                .tiles = tiles,
                                .headings = &heading};
    bang_error why = {0};
    size_t height, width;
    int rc = bang_overlay_size(&height, &width, &sheet, &why);
    free(tiles);
    return rc < 0 ? bang_fail(err, why.code, "--rows: %s", why.message) : 0;
}

int explain_draw(bang_array *out, const explain_result *result, bang_error *err)
{
    size_t columns = 1 + result->model_count, count = result->shown * columns;
    size_t picture = result->size * result->size * result->channels;
    bang_overlay_tile *tiles = calloc(count + 1, sizeof *tiles);
    char(*captions)[CAPTION] = calloc(count + 1, sizeof *captions);
    const char **headings = calloc(columns, sizeof *headings);
    *out = (bang_array){0};
    int rc = tiles && captions && headings ? 0 : bang_fail_memory(err);
    for (size_t t = 0; rc == 0 && t < count; t++) {
        size_t i = t / columns, m = t % columns;
        tiles[t] =
            (bang_overlay_tile){.picture = result->pictures + i * picture, .caption = captions[t]};
        if (m == 0) {
            picture_caption(captions[t], result, i);
            continue;
        }
        const explain_member *e = &result->members[m - 1];
        tiles[t].map = e->maps + i * e->side * e->side;
        tiles[t].side = e->side;
        map_caption(captions[t], result, m - 1, i);
    }
    for (size_t m = 0; rc == 0 && m < columns; m++)
        headings[m] = m ? result->names[m - 1] : result->request->title;
    bang_overlay_sheet sheet = {.rows = result->shown,
                                .columns = columns,
                                .size = result->size,
                                .channels = result->channels,
                                .tiles = tiles,
                                .headings = headings};
    if (rc == 0)
        rc = bang_overlay_draw(out, &sheet, err);
    free(tiles);
    free(captions);
    free(headings);
    return rc;
}
