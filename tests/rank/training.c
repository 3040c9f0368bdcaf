/* Ranks that train and predict together, started by mpirun: everything is done by each of them
 * alone as well, and compared. A rank that finds a difference aborts, which ends the others.
 *
 * Alone and together differ by the order of sums. A sum of n floats of one size in another order
 * differs by some sqrt(n) 2^-24 of its size; the gradients here are sums over some ten pictures
 * of a few tokens, so a step differs by some 1e-7 of itself, and twenty steps whose rate is far
 * from where training diverges make some 1e-6 of that (measured: up to 2e-6). A wrong share, scale
 * or partner shows in the first digits. So losses, norms and weights may differ by 2e-5 of
 * what is larger, themselves or 1. Outputs of predictions are the same bits. */
#include "../tune_cases.h"

#include "bang/base/file.h"
#include "bang/base/rank.h"
#include "bang/train/predict.h"

static const double bound = 2e-5;
static bang_ranks *ranks;
static void *folder; /* of this rank alone */

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= bound * fmax(1, fabs(b))))
        fail_msg("rank %d of %d: %.9g is not near %.9g", bang_ranks_rank(ranks),
                 bang_ranks_count(ranks), a, b);
}

static void assert_same_course(const seen *a, const seen *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->bad, b->bad);
    for (size_t i = 0; i < a->count; i++) {
        assert_near(a->loss[i], b->loss[i]);
        assert_near(a->norm[i], b->norm[i]);
        assert_near(a->validation_loss[i], b->validation_loss[i]);
        assert_int_equal(a->images[i], b->images[i]);
        assert_int_equal(a->evaluated[i], b->evaluated[i]);
        assert_true(a->rate[i] == b->rate[i]);
    }
}

typedef struct scene {
    bang_images images, validation;
    bang_vit_config config;
    bang_tune_options options;
    seen alone, together;
} scene;

static void make_sized(bang_vit_model *model, const bang_vit_config *config)
{
    bang_error err = {0};
    bang_random random;
    assert_int_equal(bang_vit_model_make(model, config, 5, &err), 0);
    bang_random_init(&random, 1, BANG_PURPOSE('h', 'e', 'a', 'd'), 0);
    for (size_t i = model->vit.map.head_weight; i < model->vit.map.count; i++)
        model->vit.parameters[i] = (float)(0.2 * bang_random_normal(&random));
}

/* Trains alone and together. */
static void compare(scene *s)
{
    const bang_images *validation = s->validation.count ? &s->validation : NULL;
    bang_vit_model alone, together;
    bang_tune_result a, b;
    make_sized(&alone, &s->config);
    make_sized(&together, &s->config);
    s->options.train.ranks = NULL;
    train(&alone, &s->images, validation, s->options, &s->alone, &a);
    s->options.train.ranks = ranks;
    train(&together, &s->images, validation, s->options, &s->together, &b);
    assert_same_course(&s->together, &s->alone);
    assert_near(distance(&alone, &together), 0);
    assert_near(b.loss, a.loss);
    assert_int_equal(a.bad, b.bad);
    assert_int_equal(a.validation_bad, b.validation_bad);
    assert_int_equal(a.best_step, b.best_step);
    bang_vit_model_release(&alone);
    bang_vit_model_release(&together);
}

static scene make_scene(void)
{
    scene s = {.config = small_vit, .options = small_options()};
    make_images(&s.images, PICTURES, 1, 0);
    return s;
}

static void drop_scene(scene *s)
{
    bang_images_release(&s->images);
    bang_images_release(&s->validation);
}

/* 26 pictures: batches of 8 end with one of 2, fewer than 4 ranks; 7 is divided by none of them;
 * 26 is one batch; 1 leaves all but one rank without a picture. */
static void test_batches(void)
{
    static const size_t batches[] = {8, 7, 26, 1, 100};
    scene s = make_scene();
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        s.options.train.batch = batches[i];
        s.options.threads = 1 + (int)i % 3;
        compare(&s);
    }
    drop_scene(&s);
}

