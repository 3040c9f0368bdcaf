/* Temperatures against bisection in long double, closed forms and what made the labels. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/measure/temperature.h"

static void assert_close(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.17g is not %.17g: %g off, %g allowed", found, expected, found - expected,
                 tolerance);
}

/* Logits, and labels drawn from softmax(z/T). */
struct data {
    size_t rows, classes;
    double *z; /* (rows, classes) */
    float *narrow;
    bang_label *labels; /* (rows) */
    bang_table wide_table, narrow_table;
    bang_logits wide, single;
};

static void make(struct data *data, size_t rows, size_t classes, double temperature, int left_out)
{
    bang_random random;
    bang_random_init(&random, 6, BANG_PURPOSE('t', 'e', 'm', 'p'), rows + classes);
    *data = (struct data){.rows = rows, .classes = classes};
    data->z = malloc(rows * classes * sizeof *data->z);
    data->narrow = malloc(rows * classes * sizeof *data->narrow);
    data->labels = malloc(rows * sizeof *data->labels);
    assert_true(data->z && data->narrow && data->labels);
    for (size_t i = 0; i < rows; i++) {
        double *z = data->z + i * classes, sum = 0;
        size_t label = 0;
        for (size_t k = 0; k < classes; k++) {
            data->narrow[i * classes + k] = (float)(3 * bang_random_normal(&random));
            z[k] = (double)data->narrow[i * classes + k];
            sum += exp(z[k] / temperature);
        }
        double left = sum * bang_random_uniform(&random) - exp(z[0] / temperature);
        while (left > 0 && label + 1 < classes)
            left -= exp(z[++label] / temperature);
        data->labels[i] = left_out && i % 5 == 3 ? BANG_LEFT_OUT : (bang_label)label;
    }
    bang_table_of(&data->wide_table, "wide", BANG_F64, data->z, rows, classes);
    bang_table_of(&data->narrow_table, "narrow", BANG_F32, data->narrow, rows, classes);
    data->wide = (bang_logits){.table = &data->wide_table};
    data->single = (bang_logits){.table = &data->narrow_table};
}

static void drop(struct data *data)
{
    free(data->z);
    free(data->narrow);
    free(data->labels);
}

struct plain {
    long double nll, slope, bend, confidence; /* means; slope and bend by 1/T */
};

static struct plain plain_at(const struct data *data, const bang_label *labels, double beta)
{
    struct plain sum = {0};
    size_t counted = 0;
    for (size_t i = 0; i < data->rows; i++) {
        const double *z = data->z + i * data->classes;
        long double top = -INFINITY, s = 0, first = 0, second = 0;
        if (labels && labels[i] < 0)
            continue;
        counted++;
        for (size_t k = 0; k < data->classes; k++)
            top = fmaxl(top, (long double)z[k]);
        for (size_t k = 0; k < data->classes; k++) {
            long double d = (long double)z[k] - top, e = expl((long double)beta * d);
            s += e;
            first += e * d;
            second += e * d * d;
        }
        long double own = labels ? (long double)z[labels[i]] - top : 0;
        sum.nll += logl(s) - (long double)beta * own;
        sum.slope += first / s - own;
        sum.bend += second / s - first / s * (first / s);
        sum.confidence += 1 / s;
    }
    long double n = (long double)counted;
    return (struct plain){sum.nll / n, sum.slope / n, sum.bend / n, sum.confidence / n};
}

/* Bisection in 1/T for a slope of 0, or for a mean confidence. */
static double plain_search(const struct data *data, const bang_label *labels, double confidence)
{
    double low = 1e-9, high = 1e9;
    for (int i = 0; i < 80; i++) {
        double middle = sqrt(low * high);
        struct plain at = plain_at(data, labels, middle);
        long double value = isnan(confidence) ? at.slope : at.confidence - (long double)confidence;
        *(value < 0 ? &low : &high) = middle;
    }
    return 1 / sqrt(low * high);
}

