/* Names of outputs, and which of them are classes. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/data/class_map.h"
#include "diagnose_read.h"
#include "lines.h"

int diagnose_names_read(diagnose_names *out, const char *path, cli *c)
{
    size_t count, before = c->problems.size;
    *out = (diagnose_names){.path = path};
    if (!path)
        return 0;
    out->keys = lines_read(c, "class-names", path, &out->text, &count);
    if (!out->keys || c->problems.size > before)
        return -1;
    out->names = calloc(count, sizeof *out->names);
    if (!out->names) {
        cli_problem(c, "--class-names %.200s: out of memory", path);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        /* as bang data classes writes them: CLASS<TAB>NAME */
        char *tab = strchr(out->keys[i], '\t');
        out->names[i] = tab ? tab + 1 : out->keys[i];
        if (tab)
            *tab = '\0';
    }
    out->of =
        (bang_output_names){count, (const char *const *)out->keys, (const char *const *)out->names};
    return 0;
}

void diagnose_names_release(diagnose_names *names)
{
    free(names->keys);
    free(names->names);
    free(names->text);
    *names = (diagnose_names){0};
}

/* A message of the library without the path that it begins with: ours says what was typed. */
static const char *without_path(const bang_error *err, const char *path)
{
    size_t size = strlen(path);
    int named =
        strncmp(err->message, path, size) == 0 && strncmp(err->message + size, ": ", 2) == 0;
    return err->message + (named ? size + 2 : 0);
}

/* Digits, commas, dashes and blanks only: no file is meant. */
static int is_list(const char *what)
{
    return strspn(what, "0123456789,- ") == strlen(what);
}

static int from_array(diagnose_subset *out, const char *data, size_t size, const char *path,
                      size_t outputs, bang_error *err)
{
    bang_array array;
    bang_error why = {0};
    if (bang_npy_parse(&array, data, size, path, &why) < 0)
        return bang_fail(err, why.code, "%s", without_path(&why, path));
    char shape[256];
    bang_array_shape_text(shape, sizeof shape, &array);
    int64_t *numbers = calloc(array.count + 1, sizeof *numbers);
    int rc = numbers ? 0 : bang_fail_memory(err);
    if (rc == 0 && array.dtype == BANG_BOOL)
        rc = bang_fail(err, BANG_EDATA,
                       "is BOOL: numbers of outputs are needed: give numpy.flatnonzero(mask)");
    else if (rc == 0 && !bang_dtype_is_integer(array.dtype))
        rc = bang_fail(err, BANG_EDATA, "is %s: numbers of outputs are integers",
                       bang_dtype_name(array.dtype));
    else if (rc == 0 && array.rank != 1)
        rc = bang_fail(err, BANG_EDATA, "shape %s: a list of outputs has one dimension", shape);
    /* exact: outputs are below 2^53, and what is not is beyond them all */
    for (size_t i = 0; rc == 0 && i < array.count; i++) {
        double number = bang_array_number(&array, i);
        numbers[i] = number < 0x1p53 && number > -0x1p53 ? (int64_t)number : INT64_MAX;
    }
    if (rc == 0)
        rc = bang_class_outputs_of(&out->outputs, numbers, array.count, outputs, err);
    free(numbers);
    bang_array_release(&array);
    return rc;
}

/* The map's own memory becomes the subset's. */
static int from_map(diagnose_subset *out, const char *path, size_t outputs, const char *model,
                    bang_error *err)
{
    bang_class_map map;
    bang_error why = {0};
    if (bang_class_map_load(&map, path, &why) < 0)
        return bang_fail(err, why.code, "%s", without_path(&why, path));
    int rc = 0;
    if (map.outputs != outputs) {
        rc =
            bang_fail(err, BANG_EDATA,
                      "is a map for a model of %zu outputs, but %.200s has %zu: make one with bang "
                      "data map",
                      map.outputs, model, outputs);
    } else {
        out->outputs = (bang_class_outputs){map.classes, map.first, map.output};
        out->folders = map.folders;
        out->classes = map.classes;
        map.first = map.output = NULL;
        map.folders = NULL;
    }
    bang_class_map_release(&map);
    return rc;
}

static int from_file(diagnose_subset *out, const char *path, const diagnose_names *names,
                     size_t outputs, const char *model, bang_error *err)
{
    char *data;
    size_t size;
    bang_error why = {0};
    if (bang_file_read(&data, &size, path, &why) < 0)
        return bang_fail(err, why.code, "%s: a list is written as 0,3,5-9",
                         without_path(&why, path));
    size_t blank = strspn(data, " \t\r\n");
    int rc;
    if (size > 6 && memcmp(data, "\x93NUMPY", 6) == 0)
        rc = from_array(out, data, size, path, outputs, err);
    else if (strlen(data) != size)
        rc = bang_fail(err, BANG_EDATA,
                       "is neither text nor an npy file of integers nor a map of classes");
    else if (data[blank] == '{')
        rc = from_map(out, path, outputs, model, err);
    else
        rc = bang_class_outputs_parse(&out->outputs, data, names->of.count ? &names->of : NULL,
                                      outputs, err);
    free(data);
    return rc;
}

int diagnose_subset_read(diagnose_subset *out, const char *what, const char *where,
                         const char *beside, const diagnose_names *names, size_t outputs,
                         const char *model, cli *c)
{
    bang_error err = {0};
    int rc;
    *out = (diagnose_subset){0};
    if (!what || !*what)
        return 0;
    if (is_list(what)) {
        rc = bang_class_outputs_parse(&out->outputs, what, NULL, outputs, &err);
    } else {
        char *path = beside ? bang_path_beside(beside, what) : strdup(what);
        rc = path ? from_file(out, path, names, outputs, model, &err) : bang_fail_memory(&err);
        free(path);
    }
    if (rc == 0 && out->outputs.classes < 2)
        rc = bang_fail(&err, BANG_EDATA,
                       "one class: with it alone every answer is right: name "
                       "two or more");
    if (rc < 0)
        cli_problem(c, "%s %.200s: %s", where, what, err.message);
    out->given = rc == 0;
    return rc < 0 ? -1 : 0;
}

const bang_class_outputs *diagnose_subset_columns(const diagnose_subset *subset)
{
    return subset->given ? &subset->outputs : NULL;
}

void diagnose_subset_release(diagnose_subset *subset)
{
    for (size_t i = 0; subset->folders && i < subset->classes; i++)
        free(subset->folders[i]);
    free(subset->folders);
    bang_class_outputs_release(&subset->outputs);
    *subset = (diagnose_subset){0};
}
