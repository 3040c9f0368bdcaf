#include "diagnose_input.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose_read.h"

/* What is open of one set. Tables: of PM, FM, the average if it is given, the averages at alphas.
 */
struct diagnose_parts {
    diagnose_tables tables;
    diagnose_subset subset;
    bang_label *labels; /* (rows), or NULL */
    bang_numbered how;  /* labels were taken */
    bang_logits *at;    /* (at_count) */
    size_t named;       /* of the input's class_names: how many are there */
};

/* The paths in the order of the tables; the caller frees it. */
static const char **list_paths(const diagnose_set_request *request, size_t *count)
{
    const char **paths = calloc(3 + request->at_count, sizeof *paths);
    size_t n = 0;
    if (!paths)
        return NULL;
    paths[n++] = request->pre;
    paths[n++] = request->fine;
    if (request->avg)
        paths[n++] = request->avg;
    for (size_t i = 0; i < request->at_count; i++)
        paths[n++] = request->at[i].path;
    *count = n;
    return paths;
}

static int open_tables(diagnose_tables *out, const diagnose_set_request *request, cli *c)
{
    size_t count;
    const char **paths = list_paths(request, &count);
    if (!paths) {
        cli_problem(c, "out of memory");
        return -1;
    }
    int rc = diagnose_tables_open(out, paths, count, c);
    free((void *)paths);
    return rc;
}

/* Where the average at 0.5 is among those at alphas; -1: nowhere. */
static long find_half(const diagnose_set_request *request)
{
    for (size_t i = 0; i < request->at_count; i++)
        if (request->at[i].alpha == 0.5)
            return (long)i;
    return -1;
}

/* What bang_diagnose takes. All tables are there. */
static void fill(bang_diagnosis_set *set, diagnose_input *in, const diagnose_set_request *request,
                 int probabilities)
{
    struct diagnose_parts *parts = in->parts;
    const bang_class_outputs *columns = diagnose_subset_columns(&parts->subset);
    size_t given = request->avg ? 1 : 0;
    long half = find_half(request);
    for (size_t i = 0; i < parts->tables.count; i++) {
        bang_logits logits = {bang_npy_table_get(parts->tables.items[i]), probabilities, columns};
        if (i == 0)
            set->pre = logits;
        else if (i == 1)
            set->fine = logits;
        else if (i == 2 && given)
            set->avg = logits;
        else
            parts->at[i - 2 - given] = logits;
    }
    in->average = given       ? DIAGNOSE_AVERAGE_GIVEN
                  : half >= 0 ? DIAGNOSE_AVERAGE_AT_HALF
                              : DIAGNOSE_AVERAGE_OSE;
    if (in->average == DIAGNOSE_AVERAGE_AT_HALF)
        set->avg = parts->at[half];
    set->labels = parts->labels;
    set->at = request->at_count ? parts->at : NULL;
    in->classes = bang_logits_classes(&set->pre);
}

/* The name of a class: that of its output, or, of several outputs, of the folder in a map. */
static const char *class_name(const diagnose_subset *subset, const diagnose_names *names,
                              size_t class)
{
    if (!subset->given)
        return names->names[class];
    const bang_class_outputs *o = &subset->outputs;
    int single = o->first[class + 1] - o->first[class] == 1;
    return names->of.count && (single || !subset->folders)
               ? names->names[o->output[o->first[class]]]
               : subset->folders[class];
}

static int name_classes(diagnose_input *in, const diagnose_names *names)
{
    const diagnose_subset *subset = &in->parts->subset;
    if (names->of.count == 0 && !subset->folders)
        return 0;
    in->class_names = calloc(in->classes, sizeof *in->class_names);
    for (size_t i = 0; in->class_names && i < in->classes; i++) {
        in->class_names[i] = strdup(class_name(subset, names, i));
        if (!in->class_names[i])
            return -1;
        in->parts->named++;
    }
    return in->class_names ? 0 : -1;
}

static void add_notes(bang_text *notes, const diagnose_input *in,
                      const diagnose_set_request *request)
{
    if (in->average == DIAGNOSE_AVERAGE_OSE)
        bang_text_add(notes, "%.200s: no --avg: the ensemble of the outputs takes its place\n",
                      request->name);
    if (in->average == DIAGNOSE_AVERAGE_AT_HALF)
        bang_text_add(notes, "%.200s: no --avg: the average at 0.5 takes its place\n",
                      request->name);
    if (!request->labels)
        bang_text_add(notes, "%.200s: no --labels: confidence and agreement only\n", request->name);
    if (in->parts->how.doubtful)
        bang_text_add(notes,
                      "%.200s: labels are taken as places in the subset, 0 to %zu; they could be "
                      "outputs of the model, too: --label-numbers outputs\n",
                      request->name, in->classes - 1);
    if (in->left_out)
        bang_text_add(notes,
                      "%.200s: %zu of %zu rows are left out: their labels are none of the %zu "
                      "classes\n",
                      request->name, in->left_out, in->rows, in->classes);
    if (strcmp(request->pre, request->fine) == 0)
        bang_text_add(notes, "%.200s: --pre and --fine are one file\n", request->name);
    if (request->avg &&
        (strcmp(request->avg, request->pre) == 0 || strcmp(request->avg, request->fine) == 0))
        bang_text_add(notes, "%.200s: --avg is the file of %s\n", request->name,
                      strcmp(request->avg, request->pre) == 0 ? "--pre" : "--fine");
}

