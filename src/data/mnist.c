#include "bang/data/mnist.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/gzip.h"
#include "bang/store/idx.h"
#include "data/mnist.h"

const mnist_file bang_mnist_files[MNIST_FILES] = {
    {"train-images-idx3-ubyte", 3, 60000},
    {"train-labels-idx1-ubyte", 1, 60000},
    {"t10k-images-idx3-ubyte", 3, 10000},
    {"t10k-labels-idx1-ubyte", 1, 10000},
};

const mnist_kind bang_mnist_digits = {
    .name = "mnist",
    .digests = {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
    .remedy = "fetch it with bang data get mnist",
};

bang_array *bang_mnist_part(bang_mnist *mnist, int index)
{
    bang_array *parts[MNIST_FILES] = {&mnist->train_images, &mnist->train_labels,
                                      &mnist->test_images, &mnist->test_labels};
    return parts[index];
}

void bang_mnist_release(bang_mnist *mnist)
{
    for (int i = 0; i < MNIST_FILES; i++)
        bang_array_release(bang_mnist_part(mnist, i));
    *mnist = (bang_mnist){0};
}

int bang_mnist_cached(char **out, const mnist_kind *kind, bang_error *err)
{
    char *cache;
    *out = NULL;
    int rc = bang_cache_folder(&cache, err);
    if (rc < 0)
        return rc;
    *out = bang_path_join(cache, kind->name);
    free(cache);
    return *out ? 0 : bang_fail_memory(err);
}

static int is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static int is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int bang_mnist_place(char **out, const mnist_kind *kind, bang_error *err)
{
    char *packaged = NULL;
    int rc = bang_mnist_cached(out, kind, err);
    if (rc == 0 && !is_folder(*out))
        rc = bang_mnist_packaged(&packaged, kind, err);
    if (packaged && is_folder(packaged)) {
        free(*out);
        *out = packaged;
        return 0;
    }
    free(packaged);
    return rc;
}

/* folder/NAME, or folder/NAME.gz where only that one is there; the caller frees. NULL when
 * memory is out. */
static char *find_file(const char *folder, const char *name)
{
    char *plain = bang_path_join(folder, name);
    if (!plain || is_file(plain))
        return plain;
    bang_text path = {0};
    bang_text_add(&path, "%s.gz", plain);
    if (!path.failed && is_file(path.data)) {
        free(plain);
        return path.data;
    }
    bang_text_release(&path);
    return plain;
}

int bang_mnist_holds(const char *folder)
{
    int holds = 1;
    for (int i = 0; i < MNIST_FILES && holds; i++) {
        char *path = find_file(folder, bang_mnist_files[i].name);
        holds = path && is_file(path);
        free(path);
    }
    return holds;
}

/* What is wrong with the content of one file goes to problems. */
static void check_part(const bang_array *array, const mnist_file *file, bang_text *problems)
{
    char shape[80];
    bang_array_shape_text(shape, sizeof shape, array);
    if (array->dtype != BANG_U8)
        bang_text_add(problems, "; %s: holds numbers of type %s, must be U8", file->name,
                      bang_dtype_name(array->dtype));
    else if (array->rank != file->rank)
        bang_text_add(problems, "; %s: has shape %s, must be %s", file->name, shape,
                      file->rank == 3 ? "(n, 28, 28)" : "(n)");
    else if (file->rank == 3 && (array->shape[1] != MNIST_SIDE || array->shape[2] != MNIST_SIDE))
        bang_text_add(problems, "; %s: has shape %s, must be (n, 28, 28)", file->name, shape);
    else if (array->shape[0] == 0)
        bang_text_add(problems, "; %s: is empty", file->name);
    else if (file->rank == 1) {
        const uint8_t *labels = array->data;
        for (size_t i = 0; i < array->count; i++)
            if (labels[i] >= MNIST_CLASSES) {
                bang_text_add(problems, "; %s: label %zu is %d, must be 0 to 9", file->name, i,
                              labels[i]);
                return;
            }
    }
}

enum { LARGEST = 1 << 28 }; /* bytes of a file; the original's have 47 million */

/* The array, and the digest of the file as it is uncompressed. */
static int parse_part(bang_array *out, char digest[BANG_DIGEST_TEXT], const char *path,
                      const char *name, bang_error *err)
{
    char *bytes = NULL, *plain = NULL;
    size_t given = 0, size = 0;
    int rc = bang_file_read(&bytes, &given, path, err);
    if (rc == 0)
        rc = bang_gzip_parse(&plain, &size, bytes, given, name, LARGEST, err);
    free(bytes);
    if (rc == 0)
        rc = bang_idx_parse(out, plain, size, name, err);
    if (rc == 0)
        rc = bang_digest_bytes(digest, plain, size, err);
    free(plain);
    return rc;
}

/* Reads one file; one that is not right is told in problems. */
static int load_part(bang_array *out, char digest[BANG_DIGEST_TEXT], const char *folder,
                     const mnist_file *file, bang_text *problems, bang_error *err)
{
    char *path = find_file(folder, file->name);
    bang_error why = {0};
    if (!path)
        return bang_fail_memory(err);
    if (!is_file(path))
        bang_text_add(problems, "; %s: missing", file->name);
    else if (parse_part(out, digest, path, file->name, &why) < 0)
        bang_text_add(problems, "; %s", why.message);
    else
        check_part(out, file, problems);
    free(path);
    return why.code == BANG_EMEMORY ? bang_fail_memory(err) : 0;
}

/* Fills original and digest from the digests of the files. */
static int identify(bang_mnist *mnist, const mnist_kind *kind,
                    char digests[MNIST_FILES][BANG_DIGEST_TEXT], bang_error *err)
{
    char all[MNIST_FILES * (BANG_DIGEST_TEXT - 1)];
    mnist->original = 1;
    for (int i = 0; i < MNIST_FILES; i++) {
        if (strcmp(digests[i], kind->digests[i]) != 0)
            mnist->original = 0;
        memcpy(all + i * (BANG_DIGEST_TEXT - 1), digests[i], BANG_DIGEST_TEXT - 1);
    }
    return bang_digest_bytes(mnist->digest, all, sizeof all, err);
}

int bang_mnist_load(bang_mnist *out, const mnist_kind *kind, const char *folder, bang_error *err)
{
    char digests[MNIST_FILES][BANG_DIGEST_TEXT] = {{0}};
    bang_text problems = {0};
    int rc = 0;
    *out = (bang_mnist){0};
    for (int i = 0; i < MNIST_FILES && rc == 0; i += 2) {
        bang_array *pair[2] = {bang_mnist_part(out, i), bang_mnist_part(out, i + 1)};
        for (int k = 0; k < 2 && rc == 0; k++)
            rc = load_part(pair[k], digests[i + k], folder, &bang_mnist_files[i + k], &problems,
                           err);
        size_t images = pair[0]->shape[0], labels = pair[1]->shape[0];
        if (rc == 0 && pair[0]->data && pair[1]->data && images != labels)
            bang_text_add(&problems, "; %s, %s: %zu images and %zu labels do not fit together",
                          bang_mnist_files[i].name, bang_mnist_files[i + 1].name, images, labels);
    }
    if (rc == 0 && problems.failed)
        rc = bang_fail_memory(err);
    else if (rc == 0 && problems.size)
        rc = bang_fail(err, BANG_EDATA, "%s: %s", folder, problems.data + 2);
    else if (rc == 0)
        rc = identify(out, kind, digests, err);
    bang_text_release(&problems);
    if (rc < 0)
        bang_mnist_release(out);
    return rc;
}

static int same_folder(const struct stat *before, const char *folder)
{
    struct stat now;
    return stat(folder, &now) == 0 && now.st_ino == before->st_ino && now.st_dev == before->st_dev;
}

int bang_mnist_open_kind(bang_mnist *out, const mnist_kind *kind, bang_error *err)
{
    char *folder;
    *out = (bang_mnist){0};
    int rc = bang_mnist_place(&folder, kind, err);
    if (rc < 0)
        return rc;
    /* Another process may put a new folder in place while this one reads: then
     * two of the files could be old and two new. */
    for (int attempt = 0; attempt < 10; attempt++) {
        struct stat before;
        if (stat(folder, &before) < 0) {
            rc = bang_fail(err, BANG_EIO, "%s: not there: %s", folder, kind->remedy);
            break;
        }
        rc = bang_mnist_load(out, kind, folder, err);
        if (same_folder(&before, folder)) {
            bang_error why = err ? *err : (bang_error){0};
            if (rc == BANG_EDATA)
                bang_fail(err, rc, "%.900s: fetch it again with bang data get %s", why.message,
                          kind->name);
            break;
        }
        bang_mnist_release(out);
        rc = bang_fail(err, BANG_EIO, "%s: is replaced again and again: try later", folder);
    }
    if (rc < 0)
        bang_mnist_release(out);
    free(folder);
    return rc;
}

int bang_mnist_open(bang_mnist *out, bang_error *err)
{
    return bang_mnist_open_kind(out, &bang_mnist_digits, err);
}

int bang_mnist_folder(char **out, bang_error *err)
{
    return bang_mnist_cached(out, &bang_mnist_digits, err);
}

int bang_mnist_present(void)
{
    char *folder;
    if (bang_mnist_folder(&folder, NULL) < 0)
        return 0;
    int present = bang_mnist_holds(folder);
    free(folder);
    return present;
}
