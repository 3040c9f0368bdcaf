/* Outputs that are folders: what lies in the folder of an input besides weights comes along. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/output.h"

int bang_output_is_folder(const char *path, const bang_checkpoint *first)
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

int bang_output_copy_others(bang_output *output, const bang_checkpoint *c, bang_error *err)
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
