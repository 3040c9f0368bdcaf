/* A small MNIST for tests: made-up digits in the real format. */
#ifndef BANG_TESTS_MNIST_SMALL_H
#define BANG_TESTS_MNIST_SMALL_H

#include "testing.h"

#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/data/mnist.h"
#include "bang/store/idx.h"

enum { SMALL_TRAIN = 120, SMALL_TEST = 30 };

static inline uint8_t small_pixel(size_t image, size_t y, size_t x)
{
    return (uint8_t)(image * 31 + y * 28 + x * 5 + 1);
}

static inline void small_images(bang_array *out, size_t count)
{
    assert_int_equal(bang_array_init(out, BANG_U8, 3, (size_t[]){count, 28, 28}, NULL), 0);
    uint8_t *pixels = out->data;
    for (size_t i = 0; i < count * 784; i++)
        pixels[i] = small_pixel(i / 784, i % 784 / 28, i % 28);
}

static inline void small_labels(bang_array *out, size_t count)
{
    assert_int_equal(bang_array_init(out, BANG_U8, 1, &count, NULL), 0);
    uint8_t *labels = out->data;
    for (size_t i = 0; i < count; i++)
        labels[i] = (uint8_t)((i * 7 + i / 10) % 10);
}

/* train, test: how many digits. The caller releases it. */
static inline void small_mnist(bang_mnist *out, size_t train, size_t test)
{
    *out = (bang_mnist){0};
    small_images(&out->train_images, train);
    small_labels(&out->train_labels, train);
    small_images(&out->test_images, test);
    small_labels(&out->test_labels, test);
}

static inline void small_write(const char *folder, const bang_mnist *mnist)
{
    assert_int_equal(bang_folder_create(folder, NULL), 0);
    assert_int_equal(
        bang_idx_write(in_folder(folder, "train-images-idx3-ubyte"), &mnist->train_images, NULL),
        0);
    assert_int_equal(
        bang_idx_write(in_folder(folder, "train-labels-idx1-ubyte"), &mnist->train_labels, NULL),
        0);
    assert_int_equal(
        bang_idx_write(in_folder(folder, "t10k-images-idx3-ubyte"), &mnist->test_images, NULL), 0);
    assert_int_equal(
        bang_idx_write(in_folder(folder, "t10k-labels-idx1-ubyte"), &mnist->test_labels, NULL), 0);
}

/* A folder of its own with "from" holding the files; the cache is in it too. */
static inline int small_setup(void **state)
{
    if (make_folder(state) < 0 || setenv("BANG_CACHE", in_folder(*state, "cache"), 1) < 0)
        return -1;
    setenv("PATH", "/usr/bin:/bin", 1); /* whatever the test before made of it */
    setenv("BANG_DATASETS", in_folder(*state, "packages"), 1); /* whatever is installed here */
    bang_mnist mnist;
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    small_write(in_folder(*state, "from"), &mnist);
    bang_mnist_release(&mnist);
    return 0;
}

static inline int exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

#endif
