#include "bang/data/color.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/random.h"
#include "bang/base/text.h"

enum {
    CELLS = 6,  /* a side of the image */
    MIDDLE = 2, /* first cell of the digit; it fills two a side */
    DIGIT = 28, /* pixels a side, every second of which is shown */
    ROW = BANG_COLOR_SIDE * 3,
    CELL_ROW = BANG_COLOR_CELL * 3,
};

const uint8_t bang_color_palette[BANG_COLOR_CLASSES][3] = {
    {255, 0, 0},   {0, 255, 0}, {0, 0, 255},     {255, 255, 0},   {0, 255, 255},
    {255, 0, 255}, {0, 0, 0},   {255, 255, 255}, {128, 128, 128}, {255, 165, 0},
};
const char *const bang_color_names[BANG_COLOR_CLASSES] = {
    "red", "green", "blue", "yellow", "cyan", "magenta", "black", "white", "grey", "orange",
};

static int is_middle(int row, int column)
{
    return row >= MIDDLE && row < MIDDLE + 2 && column >= MIDDLE && column < MIDDLE + 2;
}

void bang_color_cell(int patch, int *row, int *column)
{
    for (int cell = 0; cell < CELLS * CELLS; cell++) {
        *row = cell / CELLS;
        *column = cell % CELLS;
        if (!is_middle(*row, *column) && patch-- == 0)
            return;
    }
}

static const char *const protocols[] = {"default", "published", "paper"};

const char *bang_color_protocol_name(bang_color_protocol protocol)
{
    return protocols[protocol];
}

int bang_color_find_protocol(bang_color_protocol *out, const char *name)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(protocols[i], name) == 0) {
            *out = (bang_color_protocol)i;
            return 0;
        }
    return -1;
}

/* Fisher-Yates: every permutation of 0 .. 9 is as likely as any other. */
static void draw_map(uint8_t map[BANG_COLOR_CLASSES], uint64_t seed, uint64_t patch)
{
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('c', 'm', 'a', 'p'), patch);
    for (int k = 0; k < BANG_COLOR_CLASSES; k++)
        map[k] = (uint8_t)k;
    for (int k = BANG_COLOR_CLASSES - 1; k > 0; k--) {
        int other = (int)bang_random_below(&random, (uint64_t)k + 1);
        uint8_t held = map[k];
        map[k] = map[other];
        map[other] = held;
    }
}

/* Colours of the patches of one image. Each patch has two words of the image's
 * stream, spent or not: the first says up to which p it keeps its colour, the
 * second which colour it takes else. 2^32 is no multiple of ten, so a colour is
 * drawn too often by one part in 10^9: far below what any experiment sees. */
static void draw_colors(uint8_t out[BANG_COLOR_PATCHES], const bang_color_set *set, size_t image,
                        const bang_color_options *options)
{
    uint32_t purpose =
        options->test ? BANG_PURPOSE('c', 't', 's', 't') : BANG_PURPOSE('c', 't', 'r', 'n');
    const uint32_t key[2] = {(uint32_t)options->seed, (uint32_t)(options->seed >> 32)};
    uint32_t counter[4] = {0, purpose, (uint32_t)image, (uint32_t)((uint64_t)image >> 32)};
    double kept_from = options->shift * 0x1p32;
    int label = set->labels[image], draws = options->single ? 1 : BANG_COLOR_PATCHES;
    uint32_t words[4];
    for (int i = 0; i < draws; i++) {
        if (i % 2 == 0) {
            bang_philox4x32(words, counter, key);
            counter[0]++;
        }
        const uint32_t *word = words + i % 2 * 2;
        uint8_t any = (uint8_t)((uint64_t)word[1] * BANG_COLOR_CLASSES >> 32);
        out[i] = word[0] < kept_from ? any : set->map[i][label];
    }
    if (options->single)
        memset(out, out[0], BANG_COLOR_PATCHES);
}

