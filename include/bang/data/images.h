/* A set of pictures with labels: where they are, not yet their pixels.
 *
 *     bang_images set;
 *     bang_images_open(&set, "imagenet/val", &err);
 *     set.paths[0], set.labels[0], set.class_names[set.labels[0]]
 *     bang_images_release(&set);
 *
 * A source is
 *     DIR        of class folders: classes sorted by name (bytes), in each the pictures
 *                (.jpg .jpeg .png .webp in any case), first its own by name, then those of
 *                the folders below, folder by folder in the order of their paths: the order
 *                of torchvision's ImageFolder. Links are followed, names with a dot at their
 *                front passed over, class folders without pictures refused
 *     DIR        of pictures and no folders: pictures without labels
 *     DIR        with images.npy and, unless labels are not known, labels.npy, as bang_dataset
 *     FILE.csv   by RFC 4180, with a header: "path" (or image, file, filename), relative to
 *                the CSV's folder, and "label" (or class; without it labels are not known):
 *                all whole numbers, or names, then classes are the names sorted. All files
 *                must be there
 *     FILE.jpg   a single picture without a label; several sources of this kind make one set
 *     NAME       mnist, fashion-mnist, multicolor, ... as bang_dataset
 */
#ifndef BANG_DATA_IMAGES_H
#define BANG_DATA_IMAGES_H

#include "bang/base/digest.h"
#include "bang/data/dataset.h"

typedef struct bang_images {
    size_t count;
    int64_t *labels; /* (count) 0 .. classes-1, or -1: not known */
    size_t classes;
    char *
        *class_names; /* (classes) folder names, names of the CSV or the data set; NULL: numbers */
    char **paths;     /* (count), or NULL: the pixels are in memory */
    bang_dataset memory; /* where paths is NULL */
    size_t passed_over;  /* files in class folders that are no pictures by their name */
} bang_images;

/* The caller releases it. */
int bang_images_open(bang_images *out, const char *source, bang_error *err);
/* Several single pictures as one set, or one source of any kind. */
int bang_images_open_all(bang_images *out, const char *const *sources, size_t count,
                         bang_error *err);
void bang_images_release(bang_images *set);

/* Of labels, names of classes, and names of files without their folders: those may move. Of what
 * is in memory, of the pixels. */
int bang_images_digest(char out[BANG_DIGEST_TEXT], const bang_images *set, bang_error *err);
/* Of the sizes of the files, which tell copies of a set apart for a look at each; one that is not
 * there has none. */
int bang_images_digest_sizes(char out[BANG_DIGEST_TEXT], const bang_images *set, bang_error *err);

#endif
