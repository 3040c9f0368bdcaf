/* An index of shards:
 *
 *     {"metadata": {"total_size": 123},
 *      "weight_map": {"a.weight": "model-00001-of-00002.safetensors", ...}}
 *
 * The files lie beside it. What the index says and what the files hold must agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "store/checkpoint.h"

enum { INDEX_MOST = 100000000 }; /* bytes */

/* The name of a file in the same folder, nothing that leads elsewhere or that a
 * terminal would obey. */
static int is_plain_name(const char *name)
{
    for (const char *s = name; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return 0;
    return *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static int check_map(json_t *map, const char *index, bang_error *err)
{
    char shown[BANG_SHOWN], other[BANG_SHOWN];
    const char *name;
    json_t *value;
    if (!json_is_object(map))
        return bang_fail(err, BANG_EDATA,
                         "%s: has no weight_map: neither a checkpoint nor the index of one", index);
    json_object_foreach(map, name, value)
    {
        if (!json_is_string(value))
            return bang_fail(err, BANG_EDATA, "%s: weight_map: \"%s\" is given no file", index,
                             bang_bytes_show(shown, name));
        if (!is_plain_name(json_string_value(value)))
            return bang_fail(err, BANG_EDATA,
                             "%s: weight_map: \"%s\": \"%s\" is no file beside the index: refused",
                             index, bang_bytes_show(shown, name),
                             bang_bytes_show(other, json_string_value(value)));
    }
    return 0;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The files that the map names, each once, sorted; the caller frees the list. */
static int list_files(const char ***out, size_t *count, json_t *map, bang_error *err)
{
    const char *name;
    json_t *value;
    size_t named = 0;
    const char **files = calloc(json_object_size(map) + 1, sizeof *files);
    *out = files;
    *count = 0;
    if (!files)
        return bang_fail_memory(err);
    json_object_foreach(map, name, value) files[named++] = json_string_value(value);
    qsort((void *)files, named, sizeof *files, by_text);
    for (size_t i = 0; i < named; i++)
        if (i == 0 || strcmp(files[i], files[i - 1]) != 0)
            files[(*count)++] = files[i];
    return 0;
}

/* Every tensor of the files stands in the map under that file, and none is
 * missing. Takes from the map what was found. */
static int compare(const bang_checkpoint *c, json_t *map, const char *index, bang_error *err)
{
    char shown[BANG_SHOWN];
    for (size_t i = 0; i < c->count; i++) {
        const bang_entry *entry = &c->entries[i];
        const char *file = json_string_value(json_object_get(map, entry->name));
        if (!file || strcmp(file, c->files[entry->file].name) != 0)
            return bang_fail(err, BANG_EDATA,
                             "%s: tensor \"%s\" is in %s, but the index does not say so: they do "
                             "not belong together",
                             index, bang_bytes_show(shown, entry->name),
                             c->files[entry->file].name);
    }
    for (size_t i = 0; i < c->count; i++)
        json_object_del(map, c->entries[i].name);
    void *left = json_object_iter(map);
    if (left)
        return bang_fail(err, BANG_EDATA,
                         "%s: tensor \"%s\" is not in %s: a file is damaged or of another model",
                         index, bang_bytes_show(shown, json_object_iter_key(left)),
                         json_string_value(json_object_iter_value(left)));
    return 0;
}

/* What could not be opened, as many names as a message holds. */
struct missing {
    bang_text names;
    size_t count, shown;
    bang_error first;
};

static void add_missing(struct missing *missing, const char *name, const bang_error *why)
{
    enum { ROOM = 700 };
    char shown[BANG_SHOWN];
    if (missing->count++ == 0)
        missing->first = *why;
    if (missing->names.size > ROOM)
        return;
    bang_text_add(&missing->names, "%s%s", missing->shown++ ? ", " : "",
                  bang_bytes_show(shown, name));
}

static int fail_missing(const struct missing *missing, const char *index, bang_error *err)
{
    char more[64] = "";
    if (missing->count == 1 || missing->names.failed)
        return bang_fail(err, missing->first.code, "%s: %s", index, missing->first.message);
    if (missing->shown < missing->count)
        snprintf(more, sizeof more, " and %zu more", missing->count - missing->shown);
    return bang_fail(err, BANG_EIO, "%s: %zu of its files cannot be opened: %s%s", index,
                     missing->count, missing->names.data, more);
}

static int open_files(bang_checkpoint *c, json_t *map, const char *index, bang_error *err)
{
    const char **files = NULL;
    size_t count = 0, file = 0;
    struct missing missing = {0};
    const char *slash = strrchr(index, '/');
    size_t length = slash ? (size_t)(slash - index) + 1 : 0;
    int code = list_files(&files, &count, map, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        bang_text path = {0};
        bang_error why = {0};
        bang_text_add_bytes(&path, index, length);
        bang_text_add(&path, "%s", files[i]);
        if (path.failed)
            code = bang_fail_memory(err);
        else if (bang_checkpoint_add_path(c, &file, path.data, &why) < 0)
            add_missing(&missing, files[i], &why);
        else if (missing.count == 0)
            code = bang_open_file(c, file, err);
        bang_text_release(&path);
    }
    if (code == 0 && missing.count > 0)
        code = fail_missing(&missing, index, err);
    bang_text_release(&missing.names);
    free((void *)files);
    return code;
}

int bang_open_index(bang_checkpoint *c, const bang_source *source, bang_error *err)
{
    json_t *root = NULL;
    bang_error why = {0};
    if (source->size > INDEX_MOST)
        return bang_fail(err, BANG_EDATA, "%s: an index of %zu bytes: at most %d are read",
                         source->name, source->size, INDEX_MOST);
    char *text = malloc(source->size + 1);
    if (!text)
        return bang_fail_memory(err);
    int code = bang_source_read(source, text, 0, source->size, err);
    if (code == 0) {
        code = bang_json_parse_foreign(&root, text, source->size, &why);
        if (code < 0)
            bang_fail(err, code, "%s: %s%s", source->name,
                      code == BANG_EDATA ? "neither a checkpoint nor an index: " : "", why.message);
    }
    free(text);
    json_t *map = json_object_get(root, "weight_map");
    if (code == 0)
        code = check_map(map, source->name, err);
    if (code == 0 && source->descriptor < 0)
        code = bang_fail(err, BANG_EDATA, "%s: an index can only be read beside its files",
                         source->name);
    if (code == 0) {
        c->index = strdup(source->name);
        code = c->index ? open_files(c, map, source->name, err) : bang_fail_memory(err);
    }
    if (code == 0)
        code = compare(c, map, source->name, err);
    if (code == 0)
        c->format =
            strncmp(c->format, "pytorch", 7) == 0 ? "pytorch-sharded" : "safetensors-sharded";
    json_decref(root);
    return code;
}
