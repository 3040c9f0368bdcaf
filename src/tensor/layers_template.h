/* The layers for one number type and one vector length. The includer defines
 *
 *     REAL                float or double
 *     REAL_BITS           32 or 64
 *     VECTOR_BYTES        16 or 32
 *     ATTENTION, LAYERS   the structs of this type
 *     NAME(x)             x with a suffix of its own
 *     LABEL               what the table calls itself
 */
#include "tensor/product_tile.h"

#include "tensor/layers_math.h"
#include "tensor/product_turn.h"

#include "tensor/layers_attention.h"

/* Loops go over whole vectors and then, with `some` numbers left, over one that
 * is filled up with zeros. */
static VECTOR NAME(load_some)(const REAL *p, size_t some)
{
    VECTOR v = {0};
    memcpy(&v, p, some * sizeof *p);
    return v;
}

static void NAME(store_some)(REAL *p, VECTOR v, size_t some)
{
    memcpy(p, &v, some * sizeof *p);
}

/* The sum of all lanes. */
static inline REAL NAME(total)(VECTOR v)
{
#if defined(__AVX2__) && REAL_BITS == 32
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
#else
    REAL sum = 0;
    for (size_t i = 0; i < L; i++)
        sum += v[i];
    return sum;
#endif
}

static inline REAL NAME(root)(REAL x)
{
    return sizeof x == 4 ? (REAL)sqrtf((float)x) : (REAL)sqrt((double)x);
}

/* Four rows (or one) at a time: a row alone would wait for its own sums. */
#define FOUR(do)                                                                                   \
    do                                                                                             \
    (0) do(1) do(2) do(3)

/* sums[i] = sum of x_i - less[i], or of its squares */
static inline __attribute__((always_inline)) void NAME(row_sums)(const int rows, const int squares,
                                                                 REAL *sums, const REAL *x,
                                                                 const REAL *less, size_t width)
{
    size_t at = 0;
    VECTOR y;
#define BEGIN(i) VECTOR sum##i = {0}, less##i = NAME(spread)(rows > i ? less[i] : 0);
    FOUR(BEGIN)
#undef BEGIN
    for (; at + L <= width; at += L) {
#define ADD(i)                                                                                     \
    if (rows > i) {                                                                                \
        y = NAME(load)(x + i * width + at) - less##i;                                              \
        sum##i += squares ? y * y : y;                                                             \
    }
        FOUR(ADD)
#undef ADD
    }
#define END(i)                                                                                     \
    if (rows > i)                                                                                  \
        sums[i] = NAME(total)(sum##i);
    FOUR(END)
#undef END
    for (; at < width; at++)
        for (int i = 0; i < rows; i++) {
            REAL z = x[i * width + at] - less[i];
            sums[i] += squares ? z * z : z;
        }
}

static inline __attribute__((always_inline)) void
NAME(norm_rows)(const int rows, REAL *out, const REAL *x, const REAL *mean, const REAL *scale,
                const REAL *gain, const REAL *bias, size_t width)
{
    size_t at = 0;
#define BEGIN(i)                                                                                   \
    VECTOR mean##i = NAME(spread)(rows > i ? mean[i] : 0);                                         \
    VECTOR scale##i = NAME(spread)(rows > i ? scale[i] : 0);
    FOUR(BEGIN)
#undef BEGIN
    for (; at + L <= width; at += L) {
        VECTOR g = NAME(load)(gain + at), b = NAME(load)(bias + at);
#define ROW(i)                                                                                     \
    if (rows > i)                                                                                  \
        NAME(store)                                                                                \
        (out + i * width + at, (NAME(load)(x + i * width + at) - mean##i) * scale##i * g + b);
        FOUR(ROW)
#undef ROW
    }
    for (; at < width; at++)
        for (int i = 0; i < rows; i++)
            out[i * width + at] = (x[i * width + at] - mean[i]) * scale[i] * gain[at] + bias[at];
}

static inline __attribute__((always_inline)) void
NAME(norm_some)(const int rows, REAL *out, REAL *mean, REAL *scale, const REAL *x, const REAL *gain,
                const REAL *bias, size_t width, REAL epsilon)
{
    REAL zero[4] = {0}, m[4], s[4], share = 1 / (REAL)width;
    NAME(row_sums)(rows, 0, m, x, zero, width);
    for (int i = 0; i < rows; i++)
        m[i] *= share;
    NAME(row_sums)(rows, 1, s, x, m, width);
    for (int i = 0; i < rows; i++)
        s[i] = 1 / NAME(root)(s[i] * share + epsilon);
    NAME(norm_rows)(rows, out, x, m, s, gain, bias, width);
    for (int i = 0; mean && i < rows; i++) {
        mean[i] = m[i];
        scale[i] = s[i];
    }
}

static void NAME(norm_forward)(REAL *out, REAL *mean, REAL *scale, const REAL *x, const REAL *gain,
                               const REAL *bias, size_t rows, size_t width, REAL epsilon)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4)
        NAME(norm_some)
        (4, out + i * width, mean ? mean + i : NULL, mean ? scale + i : NULL, x + i * width, gain,
         bias, width, epsilon);
    for (; i < rows; i++)
        NAME(norm_some)
        (1, out + i * width, mean ? mean + i : NULL, mean ? scale + i : NULL, x + i * width, gain,
         bias, width, epsilon);
}

static void NAME(norm_again)(REAL *out, const REAL *mean, const REAL *scale, const REAL *x,
                             const REAL *gain, const REAL *bias, size_t rows, size_t width)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4)
        NAME(norm_rows)(4, out + i * width, x + i * width, mean + i, scale + i, gain, bias, width);
    for (; i < rows; i++)
        NAME(norm_rows)(1, out + i * width, x + i * width, mean + i, scale + i, gain, bias, width);
}

