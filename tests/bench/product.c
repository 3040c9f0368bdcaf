/* Products of a vision transformer's shapes: how near they come to what the
 * processor can do at all, beside OpenBLAS on one thread, if it is installed. Operands change
 * from turn to turn, as in training, where none is left in a cache. */
#include <dlfcn.h>
#include <stdio.h>

#include "peak.h"
#include "tensor/product_kinds.h"

enum { COPIES = 4 };

typedef void run(const bang_product_f32 *p, float *scratch);

/* cblas_sgemm, or NULL; the numbers are CBLAS's: rows in one piece, as it lies, transposed. */
enum { ROW_MAJOR = 101, AS_IT_LIES = 111, TRANSPOSED = 112 };
static void (*sgemm)(int order, int a_turned, int b_turned, int m, int n, int k, float alpha,
                     const float *a, int a_row, const float *b, int b_row, float beta, float *c,
                     int c_row);

static void load_blas(void)
{
#if defined(__x86_64__)
    if (bang_product_has_avx512()) /* one that is older than the processor takes SSE */
        setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
#endif
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    void (*set_threads)(int) = NULL;
    void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
    memcpy(&sgemm, &symbol, sizeof sgemm); /* C has no cast from objects to functions */
    symbol = library ? dlsym(library, "openblas_set_num_threads") : NULL;
    memcpy(&set_threads, &symbol, sizeof set_threads);
    if (set_threads)
        set_threads(1);
}

static void run_blas(const bang_product_f32 *p, float *scratch)
{
    int a_turned = p->a_column != 1, b_turned = p->b_column != 1;
    (void)scratch;
    sgemm(ROW_MAJOR, a_turned ? TRANSPOSED : AS_IT_LIES, b_turned ? TRANSPOSED : AS_IT_LIES,
          (int)p->m, (int)p->n, (int)p->k, 1, p->a, (int)(a_turned ? p->a_column : p->a_row), p->b,
          (int)(b_turned ? p->b_column : p->b_row), p->add ? 1 : 0, p->c, (int)p->c_row);
}

/* The least seconds of one call, and at most that many in all. */
static double seconds_of(run *call, const bang_product_f32 *p, size_t shift, float *scratch,
                         double most)
{
    double best = INFINITY, spent = 0;
    double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    long repeats = (long)(1e8 / flops) + 1;
    for (size_t turn = 0; spent < most; turn++) {
        bang_product_f32 one = *p;
        one.a += turn % COPIES * shift;
        one.b += turn % COPIES * shift;
        one.c += turn % COPIES * shift;
        double begin = now();
        for (long i = 0; i < repeats; i++)
            call(&one, scratch);
        double seconds = now() - begin;
        best = fmin(best, seconds / (double)repeats);
        spent += seconds;
    }
    return best;
}

int main(void)
{
    static const struct {
        const char *name;
        size_t m, n, k;
        int a_turned, b_turned, add;
    } cases[] = {
        {"B/16 qkv, 4 images", 788, 2304, 768, 0, 1, 0},
        {"B/16 proj, 4 images", 788, 768, 768, 0, 1, 0},
        {"B/16 fc1, 4 images", 788, 3072, 768, 0, 1, 0},
        {"B/16 fc1, 8 images", 1576, 3072, 768, 0, 1, 0},
        {"B/16 fc1, 1 image", 197, 3072, 768, 0, 1, 0},
        {"B/16 fc2, 4 images", 788, 768, 3072, 0, 1, 0},
        {"B/16 fc2, 1 image", 197, 768, 3072, 0, 1, 0},
        {"B/16 fc1 back to x", 788, 768, 3072, 0, 0, 0},
        {"B/16 fc2 back to x", 788, 3072, 768, 0, 0, 0},
        {"B/16 fc1 weights", 3072, 768, 788, 1, 0, 1},
        {"B/16 fc2 weights", 768, 3072, 788, 1, 0, 1},
        {"B/16 proj weights", 768, 768, 788, 1, 0, 1},
        {"Ti/16 qkv, 8 images", 1576, 576, 192, 0, 1, 0},
        {"Ti/16 fc2, 8 images", 1576, 192, 768, 0, 1, 0},
        {"Ti/16 fc1 weights", 768, 192, 1576, 1, 0, 1},
        {"width 64 qkv, 32 images", 544, 192, 64, 0, 1, 0},
        {"width 64 proj, 32 images", 544, 64, 64, 0, 1, 0},
        {"width 64 fc2, 32 images", 544, 64, 128, 0, 1, 0},
        {"width 64 qkv back to x", 544, 64, 192, 0, 0, 0},
        {"width 64 qkv weights", 192, 64, 544, 1, 0, 1},
        {"width 64 fc2 weights", 64, 128, 544, 1, 0, 1},
    };
    const size_t shift = 5000000; /* more than the largest operand */
    float *a = room(COPIES * shift * sizeof *a), *b = room(COPIES * shift * sizeof *b);
    float *c = room(COPIES * shift * sizeof *c);
    float *scratch = room(bang_product_scratch_f32() * sizeof *scratch);
    double most = peak();
    load_blas();
    if (!a || !b || !c || !scratch)
        return 1;
    for (size_t i = 0; i < COPIES * shift; i++) {
        a[i] = (float)(i * 7919 % 1013) / 1013 - 0.5f;
        b[i] = (float)(i * 104729 % 1019) / 1019 - 0.5f;
    }
    printf("multiply-add alone %.1f GFLOP/s; per cent of it:\n", 1e-9 * most);
    printf("%-26s %5s %5s %5s %7s %7s\n", "", "m", "n", "k", "bang", "blas");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t m = cases[i].m, n = cases[i].n, k = cases[i].k;
        int a_turned = cases[i].a_turned, b_turned = cases[i].b_turned;
        bang_product_f32 p = {.m = m,
                              .n = n,
                              .k = k,
                              .a = a,
                              .b = b,
                              .c = c,
                              .c_row = n,
                              .a_row = a_turned ? 1 : k,
                              .a_column = a_turned ? m : 1,
                              .b_row = b_turned ? 1 : n,
                              .b_column = b_turned ? k : 1,
                              .add = cases[i].add};
        double flops = 2.0 * (double)m * (double)n * (double)k;
        double own = seconds_of(bang_product_run_f32, &p, shift, scratch, 0.6);
        double blas = sgemm ? seconds_of(run_blas, &p, shift, scratch, 0.3) : INFINITY;
        double scale = most > 0 ? 100 * flops / most : 1e-9 * flops; /* or GFLOP/s */
        printf("%-26s %5zu %5zu %5zu %7.1f %7.1f\n", cases[i].name, m, n, k, scale / own,
               scale / blas);
    }
    free(a), free(b), free(c), free(scratch);
    return 0;
}
