/* The loss of one comparison at one node of generating.c. */
#ifndef BANG_THEORY_LOSS_H
#define BANG_THEORY_LOSS_H

#include <stdint.h>

#include "theory/complex.h"

enum { DIRECT_CLASSES = 12 }; /* up to here products are cheaper than logarithms */

/* full: sum of all probabilities of S_2 at the node, log_full its logarithm;
 * over: of those >= V+t; above: of those > V+t (equal when there is no tie). */
typedef struct tail {
    complex_pair full, log_full;
    complex_pair over, above;
    int tie;
} tail;

/* full^(K-1) - F. With A = full - over, B = over - above:
 * F = A^(K-1), or ((A+B)^K - A^K)/(K B) at a tie. */
complex_pair tail_loss(const tail *t, int64_t classes);

#endif
