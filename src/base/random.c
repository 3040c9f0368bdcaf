#include "bang/base/random.h"

#include <math.h>
#include <string.h>

static inline void philox_round(uint32_t x[4], uint32_t key0, uint32_t key1)
{
    uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
    uint32_t x1 = x[1], x3 = x[3];
    x[0] = (uint32_t)(b >> 32) ^ x1 ^ key0;
    x[1] = (uint32_t)b;
    x[2] = (uint32_t)(a >> 32) ^ x3 ^ key1;
    x[3] = (uint32_t)a;
}

void bang_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t key0 = key[0], key1 = key[1];
    for (int round = 0; round < 10; round++) {
        philox_round(x, key0, key1);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    memcpy(out, x, sizeof x);
}

void bang_random_init(bang_random *random, uint64_t seed, uint32_t purpose, uint64_t stream)
{
    *random = (bang_random){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, purpose, (uint32_t)stream, (uint32_t)(stream >> 32)},
        .used = 4,
    };
}

uint32_t bang_random_u32(bang_random *random)
{
    if (random->used == 4) {
        bang_philox4x32(random->block, random->counter, random->key);
        random->counter[0]++;
        random->used = 0;
    }
    return random->block[random->used++];
}

uint64_t bang_random_u64(bang_random *random)
{
    uint64_t low = bang_random_u32(random);
    return low | (uint64_t)bang_random_u32(random) << 32;
}

static inline double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 52 bits k -> (2k + 1) 2^-53: k becomes the mantissa of a number in [1, 2),
 * and all that follows is exact. */
static inline double open_unit(uint64_t k)
{
    return double_of(k | bits_of(1.0)) - 1.0 + 0x1p-53;
}

double bang_random_uniform(bang_random *random)
{
    return open_unit(bang_random_u64(random) >> 12);
}

uint64_t bang_random_below(bang_random *random, uint64_t bound)
{
    if (bound <= 1)
        return 0;
    if (bound <= UINT32_MAX) {
        /* Lemire 2019: the high half of word * bound, where the low half is
         * not among the 2^32 mod bound values that would favour some results. */
        uint64_t product = bang_random_u32(random) * bound;
        if ((uint32_t)product < bound) {
            uint32_t threshold = -(uint32_t)bound % (uint32_t)bound;
            while ((uint32_t)product < threshold)
                product = bang_random_u32(random) * bound;
        }
        return product >> 32;
    }
    uint64_t threshold = -bound % bound, word;
    do
        word = bang_random_u64(random);
    while (word < threshold);
    return word % bound;
}

/* Natural logarithm of x in (0, 1), relative error below 2e-16. The C library
 * picks another code path, with other last bits, where the processor has fused
 * multiply-add; this one gives the same bits everywhere and goes into vector
 * registers. x = 2^e m, sqrt(1/2) <= m < sqrt(2); with f = m-1, s = f/(2+f):
 *     log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)),
 * R being the minimax polynomial of Sun's fdlibm. */
static inline double log_of_unit(double x)
{
    const uint64_t root_half = 0x3FE6A09E667F3BCDu, one = 0x3FF0000000000000u;
    const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    uint64_t shifted = bits_of(x) + (one - root_half);
    /* The exponent as the low bits of a double of unit 1, since SSE2 cannot
     * convert 64-bit integers. */
    double e = double_of((shifted >> 52) | bits_of(0x1p52)) - (0x1p52 + 1023);
    double f = double_of((shifted & 0xFFFFFFFFFFFFFu) + root_half) - 1.0;
    double s = f / (2.0 + f), z = s * s, w = z * z, half_square = 0.5 * f * f;
    double even = w * (3.999999999940941908e-01 +
                       w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 +
                           w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return e * ln2_high - ((half_square - (s * (half_square + even + odd) + e * ln2_low)) - f);
}

/* A point on the unit circle: the top two bits say the quadrant, 52 more the
 * angle y in (-pi/4, pi/4) from its middle. fdlibm's polynomials, error below
 * 2e-16. */
static inline void point_on_circle(double *sine, double *cosine, uint64_t bits)
{
    const double half_pi = 1.57079632679489661923;
    double y = (open_unit(bits << 2 >> 12) - 0.5) * half_pi, z = y * y;
    double s = -1.66666666666666324348e-01 +
               z * (8.33333333332248946124e-03 +
                    z * (-1.98412698298579493134e-04 +
                         z * (2.75573137070700676789e-06 +
                              z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))));
    double c = 4.16666666666666019037e-02 +
               z * (-1.38888888888741095749e-03 +
                    z * (2.48015872894767294178e-05 +
                         z * (-2.75573143513906633035e-07 +
                              z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))));
    uint64_t sine_bits = bits_of(y + y * z * s), cosine_bits = bits_of(1 - 0.5 * z + z * z * c);
    /* Turn by quadrant * pi/2 without a branch: swap, then set the signs. */
    uint64_t quadrant = bits >> 62, swap = (sine_bits ^ cosine_bits) & -(quadrant & 1);
    *sine = double_of(sine_bits ^ swap ^ (quadrant >> 1) << 63);
    *cosine = double_of(cosine_bits ^ swap ^ ((quadrant + 1) & 2) << 62);
}

