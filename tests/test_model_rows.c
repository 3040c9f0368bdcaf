#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/model/rows.h"

/* Bits of a number as it is read: u8 as value/255. */
static float number(const bang_array *inputs, size_t index)
{
    return inputs->dtype == BANG_U8 ? (float)((const uint8_t *)inputs->data)[index] / 255.0f
                                    : ((const float *)inputs->data)[index];
}

static void make(bang_array *out, bang_dtype dtype, size_t rows, size_t width)
{
    bang_error err = {0};
    assert_int_equal(bang_array_init(out, dtype, 2, (size_t[]){rows, width}, &err), 0);
}

static void put(bang_array *a, size_t index, double x)
{
    if (a->dtype == BANG_U8)
        ((uint8_t *)a->data)[index] = (uint8_t)x;
    else
        ((float *)a->data)[index] = (float)x;
}

/* Columns of many kinds: copies of other columns, constants, zeros, few values
 * that go together, few that do not, mostly zero, and any. */
static void plant(bang_array *a, uint64_t seed)
{
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('r', 'o', 'w', 's'), 0);
    size_t rows = a->shape[0], width = a->shape[1];
    for (size_t j = 0; j < width; j++) {
        uint64_t kind = bang_random_below(&random, 8), from = bang_random_below(&random, j + 1);
        uint64_t few = 2 + bang_random_below(&random, 6);
        for (size_t i = 0; i < rows; i++) {
            double any = (double)bang_random_below(&random, 256), x = any;
            if (kind == 0)
                x = from == j ? any : (double)bang_array_number(a, i * width + from);
            else if (kind == 1)
                x = 0;
            else if (kind == 2)
                x = 17;
            else if (kind == 3) /* a function of the row's class */
                x = (double)(i * 7 % 10 * (j + 3) % 11 * 20);
            else if (kind == 4)
                x = 30.0 * (double)bang_random_below(&random, few);
            else if (kind == 5)
                x = bang_random_below(&random, 5) ? 0 : any;
            put(a, i * width + j, x);
        }
    }
}

/* Every number of every row, from codes and numbers. */
static void assert_same_rows(const bang_rows *rows, const bang_array *inputs)
{
    const bang_columns *c = rows->columns;
    float *row = calloc(c->group_count, sizeof *row);
    uint8_t *seen = calloc(c->group_count, 1);
    assert_int_equal(rows->count, inputs->shape[0]);
    for (size_t i = 0; !rows->dense && i < rows->count; i++) {
        memset(row, 0, c->group_count * sizeof *row);
        memset(seen, 0, c->group_count);
        for (size_t b = 0; b < rows->block_count; b++) {
            const bang_column_block *k = &rows->blocks[b];
            size_t code = rows->codes[i * rows->block_count + b];
            assert_true(code < k->code_count && k->code_count <= 16);
            for (size_t x = k->start[code]; x < k->start[code + 1]; x++) {
                assert_true(k->column[x] < c->group_count && !seen[k->column[x]]++);
                assert_true(k->value[x] != 0);
                row[k->column[x]] = k->value[x];
            }
        }
        for (size_t x = rows->start[i]; x < rows->start[i + 1]; x++) {
            assert_true(rows->column[x] < c->group_count && !seen[rows->column[x]]++);
            assert_true(rows->value[x] != 0);
            row[rows->column[x]] = rows->value[x];
        }
        for (size_t j = 0; j < c->width; j++) {
            float want = number(inputs, i * c->width + j);
            assert_memory_equal(&row[c->group[j]], &want, sizeof want);
        }
    }
    free(row);
    free(seen);
}

static int equal_columns(const bang_array *a, size_t x, size_t y)
{
    size_t width = a->shape[1];
    for (size_t i = 0; i < a->shape[0]; i++)
        if (bang_array_number(a, i * width + x) != bang_array_number(a, i * width + y))
            return 0;
    return 1;
}

/* The partition is that of equality in all sets; first, multiplicity and the
 * order of groups fit to it. */
