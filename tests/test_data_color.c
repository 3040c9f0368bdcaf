/* The colour sets: where things are, and that what is drawn has the law that
 * it should have. */
#include "mnist_small.h"

#include <math.h>

#include "bang/base/lock.h"
#include "bang/data/color.h"
#include "bang/store/npy.h"
#include "distribution.h"

static void make(bang_color_set *set, const bang_mnist *mnist, bang_color_options options)
{
    bang_error err = {0};
    if (bang_color_make(set, mnist, &options, &err) < 0)
        fail_msg("%s", err.message);
}

static void test_cells(void **state)
{
    (void)state;
    int seen[6][6] = {{0}}, last = -1;
    for (int i = 0; i < BANG_COLOR_PATCHES; i++) {
        int row, column;
        bang_color_cell(i, &row, &column);
        assert_true(row >= 0 && row < 6 && column >= 0 && column < 6);
        assert_false((row == 2 || row == 3) && (column == 2 || column == 3));
        assert_true(row * 6 + column > last);
        last = row * 6 + column;
        seen[row][column]++;
    }
    for (int cell = 0; cell < 36; cell++)
        assert_true(seen[cell / 6][cell % 6] <= 1);
}

static void test_palette(void **state)
{
    (void)state;
    static const uint8_t orange[3] = {255, 165, 0}, grey[3] = {128, 128, 128};
    assert_string_equal(bang_color_names[9], "orange");
    assert_memory_equal(bang_color_palette[9], orange, 3);
    assert_string_equal(bang_color_names[8], "grey");
    assert_memory_equal(bang_color_palette[8], grey, 3);
    for (int i = 0; i < BANG_COLOR_CLASSES; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(bang_color_palette[i], bang_color_palette[j], 3);
}

/* Pixel by pixel, straight from the description. */
static uint8_t expected_pixel(const bang_color_set *set, size_t image, int y, int x, int channel)
{
    int row = y / 7, column = x / 7;
    if (row >= 2 && row <= 3 && column >= 2 && column <= 3)
        return set->digits[image * 784 + (size_t)(2 * (y - 14) * 28 + 2 * (x - 14))];
    for (int i = 0; i < BANG_COLOR_PATCHES; i++) {
        int r, c;
        bang_color_cell(i, &r, &c);
        if (r == row && c == column)
            return bang_color_palette[set->colors[image * BANG_COLOR_PATCHES + (size_t)i]][channel];
    }
    fail();
    return 0;
}

static void test_render(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set set;
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    make(&set, &mnist, (bang_color_options){.shift = 0.5, .seed = 4});
    uint8_t *images = malloc(set.count * BANG_COLOR_PIXELS), *one = malloc(BANG_COLOR_PIXELS);
    assert_true(images && one);
    bang_color_render(images, &set, 0, set.count);
    for (size_t i = 0; i < set.count; i++) {
        for (int at = 0; at < BANG_COLOR_PIXELS; at++)
            assert_int_equal(images[i * BANG_COLOR_PIXELS + (size_t)at],
                             expected_pixel(&set, i, at / 126, at % 126 / 3, at % 3));
        bang_color_render(one, &set, i, 1);
        assert_memory_equal(one, images + i * BANG_COLOR_PIXELS, BANG_COLOR_PIXELS);
    }
    free(images);
    free(one);
    bang_color_release(&set);
    bang_mnist_release(&mnist);
}

static void test_splits(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set set;
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    const uint8_t *train = mnist.train_images.data, *test = mnist.test_images.data;
    static const struct {
        int test;
        bang_color_protocol protocol;
        size_t count, first;
        int own_file;
    } cases[] = {
        {0, BANG_COLOR_DEFAULT, 100, 0, 0},   {1, BANG_COLOR_DEFAULT, 20, 100, 0},
        {0, BANG_COLOR_PUBLISHED, 100, 0, 0}, {1, BANG_COLOR_PUBLISHED, 20, 100, 0},
        {0, BANG_COLOR_PAPER, 120, 0, 0},     {1, BANG_COLOR_PAPER, 30, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(&set, &mnist,
             (bang_color_options){.test = cases[i].test, .protocol = cases[i].protocol});
        assert_int_equal(set.count, cases[i].count);
        assert_ptr_equal(set.digits, (cases[i].own_file ? test : train) + cases[i].first * 784);
        bang_color_release(&set);
    }
    make(&set, &mnist, (bang_color_options){.count = 7});
    assert_int_equal(set.count, 7);
    bang_color_release(&set);
    bang_mnist_release(&mnist);
}

static void test_refusals(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set set;
    bang_error err = {0};
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    bang_color_options options = BANG_COLOR_OPTIONS_INIT;
    options.shift = 1.5;
    options.count = 101;
    assert_int_equal(bang_color_make(&set, &mnist, &options, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "shift 1.5"));
    assert_non_null(strstr(err.message, "101"));
    assert_non_null(strstr(err.message, "100 images at most"));
    assert_null(set.colors);
    options.count = 0;
    options.shift = NAN;
    assert_int_equal(bang_color_make(&set, &mnist, &options, &err), BANG_EUSAGE);
    bang_mnist_release(&mnist);
    small_mnist(&mnist, 5, 5); /* a sixth of five is nothing */
    options.shift = 0;
    options.test = 1;
    assert_int_equal(bang_color_make(&set, &mnist, &options, &err), BANG_EUSAGE);
    bang_mnist_release(&mnist);
    bang_color_protocol protocol;
    assert_int_equal(bang_color_find_protocol(&protocol, "paper"), 0);
    assert_int_equal(protocol, BANG_COLOR_PAPER);
    assert_string_equal(bang_color_protocol_name(protocol), "paper");
    assert_int_equal(bang_color_find_protocol(&protocol, "Paper"), -1);
}

/* The map is a permutation, the same for every split and p, another one for
 * another patch and seed; one for all with SingleColor. */
static void test_map(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set set, other;
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    make(&set, &mnist, (bang_color_options){.seed = 9});
    for (int i = 0; i < BANG_COLOR_PATCHES; i++) {
        int seen = 0;
        for (int k = 0; k < BANG_COLOR_CLASSES; k++)
            seen |= 1 << set.map[i][k];
        assert_int_equal(seen, 1023);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(set.map[i], set.map[j], BANG_COLOR_CLASSES);
    }
    make(&other, &mnist, (bang_color_options){.seed = 9, .shift = 0.7, .test = 1, .count = 3});
    assert_memory_equal(set.map, other.map, sizeof set.map);
    bang_color_release(&other);
    make(&other, &mnist, (bang_color_options){.seed = 10});
    assert_memory_not_equal(set.map, other.map, sizeof set.map);
    bang_color_release(&other);
    make(&other, &mnist, (bang_color_options){.seed = 9, .single = 1});
    for (int i = 1; i < BANG_COLOR_PATCHES; i++)
        assert_memory_equal(other.map[i], other.map[0], BANG_COLOR_CLASSES);
    /* without a shift the colours are the map's */
    for (size_t i = 0; i < set.count; i++)
        for (size_t k = 0; k < BANG_COLOR_PATCHES; k++) {
            assert_int_equal(set.colors[i * 32 + k], set.map[k][set.labels[i]]);
            assert_int_equal(other.colors[i * 32 + k], other.map[0][set.labels[i]]);
        }
    bang_color_release(&other);
    bang_color_release(&set);
    bang_mnist_release(&mnist);
}

/* Over many seeds each colour is equally likely for each class. */
static void test_map_uniform(void **state)
{
    (void)state;
    enum { SEEDS = 400 };
    bang_mnist mnist;
    static double counts[BANG_COLOR_CLASSES][BANG_COLOR_CLASSES];
    double expected[BANG_COLOR_CLASSES];
    small_mnist(&mnist, 6, 1);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        bang_color_set set;
        make(&set, &mnist, (bang_color_options){.seed = seed});
        for (int i = 0; i < BANG_COLOR_PATCHES; i++)
            for (int k = 0; k < BANG_COLOR_CLASSES; k++)
                counts[k][set.map[i][k]]++;
        bang_color_release(&set);
    }
    for (int k = 0; k < BANG_COLOR_CLASSES; k++)
        expected[k] = SEEDS * BANG_COLOR_PATCHES / 10.0;
    for (int k = 0; k < BANG_COLOR_CLASSES; k++)
        assert_true(chi_square(counts[k], expected, BANG_COLOR_CLASSES) < 5);
    bang_mnist_release(&mnist);
}

enum { MANY = 24000 }; /* 20,000 to train */

/* Kept fraction 1 - p + p/10, the other colours uniform, patches independent. */
static void check_draw(const bang_mnist *mnist, double p, int test)
{
    bang_color_set set;
    make(&set, mnist, (bang_color_options){.shift = p, .seed = 3, .test = test});
    double n = (double)set.count, keep = 1 - p + p / 10, sd = sqrt(keep * (1 - keep) / n);
    double wrong[9] = {0}, expected[9];
    static double kept[BANG_COLOR_PATCHES], both[BANG_COLOR_PATCHES][BANG_COLOR_PATCHES];
    memset(kept, 0, sizeof kept);
    memset(both, 0, sizeof both);
    for (size_t i = 0; i < set.count; i++) {
        int right[BANG_COLOR_PATCHES];
        for (int k = 0; k < BANG_COLOR_PATCHES; k++) {
            int color = set.colors[i * 32 + (size_t)k], own = set.map[k][set.labels[i]];
            right[k] = color == own;
            if (!right[k])
                wrong[(color - own + 10) % 10 - 1]++;
            kept[k] += right[k];
            for (int j = 0; j < k; j++)
                both[k][j] += right[k] && right[j];
        }
    }
    double total = 0;
    for (int k = 0; k < BANG_COLOR_PATCHES; k++) {
        total += kept[k];
        assert_true(fabs(kept[k] / n - keep) <= 5 * sd);
        for (int j = 0; j < k; j++) { /* covariance of two patches, its sd sd^2 sqrt(n) */
            double covariance = both[k][j] / n - kept[k] / n * kept[j] / n;
            assert_true(fabs(covariance) <= 5 * sd * sd * sqrt(n));
        }
    }
    assert_true(fabs(total / n / 32 - keep) <= 5 * sd / sqrt(32));
    for (int k = 0; k < 9; k++)
        expected[k] = n * 32 * p / 10;
    assert_true(fabs(chi_square(wrong, expected, 9)) < 5);
    bang_color_release(&set);
}

static void test_draw(void **state)
{
    (void)state;
    bang_mnist mnist;
    small_mnist(&mnist, MANY, 1);
    check_draw(&mnist, 0.1, 0);
    check_draw(&mnist, 0.8, 0);
    check_draw(&mnist, 0.8, 1);
    check_draw(&mnist, 1, 0);
    bang_mnist_release(&mnist);
}

/* Neighbouring images do not share what is drawn: with p = 1 a patch of two
 * images has the same colour once in ten. */
static void test_images_independent(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set set;
    small_mnist(&mnist, MANY, 1);
    make(&set, &mnist, (bang_color_options){.shift = 1, .seed = 8});
    double same = 0, n = (double)(set.count - 1) * BANG_COLOR_PATCHES;
    for (size_t i = 0; i < (set.count - 1) * BANG_COLOR_PATCHES; i++)
        same += set.colors[i] == set.colors[i + BANG_COLOR_PATCHES];
    assert_true(fabs(same / n - 0.1) <= 5 * sqrt(0.09 / n));
    bang_color_release(&set);
    bang_mnist_release(&mnist);
}

static void test_draw_single(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set set;
    small_mnist(&mnist, MANY, 1);
    make(&set, &mnist, (bang_color_options){.shift = 0.6, .single = 1});
    double kept = 0, n = (double)set.count, keep = 0.4 + 0.06;
    for (size_t i = 0; i < set.count; i++) {
        for (size_t k = 1; k < BANG_COLOR_PATCHES; k++)
            assert_int_equal(set.colors[i * 32 + k], set.colors[i * 32]);
        kept += set.colors[i * 32] == set.map[0][set.labels[i]];
    }
    assert_true(fabs(kept / n - keep) <= 5 * sqrt(keep * (1 - keep) / n));
    bang_color_release(&set);
    bang_mnist_release(&mnist);
}

/* A patch that shifts at some p shifts at every larger one, to the same colour;
 * image i does not depend on how many there are; train and test are not alike. */
static void test_coupling(void **state)
{
    (void)state;
    bang_mnist mnist;
    bang_color_set small, large, few, again, test;
    small_mnist(&mnist, 1200, 1);
    make(&small, &mnist, (bang_color_options){.shift = 0.3, .seed = 5});
    make(&large, &mnist, (bang_color_options){.shift = 0.8, .seed = 5});
    make(&few, &mnist, (bang_color_options){.shift = 0.3, .seed = 5, .count = 10});
    make(&again, &mnist, (bang_color_options){.shift = 0.3, .seed = 6});
    make(&test, &mnist, (bang_color_options){.shift = 1, .seed = 5, .test = 1});
    size_t moved = 0, more = 0;
    for (size_t i = 0; i < small.count * 32; i++) {
        int own = small.map[i % 32][small.labels[i / 32]];
        if (small.colors[i] != own) {
            assert_int_equal(large.colors[i], small.colors[i]);
            moved++;
        }
        more += large.colors[i] != own;
    }
    assert_true(moved > 0 && more > 2 * moved);
    assert_memory_equal(few.colors, small.colors, 10 * 32);
    assert_memory_not_equal(again.colors, small.colors, 10 * 32);
    assert_memory_not_equal(test.colors, large.colors, 10 * 32);
    bang_color_release(&small);
    bang_color_release(&large);
    bang_color_release(&few);
    bang_color_release(&again);
    bang_color_release(&test);
    bang_mnist_release(&mnist);
}

/* What is written is what is rendered; equal settings give equal bytes. */
static void test_save(void **state)
{
    bang_mnist mnist;
    bang_color_set set;
    bang_array images, labels;
    bang_error err = {0};
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    bang_color_options options = BANG_COLOR_OPTIONS_INIT;
    options.shift = 0.25;
    options.count = 70; /* more than a chunk */
    make(&set, &mnist, options);
    const char *folder = in_folder(*state, "a/b");
    assert_int_equal(bang_color_save(folder, &set, &mnist, &options, NULL, NULL, &err), 0);
    assert_int_equal(bang_npy_read(&images, in_folder(folder, "images.npy"), &err), 0);
    assert_int_equal(bang_npy_read(&labels, in_folder(folder, "labels.npy"), &err), 0);
    assert_int_equal(images.rank, 4);
    assert_int_equal(images.dtype, BANG_U8);
    assert_int_equal(images.shape[0], 70);
    uint8_t *expected = malloc(images.count);
    assert_non_null(expected);
    bang_color_render(expected, &set, 0, 70);
    assert_memory_equal(images.data, expected, images.count);
    assert_int_equal(labels.dtype, BANG_I64);
    for (size_t i = 0; i < 70; i++)
        assert_int_equal(((int64_t *)labels.data)[i], set.labels[i]);
    char *manifest, *again, digest[BANG_DIGEST_TEXT];
    size_t size, size_again;
    assert_int_equal(bang_file_read(&manifest, &size, in_folder(folder, "manifest.json"), &err), 0);
    assert_int_equal(bang_digest_file(digest, in_folder(folder, "images.npy"), &err), 0);
    assert_non_null(strstr(manifest, digest));
    assert_non_null(strstr(manifest, bang_color_names[set.map[31][9]]));
    const char *second = in_folder(*state, "second");
    assert_int_equal(bang_color_save(second, &set, &mnist, &options, NULL, NULL, &err), 0);
    assert_int_equal(bang_file_read(&again, &size_again, in_folder(second, "manifest.json"), &err),
                     0);
    assert_int_equal(size, size_again);
    assert_memory_equal(manifest, again, size);
    free(manifest);
    free(again);
    /* cut short: what was there stays, and nothing else */
    bang_cancel cancel = {1};
    assert_int_equal(bang_color_save(second, &set, &mnist, &options, NULL, &cancel, &err),
                     BANG_ECANCELLED);
    assert_true(exists(in_folder(second, "manifest.json")));
    assert_false(exists(in_folder(second, ".new.bang-part")));
    assert_false(exists(in_folder(second, ".bang-lock")));
    /* while another writes */
    bang_lock *lock;
    assert_int_equal(bang_lock_take(&lock, in_folder(second, ".bang-lock"), &err), 0);
    assert_int_equal(bang_color_save(second, &set, &mnist, &options, NULL, NULL, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "another run is writing here"));
    bang_lock_give(lock);
    free(expected);
    bang_array_release(&images);
    bang_array_release(&labels);
    bang_color_release(&set);
    bang_mnist_release(&mnist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_palette),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_uniform),
        cmocka_unit_test(test_draw),
        cmocka_unit_test(test_images_independent),
        cmocka_unit_test(test_draw_single),
        cmocka_unit_test(test_coupling),
        cmocka_unit_test_setup_teardown(test_save, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
