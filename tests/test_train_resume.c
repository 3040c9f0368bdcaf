/* Trainings that are stopped and gone on with: the same bits as without, also after a
 * kill; states of other trainings are refused. */
#include "tune_cases.h"

#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/store/safetensors.h"

enum { STEPS = 12 };

/* Raises cancel after so many calls of one kind, and writes down all that the caller hears. */
typedef struct stopper {
    bang_cancel cancel;
    bang_tune_phase phase;
    int after_events, after_progress; /* 0: never */
    bang_text heard;
} stopper;

static void on_event(void *context, const bang_tune_event *event)
{
    stopper *s = context;
    bang_text_add(&s->heard, "%llu %.17g %.17g %.17g %zu %d %.17g %.17g %d\n",
                  (unsigned long long)event->step, event->loss, event->rate, event->gradient_norm,
                  event->images, event->evaluated, event->accuracy, event->validation_loss,
                  event->best);
    if (s->after_events && --s->after_events == 0)
        atomic_store(&s->cancel.raised, 1);
}

static void on_progress(void *context, bang_tune_phase phase, uint64_t done, uint64_t total)
{
    stopper *s = context;
    assert_true(done <= total);
    /* one thread: calls come one at a time */
    if (phase == s->phase && s->after_progress && --s->after_progress == 0)
        atomic_store(&s->cancel.raised, 1);
}

typedef struct scene {
    bang_images images, validation;
    bang_tune_options options;
    bang_vit_model reference;
    bang_tune_result result; /* of the reference */
    char *heard;
    char state[600];
} scene;

static int run(scene *s, bang_vit_model *model, stopper *stop, bang_tune_result *result,
               bang_error *err)
{
    bang_tune_options o = s->options;
    o.event = on_event;
    o.progress = on_progress;
    o.context = stop;
    o.train.cancel = &stop->cancel;
    return bang_tune_vit(model, &s->images, &s->validation, &o, result, err);
}

static void open_scene(scene *s, const char *folder)
{
    bang_error err = {0};
    stopper stop = {0};
    *s = (scene){.options = small_options()};
    snprintf(s->state, sizeof s->state, "%s/state", folder);
    make_images(&s->images, PICTURES, 1, 0);
    make_images(&s->validation, 9, 9, 0);
    bang_tune_options *o = &s->options;
    o->train.steps = STEPS;
    o->train.mixup = 0.3;
    o->train.schedule = BANG_COSINE;
    o->train.clip_norm = 1;
    o->evaluate_every = 5;
    o->keep_best = 1;
    o->threads = 1;
    o->piece = 3;
    make_model(&s->reference);
    assert_int_equal(run(s, &s->reference, &stop, &s->result, &err), 0);
    s->heard = stop.heard.data;
    o->train.state.path = s->state;
}

static void close_scene(scene *s)
{
    bang_images_release(&s->images);
    bang_images_release(&s->validation);
    bang_vit_model_release(&s->reference);
    free(s->heard);
}

static void assert_same_result(const scene *s, const bang_vit_model *model,
                               const bang_tune_result *r)
{
    assert_memory_equal(model->vit.parameters, s->reference.vit.parameters,
                        model->vit.map.count * sizeof(float));
    assert_true(r->loss == s->result.loss && r->accuracy == s->result.accuracy &&
                r->validation_loss == s->result.validation_loss);
    assert_int_equal(r->best_step, s->result.best_step);
    assert_int_equal(r->bad, s->result.bad);
}

static int exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

