/* "bars" and "columns". */
#include "bang/report/chart.h"
#include "report/page_read.h"

int bang_page_bars(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                   bang_error *err)
{
    bang_bar_chart chart = {.title = title};
    const json_t *list, *values;
    if (bang_page_string(&chart.value_label, entry, "value_label", err) < 0 ||
        bang_page_flag(&chart.percent, entry, "percent", err) < 0 ||
        bang_read_color(&chart.color, entry, 0, "the bars", err) < 0 ||
        bang_page_array(&list, entry, "names", err) < 0 ||
        bang_page_array(&values, entry, "values", err) < 0)
        return err->code;
    chart.count = json_array_size(list);
    if (bang_read_texts(&chart.names, arena, list, 0, "name", err) < 0 ||
        bang_read_array(&chart.values, arena, values, chart.count, "\"values\"", err) < 0)
        return err->code;
    bang_chart_bars(out, &chart);
    return 0;
}

static int read_columns(bang_column_series *series, bang_arena *arena, const json_t *item,
                        size_t index, size_t count, bang_error *err)
{
    const bang_read_part parts[] = {
        {"values", &series->values, 0}, {"low", &series->low, 1}, {"high", &series->high, 1}};
    if (bang_read_series(&series->name, &series->color, parts, 3, arena, item, index, count, err) <
            0 ||
        bang_page_flag(&series->pale, item, "pale", err) < 0)
        return err->code;
    if (!series->low != !series->high)
        return bang_fail(err, BANG_EDATA, "series %zu has only one of \"low\" and \"high\"",
                         index + 1);
    return 0;
}

int bang_page_columns(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                      bang_error *err)
{
    bang_column_chart chart = {.title = title};
    const json_t *names, *list;
    if (bang_page_string(&chart.x_label, entry, "x_label", err) < 0 ||
        bang_page_string(&chart.value_label, entry, "value_label", err) < 0 ||
        bang_page_flag(&chart.percent, entry, "percent", err) < 0 ||
        bang_page_flag(&chart.stacked, entry, "stacked", err) < 0 ||
        bang_page_array(&names, entry, "names", err) < 0 ||
        bang_page_array(&list, entry, "series", err) < 0 ||
        bang_read_texts(&chart.names, arena, names, 0, "name", err) < 0)
        return err->code;
    chart.count = json_array_size(names);
    chart.series_count = json_array_size(list);
    bang_column_series *series = bang_arena_alloc(arena, chart.series_count, sizeof *series);
    if (!series)
        return bang_fail_memory(err);
    chart.series = series;
    for (size_t i = 0; i < chart.series_count; i++)
        if (read_columns(&series[i], arena, json_array_get(list, i), i, chart.count, err) < 0)
            return err->code;
    bang_chart_columns(out, &chart);
    return 0;
}
