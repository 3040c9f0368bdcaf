#include "data/class_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/json.h"

void bang_class_map_release(bang_class_map *map)
{
    for (size_t i = 0; map->folders && i < map->classes; i++)
        free(map->folders[i]);
    free(map->folders);
    free(map->first);
    free(map->output);
    free(map->name);
    *map = (bang_class_map){0};
}

int bang_class_map_add(bang_class_map *map, const char *folder, const uint32_t *outputs,
                       size_t count, bang_error *err)
{
    size_t used = map->classes ? map->first[map->classes] : 0;
    if (count > UINT32_MAX - used)
        return bang_fail(err, BANG_EDATA, "%.200s: too many outputs", folder);
    char **folders = realloc(map->folders, (map->classes + 1) * sizeof *folders);
    map->folders = folders ? folders : map->folders;
    uint32_t *first = folders ? realloc(map->first, (map->classes + 2) * sizeof *first) : NULL;
    map->first = first ? first : map->first;
    uint32_t *output = first ? realloc(map->output, (used + count + 1) * sizeof *output) : NULL;
    map->output = output ? output : map->output;
    char *name = output ? strdup(folder) : NULL;
    if (!name)
        return bang_fail_memory(err);
    map->folders[map->classes] = name;
    map->first[map->classes] = (uint32_t)used;
    map->first[++map->classes] = (uint32_t)(used + count);
    if (count)
        memcpy(map->output + used, outputs, count * sizeof *outputs);
    return 0;
}

/* A whole number of an object, from 0 to most; what is wrong goes to problems. */
static size_t take_number(const json_t *from, const char *key, size_t least, size_t most,
                          bang_text *problems)
{
    const json_t *value = json_object_get(from, key);
    if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)least ||
        json_integer_value(value) > (json_int_t)most) {
        bang_text_add(problems, "; \"%s\": must be a whole number from %zu to %zu", key, least,
                      most);
        return 0;
    }
    return (size_t)json_integer_value(value);
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The numbers of one class into list, and sorted; 0 if one is wrong or there twice. */
static int take_outputs(uint32_t *list, uint32_t *sorted, const json_t *outputs, size_t most)
{
    size_t count = json_array_size(outputs);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(outputs, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) >= (json_int_t)most)
            return 0;
        list[i] = sorted[i] = (uint32_t)json_integer_value(value);
    }
    qsort(sorted, count, sizeof *sorted, by_number);
    for (size_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            return 0;
    return 1;
}

static int take_class(bang_class_map *map, size_t number, const json_t *entry, json_t *seen,
                      bang_text *problems, bang_error *err)
{
    const char *folder = json_string_value(json_object_get(entry, "folder"));
    const json_t *outputs = json_object_get(entry, "outputs");
    if (!folder || !*folder) {
        bang_text_add(problems, "; class %zu: \"folder\": must be a name", number);
        return 0;
    }
    if (json_object_get(seen, folder))
        bang_text_add(problems, "; class %zu: %.80s is there twice", number, folder);
    json_object_set_new(seen, folder, json_true());
    size_t count = json_array_size(outputs);
    uint32_t *list = calloc(2 * count + 1, sizeof *list);
    if (!list)
        return bang_fail_memory(err);
    int rc = 0;
    if (count == 0 || !take_outputs(list, list + count, outputs, map->outputs))
        bang_text_add(problems,
                      "; class %zu, %.80s: \"outputs\": must be different numbers below "
                      "%zu",
                      number, folder, map->outputs);
    else
        rc = bang_class_map_add(map, folder, list, count, err);
    free(list);
    return rc;
}

