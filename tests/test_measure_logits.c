/* How outputs become logits of classes: pieces, columns, probabilities, and what is refused. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "measure/reader.h"

enum { ROWS = 57, OUTPUTS = 13 };

static float narrow[ROWS * OUTPUTS];
static double wide[ROWS * OUTPUTS];

static int make_numbers(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('t', 'e', 's', 't'), 0);
    for (size_t i = 0; i < ROWS * OUTPUTS; i++) {
        wide[i] = 3 * bang_random_normal(&random);
        narrow[i] = (float)wide[i];
    }
    return 0;
}

static bang_logits logits_of(bang_table *table, bang_dtype dtype, const void *numbers, size_t rows,
                             size_t columns)
{
    bang_table_of(table, "some.npy", dtype, numbers, rows, columns);
    return (bang_logits){.table = table};
}

/* Four rows of what is loaded, side by side: the same bits as one by one. */
static void same_side(const bang_reader *reader, size_t from, size_t count)
{
    double side[BANG_SIDE * OUTPUTS], row[OUTPUTS];
    size_t rows[BANG_SIDE] = {from, from + count / 2, from + count - 1, from + count - 1};
    assert_int_equal(bang_reader_side(side, reader, rows), 1);
    for (size_t j = 0; j < BANG_SIDE; j++) {
        assert_int_equal(bang_reader_row(row, reader, rows[j], NULL), 0);
        for (size_t c = 0; c < reader->classes; c++)
            assert_true(side[BANG_SIDE * c + j] == row[c]);
    }
}

static void test_rows(void **state)
{
    (void)state;
    const uint32_t first[] = {0, 1, 4, 5}, output[] = {12, 3, 5, 0, 7};
    const bang_class_outputs columns = {.classes = 3, .first = first, .output = output};
    for (int kind = 0; kind < 4; kind++) {
        bang_error err = {0};
        bang_table table;
        bang_logits logits = kind % 2 ? logits_of(&table, BANG_F64, wide, ROWS, OUTPUTS)
                                      : logits_of(&table, BANG_F32, narrow, ROWS, OUTPUTS);
        logits.columns = kind / 2 ? &columns : NULL;
        bang_reader reader;
        double row[OUTPUTS];
        assert_int_equal(bang_logits_classes(&logits), kind / 2 ? 3 : OUTPUTS);
        assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
        assert_int_equal(bang_reader_init(&reader, &logits, 10, &err), 0);
        for (size_t from = 0; from < ROWS; from += 10) {
            size_t count = ROWS - from < 10 ? ROWS - from : 10;
            assert_int_equal(bang_reader_load(&reader, from, count, &err), 0);
            same_side(&reader, from, count);
            for (size_t i = from; i < from + count; i++) {
                assert_int_equal(bang_reader_row(row, &reader, i, &err), 0);
                double z[OUTPUTS];
                for (size_t k = 0; k < OUTPUTS; k++)
                    z[k] = kind % 2 ? wide[i * OUTPUTS + k] : (double)narrow[i * OUTPUTS + k];
                if (kind / 2) {
                    assert_true(row[0] == z[12] && row[2] == z[7]);
                    assert_true(row[1] == fmax(z[3], fmax(z[5], z[0])));
                } else {
                    assert_memory_equal(row, z, sizeof z);
                }
            }
        }
        assert_int_equal(bang_reader_load(&reader, 50, 8, &err), BANG_EUSAGE);
        assert_int_equal(bang_reader_load(&reader, 0, 11, &err), BANG_EUSAGE);
        bang_reader_release(&reader);
    }
}

static void test_piece(void **state)
{
    (void)state;
    bang_table table;
    bang_logits logits = logits_of(&table, BANG_F32, narrow, ROWS, OUTPUTS);
    assert_int_equal(bang_reader_rows(&logits), 256 * 1024 / (4 * OUTPUTS));
    table.columns = 1000;
    table.dtype = BANG_F64;
    assert_int_equal(bang_reader_rows(&logits), 32);
    table.columns = SIZE_MAX / 2;
    assert_int_equal(bang_reader_rows(&logits), 1);
    bang_reader reader;
    bang_error err = {0};
    assert_int_equal(bang_reader_init(&reader, &logits, 3, &err), BANG_EMEMORY);
    bang_reader_release(&reader);
}

/* softmax of the logits, in rows of `count` outputs */
static void make_probabilities(double *p, size_t rows, size_t count)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += p[i * count + k] = exp(wide[i * count + k]);
        for (size_t k = 0; k < count; k++)
            p[i * count + k] /= sum;
    }
}

/* Side by side, the same rows are refused. */
static void refused_side(const bang_logits *logits, size_t bad)
{
    bang_reader reader;
    double side[BANG_SIDE * OUTPUTS];
    assert_int_equal(bang_reader_init(&reader, logits, ROWS, NULL), 0);
    assert_int_equal(bang_reader_load(&reader, 0, ROWS, NULL), 0);
    for (size_t j = 0; j < BANG_SIDE; j++) {
        size_t rows[BANG_SIDE] = {bad - 1, bad - 2, bad - 3, bad - 4};
        assert_int_equal(bang_reader_side(side, &reader, rows), 1);
        rows[j] = bad;
        assert_int_equal(bang_reader_side(side, &reader, rows), 0);
    }
    bang_reader_release(&reader);
}