/* Stops as said, again and again, until the training is done. */
static void assert_resumes(scene *s, stopper how, int stops)
{
    bang_text heard = {0};
    bang_tune_result result = {0};
    uint64_t saved = 0;
    int rc = BANG_ECANCELLED, resumed = 0;
    s->options.train.state.resume = 0;
    for (int i = 0; rc == BANG_ECANCELLED && i < 50; i++) {
        bang_error err = {0};
        bang_vit_model model;
        stopper stop = how;
        if (i >= stops)
            stop.after_events = stop.after_progress = 0;
        make_model(&model);
        rc = run(s, &model, &stop, &result, &err);
        assert_int_equal(result.resumed_from, saved);
        saved = result.saved;
        resumed += result.resumed_from > 0;
        bang_text_add(&heard, "%s", stop.heard.data ? stop.heard.data : "");
        bang_text_release(&stop.heard);
        assert_int_equal(exists(s->state), saved > 0);
        if (rc == 0)
            assert_same_result(s, &model, &result);
        bang_vit_model_release(&model);
        s->options.train.state.resume = 1;
    }
    assert_int_equal(rc, 0);
    assert_true(resumed > 0);
    assert_string_equal(heard.data, s->heard);
    bang_text_release(&heard);
    assert_int_equal(bang_train_state_remove(s->state, NULL), 0);
    assert_false(exists(s->state));
    assert_int_equal(bang_train_state_remove(s->state, NULL), 0);
}

static void test_cancel_after_steps(void **state)
{
    scene s;
    open_scene(&s, *state);
    for (int steps = 1; steps < STEPS; steps++)
        assert_resumes(&s, (stopper){.after_events = steps}, 1);
    assert_resumes(&s, (stopper){.after_events = 1}, STEPS);
    close_scene(&s);
}

/* In the middle of a step nothing has changed; an evaluation is taken up again. */
static void test_cancel_within(void **state)
{
    scene s;
    open_scene(&s, *state);
    for (int pieces = 5; pieces < 30; pieces += 4)
        assert_resumes(&s, (stopper){.phase = BANG_TUNE_STEPS, .after_progress = pieces}, 2);
    for (int pieces = 1; pieces < 3; pieces++)
        assert_resumes(&s, (stopper){.phase = BANG_TUNE_EVALUATION, .after_progress = pieces}, 1);
    close_scene(&s);
}

static void test_cancel_only_head(void **state)
{
    scene s;
    open_scene(&s, *state);
    bang_vit_model_release(&s.reference);
    free(s.heard);
    for (int mix = 0; mix < 2; mix++) {
        bang_error err = {0};
        stopper stop = {0};
        s.options.only_head = 1;
        s.options.train.mixup = mix ? 0.3 : 0;
        s.options.train.state.path = NULL;
        make_model(&s.reference);
        assert_int_equal(run(&s, &s.reference, &stop, &s.result, &err), 0);
        s.heard = stop.heard.data;
        s.options.train.state.path = s.state;
        assert_resumes(&s, (stopper){.after_events = 1}, STEPS);
        assert_resumes(&s, (stopper){.after_events = 7}, 1);
        if (!mix) {
            free(s.heard);
            bang_vit_model_release(&s.reference);
        }
    }
    close_scene(&s);
}

/* Pictures that were left out before a stop and are not met again are still counted. */
static void test_bad_pictures(void **state)
{
    scene s;
    bang_error err = {0};
    bang_tune_result result;
    bang_images files;
    open_scene(&s, *state);
    write_images(&files, &s.images, *state);
    assert_int_equal(remove(files.paths[2]), 0);
    assert_int_equal(remove(files.paths[20]), 0);
    bang_images_release(&s.images);
    s.images = files;
    s.options.feed.skip_bad = 1;
    s.options.train.in_order = 1;
    s.options.train.steps = 3; /* of four in an epoch */
    for (int resume = 0; resume < 2; resume++) {
        bang_vit_model model;
        stopper stop = {.after_events = !resume};
        s.options.train.state.resume = resume;
        make_model(&model);
        assert_int_equal(run(&s, &model, &stop, &result, &err), resume ? 0 : BANG_ECANCELLED);
        assert_int_equal(result.bad, 1 + resume);
        assert_int_equal(result.resumed_from, resume);
        bang_text_release(&stop.heard);
        bang_vit_model_release(&model);
    }
    close_scene(&s);
}

/* A kill leaves the last state that was written whole: one of those of every step. */
static void on_copy(void *context, const bang_tune_event *event)
{
    const scene *s = context;
    char *bytes, path[700];
    size_t size;
    if (event->step < 2)
        return;
    assert_int_equal(bang_file_read(&bytes, &size, s->state, NULL), 0); /* of the step before */
    snprintf(path, sizeof path, "%s.%llu", s->state, (unsigned long long)event->step - 1);
    assert_int_equal(bang_file_put(path, bytes, size, NULL), 0);
    free(bytes);
}

