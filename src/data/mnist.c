#include "bang/data/mnist.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/idx.h"
#include "data/mnist.h"

const mnist_file bang_mnist_files[MNIST_FILES] = {
    {"train-images-idx3-ubyte", 3, 60000,
     "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", 1, 60000,
     "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", 3, 10000,
     "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", 1, 10000,
     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
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

int bang_mnist_folder(char **out, bang_error *err)
{
    char *cache;
    *out = NULL;
    int rc = bang_cache_folder(&cache, err);
    if (rc < 0)
        return rc;
    *out = bang_path_join(cache, "mnist");
    free(cache);
    return *out ? 0 : bang_fail_memory(err);
}

static int is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

int bang_mnist_present(void)
{
    char *folder;
    if (bang_mnist_folder(&folder, NULL) < 0)
        return 0;
    int present = 1;
    for (int i = 0; i < MNIST_FILES && present; i++) {
        char *path = bang_path_join(folder, bang_mnist_files[i].name);
        present = path && is_file(path);
        free(path);
    }
    free(folder);
    return present;
}

/* folder/NAME, or folder/NAME.gz where compressed files are taken and only that
 * one is there; the caller frees. NULL when memory is out. */
static char *find_file(const char *folder, const char *name, int compressed)
{
    char *plain = bang_path_join(folder, name);
    if (!plain || !compressed || is_file(plain))
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

/* Reads one file; one that is not right is told in problems. */
static int load_part(bang_array *out, const char *folder, const mnist_file *file, int compressed,
                     bang_text *problems, bang_error *err)
{
    char *path = find_file(folder, file->name, compressed), *bytes = NULL;
    size_t size = 0;
    bang_error why = {0};
    if (!path)
        return bang_fail_memory(err);
    if (!is_file(path))
        bang_text_add(problems, "; %s: missing", file->name);
    else if (bang_file_read(&bytes, &size, path, &why) < 0 ||
             bang_idx_parse(out, bytes, size, file->name, &why) < 0)
        bang_text_add(problems, "; %s", why.message);
    else
        check_part(out, file, problems);
    free(bytes);
    free(path);
    return why.code == BANG_EMEMORY ? bang_fail_memory(err) : 0;
}

int bang_mnist_load(bang_mnist *out, const char *folder, int compressed, bang_error *err)
{
    bang_text problems = {0};
    int rc = 0;
    *out = (bang_mnist){0};
    for (int i = 0; i < MNIST_FILES && rc == 0; i += 2) {
        bang_array *pair[2] = {bang_mnist_part(out, i), bang_mnist_part(out, i + 1)};
        for (int k = 0; k < 2 && rc == 0; k++)
            rc = load_part(pair[k], folder, &bang_mnist_files[i + k], compressed, &problems, err);
        size_t images = pair[0]->shape[0], labels = pair[1]->shape[0];
        if (rc == 0 && pair[0]->data && pair[1]->data && images != labels)
            bang_text_add(&problems, "; %s, %s: %zu images and %zu labels do not fit together",
                          bang_mnist_files[i].name, bang_mnist_files[i + 1].name, images, labels);
    }
    if (rc == 0 && problems.failed)
        rc = bang_fail_memory(err);
    else if (rc == 0 && problems.size)
        rc = bang_fail(err, BANG_EDATA, "%s: %s", folder, problems.data + 2);
    bang_text_release(&problems);
    if (rc < 0)
        bang_mnist_release(out);
    return rc;
}

int bang_mnist_identify(bang_mnist *mnist, const char *folder, bang_error *err)
{
    char all[MNIST_FILES * (BANG_DIGEST_TEXT - 1)];
    mnist->original = 1;
    for (int i = 0; i < MNIST_FILES; i++) {
        char digest[BANG_DIGEST_TEXT], *path = bang_path_join(folder, bang_mnist_files[i].name);
        int rc = path ? bang_digest_file(digest, path, err) : bang_fail_memory(err);
        free(path);
        if (rc < 0)
            return rc;
        if (strcmp(digest, bang_mnist_files[i].digest) != 0)
            mnist->original = 0;
        memcpy(all + i * (BANG_DIGEST_TEXT - 1), digest, BANG_DIGEST_TEXT - 1);
    }
    return bang_digest_bytes(mnist->digest, all, sizeof all, err);
}

static int same_folder(const struct stat *before, const char *folder)
{
    struct stat now;
    return stat(folder, &now) == 0 && now.st_ino == before->st_ino && now.st_dev == before->st_dev;
}

int bang_mnist_open(bang_mnist *out, bang_error *err)
{
    char *folder;
    *out = (bang_mnist){0};
    int rc = bang_mnist_folder(&folder, err);
    if (rc < 0)
        return rc;
    /* Another process may put a new folder in place while this one reads: then
     * two of the files could be old and two new. */
    for (int attempt = 0; attempt < 10; attempt++) {
        struct stat before;
        if (stat(folder, &before) < 0) {
            rc = bang_fail(err, BANG_EIO, "%s: not there: fetch it with bang data get mnist",
                           folder);
            break;
        }
        rc = bang_mnist_load(out, folder, 0, err);
        if (rc == 0)
            rc = bang_mnist_identify(out, folder, err);
        if (same_folder(&before, folder)) {
            bang_error why = err ? *err : (bang_error){0};
            if (rc == BANG_EDATA)
                bang_fail(err, rc, "%.900s: fetch it again with bang data get mnist", why.message);
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
