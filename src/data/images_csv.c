/* A CSV of pictures and labels, by RFC 4180: commas, records end with a line break
 * of any system, a field in quotes may hold both, and a quote within is doubled. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "data/images.h"

enum { FIELDS_MAX = 256, SAID = 5 };

/* What is being read. Fields are cut out of the text in place. */
typedef struct reader {
    char *at;
    size_t line;  /* of the next character */
    size_t began; /* line where the record began */
    size_t count;
    char *fields[FIELDS_MAX];
} reader;

/* What is wrong: the first few lines are said, all are counted. */
typedef struct problems {
    size_t count;
    size_t lines[SAID + 1]; /* rising */
    char what[SAID + 1][160];
} problems;

static void BANG_PRINTF(3, 4) note(problems *p, size_t line, const char *format, ...)
{
    size_t said = p->count < SAID ? p->count : SAID, at = said;
    p->count++;
    while (at > 0 && p->lines[at - 1] > line)
        at--;
    /* What moves behind the last place is not said. */
    memmove(p->lines + at + 1, p->lines + at, (SAID - at) * sizeof *p->lines);
    memmove(p->what + at + 1, p->what + at, (SAID - at) * sizeof *p->what);
    va_list args;
    va_start(args, format);
    p->lines[at] = line;
    vsnprintf(p->what[at], sizeof p->what[at], format, args);
    va_end(args);
    bang_text_flatten(p->what[at]); /* a field may hold line breaks */
}

/* A field in quotes, from behind the first one: its end is terminated and *ended the
 * place behind the closing quote, or NULL if there is none. */
static char *quoted(reader *r, char **ended)
{
    char *to = r->at, *begin = to;
    for (char *from = r->at; *from; from++) {
        if (*from == '"' && from[1] != '"') {
            *to = '\0';
            *ended = from + 1;
            return begin;
        }
        r->line += *from == '\n';
        from += *from == '"';
        *to++ = *from;
    }
    *ended = NULL;
    return begin;
}

/* The next record into fields: 1, or 0 at the end. */
static int next_record(reader *r, problems *p)
{
    r->count = 0;
    r->began = r->line;
    if (!*r->at)
        return 0;
    for (;;) {
        char *field = r->at, *end;
        if (*field == '"') {
            r->at++;
            field = quoted(r, &end);
            if (!end) {
                note(p, r->began, "a quote is opened and not closed");
                r->at += strlen(r->at);
                return 0;
            }
            if (!strchr(",\r\n", *end))
                note(p, r->line, "text behind a closing quote: %.40s", end);
            end += strcspn(end, ",\r\n");
        } else {
            end = field + strcspn(field, ",\r\n");
        }
        char stop = *end;
        if (r->count < FIELDS_MAX)
            r->fields[r->count++] = field;
        else if (stop != ',')
            note(p, r->began, "more than %d fields", FIELDS_MAX);
        r->at = end + (stop != '\0');
        *end = '\0';
        if (stop == ',')
            continue;
        if (stop == '\r' && *r->at == '\n')
            r->at++;
        r->line += stop != '\0';
        return 1;
    }
}

static int find_column(const reader *r, const char *const names[], size_t count)
{
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < r->count; i++)
            if (strcasecmp(r->fields[i], names[n]) == 0)
                return (int)i;
    return -1;
}

/* The columns of path and label, from the header; without a label -1. */
static void find_columns(int *path, int *label, const reader *r, problems *p)
{
    static const char *const paths[] = {"path", "image", "file", "filename"};
    static const char *const labels[] = {"label", "class"};
    *path = find_column(r, paths, 4);
    *label = find_column(r, labels, 2);
    if (*path < 0)
        note(p, r->began, "no column path (or image, file, filename) in the header");
}

/* Records as they stand; labels are numbered later. */
typedef struct table {
    bang_images_list list;
    size_t count, capacity;
    char **names;  /* (count) labels, into the text; NULL: no such column */
    size_t *lines; /* (count) */
} table;

static int keep_row(table *t, size_t line, char *path, char *name, bang_error *err)
{
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        char **names = realloc(t->names, capacity * sizeof *names);
        t->names = names ? names : t->names;
        size_t *lines = names ? realloc(t->lines, capacity * sizeof *lines) : NULL;
        t->lines = lines ? lines : t->lines;
        if (!lines) {
            free(path);
            return bang_fail_memory(err);
        }
        t->capacity = capacity;
    }
    int rc = bang_images_add(&t->list, path, -1, err);
    if (rc == 0) {
        t->names[t->count] = name;
        t->lines[t->count++] = line;
    }
    return rc;
}

/* path beside the CSV, unless it begins at the root; the caller frees. */
static char *path_beside(const char *csv, const char *path)
{
    const char *slash = strrchr(csv, '/');
    if (path[0] == '/' || !slash)
        return strdup(path);
    char *folder = strndup(csv, (size_t)(slash - csv) + 1);
    char *out = folder ? bang_path_join(folder, path) : NULL;
    free(folder);
    return out;
}