/* With n = (x - mean) scale and g = gain * out_gradient:
 *     x_gradient += scale (g - mean(g) - n mean(g n)). */
static inline __attribute__((always_inline)) void
NAME(norm_rows_backward)(const int rows, REAL *x_gradient, const REAL *out_gradient, const REAL *x,
                         const REAL *mean, const REAL *scale, const REAL *gain, size_t width)
{
    REAL sums[4], alongs[4], share = 1 / (REAL)width;
    size_t at = 0;
    VECTOR y;
#define BEGIN(i)                                                                                   \
    VECTOR sum##i = {0}, along##i = {0}, mean##i = NAME(spread)(rows > i ? mean[i] : 0);
    FOUR(BEGIN)
#undef BEGIN
    for (; at + L <= width; at += L) {
        VECTOR g = NAME(load)(gain + at);
#define ADD(i)                                                                                     \
    if (rows > i) {                                                                                \
        y = g * NAME(load)(out_gradient + i * width + at);                                         \
        sum##i += y;                                                                               \
        along##i += y * (NAME(load)(x + i * width + at) - mean##i);                                \
    }
        FOUR(ADD)
#undef ADD
    }
#define END(i)                                                                                     \
    if (rows > i) {                                                                                \
        sums[i] = NAME(total)(sum##i);                                                             \
        alongs[i] = NAME(total)(along##i);                                                         \
    }
    FOUR(END)
#undef END
    for (; at < width; at++)
        for (int i = 0; i < rows; i++) {
            REAL g = gain[at] * out_gradient[i * width + at];
            sums[i] += g;
            alongs[i] += g * (x[i * width + at] - mean[i]);
        }
#define BEGIN(i)                                                                                   \
    sum##i = NAME(spread)(rows > i ? sums[i] *= share : 0);                                        \
    along##i = NAME(spread)(rows > i ? alongs[i] *= share * scale[i] * scale[i] : 0);
    FOUR(BEGIN)
#undef BEGIN
    for (at = 0; at + L <= width; at += L) {
        VECTOR g = NAME(load)(gain + at);
#define CHANGE(i)                                                                                  \
    if (rows > i) {                                                                                \
        REAL *to = x_gradient + i * width + at;                                                    \
        y = g * NAME(load)(out_gradient + i * width + at) - sum##i;                                \
        y -= (NAME(load)(x + i * width + at) - mean##i) * along##i;                                \
        NAME(store)(to, NAME(load)(to) + scale[i] * y);                                            \
    }
        FOUR(CHANGE)
#undef CHANGE
    }
    for (; at < width; at++)
        for (int i = 0; i < rows; i++) {
            REAL g = gain[at] * out_gradient[i * width + at] - sums[i];
            g -= (x[i * width + at] - mean[i]) * alongs[i];
            x_gradient[i * width + at] += scale[i] * g;
        }
}
#undef FOUR

/* Two vectors of columns at a time, their sums over the rows in registers. */
static void NAME(norm_parameters)(REAL *gain_gradient, REAL *bias_gradient,
                                  const REAL *out_gradient, const REAL *x, const REAL *mean,
                                  const REAL *scale, size_t rows, size_t width)
{
    size_t at = 0;
    for (; at + 2 * L <= width; at += 2 * L) {
        VECTOR gain0 = {0}, gain1 = {0}, bias0 = {0}, bias1 = {0};
        for (size_t i = 0; i < rows; i++) {
            const REAL *g = out_gradient + i * width + at, *from = x + i * width + at;
            VECTOR m = NAME(spread)(mean[i]), s = NAME(spread)(scale[i]);
            VECTOR g0 = NAME(load)(g), g1 = NAME(load)(g + L);
            gain0 += (NAME(load)(from) - m) * s * g0;
            gain1 += (NAME(load)(from + L) - m) * s * g1;
            bias0 += g0;
            bias1 += g1;
        }
        NAME(store)(gain_gradient + at, NAME(load)(gain_gradient + at) + gain0);
        NAME(store)(gain_gradient + at + L, NAME(load)(gain_gradient + at + L) + gain1);
        NAME(store)(bias_gradient + at, NAME(load)(bias_gradient + at) + bias0);
        NAME(store)(bias_gradient + at + L, NAME(load)(bias_gradient + at + L) + bias1);
    }
    for (; at < width; at++) {
        REAL gain = 0, bias = 0;
        for (size_t i = 0; i < rows; i++) {
            REAL g = out_gradient[i * width + at];
            gain += (x[i * width + at] - mean[i]) * scale[i] * g;
            bias += g;
        }
        gain_gradient[at] += gain;
        bias_gradient[at] += bias;
    }
}

/* So many rows at a time stay in the cache between the two passes. */
enum { NAME(norm_group) = 16 };

static void NAME(norm_backward)(REAL *x_gradient, REAL *gain_gradient, REAL *bias_gradient,
                                const REAL *out_gradient, const REAL *x, const REAL *mean,
                                const REAL *scale, const REAL *gain, size_t rows, size_t width)
{
    for (size_t from = 0; from < rows; from += NAME(norm_group)) {
        size_t some = rows - from < NAME(norm_group) ? rows - from : NAME(norm_group);
        size_t i = from;
        for (; i + 4 <= from + some; i += 4)
            NAME(norm_rows_backward)
            (4, x_gradient + i * width, out_gradient + i * width, x + i * width, mean + i,
             scale + i, gain, width);
        for (; i < from + some; i++)
            NAME(norm_rows_backward)
            (1, x_gradient + i * width, out_gradient + i * width, x + i * width, mean + i,
             scale + i, gain, width);
        if (gain_gradient)
            NAME(norm_parameters)
        (gain_gradient, bias_gradient, out_gradient + from * width, x + from * width, mean + from,
         scale + from, some, width);
    }
}

#define GELU(kind)                                                                                 \
    static void NAME(forward_##kind)(REAL * out, const REAL *x, size_t count)                      \
    {                                                                                              \
        size_t at = 0;                                                                             \
        for (; at + L <= count; at += L)                                                           \
            NAME(store)(out + at, NAME(gelu)(NAME(load)(x + at), kind));                           \
        if (at < count)                                                                            \
            NAME(store_some)                                                                       \
        (out + at, NAME(gelu)(NAME(load_some)(x + at, count - at), kind), count - at);             \
    }                                                                                              \
    static void NAME(backward_##kind)(REAL * gradient, REAL * activated, const REAL *x,            \
                                      size_t count)                                                \
    {                                                                                              \
        size_t at = 0;                                                                             \
        VECTOR again;                                                                              \
        for (; at + L <= count; at += L) {                                                         \
            VECTOR slope = NAME(gelu_slope)(NAME(load)(x + at), &again, kind);                     \
            NAME(store)(gradient + at, NAME(load)(gradient + at) * slope);                         \
            if (activated)                                                                         \
                NAME(store)(activated + at, again);                                                \
        }                                                                                          \
        if (at == count)                                                                           \
            return;                                                                                \
        VECTOR slope = NAME(gelu_slope)(NAME(load_some)(x + at, count - at), &again, kind);        \
        slope *= NAME(load_some)(gradient + at, count - at);                                       \
        NAME(store_some)(gradient + at, slope, count - at);                                        \
        if (activated)                                                                             \
            NAME(store_some)(activated + at, again, count - at);                                   \
    }
GELU(BANG_GELU_EXACT)
GELU(BANG_GELU_QUICK)
GELU(BANG_GELU_TANH)
#undef GELU

static void NAME(gelu_forward)(REAL *out, const REAL *x, size_t count, bang_gelu kind)
{
    if (kind == BANG_GELU_EXACT)
        NAME(forward_BANG_GELU_EXACT)(out, x, count);
    else if (kind == BANG_GELU_QUICK)
        NAME(forward_BANG_GELU_QUICK)(out, x, count);
    else
        NAME(forward_BANG_GELU_TANH)(out, x, count);
}

static void NAME(gelu_backward)(REAL *gradient, REAL *activated, const REAL *x, size_t count,
                                bang_gelu kind)
{
    if (kind == BANG_GELU_EXACT)
        NAME(backward_BANG_GELU_EXACT)(gradient, activated, x, count);
    else if (kind == BANG_GELU_QUICK)
        NAME(backward_BANG_GELU_QUICK)(gradient, activated, x, count);
    else
        NAME(backward_BANG_GELU_TANH)(gradient, activated, x, count);
}

static void NAME(add)(REAL *y, const REAL *x, size_t count)
{
    size_t at = 0;
    for (; at + L <= count; at += L)
        NAME(store)(y + at, NAME(load)(y + at) + NAME(load)(x + at));
    for (; at < count; at++)
        y[at] += x[at];
}

/* Groups of rows, so that a long sum is one of short ones, which rounds less. */
static void NAME(add_rows)(REAL *sum, const REAL *x, size_t rows, size_t width)
{
    enum { GROUP = 64 };
    for (size_t from = 0; from < rows; from += GROUP, x += GROUP * width) {
        size_t some = rows - from < GROUP ? rows - from : GROUP, at = 0;
        for (; at + 4 * L <= width; at += 4 * L) {
            VECTOR a = {0}, b = {0}, c = {0}, d = {0};
            for (size_t i = 0; i < some; i++) {
                const REAL *row = x + i * width + at;
                a += NAME(load)(row);
                b += NAME(load)(row + L);
                c += NAME(load)(row + 2 * L);
                d += NAME(load)(row + 3 * L);
            }
            NAME(store)(sum + at, NAME(load)(sum + at) + a);
            NAME(store)(sum + at + L, NAME(load)(sum + at + L) + b);
            NAME(store)(sum + at + 2 * L, NAME(load)(sum + at + 2 * L) + c);
            NAME(store)(sum + at + 3 * L, NAME(load)(sum + at + 3 * L) + d);
        }
        for (; at < width; at++) {
            REAL a = 0;
            for (size_t i = 0; i < some; i++)
                a += x[i * width + at];
            sum[at] += a;
        }
    }
}

/* Sixteen sums in double, the same lanes whatever the vectors are: squares of floats
 * are exact there, so that the result has the same bits on every machine. */
static double NAME(square_sum)(const REAL *x, size_t count)
{
    enum { FEW = VECTOR_BYTES / 8, PARTS = 16 / FEW };
    typedef double wide __attribute__((vector_size(FEW * sizeof(double))));
    typedef REAL few
        __attribute__((vector_size(FEW * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
    wide sums[PARTS] = {0};
    size_t at = 0;
    for (; at + 16 <= count; at += 16)
        for (size_t i = 0; i < PARTS; i++) {
            few part = *(const few *)(const void *)(x + at + i * FEW);
            wide y = __builtin_convertvector(part, wide);
            sums[i] += y * y;
        }
    double lanes[16], sum = 0;
    memcpy(lanes, sums, sizeof lanes);
    for (size_t i = 0; at < count; at++, i++)
        lanes[i] += (double)x[at] * (double)x[at];
    for (size_t i = 0; i < 16; i++)
        sum += lanes[i];
    return sum;
}

static void NAME(unit_forward)(REAL *out, REAL *length, const REAL *x, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++, x += width, out += width) {
        double root = sqrt(NAME(square_sum)(x, width)), inverse = root == 0 ? 0 : 1 / root;
        length[i] = (REAL)root;
        for (size_t j = 0; j < width; j++)
            out[j] = (REAL)((double)x[j] * inverse);
    }
}

static void NAME(unit_backward)(REAL *x_gradient, const REAL *out_gradient, const REAL *out,
                                const REAL *length, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++, x_gradient += width, out_gradient += width, out += width) {
        double dot = 0, inverse = length[i] == 0 ? 0 : 1 / (double)length[i];
        for (size_t j = 0; j < width; j++)
            dot += (double)out[j] * (double)out_gradient[j];
        for (size_t j = 0; j < width; j++)
            x_gradient[j] = (REAL)(((double)out_gradient[j] - (double)out[j] * dot) * inverse);
    }
}

const LAYERS NAME(bang_layers) = {
    LABEL,
    NAME(norm_forward),
    NAME(norm_again),
    NAME(norm_backward),
    NAME(gelu_forward),
    NAME(gelu_backward),
    NAME(attention_forward),
    NAME(attention_backward),
    NAME(add_rows),
    NAME(add),
    NAME(unit_forward),
    NAME(unit_backward),
    NAME(square_sum),
};

#undef TILE
#undef TILES
#undef FAR
#undef LOG2_E
#undef L
#undef VECTOR
#undef REAL
#undef REAL_BITS
#undef ATTENTION
#undef LAYERS
#undef NAME
