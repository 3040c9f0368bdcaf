/* The kernels that compute in one type, for one kind of vector instructions. The
 * includer (kernels_template.h) defines
 *
 *     REAL        float or double
 *     REAL_TYPE   the same as a bang_dtype
 *     TO_REAL     the conversion to it, FROM_REAL that from it
 *     NAME(x)     x with a suffix of its own
 */
enum { NAME(piece) = BANG_PIECE_BYTES / sizeof(REAL) };
#define PIECE ((size_t)NAME(piece))
#define REST (block->count - from < PIECE ? block->count - from : PIECE)

static inline int NAME(is_plain)(const void *p, bang_dtype dtype)
{
    return dtype == REAL_TYPE && (uintptr_t)p % _Alignof(REAL) == 0;
}

/* Numbers from .. from+n-1 of an input: where they are, or converted into room. */
static const REAL *NAME(fetch)(REAL *room, const bang_block *block, size_t input, size_t from,
                               size_t n)
{
    bang_dtype dtype = block->in_types[input];
    const char *at = (const char *)block->in[input] + from * bang_dtype_size(dtype);
    if (NAME(is_plain)(at, dtype))
        return (const REAL *)(const void *)at;
    TO_REAL(room, at, dtype, n);
    return room;
}

/* Where the output's numbers from `from` on can be written, if not into room. */
static REAL *NAME(target)(REAL *room, const bang_block *block, size_t from)
{
    char *at = (char *)block->out + from * bang_dtype_size(block->out_type);
    return NAME(is_plain)(at, block->out_type) ? (REAL *)(void *)at : room;
}

/* Brings numbers that are in room to the output; how many are not finite there. */
static size_t NAME(finish)(const REAL *numbers, const bang_block *block, size_t from, size_t n)
{
    char *at = (char *)block->out + from * bang_dtype_size(block->out_type);
    if ((const void *)numbers != (const void *)at)
        FROM_REAL(at, block->out_type, numbers, n);
    size_t bad = not_finite(at, block->out_type, n);
    if (bad > 0)
        settle_nans(at, block->out_type, n);
    return bad;
}

static void NAME(scale)(REAL *restrict out, REAL w, const REAL *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = w * x[i];
}

static void NAME(add)(REAL *restrict sum, REAL w, const REAL *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += w * x[i];
}

static void NAME(mix)(REAL *restrict out, REAL v, const REAL *x, REAL w, const REAL *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = v * x[i] + w * y[i];
}

static size_t NAME(linear)(const bang_block *block, const double *weights)
{
    REAL sum[PIECE], left[PIECE], right[PIECE];
    size_t bad = 0;
    for (size_t from = 0; from < block->count; from += PIECE) {
        size_t n = REST, used = 0;
        REAL *out = NAME(target)(sum, block, from), w_first = 0;
        const REAL *first = left;
        for (size_t i = 0; i < block->inputs; i++) {
            if (weights[i] == 0)
                continue;
            REAL w = (REAL)weights[i];
            const REAL *x = NAME(fetch)(used == 0 ? left : right, block, i, from, n);
            if (used == 0)
                first = x, w_first = w;
            else if (used == 1)
                NAME(mix)(out, w_first, first, w, x, n);
            else
                NAME(add)(out, w, x, n);
            used++;
        }
        if (used == 0)
            memset(out, 0, n * sizeof *out);
        else if (used == 1)
            NAME(scale)(out, w_first, first, n);
        bad += NAME(finish)(out, block, from, n);
    }
    return bad;
}

static void NAME(add_kept)(REAL *restrict sum, REAL factor, const REAL *restrict x,
                           const REAL *restrict base, const uint32_t *restrict words,
                           uint32_t limit, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        REAL part = factor * (x[i] - base[i]);
        sum[i] += words[i] >= limit ? part : 0;
    }
}

static size_t NAME(dare)(const bang_block *block, const double *weights, double scale, double drop,
                         const bang_coins *coins)
{
    REAL base_room[PIECE], x_room[PIECE], sum[PIECE];
    uint32_t words[PIECE + 4 * 8]; /* from a multiple of four on, see draw_words */
    size_t bad = 0;
    for (size_t from = 0; from < block->count; from += PIECE) {
        size_t n = REST;
        uint64_t first = coins->first + from;
        const REAL *base = NAME(fetch)(base_room, block, 0, from, n);
        memset(sum, 0, n * sizeof *sum);
        for (size_t i = 1; i < block->inputs; i++) {
            if (weights[i] == 0)
                continue;
            const REAL *x = NAME(fetch)(x_room, block, i, from, n);
            REAL factor = (REAL)(scale * weights[i] / (1 - drop));
            draw_words(words, coins, (uint32_t)i, first / 4, (first % 4 + n + 3) / 4);
            NAME(add_kept)(sum, factor, x, base, words + first % 4, coins->limit, n);
        }
        for (size_t i = 0; i < n; i++)
            sum[i] = base[i] + sum[i];
        bad += NAME(finish)(sum, block, from, n);
    }
    return bad;
}

