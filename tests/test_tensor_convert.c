/* Number types against their definitions: every pattern decoded from its bit
 * fields, rounding against a search in the list of all values, and the versions
 * for different processors against each other. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/base/random.h"
#include "tensor/convert.h"

struct format {
    bang_dtype dtype;
    int exponent, fraction;
    int finite;           /* no infinities */
    unsigned last;        /* pattern of the largest finite number */
    double values[65536]; /* of the patterns 0 .. last + 1, the last as if there were one more */
};

static struct format formats[] = {
    {.dtype = BANG_F16, .exponent = 5, .fraction = 10, .last = 0x7bff},
    {.dtype = BANG_BF16, .exponent = 8, .fraction = 7, .last = 0x7f7f},
    {.dtype = BANG_F8_E4M3, .exponent = 4, .fraction = 3, .finite = 1, .last = 0x7e},
    {.dtype = BANG_F8_E5M2, .exponent = 5, .fraction = 2, .last = 0x7b},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const bang_converter *versions[2];
static size_t version_count;

static int bits_of(const struct format *f)
{
    return 1 + f->exponent + f->fraction;
}

static int make_values(void **state)
{
    (void)state;
    for (struct format *f = formats; f < formats + FORMATS; f++)
        for (unsigned i = 0; i <= f->last + 1; i++) {
            int exponent = (int)(i >> f->fraction), fraction = (int)(i & ((1U << f->fraction) - 1));
            int bias = (1 << (f->exponent - 1)) - 1, one = exponent ? 1 << f->fraction : 0;
            f->values[i] = ldexp(one + fraction, (exponent ? exponent : 1) - bias - f->fraction);
        }
    assert_true(formats[0].values[0x7bff] == 65504);
    assert_true(formats[2].values[0x7e] == 448 && formats[2].values[1] == 0x1p-9);
    assert_true(formats[3].values[0x7b] == 57344 && formats[3].values[1] == 0x1p-16);
    versions[version_count++] = &bang_converter_portable;
    if (bang_converter_best() != &bang_converter_portable)
        versions[version_count++] = bang_converter_best();
    return 0;
}

/* The pattern nearest to x, ties to the even one; `last + 1` and above are what
 * lies beyond. -1 for NaN. */
static int nearest(const struct format *f, double x)
{
    if (isnan(x))
        return -1;
    int sign = signbit(x) ? 1 << (f->exponent + f->fraction) : 0;
    double size = fabs(x);
    unsigned low = 0, high = f->last + 1; /* values[low] <= size < values[high] */
    int overflow = f->finite ? -1 : (int)(f->last + 1) | sign;
    if (size >= f->values[high])
        return overflow;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (f->values[middle] <= size)
            low = middle;
        else
            high = middle;
    }
    double half = (f->values[low] + f->values[high]) / 2; /* exact */
    unsigned found = size < half || (size == half && low % 2 == 0) ? low : high;
    return found > f->last ? overflow : (int)found | sign;
}

static int is_nan(const struct format *f, int pattern)
{
    int size = pattern & ((1 << (f->exponent + f->fraction)) - 1);
    return f->finite ? size == 0x7f : size > (int)f->last + 1;
}

static unsigned pattern_at(const void *bytes, int bits, size_t i)
{
    return bits == 8 ? ((const uint8_t *)bytes)[i] : ((const uint16_t *)bytes)[i];
}

static void check_encoded(const struct format *f, const char *name, double x, int expected,
                          unsigned found)
{
    if (expected < 0
            ? !is_nan(f, (int)found) || (isnan(x) && !signbit(x) != !(found >> (bits_of(f) - 1)))
            : (int)found != expected)
        fail_msg("%s: %a to %s is %x, not %x", name, x, bang_dtype_name(f->dtype), found,
                 (unsigned)expected);
}

