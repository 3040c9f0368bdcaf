/* How two checkpoints differ: small cases by hand, large ones against sums in
 * long double, and every way in which tensors can fail to fit. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/base/file.h"
#include "bang/combine/difference.h"

/* A tensor for a file: its bytes are count numbers of size bytes. */
typedef struct given {
    const char *name, *dtype, *shape; /* shape as JSON */
    const void *data;
    size_t bytes;
} given;

#define OF(array) array, sizeof array

static const char *write_file(const char *folder, const char *name, const given *tensors,
                              size_t count)
{
    bang_text header = {0}, all = {0};
    bang_error err = {0};
    size_t at = 0;
    bang_text_add(&header, "{");
    for (size_t i = 0; i < count; i++) {
        bang_text_add(&header,
                      "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                      i ? "," : "", tensors[i].name, tensors[i].dtype, tensors[i].shape, at,
                      at + tensors[i].bytes);
        at += tensors[i].bytes;
    }
    bang_text_add(&header, "}");
    while (header.size % 8)
        bang_text_add(&header, " ");
    uint64_t size = header.size;
    bang_text_add_bytes(&all, (const char *)&size, sizeof size);
    bang_text_add_bytes(&all, header.data, header.size);
    for (size_t i = 0; i < count; i++)
        bang_text_add_bytes(&all, tensors[i].data, tensors[i].bytes);
    const char *path = in_folder(folder, name);
    assert_false(header.failed || all.failed);
    assert_int_equal(bang_file_put(path, all.data, all.size, &err), 0);
    bang_text_release(&header);
    bang_text_release(&all);
    return path;
}

static bang_checkpoint *left, *right;
static bang_difference found;

static void drop_found(void)
{
    bang_difference_release(&found);
    bang_checkpoint_close(left);
    bang_checkpoint_close(right);
    left = right = NULL;
}

static int drop_all(void **state)
{
    drop_found();
    return drop_folder(state);
}

static void measure(const char *folder, const given *a, size_t a_count, const given *b,
                    size_t b_count, int threads)
{
    bang_stream stream = BANG_STREAM_INIT;
    bang_error err = {0};
    stream.threads = threads;
    stream.max_memory = UINT64_C(1) << 30; /* sanitizers hold memory back */
    drop_found();
    if (bang_checkpoint_open(&left, write_file(folder, "a.safetensors", a, a_count), &err) < 0 ||
        bang_checkpoint_open(&right, write_file(folder, "b.safetensors", b, b_count), &err) < 0 ||
        bang_difference_measure(&found, left, right, &stream, &err) < 0)
        fail_msg("%s", err.message);
}

static void same(double is, double should)
{
    if (isnan(should) ? !isnan(is) : !(fabs(is - should) <= 4e-16 * fabs(should)))
        fail_msg("%.17g instead of %.17g", is, should);
}

/* One tensor against another of the same name. */
static const bang_tensor_change *one(const char *folder, given a, given b)
{
    a.name = b.name = "x.weight";
    measure(folder, &a, 1, &b, 1, 1);
    assert_int_equal(found.count, 1);
    return &found.tensors[0];
}

