/* Networks over a set of pictures: the same numbers as one picture at a time, whatever the
 * threads, batches and pieces; several networks; pictures that cannot be read. */
#include "testing.h"

#include <unistd.h>

#include "bang/base/file.h"
#include "bang/store/image.h"
#include "bang/store/png.h"
#include "bang/train/predict.h"

enum { PICTURES = 13, CLASSES = 3 };

/* PICTURES pictures of many sizes in CLASSES folders. */
static void make_pictures(const char *folder)
{
    bang_error err = {0};
    for (unsigned n = 0; n < PICTURES; n++) {
        char name[64], inside[64];
        size_t width = 5 + 7 * (n % 4), height = 8 + 5 * (n % 3);
        uint8_t pixels[26 * 18 * 3];
        for (unsigned i = 0; i < width * height * 3; i++)
            pixels[i] = (uint8_t)(i * (n + 3) * 2654435761u >> 24);
        snprintf(name, sizeof name, "class-%u", n % CLASSES);
        assert_int_equal(bang_folder_create(in_folder(folder, name), &err), 0);
        snprintf(inside, sizeof inside, "class-%u/%02u.png", n % CLASSES, n);
        assert_int_equal(bang_png_write(in_folder(folder, inside), pixels, width, height, 3, &err),
                         0);
    }
}

static void make_model(bang_vit_model *model, size_t image, size_t classes, uint64_t seed)
{
    bang_error err = {0};
    bang_vit_config config = {.image = image,
                              .patch = 4,
                              .channels = 3,
                              .width = 16,
                              .depth = 2,
                              .heads = 2,
                              .hidden = 32,
                              .classes = classes,
                              .epsilon = 1e-6,
                              .patch_bias = 1};
    assert_int_equal(bang_vit_model_make(model, &config, seed, &err), 0);
    /* a head of zeros says nothing */
    for (size_t i = model->vit.map.head_weight; i < model->vit.map.count; i++)
        model->vit.parameters[i] = (float)((i * 2654435761u >> 20 & 255)) / 256 - 0.5F;
    for (int i = 0; i < 3; i++) {
        model->mean[i] = 0.4F + 0.1F * (float)i;
        model->std[i] = 0.5F - 0.1F * (float)i;
    }
}

/* What a model says of one picture, computed without feed and predictor. */
static void one_by_one(float *logits, float *features, const bang_vit_model *model,
                       const char *path)
{
    bang_error err = {0};
    bang_array picture;
    bang_transform how = BANG_TRANSFORM_INIT;
    bang_vit_worker_f32 worker;
    size_t side = model->vit.config.image;
    uint8_t small[32 * 32 * 3];
    float pixels[3 * 32 * 32];
    how.size = side;
    assert_int_equal(bang_image_read(&picture, path, &err), 0);
    assert_int_equal(bang_transform_apply(small, &picture, &how, NULL, &err), 0);
    bang_array_release(&picture);
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < side * side; i++)
            pixels[c * side * side + i] =
                ((float)small[i * 3 + c] / 255 - model->mean[c]) / model->std[c];
    assert_int_equal(
        bang_vit_worker_init_f32(&worker, &model->vit.config, 1, BANG_VIT_PREDICT, &err), 0);
    bang_vit_forward_f32(&worker, model->vit.parameters, pixels, 1);
    memcpy(logits, worker.logits, model->vit.config.classes * sizeof *logits);
    memcpy(features, worker.features, bang_vit_features(&model->vit.config) * sizeof *features);
    bang_vit_worker_release_f32(&worker);
}

typedef struct fixture {
    bang_images set;
    bang_vit_model models[3];
    float logits[3][PICTURES][8], features[3][PICTURES][16];
} fixture;

static const size_t classes_of[3] = {CLASSES, 5, 7};

static void open_fixture(fixture *f, const char *folder)
{
    bang_error err = {0};
    make_pictures(folder);
    assert_int_equal(bang_images_open(&f->set, folder, &err), 0);
    assert_int_equal(f->set.count, PICTURES);
    for (unsigned m = 0; m < 3; m++) {
        make_model(&f->models[m], m == 1 ? 16 : 12, classes_of[m], m + 1);
        for (size_t i = 0; i < PICTURES; i++)
            one_by_one(f->logits[m][i], f->features[m][i], &f->models[m], f->set.paths[i]);
    }
}

static void close_fixture(fixture *f)
{
    for (int m = 0; m < 3; m++)
        bang_vit_model_release(&f->models[m]);
    bang_images_release(&f->set);
}

static void check_close(const float *some, const float *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_float_equal(some[i], expected[i], 2e-5);
}

