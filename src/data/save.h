/* A folder that a made data set is written to: images.npy, labels.npy, preview.png and, last,
 * manifest.json. All four are made in FOLDER/.new.bang-part and take their places together in
 * the end, so a run that fails has changed nothing; without a manifest, one was killed in that
 * last moment, and labels, if there are any, belong to the images. FOLDER/.bang-lock is held
 * meanwhile. */
#ifndef BANG_SRC_DATA_SAVE_H
#define BANG_SRC_DATA_SAVE_H

#include "bang/base/lock.h"
#include "bang/base/text.h"
#include "bang/data/dataset.h"

enum { BANG_SAVE_IMAGES, BANG_SAVE_LABELS, BANG_SAVE_PREVIEW, BANG_SAVE_MANIFEST, BANG_SAVE_FILES };

typedef struct bang_save {
    char *paths[BANG_SAVE_FILES]; /* where each is made */
    char *targets[BANG_SAVE_FILES];
    char *fresh; /* the folder of paths */
    bang_lock *lock;
} bang_save;

/* Makes the folder if need be. The caller releases out, also on failure. */
int bang_save_begin(bang_save *out, const char *folder, bang_error *err);
void bang_save_release(bang_save *save);

/* The contact sheet of a set, or of those of its images that a sheet shows. */
int bang_save_preview(const bang_save *save, const bang_dataset *set, bang_error *err);
/* Writes and releases json, the text of the manifest; then all files take their places. */
int bang_save_manifest(const bang_save *save, bang_text *json, bang_error *err);

#endif
