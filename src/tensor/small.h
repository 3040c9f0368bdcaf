/* Floating point numbers of 8 and 16 bits from and to float and double, one at a
 * time and without branches, so that loops over them become vector
 * instructions. A format has `exponent` and `fraction` bits below its sign and a
 * bias of 2^(exponent-1) - 1; `finite` says that it has no infinities, its only
 * NaN being all ones (F8_E4M3). Arguments that describe it are constants. */
#ifndef BANG_SRC_TENSOR_SMALL_H
#define BANG_SRC_TENSOR_SMALL_H

#include <stdint.h>
#include <string.h>

#define BANG_SMALL static inline __attribute__((always_inline))

/* exponent, fraction, finite */
#define BANG_SMALL_F16 5, 10, 0
#define BANG_SMALL_BF16 8, 7, 0
#define BANG_SMALL_E4M3 4, 3, 1
#define BANG_SMALL_E5M2 5, 2, 0

BANG_SMALL float bang_float_of_bits(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

BANG_SMALL int32_t bang_bits_of_float(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

BANG_SMALL double bang_double_of_bits(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

BANG_SMALL int64_t bang_bits_of_double(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Every number of a small format is a float, and but for BF16, which is a
 * float's upper half, a normal one. A NaN becomes a quiet one with its payload. */
BANG_SMALL float bang_float_of_small(int32_t small, const int exponent, const int fraction,
                                     const int finite)
{
    const int32_t magnitudes = (1 << (exponent + fraction)) - 1;
    const int32_t special = finite ? magnitudes : magnitudes >> fraction << fraction;
    const int32_t lift = (128 - (1 << (exponent - 1))) << 23; /* from one bias to the other */
    int32_t magnitude = small & magnitudes, moved = magnitude << (23 - fraction);
    int32_t sign = (int32_t)((uint32_t)small >> (exponent + fraction) << 31);
    if (lift == 0)
        return bang_float_of_bits((int32_t)((uint32_t)small << (23 - fraction)));
    /* Below the smallest normal number there is no hidden one: give it one and take it off. */
    const int32_t first = lift + (1 << 23);
    int32_t normal = moved + lift;
    int32_t tiny =
        bang_bits_of_float(bang_float_of_bits(moved + first) - bang_float_of_bits(first));
    int32_t large = 0x7f800000 | (moved & 0x7fffff) | (finite || magnitude > special) << 22;
    int32_t bits = magnitude >> fraction == 0 ? tiny : normal;
    bits = magnitude >= special ? large : bits;
    return bang_float_of_bits(sign | bits);
}

/* To nearest, ties to even. The upper bits of a float are those of the small
 * format but for the bias; adding just below half of what is cut off, and one
 * more if the last bit kept is odd, carries as rounding does, into the exponent
 * too. Below the smallest normal number the sum with a power of two whose last
 * place is the format's does the rounding. */
BANG_SMALL int32_t bang_small_of_float(float value, const int exponent, const int fraction,
                                       const int finite)
{
    const int cut = 23 - fraction, bias = (1 << (exponent - 1)) - 1;
    const int32_t magnitudes = (1 << (exponent + fraction)) - 1;
    const int32_t special = finite ? magnitudes : magnitudes >> fraction << fraction;
    int32_t bits = bang_bits_of_float(value), magnitude = bits & 0x7fffffff;
    int32_t sign = (int32_t)((uint32_t)bits >> 31 << (exponent + fraction));
    int32_t odd = magnitude >> cut & 1;
    /* unsigned: a NaN may carry into the sign's place */
    uint32_t sum = (uint32_t)magnitude + ((1U << (cut - 1)) - 1) + (uint32_t)odd;
    int32_t small = (int32_t)(sum >> cut) - ((127 - bias) << fraction);
    if (bias < 127) {
        const int32_t magic = (127 + 1 - bias + cut) << 23;
        float tiny = bang_float_of_bits(magnitude) + bang_float_of_bits(magic);
        small = magnitude < (128 - bias) << 23 ? bang_bits_of_float(tiny) - magic : small;
    }
    small = small > special ? special : small;
    if (!finite) {
        int32_t nan = special | 1 << (fraction - 1) | (magnitude >> cut & ((1 << fraction) - 1));
        small = magnitude > 0x7f800000 ? nan : small;
    }
    return sign | small;
}

/* The same from a double. */
BANG_SMALL int64_t bang_small_of_double(double value, const int exponent, const int fraction,
                                        const int finite)
{
    const int cut = 52 - fraction, bias = (1 << (exponent - 1)) - 1;
    const int64_t one = 1, magnitudes = (one << (exponent + fraction)) - 1;
    const int64_t special = finite ? magnitudes : magnitudes >> fraction << fraction;
    const int64_t magic = (one * 1023 + 1 - bias + cut) << 52;
    int64_t bits = bang_bits_of_double(value), magnitude = bits & INT64_MAX;
    int64_t sign = (int64_t)((uint64_t)bits >> 63 << (exponent + fraction));
    int64_t odd = (int64_t)((uint64_t)magnitude >> cut & 1);
    uint64_t sum = (uint64_t)magnitude + (((uint64_t)1 << (cut - 1)) - 1) + (uint64_t)odd;
    int64_t small = (int64_t)(sum >> cut) - ((one * 1023 - bias) << fraction);
    double tiny = bang_double_of_bits(magnitude) + bang_double_of_bits(magic);
    small = magnitude < (one * 1024 - bias) << 52 ? bang_bits_of_double(tiny) - magic : small;
    small = small > special ? special : small;
    if (!finite) {
        int64_t payload = (int64_t)((uint64_t)magnitude >> cut & ((1U << fraction) - 1));
        int64_t nan = special | one << (fraction - 1) | payload;
        small = magnitude > (int64_t)0x7ff << 52 ? nan : small;
    }
    return sign | small;
}

#endif
