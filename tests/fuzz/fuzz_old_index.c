/* The index of a checkpoint that an output takes the place of names files to remove: only
 * shards in its own folder, whatever it says. */
#include "files.h"
#include "store/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_output output = {.folder = 1};
    bang_output_old old;
    bang_error err = {0};
    if (prepare_folder()) {
        if (bang_folder_create(place("out"), NULL) < 0)
            abort();
        put("out/1.safetensors", "x", 1);
        put("2.safetensors", "x", 1); /* outside */
    }
    put("out/model.safetensors.index.json", data, size);
    char stale[512], index[512];
    snprintf(index, sizeof index, "%s/out/model.safetensors.index.json", folder);
    snprintf(stale, sizeof stale, "%s/out/model.safetensors", folder);
    output.index_path = index;
    output.stale = stale;
    if (bang_output_find_old(&old, &output, &err) < 0)
        abort();
    size_t inside = strlen(place("out/"));
    for (size_t i = 0; i < old.count; i++)
        if (strncmp(old.paths[i], place("out/"), inside) != 0 || strchr(old.paths[i] + inside, '/'))
            abort();
    bang_output_release_old(&old);
    return 0;
}