/* As a double, and as a float if it is one. */
static void check_rounding(const struct format *f, double x)
{
    float narrow = (float)x;
    int is_float = isnan(x) || (double)narrow == x, expected = nearest(f, x);
    for (size_t v = 0; v < version_count; v++) {
        uint16_t out[2] = {0};
        versions[v]->from_f64(out, f->dtype, &x, 1);
        check_encoded(f, versions[v]->name, x, expected, pattern_at(out, bits_of(f), 0));
        if (is_float) {
            versions[v]->from_f32(out, f->dtype, &narrow, 1);
            check_encoded(f, versions[v]->name, x, expected, pattern_at(out, bits_of(f), 0));
        }
    }
}

static void check_both_signs(const struct format *f, double x)
{
    check_rounding(f, x);
    check_rounding(f, -x);
}

static void test_every_pattern(void **state)
{
    (void)state;
    static uint16_t patterns[65536], again[65536];
    static float floats[65536];
    static double doubles[65536];
    for (struct format *f = formats; f < formats + FORMATS; f++)
        for (size_t v = 0; v < version_count; v++) {
            int bits = bits_of(f), sign = 1 << (bits - 1);
            size_t count = (size_t)1 << bits;
            for (size_t i = 0; i < count; i++)
                if (bits == 8)
                    ((uint8_t *)patterns)[i] = (uint8_t)i;
                else
                    patterns[i] = (uint16_t)i;
            versions[v]->to_f32(floats, patterns, f->dtype, count);
            versions[v]->to_f64(doubles, patterns, f->dtype, count);
            for (int i = 0; i < (int)count; i++) {
                int size = i & ~sign, infinite = !f->finite && size == (int)f->last + 1;
                double value = is_nan(f, i) ? NAN : infinite ? INFINITY : f->values[size];
                int same = isnan(value)
                               ? isnan(floats[i]) && isnan(doubles[i])
                               : (double)fabsf(floats[i]) == value && fabs(doubles[i]) == value;
                if (!same || !signbit(floats[i]) != !(i & sign) ||
                    !signbit(doubles[i]) != !(i & sign))
                    fail_msg("%s %x is %a and %a", bang_dtype_name(f->dtype), (unsigned)i,
                             (double)floats[i], doubles[i]);
            }
            for (int wide = 0; wide < 2; wide++) {
                if (wide)
                    versions[v]->from_f64(again, f->dtype, doubles, count);
                else
                    versions[v]->from_f32(again, f->dtype, floats, count);
                for (int i = 0; i < (int)count; i++) {
                    int found = (int)pattern_at(again, bits, (size_t)i);
                    if (is_nan(f, i) ? !is_nan(f, found) || (found & sign) != (i & sign)
                                     : found != i)
                        fail_msg("%s %x became %x", bang_dtype_name(f->dtype), (unsigned)i,
                                 (unsigned)found);
                }
            }
        }
}

/* Half way between neighbours and just beside it, as doubles and as floats. */
static void test_ties(void **state)
{
    (void)state;
    for (struct format *f = formats; f < formats + FORMATS; f++)
        for (unsigned i = 0; i <= f->last; i++) {
            double half = (f->values[i] + f->values[i + 1]) / 2;
            check_both_signs(f, half);
            check_both_signs(f, nextafter(half, 0));
            check_both_signs(f, nextafter(half, INFINITY));
            check_both_signs(f, (double)nextafterf((float)half, 0));
            check_both_signs(f, (double)nextafterf((float)half, INFINITY));
            check_both_signs(f, nextafter(f->values[i], INFINITY));
            check_both_signs(f, nextafter(f->values[i + 1], 0));
        }
}

