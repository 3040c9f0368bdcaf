/* What ranks that train or predict together tell each other. All calls are collective, and do
 * nothing for one rank. Private to this room. */
#ifndef BANG_TRAIN_RANKS_PRIVATE_H
#define BANG_TRAIN_RANKS_PRIVATE_H

#include "bang/base/json.h"
#include "bang/base/rank.h"
#include "bang/data/feed.h"
#include "bang/train/train.h"

/* Fails on a rank that was to do something else than rank 0, naming what differs: of about, but
 * for the number of threads, and of what decides which calls follow. */
int train_agree_about(const json_t *about, const bang_train_state *state, int skip_bad,
                      bang_ranks *ranks, bang_error *err);
/* Fails on all ranks unless they hold the same bytes; what, "the weights", is for the message. */
int train_agree_bytes(const void *data, size_t size, const char *what, bang_ranks *ranks,
                      bang_error *err);

/* Pictures that could not be read, of which all are to hear. */
typedef struct train_bad {
    const uint32_t
        *picture;           /* (count) of positions that the ranks share as bang_ranks_share does */
    const uint8_t *missing; /* (count) 1: bad; the same on all ranks */
    size_t count;
    uint8_t *told; /* (pictures of the set) 1: was heard before */
    void (*hear)(void *context, const char *message);
    void *context;
} train_bad;

/* Calls hear for each that is new, in the order of the positions. feed knows why those of the
 * own share are bad. */
int train_share_bad(const train_bad *bad, const bang_feed *feed, bang_ranks *ranks,
                    bang_error *err);

#endif
