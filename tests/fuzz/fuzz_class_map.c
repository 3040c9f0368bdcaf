/* A map of classes that is accepted has outputs below their number and scores what they score;
 * everything else is an error with a reason on one line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/class_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FEW = 4096 }; /* outputs that are scored */

static void check(const bang_class_map *map)
{
    if (!map->name || map->outputs == 0 || map->classes == 0)
        abort();
    for (size_t c = 0; c < map->classes; c++) {
        if (!map->folders[c][0] || map->first[c] >= map->first[c + 1])
            abort();
        for (uint32_t k = map->first[c]; k < map->first[c + 1]; k++)
            if (map->output[k] >= map->outputs)
                abort();
    }
    if (map->outputs > FEW)
        return;
    float *logits = calloc(map->outputs, sizeof *logits);
    float *scores = calloc(map->classes, sizeof *scores);
    for (size_t i = 0; logits && i < map->outputs; i++)
        logits[i] = (float)i;
    if (logits && scores) {
        bang_class_map_scores(scores, logits, 1, map);
        for (size_t c = 0; c < map->classes; c++)
            if (scores[c] < logits[map->output[map->first[c]]])
                abort();
    }
    free(logits);
    free(scores);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_class_map map;
    bang_error err = {0};
    if (bang_class_map_parse(&map, (const char *)data, size, "fuzz", &err) == 0)
        check(&map);
    else if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || map.folders)
        abort();
    bang_class_map_release(&map);
    return 0;
}
