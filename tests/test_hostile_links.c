/* Links in the place of outputs: none leads a write to another folder. */
#include "store_cases.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/base/record.h"
#include "bang/report/report.h"

static int is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static void check_text(const char *path, const char *expected)
{
    size_t size;
    char *text = get_bytes(path, &size);
    assert_string_equal(text, expected);
    free(text);
}

/* A folder for outputs beside one that holds "secret". */
static void prepare(const char *folder)
{
    assert_int_equal(bang_folder_create(in_folder(folder, "out"), NULL), 0);
    assert_int_equal(bang_folder_create(in_folder(folder, "elsewhere"), NULL), 0);
    put_text(in_folder(folder, "elsewhere/secret"), "secret");
}

static void test_file(void **state)
{
    const char *link = in_folder(*state, "out/report.html"), *secret;
    prepare(*state);
    secret = in_folder(*state, "elsewhere/secret");
    assert_int_equal(symlink("../elsewhere/secret", link), 0);
    assert_int_equal(bang_file_put(link, "new", 3, NULL), 0);
    assert_false(is_link(link));
    check_text(link, "new");
    check_text(secret, "secret");
    check_names(in_folder(*state, "elsewhere"), 1);
    /* one that leads nowhere yet does not make that file */
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("../elsewhere/other", link), 0);
    assert_int_equal(bang_file_put(link, "new", 3, NULL), 0);
    assert_false(is_link(link));
    check_names(in_folder(*state, "elsewhere"), 1);
    /* an absolute one */
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(secret, link), 0);
    assert_int_equal(bang_file_put(link, "new", 3, NULL), 0);
    check_text(secret, "secret");
    /* within the folder it stays, also when the folder itself is reached through a link */
    put_text(in_folder(*state, "out/real"), "old");
    assert_int_equal(symlink("real", in_folder(*state, "out/latest")), 0);
    assert_int_equal(symlink("out", in_folder(*state, "door")), 0);
    assert_int_equal(bang_file_put(in_folder(*state, "door/latest"), "new", 3, NULL), 0);
    assert_true(is_link(in_folder(*state, "out/latest")));
    check_text(in_folder(*state, "out/real"), "new");
}

/* Where it leads there is no file: it is replaced all the same, and nobody hears of it. */
static void test_pipe(void **state)
{
    const char *link = in_folder(*state, "out/page.html"), *pipe;
    char text[8];
    struct stat status;
    prepare(*state);
    pipe = in_folder(*state, "elsewhere/pipe");
    assert_int_equal(mkfifo(pipe, 0666), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(symlink("../elsewhere/pipe", link), 0);
    assert_int_equal(bang_file_put(link, "new", 3, NULL), 0);
    check_text(link, "new");
    assert_false(is_link(link));
    assert_int_equal(read(reader, text, sizeof text), 0);
    /* a device, whose rights are not those of a file */
    mode_t mask = umask(022);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("/dev/null", link), 0);
    assert_int_equal(bang_file_put(link, "new", 3, NULL), 0);
    check_text(link, "new");
    assert_int_equal(stat(link, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    umask(mask);
    /* within the folder it is followed, as one to a file is */
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rename(pipe, in_folder(*state, "out/pipe")), 0);
    assert_int_equal(symlink("pipe", link), 0);
    assert_int_equal(bang_file_put(link, "new", 3, NULL), 0);
    assert_true(is_link(link));
    assert_int_equal(read(reader, text, sizeof text), 3);
    close(reader);
}

/* The file that is written meanwhile has a name that can be foreseen. */
static void test_part(void **state)
{
    bang_error err = {0};
    prepare(*state);
    assert_int_equal(
        link(in_folder(*state, "elsewhere/secret"), in_folder(*state, "out/.b.bang-part")), 0);
    assert_int_equal(bang_file_put(in_folder(*state, "out/b"), "new", 3, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "is in the way: remove it"));
    check_text(in_folder(*state, "elsewhere/secret"), "secret");
    assert_int_equal(unlink(in_folder(*state, "out/.b.bang-part")), 0);
    assert_int_equal(bang_file_put(in_folder(*state, "out/b"), "new", 3, NULL), 0);
    assert_int_equal(symlink("../elsewhere/secret", in_folder(*state, "out/.a.bang-part")), 0);
    assert_true(bang_file_put(in_folder(*state, "out/a"), "new", 3, &err) < 0);
    check_text(in_folder(*state, "elsewhere/secret"), "secret");
}

static void test_records(void **state)
{
    bang_error err = {0};
    json_t *record = json_pack("{ss}", "key", "a");
    prepare(*state);
    put_text(in_folder(*state, "elsewhere/secret"), "secret\n");
    assert_int_equal(symlink("../elsewhere/secret", in_folder(*state, "out/results.jsonl")), 0);
    assert_int_equal(bang_record_append(in_folder(*state, "out"), record, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "is a link"));
    assert_int_equal(unlink(in_folder(*state, "out/results.jsonl")), 0);
    assert_int_equal(
        link(in_folder(*state, "elsewhere/secret"), in_folder(*state, "out/results.jsonl")), 0);
    assert_int_equal(bang_record_append(in_folder(*state, "out"), record, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "is a hard link"));
    check_text(in_folder(*state, "elsewhere/secret"), "secret\n");
    json_decref(record);
}

static void test_folders(void **state)
{
    bang_error err = {0};
    prepare(*state);
    const char *top = in_folder(*state, "out"), *inner = in_folder(*state, "out/models/seed-1");
    assert_int_equal(symlink("../elsewhere", in_folder(*state, "out/models")), 0);
    assert_int_equal(bang_folder_create_below(top, inner, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "out/models: is a link"));
    check_names(in_folder(*state, "elsewhere"), 1);
    assert_int_equal(unlink(in_folder(*state, "out/models")), 0);
    top = in_folder(*state, "out"), inner = in_folder(*state, "out/models/seed-1");
    assert_int_equal(bang_folder_create_below(top, inner, &err), 0);
    assert_int_equal(bang_folder_create_below(top, inner, &err), 0);
    assert_int_equal(bang_folder_create_below(top, top, &err), 0);
    /* what the user names may be a link */
    assert_int_equal(symlink("out", in_folder(*state, "door")), 0);
    top = in_folder(*state, "door"), inner = in_folder(*state, "door/models/seed-2");
    assert_int_equal(bang_folder_create_below(top, inner, &err), 0);
    assert_int_equal(access(in_folder(*state, "out/models/seed-2"), F_OK), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_file),    IN_FOLDER(test_pipe),    IN_FOLDER(test_part),
        IN_FOLDER(test_records), IN_FOLDER(test_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
