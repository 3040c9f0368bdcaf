#include "theory/loss.h"

static complex_pair loss_direct(const tail *t, int64_t classes)
{
    complex_pair below = complex_sub(t->full, t->over), power = {1, 0}, full = {1, 0};
    complex_pair sum = {1, 0}, upto = complex_sub(t->full, t->above);
    for (int64_t k = 1; k < classes; k++) {
        full = complex_mul(full, t->full);
        power = complex_mul(power, t->tie ? upto : below);
        sum = complex_mul(sum, below); /* sum_{j<=k} upto^j below^(k-j) */
        if (t->tie)
            sum = complex_add(sum, power);
    }
    if (t->tie)
        sum = complex_scale(sum, 1 / (double)classes);
    return complex_sub(full, sum);
}

/* log(full - part), through log1p where part is small so that the error of the
 * power (K-1) log stays at rounding level for any K. */
static complex_pair log_without(const tail *t, complex_pair part)
{
    double size = complex_norm(t->full);
    if (complex_norm(part) < 0.25 * size) {
        complex_pair ratio = complex_div(part, t->full);
        complex_pair minus = {-ratio.re, -ratio.im};
        return complex_add(t->log_full, complex_log1p(minus));
    }
    return complex_log(complex_sub(t->full, part));
}

static complex_pair loss_by_logs(const tail *t, double classes)
{
    complex_pair whole = complex_exp(complex_scale(t->log_full, classes - 1));
    complex_pair below = complex_sub(t->full, t->over);
    if (!t->tie) {
        if (below.re == 0 && below.im == 0)
            return whole;
        complex_pair log_below = log_without(t, t->over);
        complex_pair gain = complex_scale(complex_sub(log_below, t->log_full), classes - 1);
        if (complex_norm(whole) > 0 && gain.re < 30)
            return complex_scale(complex_mul(whole, complex_expm1(gain)), -1);
        return complex_sub(whole, complex_exp(complex_scale(log_below, classes - 1)));
    }
    /* F = base^(K-1) ((1+u)^K - 1)/(K u), base the larger of A and A+B */
    complex_pair upto = complex_sub(t->full, t->above);
    complex_pair at = complex_sub(t->over, t->above);
    int from_below = complex_norm(below) >= complex_norm(upto);
    complex_pair base = from_below ? below : upto;
    if (base.re == 0 && base.im == 0)
        return whole;
    complex_pair u = complex_div(from_below ? at : complex_scale(at, -1), base);
    complex_pair factor = {1, 0};
    if (u.re != 0 || u.im != 0)
        factor = complex_div(complex_expm1(complex_scale(complex_log1p(u), classes)),
                             complex_scale(u, classes));
    complex_pair log_base = log_without(t, from_below ? t->over : t->above);
    complex_pair f = complex_mul(complex_exp(complex_scale(log_base, classes - 1)), factor);
    return complex_sub(whole, f);
}

complex_pair tail_loss(const tail *t, int64_t classes)
{
    return classes <= DIRECT_CLASSES ? loss_direct(t, classes) : loss_by_logs(t, (double)classes);
}
