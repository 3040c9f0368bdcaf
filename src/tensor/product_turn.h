/* Transposing copies, after product_tile.h and with its macros. Each returns how
 * many of the `depth` numbers of a row it has taken: as many as fit into its
 * vectors. */
#if defined(__AVX2__) && REAL_BITS == 32
/* Eight rows of eight numbers. */
static inline void NAME(turn_eight)(float *out, size_t out_row, const float *in, size_t in_row)
{
    __m256 a0 = _mm256_loadu_ps(in), a1 = _mm256_loadu_ps(in + in_row);
    __m256 a2 = _mm256_loadu_ps(in + 2 * in_row), a3 = _mm256_loadu_ps(in + 3 * in_row);
    __m256 a4 = _mm256_loadu_ps(in + 4 * in_row), a5 = _mm256_loadu_ps(in + 5 * in_row);
    __m256 a6 = _mm256_loadu_ps(in + 6 * in_row), a7 = _mm256_loadu_ps(in + 7 * in_row);
    __m256 b0 = _mm256_unpacklo_ps(a0, a1), b1 = _mm256_unpackhi_ps(a0, a1);
    __m256 b2 = _mm256_unpacklo_ps(a2, a3), b3 = _mm256_unpackhi_ps(a2, a3);
    __m256 b4 = _mm256_unpacklo_ps(a4, a5), b5 = _mm256_unpackhi_ps(a4, a5);
    __m256 b6 = _mm256_unpacklo_ps(a6, a7), b7 = _mm256_unpackhi_ps(a6, a7);
    a0 = _mm256_shuffle_ps(b0, b2, 0x44), a1 = _mm256_shuffle_ps(b0, b2, 0xee);
    a2 = _mm256_shuffle_ps(b1, b3, 0x44), a3 = _mm256_shuffle_ps(b1, b3, 0xee);
    a4 = _mm256_shuffle_ps(b4, b6, 0x44), a5 = _mm256_shuffle_ps(b4, b6, 0xee);
    a6 = _mm256_shuffle_ps(b5, b7, 0x44), a7 = _mm256_shuffle_ps(b5, b7, 0xee);
    _mm256_storeu_ps(out, _mm256_permute2f128_ps(a0, a4, 0x20));
    _mm256_storeu_ps(out + out_row, _mm256_permute2f128_ps(a1, a5, 0x20));
    _mm256_storeu_ps(out + 2 * out_row, _mm256_permute2f128_ps(a2, a6, 0x20));
    _mm256_storeu_ps(out + 3 * out_row, _mm256_permute2f128_ps(a3, a7, 0x20));
    _mm256_storeu_ps(out + 4 * out_row, _mm256_permute2f128_ps(a0, a4, 0x31));
    _mm256_storeu_ps(out + 5 * out_row, _mm256_permute2f128_ps(a1, a5, 0x31));
    _mm256_storeu_ps(out + 6 * out_row, _mm256_permute2f128_ps(a2, a6, 0x31));
    _mm256_storeu_ps(out + 7 * out_row, _mm256_permute2f128_ps(a3, a7, 0x31));
}

/* Sixteen rows, `row` apart, become a panel (depth, 16). Whole lines of the cache at a
 * time: rows often lie so that few of their lines fit into the cache together. */
static inline size_t NAME(turn_panel)(float *out, const float *in, size_t row, size_t depth)
{
    size_t j = 0;
    for (; j + 16 <= depth; j += 16)
        for (size_t half = 0; half < 16; half += 8) {
            NAME(turn_eight)(out + 16 * j + half, 16, in + half * row + j, row);
            NAME(turn_eight)(out + 16 * j + 128 + half, 16, in + half * row + j + 8, row);
        }
    for (; j + 8 <= depth; j += 8)
        for (size_t half = 0; half < 16; half += 8)
            NAME(turn_eight)(out + 16 * j + half, 16, in + half * row + j, row);
    return j;
}

/* Six rows become a panel (depth, 6). */
static inline size_t NAME(turn_six)(float *out, const float *in, size_t row, size_t depth)
{
    size_t j = 0;
    for (; j + 8 <= depth; j += 8, in += 8, out += 48) {
        __m256 a0 = _mm256_loadu_ps(in), a1 = _mm256_loadu_ps(in + row);
        __m256 a2 = _mm256_loadu_ps(in + 2 * row), a3 = _mm256_loadu_ps(in + 3 * row);
        __m256 a4 = _mm256_loadu_ps(in + 4 * row), a5 = _mm256_loadu_ps(in + 5 * row);
        __m256 b0 = _mm256_unpacklo_ps(a0, a1), b1 = _mm256_unpackhi_ps(a0, a1);
        __m256 b2 = _mm256_unpacklo_ps(a2, a3), b3 = _mm256_unpackhi_ps(a2, a3);
        __m256 b4 = _mm256_unpacklo_ps(a4, a5), b5 = _mm256_unpackhi_ps(a4, a5);
        /* four rows' and two rows' part of each column */
#define COLUMN(i, four, two, half)                                                                 \
    _mm_storeu_ps(out + 6 * (i), _mm256_extractf128_ps(four, half));                               \
    _mm_storel_pi((__m64 *)(void *)(out + 6 * (i) + 4), _mm256_extractf128_ps(two, half));
#define COLUMNS(i, four, two)                                                                      \
    {                                                                                              \
        __m256 f = four, t = two;                                                                  \
        COLUMN(i, f, t, 0)                                                                         \
        COLUMN(i + 4, f, t, 1)                                                                     \
    }
        COLUMNS(0, _mm256_shuffle_ps(b0, b2, 0x44), b4)
        COLUMNS(1, _mm256_shuffle_ps(b0, b2, 0xee), _mm256_shuffle_ps(b4, b4, 0xee))
        COLUMNS(2, _mm256_shuffle_ps(b1, b3, 0x44), b5)
        COLUMNS(3, _mm256_shuffle_ps(b1, b3, 0xee), _mm256_shuffle_ps(b5, b5, 0xee))
#undef COLUMNS
#undef COLUMN
    }
    return j;
}
#else
static inline size_t NAME(turn_panel)(REAL *out, const REAL *in, size_t row, size_t depth)
{
    for (size_t j = 0; j < depth; j++)
        for (size_t i = 0; i < 2 * L; i++)
            out[2 * L * j + i] = in[i * row + j];
    return depth;
}

static inline size_t NAME(turn_six)(REAL *out, const REAL *in, size_t row, size_t depth)
{
    for (size_t j = 0; j < depth; j++)
        for (size_t i = 0; i < 6; i++)
            out[6 * j + i] = in[i * row + j];
    return depth;
}
#endif
