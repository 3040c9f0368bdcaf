/* A small block of a product in registers, for one number type and one vector
 * length. The includer defines
 *
 *     REAL           float or double
 *     VECTOR_BYTES   16, 32 or 64
 *     NAME(x)        x with a suffix of its own
 *
 * and undefines VECTOR and L at its end. Accumulators are named variables, not
 * arrays: the compiler keeps those in registers. Numbers may lie anywhere.
 */
typedef REAL NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL NAME(loose)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define VECTOR NAME(vector)
enum { NAME(lanes) = VECTOR_BYTES / sizeof(REAL), NAME(panel) = 2 * NAME(lanes) };
#define L ((size_t)NAME(lanes))

static inline VECTOR NAME(load)(const REAL *p)
{
    return *(const NAME(loose) *)(const void *)p;
}

static inline void NAME(store)(REAL *p, VECTOR v)
{
    *(NAME(loose) *)(void *)p = v;
}

static inline VECTOR NAME(spread)(REAL x)
{
    return x - (VECTOR){0}; /* minus, as x - 0 is x for both zeros and costs nothing */
}

/* What becomes of a block besides being stored. */
typedef struct NAME(finish) {
    const REAL *scale;    /* (rows) factors of the rows, or NULL */
    int add;              /* to what C holds */
    const REAL *bias;     /* (2 L) or NULL */
    const REAL *residual; /* rows residual_row apart, or NULL */
    size_t residual_row;
} NAME(finish);

/* C (rows, 2 L) = A (rows, depth) B (depth, 2 L), for 1 to 6 rows: twelve
 * accumulators, two vectors of B and one number of A fill sixteen registers (and keep two
 * units for products busy where there are more registers).
 * Every element is a sum in the order of depth that starts at zero, whatever
 * rows is. Lines of C are asked for before they are needed. */
#define ROWS(do)                                                                                   \
    do                                                                                             \
    (0) do(1) do(2) do(3) do(4) do(5)
static inline __attribute__((always_inline)) void
NAME(tile)(const int rows, REAL *c, size_t c_row, const REAL *a, size_t a_row, size_t a_column,
           const REAL *b, size_t b_row, size_t depth, const NAME(finish) * finish)
{
#define ZERO(i) VECTOR left##i = {0}, right##i = {0};
    ROWS(ZERO)
#undef ZERO
#define FETCH(i)                                                                                   \
    if (rows > i)                                                                                  \
        __builtin_prefetch(c + i * c_row + 2 * L - 1, 1);
    ROWS(FETCH)
#undef FETCH
    for (size_t j = 0; j < depth; j++) {
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
    if (finish && finish->scale) {
        const REAL *scale = finish->scale;
        VECTOR x;
#define SCALE(i)                                                                                   \
    if (rows > i) {                                                                                \
        x = NAME(spread)(scale[i]);                                                                \
        left##i *= x;                                                                              \
        right##i *= x;                                                                             \
    }
        ROWS(SCALE)
#undef SCALE
    }
    if (finish && finish->add) {
#define ADD(i)                                                                                     \
    if (rows > i) {                                                                                \
        left##i += NAME(load)(c + i * c_row);                                                      \
        right##i += NAME(load)(c + i * c_row + L);                                                 \
    }
        ROWS(ADD)
#undef ADD
    }
    if (finish && finish->bias) {
        VECTOR b_left = NAME(load)(finish->bias), b_right = NAME(load)(finish->bias + L);
#define ADD(i)                                                                                     \
    if (rows > i) {                                                                                \
        left##i += b_left;                                                                         \
        right##i += b_right;                                                                       \
    }
        ROWS(ADD)
#undef ADD
    }
    if (finish && finish->residual) {
        const REAL *other = finish->residual;
        size_t other_row = finish->residual_row;
#define ADD(i)                                                                                     \
    if (rows > i) {                                                                                \
        left##i += NAME(load)(other + i * other_row);                                              \
        right##i += NAME(load)(other + i * other_row + L);                                         \
    }
        ROWS(ADD)
#undef ADD
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

/* Each number of rows as a function of its own, for A in a packed panel (its rows are 1
 * apart and its columns 6), with rows in one piece, and with columns in one piece. */
typedef void NAME(tile_call)(REAL *c, size_t c_row, const REAL *a, size_t a_row, size_t a_column,
                             const REAL *b, size_t b_row, size_t depth,
                             const NAME(finish) * finish);
#define TILE(kind, rows, a_row_is, a_column_is, b_row_is)                                          \
    static __attribute__((noinline)) void NAME(kind##_##rows)(                                     \
        REAL * c, size_t c_row, const REAL *a, size_t a_row, size_t a_column, const REAL *b,       \
        size_t b_row, size_t depth, const NAME(finish) * finish)                                   \
    {                                                                                              \
        (void)a_row, (void)a_column, (void)b_row;                                                  \
        NAME(tile)(rows, c, c_row, a, a_row_is, a_column_is, b, b_row_is, depth, finish);          \
    }
#define TILES(kind, ...)                                                                           \
    TILE(kind, 1, __VA_ARGS__)                                                                     \
    TILE(kind, 2, __VA_ARGS__)                                                                     \
    TILE(kind, 3, __VA_ARGS__)                                                                     \
    TILE(kind, 4, __VA_ARGS__)                                                                     \
    TILE(kind, 5, __VA_ARGS__)                                                                     \
    TILE(kind, 6, __VA_ARGS__)                                                                     \
    static NAME(tile_call) *const NAME(kind)[7] = {                                                \
        NULL,           NAME(kind##_1), NAME(kind##_2), NAME(kind##_3),                            \
        NAME(kind##_4), NAME(kind##_5), NAME(kind##_6),                                            \
    };
