/* The search for a zero on functions that are worse than those of temperatures. */
#include "testing.h"

#include <math.h>

#include "measure/temperature_root.h"

static void assert_close(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.17g is not %.17g: %g off, %g allowed", found, expected, found - expected,
                 tolerance);
}

/* Shapes that mislead Newton's method: bent either way, flat in parts, with a jump. */
struct shape {
    int kind;
    double zero;
};

static int shape_at(void *context, bang_root_point *point, bang_error *err)
{
    (void)err;
    const struct shape *shape = context;
    double x = point->beta, zero = shape->zero, u = log(x / zero);
    switch (shape->kind) {
    case 0:
        point->value = x - zero;
        point->slope = 1;
        point->integral = x * x / 2 - zero * x;
        break;
    case 1:
        point->value = u;
        point->slope = 1 / x;
        point->integral = x * (u - 1);
        break;
    case 2:
        point->value = x * x * x - zero * zero * zero;
        point->slope = 3 * x * x;
        point->integral = x * (x * x * x / 4 - zero * zero * zero);
        break;
    case 3:
        point->value = 1 / zero - 1 / x;
        point->slope = 1 / (x * x);
        point->integral = x / zero - log(x);
        break;
    case 4: /* flat but around the zero */
        point->value = tanh(20 * u);
        point->slope = 20 / x / cosh(20 * u) / cosh(20 * u);
        point->integral = 0;
        break;
    default: /* a step */
        point->value = u < 0 ? -1 : 1;
        point->slope = 0;
        point->integral = 0;
    }
    return 0;
}

static void test_root(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++)
        for (double zero = 1.5e-9; zero < 9e8; zero *= 3)
            for (double start = 1e-9; start < 2e9; start *= 100) {
                struct shape shape = {kind, zero};
                bang_error err = {0};
                bang_root root;
                assert_int_equal(bang_root_find(&root, shape_at, &shape, start, 1e-12, &err), 0);
                assert_close(root.beta, zero, 1e-12 * zero);
                assert_int_equal(root.at_limit, 0);
                if (root.evaluations > (kind < 4 ? 40 : 80))
                    fail_msg("shape %d, zero %g from %g: %d steps", kind, zero, start,
                             root.evaluations);
                bang_root_point at = {.beta = zero};
                shape_at(&shape, &at, &err);
                if (kind < 4)
                    assert_close(root.integral, at.integral, 1e-13 * (1 + fabs(at.integral)));
            }
    /* From near, two looks are enough, since they tell the slope. */
    for (int kind = 1; kind < 4; kind++) {
        struct shape shape = {kind, 2};
        bang_root root;
        assert_int_equal(bang_root_find(&root, shape_at, &shape, 2.002, 1e-12, NULL), 0);
        assert_true(root.evaluations <= 3);
    }
    /* None between the limits. */
    for (int kind = 0; kind < 6; kind++)
        for (int above = 0; above < 2; above++)
            for (double start = 1e-9; start < 2e9; start *= 100) {
                struct shape shape = {kind, above ? 1.1e9 : 0.9e-9};
                bang_root root;
                assert_int_equal(bang_root_find(&root, shape_at, &shape, start, 1e-12, NULL), 0);
                assert_int_equal(root.at_limit, 1);
                assert_true(root.beta == (above ? BANG_BETA_MOST : BANG_BETA_LEAST));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_root)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