static void assert_partition(const bang_columns *c, const bang_array *sets, size_t count)
{
    size_t groups = 0;
    uint32_t *members = calloc(c->width, sizeof *members);
    for (size_t x = 0; x < c->width; x++) {
        size_t leader = x;
        for (size_t y = 0; y < x && leader == x; y++) {
            int equal = 1;
            for (size_t s = 0; s < count; s++)
                equal = equal && equal_columns(&sets[s], x, y);
            if (equal)
                leader = y;
        }
        if (leader == x) {
            assert_int_equal(c->group[x], groups);
            assert_int_equal(c->first[groups], x);
            groups++;
        } else {
            assert_int_equal(c->group[x], c->group[leader]);
        }
        members[c->group[x]]++;
    }
    assert_int_equal(c->group_count, groups);
    assert_memory_equal(c->multiplicity, members, groups * sizeof *members);
    free(members);
}

static void test_partition_is_equality(void **state)
{
    (void)state;
    bang_error err = {0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        bang_array sets[3];
        bang_columns forward, backward;
        for (size_t s = 0; s < 3; s++) {
            make(&sets[s], s == 1 ? BANG_F32 : BANG_U8, s == 2 ? 1 : 3 + 20 * s, 61);
            plant(&sets[s], 10 * seed + s);
        }
        /* what is equal in the first and third set differs in the second, and the other way */
        assert_int_equal(bang_columns_init(&forward, 61, &err), 0);
        assert_int_equal(bang_columns_init(&backward, 61, &err), 0);
        assert_partition(&forward, sets, 0);
        for (size_t s = 0; s < 3; s++) {
            assert_int_equal(bang_columns_refine(&forward, &sets[s], &err), 0);
            assert_partition(&forward, sets, s + 1);
            assert_int_equal(bang_columns_refine(&backward, &sets[2 - s], &err), 0);
        }
        assert_int_equal(forward.group_count, backward.group_count);
        assert_memory_equal(forward.group, backward.group, 61 * sizeof *forward.group);
        assert_memory_equal(forward.first, backward.first,
                            forward.group_count * sizeof *forward.first);
        assert_memory_equal(forward.multiplicity, backward.multiplicity,
                            forward.group_count * sizeof *forward.first);
        for (size_t s = 0; s < 3; s++)
            bang_array_release(&sets[s]);
        bang_columns_release(&forward);
        bang_columns_release(&backward);
    }
}

/* Columns that differ in one row alone, the last. */
static void test_one_difference_counts(void **state)
{
    (void)state;
    bang_error err = {0};
    for (int wide = 0; wide < 2; wide++) {
        bang_array a;
        bang_columns c;
        make(&a, wide ? BANG_F32 : BANG_U8, 1000, 5);
        put(&a, 999 * 5 + 3, 1);
        assert_int_equal(bang_columns_init(&c, 5, &err), 0);
        assert_int_equal(bang_columns_refine(&c, &a, &err), 0);
        assert_int_equal(c.group_count, 2);
        assert_int_equal(c.multiplicity[0], 4);
        assert_int_equal(c.group[3], 1);
        bang_columns_release(&c);
        bang_array_release(&a);
    }
}

static void test_all_different(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array a;
    bang_columns c;
    make(&a, BANG_U8, 4, 6);
    assert_int_equal(bang_columns_init_all(&c, 6, &err), 0);
    assert_int_equal(bang_columns_refine(&c, &a, &err), 0); /* equal, but not joined */
    assert_int_equal(c.group_count, 6);
    for (size_t j = 0; j < 6; j++) {
        assert_int_equal(c.group[j], j);
        assert_int_equal(c.first[j], j);
        assert_int_equal(c.multiplicity[j], 1);
    }
    bang_columns_release(&c);
    bang_array_release(&a);
}

