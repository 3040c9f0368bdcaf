/* Transposing copies, after product_tile.h and with its macros. */
#if defined(__AVX2__) && REAL_BITS == 32
/* Eight rows of eight numbers, `from` in each. */
static inline void NAME(turn_eight)(float *out, size_t out_row, const float *const *in, size_t from)
{
    __m256 a0 = _mm256_loadu_ps(in[0] + from), a1 = _mm256_loadu_ps(in[1] + from);
    __m256 a2 = _mm256_loadu_ps(in[2] + from), a3 = _mm256_loadu_ps(in[3] + from);
    __m256 a4 = _mm256_loadu_ps(in[4] + from), a5 = _mm256_loadu_ps(in[5] + from);
    __m256 a6 = _mm256_loadu_ps(in[6] + from), a7 = _mm256_loadu_ps(in[7] + from);
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

/* Up to 2 L rows, `row` apart, become a panel (depth, 2 L); of those that there are
 * not the lanes hold anything. Whole lines of the cache at a time: rows often lie so that
 * few of their lines fit into the cache together. */
static inline void NAME(turn_panel)(float *out, const float *in, size_t row, size_t rows,
                                    size_t depth)
{
    const float *at[NAME(panel)];
    size_t j = 0;
    for (size_t i = 0; i < 2 * L; i++)
        at[i] = in + (i < rows ? i : rows - 1) * row;
    for (; j + 16 <= depth; j += 16)
        for (size_t some = 0; some < rows; some += 8) {
            NAME(turn_eight)(out + 2 * L * j + some, 2 * L, at + some, j);
            NAME(turn_eight)(out + 2 * L * (j + 8) + some, 2 * L, at + some, j + 8);
        }
    for (; j + 8 <= depth; j += 8)
        for (size_t some = 0; some < rows; some += 8)
            NAME(turn_eight)(out + 2 * L * j + some, 2 * L, at + some, j);
    for (; j < depth; j++)
        for (size_t i = 0; i < 2 * L; i++)
            out[2 * L * j + i] = at[i][j];
}

/* Six rows become a panel (depth, 6). Each store writes two numbers too many, which the
 * next one overwrites. Returns how many of the numbers of a row it has taken: as many as
 * fit into its vectors. */
static inline size_t NAME(turn_six)(float *out, const float *in, size_t row, size_t depth)
{
    const float *at[8];
    size_t j = 0;
    for (size_t i = 0; i < 8; i++)
        at[i] = in + (i < 6 ? i : 5) * row;
    for (; j + 8 <= depth; j += 8)
        NAME(turn_eight)(out + 6 * j, 6, at, j);
    return j;
}
#else
static inline void NAME(turn_panel)(REAL *out, const REAL *in, size_t row, size_t rows,
                                    size_t depth)
{
    for (size_t j = 0; j < depth; j++)
        for (size_t i = 0; i < 2 * L; i++)
            out[2 * L * j + i] = in[(i < rows ? i : rows - 1) * row + j];
}

static inline size_t NAME(turn_six)(REAL *out, const REAL *in, size_t row, size_t depth)
{
    for (size_t j = 0; j < depth; j++)
        for (size_t i = 0; i < 6; i++)
            out[6 * j + i] = in[i * row + j];
    return depth;
}
#endif