static void test_kill(void **state)
{
    scene s;
    bang_error err = {0};
    bang_tune_result result;
    bang_vit_model model;
    open_scene(&s, *state);
    bang_tune_options o = s.options;
    o.train.state.seconds = 0; /* after every step */
    o.event = on_copy;
    o.context = &s;
    make_model(&model);
    assert_int_equal(bang_tune_vit(&model, &s.images, &s.validation, &o, &result, &err), 0);
    assert_same_result(&s, &model, &result);
    bang_vit_model_release(&model);
    o.event = NULL;
    o.train.state.resume = 1;
    o.train.state.seconds = 1e9;
    for (int step = 1; step < STEPS; step++) {
        char path[700];
        snprintf(path, sizeof path, "%s.%d", s.state, step);
        o.train.state.path = path;
        make_model(&model);
        assert_int_equal(bang_tune_vit(&model, &s.images, &s.validation, &o, &result, &err), 0);
        assert_int_equal(result.resumed_from, step);
        assert_int_equal(result.saved, step);
        assert_same_result(&s, &model, &result);
        bang_vit_model_release(&model);
    }
    /* what a kill in the middle of a write leaves beside it goes, too */
    const char *part = in_folder(*state, ".state.bang-part");
    assert_int_equal(bang_file_put(part, "part", 4, &err), 0);
    assert_int_equal(bang_train_state_remove(s.state, &err), 0);
    assert_false(exists(part));
    close_scene(&s);
}

static void assert_refused(scene *s, const bang_tune_options *o, const char *what)
{
    bang_error err = {0};
    bang_vit_model model;
    bang_tune_result result;
    make_model(&model);
    int rc = bang_tune_vit(&model, &s->images, &s->validation, o, &result, &err);
    assert_true(rc == BANG_EUSAGE || rc == BANG_EDATA);
    assert_non_null(strstr(err.message, s->state));
    if (!strstr(err.message, what))
        fail_msg("%s: does not say %s", err.message, what);
    bang_vit_model_release(&model);
}

/* A digest tells one run from another, and is the same for the same. */
static void test_digest(void **state)
{
    scene s;
    bang_error err = {0};
    bang_vit_model model;
    char first[BANG_DIGEST_TEXT], other[BANG_DIGEST_TEXT];
    open_scene(&s, *state);
    make_model(&model);
    for (int change = 0; change < 8; change++) {
        bang_tune_options o = s.options;
        o.keep_best = 0;
        uint8_t *pixels = s.images.memory.inputs.data;
        o.train.steps += change == 2;
        o.threads += change == 3;
        o.feed.transform.flip = change == 4;
        o.feed.skip_bad = change == 1; /* changes nothing */
        o.train.state.resume = change == 1;
        pixels[5] ^= change == 5;
        model.vit.parameters[3] += change == 6 ? 1 : 0;
        assert_int_equal(bang_tune_digest(change ? other : first, &model, &s.images,
                                          change == 7 ? NULL : &s.validation, &o, &err),
                         0);
        pixels[5] ^= change == 5;
        model.vit.parameters[3] -= change == 6 ? 1 : 0;
        if (change)
            assert_int_equal(strcmp(first, other) != 0, change > 1);
    }
    bang_vit_model_release(&model);
    close_scene(&s);
}

