/* What is said and held about the state of a training. */
#include <stdlib.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "train.h"

int train_hold(bang_lock **out, const cli *c, const train_request *r, bang_error *err)
{
    *out = NULL;
    cli_cancel(); /* so that it is given back */
    /* no state: the output is no regular file; of several ranks the first alone writes */
    if (!r->state || bang_ranks_rank(c->ranks) > 0)
        return 0;
    char *path = bang_path_hidden(r->state, ".bang-lock");
    int rc = path ? bang_lock_take(out, path, err) : bang_fail_memory(err);
    free(path);
    return rc <= 0 ? rc
                   : bang_fail(err, BANG_EIO,
                               "%s: another training is writing it: wait for its end or name "
                               "another output",
                               r->state);
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

int train_interrupted(const cli *c, const train_request *r, uint64_t saved)
{
    struct stat info;
    bang_error err = {.code = BANG_ECANCELLED};
    int speaks = cli_agree(&err);
    const char *why = err.code == BANG_ECANCELLED ? "interrupted" : err.message;
    if (speaks && saved)
        cli_say("bang %s: %s: step %llu of %llu is saved: go on with the same command and "
                "--resume\n",
                c->command, why, (unsigned long long)saved, (unsigned long long)r->options.steps);
    else if (speaks && r->resume && r->state && stat(r->state, &info) == 0)
        cli_say("bang %s: %s: %s is as it was: go on with the same command\n", c->command, why,
                r->state);
    else if (speaks)
        cli_say("bang %s: %s\n", c->command, why);
    return cli_status(err.code);
}

void train_failed(const cli *c, const train_request *r, uint64_t saved)
{
    if (!saved || !cli_speaks())
        return;
    fprintf(stderr, "bang %s: ", c->command);
    if (bang_ranks_rank(c->ranks) == 0)
        fprintf(stderr, "step %llu of %llu is saved", (unsigned long long)saved,
                (unsigned long long)r->options.steps);
    else /* and which step that was, only rank 0 knew */
        fputs("what rank 0 has saved is whole", stderr);
    fprintf(stderr, ": when the cause is mended%s, go on with the same command and --resume\n",
            r->kind == TRAIN_MLP ? "" : ", or with --on-bad-image skip");
}
