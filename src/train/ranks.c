#include "train/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/digest.h"
#include "train/state.h"

int train_agree_about(const json_t *about, bang_ranks *ranks, bang_error *err)
{
    if (bang_ranks_count(ranks) == 1)
        return 0;
    char *text = bang_json_line(about);
    uint64_t size = text ? strlen(text) + 1 : 0;
    int rc = text ? bang_ranks_broadcast(ranks, &size, sizeof size, err) : bang_fail_memory(err);
    char *first = rc == 0 ? malloc((size_t)size) : NULL;
    if (rc == 0 && !first)
        rc = bang_fail_memory(err);
    if (rc == 0 && bang_ranks_rank(ranks) == 0)
        memcpy(first, text, (size_t)size);
    if (rc == 0)
        rc = bang_ranks_broadcast(ranks, first, (size_t)size, err);
    if (rc == 0) {
        bang_text differences = {0};
        rc = train_about_compare(&differences, about, first);
        if (rc < 0 || differences.failed)
            rc = bang_fail_memory(err);
        else if (differences.size)
            rc = bang_fail(err, BANG_EUSAGE,
                           "rank %d: is to do something else than rank 0: %.600s: give all ranks "
                           "the same options, data and network",
                           bang_ranks_rank(ranks), differences.data + 2);
        bang_text_release(&differences);
    }
    free(first);
    free(text);
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