static void test_ends(void **state)
{
    (void)state;
    static const double ends[] = {0,
                                  DBL_TRUE_MIN,
                                  DBL_MIN,
                                  (double)FLT_TRUE_MIN,
                                  (double)FLT_MIN,
                                  0x1p-25,
                                  0x1p-134,
                                  0x1p-10,
                                  0x1p-17,
                                  464,
                                  465,
                                  480,
                                  65520,
                                  61440,
                                  1e30,
                                  0x1.ffp127,
                                  FLT_MAX,
                                  0x1p128,
                                  DBL_MAX,
                                  INFINITY};
    for (struct format *f = formats; f < formats + FORMATS; f++)
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            check_both_signs(f, ends[i]);
            check_both_signs(f, nextafter(ends[i], 0));
            check_both_signs(f, nextafter(ends[i], INFINITY));
        }
    uint8_t e4m3[6];
    bang_from_f32(e4m3, BANG_F8_E4M3, (float[]){464, 464.5F, -480, INFINITY, -INFINITY, -448}, 6);
    assert_memory_equal(e4m3, "\x7e\x7f\xff\x7f\xff\xfe", 6);
    /* A tie for a float, but not for the double that lies above it. */
    uint16_t one;
    bang_from_f64(&one, BANG_F16, &(double){1 + 0x1p-11 + 0x1p-40}, 1);
    assert_int_equal(one, 0x3c01);
    bang_from_f32(&one, BANG_F16, &(float){(float)(1 + 0x1p-11 + 0x1p-40)}, 1);
    assert_int_equal(one, 0x3c00);
}

static void test_nans(void **state)
{
    (void)state;
    for (struct format *f = formats; f < formats + FORMATS; f++)
        for (int bit = 0; bit < 52; bit++)
            for (int sign = 0; sign < 2; sign++)
                for (size_t v = 0; v < version_count; v++) {
                    uint64_t bits = (uint64_t)0x7ff << 52 | (uint64_t)1 << bit;
                    uint32_t narrow_bits = 0x7f800000U | 1U << (bit % 23) | (uint32_t)sign << 31;
                    uint16_t out = 0;
                    float narrow;
                    double x;
                    bits |= (uint64_t)sign << 63;
                    memcpy(&x, &bits, sizeof x);
                    memcpy(&narrow, &narrow_bits, sizeof narrow);
                    versions[v]->from_f64(&out, f->dtype, &x, 1);
                    check_encoded(f, versions[v]->name, sign ? -(double)NAN : (double)NAN, -1, out);
                    out = 0;
                    versions[v]->from_f32(&out, f->dtype, &narrow, 1);
                    check_encoded(f, versions[v]->name, sign ? -(double)NAN : (double)NAN, -1, out);
                }
    double quiet;
    bang_to_f64(&quiet, &(float){NAN}, BANG_F32, 1);
    assert_true(isnan(quiet));
    float narrow;
    bang_to_f32(&narrow, &(double){NAN}, BANG_F64, 1);
    assert_true(isnan(narrow));
}

static void test_random_numbers(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('c', 'o', 'n', 'v'), 0);
    for (struct format *f = formats; f < formats + FORMATS; f++)
        for (int i = 0; i < 200000; i++) {
            uint64_t bits = bang_random_u64(&random);
            uint32_t narrow_bits = bang_random_u32(&random);
            double x, near;
            float narrow;
            memcpy(&x, &bits, sizeof x);
            memcpy(&narrow, &narrow_bits, sizeof narrow);
            check_rounding(f, x);
            check_rounding(f, (double)narrow);
            /* mostly within the range of the type */
            near =
                ldexp(bang_random_uniform(&random) - 0.5, (int)bang_random_below(&random, 44) - 26);
            check_rounding(f, near);
            check_rounding(f, (double)(float)near);
        }
}

