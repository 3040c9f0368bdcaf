/* So many draws that a term left out of the binomial's acceptance test shows:
 * an error of a thousandth in the tails. */
#include "distribution.h"

static void test_binomial_to_a_thousandth(void **state)
{
    (void)state;
    check_binomial(20, 0.5, 25000000);
    check_binomial(45, 0.7, 25000000);
    check_binomial(1000, 0.011, 25000000);
    check_binomial(19, 0.5, 25000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_binomial_to_a_thousandth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