/* Box-Muller over a few blocks side by side. The loops are kept apart and
 * rolled so that the compiler makes vector code of each. */
static void draw_normals(bang_random *random)
{
    enum { BLOCKS = sizeof random->normals / sizeof random->normals[0] / 2 };
    uint32_t x0[BLOCKS], x1[BLOCKS], x2[BLOCKS], x3[BLOCKS];
    double radius[BLOCKS];
#if defined(__GNUC__) && !defined(__clang__)
#define ROLLED _Pragma("GCC unroll 1")
#else
#define ROLLED
#endif
    ROLLED for (uint32_t i = 0; i < BLOCKS; i++)
    {
        x0[i] = random->counter[0] + i;
        x1[i] = random->counter[1];
        x2[i] = random->counter[2];
        x3[i] = random->counter[3];
    }
    random->counter[0] += BLOCKS;
    uint32_t key0 = random->key[0], key1 = random->key[1];
    for (int round = 0; round < 10; round++) {
        ROLLED for (int i = 0; i < BLOCKS; i++)
        {
            uint32_t x[4] = {x0[i], x1[i], x2[i], x3[i]};
            philox_round(x, key0, key1);
            x0[i] = x[0], x1[i] = x[1], x2[i] = x[2], x3[i] = x[3];
        }
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    ROLLED for (int i = 0; i < BLOCKS; i++)
    {
        uint64_t bits = x0[i] | (uint64_t)x1[i] << 32;
        radius[i] = sqrt(-2 * log_of_unit(open_unit(bits >> 12)));
    }
    ROLLED for (int i = 0; i < BLOCKS; i++)
    {
        double sine, cosine;
        point_on_circle(&sine, &cosine, x2[i] | (uint64_t)x3[i] << 32);
        random->normals[2 * i] = radius[i] * sine;
        random->normals[2 * i + 1] = radius[i] * cosine;
    }
    random->normals_left = 2 * BLOCKS;
}

double bang_random_normal(bang_random *random)
{
    if (random->normals_left == 0)
        draw_normals(random);
    return random->normals[--random->normals_left];
}

/* Counts up from 0 until the distribution function passes a uniform number. */
static int64_t binomial_by_inversion(bang_random *random, int64_t count, double p)
{
    double n = (double)count, odds = p / (1 - p), none = exp(n * log1p(-p));
    for (;;) {
        double u = bang_random_uniform(random), probability = none;
        for (int64_t k = 0; k <= count; k++) {
            if (u <= probability)
                return k;
            u -= probability;
            probability *= odds * (n - (double)k) / (double)(k + 1);
        }
        /* Rounding left a rest of u beyond the last value: draw again. */
    }
}

/* log k! minus Stirling's approximation with k + 1/2 (Hoermann 1993). */
static double stirling_rest(double k)
{
    static const double small[10] = {
        0.08106146679532726, 0.04134069595540929,  0.02767792568499834, 0.02079067210376509,
        0.01664469118982119, 0.01387612882307075,  0.01189670994589177, 0.01041126526197209,
        0.00925546218271273, 0.008330563433362871,
    };
    if (k < 10)
        return small[(int)k];
    double x = 1 / (k + 1), z = x * x;
    return (1.0 / 12 - (1.0 / 360 - z / 1260) * z) * x;
}

/* Hoermann, "The generation of binomial random variates", 1993: BTRS. p <= 1/2. */
static int64_t binomial_by_rejection(bang_random *random, int64_t count, double p)
{
    double n = (double)count, odds = p / (1 - p), deviation = sqrt(n * p * (1 - p));
    double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
    double centre = n * p + 0.5, squeeze = 0.92 - 4.2 / b;
    double alpha = (2.83 + 5.1 / b) * deviation, mode = floor((n + 1) * p);
    for (;;) {
        double u = bang_random_uniform(random) - 0.5, v = bang_random_uniform(random);
        double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + centre);
        if (!(k >= 0 && k <= n && k < 0x1p63))
            continue;
        if (us < 0.07 || v > squeeze) {
            double hat = log(v * alpha / (a / (us * us) + b));
            /* log P(k)/P(mode), ordered so that rounding grows with the
             * distance from the mode and not with the count. */
            double d = k - mode;
            double target = d * log(odds * (n - k + 1) / (k + 1)) -
                            (mode + 0.5) * log1p(d / (mode + 1)) -
                            (n - mode + 0.5) * log1p(-d / (n - mode + 1)) + stirling_rest(mode) +
                            stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
            if (hat > target)
                continue;
        }
        return (int64_t)k < count ? (int64_t)k : count;
    }
}

int64_t bang_random_binomial(bang_random *random, int64_t count, double p)
{
    if (count <= 0 || !(p > 0))
        return 0;
    if (p >= 1)
        return count;
    double rarer = p <= 0.5 ? p : 1 - p;
    int64_t k = (double)count * rarer < 10 ? binomial_by_inversion(random, count, rarer)
                                           : binomial_by_rejection(random, count, rarer);
    return p <= 0.5 ? k : count - k;
}
