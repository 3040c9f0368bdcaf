/* Sets of pictures: a list that grows, and the sources that fill it. */
#ifndef BANG_SRC_DATA_IMAGES_H
#define BANG_SRC_DATA_IMAGES_H

#include "bang/base/text.h"
#include "bang/data/images.h"

typedef struct bang_images_list {
    bang_images *set;
    size_t capacity;
} bang_images_list;

/* Adds a picture; path is taken over, also on failure. */
int bang_images_add(bang_images_list *list, char *path, int64_t label, bang_error *err);
/* 1 if the name ends like that of a picture. */
int bang_images_named(const char *name);

/* A folder of class folders, or of pictures without classes. */
int bang_images_folder(bang_images *out, const char *folder, bang_error *err);
int bang_images_csv(bang_images *out, const char *path, bang_error *err);
/* The same from its text, which a 0 follows and which is changed; look: files must be there. */
int bang_images_csv_parse(bang_images *out, char *text, size_t size, const char *path, int look,
                          bang_error *err);

#endif
