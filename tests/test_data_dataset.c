/* Data sets from folders and by name, and their contact sheet. */
#include "mnist_small.h"

#include <math.h>
#include <unistd.h>

#include "bang/data/color.h"
#include "bang/data/images.h"
#include "bang/data/sheet.h"
#include "bang/store/npy.h"

static int setup(void **state)
{
    return small_setup(state) < 0 ? -1 : bang_mnist_get(in_folder(*state, "from"), NULL, NULL);
}

static void open_set(bang_dataset *set, const char *source)
{
    bang_error err = {0};
    if (bang_dataset_open(set, source, &err) < 0)
        fail_msg("%s: %s", source, err.message);
}

static void test_mnist(void **state)
{
    (void)state;
    bang_dataset set;
    open_set(&set, "mnist");
    assert_int_equal(set.count, SMALL_TRAIN);
    assert_int_equal(set.width, 784);
    assert_int_equal(set.classes, 10);
    assert_int_equal(set.inputs.rank, 3);
    assert_int_equal(((uint8_t *)set.inputs.data)[5 * 784 + 3 * 28 + 2], small_pixel(5, 3, 2));
    bang_dataset_release(&set);
    open_set(&set, "mnist:split=test,count=4");
    assert_int_equal(set.count, 4);
    assert_int_equal(set.labels.dtype, BANG_I64);
    assert_int_equal(((int64_t *)set.labels.data)[3], 1);
    bang_dataset_release(&set);
}

static void test_fashion(void **state)
{
    bang_dataset set;
    bang_images images;
    bang_error err = {0};
    assert_true(bang_dataset_open(&set, "fashion-mnist", &err) < 0);
    assert_non_null(strstr(err.message, "apt install dataset-fashion-mnist"));
    assert_int_equal(bang_fashion_get(in_folder(*state, "from"), NULL, &err), 0);
    open_set(&set, "fashion-mnist:split=test,count=4");
    assert_int_equal(set.count, 4);
    assert_int_equal(((uint8_t *)set.inputs.data)[3 * 784 + 3 * 28 + 2], small_pixel(3, 3, 2));
    assert_string_equal(set.class_names[9], "ankle boot");
    bang_dataset_release(&set);
    assert_true(bang_dataset_open(&set, "fashion-mnist:count=999", &err) < 0);
    assert_non_null(strstr(err.message, "fashion-mnist: count 999"));
    assert_int_equal(bang_images_open(&images, "fashion-mnist", &err), 0);
    assert_int_equal(images.classes, 10);
    assert_string_equal(images.class_names[0], "t-shirt/top");
    bang_images_release(&images);
}

static void test_color(void **state)
{
    (void)state;
    bang_dataset set;
    bang_mnist mnist;
    bang_color_set expected;
    static uint8_t images[6 * BANG_COLOR_PIXELS];
    assert_int_equal(bang_mnist_open(&mnist, NULL), 0);
    for (int single = 0; single < 2; single++) {
        open_set(&set, single ? "singlecolor:p=0.75,seed=3,split=test,count=6,protocol=paper"
                              : "multicolor:p=0.75,seed=3,split=test,count=6,protocol=paper");
        bang_color_options options = {single, 1, BANG_COLOR_PAPER, 0.75, 3, 6};
        assert_int_equal(bang_color_make(&expected, &mnist, &options, NULL), 0);
        bang_color_render(images, &expected, 0, 6);
        assert_int_equal(set.inputs.rank, 4);
        assert_int_equal(set.inputs.count, sizeof images);
        assert_int_equal(set.width, BANG_COLOR_PIXELS);
        assert_memory_equal(set.inputs.data, images, sizeof images);
        for (int i = 0; i < 6; i++)
            assert_int_equal(((int64_t *)set.labels.data)[i], expected.labels[i]);
        bang_color_release(&expected);
        bang_dataset_release(&set);
    }
    open_set(&set, "multicolor");
    assert_int_equal(set.count, 100);
    bang_dataset_release(&set);
    bang_mnist_release(&mnist);
}

static void refused(const char *source, const char *const *parts)
{
    bang_dataset set;
    bang_error err = {0};
    assert_true(bang_dataset_open(&set, source, &err) < 0);
    for (; *parts; parts++)
        if (!strstr(err.message, *parts))
            fail_msg("%s: \"%s\" is not in: %s", source, *parts, err.message);
    assert_null(strchr(err.message, '\n'));
}
#define REFUSED(source, ...) refused(source, (const char *const[]){__VA_ARGS__, NULL})

