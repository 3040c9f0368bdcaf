/* The kernels for one number type and one vector length. The includer defines
 *
 *     REAL           float or double
 *     VECTOR_BYTES   16 or 32
 *     STEP           the struct of an optimiser's step
 *     KERNELS        the struct of kernels
 *     NAME(x)        x with a suffix of its own
 *     LABEL          what the table calls itself
 *
 * Accumulators are named variables, not arrays: the compiler keeps those in
 * registers. All loops over rows and lanes have constant bounds and unroll.
 */
typedef REAL NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
#define VECTOR NAME(vector)
enum { NAME(lanes) = VECTOR_BYTES / sizeof(REAL) };
#define L ((size_t)NAME(lanes))

static inline VECTOR NAME(load)(const REAL *p)
{
    return *(const VECTOR *)(const void *)p;
}

static inline void NAME(store)(REAL *p, VECTOR v)
{
    *(VECTOR *)(void *)p = v;
}

static inline VECTOR NAME(spread)(REAL x)
{
    return x - (VECTOR){0}; /* minus, as x - 0 is x for both zeros and costs nothing */
}

static inline VECTOR NAME(sqrt)(VECTOR x)
{
    for (size_t i = 0; i < L; i++) /* one instruction after unrolling */
        x[i] = sizeof(REAL) == 4 ? (REAL)sqrtf((float)x[i]) : (REAL)sqrt((double)x[i]);
    return x;
}

/* rows (1..6) by two vectors of C. Twelve accumulators, two vectors of B and
 * one number of A fill sixteen registers. */
#define ROWS(do)                                                                                   \
    do                                                                                             \
    (0) do(1) do(2) do(3) do(4) do(5)
