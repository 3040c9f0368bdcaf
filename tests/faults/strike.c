/* Runs a command and sends it a signal after some time:
 *     strike SIGNAL MICROSECONDS COMMAND [ARGUMENT...]
 *     strike measure 0 COMMAND [ARGUMENT...]
 *     strike writes 0 COMMAND [ARGUMENT...]
 * SIGNAL is a number. The exit status is the command's, or 128 + the signal that ended it, which is
 * also said unless it is SIGKILL; with measure the microseconds that it took are printed in place
 * of all that it says, with writes each piece that it wrote to its standard error on a line of its
 * own, after its size. A command that goes on for a minute is killed: status 124. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 60, GAVE_UP = 124 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 1 once the child has ended; waits until the clock shows end at most. */
static int wait_until(pid_t child, int *status, double end, const sigset_t *children)
{
    for (;;) {
        if (waitpid(child, status, WNOHANG) == child)
            return 1;
        double left = end - now();
        if (left <= 0)
            return 0;
        struct timespec t = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
        sigtimedwait(children, NULL, &t);
    }
}

static void print_pieces(const int ends[2])
{
    char piece[PIPE_BUF];
    ssize_t size;
    close(ends[1]);
    while ((size = read(ends[0], piece, sizeof piece)) > 0)
        printf("%zd %.*s%s", size, (int)size, piece, piece[size - 1] == '\n' ? "" : "\n");
    close(ends[0]);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: strike SIGNAL|measure|writes MICROSECONDS COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    int measure = strcmp(argv[1], "measure") == 0, writes = strcmp(argv[1], "writes") == 0;
    int number = (int)strtol(argv[1], NULL, 10), status = 0, ends[2] = {-1, -1};
    sigset_t children, before;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &before);
    if (writes && pipe2(ends, O_CLOEXEC | O_DIRECT) < 0) { /* one packet for each write */
        perror("strike: pipe");
        return 2;
    }
    double begin = now();
    pid_t child = fork();
    if (child < 0) {
        perror("strike: fork");
        return 2;
    }
    if (child == 0) {
        int nowhere = measure ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
        if (nowhere >= 0) {
            dup2(nowhere, 1);
            dup2(nowhere, 2);
        }
        if (writes)
            dup2(ends[1], 2);
        signal(SIGINT, SIG_DFL); /* a shell ignores it in what runs in the background */
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[3], argv + 3);
        perror(argv[3]);
        _exit(127);
    }
    if (writes)
        print_pieces(ends);
    double strike = measure || writes ? PATIENCE : 1e-6 * strtod(argv[2], NULL);
    int ended = wait_until(child, &status, begin + strike, &children), late = 0;
    if (!ended && !measure && !writes) {
        kill(child, number);
        ended = wait_until(child, &status, now() + PATIENCE, &children);
    }
    if (!ended) {
        late = 1;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    if (measure)
        printf("%.0f\n", 1e6 * (now() - begin));
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        fprintf(stderr, "strike: ended by signal %d\n", WTERMSIG(status));
    return late ? GAVE_UP : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
