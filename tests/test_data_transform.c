/* From a picture to what a network reads: Pillow's and torchvision's pixels where
 * nothing is random, and what must hold of the random changes. */
#include "image_cases.h"

#include <math.h>

#include "data/transform.h"

/* A case of the vectors: what is done, with which numbers. */
static void run_case(const bang_tensors *vectors, const char *name, const char *how)
{
    const bang_array *in = vector(vectors, name, "in"), *expected = vector(vectors, name, "out");
    char what[32];
    double n[4] = {0};
    assert_true(sscanf(how, "%31s %lf %lf %lf %lf", what, &n[0], &n[1], &n[2], &n[3]) >= 2);
    size_t side = in->shape[1], channels = in->shape[2], count = in->shape[0] * side;
    uint8_t *out = malloc(in->count + expected->count);
    memcpy(out, in->data, in->count);
    if (strcmp(what, "centre") == 0) {
        bang_transform t = BANG_TRANSFORM_INIT;
        bang_error err = {0};
        t.size = (size_t)n[0];
        t.channels = (size_t)n[1];
        t.crop = n[2] != 0 ? BANG_CROP_HF : BANG_CROP_TORCHVISION;
        t.border = (size_t)n[3];
        if (bang_transform_apply(out, in, &t, NULL, &err) < 0)
            fail_msg("%s: %s", name, err.message);
    } else if (strcmp(what, "rotate") == 0) {
        bang_picture_rotate(out, in->data, side, channels, n[0]);
    } else if (strcmp(what, "brightness") == 0) {
        bang_picture_brightness(out, count, channels, n[0]);
    } else if (strcmp(what, "contrast") == 0) {
        bang_picture_contrast(out, count, channels, n[0]);
    } else if (strcmp(what, "saturation") == 0) {
        bang_picture_saturation(out, count, channels, n[0]);
    } else if (strcmp(what, "hue") == 0) {
        bang_picture_hue(out, count, channels, n[0]);
    } else if (strcmp(what, "grey") == 0) {
        bang_picture_grey(out, in->data, count);
    } else {
        fail_msg("%s: what is %s?", name, what);
    }
    check_pixels(name, out, expected);
    free(out);
}

static void test_vectors(void **state)
{
    (void)state;
    bang_tensors vectors = open_vectors("transform.safetensors");
    const char *name;
    json_t *how;
    assert_true(json_object_size(vectors.metadata) > 60);
    json_object_foreach(vectors.metadata, name, how)
    {
        run_case(&vectors, name, json_string_value(how));
    }
    bang_tensors_release(&vectors);
}

static bang_array picture_of(uint8_t *pixels, size_t height, size_t width, size_t channels)
{
    return (bang_array){BANG_U8, 3, {height, width, channels}, height * width * channels, pixels};
}

/* Applies t to the picture with stream number; out must be large enough. */
static void apply(uint8_t *out, const bang_array *picture, const bang_transform *t, uint64_t number)
{
    bang_random random;
    bang_error err = {0};
    bang_random_init(&random, 7, BANG_PURPOSE('t', 'e', 's', 't'), number);
    if (bang_transform_apply(out, picture, t, &random, &err) < 0)
        fail_msg("%s", err.message);
}

static void test_flip(void **state)
{
    (void)state;
    enum { SIZE = 9, RUNS = 400 };
    uint8_t *pixels = make_pixels(SIZE, SIZE, 3, 1), out[SIZE * SIZE * 3];
    bang_array picture = picture_of(pixels, SIZE, SIZE, 3);
    bang_transform t = BANG_TRANSFORM_INIT;
    t.size = SIZE;
    t.flip = 1;
    int flipped = 0;
    for (uint64_t n = 0; n < RUNS; n++) {
        apply(out, &picture, &t, n);
        if (memcmp(out, pixels, sizeof out) == 0)
            continue;
        flipped++;
        for (size_t y = 0; y < SIZE; y++)
            for (size_t x = 0; x < SIZE; x++)
                assert_memory_equal(out + (y * SIZE + x) * 3,
                                    pixels + (y * SIZE + SIZE - 1 - x) * 3, 3);
    }
    assert_in_range(flipped, RUNS / 2 - 60, RUNS / 2 + 60);
    free(pixels);
}

/* With a picture whose pixels say where they are, a crop shows what it took. */
static void test_random_crop(void **state)
{
    (void)state;
    enum { HEIGHT = 96, WIDTH = 128, SIZE = 16, RUNS = 500 };
    uint8_t *pixels = malloc(HEIGHT * WIDTH * 3), out[SIZE * SIZE * 3];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            pixels[(y * WIDTH + x) * 3] = (uint8_t)(2 * y);
            pixels[(y * WIDTH + x) * 3 + 1] = (uint8_t)(2 * x);
            pixels[(y * WIDTH + x) * 3 + 2] = 77;
        }
    bang_array picture = picture_of(pixels, HEIGHT, WIDTH, 3);
    bang_transform t = BANG_TRANSFORM_INIT;
    t.size = SIZE;
    t.random_crop = 1;
    t.scale[0] = 0.25;
    t.scale[1] = 0.5;
    double left_sum = 0, areas = 0;
    for (uint64_t n = 0; n < RUNS; n++) {
        apply(out, &picture, &t, n);
        /* From the centres of the first and the last pixel to the edges. */
        const uint8_t *last = out + (SIZE * SIZE - 1) * 3;
        double height = (last[0] - out[0]) / 2.0 * SIZE / (SIZE - 1);
        double width = (last[1] - out[1]) / 2.0 * SIZE / (SIZE - 1);
        double area = height * width / (HEIGHT * WIDTH), ratio = width / height;
        assert_int_equal(out[2], 77);
        assert_true(area > 0.22 && area < 0.54 && ratio > 0.7 && ratio < 1.42);
        left_sum += out[1] / 2.0;
        areas += area;
    }
    assert_true(fabs(areas / RUNS - 0.375) < 0.02);
    assert_true(left_sum / RUNS > 15 && left_sum / RUNS < 35); /* not always at an edge */
    /* The whole picture, when nothing else is allowed. */
    t.scale[0] = t.scale[1] = 1;
    bang_array wide = picture_of(pixels, 4, WIDTH, 3); /* no ratio fits: the centre of 4 : 3 */
    apply(out, &wide, &t, 1);
    double width = (out[(SIZE - 1) * 3 + 1] - out[1]) / 2.0;
    assert_true(width > 3.5 && width < 6.5);
    assert_in_range(out[1], 2 * 61 - 1, 2 * 61 + 2);
    free(pixels);
}

