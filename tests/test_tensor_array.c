/* Arrays: shapes, memory, and every number type as a double and as a float. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/tensor/array.h"

static void test_types(void **state)
{
    (void)state;
    static const struct {
        bang_dtype dtype;
        const char *name;
        size_t bits;
        int real, integer;
    } cases[] = {
        {BANG_BOOL, "BOOL", 8, 0, 1},
        {BANG_U8, "U8", 8, 0, 1},
        {BANG_I8, "I8", 8, 0, 1},
        {BANG_U16, "U16", 16, 0, 1},
        {BANG_I16, "I16", 16, 0, 1},
        {BANG_U32, "U32", 32, 0, 1},
        {BANG_I32, "I32", 32, 0, 1},
        {BANG_U64, "U64", 64, 0, 1},
        {BANG_I64, "I64", 64, 0, 1},
        {BANG_F16, "F16", 16, 1, 0},
        {BANG_BF16, "BF16", 16, 1, 0},
        {BANG_F32, "F32", 32, 1, 0},
        {BANG_F64, "F64", 64, 1, 0},
        {BANG_F8_E4M3, "F8_E4M3", 8, 1, 0},
        {BANG_F8_E5M2, "F8_E5M2", 8, 1, 0},
        {BANG_F8_E8M0, "F8_E8M0", 8, 0, 0},
        {BANG_F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, 0, 0},
        {BANG_F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, 0, 0},
        {BANG_F4, "F4", 4, 0, 0},
        {BANG_F6_E2M3, "F6_E2M3", 6, 0, 0},
        {BANG_F6_E3M2, "F6_E3M2", 6, 0, 0},
        {BANG_C64, "C64", 64, 0, 0},
    };
    bang_dtype dtype = BANG_DTYPE_COUNT;
    assert_int_equal(sizeof cases / sizeof *cases, BANG_DTYPE_COUNT);
    for (size_t i = 0; i < BANG_DTYPE_COUNT; i++) {
        assert_string_equal(bang_dtype_name(cases[i].dtype), cases[i].name);
        assert_int_equal(bang_dtype_bits(cases[i].dtype), cases[i].bits);
        assert_int_equal(bang_dtype_size(cases[i].dtype),
                         cases[i].bits % 8 ? 0 : cases[i].bits / 8);
        assert_int_equal(bang_dtype_is_real(cases[i].dtype), cases[i].real);
        assert_int_equal(bang_dtype_is_integer(cases[i].dtype), cases[i].integer);
        assert_int_equal(bang_dtype_parse(&dtype, cases[i].name), 0);
        assert_int_equal(dtype, cases[i].dtype);
    }
    assert_int_equal(bang_dtype_parse(&dtype, "f32"), -1);
    assert_int_equal(bang_dtype_parse(&dtype, ""), -1);
    assert_int_equal(bang_dtype_size(BANG_DTYPE_COUNT), 0);
    assert_int_equal(bang_dtype_bits(BANG_DTYPE_COUNT), 0);
    assert_int_equal(bang_dtype_is_real(BANG_DTYPE_COUNT), 0);
    assert_string_equal(bang_dtype_name((bang_dtype)-1), "?");
}

static void check_shape(int rank, const size_t *shape, size_t count, const char *text)
{
    bang_array array;
    char out[128];
    bang_error err = {0};
    assert_int_equal(bang_array_init(&array, BANG_F64, rank, shape, &err), 0);
    assert_int_equal(array.count, count);
    assert_int_equal(array.rank, rank);
    assert_non_null(array.data);
    assert_int_equal((uintptr_t)array.data % 64, 0);
    for (size_t i = 0; i < count; i++)
        assert_true(bang_array_number(&array, i) == 0);
    bang_array_shape_text(out, sizeof out, &array);
    assert_string_equal(out, text);
    bang_array_release(&array);
    assert_null(array.data);
    bang_array_release(&array);
}

static void test_shapes(void **state)
{
    (void)state;
    check_shape(0, NULL, 1, "()");
    check_shape(1, (size_t[]){7}, 7, "(7,)");
    check_shape(4, (size_t[]){10, 4, 4, 3}, 480, "(10, 4, 4, 3)");
    check_shape(3, (size_t[]){0, SIZE_MAX, 5}, 0, "(0, 18446744073709551615, 5)");
    check_shape(8, (size_t[]){1, 2, 1, 2, 1, 2, 1, 2}, 16, "(1, 2, 1, 2, 1, 2, 1, 2)");
}

static void test_shape_text_is_cut(void **state)
{
    (void)state;
    bang_array array = {.rank = 3, .shape = {100, 200, 300}};
    static const char whole[] = "(100, 200, 300)";
    for (size_t size = 0; size <= sizeof whole + 2; size++) {
        char out[32];
        memset(out, '#', sizeof out);
        bang_array_shape_text(out, size, &array);
        size_t kept = size < sizeof whole ? size : sizeof whole;
        if (size > 0) {
            assert_memory_equal(out, whole, kept - 1);
            assert_int_equal(out[kept - 1], '\0');
        }
        assert_int_equal(out[size > kept ? size : kept], '#');
    }
}

static void test_refused_shapes(void **state)
{
    (void)state;
    bang_array array;
    bang_error err = {0};
    size_t shape[BANG_RANK_MAX + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(bang_array_init(&array, BANG_U8, BANG_RANK_MAX + 1, shape, &err), BANG_EUSAGE);
    assert_null(array.data);
    assert_int_equal(bang_array_init(&array, BANG_U8, -1, shape, &err), BANG_EUSAGE);
    assert_int_equal(bang_array_init(&array, BANG_DTYPE_COUNT, 1, shape, &err), BANG_EUSAGE);
    assert_int_equal(bang_array_init(&array, BANG_F4, 1, shape, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "F4 share bytes"));
    assert_int_equal(bang_array_init(&array, BANG_F6_E3M2, 1, shape, &err), BANG_EUSAGE);
    static const size_t large[][2] = {
        {SIZE_MAX, 1},         {SIZE_MAX / 2, 2}, {(size_t)1 << 32, (size_t)1 << 32},
        {3, SIZE_MAX / 3 + 1}, {PTRDIFF_MAX, 1},  {PTRDIFF_MAX / 8 + 1, 1},
    };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        err.message[0] = '\0';
        assert_int_equal(bang_array_init(&array, BANG_F64, 2, large[i], &err), BANG_EUSAGE);
        assert_null(array.data);
        assert_non_null(strstr(err.message, "more than memory can address"));
    }
}

/* One number of each type, given as its bytes. */
static void check_number(bang_dtype dtype, const void *bytes, double expected, float as_float)
{
    bang_array array, single;
    assert_int_equal(bang_array_init(&array, dtype, 1, (size_t[]){3}, NULL), 0);
    memcpy((char *)array.data + bang_dtype_size(dtype), bytes, bang_dtype_size(dtype));
    double value = bang_array_number(&array, 1);
    assert_true(isnan(expected) ? isnan(value)
                                : value == expected && !signbit(value) == !signbit(expected));
    assert_int_equal(bang_array_to_f32(&single, &array, NULL), 0);
    assert_int_equal(single.dtype, BANG_F32);
    assert_int_equal(single.count, 3);
    const float *numbers = single.data;
    assert_true(numbers[0] == 0 && numbers[2] == 0);
    assert_true(isnan(as_float) ? isnan(numbers[1]) : numbers[1] == as_float);
    bang_array_release(&array);
    bang_array_release(&single);
}

