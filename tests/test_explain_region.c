/* Maps where it is known what matters. In every picture one patch of the right half holds the
 * mark that says its class; a mark of a random class stands in the left half, noise everywhere
 * else. A small ViT learns the classes, so it must look at the mark on the right and must not let
 * the one on the left decide.
 *
 * Rule, for HiResCAM and input gradients, over the pictures that it classifies right: one of the
 * 16 patches has 1/16 of a map by chance. The mean share of the marked patch must be above 3 times
 * that, the mean share of the left half below its 1/2, each by 3 standard errors, and the marked
 * patch the brightest in more than half of the pictures.
 *
 * Grad-CAM is not held to it here: the class token of this network reads the mark in the first
 * block, and Grad-CAM looks at the last. It is held to a network that decides in its last block.
 * Nor is rollout, as values and what comes after may undo attention: it is held to a network that
 * attends to the mark by construction. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/explain/saliency.h"
#include "bang/train/predict.h"
#include "bang/train/tune.h"

enum { EDGE = 24, PATCH = 6, SIDE = EDGE / PATCH, CELLS = SIDE * SIDE, CLASSES = 3 };
enum { TRAINED = 1500, TESTED = 150, STEPS = 400, BATCH = 32 };

static const bang_vit_config config = {.image = EDGE,
                                       .patch = PATCH,
                                       .channels = 1,
                                       .width = 32,
                                       .depth = 2,
                                       .heads = 4,
                                       .hidden = 48,
                                       .classes = CLASSES,
                                       .epsilon = 1e-6,
                                       .patch_bias = 1};

/* Bars across, bars down, a chessboard of 2 x 2. */
static int mark(size_t class, size_t y, size_t x)
{
    return class == 0 ? y / 2 % 2 == 0 : class == 1 ? x / 2 % 2 == 0 : (y / 2 + x / 2) % 2 == 0;
}

static void draw_mark(uint8_t *picture, size_t cell, size_t class)
{
    for (size_t y = 0; y < PATCH; y++)
        for (size_t x = 0; x < PATCH; x++)
            picture[(cell / SIDE * PATCH + y) * EDGE + cell % SIDE * PATCH + x] =
                mark(class, y, x) ? 230 : 25;
}

/* where (count): the patch that decides. */
static void make_pictures(bang_images *set, size_t *where, size_t count, uint64_t seed)
{
    bang_error err = {0};
    *set = (bang_images){.count = count, .classes = CLASSES};
    assert_int_equal(
        bang_array_init(&set->memory.inputs, BANG_U8, 3, (size_t[]){count, EDGE, EDGE}, &err), 0);
    set->memory.count = count;
    set->memory.width = EDGE * EDGE;
    set->memory.classes = CLASSES;
    set->labels = calloc(count, sizeof *set->labels);
    assert_non_null(set->labels);
    for (size_t i = 0; i < count; i++) {
        uint8_t *picture = (uint8_t *)set->memory.inputs.data + i * EDGE * EDGE;
        bang_random random;
        bang_random_init(&random, seed, BANG_PURPOSE('m', 'a', 'r', 'k'), i);
        for (size_t p = 0; p < EDGE * EDGE; p++)
            picture[p] = (uint8_t)bang_random_below(&random, 256);
        size_t row = bang_random_below(&random, SIDE), half = SIDE / 2;
        where[i] = row * SIDE + half + bang_random_below(&random, half);
        set->labels[i] = (int64_t)bang_random_below(&random, CLASSES);
        draw_mark(picture, where[i], (size_t)set->labels[i]);
        row = bang_random_below(&random, SIDE);
        draw_mark(picture, row * SIDE + bang_random_below(&random, half),
                  bang_random_below(&random, CLASSES));
    }
}

static void train(bang_vit_model *model)
{
    bang_error err = {0};
    bang_images set;
    bang_tune_result result;
    bang_tune_options options = BANG_TUNE_OPTIONS_INIT;
    size_t *where = calloc(TRAINED, sizeof *where);
    assert_non_null(where);
    make_pictures(&set, where, TRAINED, 1);
    options.train.loss = BANG_CROSS_ENTROPY;
    options.train.optimizer = BANG_ADAMW;
    options.train.rate = 3e-3;
    options.train.schedule = BANG_COSINE;
    options.train.warmup = STEPS / 20;
    options.train.clip_norm = 1;
    options.train.batch = BATCH;
    options.train.steps = STEPS;
    options.threads = options.feed.threads = 1;
    if (bang_tune_vit(model, &set, NULL, &options, &result, &err) < 0)
        fail_msg("%s", err.message);
    bang_images_release(&set);
    free(where);
}

