#include <float.h>
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/tensor/kernels.h"

#define REAL float
#define STEP bang_step_f32
#define KERNELS bang_kernels_f32
#define NAME(x) x##_f32
#define EPSILON ((double)FLT_EPSILON)
#include "kernel_cases.h"

#define REAL double
#define STEP bang_step_f64
#define KERNELS bang_kernels_f64
#define NAME(x) x##_f64
#define EPSILON DBL_EPSILON
#include "kernel_cases.h"

static void test_portable_f32(void **state)
{
    (void)state;
    check_f32(&bang_kernels_portable_f32);
}

static void test_portable_f64(void **state)
{
    (void)state;
    check_f64(&bang_kernels_portable_f64);
}

/* On a machine without them this repeats what is above. */
static void test_best_f32(void **state)
{
    (void)state;
    check_f32(bang_kernels_best_f32());
}

static void test_best_f64(void **state)
{
    (void)state;
    check_f64(bang_kernels_best_f64());
}

static void test_choice(void **state)
{
    (void)state;
    assert_string_equal(bang_kernels_portable_f32.name, "portable");
    assert_string_equal(bang_kernels_portable_f64.name, "portable");
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        assert_ptr_equal(bang_kernels_best_f32(), &bang_kernels_avx2_f32);
        assert_ptr_equal(bang_kernels_best_f64(), &bang_kernels_avx2_f64);
        assert_string_equal(bang_kernels_avx2_f32.name, "avx2");
        assert_string_equal(bang_kernels_avx2_f64.name, "avx2");
    }
#endif
    for (size_t n = 0; n < 100; n++) {
        assert_true(bang_padded(n) >= n && bang_padded(n) < n + BANG_LANES);
        assert_int_equal(bang_padded(n) % BANG_LANES, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portable_f32), cmocka_unit_test(test_portable_f64),
        cmocka_unit_test(test_best_f32),     cmocka_unit_test(test_best_f64),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
