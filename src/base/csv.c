#include "bang/base/csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bang/base/text.h"

void bang_csv_problem(bang_csv *csv, size_t line, const char *format, ...)
{
    enum { SAID = BANG_CSV_SAID };
    size_t said = csv->problem_count < SAID ? csv->problem_count : SAID, at = said;
    csv->problem_count++;
    while (at > 0 && csv->problem_lines[at - 1] > line)
        at--;
    /* What moves behind the last place is not said. */
    memmove(csv->problem_lines + at + 1, csv->problem_lines + at,
            (SAID - at) * sizeof *csv->problem_lines);
    memmove(csv->problems + at + 1, csv->problems + at, (SAID - at) * sizeof *csv->problems);
    va_list args;
    va_start(args, format);
    csv->problem_lines[at] = line;
    vsnprintf(csv->problems[at], sizeof csv->problems[at], format, args);
    va_end(args);
    bang_text_flatten(csv->problems[at]); /* a field may hold line breaks */
}

void bang_csv_begin(bang_csv *csv, char *text, size_t size)
{
    *csv = (bang_csv){.at = text, .line = 1, .began = 1};
    if (strlen(text) != size) {
        bang_csv_problem(csv, 1, "holds a zero byte: is it text?");
        csv->at += strlen(text);
    } else if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        csv->at += 3;
    }
}

/* A field in quotes, from behind the first one: its end is terminated and *ended the
 * place behind the closing quote, or NULL if there is none. */
static char *quoted(bang_csv *csv, char **ended)
{
    char *to = csv->at, *begin = to;
    for (char *from = csv->at; *from; from++) {
        if (*from == '"' && from[1] != '"') {
            *to = '\0';
            *ended = from + 1;
            return begin;
        }
        csv->line += *from == '\n';
        from += *from == '"';
        *to++ = *from;
    }
    *ended = NULL;
    return begin;
}

int bang_csv_next(bang_csv *csv)
{
    csv->count = 0;
    csv->began = csv->line;
    if (!*csv->at)
        return 0;
    for (;;) {
        char *field = csv->at, *end;
        if (*field == '"') {
            csv->at++;
            field = quoted(csv, &end);
            if (!end) {
                bang_csv_problem(csv, csv->began, "a quote is opened and not closed");
                csv->at += strlen(csv->at);
                return 0;
            }
            if (!strchr(",\r\n", *end))
                bang_csv_problem(csv, csv->line, "text behind a closing quote: %.40s", end);
            end += strcspn(end, ",\r\n");
        } else {
            end = field + strcspn(field, ",\r\n");
        }
        char stop = *end;
        if (csv->count < BANG_CSV_FIELDS)
            csv->fields[csv->count++] = field;
        else if (stop != ',')
            bang_csv_problem(csv, csv->began, "more than %d fields", BANG_CSV_FIELDS);
        csv->at = end + (stop != '\0');
        *end = '\0';
        if (stop == ',')
            continue;
        if (stop == '\r' && *csv->at == '\n')
            csv->at++;
        csv->line += stop != '\0';
        return 1;
    }
}

int bang_csv_is_empty(const bang_csv *csv)
{
    return csv->count == 1 && !*csv->fields[0];
}

int bang_csv_find(const bang_csv *csv, const char *name, size_t from)
{
    for (size_t i = from; i < csv->count; i++)
        if (strcasecmp(csv->fields[i], name) == 0)
            return (int)i;
    return -1;
}

int bang_csv_end(const bang_csv *csv, const char *path, bang_error *err)
{
    bang_text text = {0};
    if (csv->problem_count == 0)
        return 0;
    for (size_t i = 0; i < csv->problem_count && i < BANG_CSV_SAID; i++)
        bang_text_add(&text, "%sline %zu: %s", i ? "; " : "", csv->problem_lines[i],
                      csv->problems[i]);
    if (csv->problem_count > BANG_CSV_SAID)
        bang_text_add(&text, "; and %zu more", csv->problem_count - BANG_CSV_SAID);
    int rc = text.failed ? bang_fail_memory(err)
                         : bang_fail(err, BANG_EDATA, "%.160s: %s", path, text.data);
    bang_text_release(&text);
    return rc;
}
