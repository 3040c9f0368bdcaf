/* Parallel loops: every index once, the same result for any number of
 * threads, the lowest failure, cancellation. Progress lines too. */
#include "testing.h"

#include <sched.h>
#include <unistd.h>

#include "bang/base/progress.h"
#include "bang/base/random.h"
#include "bang/base/thread.h"

enum { ITEMS = 1000, WORKERS = 8 };

struct sums {
    double value[ITEMS];
    atomic_int calls[ITEMS];
    atomic_int busy[WORKERS];
    atomic_int shared; /* a worker number was seen in two calls at a time */
};

static int draw(void *context, size_t index, int worker, bang_error *err)
{
    (void)err;
    struct sums *sums = context;
    if (atomic_fetch_add(&sums->busy[worker], 1) != 0)
        atomic_store(&sums->shared, 1);
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('l', 'o', 'o', 'p'), index);
    for (size_t i = 0; i <= index % 50; i++)
        sums->value[index] += bang_random_normal(&random);
    atomic_fetch_add(&sums->calls[index], 1);
    atomic_fetch_sub(&sums->busy[worker], 1);
    return 0;
}

static void test_same_result_for_any_threads(void **state)
{
    (void)state;
    struct sums *one = calloc(1, sizeof *one), *many = calloc(1, sizeof *many);
    assert_int_equal(bang_parallel_for(ITEMS, 1, draw, one, NULL, NULL), 0);
    for (int threads = 2; threads <= WORKERS; threads++) {
        memset(many, 0, sizeof *many);
        bang_error err = {0};
        assert_int_equal(bang_parallel_for(ITEMS, threads, draw, many, NULL, &err), 0);
        assert_memory_equal(one->value, many->value, sizeof one->value);
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(atomic_load(&many->calls[i]), 1);
        assert_false(atomic_load(&many->shared));
    }
    free(one);
    free(many);
}

struct seen {
    atomic_int calls, highest_worker;
    pid_t inline_thread;
    atomic_int elsewhere;
};

static int look(void *context, size_t index, int worker, bang_error *err)
{
    (void)index, (void)err;
    struct seen *seen = context;
    atomic_fetch_add(&seen->calls, 1);
    if (worker > atomic_load(&seen->highest_worker))
        atomic_store(&seen->highest_worker, worker);
    if (gettid() != seen->inline_thread)
        atomic_store(&seen->elsewhere, 1);
    return 0;
}

static void test_small_loops_run_inline(void **state)
{
    (void)state;
    struct seen seen = {.inline_thread = gettid()};
    assert_int_equal(bang_parallel_for(100, 1, look, &seen, NULL, NULL), 0);
    assert_int_equal(bang_parallel_for(1, 8, look, &seen, NULL, NULL), 0);
    assert_int_equal(bang_parallel_for(0, 8, look, &seen, NULL, NULL), 0);
    assert_int_equal(atomic_load(&seen.calls), 101);
    assert_int_equal(atomic_load(&seen.highest_worker), 0);
    assert_false(atomic_load(&seen.elsewhere));
    assert_int_equal(bang_parallel_for(2, 8, look, &seen, NULL, NULL), 0);
    assert_true(atomic_load(&seen.highest_worker) <= 1);
    assert_int_equal(bang_parallel_for(50, 0, look, &seen, NULL, NULL), 0);
    assert_true(atomic_load(&seen.highest_worker) < bang_threads_available());
    assert_int_equal(atomic_load(&seen.calls), 153);
}

static int fail_some(void *context, size_t index, int worker, bang_error *err)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)context, 1);
    if (index == 401)
        usleep(2000); /* a later failure is known long before this one */
    if (index == 401 || index == 402 || index == 700)
        return bang_fail(err, BANG_EDATA, "item %zu", index);
    return 0;
}

static void test_lowest_failure_is_reported(void **state)
{
    (void)state;
    for (int threads = 1; threads <= WORKERS; threads++) {
        for (int repeat = 0; repeat < 20; repeat++) {
            bang_error err = {0};
            atomic_int calls = 0;
            assert_int_equal(bang_parallel_for(ITEMS, threads, fail_some, &calls, NULL, &err),
                             BANG_EDATA);
            assert_string_equal(err.message, "item 401");
            assert_true(atomic_load(&calls) < ITEMS);
        }
    }
    atomic_int calls = 0;
    assert_int_equal(bang_parallel_for(ITEMS, 4, fail_some, &calls, NULL, NULL), BANG_EDATA);
}

