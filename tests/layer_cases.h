/* The layers of one table against the naive ones. The includer defines REAL,
 * ATTENTION, LAYERS, NAME(x), NAIVE and EPSILON, the rounding of one operation. */
static REAL *NAME(room)(size_t count)
{
    REAL *out = calloc(count + 1, sizeof *out);
    assert_non_null(out);
    return out;
}

static REAL *NAME(normals)(size_t count, uint64_t stream)
{
    REAL *out = NAME(room)(count);
    bang_random random;
    bang_random_init(&random, 11, BANG_PURPOSE('l', 'a', 'y', 'e'), stream);
    for (size_t i = 0; i < count; i++)
        out[i] = (REAL)bang_random_normal(&random);
    return out;
}

/* Equal to some roundings of numbers of this size; both not a number is equal too. */
static void NAME(close)(const REAL *got, const REAL *want, size_t count, double roundings,
                        const char *what)
{
    double size = 1;
    for (size_t i = 0; i < count; i++)
        size = fabs((double)want[i]) > size ? fabs((double)want[i]) : size;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= roundings * EPSILON * size) &&
            !(isnan(got[i]) && isnan(want[i])))
            fail_msg("%s: %.9g instead of %.9g at %zu of %zu", what, (double)got[i],
                     (double)want[i], i, count);
}

static void NAME(check_norm)(const LAYERS *k, size_t rows, size_t width)
{
    size_t count = rows * width;
    REAL *x = NAME(normals)(count + 1, 1) + 1, *gain = NAME(normals)(width + 1, 2) + 1;
    REAL *bias = NAME(normals)(width, 3), *slope = NAME(normals)(count, 4);
    REAL *out[2], *mean[2], *scale[2], *dx[2], *dgain[2], *dbias[2];
    for (size_t i = 0; i < count; i++)
        x[i] += 3; /* a mean that matters */
    for (int i = 0; i < 2; i++) {
        const LAYERS *table = i ? k : &NAIVE;
        out[i] = NAME(room)(count), mean[i] = NAME(room)(rows), scale[i] = NAME(room)(rows);
        dx[i] = NAME(normals)(count, 5), dgain[i] = NAME(normals)(width, 6);
        dbias[i] = NAME(normals)(width, 7);
        table->norm_forward(out[i], mean[i], scale[i], x, gain, bias, rows, width, (REAL)1e-2);
        table->norm_backward(dx[i], dgain[i], dbias[i], slope, x, mean[0], scale[0], gain, rows,
                             width);
        table->norm_backward(dx[i], NULL, NULL, slope, x, mean[0], scale[0], gain, rows, width);
    }
    double few = 40 + sqrt((double)count);
    NAME(close)(mean[1], mean[0], rows, few, "mean");
    NAME(close)(scale[1], scale[0], rows, few, "scale");
    NAME(close)(out[1], out[0], count, few, "norm");
    NAME(close)(dx[1], dx[0], count, few, "norm back");
    NAME(close)(dgain[1], dgain[0], width, few, "gain");
    NAME(close)(dbias[1], dbias[0], width, few, "bias");
    assert_true(out[1][count] == 0 && mean[1][rows] == 0 && scale[1][rows] == 0);
    k->norm_again(dx[1], mean[1], scale[1], x, gain, bias, rows, width);
    assert_memory_equal(dx[1], out[1], count * sizeof *x); /* the same bits as the first time */
    k->norm_forward(dx[1], NULL, NULL, x, gain, bias, rows, width, (REAL)1e-2);
    assert_memory_equal(dx[1], out[1], count * sizeof *x);
    for (int i = 0; i < 2; i++) {
        free(out[i]), free(mean[i]), free(scale[i]);
        free(dx[i]), free(dgain[i]), free(dbias[i]);
    }
    free(x - 1), free(gain - 1), free(bias), free(slope);
}

static void NAME(check_norms)(const LAYERS *k)
{
    static const size_t widths[] = {1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 32, 64, 100, 192, 768};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (size_t rows = 0; rows <= 35; rows += rows < 3 ? 1 : 14)
            NAME(check_norm)(k, rows, widths[i]);
}

