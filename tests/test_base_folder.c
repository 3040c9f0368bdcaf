/* Removing folders, and where downloads go. */
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"

static int exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static void put(const char *path)
{
    assert_int_equal(bang_file_put(path, "x", 1, NULL), 0);
}

static void test_remove(void **state)
{
    char folder[1024], outside[1024];
    bang_error err = {0};
    snprintf(folder, sizeof folder, "%s/tree", (const char *)*state);
    snprintf(outside, sizeof outside, "%s/outside", (const char *)*state);
    assert_int_equal(bang_folder_create(in_folder(folder, "a/b/c"), &err), 0);
    assert_int_equal(bang_folder_create(in_folder(folder, "empty"), &err), 0);
    assert_int_equal(bang_folder_create(outside, &err), 0);
    put(in_folder(folder, "a/file"));
    put(in_folder(folder, "a/b/.hidden"));
    put(in_folder(outside, "stays"));
    assert_int_equal(symlink("../outside", in_folder(folder, "link")), 0);
    assert_int_equal(symlink("nowhere", in_folder(folder, "a/dangling")), 0);
    assert_int_equal(bang_folder_remove(folder, &err), 0);
    assert_false(exists(folder));
    assert_true(exists(in_folder(outside, "stays")));
    /* What is not there is fine, and a slash at the end too. */
    assert_int_equal(bang_folder_remove(folder, &err), 0);
    assert_int_equal(bang_folder_remove(in_folder(*state, "outside/"), &err), 0);
    assert_false(exists(outside));
}

static void test_remove_refuses(void **state)
{
    const char *file = in_folder(*state, "file"), *link = in_folder(*state, "link"),
               *folder = in_folder(*state, "folder");
    bang_error err = {0};
    put(file);
    assert_int_equal(bang_folder_remove(file, &err), BANG_EUSAGE);
    assert_true(exists(file));
    assert_int_equal(bang_folder_create(folder, &err), 0);
    assert_int_equal(symlink("folder", link), 0);
    assert_int_equal(bang_folder_remove(link, &err), BANG_EUSAGE);
    assert_true(exists(link) && exists(folder));
    assert_int_equal(bang_folder_remove("", &err), BANG_EIO);
    assert_int_equal(bang_folder_remove(in_folder(*state, "file/x"), &err), BANG_EIO);
    if (geteuid() == 0)
        return; /* whom no rights stop */
    put(in_folder(folder, "x"));
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(bang_folder_remove(folder, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "x: Permission denied"));
    assert_int_equal(chmod(folder, 0700), 0);
}

/* Sets or, with NULL, unsets. */
static void set(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void test_cache_folder(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        /* BANG_CACHE, XDG_CACHE_HOME, HOME, the folder */
        {"/own", "/xdg", "/me", "/own"},
        {"own/folder", "/xdg", "/me", "own/folder"},
        {NULL, "/xdg", "/me", "/xdg/bang"},
        {"", "/xdg/", NULL, "/xdg/bang"},
        {NULL, "relative", "/me", "/me/.cache/bang"},
        {NULL, "", "/me", "/me/.cache/bang"},
        {NULL, NULL, "/me", "/me/.cache/bang"},
        {NULL, NULL, "", NULL},
        {NULL, "relative", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = (char *)1;
        bang_error err = {0};
        set("BANG_CACHE", cases[i][0]);
        set("XDG_CACHE_HOME", cases[i][1]);
        set("HOME", cases[i][2]);
        int code = bang_cache_folder(&path, &err);
        if (cases[i][3]) {
            assert_int_equal(code, 0);
            assert_string_equal(path, cases[i][3]);
        } else {
            assert_int_equal(code, BANG_EUSAGE);
            assert_null(path);
            assert_non_null(strstr(err.message, "BANG_CACHE"));
        }
        free(path);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_remove),
        IN_FOLDER(test_remove_refuses),
        cmocka_unit_test(test_cache_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
