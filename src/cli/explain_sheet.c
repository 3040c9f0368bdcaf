/* bang explain: pictures and maps side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/explain/overlay.h"
#include "explain.h"

enum { CAPTION = 224, NAME = 80 };

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

/* 1 if all patches have the same value: no place stands out. */
static int is_flat(const explain_member *e, size_t i)
{
    size_t cells = e->cells * e->cells;
    const double *map = e->patches + i * cells;
    double least = map[0], most = map[0];
    for (size_t t = 1; t < cells; t++) {
        least = fmin(least, map[t]);
        most = fmax(most, map[t]);
    }
    return cells > 1 && most - least <= 1e-6 * most;
}

/* "87 % dog" and, in a second line, where it is known, whether that is right, and what a map
 * without places is; in a third, which class it is of unless that is the first. */
static void map_caption(char out[CAPTION], const explain_result *result, size_t m, size_t i)
{
    const explain_member *e = &result->members[m];
    const explain_request *r = result->request;
    char class[NAME], prediction[NAME + 8] = {0}, of[NAME + 8] = {0};
    int right = explain_is_right(result, m, i);
    const char *mark = explain_is_zero(result, m, i) ? "zero map"
                       : is_flat(e, i)               ? "flat map"
                                                     : "",
               *word = right < 0 ? ""
                       : right   ? "right"
                                 : "wrong";
    explain_class(class, sizeof class, result, (int64_t)e->predicted[i]);
    if (r->from.width) /* the number first: a long name is cut at its end */
        snprintf(prediction, sizeof prediction, "%.0f %% %s", 100 * e->confidence[i], class);
    if (r->kind != BANG_ROLLOUT && e->explained[i] != e->predicted[i]) {
        explain_class(class, sizeof class, result, (int64_t)e->explained[i]);
        snprintf(of, sizeof of, "map of %s", class);
    }
    const char *lines[] = {prediction, word, mark, of},
               *before[] = {"", "\n", *word ? ", " : "\n", "\n"};
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        if (*lines[k] && used < CAPTION)
            used += (size_t)snprintf(out + used, CAPTION - used, "%s%s", used ? before[k] : "",
                                     lines[k]);
}

/* As many as the captions of a sheet can have. */
static const char *longest_caption(const explain_request *r)
{
    int other = r->class_text && strcmp(r->class_text, "predicted") != 0;
    return other ? "three\nshort\nlines" : "two\nlines";
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
        tiles[t] = (bang_overlay_tile){picture, &some, 1, longest_caption(result->request)};
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
