/* The lists and mappings of the ImageNet family: a map whose outputs are the model's, or an
 * error with a reason on one line. The parts of the input are the list of classes and
 * ObjectNet's four files. */
#include "bang/data/class_map.h"
#include "files.h"

static void try_family(bang_family family, const char *mappings)
{
    bang_class_map map;
    bang_error err = {0};
    if (bang_class_map_make(&map, family, place("classes"), place("set"), mappings, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n'))
            abort();
    } else {
        if (!map.classes || !map.outputs)
            abort();
        for (size_t c = 0; c < map.classes; c++)
            for (uint32_t k = map.first[c]; k < map.first[c + 1]; k++)
                if (map.output[k] >= map.outputs || !map.folders[c][0])
                    abort();
    }
    bang_class_map_release(&map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "classes", "folder_to_objectnet_label.json", "objectnet_to_imagenet_1k.json",
        "imagenet_to_label_2012_v2", "pytorch_to_imagenet_2012_id.json"};
    if (prepare_folder() && (bang_folder_create(place("set/n01"), NULL) < 0 ||
                             bang_folder_create(place("set/n02"), NULL) < 0))
        abort();
    for (int i = 0; i < 5; i++) {
        const uint8_t *part;
        size_t length = next_part(&data, &size, &part);
        put(names[i], part, length);
    }
    try_family(BANG_IMAGENET_A, NULL);
    try_family(BANG_IMAGENET_V2, NULL);
    try_family(BANG_OBJECTNET, folder);
    return 0;
}
