/* Files appear whole or not at all, whatever happens to their writer. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bang/base/file.h"

static void check_content(const char *path, const char *expected)
{
    char *text;
    size_t size;
    bang_error err = {0};
    if (bang_file_read(&text, &size, path, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(text, expected);
    free(text);
}

static int exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static void put(const char *path, const char *text)
{
    bang_error err = {0};
    if (bang_file_put(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.message);
}

static void test_put_and_read(void **state)
{
    const char *path = in_folder(*state, "out.csv"),
               *part = in_folder(*state, ".out.csv.bang-part");
    put(path, "first");
    check_content(path, "first");
    put(path, "");
    check_content(path, "");
    put(path, "third, and longer");
    check_content(path, "third, and longer");
    assert_false(exists(part));
}

static void test_nothing_until_commit(void **state)
{
    const char *path = in_folder(*state, "out"), *part = in_folder(*state, ".out.bang-part");
    bang_file *file;
    bang_error err = {0};
    assert_int_equal(bang_file_begin(&file, path, &err), 0);
    bang_file_write(file, "abc", 3);
    assert_false(exists(path));
    assert_true(exists(part));
    bang_file_discard(file);
    assert_false(exists(path));
    assert_false(exists(part));
    bang_file_discard(NULL);

    put(path, "old");
    assert_int_equal(bang_file_begin(&file, path, &err), 0);
    bang_file_write(file, "new", 3);
    check_content(path, "old");
    assert_int_equal(bang_file_commit(file, &err), 0);
    check_content(path, "new");
}

static void test_many_writes_of_any_size(void **state)
{
    const char *path = in_folder(*state, "out");
    static const size_t sizes[] = {0, 1, 7, 65535, 65536, 65537, 200000, 3, 65530, 6, 1};
    unsigned char *all = malloc(1 << 20);
    size_t total = 0;
    bang_file *file;
    bang_error err = {0};
    assert_int_equal(bang_file_begin(&file, path, &err), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            all[total + k] = (unsigned char)((total + k) * 31 / 7);
        bang_file_write(file, all + total, sizes[i]);
        total += sizes[i];
    }
    assert_int_equal(bang_file_commit(file, &err), 0);
    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, path, &err), 0);
    assert_int_equal(size, total);
    assert_memory_equal(text, all, total);
    assert_int_equal(text[size], '\0');
    free(text);
    free(all);
}

/* A child that writes and dies before the commit. */
/* A place in what is buffered and one in what is on its way to the disk. */
static void test_bytes_replaced(void **state)
{
    const char *path = in_folder(*state, "replaced");
    bang_error err = {0};
    bang_file *file;
    char block[1000];
    memset(block, '.', sizeof block);
    assert_int_equal(bang_file_begin(&file, path, &err), 0);
    bang_file_write(file, "head", 4);
    assert_int_equal(bang_file_replace(file, 1, "i", 1), 0);
    for (int i = 0; i < 100; i++)
        bang_file_write(file, block, sizeof block);
    assert_int_equal(bang_file_replace(file, 0, "H", 1), 0);
    bang_file_write(file, "end", 3);
    assert_int_equal(bang_file_commit(file, &err), 0);
    char *content;
    size_t size;
    assert_int_equal(bang_file_read(&content, &size, path, &err), 0);
    assert_int_equal(size, 100007);
    assert_memory_equal(content, "Hiad..", 6);
    assert_memory_equal(content + size - 5, "..end", 5);
    free(content);
    assert_int_equal(bang_file_begin(&file, "/dev/null", &err), 0);
    bang_file_write(file, "head", 4);
    assert_int_equal(bang_file_replace(file, 0, "H", 1), -1);
    bang_file_discard(file);
}

static void killed_writer(const char *path, const char *text)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bang_file *file;
        if (bang_file_begin(&file, path, NULL) < 0)
            _exit(9);
        for (int i = 0; i < 50000; i++) /* more than a buffer */
            bang_file_write(file, text, strlen(text));
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void test_killed_writer_changes_nothing(void **state)
{
    const char *path = in_folder(*state, "out"), *part = in_folder(*state, ".out.bang-part");
    struct stat left;
    put(path, "old");
    killed_writer(path, "garbage");
    check_content(path, "old");
    assert_int_equal(stat(part, &left), 0);
    assert_true(left.st_size > 0);
    /* The next run takes the left file over, and nothing of it shows. */
    put(path, "new");
    check_content(path, "new");
    assert_false(exists(part));

    killed_writer(path, "garbage");
    bang_file *file;
    assert_int_equal(bang_file_begin(&file, path, NULL), 0);
    bang_file_discard(file);
    assert_false(exists(part));
    check_content(path, "new");
}

