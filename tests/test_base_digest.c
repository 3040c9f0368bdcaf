/* SHA-256 against the known answers of FIPS 180. */
#include "testing.h"

#include "bang/base/digest.h"
#include "bang/base/file.h"

static const struct {
    const char *text, *sum;
} cases[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void test_known_answers(void **state)
{
    const char *path = in_folder(*state, "file");
    char sum[BANG_DIGEST_TEXT];
    bang_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].text);
        assert_int_equal(bang_digest_bytes(sum, cases[i].text, size, &err), 0);
        assert_string_equal(sum, cases[i].sum);
        assert_int_equal(bang_file_put(path, cases[i].text, size, &err), 0);
        assert_int_equal(bang_digest_file(sum, path, &err), 0);
        assert_string_equal(sum, cases[i].sum);
    }
    assert_int_equal(bang_digest_bytes(sum, NULL, 0, &err), 0);
    assert_string_equal(sum, cases[0].sum);
}

/* A million times the letter a: many blocks. */
static void test_long_input(void **state)
{
    const char *expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
               *path = in_folder(*state, "file");
    char sum[BANG_DIGEST_TEXT], *text = malloc(1000000);
    memset(text, 'a', 1000000);
    assert_int_equal(bang_digest_bytes(sum, text, 1000000, NULL), 0);
    assert_string_equal(sum, expected);
    assert_int_equal(bang_file_put(path, text, 1000000, NULL), 0);
    assert_int_equal(bang_digest_file(sum, path, NULL), 0);
    assert_string_equal(sum, expected);
    free(text);
}

static void test_unreadable(void **state)
{
    char sum[BANG_DIGEST_TEXT] = "old";
    bang_error err = {0};
    assert_int_equal(bang_digest_file(sum, in_folder(*state, "none"), &err), BANG_EIO);
    assert_non_null(strstr(err.message, "none: No such file"));
    assert_string_equal(sum, "");
    assert_int_equal(bang_digest_file(sum, *state, &err), BANG_EIO);
    assert_string_equal(sum, "");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_known_answers),
        IN_FOLDER(test_long_input),
        IN_FOLDER(test_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