#define CHECK(dtype, type, value)                                                                  \
    check_number(dtype, &(type){value}, (double)(type)(value), (float)(type)(value))

static void test_numbers(void **state)
{
    (void)state;
    check_number(BANG_BOOL, "\x01", 1, 1);
    check_number(BANG_BOOL, "\x02", 1, 1);
    CHECK(BANG_U8, uint8_t, 255);
    CHECK(BANG_I8, int8_t, -128);
    CHECK(BANG_U16, uint16_t, 65535);
    CHECK(BANG_I16, int16_t, -32768);
    CHECK(BANG_U32, uint32_t, UINT32_MAX);
    CHECK(BANG_I32, int32_t, INT32_MIN);
    CHECK(BANG_U64, uint64_t, UINT64_MAX);
    CHECK(BANG_I64, int64_t, INT64_MIN);
    CHECK(BANG_F32, float, FLT_TRUE_MIN);
    CHECK(BANG_F32, float, -INFINITY);
    CHECK(BANG_F64, double, -0.1);
    CHECK(BANG_F64, double, 1e300);
    check_number(BANG_F64, &(double){NAN}, NAN, NAN);
    /* Half of a float's last place above a tie that a double cannot tell: by
     * way of a double it would be rounded down to even. */
    uint64_t twice = ((uint64_t)1 << 63) + ((uint64_t)1 << 39) + 1;
    check_number(BANG_U64, &twice, (double)twice, 0x1.000002p63F);
    int64_t negative = -(((int64_t)1 << 62) + ((int64_t)1 << 38) + 1);
    check_number(BANG_I64, &negative, (double)negative, -0x1.000002p62F);
}

