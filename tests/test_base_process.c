/* Running another program: what comes back, what is left, how it is stopped. */
#include "testing.h"

#include <fcntl.h>
#include <unistd.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/base/process.h"

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* Neither a child nor a descriptor may be left, whatever happened. */
static int open_before;

static int count_before(void **state)
{
    open_before = descriptors();
    return make_folder(state);
}

static int nothing_left(void **state)
{
    int children = waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
    int left = descriptors() != open_before;
    return drop_folder(state) || children || left;
}

static int shell(char **output, int *status, const char *folder, const char *script,
                 bang_cancel *cancel, bang_error *err)
{
    const char *const line[] = {"sh", "-c", script, NULL};
    return bang_process_run(output, status, folder, line, cancel, err);
}

static void check(const char *script, const char *expected, int expected_status)
{
    char *output = NULL;
    int status = -1;
    bang_error err = {0};
    if (shell(&output, &status, NULL, script, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(output, expected);
    assert_int_equal(status, expected_status);
    free(output);
}

static void test_output_and_status(void **state)
{
    (void)state;
    check("echo out; echo err >&2; exit 3", "out\nerr\n", 3);
    check("true", "", 0);
    check("kill -9 $$", "", 128 + 9);
    check("cat", "", 0); /* there is no input to wait for */
    /* Output closed long before the end, and held longer than the program lives. */
    check("exec >&- 2>&-; sleep 0.05; exit 4", "", 4);
    check("sleep 0.3 & echo first", "first\n", 0);
    assert_int_equal(shell(NULL, NULL, NULL, "echo unwanted", NULL, NULL), 0);
}

/* What a program says on stderr is no part of its answer. */
static void test_capture(void **state)
{
    (void)state;
    const char *const line[] = {"sh", "-c", "echo noise >&2; echo 7; exit 3", NULL};
    char *output = NULL;
    int status = 0, null = open("/dev/null", O_WRONLY), saved = dup(2);
    bang_error err = {0};
    dup2(null, 2); /* the noise is ours; not in the log of the tests */
    int code = bang_process_capture(&output, &status, NULL, line, NULL, &err);
    dup2(saved, 2);
    close(null);
    close(saved);
    assert_int_equal(code, 0);
    assert_int_equal(status, 3);
    assert_string_equal(output, "7\n");
    free(output);
}

static void test_more_than_a_pipe_holds(void **state)
{
    (void)state;
    char *output = NULL;
    int status = -1;
    assert_int_equal(shell(&output, &status, NULL,
                           "i=0; while [ $i -lt 20000 ]; do echo line$i; i=$((i+1)); done", NULL,
                           NULL),
                     0);
    assert_int_equal(status, 0);
    assert_int_equal(strncmp(output, "line0\nline1\n", 12), 0);
    assert_string_equal(output + strlen(output) - 10, "line19999\n");
    free(output);
}

static void test_folder(void **state)
{
    char *output = NULL, *real = realpath(*state, NULL);
    bang_error err = {0};
    assert_int_equal(shell(&output, NULL, *state, "pwd -P", NULL, &err), 0);
    output[strlen(output) - 1] = '\0';
    assert_string_equal(output, real);
    free(output);
    free(real);
    assert_int_equal(shell(&output, NULL, in_folder(*state, "none"), "pwd", NULL, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "none: No such file"));
    assert_null(output);
    assert_int_equal(bang_file_put(in_folder(*state, "file"), "", 0, &err), 0);
    assert_int_equal(shell(&output, NULL, in_folder(*state, "file"), "pwd", NULL, &err), BANG_EIO);
}

static void test_program_that_is_not_there(void **state)
{
    (void)state;
    const char *const line[] = {"bang-no-such-program", "x", NULL};
    char *output = (char *)1;
    int status = -7;
    bang_error err = {0};
    assert_int_equal(bang_process_run(&output, &status, NULL, line, NULL, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "bang-no-such-program"));
    assert_null(output);
    assert_int_equal(status, -7);
}

/* Signals that we block or ignore are not the child's business. */
static void test_signals_are_as_at_login(void **state)
{
    (void)state;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    check("kill -TERM $$; echo still here", "", 128 + SIGTERM);
    check("kill -PIPE $$; echo still here", "", 128 + SIGPIPE);
    signal(SIGPIPE, handler);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *raise_soon(void *cancel)
{
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
    atomic_store(&((bang_cancel *)cancel)->raised, 1);
    return NULL;
}

/* Runs script, cancels it and gives the seconds that took. */
static double cancelled(const char *folder, const char *script)
{
    bang_cancel cancel = {0};
    pthread_t thread;
    char *output = (char *)1;
    bang_error err = {0};
    double begin = seconds();
    assert_int_equal(pthread_create(&thread, NULL, raise_soon, &cancel), 0);
    assert_int_equal(shell(&output, NULL, folder, script, &cancel, &err), BANG_ECANCELLED);
    pthread_join(thread, NULL);
    assert_null(output);
    return seconds() - begin;
}

static void test_cancel_ends_the_whole_group(void **state)
{
    assert_true(cancelled(*state, "sleep 30 & echo $! >grandchild; wait") < 5);
    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, in_folder(*state, "grandchild"), NULL), 0);
    pid_t grandchild = (pid_t)strtol(text, NULL, 10);
    free(text);
    assert_true(grandchild > 1);
    /* It is nobody's child now, and init may take a moment to bury it. */
    for (int i = 0; i < 200; i++) {
        char path[64], stat[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)grandchild);
        FILE *file = fopen(path, "r");
        if (!file || !fgets(stat, sizeof stat, file) || strstr(stat, ") Z ")) {
            if (file)
                fclose(file);
            return;
        }
        fclose(file);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    fail_msg("the grandchild %d lives on", (int)grandchild);
}

static void test_cancel_of_a_program_that_does_not_listen(void **state)
{
    double took = cancelled(*state, "trap '' TERM; while :; do sleep 0.05; done");
    assert_true(took > 1 && took < 10);
}

/* A child of a rank is none. */
static void test_ranks_are_not_inherited(void **state)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE",
                                        "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        setenv(marks[i], "3", 1);
    setenv("OMPIC", "stays", 1);
    check("env | grep -c -e ^OMPI_ -e ^PMI -e ^SLURM_; echo $OMPIC", "0\nstays\n", 0);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        unsetenv(marks[i]);
}

static void test_cancelled_before_the_start(void **state)
{
    bang_cancel cancel = {1};
    char *output = (char *)1;
    assert_int_equal(shell(&output, NULL, *state, "echo >ran", &cancel, NULL), BANG_ECANCELLED);
    assert_null(output);
    assert_int_not_equal(access(in_folder(*state, "ran"), F_OK), 0);
}

#define CLEAN(test) cmocka_unit_test_setup_teardown(test, count_before, nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(test_output_and_status),
        CLEAN(test_capture),
        CLEAN(test_more_than_a_pipe_holds),
        CLEAN(test_folder),
        CLEAN(test_program_that_is_not_there),
        CLEAN(test_signals_are_as_at_login),
        CLEAN(test_ranks_are_not_inherited),
        CLEAN(test_cancel_ends_the_whole_group),
        CLEAN(test_cancel_of_a_program_that_does_not_listen),
        CLEAN(test_cancelled_before_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
