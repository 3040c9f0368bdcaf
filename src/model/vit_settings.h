/* What shapes do not tell of a transformer: from the layout, a config beside the
 * weights, the file's own metadata, and the user, who knows best. Private to this room. */
#ifndef BANG_MODEL_VIT_SETTINGS_H
#define BANG_MODEL_VIT_SETTINGS_H

#include "bang/base/text.h"
#include "bang/model/vit_file.h"

/* Of one tower; 0 or -1: nobody says. */
typedef struct tower_settings {
    size_t heads, head_width;
    int gelu;
    double epsilon;
} tower_settings;

typedef struct vit_settings {
    tower_settings image, text;
    int unit_features;
    float mean[3], std[3];
    json_t *classes; /* list of strings, or NULL; owned */
    json_t *labels;  /* the same from a config: counts if there are as many as outputs */
} vit_settings;

/* What is wrong with a config or the metadata is a line of problems. The caller
 * releases it. */
void bang_vit_settings_read(vit_settings *out, const bang_checkpoint *checkpoint,
                            bang_vit_names names, const bang_vit_hints *hints, bang_text *problems);
void bang_vit_settings_release(vit_settings *settings);

/* Heads of a tower of that width: as somebody said, or as such towers have them; if
 * that cannot be, a line of problems that names the option to say it with. */
size_t bang_vit_settings_heads(const tower_settings *tower, size_t width, int is_text,
                               bang_text *problems);

/* The names under "classes" of the metadata, owned by the caller, if they are strings;
 * else NULL or a line of problems. */
json_t *bang_vit_classes(const json_t *metadata, bang_text *problems);

/* The key of the metadata. */
extern const char bang_vit_key[];

#endif
