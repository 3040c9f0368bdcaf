#include "bang/data/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = BANG_SHEET_CLASSES,
    SAMPLES = BANG_SHEET_SAMPLES,
    MARGIN = 8,      /* between images */
    OUTER = 16,      /* around all */
    BLOCK_GAP = 32,  /* between sets */
    CELL_SIZE = 84,  /* pixels that a small image is enlarged to, about */
    CELL_MOST = 256, /* pixels that a large one is reduced to, at most */
};
static const uint8_t ground[3] = {238, 238, 242}, frame[3] = {198, 198, 206};

/* How one set is drawn. */
typedef struct block {
    const bang_dataset *set;
    size_t height, width; /* of an image */
    int channels;
    size_t enlarge, reduce; /* one of them is 1 */
    size_t cell_height, cell_width;
    size_t picked, rows; /* samples, classes */
    size_t index[CLASSES * SAMPLES];
    double black, white; /* the values that are shown so */
} block;

/* The CLASSES smallest labels, in order. */
static size_t smallest_labels(int64_t out[CLASSES], const int64_t *labels, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = found;
        while (at > 0 && out[at - 1] > labels[i])
            at--;
        if (at == CLASSES || (at > 0 && out[at - 1] == labels[i]))
            continue;
        found += found < CLASSES;
        memmove(out + at + 1, out + at, (found - 1 - at) * sizeof *out);
        out[at] = labels[i];
    }
    return found;
}

size_t bang_sheet_pick(size_t index[CLASSES * SAMPLES], const int64_t *labels, size_t count)
{
    int64_t shown[CLASSES];
    size_t classes = smallest_labels(shown, labels, count), picked = 0;
    for (size_t k = 0; k < classes; k++)
        for (size_t i = 0, found = 0; i < count && found < SAMPLES; i++)
            if (labels[i] == shown[k]) {
                index[picked++] = i;
                found++;
            }
    return picked;
}

