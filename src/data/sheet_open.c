#include <stdlib.h>
#include <string.h>

#include "bang/data/images.h"
#include "bang/data/sheet.h"
#include "bang/data/transform.h"
#include "bang/store/image.h"

/* The picked pictures as a set in memory. */
static int load(bang_dataset *out, const bang_images *set, const size_t *index, size_t count,
                bang_error *err)
{
    bang_transform how = BANG_TRANSFORM_INIT;
    how.size = 96;
    size_t sample = how.size * how.size * how.channels;
    int rc = bang_array_init(&out->inputs, BANG_U8, 4,
                             (size_t[]){count, how.size, how.size, how.channels}, err);
    if (rc == 0)
        rc = bang_array_init(&out->labels, BANG_I64, 1, &count, err);
    out->count = count;
    out->width = sample;
    out->classes = set->classes;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        bang_array picture;
        bang_error why = {0};
        rc = bang_image_read(&picture, set->paths[index[i]], err);
        if (rc < 0)
            break;
        rc = bang_transform_apply((uint8_t *)out->inputs.data + i * sample, &picture, &how, NULL,
                                  &why);
        if (rc < 0)
            bang_fail(err, rc, "%.600s: %s", set->paths[index[i]], why.message);
        ((int64_t *)out->labels.data)[i] = set->labels[index[i]];
        bang_array_release(&picture);
    }
    return rc;
}

int bang_sheet_open(bang_dataset *out, size_t *count, size_t *classes, const char *source,
                    bang_error *err)
{
    size_t index[BANG_SHEET_CLASSES * BANG_SHEET_SAMPLES];
    bang_images set;
    *out = (bang_dataset){0};
    int rc = bang_images_open(&set, source, err);
    if (rc < 0)
        return rc;
    *count = set.count;
    *classes = set.classes;
    if (set.paths) {
        rc = load(out, &set, index, bang_sheet_pick(index, set.labels, set.count), err);
        if (rc < 0)
            bang_dataset_release(out);
    } else {
        *out = set.memory;
        set.memory = (bang_dataset){0};
    }
    bang_images_release(&set);
    return rc;
}
