/* The points of a curve in a CSV. */
#include "testing.h"

#include <math.h>

#include "bang/measure/curve_rows.h"

/* The caller releases rows and frees *copy. */
static int parse(bang_curve_rows *rows, char **copy, const char *text, bang_error *err)
{
    *copy = strdup(text);
    assert_non_null(*copy);
    return bang_curve_rows_parse(rows, *copy, strlen(text), "x.csv", err);
}

static void test_accuracies(void **state)
{
    (void)state;
    bang_curve_rows rows;
    char *copy;
    bang_error err = {0};
    if (parse(&rows, &copy,
              "\xef\xbb\xbf"
              "avg,Name,fine\r\n0.75,\"a, b\",1\r\n\r\n.5,c,0\r\n",
              &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.points, 2);
    assert_int_equal(rows.files, 0);
    assert_int_equal(rows.per_cent, 0);
    assert_int_equal(rows.small_line, 0);
    assert_string_equal(rows.rows[0].name, "a, b");
    assert_true(rows.rows[0].fine_accuracy == 1 && rows.rows[0].avg_accuracy == .75);
    assert_true(rows.rows[1].fine_accuracy == 0 && rows.rows[1].avg_accuracy == .5);
    assert_int_equal(rows.rows[1].line, 4);
    assert_null(rows.rows[0].set);
    assert_null(rows.unused.data);
    bang_curve_rows_release(&rows);
    free(copy);
}

static void test_per_cent(void **state)
{
    (void)state;
    bang_curve_rows rows;
    char *copy;
    assert_int_equal(parse(&rows, &copy, "name,fine,avg\na,50,75\nb,0,62.5\nc,40,0.5\n", NULL), 0);
    assert_int_equal(rows.per_cent, 1);
    assert_int_equal(rows.small_line, 4);
    assert_true(rows.rows[0].fine_accuracy == .5 && rows.rows[0].avg_accuracy == .75);
    assert_true(rows.rows[2].avg_accuracy == .005);
    bang_curve_rows_release(&rows);
    free(copy);
}

/* Names are numbered as they come, wherever the rows of their sets are. */
static void test_sets(void **state)
{
    (void)state;
    static const size_t points[] = {0, 1, 2, 1, 0, 2};
    bang_curve_rows rows;
    char *copy;
    bang_error err = {0};
    if (parse(&rows, &copy,
              "set,name,lr,fine,avg,epochs\nz,m,1,.1,.2,\nz,k,1,.3,.4,\nb,x,1,.5,.6,\n"
              "b,k,1,.3,.4,\nb,m,1,.1,.2,\nz,x,1,.5,.6,\n",
              &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(rows.points, 3);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rows.rows[i].point, points[i]);
    assert_string_equal(rows.rows[3].set, "b");
    assert_string_equal(rows.unused.data, "lr, epochs");
    bang_curve_rows_release(&rows);
    free(copy);
}

static void test_files(void **state)
{
    (void)state;
    bang_curve_rows rows;
    char *copy;
    assert_int_equal(parse(&rows, &copy,
                           "name,fine,avg,labels,classes\na,f.npy,0.5,y.npy,\"0,3\"\nb,f,a,y,\n",
                           NULL),
                     0);
    assert_int_equal(rows.files, 1);
    assert_string_equal(rows.rows[0].fine, "f.npy");
    assert_string_equal(rows.rows[0].avg, "0.5");
    assert_string_equal(rows.rows[0].labels, "y.npy");
    assert_string_equal(rows.rows[0].classes, "0,3");
    assert_string_equal(rows.rows[1].classes, "");
    assert_true(isnan(rows.rows[0].fine_accuracy) && isnan(rows.rows[0].avg_accuracy));
    bang_curve_rows_release(&rows);
    free(copy);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "line 1: no header: name,fine,avg are needed"},
        {"\n\n", "no header"},
        {"name,fine,avg\n", "line 2: no rows"},
        {"name,fine\na,1\n", "line 1: no column avg in the header: name,fine,avg are needed"},
        {"a,b,c\n", "no column name in the header: name,fine,avg are needed; line 1: no column "
                    "fine"},
        {"name,fine,avg,FINE\na,1,1,1\n", "line 1: column fine is there twice"},
        {"name,fine,avg\na,1\n", "line 2: fewer fields than the header has"},
        {"name,fine,avg\na,1,1,1\n", "line 2: more fields than the header has"},
        {"name,fine,avg\n,1,1\n", "line 2: name is empty"},
        {"name,fine,avg\na,,1\n", "line 2: fine is empty"},
        {"name,fine,avg\na,f.npy,1\n",
         "line 2: fine \"f.npy\" is no number: accuracies, or paths with a column labels"},
        {"name,fine,avg\na,1,75%\n", "line 2: avg \"75%\" is no number"},
        {"name,fine,avg\na,1,nan\n", "line 2: avg \"nan\" is no number"},
        {"name,fine,avg\na,-0.5,1\n", "line 2: fine -0.5 is no accuracy"},
        {"name,fine,avg\na,0.5,101\n", "line 2: avg 101 is no accuracy"},
        {"name,fine,avg\na,1,1\nb,1,1\na,1,1\n",
         "line 4: \"a\" is in line 2, too: names differ, or a column set tells"},
        {"name,set,fine,avg\na,s,1,1\na,s,1,1\n", "line 3: \"a\" has set \"s\" in line 2, too"},
        {"name,set,fine,avg\na,s,1,1\na,t,1,1\nb,s,1,1\n",
         "line 4: \"b\" has no set \"t\", but \"a\" has: all need the same"},
        {"name,set,fine,avg\na,t,1,1\nb,t,1,1\nb,s,1,1\n",
         "line 4: \"b\" has set \"s\", but \"a\" has not: all need the same"},
        {"name,set,fine,avg\na,t,1,1\nb,t,1,1\nb,u,1,1\n", "line 4: \"b\" has set \"u\""},
        {"name,set,fine,avg\na,s,1,1\nb,t,1,1\n", "line 3: \"b\" has no set \"s\""},
        {"name,set,fine,avg\na,,1,1\n", "line 2: set is empty"},
        {"name,fine,avg,labels\na,f,a,\n", "line 2: labels is empty"},
        {"name,fine,avg\n\"a,1,1\n", "line 2: a quote is opened and not closed"},
        {"name,fine,avg\na,x,y\nb,1\n,1,1\n", "line 2: fine \"x\" is no number: accuracies, or "
                                              "paths with a column labels; line 2: avg \"y\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bang_curve_rows rows;
        char *copy;
        bang_error err = {0};
        int rc = parse(&rows, &copy, bad[i][0], &err);
        if (rc != BANG_EDATA || !strstr(err.message, bad[i][1]) || strchr(err.message, '\n') ||
            strncmp(err.message, "x.csv: line ", 12) != 0)
            fail_msg("%s: %d, not \"%s\": %s", bad[i][0], rc, bad[i][1], err.message);
        bang_curve_rows_release(&rows);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracies), cmocka_unit_test(test_per_cent),
        cmocka_unit_test(test_sets),       cmocka_unit_test(test_files),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
