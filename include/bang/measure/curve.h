/* Accuracy on the curve (appendix H of the paper): the OOD accuracy y of averages against that
 * of their fine-tuned models, x. Least squares of
 *
 *     y = c0 + c1 x + c2 x^2,
 *
 * and how far other points lie above it. With v = (1, x, x^2), s^2 = RSS/(n - 3) and
 * h = v' (X'X)^-1 v, the curve at x is uncertain by s sqrt(h), a new point by s sqrt(1 + h);
 * both have Student's t with n - 3 degrees of freedom. Bands of them hold at each x by itself, not
 * everywhere at once.
 */
#ifndef BANG_MEASURE_CURVE_H
#define BANG_MEASURE_CURVE_H

#include <stddef.h>

#include "bang/base/error.h"

typedef struct bang_curve {
    size_t count;
    double coefficients[3]; /* c0, c1, c2 */
    double residual_sd;     /* s; NaN with 3 points */
    double r_squared;       /* NaN when all y are equal */
    double least, most;     /* x */
    /* What the rest is computed from: x is centred and scaled before it is squared. */
    double center, scale;
    double scaled[3];     /* the coefficients in (x - center)/scale */
    double inverse[3][3]; /* (X'X)^-1 in the same */
} bang_curve;

/* Needs 3 points with different x; the more the better. */
int bang_curve_fit(bang_curve *out, const double *x, const double *y, size_t count,
                   bang_error *err);

typedef struct bang_curve_point {
    double y;          /* of the curve at x */
    double curve_half; /* half of the confidence interval of the curve */
    double point_half; /* half of that of a new point; both NaN without degrees of freedom */
} bang_curve_point;
bang_curve_point bang_curve_at(const bang_curve *curve, double x, double level);

/* A point that did not take part in the fit. */
typedef struct bang_curve_residual {
    double residual;       /* y minus the curve */
    double standard_error; /* s sqrt(1 + h) */
    double p;              /* two-sided */
    int outside;           /* x lies beyond the points of the fit: extrapolated */
} bang_curve_residual;
bang_curve_residual bang_curve_compare(const bang_curve *curve, double x, double y);

#endif
