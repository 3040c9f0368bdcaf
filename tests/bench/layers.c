/* The other layers of a vision transformer: attention beside what the processor
 * can do at all, the rest in time per number. */
#include <stdio.h>

#include "bang/tensor/layers.h"
#include "peak.h"

/* The least seconds of one evaluation of `call`. */
#define BEST(best, call)                                                                           \
    do {                                                                                           \
        double first = now();                                                                      \
        call;                                                                                      \
        long repeats = (long)(1e-3 / (now() - first + 1e-9)) + 1;                                  \
        (best) = INFINITY;                                                                         \
        for (double spent = 0; spent < 0.15;) {                                                    \
            double begin = now();                                                                  \
            for (long again = 0; again < repeats; again++) {                                       \
                call;                                                                              \
            }                                                                                      \
            spent += now() - begin;                                                                \
            (best) = fmin(best, (now() - begin) / (double)repeats);                                \
        }                                                                                          \
    } while (0)

static int attention(const bang_layers_f32 *k, double most)
{
    static const struct {
        const char *name;
        size_t tokens, heads, width, queries;
        int causal;
    } cases[] = {
        {"B/16", 197, 12, 64, 197, 0},
        {"B/16, class token", 197, 12, 64, 1, 0},
        {"B/32", 50, 12, 64, 50, 0},
        {"CLIP's texts", 77, 8, 64, 77, 1},
        {"Ti/16", 197, 3, 64, 197, 0},
        {"width 64", 17, 4, 16, 17, 0},
        {"width 64, class token", 17, 4, 16, 1, 0},
    };
    printf("attention in us, per cent of multiply-add alone (%.1f GFLOP/s)\n", 1e-9 * most);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t tokens = cases[i].tokens, queries = cases[i].queries, width = cases[i].width;
        size_t heads = cases[i].heads, all = heads * width, count = tokens * 3 * all;
        float *qkv = room(count * sizeof *qkv), *slope = room(count * sizeof *slope);
        float *out = room(queries * all * sizeof *out),
              *sums = room(heads * queries * sizeof *sums);
        float *scratch = room(bang_attention_scratch_f32(tokens, heads, width) * sizeof *scratch);
        if (!qkv || !slope || !out || !sums || !scratch)
            return 1;
        for (size_t j = 0; j < count; j++)
            qkv[j] = (float)(j * 7919 % 1013) / 500 - 1;
        bang_attention_f32 a = {.tokens = tokens,
                                .heads = heads,
                                .width = width,
                                .queries = queries,
                                .causal = cases[i].causal,
                                .qkv = qkv,
                                .out = out,
                                .sums = sums,
                                .out_gradient = qkv,
                                .qkv_gradient = slope,
                                .scratch = scratch};
        double forward, backward, flops = 4.0 * (double)(tokens * queries * all);
        flops *= cases[i].causal ? 0.5 : 1;
        BEST(forward, k->attention_forward(&a));
        BEST(backward, k->attention_backward(&a));
        printf("  %-24s forward %8.1f %3.0f %%, backward %8.1f %3.0f %%\n", cases[i].name,
               1e6 * forward, most > 0 ? 100 * flops / forward / most : 0, 1e6 * backward,
               most > 0 ? 100 * 2.5 * flops / backward / most : 0);
        free(qkv), free(slope), free(out), free(sums), free(scratch);
    }
    return 0;
}

static int others(const bang_layers_f32 *k, size_t rows, size_t width)
{
    static const char *const names[] = {"exact", "quick", "tanh"};
    size_t count = rows * width;
    float *x = room(count * sizeof *x), *out = room(count * sizeof *out);
    float *slope = room(count * sizeof *slope), *mean = room(rows * sizeof *mean);
    float *scale = room(rows * sizeof *scale), *gain = room(width * sizeof *gain);
    float *bias = room(width * sizeof *bias), *more = room(width * sizeof *more);
    double best, sink = 0;
    if (!x || !out || !slope || !mean || !scale || !gain || !bias || !more)
        return 1;
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i * 7919 % 1013) / 200 - 2.5f;
    for (size_t i = 0; i < width; i++)
        gain[i] = 1;
    printf("%zu rows of %zu, ns per number\n", rows, width);
#define SHOW(name, call)                                                                           \
    BEST(best, call);                                                                              \
    printf("  %-24s %.3f\n", name, 1e9 * best / (double)count)
    SHOW("norm", k->norm_forward(out, mean, scale, x, gain, bias, rows, width, 1e-5f));
    SHOW("norm again", k->norm_again(out, mean, scale, x, gain, bias, rows, width));
    SHOW("norm backward", k->norm_backward(out, more, bias, x, x, mean, scale, gain, rows, width));
    for (int kind = BANG_GELU_EXACT; kind <= BANG_GELU_TANH; kind++) {
        char name[32];
        snprintf(name, sizeof name, "GELU %s", names[kind]);
        SHOW(name, k->gelu_forward(out, x, count, (bang_gelu)kind));
        snprintf(name, sizeof name, "GELU %s backward", names[kind]);
        SHOW(name, k->gelu_backward(slope, out, x, count, (bang_gelu)kind));
    }
    SHOW("sum of rows", k->add_rows(bias, x, rows, width));
    SHOW("addition", k->add(out, x, count));
    SHOW("sum of squares", sink += k->square_sum(x, count));
#undef SHOW
    free(x), free(out), free(slope), free(mean), free(scale), free(gain), free(bias), free(more);
    return !(sink > 0);
}

int main(void)
{
    const bang_layers_f32 *k = bang_layers_best_f32();
    printf("layers %s\n", k->name);
    return attention(k, peak()) || others(k, 197, 768) || others(k, 544, 64);
}
