/* A perceptron from the bytes of any checkpoint: no larger than its file by more than its
 * padding and its type, or an error with a reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/mlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_mlp mlp;
    bang_error err = {0};
    if (bang_mlp_parse(&mlp, data, size, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n'))
            abort();
        return 0;
    }
    if (mlp.layers < 1 || mlp.layers > BANG_MLP_LAYERS_MAX || mlp.count > 16 * size)
        abort();
    for (int l = 0; l <= mlp.layers; l++)
        if (!mlp.width[l] || mlp.width[l] > size)
            abort();
    bang_mlp_release(&mlp);
    return 0;
}
