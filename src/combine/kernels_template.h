/* All kernels for one kind of vector instructions. The includer defines
 *
 *     VECTOR_BYTES   16 or 32
 *     TABLE          the name of the table
 *     LABEL          what the table calls itself
 *
 * Nothing here depends on VECTOR_BYTES but the speed: sums are taken in lanes of
 * a fixed number, and the file is compiled without fused operations.
 */
#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "bang/base/random.h"
#include "bang/tensor/convert.h"
#include "combine/kernels.h"

#define COIN_PURPOSE BANG_PURPOSE('d', 'a', 'r', 'e')

#define EACH_BITS(TYPE, MASK)                                                                      \
    for (size_t i = 0; i < count; i++) {                                                           \
        TYPE bits;                                                                                 \
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);                                       \
        found += (bits & (TYPE)(MASK)) == (TYPE)(MASK);                                            \
    }

/* How many of at most 2^32 - 1 numbers are infinite or NaN: all ones in the
 * exponent, or in all but the sign for the type without infinities. */
static size_t not_finite(const void *numbers, bang_dtype dtype, size_t count)
{
    const char *bytes = numbers;
    uint32_t found = 0;
    if (dtype == BANG_F32)
        EACH_BITS(uint32_t, 0x7f800000)
    else if (dtype == BANG_F16)
        EACH_BITS(uint16_t, 0x7c00)
    else if (dtype == BANG_BF16)
        EACH_BITS(uint16_t, 0x7f80)
    else if (dtype == BANG_F64)
        EACH_BITS(uint64_t, (uint64_t)0x7ff << 52)
    else if (dtype == BANG_F8_E4M3)
        EACH_BITS(uint8_t, 0x7f)
    else if (dtype == BANG_F8_E5M2)
        EACH_BITS(uint8_t, 0x7c)
    return found;
}

#undef EACH_BITS

#define EACH_NAN(TYPE, INFINITE, NAN_BITS)                                                         \
    for (size_t i = 0; i < count; i++) {                                                           \
        TYPE bits;                                                                                 \
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);                                       \
        if ((TYPE)(bits << 1) > (TYPE)((TYPE)(INFINITE) << 1))                                     \
            bits = (TYPE)(NAN_BITS);                                                               \
        memcpy(bytes + i * sizeof bits, &bits, sizeof bits);                                       \
    }

/* Which sign and payload a NaN has depends on the order of operands that a
 * compiler chose, so all are made the same one. */
static void settle_nans(void *numbers, bang_dtype dtype, size_t count)
{
    char *bytes = numbers;
    if (dtype == BANG_F32)
        EACH_NAN(uint32_t, 0x7f800000, 0x7fc00000)
    else if (dtype == BANG_F16)
        EACH_NAN(uint16_t, 0x7c00, 0x7e00)
    else if (dtype == BANG_BF16)
        EACH_NAN(uint16_t, 0x7f80, 0x7fc0)
    else if (dtype == BANG_F64)
        EACH_NAN(uint64_t, (uint64_t)0x7ff0 << 48, (uint64_t)0x7ff8 << 48)
    else if (dtype == BANG_F8_E4M3)
        EACH_NAN(uint8_t, 0x7e, 0x7f)
    else if (dtype == BANG_F8_E5M2)
        EACH_NAN(uint8_t, 0x7c, 0x7e)
}

#undef EACH_NAN

/* Blocks of four words of a model from number `block` on: what bang_philox4x32
 * gives, several at a time. Writes them up to a multiple of 8. */
#ifdef __AVX2__
/* One round of four blocks; each word is the lower half of a lane, and the upper
 * halves of x1 and x3 may hold anything. */
#define ROUND(x0, x1, x2, x3)                                                                      \
    do {                                                                                           \
        __m256i a = _mm256_mul_epu32(x0, m0), b = _mm256_mul_epu32(x2, m1);                        \
        x0 = _mm256_xor_si256(_mm256_srli_epi64(b, 32), _mm256_xor_si256(x1, k0));                 \
        x2 = _mm256_xor_si256(_mm256_srli_epi64(a, 32), _mm256_xor_si256(x3, k1));                 \
        x1 = b;                                                                                    \
        x3 = a;                                                                                    \
    } while (0)

/* Lanes of four words each to words in order. */
static void store_words(uint32_t *out, __m256i x0, __m256i x1, __m256i x2, __m256i x3)
{
    __m256i a = _mm256_blend_epi32(x0, _mm256_slli_epi64(x1, 32), 0xaa);
    __m256i b = _mm256_blend_epi32(x2, _mm256_slli_epi64(x3, 32), 0xaa);
    __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(out + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

static void draw_words(uint32_t *restrict out, const bang_coins *coins, uint32_t model,
                       uint64_t block, size_t blocks)
{
    const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
    for (size_t i = 0; i < blocks; i += 8) {
        int64_t first = (int64_t)block + (int64_t)i;
        __m256i x0 = _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_set_epi64x(3, 2, 1, 0));
        __m256i y0 = _mm256_add_epi64(x0, _mm256_set1_epi64x(4));
        __m256i x1 = _mm256_srli_epi64(x0, 32), y1 = _mm256_srli_epi64(y0, 32);
        __m256i x2 = _mm256_set1_epi64x(model), y2 = x2;
        __m256i x3 = _mm256_set1_epi64x(COIN_PURPOSE), y3 = x3;
        uint32_t key0 = coins->key[0], key1 = coins->key[1];
        for (int round = 0; round < 10; round++) {
            __m256i k0 = _mm256_set1_epi64x(key0), k1 = _mm256_set1_epi64x(key1);
            ROUND(x0, x1, x2, x3);
            ROUND(y0, y1, y2, y3);
            key0 += 0x9E3779B9U;
            key1 += 0xBB67AE85U;
        }
        store_words(out + 4 * i, x0, x1, x2, x3);
        store_words(out + 4 * i + 16, y0, y1, y2, y3);
    }
}

#undef ROUND
#else
static void draw_words(uint32_t *restrict out, const bang_coins *coins, uint32_t model,
                       uint64_t block, size_t blocks)
{
    for (size_t i = 0; i < (blocks + 7) / 8 * 8; i++) {
        uint64_t index = block + i;
        uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), model, COIN_PURPOSE};
        bang_philox4x32(out + 4 * i, counter, coins->key);
    }
}
#endif

#define REAL float
#define REAL_TYPE BANG_F32
#define FROM_REAL bang_from_f32
#define TO_REAL bang_to_f32
#define NAME(x) x##_f32
#include "combine/kernels_real.h"

#define REAL double
#define REAL_TYPE BANG_F64
#define FROM_REAL bang_from_f64
#define TO_REAL bang_to_f64
#define NAME(x) x##_f64
#include "combine/kernels_real.h"

#include "combine/kernels_gram.h"

const bang_combine_kernels TABLE = {
    .name = LABEL,
    .f32 = {linear_f32, dare_f32, ties_f32, fisher_f32, distances_f32},
    .f64 = {linear_f64, dare_f64, ties_f64, fisher_f64, distances_f64},
    .gram = gram,
    .not_finite = not_finite,
};
