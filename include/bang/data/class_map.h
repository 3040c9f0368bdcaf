/* Which outputs of a model stand for which class folders of a data set: how the
 * ImageNet family is scored. A small JSON file:
 *
 *     {"name": "imagenet-a", "outputs": 1000, "images": 7500, "border": 0,
 *      "classes": [{"folder": "n01498041", "outputs": [6]}, ...]}
 *
 * in the order of the labels, 0 .. classes-1. A picture's score for a class is the
 * largest of the logits of its outputs; arg max runs over the classes of the map
 * only; folders that it does not name are left out. "images" (0: not known) is how
 * many there should be; "border" how many pixels are cut from every edge.
 *
 *     bang_class_map map;
 *     bang_class_map_make(&map, BANG_IMAGENET_A, "imagenet/val", "imagenet-a", NULL, &err);
 *     bang_class_map_save(&map, "imagenet-a.json", &err);
 *
 * The rules: the 1000 outputs are the sorted wnid folders of ImageNet. A and R: folders are
 * wnids, 200 of them, labels by their order. Sketch and ImageNet itself: all 1000. V2:
 * the folder's name is the output's number, or all are wnids. ObjectNet: by the four files of its
 * mappings folder (folder_to_objectnet_label.json, objectnet_to_imagenet_1k.json,
 * imagenet_to_label_2012_v2, pytorch_to_imagenet_2012_id.json), 113 classes in the order
 * of their folders, border 2.
 */
#ifndef BANG_DATA_CLASS_MAP_H
#define BANG_DATA_CLASS_MAP_H

#include "bang/base/text.h"
#include "bang/data/images.h"

typedef enum bang_family {
    BANG_IMAGENET,
    BANG_IMAGENET_V2,
    BANG_IMAGENET_A,
    BANG_IMAGENET_R,
    BANG_IMAGENET_SKETCH,
    BANG_OBJECTNET,
} bang_family;

/* "imagenet", "imagenet-v2", "imagenet-a", "imagenet-r", "imagenet-sketch", "objectnet". */
int bang_family_find(bang_family *out, const char *name);
/* How many pictures and classes the published set has. */
void bang_family_sizes(bang_family family, size_t *images, size_t *classes);

typedef struct bang_class_map {
    char *name;
    size_t outputs; /* of the model */
    size_t images;  /* expected, 0: not known */
    size_t border;
    size_t classes;
    char **folders;   /* (classes) */
    uint32_t *first;  /* (classes + 1) where a class begins in output */
    uint32_t *output; /* (first[classes]) */
} bang_class_map;

/* classes: a folder of wnid folders, or a file with a wnid a line in the order of the model's
 * outputs (more columns are ignored); folder: the data set; mappings: ObjectNet's, else NULL. The
 * caller releases it. */
int bang_class_map_make(bang_class_map *out, bang_family family, const char *classes,
                        const char *folder, const char *mappings, bang_error *err);
int bang_class_map_load(bang_class_map *out, const char *path, bang_error *err);
int bang_class_map_save(const bang_class_map *map, const char *path, bang_error *err);
void bang_class_map_release(bang_class_map *map);

/* Leaves out pictures of folders that are not in the map and numbers the labels as the map
 * does. Adds a line to warnings for what is not as expected (missing folders, counts). */
int bang_class_map_apply(bang_images *set, const bang_class_map *map, bang_text *warnings,
                         bang_error *err);
/* scores (count, classes) from logits (count, outputs). */
void bang_class_map_scores(float *scores, const float *logits, size_t count,
                           const bang_class_map *map);

#endif
