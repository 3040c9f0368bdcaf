#include <inttypes.h>

#include "bang/store/npy.h"
#include "data/save.h"
#include "data/shift.h"

static int save_manifest(const bang_save *save, size_t count, const bang_mnist *mnist,
                         const bang_shift_options *options, bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_digest_file(digest, save->paths[BANG_SAVE_IMAGES], err);
    if (rc < 0)
        return rc;
    bang_text json = {0};
    bang_text_add(&json, "{\n  \"name\": \"shift\",\n  \"kind\": \"%s\",\n  \"split\": \"%s\",\n",
                  bang_shift_names[options->kind], bang_shift_split_name(options->split));
    bang_text_add(&json, "  \"seed\": %" PRIu64 ",\n  \"count\": %zu,\n", options->seed, count);
    bang_text_add(&json, "  \"mnist\": \"%s\",\n  \"images\": \"%s\",\n  \"version\": \"%s\"\n}\n",
                  mnist->digest, digest, BANG_VERSION);
    return bang_save_manifest(save, &json, err);
}

int bang_shift_save(size_t *count, const char *folder, const bang_mnist *mnist,
                    const bang_shift_options *options, bang_error *err)
{
    bang_save save = {0};
    bang_dataset set = {.width = SHIFT_PIXELS, .classes = BANG_SHIFT_CLASSES};
    int rc = bang_shift_make(&set.inputs, &set.labels, mnist, options, err);
    set.count = rc == 0 ? set.labels.count : 0;
    if (rc == 0)
        rc = bang_save_begin(&save, folder, err);
    if (rc == 0)
        rc = bang_npy_write(save.paths[BANG_SAVE_IMAGES], &set.inputs, err);
    if (rc == 0)
        rc = bang_npy_write(save.paths[BANG_SAVE_LABELS], &set.labels, err);
    if (rc == 0)
        rc = bang_save_preview(&save, &set, err);
    if (rc == 0)
        rc = save_manifest(&save, set.count, mnist, options, err);
    if (count)
        *count = set.count;
    bang_save_release(&save);
    bang_dataset_release(&set);
    return rc;
}