static void test_second_writer_is_refused(void **state)
{
    const char *path = in_folder(*state, "out");
    bang_file *file, *second;
    bang_error err = {0};
    assert_int_equal(bang_file_begin(&file, path, &err), 0);
    bang_file_write(file, "mine", 4);
    assert_int_equal(bang_file_begin(&second, path, &err), BANG_EIO);
    assert_null(second);
    assert_non_null(strstr(err.message, "another run is writing it"));
    assert_int_equal(bang_file_commit(file, &err), 0);
    check_content(path, "mine");
    assert_int_equal(bang_file_begin(&second, path, &err), 0);
    bang_file_discard(second);
    check_content(path, "mine");
}

/* Stands in for the system's: another run may write, rename and let go between
 * our opening of the part file and our locking of it, and a third one may have
 * begun and died. */
static const char *stolen_part, *stolen_target;

int flock(int descriptor, int operation)
{
    if (stolen_part) {
        if (write(descriptor, "theirs", 6) != 6 || rename(stolen_part, stolen_target) < 0 ||
            close(open(stolen_part, O_WRONLY | O_CREAT, 0666)) < 0)
            return -1;
        stolen_part = NULL;
    }
    return (int)syscall(SYS_flock, descriptor, operation);
}

static void test_lock_on_a_file_that_was_renamed(void **state)
{
    const char *path = in_folder(*state, "out"), *part = in_folder(*state, ".out.bang-part");
    bang_file *file;
    put(path, "old");
    stolen_part = part;
    stolen_target = path;
    assert_int_equal(bang_file_begin(&file, path, NULL), 0);
    assert_null(stolen_part);
    check_content(path, "theirs");
    bang_file_write(file, "mine", 4);
    check_content(path, "theirs");
    assert_int_equal(bang_file_commit(file, NULL), 0);
    check_content(path, "mine");
    assert_false(exists(part));
}

struct race {
    const char *path;
    char letter;
    int won;
    bang_error refused; /* the last refusal that was not for a live writer */
};

static void *write_often(void *argument)
{
    struct race *race = argument;
    char text[300];
    memset(text, race->letter, sizeof text);
    for (int i = 0; i < 400; i++) {
        bang_error err = {0};
        if (bang_file_put(race->path, text, sizeof text, &err) == 0)
            race->won++;
        else if (!strstr(err.message, "another run is writing it"))
            race->refused = err;
    }
    return NULL;
}

