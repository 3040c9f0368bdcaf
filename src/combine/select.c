/* The keep-th largest distance, found bit by bit from above. */
#include "bang/combine/blocks.h"
#include "combine/kernels.h"

/* A pass takes these bits of the 31. */
static const struct {
    int shift, bits;
} passes[BANG_RADIX_PASSES] = {{20, 11}, {10, 10}, {0, 10}};

void bang_block_histogram(const bang_block *block, int pass, const uint32_t *prefix,
                          uint64_t *histogram)
{
    enum { PART = 2048 };
    uint32_t distances[PART];
    const bang_combine_real *real = bang_combine_for(block);
    int shift = passes[pass].shift, above = shift + passes[pass].bits;
    uint32_t mask = (1U << passes[pass].bits) - 1;
    for (size_t from = 0; from < block->count; from += PART) {
        size_t n = block->count - from < PART ? block->count - from : PART;
        for (size_t input = 1; input < block->inputs; input++) {
            uint64_t *bins = histogram + input * BANG_RADIX;
            if (!block->in[input])
                continue;
            real->distances(distances, block, input, from, n);
            if (pass == 0)
                for (size_t i = 0; i < n; i++)
                    bins[distances[i] >> shift]++;
            else
                for (size_t i = 0; i < n; i++)
                    if (distances[i] >> above == prefix[input])
                        bins[distances[i] >> shift & mask]++;
        }
    }
}

void bang_radix_select(uint32_t *prefix, uint64_t *keep, int pass, const uint64_t *histogram)
{
    uint32_t bin = (1U << passes[pass].bits) - 1;
    for (; bin > 0 && histogram[bin] < *keep; bin--)
        *keep -= histogram[bin];
    *prefix = (pass == 0 ? 0 : *prefix) << passes[pass].bits | bin;
}
