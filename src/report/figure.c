#include "bang/report/figure.h"

#include <string.h>

#include "report/page.h"

/* A field, quoted as RFC 4180 wants it where that is needed. */
static void add_field(bang_text *out, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        bang_text_add(out, "%s", s);
        return;
    }
    bang_text_add(out, "\"");
    for (; *s; s++)
        bang_text_add(out, *s == '"' ? "\"\"" : "%c", *s);
    bang_text_add(out, "\"");
}

/* Numbers with all digits, null as nothing. */
static void add_value(bang_text *out, const json_t *value)
{
    if (json_is_string(value))
        add_field(out, json_string_value(value));
    else if (json_is_integer(value))
        bang_text_add(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_number(value))
        bang_text_add(out, "%.17g", json_number_value(value));
}

static void add_lines(bang_text *out, const json_t *entry)
{
    size_t i;
    json_t *series;
    int bands = 0;
    json_array_foreach(json_object_get(entry, "series"), i, series) bands |=
        json_is_array(json_object_get(series, "band"));
    bang_text_add(out, "series,x,y,error%s\n", bands ? ",band" : "");
    json_array_foreach(json_object_get(entry, "series"), i, series)
    {
        const json_t *x = json_object_get(series, "x"), *y = json_object_get(series, "y");
        const char *name = json_string_value(json_object_get(series, "name"));
        for (size_t k = 0; k < json_array_size(x); k++) {
            add_field(out, name ? name : "");
            bang_text_add(out, ",");
            add_value(out, json_array_get(x, k));
            bang_text_add(out, ",");
            add_value(out, json_array_get(y, k));
            bang_text_add(out, ",");
            add_value(out, json_array_get(json_object_get(series, "error"), k));
            if (bands) {
                bang_text_add(out, ",");
                add_value(out, json_array_get(json_object_get(series, "band"), k));
            }
            bang_text_add(out, "\n");
        }
    }
}

static void add_heat(bang_text *out, const json_t *entry)
{
    size_t i, row, column;
    json_t *panel, *values, *value;
    bang_text_add(out, "panel,x,y,value\n");
    json_array_foreach(json_object_get(entry, "panels"), i, panel)
    {
        const char *title = json_string_value(json_object_get(panel, "title"));
        json_array_foreach(json_object_get(panel, "values"), row, values)
        {
            json_array_foreach(values, column, value)
            {
                add_field(out, title ? title : "");
                bang_text_add(out, ",");
                add_value(out, json_array_get(json_object_get(entry, "x"), column));
                bang_text_add(out, ",");
                add_value(out, json_array_get(json_object_get(entry, "y"), row));
                bang_text_add(out, ",");
                add_value(out, value);
                bang_text_add(out, "\n");
            }
        }
    }
}

static void add_bars(bang_text *out, const json_t *entry)
{
    size_t i;
    json_t *name;
    bang_text_add(out, "name,value\n");
    json_array_foreach(json_object_get(entry, "names"), i, name)
    {
        add_value(out, name);
        bang_text_add(out, ",");
        add_value(out, json_array_get(json_object_get(entry, "values"), i));
        bang_text_add(out, "\n");
    }
}

static void add_row(bang_text *out, const json_t *cells)
{
    size_t i;
    json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        bang_text_add(out, "%s", i ? "," : "");
        add_value(out, cell);
    }
    bang_text_add(out, "\n");
}

/* The names of the columns, each after that of its group. */
static void add_names(bang_text *out, const json_t *entry)
{
    const json_t *groups = json_object_get(entry, "groups");
    size_t i, group = 0;
    json_int_t left = json_integer_value(json_array_get(json_array_get(groups, 0), 1));
    json_t *name;
    json_array_foreach(json_object_get(entry, "columns"), i, name)
    {
        while (left <= 0 && group < json_array_size(groups))
            left = json_integer_value(json_array_get(json_array_get(groups, ++group), 1));
        const char *over = json_string_value(json_array_get(json_array_get(groups, group), 0));
        const char *own = json_string_value(name);
        bang_text full = {0};
        bang_text_add(&full, "%s%s%s", over ? over : "", over && *over ? ": " : "", own ? own : "");
        out->failed |= full.failed;
        bang_text_add(out, "%s", i ? "," : "");
        add_field(out, full.data ? full.data : "");
        bang_text_release(&full);
        left--;
    }
    bang_text_add(out, "\n");
}

static void add_table(bang_text *out, const json_t *entry)
{
    size_t i;
    json_t *row;
    if (json_array_size(json_object_get(entry, "groups")))
        add_names(out, entry);
    else
        add_row(out, json_object_get(entry, "columns"));
    json_array_foreach(json_object_get(entry, "rows"), i, row) add_row(out, row);
}

static const char *kind_of(const json_t *entry)
{
    const char *kind = json_string_value(json_object_get(entry, "kind"));
    return kind ? kind : "";
}

static int is_chart(const char *kind)
{
    return strcmp(kind, "lines") == 0 || strcmp(kind, "heat") == 0 || strcmp(kind, "bars") == 0;
}

int bang_figure_has_numbers(const json_t *entry)
{
    const char *kind = kind_of(entry);
    return is_chart(kind) || strcmp(kind, "table") == 0;
}

int bang_figure_csv(bang_text *out, const json_t *entry, bang_error *err)
{
    const char *kind = kind_of(entry);
    if (strcmp(kind, "lines") == 0)
        add_lines(out, entry);
    else if (strcmp(kind, "heat") == 0)
        add_heat(out, entry);
    else if (strcmp(kind, "bars") == 0)
        add_bars(out, entry);
    else if (strcmp(kind, "table") == 0)
        add_table(out, entry);
    else
        return bang_fail(err, BANG_EDATA, "kind '%.40s': has no numbers to write as CSV", kind);
    return out->failed ? bang_fail_memory(err) : 0;
}

int bang_figure_svg(bang_text *out, const json_t *entry, bang_error *err)
{
    const char *kind = kind_of(entry);
    if (!is_chart(kind))
        return bang_fail(err, BANG_EDATA, "kind '%.40s': is no chart", kind);
    return bang_page_chart(out, entry, 1, err);
}
