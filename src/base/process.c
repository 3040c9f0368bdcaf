#include "bang/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bang/base/text.h"

enum {
    LONGEST_SLEEP = 50, /* milliseconds until cancel is looked at again */
    GRACE = 2000,       /* milliseconds between asking a program to end and ending it */
    CHUNK = 16 * 1024,
};

struct child {
    pid_t id;     /* also the id of its process group */
    int output;   /* our end of the pipe, not blocking; -1 after its end */
    int keep;     /* output is wanted */
    int errors;   /* what goes to stderr is output too */
    int sleep;    /* milliseconds; grows while nothing happens */
    int lost;     /* somebody else has taken the exit status */
    siginfo_t at; /* how it ended; si_pid is 0 until then */
    bang_text text;
};

static void close_output(struct child *child)
{
    if (child->output >= 0)
        close(child->output);
    child->output = -1;
}

/* Takes what the pipe holds now. */
static void drain(struct child *child)
{
    char chunk[CHUNK];
    while (child->output >= 0) {
        ssize_t n = read(child->output, chunk, sizeof chunk);
        if (n > 0) {
            child->sleep = 1;
            if (child->keep)
                bang_text_add_bytes(&child->text, chunk, (size_t)n);
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            close_output(child);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* Sleeps until there is output, at most for a moment, and takes it. The end of
 * the pipe comes shortly before or long before the end of the program, and a
 * grandchild may hold the pipe longer, so neither stands for the other. */
static void wait_a_moment(struct child *child)
{
    struct pollfd event = {.fd = child->output, .events = POLLIN};
    poll(&event, 1, child->sleep);
    child->sleep = child->sleep * 2 < LONGEST_SLEEP ? child->sleep * 2 : LONGEST_SLEEP;
    drain(child);
}

/* 1 when the program has ended. It is not reaped: its id stays ours. */
static int has_ended(struct child *child)
{
    while (waitid(P_PID, (id_t)child->id, &child->at, WEXITED | WNOHANG | WNOWAIT) < 0) {
        if (errno != EINTR) {
            child->lost = 1;
            return 1;
        }
    }
    return child->at.si_pid != 0;
}

/* Asks the whole group to end, and after a while does not ask. Whoever of the
 * group outlives the program itself goes too. */
static void end_group(struct child *child)
{
    int waited = 0;
    kill(-child->id, SIGTERM);
    child->sleep = 1;
    while (!has_ended(child) && waited < GRACE) {
        waited += child->sleep;
        wait_a_moment(child);
    }
    kill(-child->id, SIGKILL);
    while (!has_ended(child))
        wait_a_moment(child);
}

/* What the child starts with: no input, its outputs in the pipe, a process
 * group of its own, and no signal blocked or ignored because we do. */
static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                   const char *folder, int pipe_end, int errors)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int why = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!why)
        why = posix_spawn_file_actions_adddup2(actions, pipe_end, 1);
    if (!why && errors)
        why = posix_spawn_file_actions_adddup2(actions, pipe_end, 2);
    if (!why && folder)
        why = posix_spawn_file_actions_addchdir_np(actions, folder);
    if (!why)
        why = posix_spawnattr_setsigmask(attributes, &none);
    if (!why)
        why = posix_spawnattr_setsigdefault(attributes, &all);
    if (!why)
        why = posix_spawnattr_setpgroup(attributes, 0);
    if (!why)
        why = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                       POSIX_SPAWN_SETSIGMASK);
    return why;
}

/* What launchers tell a rank about itself. A program that it starts is no rank: if it read that, it
 * would wait for others, or answer in the rank's place. */
static int is_of_ranks(const char *variable)
{
    static const char *const marks[] = {"OMPI_", "PMIX_", "PMI_",
                                        "SLURM_PROCID=", "SLURM_STEP_NUM_TASKS="};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(variable, marks[i], strlen(marks[i])) == 0)
            return 1;
    return 0;
}

/* The environment without that; free it, not what it points to. */
static char **own_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **out = calloc(count + 1, sizeof *out);
    for (size_t i = 0; out && i < count; i++)
        if (!is_of_ranks(environ[i]))
            out[kept++] = environ[i];
    return out;
}

