/* The lab on a few made-up digits: whatever the threads, and however often it was stopped, a run
 * ends with the same bytes; what its records say fits together, and fits what the kept models
 * say when they are asked another way. */
#include <math.h>
#include <sys/stat.h>

#include "shift_tiny.h"

#include "bang/base/json.h"
#include "bang/base/record.h"
#include "bang/train/predict.h"
#include "lab/shift_show.h"
#include "lab/shift_unit.h"

typedef struct stop {
    bang_cancel cancel;
    uint64_t at;         /* pictures after which it is raised */
    atomic_size_t most;  /* pictures that were told of */
    atomic_size_t total; /* of so many */
} stop;

static void watch(void *context, uint64_t done, uint64_t total)
{
    stop *s = context;
    size_t most = atomic_load(&s->most);
    while (done > most && !atomic_compare_exchange_weak(&s->most, &most, (size_t)done)) {
    }
    atomic_store(&s->total, (size_t)total);
    if (done >= s->at)
        atomic_store(&s->cancel.raised, 1);
}

/* What the last run said it was at. */
static char phases[400];

static void note_phase(const bang_progress *progress, const char *what)
{
    (void)progress;
    size_t used = strlen(phases);
    snprintf(phases + used, sizeof phases - used, "%s\n", what);
}

/* Made once: they are looked at only. */
static bang_mnist digits;

static int run_plan(const shift_plan *plan, const char *folder, int threads, int resume,
                    uint64_t until, bang_error *err)
{
    stop s = {.at = until};
    bang_progress progress = {watch, &s};
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    options.folder = folder;
    options.threads = threads;
    options.resume = resume;
    options.progress = &progress;
    options.cancel = &s.cancel;
    options.phase = note_phase;
    phases[0] = '\0';
    json_t *result = json_object();
    int rc = shift_run_lab(result, plan, &digits, &options, err);
    if (rc == 0) /* the bar has told the truth */
        assert_int_equal(atomic_load(&s.most), atomic_load(&s.total));
    json_decref(result);
    return rc;
}

