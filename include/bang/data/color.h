/* MultiColorMNIST and SingleColorMNIST (section 3.4, appendix C.3): an image of
 * 6x6 cells of 7x7 pixels. The four cells in the middle hold a digit of MNIST at
 * every second pixel; the 32 others are patches of one colour each, out of ten.
 * Patch i shows class y in colour map[i][y], a permutation of the colours of its
 * own (SingleColor: one for all). Out of distribution, each patch (SingleColor:
 * all together) keeps that colour with probability 1 - p and else takes one of
 * the ten at random, the right one included.
 *
 *     bang_color_options options = BANG_COLOR_OPTIONS_INIT;
 *     options.shift = 0.8;
 *     bang_color_set set;
 *     bang_color_make(&set, &mnist, &options, &err);
 *     bang_color_render(images, &set, 0, set.count);
 *     bang_color_release(&set);
 */
#ifndef BANG_DATA_COLOR_H
#define BANG_DATA_COLOR_H

#include "bang/base/progress.h"
#include "bang/data/mnist.h"

enum {
    BANG_COLOR_PATCHES = 32,
    BANG_COLOR_CLASSES = 10,
    BANG_COLOR_CELL = 7,
    BANG_COLOR_SIDE = 42,
    BANG_COLOR_PIXELS = BANG_COLOR_SIDE * BANG_COLOR_SIDE * 3,
};

/* Red, green, blue of the ten colours; their names. */
extern const uint8_t bang_color_palette[BANG_COLOR_CLASSES][3];
extern const char *const bang_color_names[BANG_COLOR_CLASSES];

/* Row and column (0..5) of the cell that patch i fills: row by row. */
void bang_color_cell(int patch, int *row, int *column);

/* Which digits: of the file of 60,000 the first five sixths to train and the
 * last sixth to test (default, published: what gave the paper's tables), or
 * that file whole and the file of 10,000 (paper: as its text reads). */
typedef enum bang_color_protocol {
    BANG_COLOR_DEFAULT,
    BANG_COLOR_PUBLISHED,
    BANG_COLOR_PAPER,
} bang_color_protocol;

/* "default", "published", "paper"; -1 when name is none of them. */
int bang_color_find_protocol(bang_color_protocol *out, const char *name);
const char *bang_color_protocol_name(bang_color_protocol protocol);

typedef struct bang_color_options {
    int single; /* SingleColorMNIST */
    int test;   /* digits for testing instead of training */
    bang_color_protocol protocol;
    double shift;  /* p, 0..1 */
    uint64_t seed; /* of map and draw; the map depends on nothing else */
    size_t count;  /* images, from the first on; 0: all */
} bang_color_options;
#define BANG_COLOR_OPTIONS_INIT                                                                    \
    {                                                                                              \
        0, 0, BANG_COLOR_DEFAULT, 0, 1, 0                                                          \
    }

typedef struct bang_color_set {
    size_t count;
    const uint8_t *digits; /* (count, 28, 28), borrowed from mnist */
    const uint8_t *labels; /* (count), borrowed from mnist */
    uint8_t *colors;       /* (count, 32), owned: colour of each patch */
    uint8_t map[BANG_COLOR_PATCHES][BANG_COLOR_CLASSES];
} bang_color_set;

/* Fails with BANG_EUSAGE, all problems in one message, on a shift outside 0..1
 * or more images than there are. What is drawn for image i depends on seed,
 * split and i alone: a larger p shifts the patches that a smaller one shifts,
 * and more. mnist must outlive the set, which the caller releases. */
int bang_color_make(bang_color_set *out, const bang_mnist *mnist, const bang_color_options *options,
                    bang_error *err);
void bang_color_release(bang_color_set *set);

/* Images first .. first+count-1 as (count, 42, 42, 3) u8. */
void bang_color_render(uint8_t *out, const bang_color_set *set, size_t first, size_t count);

/* Writes a set that was made with these options to folder, which is made if
 * need be: images.npy (count, 42, 42, 3) u8, labels.npy (count) i64, preview.png
 * and, last, manifest.json, which names all that the others depend on and the
 * map by colours: {"name", "protocol", "split", "shift", "seed", "count",
 * "mnist", "images", "version", "map"}, "mnist" and "images" being digests and
 * "map" a list of the colours of the classes 0 .. 9 for each patch (SingleColor:
 * one list). Without a manifest, a run into that folder was cut short. progress
 * and cancel may be NULL. */
int bang_color_save(const char *folder, const bang_color_set *set, const bang_mnist *mnist,
                    const bang_color_options *options, const bang_progress *progress,
                    bang_cancel *cancel, bang_error *err);

#endif
