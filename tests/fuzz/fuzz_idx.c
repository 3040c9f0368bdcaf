/* An idx file, plain or compressed, becomes an array no larger than it can
 * hold or an error with a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_array array;
    bang_error err = {0};
    if (bang_idx_parse(&array, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || array.data)
            abort();
        return 0;
    }
    size_t most = size >= 2 && data[0] == 0x1f ? 1032 * size : size;
    if (!array.data || array.count * bang_dtype_size(array.dtype) > most)
        abort();
    bang_array_release(&array);
    return 0;
}
