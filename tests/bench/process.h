/* A program that is run from start to end, and what it costs. */
#ifndef BANG_TESTS_BENCH_PROCESS_H
#define BANG_TESTS_BENCH_PROCESS_H

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

typedef struct cost {
    double seconds, cores; /* wall time and the time of all cores together */
    double peak;           /* bytes resident at most */
} cost;

static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static inline int start(pid_t *process, int to, const char *const line[])
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to, 1);
    posix_spawn_file_actions_adddup2(&actions, to, 2);
    /* posix_spawn does not write to the words, whatever its prototype says. */
    char *words[32];
    size_t count = 0;
    for (; line[count] && count < 31; count++)
        memcpy(&words[count], &line[count], sizeof *words);
    words[count] = NULL;
    int rc = posix_spawnp(process, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0 ? 0 : -1;
}

/* Starts line[0] and waits for it; what it prints, stdout and stderr, comes to
 * output, cut at size. The peak is never below what this process has itself. Says on
 * stderr what went wrong and returns -1. */
static inline int run(cost *out, char *output, size_t size, const char *const line[])
{
    int ends[2], status = 0;
    pid_t process;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    double begin = now();
    int rc = start(&process, ends[1], line);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        fprintf(stderr, "%s: cannot be started\n", line[0]);
        return -1;
    }
    size_t length = 0;
    char rest[4096];
    for (;;) {
        int fits = length + 1 < size;
        ssize_t done =
            read(ends[0], fits ? output + length : rest, fits ? size - length - 1 : sizeof rest);
        if (done <= 0)
            break;
        length += fits ? (size_t)done : 0;
    }
    output[length] = 0;
    close(ends[0]);
    struct rusage used = {0};
    if (wait4(process, &status, 0, &used) < 0)
        return -1;
    *out = (cost){now() - begin, seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                  1024.0 * (double)used.ru_maxrss};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    fprintf(stderr, "this failed:");
    for (size_t i = 0; line[i]; i++)
        fprintf(stderr, " %s", line[i]);
    fprintf(stderr, "\n%s", output);
    return -1;
}

#endif
