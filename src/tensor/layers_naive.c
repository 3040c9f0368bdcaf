/* The layers as plain loops, with sums in double: what tests compare with. */
#include <math.h>

#include "bang/tensor/layers.h"
#include "tensor/naive.h"

static const double root_half = 0.70710678118654752440;    /* sqrt(1/2) */
static const double root_half_pi = 0.39894228040143267794; /* sqrt(1/(2 pi)) */
static const double root_two_pi = 0.79788456080286535588;  /* sqrt(2/pi) */
static const double quick = 1.702, cubic = 0.044715;

/* Each is x s(x) with s between 0 and 1. */
static double gelu_share(double x, bang_gelu kind)
{
    if (kind == BANG_GELU_QUICK)
        return 1 / (1 + exp(-quick * x));
    if (kind == BANG_GELU_TANH)
        return 1 / (1 + exp(-2 * root_two_pi * (x + cubic * x * x * x)));
    return 0.5 * erfc(-root_half * x);
}

double bang_naive_gelu(double x, bang_gelu kind)
{
    return x == -INFINITY ? 0 : x * gelu_share(x, kind);
}

/* s(x) + x s'(x); where s = 1/(1 + exp(-u)), s' is u' s(u) s(-u). */
double bang_naive_gelu_slope(double x, bang_gelu kind)
{
    double s = gelu_share(x, kind);
    if (isinf(x))
        return x > 0;
    if (kind == BANG_GELU_QUICK)
        return s + quick * x * s * gelu_share(-x, kind);
    if (kind == BANG_GELU_EXACT)
        return s + x * root_half_pi * exp(-0.5 * x * x);
    double rest = gelu_share(-x, kind);
    return rest > 0 && s > 0 ? s + 2 * root_two_pi * x * (1 + 3 * cubic * x * x) * s * rest : s;
}

#define REAL float
#define ATTENTION bang_attention_f32
#define LAYERS bang_layers_f32
#define NAME(x) x##_f32
#include "tensor/layers_naive_template.h"

#define REAL double
#define ATTENTION bang_attention_f64
#define LAYERS bang_layers_f64
#define NAME(x) x##_f64
#include "tensor/layers_naive_template.h"
