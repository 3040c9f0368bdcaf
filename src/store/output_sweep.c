/* What runs that were killed have left of outputs. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/output.h"

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* An output of this name may be written as name: itself; and, where that is safetensors, as one
 * file, an index, or shards, -I-of-N, of the same name. */
static int is_form_of(const char *own, const char *name)
{
    static const char one[] = ".safetensors", many[] = ".safetensors.index.json", of[] = "-of-";
    const char *end = bang_text_ends_with(own, many) ? many : one;
    if (!bang_text_ends_with(own, end))
        return strcmp(own, name) == 0;
    size_t length = strlen(own) - strlen(end);
    if (strncmp(name, own, length) != 0)
        return 0;
    const char *rest = name + length;
    if (strcmp(rest, one) == 0 || strcmp(rest, many) == 0)
        return 1;
    const char *middle = *rest == '-' ? skip_digits(rest + 1) : rest;
    return strncmp(middle, of, sizeof of - 1) == 0 &&
           strcmp(skip_digits(middle + sizeof of - 1), one) == 0;
}

static int could_write(const void *context, const char *name)
{
    const bang_output *output = context;
    for (size_t i = 0; i < output->file_count; i++)
        if (strcmp(name, last_name(output->files[i].path)) == 0)
            return 1;
    return is_form_of(last_name(output->index_path ? output->index_path : output->files[0].path),
                      name);
}

void bang_output_sweep(const bang_output *output)
{
    /* A run that was killed may have had other shards, or copied other files. */
    char *beside = output->folder ? NULL : bang_path_beside(output->files[0].path, ".");
    if (output->folder)
        bang_folder_sweep(output->path, NULL, NULL);
    else if (beside)
        bang_folder_sweep(beside, could_write, output);
    free(beside);
}

typedef struct family {
    const char *name; /* the last one of the pattern, without a slash at its end */
    size_t length;
    const char *mark;
} family;

/* The name with this number in the place of each mark. */
static void fill_in(bang_text *out, const family *f, const char *number, size_t length)
{
    const char *at = f->name, *end = at + f->length, *found;
    while ((found = strstr(at, f->mark)) && found < end) {
        bang_text_add_bytes(out, at, (size_t)(found - at));
        bang_text_add_bytes(out, number, length);
        at = found + strlen(f->mark);
    }
    bang_text_add_bytes(out, at, (size_t)(end - at));
}

/* Some number makes the pattern a name of which this is a form. */
static int is_like(const void *context, const char *name)
{
    const family *f = context;
    size_t before = (size_t)(strstr(f->name, f->mark) - f->name);
    const char *number = name + before;
    int is = 0;
    if (strncmp(name, f->name, before) != 0)
        return 0;
    size_t most = strspn(number, "0123456789.eE+-");
    for (size_t length = 1; length <= most && !is; length++) {
        bang_text own = {0};
        fill_in(&own, f, number, length);
        is = !own.failed && is_form_of(own.data, name);
        bang_text_release(&own);
    }
    return is;
}

/* Outputs that are folders. */
static void sweep_folders(const char *beside, const family *f)
{
    DIR *dir = opendir(beside);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        char *path = is_like(f, entry->d_name) ? bang_path_join(beside, entry->d_name) : NULL;
        if (path && lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
            bang_folder_sweep(path, NULL, NULL);
        free(path);
    }
    if (dir)
        closedir(dir);
}

void bang_output_sweep_like(const char *pattern, const char *mark)
{
    size_t end = strlen(pattern), begin;
    while (end > 1 && pattern[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && pattern[begin - 1] != '/';)
        begin--;
    family f = {pattern + begin, end - begin, mark};
    const char *found = strstr(f.name, mark);
    char *beside = begin ? strndup(pattern, begin) : strdup(".");
    if (beside && found && found < pattern + end) {
        bang_folder_sweep(beside, is_like, &f);
        sweep_folders(beside, &f);
    }
    free(beside);
}
