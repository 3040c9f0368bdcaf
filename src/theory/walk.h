/* Two and three classes with commensurable weights, without noise: the fastest
 * of the exact methods there. */
#ifndef BANG_THEORY_WALK_H
#define BANG_THEORY_WALK_H

#include "theory/exact.h"

/* As in exact.h; the cost is infinite for other cases. */
double walk_cost(const exact_case *c);
int walk_accuracy(double *out, const exact_case *c, bang_error *err);

#endif
