/* Locks that end with their holder, and what a sweep takes and leaves. */
#include "testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/base/lock.h"

static int exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static void test_one_at_a_time(void **state)
{
    const char *path = in_folder(*state, ".bang-lock");
    bang_lock *lock, *second;
    bang_error err = {0};
    assert_int_equal(bang_lock_is_held(path), 0);
    assert_int_equal(bang_lock_take(&lock, path, &err), 0);
    assert_int_equal(bang_lock_is_held(path), 1);
    assert_int_equal(bang_lock_take(&second, path, &err), 1);
    assert_null(second);
    bang_cancel cancel = {1};
    assert_int_equal(bang_lock_wait(&second, path, &cancel, &err), BANG_ECANCELLED);
    bang_lock_give(lock);
    assert_false(exists(path));
    assert_int_equal(bang_lock_wait(&second, path, NULL, &err), 0);
    bang_lock_give(second);
    bang_lock_give(NULL);
    assert_false(exists(path));
    assert_int_equal(bang_lock_take(&lock, in_folder(*state, "no/where"), &err), BANG_EIO);
    assert_non_null(strstr(err.message, "cannot make this lock"));
}

/* A process that holds path and is killed; what it leaves is the file. */
static void leave(const char *path)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_RDWR | O_CREAT, 0666);
        if (fd < 0 || flock(fd, LOCK_EX) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    bang_lock *lock;
    assert_int_equal(bang_lock_take(&lock, path, NULL), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready[0]);
    close(ready[1]);
    assert_true(exists(path));
}

static void test_a_killed_holder_blocks_nobody(void **state)
{
    const char *path = in_folder(*state, "left-lock");
    bang_lock *lock;
    leave(path);
    assert_int_equal(bang_lock_is_held(path), 0);
    assert_int_equal(bang_lock_take(&lock, path, NULL), 0);
    bang_lock_give(lock);
    assert_false(exists(path));
}

static int is_left(const void *context, const char *name)
{
    return strcmp(name, context) == 0;
}

static void test_sweep(void **state)
{
    static const char *const kept[] = {"plain.bang-part", ".other.part", ".bang-part"};
    static const char left[] = ".left.bang-part", live[] = ".live.bang-part";
    bang_file *file;
    assert_int_equal(chdir(*state), 0);
    leave(left);
    for (int i = 0; i < 3; i++)
        assert_int_equal(bang_file_put(kept[i], "x", 1, NULL), 0);
    assert_int_equal(bang_folder_create(".folder.bang-part", NULL), 0);
    assert_int_equal(symlink(kept[0], ".link.bang-part"), 0);
    assert_int_equal(bang_file_begin(&file, "live", NULL), 0);
    bang_folder_sweep(".", is_left, "other");
    assert_true(exists(left));
    bang_folder_sweep(".", is_left, "left");
    assert_false(exists(left));
    leave(left);
    bang_folder_sweep(".", NULL, NULL);
    assert_false(exists(left));
    for (int i = 0; i < 3; i++)
        assert_true(exists(kept[i]));
    assert_true(exists(".folder.bang-part"));
    assert_true(exists(".link.bang-part"));
    assert_true(exists(live));
    assert_int_equal(bang_file_commit(file, NULL), 0);
    bang_folder_sweep("nowhere", NULL, NULL);

    /* of one file, there or not */
    leave(left);
    bang_file_sweep("left");
    assert_false(exists(left));
    leave(live);
    bang_file_sweep("live");
    assert_false(exists(live));
    assert_true(exists("live"));
    assert_int_equal(chdir("/"), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_one_at_a_time),
        IN_FOLDER(test_a_killed_holder_blocks_nobody),
        IN_FOLDER(test_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
