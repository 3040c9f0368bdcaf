/* The kernels of one table against plain loops. The includer defines REAL,
 * STEP, KERNELS, NAME(x) and EPSILON, the rounding of one operation. */

/* Numbers with small exponents and both signs; zeros among them. */
static void NAME(fill)(REAL *out, size_t count, uint64_t stream)
{
    bang_random random;
    bang_random_init(&random, 5, BANG_PURPOSE('k', 'e', 'r', 'n'), stream);
    for (size_t i = 0; i < count; i++) {
        double x = bang_random_normal(&random);
        out[i] = bang_random_below(&random, 8) ? (REAL)x : 0;
    }
}

/* Zeroed, aligned to 64 bytes. */
static REAL *NAME(room)(size_t count)
{
    void *block = aligned_alloc(64, (count * sizeof(REAL) + 127) / 64 * 64);
    assert_non_null(block);
    return memset(block, 0, (count * sizeof(REAL) + 127) / 64 * 64);
}

static void NAME(assert_near)(double got, double want, double scale, const char *what)
{
    if (!(fabs(got - want) <= 4 * EPSILON * scale))
        fail_msg("%s: %.17g instead of %.17g, %g roundings away", what, got, want,
                 fabs(got - want) / (EPSILON * scale));
}

static void NAME(check_product_of)(const KERNELS *k, size_t m, size_t n, size_t depth,
                                   int transposed, int add)
{
    /* rows longer than needed; A begins at any number, C and B at aligned ones */
    size_t c_row = n + 16, b_row = n + 32;
    size_t a_row = transposed ? 1 : depth + 3, a_column = transposed ? m + 5 : 1;
    size_t a_count = m * a_row + depth * a_column + 1;
    REAL *c = NAME(room)(m * c_row + 16), *a = NAME(room)(a_count), *b = NAME(room)(depth * b_row);
    REAL *before = NAME(room)(m * c_row + 16);
    NAME(fill)(a, a_count, 1);
    NAME(fill)(b, depth * b_row, 2);
    NAME(fill)(c, m * c_row + 16, 3);
    memcpy(before, c, (m * c_row + 16) * sizeof *c);
    k->product(c, c_row, a + 1, a_row, a_column, b, b_row, m, n, depth, add);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < c_row; j++) {
            double want = add || j >= n ? (double)before[i * c_row + j] : 0, scale = fabs(want);
            for (size_t x = 0; j < n && x < depth; x++) {
                double term = (double)a[1 + i * a_row + x * a_column] * (double)b[x * b_row + j];
                want += term;
                scale += fabs(term);
            }
            if (j >= n)
                assert_true(c[i * c_row + j] == before[i * c_row + j]);
            else
                NAME(assert_near)
            ((double)c[i * c_row + j], want, scale * (1 + sqrt((double)depth)), "product");
        }
    for (size_t j = 0; j < 16; j++) /* behind the last row */
        assert_true(c[m * c_row + j] == before[m * c_row + j]);
    free(a), free(b), free(c), free(before);
}

static void NAME(check_product)(const KERNELS *k)
{
    static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 48}, depths[] = {0, 1, 2, 7};
    for (size_t n = 16; n <= 80; n += 16)
        for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
                for (int kind = 0; kind < 4; kind++)
                    NAME(check_product_of)(k, rows[m], n, depths[d], kind & 1, kind & 2);
    /* deeper than one slice, by one and by less and more than another one */
    static const size_t deep[] = {127, 128, 129, 255, 256, 257, 300, 513};
    for (size_t d = 0; d < sizeof deep / sizeof *deep; d++)
        for (int kind = 0; kind < 4; kind++)
            NAME(check_product_of)(k, 11, 32, deep[d], kind & 1, kind & 2);
    NAME(check_product_of)(k, 0, 16, 3, 0, 0);
}

