/* A pool: every part once in every round, however many threads; nothing of one round is
 * seen in the next. */
#include "testing.h"

#include <stdatomic.h>

#include "bang/base/pool.h"

enum { PARTS = 7, ROUNDS = 2000 };

typedef struct counts {
    atomic_int calls[PARTS];
    int plain[PARTS]; /* of one thread each: no atomics needed */
} counts;

static void count(void *context, int part)
{
    counts *c = context;
    atomic_fetch_add(&c->calls[part], 1);
    c->plain[part]++;
}

static void test_every_part_once(void **state)
{
    (void)state;
    for (int parts = 1; parts <= PARTS; parts++) {
        counts c = {0};
        bang_pool *pool;
        bang_error err = {0};
        assert_int_equal(bang_pool_open(&pool, parts, &err), 0);
        for (int round = 1; round <= ROUNDS; round++) {
            bang_pool_run(pool, count, &c);
            for (int i = 0; i < parts; i++)
                assert_true(atomic_load(&c.calls[i]) == round && c.plain[i] == round);
        }
        bang_pool_close(pool);
    }
}

/* What one round leaves, the next may read: Pascal's triangle. */
static void add_behind(void *context, int part)
{
    int(*x)[PARTS] = context;
    x[1][part] = x[0][part] + (part > 0 ? x[0][part - 1] : 0);
}

static void test_rounds_are_ordered(void **state)
{
    (void)state;
    int x[2][PARTS] = {{1}}, expected[PARTS] = {1, 6, 15, 20, 15, 6, 1};
    bang_pool *pool;
    bang_error err = {0};
    assert_int_equal(bang_pool_open(&pool, PARTS, &err), 0);
    for (int round = 0; round < 6; round++) {
        bang_pool_run(pool, add_behind, x);
        memcpy(x[0], x[1], sizeof x[0]);
    }
    assert_memory_equal(x[0], expected, sizeof expected); /* binomials */
    bang_pool_close(pool);
}

static void test_edges(void **state)
{
    (void)state;
    bang_pool *pool;
    bang_error err = {0};
    assert_int_equal(bang_pool_open(&pool, 0, &err), BANG_EUSAGE);
    assert_null(pool);
    bang_pool_close(NULL);
    assert_int_equal(bang_pool_open(&pool, 3, &err), 0);
    bang_pool_close(pool); /* never used */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_once),
        cmocka_unit_test(test_rounds_are_ordered),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
