/* The edges of tallies: extreme logits, many members, what is refused, and stopping. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/base/random.h"
#include "bang/measure/tally.h"

enum { ROWS = 2003, CLASSES = 4, MANY = 24 };

static double numbers[3][ROWS * CLASSES];
static bang_label labels[ROWS];
static bang_table tables[3];
static bang_logits sources[3];

static int make_numbers(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 5, BANG_PURPOSE('t', 'e', 's', 't'), 1);
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (bang_label)bang_random_below(&random, CLASSES);
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < ROWS * CLASSES; i++)
            numbers[s][i] = 2 * bang_random_normal(&random);
        bang_table_of(&tables[s], (const char *[]){"pre.npy", "fine.npy", "avg.npy"}[s], BANG_F64,
                      numbers[s], ROWS, CLASSES);
        sources[s] = (bang_logits){.table = &tables[s]};
    }
    return 0;
}

static bang_member single(size_t source, double scale)
{
    return (bang_member){.part_count = 1, .parts = {{source, scale, 1}}};
}

static bang_tally *tally_of(const bang_tally_input *input, const bang_tally_options *options)
{
    bang_tally *tally;
    bang_error err = {0};
    if (bang_tally_run(&tally, input, options, &err) < 0)
        fail_msg("%s", err.message);
    return tally;
}

/* One row of two classes, label 0. */
static bang_tally *tally_row(double a, double b, double c, double d, int probabilities,
                             const bang_member *members, size_t count)
{
    const double first[] = {a, b}, second[] = {c, d};
    const bang_label label = 0;
    bang_table table[2];
    bang_table_of(&table[0], "pre.npy", BANG_F64, first, 1, 2);
    bang_table_of(&table[1], "fine.npy", BANG_F64, second, 1, 2);
    bang_logits logits[2] = {{&table[0], probabilities, NULL}, {&table[1], probabilities, NULL}};
    bang_tally_input input = {2, logits, &label, count, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    return tally_of(&input, &options);
}

/* -log p stays right where p is no double any more. */
static void test_underflow(void **state)
{
    (void)state;
    const bang_member members[] = {
        single(0, 1),
        single(1, 1),
        {.part_count = 2, .parts = {{0, 1, 0.5}, {1, 1, 0.5}}},
        {.part_count = 2, .parts = {{0, 1, 0.25}, {1, 1, 0.75}}, .probabilities = 1},
        {.part_count = 2, .parts = {{0, 1, 1}, {1, 1, 0}}, .probabilities = 1},
    };
    bang_tally *tally = tally_row(-2000, 0, -1000, 1, 0, members, 5);
    assert_true(tally->of[0].nll == 2000 && tally->of[1].nll == 1001);
    assert_true(fabs(tally->of[2].nll - 1500.5) < 1e-9);
    assert_true(fabs(tally->of[3].nll - (1001 - log(0.75))) < 1e-9);
    assert_true(fabs(tally->of[4].nll - 2000) < 1e-9);
    for (size_t m = 0; m < 5; m++)
        assert_true(tally->of[m].brier == 2 && tally->of[m].margin[BANG_FF] == -1);
    bang_tally_free(tally);
    /* Both parts alike, at the edge of what a double holds. */
    tally = tally_row(-650, 0, -650, 0, 0, members, 5);
    assert_true(fabs(tally->of[3].nll - 650) < 1e-9);
    bang_tally_free(tally);
    /* A probability of 0 is taken as the least double. */
    tally = tally_row(0, 1, 0.5, 0.5, 1, members, 5);
    assert_true(fabs(tally->of[0].nll + log(5e-324)) < 1e-9);
    assert_true(fabs(tally->of[3].nll + log(0.375)) < 1e-12);
    bang_tally_free(tally);
}

static void test_far_logits(void **state)
{
    (void)state;
    const bang_member members[] = {single(0, 1), single(1, 1e-3)};
    bang_tally *tally = tally_row(1e308, -1e308, -1e308, 1e308, 0, members, 2);
    assert_true(tally->of[0].right == 1 && tally->of[1].right == 0);
    assert_true(tally->of[0].confidence == 1 && tally->of[0].nll == 0);
    assert_true(tally->of[0].margin[BANG_TF] == 1 && tally->of[1].margin[BANG_TF] == -1);
    bang_tally_free(tally);
}

/* A tie is won by the lower class, at every temperature. */
static void test_temperature(void **state)
{
    (void)state;
    static double z[ROWS * CLASSES];
    bang_table table;
    bang_table_of(&table, "pre.npy", BANG_F64, z, ROWS, CLASSES);
    bang_logits logits = {.table = &table};
    for (size_t i = 0; i < ROWS * CLASSES;
         i++) /* neighbours of 1/3, far closer than exp can tell */
        z[i] =
            (double)(i / CLASSES % 7) + 1.0 / 3 + (double)((i * 7 + i / 5) % 3) * DBL_EPSILON / 2;
    bang_member members[8];
    for (size_t m = 0; m < 8; m++)
        members[m] = single(0, (double[]){1, 0.1, 1.0 / 3, 3, 1e-3, 17.7, 0.7, 1e3}[m]);
    bang_tally_input input = {1, &logits, labels, 8, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_tally *tally = tally_of(&input, &options);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(tally->agree[i], ROWS);
    assert_true(tally->of[0].right > ROWS / 8 && tally->of[0].right < ROWS / 2);
    bang_tally_free(tally);
}

/* More members than an array of patterns would hold, and a thousand bins. */
static void test_many_members(void **state)
{
    (void)state;
    bang_member members[MANY];
    for (size_t m = 0; m < MANY; m++)
        members[m] = (bang_member){
            .part_count = 2,
            .parts = {{m % 3, 1, 0.1 * (double)m}, {(m + 1) % 3, 0.5, 1 - 0.07 * (double)m}},
            .equal_mass = m == 20};
    bang_tally_input input = {3, sources, labels, MANY, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    options.bins = 1000;
    bang_tally *tally[2];
    for (int i = 0; i < 2; i++) {
        options.threads = 1 + 3 * i;
        tally[i] = tally_of(&input, &options);
    }
    assert_int_equal(tally[0]->pattern_count, tally[1]->pattern_count);
    assert_true(tally[0]->pattern_count > 64); /* a table that grew */
    size_t total = 0, right[MANY] = {0};
    for (size_t i = 0; i < tally[0]->pattern_count; i++) {
        bang_pattern a = tally[0]->patterns[i], b = tally[1]->patterns[i];
        assert_true(a.right == b.right && a.count == b.count && a.count > 0);
        assert_true(i == 0 || tally[0]->patterns[i - 1].right < a.right);
        total += a.count;
        for (size_t m = 0; m < MANY; m++)
            right[m] += a.right >> m & 1 ? a.count : 0;
    }
    assert_int_equal(total, ROWS);
    for (size_t m = 0; m < MANY; m++) {
        const bang_member_tally *of = &tally[0]->of[m];
        size_t in_bins = 0, wins = 0;
        double confidence = 0;
        for (size_t b = 0; b < 1000; b++) {
            in_bins += of->width[b].count;
            if (of->width[b].count > 0)
                confidence += of->width[b].confidence * (double)of->width[b].count;
        }
        for (size_t i = 0; i < ROWS; i++) { /* the mix, by hand */
            double z[CLASSES];
            size_t best = 0;
            for (size_t k = 0; k < CLASSES; k++) {
                const bang_member_part *a = &members[m].parts[0], *b = &members[m].parts[1];
                z[k] = a->share * a->scale * numbers[a->source][i * CLASSES + k] +
                       b->share * b->scale * numbers[b->source][i * CLASSES + k];
                best = z[k] > z[best] ? k : best;
            }
            wins += best == (size_t)labels[i];
        }
        assert_true(in_bins == ROWS && of->right == right[m] && of->right == wins);
        assert_true(fabs(confidence / ROWS - of->confidence) < 1e-12);
        assert_true(of->confidence == tally[1]->of[m].confidence && of->nll == tally[1]->of[m].nll);
        assert_true(!of->mass == (m != 20));
    }
    bang_tally_free(tally[0]);
    bang_tally_free(tally[1]);
}

static void refused(const bang_tally_input *input, const bang_tally_options *options, int code,
                    const char *message)
{
    bang_error err = {0};
    bang_tally *tally;
    assert_int_equal(bang_tally_run(&tally, input, options, &err), code);
    assert_null(tally);
    if (!strstr(err.message, message))
        fail_msg("\"%s\" lacks \"%s\"", err.message, message);
    assert_null(strchr(err.message, '\n'));
}

static void test_usage(void **state)
{
    (void)state;
    bang_member members[3] = {single(0, 1), single(1, 1), single(2, 1)};
    bang_tally_input input = {3, sources, labels, 3, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    options.bins = 0;
    refused(&input, &options, BANG_EUSAGE, "0 bins: 1 to 1000");
    options.bins = 1001;
    refused(&input, &options, BANG_EUSAGE, "1001 bins");
    options.bins = 15;
    input.member_count = 0;
    refused(&input, &options, BANG_EUSAGE, "0 members");
    input.member_count = 65;
    refused(&input, &options, BANG_EUSAGE, "65 members: 1 to 64");
    input.member_count = 2;
    options.listed = 1;
    refused(&input, &options, BANG_EUSAGE, "they need three members, not 2");
    input.member_count = 3;
    input.source_count = 0;
    refused(&input, &options, BANG_EUSAGE, "no outputs");
    input.source_count = 2;
    refused(&input, &options, BANG_EUSAGE, "member 2: asks for source 2, and there are 2");
    input.source_count = 3;
    members[1].part_count = 0;
    refused(&input, &options, BANG_EUSAGE, "member 1: has 0 parts");
    members[1].part_count = 9;
    refused(&input, &options, BANG_EUSAGE, "member 1: has 9 parts");
    members[1] = single(1, 0);
    refused(&input, &options, BANG_EUSAGE, "member 1: scale 0");
    members[1] = single(1, NAN);
    refused(&input, &options, BANG_EUSAGE, "member 1: scale nan");
    members[1] = single(1, 1);
    members[1].parts[0].share = INFINITY;
    refused(&input, &options, BANG_EUSAGE, "member 1: inf is no share");
    members[1] = (bang_member){.part_count = 2, .parts = {{0, 1, 1.5}, {1, 1, -.5}}};
    members[1].probabilities = 1;
    refused(&input, &options, BANG_EUSAGE, "member 1: -0.5 is no share");
    members[1].parts[1].share = 0.5;
    refused(&input, &options, BANG_EUSAGE, "sum to 2: they must to 1");
}

static void test_shapes(void **state)
{
    (void)state;
    const uint32_t first[] = {0, 1, 2, 3}, output[] = {0, 1, 2};
    const bang_class_outputs picked = {.classes = 3, .first = first, .output = output};
    const bang_member member = single(0, 1);
    bang_logits logits[3] = {sources[0], sources[1], sources[2]};
    bang_tally_input input = {3, logits, labels, 1, &member};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_table shorter;
    bang_table_of(&shorter, "short.npy", BANG_F64, numbers[0], ROWS - 1, CLASSES);
    logits[2].table = &shorter;
    refused(&input, &options, BANG_EDATA, "short.npy: has 2002 rows, but pre.npy has 2003");
    logits[2] = sources[2];
    logits[1].columns = &picked;
    refused(&input, &options, BANG_EDATA, "fine.npy: has 3 classes, but pre.npy has 4");
    logits[1] = sources[1];

    static bang_label wrong[ROWS];
    input.labels = wrong;
    memcpy(wrong, labels, sizeof wrong);
    wrong[1002] = -2;
    wrong[2002] = 4;
    refused(&input, &options, BANG_EDATA, "labels: row 1002 has class -2: classes are 0 to 3");
    wrong[1002] = -1;
    refused(&input, &options, BANG_EDATA, "labels: row 2002 has class 4: classes are 0 to 3");
}

/* Of several bad numbers that of the lowest row is named, whoever finds one first. */
static void test_not_finite(void **state)
{
    (void)state;
    static double z[3][ROWS * CLASSES];
    static bang_label some[ROWS];
    bang_table table[3];
    bang_logits logits[3];
    const bang_member members[3] = {single(0, 1), single(1, 1), single(2, 1)};
    bang_tally_input input = {3, logits, labels, 3, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    memcpy(z, numbers, sizeof z);
    for (size_t s = 0; s < 3; s++) {
        bang_table_of(&table[s], tables[s].name, BANG_F64, z[s], ROWS, CLASSES);
        logits[s] = (bang_logits){.table = &table[s]};
    }
    z[0][1900 * CLASSES] = INFINITY;
    z[0][903 * CLASSES + 1] = NAN;
    z[1][902 * CLASSES + 3] = NAN;
    z[2][902 * CLASSES + 2] = -INFINITY;
    for (options.threads = 1; options.threads <= 4; options.threads++)
        refused(&input, &options, BANG_EDATA, "fine.npy: row 902, column 3 is nan: ");
    z[1][902 * CLASSES + 3] = 0;
    refused(&input, &options, BANG_EDATA, "avg.npy: row 902, column 2 is -inf: ");
    /* Rows that are left out are not looked at. */
    memcpy(some, labels, sizeof some);
    input.labels = some;
    some[902] = some[903] = -1;
    refused(&input, &options, BANG_EDATA, "pre.npy: row 1900, column 0 is inf: ");
    some[1900] = -1;
    bang_tally *tally = tally_of(&input, &options);
    assert_int_equal(tally->counted, ROWS - 3);
    bang_tally_free(tally);
    /* Finite logits whose mix is not. */
    const bang_member mixed = {.part_count = 2, .parts = {{0, 1, 1}, {1, 1, 1}}};
    z[0][77 * CLASSES] = z[1][77 * CLASSES] = DBL_MAX;
    input = (bang_tally_input){3, logits, some, 1, &mixed};
    refused(&input, &options, BANG_EDATA,
            "row 77: logits are too large: their mix is no finite number");
}

static int fail_late(void *context, void *out, size_t first, size_t count, bang_error *err)
{
    (void)context;
    if (first + count > 1500)
        return bang_fail(err, BANG_EIO, "late.npy: gone");
    memset(out, 0, count * CLASSES * sizeof(double));
    return 0;
}

static void test_read_fails(void **state)
{
    (void)state;
    const bang_member member = single(0, 1);
    bang_table table = {
        .name = "late.npy", .rows = ROWS, .columns = CLASSES, .dtype = BANG_F64, .read = fail_late};
    bang_logits logits = {.table = &table};
    bang_tally_input input = {1, &logits, labels, 1, &member};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    refused(&input, &options, BANG_EIO, "late.npy: gone");
    table.dtype = BANG_F16;
    refused(&input, &options, BANG_EUSAGE, "late.npy: numbers of type F16");
}

static void count_step(void *context, uint64_t done, uint64_t total)
{
    atomic_size_t *seen = context;
    assert_true(done <= total && total == ROWS);
    if (done == total)
        atomic_fetch_add(seen, 1);
}

static void test_progress_and_cancel(void **state)
{
    (void)state;
    atomic_size_t seen;
    atomic_init(&seen, 0);
    const bang_progress progress = {count_step, &seen};
    const bang_member member = single(0, 1);
    bang_cancel cancel;
    atomic_init(&cancel.raised, 0);
    bang_tally_input input = {1, sources, labels, 1, &member};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    options.progress = &progress;
    options.cancel = &cancel;
    options.threads = 3;
    bang_tally *tally = tally_of(&input, &options);
    assert_int_equal(atomic_load(&seen), 1);
    /* A single member has no second one to be grouped by. */
    assert_true(isnan(tally->of[0].margin[BANG_TT]));
    bang_tally_free(tally);
    atomic_store(&cancel.raised, 1);
    refused(&input, &options, BANG_ECANCELLED, "stopped");
    bang_tally_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_underflow),
        cmocka_unit_test(test_far_logits),
        cmocka_unit_test(test_temperature),
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_progress_and_cancel),
    };
    return cmocka_run_group_tests(tests, make_numbers, NULL);
}