/* One pass: every picture but those of skip, in order, with its outputs and label. */
static void check_pass(bang_predictor *predictor, const fixture *f, size_t models, int features,
                       size_t skip)
{
    bang_error err = {0};
    bang_predicted some;
    size_t next = 0;
    int rc;
    while ((rc = bang_predictor_next(&some, predictor, &err)) > 0) {
        assert_true(some.count > 0);
        for (size_t i = 0; i < some.count; i++, next++) {
            next += next == skip;
            assert_int_equal(some.index[i], next);
            assert_int_equal(some.labels[i], f->set.labels[next]);
            for (size_t m = 0; m < models; m++)
                if (features)
                    check_close(some.outputs[m] + i * 16, f->features[m][next], 16);
                else
                    check_close(some.outputs[m] + i * classes_of[m], f->logits[m][next],
                                classes_of[m]);
        }
    }
    assert_int_equal(rc, 0);
    next += next == skip;
    assert_int_equal(next, PICTURES);
}

static void test_as_one_by_one(void **state)
{
    fixture f;
    bang_error err = {0};
    open_fixture(&f, *state);
    const bang_vit_model *models[3] = {&f.models[0], &f.models[1], &f.models[2]};
    static const struct {
        int threads, features;
        size_t models, batch, piece;
    } cases[] = {{1, 0, 1, 0, 0}, {1, 0, 3, 4, 3}, {3, 0, 3, 5, 2},
                 {2, 0, 2, 1, 0}, {4, 1, 3, 6, 0}, {2, 0, 3, 100, 100}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
        bang_predictor *predictor;
        options.threads = options.feed.threads = cases[k].threads;
        options.batch = cases[k].batch;
        options.piece = cases[k].piece;
        options.features = cases[k].features;
        assert_int_equal(
            bang_predictor_open(&predictor, models, cases[k].models, &f.set, &options, &err), 0);
        assert_true(bang_predictor_bytes(predictor) > 0);
        check_pass(predictor, &f, cases[k].models, cases[k].features, SIZE_MAX);
        check_pass(predictor, &f, cases[k].models, cases[k].features, SIZE_MAX); /* again */
        assert_int_equal(bang_predictor_bad_count(predictor), 0);
        bang_predictor_close(predictor);
    }
    close_fixture(&f);
}

/* All bits of a pass, for comparison. */
static void collect(float *out, const fixture *f, int threads, size_t batch, size_t piece)
{
    bang_error err = {0};
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    const bang_vit_model *models[1] = {&f->models[1]};
    bang_predictor *predictor;
    bang_predicted some;
    options.threads = options.feed.threads = threads;
    options.batch = batch;
    options.piece = piece;
    assert_int_equal(bang_predictor_open(&predictor, models, 1, &f->set, &options, &err), 0);
    while (bang_predictor_next(&some, predictor, &err) > 0)
        memcpy(out + some.index[0] * classes_of[1], some.outputs[0],
               some.count * classes_of[1] * sizeof *out);
    bang_predictor_close(predictor);
}

static void test_same_bits_on_any_number_of_threads(void **state)
{
    fixture f;
    float first[PICTURES * 5], other[PICTURES * 5];
    open_fixture(&f, *state);
    collect(first, &f, 1, 13, 1);
    collect(other, &f, 3, 4, 3);
    assert_memory_equal(first, other, sizeof first);
    collect(other, &f, 2, 0, 0);
    assert_memory_equal(first, other, sizeof first);
    close_fixture(&f);
}

static void test_pictures_that_cannot_be_read(void **state)
{
    fixture f;
    bang_error err = {0};
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    bang_predictor *predictor;
    bang_predicted some;
    open_fixture(&f, *state);
    const bang_vit_model *models[2] = {&f.models[0], &f.models[1]};
    assert_int_equal(bang_file_put(f.set.paths[6], "broken", 6, &err), 0);
    options.threads = 2;
    options.batch = 1; /* a batch without any picture is passed over */
    options.feed.skip_bad = 1;
    assert_int_equal(bang_predictor_open(&predictor, models, 2, &f.set, &options, &err), 0);
    check_pass(predictor, &f, 2, 0, 6);
    check_pass(predictor, &f, 2, 0, 6);
    assert_int_equal(bang_predictor_bad_count(predictor), 1);
    assert_non_null(strstr(bang_predictor_bad(predictor, 0), f.set.paths[6]));
    bang_predictor_close(predictor);

    options.feed.skip_bad = 0;
    options.batch = 4;
    assert_int_equal(bang_predictor_open(&predictor, models, 2, &f.set, &options, &err), 0);
    int rc;
    while ((rc = bang_predictor_next(&some, predictor, &err)) > 0)
        assert_true(some.index[some.count - 1] < 6);
    assert_true(rc < 0);
    assert_non_null(strstr(err.message, f.set.paths[6]));
    bang_predictor_close(predictor);
    close_fixture(&f);
}