/* Every binary16, against the definition. */
static void test_half_precision(void **state)
{
    (void)state;
    bang_array array, single;
    size_t count = 65536;
    assert_int_equal(bang_array_init(&array, BANG_F16, 1, &count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        ((uint16_t *)array.data)[i] = (uint16_t)i;
    assert_int_equal(bang_array_to_f32(&single, &array, NULL), 0);
    for (unsigned i = 0; i < count; i++) {
        int exponent = (int)(i >> 10 & 31), fraction = (int)(i & 1023);
        double expected = exponent == 31  ? fraction ? NAN : INFINITY
                          : exponent == 0 ? ldexp(fraction, -24)
                                          : ldexp(1024 + fraction, exponent - 25);
        expected = i & 0x8000 ? -expected : expected;
        double value = bang_array_number(&array, i);
        float narrow = ((const float *)single.data)[i];
        if (isnan(expected) ? !isnan(value) || !isnan(narrow)
                            : value != expected || (double)narrow != expected ||
                                  !signbit(value) != !signbit(expected))
            fail_msg("%04x is %g, not %g", i, value, expected);
    }
    bang_array_release(&array);
    bang_array_release(&single);
}

static void test_bfloat16(void **state)
{
    (void)state;
    check_number(BANG_BF16, &(uint16_t){0x3f80}, 1, 1);
    check_number(BANG_BF16, &(uint16_t){0xc049}, -3.140625, -3.140625F);
    check_number(BANG_BF16, &(uint16_t){0x0001}, 0x1p-133, 0x1p-133F);
    check_number(BANG_BF16, &(uint16_t){0x7f80}, INFINITY, INFINITY);
    check_number(BANG_BF16, &(uint16_t){0x7fc0}, NAN, NAN);
    check_number(BANG_BF16, &(uint16_t){0x8000}, -0.0, -0.0F);
}

/* Every pattern is in test_tensor_convert.c. */
static void test_bytes(void **state)
{
    (void)state;
    check_number(BANG_F8_E4M3, "\x38", 1, 1);
    check_number(BANG_F8_E4M3, "\xfe", -448, -448);
    check_number(BANG_F8_E4M3, "\x01", 0x1p-9, 0x1p-9F);
    check_number(BANG_F8_E4M3, "\x7f", NAN, NAN);
    check_number(BANG_F8_E5M2, "\x3d", 1.25, 1.25F);
    check_number(BANG_F8_E5M2, "\xfc", -INFINITY, -INFINITY);
    check_number(BANG_F8_E5M2, "\x7d", NAN, NAN);
    check_number(BANG_F8_E5M2, "\x03", 0x3p-16, 0x3p-16F);
}

/* Types without arithmetic are copied, never numbers. */
static void test_opaque(void **state)
{
    (void)state;
    static const bang_dtype types[] = {BANG_F8_E8M0, BANG_F8_E4M3FNUZ, BANG_F8_E5M2FNUZ, BANG_C64};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bang_array array, single;
        assert_int_equal(bang_array_init(&array, types[i], 1, (size_t[]){2}, NULL), 0);
        assert_true(isnan(bang_array_number(&array, 1)));
        assert_int_equal(bang_array_to_f32(&single, &array, NULL), 0);
        assert_true(isnan(((const float *)single.data)[1]));
        bang_array_release(&array);
        bang_array_release(&single);
    }
}

static void test_copy_of_floats(void **state)
{
    (void)state;
    bang_array array, copy;
    assert_int_equal(bang_array_init(&array, BANG_F32, 2, (size_t[]){2, 3}, NULL), 0);
    for (int i = 0; i < 6; i++)
        ((float *)array.data)[i] = (float)i / 7;
    assert_int_equal(bang_array_to_f32(&copy, &array, NULL), 0);
    assert_ptr_not_equal(copy.data, array.data);
    assert_memory_equal(copy.data, array.data, 24);
    assert_int_equal(copy.rank, 2);
    assert_int_equal(copy.shape[0], 2);
    assert_int_equal(copy.shape[1], 3);
    bang_array_release(&array);
    bang_array_release(&copy);
    assert_int_equal(bang_array_init(&array, BANG_I64, 1, (size_t[]){0}, NULL), 0);
    assert_int_equal(bang_array_to_f32(&copy, &array, NULL), 0);
    assert_int_equal(copy.count, 0);
    bang_array_release(&array);
    bang_array_release(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_shape_text_is_cut),
        cmocka_unit_test(test_refused_shapes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_half_precision),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_opaque),
        cmocka_unit_test(test_copy_of_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
