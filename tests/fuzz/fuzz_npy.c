/* An npy file, whatever it holds, becomes an array no larger than itself or an
 * error with a reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_array array, single;
    bang_error err = {0};
    if (bang_npy_parse(&array, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || array.data)
            abort();
        return 0;
    }
    if (!array.data || array.count * bang_dtype_size(array.dtype) > size)
        abort();
    if (bang_array_to_f32(&single, &array, &err) < 0 || single.count != array.count)
        abort();
    bang_array_release(&single);
    bang_array_release(&array);
    return 0;
}