static int check_names(const diagnose_names *names, const diagnose_tables *tables, cli *c)
{
    if (names->of.count == 0 || names->of.count == tables->outputs)
        return 0;
    cli_problem(c,
                "--class-names %.200s: has %zu line%s, but %.200s has %zu outputs: a line for each "
                "output is needed",
                names->path, names->of.count, names->of.count == 1 ? "" : "s", tables->model,
                tables->outputs);
    return -1;
}

/* Opens the files of one set and looks at each; -1 if something is wrong. */
static int open_parts(diagnose_input *in, const diagnose_set_request *request,
                      const diagnose_names *names, const diagnose_input_options *options, cli *c)
{
    diagnose_tables *tables = &in->parts->tables;
    diagnose_subset *subset = &in->parts->subset;
    int rc = open_tables(tables, request, c), has_subset = 1;
    in->rows = tables->rows;
    in->outputs = tables->outputs;
    if (tables->outputs) {
        if (check_names(names, tables, c) < 0)
            rc = -1;
        has_subset = diagnose_subset_read(subset, request->classes, "--classes", NULL, names,
                                          tables->outputs, tables->model, c) == 0;
    }
    if (request->labels &&
        diagnose_labels_read(&in->parts->labels, &in->parts->how, request->labels, tables,
                             has_subset ? subset : NULL, options->label_numbers, c) < 0)
        rc = -1;
    in->left_out = in->parts->how.left_out;
    if (diagnose_tables_check(tables, diagnose_subset_columns(subset), in->parts->labels, options,
                              c) < 0)
        rc = -1;
    return has_subset ? rc : -1;
}

static int open_set(bang_diagnosis_set *set, diagnose_input *in,
                    const diagnose_set_request *request, const diagnose_names *names,
                    const diagnose_input_options *options, bang_text *notes, cli *c)
{
    set->name = request->name;
    in->parts = calloc(1, sizeof *in->parts);
    if (in->parts)
        in->parts->at = calloc(request->at_count + 1, sizeof *in->parts->at);
    if (!in->parts || !in->parts->at) {
        cli_problem(c, "out of memory");
        return -1;
    }
    if (open_parts(in, request, names, options, c) < 0)
        return -1;
    fill(set, in, request, options->probabilities);
    add_notes(notes, in, request);
    if (name_classes(in, names) == 0)
        return 0;
    cli_problem(c, "out of memory");
    return -1;
}

int diagnose_inputs_open(diagnose_inputs *out, const diagnose_set_request *requests, size_t count,
                         const diagnose_input_options *options, cli *c)
{
    cli found = {.command = c->command};
    diagnose_names names;
    *out = (diagnose_inputs){0};
    out->sets = calloc(count + 1, sizeof *out->sets);
    out->of = calloc(count + 1, sizeof *out->of);
    if (!out->sets || !out->of) {
        cli_problem(c, "out of memory");
        return -1;
    }
    out->count = count;
    int rc = diagnose_names_read(&names, options->class_names, &found);
    for (size_t i = 0; i < count; i++)
        if (open_set(&out->sets[i], &out->of[i], &requests[i], &names, options, &out->notes,
                     &found) < 0)
            rc = -1;
    if (out->notes.failed) {
        cli_problem(&found, "out of memory");
        rc = -1;
    }
    diagnose_names_release(&names);
    diagnose_problems_move(c, &found);
    return rc;
}

static void release_set(diagnose_input *in)
{
    if (!in->parts)
        return;
    for (size_t i = 0; i < in->parts->named; i++)
        free(in->class_names[i]);
    free(in->class_names);
    diagnose_tables_release(&in->parts->tables);
    diagnose_subset_release(&in->parts->subset);
    free(in->parts->labels);
    free(in->parts->at);
    free(in->parts);
}

void diagnose_inputs_release(diagnose_inputs *in)
{
    for (size_t i = 0; in->of && i < in->count; i++)
        release_set(&in->of[i]);
    free(in->of);
    free(in->sets);
    bang_text_release(&in->notes);
    *in = (diagnose_inputs){0};
}