static int fail_from_100(void *context, size_t index, int worker, bang_error *err)
{
    (void)context, (void)worker;
    return index < 100 ? 0 : bang_fail(err, BANG_EDATA, "item %zu", index);
}

/* Many failures at once: one that is known before a lower index has begun must
 * not keep that from being run. */
static void test_lowest_of_many_failures(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 200; repeat++) {
        bang_error err = {0};
        assert_int_equal(bang_parallel_for(ITEMS, WORKERS, fail_from_100, NULL, NULL, &err),
                         BANG_EDATA);
        assert_string_equal(err.message, "item 100");
    }
}

static int fail_silently(void *context, size_t index, int worker, bang_error *err)
{
    (void)context, (void)worker, (void)err;
    return index == 5 ? BANG_EIO : 0;
}

static void test_failure_without_a_reason(void **state)
{
    (void)state;
    bang_error err = {0};
    assert_int_equal(bang_parallel_for(10, 3, fail_silently, NULL, NULL, &err), BANG_EIO);
    assert_int_equal(err.code, BANG_EIO);
    assert_non_null(strstr(err.message, "item 5"));
}

struct stopping {
    bang_cancel cancel;
    atomic_int calls;
    int raise_at;
};

static int raise_cancel(void *context, size_t index, int worker, bang_error *err)
{
    (void)index, (void)worker, (void)err;
    struct stopping *stopping = context;
    if (atomic_fetch_add(&stopping->calls, 1) + 1 == stopping->raise_at)
        atomic_store(&stopping->cancel.raised, 1);
    return 0;
}

static void test_cancel_stops(void **state)
{
    (void)state;
    for (int threads = 1; threads <= WORKERS; threads++) {
        struct stopping stopping = {.raise_at = 20};
        bang_error err = {0};
        assert_int_equal(
            bang_parallel_for(ITEMS, threads, raise_cancel, &stopping, &stopping.cancel, &err),
            BANG_ECANCELLED);
        assert_int_equal(err.code, BANG_ECANCELLED);
        assert_true(atomic_load(&stopping.calls) >= 20);
        assert_true(atomic_load(&stopping.calls) < 20 + threads);
    }
    struct stopping before = {.cancel = {1}, .raise_at = -1};
    assert_int_equal(bang_parallel_for(ITEMS, 4, raise_cancel, &before, &before.cancel, NULL),
                     BANG_ECANCELLED);
    assert_int_equal(atomic_load(&before.calls), 0);
    /* Raised by the last item: nothing was cut short. */
    struct stopping after = {.raise_at = 30};
    assert_int_equal(bang_parallel_for(30, 1, raise_cancel, &after, &after.cancel, NULL), 0);
}

static void test_cancelled_takes_null(void **state)
{
    (void)state;
    bang_cancel cancel = {0};
    assert_false(bang_cancelled(NULL));
    assert_false(bang_cancelled(&cancel));
    atomic_store(&cancel.raised, 1);
    assert_true(bang_cancelled(&cancel));
}

