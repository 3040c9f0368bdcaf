/* Files of logits that belong together, and their labels. */
#include <stdlib.h>
#include <string.h>

#include "diagnose_read.h"

/* Holds a table against the first one. */
static int compare(const bang_table *first, const bang_table *other, cli *c)
{
    if (other->rows == first->rows && other->columns == first->columns)
        return 0;
    const char *what = other->columns == first->columns ? "rows"
                       : other->rows == first->rows     ? "outputs"
                                                        : "rows and outputs";
    cli_problem(c,
                "%.200s: shape (%zu, %zu), but %.200s has (%zu, %zu): models of one set need the "
                "same %s",
                other->name, other->rows, other->columns, first->name, first->rows, first->columns,
                what);
    return -1;
}

static int look_at_shape(const bang_table *table, cli *c)
{
    if (table->rows == 0)
        cli_problem(c, "%.200s: shape (0, %zu): there are no rows", table->name, table->columns);
    else if (table->columns < 2)
        cli_problem(c,
                    "%.200s: shape (%zu, %zu): two outputs or more are needed: of one logit z of "
                    "two classes, give the columns 0 and z",
                    table->name, table->rows, table->columns);
    return table->rows > 0 && table->columns > 1 ? 0 : -1;
}

int diagnose_tables_open(diagnose_tables *out, const char *const *paths, size_t count, cli *c)
{
    int rc = 0;
    const bang_table *first = NULL;
    *out = (diagnose_tables){0};
    out->items = calloc(count + 1, sizeof(void *));
    if (!out->items) {
        cli_problem(c, "out of memory");
        return -1;
    }
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        bang_error err = {0};
        if (bang_npy_table_open(&out->items[i], paths[i], &err) < 0) {
            cli_problem(c, "%s", err.message);
            rc = -1;
            continue;
        }
        const bang_table *table = bang_npy_table_get(out->items[i]);
        if (first) {
            rc = compare(first, table, c) < 0 ? -1 : rc;
        } else {
            rc = look_at_shape(table, c) < 0 ? -1 : rc;
            first = table;
            out->model = paths[i];
            out->rows = table->rows;
            out->outputs = table->columns;
        }
    }
    return rc;
}

void diagnose_tables_release(diagnose_tables *tables)
{
    for (size_t i = 0; tables->items && i < tables->count; i++)
        bang_npy_table_close(tables->items[i]);
    free((void *)tables->items);
    *tables = (diagnose_tables){0};
}

int diagnose_tables_check(const diagnose_tables *tables, const bang_class_outputs *columns,
                          const bang_label *labels, const diagnose_input_options *options, cli *c)
{
    int rc = 0;
    for (size_t i = 0; i < tables->count; i++) {
        bang_error err = {0};
        if (!tables->items[i])
            continue;
        bang_logits logits = {bang_npy_table_get(tables->items[i]), options->probabilities, NULL};
        if (logits.table->columns == tables->outputs)
            logits.columns = columns;
        if (logits.table->rows == 0 || logits.table->columns == 0)
            continue; /* was said */
        int numbered = labels && logits.table->rows == tables->rows;
        if (bang_logits_check(&logits, numbered ? labels : NULL, options->logits, &err) < 0) {
            cli_problem(c, "%s", err.message);
            rc = -1;
        }
    }
    return rc;
}

/* What is wrong with them, without the file's name. */
static int number(bang_label **out, bang_numbered *how, const bang_array *labels,
                  const diagnose_tables *tables, const diagnose_subset *subset,
                  bang_numbers numbers, bang_error *err)
{
    char shape[256];
    bang_array_shape_text(shape, sizeof shape, labels);
    if (labels->rank > 0 && labels->shape[0] != tables->rows)
        return bang_fail(err, BANG_EDATA,
                         "shape %s, but %.200s has (%zu, %zu): a label for each row is needed",
                         shape, tables->model, tables->rows, tables->outputs);
    *out = malloc((labels->count + 1) * sizeof **out);
    if (!*out)
        return bang_fail_memory(err);
    return bang_labels_number(*out, how, labels, tables->outputs, diagnose_subset_columns(subset),
                              numbers, err);
}

int diagnose_labels_read(bang_label **out, bang_numbered *how, const char *path,
                         const diagnose_tables *tables, const diagnose_subset *subset,
                         bang_numbers numbers, cli *c)
{
    bang_array labels;
    bang_error err = {0};
    *out = NULL;
    *how = (bang_numbered){0};
    int rc = bang_npy_read(&labels, path, &err);
    if (rc < 0) {
        cli_problem(c, "%s", err.message);
    } else if (subset && tables->rows > 0 && tables->outputs > 1) {
        rc = number(out, how, &labels, tables, subset, numbers, &err);
        if (rc < 0)
            cli_problem(c, "%.200s: %s", path, err.message);
    }
    bang_array_release(&labels);
    return rc < 0 ? -1 : 0;
}

void diagnose_problems_move(cli *to, cli *from)
{
    const char *line = from->problems.data;
    while (line && *line) {
        size_t size = strcspn(line, "\n") + 1;
        char *copy = strndup(line, size);
        if (!copy || !to->problems.data || !strstr(to->problems.data, copy))
            bang_text_add_bytes(&to->problems, line, size);
        free(copy);
        line += size;
    }
    to->problems.failed = to->problems.failed || from->problems.failed;
    bang_text_release(&from->problems);
}
