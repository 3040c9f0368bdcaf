#include "data/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bang_view bang_view_of(const bang_array *picture)
{
    size_t channels = picture->rank > 2 ? picture->shape[2] : 1;
    return (bang_view){.pixels = picture->data,
                       .height = picture->shape[0],
                       .width = picture->shape[1],
                       .channels = channels,
                       .stride = picture->shape[1] * channels};
}

bang_view bang_view_cut(const bang_view *view, size_t top, size_t left, size_t height, size_t width)
{
    bang_view out = *view;
    out.pixels += top * view->stride + left * view->channels;
    out.height = height;
    out.width = width;
    return out;
}

static const bang_resize_kernels *choose_kernels(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &bang_resize_avx2;
#endif
    return &bang_resize_portable;
}

/* The cubic kernel with a = -1/2; it is 0 from 2 on. */
static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

static void release_taps(bang_taps *taps)
{
    free(taps->first);
    free(taps->taps);
    free(taps->weight);
}

/* The pixels that one value is made of. */
static void reach(bang_taps *taps, size_t i, size_t size, double center, double support)
{
    ptrdiff_t low = (ptrdiff_t)(center - support + 0.5);
    ptrdiff_t high = (ptrdiff_t)(center + support + 0.5);
    low = low < 0 ? 0 : low;
    high = high > (ptrdiff_t)size ? (ptrdiff_t)size : high;
    taps->first[i] = (size_t)low;
    taps->taps[i] = high > low ? (size_t)(high - low) : 0;
    taps->most = taps->taps[i] > taps->most ? taps->taps[i] : taps->most;
}

/* Their weights: by the distance from its centre, in units of the scale when that shrinks;
 * the sum is 1. scratch is room for taps->most. */