static bang_temperature fit(const bang_logits *logits, const bang_label *labels, int threads)
{
    bang_temperature found;
    bang_error err = {0};
    if (bang_temperature_fit(&found, logits, labels, threads, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return found;
}

static bang_temperature balance(const bang_logits *logits, const bang_label *labels, double target)
{
    bang_temperature found;
    bang_error err = {0};
    if (bang_temperature_balance(&found, logits, labels, target, 2, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(isnan(found.nll));
    return found;
}

static void check_fit(size_t rows, size_t classes, double temperature, int left_out)
{
    struct data data;
    make(&data, rows, classes, temperature, left_out);
    bang_temperature found = fit(&data.wide, data.labels, 2);
    double expected = plain_search(&data, data.labels, NAN);
    assert_close(found.temperature, expected, 2e-12 * expected);
    assert_int_equal(found.at_limit, 0);
    struct plain at = plain_at(&data, data.labels, 1 / found.temperature);
    assert_close(found.nll, (double)at.nll, 1e-13 * (double)at.nll);
    /* The slope is 0, as far as 1e-12 of 1/T lets it; so say the NLLs on both sides. */
    assert_close((double)at.slope, 0, 2e-12 / found.temperature * (double)at.bend);
    double beta = 1 / found.temperature, step = 1e-4 * beta;
    long double above = plain_at(&data, data.labels, beta + step).nll;
    long double below = plain_at(&data, data.labels, beta - step).nll;
    assert_true(above > at.nll && below > at.nll);
    assert_close((double)((above - below) / (2 * (long double)step)), 0,
                 1e-6 * (double)at.bend * beta);
    /* What made the labels, within 4 standard errors 1/sqrt(n NLL''). */
    double n = (double)rows * (left_out ? 0.8 : 1), error = 1 / sqrt(n * (double)at.bend);
    assert_close(beta, 1 / temperature, 4 * error);
    /* The same numbers in single precision: the same bits. */
    bang_temperature single = fit(&data.single, data.labels, 2);
    assert_true(single.temperature == found.temperature || rows > 1000);
    assert_close(single.temperature, found.temperature, 2e-12 * expected);
    assert_close(single.nll, found.nll, 1e-13 * found.nll);
    drop(&data);
}

static void test_fit(void **state)
{
    (void)state;
    check_fit(300, 7, 1, 0);
    check_fit(300, 7, 0.4, 1);
    check_fit(300, 30, 3.5, 0);
    check_fit(900, 2, 2, 1);
    check_fit(3000, 5, 0.7, 1); /* begins on some rows */
    check_fit(17000, 3, 1.6, 0);
    check_fit(21000, 3, 5, 1);
}

/* Logits of any unit have their temperature in it. */
static void test_units(void **state)
{
    (void)state;
    for (size_t rows = 60; rows < 20000; rows *= 15)
        for (int power = -24; power <= 24; power += 6) {
            struct data data;
            make(&data, rows, 3, 1.6, 0);
            double plain = fit(&data.wide, data.labels, 2).temperature, unit = ldexp(1, power);
            double target = (double)plain_at(&data, NULL, 0.4).confidence;
            for (size_t i = 0; i < rows * 3; i++)
                data.z[i] *= unit;
            bang_temperature found = fit(&data.wide, data.labels, 2);
            assert_int_equal(found.at_limit, 0);
            assert_close(found.temperature, plain * unit, 1e-11 * plain * unit);
            found = balance(&data.wide, NULL, target);
            assert_int_equal(found.at_limit, 0);
            assert_close(found.temperature, 2.5 * unit, 1e-11 * 2.5 * unit);
            drop(&data);
        }
}

static void test_balance(void **state)
{
    (void)state;
    static const size_t sizes[] = {50, 700, 21000};
    for (size_t s = 0; s < 3; s++) {
        struct data data;
        make(&data, sizes[s], 3, 1, 1);
        for (double wanted = 0.2; wanted < 20; wanted *= 4) {
            double all = (double)plain_at(&data, NULL, 1 / wanted).confidence;
            double some = (double)plain_at(&data, data.labels, 1 / wanted).confidence;
            bang_temperature found = balance(&data.wide, NULL, all);
            assert_close(found.temperature, wanted, 1e-11 * wanted);
            assert_int_equal(found.at_limit, 0);
            found = balance(&data.single, data.labels, some);
            assert_close(found.temperature, wanted, 1e-11 * wanted);
        }
        /* Another target than what comes from a temperature that is known. */
        double expected = plain_search(&data, data.labels, 0.77);
        assert_close(balance(&data.wide, data.labels, 0.77).temperature, expected,
                     1e-11 * expected);
        /* Out of reach. */
        bang_temperature sure = balance(&data.wide, NULL, 1.01);
        assert_true(sure.at_limit && sure.temperature == BANG_TEMPERATURE_LEAST);
        bang_temperature unsure = balance(&data.wide, NULL, 1.0 / 3);
        assert_true(unsure.at_limit && unsure.temperature == BANG_TEMPERATURE_MOST);
        drop(&data);
    }
}

/* Two classes, all margins a, a share q of the rows right: sigmoid(a/T) = q. */
static void test_two_classes(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    static double z[ROWS][2];
    static bang_label labels[ROWS];
    bang_table table;
    bang_table_of(&table, "two", BANG_F64, z, ROWS, 2);
    bang_logits logits = {.table = &table};
    for (int right = 0; right <= ROWS; right += 250)
        for (double a = 0.25; a < 100; a *= 8) {
            for (int i = 0; i < ROWS; i++) {
                int top = i % 3 == 0;
                z[i][top] = 7 + a;
                z[i][!top] = 7;
                labels[i] = (i * 7) % ROWS < right ? top : !top;
            }
            double q = (double)right / ROWS, expected = a / log(q / (1 - q));
            int limit = right <= ROWS / 2 || right == ROWS;
            if (right <= ROWS / 2)
                expected = BANG_TEMPERATURE_MOST;
            if (right == ROWS)
                expected = BANG_TEMPERATURE_LEAST;
            bang_temperature found = fit(&logits, labels, 1);
            assert_int_equal(found.at_limit, limit);
            assert_close(found.temperature, expected, limit ? 0 : 1e-12 * expected);
            double right_nll = log1p(exp(-a / expected)), wrong_nll = right_nll + a / expected;
            assert_close(found.nll, q * right_nll + (1 - q) * wrong_nll, 1e-12);
            if (limit)
                continue;
            found = balance(&logits, NULL, q);
            assert_close(found.temperature, expected, 1e-12 * expected);
        }
}

static void test_limits(void **state)
{
    (void)state;
    enum { ROWS = 2000, CLASSES = 4 };
    static double z[ROWS][CLASSES];
    static bang_label labels[ROWS];
    bang_table table;
    bang_table_of(&table, "limits", BANG_F64, z, ROWS, CLASSES);
    bang_logits logits = {.table = &table};
    /* All right, by gaps small, middling and so large that exponentials vanish. */
    for (double gap = 1e-4; gap < 1e7; gap *= 10)
        for (int wrong = 0; wrong < 2; wrong++) {
            for (int i = 0; i < ROWS; i++) {
                for (int k = 0; k < CLASSES; k++)
                    z[i][k] = gap * (1 + (i * 31 % 17) / 17.0) * (k == i % CLASSES);
                labels[i] = (i + wrong) % CLASSES;
            }
            bang_temperature found = fit(&logits, labels, 2);
            assert_int_equal(found.at_limit, 1);
            assert_true(found.temperature ==
                        (wrong ? BANG_TEMPERATURE_MOST : BANG_TEMPERATURE_LEAST));
            assert_true(found.nll >= 0);
        }
    /* One of them wrong: an optimum, however far. */
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < CLASSES; k++)
            z[i][k] = 50 * (k == i % CLASSES);
        labels[i] = i == 700 ? (i + 1) % CLASSES : i % CLASSES;
    }
    /* 3 e^(-50/T)/(1 + 3 e^(-50/T)) = 1/ROWS: no other row is wrong. */
    double expected = 50 / log(3.0 * (ROWS - 1));
    assert_close(fit(&logits, labels, 2).temperature, expected, 1e-11 * expected);
    /* Nothing depends on it: as it is. */
    memset(z, 0, sizeof z);
    bang_temperature flat = fit(&logits, labels, 2);
    assert_true(flat.temperature == 1 && !flat.at_limit);
    assert_close(flat.nll, log(CLASSES), 1e-14);
    assert_true(balance(&logits, NULL, 0.25).temperature == 1);
    bang_table_of(&table, "one class", BANG_F64, z, 5, 1);
    memset(labels, 0, sizeof labels);
    assert_true(fit(&logits, labels, 1).temperature == 1);
    assert_true(balance(&logits, NULL, 1).temperature == 1);
    assert_true(balance(&logits, NULL, 0.5).at_limit);
}

static void test_random_labels(void **state)
{
    (void)state;
    struct data data;
    make(&data, 5000, 10, 1, 0);
    for (size_t i = 0; i < data.rows; i++)
        data.labels[i] = (bang_label)(i * 7 % 10);
    bang_temperature found = fit(&data.wide, data.labels, 2);
    /* 1/T is 0 within 4 standard errors 1/sqrt(n 9). */
    assert_true(found.temperature > sqrt(5000 * 9.0) / 4);
    assert_close(found.nll, log(10), 0.01);
    drop(&data);
}

static void test_subset(void **state)
{
    (void)state;
    struct data data, small;
    make(&data, 1500, 9, 1, 0);
    make(&small, 1500, 3, 1.3, 1);
    /* Classes of one, of two and of three outputs: their logits are the largest. */
    const uint32_t first[] = {0, 1, 3, 6}, output[] = {8, 0, 3, 5, 4, 1};
    const bang_class_outputs columns = {.classes = 3, .first = first, .output = output};
    for (size_t i = 0; i < 1500; i++)
        for (size_t c = 0; c < 3; c++) {
            double most = -INFINITY;
            for (size_t k = first[c]; k < first[c + 1]; k++)
                most = fmax(most, data.z[i * 9 + output[k]]);
            small.z[i * 3 + c] = most;
        }
    data.wide.columns = &columns;
    bang_temperature found = fit(&data.wide, small.labels, 2);
    double expected = plain_search(&small, small.labels, NAN);
    assert_close(found.temperature, expected, 1e-11 * expected);
    found = balance(&data.wide, small.labels, 0.9);
    expected = plain_search(&small, small.labels, 0.9);
    assert_close(found.temperature, expected, 1e-11 * expected);
    drop(&data);
    drop(&small);
}

/* softmax of the logarithms of probabilities is the probabilities. */
static void test_probabilities(void **state)
{
    (void)state;
    struct data data;
    make(&data, 800, 6, 1.5, 0);
    bang_temperature expected = fit(&data.wide, data.labels, 2);
    for (size_t i = 0; i < data.rows; i++) {
        double sum = 0, *z = data.z + i * 6;
        for (size_t k = 0; k < 6; k++)
            sum += exp(z[k]);
        for (size_t k = 0; k < 6; k++)
            z[k] = exp(z[k]) / sum;
    }
    data.wide.probabilities = 1;
    bang_temperature found = fit(&data.wide, data.labels, 2);
    assert_close(found.temperature, expected.temperature, 1e-12);
    assert_close(found.nll, expected.nll, 1e-12);
    drop(&data);
}

/* Counts what is read of a table, and may raise the wish to stop. */
struct counting {
    const bang_table *table;
    atomic_size_t rows, last_run; /* the last row that a short run was read from */
    bang_cancel *cancel;
};

static int read_counted(void *context, void *out, size_t first, size_t count, bang_error *err)
{
    struct counting *counting = context;
    atomic_fetch_add(&counting->rows, count);
    if (count <= 4 && first > atomic_load(&counting->last_run))
        atomic_store(&counting->last_run, first);
    if (counting->cancel)
        atomic_store(&counting->cancel->raised, 1);
    return counting->table->read(counting->table->context, out, first, count, err);
}

static void test_threads_and_passes(void **state)
{
    (void)state;
    struct data data;
    make(&data, 40000, 16, 1.3, 1);
    struct counting counting = {.table = &data.narrow_table};
    bang_table table = data.narrow_table;
    table.read = read_counted;
    table.context = &counting;
    bang_logits logits = {.table = &table};
    bang_temperature first = fit(&logits, data.labels, 1);
    /* Some rows of all parts, then two passes. */
    assert_true(atomic_load(&counting.last_run) > data.rows * 9 / 10);
    if (atomic_load(&counting.rows) > 27 * data.rows / 10)
        fail_msg("%zu rows were read of %zu", atomic_load(&counting.rows), data.rows);
    atomic_store(&counting.rows, 0);
    bang_temperature level = balance(&logits, NULL, 0.5);
    if (atomic_load(&counting.rows) > 35 * data.rows / 10)
        fail_msg("%zu rows were read of %zu", atomic_load(&counting.rows), data.rows);
    for (int threads = 0; threads < 9; threads += 1 + threads / 3) {
        bang_error err = {0};
        bang_temperature found = fit(&logits, data.labels, threads), other;
        assert_true(found.temperature == first.temperature && found.nll == first.nll);
        assert_int_equal(bang_temperature_balance(&other, &logits, NULL, 0.5, threads, NULL, &err),
                         0);
        assert_true(other.temperature == level.temperature);
    }
    bang_error err = {0};
    bang_cancel cancel;
    atomic_init(&cancel.raised, 0);
    counting.cancel = &cancel;
    assert_int_equal(bang_temperature_fit(&first, &logits, data.labels, 2, &cancel, &err),
                     BANG_ECANCELLED);
    assert_int_equal(bang_temperature_balance(&first, &logits, NULL, 0.5, 2, &cancel, &err),
                     BANG_ECANCELLED);
    drop(&data);
}

static void refuse(const bang_logits *logits, const bang_label *labels, int code, const char *part)
{
    bang_temperature found;
    bang_error err = {0};
    assert_int_equal(bang_temperature_fit(&found, logits, labels, 2, NULL, &err), code);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static void test_refuse(void **state)
{
    (void)state;
    struct data data;
    bang_temperature found;
    bang_error err = {0};
    make(&data, 100, 5, 1, 0);
    refuse(&data.wide, NULL, BANG_EUSAGE, "labels");
    data.labels[17] = 5;
    refuse(&data.wide, data.labels, BANG_EDATA, "row 17 is 5");
    data.labels[17] = BANG_LEFT_OUT;
    data.z[17 * 5 + 2] = NAN; /* nobody asks for a row that is left out */
    fit(&data.wide, data.labels, 2);
    data.z[60 * 5 + 3] = INFINITY;
    refuse(&data.wide, data.labels, BANG_EDATA, "row 60, column 3");
    for (size_t i = 0; i < 100; i++)
        data.labels[i] = BANG_LEFT_OUT;
    refuse(&data.wide, data.labels, BANG_EDATA, "no row counts");
    assert_int_equal(bang_temperature_balance(&found, &data.wide, NULL, NAN, 2, NULL, &err),
                     BANG_EUSAGE);
    assert_int_equal(bang_temperature_balance(&found, &data.wide, data.labels, 0.5, 2, NULL, &err),
                     BANG_EDATA);
    assert_int_equal(bang_temperature_balance(&found, &data.wide, NULL, 0.5, 2, NULL, &err),
                     BANG_EDATA);
    assert_non_null(strstr(err.message, "row 17"));
    data.wide_table.rows = 0;
    refuse(&data.wide, data.labels, BANG_EDATA, "no row counts");
    drop(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_two_classes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_random_labels),
        cmocka_unit_test(test_subset),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_threads_and_passes),
        cmocka_unit_test(test_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
