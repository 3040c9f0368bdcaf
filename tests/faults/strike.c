/* Runs a command and sends it a signal after some time:
 *     strike SIGNAL MICROSECONDS COMMAND [ARGUMENT...]
 *     strike measure 0 COMMAND [ARGUMENT...]
 * SIGNAL is a number. The exit status is the command's, or 128 + the signal that ended it; with
 * measure the microseconds that it took are printed in place of all that it says. A command
 * that goes on for a minute is killed: status 124. */
#include <errno.h>
#include <fcntl.h>
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

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: strike SIGNAL|measure MICROSECONDS COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    int measure = strcmp(argv[1], "measure") == 0, status = 0;
    int number = (int)strtol(argv[1], NULL, 10);
    sigset_t children, before;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &before);
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
        signal(SIGINT, SIG_DFL); /* a shell ignores it in what runs in the background */
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[3], argv + 3);
        perror(argv[3]);
        _exit(127);
    }
    double strike = measure ? PATIENCE : 1e-6 * strtod(argv[2], NULL);
    int ended = wait_until(child, &status, begin + strike, &children), late = 0;
    if (!ended && !measure) {
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
    return late ? GAVE_UP : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
