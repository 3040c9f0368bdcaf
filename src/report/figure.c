#include "bang/report/figure.h"

#include <ctype.h>
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

static void add_name(bang_text *out, const json_t *object, const char *key)
{
    const char *name = json_string_value(json_object_get(object, key));
    add_field(out, name ? name : "");
}

/* Number k of the array under that key, after a comma. */
static void add_next(bang_text *out, const json_t *object, const char *key, size_t k)
{
    bang_text_add(out, ",");
    add_value(out, json_array_get(json_object_get(object, key), k));
}

static void add_lines(bang_text *out, const json_t *entry)
{
    size_t i;
    json_t *series;
    int bands = 0, labels = 0;
    json_array_foreach(json_object_get(entry, "series"), i, series)
    {
        bands |= json_is_array(json_object_get(series, "band"));
        labels |= json_is_array(json_object_get(series, "labels"));
    }
    bang_text_add(out, "series,x,y,error%s%s\n", bands ? ",band" : "", labels ? ",label" : "");
    json_array_foreach(json_object_get(entry, "series"), i, series)
    {
        for (size_t k = 0; k < json_array_size(json_object_get(series, "x")); k++) {
            add_name(out, series, "name");
            add_next(out, series, "x", k);
            add_next(out, series, "y", k);
            add_next(out, series, "error", k);
            if (bands)
                add_next(out, series, "band", k);
            if (labels)
                add_next(out, series, "labels", k);
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
        json_array_foreach(json_object_get(panel, "values"), row, values)
        {
            json_array_foreach(values, column, value)
            {
                add_name(out, panel, "title");
                add_next(out, entry, "x", column);
                add_next(out, entry, "y", row);
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
        add_next(out, entry, "values", i);
        bang_text_add(out, "\n");
    }
}

static void add_columns(bang_text *out, const json_t *entry)
{
    size_t i, s;
    json_t *name, *series;
    bang_text_add(out, "name,series,value,low,high\n");
    json_array_foreach(json_object_get(entry, "names"), i, name)
    {
        json_array_foreach(json_object_get(entry, "series"), s, series)
        {
            add_value(out, name);
            bang_text_add(out, ",");
            add_name(out, series, "name");
            add_next(out, series, "values", i);
            add_next(out, series, "low", i);
            add_next(out, series, "high", i);
            bang_text_add(out, "\n");
        }
    }
}

static void add_scatter(bang_text *out, const json_t *entry)
{
    size_t s;
    json_t *series;
    bang_text_add(out, "name,series,x,y\n");
    json_array_foreach(json_object_get(entry, "series"), s, series)
    {
        for (size_t i = 0; i < json_array_size(json_object_get(series, "x")); i++) {
            add_value(out, json_array_get(json_object_get(entry, "names"), i));
            bang_text_add(out, ",");
            add_name(out, series, "name");
            add_next(out, series, "x", i);
            add_next(out, series, "y", i);
            bang_text_add(out, "\n");
        }
    }
}

static void add_bins(bang_text *out, const json_t *entry)
{
    static const char *const parts[] = {"low", "high", "count", "confidence", "accuracy"};
    size_t p, b;
    json_t *panel, *bin;
    bang_text_add(out, "panel,low,high,count,confidence,accuracy\n");
    json_array_foreach(json_object_get(entry, "panels"), p, panel)
    {
        json_array_foreach(json_object_get(panel, "bins"), b, bin)
        {
            add_name(out, panel, "title");
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                bang_text_add(out, ",");
                add_value(out, json_object_get(bin, parts[i]));
            }
            bang_text_add(out, "\n");
        }
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

int bang_figure_has_numbers(const json_t *entry)
{
    const char *kind = kind_of(entry);
    return bang_page_is_chart(kind) || strcmp(kind, "table") == 0;
}

int bang_figure_csv(bang_text *out, const json_t *entry, bang_error *err)
{
    static const struct {
        const char *kind;
        void (*add)(bang_text *, const json_t *);
    } kinds[] = {{"lines", add_lines},     {"heat", add_heat},       {"bars", add_bars},
                 {"columns", add_columns}, {"scatter", add_scatter}, {"reliability", add_bins},
                 {"table", add_table}};
    const char *kind = kind_of(entry);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].kind) == 0) {
            kinds[i].add(out, entry);
            return out->failed ? bang_fail_memory(err) : 0;
        }
    return bang_fail(err, BANG_EDATA, "kind '%.40s': has no numbers to write as CSV", kind);
}

/* The words of a title for the name of a file: "Accuracy, % (LONG)" -> "_accuracy-long"; whole
 * words, as many as have room. Keys have no '_', so no key with a title looks like another key, nor
 * titles like the number of another. */
static void add_slug(bang_text *out, const char *title)
{
    enum { ROOM = 48 };
    size_t used = 0;
    for (size_t length; *title; title += length) {
        char word[ROOM] = {0};
        length = 0;
        while (isalnum((unsigned char)title[length]) && (unsigned char)title[length] < 128)
            length++;
        if (length == 0) {
            length = 1;
            continue;
        }
        if (used + 1 + length >= ROOM)
            return;
        for (size_t i = 0; i < length; i++)
            word[i] = (char)tolower((unsigned char)title[i]);
        bang_text_add(out, "%s%s", used ? "-" : "_", word);
        used += 1 + length;
    }
}

/* The name of an entry; seen counts how often a name came up. */
static json_t *file_name(json_t *seen, const char *key, const json_t *entry, int alone)
{
    const char *title = json_string_value(json_object_get(entry, "title"));
    bang_text name = {0};
    json_t *made = NULL;
    for (const char *s = key; *s; s++)
        bang_text_add(&name, "%c", *s == '/' ? '-' : *s);
    if (!alone)
        add_slug(&name, title ? title : kind_of(entry));
    json_int_t before = json_integer_value(json_object_get(seen, name.data ? name.data : ""));
    if (!name.failed && name.data &&
        json_object_set_new(seen, name.data, json_integer(before + 1)) == 0) {
        if (before)
            bang_text_add(&name, "_%lld", (long long)before + 1);
        bang_text_add(&name, ".csv");
        made = name.failed ? NULL : json_string(name.data);
    }
    bang_text_release(&name);
    return made;
}

json_t *bang_figure_files(const json_t *record)
{
    const char *key = json_string_value(json_object_get(record, "key"));
    const json_t *show = json_object_get(record, "show");
    json_t *names = json_array(), *seen = json_object(), *entry;
    size_t i, count = 0;
    json_array_foreach(show, i, entry) count += bang_figure_has_numbers(entry) != 0;
    json_array_foreach(show, i, entry)
    {
        json_array_append_new(
            names, bang_figure_has_numbers(entry)
                       ? file_name(seen, key && *key ? key : "numbers", entry, count == 1)
                       : json_null());
    }
    json_decref(seen);
    if (json_array_size(names) == json_array_size(show))
        return names;
    json_decref(names);
    return NULL;
}

int bang_figure_svg(bang_text *out, const json_t *entry, bang_error *err)
{
    const char *kind = kind_of(entry);
    if (!bang_page_is_chart(kind))
        return bang_fail(err, BANG_EDATA, "kind '%.40s': is no chart", kind);
    return bang_page_chart(out, entry, 1, err);
}
