/* Bytes moved per second by one core when models are combined, beside memcpy:
 * what is read and written, in blocks that lie in the second or third cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bang/base/random.h"
#include "bang/combine/blocks.h"
#include "bang/tensor/convert.h"

enum { BYTES = 1 << 20, TURNS = 7, REPEATS = 40 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum job { COPY, TO_F32, FROM_F32, LINEAR, GRAM, DARE, TIES, FISHER, HISTOGRAM };

static uint64_t histogram[4 * BANG_RADIX];

static void run(enum job job, const bang_block *block)
{
    static const double weights[] = {0.5, 0.3, 0.2, 0.1};
    static const float thresholds[] = {0, 0.5F, 0.5F, 0.5F};
    double gram[16] = {0};
    switch (job) {
    case COPY:
        memcpy(block->out, block->in[0], block->count * bang_dtype_size(block->out_type));
        break;
    case TO_F32:
        bang_to_f32(block->out, block->in[0], block->in_types[0], block->count);
        break;
    case FROM_F32:
        bang_from_f32(block->out, block->out_type, block->in[0], block->count);
        break;
    case LINEAR:
        bang_block_linear(block, weights);
        break;
    case GRAM:
        bang_block_gram(block, gram);
        break;
    case DARE:
        bang_block_dare(block, weights, 1, 0.5, 1, 2, 0);
        break;
    case TIES:
        bang_block_ties(block, weights, 1, thresholds);
        break;
    case FISHER:
        bang_block_fisher(block, weights);
        break;
    case HISTOGRAM:
        bang_block_histogram(block, 0, (uint32_t[4]){0}, histogram);
        break;
    }
}

int main(void)
{
    static const struct {
        const char *name;
        enum job job;
        size_t inputs;
        bang_dtype in, out;
    } cases[] = {
        {"memcpy", COPY, 1, BANG_F32, BANG_F32},
        {"F16 to F32", TO_F32, 1, BANG_F16, BANG_F32},
        {"BF16 to F32", TO_F32, 1, BANG_BF16, BANG_F32},
        {"F8_E4M3 to F32", TO_F32, 1, BANG_F8_E4M3, BANG_F32},
        {"F32 to F16", FROM_F32, 1, BANG_F32, BANG_F16},
        {"F32 to BF16", FROM_F32, 1, BANG_F32, BANG_BF16},
        {"F32 to F8_E4M3", FROM_F32, 1, BANG_F32, BANG_F8_E4M3},
        {"linear of two, F32", LINEAR, 2, BANG_F32, BANG_F32},
        {"linear of two, F16", LINEAR, 2, BANG_F16, BANG_F16},
        {"linear of two, BF16", LINEAR, 2, BANG_BF16, BANG_BF16},
        {"linear of two, F64", LINEAR, 2, BANG_F64, BANG_F64},
        {"linear of four, BF16", LINEAR, 4, BANG_BF16, BANG_BF16},
        {"gram of two, F32", GRAM, 2, BANG_F32, BANG_F32},
        {"gram of four, BF16", GRAM, 4, BANG_BF16, BANG_BF16},
        {"DARE of two, F32", DARE, 3, BANG_F32, BANG_F32},
        {"DARE of two, BF16", DARE, 3, BANG_BF16, BANG_BF16},
        {"TIES of two, F32", TIES, 3, BANG_F32, BANG_F32},
        {"TIES of two, BF16", TIES, 3, BANG_BF16, BANG_BF16},
        {"TIES' histogram of two, BF16", HISTOGRAM, 3, BANG_BF16, BANG_BF16},
        {"Fisher of two, F32", FISHER, 4, BANG_F32, BANG_F32},
    };
    void *in[4], *out = aligned_alloc(64, BYTES);
    float *numbers = malloc(BYTES);
    bang_random random;
    if (!out || !numbers)
        return 1;
    bang_random_init(&random, 1, BANG_PURPOSE('b', 'n', 'c', 'h'), 0);
    for (size_t i = 0; i < BYTES / sizeof *numbers; i++)
        numbers[i] = (float)bang_random_normal(&random);
    for (size_t i = 0; i < 4; i++)
        if (!(in[i] = aligned_alloc(64, BYTES)))
            return 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t in_size = bang_dtype_size(cases[c].in), out_size = bang_dtype_size(cases[c].out);
        size_t count = BYTES / 8, moved = count * (cases[c].inputs * in_size);
        bang_dtype types[4] = {cases[c].in, cases[c].in, cases[c].in, cases[c].in};
        double best = INFINITY;
        bang_block block = {.inputs = cases[c].inputs,
                            .count = count,
                            .in = (const void *const *)in,
                            .in_types = types,
                            .out = out,
                            .out_type = cases[c].out};
        for (size_t i = 0; i < 4; i++)
            bang_from_f32(in[i], cases[c].in, numbers + i * count / 4, count);
        moved += cases[c].job == GRAM || cases[c].job == HISTOGRAM ? 0 : count * out_size;
        for (int turn = 0; turn < TURNS; turn++) {
            double begin = now();
            for (int repeat = 0; repeat < REPEATS; repeat++)
                run(cases[c].job, &block);
            best = fmin(best, (now() - begin) / REPEATS);
        }
        printf("%-30s %6.1f GB/s %7.2f ns per number\n", cases[c].name, (double)moved / best / 1e9,
               1e9 * best / (double)count);
    }
    for (size_t i = 0; i < 4; i++)
        free(in[i]);
    free(out);
    free(numbers);
    return 0;
}
