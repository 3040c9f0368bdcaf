/* The layout of any checkpoint is guessed and described, and its conversion to each layout
 * planned: tensors whose parts together have their numbers, or an error with a reason on one
 * line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/conversion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tensor(const bang_conversion_tensor *tensor)
{
    uint64_t wanted = 1, given = 0;
    if (!tensor->name || tensor->rank < 0 || tensor->rank > BANG_RANK_MAX ||
        tensor->part_count > BANG_CONVERSION_PARTS)
        abort();
    for (int i = 0; i < tensor->rank; i++)
        wanted *= tensor->shape[i];
    for (size_t i = 0; i < tensor->part_count; i++)
        given += bang_entry_count(tensor->parts[i]);
    if (tensor->part_count && given != wanted)
        abort();
}

static void try_layout(bang_checkpoint *c, bang_layout to)
{
    bang_conversion *plan;
    bang_text problems = {0};
    bang_error err = {0};
    if (bang_conversion_plan(&plan, c, to, &problems, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || plan)
            abort();
    } else {
        for (size_t i = 0; i < plan->count; i++)
            check_tensor(&plan->tensors[i]);
        bang_conversion_free(plan);
    }
    bang_text_release(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_checkpoint *c;
    bang_text about = {0};
    bang_error err = {0};
    if (bang_checkpoint_parse(&c, data, size, "fuzz", &err) < 0)
        return 0;
    for (int layout = 0; layout < BANG_LAYOUT_COUNT; layout++)
        bang_layout_describe(&about, c, (bang_layout)layout);
    if (about.failed || (unsigned)bang_layout_guess(c) >= BANG_LAYOUT_COUNT)
        abort();
    bang_text_release(&about);
    for (int layout = BANG_LAYOUT_UNKNOWN; layout <= BANG_LAYOUT_CLIP_OPEN_CLIP; layout++)
        try_layout(c, (bang_layout)layout);
    bang_checkpoint_close(c);
    return 0;
}
