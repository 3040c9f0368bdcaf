/* Charts out of JSON: every length is checked before the drawing sees it. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/arena.h"
#include "bang/report/chart.h"
#include "report/draw.h"
#include "report/page.h"

/* The numbers of an array of known length; null is a gap. what names the array
 * in the message. */
static int read_numbers(double *out, const json_t *array, size_t count, const char *what,
                        bang_error *err)
{
    if (!json_is_array(array))
        return bang_fail(err, BANG_EDATA, "%s is no array", what);
    if (json_array_size(array) != count)
        return bang_fail(err, BANG_EDATA, "%s is of length %zu instead of %zu", what,
                         json_array_size(array), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        if (json_is_number(value))
            out[i] = json_number_value(value);
        else if (json_is_null(value))
            out[i] = NAN;
        else
            return bang_fail(err, BANG_EDATA, "value %zu of %s is no number", i + 1, what);
    }
    return 0;
}

static int take_numbers(const double **out, bang_arena *arena, const json_t *array, size_t count,
                        const char *what, bang_error *err)
{
    double *values = bang_arena_alloc(arena, count, sizeof *values);
    if (!values)
        return bang_fail_memory(err);
    *out = values;
    return read_numbers(values, array, count, what, err);
}

static int read_limit(double *out, const json_t *entry, const char *name, bang_error *err)
{
    const json_t *value = json_object_get(entry, name);
    if (value && !json_is_number(value) && !json_is_null(value))
        return bang_fail(err, BANG_EDATA, "\"%s\" is no number", name);
    *out = json_number_value(value);
    return 0;
}

/* An index into the palette; otherwise when it is missing. what names its owner. */
static int read_color(int *out, const json_t *entry, int otherwise, const char *what,
                      bang_error *err)
{
    const json_t *color = json_object_get(entry, "color");
    json_int_t wanted = color ? json_integer_value(color) : otherwise;
    if ((color && !json_is_integer(color)) || wanted < 0 || wanted > INT_MAX)
        return bang_fail(err, BANG_EDATA, "the colour of %s is no whole number", what);
    *out = (int)wanted;
    return 0;
}