static void NAME(check_gather)(const KERNELS *k)
{
    enum { LINES = 23, MOST = 37 };
    uint16_t column[MOST];
    float value[MOST];
    for (size_t i = 0; i < MOST; i++) {
        column[i] = (uint16_t)(i * 7 % LINES); /* some twice, not in order */
        value[i] = (float)(0.25 * (double)i - 3.1);
    }
    for (size_t n = 16; n <= 144; n += 16)
        for (size_t count = 0; count <= MOST; count += count < 3 ? 1 : 17)
            for (int ones = 0; ones < 2; ones++) {
                REAL *w = NAME(room)(LINES * n), *z = NAME(room)(n), *old = NAME(room)(LINES * n);
                NAME(fill)(w, LINES * n, 1);
                NAME(fill)(z, n, 2);
                memcpy(old, z, n * sizeof *z);
                k->gather(z, w, n, column, ones ? NULL : value, count);
                for (size_t j = 0; j < n; j++) {
                    double want = (double)old[j], scale = fabs(want);
                    for (size_t i = 0; i < count; i++) {
                        double term = (ones ? 1 : (double)value[i]) * (double)w[column[i] * n + j];
                        want += term;
                        scale += fabs(term);
                    }
                    NAME(assert_near)((double)z[j], want, scale * 7, "gather");
                }
                memcpy(old, w, LINES * n * sizeof *w);
                k->scatter(w, z, n, column, ones ? NULL : value, count);
                for (size_t line = 0; line < LINES; line++)
                    for (size_t j = 0; j < n; j++) {
                        double want = (double)old[line * n + j], scale = fabs(want);
                        for (size_t i = 0; i < count; i++)
                            if (column[i] == line) {
                                double term = (ones ? 1 : (double)value[i]) * (double)z[j];
                                want += term;
                                scale += fabs(term);
                            }
                        NAME(assert_near)((double)w[line * n + j], want, scale * 2, "scatter");
                    }
                free(w), free(z), free(old);
            }
}

static void NAME(check_mix)(const KERNELS *k)
{
    for (size_t n = 16; n <= 80; n += 16) {
        REAL *x = NAME(room)(n), *y = NAME(room)(n), *out = NAME(room)(n + 16);
        NAME(fill)(x, n, 1);
        NAME(fill)(y, n, 2);
        k->mix(out, (REAL)0.3, x, (REAL)-1.7, y, n);
        for (size_t i = 0; i < n; i++)
            NAME(assert_near)
        ((double)out[i], (double)(REAL)0.3 * (double)x[i] - (double)(REAL)1.7 * (double)y[i],
         2 * (fabs((double)x[i]) + 2 * fabs((double)y[i])), "mix");
        assert_true(out[n] == 0);
        memcpy(out, x, n * sizeof *x);
        k->mix(out, 1, out, 2, y, n); /* in place */
        for (size_t i = 0; i < n; i++)
            NAME(assert_near)
        ((double)out[i], (double)x[i] + 2 * (double)y[i],
         fabs((double)x[i]) + 2 * fabs((double)y[i]), "mix in place");
        free(x), free(y), free(out);
    }
}

static void NAME(check_relu)(const KERNELS *k)
{
    for (size_t n = 16; n <= 80; n += 16) {
        REAL *x = NAME(room)(n), *before = NAME(room)(n), *d = NAME(room)(n);
        NAME(fill)(x, n, 1);
        x[3] = NAN;
        x[5] = INFINITY;
        x[7] = -INFINITY;
        x[n - 1] = (REAL)-1e-30;
        memcpy(before, x, n * sizeof *x);
        k->relu_forward(x, n);
        for (size_t i = 0; i < n; i++)
            if (i == 3)
                assert_true(isnan(x[i]));
            else
                assert_true(x[i] == (before[i] > 0 ? before[i] : 0));
        for (size_t i = 0; i < n; i++)
            d[i] = (REAL)i - 20;
        d[2] = NAN;
        x[2] = 0; /* stops all */
        d[6] = NAN;
        x[6] = 1; /* lets all through */
        k->relu_backward(d, x, n);
        for (size_t i = 0; i < n; i++)
            if (i == 6)
                assert_true(isnan(d[i]));
            else
                assert_true(d[i] == (i == 3 || x[i] > 0 ? (REAL)i - 20 : 0));
        free(x), free(before), free(d);
    }
}

