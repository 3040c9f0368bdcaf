#include "measure/temperature_root.h"

#include <math.h>

/* More than bisection takes from the limits to neighbouring doubles. */
enum { STEPS_MOST = 160, STEPS_FREE = 8 };

struct search {
    double tolerance;
    double low, high;          /* the zero lies between */
    int low_known, high_known; /* they were evaluated, and are not just the limits */
    bang_root_point now, before;
    int steps;
    double change_before; /* relative change of beta that the last Newton step asked for */
};

/* Two points with their slopes tell the inverse function: beta as a cubic of the value, at 0.
 * error: what a next term would be about. */
static double through_both(const struct search *s, double *error)
{
    const bang_root_point *a = &s->now, *b = &s->before;
    double h = b->value - a->value, secant = (b->beta - a->beta) / h;
    double square = (secant - 1 / a->slope) / h, other = (1 / b->slope - secant) / h;
    double cubic = (other - square) / h;
    double last = cubic * a->value * a->value * b->value;
    *error = fabs(last) * fabs(b->beta - a->beta) / a->beta;
    return a->beta - a->value / a->slope + square * a->value * a->value - last;
}

/* Where to look next; *done when it is as good as asked for. */
static double next_beta(struct search *s, int *done)
{
    const bang_root_point *now = &s->now;
    double change = -now->value / now->slope / now->beta; /* may be infinite, or NaN */
    double size = fabs(change), next;
    /* Rounding is all that is left where steps no longer shrink. */
    *done = size <= s->tolerance || (size < 1e-9 && size >= s->change_before / 2);
    s->change_before = size;
    /* Near the zero the bend tells the next term. */
    double more = -change * change * now->beta * now->bend / now->slope / 2;
    if (size < 0.2 && fabs(more) < 0.5 * size)
        change += more;
    if (*done)
        return now->beta * (1 + change);
    /* A search on fewer rows ended at a limit: that says nothing of where to look. */
    if (s->steps == 1 && (now->beta == BANG_BETA_LEAST || now->beta == BANG_BETA_MOST)) {
        *done = 0;
        return 1;
    }
    /* Far away steps are cut, to a factor of e^2. */
    double cut = change < 2 ? (change > -2 ? change : -2) : 2;
    next = cut > -0.5 ? now->beta * (1 + cut) : now->beta * exp(cut);
    if (s->steps > 1 && size < 0.2 && fabs(s->before.beta / now->beta - 1) < 0.5) {
        double error, better = through_both(s, &error);
        if (fabs(better - next) < 0.5 * size * now->beta) {
            next = better;
            *done = error < 0.1 * s->tolerance * now->beta;
        }
    }
    int both = s->low_known && s->high_known;
    if (s->steps > STEPS_FREE && s->steps % 2 == 0 && size > 1e-3) {
        /* Steps do not get anywhere: halve, or see what is at the end. */
        *done = 0;
        next = both ? sqrt(s->low) * sqrt(s->high) : s->low_known ? s->high : s->low;
    } else if ((s->low_known && next <= s->low) || (s->high_known && next >= s->high)) {
        *done = s->high <= s->low * (1 + 1e-15);
        next = sqrt(s->low) * sqrt(s->high);
    }
    return fmax(BANG_BETA_LEAST, fmin(BANG_BETA_MOST, next));
}

/* By Taylor's series from the last point, which is so near that no cube of it shows. */
static double integral_at(const bang_root_point *now, double beta)
{
    double d = beta - now->beta;
    return now->integral + d * (now->value + d * now->slope / 2);
}

int bang_root_find(bang_root *out, bang_root_function function, void *context, double start,
                   double tolerance, bang_error *err)
{
    struct search s = {.tolerance = tolerance,
                       .low = BANG_BETA_LEAST,
                       .high = BANG_BETA_MOST,
                       .change_before = INFINITY};
    double beta = fmax(BANG_BETA_LEAST, fmin(BANG_BETA_MOST, start));
    *out = (bang_root){0};
    for (int done = 0; !done && s.steps < STEPS_MOST;) {
        s.before = s.now;
        s.now = (bang_root_point){.beta = beta};
        int rc = function(context, &s.now, err);
        if (rc < 0)
            return rc;
        s.steps++;
        double value = s.now.value;
        out->at_limit =
            (value < 0 && beta == BANG_BETA_MOST) || (value > 0 && beta == BANG_BETA_LEAST);
        if (value == 0 || out->at_limit)
            break;
        *(value < 0 ? &s.low : &s.high) = beta;
        *(value < 0 ? &s.low_known : &s.high_known) = 1;
        beta = next_beta(&s, &done);
    }
    out->beta = beta;
    out->integral = integral_at(&s.now, beta);
    out->evaluations = s.steps;
    return 0;
}
