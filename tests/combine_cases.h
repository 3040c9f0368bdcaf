/* Blocks of random numbers of any type for the tests of combining, and outputs
 * held against references that compute one number at a time. */
#ifndef BANG_TESTS_COMBINE_CASES_H
#define BANG_TESTS_COMBINE_CASES_H

#include <math.h>

#include "bang/base/random.h"
#include "bang/combine/blocks.h"
#include "bang/tensor/convert.h"
#include "combine/kernels.h"

enum { MOST_INPUTS = 12 };

static const bang_dtype real_types[] = {BANG_F64,  BANG_F32,     BANG_F16,
                                        BANG_BF16, BANG_F8_E4M3, BANG_F8_E5M2};
enum { REAL_TYPES = sizeof real_types / sizeof *real_types };

struct problem {
    bang_block block;
    const void *in[MOST_INPUTS];
    bang_dtype types[MOST_INPUTS];
    char *rooms[MOST_INPUTS + 1]; /* owned; the last is the output's */
    size_t skip;                  /* bytes before each: nothing is aligned unless it is 0 */
    int wide;
};

static inline void put(struct problem *p, size_t input, size_t i, double value)
{
    bang_dtype dtype = p->types[input];
    bang_from_f64(p->rooms[input] + p->skip + i * bang_dtype_size(dtype), dtype, &value, 1);
}

/* Number i of an input, or of the output where input is block.inputs. */
static inline double get(const struct problem *p, size_t input, size_t i)
{
    bang_dtype dtype = input < p->block.inputs ? p->types[input] : p->block.out_type;
    const char *room = p->rooms[input < p->block.inputs ? input : MOST_INPUTS];
    double value;
    bang_to_f64(&value, room + p->skip + i * bang_dtype_size(dtype), dtype, 1);
    return value;
}

static inline double result(const struct problem *p, size_t i)
{
    return get(p, p->block.inputs, i);
}

/* Normal numbers; types[i % type_count] are the inputs' types. */
static inline void make_problem(struct problem *p, size_t inputs, size_t count,
                                const bang_dtype *types, size_t type_count, bang_dtype out_type,
                                size_t skip, uint64_t seed)
{
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('c', 'o', 'm', 'b'), 0);
    *p = (struct problem){.skip = skip, .wide = out_type == BANG_F64};
    p->block = (bang_block){inputs, count, p->in, p->types, NULL, out_type};
    for (size_t input = 0; input < inputs; input++) {
        p->types[input] = types[input % type_count];
        p->wide |= p->types[input] == BANG_F64;
        p->rooms[input] = malloc(skip + count * 8 + 1);
        assert_non_null(p->rooms[input]);
        p->in[input] = p->rooms[input] + skip;
        for (size_t i = 0; i < count; i++)
            put(p, input, i, bang_random_normal(&random));
    }
    p->rooms[MOST_INPUTS] = malloc(skip + count * 8 + 1);
    assert_non_null(p->rooms[MOST_INPUTS]);
    p->block.out = p->rooms[MOST_INPUTS] + skip;
    /* what must not be touched stays as it is */
    memset(p->rooms[MOST_INPUTS], '#', skip + count * 8 + 1);
}

static inline void drop_problem(struct problem *p)
{
    for (size_t i = 0; i <= MOST_INPUTS; i++)
        free(p->rooms[i]);
}

/* One product or sum, rounded to the type that is computed in. */
static inline double rounded(const struct problem *p, double x)
{
    return p->wide ? x : (double)(float)x;
}

/* Of two floats the double's result is right, so that to round it is to compute in float. */
static inline double times(const struct problem *p, double x, double y)
{
    return rounded(p, x * y);
}

static inline double plus(const struct problem *p, double x, double y)
{
    return rounded(p, x + y);
}

static inline double over(const struct problem *p, double x, double y)
{
    return rounded(p, x / y);
}

/* Every number of the output is expected(p, i), rounded to its type; `bad` is how many are not
 * finite; nothing beside it was written. */
#define CHECK_OUTPUT(p, bad, expected)                                                             \
    do {                                                                                           \
        size_t count_ = (p)->block.count, bad_ = 0, size_ = bang_dtype_size((p)->block.out_type);  \
        for (size_t i = 0; i < count_; i++) {                                                      \
            double value_ = (expected), encoded_;                                                  \
            char bytes_[8];                                                                        \
            bang_from_f64(bytes_, (p)->block.out_type, &value_, 1);                                \
            bang_to_f64(&encoded_, bytes_, (p)->block.out_type, 1);                                \
            bad_ += !isfinite(encoded_);                                                           \
            if (isnan(encoded_) ? !isnan(result(p, i)) : encoded_ != result(p, i))                 \
                fail_msg("line %d: number %zu of %s is %a, not %a", __LINE__, i,                   \
                         bang_dtype_name((p)->block.out_type), result(p, i), encoded_);            \
        }                                                                                          \
        assert_int_equal(bad, bad_);                                                               \
        for (size_t i = 0; i < (p)->skip; i++)                                                     \
            assert_int_equal((p)->rooms[MOST_INPUTS][i], '#');                                     \
        assert_int_equal((p)->rooms[MOST_INPUTS][(p)->skip + count_ * size_], '#');                \
    } while (0)

/* Both versions, or one twice on a machine that has but one. */
static inline const bang_combine_kernels *version(int i)
{
    return i ? bang_combine_best() : &bang_combine_portable;
}

static inline const bang_combine_real *version_for(int i, const struct problem *p)
{
    return p->wide ? &version(i)->f64 : &version(i)->f32;
}

#endif
