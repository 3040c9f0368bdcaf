/* Do several ranks mean the same thing? What each is to do is described by an object of JSON,
 * in which large things (weights, pixels) stand as digests.
 *
 *     json_t *about = json_pack("{si ss}", "batch", 64, "data", digest);
 *     rc = bang_ranks_agree(ranks, about, &err);  // before the first piece of common work
 */
#ifndef BANG_BASE_AGREE_H
#define BANG_BASE_AGREE_H

#include "bang/base/json.h"
#include "bang/base/rank.h"
#include "bang/base/text.h"

/* Adds "; batch: 64 there, 32 now" for each key of the two objects whose values differ; of what is
 * long only that it does. */
void bang_agree_compare(bang_text *differences, const json_t *there, const json_t *now);

/* Collective. Fails on a rank that was to do something else than rank 0, naming what differs; the
 * others hear of it here once that one finishes or stops. */
int bang_ranks_agree(bang_ranks *ranks, const json_t *about, bang_error *err);

#endif
