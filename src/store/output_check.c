/* What would keep outputs from being written, found before anything is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "store/output.h"

/* The nearest folder above path that exists; path becomes its name. */
static int stat_above(struct stat *status, char *path)
{
    for (;;) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            path[0] = slash ? '/' : '.';
            path[1] = '\0'; /* a path has two bytes at least */
            return stat(path, status);
        }
        *slash = '\0';
        if (stat(path, status) == 0)
            return 0;
    }
}

/* The folder in which a file is to be written must be there; that of an output which is
 * a folder is made. Leaves the nearest one that exists in path and status. */
static int check_folder(bang_text *problems, struct stat *status, char *path,
                        const bang_output *output)
{
    char *slash = strrchr(path, '/');
    struct stat folder = {0};
    int exists = 1;
    if (slash && slash != path) {
        *slash = '\0';
        exists = stat(path, &folder) == 0;
        *slash = '/';
    }
    if (stat_above(status, path) < 0)
        return -1; /* opening it will say why */
    if (!S_ISDIR(status->st_mode))
        bang_text_add(problems, "%.500s: what should be its folder is a file: name another\n",
                      output->path);
    else if (!exists && !output->folder)
        bang_text_add(problems, "%.500s: its folder does not exist: make it first\n", output->path);
    return 0;
}

/* No output may take the place of an input: a later run would not find it. */
static void check_inputs(bang_text *problems, const bang_output *output,
                         const bang_checkpoint *const *inputs, size_t count)
{
    const char *lost = NULL;
    for (size_t i = 0; i < count && !lost; i++)
        lost = bang_output_overwrites(output, inputs[i]);
    if (lost)
        bang_text_add(problems, "%.500s: is an input too: name another output\n", lost);
}

/* Room for all outputs that share a file system with output k, told for the last of them. */
static void check_space(bang_text *problems, bang_output *const *outputs, const struct stat *status,
                        size_t count, size_t k, const char *folder)
{
    uint64_t need = 0;
    bang_error why = {0};
    for (size_t i = 0; i < count; i++) {
        if (status[i].st_dev != status[k].st_dev)
            continue;
        if (i > k)
            return;
        need += bang_output_bytes(outputs[i]);
    }
    if (bang_file_room(bang_output_file_path(outputs[k], 0), folder, need, &why) < 0)
        bang_text_add(problems, "%s\n", why.message);
}

int bang_output_check(bang_text *problems, bang_output *const *outputs, size_t count,
                      const bang_checkpoint *const *inputs, size_t input_count, bang_error *err)
{
    struct stat *status = calloc(count + 1, sizeof *status);
    char(*folders)[4096] = calloc(count + 1, sizeof *folders);
    int code = status && folders ? 0 : bang_fail_memory(err);
    for (size_t k = 0; code == 0 && k < count; k++) {
        check_inputs(problems, outputs[k], inputs, input_count);
        snprintf(folders[k], sizeof *folders, "%s", bang_output_file_path(outputs[k], 0));
        if (check_folder(problems, &status[k], folders[k], outputs[k]) < 0)
            status[k] = (struct stat){0};
    }
    for (size_t k = 0; code == 0 && k < count; k++)
        check_space(problems, outputs, status, count, k, folders[k]);
    if (code == 0 && problems->failed)
        code = bang_fail_memory(err);
    free(status);
    free(folders);
    return code;
}
