/* What reading and fetching MNIST share. Private to this room. */
#ifndef BANG_DATA_MNIST_PRIVATE_H
#define BANG_DATA_MNIST_PRIVATE_H

#include "bang/data/mnist.h"

enum { MNIST_FILES = 4, MNIST_SIDE = 28, MNIST_CLASSES = 10 };

/* The well-known files, in the order of bang_mnist_part. */
typedef struct mnist_file {
    const char *name;
    int rank;           /* 3: images, 1: labels */
    size_t count;       /* of the original */
    const char *digest; /* of the original */
} mnist_file;
extern const mnist_file bang_mnist_files[MNIST_FILES];

/* Training images, training labels, test images, test labels; borrowed. */
bang_array *bang_mnist_part(bang_mnist *mnist, int index);

/* CACHE/mnist; the caller frees it. */
/* The four files of folder, checked one by one and together, all problems in
 * one message. compressed: NAME.gz is taken where NAME is not there. The caller
 * releases what is read. */
int bang_mnist_load(bang_mnist *out, const char *folder, int compressed, bang_error *err);

/* Fills original and digest from the files (plain ones) of folder. */
int bang_mnist_identify(bang_mnist *mnist, const char *folder, bang_error *err);

#endif
