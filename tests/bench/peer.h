/* The other side of a comparison: a process that says "ready ABOUT" and then answers
 * lines. Its pipes close in other processes too: else it would wait for ever. */
#ifndef BANG_TESTS_BENCH_PEER_H
#define BANG_TESTS_BENCH_PEER_H

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

extern char **environ;

typedef struct peer {
    pid_t process;
    FILE *in, *out; /* what it reads, what it writes */
    char about[64];
} peer;

/* Starts the program line[0] and waits until it is ready. Returns -1 when it cannot. */
static inline int start_peer(peer *p, char *const line[])
{
    int to[2], from[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 ||
        posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    int rc = posix_spawn(&p->process, line[0], &actions, NULL, line, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    p->in = fdopen(to[1], "w");
    p->out = fdopen(from[0], "r");
    if (rc != 0 || !p->in || !p->out)
        return -1;
    return fscanf(p->out, "ready %63[^\n]", p->about) == 1 ? 0 : -1;
}

#endif