static void run(const char *folder, int threads, int resume)
{
    bang_error err = {0};
    shift_plan plan = tiny_plan();
    int rc = run_plan(&plan, folder, threads, resume, UINT64_MAX, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
}

static void same_file(const char *a, const char *b)
{
    char *one, *two;
    size_t n, m;
    assert_int_equal(bang_file_read(&one, &n, a, NULL), 0);
    assert_int_equal(bang_file_read(&two, &m, b, NULL), 0);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    free(one);
    free(two);
}

static void same_run(const char *a, const char *b)
{
    static const char *const files[] = {"results.jsonl", "models/seed-1/pre.safetensors",
                                        "models/seed-2/long-vanilla.safetensors",
                                        "models/seed-1/curve-0.002-400-step.safetensors"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        same_file(in_folder(a, files[i]), in_folder(b, files[i]));
}

static ino_t identity(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

/* A run that nothing disturbed, for all tests to look at. */
static char *whole;

static int setup(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    whole = strdup(in_folder(*state, "whole"));
    make_digits(&digits);
    run(whole, 1, 0);
    assert_string_equal(phases, "pre-training, seeds 1-2 of 2\nfine-tuning, seeds 1-2 of 2\n"
                                "measuring, seeds 1-2 of 2\n");
    return 0;
}

static int teardown(void **state)
{
    free(whole);
    bang_mnist_release(&digits);
    return drop_folder(state);
}

static void test_threads(void **state)
{
    char *two = strdup(in_folder(*state, "two"));
    run(two, 2, 0);
    same_run(whole, two);
    free(two);
}

static void test_stopped(void **state)
{
    char *cut = strdup(in_folder(*state, "cut"));
    shift_plan plan = tiny_plan();
    bang_error err = {0};
    int stops = 0, resume = 0, rc;
    /* in every round, again and again: it goes on from where it was */
    for (uint64_t until = 20; (rc = run_plan(&plan, cut, 2, resume, until, &err)) < 0;
         until += 400) {
        assert_int_equal(rc, BANG_ECANCELLED);
        resume = 1;
        assert_true(++stops < 100);
    }
    assert_true(stops >= 3);
    same_run(whole, cut);
    free(cut);
}

/* Models whose making is the same are taken, others are made anew, and so are torn ones. */
static void test_models_kept(void **state)
{
    char *kept = strdup(in_folder(*state, "kept"));
    char *records = strdup(in_folder(kept, "results.jsonl"));
    char *pre = strdup(in_folder(kept, "models/seed-1/pre.safetensors"));
    char *fine = strdup(in_folder(kept, "models/seed-1/vanilla.safetensors"));
    shift_plan shorter = tiny_plan();
    shorter.shorten = 125;
    assert_int_equal(run_plan(&shorter, kept, 2, 0, UINT64_MAX, NULL), 0);
    ino_t first = identity(pre), other = identity(fine);
    const char *torn = in_folder(kept, "models/seed-2/long-vanilla.safetensors");
    assert_int_equal(bang_file_put(torn, "torn", 4, NULL), 0);
    assert_int_equal(remove(records), 0);
    run(kept, 2, 1);
    assert_int_equal(identity(pre), first);
    assert_int_not_equal(identity(fine), other);
    same_run(whole, kept);
    assert_int_equal(remove(records), 0);
    run(kept, 2, 0); /* all anew */
    assert_int_not_equal(identity(pre), first);
    same_run(whole, kept);
    free(kept);
    free(records);
    free(pre);
    free(fine);
}

static void test_other_options(void **state)
{
    (void)state;
    bang_error err = {0};
    shift_plan plan = tiny_plan();
    plan.seeds = 3; /* the seeds would fit, the chapters would not */
    assert_int_equal(run_plan(&plan, whole, 1, 1, 0, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "lab/averages made with other options"));
    plan = tiny_plan();
    plan.pre_steps++;
    assert_int_equal(run_plan(&plan, whole, 1, 1, 0, &err), BANG_EUSAGE);
    plan = tiny_plan(); /* the same names, other recipes */
    shift_method other = *plan.methods[1];
    other.smoothing = .11;
    plan.methods[1] = &other;
    assert_int_equal(run_plan(&plan, whole, 1, 1, 0, &err), BANG_EUSAGE);
    plan = tiny_plan();
    plan.grid[1].rate *= 2;
    assert_int_equal(run_plan(&plan, whole, 1, 1, 0, &err), BANG_EUSAGE);
}

/* What balance sees without labels are digits of no other part, each in one kind. */
static void test_unlabelled(void **state)
{
    (void)state;
    enum { EACH = 4, FIRST = 880, COUNT = 20 }; /* 44,000 .. of 60,000 */
    shift_plan plan = tiny_plan();
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    shift_run run = {.plan = &plan, .mnist = &digits, .options = &options};
    shift_seed *seed = calloc(1, sizeof *seed);
    plan.unlabelled = EACH;
    assert_int_equal(shift_data_make(seed, &run, NULL), 0);
    assert_int_equal(seed->unlabelled.count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(seed->unlabelled.labels[i],
                         ((uint8_t *)digits.train_labels.data)[FIRST + i]);
    shift_seed_release(seed);
    free(seed);
    plan = shift_plan_make(&options, &digits);
    assert_int_equal(plan.unlabelled, EACH);
}

/* The record of a unit; the caller releases it. */
static json_t *read_unit(size_t unit)
{
    json_t *records;
    assert_int_equal(bang_record_read(&records, whole, NULL), 0);
    json_t *result = json_incref(json_object_get(json_array_get(records, unit), "result"));
    assert_non_null(result);
    json_decref(records);
    return result;
}

static double at(const json_t *list, size_t i)
{
    assert_true(i < json_array_size(list));
    return json_number_value(json_array_get(list, i));
}

/* Accuracies of a member by its name; NULL: it has none in the record. */
static const json_t *accuracy_of(const json_t *unit, const char *name)
{
    char method[64];
    const char *slash = strchr(name, '/');
    if (!slash)
        return json_object_get(json_object_get(unit, name), "accuracy");
    snprintf(method, sizeof method, "%.*s", (int)(slash - name), name);
    const json_t *m = json_object_get(json_object_get(unit, "methods"), method);
    const json_t *found = json_object_get(json_object_get(m, slash + 1), "accuracy");
    return found ? found
                 : json_object_get(json_object_get(json_object_get(m, "balance"), slash + 1),
                                   "accuracy");
}

static void test_contrasts(void **state)
{
    (void)state;
    json_t *unit = read_unit(0), *c;
    size_t i, compared = 0;
    json_array_foreach(json_object_get(unit, "contrasts"), i, c)
    {
        const json_t *a = accuracy_of(unit, json_string_value(json_object_get(c, "a")));
        const json_t *b = accuracy_of(unit, json_string_value(json_object_get(c, "b")));
        for (size_t s = 0; a && b && s < SHIFT_SETS; s++, compared++) {
            double n = at(json_object_get(unit, "n"), s);
            double more = at(json_object_get(c, "only_a"), s) - at(json_object_get(c, "only_b"), s);
            assert_true(fabs(at(a, s) - at(b, s) - more / n) < 1e-9);
        }
    }
    assert_true(compared >= SHIFT_SETS * 20);
    json_decref(unit);
}

/* How often a pair is counted, in either order. */
static int counted(const json_t *unit, const char *a, const char *b)
{
    json_t *list = json_object_get(unit, "contrasts"), *c;
    size_t i;
    int found = 0;
    json_array_foreach(list, i, c)
    {
        const char *one = json_string_value(json_object_get(c, "a"));
        const char *two = json_string_value(json_object_get(c, "b"));
        found += (strcmp(one, a) == 0 && strcmp(two, b) == 0) ||
                 (strcmp(one, b) == 0 && strcmp(two, a) == 0);
    }
    return found;
}

/* All that claims compare between members of these methods is counted, once. */
static void test_contrasts_of_claims(void **state)
{
    (void)state;
    size_t claims, checked = 0;
    const shift_claim *all = shift_claims(&claims);
    json_t *unit = read_unit(1);
    const json_t *methods = json_object_get(unit, "methods");
    for (size_t c = 0; c < claims; c++)
        for (size_t k = 0; k < all[c].count; k++) {
            const shift_difference *d = &all[c].parts[k].difference;
            const char *members[2] = {d->a, d->b};
            int there = d->quantity == SHIFT_ACCURACY && d->b && strcmp(d->a, d->b) != 0;
            for (int m = 0; there && m < 2; m++) {
                char method[64];
                snprintf(method, sizeof method, "%.*s", (int)strcspn(members[m], "/"), members[m]);
                there = !strstr(members[m], "-others") &&
                        (strcmp(method, "pre") == 0 || json_object_get(methods, method));
            }
            if (there && counted(unit, d->a, d->b) != 1)
                fail_msg("%s against %s: counted %d times", d->a, d->b, counted(unit, d->a, d->b));
            checked += there != 0;
        }
    assert_true(checked >= 20);
    assert_int_equal(counted(unit, "vanilla/exp2-30", "vanilla/avg"), 1);
    assert_int_equal(counted(unit, "vanilla/exp1-20", "vanilla/avg"), 1);
    assert_int_equal(counted(unit, "vanilla/avg", "long-vanilla/avg"), 0);
    json_decref(unit);
}

/* Predictions at an alpha are those that its row of accuracies counts. */
static void test_members_at_alpha(void **state)
{
    (void)state;
    json_t *unit = read_unit(0), *c;
    const json_t *m = json_object_get(json_object_get(unit, "methods"), "vanilla");
    const json_t *avg = accuracy_of(unit, "vanilla/avg");
    size_t i, best = 0, found = 0;
    for (size_t a = 1; a < SHIFT_ALPHAS; a++)
        if (at(json_object_get(m, "validation"), a) > at(json_object_get(m, "validation"), best))
            best = a;
    json_array_foreach(json_object_get(unit, "contrasts"), i, c)
    {
        const char *a = json_string_value(json_object_get(c, "a"));
        if (strcmp(json_string_value(json_object_get(c, "b")), "vanilla/avg") != 0)
            continue;
        const json_t *row =
            strcmp(a, "vanilla/exp1-20") == 0    ? json_array_get(json_object_get(m, "exp1"), 0)
            : strcmp(a, "vanilla/exp2-40") == 0  ? json_array_get(json_object_get(m, "wse"), 4)
            : strcmp(a, "vanilla/id-alpha") == 0 ? json_array_get(json_object_get(m, "wse"), best)
                                                 : NULL;
        found += row != NULL;
        for (size_t s = 0; row && s < SHIFT_SETS; s++) {
            double n = at(json_object_get(unit, "n"), s);
            double more = at(json_object_get(c, "only_a"), s) - at(json_object_get(c, "only_b"), s);
            assert_true(fabs(at(row, s) - at(avg, s) - more / n) < 1e-9);
        }
    }
    assert_int_equal(found, 3);
    json_decref(unit);
}

static void same_row(const json_t *a, const json_t *b)
{
    assert_int_equal(json_array_size(a), SHIFT_SETS);
    assert_true(json_equal(a, b));
}

static void check_method(const json_t *unit, const char *name, const json_t *m)
{
    char fine[64];
    const json_t *wse = json_object_get(m, "wse"), *ose = json_object_get(m, "ose_alphas");
    const json_t *avg = json_object_get(json_object_get(m, "avg"), "accuracy");
    const json_t *pre = accuracy_of(unit, "pre");
    snprintf(fine, sizeof fine, "%s/fine", name);
    const json_t *own = accuracy_of(unit, fine);
    assert_int_equal(json_array_size(wse), SHIFT_ALPHAS);
    same_row(json_array_get(wse, 0), pre);
    same_row(json_array_get(ose, 0), pre);
    same_row(json_array_get(wse, SHIFT_ALPHAS - 1), own);
    same_row(json_array_get(ose, SHIFT_ALPHAS - 1), own);
    same_row(json_array_get(wse, SHIFT_ALPHAS / 2), avg);
    same_row(json_array_get(ose, SHIFT_ALPHAS / 2),
             json_object_get(json_object_get(m, "ose"), "accuracy"));
    same_row(json_array_get(json_object_get(m, "exp1"), SHIFT_EXP1 - 1), avg);
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        const json_t *g = json_array_get(json_object_get(m, "groups"), s);
        double n = at(json_object_get(unit, "n"), s), all = 0;
        for (size_t k = 0; k < 8; k++)
            all += at(g, k);
        assert_true(fabs(all - n) < 1e-9);
        assert_true(fabs(at(g, 0) + at(g, 1) + at(g, 2) + at(g, 3) - n * at(pre, s)) < 1e-9);
        assert_true(fabs(at(g, 0) + at(g, 1) + at(g, 4) + at(g, 5) - n * at(own, s)) < 1e-9);
        assert_true(fabs(at(g, 0) + at(g, 2) + at(g, 4) + at(g, 6) - n * at(avg, s)) < 1e-9);
    }
}

static void test_record(void **state)
{
    (void)state;
    for (size_t u = 0; u < 2; u++) {
        json_t *unit = read_unit(u), *m;
        const char *name;
        json_object_foreach(json_object_get(unit, "methods"), name, m)
        {
            check_method(unit, name, m);
            int plain = strstr(name, "vanilla") != NULL;
            assert_int_equal(json_object_size(json_object_get(m, "balance")), plain ? 6 : 0);
        }
        assert_int_equal(json_object_size(json_object_get(unit, "methods")), 3);
        assert_int_equal(json_array_size(json_object_get(unit, "curve")), u == 0 ? 2 : 0);
        json_decref(unit);
    }
}

enum { TESTS = 6, SEED = 6, LOGITS = 10 * TESTS }; /* of the second unit of tiny_plan */

/* Logits of a model by the ordinary predictor, and the labels. */
static void ask(double logits[LOGITS], int64_t labels[TESTS], const bang_vit_model *model,
                bang_shift_kind kind, bang_shift_split split)
{
    bang_shift_options how = BANG_SHIFT_OPTIONS_INIT;
    bang_images images = {.count = TESTS, .classes = 10};
    bang_predictor *predictor;
    bang_predicted some;
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    size_t done = 0;
    how.kind = kind;
    how.split = split;
    how.seed = SEED;
    how.count = TESTS;
    bang_dataset *memory = &images.memory;
    assert_int_equal(bang_shift_make(&memory->inputs, &memory->labels, &digits, &how, NULL), 0);
    memory->count = TESTS;
    memory->width = 784;
    memory->classes = 10;
    images.labels = memory->labels.data;
    memcpy(labels, images.labels, TESTS * sizeof *labels);
    assert_int_equal(bang_predictor_open(&predictor, &model, 1, &images, &options, NULL), 0);
    while (bang_predictor_next(&some, predictor, NULL) > 0)
        for (size_t i = 0; i < 10 * some.count; i++)
            logits[done++] = (double)some.outputs[0][i];
    assert_int_equal(done, LOGITS);
    bang_predictor_close(predictor);
    images.labels = NULL;
    bang_images_release(&images);
}

static double accuracy(const bang_vit_model *model, size_t set)
{
    double z[LOGITS];
    int64_t labels[TESTS];
    size_t right = 0;
    ask(z, labels, model, (bang_shift_kind)(BANG_SHIFT_ID + set), BANG_SHIFT_TEST);
    for (size_t i = 0; i < TESTS; i++) {
        size_t best = 0;
        for (size_t k = 1; k < 10; k++)
            best = z[i * 10 + k] > z[i * 10 + best] ? k : best;
        right += (int64_t)best == labels[i];
    }
    return (double)right / TESTS;
}

static double confidence_at(const double z[LOGITS], double temperature)
{
    double sum = 0;
    for (size_t i = 0; i < TESTS; i++) {
        double most = z[i * 10], total = 0;
        for (size_t k = 1; k < 10; k++)
            most = fmax(most, z[i * 10 + k]);
        for (size_t k = 0; k < 10; k++)
            total += exp((z[i * 10 + k] - most) / temperature);
        sum += 1 / total;
    }
    return sum / TESTS;
}

/* Mean confidence on ID validation images, and the temperature at which it is target. */
static double confidence(const bang_vit_model *model)
{
    double z[LOGITS];
    int64_t labels[TESTS];
    ask(z, labels, model, BANG_SHIFT_ID, BANG_SHIFT_VAL);
    return confidence_at(z, 1);
}

static double temperature(const bang_vit_model *model, double target)
{
    double z[LOGITS], low = log(1e-6), high = log(1e6);
    int64_t labels[TESTS];
    ask(z, labels, model, BANG_SHIFT_ID, BANG_SHIFT_VAL);
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (confidence_at(z, exp(middle)) > target)
            low = middle;
        else
            high = middle;
    }
    return exp(low);
}

/* Models of the second seed, as they were kept. */
typedef struct trio {
    bang_vit_model pre, fine, mixed;
} trio;

static void open_trio(trio *t)
{
    const bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    const char *pre = in_folder(whole, "models/seed-2/pre.safetensors");
    const char *fine = in_folder(whole, "models/seed-2/long-vanilla.safetensors");
    assert_int_equal(bang_vit_model_load(&t->pre, pre, &hints, NULL), 0);
    assert_int_equal(bang_vit_model_load(&t->fine, fine, &hints, NULL), 0);
    assert_int_equal(shift_copy(&t->mixed, &t->pre, NULL), 0);
}

static void close_trio(trio *t)
{
    bang_vit_model_release(&t->pre);
    bang_vit_model_release(&t->fine);
    bang_vit_model_release(&t->mixed);
}

/* Which of the record's layers a tensor belongs to. */
static double alpha_of(const json_t *alphas, const char *tensor)
{
    char layer[16];
    snprintf(layer, sizeof layer, "%.8s", tensor); /* "blocks.0" */
    const char *name = json_object_get(alphas, layer)                        ? layer
                       : tensor[0] == 'n' || strncmp(tensor, "head", 4) == 0 ? "head"
                                                                             : "embedding";
    return json_number_value(json_object_get(alphas, name));
}

/* alphas: a number, or one for each layer. */
static void mix_tensors(trio *t, const json_t *alphas)
{
    const bang_vit_map *map = &t->pre.vit.map;
    for (size_t i = 0; i < map->tensor_count; i++) {
        const bang_vit_tensor *tensor = &map->tensors[i];
        double alpha =
            json_is_object(alphas) ? alpha_of(alphas, tensor->name) : json_number_value(alphas);
        for (size_t k = tensor->offset; k < tensor->offset + tensor->count; k++)
            t->mixed.vit.parameters[k] = (float)((1 - alpha) * (double)t->pre.vit.parameters[k] +
                                                 alpha * (double)t->fine.vit.parameters[k]);
    }
}

/* The layers' alphas by their definition: a layer alone fine-tuned, and all but it. */
static void check_layers(trio *t, const json_t *alphas, double tau)
{
    const char *layer, *other;
    json_t *alpha, *ignored;
    double target = confidence(&t->pre), found[2];
    json_object_foreach((json_t *)alphas, layer, alpha)
    {
        for (int without = 0; without < 2; without++) {
            json_t *hybrid = json_object();
            json_object_foreach((json_t *)alphas, other, ignored) json_object_set_new(
                hybrid, other, json_integer((strcmp(layer, other) == 0) != without));
            mix_tensors(t, hybrid);
            found[without] = temperature(&t->mixed, target);
            json_decref(hybrid);
        }
        double want = 1 / (1 + sqrt(found[0] * tau / found[1]));
        assert_true(fabs(json_number_value(alpha) - want) < 1e-4);
    }
}

/* The kept models, averaged here and asked by bang predict's way, give the record's numbers. */
static void test_models(void **state)
{
    (void)state;
    json_t *unit = read_unit(1), *half = json_real(.5);
    trio t;
    open_trio(&t);
    mix_tensors(&t, half);
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        assert_true(fabs(accuracy(&t.pre, s) - at(accuracy_of(unit, "pre"), s)) < 1e-9);
        assert_true(fabs(accuracy(&t.fine, s) - at(accuracy_of(unit, "long-vanilla/fine"), s)) <
                    1e-9);
        assert_true(fabs(accuracy(&t.mixed, s) - at(accuracy_of(unit, "long-vanilla/avg"), s)) <
                    1e-9);
    }
    close_trio(&t);
    json_decref(half);
    json_decref(unit);
}

/* So do the balanced averages; and tau makes both models equally confident. */
static void test_balance(void **state)
{
    (void)state;
    json_t *unit = read_unit(1), *entry;
    const json_t *methods = json_object_get(unit, "methods");
    const json_t *balance = json_object_get(json_object_get(methods, "long-vanilla"), "balance");
    const json_t *whole_id = json_object_get(balance, "confidence-id");
    const char *name;
    trio t;
    open_trio(&t);
    double tau = json_number_value(json_object_get(whole_id, "tau"));
    assert_true(fabs(tau - 1) > 1e-3);
    assert_true(fabs(temperature(&t.fine, confidence(&t.pre)) / tau - 1) < 1e-4);
    check_layers(&t, json_object_get(json_object_get(balance, "layer-confidence-id"), "alphas"),
                 tau);
    json_object_foreach((json_t *)balance, name, entry)
    {
        const json_t *alpha = json_object_get(entry, "alpha");
        double own = json_number_value(json_object_get(entry, "tau"));
        if (strcmp(name, "confidence-root-id") == 0)
            assert_true(fabs(own - sqrt(tau)) < 1e-9);
        if (alpha)
            assert_true(fabs(json_number_value(alpha) - 1 / (1 + own)) < 1e-12);
        else
            assert_int_equal(json_object_size(json_object_get(entry, "alphas")), SHIFT_LAYERS);
        mix_tensors(&t, alpha ? alpha : json_object_get(entry, "alphas"));
        for (size_t s = 0; s < SHIFT_SETS; s++)
            assert_true(fabs(accuracy(&t.mixed, s) - at(json_object_get(entry, "accuracy"), s)) <
                        1e-9);
    }
    close_trio(&t);
    json_decref(unit);
}

static void test_mix(void **state)
{
    (void)state;
    const float pre[3] = {1, -2, 3e-9F}, fine[3] = {5, 7, -1};
    float out[3];
    shift_mix(out, pre, fine, 0, 3);
    assert_memory_equal(out, pre, sizeof out);
    shift_mix(out, pre, fine, 1, 3);
    assert_memory_equal(out, fine, sizeof out);
    shift_mix(out, pre, fine, .25, 2);
    assert_true(fabsf(out[0] - 2) < 1e-6F && fabsf(out[1] - .25F) < 1e-6F);
}

/* Of each seed; the sheet of the first, and the chapter once, at the end. */
static void test_maps(void **state)
{
    char *folder = strdup(in_folder(*state, "maps"));
    json_t *records, *record;
    size_t i, found = 0;
    shift_plan plan = tiny_plan();
    plan.maps = 1;
    plan.method_count = 2;
    plan.grid_count = 0;
    for (int again = 0; again < 2; again++) /* the second time nothing is left to do */
        assert_int_equal(run_plan(&plan, folder, 2, again, UINT64_MAX, NULL), 0);
    assert_int_equal(bang_record_read(&records, folder, NULL), 0);
    json_array_foreach(records, i, record)
    {
        const json_t *maps = json_object_get(json_object_get(record, "result"), "maps");
        assert_int_equal(json_is_object(json_object_get(maps, "gradcam")), i < 2);
        assert_int_equal(json_is_string(json_object_get(maps, "png")), i == 0);
        if (strcmp(json_string_value(json_object_get(record, "key")), "lab/maps") != 0)
            continue;
        found++;
        assert_int_equal(i, json_array_size(records) - 1);
        assert_int_equal(json_array_size(json_object_get(record, "show")), 4);
    }
    assert_int_equal(found, 1);
    json_decref(records);
    free(folder);
}

/* The plans of both scales are what the documents say. */
static void test_plans(void **state)
{
    (void)state;
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    shift_plan plan = shift_plan_make(&options, &digits);
    assert_int_equal(plan.seeds, 2);
    assert_int_equal(plan.method_count, 7);
    assert_int_equal(plan.grid_count, 6);
    assert_int_equal(plan.tune, 60); /* no more than there are */
    options.full = 1;
    plan = shift_plan_make(&options, &digits);
    assert_int_equal(plan.seeds, 6);
    assert_int_equal(plan.method_count, 17);
    assert_int_equal(plan.grid_count, 48);
    bang_tune_options recipe;
    shift_recipe_grid(&recipe, &plan, &plan.grid[1], 0);
    assert_int_equal(recipe.train.schedule, BANG_STEP);
    assert_int_equal(recipe.train.step_every, 64); /* thirds of 200 less 10 of warm-up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_models_kept),
        cmocka_unit_test(test_contrasts),
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_other_options),
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_unlabelled),
        cmocka_unit_test(test_contrasts_of_claims),
        cmocka_unit_test(test_members_at_alpha),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