static int take_rows(table *t, reader *r, const char *csv, problems *p, bang_error *err)
{
    int path, label, rc = 0;
    if (!next_record(r, p)) {
        note(p, 1, "no header");
        return 0;
    }
    find_columns(&path, &label, r, p);
    if (path < 0)
        return 0;
    size_t columns = r->count;
    while (rc == 0 && next_record(r, p)) {
        if (r->count == 1 && !*r->fields[0])
            continue; /* an empty line */
        if (r->count != columns)
            note(p, r->began, "%s fields than the header has",
                 r->count < columns ? "fewer" : "more");
        else if (!*r->fields[path] || (label >= 0 && !*r->fields[label]))
            note(p, r->began, "the %s is empty", *r->fields[path] ? "label" : "path");
        else
            rc = keep_row(t, r->began, path_beside(csv, r->fields[path]),
                          label < 0 ? NULL : r->fields[label], err);
    }
    if (rc == 0 && t->count == 0 && p->count == 0)
        note(p, r->began, "no pictures");
    return rc;
}

/* A whole number below 2^31 - 1, or -1. */
static int64_t number_of(const char *name)
{
    int64_t value;
    return bang_text_to_int64(&value, name) == 0 && value >= 0 && value < INT32_MAX ? value : -1;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Classes are the different names, sorted. */
static int label_by_name(table *t, bang_error *err)
{
    bang_images *set = t->list.set;
    char **sorted = malloc(t->count * sizeof *sorted);
    set->class_names = calloc(t->count, sizeof *set->class_names);
    if (!sorted || !set->class_names) {
        free(sorted);
        return bang_fail_memory(err);
    }
    memcpy(sorted, t->names, t->count * sizeof *sorted);
    qsort(sorted, t->count, sizeof *sorted, by_bytes);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        if (i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0)
            continue;
        set->class_names[set->classes] = strdup(sorted[i]);
        rc = set->class_names[set->classes] ? 0 : bang_fail_memory(err);
        set->classes += rc == 0;
    }
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        char **found = bsearch(&t->names[i], set->class_names, set->classes,
                               sizeof *set->class_names, by_bytes);
        set->labels[i] = found ? found - set->class_names : -1;
    }
    free(sorted);
    return rc;
}

static int number_labels(table *t, problems *p, bang_error *err)
{
    bang_images *set = t->list.set;
    int numbers = 1;
    int64_t value;
    if (!t->names[0])
        return 0;
    for (size_t i = 0; numbers && i < t->count; i++)
        numbers = bang_text_to_int64(&value, t->names[i]) == 0;
    if (!numbers)
        return label_by_name(t, err);
    for (size_t i = 0; i < t->count; i++) {
        set->labels[i] = number_of(t->names[i]);
        if (set->labels[i] < 0)
            note(p, t->lines[i], "label %.40s: must be 0 or more, below 2^31 - 1", t->names[i]);
        else if ((size_t)set->labels[i] >= set->classes)
            set->classes = (size_t)set->labels[i] + 1;
    }
    return 0;
}

static void find_files(const table *t, problems *p)
{
    struct stat info;
    const bang_images *set = t->list.set;
    for (size_t i = 0; i < t->count; i++) {
        if (stat(set->paths[i], &info) < 0)
            note(p, t->lines[i], "%.110s: %s", set->paths[i], strerror(errno));
        else if (S_ISDIR(info.st_mode))
            note(p, t->lines[i], "%.110s: is a folder", set->paths[i]);
    }
}

static int fail_all(const problems *p, const char *path, bang_error *err)
{
    bang_text text = {0};
    for (size_t i = 0; i < p->count && i < SAID; i++)
        bang_text_add(&text, "%sline %zu: %s", i ? "; " : "", p->lines[i], p->what[i]);
    if (p->count > SAID)
        bang_text_add(&text, "; and %zu more", p->count - SAID);
    int rc = text.failed ? bang_fail_memory(err)
                         : bang_fail(err, BANG_EDATA, "%.160s: %s", path, text.data);
    bang_text_release(&text);
    return rc;
}

int bang_images_csv_parse(bang_images *out, char *text, size_t size, const char *path, int look,
                          bang_error *err)
{
    int rc = 0;
    table t = {.list = {.set = out}};
    problems p = {0};
    reader r = {.at = text, .line = 1};
    if (strlen(text) != size)
        note(&p, 1, "holds a zero byte: is it text?");
    else {
        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
            r.at += 3;
        rc = take_rows(&t, &r, path, &p, err);
        if (rc == 0 && t.count > 0)
            rc = number_labels(&t, &p, err);
        if (rc == 0 && look)
            find_files(&t, &p);
    }
    if (rc == 0 && p.count > 0)
        rc = fail_all(&p, path, err);
    free(t.names);
    free(t.lines);
    return rc;
}

int bang_images_csv(bang_images *out, const char *path, bang_error *err)
{
    char *text;
    size_t size;
    int rc = bang_file_read(&text, &size, path, err);
    if (rc < 0)
        return rc;
    rc = bang_images_csv_parse(out, text, size, path, 1, err);
    free(text);
    return rc;
}
