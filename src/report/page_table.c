#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"
#include "report/page.h"

#define HUGE_SIZE 1e7 /* from here on a fraction is written as a power of ten */
enum {
    DECIMALS_GIVEN_MOST = 15,
    SHORT_TEXT = 16, /* bytes that a cell keeps on one line */
};

typedef struct column {
    int right;      /* holds numbers, aligned by their last digit */
    int decimals;   /* of every number in it */
    int given;      /* the caller chose them */
    double largest; /* size of the largest number */
} column;

/* "0.866 ± 0.002", "97 %" or "(1.2)", but neither "2 layers" nor "1-1". */
static int looks_numeric(const char *s)
{
    int digits = 0, joined = 0;
    for (char before = ' '; *s; before = *s++) {
        int is_digit = *s >= '0' && *s <= '9';
        joined |= *s == '-' && before >= '0' && before <= '9';
        digits |= is_digit;
        if (!is_digit && !strchr(" .,+-%()/<>~eE", *s) && !((unsigned char)*s & 0x80))
            return 0;
    }
    return digits && !joined;
}

static int read_decimals(column *columns, size_t count, const json_t *entry, bang_error *err)
{
    const json_t *decimals = json_object_get(entry, "decimals");
    if (!decimals || json_is_null(decimals))
        return 0;
    if (json_array_size(decimals) != count)
        return bang_fail(err, BANG_EDATA, "\"decimals\" is no array of one number per column");
    for (size_t c = 0; c < count; c++) {
        const json_t *n = json_array_get(decimals, c);
        if (json_is_null(n))
            continue;
        json_int_t value = json_integer_value(n);
        if (!json_is_integer(n) || value < 0 || value > DECIMALS_GIVEN_MOST)
            return bang_fail(err, BANG_EDATA, "\"decimals\" holds something other than 0 to %d",
                             DECIMALS_GIVEN_MOST);
        columns[c].decimals = (int)value;
        columns[c].given = 1;
    }
    return 0;
}

/* Learns from one cell how its column looks. */
static int study_cell(column *col, const json_t *cell, size_t row, bang_error *err)
{
    if (json_is_string(cell)) {
        if (!looks_numeric(json_string_value(cell)))
            col->right = 0;
    } else if (json_is_number(cell)) {
        col->largest = fmax(col->largest, fabs(json_number_value(cell)));
    } else if (json_is_boolean(cell)) {
        col->right = 0;
    } else if (!json_is_null(cell)) {
        return bang_fail(err, BANG_EDATA, "row %zu holds a cell that is no text, number or null",
                         row + 1);
    }
    return 0;
}

/* As many decimals as the numbers have, but no more than give the largest four
 * significant digits (two decimals are always allowed). */
static void choose_decimals(column *col, const json_t *rows, size_t c)
{
    if (col->given || col->largest == 0)
        return;
    int most = 3 - (int)floor(log10(col->largest));
    most = most < 2 ? 2 : most > 8 ? 8 : most;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *cell = json_array_get(json_array_get(rows, r), c);
        double size = json_is_number(cell) ? fabs(json_number_value(cell)) : 0;
        if (size < 0.5 * pow(10, -most) || size >= HUGE_SIZE)
            continue;
        int needed = bang_number_decimals(size, most);
        if (needed > col->decimals)
            col->decimals = needed;
    }
}

static int study(column *columns, size_t count, const json_t *entry, const json_t *rows,
                 bang_error *err)
{
    for (size_t c = 0; c < count; c++)
        columns[c].right = 1;
    if (read_decimals(columns, count, entry, err) < 0)
        return err->code;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r);
        if (!json_is_array(row))
            return bang_fail(err, BANG_EDATA, "row %zu is no array", r + 1);
        if (json_array_size(row) != count)
            return bang_fail(err, BANG_EDATA, "row %zu is %zu cells long, the heading %zu", r + 1,
                             json_array_size(row), count);
        for (size_t c = 0; c < count; c++)
            if (study_cell(&columns[c], json_array_get(row, c), r, err) < 0)
                return err->code;
    }
    for (size_t c = 0; c < count; c++)
        choose_decimals(&columns[c], rows, c);
    return 0;
}