static void test_by_hand(void **state)
{
    static const float zero[] = {0, 0}, a[] = {3, 4}, b[] = {4, 3}, opposite[] = {-3, -4},
                       across[] = {-4, 3}, twice[] = {6, 8}, signs[] = {-0.0F, 0};
    static const struct {
        const float *a, *b;
        double cosine, norm_ratio, relative_change, max_abs;
    } cases[] = {
        {a, a, 1, 1, 0, 0},           {a, b, 24.0 / 25, 1, 1.41421356237309504880 / 5, 1},
        {a, opposite, -1, 1, 2, 8},   {a, across, 0, 1, 7.07106781186547524401 / 5, 7},
        {a, twice, 1, 2, 1, 4},       {twice, a, 1, 0.5, 0.5, 4},
        {zero, zero, NAN, NAN, 0, 0}, {zero, signs, NAN, NAN, 0, 0},
        {zero, a, NAN, NAN, NAN, 4},  {a, zero, NAN, 0, 1, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        given x = {.dtype = "F32", .shape = "[2]", .data = cases[i].a, .bytes = 8};
        given y = {.dtype = "F32", .shape = "[2]", .data = cases[i].b, .bytes = 8};
        const bang_tensor_change *tensor = one(*state, x, y);
        const bang_change *all[] = {&tensor->change, &found.layers[0].change, &found.total};
        for (size_t k = 0; k < 3; k++) {
            same(all[k]->cosine, cases[i].cosine);
            same(all[k]->norm_ratio, cases[i].norm_ratio);
            same(all[k]->relative_change, cases[i].relative_change);
            same(all[k]->max_abs, cases[i].max_abs);
            assert_int_equal(all[k]->count, 2);
        }
        assert_int_equal(tensor->equal, memcmp(cases[i].a, cases[i].b, 8) == 0);
    }
}

static void test_types(void **state)
{
    static const float f32[] = {1, -2, 0.5F};
    static const double f64[] = {1, -2, 0.5}, tiny[] = {1, -2, 0.5 + 0x1p-50};
    static const uint16_t f16[] = {0x3C00, 0xC000, 0x3800}, bf16[] = {0x3F80, 0xC000, 0x3F00};
    given x = {.dtype = "F32", .shape = "[3]", .data = f32, .bytes = sizeof f32};
    const given same_numbers[] = {
        {.dtype = "F64", .shape = "[3]", .data = f64, .bytes = sizeof f64},
        {.dtype = "F16", .shape = "[3]", .data = f16, .bytes = sizeof f16},
        {.dtype = "BF16", .shape = "[3]", .data = bf16, .bytes = sizeof bf16},
    };
    for (size_t i = 0; i < 3; i++) {
        const bang_tensor_change *tensor = one(*state, x, same_numbers[i]);
        assert_false(tensor->equal); /* in bytes */
        assert_true(tensor->change.cosine == 1 && tensor->change.relative_change == 0);
    }
    given y = {.dtype = "F64", .shape = "[3]", .data = tiny, .bytes = sizeof tiny};
    const bang_tensor_change *tensor = one(*state, x, y);
    same(tensor->change.max_abs, 0x1p-50);
    same(tensor->change.relative_change, 0x1p-50 / sqrt(5.25));
    assert_true(tensor->change.cosine <= 1);
}

static void test_integers(void **state)
{
    static const int64_t large[] = {-3, INT64_C(1) << 53}, next[] = {-3, (INT64_C(1) << 53) + 1};
    static const uint8_t u8[] = {3, 4, 250, 1}, truth[] = {1, 0, 1, 1};
    static const int8_t i8[] = {3, 4, -6, 1};
    given a = {.dtype = "U8", .shape = "[2,2]", .data = u8, .bytes = 4};
    given b = {.dtype = "I8", .shape = "[2,2]", .data = i8, .bytes = 4};
    same(one(*state, a, b)->change.max_abs, 256);
    b = (given){.dtype = "BOOL", .shape = "[2,2]", .data = truth, .bytes = 4};
    same(one(*state, a, b)->change.cosine, 254 / sqrt(62526) / sqrt(3));
    /* Too large to be told apart as doubles, but not as bytes. */
    a = (given){.dtype = "I64", .shape = "[2]", .data = large, .bytes = 16};
    b = (given){.dtype = "I64", .shape = "[2]", .data = next, .bytes = 16};
    const bang_tensor_change *tensor = one(*state, a, b);
    assert_true(tensor->change.relative_change == 0 && tensor->change.cosine == 1);
    assert_false(tensor->equal);
    /* Nothing but integers that differ: nothing is said of the rest. */
    assert_int_equal(found.total.count, 0);
    same(found.total.relative_change, NAN);
    same(found.layers[0].change.max_abs, NAN);
    assert_int_equal(one(*state, a, a)->equal, 1);
    same(found.total.relative_change, 0);
}

/* Layers and the total are about weights. */
static void test_counters(void **state)
{
    static const float x[] = {3, 4}, y[] = {4, 3};
    static const int64_t few[] = {10}, many[] = {5000};
    const given a[] = {{"bn.weight", "F32", "[2]", x, 8},
                       {"bn.num_batches_tracked", "I64", "[1]", few, 8},
                       {"bn.mixed", "F32", "[2]", x, 8}};
    const given b[] = {{"bn.weight", "F32", "[2]", y, 8},
                       {"bn.num_batches_tracked", "I64", "[1]", many, 8},
                       {"bn.mixed", "I64", "[2]", (const int64_t[]){30, 40}, 16}};
    measure(*state, a, 3, b, 3, 1);
    assert_int_equal(found.count, 3);
    assert_int_equal(found.layer_count, 1);
    assert_int_equal(found.layers[0].tensors, 3);
    const bang_change *all[] = {&found.layers[0].change, &found.total};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(all[i]->count, 2);
        same(all[i]->relative_change, 1.41421356237309504880 / 5);
        same(all[i]->max_abs, 1);
    }
    for (size_t i = 0; i < 3; i++) {
        const bang_tensor_change *tensor = &found.tensors[i];
        int counts = strcmp(tensor->a->name, "bn.weight") == 0;
        assert_int_equal(bang_tensor_change_counts(tensor), counts);
        if (strcmp(tensor->a->name, "bn.num_batches_tracked") == 0)
            same(tensor->change.relative_change, 499);
    }
}

