/* Products of one way to compute them against three loops. The includer defines
 * REAL, PRODUCT, NAME(x) and EPSILON, the rounding of one operation. */
typedef void NAME(product_run)(const PRODUCT *p, REAL *scratch);

/* Numbers around zero, none of them zero. */
static REAL *NAME(numbers)(size_t count, uint64_t stream)
{
    REAL *out = malloc((count + 1) * sizeof *out);
    bang_random random;
    assert_non_null(out);
    bang_random_init(&random, 7, BANG_PURPOSE('p', 'r', 'o', 'd'), stream);
    for (size_t i = 0; i < count; i++)
        out[i] = (REAL)bang_random_normal(&random);
    return out;
}

/* One product twice, by `run` and by loops. Rows are longer than needed and begin at any
 * number; what lies between and behind them must stay. */
static void NAME(check_one)(NAME(product_run) * run, REAL *scratch, size_t m, size_t n, size_t k,
                            int kind)
{
    size_t c_row = n + 3, c_count = m * c_row + 5, residual_row = n + 1;
    size_t a_row = kind & A_TURNED ? 1 : k + 2, a_column = kind & A_TURNED ? m + 1 : 1;
    size_t b_row = kind & B_TURNED ? 1 : n + 3, b_column = kind & B_TURNED ? k + 1 : 1;
    REAL *a = NAME(numbers)(m * a_row + k * a_column, 1);
    REAL *b = NAME(numbers)(k * b_row + n * b_column, 2);
    REAL *bias = NAME(numbers)(n, 3), *residual = NAME(numbers)(m * residual_row, 4), *c[2], *d[2];
    for (int i = 0; i < 2; i++) {
        c[i] = NAME(numbers)(c_count, 5);
        d[i] = NAME(numbers)(c_count, 6);
        PRODUCT p = {.m = m,
                     .n = n,
                     .k = k,
                     .a = a,
                     .a_row = a_row,
                     .a_column = a_column,
                     .b = b,
                     .b_row = b_row,
                     .b_column = b_column,
                     .c = c[i] + 1,
                     .c_row = c_row,
                     .add = kind & ADD,
                     .bias = kind & BIAS ? bias : NULL,
                     .gelu = (bang_gelu)(n % 3)};
        if (kind & RESIDUAL) {
            p.residual = kind & ITSELF ? p.c : residual;
            p.residual_row = kind & ITSELF ? c_row : residual_row;
        }
        if (kind & ACTIVATED)
            p.activated = kind & IN_PLACE ? p.c : d[i] + 1;
        if (i)
            run(&p, scratch);
        else
            NAME(bang_product_naive)(&p);
    }
    double close = EPSILON * (double)(8 + k); /* k roundings of sums of sqrt(k) */
    for (size_t i = 0; i < c_count; i++) {
        int inside = i >= 1 && i - 1 < m * c_row && (i - 1) % c_row < n;
        double wrong = fabs((double)c[0][i] - (double)c[1][i]);
        wrong = fmax(wrong, fabs((double)d[0][i] - (double)d[1][i]));
        if (!(wrong <= (inside ? close * (1 + fabs((double)c[0][i])) : 0)))
            fail_msg("(%zu, %zu, %zu) kind %d, at %zu: %g or %g instead of %g or %g", m, n, k, kind,
                     i, (double)c[1][i], (double)d[1][i], (double)c[0][i], (double)d[0][i]);
    }
    free(a), free(b), free(bias), free(residual);
    free(c[0]), free(c[1]), free(d[0]), free(d[1]);
}