/* Of the pictures that are classified right: means, and standard errors of the two shares. */
typedef struct shares {
    double right; /* how many are, of all */
    double mark, mark_error, left, left_error;
    double best; /* how often the mark is brightest */
} shares;

static void settle(double *mean, double *error, double sum, double squares, double count)
{
    *mean = sum / count;
    *error = sqrt((squares / count - *mean * *mean) / count);
}

static void look(double cells[CELLS], bang_saliency *maps, bang_saliency_kind kind,
                 const float *pixels)
{
    double map[EDGE * EDGE];
    bang_saliency_map(map, maps, kind, pixels, SIZE_MAX);
    bang_saliency_cells(cells, SIDE, map, bang_saliency_side(maps, kind));
}

static shares measure(const bang_vit_model *model, bang_saliency_kind kind)
{
    bang_error err = {0};
    bang_images set;
    bang_saliency *maps;
    size_t where[TESTED];
    double right = 0, mark = 0, mark2 = 0, other = 0, other2 = 0;
    uint8_t left[CELLS], marked[CELLS];
    shares s = {0};
    for (size_t t = 0; t < CELLS; t++)
        left[t] = t % SIDE < SIDE / 2;
    make_pictures(&set, where, TESTED, 2);
    assert_int_equal(bang_saliency_open(&maps, &model->vit, &err), 0);
    for (size_t i = 0; i < TESTED; i++) {
        const uint8_t *picture = (const uint8_t *)set.memory.inputs.data + i * EDGE * EDGE;
        float pixels[EDGE * EDGE];
        double cells[CELLS];
        size_t best = 0, guess = 0;
        for (size_t p = 0; p < EDGE * EDGE; p++)
            pixels[p] = ((float)picture[p] / 255 - model->mean[0]) / model->std[0];
        look(cells, maps, kind, pixels);
        for (size_t c = 1; c < CLASSES; c++)
            guess = bang_saliency_logits(maps)[c] > bang_saliency_logits(maps)[guess] ? c : guess;
        if ((int64_t)guess != set.labels[i])
            continue;
        for (size_t t = 0; t < CELLS; t++) {
            marked[t] = t == where[i];
            best = cells[t] > cells[best] ? t : best;
        }
        double in_mark = bang_saliency_inside(cells, marked, CELLS);
        double on_left = bang_saliency_inside(cells, left, CELLS);
        if (isnan(in_mark)) { /* a map of zeros: no evidence anywhere */
            in_mark = 0;
            on_left = .5;
        }
        mark += in_mark;
        mark2 += in_mark * in_mark;
        other += on_left;
        other2 += on_left * on_left;
        s.best += best == where[i];
        right++;
    }
    s.right = right / TESTED;
    s.best /= right;
    settle(&s.mark, &s.mark_error, mark, mark2, right);
    settle(&s.left, &s.left_error, other, other2, right);
    bang_saliency_close(maps);
    bang_images_release(&set);
    return s;
}

static void test_region(void **state)
{
    (void)state;
    static const char *const names[] = {"Grad-CAM", "HiResCAM", "input gradients", "rollout"};
    const double chance = 1.0 / CELLS;
    bang_error err = {0};
    bang_vit_model model;
    assert_int_equal(bang_vit_model_make(&model, &config, 3, &err), 0);
    train(&model);
    for (int kind = 0; kind < BANG_SALIENCY_KINDS; kind++) {
        shares s = measure(&model, (bang_saliency_kind)kind);
        print_message("%s: %.3f right; of a map %.3f +- %.3f in the mark, %.3f +- %.3f on the "
                      "left; brightest in %.3f\n",
                      names[kind], s.right, s.mark, s.mark_error, s.left, s.left_error, s.best);
        if (s.right < .9)
            fail_msg("it has not learned the classes: %.3f right", s.right);
        if (kind == BANG_GRADCAM || kind == BANG_ROLLOUT)
            continue;
        if (!(s.mark - 3 * s.mark_error > 3 * chance))
            fail_msg("%s: %.3f in the mark", names[kind], s.mark);
        if (!(s.left + 3 * s.left_error < .5))
            fail_msg("%s: %.3f on the left", names[kind], s.left);
        if (!(s.best > .5))
            fail_msg("%s: the mark is brightest in %.3f", names[kind], s.best);
    }
    bang_vit_model_release(&model);
}

