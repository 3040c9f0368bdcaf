#include "data/save.h"

#include <stdlib.h>

#include "bang/base/file.h"
#include "bang/data/sheet.h"
#include "bang/store/png.h"

/* Once the lock is held, what lies in the way is of a run that was killed. */
static int take_folder(bang_save *save, const char *folder, bang_error *err)
{
    char *path = bang_path_join(folder, ".bang-lock");
    int rc = path ? bang_folder_create(folder, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_lock_take(&save->lock, path, err);
    free(path);
    if (rc > 0)
        rc = bang_fail(err, BANG_EIO, "%s: another run is writing here: wait for its end", folder);
    if (rc == 0)
        rc = bang_folder_remove(save->fresh, err);
    return rc < 0 ? rc : bang_folder_create(save->fresh, err);
}

int bang_save_begin(bang_save *out, const char *folder, bang_error *err)
{
    static const char *const names[BANG_SAVE_FILES] = {"images.npy", "labels.npy", "preview.png",
                                                       "manifest.json"};
    *out = (bang_save){.fresh = bang_path_join(folder, ".new.bang-part")};
    int rc = out->fresh ? 0 : bang_fail_memory(err);
    for (int i = 0; i < BANG_SAVE_FILES && rc == 0; i++) {
        out->paths[i] = bang_path_join(out->fresh, names[i]);
        out->targets[i] = bang_path_join(folder, names[i]);
        rc = out->paths[i] && out->targets[i] ? 0 : bang_fail_memory(err);
    }
    return rc < 0 ? rc : take_folder(out, folder, err);
}

void bang_save_release(bang_save *save)
{
    if (save->lock)
        bang_folder_remove(save->fresh, NULL); /* what stays, the next run removes */
    bang_lock_give(save->lock);
    for (int i = 0; i < BANG_SAVE_FILES; i++) {
        free(save->paths[i]);
        free(save->targets[i]);
    }
    free(save->fresh);
    *save = (bang_save){0};
}

/* The old manifest and the old labels go first, the new ones come last: no moment has images
 * beside labels that are not their own, and images alone are no data to train with. */
static int publish(const bang_save *save, bang_error *err)
{
    static const int going[] = {BANG_SAVE_MANIFEST, BANG_SAVE_LABELS};
    static const int coming[BANG_SAVE_FILES] = {BANG_SAVE_IMAGES, BANG_SAVE_PREVIEW,
                                                BANG_SAVE_LABELS, BANG_SAVE_MANIFEST};
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = bang_file_remove(save->targets[going[i]], err);
    for (int i = 0; i < BANG_SAVE_FILES && rc == 0; i++)
        rc = bang_file_move(save->paths[coming[i]], save->targets[coming[i]], err);
    return rc;
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
    return rc < 0 ? rc : publish(save, err);
}
