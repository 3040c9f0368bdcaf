/* A file as torch.save writes it, whatever it holds, becomes tensors that lie
 * within it, or an error with a reason on one line. */
#include "checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return try_checkpoint(data, size);
}
