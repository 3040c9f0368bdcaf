/* From one layout of a CLIP to another, without loss: which tensors the result
 * has and from which numbers of the checkpoint each is made, then one pass.
 *
 *     bang_conversion *plan;
 *     bang_conversion_plan(&plan, model, BANG_LAYOUT_CLIP_HF, NULL, &err);
 *     bang_conversion_retype(plan, BANG_BF16);               // if wanted
 *     ... bang_output_plan, bang_output_begin with bang_conversion_items(plan) ...
 *     bang_conversion_write(plan, output, &stream, &err);
 *     bang_conversion_free(plan);
 *
 * OpenAI's and open_clip's layout have q, k, v of a layer in one tensor and
 * project with x @ proj; Hugging Face's has them apart and its projections
 * transposed. Numbers are moved, never computed, so there and back gives the
 * same tensors, and the same bytes where the file was in the order that
 * bang_output_plan gives it. Of names:
 *   - wrappers (module., model., image_encoder.model.) are removed; open_clip's
 *     "text." before the text tower stays in that layout, is noted in the metadata
 *     under "bang.text_prefix" in the others, and comes back from that note;
 *   - position_ids, which older files of Hugging Face hold, are 0, 1, 2, ...: going
 *     away from that layout they are left out and noted in the metadata under
 *     "bang.position_ids", coming back they are made again from that note (formats
 *     without metadata, .pt and .npz, carry no notes);
 *   - what the layouts do not name (classification_head.weight, OpenAI's
 *     input_resolution, ...) is kept as it is.
 * One tower alone converts too, and may then lack its projection; a text tower
 * may lack all its layers, as wise-ft leaves it.
 */
#ifndef BANG_MODEL_CONVERSION_H
#define BANG_MODEL_CONVERSION_H

#include "bang/model/layout.h"
#include "bang/store/output.h"
#include "bang/store/stream.h"

enum { BANG_CONVERSION_PARTS = 3 };

typedef struct bang_conversion_tensor {
    const char *name;
    bang_dtype dtype; /* to write */
    int rank;
    const size_t *shape; /* (rank) */
    size_t part_count;   /* 0: the numbers 0, 1, 2, ... of position_ids */
    const bang_entry *parts[BANG_CONVERSION_PARTS]; /* one after the other along dimension 0 */
    uint64_t overflows; /* numbers that were finite and are not any more, after the write */
} bang_conversion_tensor;

typedef struct bang_conversion {
    bang_layout from, to; /* to BANG_LAYOUT_UNKNOWN: names stay */
    const bang_checkpoint *checkpoint;
    size_t count;
    bang_conversion_tensor *tensors; /* (count) in the order of what they are made from */
    json_t *metadata; /* for the result: the checkpoint's; {"format": "pt"} of a PyTorch
                       * file, which has none; or NULL */
    json_t *notes;    /* list of strings: what was removed, kept, made */
    struct bang_conversion_state *state;
} bang_conversion;

/* to: a layout of CLIP, or BANG_LAYOUT_UNKNOWN to keep all names. The checkpoint
 * must stay. What is missing, misshapen or there twice is all in one message, cut
 * where it is too long; problems (or NULL) gets a whole line for each. The caller
 * frees the plan. */
int bang_conversion_plan(bang_conversion **out, bang_checkpoint *checkpoint, bang_layout to,
                         bang_text *problems, bang_error *err);
/* Real numbers will be written as dtype, which is real too; others are copied. */
void bang_conversion_retype(bang_conversion *plan, bang_dtype dtype);
/* For bang_output_plan: one per tensor, in their order, owned by the plan. */
bang_output_item *bang_conversion_items(bang_conversion *plan);
/* Fills output, which was planned with these items and begun. Numbers are rounded
 * once, to nearest. */
int bang_conversion_write(bang_conversion *plan, bang_output *output, bang_stream *stream,
                          bang_error *err);
/* NULL is allowed. */
void bang_conversion_free(bang_conversion *plan);

#endif
