/* JSON as we write it, and result records that survive a killed run. */
#include "testing.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/base/record.h"

static json_t *parse(const char *text)
{
    json_t *value;
    bang_error err = {0};
    if (bang_json_parse(&value, text, strlen(text), &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return value;
}

static void test_numbers_keep_their_digits(void **state)
{
    (void)state;
    static const double values[] = {0.1,  1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0,
                                    1e21, 94.82,   2.5e-7, 0.30000000000000004};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *number = bang_json_number(values[i]);
        char *line = bang_json_line(number);
        json_t *again = parse(line);
        assert_true(json_is_real(again));
        double back = json_real_value(again);
        assert_memory_equal(&back, &values[i], sizeof back);
        json_decref(number);
        json_decref(again);
        free(line);
    }
    static const double none[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        json_t *number = bang_json_number(none[i]);
        assert_true(json_is_null(number));
        json_decref(number);
    }
}

static void test_line_keeps_order(void **state)
{
    (void)state;
    json_t *value = json_pack("{s:i, s:[f, n, b], s:s}", "z", 1, "a", 0.5, 1, "m", "line\nend");
    char *line = bang_json_line(value);
    assert_string_equal(line, "{\"z\":1,\"a\":[0.5,null,true],\"m\":\"line\\nend\"}");
    json_decref(value);
    free(line);
}

static void test_parse_refuses(void **state)
{
    (void)state;
    static const char *bad[] = {"",        "{",       "{\"a\":1,\"a\":2}", "[1,]",
                                "1 2",     "nul",     "{\"a\":NaN}",       "\"\xff\"",
                                "{'a':1}", "[1e999]", "{\"a\":1}x",        "\"\\ud800\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *value = NULL;
        bang_error err = {0};
        if (bang_json_parse(&value, bad[i], strlen(bad[i]), &err) != BANG_EDATA)
            fail_msg("accepted: %s", bad[i]);
        assert_null(value);
        assert_non_null(strstr(err.message, "line 1"));
    }
}

static json_t *record(const char *key, double value)
{
    return json_pack("{s:s, s:{s:i, s:f}, s:{s:f}}", "key", key, "options", "seed", 1, "p", 0.9,
                     "result", "value", value);
}

static void append(const char *folder, const char *key, double value)
{
    json_t *one = record(key, value);
    bang_error err = {0};
    if (bang_record_append(folder, one, &err) < 0)
        fail_msg("%s", err.message);
    json_decref(one);
}

static json_t *read_all(const char *folder)
{
    json_t *records;
    bang_error err = {0};
    if (bang_record_read(&records, folder, &err) < 0)
        fail_msg("%s", err.message);
    return records;
}

static size_t count(const char *folder)
{
    json_t *records = read_all(folder);
    size_t n = json_array_size(records);
    json_decref(records);
    return n;
}

static void test_append_and_read(void **state)
{
    const char *folder = in_folder(*state, "new/run");
    assert_int_equal(count(folder), 0);
    append(folder, "a", 0.1);
    append(folder, "b", 0.2);
    json_t *records = read_all(folder);
    assert_int_equal(json_array_size(records), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(records, 1), "key")), "b");
    json_decref(records);

    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, in_folder(folder, "results.jsonl"), NULL), 0);
    assert_string_equal(text, "{\"key\":\"a\",\"options\":{\"seed\":1,\"p\":0.90000000000000002},"
                              "\"result\":{\"value\":0.10000000000000001}}\n"
                              "{\"key\":\"b\",\"options\":{\"seed\":1,\"p\":0.90000000000000002},"
                              "\"result\":{\"value\":0.20000000000000001}}\n");
    free(text);
}

/* Every length that a torn last line can have: it does not count, and the next
 * append gives the same bytes as if it had never been there. */