/* 0 or an errno. */
static int spawn(pid_t *id, const char *folder, const char *const line[], int pipe_end, int errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **environment = own_environment();
    int why = environment ? posix_spawn_file_actions_init(&actions) : ENOMEM;
    if (why) {
        free(environment);
        return why;
    }
    why = posix_spawnattr_init(&attributes);
    if (!why) {
        why = prepare(&actions, &attributes, folder, pipe_end, errors);
        /* The prototype lacks a const for historical reasons only. */
        if (!why)
            why =
                posix_spawnp(id, line[0], &actions, &attributes, (char *const *)line, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return why;
}

static int start(struct child *child, const char *folder, const char *const line[], bang_error *err)
{
    int ends[2];
    struct stat status;
    /* Looked at first, since a folder and a program that are not there give
     * the same errno. */
    if (folder && stat(folder, &status) < 0)
        return bang_fail(err, BANG_EIO, "%s: %s: cannot run %s there", folder, strerror(errno),
                         line[0]);
    if (folder && !S_ISDIR(status.st_mode))
        return bang_fail(err, BANG_EIO, "%s: is no folder: cannot run %s there", folder, line[0]);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return bang_fail(err, BANG_EIO, "%s: %s: cannot start it", line[0], strerror(errno));
    int why = 0, flags = fcntl(ends[0], F_GETFL);
    if (flags < 0 || fcntl(ends[0], F_SETFL, flags | O_NONBLOCK) < 0)
        why = errno;
    /* dup2 onto itself would leave close-on-exec set where our own output was
     * closed and the pipe got its number. */
    if (!why && ends[1] <= 2) {
        int moved = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
        why = moved < 0 ? errno : 0;
        if (!why) {
            close(ends[1]);
            ends[1] = moved;
        }
    }
    if (!why)
        why = spawn(&child->id, folder, line, ends[1], child->errors);
    close(ends[1]);
    child->output = ends[0];
    if (!why)
        return 0;
    close_output(child);
    return bang_fail(err, BANG_EIO, "%s: %s: %s", line[0], strerror(why),
                     why == ENOENT ? "install it or put it into PATH" : "cannot start it");
}

static int reap(int *status, struct child *child, const char *name, bang_error *err)
{
    int rc;
    do
        rc = waitpid(child->id, NULL, 0);
    while (rc < 0 && errno == EINTR);
    if (child->lost || rc < 0)
        return bang_fail(err, BANG_EIO, "%s: its exit status is lost: do not ignore SIGCHLD", name);
    *status = child->at.si_code == CLD_EXITED ? child->at.si_status : 128 + child->at.si_status;
    return 0;
}

static int run(char **output, int *status, const char *folder, const char *const line[], int errors,
               bang_cancel *cancel, bang_error *err)
{
    struct child child = {.output = -1, .keep = output != NULL, .errors = errors, .sleep = 1};
    int ended = 0, cut = 0;
    if (output)
        *output = NULL;
    if (bang_cancelled(cancel))
        return bang_fail(err, BANG_ECANCELLED, "%s: not started: cancelled", line[0]);
    int code = start(&child, folder, line, err);
    if (code < 0)
        return code;
    while (!ended && !cut) {
        wait_a_moment(&child);
        cut = bang_cancelled(cancel) || child.text.failed;
        ended = has_ended(&child);
    }
    if (!ended)
        end_group(&child);
    drain(&child);
    close_output(&child);
    bang_text_add_bytes(&child.text, "", 0); /* also nothing is terminated */
    code = reap(&ended, &child, line[0], err);
    if (code == 0 && child.text.failed)
        code = bang_fail_memory(err);
    else if (code == 0 && cut)
        code = bang_fail(err, BANG_ECANCELLED, "%s: ended before it was done: cancelled", line[0]);
    if (code == 0 && status)
        *status = ended;
    if (code == 0 && output)
        *output = child.text.data;
    else
        bang_text_release(&child.text);
    return code;
}

int bang_process_run(char **output, int *status, const char *folder, const char *const line[],
                     bang_cancel *cancel, bang_error *err)
{
    return run(output, status, folder, line, 1, cancel, err);
}

int bang_process_capture(char **output, int *status, const char *folder, const char *const line[],
                         bang_cancel *cancel, bang_error *err)
{
    return run(output, status, folder, line, 0, cancel, err);
}
