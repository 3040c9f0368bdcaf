#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"
#include "report/page.h"

#define HUGE_SIZE 1e7 /* from here on a fraction is written as a power of ten */
enum {
    DECIMALS_GIVEN_MOST = 15,
    DIGITS_GIVEN_MOST = 15,
    SHORT_TEXT = 16, /* bytes that a cell keeps on one line */
};

typedef struct column {
    int right;      /* holds numbers, aligned by their last digit */
    int decimals;   /* of every number in it */
    int given;      /* the caller chose them */
    int digits;     /* significant ones of every number instead; 0: not so */
    double largest; /* size of the largest number */
    int z;          /* holds distances in standard errors */
    int group;      /* index of the heading over it; -1: none */
} column;

/* "0.866 ± 0.002", "97 %", "(1.2)" or "1.9 [0.4, 3.3]", but neither "2 layers" nor "1-1". */
static int looks_numeric(const char *s)
{
    int digits = 0, joined = 0;
    for (char before = ' '; *s; before = *s++) {
        int is_digit = *s >= '0' && *s <= '9';
        joined |= *s == '-' && before >= '0' && before <= '9';
        digits |= is_digit;
        if (!is_digit && !strchr(" .,+-%()[]/<>~eE", *s) && !((unsigned char)*s & 0x80))
            return 0;
    }
    return digits && !joined;
}

/* Number c of the list under that key to *out, -1 if there is none. */
static int read_whole(int *out, const json_t *entry, const char *key, size_t c, size_t count,
                      int least, int most, bang_error *err)
{
    const json_t *list = json_object_get(entry, key), *n = json_array_get(list, c);
    *out = -1;
    if (!list || json_is_null(list))
        return 0;
    if (json_array_size(list) != count)
        return bang_fail(err, BANG_EDATA, "\"%s\" is no array of one number per column", key);
    if (json_is_null(n))
        return 0;
    json_int_t value = json_integer_value(n);
    if (!json_is_integer(n) || value < least || value > most)
        return bang_fail(err, BANG_EDATA, "\"%s\" holds something other than %d to %d", key, least,
                         most);
    *out = (int)value;
    return 0;
}

static int read_decimals(column *columns, size_t count, const json_t *entry, bang_error *err)
{
    for (size_t c = 0; c < count; c++) {
        int decimals, digits;
        if (read_whole(&decimals, entry, "decimals", c, count, 0, DECIMALS_GIVEN_MOST, err) < 0 ||
            read_whole(&digits, entry, "digits", c, count, 1, DIGITS_GIVEN_MOST, err) < 0)
            return err->code;
        columns[c].decimals = decimals < 0 ? 0 : decimals;
        columns[c].given = decimals >= 0;
        columns[c].digits = digits < 0 ? 0 : digits;
    }
    return 0;
}

static int read_shade(column *columns, size_t count, const json_t *entry, bang_error *err)
{
    const json_t *shade = json_object_get(entry, "shade");
    if (!shade || json_is_null(shade))
        return 0;
    if (json_array_size(shade) != count)
        return bang_fail(err, BANG_EDATA, "\"shade\" is no array of one text or null per column");
    for (size_t c = 0; c < count; c++) {
        const json_t *how = json_array_get(shade, c);
        if (json_is_null(how))
            continue;
        if (!json_is_string(how) || strcmp(json_string_value(how), "z") != 0)
            return bang_fail(err, BANG_EDATA, "\"shade\" holds something other than \"z\" or null");
        columns[c].z = 1;
    }
    return 0;
}

/* The headings over the columns: each the name and the number of columns. */
static int read_groups(column *columns, size_t count, const json_t *entry, bang_error *err)
{
    const json_t *groups = json_object_get(entry, "groups");
    size_t at = 0;
    for (size_t c = 0; c < count; c++)
        columns[c].group = -1;
    if (!groups || json_is_null(groups))
        return 0;
    if (!json_is_array(groups))
        return bang_fail(err, BANG_EDATA, "\"groups\" is no array");
    for (size_t g = 0; g < json_array_size(groups); g++) {
        const json_t *pair = json_array_get(groups, g);
        const json_t *name = json_array_get(pair, 0), *width = json_array_get(pair, 1);
        json_int_t wide = json_integer_value(width);
        if (json_array_size(pair) != 2 || !json_is_string(name) || !json_is_integer(width) ||
            wide < 1)
            return bang_fail(err, BANG_EDATA, "group %zu is no name with a number of columns",
                             g + 1);
        if ((unsigned long long)wide > count - at)
            return bang_fail(err, BANG_EDATA, "\"groups\" covers more than the %zu columns", count);
        for (size_t end = at + (size_t)wide; at < end; at++)
            columns[at].group = *json_string_value(name) ? (int)g : -1;
    }
    if (at != count)
        return bang_fail(err, BANG_EDATA, "\"groups\" covers %zu of the %zu columns", at, count);
    return 0;
}