/* The picked samples' range, where it is not what pixels have anyway. */
static void find_range(block *b)
{
    b->black = 0;
    b->white = b->set->inputs.dtype == BANG_U8 ? 255 : 1;
    if (b->set->inputs.dtype == BANG_U8)
        return;
    const float *values = b->set->inputs.data;
    double least = INFINITY, most = -INFINITY;
    for (size_t s = 0; s < b->picked; s++)
        for (size_t i = 0; i < b->set->width; i++) {
            double value = values[b->index[s] * b->set->width + i];
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
    if (least < 0 || most > 1) {
        b->black = least;
        b->white = most > least ? most : least + 1;
    }
}

static int plan_block(block *b, const bang_dataset *set, const char *name, bang_error *err)
{
    const bang_array *images = &set->inputs;
    const char *what = name ? name : "images";
    char shape[120];
    bang_array_shape_text(shape, sizeof shape, images);
    int channels = images->rank == 4 ? (images->shape[3] == 3 ? 3 : images->shape[3] == 1) : 1;
    if (images->rank < 3 || images->rank > 4 || channels == 0 || images->count == 0)
        return bang_fail(err, BANG_EDATA,
                         "%s: shape %s is no shape of images: must be (n, height, width) or (n, "
                         "height, width, 1 or 3)",
                         what, shape);
    *b = (block){.set = set, .height = images->shape[1], .width = images->shape[2]};
    b->channels = channels;
    size_t side = b->height > b->width ? b->height : b->width;
    size_t other = b->height > b->width ? b->width : b->height;
    if (side / other > CELL_MOST)
        return bang_fail(err, BANG_EDATA, "%s: images of shape %s are too narrow to show", what,
                         shape);
    b->enlarge = side < CELL_SIZE ? (CELL_SIZE + side / 2) / side : 1;
    b->reduce = side > CELL_MOST ? (side + CELL_MOST - 1) / CELL_MOST : 1;
    b->cell_height = (b->height + b->reduce - 1) / b->reduce * b->enlarge;
    b->cell_width = (b->width + b->reduce - 1) / b->reduce * b->enlarge;
    b->picked = bang_sheet_pick(b->index, set->labels.data, set->count);
    const int64_t *labels = set->labels.data;
    for (size_t s = 0; s < b->picked; s++)
        b->rows += s == 0 || labels[b->index[s]] != labels[b->index[s - 1]];
    find_range(b);
    return 0;
}

static double value_at(const block *b, size_t sample, size_t y, size_t x, int channel)
{
    size_t at = sample * b->set->width + (y * b->width + x) * (size_t)b->channels +
                (size_t)channel % (size_t)b->channels;
    return b->set->inputs.dtype == BANG_U8 ? ((const uint8_t *)b->set->inputs.data)[at]
                                           : ((const float *)b->set->inputs.data)[at];
}

/* Mean of the pixels that one place of the sheet stands for. */
static uint8_t shade(const block *b, size_t sample, size_t y, size_t x, int channel)
{
    double sum = 0, number = 0;
    for (size_t v = y * b->reduce; v < (y + 1) * b->reduce && v < b->height; v++)
        for (size_t u = x * b->reduce; u < (x + 1) * b->reduce && u < b->width; u++) {
            sum += value_at(b, sample, v, u, channel);
            number++;
        }
    double level = (sum / number - b->black) / (b->white - b->black);
    return (uint8_t)lround(255 * (level < 0 ? 0 : level > 1 ? 1 : level));
}

/* top, left: where the image itself begins; a frame of one pixel goes around. */
static void draw_image(bang_array *out, const block *b, size_t sample, size_t top, size_t left)
{
    uint8_t *pixels = out->data;
    size_t stride = out->shape[1] * 3;
    for (size_t y = 0; y < b->cell_height + 2; y++)
        for (size_t x = 0; x < b->cell_width + 2; x++)
            memcpy(pixels + (top - 1 + y) * stride + (left - 1 + x) * 3, frame, 3);
    for (size_t y = 0; y < b->cell_height / b->enlarge; y++)
        for (size_t x = 0; x < b->cell_width / b->enlarge; x++) {
            uint8_t color[3];
            for (int k = 0; k < 3; k++)
                color[k] = shade(b, sample, y, x, k);
            for (size_t v = 0; v < b->enlarge; v++)
                for (size_t u = 0; u < b->enlarge; u++)
                    memcpy(pixels + (top + y * b->enlarge + v) * stride +
                               (left + x * b->enlarge + u) * 3,
                           color, 3);
        }
}

static void draw_block(bang_array *out, const block *b, size_t top)
{
    const int64_t *labels = b->set->labels.data;
    size_t row = 0, column = 0;
    for (size_t s = 0; s < b->picked; s++) {
        if (s > 0 && labels[b->index[s]] != labels[b->index[s - 1]]) {
            row++;
            column = 0;
        }
        draw_image(out, b, b->index[s], top + row * (b->cell_height + MARGIN),
                   OUTER + column * (b->cell_width + MARGIN));
        column++;
    }
}

int bang_sheet_make(bang_array *out, const bang_dataset *sets, const char *const *names,
                    size_t count, bang_error *err)
{
    block *blocks = calloc(count + 1, sizeof *blocks);
    int rc = blocks ? 0 : bang_fail_memory(err);
    size_t height = 2 * OUTER, width = 0;
    *out = (bang_array){0};
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = plan_block(&blocks[i], &sets[i], names ? names[i] : NULL, err);
        size_t wide = 2 * OUTER + SAMPLES * (blocks[i].cell_width + MARGIN) - MARGIN;
        width = wide > width ? wide : width;
        height += blocks[i].rows * (blocks[i].cell_height + MARGIN) - MARGIN + (i ? BLOCK_GAP : 0);
    }
    if (rc == 0)
        rc = bang_array_init(out, BANG_U8, 3, (size_t[]){height, width, 3}, err);
    if (rc == 0) {
        uint8_t *pixels = out->data;
        for (size_t i = 0; i < height * width; i++)
            memcpy(pixels + 3 * i, ground, 3);
        for (size_t i = 0, top = OUTER; i < count; i++) {
            draw_block(out, &blocks[i], top);
            top += blocks[i].rows * (blocks[i].cell_height + MARGIN) - MARGIN + BLOCK_GAP;
        }
    }
    free(blocks);
    return rc;
}
