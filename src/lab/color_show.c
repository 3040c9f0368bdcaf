#include "lab/color_show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/png.h"

enum { SAMPLES = 10, GAP = 4, LINES = 3, TILE = BANG_COLOR_SIDE + GAP };

/* One image of each class in each line. */
static int draw_line(uint8_t *sheet, size_t line, double shift, const color_plan *plan,
                     const bang_mnist *mnist, bang_error *err)
{
    bang_color_options o = BANG_COLOR_OPTIONS_INIT;
    bang_color_set set;
    uint8_t image[BANG_COLOR_PIXELS];
    o.single = plan->single;
    o.protocol = plan->protocol;
    o.seed = plan->seed;
    o.test = 1;
    o.shift = shift;
    int rc = bang_color_make(&set, mnist, &o, err);
    if (rc < 0)
        return rc;
    for (size_t class = 0; class < SAMPLES; class ++)
        for (size_t i = 0; i < set.count; i++) {
            if (set.labels[i] != class)
                continue;
            bang_color_render(image, &set, i, 1);
            for (size_t y = 0; y < BANG_COLOR_SIDE; y++)
                memcpy(sheet + ((line * TILE + y) * (SAMPLES * TILE - GAP) + class * TILE) * 3,
                       image + y * BANG_COLOR_SIDE * 3, BANG_COLOR_SIDE * 3);
            break;
        }
    bang_color_release(&set);
    return 0;
}

int color_show_samples(json_t *show, const color_plan *plan, const bang_mnist *mnist,
                       bang_error *err)
{
    static const double shifts[LINES] = {0, .5, .9};
    size_t width = SAMPLES * TILE - GAP, height = LINES * TILE - GAP;
    uint8_t *sheet = malloc(width * height * 3);
    bang_text png = {0}, base64 = {0};
    int rc = sheet ? 0 : bang_fail_memory(err);
    if (rc == 0)
        memset(sheet, 200, width * height * 3);
    for (size_t line = 0; line < LINES && rc == 0; line++)
        rc = draw_line(sheet, line, shifts[line], plan, mnist, err);
    if (rc == 0)
        rc = bang_png_encode(&png, sheet, width, height, 3, err);
    if (rc == 0)
        bang_text_add_base64(&base64, png.data, png.size);
    if (rc == 0 && base64.failed)
        rc = bang_fail_memory(err);
    if (rc == 0)
        json_array_append_new(
            show, json_pack("{ss ss ss ss ss sb si}", "kind", "picture", "title",
                            plan->single ? "SingleColorMNIST" : "MultiColorMNIST", "alt",
                            "Digits in the middle of coloured patches", "note",
                            "One image of each class: as in training, at p = 0.5 and at p = 0.9.",
                            "png", base64.data, "pixelated", 1, "scale", 2));
    free(sheet);
    bang_text_release(&png);
    bang_text_release(&base64);
    return rc;
}

json_t *color_series(const char *name, const color_column *column, int color, int band)
{
    json_t *x = json_array(), *y = json_array(), *width = json_array();
    for (size_t p = 1; p < COLOR_SHIFTS; p++) {
        json_array_append_new(x, json_real(color_shifts[p]));
        json_array_append_new(y, bang_json_number(column->mean[p]));
        json_array_append_new(width, bang_json_number(band ? column->sd[p] : column->error[p]));
    }
    return json_pack("{ss so so so si}", "name", name, "x", x, "y", y, band ? "band" : "error",
                     width, "color", color);
}

json_t *color_paper_series(const char *name, const color_printed *printed, size_t rows, int color)
{
    json_t *x = json_array(), *y = json_array();
    for (size_t i = 0; i < rows; i++) {
        json_array_append_new(x, json_real(printed[i].p));
        json_array_append_new(y, bang_json_number(printed[i].mean / 100));
    }
    return json_pack("{ss so so sb si}", "name", name, "x", x, "y", y, "points", 1, "color", color);
}

json_t *color_chart(const char *title, const char *note)
{
    return json_pack("{ss ss ss ss ss sb s[]}", "kind", "lines", "title", title, "note", note,
                     "x_label", "p: probability that a patch does not follow the class", "y_label",
                     "accuracy out of distribution", "percent", 1, "series");
}

void color_tally_add(color_tally *tally, double distance, double p)
{
    if (!isfinite(distance))
        return;
    tally->count++;
    tally->close += fabs(distance) <= 3;
    if (fabs(distance) > fabs(tally->worst)) {
        tally->worst = distance;
        tally->worst_p = p;
    }
}

void color_show_agreement(json_t *show, const char *item, const char *claim,
                          const color_tally *tally)
{
    char because[200];
    if (!tally->count) /* too few networks to say */
        return;
    snprintf(because, sizeof because,
             "%zu of %zu numbers are within 3 standard errors of the printed ones; the largest "
             "distance is %+.1f at p = %g (holds when all are, partly when nine of ten are)",
             tally->close, tally->count, tally->worst, tally->worst_p);
    lab_show_item(show, item, claim,
                  tally->close == tally->count            ? "yes"
                  : 10 * tally->close >= 9 * tally->count ? "partly"
                                                          : "no",
                  because);
}

json_t *color_printed_json(const color_printed *printed, size_t rows)
{
    json_t *p = json_array(), *mean = json_array(), *spread = json_array();
    for (size_t i = 0; i < rows; i++) {
        json_array_append_new(p, json_real(printed[i].p));
        json_array_append_new(mean, bang_json_number(printed[i].mean / 100));
        json_array_append_new(spread, bang_json_number(printed[i].spread / 100));
    }
    return json_pack("{so so so}", "p", p, "mean", mean, "spread", spread);
}
