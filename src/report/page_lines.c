/* "lines" and "scatter". */
#include <stdio.h>

#include "bang/report/chart.h"
#include "report/page_read.h"

static int read_labels(bang_series *series, bang_arena *arena, const json_t *item, size_t index,
                       bang_error *err)
{
    char what[64];
    const json_t *labels = json_object_get(item, "labels");
    if (!labels || json_is_null(labels))
        return 0;
    if (!json_is_array(labels))
        return bang_fail(err, BANG_EDATA, "\"labels\" of series %zu is no array", index + 1);
    if (json_array_size(labels) != series->count)
        return bang_fail(err, BANG_EDATA,
                         "\"labels\" of series %zu is of length %zu instead of %zu", index + 1,
                         json_array_size(labels), series->count);
    snprintf(what, sizeof what, "of series %zu label", index + 1);
    return bang_read_texts(&series->labels, arena, labels, 1, what, err);
}

static int read_series(bang_series *series, bang_arena *arena, const json_t *item, size_t index,
                       bang_error *err)
{
    char what[64];
    const bang_read_part parts[] = {{"x", &series->x, 0},
                                    {"y", &series->y, 0},
                                    {"error", &series->error, 1},
                                    {"band", &series->band, 1}};
    series->count = json_array_size(json_object_get(item, "x"));
    snprintf(what, sizeof what, "series %zu", index + 1);
    if (bang_read_series(&series->name, &series->color, parts, 4, arena, item, index, series->count,
                         err) < 0 ||
        bang_page_flag(&series->points, item, "points", err) < 0 ||
        bang_page_flag(&series->step, item, "step", err) < 0 ||
        bang_page_flag(&series->beside, item, "beside", err) < 0 ||
        bang_read_shape(&series->shape, json_object_get(item, "shape"), what, err) < 0)
        return err->code;
    return read_labels(series, arena, item, index, err);
}

int bang_page_lines(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                    bang_error *err)
{
    bang_line_chart chart = {.title = title};
    const json_t *list;
    if (bang_page_string(&chart.x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&chart.y_label, entry, "y_label", err) < 0 ||
        bang_page_flag(&chart.y_percent, entry, "percent", err) < 0 ||
        bang_page_flag(&chart.x_percent, entry, "x_percent", err) < 0 ||
        bang_read_limit(&chart.y_min, entry, "y_min", err) < 0 ||
        bang_read_limit(&chart.y_max, entry, "y_max", err) < 0 ||
        bang_page_array(&list, entry, "series", err) < 0)
        return err->code;
    chart.series_count = json_array_size(list);
    bang_series *series = bang_arena_alloc(arena, chart.series_count, sizeof *series);
    if (!series)
        return bang_fail_memory(err);
    chart.series = series;
    for (size_t i = 0; i < chart.series_count; i++)
        if (read_series(&series[i], arena, json_array_get(list, i), i, err) < 0)
            return err->code;
    bang_chart_lines(out, &chart);
    return 0;
}

/* Names and shapes; without names a series may have any number of points, the
 * same for all. */
static int read_names(bang_scatter_chart *chart, bang_arena *arena, const json_t *entry,
                      const json_t *series, bang_error *err)
{
    const json_t *names = json_object_get(entry, "names"),
                 *shapes = json_object_get(entry, "shapes");
    chart->count = json_array_size(json_object_get(json_array_get(series, 0), "x"));
    if (names && !json_is_null(names)) {
        if (bang_page_array(&names, entry, "names", err) < 0 ||
            bang_read_texts(&chart->names, arena, names, 0, "name", err) < 0)
            return err->code;
        chart->count = json_array_size(names);
    }
    if (!shapes || json_is_null(shapes))
        return 0;
    if (!chart->names || json_array_size(shapes) != chart->count)
        return bang_fail(err, BANG_EDATA, "\"shapes\" is no array of one shape per name");
    int *own = bang_arena_alloc(arena, chart->count, sizeof *own);
    if (!own)
        return bang_fail_memory(err);
    chart->shapes = own;
    for (size_t i = 0; i < chart->count; i++) {
        char what[40];
        snprintf(what, sizeof what, "name %zu", i + 1);
        if (bang_read_shape(&own[i], json_array_get(shapes, i), what, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_connect(bang_scatter_chart *chart, bang_arena *arena, const json_t *entry,
                        bang_error *err)
{
    const json_t *list = json_object_get(entry, "connect");
    if (!list || json_is_null(list))
        return 0;
    if (bang_page_array(&list, entry, "connect", err) < 0)
        return err->code;
    chart->connect_count = json_array_size(list);
    size_t *series = bang_arena_alloc(arena, chart->connect_count, sizeof *series);
    if (!series)
        return bang_fail_memory(err);
    chart->connect = series;
    for (size_t i = 0; i < chart->connect_count; i++) {
        const json_t *index = json_array_get(list, i);
        json_int_t at = json_integer_value(index);
        if (!json_is_integer(index) || at < 0 || (unsigned long long)at >= chart->series_count)
            return bang_fail(err, BANG_EDATA, "\"connect\" holds something other than 0 to %zu",
                             chart->series_count ? chart->series_count - 1 : 0);
        series[i] = (size_t)at;
    }
    return 0;
}

int bang_page_scatter(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                      bang_error *err)
{
    bang_scatter_chart chart = {.title = title};
    const json_t *list;
    if (bang_page_string(&chart.x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&chart.y_label, entry, "y_label", err) < 0 ||
        bang_page_string(&chart.above, entry, "above", err) < 0 ||
        bang_page_string(&chart.below, entry, "below", err) < 0 ||
        bang_page_flag(&chart.percent, entry, "percent", err) < 0 ||
        bang_page_flag(&chart.diagonal, entry, "diagonal", err) < 0 ||
        bang_read_limit(&chart.min, entry, "min", err) < 0 ||
        bang_read_limit(&chart.max, entry, "max", err) < 0 ||
        bang_page_array(&list, entry, "series", err) < 0 ||
        read_names(&chart, arena, entry, list, err) < 0)
        return err->code;
    chart.series_count = json_array_size(list);
    bang_scatter_series *series = bang_arena_alloc(arena, chart.series_count, sizeof *series);
    if (!series)
        return bang_fail_memory(err);
    chart.series = series;
    for (size_t i = 0; i < chart.series_count; i++) {
        const bang_read_part parts[] = {{"x", &series[i].x, 0}, {"y", &series[i].y, 0}};
        if (bang_read_series(&series[i].name, &series[i].color, parts, 2, arena,
                             json_array_get(list, i), i, chart.count, err) < 0)
            return err->code;
    }
    if (read_connect(&chart, arena, entry, err) < 0)
        return err->code;
    bang_chart_scatter(out, &chart);
    return 0;
}
