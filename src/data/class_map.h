/* Making maps. */
#ifndef BANG_SRC_DATA_CLASS_MAP_H
#define BANG_SRC_DATA_CLASS_MAP_H

#include "bang/data/class_map.h"
#include "data/names.h"

/* The outputs of a model by the folder that each is for, and the same sorted. */
typedef struct bang_outputs {
    bang_names names;
    uint32_t *sorted; /* (names.count) outputs in the order of their names */
} bang_outputs;

/* Fills sorted from names. */
int bang_outputs_sort(bang_outputs *outputs, bang_error *err);
void bang_outputs_release(bang_outputs *outputs);
/* The output for that folder, or -1. */
int64_t bang_outputs_find(const bang_outputs *outputs, const char *folder);

/* The text of a file; name is for messages. */
int bang_class_map_parse(bang_class_map *out, const char *text, size_t size, const char *name,
                         bang_error *err);
/* Adds a class that stands for these outputs. */
int bang_class_map_add(bang_class_map *map, const char *folder, const uint32_t *outputs,
                       size_t count, bang_error *err);

/* ObjectNet's classes from its mappings. */
int bang_class_map_objectnet(bang_class_map *map, const bang_outputs *outputs, const char *mappings,
                             bang_error *err);

#endif