/* A float to a double and back, and a double to a float as C rounds. */
static void test_floats(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 2, BANG_PURPOSE('c', 'o', 'n', 'v'), 0);
    enum { COUNT = 1000 };
    double doubles[COUNT], wide[COUNT];
    float floats[COUNT], again[COUNT];
    for (size_t v = 0; v < version_count; v++) {
        for (int i = 0; i < COUNT; i++) {
            doubles[i] = ldexp(bang_random_normal(&random), i % 300 - 150);
            floats[i] = (float)doubles[i];
        }
        versions[v]->to_f32(again, doubles, BANG_F64, COUNT);
        assert_memory_equal(again, floats, sizeof floats);
        versions[v]->from_f64(again, BANG_F32, doubles, COUNT);
        assert_memory_equal(again, floats, sizeof floats);
        versions[v]->to_f64(wide, floats, BANG_F32, COUNT);
        versions[v]->from_f32(doubles, BANG_F64, floats, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_true(wide[i] == (double)floats[i] && doubles[i] == wide[i]);
        versions[v]->to_f32(again, floats, BANG_F32, COUNT);
        assert_memory_equal(again, floats, sizeof floats);
        versions[v]->from_f64(doubles, BANG_F64, wide, COUNT);
        assert_memory_equal(doubles, wide, sizeof wide);
    }
}

/* Any bits, length and alignment: the same bytes, and none beside them. */
static void test_versions_agree(void **state)
{
    (void)state;
    static const bang_dtype types[] = {BANG_F64,  BANG_F32,     BANG_F16,
                                       BANG_BF16, BANG_F8_E4M3, BANG_F8_E5M2};
    enum { LONGEST = 70, ROOM = 8 * (LONGEST + 2) };
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('c', 'o', 'n', 'v'), 0);
    const bang_converter *best = bang_converter_best();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t count = 0; count <= LONGEST; count++)
            for (size_t way = 0; way < 4; way++) {
                size_t size = bang_dtype_size(types[t]), in_size = way == 0   ? 4
                                                                   : way == 1 ? 8
                                                                              : size;
                size_t out_size = way < 2 ? size : way == 2 ? 4 : 8;
                size_t in_skip = bang_random_below(&random, 8),
                       out_skip = bang_random_below(&random, 8);
                char in[ROOM], one[ROOM], two[ROOM];
                for (size_t i = 0; i < ROOM; i++)
                    in[i] = (char)bang_random_u32(&random);
                /* Zeros and all ones more often than chance would have it. */
                for (size_t i = 0; i < 8; i++)
                    memset(in + bang_random_below(&random, ROOM - 8), i % 2 ? 0 : 0xff,
                           bang_random_below(&random, 8));
                memset(one, '#', ROOM);
                memset(two, '#', ROOM);
                const void *from = in + in_skip;
                void *to[2] = {one + out_skip, two + out_skip};
                for (int v = 0; v < 2; v++) {
                    const bang_converter *c = v ? best : &bang_converter_portable;
                    if (way == 0)
                        c->from_f32(to[v], types[t], from, count);
                    else if (way == 1)
                        c->from_f64(to[v], types[t], from, count);
                    else if (way == 2)
                        c->to_f32(to[v], from, types[t], count);
                    else
                        c->to_f64(to[v], from, types[t], count);
                }
                assert_memory_equal(one, two, ROOM);
                for (size_t i = 0; i < ROOM; i++)
                    assert_true((i >= out_skip && i < out_skip + count * out_size) ||
                                one[i] == '#');
                /* One by one it is the same again. */
                for (size_t i = 0; i < count; i++) {
                    char single[8];
                    const void *number = (const char *)from + i * in_size;
                    if (way == 0)
                        bang_from_f32(single, types[t], number, 1);
                    else if (way == 1)
                        bang_from_f64(single, types[t], number, 1);
                    else if (way == 2)
                        bang_to_f32((void *)single, number, types[t], 1);
                    else
                        bang_to_f64((void *)single, number, types[t], 1);
                    assert_memory_equal(single, one + out_skip + i * out_size, out_size);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern),  cmocka_unit_test(test_ties),
        cmocka_unit_test(test_ends),           cmocka_unit_test(test_nans),
        cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_versions_agree),
    };
    return cmocka_run_group_tests(tests, make_values, NULL);
}
