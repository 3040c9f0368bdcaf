/* What is no regular file: pipes, devices, our own streams. */
#include "testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
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

static void put(const char *path, const char *text)
{
    bang_error err = {0};
    if (bang_file_put(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.message);
}

static void test_special_targets_are_written_directly(void **state)
{
    const char *path = in_folder(*state, "pipe");
    assert_int_equal(mkfifo(path, 0666), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    put(path, "through the pipe");
    char text[64] = "";
    assert_int_equal(read(reader, text, sizeof text - 1), 16);
    assert_string_equal(text, "through the pipe");
    close(reader);
    bang_error err = {0};
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(bang_file_put("/dev/full", "x", 1, &err), BANG_EIO);
    /* as a shell names the pipe of >(command) */
    int ends[2];
    char name[64];
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    put(name, "through this one");
    assert_int_equal(read(ends[0], text, sizeof text - 1), 16);
    assert_string_equal(text, "through this one");
    close(ends[0]);
    close(ends[1]);
}

static void on_alarm(int number)
{
    (void)number;
}

/* Nobody will read it: a signal ends the wait, whenever it comes. */
static void test_pipe_without_reader(void **state)
{
    const char *path = in_folder(*state, "pipe");
    struct sigaction action = {.sa_handler = on_alarm}, old;
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    bang_file *file;
    bang_error err = {0};
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(bang_file_begin_regular(&file, path, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "is no regular file: name one"));
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    int code = bang_file_begin(&file, path, &err);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(code, BANG_ECANCELLED);
    assert_null(file);
}

/* Standard output in a file: what comes before and after must stay. */
static void test_stdout_is_shared(void **state)
{
    const char *path = in_folder(*state, "out");
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY | O_CREAT, 0666);
        if (dup2(fd, 1) < 0 || write(1, "before ", 7) != 7)
            _exit(1);
        if (bang_file_put("/dev/stdout", "inside ", 7, NULL) < 0 || write(1, "after", 5) != 5)
            _exit(2);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_content(path, "before inside after");
}

/* Files whose size the system does not know before they are read. */
static void test_read_without_a_size(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3000; i++)
            if (write(ends[1], "0123456789", 10) != 10)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    char path[64], *text;
    size_t size;
    bang_error err = {0};
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(bang_file_read(&text, &size, path, &err), 0);
    assert_int_equal(size, 30000);
    assert_memory_equal(text + 29990, "0123456789", 11);
    free(text);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_special_targets_are_written_directly),
        IN_FOLDER(test_pipe_without_reader),
        IN_FOLDER(test_stdout_is_shared),
        IN_FOLDER(test_read_without_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
