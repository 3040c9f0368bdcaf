/* Attention of one image or text, head by head, after layers_math.h and
 * product_turn.h, with their macros and ATTENTION, the struct of it.
 *
 * Scores are kept transposed, keys down and queries across: a panel of as many
 * queries as two vectors hold is one column of blocks, the softmax over keys is
 * then a loop over vectors without any sum inside one, and the panel stays in the
 * first cache from the scores to the sums of values.
 */
TILES(rows, a_row, 1, b_row)
TILES(columns, 1, a_column, b_row)

/* Of one vector across: C (rows, L) = A (rows, depth) B (depth, L) for 12 rows or
 * fewer, A with rows in one piece, B's rows two vectors apart. */
#define TWELVE(do)                                                                                 \
    do                                                                                             \
    (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)
static inline __attribute__((always_inline)) void NAME(narrow)(const int rows, REAL *c,
                                                               size_t c_row, const REAL *a,
                                                               size_t a_row, const REAL *b,
                                                               size_t depth)
{
#define ZERO(i) VECTOR c##i = {0};
    TWELVE(ZERO)
#undef ZERO
    for (size_t j = 0; j < depth; j++, a++, b += 2 * L) {
        VECTOR x = NAME(load)(b);
#define MULTIPLY(i)                                                                                \
    if (rows > i)                                                                                  \
        c##i += NAME(spread)(a[i * a_row]) * x;
        TWELVE(MULTIPLY)
#undef MULTIPLY
    }
#define KEEP(i)                                                                                    \
    if (rows > i)                                                                                  \
        NAME(store)(c + i * c_row, c##i);
    TWELVE(KEEP)
#undef KEEP
}
#undef TWELVE

static __attribute__((noinline)) void NAME(narrow_12)(REAL *c, size_t c_row, const REAL *a,
                                                      size_t a_row, const REAL *b, size_t depth)
{
    NAME(narrow)(12, c, c_row, a, a_row, b, depth);
}

static __attribute__((noinline)) void NAME(narrow_5)(REAL *c, size_t c_row, const REAL *a,
                                                     size_t a_row, const REAL *b, size_t depth)
{
    NAME(narrow)(5, c, c_row, a, a_row, b, depth);
}

static __attribute__((noinline)) void NAME(narrow_1)(REAL *c, size_t c_row, const REAL *a,
                                                     size_t a_row, const REAL *b, size_t depth)
{
    NAME(narrow)(1, c, c_row, a, a_row, b, depth);
}

/* ln(x) of x >= 1 to 1e-7: x = 2^e m with m in [3/4, 3/2), and ln(m) is the series of
 * 2 artanh((m - 1)/(m + 1)). */
static inline VECTOR NAME(logarithm)(VECTOR x)
{
#if REAL_BITS == 32
    NAME(bits) high = (NAME(bits))x - 0x3f400000, exponent = high >> 23;
    VECTOR m = (VECTOR)((high & 0x7fffff) + 0x3f400000);
    VECTOR s = (m - 1) / (m + 1), square = s * s;
    VECTOR y = square * (2.0f / 9) + 2.0f / 7;
    y = y * square + 2.0f / 5;
    y = y * square + 2.0f / 3;
    y = (y * square + 2) * s;
    y += __builtin_convertvector(exponent, VECTOR) * 0.69314718056f;
    return y + x * 0; /* what is not finite shows */
#else
    for (size_t i = 0; i < L; i++)
        x[i] = log(x[i]);
    return x;
#endif
}

/* scores (count, 2 L), rows `row` apart: keys times a panel of queries (width, 2 L). */
static void NAME(score_panel)(REAL *scores, size_t row, const REAL *keys, size_t key_row,
                              const REAL *panel, size_t width, size_t count, size_t queries)
{
    size_t i = 0;
    if (queries > L) {
        for (; i + 6 <= count; i += 6)
            NAME(rows_6)
        (scores + i * row, row, keys + i * key_row, key_row, 1, panel, 2 * L, width, NULL);
        if (i < count)
            NAME(rows)
        [count - i](scores + i * row, row, keys + i * key_row, key_row, 1, panel, 2 * L, width,
                    NULL);
        return;
    }
    for (; i + 12 <= count; i += 12)
        NAME(narrow_12)(scores + i * row, row, keys + i * key_row, key_row, panel, width);
    for (; i + 5 <= count; i += 5)
        NAME(narrow_5)(scores + i * row, row, keys + i * key_row, key_row, panel, width);
    for (; i < count; i++)
        NAME(narrow_1)(scores + i * row, row, keys + i * key_row, key_row, panel, width);
}

/* Where B's rows lie for the tiles, and from one panel of them to the next. */
typedef struct NAME(panels) {
    const REAL *at;
    size_t row, panel;
} NAME(panels);

/* C (rows, width) = A (rows, depth) B (depth, width). */
typedef struct NAME(sum) {
    REAL *c;
    size_t c_row, rows, width, depth;
    NAME(tile_call) *const *tiles; /* for A's kind */
    const REAL *a;
    size_t a_row, a_column;
    NAME(panels) b;
    const REAL *scale; /* (rows) factors of the rows, or NULL */
    int add;           /* to what C holds */
} NAME(sum);

/* What of a last panel is beyond width goes aside. */
static void NAME(sum_up)(const NAME(sum) * s)
{
    NAME(finish) finish = {.add = s->add};
    const REAL *b = s->b.at;
    for (size_t j = 0; j < s->width; j += 2 * L, b += s->b.panel)
        for (size_t i = 0; i < s->rows; i += 6) {
            size_t some = s->rows - i < 6 ? s->rows - i : 6, columns = s->width - j;
            REAL *to = s->c + i * s->c_row + j;
            const REAL *from = s->a + i * s->a_row;
            finish.scale = s->scale ? s->scale + i : NULL;
            if (columns >= 2 * L) {
                s->tiles[some](to, s->c_row, from, s->a_row, s->a_column, b, s->b.row, s->depth,
                               &finish);
                continue;
            }
            VECTOR aside[12];
            REAL *block = (REAL *)(void *)aside;
            NAME(finish) alone = {.scale = finish.scale};
            s->tiles[some](block, 2 * L, from, s->a_row, s->a_column, b, s->b.row, s->depth,
                           &alone);
            for (size_t y = 0; y < some; y++)
                for (size_t x = 0; x < columns; x++)
                    to[y * s->c_row + x] =
                        block[y * 2 * L + x] + (s->add ? to[y * s->c_row + x] : 0);
        }
}

/* rows of width numbers as panels (width/(2 L), rows, 2 L), filled up with zeros. */
static void NAME(make_panels)(REAL *out, const REAL *in, size_t in_row, size_t rows, size_t width)
{
    for (size_t j = 0; j < width; j += 2 * L)
        for (size_t i = 0; i < rows; i++, out += 2 * L) {
            const REAL *from = in + i * in_row + j;
            if (j + 2 * L <= width) {
                NAME(store)(out, NAME(load)(from));
                NAME(store)(out + L, NAME(load)(from + L));
                continue;
            }
            memset(out, 0, 2 * L * sizeof *out);
            memcpy(out, from, (width - j) * sizeof *out);
        }
}

/* Rows of B where they lie, or as panels in `room` if they are many, so that they would
 * fall on each other in the cache, or if a panel would reach over their ends. */
static NAME(panels)
    NAME(panels_of)(REAL *room, const REAL *in, size_t in_row, size_t rows, size_t width)
{
    if (rows <= 32 && width % (2 * L) == 0)
        return (NAME(panels)){in, in_row, 2 * L};
    NAME(make_panels)(room, in, in_row, rows, width);
    return (NAME(panels)){room, 2 * L, rows * 2 * L};
}

/* Keys beyond the query do not count: lane l of a panel is query first + l. */
static void NAME(mask)(REAL *scores, size_t row, size_t first, size_t count, REAL value)
{
    for (size_t i = first + 1; i < count; i++)
        for (size_t l = 0; l < i - first; l++)
            scores[i * row + l] = value;
}

static inline VECTOR NAME(larger)(VECTOR x, VECTOR y)
{
#if defined(__AVX2__) && REAL_BITS == 32
    return _mm256_max_ps(x, y);
#else
    return NAME(choose)(x > y, x, y);
#endif
}

/* So many vectors across: scores become exp(factor score - most), with `most` the
 * largest of factor score. The inverse of their sum is left, and most with the sum's
 * logarithm added. */
static inline __attribute__((always_inline)) void NAME(softmax)(const int vectors, REAL *scores,
                                                                size_t count, REAL factor,
                                                                REAL *inverse, REAL *log_sum)
{
    const VECTOR scale = NAME(spread)(factor * LOG2_E);
    VECTOR most0 = NAME(load)(scores), sum0 = {0}, sum1 = {0};
    VECTOR most1 = vectors > 1 ? NAME(load)(scores + L) : most0;
    for (size_t i = 1; i < count; i++) {
        most0 = NAME(larger)(NAME(load)(scores + i * 2 * L), most0);
        if (vectors > 1)
            most1 = NAME(larger)(NAME(load)(scores + i * 2 * L + L), most1);
    }
    VECTOR less0 = most0 * scale, less1 = most1 * scale;
    for (size_t i = 0; i < count; i++) {
        REAL *at = scores + i * 2 * L;
        VECTOR p = NAME(power)(NAME(load)(at) * scale - less0);
        NAME(store)(at, p);
        sum0 += p;
        if (vectors > 1) {
            p = NAME(power)(NAME(load)(at + L) * scale - less1);
            NAME(store)(at + L, p);
            sum1 += p;
        }
    }
    NAME(store)(inverse, 1 / sum0);
    NAME(store)(log_sum, most0 * factor + NAME(logarithm)(sum0));
    if (vectors > 1) {
        NAME(store)(inverse + L, 1 / sum1);
        NAME(store)(log_sum + L, most1 * factor + NAME(logarithm)(sum1));
    }
}

static void NAME(attention_head)(const ATTENTION *a, size_t head)
{
    size_t width = a->width, all = a->heads * width, step = 3 * all; /* from token to token */
    const REAL *queries = a->qkv + head * width, *keys = queries + all, *values = keys + all;
    REAL factor = (REAL)(1 / sqrt((double)width)), *panel = a->scratch;
    REAL *scores = panel + 2 * L * width, *room = scores + 2 * L * a->tokens;
    NAME(panels) v = NAME(panels_of)(room, values, step, a->tokens, width);
    for (size_t first = 0; first < a->queries; first += 2 * L) {
        size_t some = a->queries - first < 2 * L ? a->queries - first : 2 * L;
        size_t seen = a->causal && first + some < a->tokens ? first + some : a->tokens;
        REAL inverse[2 * NAME(lanes)], sums[2 * NAME(lanes)];
        NAME(turn_panel)(panel, queries + first * step, step, some, width);
        NAME(score_panel)(scores, 2 * L, keys, step, panel, width, seen, some);
        if (a->causal)
            NAME(mask)(scores, 2 * L, first, seen, -INFINITY);
        if (some > L)
            NAME(softmax)(2, scores, seen, factor, inverse, sums);
        else
            NAME(softmax)(1, scores, seen, factor, inverse, sums);
        memcpy(a->sums + head * a->queries + first, sums, some * sizeof *sums);
        NAME(sum_up)
        (&(NAME(sum)){.c = a->out + first * all + head * width,
                      .c_row = all,
                      .rows = some,
                      .width = width,
                      .depth = seen,
                      .tiles = NAME(columns),
                      .a = scores,
                      .a_row = 1,
                      .a_column = 2 * L,
                      .b = v,
                      .scale = inverse});
    }
}

static void NAME(attention_forward)(const ATTENTION *a)
{
    for (size_t head = 0; head < a->heads; head++)
        NAME(attention_head)(a, head);
}

/* The way back takes a block of several panels of queries before it adds to the
 * gradients of keys and values, as each such addition reads and writes them. Rows of
 * a block are an odd number of panels apart, not to fall on each other in the cache. */
enum { NAME(block) = 7 * NAME(panel) };

typedef struct NAME(back) {
    const ATTENTION *a;
    const REAL *queries, *keys, *values; /* of the head */
    const REAL *gradient;                /* of its out */
    REAL *dq, *dk, *dv;
    const REAL *sums;
    size_t step, all;
    REAL factor;
    NAME(panels) k;
    REAL *panel, *other;   /* (width, 2 L) queries and gradients */
    REAL *scores, *slopes; /* (tokens, block) softmax, and gradient of the scores */
    size_t row;            /* of these two */
} NAME(back);

/* So many vectors across: scores become the softmax P, slopes, which hold P's gradient
 * G, factor P (G - sum of P G). */
static inline __attribute__((always_inline)) void NAME(slope)(const int vectors, REAL *scores,
                                                              REAL *slopes, size_t row,
                                                              size_t count, REAL factor,
                                                              const REAL *log_sum)
{
    const VECTOR scale = NAME(spread)(factor * LOG2_E);
    VECTOR less0 = NAME(load)(log_sum) * LOG2_E, less1 = NAME(load)(log_sum + L) * LOG2_E;
    VECTOR dot0 = {0}, dot1 = {0};
    for (size_t i = 0; i < count; i++) {
        VECTOR p = NAME(power)(NAME(load)(scores + i * row) * scale - less0);
        NAME(store)(scores + i * row, p);
        dot0 += p * NAME(load)(slopes + i * row);
        if (vectors > 1) {
            p = NAME(power)(NAME(load)(scores + i * row + L) * scale - less1);
            NAME(store)(scores + i * row + L, p);
            dot1 += p * NAME(load)(slopes + i * row + L);
        }
    }
    for (size_t i = 0; i < count; i++) {
        REAL *at = slopes + i * row;
        VECTOR p = NAME(load)(scores + i * row) * factor;
        NAME(store)(at, p * (NAME(load)(at) - dot0));
        if (vectors > 1) {
            p = NAME(load)(scores + i * row + L) * factor;
            NAME(store)(at + L, p * (NAME(load)(at + L) - dot1));
        }
    }
}

/* Softmax, gradient of the scores and gradient of the queries for one panel whose
 * first query is given; `lane` is where it begins in the block, which sees `seen` keys. */
static void NAME(back_panel)(const NAME(back) * s, size_t first, size_t some, size_t lane,
                             size_t seen)
{
    const ATTENTION *a = s->a;
    REAL *scores = s->scores + lane, *slopes = s->slopes + lane, sums[2 * NAME(lanes)] = {0};
    size_t count = a->causal && first + some < seen ? first + some : seen;
    NAME(turn_panel)(s->panel, s->queries + first * s->step, s->step, some, a->width);
    NAME(turn_panel)(s->other, s->gradient + first * s->all, s->all, some, a->width);
    NAME(score_panel)(scores, s->row, s->keys, s->step, s->panel, a->width, count, some);
    NAME(score_panel)(slopes, s->row, s->values, s->step, s->other, a->width, count, some);
    memcpy(sums, s->sums + first, some * sizeof *sums);
    if (a->causal)
        NAME(mask)(scores, s->row, first, count, -INFINITY);
    if (some > L)
        NAME(slope)(2, scores, slopes, s->row, count, s->factor, sums);
    else
        NAME(slope)(1, scores, slopes, s->row, count, s->factor, sums);
    for (size_t i = count; i < seen; i++) {
        memset(scores + i * s->row, 0, some * sizeof *scores);
        memset(slopes + i * s->row, 0, some * sizeof *slopes);
    }
    NAME(sum_up)
    (&(NAME(sum)){.c = s->dq + first * s->step,
                  .c_row = s->step,
                  .rows = some,
                  .width = a->width,
                  .depth = count,
                  .tiles = NAME(columns),
                  .a = slopes,
                  .a_row = 1,
                  .a_column = s->row,
                  .b = s->k});
}

static void NAME(attention_head_back)(const ATTENTION *a, size_t head)
{
    size_t width = a->width, all = a->heads * width, wide = (width + 2 * L - 1) / (2 * L) * 2 * L;
    NAME(back) s = {.a = a, .step = 3 * all, .all = all};
    size_t panels = (a->queries + 2 * L - 1) / (2 * L);
    panels = panels < NAME(block) / (2 * L) ? panels : NAME(block) / (2 * L);
    s.row = (panels | 1) * 2 * L;
    s.queries = a->qkv + head * width, s.keys = s.queries + all, s.values = s.keys + all;
    s.dq = a->qkv_gradient + head * width, s.dk = s.dq + all, s.dv = s.dk + all;
    s.gradient = a->out_gradient + head * width;
    s.sums = a->sums + head * a->queries;
    s.factor = (REAL)(1 / sqrt((double)width));
    s.panel = a->scratch, s.other = s.panel + 2 * L * width;
    s.scores = s.other + 2 * L * width, s.slopes = s.scores + a->tokens * s.row;
    REAL *key_room = s.slopes + a->tokens * s.row, *query_room = key_room + a->tokens * wide;
    REAL *out_room = query_room + NAME(block) * wide;
    s.k = NAME(panels_of)(key_room, s.keys, s.step, a->tokens, width);
    /* what no block writes */
    for (size_t i = a->causal ? 0 : a->tokens; i < a->tokens; i++) {
        memset(s.dk + i * s.step, 0, width * sizeof *s.dk);
        memset(s.dv + i * s.step, 0, width * sizeof *s.dv);
    }
    for (size_t i = a->queries; i < a->tokens; i++)
        memset(s.dq + i * s.step, 0, width * sizeof *s.dq);
    for (size_t from = 0; from < a->queries; from += panels * 2 * L) {
        size_t count = a->queries - from < panels * 2 * L ? a->queries - from : panels * 2 * L;
        size_t seen = a->causal && from + count < a->tokens ? from + count : a->tokens;
        NAME(panels)
        q = NAME(panels_of)(query_room, s.queries + from * s.step, s.step, count, width);
        NAME(panels) g = NAME(panels_of)(out_room, s.gradient + from * all, all, count, width);
        for (size_t lane = 0; lane < count; lane += 2 * L)
            NAME(back_panel)
        (&s, from + lane, count - lane < 2 * L ? count - lane : 2 * L, lane, seen);
        NAME(sum)
        sum = {.c = s.dk,
               .c_row = s.step,
               .rows = seen,
               .width = width,
               .depth = count,
               .tiles = NAME(rows),
               .a = s.slopes,
               .a_row = s.row,
               .a_column = 1,
               .b = q,
               .add = a->causal || from};
        NAME(sum_up)(&sum);
        sum.c = s.dv, sum.a = s.scores, sum.b = g;
        NAME(sum_up)(&sum);
    }
}

static void NAME(attention_backward)(const ATTENTION *a)
{
    for (size_t head = 0; head < a->heads; head++)
        NAME(attention_head_back)(a, head);
}
