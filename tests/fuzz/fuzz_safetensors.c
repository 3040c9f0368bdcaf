/* A safetensors file becomes tensors that cover all its data, or an error with
 * a reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_tensors tensors;
    bang_error err = {0};
    if (bang_safetensors_parse(&tensors, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || tensors.items ||
            tensors.metadata)
            abort();
        return 0;
    }
    size_t header = 0, bytes = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | data[i];
    for (size_t i = 0; i < tensors.count; i++) {
        const bang_array *array = &tensors.items[i].array;
        bytes += array->count * bang_dtype_size(array->dtype);
        if (!array->data || bang_tensors_find(&tensors, tensors.items[i].name) != array)
            abort();
    }
    if (8 + header + bytes != size)
        abort();
    bang_tensors_release(&tensors);
    return 0;
}