static void test_other_options(void **state)
{
    scene s;
    bang_error err = {0};
    bang_tune_result result;
    bang_vit_model model;
    stopper stop = {.after_events = 3};
    open_scene(&s, *state);
    make_model(&model);
    assert_int_equal(run(&s, &model, &stop, &result, &err), BANG_ECANCELLED);
    bang_text_release(&stop.heard);
    assert_int_equal(result.saved, 3);
    s.options.train.state.resume = 1;
    bang_tune_options o = s.options;
    o.train.batch = 4;
    o.train.rate = 1;
    o.train.label_smoothing = 0.25;
    assert_refused(&s, &o, "batch: 8 there, 4 now");
    assert_refused(&s, &o, "learning rate: 0.003 there, 1.0 now");
    assert_refused(&s, &o, "label smoothing: 0.0 there, 0.25 now");
    o = s.options;
    o.threads = 2;
    assert_refused(&s, &o, "threads: 1 there, 2 now");
    o = s.options;
    o.feed.transform.flip = 1;
    assert_refused(&s, &o, "flip: false there, true now");
    s.images.labels[3] = (s.images.labels[3] + 1) % CLASSES;
    assert_refused(&s, &s.options, "data: not the same");
    s.images.labels[3] = (s.images.labels[3] + 2) % CLASSES;
    ((uint8_t *)s.images.memory.inputs.data)[70] ^= 1;
    assert_refused(&s, &s.options, "data: not the same");
    ((uint8_t *)s.images.memory.inputs.data)[70] ^= 1;
    model.vit.parameters[0] += 1;
    o = s.options;
    assert_int_equal(bang_tune_vit(&model, &s.images, &s.validation, &o, &result, &err),
                     BANG_EUSAGE);
    assert_non_null(strstr(err.message, "first weights: not the same"));
    bang_vit_model_release(&model);
    /* files that are no states */
    assert_int_equal(bang_file_put(s.state, "something", 9, &err), 0);
    assert_refused(&s, &o, "state");
    make_model(&model);
    assert_int_equal(bang_vit_model_save(&model, s.state, &err), 0);
    bang_vit_model_release(&model);
    assert_refused(&s, &o, "is no state of a training");
    close_scene(&s);
}

/* Puts value (8 bytes) at place n of a tensor of a state. */
static void spoil(const char *path, const char *name, size_t n, const void *value)
{
    bang_tensors tensors;
    bang_error err = {0};
    size_t found = 0;
    assert_int_equal(bang_safetensors_read(&tensors, path, &err), 0);
    for (size_t i = 0; i < tensors.count; i++)
        if (strcmp(tensors.items[i].name, name) == 0) {
            memcpy((char *)tensors.items[i].array.data + 8 * n, value, 8);
            found++;
        }
    assert_int_equal(found, 1);
    assert_int_equal(bang_safetensors_write(path, &tensors, &err), 0);
    bang_tensors_release(&tensors);
}

/* Numbers that no run writes: more steps than there are, counts that are none. */
static void test_damaged(void **state)
{
    static const uint64_t steps[] = {0, STEPS + 1, 1000000000000, UINT64_MAX};
    static const struct {
        size_t place;
        double value;
    } kept[] = {{7, 9}, {7, NAN}, {8, 2}, {13, 4}, {13, 1e300}, {14, -1}};
    scene s;
    bang_error err = {0};
    bang_tune_result result;
    bang_vit_model model;
    open_scene(&s, *state);
    char *whole;
    size_t size;
    stopper stop = {.after_events = 3};
    make_model(&model);
    assert_int_equal(run(&s, &model, &stop, &result, &err), BANG_ECANCELLED);
    bang_text_release(&stop.heard);
    bang_vit_model_release(&model);
    assert_int_equal(bang_file_read(&whole, &size, s.state, &err), 0);
    s.options.train.state.resume = 1;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char says[64];
        assert_int_equal(bang_file_put(s.state, whole, size, &err), 0);
        spoil(s.state, "step", 0, &steps[i]);
        snprintf(says, sizeof says, "is damaged: step %llu of 12: ", (unsigned long long)steps[i]);
        assert_refused(&s, &s.options, says);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(bang_file_put(s.state, whole, size, &err), 0);
        spoil(s.state, "kept", kept[i].place, &kept[i].value);
        assert_refused(&s, &s.options, "is damaged: impossible numbers at step 3 of 12: ");
    }
    free(whole);
    close_scene(&s);
}

/* Perceptrons. */
typedef struct rows_of {
    bang_array inputs;
    bang_columns columns;
    bang_rows rows;
    int64_t labels[PICTURES];
} rows_of;

