/* What an output takes the place of: files that a commit removes, and inputs that it
 * must not. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/output.h"

/* The index that will no longer hold: the one that is replaced, or in a folder the
 * one beside a single file. */
static const char *old_index(const bang_output *output)
{
    return output->index_path ? output->index_path : output->folder ? output->stale : NULL;
}

static int is_written(const bang_output *output, const char *path)
{
    for (size_t i = 0; i < output->file_count; i++)
        if (strcmp(output->files[i].path, path) == 0)
            return 1;
    return 0;
}

static int add(bang_output_old *old, char *path, bang_error *err)
{
    char **paths = path ? realloc((void *)old->paths, (old->count + 1) * sizeof *paths) : NULL;
    if (!paths) {
        free(path);
        return bang_fail_memory(err);
    }
    old->paths = paths;
    paths[old->count++] = path;
    return 0;
}

/* A shard that the old index names, beside it. */
static int add_shard(bang_output_old *old, const bang_output *output, const char *index,
                     const char *name, bang_error *err)
{
    const char *slash = strrchr(index, '/');
    if (!bang_text_ends_with(name, ".safetensors") || strchr(name, '/'))
        return 0;
    bang_text path = {0};
    bang_text_add_bytes(&path, index, slash ? (size_t)(slash - index) + 1 : 0);
    bang_text_add(&path, "%s", name);
    if (path.failed) {
        bang_text_release(&path);
        return bang_fail_memory(err);
    }
    int known = is_written(output, path.data);
    old->clash = old->clash || known;
    for (size_t i = 0; i < old->count && !known; i++)
        known = strcmp(old->paths[i], path.data) == 0;
    if (!known && access(path.data, F_OK) == 0)
        return add(old, path.data, err);
    bang_text_release(&path);
    return 0;
}

/* All shards of an index; one that cannot be read names none. */
static int add_shards(bang_output_old *old, const bang_output *output, const char *index,
                      bang_error *err)
{
    const char *name, *last = "";
    char *text = NULL;
    size_t size = 0;
    json_t *root = NULL, *value;
    bang_error none = {0};
    if (bang_file_read(&text, &size, index, &none) == 0)
        (void)bang_json_parse_foreign(&root, text, size, &none);
    int code = none.code == BANG_EMEMORY ? bang_fail_memory(err) : 0;
    json_object_foreach(json_object_get(root, "weight_map"), name, value)
    {
        const char *file = json_string_value(value);
        if (code < 0 || !file || strcmp(file, last) == 0) /* neighbours lie together */
            continue;
        code = add_shard(old, output, index, file, err);
        last = file;
    }
    json_decref(root);
    free(text);
    return code;
}

static int set_mark(bang_output_mark *mark, const char *path, bang_error *err)
{
    if (!path)
        return 0;
    mark->path = strdup(path);
    mark->note = bang_path_hidden(path, ".bang-old");
    return mark->path && mark->note ? 0 : bang_fail_memory(err);
}

int bang_output_find_old(bang_output_old *out, const bang_output *output, bang_error *err)
{
    const char *index = old_index(output), *single = NULL;
    *out = (bang_output_old){0};
    if (output->folder)
        single = output->index_path ? output->stale : output->files[0].path;
    int code = set_mark(&out->marks[0], index, err);
    if (code == 0)
        code = set_mark(&out->marks[1], single, err);
    /* In a folder the other form of what was there before would be taken for this. */
    if (code == 0 && output->folder)
        code = add(out, strdup(output->stale), err);
    if (code == 0 && index)
        code = add_shards(out, output, index, err);
    int clash = out->clash;
    out->left = out->count;
    if (code == 0 && index)
        code = add_shards(out, output, out->marks[0].note, err);
    out->clash = clash;
    return code;
}

void bang_output_release_old(bang_output_old *old)
{
    for (size_t i = 0; i < old->count; i++)
        free(old->paths[i]);
    free((void *)old->paths);
    for (size_t k = 0; k < BANG_OUTPUT_MARKS; k++) {
        free(old->marks[k].path);
        free(old->marks[k].note);
    }
    *old = (bang_output_old){0};
}

static int is_same(const char *path, const struct stat *output)
{
    struct stat input;
    return path && stat(path, &input) == 0 && input.st_dev == output->st_dev &&
           input.st_ino == output->st_ino;
}

/* What c was read from and path leads to, however the two are spelled; or NULL. */
static const char *find_input(const bang_checkpoint *c, const char *path)
{
    struct stat output;
    if (!path || stat(path, &output) < 0)
        return NULL;
    if (is_same(c->path, &output))
        return c->path;
    if (is_same(c->index, &output))
        return c->index;
    for (size_t i = 0; i < c->file_count; i++)
        if (is_same(c->files[i].path, &output))
            return c->files[i].path;
    return NULL;
}

const char *bang_output_overwrites(const bang_output *output, const bang_checkpoint *c)
{
    bang_output_old old;
    bang_error none = {0};
    const char *found = NULL;
    if (find_input(c, output->path))
        return output->path;
    for (size_t i = 0; i < bang_output_file_count(output); i++)
        if (find_input(c, bang_output_file_path(output, i)))
            return bang_output_file_path(output, i);
    (void)bang_output_find_old(&old, output, &none);
    for (size_t i = 0; i < old.count && !found; i++)
        found = find_input(c, old.paths[i]);
    bang_output_release_old(&old);
    return found;
}
