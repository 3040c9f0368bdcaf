/* What is held by a training, and said about its state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "hold.h"
#include "train.h"

int train_hold(train_locks *out, const cli *c, const train_request *r, bang_error *err)
{
    const char *const paths[TRAIN_LOCKS] = {r->output, r->state, r->log};
    struct stat info;
    int rc = 0;
    *out = (train_locks){0};
    if (bang_ranks_rank(c->ranks) > 0) /* the first alone writes */
        return 0;
    for (size_t i = 0; rc == 0 && i < TRAIN_LOCKS; i++)
        /* what is no regular file (a pipe, a terminal) may well be shared */
        if (paths[i] && (stat(paths[i], &info) < 0 || S_ISREG(info.st_mode)))
            rc = cli_hold(&out->of[i], paths[i], err);
    return rc;
}

void train_let_go(train_locks *locks)
{
    for (size_t i = 0; i < TRAIN_LOCKS; i++)
        bang_lock_give(locks->of[i]);
}

static void tell_missed(void *context, const char *why)
{
    const cli_bar *bar = context;
    fputs(bar->active ? "\r\033[K" : "", stderr);
    cli_say("bang train: warning: the state is not saved: %s: goes on, and tries again when the "
            "next is due\n",
            why);
}

int train_reserve(bang_train_state *state, const train_request *r, size_t parameters, cli_bar *bar,
                  bang_error *err)
{
    const uint64_t bytes = (uint64_t)parameters * sizeof(float);
    state->missed = tell_missed;
    state->context = bar;
    if (r->state && r->state == r->state_path) /* on the output's disk */
        state->beside = bytes;
    struct stat info;
    int regular = stat(r->output, &info) < 0 || S_ISREG(info.st_mode);
    return regular ? bang_file_room(r->output, NULL, bytes, err) : 0;
}

void train_state_notes(const cli *c, const train_request *r)
{
    struct stat info;
    int there = r->state && stat(r->state, &info) == 0;
    if (c->quiet)
        return;
    if (r->resume && !there)
        fprintf(stderr, "bang train: note: %s: is not there%s: begins at the first step\n",
                r->state,
                stat(r->output, &info) == 0 ? ", though its model is, which will be replaced" : "");
    else if (!r->resume && there)
        fprintf(stderr,
                "bang train: note: %s: is left of a run that was stopped, which --resume would go "
                "on with: begins anew\n",
                r->state);
}

/* What can be gone on with; which step rank 0 has saved, only that one knows. */
static void tell_saved(char *out, size_t size, const cli *c, const train_request *r, uint64_t saved)
{
    struct stat info;
    if (bang_ranks_rank(c->ranks) == 0)
        snprintf(out, size, "step %llu of %llu is saved", (unsigned long long)saved,
                 (unsigned long long)r->options.steps);
    else
        snprintf(out, size, "what rank 0 has saved%s is whole",
                 r->state && stat(r->state, &info) == 0 ? "" : ", if anything,");
}

int train_interrupted(const cli *c, const train_request *r, uint64_t saved)
{
    struct stat info;
    char kept[96];
    bang_error err = {.code = BANG_ECANCELLED};
    tell_saved(kept, sizeof kept, c, r, saved);
    int speaks = cli_agree(&err);
    const char *why = err.code == BANG_ECANCELLED ? "interrupted" : err.message;
    if (speaks && saved)
        cli_say("bang %s: %s: %s: go on with the same command and --resume\n", c->command, why,
                kept);
    else if (speaks && r->resume && r->state && stat(r->state, &info) == 0)
        cli_say("bang %s: %s: %s is as it was: go on with the same command\n", c->command, why,
                r->state);
    else if (speaks)
        cli_say("bang %s: %s\n", c->command, why);
    return cli_status(err.code);
}

/* A message about a picture begins with its path or number, perhaps after the rank that met it. */
static int names_picture(const char *message, const bang_images *set)
{
    static const char digits[] = "0123456789";
    if (strncmp(message, "rank ", 5) == 0) {
        const char *end = message + 5 + strspn(message + 5, digits);
        message = strncmp(end, ": ", 2) == 0 ? end + 2 : message;
    }
    for (size_t i = 0; set->paths && i < set->count; i++) {
        size_t length = strlen(set->paths[i]);
        if (strncmp(message, set->paths[i], length) == 0 && message[length] == ':')
            return 1;
    }
    return !set->paths && set->count && strncmp(message, "image ", 6) == 0;
}

int train_is_bad_picture(const bang_error *err, const bang_images *train,
                         const bang_images *validation)
{
    return (err->code == BANG_EDATA || err->code == BANG_EIO) &&
           (names_picture(err->message, train) || names_picture(err->message, validation));
}

void train_failed(const cli *c, const train_request *r, uint64_t saved, int bad_picture)
{
    char kept[96];
    if (!saved || !cli_speaks())
        return;
    tell_saved(kept, sizeof kept, c, r, saved);
    fprintf(stderr,
            "bang %s: %s: when the cause is mended%s, go on with the same command and --resume\n",
            c->command, kept, bad_picture ? ", or with --on-bad-image skip" : "");
}
