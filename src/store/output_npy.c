/* NumPy's files: one array, or a zip of them. */
#include <string.h>

#include "bang/store/npy.h"
#include "store/output_zip.h"

static int add_header(bang_text *out, const bang_output_item *item, const char *path,
                      bang_error *err)
{
    bang_array array = {.dtype = item->dtype, .rank = item->rank};
    bang_error why = {0};
    if (item->rank > BANG_RANK_MAX)
        return bang_fail(err, BANG_EUSAGE, "%s: tensor \"%.100s\" has too many dimensions", path,
                         item->name);
    if (item->rank > 0)
        memcpy(array.shape, item->shape, (size_t)item->rank * sizeof *item->shape);
    int code = bang_npy_header(out, &array, &why);
    return code < 0
               ? bang_fail(err, code, "%s: tensor \"%.100s\": %s", path, item->name, why.message)
               : 0;
}

int bang_output_plan_npy(bang_output *output, bang_error *err)
{
    if (output->item_count != 1)
        return bang_fail(err, BANG_EUSAGE,
                         "%s: an npy file holds one array, not %zu: end its name with .npz",
                         output->path, output->item_count);
    bang_output_file *file = bang_output_add_file(output, strdup(output->path));
    bang_span *span = file ? bang_output_add_span(file, 0) : NULL;
    if (!span)
        return bang_fail_memory(err);
    int code = add_header(&span->bytes, &output->items[0], output->path, err);
    if (code < 0)
        return code;
    output->items[0].file = 0;
    output->items[0].offset = span->bytes.size;
    file->size = span->bytes.size + output->items[0].bytes;
    return 0;
}

int bang_zip_npz_parts(bang_zip_parts *out, const bang_output *output, bang_error *err)
{
    for (size_t i = 0; i < output->item_count; i++) {
        const bang_output_item *item = &output->items[i];
        bang_zip_part *part = bang_zip_add_part(out);
        if (!part)
            return bang_fail_memory(err);
        part->item = item;
        bang_text_add(&part->name, "%s.npy", item->name);
        int code = add_header(&part->content, item, output->path, err);
        if (code < 0)
            return code;
        if (part->name.size > 0xffff - 64)
            return bang_fail(err, BANG_EUSAGE, "%s: tensor \"%.100s\": its name is too long",
                             output->path, item->name);
    }
    return 0;
}
