/* Lists of outputs, with names and without: different outputs of the model, or an error of one
 * line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/measure/subset.h"

enum { OUTPUTS = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, const bang_output_names *names)
{
    bang_class_outputs found;
    bang_error err = {0};
    int seen[OUTPUTS] = {0};
    if (bang_class_outputs_parse(&found, text, names, OUTPUTS, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || found.classes)
            abort();
        return;
    }
    if (found.classes == 0 || found.classes > OUTPUTS || found.first[0] != 0)
        abort();
    for (size_t i = 0; i < found.classes; i++)
        if (found.first[i + 1] != i + 1 || found.output[i] >= OUTPUTS ||
            seen[found.output[i]]++ > 0)
            abort();
    bang_class_outputs_release(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[OUTPUTS] = {"n00", "n02", "x", "3",  "4", "1-2",
                                              "a",   "b",   "c", "dd", "e", "f"};
    static const char *const people[OUTPUTS] = {
        "cat", "dog", "great white shark", "x", "5", "e, f", "a", "ab", "c", "d", "99", "n 0"};
    static const bang_output_names names = {OUTPUTS, keys, people};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0'; /* what is behind a 0 is not read */
    check(text, NULL);
    check(text, &names);
    free(text);
    return 0;
}
