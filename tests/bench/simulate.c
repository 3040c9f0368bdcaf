/* What simulation costs: the paper's four examples at its own scale, and the
 * projected draw beside the literal one. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "bang/lab/lab.h"
#include "bang/theory/simulate.h"

static double wall(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cores(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

/* Runs one example; the time it took is added to both sums. */
static void run(const bang_lab_example *example, bang_simulation_options options, double *seconds,
                double *core_seconds)
{
    bang_theory_problem problem;
    bang_simulation_result result;
    bang_error err = {0};
    double begin = wall(), begin_cores = cores();
    if (bang_lab_example_problem(&problem, example, &err) < 0 ||
        bang_simulate(&result, &problem, &options, &err) < 0)
        fprintf(stderr, "%s\n", err.message);
    bang_theory_problem_release(&problem);
    *seconds += wall() - begin;
    *core_seconds += cores() - begin_cores;
}

int main(void)
{
    size_t count;
    const bang_lab_example *examples = bang_lab_examples(&count);
    bang_simulation_options options = BANG_SIMULATION_OPTIONS_INIT;
    double seconds = 0, core_seconds = 0;
    for (size_t i = 0; i < count; i++)
        run(&examples[i], options, &seconds, &core_seconds);
    printf("four examples, 1000 runs each, fit mean: %.1f s, %.1f core seconds   goal 120 s: %s\n",
           seconds, core_seconds, seconds <= 120 ? "met" : "MISSED");
    options.runs = 10;
    double projected = 0, full = 0;
    seconds = 0;
    run(&examples[3], options, &seconds, &projected);
    options.full = 1;
    run(&examples[3], options, &seconds, &full);
    printf("example 2-2, 10 runs: projected %.3f core seconds, every coordinate drawn %.1f: %.0f "
           "times\n",
           projected, full, full / projected);
    options.full = 0;
    options.fit = BANG_FIT_LOGISTIC;
    double logistic = 0;
    run(&examples[3], options, &seconds, &logistic);
    printf("example 2-2, 10 runs, fit logistic: %.1f core seconds\n", logistic);
    return 0;
}
