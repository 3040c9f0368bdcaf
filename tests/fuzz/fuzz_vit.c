/* A vision transformer and a text tower from the bytes of any checkpoint. What is
 * accepted is finite and has the sizes that it says; what is not is refused in one line. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/text.h"
#include "bang/model/vit_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const bang_vit_hints hints = {.heads = 1, .gelu = -1, .text_heads = 1};

static void check_error(const bang_error *err)
{
    if (err->code >= 0 || !err->message[0] || strchr(err->message, '\n'))
        abort();
}

static void try_image(bang_checkpoint *c, size_t size)
{
    bang_vit_model model;
    bang_error err = {0};
    if (bang_vit_model_read(&model, c, &hints, &err) < 0) {
        check_error(&err);
        return;
    }
    if (model.vit.map.count > 16 * size ||
        (model.class_count && model.class_count != model.vit.config.classes))
        abort();
    for (size_t i = 0; i < model.vit.map.count; i++)
        if (!isfinite(model.vit.parameters[i]))
            abort();
    bang_vit_model_release(&model);
}

static void try_text(bang_checkpoint *c, size_t size)
{
    bang_text_tower tower;
    bang_error err = {0};
    if (bang_text_tower_load(&tower, c, &hints, &err) < 0) {
        check_error(&err);
        return;
    }
    const bang_text_config *k = &tower.config;
    if (k->vocabulary * k->width > 16 * size || !isfinite(tower.logit_scale) ||
        !isfinite(tower.projection[k->projection * k->width - 1]))
        abort();
    bang_text_tower_release(&tower);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_checkpoint *c;
    bang_error err = {0};
    if (bang_checkpoint_parse(&c, data, size, "fuzz", &err) < 0)
        return 0;
    try_image(c, size);
    try_text(c, size);
    bang_checkpoint_close(c);
    return 0;
}
