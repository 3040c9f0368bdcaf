/* The points of a curve, from a CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/measure/curve_rows.h"
#include "diagnose_read.h"
#include "networks.h"

/* Kept for the run, which opens the files of one row at a time: there may be more rows than files
 * that can be open. */
struct diagnose_curve_files {
    const char *path; /* of the CSV; borrowed */
    diagnose_input_options options;
    diagnose_names names;
    bang_curve_rows rows;
    char *text;
};

/* What is open of one row. */
typedef struct row_files {
    char *paths[2]; /* of the fine-tuned model and the average */
    char *label_path;
    diagnose_tables tables;
    diagnose_subset subset;
    bang_label *labels;
    bang_numbered how; /* labels were taken */
} row_files;

static void row_release(row_files *f)
{
    free(f->paths[0]);
    free(f->paths[1]);
    free(f->label_path);
    diagnose_tables_release(&f->tables);
    diagnose_subset_release(&f->subset);
    free(f->labels);
}

/* Opens the files of one row; -1 if something is wrong. look: also into the numbers. */
static int row_open(row_files *f, const struct diagnose_curve_files *files,
                    const bang_curve_row *row, int look, cli *c)
{
    char where[200];
    *f = (row_files){.label_path = bang_path_beside(files->path, row->labels)};
    f->paths[0] = bang_path_beside(files->path, row->fine);
    f->paths[1] = bang_path_beside(files->path, row->avg);
    if (!f->paths[0] || !f->paths[1] || !f->label_path) {
        cli_problem(c, "out of memory");
        return -1;
    }
    snprintf(where, sizeof where, "%.150s: line %zu: classes", files->path, row->line);
    int rc = diagnose_tables_open(&f->tables, (const char *const *)f->paths, 2, c), has_subset = 1;
    if (f->tables.outputs)
        has_subset =
            diagnose_subset_read(&f->subset, row->classes, where, files->path, &files->names,
                                 f->tables.outputs, f->tables.model, c) == 0;
    if (diagnose_labels_read(&f->labels, &f->how, f->label_path, &f->tables,
                             has_subset ? &f->subset : NULL, files->options.label_numbers, c) < 0)
        rc = -1;
    if (look && diagnose_tables_check(&f->tables, diagnose_subset_columns(&f->subset), f->labels,
                                      &files->options, c) < 0)
        rc = -1;
    return has_subset ? rc : -1;
}

/* Looks at all files, and counts the rows that the run will read. */
static int look_at_files(diagnose_curve *curve, cli *c)
{
    const bang_curve_rows *rows = &curve->files->rows;
    size_t doubtful = 0, less = 0, doubtful_line = 0, less_line = 0;
    int rc = 0;
    for (size_t i = 0; i < rows->count; i++) {
        row_files f;
        if (row_open(&f, curve->files, &rows->rows[i], 1, c) < 0)
            rc = -1;
        curve->rows += f.tables.rows;
        if (f.how.doubtful && doubtful++ == 0)
            doubtful_line = rows->rows[i].line;
        if (f.how.left_out && less++ == 0)
            less_line = rows->rows[i].line;
        row_release(&f);
    }
    if (doubtful)
        bang_text_add(
            &curve->notes,
            "%.200s: in %zu of %zu rows, line %zu the first, labels are taken as places in "
            "the subset; they could be outputs of the model, too: --label-numbers "
            "outputs\n",
            curve->files->path, doubtful, rows->count, doubtful_line);
    if (less)
        bang_text_add(&curve->notes,
                      "%.200s: in %zu of %zu rows, line %zu the first, samples are left out: their "
                      "labels are none of the classes\n",
                      curve->files->path, less, rows->count, less_line);
    return rc;
}

static void add_notes(diagnose_curve *curve)
{
    const bang_curve_rows *rows = &curve->files->rows;
    if (rows->unused.size)
        bang_text_add(&curve->notes, "%.200s: columns that were not used: %.400s\n",
                      curve->files->path, rows->unused.data);
    if (rows->small_line)
        bang_text_add(
            &curve->notes,
            "%.200s: accuracies are taken as per cent, since one is above 1; line %zu has "
            "one below\n",
            curve->files->path, rows->small_line);
}

