/* What prediction costs: every figure that docs/BENCHMARKS.md quotes, best of
 * several runs, beside plain enumeration where that ends. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bang/base/json.h"
#include "bang/lab/lab.h"
#include "bang/theory/theory.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct job {
    const char *what;
    int64_t classes;
    double shift;
    bang_theory_score score;
    int gaussian;
} job;

static double sink;

static void run_job(const job *j)
{
    bang_theory_value value = {0};
    bang_error err = {0};
    if (j->gaussian)
        value.accuracy = bang_theory_gaussian(&j->score, j->classes, j->shift);
    else if (bang_theory_exact(&value, &j->score, j->classes, j->shift, NULL, &err) < 0)
        fprintf(stderr, "%s\n", err.message);
    sink += value.accuracy;
}

/* Best of at least five runs and 0.3 seconds. */
static double best_time(const job *j)
{
    double best = INFINITY, begin = seconds();
    for (int i = 0; i < 5 || seconds() - begin < 0.3; i++) {
        double start = seconds();
        run_job(j);
        best = fmin(best, seconds() - start);
    }
    return best;
}

static void print_time(const char *what, double time, double goal)
{
    const char *unit = time < 1e-3 ? "us" : "ms";
    double factor = time < 1e-3 ? 1e6 : 1e3;
    printf("%-58s %9.3f %s", what, time * factor, unit);
    if (goal > 0)
        printf("   goal %g %s: %s", goal * factor, unit, time <= goal ? "met" : "MISSED");
    putchar('\n');
}

static double naive(const job *j, double *logits, int64_t feature, double probability)
{
    if (feature == j->score.groups[0].count) {
        int ties = 0;
        for (int64_t k = 1; k < j->classes; k++) {
            if (logits[k] > logits[0])
                return 0;
            ties += logits[k] == logits[0];
        }
        return probability / (1 + ties);
    }
    double sum = 0, other = j->shift / (double)j->classes;
    for (int64_t k = 0; k < j->classes; k++) {
        logits[k] += 1;
        sum += naive(j, logits, feature + 1, probability * (other + (k == 0 ? 1 - j->shift : 0)));
        logits[k] -= 1;
    }
    return sum;
}

static void compare_naive(const char *what, int64_t classes, int64_t count)
{
    bang_theory_group group = {1, count};
    job j = {what, classes, 0.9, {2, 0, 1, &group}, 0};
    double logits[16] = {2}, start = seconds(), value = naive(&j, logits, 0, 1);
    double plain = seconds() - start, fast = best_time(&j);
    bang_theory_value exact;
    bang_error err = {0};
    bang_theory_exact(&exact, &j.score, classes, 0.9, NULL, &err);
    printf("%-58s %9.3f us   enumeration %10.0f us, %.0f times slower; values differ by %.1e\n",
           what, fast * 1e6, plain * 1e6, plain / fast, fabs(value - exact.accuracy));
}

static void time_figures(void)
{
    static const char *const names[] = {"example-2", "example-3"};
    double total = INFINITY;
    for (int i = 0; i < 5; i++) {
        double start = seconds();
        for (int k = 0; k < 2; k++) {
            json_t *figure = NULL;
            bang_error err = {0};
            if (bang_lab_figure(&figure, names[k], 3, 0.9, 0, &err) < 0)
                fprintf(stderr, "%s\n", err.message);
            json_decref(figure);
        }
        total = fmin(total, seconds() - start);
    }
    print_time("maps of Examples 2 and 3 (162 cells, G and F_p, K=3)", total, 1);
}

int main(void)
{
    bang_theory_group g200 = {1, 200}, g100k = {1, 100000}, g20 = {1, 20};
    bang_theory_group two[2] = {{1, 1000}, {2, 100}}, four[2] = {{1, 1000}, {4, 100}};
    const struct {
        job j;
        double goal;
    } jobs[] = {
        {{"G, K=1000, 5,200, p=.9", 1000, 0.9, {5, 0, 1, &g200}, 0}, 0.5e-3},
        {{"G, K=1000, 5,200, p=1", 1000, 1, {5, 0, 1, &g200}, 0}, 0.5e-3},
        {{"G, K=1000, 5,200, p=1, noise tau=1", 1000, 1, {5, 1, 1, &g200}, 0}, 0},
        {{"G, K=1000, 30,100000, p=.9", 1000, 0.9, {30, 0, 1, &g100k}, 0}, 30e-3},
        {{"G, K=1000, 30,100000, p=1", 1000, 1, {30, 0, 1, &g100k}, 0}, 30e-3},
        {{"G, K=3, 300,100000, p=1", 3, 1, {300, 0, 1, &g100k}, 0}, 0},
        {{"G, K=1000, groups 1000x1 + 100x2, p=.9", 1000, 0.9, {10, 0, 2, two}, 0}, 150e-3},
        {{"G, K=1000, groups 1000x1 + 100x2, p=1", 1000, 1, {10, 0, 2, two}, 0}, 150e-3},
        {{"G, K=1000, groups 1000x1 + 100x4, p=1", 1000, 1, {10, 0, 2, four}, 0}, 150e-3},
        {{"G, K=3, groups 1000x1 + 100x2, p=.9", 3, 0.9, {10, 0, 2, two}, 0}, 0},
        {{"F_p, K=3, p=.9", 3, 0.9, {5, 0, 1, &g20}, 1}, 20e-6},
        {{"F_p, K=10, p=.9", 10, 0.9, {5, 0, 1, &g20}, 1}, 20e-6},
        {{"F_p, K=10, p=.1", 10, 0.1, {5, 0, 1, &g20}, 1}, 20e-6},
        {{"F_p, K=1000, p=.9", 1000, 0.9, {5, 0, 1, &g20}, 1}, 200e-6},
        {{"F_p, K=1000, p=.1", 1000, 0.1, {5, 0, 1, &g20}, 1}, 200e-6},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        print_time(jobs[i].j.what, best_time(&jobs[i].j), jobs[i].goal);
    time_figures();
    compare_naive("G, K=3, 2,12", 3, 12);
    compare_naive("G, K=10, 2,7", 10, 7);
    return sink > 0 ? 0 : 1;
}
