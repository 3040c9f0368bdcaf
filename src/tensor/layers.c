#include "tensor/layers_kinds.h"

/* The most that layers_attention.h takes, with panels of 16 numbers and blocks of 7. */
static size_t attention_scratch(size_t tokens, size_t width)
{
    enum { PANEL = 16, BLOCK = 7 * PANEL };
    size_t wide = width + PANEL;
    return 2 * PANEL * width + 2 * BLOCK * tokens + tokens * wide + 2 * BLOCK * wide;
}

size_t bang_attention_scratch_f32(size_t tokens, size_t heads, size_t width)
{
    (void)heads; /* one after the other */
    return attention_scratch(tokens, width);
}

size_t bang_attention_scratch_f64(size_t tokens, size_t heads, size_t width)
{
    (void)heads;
    return attention_scratch(tokens, width);
}

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const bang_layers_f32 *bang_layers_best_f32(void)
{
    return has_avx2() ? &bang_layers_avx2_f32 : &bang_layers_portable_f32;
}

const bang_layers_f64 *bang_layers_best_f64(void)
{
    return has_avx2() ? &bang_layers_avx2_f64 : &bang_layers_portable_f64;
}
#else
const bang_layers_f32 *bang_layers_best_f32(void)
{
    return &bang_layers_portable_f32;
}

const bang_layers_f64 *bang_layers_best_f64(void)
{
    return &bang_layers_portable_f64;
}
#endif
