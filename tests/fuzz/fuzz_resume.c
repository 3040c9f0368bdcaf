/* The whole file of a state, whatever it holds: the numbers of that training, or an error with
 * a reason on one line. */
#include "files.h"
#include "train/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bang_train_options options = BANG_TRAIN_OPTIONS_INIT;
    float weights[4] = {0};
    uint64_t step = 0;
    bang_error err = {0};
    train_saver saver;
    prepare_folder();
    put("state", data, size);
    bang_train_state how = {.path = place("state"), .resume = 1, .seconds = 1};
    if (train_saver_init(&saver, &how, NULL, train_about(&options), &err) < 0)
        abort();
    train_saver_add(&saver, "weights", BANG_F32, 4, weights);
    train_saver_add(&saver, "step", BANG_U64, 1, &step);
    int rc = train_saver_load(&saver, &err);
    if (rc == 1)
        rc = train_saver_accept(&saver, step, 10, 1, &err);
    if (rc < 0 && (err.code >= 0 || !err.message[0] || strchr(err.message, '\n')))
        abort();
    train_saver_release(&saver);
    return 0;
}
