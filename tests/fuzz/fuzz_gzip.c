/* Bytes that may be compressed: no more than asked for and than they can hold, or an error with
 * a reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/gzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 20 };
    char *text;
    size_t length;
    bang_error err = {0};
    if (bang_gzip_parse(&text, &length, data, size, "fuzz", MOST, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || text || length)
            abort();
        return 0;
    }
    int packed = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
    if (!text || text[length] || length > MOST || length > (packed ? 1032 * size : size))
        abort();
    free(text);
    return 0;
}