static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53 - 0.5;
}

/* Against sums in long double; more than one block, and not a multiple of it. */
static void test_large(void **state)
{
    enum { COUNT = 3 * BANG_SCAN_BLOCK + 1237 };
    float *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b);
    long double aa = 0, bb = 0, ab = 0, dd = 0, most = 0;
    uint64_t seed = 7;
    char shape[32];
    assert_true(a && b);
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (float)(noise(&seed) * exp(20 * noise(&seed)));
        b[i] = (float)(a[i] * (1 + 1e-3 * noise(&seed)));
        aa += (long double)a[i] * a[i];
        bb += (long double)b[i] * b[i];
        ab += (long double)a[i] * b[i];
        dd += ((long double)b[i] - a[i]) * ((long double)b[i] - a[i]);
        most = fmaxl(most, fabsl((long double)b[i] - a[i]));
    }
    snprintf(shape, sizeof shape, "[%d]", (int)COUNT);
    given x = {"w", "F32", shape, a, COUNT * sizeof *a}, y = {"w", "F32", shape, b, COUNT * 4};
    bang_change first = {0};
    for (int threads = 1; threads <= 3; threads++) {
        measure(*state, &x, 1, &y, 1, threads);
        bang_change c = found.tensors[0].change;
        const double is[] = {c.norm_a,     c.norm_b,          c.cosine,
                             c.norm_ratio, c.relative_change, c.max_abs};
        const long double should[] = {sqrtl(aa),      sqrtl(bb),      ab / sqrtl(aa * bb),
                                      sqrtl(bb / aa), sqrtl(dd / aa), most};
        for (size_t i = 0; i < sizeof is / sizeof *is; i++)
            if (fabsl(is[i] / should[i] - 1) > 4e-15L)
                fail_msg("%zu: %.17g instead of %.17Lg", i, is[i], should[i]);
        if (threads == 1)
            first = c;
        assert_memory_equal(&c, &first, sizeof c);
        measure(*state, &x, 1, &x, 1, threads);
        assert_true(found.total.cosine == 1 && found.total.norm_ratio == 1 &&
                    found.total.relative_change == 0 && found.total.max_abs == 0);
        assert_int_equal(found.equal, 1);
    }
    free(a);
    free(b);
}

static void test_not_finite(void **state)
{
    static const float a[] = {1, NAN, 3, INFINITY}, b[] = {1, 2, 4, INFINITY}, c[] = {6, 8};
    static const double huge[] = {1e200, 1}, other[] = {1e200, 3};
    const given x[] = {{"l.0.w", "F32", "[4]", OF(a)}, {"l.0.b", "F32", "[2]", OF(c)}};
    const given y[] = {{"l.0.w", "F32", "[4]", OF(b)}, {"l.0.b", "F32", "[2]", OF(c)}};
    measure(*state, x, 2, y, 2, 1);
    const bang_change *tensor = &found.tensors[0].change;
    assert_int_equal(tensor->count, 4);
    assert_int_equal(tensor->not_finite, 2);
    assert_true(isnan(tensor->cosine) && isnan(tensor->norm_ratio) && isnan(tensor->max_abs) &&
                isnan(tensor->relative_change) && isnan(tensor->norm_a));
    const bang_change *both[] = {&found.layers[0].change, &found.total};
    for (size_t i = 0; i < 2; i++) { /* (1, 3, 6, 8) and (1, 4, 6, 8) */
        assert_int_equal(both[i]->count, 6);
        assert_int_equal(both[i]->not_finite, 2);
        same(both[i]->cosine, 113 / sqrt(110) / sqrt(117));
        same(both[i]->relative_change, 1 / sqrt(110));
        same(both[i]->max_abs, 1);
    }
    given p = {.dtype = "F64", .shape = "[2]", .data = huge, .bytes = 16};
    given q = {.dtype = "F64", .shape = "[2]", .data = other, .bytes = 16};
    tensor = &one(*state, p, q)->change; /* squares that are no doubles */
    assert_true(isnan(tensor->cosine) && isnan(tensor->relative_change) && tensor->max_abs == 2);
    assert_int_equal(tensor->not_finite, 0);
}

