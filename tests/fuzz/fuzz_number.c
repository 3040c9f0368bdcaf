/* A number that is taken must be finite and a plain decimal, and must be taken
 * again in its shortest form. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), again[64];
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    double value, back;
    if (bang_text_to_double(&value, text) == 0) {
        snprintf(again, sizeof again, "%.17g", value);
        if (!isfinite(value) || strspn(text, "0123456789.eE+-") != strlen(text) ||
            bang_text_to_double(&back, again) < 0 || back != value)
            abort();
    }
    int64_t whole, whole_back;
    if (bang_text_to_int64(&whole, text) == 0) {
        snprintf(again, sizeof again, "%lld", (long long)whole);
        if (strspn(text, "0123456789-") != strlen(text) ||
            bang_text_to_int64(&whole_back, again) < 0 || whole_back != whole)
            abort();
    }
    free(text);
    return 0;
}