/* The whole line, then what is not on it. */
static void NAME(check_gelu)(const LAYERS *k, bang_gelu kind)
{
    enum { COUNT = 20011 };
    REAL *x = NAME(room)(COUNT), *got = NAME(room)(COUNT), *slope = NAME(room)(COUNT);
    REAL *again = NAME(room)(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = (REAL)(((double)i - 10005) / 800);
        if (i % 7 == 0) /* all sizes, both signs */
            x[i] = (REAL)(pow(2, (double)(i % 281) - 140) * (i & 1 ? -1 : 1));
        slope[i] = 1;
    }
    x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY, x[3] = 0, x[4] = (REAL)-0.0;
    x[COUNT - 1] = NAN, x[COUNT - 2] = INFINITY, x[COUNT - 3] = -INFINITY;
    k->gelu_forward(got, x, COUNT, kind);
    k->gelu_backward(slope, again, x, COUNT, kind);
    assert_memory_equal(got, again, COUNT * sizeof *got);
    for (size_t i = 0; i < COUNT; i++) {
        double at = (double)x[i], want = bang_naive_gelu(at, kind);
        double want_slope = bang_naive_gelu_slope(at, kind), size = fmin(fabs(at), 60);
        if (isnan(at)) {
            assert_true(isnan(got[i]) && isnan(slope[i]));
            continue;
        }
        if (isinf(at))
            assert_true(got[i] == (REAL)(at > 0 ? INFINITY : 0) && slope[i] == (REAL)(at > 0));
        else if (!(fabs((double)got[i] - want) <= 2 * EPSILON * (at > 0 ? fabs(at) : size)))
            fail_msg("gelu %d of %g: %.9g instead of %.9g", kind, at, (double)got[i], want);
        if (!(fabs((double)slope[i] - want_slope) <= 4 * EPSILON))
            fail_msg("slope %d of %g: %.9g instead of %.9g", kind, at, (double)slope[i],
                     want_slope);
    }
    for (size_t count = 0; count < 40; count++) { /* ends, and without the activation again */
        for (size_t i = 0; i < 41; i++)
            got[i] = again[i] = 2;
        k->gelu_forward(got, x + 500, count, kind);
        k->gelu_backward(again, NULL, x + 500, count, kind);
        for (size_t i = 0; i < 41; i++) {
            assert_true((got[i] == 2) == (i >= count));
            assert_true(again[i] == (i < count ? 2 * slope[500 + i] : 2));
        }
    }
    free(x), free(got), free(slope), free(again);
}

static void NAME(check_attention)(const LAYERS *k, size_t tokens, size_t heads, size_t width,
                                  size_t queries, int causal)
{
    size_t all = heads * width, count = tokens * 3 * all, outs = queries * all;
    size_t need = NAME(bang_attention_scratch)(tokens, heads, width);
    REAL *qkv = NAME(normals)(count, 1), *gradient = NAME(normals)(outs, 2),
         *scratch = NAME(normals)(need, 3);
    REAL *out[2], *sums[2], *back[2];
    for (int i = 0; i < 2; i++) {
        const LAYERS *table = i ? k : &NAIVE;
        out[i] = NAME(room)(outs), sums[i] = NAME(room)(heads * queries);
        back[i] = NAME(normals)(count, 4); /* is overwritten */
        ATTENTION a = {.tokens = tokens,
                       .heads = heads,
                       .width = width,
                       .queries = queries,
                       .causal = causal,
                       .qkv = qkv,
                       .out = out[i],
                       .sums = sums[i],
                       .out_gradient = gradient,
                       .qkv_gradient = back[i],
                       .scratch = scratch};
        scratch[need] = 77;
        table->attention_forward(&a);
        a.out = out[0];
        a.sums = sums[0]; /* so that only the way back is compared */
        table->attention_backward(&a);
        assert_true(scratch[need] == 77 && out[i][outs] == 0 && sums[i][heads * queries] == 0);
    }
    char what[80];
    snprintf(what, sizeof what, "attention (%zu, %zu, %zu), %zu queries, causal %d", tokens, heads,
             width, queries, causal);
    NAME(close)(out[1], out[0], outs, 30, what);
    NAME(close)(sums[1], sums[0], heads * queries, 30, what);
    NAME(close)(back[1], back[0], count, 60, what);
    for (int i = 0; i < 2; i++)
        free(out[i]), free(sums[i]), free(back[i]);
    free(qkv), free(gradient), free(scratch);
}

static void NAME(check_attentions)(const LAYERS *k)
{
    static const size_t sizes[][3] = {
        {1, 1, 1},   {1, 2, 16},  {2, 3, 5},   {5, 1, 8},    {7, 2, 3},    {8, 2, 16},
        {15, 1, 32}, {16, 2, 16}, {17, 4, 16}, {18, 1, 17},  {25, 1, 64},  {31, 2, 12},
        {33, 1, 16}, {50, 1, 64}, {77, 1, 24}, {115, 1, 16}, {197, 1, 64}, {230, 1, 9}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t tokens = sizes[i][0], heads = sizes[i][1], width = sizes[i][2];
        for (int causal = 0; causal < 2; causal++) {
            NAME(check_attention)(k, tokens, heads, width, tokens, causal);
            NAME(check_attention)(k, tokens, heads, width, 1, causal);
            NAME(check_attention)(k, tokens, heads, width, (tokens + 1) / 2, causal);
        }
    }
}

