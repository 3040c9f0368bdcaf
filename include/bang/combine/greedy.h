/* Greedy soup (Wortsman et al. 2022): the best model first, then one after the
 * other in the order of their scores; each stays only if the average with it
 * scores strictly better than without.
 *
 *     size_t members[COUNT], n;
 *     double best;
 *     bang_greedy(members, &n, scores, &best, COUNT, score, &context, &err);
 */
#ifndef BANG_COMBINE_GREEDY_H
#define BANG_COMBINE_GREEDY_H

#include <stddef.h>

#include "bang/base/error.h"

/* The score of the average of members, (count) inputs by number; more is better. */
typedef int (*bang_greedy_score)(void *context, double *score, const size_t *members, size_t count,
                                 bang_error *err);

/* members (count) take the numbers of those that stay, *member_count how many;
 * scores (count) those of the inputs alone. Of equal scores the earlier input
 * comes first; a score that is NaN is the worst. */
int bang_greedy(size_t *members, size_t *member_count, double *scores, double *best, size_t count,
                bang_greedy_score score, void *context, bang_error *err);

#endif
