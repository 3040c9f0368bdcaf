/* CSV: records, quotes, lines, and what is wrong with them. */
#include "testing.h"

#include "bang/base/csv.h"

/* Records of text as "[a|b][c]", and its problems. */
static void check(const char *text, size_t size, const char *records, const char *problems)
{
    char shown[512] = "", *copy = malloc(size + 1);
    size_t used = 0;
    bang_csv csv;
    bang_error err = {0};
    assert_non_null(copy);
    memcpy(copy, text, size);
    copy[size] = '\0';
    bang_csv_begin(&csv, copy, size);
    while (bang_csv_next(&csv)) {
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%zu[", csv.began);
        for (size_t i = 0; i < csv.count; i++)
            used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%s", i ? "|" : "",
                                     csv.fields[i]);
        used += (size_t)snprintf(shown + used, sizeof shown - used, "]");
    }
    assert_string_equal(shown, records);
    if (problems) {
        assert_int_equal(bang_csv_end(&csv, "x.csv", &err), BANG_EDATA);
        assert_string_equal(err.message, problems);
    } else {
        assert_int_equal(bang_csv_end(&csv, "x.csv", &err), 0);
    }
    free(copy);
}

#define CHECK(text, records, problems) check(text, sizeof text - 1, records, problems)

static void test_records(void **state)
{
    (void)state;
    CHECK("", "", NULL);
    CHECK("a,b\nc,d", "1[a|b]2[c|d]", NULL);
    CHECK("a,b\r\nc,d\r\n", "1[a|b]2[c|d]", NULL);
    CHECK("a\rb\r", "1[a]2[b]", NULL);
    CHECK("\xef\xbb\xbf"
          "a\n",
          "1[a]", NULL);
    CHECK(",,\n\n,", "1[||]2[]3[|]", NULL);
    CHECK(" a , b", "1[ a | b]", NULL);
    CHECK("\"a,b\",\"c\nd\",\"e\"\"f\"\ng", "1[a,b|c\nd|e\"f]3[g]", NULL);
    CHECK("\"\",\"\"\"\"\n", "1[|\"]", NULL);
    CHECK("a\"b,c", "1[a\"b|c]", NULL);
}

static void test_problems(void **state)
{
    (void)state;
    CHECK("a\n\"b\nc", "1[a]", "x.csv: line 2: a quote is opened and not closed");
    CHECK("\"a\"b,c\n\"d\"", "1[a|c]2[d]", "x.csv: line 1: text behind a closing quote: b,c?\"d\"");
    CHECK("a\0b", "", "x.csv: line 1: holds a zero byte: is it text?");
}

static void test_too_many_fields(void **state)
{
    (void)state;
    char text[BANG_CSV_FIELDS + 2];
    bang_csv csv;
    memset(text, ',', sizeof text);
    text[BANG_CSV_FIELDS - 1] = '\0';
    bang_csv_begin(&csv, text, BANG_CSV_FIELDS - 1);
    assert_int_equal(bang_csv_next(&csv), 1);
    assert_int_equal(csv.count, BANG_CSV_FIELDS);
    assert_int_equal(bang_csv_end(&csv, "x", NULL), 0);
    memset(text, ',', sizeof text);
    text[BANG_CSV_FIELDS] = '\0';
    bang_csv_begin(&csv, text, BANG_CSV_FIELDS);
    assert_int_equal(bang_csv_next(&csv), 1);
    assert_int_equal(csv.count, BANG_CSV_FIELDS);
    assert_int_equal(bang_csv_end(&csv, "x", NULL), BANG_EDATA);
}

/* By line, whatever the order in which they were found; the first five are said. */
static void test_order_of_problems(void **state)
{
    (void)state;
    static const size_t lines[] = {5, 3, 9, 1, 7, 2, 8};
    char text[] = "";
    bang_csv csv;
    bang_error err = {0};
    bang_csv_begin(&csv, text, 0);
    for (size_t i = 0; i < 7; i++)
        bang_csv_problem(&csv, lines[i], "no. %zu", i);
    assert_int_equal(bang_csv_end(&csv, "x.csv", &err), BANG_EDATA);
    assert_string_equal(err.message, "x.csv: line 1: no. 3; line 2: no. 5; line 3: no. 1; line 5: "
                                     "no. 0; line 7: no. 4; and 2 more");
}

static void test_columns(void **state)
{
    (void)state;
    char text[] = "name,Fine,name\n";
    bang_csv csv;
    bang_csv_begin(&csv, text, sizeof text - 1);
    assert_int_equal(bang_csv_next(&csv), 1);
    assert_int_equal(bang_csv_find(&csv, "fine", 0), 1);
    assert_int_equal(bang_csv_find(&csv, "name", 0), 0);
    assert_int_equal(bang_csv_find(&csv, "NAME", 1), 2);
    assert_int_equal(bang_csv_find(&csv, "avg", 0), -1);
    assert_int_equal(bang_csv_is_empty(&csv), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),         cmocka_unit_test(test_problems),
        cmocka_unit_test(test_too_many_fields), cmocka_unit_test(test_order_of_problems),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