static void check_rows(bang_array *a, int expect_dense)
{
    bang_error err = {0};
    bang_columns c;
    bang_rows rows;
    assert_int_equal(bang_columns_init(&c, a->shape[1], &err), 0);
    assert_int_equal(bang_columns_refine(&c, a, &err), 0);
    assert_int_equal(bang_rows_init(&rows, &c, a, &err), 0);
    if (expect_dense >= 0)
        assert_int_equal(rows.dense == a, expect_dense);
    if (rows.dense)
        assert_int_equal(c.group_count, c.width);
    assert_same_rows(&rows, a);
    bang_rows_release(&rows);
    bang_columns_release(&c);
    bang_array_release(a);
}

static void test_rows_hold_all_numbers(void **state)
{
    (void)state;
    static const size_t rows[] = {0, 1, 2, 17, 60, 300}, widths[] = {1, 2, 3, 64, 65, 200};
    for (size_t r = 0; r < 6; r++)
        for (size_t w = 0; w < 6; w++)
            for (int wide = 0; wide < 2; wide++) {
                bang_array a;
                make(&a, wide ? BANG_F32 : BANG_U8, rows[r], widths[w]);
                plant(&a, 100 * r + w);
                check_rows(&a, rows[r] && widths[w] >= 64 ? 0 : -1);
            }
}

/* Numbers that bytes do not have, among them the least that there are. */
static void test_rows_of_floats(void **state)
{
    (void)state;
    bang_array a;
    make(&a, BANG_F32, 40, 30);
    float *x = a.data;
    for (size_t i = 0; i < 40; i++)
        for (size_t j = 0; j < 30; j++) {
            size_t way = (i * 31 + j * 17) % 12;
            x[i * 30 + j] = way == 0 ? 1e-45f : way == 1 ? -3.5f : way == 2 ? INFINITY : 0;
        }
    x[7 * 30 + 4] = NAN;
    check_rows(&a, 0);
    /* too many values for codes, mostly zero, both signs */
    make(&a, BANG_F32, 100, 20);
    for (size_t i = 0; i < 2000; i++)
        ((float *)a.data)[i] = i * 7919 % 5 ? 0 : (float)(i * 31 % 997) - 500.5f;
    check_rows(&a, 0);
}

static void test_zeros_and_constants(void **state)
{
    (void)state;
    for (int filled = 0; filled < 2; filled++) {
        bang_error err = {0};
        bang_array a;
        bang_columns c;
        bang_rows rows;
        make(&a, BANG_U8, 9, 7);
        memset(a.data, filled ? 3 : 0, 63);
        assert_int_equal(bang_columns_init(&c, 7, &err), 0);
        assert_int_equal(bang_columns_refine(&c, &a, &err), 0);
        assert_int_equal(c.group_count, 1);
        assert_int_equal(c.multiplicity[0], 7);
        assert_int_equal(bang_rows_init(&rows, &c, &a, &err), 0);
        assert_null(rows.dense);
        assert_int_equal(rows.start[9], filled ? 9 : 0);
        assert_same_rows(&rows, &a);
        bang_rows_release(&rows);
        bang_columns_release(&c);
        bang_array_release(&a);
    }
}

/* Numbers of which none repeats stay where they are; a colour is one code. */
static void test_what_is_worth_it(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array a, colors;
    make(&a, BANG_F32, 50, 20);
    for (size_t i = 0; i < 1000; i++)
        put(&a, i, 1 + (double)(i * 7919 % 1000));
    check_rows(&a, 1);

    make(&colors, BANG_U8, 200, 24);
    for (size_t i = 0; i < 200; i++)
        for (size_t j = 0; j < 24; j++) /* class -> 24 numbers, all different */
            put(&colors, i * 24 + j, 1 + (double)((i % 10 * 24 + j) * 101 % 251));
    bang_columns c;
    bang_rows rows;
    assert_int_equal(bang_columns_init(&c, 24, &err), 0);
    assert_int_equal(bang_columns_refine(&c, &colors, &err), 0);
    assert_int_equal(c.group_count, 24);
    assert_int_equal(bang_rows_init(&rows, &c, &colors, &err), 0);
    assert_null(rows.dense);
    assert_int_equal(rows.block_count, 1);
    assert_int_equal(rows.blocks[0].code_count, 10);
    assert_int_equal(rows.start[200], 0);
    bang_rows_release(&rows);
    bang_columns_release(&c);
    bang_array_release(&colors);
}