/* Writers that take turns in any order never mix, and never leave anything. */
static void test_racing_writers_never_mix(void **state)
{
    const char *path = in_folder(*state, "out"), *part = in_folder(*state, ".out.bang-part");
    pthread_t threads[4];
    struct race races[4];
    int won = 0;
    for (int i = 0; i < 4; i++) {
        races[i] = (struct race){.path = path, .letter = (char)('a' + i)};
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, &races[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(races[i].refused.message, "");
        won += races[i].won;
    }
    assert_true(won >= 1);
    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_int_equal(size, 300);
    for (size_t i = 1; i < size; i++)
        assert_int_equal(text[i], text[0]);
    free(text);
    assert_false(exists(part));
}

static void test_failed_write_leaves_the_target(void **state)
{
    const char *path = in_folder(*state, "out"), *part = in_folder(*state, ".out.bang-part");
    put(path, "old");
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bang_file *file;
    bang_error err = {0};
    int begun = bang_file_begin(&file, path, &err);
    static const char block[70000] = "x";
    bang_file_write(file, block, sizeof block);
    bang_file_write(file, block, sizeof block); /* written in part, then refused */
    bang_file_write(file, block, sizeof block);
    int code = bang_file_commit(file, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(begun, 0);
    assert_int_equal(code, BANG_EIO);
    assert_non_null(strstr(err.message, "out"));
    check_content(path, "old");
    assert_false(exists(part));
}

static void test_bad_targets(void **state)
{
    const char *folder = *state;
    bang_file *file;
    bang_error err = {0};
    assert_int_equal(bang_file_begin(&file, folder, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "is a folder"));
    assert_int_equal(bang_file_begin(&file, "", &err), BANG_EUSAGE);
    assert_int_equal(bang_file_begin(&file, in_folder(folder, "x/"), &err), BANG_EUSAGE);
    assert_int_equal(bang_file_begin(&file, in_folder(folder, "none/x"), &err), BANG_EIO);
    assert_non_null(strstr(err.message, "none/x"));
    char name[400];
    memset(name, 'n', sizeof name);
    name[250] = '\0'; /* a legal name, but not with what is added to it */
    assert_int_equal(bang_file_begin(&file, in_folder(folder, name), &err), BANG_EIO);
    assert_null(file);
    put(in_folder(folder, "plain"), "");
    assert_int_equal(bang_file_begin(&file, in_folder(folder, "plain/x"), &err), BANG_EIO);
    /* Something that is no file has the part's name. */
    assert_int_equal(mkdir(in_folder(folder, ".out.bang-part"), 0777), 0);
    assert_int_equal(bang_file_begin(&file, in_folder(folder, "out"), &err), BANG_EIO);
    assert_int_equal(mkfifo(in_folder(folder, ".two.bang-part"), 0666), 0);
    assert_int_equal(bang_file_begin(&file, in_folder(folder, "two"), &err), BANG_EIO);
    assert_int_equal(symlink("plain", in_folder(folder, ".tri.bang-part")), 0);
    assert_int_equal(bang_file_begin(&file, in_folder(folder, "tri"), &err), BANG_EIO);
}

static void test_links_and_rights_stay(void **state)
{
    const char *path = in_folder(*state, "real"), *link = in_folder(*state, "link");
    struct stat status;
    put(path, "old");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("real", link), 0);
    put(link, "new");
    check_content(path, "new");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

/* Who is killed while he replaces what nobody may write leaves what the next can open. */
static void test_read_only_target(void **state)
{
    const char *path = in_folder(*state, "out"), *part = in_folder(*state, ".out.bang-part");
    struct stat status;
    put(path, "old");
    assert_int_equal(chmod(path, 0440), 0);
    killed_writer(path, "garbage");
    assert_int_equal(stat(part, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    put(path, "new");
    check_content(path, "new");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0440);
}

/* Stands in for the system's: the disk is full. */
static int full;

int fsync(int descriptor)
{
    errno = ENOSPC;
    return full ? -1 : (int)syscall(SYS_fsync, descriptor);
}

static void test_full_disk(void **state)
{
    const char *path = in_folder(*state, "out");
    bang_error err = {0}, again = {0};
    full = 1;
    int code = bang_file_put(path, "new", 3, &err);
    full = 0;
    assert_int_equal(code, BANG_EIO);
    assert_non_null(strstr(err.message, "device: make room or choose another disk"));
    put(path, "old");
    full = 1;
    code = bang_file_put(path, "new", 3, &again);
    full = 0;
    assert_int_equal(code, BANG_EIO);
    assert_non_null(strstr(again.message, "it is as it was before"));
    check_content(path, "old");
}

static void test_read_errors(void **state)
{
    char *text = (char *)1;
    size_t size = 1;
    bang_error err = {0};
    assert_int_equal(bang_file_read(&text, &size, in_folder(*state, "none"), &err), BANG_EIO);
    assert_null(text);
    assert_int_equal(size, 0);
    assert_non_null(strstr(err.message, "none: No such file"));
    assert_int_equal(bang_file_read(&text, &size, *state, &err), BANG_EIO);
    assert_null(text);
}

static void test_folders(void **state)
{
    bang_error err = {0};
    const char *deep = in_folder(*state, "a/b//c/"), *file = in_folder(*state, "plain");
    assert_int_equal(bang_folder_create(deep, &err), 0);
    assert_true(exists(in_folder(*state, "a/b/c")));
    assert_int_equal(bang_folder_create(deep, &err), 0);
    assert_int_equal(bang_folder_create("/", &err), 0);
    assert_int_equal(bang_folder_create(".", &err), 0);
    assert_int_equal(bang_folder_create("", &err), BANG_EUSAGE);
    put(file, "");
    assert_int_equal(bang_folder_create(file, &err), BANG_EIO);
    assert_int_equal(bang_folder_create(in_folder(*state, "plain/x"), &err), BANG_EIO);
    assert_non_null(strstr(err.message, "plain/x"));
}

static void test_join(void **state)
{
    (void)state;
    static const char *cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}, {"a", "", "a/"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = bang_path_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        free(path);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_put_and_read),
        IN_FOLDER(test_nothing_until_commit),
        IN_FOLDER(test_many_writes_of_any_size),
        IN_FOLDER(test_killed_writer_changes_nothing),
        IN_FOLDER(test_second_writer_is_refused),
        IN_FOLDER(test_lock_on_a_file_that_was_renamed),
        IN_FOLDER(test_racing_writers_never_mix),
        IN_FOLDER(test_failed_write_leaves_the_target),
        IN_FOLDER(test_bad_targets),
        IN_FOLDER(test_links_and_rights_stay),
        IN_FOLDER(test_read_only_target),
        IN_FOLDER(test_full_disk),
        IN_FOLDER(test_read_errors),
        IN_FOLDER(test_folders),
        IN_FOLDER(test_bytes_replaced),
        cmocka_unit_test(test_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
