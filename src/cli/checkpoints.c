#include "checkpoints.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"

int checkpoints_read(void *target, const char *value, bang_error *err)
{
    checkpoints *list = target;
    const char **paths = realloc((void *)list->paths, (list->count + 1) * sizeof *paths);
    if (!paths)
        return bang_fail_memory(err);
    list->paths = paths;
    paths[list->count++] = value;
    return 0;
}

int checkpoints_open(const cli *c, checkpoints *list)
{
    int failed = 0;
    list->items = calloc(list->count + 1, sizeof(void *));
    for (size_t i = 0; list->items && i < list->count; i++) {
        bang_error err = {0};
        if (bang_checkpoint_open(&list->items[i], list->paths[i], &err) < 0) {
            cli_fail(c, &err);
            failed = 1;
        }
    }
    return list->items && !failed ? 0 : -1;
}

void checkpoints_release(checkpoints *list)
{
    for (size_t i = 0; list->items && i < list->count; i++)
        bang_checkpoint_close(list->items[i]);
    free((void *)list->items);
    free((void *)list->paths);
    *list = (checkpoints){0};
}

void checkpoints_notes(const cli *c, const checkpoints *list)
{
    if (c->quiet || c->json)
        return;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < json_array_size(list->items[i]->notes); k++)
            cli_say("bang %s: note: %s: %s\n", c->command, list->paths[i],
                    json_string_value(json_array_get(list->items[i]->notes, k)));
}

int output_is_folder(const char *path, const bang_checkpoint *first)
{
    static const char *const formats[] = {".safetensors", ".json", ".pt", ".pth",
                                          ".bin",         ".npz",  ".npy"};
    struct stat status;
    size_t length = strlen(path);
    if (length > 0 && path[length - 1] == '/')
        return 1;
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (bang_text_ends_with(path, formats[i]))
            return 0;
    return first->is_folder;
}

/* Weights in any format, which are not copied. */
static int holds_weights(const char *name)
{
    static const char *const ends[] = {
        ".safetensors", ".bin",  ".pt",   ".pth", ".npz", ".h5",     ".msgpack", ".index.json",
        ".ckpt",        ".onnx", ".gguf", ".npy", ".ot",  ".tflite", ".pkl"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (bang_text_ends_with(name, ends[i]))
            return 1;
    return 0;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int output_copy_others(bang_output *output, const bang_checkpoint *c, bang_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int code = 0;
    if (!c->is_folder)
        return 0;
    DIR *dir = opendir(c->path);
    if (!dir)
        return bang_fail(err, BANG_EIO, "%s: %s", c->path, strerror(errno));
    for (struct dirent *entry = readdir(dir); entry && code == 0; entry = readdir(dir)) {
        struct stat status;
        if (entry->d_name[0] == '.' || holds_weights(entry->d_name))
            continue;
        char *path = bang_path_join(c->path, entry->d_name);
        char **more = realloc((void *)names, (count + 1) * sizeof *more);
        names = more ? more : names;
        if (!path || !more)
            code = bang_fail_memory(err);
        else if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
            names[count++] = path;
            path = NULL;
        }
        free(path);
    }
    closedir(dir);
    if (count > 0)
        qsort((void *)names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        if (code == 0)
            code = bang_output_copy(output, names[i], err);
        free(names[i]);
    }
    free((void *)names);
    return code;
}

const char *bytes_text(char out[32], double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 999.95 && unit < 4; unit++)
        bytes /= 1000;
    snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return out;
}

int dtype_read(void *target, const char *value, bang_error *err)
{
    static const struct {
        const char *name;
        int dtype;
    } known[] = {{"keep", -1}, {"f32", BANG_F32}, {"f16", BANG_F16}, {"bf16", BANG_BF16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(value, known[i].name) == 0) {
            *(int *)target = known[i].dtype;
            return 0;
        }
    }
    return bang_fail(err, BANG_EUSAGE, "unknown: choose keep, f32, f16 or bf16");
}

void print_lines(const cli *c, const char *kind, const char *lines)
{
    for (size_t size; *lines; lines += size + (lines[size] == '\n')) {
        size = strcspn(lines, "\n");
        cli_say("bang %s: %s%.*s\n", c->command, kind, (int)size, lines);
    }
}