static void test_same_numbers(void **state)
{
    (void)state;
    bang_error err = {0};
    enum { ROWS = 120, WIDTH = 40, CODED = 28 };
    bang_array sets[3];
    bang_columns c, other;
    bang_rows rows[3], foreign;
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('s', 'a', 'm', 'e'), 0);
    assert_int_equal(bang_columns_init(&c, WIDTH, &err), 0);
    assert_int_equal(bang_columns_init(&other, WIDTH, &err), 0);
    for (size_t s = 0; s < 3; s++) {
        make(&sets[s], BANG_U8, ROWS, WIDTH);
        for (size_t i = 0; i < ROWS; i++) {
            uint64_t color = 1 + bang_random_below(&random, 9);
            for (size_t j = 0; j < WIDTH; j++)
                put(&sets[s], i * WIDTH + j,
                    j < CODED ? (double)(color * (j + 1)) : (double)((i * 13 + j * 7) % 97));
        }
        if (s == 2)
            put(&sets[s], 50 * WIDTH + 30, 200);
        assert_int_equal(bang_columns_refine(&c, &sets[s], &err), 0);
    }
    assert_int_equal(bang_columns_refine(&other, &sets[0], &err), 0);
    for (size_t s = 0; s < 3; s++) {
        assert_int_equal(bang_rows_init(&rows[s], &c, &sets[s], &err), 0);
        assert_null(rows[s].dense);
        assert_same_rows(&rows[s], &sets[s]);
    }
    assert_int_equal(bang_rows_init(&foreign, &other, &sets[0], &err), 0);
    assert_int_equal(bang_rows_same_numbers(&rows[0], &rows[0]), 1);
    assert_int_equal(bang_rows_same_numbers(&rows[0], &rows[1]), 1);
    assert_int_equal(bang_rows_same_numbers(&rows[0], &rows[2]), 0);
    assert_int_equal(bang_rows_same_numbers(&rows[0], &foreign), 0);
    for (size_t s = 0; s < 3; s++) {
        bang_rows_release(&rows[s]);
        bang_array_release(&sets[s]);
    }
    bang_rows_release(&foreign);
    bang_columns_release(&c);
    bang_columns_release(&other);
}

static void test_refused(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array bytes, doubles, number_alone;
    bang_columns c;
    bang_rows rows;
    make(&bytes, BANG_U8, 3, 5);
    make(&doubles, BANG_F64, 3, 4);
    assert_int_equal(bang_array_init(&number_alone, BANG_U8, 0, NULL, &err), 0);
    assert_int_equal(bang_columns_init(&c, 0, &err), BANG_EUSAGE);
    assert_int_equal(bang_columns_init(&c, 4, &err), 0);
    assert_int_equal(bang_columns_refine(&c, &bytes, &err), BANG_EUSAGE);
    assert_int_equal(bang_columns_refine(&c, &doubles, &err), BANG_EUSAGE);
    assert_int_equal(bang_columns_refine(&c, &number_alone, &err), BANG_EUSAGE);
    assert_int_equal(bang_rows_init(&rows, &c, &bytes, &err), BANG_EUSAGE);
    assert_int_equal(bang_rows_init(&rows, &c, &doubles, &err), BANG_EUSAGE);
    bytes.shape[1] = 4; /* right, but the columns are one group */
    assert_int_equal(bang_rows_init_dense(&rows, &c, &bytes, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "bang_columns_init_all"));
    bang_columns_release(&c);
    bang_array_release(&bytes);
    bang_array_release(&doubles);
    bang_array_release(&number_alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partition_is_equality),
        cmocka_unit_test(test_one_difference_counts),
        cmocka_unit_test(test_all_different),
        cmocka_unit_test(test_rows_hold_all_numbers),
        cmocka_unit_test(test_rows_of_floats),
        cmocka_unit_test(test_zeros_and_constants),
        cmocka_unit_test(test_what_is_worth_it),
        cmocka_unit_test(test_same_numbers),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