/* A network that has learned nothing sees no mark. */
static void test_untrained(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit_model model;
    bang_random random;
    assert_int_equal(bang_vit_model_make(&model, &config, 3, &err), 0);
    bang_random_init(&random, 3, BANG_PURPOSE('h', 'e', 'a', 'd'), 0);
    for (size_t i = model.vit.map.head_weight; i < model.vit.map.count; i++)
        model.vit.parameters[i] = (float)bang_random_normal(&random);
    for (int kind = 0; kind < BANG_SALIENCY_KINDS; kind++) {
        shares s = measure(&model, (bang_saliency_kind)kind);
        if (!(s.mark < 2.0 / CELLS))
            fail_msg("kind %d: %.3f in the mark", kind, s.mark);
    }
    bang_vit_model_release(&model);
}

/* A network by construction. Tokens are (b, -b, 1, -1) with b = 1 for a patch that is white and 0
 * for a black one; the first block does nothing, the last takes the mean of all tokens' first
 * number into the class token, whose second number it lessens by as much; that is output 1. So
 * the white patch is what matters, and both maps over patches show it alone. */
static void test_last_block(void **state)
{
    (void)state;
    const bang_vit_config tiny = {.image = 8,
                                  .patch = 2,
                                  .channels = 1,
                                  .width = 4,
                                  .depth = 2,
                                  .heads = 1,
                                  .hidden = 1,
                                  .classes = 2,
                                  .epsilon = 1e-6};
    bang_error err = {0};
    bang_vit vit;
    bang_saliency *maps;
    assert_int_equal(bang_vit_init(&vit, &tiny, &err), 0);
    const bang_vit_map *map = &vit.map;
    const bang_vit_block *last = &map->blocks[1];
    float *w = vit.parameters;
    for (size_t i = 0; i < 4; i++) {
        w[map->patch_weight + i] = .25F; /* the mean of 2 x 2 pixels */
        w[map->patch_weight + 4 + i] = -.25F;
        w[map->norm_gain + i] = w[last->norm1_gain + i] = 1;
    }
    for (size_t t = 0; t < bang_vit_tokens(&tiny); t++) {
        w[map->positions + t * 4 + 2] = 1;
        w[map->positions + t * 4 + 3] = -1;
    }
    w[last->qkv_weight + 8 * 4] = 1; /* the value's first number is the token's */
    w[last->proj_weight] = 1;
    w[last->proj_weight + 4] = -1;
    w[map->head_weight + 4] = 1;
    assert_int_equal(bang_saliency_open(&maps, &vit, &err), 0);
    for (size_t white = 0; white < 16; white++) {
        float pixels[64] = {0};
        double out[64], all = 0;
        for (size_t i = 0; i < 4; i++)
            pixels[(white / 4 * 2 + i / 2) * 8 + white % 4 * 2 + i % 2] = 1;
        for (int kind = BANG_GRADCAM; kind <= BANG_HIRESCAM; kind++) {
            assert_int_equal(bang_saliency_map(out, maps, (bang_saliency_kind)kind, pixels, 1), 1);
            all = 0;
            for (size_t t = 0; t < 16; t++)
                all += out[t];
            assert_true(out[white] > 1e-3);
            assert_true(out[white] > (1 - 1e-6) * all);
            /* what speaks for output 1 speaks against no other: output 0 knows nothing */
            bang_saliency_map(out, maps, (bang_saliency_kind)kind, pixels, 0);
            for (size_t t = 0; t < 16; t++)
                assert_true(!(out[t] > 0));
        }
    }
    bang_saliency_close(maps);
    bang_vit_release(&vit);
}

/* As before, but now the query of every token is its third number and the key its first, both
 * times the strength: white patches, and only they, are attended to, in one block or in both.
 * Row of the class token, with a the attention of a block, (a + 1)/2 of each: what does not stay
 * with itself is all on the white patch. Without strength the attention is even, and so is the
 * map. */
