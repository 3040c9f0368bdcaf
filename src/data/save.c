#include "data/save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/data/sheet.h"
#include "bang/store/png.h"

int bang_save_begin(bang_save *out, const char *folder, bang_error *err)
{
    static const char *const names[BANG_SAVE_FILES] = {"images.npy", "labels.npy", "preview.png",
                                                       "manifest.json"};
    int rc = 0;
    *out = (bang_save){0};
    for (int i = 0; i < BANG_SAVE_FILES && rc == 0; i++) {
        out->paths[i] = bang_path_join(folder, names[i]);
        rc = out->paths[i] ? 0 : bang_fail_memory(err);
    }
    if (rc == 0)
        rc = bang_folder_create(folder, err);
    /* an old one would speak of files that are not its own */
    const char *manifest = out->paths[BANG_SAVE_MANIFEST];
    if (rc == 0 && unlink(manifest) < 0 && errno != ENOENT)
        rc = bang_fail(err, BANG_EIO, "%s: %s: cannot be replaced", manifest, strerror(errno));
    return rc;
}

void bang_save_release(bang_save *save)
{
    for (int i = 0; i < BANG_SAVE_FILES; i++)
        free(save->paths[i]);
    *save = (bang_save){0};
}

int bang_save_preview(const bang_save *save, const bang_dataset *set, bang_error *err)
{
    bang_array sheet = {0};
    int rc = bang_sheet_make(&sheet, set, NULL, 1, err);
    if (rc == 0)
        rc = bang_png_write(save->paths[BANG_SAVE_PREVIEW], sheet.data, sheet.shape[1],
                            sheet.shape[0], 3, err);
    bang_array_release(&sheet);
    return rc;
}

int bang_save_manifest(const bang_save *save, bang_text *json, bang_error *err)
{
    int rc = json->failed
                 ? bang_fail_memory(err)
                 : bang_file_put(save->paths[BANG_SAVE_MANIFEST], json->data, json->size, err);
    bang_text_release(json);
    return rc;
}
