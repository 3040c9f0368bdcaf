/* The three configs that may lie beside weights, whatever they hold: settings that a network
 * can have, or problems, a line each. */
#include <math.h>

#include "files.h"
#include "model/vit_settings.h"

static bang_checkpoint *weights;

static void prepare(void)
{
    static const char header[] = "{\"__metadata__\":{\"bang.vit\":\"{\\\"heads\\\":1}\"},"
                                 "\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    char bytes[sizeof header + 8] = {(char)(sizeof header - 1)};
    memcpy(bytes + 8, header, sizeof header - 1);
    if (prepare_folder())
        put("model.safetensors", bytes, 8 + sizeof header);
    if (bang_checkpoint_open(&weights, place("model.safetensors"), NULL) < 0)
        abort();
}

static void check_tower(const tower_settings *tower)
{
    if (tower->heads > 1000000 || tower->head_width > 1000000 ||
        !(tower->epsilon > 0 && tower->epsilon <= 1) || tower->gelu < 0 ||
        tower->gelu > BANG_GELU_TANH)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"config.json", "preprocessor_config.json",
                                        "open_clip_config.json"};
    vit_settings found;
    bang_text problems = {0};
    prepare();
    for (int i = 0; i < 3; i++) {
        const uint8_t *part;
        size_t length = next_part(&data, &size, &part);
        put(names[i], part, length);
    }
    bang_vit_settings_read(&found, weights, BANG_VIT_CLIP_HF, NULL, &problems);
    check_tower(&found.image);
    check_tower(&found.text);
    for (int i = 0; i < 3; i++)
        if (!isfinite(found.mean[i]) || !(found.std[i] > 0))
            abort();
    for (size_t i = 0; i < json_array_size(found.labels); i++)
        if (!json_is_string(json_array_get(found.labels, i)))
            abort();
    if (problems.size && problems.data[problems.size - 1] != '\n')
        abort();
    bang_vit_settings_release(&found);
    bang_text_release(&problems);
    bang_checkpoint_close(weights);
    return 0;
}