static int read_series(bang_series *series, bang_arena *arena, const json_t *item, size_t index,
                       bang_error *err)
{
    char what[64];
    if (!json_is_object(item))
        return bang_fail(err, BANG_EDATA, "series %zu is no object", index + 1);
    if (bang_page_string(&series->name, item, "name", err) < 0 ||
        bang_page_flag(&series->points, item, "points", err) < 0 ||
        bang_page_flag(&series->step, item, "step", err) < 0)
        return err->code;
    series->count = json_array_size(json_object_get(item, "x"));
    snprintf(what, sizeof what, "series %zu", index + 1);
    if (read_color(&series->color, item, (int)(index % INT_MAX), what, err) < 0)
        return err->code;
    struct {
        const char *name;
        const double **values;
        int optional;
    } parts[] = {{"x", &series->x, 0},
                 {"y", &series->y, 0},
                 {"error", &series->error, 1},
                 {"band", &series->band, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const json_t *values = json_object_get(item, parts[i].name);
        if (parts[i].optional && (!values || json_is_null(values)))
            continue;
        snprintf(what, sizeof what, "\"%s\" of series %zu", parts[i].name, index + 1);
        if (take_numbers(parts[i].values, arena, values, series->count, what, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_lines(bang_line_chart *chart, bang_arena *arena, const json_t *entry,
                      bang_error *err)
{
    const json_t *list;
    if (bang_page_string(&chart->x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&chart->y_label, entry, "y_label", err) < 0 ||
        bang_page_flag(&chart->y_percent, entry, "percent", err) < 0 ||
        read_limit(&chart->y_min, entry, "y_min", err) < 0 ||
        read_limit(&chart->y_max, entry, "y_max", err) < 0 ||
        bang_page_array(&list, entry, "series", err) < 0)
        return err->code;
    chart->series_count = json_array_size(list);
    bang_series *series = bang_arena_alloc(arena, chart->series_count, sizeof *series);
    if (!series)
        return bang_fail_memory(err);
    chart->series = series;
    for (size_t i = 0; i < chart->series_count; i++)
        if (read_series(&series[i], arena, json_array_get(list, i), i, err) < 0)
            return err->code;
    return 0;
}

static int read_panel(bang_heat_panel *panel, bang_arena *arena, const json_t *item, size_t index,
                      const bang_heat_map *map, bang_error *err)
{
    char what[80];
    const json_t *rows;
    if (!json_is_object(item))
        return bang_fail(err, BANG_EDATA, "panel %zu is no object", index + 1);
    if (bang_page_string(&panel->title, item, "title", err) < 0 ||
        bang_page_array(&rows, item, "values", err) < 0)
        return err->code;
    if (json_array_size(rows) != map->rows)
        return bang_fail(err, BANG_EDATA, "panel %zu has %zu rows where \"y\" has %zu", index + 1,
                         json_array_size(rows), map->rows);
    if (map->columns && map->rows > SIZE_MAX / map->columns)
        return bang_fail_memory(err);
    double *values = bang_arena_alloc(arena, map->rows * map->columns, sizeof *values);
    if (!values)
        return bang_fail_memory(err);
    panel->values = values;
    for (size_t r = 0; r < map->rows; r++) {
        snprintf(what, sizeof what, "row %zu of panel %zu", r + 1, index + 1);
        if (read_numbers(values + r * map->columns, json_array_get(rows, r), map->columns, what,
                         err) < 0)
            return err->code;
    }
    return 0;
}

static int read_heat(bang_heat_map *map, bang_arena *arena, const json_t *entry, bang_error *err)
{
    const json_t *x, *y, *list;
    if (bang_page_string(&map->x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&map->y_label, entry, "y_label", err) < 0 ||
        bang_page_string(&map->value_label, entry, "value_label", err) < 0 ||
        bang_page_flag(&map->percent, entry, "percent", err) < 0 ||
        bang_page_flag(&map->sequential, entry, "sequential", err) < 0 ||
        bang_page_flag(&map->top_down, entry, "top_down", err) < 0 ||
        bang_page_array(&x, entry, "x", err) < 0 || bang_page_array(&y, entry, "y", err) < 0 ||
        bang_page_array(&list, entry, "panels", err) < 0)
        return err->code;
    map->columns = json_array_size(x);
    map->rows = json_array_size(y);
    map->panel_count = json_array_size(list);
    bang_heat_panel *panels = bang_arena_alloc(arena, map->panel_count, sizeof *panels);
    if (!panels)
        return bang_fail_memory(err);
    map->panels = panels;
    if (take_numbers(&map->x, arena, x, map->columns, "\"x\"", err) < 0 ||
        take_numbers(&map->y, arena, y, map->rows, "\"y\"", err) < 0)
        return err->code;
    for (size_t i = 0; i < map->panel_count; i++)
        if (read_panel(&panels[i], arena, json_array_get(list, i), i, map, err) < 0)
            return err->code;
    return 0;
}

static int read_bars(bang_bar_chart *chart, bang_arena *arena, const json_t *entry, bang_error *err)
{
    const json_t *list, *values;
    if (bang_page_string(&chart->value_label, entry, "value_label", err) < 0 ||
        bang_page_flag(&chart->percent, entry, "percent", err) < 0 ||
        read_color(&chart->color, entry, 0, "the bars", err) < 0 ||
        bang_page_array(&list, entry, "names", err) < 0 ||
        bang_page_array(&values, entry, "values", err) < 0)
        return err->code;
    chart->count = json_array_size(list);
    const char **names = bang_arena_alloc(arena, chart->count, sizeof *names);
    if (!names)
        return bang_fail_memory(err);
    chart->names = names;
    for (size_t i = 0; i < chart->count; i++) {
        names[i] = json_string_value(json_array_get(list, i));
        if (!names[i])
            return bang_fail(err, BANG_EDATA, "name %zu is no text", i + 1);
    }
    return take_numbers(&chart->values, arena, values, chart->count, "\"values\"", err);
}

/* The card of a chart knows the chart's own width, below which a phone scrolls
 * rather than shrinks it further. */
static void add_figure(bang_page *page, const bang_text *svg, const char *title, const char *note)
{
    bang_text *out = &page->out;
    const char *width = svg->data ? strstr(svg->data, " width=\"") : NULL;
    long px = width ? strtol(width + strlen(" width=\""), NULL, 10) : (long)BANG_DRAW_WIDTH;
    bang_page_open_figure(page);
    bang_text_add(out, "<div class=\"chart\" style=\"--w:%ld\">\n", px);
    bang_text_add_bytes(out, svg->data, svg->size);
    bang_text_add(out, "</div>\n");
    bang_page_close_figure(page, title, note);
}

int bang_page_chart(bang_text *out, const json_t *entry, int titled, bang_error *err)
{
    bang_line_chart lines = {0};
    bang_heat_map map = {0};
    bang_bar_chart bars = {0};
    bang_arena arena = {0};
    const char *title, *kind = json_string_value(json_object_get(entry, "kind"));
    int is_heat = kind && strcmp(kind, "heat") == 0, is_bars = kind && strcmp(kind, "bars") == 0;
    int rc = bang_page_string(&title, entry, "title", err);
    if (rc == 0)
        rc = is_heat   ? read_heat(&map, &arena, entry, err)
             : is_bars ? read_bars(&bars, &arena, entry, err)
                       : read_lines(&lines, &arena, entry, err);
    if (rc == 0) {
        lines.title = map.title = bars.title = titled ? title : NULL;
        if (is_heat)
            bang_chart_heat(out, &map);
        else if (is_bars)
            bang_chart_bars(out, &bars);
        else
            bang_chart_lines(out, &lines);
        if (out->failed)
            rc = bang_fail_memory(err);
    }
    bang_arena_release(&arena);
    return rc;
}

/* The title stands in the caption, so the picture goes without. */
int bang_page_figure(bang_page *page, const json_t *entry, bang_error *err)
{
    bang_text svg = {0};
    const char *title, *note;
    if (bang_page_string(&title, entry, "title", err) < 0 ||
        bang_page_string(&note, entry, "note", err) < 0)
        return err->code;
    int rc = bang_page_chart(&svg, entry, 0, err);
    if (rc == 0)
        add_figure(page, &svg, title, note);
    bang_text_release(&svg);
    return rc;
}
