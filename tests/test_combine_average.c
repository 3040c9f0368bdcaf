/* The library's average from C: plans, problems, warnings, counters; numbers are
 * compared with numpy in tests/cli/average*.sh. */
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#include "testing.h"

#include "bang/combine/average.h"
#include "bang/combine/greedy.h"
#include "bang/combine/layer.h"

/* One file: tensors "t0", "t1", ... of three floats, each value + its number, and
 * a counter of two batches more than value. */
static const char *write_model(const char *folder, const char *name, int tensors, float value)
{
    const char *path = in_folder(folder, name);
    char header[4096];
    size_t used = 0;
    int64_t counter = (int64_t)value + 2;
    used += (size_t)snprintf(header, sizeof header,
                             "{\"n.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],"
                             "\"data_offsets\":[0,8]}");
    for (int i = 0; i < tensors; i++)
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 ",\"t%d.w\":{\"dtype\":\"F32\",\"shape\":[3],"
                                 "\"data_offsets\":[%d,%d]}",
                                 i, 8 + 12 * i, 20 + 12 * i);
    used += (size_t)snprintf(header + used, sizeof header - used, "}");
    uint64_t size = used;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(&size, 8, 1, file); /* tests run where numbers are little-endian */
    fwrite(header, 1, used, file);
    fwrite(&counter, 8, 1, file);
    for (int i = 0; i < tensors; i++) {
        float row[3] = {value + (float)i, value + (float)i, value + (float)i};
        fwrite(row, sizeof row, 1, file);
    }
    assert_int_equal(fclose(file), 0);
    return path;
}

static bang_checkpoint *open_file(const char *path)
{
    bang_checkpoint *c = NULL;
    bang_error err = {0};
    if (bang_checkpoint_open(&c, path, &err) < 0)
        fail_msg("%s", err.message);
    return c;
}

static bang_checkpoint *model(const char *folder, const char *name, int tensors, float value)
{
    return open_file(write_model(folder, name, tensors, value));
}

static float number(const bang_checkpoint *c, const char *name)
{
    float x[3] = {NAN, NAN, NAN};
    bang_error err = {0};
    const bang_entry *entry = bang_checkpoint_find(c, name);
    assert_non_null(entry);
    assert_int_equal(bang_checkpoint_read(c, entry, 0, x, sizeof x, &err), 0);
    assert_true(x[0] == x[1] && x[1] == x[2]);
    return x[0];
}

