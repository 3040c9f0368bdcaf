/* A command as one of several ranks. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static bang_ranks *ranks;
static int sharing, agreed;
static bang_error lost; /* the rank whose loss was said, while this one was computing */

/* All ranks run the same command: others would wait for what never comes. */
static int agree_on_command(const char *command, bang_error *err)
{
    char first[48] = "", own[48] = "";
    uint8_t fine = 1;
    snprintf(own, sizeof own, "%s", command ? command : "no command");
    if (bang_ranks_rank(ranks) == 0)
        memcpy(first, own, sizeof first);
    int rc = bang_ranks_broadcast(ranks, first, sizeof first, err);
    if (rc == 0 && memcmp(first, own, sizeof first) != 0)
        rc = bang_fail(err, BANG_EUSAGE,
                       "runs another command than rank 0: %s, not %s: start all ranks with the "
                       "same command",
                       own, first);
    return rc < 0 ? rc : bang_ranks_max_u8(ranks, &fine, 1, err);
}

static void tell_lost(void *context, const bang_error *why)
{
    const char *command = context;
    cli_say("bang%s%s: %s\n", command ? " " : "", command ? command : "", why->message);
    lost = *why;
}

int cli_ranks_open(const char *command, int shared)
{
    bang_error err = {0};
    sharing = shared;
    if (!bang_ranks_launched())
        return CLI_DONE;
    if (bang_ranks_open(&ranks, cli_cancel(), &err) < 0) {
        /* that they were started in a wrong way all of them know */
        if (err.code != BANG_EUSAGE || bang_ranks_launched_first())
            cli_say("bang: %s\n", err.message);
        return cli_status(err.code);
    }
    bang_ranks_watch(ranks, tell_lost, (void *)command);
    if (bang_ranks_rank(ranks) > 0 && !freopen("/dev/null", "w", stdout)) {
        bang_fail(&err, BANG_EIO, "/dev/null: cannot be opened");
        bang_ranks_close(ranks, &err, &err);
        ranks = NULL;
        return CLI_FAILED;
    }
    if (agree_on_command(command, &err) < 0) {
        if (cli_agree(&err))
            cli_say("bang: %s\n", err.message);
        return cli_status(err.code);
    }
    return CLI_DONE;
}

bang_ranks *cli_ranks(void)
{
    return sharing ? ranks : NULL;
}

int cli_speaks(void)
{
    return bang_ranks_speaks(ranks);
}

void cli_ranks_note(cli *c)
{
    if (c->ranks && c->threads == 0)
        c->threads = bang_ranks_threads(c->ranks);
    int first, apart = bang_ranks_apart(&first);
    if (apart && first && sharing && !c->quiet && !c->help)
        fprintf(stderr,
                "bang %s: note: srun started %d processes that do not know of each other: each "
                "does the whole work: to share it say srun --mpi=pmix\n",
                c->command, apart);
    if (ranks && !c->ranks && !c->quiet && !c->help) {
        char others[32] = "the other waits";
        if (bang_ranks_count(ranks) > 2)
            snprintf(others, sizeof others, "the other %d wait", bang_ranks_count(ranks) - 1);
        fprintf(stderr, "bang %s: note: works in one process: %s for it\n", c->command, others);
    }
}

int cli_agree(bang_error *err)
{
    /* Of several failures in a row all ranks hear the first. */
    if (ranks && !agreed)
        bang_ranks_finish(ranks, err, err);
    agreed = 1;
    if (lost.code && strcmp(lost.message, err->message) == 0) /* once is enough */
        bang_fail(err, lost.code, "stopped");
    return cli_speaks();
}

int cli_ranks_close(int status)
{
    bang_error err = {0};
    if (!ranks)
        return status;
    if (status != CLI_DONE && !agreed) {
        bang_fail(&err, status == CLI_USAGE ? BANG_EUSAGE : BANG_EIO, "failed");
        cli_agree(&err);
    }
    int rc = bang_ranks_finish(ranks, NULL, &err);
    if (rc < 0 && status == CLI_DONE) {
        if (cli_speaks())
            cli_say("bang: %s\n", err.message);
        status = cli_status(rc);
    }
    bang_ranks_close(ranks, NULL, &err);
    ranks = NULL;
    return status;
}