static inline __attribute__((always_inline)) void
NAME(tile)(const int rows, REAL *restrict c, size_t c_row, const REAL *restrict a, size_t a_row,
           size_t a_column, const REAL *restrict b, size_t b_row, size_t k, int add)
{
#define ZERO(i) VECTOR left##i = {0}, right##i = {0};
    ROWS(ZERO)
#undef ZERO
    if (add) {
#define FETCH(i)                                                                                   \
    if (rows > i) {                                                                                \
        left##i = NAME(load)(c + i * c_row);                                                       \
        right##i = NAME(load)(c + i * c_row + L);                                                  \
    }
        ROWS(FETCH)
#undef FETCH
    }
    for (size_t j = 0; j < k; j++) {
        VECTOR b_left = NAME(load)(b), b_right = NAME(load)(b + L), x;
#define MULTIPLY(i)                                                                                \
    if (rows > i) {                                                                                \
        x = NAME(spread)(a[i * a_row]);                                                            \
        left##i += x * b_left;                                                                     \
        right##i += x * b_right;                                                                   \
    }
        ROWS(MULTIPLY)
#undef MULTIPLY
        a += a_column;
        b += b_row;
    }
#define KEEP(i)                                                                                    \
    if (rows > i) {                                                                                \
        NAME(store)(c + i * c_row, left##i);                                                       \
        NAME(store)(c + i * c_row + L, right##i);                                                  \
    }
    ROWS(KEEP)
#undef KEEP
}
#undef ROWS

/* So many rows of B at a time, two vectors wide, stay in the first cache while
 * all rows of A pass over them. Rows of B that lie a power of two apart would
 * fall on each other there, so that a long slice is copied to be in one piece. */
enum { NAME(depth) = 1024 / sizeof(REAL), NAME(copied_rows) = 96, NAME(copied_uses) = 24 };

static void NAME(product)(REAL *c, size_t c_row, const REAL *a, size_t a_row, size_t a_column,
                          const REAL *b, size_t b_row, size_t m, size_t n, size_t k, int add)
{
    VECTOR slice[2 * NAME(depth)];
    if (!k && !add)
        for (size_t i = 0; i < m; i++)
            memset(c + i * c_row, 0, n * sizeof *c);
    for (size_t from = 0; from < k; from += NAME(depth)) {
        size_t depth = k - from < NAME(depth) ? k - from : NAME(depth);
        int more = add || from, copy = depth > NAME(copied_rows) && m > NAME(copied_uses);
        for (size_t column = 0; column < n; column += 2 * L) {
            const REAL *a_part = a + from * a_column, *b_part = b + from * b_row + column;
            size_t step = b_row, i = 0;
            if (copy) {
                for (size_t j = 0; j < depth; j++) {
                    slice[2 * j] = NAME(load)(b_part + j * b_row);
                    slice[2 * j + 1] = NAME(load)(b_part + j * b_row + L);
                }
                b_part = (const REAL *)(const void *)slice;
                step = 2 * L;
            }
#define TILE(rows)                                                                                 \
    NAME(tile)                                                                                     \
    (rows, c + i * c_row + column, c_row, a_part + i * a_row, a_row, a_column, b_part, step,       \
     depth, more)
            for (; i + 6 <= m; i += 6)
                TILE(6);
            for (; i + 4 <= m; i += 4)
                TILE(4);
            for (; i < m; i++)
                TILE(1);
#undef TILE
        }
    }
}

/* Eight vectors of z at a time, or two for what is left. */
#define EIGHT(do)                                                                                  \
    do                                                                                             \
    (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)

static inline __attribute__((always_inline)) void
NAME(gather_part)(const int vectors, REAL *restrict z, const REAL *restrict w, size_t n,
                  const uint16_t *column, const float *value, size_t count)
{
#define FETCH(i) VECTOR z##i = vectors > i ? NAME(load)(z + i * L) : (VECTOR){0};
    EIGHT(FETCH)
#undef FETCH
    for (size_t j = 0; j < count; j++) {
        const REAL *row = w + column[j] * n;
        if (value) {
            VECTOR x = NAME(spread)((REAL)value[j]);
#define ADD(i)                                                                                     \
    if (vectors > i)                                                                               \
        z##i += x * NAME(load)(row + i * L);
            EIGHT(ADD)
#undef ADD
        } else {
#define ADD(i)                                                                                     \
    if (vectors > i)                                                                               \
        z##i += NAME(load)(row + i * L);
            EIGHT(ADD)
#undef ADD
        }
    }
#define KEEP(i)                                                                                    \
    if (vectors > i)                                                                               \
        NAME(store)(z + i * L, z##i);
    EIGHT(KEEP)
#undef KEEP
}

static void NAME(gather)(REAL *z, const REAL *w, size_t n, const uint16_t *column,
                         const float *value, size_t count)
{
    size_t at = 0;
    if (value) {
        for (; at + 8 * L <= n; at += 8 * L)
            NAME(gather_part)(8, z + at, w + at, n, column, value, count);
        for (; at < n; at += 2 * L)
            NAME(gather_part)(2, z + at, w + at, n, column, value, count);
    } else {
        for (; at + 8 * L <= n; at += 8 * L)
            NAME(gather_part)(8, z + at, w + at, n, column, NULL, count);
        for (; at < n; at += 2 * L)
            NAME(gather_part)(2, z + at, w + at, n, column, NULL, count);
    }
}

static inline __attribute__((always_inline)) void
NAME(scatter_part)(const int vectors, REAL *restrict w, const REAL *restrict z, size_t n,
                   const uint16_t *column, const float *value, size_t count)
{
#define FETCH(i) VECTOR z##i = vectors > i ? NAME(load)(z + i * L) : (VECTOR){0};
    EIGHT(FETCH)
#undef FETCH
    for (size_t j = 0; j < count; j++) {
        REAL *row = w + column[j] * n;
        VECTOR x = NAME(spread)(value ? (REAL)value[j] : 1);
#define ADD(i)                                                                                     \
    if (vectors > i)                                                                               \
        NAME(store)(row + i * L, NAME(load)(row + i * L) + x * z##i);
        EIGHT(ADD)
#undef ADD
    }
}
#undef EIGHT

static void NAME(scatter)(REAL *w, const REAL *z, size_t n, const uint16_t *column,
                          const float *value, size_t count)
{
    size_t at = 0;
    for (; at + 8 * L <= n; at += 8 * L)
        NAME(scatter_part)(8, w + at, z + at, n, column, value, count);
    for (; at < n; at += 2 * L)
        NAME(scatter_part)(2, w + at, z + at, n, column, value, count);
}

static void NAME(mix)(REAL *out, REAL a, const REAL *x, REAL b, const REAL *y, size_t n)
{
    for (size_t i = 0; i < n; i += L)
        NAME(store)(out + i, a * NAME(load)(x + i) + b * NAME(load)(y + i));
}

static void NAME(relu_forward)(REAL *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < 0 ? 0 : x[i]; /* not a number stays what it is */
}

static void NAME(relu_backward)(REAL *restrict d, const REAL *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d[i] = x[i] <= 0 ? 0 : d[i]; /* what is not a number does not stop a gradient */
}

/* One rounding of x/255. With a fused multiply-add the quotient is made right
 * from a product, which is faster than to divide. */
static void NAME(from_u8)(REAL *restrict out, const uint8_t *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = (float)in[i];
#ifdef __FMA__
        const float inverse = 1.0f / 255.0f;
        float about = x * inverse;
        out[i] = (REAL)__builtin_fmaf(__builtin_fmaf(-about, 255.0f, x), inverse, about);
#else
        out[i] = (REAL)(x / 255.0f);
#endif
    }
}

static void NAME(from_f32)(REAL *restrict out, const float *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (REAL)in[i];
}

static void NAME(adam)(REAL *restrict w, const REAL *restrict g, REAL *restrict m, REAL *restrict v,
                       size_t n, const STEP *s)
{
    STEP c = *s;
    REAL rest1 = 1 - c.beta1, rest2 = 1 - c.beta2;
    for (size_t i = 0; i < n; i += L) {
        VECTOR weight = NAME(load)(w + i) * c.keep;
        VECTOR gradient = NAME(load)(g + i) * c.gradient_scale + weight * c.decay;
        VECTOR mean = NAME(load)(m + i) * c.beta1 + gradient * rest1;
        VECTOR square = NAME(load)(v + i) * c.beta2 + gradient * gradient * rest2;
        NAME(store)(m + i, mean);
        NAME(store)(v + i, square);
        weight -= c.rate * mean / (NAME(sqrt)(square) * c.root_correction + c.epsilon);
        NAME(store)(w + i, weight);
    }
}

static void NAME(sgd)(REAL *restrict w, const REAL *restrict g, REAL *restrict m, size_t n,
                      const STEP *s)
{
    STEP c = *s;
    for (size_t i = 0; i < n; i += L) {
        VECTOR weight = NAME(load)(w + i) * c.keep;
        VECTOR mean =
            NAME(load)(m + i) * c.beta1 + NAME(load)(g + i) * c.gradient_scale + weight * c.decay;
        NAME(store)(m + i, mean);
        NAME(store)(w + i, weight - c.rate * mean);
    }
}

const KERNELS NAME(bang_kernels) = {
    LABEL,          NAME(product),      NAME(gather),        NAME(scatter),
    NAME(mix),      NAME(relu_forward), NAME(relu_backward), NAME(from_u8),
    NAME(from_f32), NAME(adam),         NAME(sgd),
};

#undef L
#undef VECTOR
#undef REAL
#undef STEP
#undef KERNELS
#undef NAME
