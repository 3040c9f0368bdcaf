/* Records in the order of their units, whoever is done first. Ranks: tests/rank. */
#include "testing.h"

#include <stdio.h>

#include "bang/base/file.h"
#include "bang/base/record.h"
#include "lab/ledger.h"

enum { UNITS = 20 };

static void key_of(char *out, size_t size, const void *context, size_t unit)
{
    (void)context;
    snprintf(out, size, "unit-%zu", unit);
}

static json_t *settings_of(const void *context, size_t unit)
{
    return json_pack("{sI sI}", "seed", (json_int_t) * (const int *)context, "unit",
                     (json_int_t)unit);
}

static int seed = 1;
static const ledger_units units = {.count = UNITS,
                                   .experiment = "none",
                                   .section = "A test",
                                   .key = key_of,
                                   .settings = settings_of,
                                   .context = &seed};

static bang_lab_options options_for(const char *folder)
{
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    options.folder = folder;
    return options;
}

static json_t *result_of(size_t unit)
{
    return json_pack("{sf}", "value", 1.0 / (double)(unit + 3));
}

/* So many records, in order. */
static void check_records(const char *folder, size_t count)
{
    json_t *records = NULL;
    assert_int_equal(bang_record_read(&records, folder, NULL), 0);
    assert_int_equal(json_array_size(records), count);
    for (size_t i = 0; i < count; i++) {
        char key[96];
        key_of(key, sizeof key, NULL, i);
        json_t *record = json_array_get(records, i), *wanted = result_of(i);
        assert_string_equal(json_string_value(json_object_get(record, "key")), key);
        assert_true(json_equal(json_object_get(record, "result"), wanted));
        json_decref(wanted);
    }
    json_decref(records);
}

/* Whatever the order of the results, a record waits for those before it. */
static void test_order(void **state)
{
    const char *folder = in_folder(*state, "order");
    const bang_lab_options options = options_for(folder);
    ledger *l = NULL;
    json_t *all = NULL;
    size_t missing[UNITS], stored = 0;
    char there[UNITS] = {0};
    assert_int_equal(ledger_open(&l, &units, &options, NULL), 0);
    assert_int_equal(ledger_missing(missing, l), UNITS);
    for (size_t i = 0; i < UNITS; i++) {
        size_t unit = (i * 7 + 3) % UNITS;
        assert_false(ledger_has(l, unit));
        assert_int_equal(ledger_put(l, unit, result_of(unit), NULL), 0);
        there[unit] = 1;
        while (stored < UNITS && there[stored])
            stored++;
        check_records(folder, stored);
    }
    assert_int_equal(ledger_finish(&all, l, NULL), 0);
    assert_int_equal(json_array_size(all), UNITS);
    json_decref(all);
    ledger_close(l);
}

static int put_one(void *context, size_t index, int worker, bang_error *err)
{
    (void)worker;
    return ledger_put(context, UNITS - 1 - index, result_of(UNITS - 1 - index), err);
}

static void test_threads(void **state)
{
    const char *folder = in_folder(*state, "threads");
    const bang_lab_options options = options_for(folder);
    ledger *l = NULL;
    assert_int_equal(ledger_open(&l, &units, &options, NULL), 0);
    assert_int_equal(bang_parallel_for(UNITS, 4, put_one, l, NULL, NULL), 0);
    ledger_close(l);
    check_records(folder, UNITS);
}

/* A run that was cut short goes on with what is missing; other options are refused. */
static void test_resume(void **state)
{
    const char *folder = in_folder(*state, "resume");
    const bang_lab_options options = options_for(folder);
    ledger *l = NULL;
    bang_error err = {0};
    size_t missing[UNITS];
    assert_int_equal(ledger_open(&l, &units, &options, NULL), 0);
    for (size_t unit = 0; unit < 6; unit++)
        if (unit != 4)
            assert_int_equal(ledger_put(l, unit, result_of(unit), NULL), 0);
    ledger_close(l); /* 5 had no record yet: it is lost */
    check_records(folder, 4);
    assert_int_equal(ledger_open(&l, &units, &options, NULL), 0);
    assert_true(ledger_has(l, 3));
    assert_int_equal(ledger_missing(missing, l), UNITS - 4);
    assert_int_equal(missing[0], 4);
    for (size_t i = 0; i < UNITS - 4; i++)
        assert_int_equal(ledger_put(l, missing[i], result_of(missing[i]), NULL), 0);
    ledger_close(l);
    check_records(folder, UNITS);
    seed = 2;
    assert_int_equal(ledger_open(&l, &units, &options, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "unit-0 made with other options"));
    assert_null(l);
    seed = 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_resume),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
