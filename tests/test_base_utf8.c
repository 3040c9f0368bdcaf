/* Names that hold any bytes, as text. */
#include "testing.h"

#include "bang/base/utf8.h"

static const struct {
    const char *from, *to;
} cases[] = {
    {"", ""},
    {"plain.png", "plain.png"},
    {"caf\xc3\xa9", "caf\xc3\xa9"},
    {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
    {"bad\xff.png", "bad?.png"},
    {"\x80\xbfx", "??x"},
    {"\xc3", "?"},      /* ends too early */
    {"\xe2\x82", "??"}, /* likewise */
    {"\xc3x", "?x"},    /* what follows belongs to no character before it */
    {"\xc0\xaf", "??"}, /* longer than need be */
    {"\xe0\x80\xaf", "???"},
    {"\xed\xa0\x80", "???"}, /* a surrogate */
    {"\xed\x9f\xbf", "\xed\x9f\xbf"},
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
    {"\xf4\x90\x80\x80", "????"}, /* beyond the last */
    {"\xf8\x88\x80\x80\x80", "?????"},
};

static void test_mend(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char copy[32];
        snprintf(copy, sizeof copy, "%s", cases[i].from);
        bang_utf8_mend(copy);
        assert_string_equal(copy, cases[i].to);
        json_t *text = bang_utf8_json(cases[i].from);
        assert_non_null(text);
        assert_string_equal(json_string_value(text), cases[i].to);
        json_decref(text);
    }
    json_t *none = bang_utf8_json(NULL);
    assert_true(json_is_null(none));
    json_decref(none);
}

static void test_clip(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1, 2, 3, 4, 1 bytes */
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    char out[16];
    for (size_t room = 0; room < sizeof whole / sizeof *whole; room++) {
        memset(out, '#', sizeof out);
        bang_utf8_clip(out, room + 1, text);
        assert_int_equal(strlen(out), whole[room]);
        assert_memory_equal(out, text, whole[room]);
        assert_int_equal(out[room + 1], '#');
    }
    bang_utf8_clip(out, 0, text); /* writes nothing */
    bang_utf8_clip(out, 5, "\n\x1b\xff\xff\xff");
    assert_string_equal(out, "????");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mend),
        cmocka_unit_test(test_clip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
