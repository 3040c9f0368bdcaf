/* Training of vision transformers: steps against a plain loop in double, pieces and
 * threads, the head alone, the best kept, pictures that are broken. */
#include "tune_cases.h"

#include "bang/base/file.h"
#include "train/loop.h"

enum { STEPS = 10 };

typedef struct seen {
    double loss[64], norm[64], rate[64];
    double accuracy[64];
    int evaluated[64], best[64];
    size_t images[64], count;
    size_t bad;
    char message[200];
} seen;

static void note_event(void *context, const bang_tune_event *event)
{
    seen *s = context;
    assert_int_equal(event->step, s->count + 1);
    s->loss[s->count] = event->loss;
    s->norm[s->count] = event->gradient_norm;
    s->rate[s->count] = event->rate;
    s->accuracy[s->count] = event->accuracy;
    s->evaluated[s->count] = event->evaluated;
    s->best[s->count] = event->best;
    s->images[s->count++] = event->images;
}

static void note_bad(void *context, const char *message)
{
    seen *s = context;
    s->bad++;
    snprintf(s->message, sizeof s->message, "%s", message);
}

static void train(bang_vit_model *model, const bang_images *images, const bang_images *validation,
                  bang_tune_options options, seen *s, bang_tune_result *result)
{
    bang_error err = {0};
    *s = (seen){0};
    options.event = note_event;
    options.bad = note_bad;
    options.context = s;
    if (bang_tune_vit(model, images, validation, &options, result, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(s->count, options.train.steps);
}

/* The same in double, one batch at a time, everything written out. */
typedef struct plain {
    double *w, *g, *m, *v;
    size_t count;
    double loss[STEPS], norm[STEPS];
} plain;

static void plain_targets(double *y, const bang_images *images, const uint32_t *index, size_t count,
                          const uint32_t *partner, double lambda, const bang_train_options *o)
{
    double e = o->label_smoothing;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < CLASSES; c++) {
            double a = images->labels[index[i]] == (int64_t)c;
            double b = images->labels[index[partner ? partner[i] : i]] == (int64_t)c;
            double mixed = lambda * a + (1 - lambda) * b;
            y[i * CLASSES + c] = (1 - e) * mixed + e / CLASSES;
        }
}

static double plain_loss(double *gradient, const double *z, const double *y, size_t count,
                         bang_loss kind)
{
    double loss = 0, n = (double)count;
    for (size_t i = 0; i < count; i++, z += CLASSES, y += CLASSES, gradient += CLASSES) {
        double sum = 0;
        for (size_t c = 0; c < CLASSES; c++)
            sum += exp(z[c]);
        for (size_t c = 0; c < CLASSES; c++) {
            double p = exp(z[c]) / sum, d = z[c] - y[c];
            loss += kind == BANG_MSE ? d * d / CLASSES / n : -y[c] * log(p) / n;
            gradient[c] = kind == BANG_MSE ? 2 * d / CLASSES / n : (p - y[c]) / n;
        }
    }
    return loss;
}

static void plain_update(plain *p, size_t from, const bang_train_options *o, uint64_t step)
{
    double square = 0, rate = bang_train_rate(o, step), t = (double)step + 1;
    for (size_t i = from; i < p->count; i++)
        square += p->g[i] * p->g[i];
    p->norm[step] = sqrt(square);
    double scale =
        o->clip_norm > 0 && o->clip_norm < p->norm[step] ? o->clip_norm / p->norm[step] : 1;
    for (size_t i = from; i < p->count; i++) {
        double g = p->g[i] * scale;
        if (o->optimizer != BANG_ADAMW)
            g += o->weight_decay * p->w[i];
        if (o->optimizer == BANG_SGD) {
            p->m[i] = o->momentum * p->m[i] + g;
            p->w[i] -= rate * p->m[i];
            continue;
        }
        if (o->optimizer == BANG_ADAMW)
            p->w[i] -= rate * o->weight_decay * p->w[i];
        p->m[i] = o->beta1 * p->m[i] + (1 - o->beta1) * g;
        p->v[i] = o->beta2 * p->v[i] + (1 - o->beta2) * g * g;
        double mean = p->m[i] / (1 - pow(o->beta1, t)), mean2 = p->v[i] / (1 - pow(o->beta2, t));
        p->w[i] -= rate * mean / (sqrt(mean2) + o->epsilon);
    }
}

static void plain_train(plain *p, const bang_vit_model *model, const bang_images *images,
                        const bang_tune_options *options)
{
    const bang_train_options *o = &options->train;
    bang_error err = {0};
    bang_vit_worker_f64 worker;
    uint32_t partner[PICTURES] = {0}, order_index[PICTURES] = {0};
    double pixels[PICTURES * EDGE * EDGE], y[PICTURES * CLASSES];
    train_order order = {.options = o, .index = order_index, .rows = images->count};
    size_t bytes = model->vit.map.count * sizeof(double);
    *p = (plain){
        .w = malloc(bytes), .g = malloc(bytes), .m = calloc(1, bytes), .v = calloc(1, bytes)};
    p->count = model->vit.map.count;
    for (size_t i = 0; i < p->count; i++)
        p->w[i] = (double)model->vit.parameters[i];
    assert_int_equal(
        bang_vit_worker_init_f64(&worker, &model->vit.config, PICTURES, BANG_VIT_TRAIN, &err), 0);
    for (uint64_t step = 0; step < o->steps; step++) {
        size_t count;
        const uint32_t *index = train_next_batch(&order, &count);
        double lambda = o->mixup > 0 ? train_draw_mixing(partner, count, o, step) : 1;
        for (size_t i = 0; i < count * EDGE * EDGE; i++) {
            const uint8_t *all = images->memory.inputs.data;
            size_t n = i / (EDGE * EDGE), at = i % (EDGE * EDGE);
            double a = all[index[n] * EDGE * EDGE + at];
            double b = all[index[o->mixup > 0 ? partner[n] : n] * EDGE * EDGE + at];
            pixels[i] = (lambda * a + (1 - lambda) * b) / 255 / 0.5 - 1;
        }
        plain_targets(y, images, index, count, o->mixup > 0 ? partner : NULL, lambda, o);
        memset(p->g, 0, bytes);
        bang_vit_forward_f64(&worker, p->w, pixels, count);
        p->loss[step] = plain_loss(worker.logits_gradient, worker.logits, y, count, o->loss);
        bang_vit_backward_f64(&worker, p->w, p->g, count, 0);
        plain_update(p, options->only_head ? model->vit.map.head_weight : 0, o, step);
    }
    bang_vit_worker_release_f64(&worker);
}

static void plain_free(plain *p)
{
    free(p->w);
    free(p->g);
    free(p->m);
    free(p->v);
}

static void assert_like_plain(bang_tune_options options)
{
    bang_vit_model model;
    bang_images images;
    bang_tune_result result;
    seen s;
    plain p;
    make_model(&model);
    make_images(&images, PICTURES, 1, 0);
    plain_train(&p, &model, &images, &options);
    train(&model, &images, NULL, options, &s, &result);
    for (size_t i = 0; i < STEPS; i++) {
        assert_true(fabs(s.loss[i] - p.loss[i]) < 5e-6);
        assert_true(fabs(s.norm[i] - p.norm[i]) < 2e-5 * (1 + p.norm[i]));
        assert_true(s.rate[i] == bang_train_rate(&options.train, i));
        assert_int_equal(s.images[i], i % 4 == 3 ? PICTURES % 8 : 8);
    }
    double far = 0;
    for (size_t i = 0; i < p.count; i++)
        far = fmax(far, fabs((double)model.vit.parameters[i] - p.w[i]));
    assert_true(far < 2e-6);
    assert_true(fabs(result.loss - (p.loss[8] + p.loss[9]) / 2) < 5e-6);
    assert_true(isnan(result.accuracy));
    assert_int_equal(result.best_step, STEPS);
    plain_free(&p);
    bang_vit_model_release(&model);
    bang_images_release(&images);
}

static void test_adamw(void **state)
{
    (void)state;
    bang_tune_options o = small_options();
    assert_like_plain(o);
    o.train.clip_norm = 0.5;
    o.train.label_smoothing = 0.1;
    o.train.mixup = 0.4;
    o.train.schedule = BANG_COSINE;
    o.train.warmup = 3;
    assert_like_plain(o);
    o.recompute = 1;
    assert_like_plain(o);
}

static void test_others(void **state)
{
    (void)state;
    bang_tune_options o = small_options();
    o.train.optimizer = BANG_SGD;
    o.train.momentum = 0.8;
    o.train.rate = 0.02;
    assert_like_plain(o);
    o.train.loss = BANG_MSE;
    o.train.clip_norm = 0.3;
    assert_like_plain(o);
    o.train.optimizer = BANG_ADAM;
    o.train.rate = 1e-3;
    assert_like_plain(o);
}

static void test_only_head(void **state)
{
    (void)state;
    bang_tune_options o = small_options();
    o.only_head = 1;
    o.train.clip_norm = 0.5;
    assert_like_plain(o);
    o.train.mixup = 0.3; /* features cannot be kept */
    assert_like_plain(o);
    o.train.optimizer = BANG_SGD;
    o.train.rate = 0.1;
    assert_like_plain(o);
}

static void train_quietly(bang_vit_model *model, const bang_images *images,
                          bang_tune_options options)
{
    seen s;
    bang_tune_result result;
    make_model(model);
    train(model, images, NULL, options, &s, &result);
}

/* Largest distance of two models' weights. */
static double distance(const bang_vit_model *a, const bang_vit_model *b)
{
    double far = 0;
    for (size_t i = 0; i < a->vit.map.count; i++)
        far = fmax(far, fabs((double)a->vit.parameters[i] - (double)b->vit.parameters[i]));
    return far;
}

static void test_pieces_and_threads(void **state)
{
    (void)state;
    bang_images images;
    bang_vit_model first, other;
    bang_tune_options o = small_options();
    make_images(&images, PICTURES, 1, 0);
    o.train.mixup = 0.3;
    train_quietly(&first, &images, o);
    for (int threads = 1; threads <= 9; threads += threads < 3 ? 1 : 3) {
        static const size_t pieces[] = {1, 3, 4, 100};
        for (size_t i = 0; i < 4; i++) {
            o.threads = threads;
            o.piece = pieces[i];
            train_quietly(&other, &images, o);
            assert_true(distance(&first, &other) < 1e-6);
            bang_vit_model_release(&other);
        }
    }
    /* the same number of threads: the same bits */
    o = small_options();
    o.train.mixup = 0.3;
    train_quietly(&other, &images, o);
    assert_true(distance(&first, &other) == 0);
    bang_vit_model_release(&other);
    o.feed.threads = 5; /* of the feed do not matter */
    train_quietly(&other, &images, o);
    assert_true(distance(&first, &other) == 0);
    bang_vit_model_release(&other);
    o.train.seed = 2;
    train_quietly(&other, &images, o);
    assert_true(distance(&first, &other) > 0);
    bang_vit_model_release(&other);
    bang_vit_model_release(&first);
    bang_images_release(&images);
}

/* Pictures that are the same in a mirror: a random flip changes nothing but forbids keeping
 * features. */
static void test_kept_features(void **state)
{
    (void)state;
    bang_images images, validation;
    bang_vit_model kept, again;
    bang_tune_options o = small_options();
    bang_tune_result result[2];
    seen s[2];
    make_images(&images, PICTURES, 1, 1);
    make_images(&validation, 17, 2, 1);
    o.only_head = 1;
    o.evaluate_every = 3;
    for (int flip = 0; flip < 2; flip++) {
        bang_vit_model *model = flip ? &again : &kept;
        o.feed.transform.flip = flip;
        make_model(model);
        train(model, &images, &validation, o, &s[flip], &result[flip]);
    }
    assert_true(distance(&kept, &again) == 0);
    assert_memory_equal(s[0].loss, s[1].loss, sizeof s[0].loss);
    assert_memory_equal(s[0].accuracy, s[1].accuracy, sizeof s[0].accuracy);
    assert_true(result[0].validation_loss == result[1].validation_loss);
    bang_vit_model untouched;
    make_model(&untouched);
    assert_memory_equal(kept.vit.parameters, untouched.vit.parameters,
                        kept.vit.map.head_weight * sizeof(float));
    assert_true(distance(&kept, &untouched) > 0);
    bang_vit_model_release(&untouched);
    bang_vit_model_release(&kept);
    bang_vit_model_release(&again);
    bang_images_release(&images);
    bang_images_release(&validation);
}

/* Accuracy and loss of a model, picture by picture. */
static void measure(double *accuracy, double *loss, const bang_vit_model *model,
                    const bang_images *images)
{
    bang_error err = {0};
    bang_vit_worker_f32 worker;
    float pixels[EDGE * EDGE];
    assert_int_equal(
        bang_vit_worker_init_f32(&worker, &model->vit.config, 1, BANG_VIT_PREDICT, &err), 0);
    *accuracy = *loss = 0;
    for (size_t i = 0; i < images->count; i++) {
        for (size_t p = 0; p < EDGE * EDGE; p++)
            pixels[p] =
                ((float)((uint8_t *)images->memory.inputs.data)[i * EDGE * EDGE + p] / 255 - 0.5F) /
                0.5F;
        bang_vit_forward_f32(&worker, model->vit.parameters, pixels, 1);
        size_t most = 0, label = (size_t)images->labels[i];
        double sum = 0;
        for (size_t c = 0; c < CLASSES; c++) {
            most = worker.logits[c] > worker.logits[most] ? c : most;
            sum += exp((double)worker.logits[c]);
        }
        *accuracy += (most == label) / (double)images->count;
        *loss -= log(exp((double)worker.logits[label]) / sum) / (double)images->count;
    }
    bang_vit_worker_release_f32(&worker);
}

static void test_evaluation_and_best(void **state)
{
    (void)state;
    bang_images images, validation;
    bang_vit_model best, last, until;
    bang_tune_options o = small_options();
    bang_tune_result result;
    seen s;
    make_images(&images, PICTURES, 1, 0);
    make_images(&validation, 31, 9, 0);
    o.train.rate = 0.01;
    o.train.steps = 40;
    o.evaluate_every = 3;
    for (int head = 0; head < 2; head++) {
        o.only_head = head;
        o.keep_best = 1;
        make_model(&best);
        train(&best, &images, &validation, o, &s, &result);
        size_t first = 0, evaluations = 0;
        for (size_t i = 0; i < 40; i++) {
            assert_int_equal(s.evaluated[i], (i + 1) % 3 == 0 || i == 39);
            int better = s.evaluated[i] && (evaluations == 0 || s.accuracy[i] > s.accuracy[first]);
            assert_int_equal(s.best[i], better);
            first = better ? i : first;
            evaluations += (size_t)s.evaluated[i];
        }
        assert_true(first > 2 && first < 39); /* or nothing is tested */
        assert_int_equal(result.best_step, first + 1);
        assert_true(result.accuracy == s.accuracy[first]);
        double accuracy, loss;
        measure(&accuracy, &loss, &best, &validation);
        assert_true(fabs(accuracy - result.accuracy) < 1e-9);
        assert_true(fabs(loss - result.validation_loss) < 1e-5);
        /* these are the weights of that step */
        bang_tune_options shorter = o;
        shorter.train.steps = first + 1; /* the rate is constant */
        shorter.keep_best = 0;
        make_model(&until);
        train(&until, &images, &validation, shorter, &s, &result);
        assert_true(distance(&best, &until) == 0);
        /* without keeping the best: the last */
        o.keep_best = 0;
        make_model(&last);
        train(&last, &images, &validation, o, &s, &result);
        assert_int_equal(result.best_step, 40);
        assert_true(result.accuracy == s.accuracy[39]);
        assert_true(distance(&best, &last) > 0);
        bang_vit_model_release(&best);
        bang_vit_model_release(&last);
        bang_vit_model_release(&until);
    }
    o.train.steps = 0;
    o.only_head = 0;
    make_model(&best);
    make_model(&last);
    train(&best, &images, &validation, o, &s, &result);
    double accuracy, loss;
    measure(&accuracy, &loss, &last, &validation);
    assert_true(distance(&best, &last) == 0 && fabs(accuracy - result.accuracy) < 1e-9);
    bang_vit_model_release(&best);
    bang_vit_model_release(&last);
    bang_images_release(&images);
    bang_images_release(&validation);
}

/* Without a step, batches of one epoch are those of the next, unless pictures change. */
static void test_changes_by_epoch(void **state)
{
    (void)state;
    bang_images images;
    bang_vit_model model;
    bang_tune_options o = small_options();
    bang_tune_result result;
    seen s[2];
    make_images(&images, PICTURES, 1, 0);
    o.train.in_order = 1;
    o.train.rate = 0;
    for (int head = 0; head < 2; head++) {
        o.only_head = head;
        for (int flip = 0; flip < 2; flip++) {
            o.feed.transform.flip = flip;
            make_model(&model);
            train(&model, &images, NULL, o, &s[flip], &result);
            bang_vit_model_release(&model);
            for (size_t i = 0; i < 3; i++) /* of whole batches */
                assert_int_equal(s[flip].loss[i] == s[flip].loss[i + 4], !flip);
        }
        assert_true(s[0].loss[0] != s[1].loss[0]);
        o.feed.seed++;
    }
    bang_images_release(&images);
}

/* A training set without some pictures of the one in memory, by hand. */
static void test_bad_pictures(void **state)
{
    bang_images memory, files, validation;
    bang_vit_model model, other;
    bang_tune_options o = small_options();
    bang_tune_result result;
    bang_error err = {0};
    seen s;
    make_images(&memory, PICTURES, 1, 0);
    write_images(&files, &memory, *state);
    o.train.in_order = 1;
    make_model(&model);
    train(&model, &files, NULL, o, &s, &result);
    assert_int_equal(result.bad, 0);
    train_quietly(&other, &memory, o);
    assert_true(distance(&model, &other) == 0); /* files or memory */
    bang_vit_model_release(&model);
    bang_vit_model_release(&other);

    assert_int_equal(bang_file_put(files.paths[3], "no picture", 10, &err), 0);
    assert_int_equal(bang_file_put(files.paths[7], "", 0, &err), 0);
    for (int i = 24; i < PICTURES; i++) /* all of a batch */
        assert_int_equal(remove(files.paths[i]), 0);
    make_model(&model);
    assert_int_equal(bang_tune_vit(&model, &files, NULL, &o, &result, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "3.png"));
    bang_vit_model_release(&model);
    o.feed.skip_bad = 1;
    make_images(&validation, 9, 2, 0);
    for (int head = 0; head < 2; head++) {
        o.only_head = head;
        make_model(&model);
        train(&model, &files, &files, o, &s, &result);
        assert_int_equal(result.bad, 4);
        assert_int_equal(result.validation_bad, 4);
        assert_int_equal(s.bad, 8);
        for (size_t i = 0; i < STEPS; i++)
            assert_int_equal(s.images[i], i % 4 == 0 ? 6 : i % 4 == 3 ? 0 : 8);
        assert_true(s.loss[3] == 0 && s.norm[3] == 0);
        bang_vit_model_release(&model);
    }
    bang_images_release(&memory);
    bang_images_release(&files);
    bang_images_release(&validation);
}

static void test_refuses(void **state)
{
    (void)state;
    bang_images images, validation;
    bang_vit_model model;
    bang_tune_options o = small_options();
    bang_error err = {0};
    make_images(&images, PICTURES, 1, 0);
    make_images(&validation, 5, 1, 0);
    make_model(&model);
    images.labels[4] = CLASSES;
    validation.labels[2] = -1;
    o.train.rate = -1;
    assert_int_equal(bang_tune_vit(&model, &images, &validation, &o, NULL, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "learning rate"));
    assert_non_null(strstr(err.message, "training: picture 4 has label 3"));
    assert_non_null(strstr(err.message, "validation: picture 2 has no label"));
    images.labels[4] = 0;
    o.train.rate = 1e-3;
    o.keep_best = 1;
    assert_int_equal(bang_tune_vit(&model, &images, NULL, &o, NULL, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "keep best"));
    o.keep_best = 0;
    o.train.rate = 1e30;
    o.train.optimizer = BANG_SGD;
    assert_int_equal(bang_tune_vit(&model, &images, NULL, &o, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "not finite"));
    bang_vit_model_release(&model);
    bang_images_release(&images);
    bang_images_release(&validation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_only_head),
        cmocka_unit_test(test_pieces_and_threads),
        cmocka_unit_test(test_kept_features),
        cmocka_unit_test(test_evaluation_and_best),
        cmocka_unit_test(test_changes_by_epoch),
        cmocka_unit_test_setup_teardown(test_bad_pictures, make_folder, drop_folder),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