static void NAME(check_products)(NAME(product_run) * run)
{
    static const size_t m[] = {1, 2, 3, 4, 5, 6, 7, 13}, n[] = {1, 3, 8, 15, 16, 17, 40};
    static const size_t k[] = {0, 1, 2, 7, 8, 17, 33},
                        sizes[][3] = {
                            /* A packed in several groups, and the largest width without */
                            {55, 300, 24},
                            {103, 273, 9},
                            {11, 256, 20},
                            {11, 257, 20},
                            /* one slice, one number more, and three */
                            {7, 40, 400},
                            {7, 40, 401},
                            {7, 300, 800},
                            {7, 300, 801},
                            {7, 20, 1700},
                            /* rows beyond one part */
                            {804, 17, 3},
                            {805, 272, 3},
                            {1700, 16, 2},
                            {0, 5, 3},
                            {5, 0, 3}};
    REAL *scratch =
        aligned_alloc(64, (NAME(bang_product_scratch)() * sizeof *scratch + 63) / 64 * 64);
    assert_non_null(scratch);
    int kind = 0;
    for (size_t x = 0; x < sizeof m / sizeof *m; x++)
        for (size_t y = 0; y < sizeof n / sizeof *n; y++)
            for (size_t z = 0; z < sizeof k / sizeof *k; z++)
                for (int i = 0; i < 8; i++) /* all transpositions and additions, the rest in turn */
                    NAME(check_one)(run, scratch, m[x], n[y], k[z], (kind++ * 4 + i) % KINDS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int j = 0; j < 8; j++)
            NAME(check_one)
    (run, scratch, sizes[i][0], sizes[i][1], sizes[i][2], (kind += 37) * 4 % KINDS + j % 4);
    for (kind = 0; kind < KINDS; kind++) {
        NAME(check_one)(run, scratch, 9, 37, 21, kind);
        if (kind % 7 == 0)
            NAME(check_one)(run, scratch, 8, 270, 801, kind);
    }
    free(scratch);
}

/* A row's bits do not depend on the rows beside it, and what is not a number stays in
 * its row. */
static void NAME(check_rows)(NAME(product_run) * run)
{
    enum { M = 41, N = 290, K = 830 };
    REAL *a = NAME(numbers)(M * K, 1), *b = NAME(numbers)(K * N, 2), *bias = NAME(numbers)(N, 3);
    REAL *all = NAME(numbers)(M * N, 4), *some = NAME(numbers)(M * N, 4);
    REAL *scratch =
        aligned_alloc(64, (NAME(bang_product_scratch)() * sizeof *scratch + 63) / 64 * 64);
    assert_non_null(scratch);
    for (int turned = 0; turned < 2; turned++) {
        PRODUCT p = {.m = M,
                     .n = N,
                     .k = K,
                     .a = a,
                     .a_row = turned ? 1 : K,
                     .a_column = turned ? M : 1,
                     .b = b,
                     .b_row = N,
                     .b_column = 1,
                     .c = all,
                     .c_row = N,
                     .bias = bias};
        run(&p, scratch);
        for (p.m = 1; p.m < M; p.m += 5)
            for (size_t n = 275; n <= N; n += 15) {
                p.n = n;
                p.c = some;
                run(&p, scratch);
                for (size_t i = 0; i < p.m; i++)
                    assert_memory_equal(some + i * N, all + i * N, n * sizeof *all);
            }
        p.m = M, p.n = N;
        REAL *bad = a + (turned ? 100 * M + 17 : 17 * K + 100), old = *bad;
        *bad = NAN;
        run(&p, scratch);
        *bad = old;
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++)
                assert_true(i == 17 ? isnan(some[i * N + j]) : some[i * N + j] == all[i * N + j]);
    }
    free(a), free(b), free(bias), free(all), free(some), free(scratch);
}

/* Two ways give the same bits, for widths around those of their vectors and in several slices. */
static void NAME(check_same)(NAME(product_run) * one, NAME(product_run) * other)
{
    enum { M = 20, K = 900, N_MOST = 330 };
    REAL *a = NAME(numbers)(M * K, 1), *b = NAME(numbers)(K * N_MOST, 2);
    REAL *c = NAME(numbers)(M * N_MOST, 3), *d = NAME(numbers)(M * N_MOST, 3);
    REAL *scratch =
        aligned_alloc(64, (NAME(bang_product_scratch)() * sizeof *scratch + 63) / 64 * 64);
    assert_non_null(scratch);
    for (size_t n = 1; n <= N_MOST; n += n < 70 ? 1 : 37)
        for (int turned = 0; turned < 4; turned++) {
            PRODUCT p = {.m = M,
                         .n = n,
                         .k = K,
                         .a = a,
                         .a_row = turned & 1 ? 1 : K,
                         .a_column = turned & 1 ? M : 1,
                         .b = b,
                         .b_row = turned & 2 ? 1 : n,
                         .b_column = turned & 2 ? K : 1,
                         .c = c,
                         .c_row = n,
                         .activated = c,
                         .gelu = (bang_gelu)(n % 3)};
            one(&p, scratch);
            p.c = p.activated = d;
            other(&p, scratch);
            assert_memory_equal(c, d, M * n * sizeof *c);
        }
    free(a), free(b), free(c), free(d), free(scratch);
}

#undef REAL
#undef PRODUCT
#undef NAME
#undef EPSILON