/* t = d where not below the threshold, so that NaN stays. */
static inline REAL NAME(trim)(REAL d, float threshold)
{
    return fabsf((float)d) < threshold ? 0 : d;
}

static void NAME(ties_sum)(REAL *restrict sum, REAL w, const REAL *restrict x,
                           const REAL *restrict base, float threshold, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += w * NAME(trim)(x[i] - base[i], threshold);
}

static void NAME(ties_agree)(REAL *restrict upper, REAL *restrict lower, const REAL *restrict sum,
                             REAL w, const REAL *restrict x, const REAL *restrict base,
                             float threshold, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        REAL t = NAME(trim)(x[i] - base[i], threshold), part = w * t;
        int agrees = ((sum[i] > 0) & (t > 0)) | ((sum[i] < 0) & (t < 0));
        upper[i] += agrees ? part : 0;
        lower[i] += agrees ? w : 0;
    }
}

static size_t NAME(ties)(const bang_block *block, const double *weights, double scale,
                         const float *thresholds)
{
    REAL base_room[PIECE], room[PIECE], sum[PIECE], upper[PIECE], lower[PIECE];
    size_t bad = 0;
    for (size_t from = 0; from < block->count; from += PIECE) {
        size_t n = REST;
        const REAL *base = NAME(fetch)(base_room, block, 0, from, n);
        REAL s = (REAL)scale;
        memset(sum, 0, n * sizeof *sum);
        memset(upper, 0, n * sizeof *upper);
        memset(lower, 0, n * sizeof *lower);
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 1; i < block->inputs; i++) {
                if (weights[i] == 0)
                    continue;
                REAL w = (REAL)weights[i];
                const REAL *x = NAME(fetch)(room, block, i, from, n);
                if (pass == 0)
                    NAME(ties_sum)(sum, w, x, base, thresholds[i], n);
                else
                    NAME(ties_agree)(upper, lower, sum, w, x, base, thresholds[i], n);
            }
        for (size_t i = 0; i < n; i++) {
            REAL merged = base[i] + s * (upper[i] / lower[i]);
            merged = lower[i] == 0 ? base[i] : merged;
            sum[i] = sum[i] != sum[i] ? sum[i] : merged;
        }
        bad += NAME(finish)(sum, block, from, n);
    }
    return bad;
}

static void NAME(fisher_add)(REAL *restrict upper, REAL *restrict lower, REAL w,
                             const REAL *restrict f, const REAL *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        REAL part = w * f[i];
        upper[i] += part * x[i];
        lower[i] += part;
    }
}

static size_t NAME(fisher)(const bang_block *block, const double *weights)
{
    REAL x_room[PIECE], f_room[PIECE], upper[PIECE], lower[PIECE], mean[PIECE];
    size_t bad = 0, models = block->inputs / 2;
    double total = 0;
    for (size_t i = 0; i < models; i++)
        total += weights[i];
    for (size_t from = 0; from < block->count; from += PIECE) {
        size_t n = REST;
        memset(upper, 0, n * sizeof *upper);
        memset(lower, 0, n * sizeof *lower);
        memset(mean, 0, n * sizeof *mean);
        for (size_t i = 0; i < models; i++) {
            if (weights[i] == 0)
                continue;
            const REAL *x = NAME(fetch)(x_room, block, i, from, n);
            const REAL *f = NAME(fetch)(f_room, block, models + i, from, n);
            NAME(fisher_add)(upper, lower, (REAL)weights[i], f, x, n);
            NAME(add)(mean, (REAL)(weights[i] / total), x, n);
        }
        for (size_t i = 0; i < n; i++) {
            REAL merged = upper[i] / lower[i];
            mean[i] = lower[i] <= 0 ? mean[i] : merged;
        }
        bad += NAME(finish)(mean, block, from, n);
    }
    return bad;
}

static void NAME(distances)(uint32_t *out, const bang_block *block, size_t input, size_t from,
                            size_t count)
{
    REAL base_room[PIECE], x_room[PIECE];
    for (size_t done = 0; done < count; done += PIECE) {
        size_t n = count - done < PIECE ? count - done : PIECE;
        const REAL *base = NAME(fetch)(base_room, block, 0, from + done, n);
        const REAL *x = NAME(fetch)(x_room, block, input, from + done, n);
        for (size_t i = 0; i < n; i++) {
            float d = (float)(x[i] - base[i]);
            uint32_t bits;
            memcpy(&bits, &d, sizeof bits);
            out[done + i] = bits & 0x7fffffff;
        }
    }
}

#undef PIECE
#undef REST
#undef REAL
#undef REAL_TYPE
#undef TO_REAL
#undef FROM_REAL
#undef NAME