static void test_names_refused(void **state)
{
    (void)state;
    REFUSED("nonsense", "nonsense: is no folder and no data set", "multicolor");
    REFUSED("mnist2", "is no folder");
    REFUSED("", "is no folder");
    REFUSED("multicolor:", "write key=value");
    REFUSED("multicolor:p=2,seed=-1,split=val,count=0,protocol=x,q=1,p=0.1", "p=2: must be",
            "seed=-1: must be", "split=val: must be train or test", "count=0: must be",
            "protocol=x: must be default, published or paper",
            "q: unknown: give split, count, p, seed or protocol", "p: given twice");
    REFUSED("multicolor:p", "\"p\": write key=value");
    REFUSED("multicolor:p=0.5,", "\"\": write key=value");
    REFUSED("multicolor:p=0.5 ", "p=0.5 : must be");
    REFUSED("multicolor:p=nan", "p=nan: must be");
    REFUSED("mnist:p=0.5", "p: unknown: give split or count");
    REFUSED("multicolor:count=101", "100 images at most");
    REFUSED("mnist:count=121", "120 images at most");
}

static void put(const char *folder, const char *name, bang_dtype dtype, int rank,
                const size_t *shape, const void *data)
{
    bang_array array;
    assert_int_equal(bang_folder_create(folder, NULL), 0);
    assert_int_equal(bang_array_init(&array, dtype, rank, shape, NULL), 0);
    if (data)
        memcpy(array.data, data, array.count * bang_dtype_size(dtype));
    assert_int_equal(bang_npy_write(in_folder(folder, name), &array, NULL), 0);
    bang_array_release(&array);
}

