/* From a path to a checkpoint: what is there, and in which format. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "store/checkpoint.h"

/* What Git has in the place of a large file that was not fetched. */
static int is_pointer(const bang_source *source)
{
    static const char start[] = "version https://git-lfs";
    char bytes[sizeof start - 1];
    return source->size >= sizeof bytes &&
           bang_source_read(source, bytes, 0, sizeof bytes, NULL) == 0 &&
           memcmp(bytes, start, sizeof bytes) == 0;
}

int bang_open_file(bang_checkpoint *c, size_t file, bang_error *err)
{
    const bang_source *source = bang_checkpoint_source(c, file);
    if (is_pointer(source))
        return bang_fail(err, BANG_EDATA,
                         "%s: is a Git LFS pointer, not the file itself: run git lfs pull",
                         source->name);
    if (bang_is_zip(source))
        return bang_open_zip(c, file, err);
    if (bang_is_legacy_pytorch(source))
        return bang_open_legacy_pytorch(c, file, err);
    if (bang_is_npy(source))
        return bang_open_npy(c, file, err);
    return bang_open_safetensors(c, file, err);
}

/* An index is text that begins with '{'. A safetensors file may begin with that
 * byte too, or with a space, but the upper bytes of its header's length are 0. */
static int is_index(const bang_source *source)
{
    char start[9] = {0}; /* with a terminator */
    size_t size = source->size < sizeof start - 1 ? source->size : sizeof start - 1;
    if (size < 2 || bang_source_read(source, start, 0, size, NULL) < 0 || memchr(start, 0, size))
        return 0;
    size_t i = strspn(start, " \t\r\n");
    return i == size || start[i] == '{';
}

/* In this order; of each kind there must be one at most. */
static const char *const kinds[] = {
    ".safetensors.index.json", ".safetensors", ".bin.index.json", ".bin", ".pt", ".pth", ".npz"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int is_folder(const char *folder, const char *name)
{
    struct stat status;
    char *path = bang_path_join(folder, name);
    int yes = path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    free(path);
    return yes;
}

/* The first file of the best kind that is there; the caller frees *out. */
static int choose(char **out, const char *folder, struct dirent **entries, int count,
                  bang_error *err)
{
    const char *found[KINDS] = {0}, *second[KINDS] = {0};
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        int k = 0;
        while (k < KINDS && !bang_text_ends_with(name, kinds[k]))
            k++;
        if (k == KINDS || (found[k] && second[k]) || is_folder(folder, name))
            continue;
        *(found[k] ? &second[k] : &found[k]) = name;
    }
    int kind = 0;
    while (kind < KINDS && !found[kind])
        kind++;
    if (kind == KINDS)
        return bang_fail(err, BANG_EDATA, "%s: the folder holds no checkpoint: name a file",
                         folder);
    if (second[kind])
        return bang_fail(err, BANG_EDATA, "%s: holds %s and %s: name the one that is meant", folder,
                         found[kind], second[kind]);
    *out = bang_path_join(folder, found[kind]);
    return *out ? 0 : bang_fail_memory(err);
}

/* Which file of a folder is the checkpoint; the caller frees *out. */
static int find_in_folder(char **out, const char *folder, bang_error *err)
{
    static const char *const usual[] = {"model.safetensors.index.json", "model.safetensors",
                                        "pytorch_model.bin.index.json", "pytorch_model.bin"};
    struct stat status;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        *out = bang_path_join(folder, usual[i]);
        if (!*out)
            return bang_fail_memory(err);
        if (stat(*out, &status) == 0)
            return 0;
        free(*out);
        *out = NULL;
    }
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0)
        return bang_fail(err, BANG_EIO, "%s: %s", folder, strerror(errno));
    int code = choose(out, folder, entries, count, err);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free((void *)entries);
    return code;
}

/* Everything but a folder. Opened once only: a pipe can be read once. */
static int open_path(bang_checkpoint *c, const char *path, bang_error *err)
{
    bang_source source;
    size_t file = 0;
    int code = bang_source_open(&source, path, err);
    if (code < 0)
        return code;
    if (is_index(&source))
        code = bang_open_index(c, &source, err);
    else {
        code = bang_checkpoint_add_source(c, &file, path, &source, err);
        if (code == 0)
            code = bang_open_file(c, file, err);
    }
    bang_source_close(&source);
    return code;
}

int bang_checkpoint_open(bang_checkpoint **out, const char *path, bang_error *err)
{
    bang_checkpoint *c;
    struct stat status;
    char *inside = NULL;
    *out = NULL;
    int code = bang_checkpoint_new(&c, path, err);
    if (code < 0)
        return code;
    if (stat(path, &status) < 0)
        code = bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(status.st_mode)) {
        c->is_folder = 1;
        code = find_in_folder(&inside, path, err);
    }
    if (code == 0)
        code = open_path(c, inside ? inside : path, err);
    if (code == 0)
        code = bang_checkpoint_complete(c, err);
    free(inside);
    if (code == 0)
        *out = c;
    else
        bang_checkpoint_close(c);
    return code;
}

int bang_checkpoint_parse(bang_checkpoint **out, const void *data, size_t size, const char *name,
                          bang_error *err)
{
    bang_checkpoint *c;
    bang_source source;
    size_t file = 0;
    *out = NULL;
    bang_source_memory(&source, data, size, name);
    int code = bang_checkpoint_new(&c, name, err);
    if (code < 0)
        return code;
    if (is_index(&source))
        code = bang_open_index(c, &source, err);
    else {
        code = bang_checkpoint_add_memory(c, &file, data, size, name, err);
        if (code == 0)
            code = bang_open_file(c, file, err);
    }
    if (code == 0)
        code = bang_checkpoint_complete(c, err);
    if (code == 0)
        *out = c;
    else
        bang_checkpoint_close(c);
    return code;
}