static void test_torn_last_line(void **state)
{
    const char *whole = in_folder(*state, "whole"), *torn = in_folder(*state, "torn");
    append(whole, "a", 1);
    append(whole, "b", 2);
    append(whole, "c", 3);
    char *text, *got;
    size_t size, got_size;
    assert_int_equal(bang_file_read(&text, &size, in_folder(whole, "results.jsonl"), NULL), 0);
    size_t lines[4] = {0}, n = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            lines[++n] = i + 1;
    assert_int_equal(n, 3);
    assert_int_equal(bang_folder_create(torn, NULL), 0);
    const char *path = in_folder(torn, "results.jsonl");
    for (size_t cut = lines[1]; cut < lines[2]; cut++) {
        assert_int_equal(bang_file_put(path, text, cut, NULL), 0);
        assert_int_equal(count(torn), 1);
        append(torn, "b", 2);
        append(torn, "c", 3);
        assert_int_equal(bang_file_read(&got, &got_size, path, NULL), 0);
        assert_int_equal(got_size, size);
        assert_memory_equal(got, text, size);
        free(got);
    }
    free(text);
}

/* A torn line that is longer than the pieces in which its start is looked for. */
static void test_long_torn_line(void **state)
{
    const char *folder = *state, *path = in_folder(folder, "results.jsonl");
    for (size_t length = 4090; length < 4100; length++) {
        for (int head = 0; head < 2; head++) {
            char *text = calloc(1, 3 * length + 4);
            size_t start = head ? 3 : 0;
            memcpy(text, "{}\n", start);
            memset(text + start, '[', 3 * length);
            assert_int_equal(bang_file_put(path, text, start + 3 * length, NULL), 0);
            free(text);
            assert_int_equal(count(folder), head);
            append(folder, "a", 1);
            assert_int_equal(count(folder), head + 1);
        }
    }
}

static void test_broken_line_is_named(void **state)
{
    static const char *broken[] = {"{}\n{\"a\":\n{}\n", "{}\n[1]\n", "{}\n\n{}\n", "{}\n{}x\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        json_t *records;
        bang_error err = {0};
        bang_file_put(in_folder(*state, "results.jsonl"), broken[i], strlen(broken[i]), NULL);
        assert_int_equal(bang_record_read(&records, *state, &err), BANG_EDATA);
        assert_null(records);
        assert_non_null(strstr(err.message, "results.jsonl: record 2: "));
    }
}

static void test_append_refuses(void **state)
{
    bang_error err = {0};
    json_t *array = json_array(), *one = record("a", 1);
    assert_int_equal(bang_record_append(*state, array, &err), BANG_EUSAGE);
    assert_int_equal(bang_record_append(*state, NULL, &err), BANG_EUSAGE);
    const char *file = in_folder(*state, "plain");
    assert_int_equal(bang_file_put(file, "", 0, NULL), 0);
    assert_int_equal(bang_record_append(file, one, &err), BANG_EIO);
    json_decref(array);
    json_decref(one);
}

/* A disk that is full in the middle of a record. */
static void test_short_write_is_taken_back(void **state)
{
    append(*state, "a", 1);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 120;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    json_t *one = record("b", 2);
    bang_error err = {0};
    int code = bang_record_append(*state, one, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(code, BANG_EIO);
    assert_non_null(strstr(err.message, "not added"));
    json_decref(one);
    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, in_folder(*state, "results.jsonl"), NULL), 0);
    assert_int_equal(text[size - 1], '\n');
    free(text);
    append(*state, "b", 2);
    assert_int_equal(count(*state), 2);
}

static void test_writers_take_turns(void **state)
{
    enum { WRITERS = 4, EACH = 25 };
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            for (int k = 0; k < EACH; k++) {
                json_t *one = record(i % 2 ? "long key, long key" : "k", k);
                if (bang_record_append(*state, one, NULL) < 0)
                    _exit(1);
                json_decref(one);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count(*state), WRITERS * EACH);
}

static void on_alarm(int number)
{
    (void)number;
}

/* Somebody holds it for ever: a signal ends the wait, whenever it comes. */
static void test_wait_is_ended(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm}, old;
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    bang_error err = {0};
    append(*state, "a", 1);
    int holder = open(in_folder(*state, "results.jsonl"), O_RDWR);
    assert_true(holder >= 0);
    assert_int_equal(flock(holder, LOCK_EX), 0);
    json_t *one = record("b", 2);
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    int code = bang_record_append(*state, one, &err);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    close(holder);
    json_decref(one);
    assert_int_equal(code, BANG_ECANCELLED);
    assert_non_null(strstr(err.message, "another run is writing it"));
    assert_int_equal(count(*state), 1);
}

