#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "data/class_map.h"

static const struct {
    const char *name;
    size_t images, classes;
} families[] = {
    [BANG_IMAGENET] = {"imagenet", 50000, 1000},
    [BANG_IMAGENET_V2] = {"imagenet-v2", 10000, 1000},
    [BANG_IMAGENET_A] = {"imagenet-a", 7500, 200},
    [BANG_IMAGENET_R] = {"imagenet-r", 30000, 200},
    [BANG_IMAGENET_SKETCH] = {"imagenet-sketch", 50889, 1000},
    [BANG_OBJECTNET] = {"objectnet", 18574, 113},
};
enum { FAMILIES = sizeof families / sizeof *families };

int bang_family_find(bang_family *out, const char *name)
{
    for (int i = 0; i < FAMILIES; i++)
        if (strcmp(name, families[i].name) == 0) {
            *out = (bang_family)i;
            return 0;
        }
    return -1;
}

void bang_family_sizes(bang_family family, size_t *images, size_t *classes)
{
    *images = families[family].images;
    *classes = families[family].classes;
}

void bang_outputs_release(bang_outputs *outputs)
{
    bang_names_release(&outputs->names);
    free(outputs->sorted);
    *outputs = (bang_outputs){0};
}

/* Sorting by name needs the names, which qsort does not hand over. */
typedef struct entry {
    const char *name;
    uint32_t number;
} entry;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

int bang_outputs_sort(bang_outputs *outputs, bang_error *err)
{
    size_t count = outputs->names.count;
    entry *entries = calloc(count + 1, sizeof *entries);
    outputs->sorted = calloc(count + 1, sizeof *outputs->sorted);
    if (!entries || !outputs->sorted) {
        free(entries);
        return bang_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        entries[i] = (entry){outputs->names.list[i], (uint32_t)i};
    qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 0; i < count; i++)
        outputs->sorted[i] = entries[i].number;
    free(entries);
    return 0;
}

int64_t bang_outputs_find(const bang_outputs *outputs, const char *folder)
{
    size_t low = 0, high = outputs->names.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(folder, outputs->names.list[outputs->sorted[middle]]);
        if (order == 0)
            return outputs->sorted[middle];
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return -1;
}

/* The first column of every line that holds something. */
static int read_lines(bang_names *out, const char *path, bang_error *err)
{
    char *text;
    size_t size;
    int rc = bang_file_read(&text, &size, path, err);
    for (char *line = text; rc == 0 && *line;) {
        line += strspn(line, " \t\r\n");
        size_t length = strcspn(line, " \t\r\n,");
        if (length)
            rc = bang_names_add(out, strndup(line, length), err);
        line += strcspn(line, "\n");
    }
    free(text);
    return rc;
}

/* In the order of the lines of a file, or of the names of folders. */
static int read_outputs(bang_outputs *out, const char *classes, bang_error *err)
{
    struct stat info;
    bang_names files = {0};
    int rc = stat(classes, &info) == 0 && S_ISDIR(info.st_mode)
                 ? bang_names_list(&out->names, &files, classes, err)
                 : read_lines(&out->names, classes, err);
    bang_names_release(&files);
    if (rc == 0 && out->names.count == 0)
        rc = bang_fail(err, BANG_EDATA,
                       "%.600s: no classes: give a folder of class folders, or a file with one a "
                       "line",
                       classes);
    if (rc == 0)
        rc = bang_outputs_sort(out, err);
    bang_some twice = {0};
    for (size_t i = 1; rc == 0 && i < out->names.count; i++) {
        const char *name = out->names.list[out->sorted[i]];
        if (strcmp(name, out->names.list[out->sorted[i - 1]]) == 0)
            bang_some_add(&twice, name);
    }
    size_t count = twice.count;
    bang_text message = {0};
    bang_some_end(&message, &twice);
    if (rc == 0 && count)
        rc = bang_fail(err, BANG_EDATA, "%.300s: there more than once: %s", classes,
                       message.data ? message.data : "");
    bang_text_release(&message);
    return rc;
}

/* How a set's folders are called. */
typedef enum naming { WNIDS, NUMBERS } naming;

