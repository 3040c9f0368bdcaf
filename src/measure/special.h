/* Parts of the special functions that others in this room need. */
#ifndef BANG_SRC_MEASURE_SPECIAL_H
#define BANG_SRC_MEASURE_SPECIAL_H

/* P(X = k) of a binomial (k + rest, x), y = 1 - x; k and rest need not be whole, both > 0.
 * The relative error is some 1e-15, plus 1e-16 times the logarithm of the result. */
double bang_binomial_density(double k, double rest, double x, double y);

#endif
