/* The experiments: their figures, their records, their way of resuming. */
#include "testing.h"

#include <math.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/record.h"
#include "bang/lab/lab.h"
#include "bang/report/figure.h"

static json_t *figure_named(const char *name, int64_t classes, double shift)
{
    json_t *figure = NULL;
    bang_error err = {0};
    if (bang_lab_figure(&figure, name, classes, shift, 0, &err) < 0)
        fail_msg("%s", err.message);
    return figure;
}

static double cell(const json_t *figure, size_t panel, size_t row, size_t column)
{
    const json_t *values =
        json_object_get(json_array_get(json_object_get(figure, "panels"), panel), "values");
    return json_number_value(json_array_get(json_array_get(values, row), column));
}

static void test_example_maps(void **state)
{
    (void)state;
    json_t *two = figure_named("example-2", 3, 0.9);
    assert_int_equal(json_array_size(json_object_get(two, "x")), 21);
    assert_int_equal(json_array_size(json_object_get(two, "y")), 6);
    for (size_t panel = 0; panel < 2; panel++) {
        /* a model that learned nothing changes nothing; one without invariant
         * features hurts; the paper's exception and its rule */
        assert_true(fabs(cell(two, panel, 0, 0)) < 1e-14);
        for (size_t ns = 1; ns <= 20; ns++)
            assert_true(cell(two, panel, 0, ns) < 0 && cell(two, panel, 5, ns) > 0);
    }
    json_decref(two);
    json_t *three = figure_named("example-3", 3, 0.9);
    assert_int_equal(json_array_size(json_object_get(three, "panels")), 4);
    for (size_t panel = 2; panel < 4; panel++) {
        assert_true(fabs(cell(three, panel, 0, 0)) < 1e-14); /* no overlap: the same */
        for (size_t i = 1; i <= 5;
             i++) /* sharing invariant features helps the WSE, spurious ones not */
            assert_true(cell(three, panel, i, 0) > 0 && cell(three, panel, 0, i) < 0);
    }
    json_decref(three);
    json_t *unknown = NULL;
    bang_error err = {0};
    assert_int_equal(bang_lab_figure(&unknown, "example-4", 3, 0.9, 0, &err), BANG_EUSAGE);
}

static void test_figures_as_csv(void **state)
{
    (void)state;
    bang_error err = {0};
    json_t *figure = figure_named("f-curve", 3, 0.9);
    bang_text csv = {0};
    assert_int_equal(bang_figure_csv(&csv, figure, &err), 0);
    assert_memory_equal(csv.data, "series,x,y,error\n", 17);
    double x, y;
    const char *line = strstr(csv.data, "\"F_p, p = 0.9\",0,");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "\"F_p, p = 0.9\",%lf,%lf", &x, &y), 2);
    assert_true(fabs(y - (0.25 + asin(1.3 / 2.3) / (2 * acos(-1)))) < 1e-14);
    bang_text_release(&csv);
    json_decref(figure);
    /* quoting, nulls, and what has no numbers */
    json_t *table = json_pack("{ss s[ss] s[[sn] [sf]]}", "kind", "table", "columns", "a,b", "c",
                              "rows", "say \"x\"", "plain", 0.1);
    assert_int_equal(bang_figure_csv(&csv, table, &err), 0);
    assert_string_equal(csv.data, "\"a,b\",c\n\"say \"\"x\"\"\",\nplain,0.10000000000000001\n");
    bang_text_release(&csv);
    assert_int_equal(bang_figure_svg(&csv, table, &err), BANG_EDATA);
    json_decref(table);
    json_t *text = json_pack("{ss ss}", "kind", "text", "text", "words");
    assert_int_equal(bang_figure_csv(&csv, text, &err), BANG_EDATA);
    json_decref(text);
}

static json_t *run_theory(const char *folder, int resume)
{
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    bang_error err = {0};
    json_t *result = json_object();
    options.folder = folder;
    options.resume = resume;
    if (bang_lab_find_experiment("theory")->run(result, &options, &err) < 0)
        fail_msg("%s", err.message);
    return result;
}

/* The verdicts follow from the numbers: what is known must come out. */
static void test_theory_records(void **state)
{
    const char *folder = *state;
    json_t *result = run_theory(folder, 0), *records = NULL;
    bang_error err = {0};
    json_t *condition = json_object_get(result, "condition");
    assert_int_equal(json_integer_value(json_object_get(condition, "paper_wrong")), 13);
    assert_int_equal(json_integer_value(json_object_get(condition, "right_wrong")), 0);
    json_t *statements = json_object_get(result, "statements");
    assert_int_equal(json_integer_value(json_object_get(statements, "wrong")), 4);
    assert_int_equal(bang_record_read(&records, folder, &err), 0);
    assert_int_equal(json_array_size(records), 7);
    /* resumed, nothing is computed again and the answer is the same */
    json_t *again = run_theory(folder, 1), *after = NULL;
    assert_true(json_equal(result, again));
    assert_int_equal(bang_record_read(&after, folder, &err), 0);
    assert_true(json_equal(records, after));
    json_decref(after);
    json_decref(again);
    json_decref(records);
    json_decref(result);
}

/* A folder made with other options is not mixed with this run's records. */
static void test_resume_refuses_other_options(void **state)
{
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    bang_error err = {0};
    options.folder = *state;
    options.resume = 1;
    json_t *other = json_pack("{ss s{si}}", "key", "theory/statements", "options", "classes", 4);
    assert_int_equal(bang_record_append(options.folder, other, &err), 0);
    json_decref(other);
    json_t *result = json_object();
    assert_int_equal(bang_lab_find_experiment("theory")->run(result, &options, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "other options"));
    json_decref(result);
}

static void test_cancelled_run_stops(void **state)
{
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    bang_error err = {0};
    bang_cancel cancel;
    atomic_init(&cancel.raised, 1);
    options.folder = *state;
    options.cancel = &cancel;
    json_t *result = json_object();
    assert_int_equal(bang_lab_find_experiment("simulation")->run(result, &options, &err),
                     BANG_ECANCELLED);
    json_decref(result);
}

static void test_names(void **state)
{
    (void)state;
    size_t count;
    assert_non_null(bang_lab_examples(&count));
    assert_int_equal(count, 4);
    assert_non_null(bang_lab_find_example("2-2"));
    assert_null(bang_lab_find_example("2-3"));
    assert_null(bang_lab_find_experiment("nonsense"));
    assert_non_null(bang_lab_experiments(&count));
    assert_int_equal(count, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example_maps),
        cmocka_unit_test(test_figures_as_csv),
        cmocka_unit_test_setup_teardown(test_theory_records, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_resume_refuses_other_options, make_folder,
                                        drop_folder),
        cmocka_unit_test_setup_teardown(test_cancelled_run_stops, make_folder, drop_folder),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