static void test_attention(void **state)
{
    (void)state;
    const bang_vit_config tiny = {.image = 8,
                                  .patch = 2,
                                  .channels = 1,
                                  .width = 4,
                                  .depth = 2,
                                  .heads = 1,
                                  .hidden = 1,
                                  .classes = 2,
                                  .epsilon = 1e-6};
    bang_error err = {0};
    bang_vit vit;
    bang_saliency *maps;
    assert_int_equal(bang_vit_init(&vit, &tiny, &err), 0);
    const bang_vit_map *map = &vit.map;
    float *w = vit.parameters;
    for (size_t i = 0; i < 4; i++) {
        w[map->patch_weight + i] = .25F; /* the mean of 2 x 2 pixels */
        w[map->patch_weight + 4 + i] = -.25F;
        w[map->norm_gain + i] = 1;
        for (size_t l = 0; l < 2; l++)
            w[map->blocks[l].norm1_gain + i] = 1;
    }
    for (size_t t = 0; t < bang_vit_tokens(&tiny); t++) {
        w[map->positions + t * 4 + 2] = 1;
        w[map->positions + t * 4 + 3] = -1;
    }
    assert_int_equal(bang_saliency_open(&maps, &vit, &err), 0);
    for (int attending = 0; attending <= 2; attending++) { /* blocks, the last ones first */
        for (int l = 0; l < 2; l++) {
            float strength = 2 - l <= attending ? 8 : 0;
            w[map->blocks[l].qkv_weight + 2] = strength;
            w[map->blocks[l].qkv_weight + 4 * 4] = strength;
        }
        for (size_t white = 0; white < 16; white++) {
            float pixels[64] = {0};
            double out[64], all = 0;
            for (size_t i = 0; i < 4; i++)
                pixels[(white / 4 * 2 + i / 2) * 8 + white % 4 * 2 + i % 2] = 1;
            bang_saliency_map(out, maps, BANG_ROLLOUT, pixels, SIZE_MAX);
            for (size_t t = 0; t < 16; t++)
                all += out[t];
            if (attending == 0) {
                assert_true(fabs(out[white] / all - 1.0 / 16) < 1e-6);
            } else if (attending == 2) {
                assert_true(fabs(out[white] - .75) < 1e-6 && out[white] > (1 - 1e-6) * all);
            } else { /* the block before brings half of it from all 17 tokens alike */
                assert_true(fabs(out[white] - (.25 + .5 / 17)) < 1e-6);
            }
        }
    }
    bang_saliency_close(maps);
    bang_vit_release(&vit);
}

/* Weights that are zero for the lower half of every patch: exactly nothing depends on it. */
static void test_ignored(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit vit;
    bang_saliency *maps;
    bang_random random;
    double map[EDGE * EDGE], seen = 0;
    float pixels[EDGE * EDGE];
    assert_int_equal(bang_vit_init(&vit, &config, &err), 0);
    bang_vit_randomise(&vit, 4);
    bang_random_init(&random, 4, BANG_PURPOSE('h', 'e', 'a', 'd'), 0);
    for (size_t i = vit.map.head_weight; i < vit.map.count; i++)
        vit.parameters[i] = (float)bang_random_normal(&random);
    for (size_t i = 0; i < config.width * PATCH * PATCH; i++)
        if (i / PATCH % PATCH >= PATCH / 2)
            vit.parameters[vit.map.patch_weight + i] = 0;
    for (size_t p = 0; p < EDGE * EDGE; p++)
        pixels[p] = (float)bang_random_normal(&random);
    assert_int_equal(bang_saliency_open(&maps, &vit, &err), 0);
    bang_saliency_map(map, maps, BANG_INPUT_GRADIENT, pixels, 1);
    for (size_t p = 0; p < EDGE * EDGE; p++)
        if (p / EDGE % PATCH >= PATCH / 2)
            assert_true(!(map[p] > 0) && !(map[p] < 0));
        else
            seen += map[p] > 0;
    assert_true(seen > .99 * EDGE * EDGE / 2);
    bang_saliency_close(maps);
    bang_vit_release(&vit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_region),     cmocka_unit_test(test_untrained),
        cmocka_unit_test(test_last_block), cmocka_unit_test(test_attention),
        cmocka_unit_test(test_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
