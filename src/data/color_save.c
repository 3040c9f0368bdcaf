#include <inttypes.h>
#include <stdlib.h>

#include "bang/base/file.h"
#include "bang/data/color.h"
#include "bang/data/sheet.h"
#include "bang/store/npy.h"
#include "data/save.h"

enum { CHUNK = 64 }; /* images that are rendered together: they stay in the cache */

/* Renders and writes piece by piece, so that no more than a chunk is held. */
static int save_images(const char *path, const bang_color_set *set, const bang_progress *progress,
                       bang_cancel *cancel, bang_error *err)
{
    const bang_array shape = {
        .dtype = BANG_U8,
        .rank = 4,
        .shape = {set->count, BANG_COLOR_SIDE, BANG_COLOR_SIDE, 3},
        .count = set->count * BANG_COLOR_PIXELS,
    };
    bang_text header = {0};
    bang_file *file = NULL;
    uint8_t *chunk = malloc((size_t)CHUNK * BANG_COLOR_PIXELS);
    int rc = chunk ? bang_npy_header(&header, &shape, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_file_begin(&file, path, err);
    if (rc == 0)
        bang_file_write(file, header.data, header.size);
    for (size_t i = 0; i < set->count && rc == 0; i += CHUNK) {
        size_t number = set->count - i < CHUNK ? set->count - i : CHUNK;
        bang_color_render(chunk, set, i, number);
        bang_file_write(file, chunk, number * BANG_COLOR_PIXELS);
        bang_progress_step(progress, i + number, set->count);
        if (bang_cancelled(cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "cancelled");
    }
    if (rc == 0)
        rc = bang_file_commit(file, err);
    else
        bang_file_discard(file);
    bang_text_release(&header);
    free(chunk);
    return rc;
}

static int save_labels(bang_array *labels, const char *path, const bang_color_set *set,
                       bang_error *err)
{
    int rc = bang_array_init(labels, BANG_I64, 1, &set->count, err);
    if (rc < 0)
        return rc;
    int64_t *to = labels->data;
    for (size_t i = 0; i < set->count; i++)
        to[i] = set->labels[i];
    return bang_npy_write(path, labels, err);
}

/* Only what the sheet shows is rendered. */
static int save_preview(const bang_save *save, const bang_color_set *set, const bang_array *labels,
                        bang_error *err)
{
    size_t index[BANG_SHEET_CLASSES * BANG_SHEET_SAMPLES];
    const int64_t *all = labels->data;
    size_t shape[4] = {bang_sheet_pick(index, all, set->count), BANG_COLOR_SIDE, BANG_COLOR_SIDE,
                       3};
    bang_dataset few = {.count = shape[0], .width = BANG_COLOR_PIXELS};
    int rc = bang_array_init(&few.inputs, BANG_U8, 4, shape, err);
    if (rc == 0)
        rc = bang_array_init(&few.labels, BANG_I64, 1, shape, err);
    if (rc == 0) {
        uint8_t *images = few.inputs.data;
        int64_t *to = few.labels.data;
        for (size_t i = 0; i < few.count; i++) {
            bang_color_render(images + i * BANG_COLOR_PIXELS, set, index[i], 1);
            to[i] = all[index[i]];
        }
        rc = bang_save_preview(save, &few, err);
    }
    bang_dataset_release(&few);
    return rc;
}

static int save_manifest(const bang_save *save, const bang_color_set *set, const bang_mnist *mnist,
                         const bang_color_options *options, bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_digest_file(digest, save->paths[BANG_SAVE_IMAGES], err);
    if (rc < 0)
        return rc;
    bang_text json = {0};
    bang_text_add(&json, "{\n  \"name\": \"%s\",\n  \"protocol\": \"%s\",\n  \"split\": \"%s\",\n",
                  options->single ? "singlecolor" : "multicolor",
                  bang_color_protocol_name(options->protocol), options->test ? "test" : "train");
    bang_text_add(&json, "  \"shift\": %.17g,\n  \"seed\": %" PRIu64 ",\n  \"count\": %zu,\n",
                  options->shift, options->seed, set->count);
    bang_text_add(&json, "  \"mnist\": \"%s\",\n  \"images\": \"%s\",\n  \"version\": \"%s\",\n",
                  mnist->digest, digest, BANG_VERSION);
    bang_text_add(&json, "  \"map\": [");
    for (int i = 0; i < (options->single ? 1 : BANG_COLOR_PATCHES); i++)
        for (int k = 0; k < BANG_COLOR_CLASSES; k++)
            bang_text_add(&json, "%s\"%s\"",
                          k   ? ", "
                          : i ? "],\n    ["
                              : "\n    [",
                          bang_color_names[set->map[i][k]]);
    bang_text_add(&json, "]\n  ]\n}\n");
    return bang_save_manifest(save, &json, err);
}

int bang_color_save(const char *folder, const bang_color_set *set, const bang_mnist *mnist,
                    const bang_color_options *options, const bang_progress *progress,
                    bang_cancel *cancel, bang_error *err)
{
    bang_save save;
    bang_array labels = {0};
    int rc = bang_save_begin(&save, folder, err);
    if (rc == 0)
        rc = save_images(save.paths[BANG_SAVE_IMAGES], set, progress, cancel, err);
    if (rc == 0)
        rc = save_labels(&labels, save.paths[BANG_SAVE_LABELS], set, err);
    if (rc == 0)
        rc = save_preview(&save, set, &labels, err);
    if (rc == 0)
        rc = save_manifest(&save, set, mnist, options, err);
    bang_save_release(&save);
    bang_array_release(&labels);
    return rc;
}