static int take_map(bang_class_map *map, const json_t *root, bang_text *problems, bang_error *err)
{
    static const char *const known[] = {"name", "outputs", "images", "border", "classes"};
    const char *key;
    const json_t *value;
    if (!json_is_object(root)) {
        bang_text_add(problems, "; must be an object");
        return 0;
    }
    json_object_foreach((json_t *)root, key, value)
    {
        size_t k = 0;
        while (k < 5 && strcmp(key, known[k]) != 0)
            k++;
        if (k == 5)
            bang_text_add(problems, "; \"%.40s\": unknown", key);
    }
    const char *name = json_string_value(json_object_get(root, "name"));
    if (!name)
        bang_text_add(problems, "; \"name\": must be a text");
    map->name = strdup(name ? name : "");
    map->outputs = take_number(root, "outputs", 1, 1 << 24, problems);
    map->images = take_number(root, "images", 0, (size_t)1 << 40, problems);
    map->border = take_number(root, "border", 0, 1 << 15, problems);
    const json_t *classes = json_object_get(root, "classes");
    if (json_array_size(classes) == 0)
        bang_text_add(problems, "; \"classes\": must be a list that holds something");
    json_t *seen = json_object();
    int rc = map->name && seen ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && map->outputs && i < json_array_size(classes); i++)
        rc = take_class(map, i, json_array_get(classes, i), seen, problems, err);
    json_decref(seen);
    return rc;
}

int bang_class_map_parse(bang_class_map *out, const char *text, size_t size, const char *name,
                         bang_error *err)
{
    json_t *root = NULL;
    bang_text problems = {0};
    bang_error why = {0};
    int rc;
    *out = (bang_class_map){0};
    if (bang_json_parse(&root, text, size, &why) < 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s: %s", name, why.message);
    else
        rc = take_map(out, root, &problems, err);
    if (rc == 0 && problems.failed)
        rc = bang_fail_memory(err);
    else if (rc == 0 && problems.size)
        rc = bang_fail(err, BANG_EDATA, "%.300s: %s", name, problems.data + 2);
    bang_text_release(&problems);
    json_decref(root);
    if (rc < 0)
        bang_class_map_release(out);
    return rc;
}

int bang_class_map_load(bang_class_map *out, const char *path, bang_error *err)
{
    char *text;
    size_t size;
    *out = (bang_class_map){0};
    int rc = bang_file_read(&text, &size, path, err);
    if (rc < 0)
        return rc;
    rc = bang_class_map_parse(out, text, size, path, err);
    free(text);
    return rc;
}

/* One class a line: such a file is looked at, and compared. */
int bang_class_map_save(const bang_class_map *map, const char *path, bang_error *err)
{
    bang_text text = {0};
    json_t *name = json_string(map->name);
    char *quoted = name ? bang_json_text(name, JSON_ENCODE_ANY) : NULL;
    bang_text_add(&text, "{\"name\": %s, \"outputs\": %zu, \"images\": %zu, \"border\": %zu,\n",
                  quoted ? quoted : "\"\"", map->outputs, map->images, map->border);
    bang_text_add(&text, " \"classes\": [");
    int failed = !quoted;
    for (size_t i = 0; i < map->classes && !failed; i++) {
        json_t *folder = json_string(map->folders[i]);
        char *line = folder ? bang_json_text(folder, JSON_ENCODE_ANY) : NULL;
        failed = !line;
        bang_text_add(&text, "%s\n  {\"folder\": %s, \"outputs\": [", i ? "," : "",
                      line ? line : "");
        for (uint32_t k = map->first[i]; k < map->first[i + 1]; k++)
            bang_text_add(&text, "%s%u", k > map->first[i] ? ", " : "", map->output[k]);
        bang_text_add(&text, "]}");
        free(line);
        json_decref(folder);
    }
    bang_text_add(&text, "\n ]}\n");
    free(quoted);
    json_decref(name);
    int rc = failed ? bang_fail(err, BANG_EDATA, "%.300s: a name is not UTF-8, or no memory", path)
             : text.failed ? bang_fail_memory(err)
                           : bang_file_put(path, text.data, text.size, err);
    bang_text_release(&text);
    return rc;
}

void bang_class_map_scores(float *scores, const float *logits, size_t count,
                           const bang_class_map *map)
{
    for (size_t n = 0; n < count; n++, logits += map->outputs, scores += map->classes)
        for (size_t c = 0; c < map->classes; c++) {
            float best = logits[map->output[map->first[c]]];
            for (uint32_t k = map->first[c] + 1; k < map->first[c + 1]; k++)
                best = logits[map->output[k]] > best ? logits[map->output[k]] : best;
            scores[c] = best;
        }
}