/* V2 comes with numbers; some give it out with the wnids in their place. */
static naming naming_of(bang_family family, const bang_outputs *outputs, const bang_names *folders)
{
    size_t known = 0;
    for (size_t i = 0; i < folders->count; i++)
        known += bang_outputs_find(outputs, folders->list[i]) >= 0;
    return family == BANG_IMAGENET_V2 && known < folders->count ? NUMBERS : WNIDS;
}

/* The output for a folder's name, or -1. */
static int64_t output_of(naming how, const bang_outputs *outputs, const char *folder)
{
    int64_t number;
    if (how == WNIDS)
        return bang_outputs_find(outputs, folder);
    return bang_text_to_int64(&number, folder) == 0 && number >= 0 &&
                   number < (int64_t)outputs->names.count
               ? number
               : -1;
}

/* Every folder of the data must be one of the outputs. */
static int check_folders(const bang_names *folders, naming how, const bang_outputs *outputs,
                         const char *folder, bang_error *err)
{
    bang_some strange = {0};
    bang_text message = {0};
    for (size_t i = 0; i < folders->count; i++)
        if (output_of(how, outputs, folders->list[i]) < 0)
            bang_some_add(&strange, folders->list[i]);
    size_t count = strange.count;
    bang_some_end(&message, &strange);
    int rc = 0;
    if (folders->count == 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s: no class folders", folder);
    else if (count && how == NUMBERS)
        rc = bang_fail(
            err, BANG_EDATA,
            "%.300s: %zu folder%s not among the %zu classes: %s: all must be numbers, 0 to "
            "%zu, or all wnids",
            folder, count, count == 1 ? " is" : "s are", outputs->names.count,
            message.data ? message.data : "", outputs->names.count - 1);
    else if (count)
        rc = bang_fail(err, BANG_EDATA, "%.300s: %zu folder%s not among the %zu classes: %s",
                       folder, count, count == 1 ? " is" : "s are", outputs->names.count,
                       message.data ? message.data : "");
    bang_text_release(&message);
    return rc;
}

static int add_classes(bang_class_map *map, bang_family family, naming how,
                       const bang_outputs *outputs, const bang_names *folders, bang_error *err)
{
    int subset = family == BANG_IMAGENET_A || family == BANG_IMAGENET_R, rc = 0;
    size_t count = subset ? folders->count : outputs->names.count;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        char number[24];
        uint32_t output = outputs->sorted[i]; /* labels are ranks of wnids */
        const char *name = outputs->names.list[output];
        snprintf(number, sizeof number, "%zu", i);
        if (how == NUMBERS)
            name = number;
        if (subset) {
            name = folders->list[i];
            output = (uint32_t)bang_outputs_find(outputs, name);
        }
        rc = bang_class_map_add(map, name, &output, 1, err);
    }
    return rc;
}

int bang_class_map_make(bang_class_map *out, bang_family family, const char *classes,
                        const char *folder, const char *mappings, bang_error *err)
{
    bang_outputs outputs = {0};
    bang_names folders = {0}, files = {0};
    *out = (bang_class_map){0};
    if ((family == BANG_OBJECTNET) != (mappings != NULL))
        return bang_fail(err, BANG_EUSAGE, "%s: %s", families[family].name,
                         mappings ? "has no mappings: leave them away"
                                  : "needs the folder of its mappings");
    int rc = read_outputs(&outputs, classes, err);
    if (rc == 0)
        rc = bang_names_list(&folders, &files, folder, err);
    out->name = strdup(families[family].name);
    out->outputs = outputs.names.count;
    out->images = families[family].images;
    out->border = family == BANG_OBJECTNET ? 2 : 0;
    if (rc == 0 && !out->name)
        rc = bang_fail_memory(err);
    if (rc == 0 && family == BANG_OBJECTNET) {
        rc = bang_class_map_objectnet(out, &outputs, mappings, err);
    } else if (rc == 0) {
        naming how = naming_of(family, &outputs, &folders);
        rc = check_folders(&folders, how, &outputs, folder, err);
        if (rc == 0)
            rc = add_classes(out, family, how, &outputs, &folders, err);
    }
    bang_names_release(&files);
    bang_names_release(&folders);
    bang_outputs_release(&outputs);
    if (rc < 0)
        bang_class_map_release(out);
    return rc;
}
