/* Resizing gives the bytes that Pillow gives. */
#include "image_cases.h"

#include "bang/data/resize.h"
#include "data/resize.h"

typedef struct resize_case {
    const char *name;
    const bang_array *in, *out;
    size_t height, width;
    bang_box box;
} resize_case;

static resize_case read_case(const bang_tensors *vectors, const char *name)
{
    resize_case c = {
        .name = name, .in = vector(vectors, name, "in"), .out = vector(vectors, name, "out")};
    assert_int_equal(sscanf(bang_tensors_metadata(vectors, name), "%zu %zu %lf %lf %lf %lf",
                            &c.height, &c.width, &c.box.left, &c.box.top, &c.box.right,
                            &c.box.bottom),
                     6);
    return c;
}

static int is_whole(const resize_case *c)
{
    return c->box.left == 0 && c->box.top == 0 && c->box.right == (double)c->in->shape[1] &&
           c->box.bottom == (double)c->in->shape[0];
}

static void each_case(void (*check)(const resize_case *c))
{
    bang_tensors vectors = open_vectors("resize.safetensors");
    const char *name;
    json_t *value;
    assert_true(json_object_size(vectors.metadata) >= 20);
    json_object_foreach(vectors.metadata, name, value)
    {
        resize_case c = read_case(&vectors, name);
        check(&c);
    }
    bang_tensors_release(&vectors);
}

static void check_same(const resize_case *c)
{
    bang_array out;
    bang_error err = {0};
    if (bang_resize(&out, c->in, c->height, c->width, &c->box, &err) < 0)
        fail_msg("%s: %s", c->name, err.message);
    assert_int_equal(out.count, c->out->count);
    check_pixels(c->name, out.data, c->out);
    bang_array_release(&out);
    if (!is_whole(c))
        return;
    assert_int_equal(bang_resize(&out, c->in, c->height, c->width, NULL, &err), 0);
    check_pixels(c->name, out.data, c->out);
    bang_array_release(&out);
}

static void test_vectors(void **state)
{
    (void)state;
    each_case(check_same);
}

/* A part is the same part of the whole. */
static void check_windows(const resize_case *c)
{
    bang_view view = bang_view_of(c->in);
    size_t channels = view.channels;
    for (size_t top = 0; top < c->height; top += 3)
        for (size_t left = 0; left < c->width; left += 5) {
            bang_window w = {c->height,
                             c->width,
                             top,
                             left,
                             1 + (c->height - top) / 2,
                             1 + (c->width - left - 1) / 2};
            w.rows = w.rows > c->height - top ? c->height - top : w.rows;
            uint8_t *part = malloc(w.rows * w.columns * channels);
            bang_error err = {0};
            if (bang_resize_window(part, &view, &w, &c->box, &err) < 0)
                fail_msg("%s: %s", c->name, err.message);
            const uint8_t *whole = c->out->data;
            for (size_t y = 0; y < w.rows; y++)
                assert_memory_equal(part + y * w.columns * channels,
                                    whole + ((top + y) * c->width + left) * channels,
                                    w.columns * channels);
            free(part);
        }
}

static void test_windows(void **state)
{
    (void)state;
    each_case(check_windows);
}

/* Every kind of vector instructions gives the same bytes; also 2 and 4 channels, each of
 * which is as one alone. */
static void test_kernels(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2"))
        return;
    enum { WIDTH = 71, COUNT = 29, MOST = 9 };
    size_t first[COUNT], taps[COUNT];
    int32_t weight[COUNT * MOST], wide[(WIDTH + MOST) * 4] = {0};
    bang_taps t = {COUNT, MOST, first, taps, weight};
    uint8_t *pixels = make_pixels(MOST, WIDTH, 4, 3), a[WIDTH * 4], b[WIDTH * 4];
    for (size_t i = 0; i < COUNT; i++) {
        first[i] = i * (WIDTH - MOST) / COUNT;
        taps[i] = 1 + i % MOST;
    }
    for (size_t i = 0; i < COUNT * MOST; i++)
        weight[i] = (int32_t)(i * 7919 % 3000001) - 1000000;
    for (size_t channels = 1; channels <= 4; channels++) {
        bang_resize_portable.across(a, pixels, WIDTH, channels, &t, wide);
        bang_resize_avx2.across(b, pixels, WIDTH, channels, &t, wide);
        assert_memory_equal(a, b, COUNT * channels);
        const uint8_t *rows[MOST];
        for (size_t k = 0; k < MOST; k++)
            rows[k] = pixels + k * WIDTH * channels;
        for (size_t size = 1; size <= (size_t)WIDTH * channels; size++) {
            bang_resize_portable.down(a, rows, size, weight, 1 + size % MOST);
            bang_resize_avx2.down(b, rows, size, weight, 1 + size % MOST);
            assert_memory_equal(a, b, size);
        }
    }
    free(pixels);
#endif
}

static void test_channels(void **state)
{
    (void)state;
    for (size_t channels = 2; channels <= 4; channels++) {
        uint8_t *pixels = make_pixels(23, 31, channels, 5);
        bang_array in = {BANG_U8, 3, {23, 31, channels}, 23 * 31 * channels, pixels}, out;
        assert_int_equal(bang_resize(&out, &in, 14, 40, NULL, NULL), 0);
        for (size_t c = 0; c < channels; c++) {
            uint8_t plane[23 * 31];
            for (size_t i = 0; i < sizeof plane; i++)
                plane[i] = pixels[i * channels + c];
            bang_array one = {BANG_U8, 2, {23, 31}, sizeof plane, plane}, single;
            assert_int_equal(bang_resize(&single, &one, 14, 40, NULL, NULL), 0);
            for (size_t i = 0; i < single.count; i++)
                assert_int_equal(((uint8_t *)out.data)[i * channels + c],
                                 ((uint8_t *)single.data)[i]);
            bang_array_release(&single);
        }
        bang_array_release(&out);
        free(pixels);
    }
}

static void test_refused(void **state)
{
    (void)state;
    uint8_t pixels[5 * 4 * 3] = {0};
    bang_array in = {BANG_U8, 3, {5, 4, 3}, sizeof pixels, pixels}, out;
    static const bang_box bad[] = {
        {-1, 0, 4, 5}, {0, 0, 4.5, 5}, {0, 0, 4, 5.1}, {2, 0, 2, 5}, {0, 3, 4, 1}};
    bang_error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(bang_resize(&out, &in, 2, 2, &bad[i], &err), BANG_EUSAGE);
        assert_null(out.data);
    }
    assert_int_equal(bang_resize(&out, &in, 0, 2, NULL, &err), BANG_EUSAGE);
    assert_int_equal(bang_resize(&out, &in, 2, 0, NULL, &err), BANG_EUSAGE);
    assert_int_equal(bang_resize(&out, &in, (size_t)1 << 25, 2, NULL, &err), BANG_EUSAGE);
    in.dtype = BANG_F32;
    assert_int_equal(bang_resize(&out, &in, 2, 2, NULL, &err), BANG_EUSAGE);
    in.dtype = BANG_U8;
    in.shape[2] = 5;
    assert_int_equal(bang_resize(&out, &in, 2, 2, NULL, &err), BANG_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_channels),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