/* A sample's changes depend on its stream alone. */
static void test_streams(void **state)
{
    (void)state;
    enum { SIZE = 20 };
    uint8_t *pixels = make_pixels(40, 33, 3, 4), a[SIZE * SIZE * 3], b[SIZE * SIZE * 3];
    bang_array picture = picture_of(pixels, 40, 33, 3);
    bang_transform t = BANG_TRANSFORM_INIT;
    bang_error err = {0};
    t.size = SIZE;
    assert_false(bang_transform_is_random(&t));
    assert_int_equal(bang_transform_augment(&t, "flip,rotate,color,crop", &err), 0);
    assert_true(bang_transform_is_random(&t));
    assert_true(t.flip && t.random_crop && t.degrees == 15 && t.color == 0.4);
    for (uint64_t n = 0; n < 20; n++) {
        apply(a, &picture, &t, n);
        apply(b, &picture, &t, n);
        assert_memory_equal(a, b, sizeof a);
        apply(b, &picture, &t, n + 1);
        assert_memory_not_equal(a, b, sizeof a);
    }
    /* Grey pictures give the same in one channel as in three. */
    uint8_t *grey = make_pixels(40, 33, 1, 4);
    bang_array one = picture_of(grey, 40, 33, 1);
    apply(a, &one, &t, 3);
    t.channels = 1;
    apply(b, &one, &t, 3);
    for (size_t i = 0; i < (size_t)SIZE * SIZE; i++)
        for (size_t c = 0; c < 3; c++)
            assert_int_equal(a[3 * i + c], b[i]);
    free(grey);
    free(pixels);
}

/* Each kind alone makes a picture that is another, but not nonsense. */
static void test_each_alone(void **state)
{
    (void)state;
    enum { SIZE = 24 };
    uint8_t *pixels = make_pixels(SIZE, SIZE, 3, 9), out[SIZE * SIZE * 3];
    bang_array picture = picture_of(pixels, SIZE, SIZE, 3);
    static const char *const kinds[] = {"rotate", "color", "crop"};
    for (size_t k = 0; k < 3; k++) {
        bang_transform t = BANG_TRANSFORM_INIT;
        t.size = SIZE;
        assert_int_equal(bang_transform_augment(&t, kinds[k], NULL), 0);
        apply(out, &picture, &t, 5);
        assert_memory_not_equal(out, pixels, sizeof out);
    }
    free(pixels);
}

static void test_refused(void **state)
{
    (void)state;
    uint8_t pixels[8 * 8 * 3] = {0}, out[8 * 8 * 3];
    bang_array picture = picture_of(pixels, 8, 8, 3);
    bang_transform t = BANG_TRANSFORM_INIT;
    bang_error err = {0};
    assert_int_equal(bang_transform_augment(&t, "flip,zoom,,spin", &err), BANG_EUSAGE);
    assert_true(strstr(err.message, "zoom") && strstr(err.message, "spin") &&
                strstr(err.message, "\"\""));
    t = (bang_transform)BANG_TRANSFORM_INIT;
    t.size = 0;
    t.channels = 2;
    t.color = 3;
    t.degrees = -1;
    t.random_crop = 1;
    t.scale[0] = 0;
    assert_int_equal(bang_transform_apply(out, &picture, &t, NULL, &err), BANG_EUSAGE);
    assert_true(strstr(err.message, "size 0") && strstr(err.message, "2 channels") &&
                strstr(err.message, "color 3") && strstr(err.message, "-1 degrees") &&
                strstr(err.message, "crop to 0 .. 1"));
    t = (bang_transform)BANG_TRANSFORM_INIT;
    t.size = 8;
    t.flip = 1;
    assert_int_equal(bang_transform_apply(out, &picture, &t, NULL, &err), BANG_EUSAGE);
    t.flip = 0;
    t.border = 4;
    assert_int_equal(bang_transform_apply(out, &picture, &t, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "border of 4"));
    t.border = 0;
    picture.dtype = BANG_F32;
    assert_int_equal(bang_transform_apply(out, &picture, &t, NULL, &err), BANG_EUSAGE);
    uint8_t *line = calloc(1, 1 << 22);
    bang_array thin = picture_of(line, 1, 1 << 22, 1);
    t.size = 224;
    uint8_t *large = malloc(224 * 224 * 3);
    assert_int_equal(bang_transform_apply(large, &thin, &t, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "too long"));
    free(large);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),     cmocka_unit_test(test_flip),
        cmocka_unit_test(test_random_crop), cmocka_unit_test(test_streams),
        cmocka_unit_test(test_each_alone),  cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