static void NAME(check_conversions)(const KERNELS *k)
{
    uint8_t bytes[256 + 3];
    float numbers[256 + 3];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i - 3);
        numbers[i] = (float)i * 0.37f - 1e-40f;
    }
    for (size_t shift = 0; shift < 4; shift++)
        for (size_t n = 0; n <= 256; n += n < 40 ? 1 : 216) {
            REAL *out = NAME(room)(n + 4);
            k->from_u8(out + shift, bytes + shift, n);
            for (size_t i = 0; i < n; i++) /* the float nearest to the quotient, in either type */
                assert_true(out[shift + i] == (REAL)((float)bytes[shift + i] / 255.0f));
            k->from_f32(out + shift, numbers + shift, n);
            for (size_t i = 0; i < n; i++)
                assert_true(out[shift + i] == (REAL)numbers[shift + i]);
            assert_true(shift == 3 || out[shift + n] == 0);
            free(out);
        }
}

static void NAME(check_steps)(const KERNELS *k)
{
    STEP s = {.rate = (REAL)0.03,
              .beta1 = (REAL)0.9,
              .beta2 = (REAL)0.99,
              .root_correction = (REAL)1.7,
              .epsilon = (REAL)1e-3,
              .keep = (REAL)0.95,
              .decay = (REAL)0.2,
              .gradient_scale = (REAL)0.6};
    double rate = (double)s.rate, b1 = (double)s.beta1, b2 = (double)s.beta2;
    double keep = (double)s.keep, decay = (double)s.decay, clip = (double)s.gradient_scale;
    for (size_t n = 16; n <= 80; n += 16) {
        REAL *w = NAME(room)(n + 16), *g = NAME(room)(n), *m = NAME(room)(n), *v = NAME(room)(n);
        NAME(fill)(w, n, 1);
        NAME(fill)(g, n, 2);
        double weight[80], mean[80] = {0}, square[80] = {0};
        for (size_t i = 0; i < n; i++)
            weight[i] = (double)w[i];
        for (int t = 0; t < 3; t++) {
            k->adam(w, g, m, v, n, &s);
            for (size_t i = 0; i < n; i++) {
                weight[i] *= keep;
                double slope = clip * (double)g[i] + decay * weight[i];
                mean[i] = b1 * mean[i] + (1 - b1) * slope;
                square[i] = b2 * square[i] + (1 - b2) * slope * slope;
                double root = sqrt(square[i]) * (double)s.root_correction;
                weight[i] -= rate * mean[i] / (root + (double)s.epsilon);
                NAME(assert_near)((double)m[i], mean[i], 8, "adam: mean");
                NAME(assert_near)((double)v[i], square[i], 8, "adam: square");
                NAME(assert_near)((double)w[i], weight[i], 16, "adam: weight");
            }
        }
        assert_true(w[n] == 0);
        NAME(fill)(w, n, 1);
        memset(m, 0, n * sizeof *m);
        for (size_t i = 0; i < n; i++) {
            weight[i] = (double)w[i];
            mean[i] = 0;
        }
        for (int t = 0; t < 3; t++) {
            k->sgd(w, g, m, n, &s);
            for (size_t i = 0; i < n; i++) {
                weight[i] *= keep;
                mean[i] = b1 * mean[i] + clip * (double)g[i] + decay * weight[i];
                weight[i] -= rate * mean[i];
                NAME(assert_near)((double)m[i], mean[i], 16, "sgd: mean");
                NAME(assert_near)((double)w[i], weight[i], 16, "sgd: weight");
            }
        }
        assert_true(w[n] == 0);
        free(w), free(g), free(m), free(v);
    }
}

/* What has no gradient and no moments stays, and a padding of zeros too. */
static void NAME(check_rest)(const KERNELS *k)
{
    STEP s = {.rate = 1, .root_correction = 1, .epsilon = (REAL)1e-8, .keep = 1};
    s.gradient_scale = 1;
    REAL *w = NAME(room)(16), *g = NAME(room)(16), *m = NAME(room)(16), *v = NAME(room)(16);
    w[1] = 3;
    k->adam(w, g, m, v, 16, &s);
    k->sgd(w, g, m, 16, &s);
    for (size_t i = 0; i < 16; i++)
        assert_true(w[i] == (i == 1 ? 3 : 0) && m[i] == 0 && v[i] == 0);
    free(w), free(g), free(m), free(v);
}

static void NAME(check)(const KERNELS *k)
{
    NAME(check_product)(k);
    NAME(check_gather)(k);
    NAME(check_mix)(k);
    NAME(check_relu)(k);
    NAME(check_conversions)(k);
    NAME(check_steps)(k);
    NAME(check_rest)(k);
}

#undef REAL
#undef STEP
#undef KERNELS
#undef NAME
#undef EPSILON
