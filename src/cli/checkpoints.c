#include "checkpoints.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"

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
    if (!list->items)
        fprintf(stderr, "bang %s: out of memory\n", c->command);
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

void checkpoints_note_folders(const cli *c, const bang_checkpoint *from)
{
    struct dirent **entries = NULL;
    bang_text names = {0};
    int count = c->quiet || c->json || !from->is_folder
                    ? 0
                    : scandir(from->path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct stat status;
        const char *name = entries[i]->d_name;
        char *path = *name == '.' ? NULL : bang_path_join(from->path, name);
        if (path && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            bang_text_add(&names, "%s%s", names.size ? ", " : "", name);
        free(path);
        free(entries[i]);
    }
    free((void *)entries);
    if (names.size && !names.failed)
        cli_say("bang %s: note: %s: the folders in it are not copied: %s\n", c->command, from->path,
                names.data);
    bang_text_release(&names);
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