static void add_number(bang_text *out, const json_t *cell, const column *col)
{
    char text[BANG_NUMBER_SIZE];
    double value = json_number_value(cell), size = fabs(value);
    /* An integer that a double cannot hold keeps its digits. */
    if (json_is_integer(cell) && size > 9e15) {
        bang_text_add(out, "%" JSON_INTEGER_FORMAT, json_integer_value(cell));
        return;
    }
    int lost = value != 0 && size < 0.5 * pow(10, -col->decimals);
    int huge = size >= (json_is_integer(cell) ? 1e16 : HUGE_SIZE);
    if (!col->given && (lost || huge))
        bang_number_power(text, value, 2);
    else
        bang_number_fixed(text, value, col->decimals);
    bang_text_add(out, "%s", text);
}

/* Text of the caller's, with the same minus sign as our numbers. */
static void add_string(bang_text *out, const char *s, const column *col)
{
    if (col->right && s[0] == '-') {
        bang_text_add(out, "\u2212");
        s++;
    }
    bang_draw_escaped(out, s);
}

static void add_cell(bang_text *out, const json_t *cell, const column *col)
{
    const char *text = json_string_value(cell);
    int is_short = !text || strlen(text) <= SHORT_TEXT;
    bang_text_add(out, "<td%s>", col->right ? " class=\"n\"" : is_short ? " class=\"short\"" : "");
    if (text)
        add_string(out, text, col);
    else if (json_is_number(cell))
        add_number(out, cell, col);
    else
        bang_text_add(out, "%s", json_is_null(cell) ? "–" : json_is_true(cell) ? "yes" : "no");
    bang_text_add(out, "</td>");
}

static void add_table(bang_text *out, const column *columns, const json_t *names,
                      const json_t *rows)
{
    size_t count = json_array_size(names);
    bang_text_add(out, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (size_t c = 0; c < count; c++) {
        bang_text_add(out, "<th scope=\"col\"%s>", columns[c].right ? " class=\"n\"" : "");
        bang_draw_escaped(out, json_string_value(json_array_get(names, c)));
        bang_text_add(out, "</th>");
    }
    bang_text_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        bang_text_add(out, "<tr>");
        for (size_t c = 0; c < count; c++)
            add_cell(out, json_array_get(json_array_get(rows, r), c), &columns[c]);
        bang_text_add(out, "</tr>\n");
    }
    bang_text_add(out, "</tbody></table></div>\n");
}

int bang_page_table(bang_page *page, const json_t *entry, bang_error *err)
{
    const char *title, *note;
    const json_t *names, *rows;
    if (bang_page_string(&title, entry, "title", err) < 0 ||
        bang_page_string(&note, entry, "note", err) < 0 ||
        bang_page_array(&names, entry, "columns", err) < 0 ||
        bang_page_array(&rows, entry, "rows", err) < 0)
        return err->code;
    size_t count = json_array_size(names);
    if (!count)
        return bang_fail(err, BANG_EDATA, "\"columns\" is empty");
    for (size_t c = 0; c < count; c++)
        if (!json_is_string(json_array_get(names, c)))
            return bang_fail(err, BANG_EDATA, "the name of column %zu is no text", c + 1);
    column *columns = calloc(count, sizeof *columns);
    if (!columns)
        return bang_fail_memory(err);
    int rc = study(columns, count, entry, rows, err);
    if (rc == 0) {
        bang_text *out = &page->out;
        bang_text_add(out, "<figure class=\"table\">\n<figcaption>");
        bang_page_caption(out, "Table", ++page->tables, title);
        bang_text_add(out, "</figcaption>\n");
        add_table(out, columns, names, rows);
        if (note) {
            bang_text_add(out, "<p class=\"note\">");
            bang_draw_escaped(out, note);
            bang_text_add(out, "</p>\n");
        }
        bang_text_add(out, "</figure>\n");
    }
    free(columns);
    return rc;
}