static void weigh(bang_taps *taps, size_t i, double center, double scale, double *scratch)
{
    size_t count = taps->taps[i];
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        scratch[t] = cubic(((double)(t + taps->first[i]) - center + 0.5) * (1 / scale));
        sum += scratch[t];
    }
    for (size_t t = 0; t < count; t++) {
        double weight = sum != 0 ? scratch[t] / sum : scratch[t];
        weight *= 1 << BANG_RESIZE_BITS;
        taps->weight[i * taps->most + t] = (int32_t)(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
}

/* Values begin .. begin + count - 1 of an edge of size pixels, from low to high of
 * which total values are made. Edges of a box are floats, and so is their difference:
 * Pillow's are. */
static int make_taps(bang_taps *taps, size_t size, float low, float high, size_t total,
                     size_t begin, size_t count, bang_error *err)
{
    double step = (double)(high - low) / (double)total, scale = step < 1 ? 1 : step;
    double *scratch = NULL, support = 2 * scale;
    *taps = (bang_taps){.count = count};
    taps->first = calloc(count, sizeof *taps->first);
    taps->taps = calloc(count, sizeof *taps->taps);
    if (!taps->first || !taps->taps)
        return bang_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        reach(taps, i, size, (double)low + ((double)(begin + i) + 0.5) * step, support);
    if (taps->most <= PTRDIFF_MAX / sizeof(double) / count) {
        taps->weight = calloc(count * taps->most + 1, sizeof *taps->weight);
        scratch = calloc(taps->most + 1, sizeof *scratch);
    }
    int rc = taps->weight && scratch ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        weigh(taps, i, (double)low + ((double)(begin + i) + 0.5) * step, scale, scratch);
    free(scratch);
    return rc;
}

/* What is done. A row that is ready across is kept in a ring until the last that is made
 * of it; so the rows between the passes stay in the cache. */
typedef struct plan {
    const bang_view *in;
    const bang_window *window;
    const bang_resize_kernels *kernels;
    bang_taps across, down; /* of the passes that are needed */
    int has_across, has_down;
    size_t row;           /* bytes of a row of the result */
    int32_t *wide;        /* (in->width + across.most, 4) */
    uint8_t *ring;        /* (down.most, row) */
    const uint8_t **rows; /* (down.most) of one value's */
    size_t ready;         /* rows of the source before this one are in the ring */
} plan;

/* Row y of the source at the window's width, into to. */
static void run_across(uint8_t *to, const plan *p, size_t y)
{
    const bang_view *in = p->in;
    const uint8_t *from = in->pixels + y * in->stride;
    if (p->has_across)
        p->kernels->across(to, from, in->width, in->channels, &p->across, p->wide);
    else
        memcpy(to, from + p->window->left * in->channels, p->row);
}

static void run_down(uint8_t *out, plan *p, size_t y)
{
    const bang_taps *down = &p->down;
    for (size_t t = 0; t < down->taps[y]; t++) {
        size_t from = down->first[y] + t;
        uint8_t *kept = p->ring + from % down->most * p->row;
        if (!p->has_across) {
            p->rows[t] = p->in->pixels + from * p->in->stride + p->window->left * p->in->channels;
            continue;
        }
        if (from >= p->ready) {
            run_across(kept, p, from);
            p->ready = from + 1;
        }
        p->rows[t] = kept;
    }
    p->kernels->down(out, p->rows, p->row, down->weight + y * down->most, down->taps[y]);
}

static int run(uint8_t *out, plan *p, bang_error *err)
{
    size_t most = p->down.most;
    p->row = p->window->columns * p->in->channels;
    p->kernels = choose_kernels();
    p->wide = calloc(p->in->width + p->across.most, 4 * sizeof *p->wide);
    p->ring = most <= PTRDIFF_MAX / p->row ? malloc(most * p->row + 1) : NULL;
    p->rows = calloc(most + 1, sizeof *p->rows);
    if (!p->wide || !p->ring || !p->rows)
        return bang_fail_memory(err);
    for (size_t y = 0; y < p->window->rows; y++) {
        if (p->has_down)
            run_down(out + y * p->row, p, y);
        else
            run_across(out + y * p->row, p, p->window->top + y);
    }
    return 0;
}

static int check_sizes(const bang_view *in, size_t height, size_t width, bang_error *err)
{
    const size_t most = 1 << 24; /* beyond this edges are no exact floats */
    if (in->channels < 1 || in->channels > 4 || in->height < 1 || in->width < 1 ||
        in->height > most || in->width > most)
        return bang_fail(err, BANG_EUSAGE,
                         "resize: a picture of %zu x %zu with %zu channels: 1 to 2^24 and 1 to 4 "
                         "are possible",
                         in->width, in->height, in->channels);
    if (height < 1 || width < 1 || height > most || width > most)
        return bang_fail(err, BANG_EUSAGE, "resize: to %zu x %zu pixels: 1 to 2^24 are possible",
                         width, height);
    return 0;
}

static int check_box(const bang_view *in, const bang_box *box, bang_error *err)
{
    if (!(box->left >= 0 && box->top >= 0 && box->right <= (double)in->width &&
          box->bottom <= (double)in->height && box->left < box->right && box->top < box->bottom))
        return bang_fail(err, BANG_EUSAGE,
                         "resize: box %g, %g to %g, %g: must lie in the picture of %zu x %zu and "
                         "hold something",
                         box->left, box->top, box->right, box->bottom, in->width, in->height);
    return 0;
}

int bang_resize_window(uint8_t *out, const bang_view *in, const bang_window *window,
                       const bang_box *box, bang_error *err)
{
    const bang_box whole = {0, 0, (double)in->width, (double)in->height};
    box = box ? box : &whole;
    int rc = check_sizes(in, window->height, window->width, err);
    if (rc == 0)
        rc = check_box(in, box, err);
    if (rc < 0)
        return rc;
    float left = (float)box->left, right = (float)box->right, top = (float)box->top,
          bottom = (float)box->bottom;
    plan p = {.in = in, .window = window};
    p.has_across = window->width != in->width || left != 0 || right != (float)window->width;
    p.has_down = window->height != in->height || top != 0 || bottom != (float)window->height;
    if (p.has_across)
        rc = make_taps(&p.across, in->width, left, right, window->width, window->left,
                       window->columns, err);
    if (rc == 0 && p.has_down)
        rc = make_taps(&p.down, in->height, top, bottom, window->height, window->top, window->rows,
                       err);
    if (rc == 0)
        rc = run(out, &p, err);
    release_taps(&p.across);
    release_taps(&p.down);
    free(p.wide);
    free(p.ring);
    free(p.rows);
    return rc;
}

int bang_resize(bang_array *out, const bang_array *in, size_t height, size_t width,
                const bang_box *box, bang_error *err)
{
    *out = (bang_array){0};
    if (in->dtype != BANG_U8 || in->rank < 2 || in->rank > 3)
        return bang_fail(err, BANG_EUSAGE,
                         "resize: %s with %d dimensions: pictures are (height, "
                         "width, channels) of U8",
                         bang_dtype_name(in->dtype), in->rank);
    bang_view view = bang_view_of(in);
    bang_window window = {height, width, 0, 0, height, width};
    size_t shape[3] = {height, width, view.channels};
    int rc = check_sizes(&view, height, width, err);
    if (rc == 0)
        rc = bang_array_init(out, BANG_U8, 3, shape, err);
    if (rc == 0)
        rc = bang_resize_window(out->data, &view, &window, box, err);
    if (rc < 0)
        bang_array_release(out);
    return rc;
}
