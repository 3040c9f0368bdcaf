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

#include "bang/base/random.h"
#include "bang/tensor/convert.h"
#include "combine/kernels.h"

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

/* Words 4*block .. 4*(block + blocks) - 1 of a model; what bang_philox4x32 gives,
 * but several blocks at a time. */
static void draw_words(uint32_t *restrict out, const bang_coins *coins, uint32_t model,
                       uint64_t block, size_t blocks)
{
    for (size_t i = 0; i < blocks; i++) {
        uint32_t x0 = (uint32_t)(block + i), x1 = (uint32_t)((block + i) >> 32), x2 = model,
                 x3 = BANG_PURPOSE('d', 'a', 'r', 'e');
        uint32_t key0 = coins->key[0], key1 = coins->key[1];
        for (int round = 0; round < 10; round++) {
            uint64_t a = (uint64_t)0xD2511F53U * x0, b = (uint64_t)0xCD9E8D57U * x2;
            x0 = (uint32_t)(b >> 32) ^ x1 ^ key0;
            x1 = (uint32_t)b;
            x2 = (uint32_t)(a >> 32) ^ x3 ^ key1;
            x3 = (uint32_t)a;
            key0 += 0x9E3779B9U;
            key1 += 0xBB67AE85U;
        }
        out[4 * i] = x0;
        out[4 * i + 1] = x1;
        out[4 * i + 2] = x2;
        out[4 * i + 3] = x3;
    }
}

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