static void test_what_does_not_fit(void **state)
{
    static const float six[] = {1, 2, 3, 4, 5, 6};
    static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8},
                               others[] = {1, 2, 3, 4, 5, 6, 7, 9};
    const given a[] = {
        {"gone", "F32", "[2]", six, 8},         {"shape", "F32", "[2,3]", OF(six)},
        {"complex", "C64", "[1]", OF(bytes)},   {"unlike", "C64", "[1]", OF(bytes)},
        {"other", "F8_E8M0", "[8]", OF(bytes)}, {"scalar", "F32", "[]", six, 4},
        {"nothing", "F32", "[0,3]", six, 0},    {"line", "F32", "[6]", OF(six)},
    };
    const given b[] = {
        {"new.0", "F32", "[2]", six, 8},      {"shape", "F32", "[3,2]", OF(six)},
        {"complex", "C64", "[1]", OF(bytes)}, {"unlike", "C64", "[1]", OF(others)},
        {"other", "U8", "[8]", OF(bytes)},    {"scalar", "F32", "[]", six, 4},
        {"nothing", "F32", "[0,3]", six, 0},  {"line", "F32", "[1]", six, 4},
    };
    measure(*state, a, 8, b, 8, 1);
    assert_int_equal(found.only_a_count, 1);
    assert_string_equal(found.only_a[0]->name, "gone");
    assert_int_equal(found.only_b_count, 1);
    assert_string_equal(found.only_b[0]->name, "new.0");
    assert_int_equal(found.count, 3);
    assert_int_equal(found.equal, 3);
    assert_int_equal(found.total.count, 1); /* the scalar */
    for (size_t i = 0; i < 3; i++)
        assert_true(found.tensors[i].change.relative_change == 0);
    static const char *const why[][2] = {
        {"shape", "shape (2, 3) and (3, 2)"},
        {"other", "type F8_E8M0 and U8, which are no numbers to compare"},
        {"line", "shape (6,) and (1,)"},
        {"unlike", "bytes, of type C64, which are no numbers to compare"},
    };
    assert_int_equal(found.different_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(found.different[i].a->name, why[i][0]);
        assert_string_equal(found.different[i].why, why[i][1]);
    }
    measure(*state, a, 0, b, 0, 1);
    assert_int_equal(found.count + found.layer_count + found.only_b_count, 0);
    assert_true(found.total.relative_change == 0 && isnan(found.total.cosine));
}

static void test_layers(void **state)
{
    static const float v[] = {3, 4}, w[] = {3, 5};
    static const char *const names[] = {
        "z.head.weight", "h.0.attn.w", "h.0.mlp.w",     "h.10.attn.w",    "h.2.attn.w",
        "h.10.mlp.w",    "h.2.mlp.w",  "a.norm.weight", "decoder.1.attn", "a.norm.bias"};
    static const char *const layers[] = {"z.head", "h.0", "h.2", "h.10", "a.norm", "decoder.1"};
    static const size_t tensors[] = {1, 2, 2, 2, 2, 1}, layer[] = {0, 1, 1, 3, 2, 3, 2, 4, 5, 4};
    given a[10], b[10];
    for (size_t i = 0; i < 10; i++) {
        a[i] = (given){names[i], "F32", "[2]", OF(v)};
        b[i] = (given){names[i], "F32", "[2]", i == 3 ? w : v, 8};
    }
    measure(*state, a, 10, b, 10, 2);
    assert_int_equal(found.layer_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const bang_layer_change *l = &found.layers[i];
        assert_string_equal(l->name, layers[i]);
        assert_int_equal(l->tensors, tensors[i]);
        assert_int_equal(l->equal, tensors[i] - (i == 3));
        assert_int_equal(l->change.count, 2 * tensors[i]);
        same(l->change.relative_change, i == 3 ? 1 / sqrt(50) : 0);
    }
    for (size_t i = 0; i < 10; i++) {
        assert_string_equal(found.tensors[i].a->name, names[i]);
        assert_int_equal(found.tensors[i].layer, layer[i]);
    }
    same(found.total.relative_change, 1 / sqrt(250));
    assert_int_equal(found.equal, 9);
}

static void test_names(void **state)
{
    static const char *const sorted[] = {"",
                                         "a",
                                         "a.02",
                                         "a.2",
                                         "a.3.x",
                                         "a.10",
                                         "a.10.b",
                                         "a1b2",
                                         "a1b10",
                                         "b.99999999999999999999",
                                         "b.100000000000000000000"};
    (void)state;
    for (int i = 0; i < (int)(sizeof sorted / sizeof *sorted); i++)
        for (int k = 0; k < (int)(sizeof sorted / sizeof *sorted); k++) {
            int order = bang_name_compare(sorted[i], sorted[k]);
            if ((order > 0) - (order < 0) != (i > k) - (i < k))
                fail_msg("%s and %s: %d", sorted[i], sorted[k], order);
        }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_by_hand),           IN_FOLDER(test_types),  IN_FOLDER(test_integers),
        IN_FOLDER(test_counters),          IN_FOLDER(test_large),  IN_FOLDER(test_not_finite),
        IN_FOLDER(test_what_does_not_fit), IN_FOLDER(test_layers), IN_FOLDER(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