/* As the header says it. */
static void test_example(void **state)
{
    bang_checkpoint *pre = model(*state, "pre.safetensors", 2, 1);
    bang_checkpoint *fine = model(*state, "fine.safetensors", 2, 5);
    const char *path = in_folder(*state, "out.safetensors");
    bang_error err = {0};
    bang_stream stream = BANG_STREAM_INIT;
    bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
    options.inputs = (const bang_checkpoint *[]){pre, fine};
    options.input_count = 2;
    options.weights = (double[]){0.25, 0.75};
    options.paths = (const char *[]){path};
    options.output_count = 1;
    bang_average *average;
    if (bang_average_plan(&average, &options, &stream, &err) < 0)
        fail_msg("%s", err.message);
    /* a plan touches no disk */
    assert_int_equal(access(path, F_OK), -1);
    assert_string_equal(bang_average_problems(average), "");
    bang_average_result result = bang_average_get(average);
    assert_int_equal(result.tensors, 3);
    assert_int_equal(result.copied, 1);
    assert_int_equal(result.scale_count, 0);
    assert_string_equal(result.warnings,
                        "counters of batches differ: n.num_batches_tracked: taken from "
                        "the last input\n");
    bang_text plan = {0};
    bang_average_describe(&plan, average);
    assert_non_null(strstr(plan.data, " F32      weights 0.25,0.75\n"));
    bang_text_release(&plan);
    uint64_t bytes = result.bytes;
    if (bang_average_run(average, &stream, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(stream.bytes_written, bytes);
    /* counters were compared before */
    assert_int_equal(stream.bytes_read, 2 * 2 * 12 + 2 * 8 + 8);
    bang_average_free(average);
    bang_checkpoint *out = open_file(path);
    assert_true(number(out, "t0.w") == 4 && number(out, "t1.w") == 5);
    assert_int_equal(out->count, 3);
    bang_checkpoint_close(out);
    bang_checkpoint_close(pre);
    bang_checkpoint_close(fine);
}

/* Planned and thrown away: nothing is left, and nothing leaks. */
static void test_plan_only(void **state)
{
    bang_checkpoint *a = model(*state, "a.safetensors", 1, 1);
    bang_error err = {0};
    bang_stream stream = BANG_STREAM_INIT;
    bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
    options.inputs = (const bang_checkpoint *[]){a, a};
    options.input_count = 2;
    options.weights = (double[]){0.5, 0.5, 1, 0};
    options.paths = (const char *[]){in_folder(*state, "x/"), in_folder(*state, "y/")};
    options.output_count = 2;
    options.folder = 1;
    bang_average *average;
    assert_int_equal(bang_average_plan(&average, &options, &stream, &err), 0);
    assert_non_null(bang_average_target(average, 1));
    bang_average_free(average);
    bang_average_free(NULL);
    assert_int_equal(access(in_folder(*state, "x"), F_OK), -1);
    bang_checkpoint_close(a);
}

/* Everything at once; the error is the first of them. */
static void test_problems(void **state)
{
    bang_checkpoint *a = model(*state, "a.safetensors", 9, 1);
    bang_checkpoint *b = model(*state, "b.safetensors", 2, 1);
    bang_error err = {0};
    bang_stream stream = BANG_STREAM_INIT;
    bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
    const bang_average_rule rule = {.glob = "head*", .weights = (double[]){1, 1}};
    options.inputs = (const bang_checkpoint *[]){a, b};
    options.input_count = 2;
    options.weights = (double[]){0.5, 0.5};
    options.rules = &rule;
    options.rule_count = 1;
    options.output_count = 1;
    options.paths = (const char *[]){in_folder(*state, "out.xyz")};
    bang_average *average = NULL;
    assert_int_equal(bang_average_plan(&average, &options, &stream, &err), BANG_EDATA);
    const char *problems = bang_average_problems(average);
    assert_non_null(strstr(problems, "a.safetensors: has tensors that not all have: t2.w, t3.w, "
                                     "t4.w, t5.w, t6.w and 2 more: "));
    assert_non_null(strstr(problems, "\n--rule head*: matches no tensor: "));
    assert_non_null(strstr(problems, "out.xyz: its name tells no format: "));
    assert_memory_equal(problems, err.message, strlen(err.message));
    assert_null(strchr(err.message, '\n'));
    bang_average_free(average);
    /* an output without any other problem is the error itself */
    options.rule_count = 0;
    options.on_missing = BANG_MISSING_DROP;
    assert_int_equal(bang_average_plan(&average, &options, &stream, &err), BANG_EUSAGE);
    assert_string_equal(bang_average_problems(average), "");
    bang_average_free(average);
    bang_checkpoint_close(a);
    bang_checkpoint_close(b);
}

/* What a caller may forget. */
static void test_missing_options(void **state)
{
    bang_checkpoint *a = model(*state, "a.safetensors", 1, 1);
    const char *path = in_folder(*state, "out.safetensors");
    for (int i = 0; i < 9; i++) {
        bang_error err = {0};
        bang_stream stream = BANG_STREAM_INIT;
        bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
        options.inputs = (const bang_checkpoint *[]){i == 6 ? NULL : a, i == 7 ? NULL : a, a};
        options.input_count = i == 0 ? 0 : i == 5 ? 3 : 2;
        options.fishers = i == 8 ? (const bang_checkpoint *[]){a, NULL} : NULL;
        options.weights = i == 1 ? NULL : (double[]){0.5, 0.5, 0.5};
        options.paths = (const char *[]){path};
        options.output_count = i != 2;
        options.method = i == 3             ? BANG_AVERAGE_TIES
                         : i == 4 || i == 8 ? BANG_AVERAGE_FISHER
                         : i == 5           ? BANG_AVERAGE_SLERP
                                            : BANG_AVERAGE_LINEAR;
        bang_average *average = NULL;
        assert_int_equal(bang_average_plan(&average, &options, &stream, &err), BANG_EUSAGE);
        assert_string_equal(bang_average_problems(average), "");
        bang_average_free(average);
    }
    bang_checkpoint_close(a);
}

/* More inputs than fit on the stack of a block, by methods that weigh each of them. */
static void test_many_inputs(void **state)
{
    enum { COUNT = 70 };
    bang_checkpoint *base = model(*state, "base.safetensors", 3, 0), *models[COUNT];
    double weights[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.safetensors", i);
        models[i] = model(*state, name, 3, (float)i);
        weights[i] = 1.0 / COUNT;
    }
    const bang_average_method methods[] = {BANG_AVERAGE_LINEAR, BANG_AVERAGE_TASK,
                                           BANG_AVERAGE_TIES,   BANG_AVERAGE_DARE,
                                           BANG_AVERAGE_STOCK,  BANG_AVERAGE_FISHER};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        const char *path = in_folder(*state, "out.safetensors");
        bang_error err = {0};
        bang_stream stream = BANG_STREAM_INIT;
        bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
        bang_average *average = NULL;
        options.method = methods[m];
        options.inputs = (const bang_checkpoint *const *)models;
        options.fishers = (const bang_checkpoint *const *)models;
        options.input_count = COUNT;
        options.base = base;
        options.density = 1;
        options.drop = 0;
        options.weights = weights;
        options.paths = &path;
        options.output_count = 1;
        if (bang_average_plan(&average, &options, &stream, &err) < 0 ||
            bang_average_run(average, &stream, &err) < 0)
            fail_msg("%s", err.message);
        bang_average_free(average);
        /* 0 .. 69: the mean is 34.5; ties does not count the one that did not move; the
         * changes are parallel, so stock takes all of them; weighted by themselves the
         * squares over the sum, 139/3 */
        double expected = methods[m] == BANG_AVERAGE_TIES     ? 35
                          : methods[m] == BANG_AVERAGE_FISHER ? 139.0 / 3
                                                              : 34.5;
        bang_checkpoint *out = open_file(path);
        double found = (double)number(out, "t0.w");
        if (!(fabs(found - expected) < COUNT * 0x1p-24 * 50)) /* each addition rounds once */
            fail_msg("method %d: %.9g, not %.9g", (int)methods[m], found, expected);
        bang_checkpoint_close(out);
    }
    for (int i = 0; i < COUNT; i++)
        bang_checkpoint_close(models[i]);
    bang_checkpoint_close(base);
}

/* (1, 1, 1) moves by 3 to 4, (2, 2, 2) by 6 to 8 ... */
static void test_balance(void **state)
{
    bang_checkpoint *a = model(*state, "a.safetensors", 2, 1),
                    *b = model(*state, "b.safetensors", 2, 4);
    const char *path = in_folder(*state, "out.safetensors");
    bang_error err = {0};
    bang_stream stream = BANG_STREAM_INIT;
    bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
    options.inputs = (const bang_checkpoint *[]){a, b};
    options.input_count = 2;
    options.weights = (double[]){0.5, 0.5};
    options.paths = &path;
    options.output_count = 1;
    options.balance = BANG_BALANCE_LAYER_NORM;
    bang_average *average;
    if (bang_average_plan(&average, &options, &stream, &err) < 0 ||
        bang_average_run(average, &stream, &err) < 0)
        fail_msg("%s", err.message);
    bang_average_result result = bang_average_get(average);
    /* relative changes 3 and 1.5: the median is 2.25, so scales .75 and 1.5 */
    assert_int_equal(result.scale_count, 2);
    assert_true(fabs(result.target - 2.25) < 1e-14);
    assert_string_equal(result.scales[0].layer, "t0");
    assert_int_equal(result.scales[1].input, 1);
    assert_true(fabs(result.scales[0].norm - sqrt(3)) < 1e-14);
    assert_true(fabs(result.scales[0].change - sqrt(27)) < 1e-14);
    assert_true(fabs(result.scales[0].scale - 0.75) < 1e-14);
    assert_true(fabs(result.scales[1].scale - 1.5) < 1e-14);
    bang_average_free(average);
    bang_checkpoint *out = open_file(path);
    assert_true(fabsf(number(out, "t0.w") - 2.125f) < 1e-6f);
    assert_true(fabsf(number(out, "t1.w") - 4.25f) < 1e-6f);
    bang_checkpoint_close(out);
    bang_checkpoint_close(a);
    bang_checkpoint_close(b);
}

/* Cancelled in the middle: no output, no part of one. */
static void test_cancel(void **state)
{
    bang_checkpoint *a = model(*state, "a.safetensors", 2, 1);
    char *folder = strdup(in_folder(*state, "out"));
    bang_error err = {0};
    bang_cancel cancel = {0};
    bang_stream stream = BANG_STREAM_INIT;
    bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
    options.inputs = (const bang_checkpoint *[]){a, a};
    options.input_count = 2;
    options.weights = (double[]){0.5, 0.5};
    options.paths = (const char *[]){folder};
    options.output_count = 1;
    options.folder = 1;
    bang_average *average;
    assert_int_equal(bang_average_plan(&average, &options, &stream, &err), 0);
    atomic_store(&cancel.raised, 1);
    stream.cancel = &cancel;
    assert_int_equal(bang_average_run(average, &stream, &err), BANG_ECANCELLED);
    assert_null(bang_average_target(average, 0));
    bang_average_free(average);
    assert_int_equal(access(folder, F_OK), -1);
    free(folder);
    bang_checkpoint_close(a);
}

/* Scores of sets of models, as bits. */
struct game {
    double scores[16];
    size_t asked, fail_at;
    size_t sets[32];
};

static int play(void *context, double *score, const size_t *members, size_t count, bang_error *err)
{
    struct game *g = context;
    size_t set = 0;
    for (size_t i = 0; i < count; i++)
        set |= (size_t)1 << members[i];
    g->sets[g->asked++] = set;
    if (g->asked == g->fail_at)
        return bang_fail(err, BANG_EIO, "the scorer broke");
    *score = g->scores[set];
    return 0;
}

static void test_greedy(void **state)
{
    (void)state;
    size_t members[4], count;
    double scores[4], best;
    bang_error err = {0};
    /* alone .5 .7 .7 .2: the earlier of equals first; 1+2 equal: no; 1+0 better; 0+1+3 better */
    struct game g = {
        .scores = {[1] = .5, [2] = .7, [4] = .7, [8] = .2, [6] = .7, [3] = .8, [11] = .9}};
    assert_int_equal(bang_greedy(members, &count, scores, &best, 4, play, &g, &err), 0);
    assert_int_equal(count, 3);
    assert_true(members[0] == 1 && members[1] == 0 && members[2] == 3);
    assert_true(best == .9 && scores[0] == .5 && scores[3] == .2);
    const size_t order[] = {1, 2, 4, 8, 6, 3, 11};
    assert_int_equal(g.asked, 7);
    assert_memory_equal(g.sets, order, sizeof order);

    /* NaN is the worst, alone and together */
    struct game astray = {.scores = {[1] = NAN, [2] = -3, [4] = -INFINITY, [3] = NAN, [6] = -4}};
    assert_int_equal(bang_greedy(members, &count, scores, &best, 3, play, &astray, &err), 0);
    assert_true(count == 1 && members[0] == 1 && best == -3 && isnan(scores[0]));

    /* no better than NaN: still one stays */
    struct game hopeless = {.scores = {[1] = NAN, [2] = NAN, [3] = NAN}};
    assert_int_equal(bang_greedy(members, &count, scores, &best, 2, play, &hopeless, &err), 0);
    assert_true(count == 1 && members[0] == 0);

    for (size_t at = 1; at <= 7; at++) {
        struct game broken = g;
        broken.asked = 0;
        broken.fail_at = at;
        assert_int_equal(bang_greedy(members, &count, scores, &best, 4, play, &broken, &err),
                         BANG_EIO);
        assert_int_equal(broken.asked, at);
        assert_string_equal(err.message, "the scorer broke");
    }
    assert_int_equal(bang_greedy(members, &count, scores, &best, 0, play, &g, &err), BANG_EUSAGE);
}

static void test_layers(void **state)
{
    (void)state;
    const struct {
        const char *name;
        size_t length;
    } cases[] = {{"encoder.layers.3.attention.weight", 16},
                 {"layer1.0.conv1.weight", 8},
                 {"0.weight", 1},
                 {"head.weight", 4},
                 {"head", 4},
                 {"", 0},
                 {"a..b", 2},
                 {"12", 2},
                 {"x.12", 4},
                 {".", 0},
                 {"a.1b.2.c", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (bang_layer_length(cases[i].name) != cases[i].length)
            fail_msg("%s: %zu", cases[i].name, bang_layer_length(cases[i].name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_plan_only, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_problems, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_missing_options, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_many_inputs, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_balance, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_cancel, make_folder, drop_folder),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
