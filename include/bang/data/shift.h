/* Digits of MNIST under shifts: a broad mixture to pre-train on, one narrow domain to
 * fine-tune in, and five domains that were never trained on.
 *
 *     bang_shift_options options = BANG_SHIFT_OPTIONS_INIT;
 *     options.kind = BANG_SHIFT_R;
 *     options.split = BANG_SHIFT_TEST;
 *     bang_shift_make(&images, &labels, &mnist, &options, &err);     // (count, 28, 28) u8
 *
 * Image i is drawn from the stream (seed, kind, split, i) alone, whatever count and threads.
 *
 *     broad  many changes, each with its probability (strengths: shift_recipe.c)
 *     id     a little affine jitter, grey on a smooth texture, a little noise
 *     v2     other writers' digits rendered like id, with more noise      (ImageNet-V2)
 *     r      thick or blurred strokes, all textures, half inverted        (ImageNet-R)
 *     a      covered by a square in part, noisy, often textured           (ImageNet-A)
 *     s      dark thin strokes on white                                   (ImageNet-Sketch)
 *     o      rotated, scaled, sheared, moved, else rendered like id       (ObjectNet)
 *
 * Digits of no two of these overlap (file of 60,000 unless said):
 *
 *     broad train 0 .. 39,999 (60,000 renderings; i is of digit i mod 40,000), test 44,000 ..
 *     id train 40,000 .. 42,999, val 43,000 .. 43,999, test 45,000 .. 49,999
 *     r, a, s, o test 50,000 .., 52,500 .., 55,000 .., 57,500 ..  (2,500 each)
 *     v2 test: the file of 10,000, by other writers (10,000)
 *
 * One's own files of another size are cut in the same shares, rounded down; a split that gets no
 * digit that way is refused.
 */
#ifndef BANG_DATA_SHIFT_H
#define BANG_DATA_SHIFT_H

#include "bang/data/mnist.h"

enum { BANG_SHIFT_SIDE = 28, BANG_SHIFT_CLASSES = 10 };

typedef enum bang_shift_kind {
    BANG_SHIFT_BROAD,
    BANG_SHIFT_ID,
    BANG_SHIFT_V2,
    BANG_SHIFT_R,
    BANG_SHIFT_A,
    BANG_SHIFT_S,
    BANG_SHIFT_O,
    BANG_SHIFT_KINDS,
} bang_shift_kind;
/* "broad", "id", "v2", "r", "a", "s", "o"; -1 when name is none of them. */
extern const char *const bang_shift_names[BANG_SHIFT_KINDS];
int bang_shift_find(bang_shift_kind *out, const char *name);

typedef enum bang_shift_split {
    BANG_SHIFT_TRAIN,
    BANG_SHIFT_VAL,
    BANG_SHIFT_TEST
} bang_shift_split;
/* "train", "val", "test"; -1 when name is none of them. */
int bang_shift_find_split(bang_shift_split *out, const char *name);
const char *bang_shift_split_name(bang_shift_split split);
/* What is meant where no split is named: train, of the kinds that have it, else test. */
bang_shift_split bang_shift_usual_split(bang_shift_kind kind);

typedef struct bang_shift_options {
    bang_shift_kind kind;
    bang_shift_split split;
    uint64_t seed;
    size_t count; /* 0: all that the split has */
    int threads;  /* 0: all */
    bang_cancel *cancel;
    int spare; /* 1: not the split's own digits but those of broad test, in their order */
} bang_shift_options;
#define BANG_SHIFT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        BANG_SHIFT_ID, BANG_SHIFT_TRAIN, 1, 0, 0, NULL, 0                                          \
    }

/* images (count, 28, 28) u8 and labels (count) i64, which the caller releases. BANG_EUSAGE for a
 * split that a kind does not have or more images than there are. */
int bang_shift_make(bang_array *images, bang_array *labels, const bang_mnist *mnist,
                    const bang_shift_options *options, bang_error *err);
/* How many images a split has by default, with digits of its own; 0: there is no such split. */
size_t bang_shift_count(const bang_mnist *mnist, bang_shift_kind kind, bang_shift_split split);

/* Makes a set and writes it to folder, which is made if need be: images.npy (count, 28, 28) u8,
 * labels.npy (count) i64, preview.png and, last, manifest.json, which names all that the others
 * depend on: {"name", "kind", "split", "seed", "count", "mnist", "images", "version"}, "mnist"
 * and "images" being digests. count says how many images they are; it may be NULL. */
int bang_shift_save(size_t *count, const char *folder, const bang_mnist *mnist,
                    const bang_shift_options *options, bang_error *err);

#endif