static void test_probabilities(void **state)
{
    (void)state;
    static double p[ROWS * OUTPUTS], row[OUTPUTS];
    bang_error err = {0};
    bang_table table;
    make_probabilities(p, ROWS, OUTPUTS);
    bang_logits logits = logits_of(&table, BANG_F64, p, ROWS, OUTPUTS);
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "some.npy: these are probabilities, not logits"));
    logits.probabilities = 1;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);

    p[5 * OUTPUTS + 1] += p[5 * OUTPUTS];
    p[5 * OUTPUTS] = 0;
    const uint32_t first[] = {0, 2, 3}, output[] = {0, 1, 0};
    const bang_class_outputs columns = {.classes = 2, .first = first, .output = output};
    for (int picked = 0; picked < 2; picked++) {
        logits.columns = picked ? &columns : NULL;
        bang_reader reader;
        assert_int_equal(bang_reader_init(&reader, &logits, ROWS, &err), 0);
        assert_int_equal(bang_reader_load(&reader, 0, ROWS, &err), 0);
        assert_int_equal(bang_reader_row(row, &reader, 5, &err), 0);
        double none = log(5e-324), second = log(p[5 * OUTPUTS + 1]);
        assert_true(fabs(row[picked ? 0 : 1] - second) <= 4e-16 * fabs(second));
        assert_true(row[picked ? 1 : 0] == none);
        same_side(&reader, 4, 3);
        bang_reader_release(&reader);
    }
    logits.columns = NULL;

    /* A row that is no distribution, in a table of them. */
    p[40 * OUTPUTS + 2] += 0.02;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "some.npy: row 40 sums to 1.02, not to 1"));
    refused_side(&logits, 40);
    logits.probabilities = 0;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
    logits.probabilities = 1;
    p[40 * OUTPUTS + 2] -= 0.02;
    p[41 * OUTPUTS + 3] = -0.25;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "row 41, column 3 is -0.25: no probability"));
    refused_side(&logits, 41);
}

/* What sums to 1 by chance, or must, says nothing. */
static void test_no_proof(void **state)
{
    (void)state;
    const double pair[] = {0.25, 0.75}, ones[] = {1, 1, 1}, two[] = {0.25, 0.75, 1, 0};
    bang_error err = {0};
    bang_table table;
    bang_logits logits = logits_of(&table, BANG_F64, pair, 1, 2);
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
    logits = logits_of(&table, BANG_F64, ones, 3, 1);
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
    logits = logits_of(&table, BANG_F64, two, 2, 2);
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "--logits"));
    /* Who calls them logits is believed. */
    assert_int_equal(bang_logits_check(&logits, NULL, 1, &err), 0);
    const bang_label one[] = {0, BANG_LEFT_OUT};
    assert_int_equal(bang_logits_check(&logits, one, 0, &err), 0);
    logits = logits_of(&table, BANG_F64, two, 0, 2);
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    static float z[ROWS * OUTPUTS];
    bang_error err = {0};
    bang_table table;
    bang_logits logits = logits_of(&table, BANG_F32, z, ROWS, OUTPUTS);
    const struct {
        float value;
        const char *name;
    } bad[] = {{NAN, "nan"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
    memcpy(z, narrow, sizeof z);
    for (size_t i = 0; i < 3; i++) {
        char message[64];
        z[17 * OUTPUTS + 3] = bad[i].value;
        assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
        snprintf(message, sizeof message, "some.npy: row 17, column 3 is %s: ", bad[i].name);
        assert_non_null(strstr(err.message, message));
        refused_side(&logits, 17);
    }
    /* Of a column that nobody asks about nothing is said. */
    const uint32_t first[] = {0, 2, 3}, output[] = {0, 4, 5}, again[] = {0, 3, 5};
    bang_class_outputs columns = {.classes = 2, .first = first, .output = output};
    logits.columns = &columns;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
    columns.output = again;
    z[17 * OUTPUTS + 3] = NAN;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "row 17, column 3 is nan"));
    refused_side(&logits, 17);
    /* Nor of a row that is left out. */
    bang_label labels[ROWS] = {0};
    assert_int_equal(bang_logits_check(&logits, labels, 0, &err), BANG_EDATA);
    labels[17] = BANG_LEFT_OUT;
    assert_int_equal(bang_logits_check(&logits, labels, 0, &err), 0);

    const uint32_t beyond[] = {0, 4, OUTPUTS}, empty[] = {0, 0, 3};
    columns.output = beyond;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "class 1 is output 13, and there are 13"));
    columns = (bang_class_outputs){.classes = 2, .first = empty, .output = output};
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "class 0 has no output"));
    columns.classes = 0;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EUSAGE);
    logits.columns = NULL;
    table.dtype = BANG_F16;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EUSAGE);
    table.dtype = BANG_F32;
    table.columns = 0;
    assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), BANG_EDATA);
}

static int count_rows(void *context, void *out, size_t first, size_t count, bang_error *err)
{
    (void)err;
    size_t *seen = context; /* rows that were read, the first, the end */
    seen[0] += count;
    seen[1] = first < seen[1] ? first : seen[1];
    seen[2] = first + count > seen[2] ? first + count : seen[2];
    for (size_t i = 0; i < count * 3; i++)
        ((double *)out)[i] = 4;
    return 0;
}

/* A long table is looked at in at most 1000 rows, from its first to its last. */
static void test_spread(void **state)
{
    (void)state;
    for (size_t rows = 1; rows < 100000000; rows = rows * 3 + 1) {
        size_t seen[3] = {0, SIZE_MAX, 0};
        bang_error err = {0};
        bang_table table = {"long.npy", rows, 3, BANG_F64, count_rows, seen, NULL};
        bang_logits logits = {.table = &table};
        assert_int_equal(bang_logits_check(&logits, NULL, 0, &err), 0);
        assert_in_range(seen[0], rows < 1000 ? rows : 1000, rows < 1000 ? rows + 20 : 1000);
        assert_true(seen[1] == 0 && seen[2] == rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_piece),
        cmocka_unit_test(test_probabilities), cmocka_unit_test(test_no_proof),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_spread),
    };
    return cmocka_run_group_tests(tests, make_numbers, NULL);
}