static void test_threads_follow_affinity(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_true(bang_threads_available() >= 1);
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return;
    assert_int_equal(bang_threads_available(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
            break;
        }
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        assert_int_equal(bang_threads_available(), 1);
    sched_setaffinity(0, sizeof before, &before);
}

static void record_step(void *context, uint64_t done, uint64_t total)
{
    uint64_t *seen = context;
    seen[0] = done;
    seen[1] = total;
}

static void test_progress_step(void **state)
{
    (void)state;
    uint64_t seen[2] = {0};
    bang_progress progress = {record_step, seen}, nothing = {0};
    bang_progress_step(&progress, 3, 9);
    assert_true(seen[0] == 3 && seen[1] == 9);
    bang_progress_step(NULL, 1, 2);
    bang_progress_step(&nothing, 1, 2);
}

static void check_line(const char *label, uint64_t done, uint64_t total, double seconds, int width,
                       const char *expected)
{
    char line[200];
    bang_progress_render(line, sizeof line, label, done, total, seconds, width);
    assert_string_equal(line, expected);
}

static void test_progress_lines(void **state)
{
    (void)state;
    check_line("runs", 450, 1000, 2.5, 60,
               "runs [##########.............]  45% 450/1000  180/s  4s left");
    check_line("runs", 450, 1000, 2.5, 120,
               "runs [##################......................]  45% 450/1000  180/s  4s left");
    check_line("runs", 450, 1000, 2.5, 35, "runs [##...]  45% 450/1000  4s left");
    check_line("runs", 450, 1000, 2.5, 18, "runs  45%  4s left");
    check_line("runs", 450, 1000, 2.5, 9, "runs  45%");
    check_line("runs", 450, 1000, 2.5, 5, "45%");
    check_line("runs", 450, 1000, 2.5, 2, "");
    check_line(NULL, 0, 10, 0, 40, "[............................]   0% 0/10");
    check_line("x", 1, 100, 1, 30, "x [.........]   1%  1m39s left");
    check_line("x", 10, 10, 5, 40, "x [##################] 100% 10/10  2.0/s");
    check_line("x", 12, 10, 5, 20, "x [#####] 100% 12/10");
    check_line("x", 999999, 1000000, 1, 20, "x  99%  1s left");
    check_line("x", 0, 0, 1, 24, "x [...........]   0% 0/0");
}

static void test_progress_durations(void **state)
{
    (void)state;
    static const struct {
        double left;
        const char *text;
    } cases[] = {{1, "  1s left"},        {59.5, "  1m00s left"},    {65, "  1m05s left"},
                 {3599, "  59m59s left"}, {3600, "  1h00m left"},    {11220, "  3h07m left"},
                 {90000, "  1d01h left"}, {1e30, "  very long left"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[200];
        bang_progress_render(line, sizeof line, NULL, 1, 2, cases[i].left, 100);
        size_t length = strlen(line), tail = strlen(cases[i].text);
        assert_true(length > tail);
        assert_string_equal(line + length - tail, cases[i].text);
    }
}

/* Time left is told once it is no guess. */
static void test_progress_tells(void **state)
{
    (void)state;
    assert_false(bang_progress_tells(0, 100, 60));
    assert_false(bang_progress_tells(0, 0, 60));
    assert_false(bang_progress_tells(19, 1000, 5));
    assert_false(bang_progress_tells(500, 1000, .5));
    assert_false(bang_progress_tells(4, 1000, 60));
    assert_true(bang_progress_tells(20, 1000, 1));
    assert_true(bang_progress_tells(5, 1000, 20));
}

static void test_progress_fits(void **state)
{
    (void)state;
    for (int width = -1; width < 300; width++)
        for (size_t size = 0; size < 90; size += size < 20 ? 1 : 23)
            for (uint64_t done = 0; done <= 1; done++) {
                char line[100];
                memset(line, 'z', sizeof line);
                bang_progress_render(line, size, "some label", done ? UINT64_MAX / 3 : 0,
                                     UINT64_MAX, 1e-9, width);
                assert_int_equal(line[size], 'z');
                if (size > 0) {
                    assert_true(strlen(line) < size);
                    assert_true((int)strlen(line) <= (width > 0 ? width : 0));
                }
            }
}

static void test_render_bytes(void **state)
{
    (void)state;
    char line[128];
    bang_progress_render_bytes(line, sizeof line, "average", 450000000, 1000000000, 0.25, 90);
    assert_non_null(strstr(line, " 45% 450/1000 MB  1.80 GB/s  1s left"));
    bang_progress_render_bytes(line, sizeof line, NULL, 15000000000, 60000000000, 10, 90);
    assert_non_null(strstr(line, " 25% 15.0/60.0 GB  1.50 GB/s  30s left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_bytes),
        cmocka_unit_test(test_same_result_for_any_threads),
        cmocka_unit_test(test_small_loops_run_inline),
        cmocka_unit_test(test_lowest_failure_is_reported),
        cmocka_unit_test(test_lowest_of_many_failures),
        cmocka_unit_test(test_failure_without_a_reason),
        cmocka_unit_test(test_cancel_stops),
        cmocka_unit_test(test_cancelled_takes_null),
        cmocka_unit_test(test_threads_follow_affinity),
        cmocka_unit_test(test_progress_step),
        cmocka_unit_test(test_progress_lines),
        cmocka_unit_test(test_progress_durations),
        cmocka_unit_test(test_progress_fits),
        cmocka_unit_test(test_progress_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
