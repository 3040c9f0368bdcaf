#include "train/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/agree.h"
#include "bang/base/digest.h"

int train_agree_about(const json_t *about, const bang_train_state *state, int skip_bad,
                      bang_ranks *ranks, bang_error *err)
{
    if (bang_ranks_count(ranks) == 1)
        return 0;
    json_t *all = json_copy((json_t *)about);
    int failed = !all || json_object_set_new(all, "state", json_boolean(state->path != NULL)) < 0 ||
                 json_object_set_new(all, "resume", json_boolean(state->resume)) < 0 ||
                 json_object_set_new(all, "skip bad pictures", json_boolean(skip_bad)) < 0;
    if (all)
        json_object_del(all, "threads"); /* machines may have other numbers of cores */
    int rc = failed ? bang_fail_memory(err) : bang_ranks_agree(ranks, all, err);
    json_decref(all);
    return rc;
}

int train_agree_bytes(const void *data, size_t size, const char *what, bang_ranks *ranks,
                      bang_error *err)
{
    /* the largest of a byte and of its complement: all are one where the two are complements */
    char digest[BANG_DIGEST_TEXT];
    uint8_t most[2][BANG_DIGEST_TEXT];
    if (bang_ranks_count(ranks) == 1)
        return 0;
    int rc = bang_digest_bytes(digest, data, size, err);
    for (size_t i = 0; rc == 0 && i < sizeof digest; i++) {
        most[0][i] = (uint8_t)digest[i];
        most[1][i] = (uint8_t)~most[0][i];
    }
    if (rc == 0)
        rc = bang_ranks_max_u8(ranks, most[0], sizeof most, err);
    for (size_t i = 0; rc == 0 && i < sizeof digest; i++)
        if ((most[0][i] ^ most[1][i]) != 0xFF)
            rc = bang_fail(err, BANG_EDATA,
                           "ranks: %s are no longer the same on all: use machines with processors "
                           "of one kind, and look for broken memory; the last state is whole",
                           what);
    return rc;
}

static const char *reason(const bang_feed *feed, uint32_t picture)
{
    for (size_t n = 0; n < bang_feed_bad_count(feed); n++)
        if (bang_feed_bad_picture(feed, n) == picture)
            return bang_feed_bad(feed, n);
    return "";
}

int train_share_bad(const train_bad *bad, const bang_feed *feed, bang_ranks *ranks, bang_error *err)
{
    enum { LINE = sizeof((bang_error *)0)->message };
    size_t from, to, new = 0;
    for (size_t i = 0; i < bad->count; i++)
        new += bad->missing[i] && !bad->told[bad->picture[i]];
    if (new == 0)
        return 0;
    char *lines = calloc(bad->count, LINE);
    if (!lines)
        return bang_fail_memory(err);
    bang_ranks_share(&from, &to, ranks, bad->count);
    for (size_t i = from; i < to; i++)
        if (bad->missing[i]) {
            const char *why = reason(feed, bad->picture[i]);
            size_t size = strlen(why);
            memcpy(lines + i * LINE, why, size < LINE ? size : LINE - 1);
        }
    int rc = bang_ranks_gather(ranks, lines, LINE, bad->count, err);
    for (size_t i = 0; rc == 0 && i < bad->count; i++)
        if (bad->missing[i] && !bad->told[bad->picture[i]]) {
            bad->told[bad->picture[i]] = 1;
            bad->hear(bad->context, lines + i * LINE);
        }
    free(lines);
    return rc;
}