/* Learns from one cell how its column looks. */
static int study_cell(column *col, const json_t *cell, size_t row, bang_error *err)
{
    if (col->z && !json_is_number(cell) && !json_is_null(cell))
        return bang_fail(err, BANG_EDATA, "row %zu holds a cell of kind \"z\" that is no number",
                         row + 1);
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
    if (col->z && !col->given) {
        col->decimals = 1;
        col->given = 1;
    }
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
    if (read_decimals(columns, count, entry, err) < 0 ||
        read_shade(columns, count, entry, err) < 0 || read_groups(columns, count, entry, err) < 0)
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

/* Writes the number as it is shown; 1 if that says all of it. */
static int format_number(char text[BANG_NUMBER_SIZE], const json_t *cell, const column *col)
{
    double value = json_number_value(cell), size = fabs(value);
    /* An integer that a double cannot hold keeps its digits. */
    if (json_is_integer(cell) && size > 9e15) {
        snprintf(text, BANG_NUMBER_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(cell));
        return 1;
    }
    if (col->digits)
        return bang_number_digits(text, value, col->digits);
    int lost = value != 0 && size < 0.5 * pow(10, -col->decimals);
    int huge = size >= (json_is_integer(cell) ? 1e16 : HUGE_SIZE);
    if (!col->given && (lost || huge)) {
        bang_number_power(text, value, 2);
        return 0;
    }
    char digits[BANG_NUMBER_SIZE];
    int length = snprintf(digits, sizeof digits, "%.*f", col->decimals, size);
    bang_number_fixed(text, value, col->decimals);
    return size < 1e18 && length < (int)sizeof digits && strtod(digits, NULL) == size;
}

/* A distance with its sign, and a mark besides the colour once it is large. */
static void add_distance(bang_text *out, const char *text, double value)
{
    static const char *const marks[] = {"", "!", "!!"};
    int level = fabs(value) <= 2 ? 0 : fabs(value) <= 3 ? 1 : 2;
    int positive = value > 0 && strpbrk(text, "123456789");
    bang_text_add(out, "<span class=\"z z%d\">%s%s<i>%s</i></span>", level, positive ? "+" : "",
                  text, marks[level]);
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

/* A number that is shown shortened carries all its digits as data-v. */
static void add_number_cell(bang_text *out, const json_t *cell, const column *col)
{
    char text[BANG_NUMBER_SIZE];
    int whole = format_number(text, cell, col);
    bang_text_add(out, "<td class=\"%s\"", col->right ? "n" : "short");
    if (!whole) {
        bang_text_add(out, " data-v=\"");
        bang_page_value(out, cell);
        bang_text_add(out, "\"");
    }
    bang_text_add(out, ">");
    if (col->z)
        add_distance(out, text, json_number_value(cell));
    else
        bang_text_add(out, "%s", text);
    bang_text_add(out, "</td>");
}

static void add_cell(bang_text *out, const json_t *cell, const column *col)
{
    const char *text = json_string_value(cell);
    int is_short = !text || strlen(text) <= SHORT_TEXT;
    if (json_is_number(cell)) {
        add_number_cell(out, cell, col);
        return;
    }
    bang_text_add(out, "<td%s>", col->right ? " class=\"n\"" : is_short ? " class=\"short\"" : "");
    if (text)
        add_string(out, text, col);
    else
        bang_text_add(out, "%s", json_is_null(cell) ? "–" : json_is_true(cell) ? "yes" : "no");
    bang_text_add(out, "</td>");
}

static const char *group_name(const json_t *groups, int index)
{
    return json_string_value(json_array_get(json_array_get(groups, (size_t)index), 0));
}

static void add_groups(bang_text *out, const json_t *groups)
{
    bang_text_add(out, "<tr class=\"groups\">");
    for (size_t g = 0; g < json_array_size(groups); g++) {
        const json_t *pair = json_array_get(groups, g);
        const char *name = json_string_value(json_array_get(pair, 0));
        bang_text_add(out, "<%s colspan=\"%" JSON_INTEGER_FORMAT "\">",
                      *name ? "th scope=\"colgroup\"" : "td",
                      json_integer_value(json_array_get(pair, 1)));
        bang_draw_escaped(out, name);
        bang_text_add(out, *name ? "</th>" : "</td>");
    }
    bang_text_add(out, "</tr>\n");
}

/* A column under a heading is called "heading: name" where it stands alone. */
static void add_heading(bang_text *out, const column *col, int first, const char *name,
                        const json_t *groups)
{
    bang_text_add(out, "<th scope=\"col\"%s",
                  col->right && first ? " class=\"n first\""
                  : col->right        ? " class=\"n\""
                  : first             ? " class=\"first\""
                                      : "");
    if (col->group >= 0) {
        bang_text_add(out, " data-name=\"");
        bang_draw_escaped(out, group_name(groups, col->group));
        bang_text_add(out, ": ");
        bang_draw_escaped(out, name);
        bang_text_add(out, "\"");
    }
    bang_text_add(out, ">");
    bang_draw_escaped(out, name);
    bang_text_add(out, "</th>");
}

static void add_table(bang_text *out, const column *columns, const json_t *names,
                      const json_t *rows, const json_t *groups)
{
    size_t count = json_array_size(names);
    bang_text_add(out, "<div class=\"scroll\"><table>\n<thead>");
    if (json_array_size(groups))
        add_groups(out, groups);
    bang_text_add(out, "<tr>");
    for (size_t c = 0; c < count; c++)
        add_heading(out, &columns[c], c > 0 && columns[c].group != columns[c - 1].group,
                    json_string_value(json_array_get(names, c)), groups);
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
        bang_text_add(out, "<figure class=\"table\" id=\"table-%d\">\n<figcaption>",
                      ++page->tables);
        bang_page_caption(out, "Table", page->tables, title);
        bang_page_csv(page, entry);
        bang_text_add(out, "</figcaption>\n");
        add_table(out, columns, names, rows, json_object_get(entry, "groups"));
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
