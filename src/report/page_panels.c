/* "heat" and "reliability": charts of several panels. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "bang/report/chart.h"
#include "report/page_read.h"

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
        if (bang_read_numbers(values + r * map->columns, json_array_get(rows, r), map->columns,
                              what, err) < 0)
            return err->code;
    }
    return 0;
}

int bang_page_heat(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                   bang_error *err)
{
    bang_heat_map map = {.title = title};
    const json_t *x, *y, *list;
    if (bang_page_string(&map.x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&map.y_label, entry, "y_label", err) < 0 ||
        bang_page_string(&map.value_label, entry, "value_label", err) < 0 ||
        bang_page_flag(&map.percent, entry, "percent", err) < 0 ||
        bang_page_flag(&map.sequential, entry, "sequential", err) < 0 ||
        bang_page_flag(&map.top_down, entry, "top_down", err) < 0 ||
        bang_page_array(&x, entry, "x", err) < 0 || bang_page_array(&y, entry, "y", err) < 0 ||
        bang_page_array(&list, entry, "panels", err) < 0)
        return err->code;
    map.columns = json_array_size(x);
    map.rows = json_array_size(y);
    map.panel_count = json_array_size(list);
    bang_heat_panel *panels = bang_arena_alloc(arena, map.panel_count, sizeof *panels);
    if (!panels)
        return bang_fail_memory(err);
    map.panels = panels;
    if (bang_read_array(&map.x, arena, x, map.columns, "\"x\"", err) < 0 ||
        bang_read_array(&map.y, arena, y, map.rows, "\"y\"", err) < 0)
        return err->code;
    for (size_t i = 0; i < map.panel_count; i++)
        if (read_panel(&panels[i], arena, json_array_get(list, i), i, &map, err) < 0)
            return err->code;
    bang_chart_heat(out, &map);
    return 0;
}

/* Bin b of panel p; null is unknown, but not where the bin lies. */
static int read_bin(bang_reliability_bin *bin, const json_t *item, size_t b, size_t p,
                    bang_error *err)
{
    struct {
        const char *name;
        double *value;
        int needed;
    } parts[] = {{"low", &bin->low, 1},
                 {"high", &bin->high, 1},
                 {"count", &bin->count, 1},
                 {"confidence", &bin->confidence, 0},
                 {"accuracy", &bin->accuracy, 0}};
    if (!json_is_object(item))
        return bang_fail(err, BANG_EDATA, "bin %zu of panel %zu is no object", b + 1, p + 1);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const json_t *value = json_object_get(item, parts[i].name);
        *parts[i].value = json_is_number(value) ? json_number_value(value) : NAN;
        if (!json_is_number(value) && (parts[i].needed || (value && !json_is_null(value))))
            return bang_fail(err, BANG_EDATA, "\"%s\" of bin %zu of panel %zu is no number",
                             parts[i].name, b + 1, p + 1);
    }
    return 0;
}

static int read_bins(bang_reliability_panel *panel, bang_arena *arena, const json_t *item,
                     size_t index, bang_error *err)
{
    char what[64];
    const json_t *list, *ece = json_object_get(item, "ece");
    if (!json_is_object(item))
        return bang_fail(err, BANG_EDATA, "panel %zu is no object", index + 1);
    snprintf(what, sizeof what, "panel %zu", index + 1);
    if (bang_page_string(&panel->title, item, "title", err) < 0 ||
        bang_read_color(&panel->color, item, (int)(index % INT_MAX), what, err) < 0 ||
        bang_page_array(&list, item, "bins", err) < 0)
        return err->code;
    if (ece && !json_is_number(ece) && !json_is_null(ece))
        return bang_fail(err, BANG_EDATA, "\"ece\" of panel %zu is no number", index + 1);
    panel->ece = json_is_number(ece) ? json_number_value(ece) : NAN;
    panel->count = json_array_size(list);
    bang_reliability_bin *bins = bang_arena_alloc(arena, panel->count, sizeof *bins);
    if (!bins)
        return bang_fail_memory(err);
    panel->bins = bins;
    for (size_t b = 0; b < panel->count; b++)
        if (read_bin(&bins[b], json_array_get(list, b), b, index, err) < 0)
            return err->code;
    return 0;
}

int bang_page_reliability(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                          bang_error *err)
{
    bang_reliability_chart chart = {.title = title};
    const json_t *list;
    if (bang_page_string(&chart.x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&chart.y_label, entry, "y_label", err) < 0 ||
        bang_page_array(&list, entry, "panels", err) < 0)
        return err->code;
    chart.panel_count = json_array_size(list);
    bang_reliability_panel *panels = bang_arena_alloc(arena, chart.panel_count, sizeof *panels);
    if (!panels)
        return bang_fail_memory(err);
    chart.panels = panels;
    for (size_t i = 0; i < chart.panel_count; i++)
        if (read_bins(&panels[i], arena, json_array_get(list, i), i, err) < 0)
            return err->code;
    bang_chart_reliability(out, &chart);
    return 0;
}