static void make_rows(rows_of *r)
{
    bang_error err = {0};
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('r', 'o', 'w', 's'), 0);
    assert_int_equal(bang_array_init(&r->inputs, BANG_F32, 2, (size_t[]){PICTURES, 5}, &err), 0);
    for (size_t i = 0; i < PICTURES * 5; i++)
        ((float *)r->inputs.data)[i] = (float)bang_random_normal(&random);
    for (size_t i = 0; i < PICTURES; i++)
        r->labels[i] = (int64_t)bang_random_below(&random, CLASSES);
    assert_int_equal(bang_columns_init_all(&r->columns, 5, &err), 0);
    assert_int_equal(bang_rows_init_dense(&r->rows, &r->columns, &r->inputs, &err), 0);
}

static void make_mlp(bang_mlp *mlp)
{
    bang_error err = {0};
    assert_int_equal(bang_mlp_init(mlp, 2, (size_t[]){5, 7, CLASSES}, BANG_RELU, &err), 0);
    bang_mlp_randomise(mlp, 1, 0);
}

typedef struct mlp_stopper {
    bang_cancel cancel;
    int after;
    double *own;
} mlp_stopper;

static void on_mlp_step(void *context, uint64_t step, double loss, double rate)
{
    mlp_stopper *s = context;
    (void)step, (void)rate;
    *s->own += loss; /* must come back with the state */
    if (s->after && --s->after == 0)
        atomic_store(&s->cancel.raised, 1);
}

static void test_perceptron(void **state)
{
    rows_of r;
    bang_mlp reference, mlp;
    bang_train_result expected, result;
    bang_error err = {0};
    double sum = 0, all = 0;
    mlp_stopper stop = {.own = &all};
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
    make_rows(&r);
    o.batch = 8;
    o.steps = STEPS;
    o.optimizer = BANG_ADAMW;
    o.weight_decay = 0.1;
    o.mixup = 0.2;
    o.step = on_mlp_step;
    o.context = &stop;
    o.cancel = &stop.cancel;
    make_mlp(&reference);
    assert_int_equal(bang_train_mlp(&reference, &r.rows, r.labels, &o, &expected, &err), 0);
    o.state = (bang_train_state){
        .path = in_folder(*state, "state"), .seconds = 1e9, .own = &sum, .own_count = 1};
    stop.own = &sum;
    for (int step = 1; step <= STEPS; step++) {
        stop.after = step;
        o.state.resume = 0;
        sum = 0;
        make_mlp(&mlp);
        assert_int_equal(bang_train_mlp(&mlp, &r.rows, r.labels, &o, &result, &err),
                         BANG_ECANCELLED);
        assert_int_equal(result.saved, step);
        bang_mlp_release(&mlp);
        atomic_store(&stop.cancel.raised, 0);
        o.state.resume = 1;
        sum = 1e9; /* is replaced */
        make_mlp(&mlp);
        assert_int_equal(bang_train_mlp(&mlp, &r.rows, r.labels, &o, &result, &err), 0);
        assert_int_equal(result.resumed_from, step);
        assert_memory_equal(mlp.parameters, reference.parameters, mlp.count * sizeof(float));
        assert_true(result.loss == expected.loss && result.decay == expected.decay && sum == all);
        bang_mlp_release(&mlp);
    }
    const uint64_t impossible = STEPS + 1;
    spoil(o.state.path, "step", 0, &impossible);
    make_mlp(&mlp);
    assert_int_equal(bang_train_mlp(&mlp, &r.rows, r.labels, &o, &result, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "is damaged: step 13 of 12"));
    bang_mlp_release(&mlp);
    o.rate = 0.5;
    make_mlp(&mlp);
    assert_int_equal(bang_train_mlp(&mlp, &r.rows, r.labels, &o, &result, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "learning rate: 0.001 there, 0.5 now"));
    bang_mlp_release(&mlp);
    bang_mlp_release(&reference);
    bang_rows_release(&r.rows);
    bang_columns_release(&r.columns);
    bang_array_release(&r.inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cancel_after_steps, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_cancel_within, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_cancel_only_head, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_bad_pictures, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_kill, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_digest, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_other_options, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_damaged, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_perceptron, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