/* A point for every name. */
static int make_points(diagnose_curve *curve, cli *c)
{
    const bang_curve_rows *rows = &curve->files->rows;
    curve->names = calloc(rows->points, sizeof *curve->names);
    curve->fine = calloc(rows->points, sizeof *curve->fine);
    curve->avg = calloc(rows->points, sizeof *curve->avg);
    if (!curve->names || !curve->fine || !curve->avg) {
        cli_problem(c, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < rows->count; i++) {
        const bang_curve_row *row = &rows->rows[i];
        if (curve->names[row->point])
            continue;
        json_t *valid = json_string(row->name);
        json_decref(valid);
        curve->names[row->point] = valid ? strdup(row->name) : NULL;
        if (!curve->names[row->point]) {
            cli_problem(c, "%.200s: line %zu: the name is not UTF-8, or memory is out",
                        curve->files->path, row->line);
            return -1;
        }
        curve->count++;
    }
    return 0;
}

/* Accuracies of the rows become those of the points: means over sets. */
static int average(diagnose_curve *curve, bang_error *err)
{
    const bang_curve_rows *rows = &curve->files->rows;
    size_t *counts = calloc(curve->count + 1, sizeof *counts);
    if (!counts)
        return bang_fail_memory(err);
    memset(curve->fine, 0, curve->count * sizeof *curve->fine);
    memset(curve->avg, 0, curve->count * sizeof *curve->avg);
    for (size_t i = 0; i < rows->count; i++) {
        const bang_curve_row *row = &rows->rows[i];
        curve->fine[row->point] += row->fine_accuracy;
        curve->avg[row->point] += row->avg_accuracy;
        counts[row->point]++;
    }
    for (size_t i = 0; i < curve->count; i++) {
        curve->fine[i] /= (double)counts[i];
        curve->avg[i] /= (double)counts[i];
    }
    free(counts);
    return 0;
}

static int open_file(diagnose_curve *curve, cli *c)
{
    struct diagnose_curve_files *files = curve->files;
    bang_error err = {0};
    size_t size;
    int rc = bang_file_read(&files->text, &size, files->path, &err);
    if (rc == 0)
        rc = bang_curve_rows_parse(&files->rows, files->text, size, files->path, &err);
    if (rc < 0) {
        cli_problem(c, "%s", err.message);
        return -1;
    }
    if (make_points(curve, c) < 0)
        return -1;
    add_notes(curve);
    if (files->rows.files)
        rc = diagnose_names_read(&files->names, files->options.class_names, c) +
             look_at_files(curve, c);
    else
        rc = average(curve, &err);
    if (curve->notes.failed || err.code == BANG_EMEMORY) {
        cli_problem(c, "out of memory");
        rc = -1;
    }
    return rc;
}

int diagnose_curve_open(diagnose_curve *out, const char *path,
                        const diagnose_input_options *options, cli *c)
{
    cli found = {.command = c->command};
    *out = (diagnose_curve){0};
    out->files = calloc(1, sizeof *out->files);
    if (!out->files) {
        cli_problem(c, "out of memory");
        return -1;
    }
    out->files->path = path;
    out->files->options = *options;
    int rc = open_file(out, &found);
    diagnose_problems_move(c, &found);
    return rc < 0 ? -1 : 0;
}

/* Steps of one row of the CSV within those of all. */
typedef struct share {
    const bang_progress *whole;
    uint64_t before, total;
} share;

static void step(void *context, uint64_t done, uint64_t total)
{
    const share *s = context;
    (void)total;
    bang_progress_step(s->whole, s->before + done, s->total);
}

static int row_score(bang_curve_row *row, const row_files *f, int probabilities,
                     const bang_tally_options *options, bang_error *err)
{
    bang_logits sources[2];
    bang_member members[2];
    bang_tally *tally;
    for (size_t i = 0; i < 2; i++) {
        sources[i] = (bang_logits){bang_npy_table_get(f->tables.items[i]), probabilities,
                                   diagnose_subset_columns(&f->subset)};
        members[i] = (bang_member){.part_count = 1, .parts = {{i, 1, 1}}};
    }
    const bang_tally_input input = {2, sources, f->labels, 2, members};
    int rc = bang_tally_run(&tally, &input, options, err);
    if (rc < 0)
        return rc;
    row->fine_accuracy = (double)tally->of[0].right / (double)tally->counted;
    row->avg_accuracy = (double)tally->of[1].right / (double)tally->counted;
    bang_tally_free(tally);
    return 0;
}

/* The first thing that c was told, as an error: what was right when it was looked at is not now. */
static int fail_first(const cli *c, bang_error *err)
{
    if (!c->problems.data)
        return bang_fail_memory(err);
    const char *line = strstr(c->problems.data, ": ");
    line = line ? line + 2 : c->problems.data;
    return bang_fail(err, BANG_EDATA, "%.*s", (int)strcspn(line, "\n"), line);
}

int diagnose_curve_run(diagnose_curve *curve, const diagnose_curve_options *options,
                       bang_error *err)
{
    bang_curve_rows *rows = &curve->files->rows;
    share part = {options->progress, 0, curve->rows};
    const bang_progress progress = {step, &part};
    bang_tally_options how = BANG_TALLY_OPTIONS_INIT;
    int rc = 0;
    if (!rows->files)
        return 0;
    how.threads = options->threads;
    how.progress = options->progress ? &progress : NULL;
    how.cancel = options->cancel;
    for (size_t i = 0; rc == 0 && i < rows->count; i++) {
        cli found = {.command = "diagnose"};
        row_files f;
        rc = row_open(&f, curve->files, &rows->rows[i], 0, &found);
        rc = rc < 0 ? fail_first(&found, err)
                    : row_score(&rows->rows[i], &f, curve->files->options.probabilities, &how, err);
        part.before += f.tables.rows;
        row_release(&f);
        bang_text_release(&found.problems);
    }
    return rc < 0 ? rc : average(curve, err);
}

/* Beside the CSV, as the rows name it. */
static int is_beside(const char *csv, const char *name, const char *path)
{
    char *full = bang_path_beside(csv, name);
    int same = full && same_file(full, path);
    free(full);
    return same;
}

int diagnose_curve_reads(const diagnose_curve *curve, const char *path)
{
    const bang_curve_rows *rows = &curve->files->rows;
    for (size_t i = 0; rows->files && i < rows->count; i++) {
        const bang_curve_row *row = &rows->rows[i];
        const char *const named[] = {row->fine, row->avg, row->labels, row->classes};
        for (size_t k = 0; k < sizeof named / sizeof *named; k++)
            if (named[k] && *named[k] && is_beside(curve->files->path, named[k], path))
                return 1;
    }
    return 0;
}

void diagnose_curve_release(diagnose_curve *curve)
{
    for (size_t i = 0; curve->names && i < curve->count; i++)
        free(curve->names[i]);
    free(curve->names);
    free(curve->fine);
    free(curve->avg);
    bang_text_release(&curve->notes);
    if (curve->files) {
        diagnose_names_release(&curve->files->names);
        bang_curve_rows_release(&curve->files->rows);
        free(curve->files->text);
        free(curve->files);
    }
    *curve = (diagnose_curve){0};
}
