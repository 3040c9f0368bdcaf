/* ObjectNet names its classes in its own words. Four files lead from a folder to
 * outputs:
 *     folder_to_objectnet_label.json     folder -> name
 *     objectnet_to_imagenet_1k.json      name -> ImageNet's names, parted by "; "
 *     imagenet_to_label_2012_v2          ImageNet's names, a line each, in the order of 2012
 *     pytorch_to_imagenet_2012_id.json   rank of the wnid -> line of that list, from 0
 */
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/json.h"
#include "data/class_map.h"

typedef struct files {
    json_t *labels;  /* folder -> name */
    json_t *classes; /* name -> names */
    json_t *ranks;   /* rank -> line */
    json_t *lines;   /* ImageNet's name -> line, or -1 if several have it */
    const bang_outputs *outputs;
    int64_t *rank_of; /* (outputs) rank of the wnid on a line, or -1 */
} files;

static int read_text(char **out, size_t *size, const char *folder, const char *name,
                     bang_error *err)
{
    char *path = bang_path_join(folder, name);
    int rc = path ? bang_file_read(out, size, path, err) : bang_fail_memory(err);
    free(path);
    return rc;
}

static int read_object(json_t **out, const char *folder, const char *name, bang_error *err)
{
    char *text = NULL;
    size_t size;
    bang_error why = {0};
    int rc = read_text(&text, &size, folder, name, err);
    if (rc == 0 && bang_json_parse(out, text, size, &why) < 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s/%s: %s", folder, name, why.message);
    else if (rc == 0 && !json_is_object(*out))
        rc = bang_fail(err, BANG_EDATA, "%.300s/%s: must be an object", folder, name);
    free(text);
    return rc;
}

static int read_lines(files *m, const char *folder, bang_error *err)
{
    char *text = NULL;
    size_t size;
    int rc = read_text(&text, &size, folder, "imagenet_to_label_2012_v2", err);
    m->lines = json_object();
    json_int_t number = 0;
    for (char *line = text; rc == 0 && *line; number++) {
        size_t length = strcspn(line, "\n"), trimmed = length;
        char *next = line + length + (line[length] != '\0');
        while (trimmed && strchr(" \t\r", line[trimmed - 1]))
            trimmed--;
        line[trimmed] = '\0';
        line += strspn(line, " \t");
        int again = json_object_get(m->lines, line) != NULL;
        if (json_object_set_new(m->lines, line, json_integer(again ? -1 : number)) < 0)
            rc = bang_fail(err, BANG_EDATA,
                           "%.300s/imagenet_to_label_2012_v2: line %lld is not "
                           "UTF-8",
                           folder, (long long)number + 1);
        line = next;
    }
    free(text);
    return rc;
}

/* From a line of 2012's order to the rank of its wnid. */
static int turn_ranks(files *m, const char *folder, bang_error *err)
{
    size_t count = m->outputs->names.count;
    const char *key;
    const json_t *value;
    m->rank_of = calloc(count, sizeof *m->rank_of);
    if (!m->rank_of)
        return bang_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        m->rank_of[i] = -1;
    json_object_foreach(m->ranks, key, value)
    {
        int64_t rank, line = json_is_integer(value) ? json_integer_value(value) : -1;
        if (bang_text_to_int64(&rank, key) < 0 || rank < 0 || rank >= (int64_t)count || line < 0 ||
            line >= (int64_t)count || m->rank_of[line] >= 0)
            return bang_fail(err, BANG_EDATA,
                             "%.300s/pytorch_to_imagenet_2012_id.json: \"%.40s\": must lead from "
                             "each of the %zu outputs to another line",
                             folder, key, count);
        m->rank_of[line] = rank;
    }
    return 0;
}

/* The output for one of ImageNet's names, or -1. */
static int64_t output_of(const files *m, const char *name)
{
    const json_t *line = json_object_get(m->lines, name);
    json_int_t number = line ? json_integer_value(line) : -1;
    if (number < 0 || number >= (json_int_t)m->outputs->names.count || m->rank_of[number] < 0)
        return -1;
    return m->outputs->sorted[m->rank_of[number]];
}

/* The class of one folder, by its names; those that lead nowhere are problems. */
static int add_class(bang_class_map *map, const files *m, const char *folder, const char *names,
                     bang_some *lost, bang_error *err)
{
    char *copy = strdup(names);
    uint32_t *outputs = calloc(strlen(names) + 1, sizeof *outputs);
    size_t count = 0;
    int rc = copy && outputs ? 0 : bang_fail_memory(err);
    for (char *name = copy, *next; rc == 0 && name; name = next) {
        next = strstr(name, "; ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        int64_t output = output_of(m, name);
        if (output < 0)
            bang_some_add(lost, name);
        else
            outputs[count++] = (uint32_t)output;
    }
    if (rc == 0 && count)
        rc = bang_class_map_add(map, folder, outputs, count, err);
    free(outputs);
    free(copy);
    return rc;
}

/* In the order of the folders' names. */
static int add_classes(bang_class_map *map, const files *m, const char *where, bang_error *err)
{
    bang_names folders = {0};
    bang_some lost = {0};
    const char *key;
    const json_t *value;
    int rc = 0;
    json_object_foreach(m->labels, key, value)
    {
        if (rc == 0 && json_is_string(value) &&
            json_object_get(m->classes, json_string_value(value)))
            rc = bang_names_add(&folders, strdup(key), err);
    }
    bang_names_sort(&folders);
    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        const json_t *label = json_object_get(m->labels, folders.list[i]);
        const json_t *names = json_object_get(m->classes, json_string_value(label));
        if (json_is_string(names))
            rc = add_class(map, m, folders.list[i], json_string_value(names), &lost, err);
        else
            bang_some_add(&lost, folders.list[i]);
    }
    size_t count = lost.count, found = folders.count;
    bang_text message = {0};
    bang_some_end(&message, &lost);
    if (rc == 0 && count)
        rc = bang_fail(err, BANG_EDATA, "%.300s: no output, or more than one, for: %s", where,
                       message.data ? message.data : "");
    else if (rc == 0 && found != json_object_size(m->classes))
        rc = bang_fail(err, BANG_EDATA,
                       "%.300s: objectnet_to_imagenet_1k.json has %zu names, of which %zu have a "
                       "folder",
                       where, json_object_size(m->classes), found);
    else if (rc == 0 && !found)
        rc = bang_fail(err, BANG_EDATA, "%.300s: objectnet_to_imagenet_1k.json names no class",
                       where);
    bang_text_release(&message);
    bang_names_release(&folders);
    return rc;
}

int bang_class_map_objectnet(bang_class_map *map, const bang_outputs *outputs, const char *mappings,
                             bang_error *err)
{
    files m = {.outputs = outputs};
    int rc = read_object(&m.labels, mappings, "folder_to_objectnet_label.json", err);
    if (rc == 0)
        rc = read_object(&m.classes, mappings, "objectnet_to_imagenet_1k.json", err);
    if (rc == 0)
        rc = read_object(&m.ranks, mappings, "pytorch_to_imagenet_2012_id.json", err);
    if (rc == 0)
        rc = read_lines(&m, mappings, err);
    if (rc == 0)
        rc = turn_ranks(&m, mappings, err);
    if (rc == 0)
        rc = add_classes(map, &m, mappings, err);
    json_decref(m.labels);
    json_decref(m.classes);
    json_decref(m.ranks);
    json_decref(m.lines);
    free(m.rank_of);
    return rc;
}