/* Scores so large that exponentials of them would not be numbers, and queries that see
 * one key alone. */
static void NAME(check_sharp_attention)(const LAYERS *k)
{
    enum { TOKENS = 40, WIDTH = 4 };
    REAL qkv[TOKENS * 3 * WIDTH], out[TOKENS * WIDTH], sums[TOKENS];
    REAL *scratch = NAME(room)(NAME(bang_attention_scratch)(TOKENS, 1, WIDTH));
    for (size_t i = 0; i < TOKENS; i++)
        for (size_t j = 0; j < WIDTH; j++) {
            qkv[(3 * i + 0) * WIDTH + j] = i == 7 ? 100 : (REAL)(i == 8) * -100;
            qkv[(3 * i + 1) * WIDTH + j] = i == 20 ? 100 : i == 30 ? -100 : 0;
            qkv[(3 * i + 2) * WIDTH + j] = (REAL)i;
        }
    ATTENTION a = {.tokens = TOKENS,
                   .heads = 1,
                   .width = WIDTH,
                   .queries = TOKENS,
                   .qkv = qkv,
                   .out = out,
                   .sums = sums,
                   .scratch = scratch};
    k->attention_forward(&a);
    for (size_t j = 0; j < WIDTH; j++) {
        assert_true(out[7 * WIDTH + j] == 20 && out[8 * WIDTH + j] == 30);
        assert_true(fabs((double)out[j] - 19.5) < 1e-4);
    }
    assert_true(sums[7] == 20000 && fabs((double)sums[0] - log(TOKENS)) < 1e-5);
    a.causal = 1;
    k->attention_forward(&a);
    for (size_t j = 0; j < WIDTH; j++)
        assert_true(out[j] == 0 && fabs((double)out[7 * WIDTH + j] - 3.5) < 1e-5);
    qkv[3 * 12 * WIDTH] = NAN; /* a query */
    k->attention_forward(&a);
    for (size_t i = 0; i < TOKENS; i++)
        assert_true(!!isnan(out[i * WIDTH]) == (i == 12) && !!isnan(sums[i]) == (i == 12));
    free(scratch);
}

static void NAME(check_rest)(const LAYERS *k)
{
    for (size_t width = 1; width < 70; width += width < 20 ? 1 : 7)
        for (size_t rows = 0; rows < 140; rows += rows < 3 ? 1 : 61) {
            size_t count = rows * width;
            REAL *x = NAME(normals)(count, 1), *g = NAME(normals)(count, 2), *out[2], *length[2];
            REAL *sum[2], *back[2], *y[2];
            for (size_t j = 0; rows && j < width; j++)
                x[j] = 0; /* a row without a direction */
            for (int i = 0; i < 2; i++) {
                const LAYERS *table = i ? k : &NAIVE;
                out[i] = NAME(room)(count), length[i] = NAME(room)(rows);
                sum[i] = NAME(normals)(width, 3), back[i] = NAME(room)(count);
                y[i] = NAME(normals)(count, 4);
                table->add_rows(sum[i], x, rows, width);
                table->add(y[i], x, count);
                table->unit_forward(out[i], length[i], x, rows, width);
                table->unit_backward(back[i], g, out[0], length[0], rows, width);
            }
            NAME(close)(sum[1], sum[0], width, 20, "sum of rows");
            assert_memory_equal(y[1], y[0], count * sizeof *x);
            NAME(close)(out[1], out[0], count, 3, "direction");
            NAME(close)(length[1], length[0], rows, 3, "length");
            NAME(close)(back[1], back[0], count, 6, "direction back");
            double squares = NAIVE.square_sum(x, count);
            assert_true(fabs(k->square_sum(x, count) - squares) <= 1e-12 * squares);
            assert_true(sum[1][width] == 0 && y[1][count] == 0 && out[1][count] == 0);
            for (int i = 0; i < 2; i++)
                free(out[i]), free(length[i]), free(sum[i]), free(back[i]), free(y[i]);
            free(x), free(g);
        }
}

static void NAME(check_layers)(const LAYERS *k)
{
    NAME(check_norms)(k);
    NAME(check_gelu)(k, BANG_GELU_EXACT);
    NAME(check_gelu)(k, BANG_GELU_QUICK);
    NAME(check_gelu)(k, BANG_GELU_TANH);
    NAME(check_attentions)(k);
    NAME(check_sharp_attention)(k);
    NAME(check_rest)(k);
}
