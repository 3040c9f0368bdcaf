/* A CSV of pictures, whatever it holds, becomes a list with labels that fit, or an error with a
 * reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const bang_images *set)
{
    if (set->count == 0 || !set->paths || !set->labels)
        abort();
    for (size_t i = 0; i < set->count; i++)
        if (!set->paths[i][0] || set->labels[i] < -1 ||
            (set->labels[i] < 0 ? set->classes != 0 : (size_t)set->labels[i] >= set->classes))
            abort();
    for (size_t i = 1; set->class_names && i < set->classes; i++)
        if (strcmp(set->class_names[i - 1], set->class_names[i]) >= 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_images set = {0};
    bang_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (bang_images_csv_parse(&set, text, size, "some/fuzz.csv", 0, &err) == 0)
        check(&set);
    else if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n'))
        abort();
    bang_images_release(&set);
    free(text);
    return 0;
}
