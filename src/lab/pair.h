/* Two models said as six counts, the form of all examples in the paper. */
#ifndef BANG_LAB_PAIR_H
#define BANG_LAB_PAIR_H

#include "bang/theory/theory.h"

typedef enum pair_member { PAIR_FIRST, PAIR_SECOND, PAIR_OSE, PAIR_WSE } pair_member;

typedef struct pair_accuracy {
    double exact, gaussian, argument; /* G, F_p(x), x */
} pair_accuracy;

/* n: nv1, ns1, nv2, ns2, nvo, nso. scale: of the second model. alpha: its weight. */
int pair_predict(pair_accuracy *out, const int64_t n[6], double scale, double alpha,
                 int64_t classes, double shift, double sigma, pair_member member, bang_error *err);

/* G at equal weights as a polynomial; the caller frees it. */
int pair_polynomial(char **out, const int64_t n[6], double scale, int64_t classes,
                    pair_member member, bang_error *err);

#endif
