/* How near the products of matrices come to what the processor can do at all. */
#include <stdio.h>

#include "bang/tensor/kernels.h"
#include "peak.h"

enum { TURNS = 7 };

int main(void)
{
    static const struct {
        const char *name;
        size_t m, n, k;
        int transposed, add;
    } cases[] = {
        {"first layer, forward", 100, 64, 5292, 0, 1},
        {"first layer, gradient of 48 inputs", 48, 64, 100, 1, 0},
        {"hidden layer, forward", 100, 64, 64, 0, 1},
        {"hidden layer, gradient", 64, 64, 100, 1, 0},
        {"last layer, forward", 100, 16, 64, 0, 1},
    };
    const bang_kernels_f32 *k = bang_kernels_best_f32();
    double most = peak() / 1e9;
    printf("kernels %s; multiply-add alone %.1f GFLOP/s\n", k->name, most);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t m = cases[i].m, n = cases[i].n, depth = cases[i].k;
        float *a = aligned_alloc(64, (m * depth + 16) / 16 * 64);
        float *b = aligned_alloc(64, n * depth * sizeof *b);
        float *c = aligned_alloc(64, m * n * sizeof *c);
        if (!a || !b || !c)
            return 1;
        memset(a, 0, m * depth * sizeof *a);
        memset(b, 0, n * depth * sizeof *b);
        memset(c, 0, m * n * sizeof *c);
        double flops = 2.0 * (double)m * (double)n * (double)depth, best = INFINITY;
        long repeats = (long)(2e8 / flops) + 1;
        for (int turn = 0; turn < TURNS; turn++) {
            double begin = now();
            for (long r = 0; r < repeats; r++)
                k->product(c, n, a, cases[i].transposed ? 1 : depth, cases[i].transposed ? m : 1, b,
                           n, m, n, depth, cases[i].add);
            best = fmin(best, (now() - begin) / (double)repeats);
        }
        printf("%-36s %6.1f GFLOP/s", cases[i].name, flops / best / 1e9);
        printf(most > 0 ? ", %.0f %% of that\n" : "\n", 100 * flops / best / 1e9 / most);
        free(a);
        free(b);
        free(c);
    }
    return 0;
}
