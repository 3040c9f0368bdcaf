/* A CSV of pictures and labels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/csv.h"
#include "bang/base/file.h"
#include "data/images.h"

/* Which field of the header has one of the names, the first names first; or -1. */
static int find_column(const bang_csv *csv, const char *const names[], size_t count)
{
    int found = -1;
    for (size_t n = 0; found < 0 && n < count; n++)
        found = bang_csv_find(csv, names[n], 0);
    return found;
}

/* The columns of path and label, from the header; without a label -1. */
static void find_columns(int *path, int *label, bang_csv *csv)
{
    static const char *const paths[] = {"path", "image", "file", "filename"};
    static const char *const labels[] = {"label", "class"};
    *path = find_column(csv, paths, 4);
    *label = find_column(csv, labels, 2);
    if (*path < 0)
        bang_csv_problem(csv, csv->began,
                         "no column path (or image, file, filename) in the header");
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

static int take_rows(table *t, bang_csv *csv, const char *beside, bang_error *err)
{
    int path, label, rc = 0;
    if (!bang_csv_next(csv)) {
        if (csv->problem_count == 0)
            bang_csv_problem(csv, 1, "no header");
        return 0;
    }
    find_columns(&path, &label, csv);
    if (path < 0)
        return 0;
    size_t columns = csv->count;
    while (rc == 0 && bang_csv_next(csv)) {
        if (bang_csv_is_empty(csv))
            continue;
        if (csv->count != columns)
            bang_csv_problem(csv, csv->began, "%s fields than the header has",
                             csv->count < columns ? "fewer" : "more");
        else if (!*csv->fields[path] || (label >= 0 && !*csv->fields[label]))
            bang_csv_problem(csv, csv->began, "the %s is empty",
                             *csv->fields[path] ? "label" : "path");
        else
            rc = keep_row(t, csv->began, bang_path_beside(beside, csv->fields[path]),
                          label < 0 ? NULL : csv->fields[label], err);
    }
    if (rc == 0 && t->count == 0 && csv->problem_count == 0)
        bang_csv_problem(csv, csv->began, "no pictures");
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

static int number_labels(table *t, bang_csv *csv, bang_error *err)
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
            bang_csv_problem(csv, t->lines[i], "label %.40s: must be 0 or more, below 2^31 - 1",
                             t->names[i]);
        else if ((size_t)set->labels[i] >= set->classes)
            set->classes = (size_t)set->labels[i] + 1;
    }
    return 0;
}

static void find_files(const table *t, bang_csv *csv)
{
    struct stat info;
    const bang_images *set = t->list.set;
    for (size_t i = 0; i < t->count; i++) {
        if (stat(set->paths[i], &info) < 0)
            bang_csv_problem(csv, t->lines[i], "%.110s: %s", set->paths[i], strerror(errno));
        else if (S_ISDIR(info.st_mode))
            bang_csv_problem(csv, t->lines[i], "%.110s: is a folder", set->paths[i]);
    }
}

int bang_images_csv_parse(bang_images *out, char *text, size_t size, const char *path, int look,
                          bang_error *err)
{
    table t = {.list = {.set = out}};
    bang_csv csv;
    bang_csv_begin(&csv, text, size);
    int rc = take_rows(&t, &csv, path, err);
    if (rc == 0 && t.count > 0)
        rc = number_labels(&t, &csv, err);
    if (rc == 0 && look)
        find_files(&t, &csv);
    if (rc == 0)
        rc = bang_csv_end(&csv, path, err);
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
