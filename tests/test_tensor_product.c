#include <float.h>
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "tensor/product_kinds.h"

/* Bits that say what a product is to do. */
enum {
    A_TURNED = 1,
    B_TURNED = 2,
    ADD = 4,
    BIAS = 8,
    RESIDUAL = 16,
    ITSELF = 32, /* is the residual */
    ACTIVATED = 64,
    IN_PLACE = 128,
    KINDS = 256
};

#define REAL float
#define PRODUCT bang_product_f32
#define NAME(x) x##_f32
#define EPSILON ((double)FLT_EPSILON)
#include "product_cases.h"

#define REAL double
#define PRODUCT bang_product_f64
#define NAME(x) x##_f64
#define EPSILON DBL_EPSILON
#include "product_cases.h"

static void test_portable(void **state)
{
    (void)state;
    check_products_f32(bang_product_portable_f32);
    check_products_f64(bang_product_portable_f64);
    check_rows_f32(bang_product_portable_f32);
    check_rows_f64(bang_product_portable_f64);
}

#if defined(__x86_64__)
static void test_avx2(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        skip();
    check_products_f32(bang_product_avx2_f32);
    check_products_f64(bang_product_avx2_f64);
    check_rows_f32(bang_product_avx2_f32);
    check_rows_f64(bang_product_avx2_f64);
}

static void test_avx512(void **state)
{
    (void)state;
    if (!bang_product_has_avx512())
        skip();
    check_products_f32(bang_product_avx512_f32);
    check_products_f64(bang_product_avx512_f64);
    check_rows_f32(bang_product_avx512_f32);
    check_rows_f64(bang_product_avx512_f64);
    check_same_f32(bang_product_avx2_f32, bang_product_avx512_f32);
    check_same_f64(bang_product_avx2_f64, bang_product_avx512_f64);
}
#endif

/* What is chosen is one of them, and gives the same bits each time. */
static void test_choice(void **state)
{
    (void)state;
    enum { M = 30, N = 100, K = 50 };
    float *a = numbers_f32(M * K, 1), *b = numbers_f32(K * N, 2);
    float *c = numbers_f32(M * N, 3), *again = numbers_f32(M * N, 4);
    float *scratch =
        aligned_alloc(64, (bang_product_scratch_f32() * sizeof *scratch + 63) / 64 * 64);
    assert_non_null(scratch);
    bang_product_f32 p = {.m = M,
                          .n = N,
                          .k = K,
                          .a = a,
                          .a_row = K,
                          .a_column = 1,
                          .b = b,
                          .b_row = N,
                          .b_column = 1,
                          .c = c,
                          .c_row = N};
    bang_product_run_f32(&p, scratch);
    p.c = again;
    bang_product_run_f32(&p, scratch);
    assert_memory_equal(c, again, M * N * sizeof *c);
    free(a), free(b), free(c), free(again), free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portable),
#if defined(__x86_64__)
        cmocka_unit_test(test_avx2),
        cmocka_unit_test(test_avx512),
#endif
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
