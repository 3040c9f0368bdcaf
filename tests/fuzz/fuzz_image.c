/* A picture, whatever it holds, becomes pixels of the size it says, or an error with a
 * reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_array picture;
    bang_error err = {0};
    if (bang_image_parse(&picture, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || picture.data)
            abort();
        return 0;
    }
    if (!picture.data || picture.dtype != BANG_U8 || picture.rank != 3 || picture.shape[2] != 3 ||
        picture.count == 0 || picture.count / 3 > BANG_IMAGE_PIXELS_MAX)
        abort();
    bang_array_release(&picture);
    return 0;
}