static void test_find(void **state)
{
    (void)state;
    json_t *records =
        parse("[{\"key\":\"a\",\"options\":{\"n\":1,\"p\":0.5,\"list\":[1,2]},\"r\":1},"
              " {\"key\":\"a\",\"options\":{\"n\":2,\"p\":0.5,\"list\":[1,2]},\"r\":2},"
              " {\"key\":\"b\",\"r\":3}, 7, {\"key\":5}]");
    static const struct {
        const char *key, *options;
        int r;
    } cases[] = {
        {"a", "{\"n\":1,\"p\":0.5,\"list\":[1,2]}", 1},
        {"a", "{\"list\":[1.0,2],\"p\":0.5,\"n\":2.0}", 2}, /* by value, in any order */
        {"a", "{\"n\":1,\"p\":0.5,\"list\":[2,1]}", 0},
        {"a", "{\"n\":1,\"p\":0.5,\"list\":[1,2,3]}", 0},
        {"a", "{\"n\":1,\"p\":0.5}", 0},
        {"a", "{\"n\":1,\"p\":0.5,\"list\":[1,2],\"x\":null}", 0},
        {"a", "{\"n\":1.5,\"p\":0.5,\"list\":[1,2]}", 0},
        {"a", "{\"n\":\"1\",\"p\":0.5,\"list\":[1,2]}", 0},
        {"a", "{\"n\":9223372036854775807,\"p\":0.5,\"list\":[1,2]}", 0},
        {"c", "{\"n\":1,\"p\":0.5,\"list\":[1,2]}", 0},
        {"b", "{}", 0},
        {"b", NULL, 3},
        {"a", NULL, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *options = cases[i].options ? parse(cases[i].options) : NULL;
        json_t *found = bang_record_find(records, cases[i].key, options);
        assert_int_equal(json_integer_value(json_object_get(found, "r")), cases[i].r);
        json_decref(options);
    }
    json_decref(records);
}

static void test_find_tells_large_numbers_apart(void **state)
{
    (void)state;
    /* 2^63 as a real is no integer, and 2^53 + 1 is no real. */
    json_t *records = parse("[{\"key\":\"a\",\"options\":9223372036854775807},"
                            " {\"key\":\"b\",\"options\":9007199254740993}]");
    json_t *large = parse("9223372036854775808.0"), *odd = parse("9007199254740992.0");
    assert_null(bang_record_find(records, "a", large));
    assert_null(bang_record_find(records, "b", odd));
    json_decref(records);
    json_decref(large);
    json_decref(odd);
}

/* What was written is found again after reading: 17 digits are enough. */
static void test_find_after_reading(void **state)
{
    json_t *options =
        json_pack("{s:f, s:f, s:I}", "p", 0.1 + 0.2, "q", 1.0 / 3, "seed", (json_int_t)INT64_MAX);
    json_t *one = json_pack("{s:s, s:O}", "key", "x", "options", options);
    assert_int_equal(bang_record_append(*state, one, NULL), 0);
    json_t *records = read_all(*state);
    assert_non_null(bang_record_find(records, "x", options));
    json_decref(records);
    json_decref(one);
    json_decref(options);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_keep_their_digits),
        cmocka_unit_test(test_line_keeps_order),
        cmocka_unit_test(test_parse_refuses),
        IN_FOLDER(test_append_and_read),
        IN_FOLDER(test_torn_last_line),
        IN_FOLDER(test_long_torn_line),
        IN_FOLDER(test_broken_line_is_named),
        IN_FOLDER(test_append_refuses),
        IN_FOLDER(test_short_write_is_taken_back),
        IN_FOLDER(test_writers_take_turns),
        IN_FOLDER(test_wait_is_ended),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_tells_large_numbers_apart),
        IN_FOLDER(test_find_after_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
