#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "data/images.h"
#include "data/names.h"

/* A folder on the way from the top to where we are, to notice links that lead back. */
typedef struct step {
    const struct step *above;
    dev_t device;
    ino_t node;
} step;

static int leads_back(const step *at)
{
    for (const step *s = at->above; s; s = s->above)
        if (s->device == at->device && s->node == at->node)
            return 1;
    return 0;
}

/* All folders from path down, unsorted, each with path at its front. */
static int find_folders(bang_names *out, const char *path, const step *above, bang_error *err)
{
    struct stat info;
    bang_names folders = {0}, files = {0};
    if (stat(path, &info) < 0)
        return bang_fail(err, BANG_EIO, "%.600s: %s", path, strerror(errno));
    step here = {above, info.st_dev, info.st_ino};
    if (leads_back(&here))
        return bang_fail(err, BANG_EDATA, "%.600s: is a link to a folder above it: remove it",
                         path);
    int rc = bang_names_add(out, strdup(path), err);
    if (rc == 0)
        rc = bang_names_list(&folders, &files, path, err);
    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        char *inner = bang_path_join(path, folders.list[i]);
        rc = inner ? find_folders(out, inner, &here, err) : bang_fail_memory(err);
        free(inner);
    }
    bang_names_release(&folders);
    bang_names_release(&files);
    return rc;
}

/* The pictures that lie in a folder itself. */
static int take_files(bang_images_list *list, const char *folder, const bang_names *files,
                      int64_t label, bang_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        if (bang_images_named(files->list[i]))
            rc = bang_images_add(list, bang_path_join(folder, files->list[i]), label, err);
        else
            list->set->passed_over++;
    }
    return rc;
}

/* A class: folders in the order of their paths, in each the pictures by name. */
static int take_class(bang_images_list *list, const char *path, int64_t label, bang_error *err)
{
    bang_names below = {0};
    int rc = find_folders(&below, path, NULL, err);
    bang_names_sort(&below);
    for (size_t i = 0; rc == 0 && i < below.count; i++) {
        bang_names folders = {0}, files = {0};
        rc = bang_names_list(&folders, &files, below.list[i], err);
        if (rc == 0)
            rc = take_files(list, below.list[i], &files, label, err);
        bang_names_release(&folders);
        bang_names_release(&files);
    }
    bang_names_release(&below);
    return rc;
}

static int take_classes(bang_images *out, const char *folder, const bang_names *classes,
                        bang_error *err)
{
    bang_images_list list = {.set = out};
    bang_some empty = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < classes->count; i++) {
        size_t before = out->count;
        char *path = bang_path_join(folder, classes->list[i]);
        rc = path ? take_class(&list, path, (int64_t)i, err) : bang_fail_memory(err);
        free(path);
        if (rc == 0 && out->count == before)
            bang_some_add(&empty, classes->list[i]);
    }
    bang_text message = {0};
    size_t count = empty.count;
    bang_some_end(&message, &empty);
    if (rc == 0 && count > 0)
        rc = bang_fail(err, BANG_EDATA,
                       "%.300s: class folder%s without pictures (.jpg .jpeg .png .webp): %s: fill "
                       "or remove %s",
                       folder, count == 1 ? "" : "s", message.data ? message.data : "",
                       count == 1 ? "it" : "them");
    bang_text_release(&message);
    return rc;
}

int bang_images_folder(bang_images *out, const char *folder, bang_error *err)
{
    bang_names classes = {0}, files = {0};
    int rc = bang_names_list(&classes, &files, folder, err);
    if (rc == 0 && classes.count > 0) {
        out->passed_over = files.count;
        rc = take_classes(out, folder, &classes, err);
        if (rc == 0) {
            out->classes = classes.count;
            out->class_names = classes.list;
            classes = (bang_names){0};
        }
    } else if (rc == 0) {
        rc = take_files(&(bang_images_list){.set = out}, folder, &files, -1, err);
        if (rc == 0 && out->count == 0)
            rc = bang_fail(err, BANG_EDATA,
                           "%.600s: holds neither class folders nor pictures nor images.npy",
                           folder);
    }
    bang_names_release(&classes);
    bang_names_release(&files);
    return rc;
}
