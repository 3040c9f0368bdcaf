/* Statistics of tensors against plain sums over the same numbers. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/combine/statistics.h"
#include "bang/store/safetensors.h"

static void add(bang_tensors *to, const char *name, bang_dtype dtype, size_t count, int special)
{
    bang_array array;
    bang_error err = {0};
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('s', 't', 'a', 't'), to->count);
    assert_int_equal(bang_array_init(&array, dtype, 1, &count, &err), 0);
    for (size_t i = 0; i < count; i++) {
        double z = 1 + bang_random_normal(&random);
        float f = special && i % 7 == 3   ? NAN
                  : special && i % 7 == 5 ? (i % 2 ? INFINITY : -INFINITY)
                                          : (float)z;
        if (dtype == BANG_F64)
            ((double *)array.data)[i] = z;
        else if (dtype == BANG_F32)
            ((float *)array.data)[i] = f;
        else if (dtype == BANG_BF16) {
            uint32_t bits;
            memcpy(&bits, &f, sizeof bits);
            ((uint16_t *)array.data)[i] = (uint16_t)(bits >> 16);
        } else /* all bits of integers and F16, too */
            for (size_t b = 0; b < bang_dtype_size(dtype); b++)
                ((unsigned char *)array.data)[i * bang_dtype_size(dtype) + b] =
                    (unsigned char)(bang_random_u32(&random) & (dtype == BANG_BOOL ? 1 : 255));
    }
    assert_int_equal(bang_tensors_add(to, name, &array, &err), 0);
}

static void check(const bang_array *array, const bang_statistics *s)
{
    double min = INFINITY, max = -INFINITY;
    long double sum = 0, square = 0;
    uint64_t nan = 0, inf = 0, fine = 0;
    for (size_t i = 0; i < array->count; i++) {
        double x = bang_array_number(array, i);
        nan += isnan(x) != 0;
        inf += isinf(x) != 0;
        if (!isfinite(x))
            continue;
        fine++;
        min = fmin(min, x);
        max = fmax(max, x);
        sum += (long double)x;
        square += (long double)x * (long double)x;
    }
    assert_true(s->known);
    assert_int_equal(s->count, array->count);
    assert_int_equal(s->nan, nan);
    assert_int_equal(s->inf, inf);
    if (!fine) {
        assert_true(isnan(s->min) && isnan(s->max) && isnan(s->mean) && isnan(s->norm));
        return;
    }
    double mean = (double)(sum / (long double)fine), norm = sqrt((double)square);
    assert_true(s->min == min && s->max == max);
    assert_true(fabs(s->mean - mean) <= 1e-14 * norm);
    assert_true(fabs(s->norm - norm) <= 1e-13 * norm);
}

static void test_all_types(void **state)
{
    const char *path = in_folder(*state, "a.safetensors");
    static const bang_dtype types[] = {BANG_BOOL, BANG_U8,  BANG_I8,      BANG_U16, BANG_I16,
                                       BANG_U32,  BANG_I32, BANG_U64,     BANG_I64, BANG_F16,
                                       BANG_BF16, BANG_F64, BANG_F8_E4M3, BANG_F32, BANG_F8_E5M2};
    bang_tensors tensors = {0};
    bang_error err = {0};
    char name[32];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(name, sizeof name, "t%zu", i);
        add(&tensors, name, types[i], 1001 + 31 * i, 0);
    }
    add(&tensors, "special", BANG_F32, 100003, 1);
    add(&tensors, "bf16", BANG_BF16, 40001, 1);
    add(&tensors, "one", BANG_F32, 1, 0);
    add(&tensors, "none", BANG_F32, 0, 0);
    add(&tensors, "all", BANG_F32, 3, 0);
    for (size_t i = 0; i < 3; i++)
        ((float *)tensors.items[tensors.count - 1].array.data)[i] = NAN;
    add(&tensors, "packed", BANG_F32, 8, 0);
    tensors.items[tensors.count - 1].array.dtype = BANG_C64;
    tensors.items[tensors.count - 1].array.count = 4;
    tensors.items[tensors.count - 1].array.shape[0] = 4;
    assert_int_equal(bang_safetensors_write(path, &tensors, &err), 0);
    for (int threads = 1; threads < 4; threads++) {
        bang_checkpoint *c;
        bang_stream stream = BANG_STREAM_INIT;
        bang_statistics all[32];
        stream.threads = threads;
        stream.plain = threads == 2;
        assert_int_equal(bang_checkpoint_open(&c, path, &err), 0);
        if (bang_statistics_measure(all, c, &stream, &err) < 0)
            fail_msg("%s", err.message);
        for (size_t i = 0; i < c->count; i++)
            if (strcmp(c->entries[i].name, "packed") == 0)
                assert_false(all[i].known);
            else
                check(bang_tensors_find(&tensors, c->entries[i].name), &all[i]);
        bang_checkpoint_close(c);
    }
    bang_tensors_release(&tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_types, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
