#include "data/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/npy.h"

void bang_dataset_release(bang_dataset *set)
{
    bang_array_release(&set->inputs);
    bang_array_release(&set->labels);
    *set = (bang_dataset){0};
}

static int is_float(bang_dtype dtype)
{
    return dtype == BANG_F16 || dtype == BANG_BF16 || dtype == BANG_F32 || dtype == BANG_F64;
}

/* u8 stays, floats become f32; what is wrong goes to problems. */
static int take_inputs(bang_dataset *out, bang_array *images, bang_text *problems, bang_error *err)
{
    char shape[120];
    bang_array_shape_text(shape, sizeof shape, images);
    if (images->rank < 2 || images->count == 0) {
        bang_text_add(problems, "; images.npy: shape %s: must be (n, ...) with n of 1 or more",
                      shape);
        return 0;
    }
    if (images->dtype != BANG_U8 && !is_float(images->dtype)) {
        bang_text_add(problems, "; images.npy: type %s: must be U8 or a float",
                      bang_dtype_name(images->dtype));
        return 0;
    }
    out->count = images->shape[0];
    out->width = images->count / images->shape[0];
    if (images->dtype == BANG_U8 || images->dtype == BANG_F32) {
        out->inputs = *images;
        *images = (bang_array){0};
    } else if (bang_array_to_f32(&out->inputs, images, err) < 0) {
        return BANG_EMEMORY;
    }
    const float *values = out->inputs.data;
    for (size_t i = 0; out->inputs.dtype == BANG_F32 && i < out->inputs.count; i++)
        if (!isfinite(values[i])) {
            bang_text_add(problems, "; images.npy: image %zu holds a number that is not finite",
                          i / out->width);
            break;
        }
    return 0;
}

/* Any integers become i64; what is wrong goes to problems. */
static int take_labels(bang_dataset *out, const bang_array *labels, bang_text *problems,
                       bang_error *err)
{
    char shape[120];
    bang_array_shape_text(shape, sizeof shape, labels);
    if (is_float(labels->dtype))
        bang_text_add(problems, "; labels.npy: type %s: must be integers",
                      bang_dtype_name(labels->dtype));
    if (labels->rank != 1) {
        bang_text_add(problems, "; labels.npy: shape %s: must be (n)", shape);
        return 0;
    }
    if (is_float(labels->dtype))
        return 0;
    int rc = bang_array_init(&out->labels, BANG_I64, 1, labels->shape, err);
    int64_t *to = out->labels.data;
    for (size_t i = 0; rc == 0 && i < labels->count; i++) {
        double label = bang_array_number(labels, i);
        if (!(label >= 0 && label < INT32_MAX)) {
            bang_text_add(problems, "; labels.npy: label %zu is %.17g: must be 0 or more%s", i,
                          label, label < 0 ? "" : ", below 2^31 - 1");
            break;
        }
        to[i] = (int64_t)label;
        out->classes = (size_t)to[i] + 1 > out->classes ? (size_t)to[i] + 1 : out->classes;
    }
    return rc;
}

/* 1 if nothing has that name; a link that leads nowhere is no such thing. */
static int is_missing(const char *folder, const char *name)
{
    struct stat info;
    char *path = bang_path_join(folder, name);
    int missing = path && lstat(path, &info) < 0 && errno == ENOENT;
    free(path);
    return missing;
}

/* No labels.npy: all are unknown. */
static int make_unknown(bang_dataset *out, bang_error *err)
{
    int rc = bang_array_init(&out->labels, BANG_I64, 1, &out->count, err);
    int64_t *to = out->labels.data;
    for (size_t i = 0; rc == 0 && i < out->count; i++)
        to[i] = -1;
    return rc;
}

/* Reads folder/name; a file that is not right is told in problems. */
static int read_array(bang_array *out, const char *folder, const char *name, bang_text *problems,
                      bang_error *err)
{
    char *path = bang_path_join(folder, name);
    bang_error why = {0};
    *out = (bang_array){0};
    if (!path)
        return bang_fail_memory(err);
    struct stat info;
    if (stat(path, &info) < 0)
        bang_text_add(problems, "; %s: missing", name);
    else if (bang_npy_read(out, path, &why) < 0) /* the folder is named already */
        bang_text_add(problems, "; %s",
                      strncmp(why.message, path, strlen(path)) == 0
                          ? why.message + strlen(path) - strlen(name)
                          : why.message);
    free(path);
    return why.code == BANG_EMEMORY ? bang_fail_memory(err) : 0;
}

static int open_folder(bang_dataset *out, const char *folder, bang_error *err)
{
    bang_array images = {0}, labels = {0};
    bang_text problems = {0};
    int labelled = !is_missing(folder, "labels.npy");
    int empty = !labelled && is_missing(folder, "images.npy");
    int rc = read_array(&images, folder, "images.npy", &problems, err);
    if (rc == 0 && (labelled || empty)) /* of a folder that holds neither, both are missed */
        rc = read_array(&labels, folder, "labels.npy", &problems, err);
    if (rc == 0 && images.data && labels.data && images.rank > 0 && labels.rank == 1 &&
        images.shape[0] != labels.shape[0])
        bang_text_add(&problems, "; %zu images and %zu labels do not fit together", images.shape[0],
                      labels.shape[0]);
    if (rc == 0 && images.data)
        rc = take_inputs(out, &images, &problems, err);
    if (rc == 0 && labels.data)
        rc = take_labels(out, &labels, &problems, err);
    else if (rc == 0 && !labelled)
        rc = make_unknown(out, err);
    bang_array_release(&images);
    bang_array_release(&labels);
    if (rc == 0 && problems.failed)
        rc = bang_fail_memory(err);
    else if (rc == 0 && problems.size)
        rc = bang_fail(err, BANG_EDATA, "%s: %s", folder, problems.data + 2);
    bang_text_release(&problems);
    return rc;
}

int bang_dataset_open(bang_dataset *out, const char *source, bang_error *err)
{
    struct stat info;
    *out = (bang_dataset){0};
    int folder = stat(source, &info) == 0 && S_ISDIR(info.st_mode);
    int rc = folder ? open_folder(out, source, err) : bang_dataset_named(out, source, err);
    if (rc < 0)
        bang_dataset_release(out);
    return rc;
}
