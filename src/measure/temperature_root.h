/* The zero of an increasing function of beta = 1/T that is costly to compute. */
#ifndef BANG_SRC_MEASURE_TEMPERATURE_ROOT_H
#define BANG_SRC_MEASURE_TEMPERATURE_ROOT_H

#include "bang/measure/temperature.h"

#define BANG_BETA_LEAST (1 / BANG_TEMPERATURE_MOST)
#define BANG_BETA_MOST (1 / BANG_TEMPERATURE_LEAST)

typedef struct bang_root_point {
    double beta;
    double value, slope; /* slope >= 0 */
    double bend;         /* of the slope; 0 where it is not known */
    double integral;     /* of value, from somewhere */
} bang_root_point;

/* Fills value, slope, bend and integral at point->beta. */
typedef int (*bang_root_function)(void *context, bang_root_point *point, bang_error *err);

typedef struct bang_root {
    double beta;
    double integral; /* at beta */
    int at_limit;    /* no zero between the limits: beta is the nearer one */
    int evaluations;
} bang_root;

/* Starts at start, and ends when beta is known to tolerance of itself. */
int bang_root_find(bang_root *out, bang_root_function function, void *context, double start,
                   double tolerance, bang_error *err);

#endif
