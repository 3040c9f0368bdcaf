#include "bang/data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/data/color.h"
#include "bang/store/npy.h"

void bang_dataset_release(bang_dataset *set)
{
    bang_array_release(&set->inputs);
    bang_array_release(&set->labels);
    *set = (bang_dataset){0};
}

/* What a name asks for. */
typedef struct request {
    int color; /* not plain MNIST */
    bang_color_options options;
    unsigned seen; /* bit per key */
} request;

enum { SPLIT, COUNT, SHIFT, SEED, PROTOCOL, KEYS };
static const char *const keys[KEYS] = {"split", "count", "p", "seed", "protocol"};

/* One key of a name. Says what is wrong in problems. */
static void take_setting(request *r, int key, const char *value, bang_text *problems)
{
    bang_color_options *o = &r->options;
    int64_t whole = 0;
    const char *must = NULL;
    switch (key) {
    case SPLIT:
        o->test = strcmp(value, "test") == 0;
        must = o->test || strcmp(value, "train") == 0 ? NULL : "train or test";
        break;
    case COUNT:
        must = bang_text_to_int64(&whole, value) < 0 || whole < 1 ? "a whole number of 1 or more"
                                                                  : NULL;
        o->count = (size_t)whole;
        break;
    case SHIFT:
        must = bang_text_to_double(&o->shift, value) < 0 || o->shift < 0 || o->shift > 1
                   ? "a number from 0 to 1"
                   : NULL;
        break;
    case SEED:
        must = bang_text_to_int64(&whole, value) < 0 || whole < 0 ? "a whole number of 0 or more"
                                                                  : NULL;
        o->seed = (uint64_t)whole;
        break;
    default:
        must = bang_color_find_protocol(&o->protocol, value) < 0 ? "default, published or paper"
                                                                 : NULL;
    }
    if (must)
        bang_text_add(problems, "; %s=%s: must be %s", keys[key], value, must);
}

/* "key=value,key=value", each key once. */
static int take_settings(request *r, const char *settings, bang_text *problems, bang_error *err)
{
    char *copy = strdup(settings);
    if (!copy)
        return bang_fail_memory(err);
    for (char *item = copy, *next; item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        char *value = strchr(item, '=');
        if (!value) {
            bang_text_add(problems, "; \"%s\": write key=value", item);
            continue;
        }
        *value++ = '\0';
        int key = 0, known = r->color ? KEYS : SHIFT;
        while (key < known && strcmp(keys[key], item) != 0)
            key++;
        if (key == known)
            bang_text_add(problems, "; %s: unknown: give %s", item,
                          r->color ? "split, count, p, seed or protocol" : "split or count");
        else if (r->seen & 1u << key)
            bang_text_add(problems, "; %s: given twice", item);
        else
            take_setting(r, key, value, problems);
        r->seen |= key < known ? 1u << key : 0;
    }
    free(copy);
    return 0;
}

/* "NAME" or "NAME:settings". */
static int parse_name(request *r, const char *source, bang_error *err)
{
    static const char *const names[] = {"mnist", "multicolor", "singlecolor"};
    size_t length = strcspn(source, ":");
    int which = -1;
    for (int i = 0; i < 3; i++)
        if (strlen(names[i]) == length && memcmp(names[i], source, length) == 0)
            which = i;
    if (which < 0)
        return bang_fail(err, BANG_EIO,
                         "%.300s: is no folder and no data set: give a folder, mnist, multicolor "
                         "or singlecolor",
                         source);
    *r = (request){.color = which > 0, .options = BANG_COLOR_OPTIONS_INIT};
    r->options.single = which == 2;
    bang_text problems = {0};
    int rc = source[length] ? take_settings(r, source + length + 1, &problems, err) : 0;
    bang_error why = {0};
    if (bang_text_fail(&problems, &why) < 0 && rc == 0)
        rc = bang_fail(err, why.code, "%s: %s", names[which], why.message);
    return rc;
}

static int copy_labels(bang_dataset *out, const uint8_t *labels, size_t count, bang_error *err)
{
    int rc = bang_array_init(&out->labels, BANG_I64, 1, &count, err);
    int64_t *to = out->labels.data;
    for (size_t i = 0; rc == 0 && i < count; i++)
        to[i] = labels[i];
    out->count = count;
    out->classes = BANG_COLOR_CLASSES;
    return rc;
}

static int make_plain(bang_dataset *out, const bang_mnist *mnist, const bang_color_options *options,
                      bang_error *err)
{
    const bang_array *images = options->test ? &mnist->test_images : &mnist->train_images;
    const bang_array *labels = options->test ? &mnist->test_labels : &mnist->train_labels;
    size_t count = options->count ? options->count : images->shape[0];
    if (count > images->shape[0])
        return bang_fail(err, BANG_EUSAGE, "mnist: count %zu: the split %s has %zu images at most",
                         count, options->test ? "test" : "train", images->shape[0]);
    size_t shape[3] = {count, images->shape[1], images->shape[2]};
    int rc = bang_array_init(&out->inputs, BANG_U8, 3, shape, err);
    if (rc < 0)
        return rc;
    memcpy(out->inputs.data, images->data, out->inputs.count);
    out->width = shape[1] * shape[2];
    return copy_labels(out, labels->data, count, err);
}

static int make_color(bang_dataset *out, const bang_mnist *mnist, const bang_color_options *options,
                      bang_error *err)
{
    bang_color_set set;
    bang_error why = {0};
    int rc = bang_color_make(&set, mnist, options, &why);
    if (rc < 0)
        return bang_fail(err, rc, "%s: %s", options->single ? "singlecolor" : "multicolor",
                         why.message);
    size_t shape[4] = {set.count, BANG_COLOR_SIDE, BANG_COLOR_SIDE, 3};
    rc = bang_array_init(&out->inputs, BANG_U8, 4, shape, err);
    if (rc == 0) {
        bang_color_render(out->inputs.data, &set, 0, set.count);
        out->width = BANG_COLOR_PIXELS;
        rc = copy_labels(out, set.labels, set.count, err);
    }
    bang_color_release(&set);
    return rc;
}

static int open_named(bang_dataset *out, const char *source, bang_error *err)
{
    request r;
    bang_mnist mnist = {0};
    int rc = parse_name(&r, source, err);
    if (rc == 0 && !bang_mnist_present())
        rc = bang_mnist_get(NULL, NULL, err);
    if (rc == 0)
        rc = bang_mnist_open(&mnist, err);
    if (rc == 0)
        rc = r.color ? make_color(out, &mnist, &r.options, err)
                     : make_plain(out, &mnist, &r.options, err);
    bang_mnist_release(&mnist);
    return rc;
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
    int rc = read_array(&images, folder, "images.npy", &problems, err);
    if (rc == 0)
        rc = read_array(&labels, folder, "labels.npy", &problems, err);
    if (rc == 0 && images.data && labels.data && images.rank > 0 && labels.rank == 1 &&
        images.shape[0] != labels.shape[0])
        bang_text_add(&problems, "; %zu images and %zu labels do not fit together", images.shape[0],
                      labels.shape[0]);
    if (rc == 0 && images.data)
        rc = take_inputs(out, &images, &problems, err);
    if (rc == 0 && labels.data)
        rc = take_labels(out, &labels, &problems, err);
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
    int rc = folder ? open_folder(out, source, err) : open_named(out, source, err);
    if (rc < 0)
        bang_dataset_release(out);
    return rc;
}