static void test_changed_parameters_count(void **state)
{
    fixture f;
    bang_error err = {0};
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    bang_predictor *predictor;
    bang_predicted some;
    open_fixture(&f, *state);
    const bang_vit_model *models[1] = {&f.models[0]};
    options.feed.cache_bytes = 1 << 20;
    assert_int_equal(bang_predictor_open(&predictor, models, 1, &f.set, &options, &err), 0);
    check_pass(predictor, &f, 1, 0, SIZE_MAX);
    bang_vit *vit = &f.models[0].vit;
    for (size_t i = vit->map.head_weight; i < vit->map.count; i++)
        vit->parameters[i] = i < vit->map.head_bias ? 0 : 7;
    while (bang_predictor_next(&some, predictor, &err) > 0)
        for (size_t i = 0; i < some.count * CLASSES; i++)
            assert_float_equal(some.outputs[0][i], 7, 0);
    bang_predictor_close(predictor);
    close_fixture(&f);
}

static void test_refused(void **state)
{
    fixture f;
    bang_error err = {0};
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    bang_predictor *predictor;
    bang_vit_model headless;
    open_fixture(&f, *state);
    make_model(&headless, 12, 0, 1);
    const bang_vit_model *models[2] = {&f.models[0], &headless};
    options.feed.transform.flip = 1;
    assert_int_equal(bang_predictor_open(&predictor, models, 2, &f.set, &options, &err),
                     BANG_EUSAGE);
    assert_null(predictor);
    assert_non_null(strstr(err.message, "model 2: has no head"));
    assert_non_null(strstr(err.message, "the transform is random"));
    options.feed.transform.flip = 0;
    options.features = 1;
    assert_int_equal(bang_predictor_open(&predictor, models, 2, &f.set, &options, &err), 0);
    bang_predictor_close(predictor);
    assert_int_equal(bang_predictor_open(&predictor, models, 0, &f.set, &options, &err),
                     BANG_EUSAGE);
    bang_predicted some;
    assert_int_equal(bang_predictor_next(&some, predictor, &err), BANG_EUSAGE);
    bang_predictor_close(NULL);
    bang_vit_model_release(&headless);
    close_fixture(&f);
}

static void test_cancelled(void **state)
{
    fixture f;
    bang_error err = {0};
    bang_cancel cancel = {0};
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    bang_predictor *predictor;
    bang_predicted some;
    open_fixture(&f, *state);
    const bang_vit_model *models[1] = {&f.models[0]};
    options.batch = 2;
    options.feed.cancel = &cancel;
    assert_int_equal(bang_predictor_open(&predictor, models, 1, &f.set, &options, &err), 0);
    assert_int_equal(bang_predictor_next(&some, predictor, &err), 1);
    atomic_store(&cancel.raised, 1);
    assert_int_equal(bang_predictor_next(&some, predictor, &err), BANG_ECANCELLED);
    bang_predictor_close(predictor);
    close_fixture(&f);
}

typedef struct steps {
    uint64_t done[64];
    size_t count;
} steps;

static void count_step(void *context, uint64_t done, uint64_t total)
{
    steps *s = context;
    assert_int_equal(total, PICTURES);
    assert_true(s->count < 64);
    s->done[s->count++] = done;
}

/* By pieces, not by batches; two models have done half of what each has. */
static void test_progress(void **state)
{
    fixture f;
    bang_error err = {0};
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    bang_predictor *predictor;
    steps seen = {0};
    bang_progress progress = {count_step, &seen};
    open_fixture(&f, *state);
    const bang_vit_model *models[2] = {&f.models[0], &f.models[1]};
    options.batch = PICTURES;
    options.piece = 2;
    options.threads = 1;
    options.progress = &progress;
    assert_int_equal(bang_predictor_open(&predictor, models, 2, &f.set, &options, &err), 0);
    for (int pass = 0; pass < 2; pass++) {
        seen.count = 0;
        check_pass(predictor, &f, 2, 0, SIZE_MAX);
        assert_int_equal(seen.count, 2 * ((PICTURES + 1) / 2));
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(seen.done[i], i + 1);
        assert_int_equal(seen.done[seen.count - 1], PICTURES);
    }
    bang_predictor_close(predictor);
    close_fixture(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_as_one_by_one),
        IN_FOLDER(test_same_bits_on_any_number_of_threads),
        IN_FOLDER(test_pictures_that_cannot_be_read),
        IN_FOLDER(test_changed_parameters_count),
        IN_FOLDER(test_refused),
        IN_FOLDER(test_cancelled),
        IN_FOLDER(test_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
