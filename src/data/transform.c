#include "data/transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

int bang_transform_augment(bang_transform *transform, const char *list, bang_error *err)
{
    bang_text problems = {0};
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 4 && memcmp(at, "flip", 4) == 0)
            transform->flip = 1;
        else if (length == 4 && memcmp(at, "crop", 4) == 0)
            transform->random_crop = 1;
        else if (length == 6 && memcmp(at, "rotate", 6) == 0)
            transform->degrees = 15;
        else if (length == 5 && memcmp(at, "color", 5) == 0)
            transform->color = 0.4;
        else
            bang_text_add(&problems, "; \"%.*s\": unknown: choose from flip, rotate, color, crop",
                          (int)(length < 60 ? length : 60), at);
        at += length;
        if (!*at)
            break;
    }
    return bang_text_fail(&problems, err);
}

int bang_transform_changes(const bang_transform *transform)
{
    return transform->flip || transform->degrees != 0 || transform->color != 0;
}

int bang_transform_is_random(const bang_transform *transform)
{
    return transform->random_crop || bang_transform_changes(transform);
}

int bang_transform_check(const bang_transform *t, bang_error *err)
{
    bang_text problems = {0};
    if (t->size < 1 || t->size > 1 << 15)
        bang_text_add(&problems, "; image size %zu: must be 1 to %d", t->size, 1 << 15);
    if (t->channels != 1 && t->channels != 3)
        bang_text_add(&problems, "; %zu channels: must be 1 or 3", t->channels);
    if (t->random_crop && !(t->scale[0] > 0 && t->scale[0] <= t->scale[1] && t->scale[1] <= 1))
        bang_text_add(&problems,
                      "; crop to %g .. %g of the area: must be above 0, rising, at most 1",
                      t->scale[0], t->scale[1]);
    if (!(t->degrees >= 0 && t->degrees <= 180))
        bang_text_add(&problems, "; rotation by %g degrees: must be 0 to 180", t->degrees);
    if (!(t->color >= 0 && t->color <= 1))
        bang_text_add(&problems, "; color %g: must be 0 to 1", t->color);
    return bang_text_fail(&problems, err);
}

/* The crop's first pixel when extra pixels are left over. */
static size_t center_offset(size_t extra, bang_crop crop)
{
    size_t half = extra / 2;
    return crop == BANG_CROP_TORCHVISION && extra % 2 == 1 && half % 2 == 1 ? half + 1 : half;
}

/* The short edge to size, the centre of the long one. */
static int prepare_center(uint8_t *out, const bang_view *in, const bang_transform *t,
                          bang_error *err)
{
    size_t size = t->size;
    int tall = in->height > in->width;
    size_t small = tall ? in->width : in->height, large = tall ? in->height : in->width;
    /* The long edge as Python has it: a quotient of doubles, cut off. */
    double edge = (double)(size * large) / (double)small;
    if (edge > 1 << 24)
        return bang_fail(err, BANG_EDATA, "%zu x %zu pixels: too long and thin to be made %zu wide",
                         in->width, in->height, size);
    bang_window window = {.rows = size, .columns = size};
    window.width = tall ? size : (size_t)edge;
    window.height = tall ? (size_t)edge : size;
    window.left = center_offset(window.width - size, t->crop);
    window.top = center_offset(window.height - size, t->crop);
    return bang_resize_window(out, in, &window, NULL, err);
}

static double uniform(bang_random *random, double low, double high)
{
    return low + (high - low) * bang_random_uniform(random);
}

/* A rectangle by the rules of RandomResizedCrop, from ratios 3/4 to 4/3. */
static bang_view draw_crop(const bang_view *in, const bang_transform *t, bang_random *random)
{
    const double low = 3.0 / 4, high = 4.0 / 3;
    double height = (double)in->height, width = (double)in->width;
    for (int i = 0; i < 10; i++) {
        double area = height * width * uniform(random, t->scale[0], t->scale[1]);
        double ratio = exp(uniform(random, log(low), log(high)));
        double w = rint(sqrt(area * ratio)), h = rint(sqrt(area / ratio));
        if (!(w >= 1 && w <= width && h >= 1 && h <= height))
            continue;
        size_t top = bang_random_below(random, in->height - (size_t)h + 1);
        size_t left = bang_random_below(random, in->width - (size_t)w + 1);
        return bang_view_cut(in, top, left, (size_t)h, (size_t)w);
    }
    double w = width, h = height;
    if (width / height < low)
        h = rint(w / low);
    else if (width / height > high)
        w = rint(h * high);
    h = h < 1 ? 1 : h;
    w = w < 1 ? 1 : w;
    return bang_view_cut(in, (in->height - (size_t)h) / 2, (in->width - (size_t)w) / 2, (size_t)h,
                         (size_t)w);
}

/* Grey pictures stay so until the end: a third of the work. */
static int prepare(uint8_t *out, const bang_view *in, const bang_transform *t, bang_random *random,
                   bang_error *err)
{
    bang_view crop;
    bang_window window = {t->size, t->size, 0, 0, t->size, t->size};
    int rc;
    if (t->random_crop) {
        crop = draw_crop(in, t, random);
        rc = bang_resize_window(out, &crop, &window, NULL, err);
    } else {
        rc = prepare_center(out, in, t, err);
    }
    if (rc == 0 && in->channels == 1 && t->channels == 3)
        for (size_t i = t->size * t->size; i-- > 0;)
            out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = out[i];
    return rc;
}

int bang_transform_prepare(uint8_t *out, const bang_view *picture, const bang_transform *t,
                           bang_random *random, bang_error *err)
{
    if (picture->channels != 1 && picture->channels != 3)
        return bang_fail(err, BANG_EUSAGE, "a picture of %zu channels: 1 or 3 are possible",
                         picture->channels);
    if (picture->height <= 2 * t->border || picture->width <= 2 * t->border)
        return bang_fail(err, BANG_EDATA,
                         "%zu x %zu pixels: nothing is left without a border of %zu",
                         picture->width, picture->height, t->border);
    bang_view in = bang_view_cut(picture, t->border, t->border, picture->height - 2 * t->border,
                                 picture->width - 2 * t->border);
    if (in.channels == t->channels || in.channels == 1)
        return prepare(out, &in, t, random, err);
    uint8_t *grey = malloc(in.height * in.width);
    if (!grey)
        return bang_fail_memory(err);
    for (size_t y = 0; y < in.height; y++)
        bang_picture_grey(grey + y * in.width, in.pixels + y * in.stride, in.width);
    in = (bang_view){grey, in.height, in.width, 1, in.width};
    int rc = prepare(out, &in, t, random, err);
    free(grey);
    return rc;
}

int bang_transform_apply(uint8_t *out, const bang_array *picture, const bang_transform *transform,
                         bang_random *random, bang_error *err)
{
    int rc = bang_transform_check(transform, err);
    if (rc < 0)
        return rc;
    if (picture->dtype != BANG_U8 || picture->rank < 2 || picture->rank > 3 || picture->count == 0)
        return bang_fail(err, BANG_EUSAGE, "a picture must be (height, width, channels) of U8");
    if (bang_transform_is_random(transform) && !random)
        return bang_fail(err, BANG_EUSAGE, "random changes need a random stream");
    bang_view view = bang_view_of(picture);
    rc = bang_transform_prepare(out, &view, transform, random, err);
    if (rc == 0)
        rc = bang_transform_change(out, transform, random, err);
    return rc;
}