static void test_folder(void **state)
{
    const char *folder = in_folder(*state, "set");
    static const double values[6] = {0.5, -1, 2, 3, 4, 5.25};
    static const int16_t labels[3] = {4, 0, 2};
    bang_dataset set;
    put(folder, "images.npy", BANG_F64, 2, (size_t[]){3, 2}, values);
    put(folder, "labels.npy", BANG_I16, 1, (size_t[]){3}, labels);
    open_set(&set, folder);
    assert_int_equal(set.inputs.dtype, BANG_F32);
    assert_int_equal(set.count, 3);
    assert_int_equal(set.width, 2);
    assert_int_equal(set.classes, 5);
    for (int i = 0; i < 6; i++)
        assert_true(((float *)set.inputs.data)[i] == (float)values[i]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(((int64_t *)set.labels.data)[i], labels[i]);
    bang_dataset_release(&set);
    put(folder, "images.npy", BANG_U8, 4, (size_t[]){3, 2, 2, 3}, NULL);
    open_set(&set, folder);
    assert_int_equal(set.inputs.dtype, BANG_U8);
    assert_int_equal(set.width, 12);
    bang_dataset_release(&set);
    /* a folder goes before a name */
    assert_int_equal(chdir(*state), 0);
    put("mnist", "images.npy", BANG_U8, 2, (size_t[]){3, 2}, NULL);
    put("mnist", "labels.npy", BANG_I16, 1, (size_t[]){3}, labels);
    open_set(&set, "mnist");
    assert_int_equal(set.width, 2);
    bang_dataset_release(&set);
    assert_int_equal(chdir("/"), 0);
}

static void test_folder_refused(void **state)
{
    char folder[1024]; /* used longer than in_folder's are good for */
    snprintf(folder, sizeof folder, "%s/set", (const char *)*state);
    static const int64_t negative[3] = {0, -2, 1}, huge[3] = {0, 1, INT64_MAX};
    static const float broken[6] = {0, 0, 0, NAN, 0, 0};
    assert_int_equal(bang_folder_create(folder, NULL), 0);
    REFUSED(folder, "images.npy: missing; labels.npy: missing");
    put(folder, "images.npy", BANG_U8, 2, (size_t[]){4, 2}, NULL);
    put(folder, "labels.npy", BANG_I64, 1, (size_t[]){3}, negative);
    REFUSED(folder, "4 images and 3 labels do not fit together", "label 1 is -2");
    put(folder, "images.npy", BANG_I32, 2, (size_t[]){3, 2}, NULL);
    put(folder, "labels.npy", BANG_I64, 1, (size_t[]){3}, huge);
    REFUSED(folder, "images.npy: type I32", "label 2 is", "below 2^31");
    put(folder, "images.npy", BANG_F32, 2, (size_t[]){3, 2}, broken);
    put(folder, "labels.npy", BANG_F32, 1, (size_t[]){3}, NULL);
    REFUSED(folder, "image 1 holds a number that is not finite", "type F32: must be integers");
    put(folder, "images.npy", BANG_U8, 2, (size_t[]){0, 2}, NULL);
    put(folder, "labels.npy", BANG_I64, 2, (size_t[]){3, 1}, NULL);
    REFUSED(folder, "images.npy: shape (0, 2)", "labels.npy: shape (3, 1)");
    assert_int_equal(bang_file_put(in_folder(folder, "images.npy"), "no", 2, NULL), 0);
    REFUSED(folder, "; labels.npy", ": images.npy: ");
}

static void test_pick(void **state)
{
    (void)state;
    static const int64_t labels[] = {5, 3, 5, 900, 3, 3, 3, 3, 3, 3, 3, 3};
    static const size_t expected[] = {1, 4, 5, 6, 7, 8, 9, 10, 0, 2, 3};
    size_t index[BANG_SHEET_CLASSES * BANG_SHEET_SAMPLES];
    assert_int_equal(bang_sheet_pick(index, labels, 12), 11);
    assert_memory_equal(index, expected, sizeof expected);
    int64_t many[40];
    for (int i = 0; i < 40; i++)
        many[i] = 39 - i;
    assert_int_equal(bang_sheet_pick(index, many, 40), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(index[i], 39 - i);
}

static void test_sheet(void **state)
{
    (void)state;
    bang_dataset set;
    bang_array sheet;
    bang_error err = {0};
    open_set(&set, "multicolor");
    assert_int_equal(bang_sheet_make(&sheet, &set, NULL, 1, &err), 0);
    size_t width = sheet.shape[1];
    assert_int_equal(width, 2 * 16 + 8 * 84 + 7 * 8);
    assert_int_equal(sheet.shape[0], 2 * 16 + 10 * 84 + 9 * 8);
    /* the second image of class 0, each pixel twice */
    size_t index[BANG_SHEET_CLASSES * BANG_SHEET_SAMPLES];
    bang_sheet_pick(index, set.labels.data, set.count);
    const uint8_t *image = (uint8_t *)set.inputs.data + index[1] * set.width, *out = sheet.data;
    for (size_t y = 0; y < 84; y++)
        for (size_t x = 0; x < 84; x++)
            assert_memory_equal(out + ((16 + y) * width + 16 + 92 + x) * 3,
                                image + (y / 2 * 42 + x / 2) * 3, 3);
    bang_array_release(&sheet);
    bang_dataset_release(&set);
}

/* Floats beyond 0 .. 1 are stretched, large images reduced by the mean. */
static void test_sheet_floats(void **state)
{
    (void)state;
    bang_dataset set = {.count = 1, .width = 512 * 4, .classes = 1};
    bang_array sheet;
    bang_error err = {0};
    assert_int_equal(bang_array_init(&set.inputs, BANG_F32, 3, (size_t[]){1, 4, 512}, &err), 0);
    assert_int_equal(bang_array_init(&set.labels, BANG_I64, 1, &set.count, &err), 0);
    float *values = set.inputs.data;
    for (int i = 0; i < 512 * 4; i++)
        values[i] = (i % 4 < 2) == (i < 1024) ? -1 : 3; /* a board of 2x2 fields */
    assert_int_equal(bang_sheet_make(&sheet, &set, NULL, 1, &err), 0);
    assert_int_equal(sheet.shape[0], 2 * 16 + 2);
    const uint8_t *row = (uint8_t *)sheet.data + 16 * sheet.shape[1] * 3 + (size_t)(16 * 3);
    for (int x = 0; x < 256; x++) {
        assert_int_equal(row[x * 3], x % 2 ? 255 : 0);
        assert_int_equal(row[sheet.shape[1] * 3 + (size_t)x * 3], x % 2 ? 0 : 255);
    }
    bang_array_release(&sheet);
    set.inputs.rank = 2;
    assert_int_equal(bang_sheet_make(&sheet, &set, (const char *const[]){"mine"}, 1, &err),
                     BANG_EDATA);
    assert_non_null(strstr(err.message, "mine: shape (1, 4)"));
    bang_dataset_release(&set);
}

int main(void)
{
#define WITH_MNIST(test) cmocka_unit_test_setup_teardown(test, setup, drop_folder)
    const struct CMUnitTest tests[] = {
        WITH_MNIST(test_mnist),
        WITH_MNIST(test_fashion),
        WITH_MNIST(test_color),
        WITH_MNIST(test_names_refused),
        cmocka_unit_test_setup_teardown(test_folder, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_folder_refused, make_folder, drop_folder),
        cmocka_unit_test(test_pick),
        WITH_MNIST(test_sheet),
        cmocka_unit_test(test_sheet_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
