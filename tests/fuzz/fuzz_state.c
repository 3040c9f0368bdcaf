/* What a state says about its training is the same as what is asked for, or an error with a
 * reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "train/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bang_train_options options = BANG_TRAIN_OPTIONS_INIT;
    bang_error err = {0};
    json_t *about = train_about(&options), *old;
    char *text = malloc(size + 1);
    if (!about || !text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (train_about_accept(about, text, "fuzz", &err) == 0) {
        if (bang_json_parse(&old, text, strlen(text), &err) < 0 || !json_equal(old, about))
            abort();
        json_decref(old);
    } else if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n')) {
        abort();
    }
    json_decref(about);
    free(text);
    return 0;
}