static void test_recipes(void)
{
    scene s = make_scene();
    bang_train_options *o = &s.options.train;
    make_images(&s.validation, 31, 9, 0);
    s.options.evaluate_every = 3;
    o->mixup = 0.4;
    o->label_smoothing = 0.1;
    o->clip_norm = 0.5;
    o->steps = 12;
    for (int head = 0; head < 2; head++) {
        s.options.only_head = head;
        compare(&s); /* AdamW */
    }
    s.options.only_head = 0;
    s.options.keep_best = 1;
    s.options.feed.transform.flip = 1;
    s.options.feed.transform.degrees = 10;
    o->optimizer = BANG_SGD;
    o->momentum = 0.9;
    o->clip_norm = 0;
    o->loss = BANG_MSE;
    compare(&s);
    s.options.only_head = 1;
    o->mixup = 0;
    compare(&s);
    s.options.feed.transform.flip = 0;
    s.options.feed.transform.degrees = 0;
    compare(&s); /* features are kept */
    drop_scene(&s);
}

/* Several slices, and slices in several parts, while 1 to 5 threads go back. */
static void test_slices(void)
{
    scene s = make_scene();
    s.options.train.steps = 4;
    s.options.train.clip_norm = 1;
    s.options.train.batch = PICTURES - 2;
    s.config.heads = 4;
    s.config.width = 128;
    s.config.hidden = 512;
    s.config.depth = 4;
    for (s.options.threads = 1; s.options.threads <= 5; s.options.threads++)
        compare(&s);
    s.options.threads = 2;
    s.options.recompute = 1;
    s.config.width = 320;
    s.config.hidden = 1280;
    s.config.depth = 2;
    s.options.train.steps = 2;
    compare(&s);
    drop_scene(&s);
}

static void test_bad_pictures(void)
{
    scene s = make_scene();
    bang_images files;
    bang_error err = {0};
    write_images(&files, &s.images, folder);
    bang_images_release(&s.images);
    s.images = files;
    s.options.feed.skip_bad = 1;
    s.options.train.steps = 12;
    compare(&s);
    assert_int_equal(s.together.bad, 0);
    assert_int_equal(bang_file_put(files.paths[3], "no picture", 10, &err), 0);
    assert_int_equal(bang_file_put(files.paths[7], "", 0, &err), 0);
    assert_int_equal(remove(files.paths[20]), 0);
    for (int mixup = 0; mixup < 2; mixup++)
        for (int head = 0; head < 2; head++) {
            s.options.train.mixup = 0.3 * mixup;
            s.options.only_head = head;
            compare(&s);
            assert_int_equal(s.together.bad, 3);
        }
    drop_scene(&s);
}

typedef struct stopper {
    bang_cancel cancel;
    uint64_t after;
} stopper;

static void stop_after(void *context, const bang_tune_event *event)
{
    stopper *s = context;
    if (event->step == s->after)
        atomic_store(&s->cancel.raised, 1);
}

