/* Training of vision transformers, beyond its steps: features that are kept, validation and
 * the best weights, pictures that are broken, what is refused. */
#include "tune_cases.h"

#include "bang/base/file.h"

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
            int better = s.evaluated[i] && (evaluations == 0 || s.accuracy[i] > s.accuracy[first] ||
                                            (s.accuracy[i] == s.accuracy[first] &&
                                             s.validation_loss[i] < s.validation_loss[first]));
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
    make_model(&other);
    train(&other, &memory, NULL, o, &s, &result);
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
        for (size_t i = 0; i < s.count; i++)
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
        cmocka_unit_test(test_kept_features),
        cmocka_unit_test(test_evaluation_and_best),
        cmocka_unit_test_setup_teardown(test_bad_pictures, make_folder, drop_folder),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
