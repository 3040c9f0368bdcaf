/* The name of a data set with its settings: a set no larger than asked for, or an error with a
 * reason on one line. The digits are a few of our own. */
#include "bang/data/dataset.h"
#include "bang/store/idx.h"
#include "files.h"

enum { DIGITS = 40 };

static void write_digits(const char *name, int images)
{
    bang_array array;
    size_t shape[3] = {DIGITS, 28, 28};
    if (bang_array_init(&array, BANG_U8, images ? 3 : 1, shape, NULL) < 0)
        abort();
    uint8_t *bytes = array.data;
    for (size_t i = 0; i < array.count; i++)
        bytes[i] = (uint8_t)(images ? i % 251 : i % 10);
    if (bang_idx_write(place(name), &array, NULL) < 0)
        abort();
    bang_array_release(&array);
}

static void prepare(void)
{
    if (!prepare_folder())
        return;
    if (bang_folder_create(place("mnist"), NULL) < 0 ||
        bang_folder_create(place("fashion-mnist"), NULL) < 0 || setenv("BANG_CACHE", folder, 1) < 0)
        abort();
    write_digits("mnist/train-images-idx3-ubyte", 1);
    write_digits("mnist/train-labels-idx1-ubyte", 0);
    write_digits("mnist/t10k-images-idx3-ubyte", 1);
    write_digits("mnist/t10k-labels-idx1-ubyte", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "mnist:", "multicolor:", "singlecolor:", "shift:", "fashion-mnist:"};
    bang_dataset set = {0};
    bang_error err = {0};
    char *text = malloc(size + 32);
    prepare();
    if (!text || size == 0)
        return free(text), 0;
    /* no file is meant: the first byte says which set */
    size_t length = (size_t)snprintf(text, 32, "%s", names[data[0] % 5]);
    memcpy(text + length, data + 1, size - 1);
    text[length + size - 1] = '\0';
    if (!strchr(text, '/')) {
        if (bang_dataset_open(&set, text, &err) < 0) {
            if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n'))
                abort();
        } else if (set.count == 0 || set.labels.count != set.count || set.count > 100000) {
            abort();
        }
        bang_dataset_release(&set);
    }
    free(text);
    return 0;
}