/* Stops with so many ranks, goes on with others: of each of the two, 1 is this process alone. */
static void resume(scene *s, bang_ranks *before, bang_ranks *after)
{
    bang_vit_model whole, model;
    bang_tune_result result;
    bang_error err = {0};
    stopper stop = {.after = 5};
    bang_tune_options o = s->options;
    o.train.state = (bang_train_state){.path = in_folder(folder, "state"), .seconds = 1e9};
    make_sized(&whole, &s->config);
    assert_int_equal(bang_tune_vit(&whole, &s->images, NULL, &s->options, &result, &err), 0);
    make_sized(&model, &s->config);
    o.train.ranks = before;
    o.train.cancel = &stop.cancel;
    o.event = stop_after;
    o.context = &stop;
    assert_int_equal(bang_tune_vit(&model, &s->images, NULL, &o, &result, &err), BANG_ECANCELLED);
    assert_int_equal(result.saved, 5);
    if (before && bang_ranks_rank(ranks) > 0) /* only rank 0 has written */
        assert_int_equal(bang_file_put(in_folder(folder, "state"), "rubbish", 7, &err), 0);
    bang_vit_model_release(&model);
    make_sized(&model, &s->config);
    o.train.cancel = NULL;
    o.train.ranks = after;
    o.train.state.resume = 1;
    o.threads = 1; /* another number */
    if (after || bang_ranks_rank(ranks) == 0) {
        if (bang_tune_vit(&model, &s->images, NULL, &o, &result, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(result.resumed_from, 5);
        assert_near(distance(&whole, &model), 0);
    }
    bang_vit_model_release(&whole);
    bang_vit_model_release(&model);
}

static void test_resume(void)
{
    scene s = make_scene();
    s.options.train.mixup = 0.2;
    s.options.threads = ranks ? 2 : 1; /* alone, another number is refused */
    resume(&s, ranks, NULL);
    resume(&s, ranks, ranks);
    s.options.threads = 1;
    resume(&s, NULL, ranks);
    drop_scene(&s);
}

/* What not all ranks are to do is refused before anything is done; the others hear of it. */
static void test_differences(void)
{
    scene s = make_scene();
    bang_vit_model model;
    bang_error err = {0};
    int count = bang_ranks_count(ranks), differs = bang_ranks_rank(ranks) == count - 1;
    make_sized(&model, &s.config);
    s.options.train.ranks = ranks;
    if (differs)
        s.images.labels[4] = (s.images.labels[4] + 1) % CLASSES;
    int rc = bang_tune_vit(&model, &s.images, NULL, &s.options, NULL, &err);
    assert_int_equal(rc, count > 1 ? BANG_EUSAGE : 0);
    rc = bang_ranks_close(ranks, rc < 0 ? &err : NULL, &err);
    assert_int_equal(rc, count > 1 ? BANG_EUSAGE : 0);
    if (count > 1 && !strstr(err.message, "is to do something else than rank 0: data: not the"))
        fail_msg("%s", err.message);
    bang_vit_model_release(&model);
    drop_scene(&s);
}

enum { WIDTH = 70 };
typedef struct course {
    double loss[64];
    size_t count;
} course;

static void on_step(void *context, uint64_t step, double loss, double rate)
{
    course *c = context;
    (void)rate;
    c->loss[step] = loss;
    c->count = step + 1;
}

static void compare_mlp(const bang_rows *rows, const int64_t *labels, bang_train_options o)
{
    bang_error err = {0};
    bang_train_result result;
    bang_mlp mlp[2];
    course c[2] = {{.count = 0}};
    for (int i = 0; i < 2; i++) {
        size_t width[] = {rows->columns->group_count, 24, CLASSES};
        assert_int_equal(bang_mlp_init(&mlp[i], 2, width, BANG_GELU, &err), 0);
        bang_mlp_randomise(&mlp[i], 1, 0);
        o.ranks = i ? ranks : NULL;
        o.step = on_step;
        o.context = &c[i];
        if (bang_train_mlp(&mlp[i], rows, labels, &o, &result, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(c[i].count, o.steps);
    }
    for (size_t i = 0; i < o.steps; i++)
        assert_near(c[1].loss[i], c[0].loss[i]);
    for (size_t i = 0; i < mlp[0].count; i++)
        assert_near((double)mlp[1].parameters[i], (double)mlp[0].parameters[i]);
    bang_mlp_release(&mlp[0]);
    bang_mlp_release(&mlp[1]);
}

static void test_perceptrons(void)
{
    static const size_t batches[] = {8, 7, 1};
    bang_error err = {0};
    bang_array inputs;
    int64_t labels[PICTURES];
    bang_random random;
    bang_random_init(&random, 3, BANG_PURPOSE('r', 'o', 'w', 's'), 0);
    assert_int_equal(bang_array_init(&inputs, BANG_U8, 2, (size_t[]){PICTURES, WIDTH}, &err), 0);
    for (size_t i = 0; i < PICTURES * WIDTH; i++) /* some columns take few values */
        ((uint8_t *)inputs.data)[i] = i % WIDTH < 20 ? (uint8_t)bang_random_below(&random, 256)
                                                     : (uint8_t)(200 * (i / WIDTH % 2));
    for (size_t i = 0; i < PICTURES; i++)
        labels[i] = (int64_t)bang_random_below(&random, CLASSES);
    for (int dense = 0; dense < 2; dense++) {
        bang_columns columns;
        bang_rows rows;
        assert_int_equal(dense ? bang_columns_init_all(&columns, WIDTH, &err)
                               : bang_columns_init(&columns, WIDTH, &err),
                         0);
        if (!dense) {
            assert_int_equal(bang_columns_refine(&columns, &inputs, &err), 0);
            bang_columns_settle(&columns);
        }
        assert_int_equal(dense ? bang_rows_init_dense(&rows, &columns, &inputs, &err)
                               : bang_rows_init(&rows, &columns, &inputs, &err),
                         0);
        bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
        o.steps = 20;
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            o.batch = batches[i];
            o.optimizer = BANG_ADAMW;
            o.loss = BANG_CROSS_ENTROPY;
            o.epsilon = 1e-3;
            o.mixup = o.clip_norm = o.label_smoothing = 0;
            compare_mlp(&rows, labels, o);
            o.mixup = 0.3;
            o.label_smoothing = 0.1;
            compare_mlp(&rows, labels, o);
            o.optimizer = BANG_SGD;
            o.momentum = 0.9;
            o.loss = BANG_MSE;
            o.clip_norm = 0.5;
            compare_mlp(&rows, labels, o);
        }
        bang_rows_release(&rows);
        bang_columns_release(&columns);
    }
    bang_array_release(&inputs);
}

/* All outputs of two models on a set, and what is said of bad pictures. */
typedef struct outputs {
    float logits[2][PICTURES * CLASSES];
    uint32_t index[PICTURES];
    int64_t labels[PICTURES];
    size_t count, bad;
} outputs;

static void predict(outputs *out, const bang_images *set, size_t batch, bang_ranks *with)
{
    bang_predict_options o = BANG_PREDICT_OPTIONS_INIT;
    bang_vit_model model[2];
    bang_predictor *predictor;
    bang_predicted some;
    bang_error err = {0};
    bang_vit_config wider = small_vit;
    wider.width = 24;
    make_sized(&model[0], &small_vit);
    make_sized(&model[1], &wider);
    const bang_vit_model *both[] = {&model[0], &model[1]};
    o.batch = batch;
    o.threads = 1;
    o.feed.skip_bad = 1;
    o.ranks = with;
    assert_int_equal(bang_predictor_open(&predictor, both, 2, set, &o, &err), 0);
    for (int pass = 0; pass < 2; pass++) {
        int rc;
        *out = (outputs){0};
        while ((rc = bang_predictor_next(&some, predictor, &err)) > 0) {
            for (int m = 0; m < 2; m++)
                memcpy(out->logits[m] + out->count * CLASSES, some.outputs[m],
                       some.count * CLASSES * sizeof(float));
            memcpy(out->index + out->count, some.index, some.count * sizeof *some.index);
            memcpy(out->labels + out->count, some.labels, some.count * sizeof *some.labels);
            out->count += some.count;
        }
        assert_int_equal(rc, 0);
        out->bad = bang_predictor_bad_count(predictor);
    }
    bang_predictor_close(predictor);
    bang_vit_model_release(&model[0]);
    bang_vit_model_release(&model[1]);
}

static void compare_outputs(const bang_images *set, size_t good)
{
    static outputs alone, together; /* zeroed in what is not used */
    for (size_t batch = 0; batch < 9; batch += 4) {
        predict(&alone, set, 0, NULL);
        predict(&together, set, batch, ranks);
        assert_int_equal(together.count, good);
        assert_int_equal(together.bad, set->count - good);
        assert_memory_equal(&alone, &together, sizeof alone);
    }
}

static void test_predictions(void)
{
    bang_images images, files;
    bang_error err = {0};
    make_images(&images, PICTURES, 1, 0);
    write_images(&files, &images, folder);
    compare_outputs(&images, PICTURES);
    compare_outputs(&files, PICTURES);
    for (size_t i = 8; i < 13; i++)
        assert_int_equal(bang_file_put(files.paths[i], "no picture", 10, &err), 0);
    assert_int_equal(remove(files.paths[0]), 0);
    assert_int_equal(remove(files.paths[PICTURES - 1]), 0);
    compare_outputs(&files, PICTURES - 7);
    images.count = 1;
    compare_outputs(&images, 1);
    images.count = PICTURES;
    bang_images_release(&images);
    bang_images_release(&files);
}

int main(void)
{
    static bang_cancel cancel;
    bang_error err = {0};
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    if (bang_ranks_open(&ranks, &cancel, &err) < 0 || make_folder(&folder) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    test_batches();
    test_recipes();
    test_slices();
    test_bad_pictures();
    test_resume();
    test_perceptrons();
    test_predictions();
    if (bang_ranks_rank(ranks) == 0)
        printf("%d ranks: trained and predicted as one\n", bang_ranks_count(ranks));
    test_differences(); /* and closes */
    drop_folder(&folder);
    return 0;
}
