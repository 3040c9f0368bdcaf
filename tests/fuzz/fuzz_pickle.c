/* A pickle, whatever it holds, becomes values in memory that its size bounds, or
 * an error with a reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_pickle pickle;
    bang_error err = {0};
    int code = bang_pickle_parse(&pickle, data, size, "fuzz", &err);
    if (code < 0 ? err.code >= 0 || !err.message[0] || strchr(err.message, '\n') != NULL
                 : !pickle.root || pickle.used > size || data[pickle.used - 1] != '.')
        abort();
    /* A byte makes one value at most (four stand for None, True, False and ()). */
    if (pickle.values > size + 4 || pickle.storages.list.count > size || pickle.call_count > size ||
        pickle.copied > size)
        abort();
    bang_pickle_release(&pickle);
    return 0;
}
