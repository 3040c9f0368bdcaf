/* What reading and fetching MNIST and Fashion-MNIST share. Private to this room. */
#ifndef BANG_DATA_MNIST_PRIVATE_H
#define BANG_DATA_MNIST_PRIVATE_H

#include "bang/data/mnist.h"

enum { MNIST_FILES = 4, MNIST_SIDE = 28, MNIST_CLASSES = 10 };

/* The well-known files, in the order of bang_mnist_part. */
typedef struct mnist_file {
    const char *name;
    int rank;     /* 3: images, 1: labels */
    size_t count; /* of the original */
} mnist_file;
extern const mnist_file bang_mnist_files[MNIST_FILES];

/* A data set of this form. */
typedef struct mnist_kind {
    const char *name;                 /* also of its folder in the cache */
    const char *digests[MNIST_FILES]; /* of the original files */
    int packaged;                     /* 1: a package of the system has it, and npm has not */
    const char *remedy;               /* where it is not there */
} mnist_kind;
extern const mnist_kind bang_mnist_digits, bang_mnist_fashion;

/* Training images, training labels, test images, test labels; borrowed. */
bang_array *bang_mnist_part(bang_mnist *mnist, int index);

/* CACHE/NAME; the caller frees it. */
int bang_mnist_cached(char **out, const mnist_kind *kind, bang_error *err);
/* Where the package has it, there or not; NULL, which is no error, for a kind without one. The
 * caller frees it. */
int bang_mnist_packaged(char **out, const mnist_kind *kind, bang_error *err);
/* The folder that is read: the cache, or, where there is none, the package's if that is there.
 * The caller frees it. */
int bang_mnist_place(char **out, const mnist_kind *kind, bang_error *err);
/* 1 when folder holds the four files, or NAME.gz in place of NAME. */
int bang_mnist_holds(const char *folder);

/* The four files of folder, checked one by one and together, all problems in
 * one message. NAME.gz is taken where NAME is not there. The caller releases what is read. */
int bang_mnist_load(bang_mnist *out, const mnist_kind *kind, const char *folder, bang_error *err);

/* As bang_mnist_open and bang_mnist_get. */
int bang_mnist_open_kind(bang_mnist *out, const mnist_kind *kind, bang_error *err);
int bang_mnist_get_kind(const mnist_kind *kind, const char *from, bang_cancel *cancel,
                        bang_error *err);

#endif