/* How many digits the split has, and which they are. */
static size_t choose_digits(bang_color_set *out, const bang_mnist *mnist,
                            const bang_color_options *options)
{
    int paper = options->protocol == BANG_COLOR_PAPER;
    const bang_array *images = paper && options->test ? &mnist->test_images : &mnist->train_images;
    const bang_array *labels = paper && options->test ? &mnist->test_labels : &mnist->train_labels;
    size_t total = images->shape[0], first = 0, count = total;
    if (!paper) {
        count = options->test ? total / 6 : total - total / 6;
        first = options->test ? total - count : 0;
    }
    out->digits = (const uint8_t *)images->data + first * DIGIT * DIGIT;
    out->labels = (const uint8_t *)labels->data + first;
    return count;
}

int bang_color_make(bang_color_set *out, const bang_mnist *mnist, const bang_color_options *options,
                    bang_error *err)
{
    bang_text problems = {0};
    *out = (bang_color_set){0};
    size_t most = choose_digits(out, mnist, options);
    out->count = options->count ? options->count : most;
    if (!(options->shift >= 0 && options->shift <= 1))
        bang_text_add(&problems, "; shift %g: must be 0 to 1", options->shift);
    if (most == 0)
        bang_text_add(&problems, "; split %s: MNIST has too few digits for it",
                      options->test ? "test" : "train");
    else if (out->count > most)
        bang_text_add(&problems, "; count %zu: the split %s has %zu images at most", out->count,
                      options->test ? "test" : "train", most);
    int rc = bang_text_fail(&problems, err);
    if (rc < 0) {
        *out = (bang_color_set){0};
        return rc;
    }
    for (int i = 0; i < BANG_COLOR_PATCHES; i++)
        draw_map(out->map[i], options->seed, options->single ? 0 : (uint64_t)i);
    out->colors = malloc(out->count * BANG_COLOR_PATCHES); /* count <= bytes of the labels */
    if (!out->colors)
        return bang_fail_memory(err);
    for (size_t i = 0; i < out->count; i++)
        draw_colors(out->colors + i * BANG_COLOR_PATCHES, out, i, options);
    return 0;
}

void bang_color_release(bang_color_set *set)
{
    free(set->colors);
    *set = (bang_color_set){0};
}

/* Row of a cell in each colour. */
static void fill_stripes(uint8_t stripes[BANG_COLOR_CLASSES][CELL_ROW])
{
    for (int k = 0; k < BANG_COLOR_CLASSES; k++)
        for (int x = 0; x < CELL_ROW; x++)
            stripes[k][x] = bang_color_palette[k][x % 3];
}

/* One row of pixels per row of cells is put together and copied to the others;
 * the digit is written over the hole in the middle. */
static void render_one(uint8_t *out, const uint8_t *colors, const uint8_t *digit,
                       uint8_t stripes[BANG_COLOR_CLASSES][CELL_ROW])
{
    for (int row = 0; row < CELLS; row++) {
        uint8_t *first = out + row * BANG_COLOR_CELL * ROW;
        for (int column = 0; column < CELLS; column++)
            if (!is_middle(row, column))
                memcpy(first + column * CELL_ROW, stripes[*colors++], CELL_ROW);
        for (int y = 1; y < BANG_COLOR_CELL; y++)
            memcpy(first + y * ROW, first, ROW);
    }
    for (int y = 0; y < DIGIT / 2; y++) {
        uint8_t *pixel = out + (MIDDLE * BANG_COLOR_CELL + y) * ROW + MIDDLE * CELL_ROW;
        const uint8_t *line = digit + 2 * y * DIGIT;
        for (int x = 0; x < DIGIT / 2; x++)
            pixel[3 * x] = pixel[3 * x + 1] = pixel[3 * x + 2] = line[2 * x];
    }
}

void bang_color_render(uint8_t *out, const bang_color_set *set, size_t first, size_t count)
{
    uint8_t stripes[BANG_COLOR_CLASSES][CELL_ROW];
    fill_stripes(stripes);
    for (size_t i = 0; i < count; i++)
        render_one(out + i * BANG_COLOR_PIXELS, set->colors + (first + i) * BANG_COLOR_PATCHES,
                   set->digits + (first + i) * DIGIT * DIGIT, stripes);
}
