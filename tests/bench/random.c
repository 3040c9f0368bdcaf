/* What one random number costs, in nanoseconds of one core. */
#include <stdio.h>
#include <time.h>

#include "bang/base/random.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double draw_u64(bang_random *random)
{
    return (double)(bang_random_u64(random) >> 12);
}

static double draw_binomial_small(bang_random *random)
{
    return (double)bang_random_binomial(random, 20, 0.3);
}

static double draw_binomial_large(bang_random *random)
{
    return (double)bang_random_binomial(random, 1000, 0.3);
}

int main(void)
{
    static const struct {
        const char *name;
        double (*draw)(bang_random *);
        int count;
    } cases[] = {
        {"64 bits", draw_u64, 50000000},
        {"uniform", bang_random_uniform, 50000000},
        {"normal", bang_random_normal, 50000000},
        {"binomial(20, .3)", draw_binomial_small, 5000000},
        {"binomial(1000, .3)", draw_binomial_large, 5000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double best = 1e9, sum = 0;
        for (int repeat = 0; repeat < 3; repeat++) {
            bang_random random;
            bang_random_init(&random, 1, BANG_PURPOSE('b', 'n', 'c', 'h'), 0);
            double start = now();
            for (int k = 0; k < cases[i].count; k++)
                sum += cases[i].draw(&random);
            double each = (now() - start) / cases[i].count * 1e9;
            best = each < best ? each : best;
        }
        printf("%-20s %6.1f ns  (mean %g)\n", cases[i].name, best, sum / 3 / cases[i].count);
    }
    return 0;
}
