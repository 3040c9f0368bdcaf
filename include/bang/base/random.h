/* Counter-based random numbers (Philox 4x32-10; Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", 2011). A stream is named by
 * seed, purpose and index, so that what is drawn for item i does not depend on
 * which thread draws it or on what was drawn before.
 *
 *     bang_random random;
 *     bang_random_init(&random, seed, BANG_PURPOSE('t','e','s','t'), run);
 *     double z = bang_random_normal(&random);
 */
#ifndef BANG_BASE_RANDOM_H
#define BANG_BASE_RANDOM_H

#include <stdint.h>

/* Four letters that name what a stream is for. */
#define BANG_PURPOSE(a, b, c, d)                                                                   \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

typedef struct bang_random {
    uint32_t key[2];     /* the seed */
    uint32_t counter[4]; /* number of the next block, purpose, stream index (low, high) */
    uint32_t block[4];   /* the block that words are taken from */
    int used;            /* how many words of it are spent */
    int normals_left;    /* how many of the normals below are not spent */
    double normals[8];   /* drawn together: several are faster than one */
} bang_random;

/* The bare generator: ten rounds over one counter. */
void bang_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* A stream holds 2^32 blocks of four words: 8.6e9 uniform or normal numbers. */
void bang_random_init(bang_random *random, uint64_t seed, uint32_t purpose, uint64_t stream);

uint32_t bang_random_u32(bang_random *random);
uint64_t bang_random_u64(bang_random *random);

/* Uniform on the open interval (0, 1): an odd multiple of 2^-53, never 0 or 1. */
double bang_random_uniform(bang_random *random);

/* Uniform on 0 .. bound-1, without bias; a bound of 0 counts as 1. */
uint64_t bang_random_below(bang_random *random, uint64_t bound);

/* Standard normal (Box-Muller); the same bits on every machine. */
double bang_random_normal(bang_random *random);

/* Number of successes in count trials of probability p (exact: inversion for
 * small means, Hoermann's transformed rejection for large ones). count below 0
 * and p outside 0..1 count as the nearest that is allowed. */
int64_t bang_random_binomial(bang_random *random, int64_t count, double p);

#endif
