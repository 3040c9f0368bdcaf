/* Occlusion of linear networks, where the change is known: what a cell
 * contributes to the outputs is what blackening it takes away. */
#include <math.h>

#include "testing.h"

#include "bang/explain/occlusion.h"

enum { HEIGHT = 4, BREADTH = 6, CHANNELS = 3, ROWS = 2, COLUMNS = 3, CELLS = 6, CLASSES = 3 };
enum { PIXELS = HEIGHT * BREADTH * CHANNELS, IMAGES = 20 };

static size_t cell_of(size_t pixel)
{
    size_t y = pixel / CHANNELS / BREADTH, column = pixel / CHANNELS % BREADTH;
    return y / (HEIGHT / ROWS) * COLUMNS + column / (BREADTH / COLUMNS);
}

static bang_array make_images(bang_dtype dtype, int flat)
{
    bang_error err = {0};
    bang_array a;
    assert_int_equal(
        bang_array_init(&a, dtype, 4, (size_t[]){IMAGES, HEIGHT, BREADTH, CHANNELS}, &err), 0);
    for (size_t i = 0; i < a.count; i++) {
        /* flat: one number per cell, so that columns are equal */
        size_t what = flat ? i / PIXELS * 40 + cell_of(i % PIXELS) : i;
        uint8_t x = (uint8_t)(what * 7919 % 251 + 1);
        if (dtype == BANG_U8)
            ((uint8_t *)a.data)[i] = x;
        else
            ((float *)a.data)[i] = (float)x / 255.0f;
    }
    return a;
}

static bang_mlp linear(uint64_t seed)
{
    bang_error err = {0};
    bang_mlp mlp;
    assert_int_equal(bang_mlp_init(&mlp, 1, (size_t[]){PIXELS, CLASSES}, BANG_RELU, &err), 0);
    bang_mlp_randomise(&mlp, seed, 0);
    return mlp;
}

static double pixel(const bang_array *images, size_t index)
{
    return images->dtype == BANG_U8 ? (double)((const uint8_t *)images->data)[index] / 255
                                    : (double)((const float *)images->data)[index];
}

/* What the covered cells contribute to the label's output; outputs without them. */
static double contribution(double outputs[CLASSES], const bang_mlp *const *models, size_t count,
                           const bang_array *images, size_t image, const uint8_t *covered,
                           int64_t label)
{
    double part[CLASSES] = {0};
    for (size_t c = 0; c < CLASSES; c++) {
        outputs[c] = 0;
        for (size_t m = 0; m < count; m++) {
            outputs[c] += (double)models[m]->bias[0][c] / (double)count;
            for (size_t p = 0; p < PIXELS; p++) {
                double term = pixel(images, image * PIXELS + p) *
                              (double)models[m]->weight[0][p * models[m]->stride[1] + c] /
                              (double)count;
                *(covered && covered[cell_of(p)] ? &part[c] : &outputs[c]) += term;
            }
        }
    }
    return fabs(part[label]);
}

static size_t best(const double outputs[CLASSES])
{
    size_t b = 0;
    for (size_t c = 1; c < CLASSES; c++)
        b = outputs[c] > outputs[b] ? c : b;
    return b;
}

/* All numbers of a result against contributions. */
static void check(const bang_occlusion *o, const bang_mlp *const *models, size_t model_count,
                  const bang_array *images, const int64_t *labels, const bang_occlusion_grid *grid)
{
    assert_int_equal(o->members, model_count > 1 ? model_count + 1 : 1);
    assert_int_equal(o->masks, CELLS + grid->mask_count);
    assert_int_equal(o->classes, CLASSES);
    for (size_t member = 0; member < o->members; member++)
        for (size_t mask = 0; mask <= o->masks; mask++) {
            uint8_t covered[CELLS] = {0};
            if (mask < CELLS)
                covered[mask] = 1;
            else if (mask < o->masks)
                memcpy(covered, grid->masks + (mask - CELLS) * CELLS, CELLS);
            const bang_mlp *const *from = member < model_count ? models + member : models;
            double sum[CLASSES] = {0}, all = 0, right = 0, outputs[CLASSES];
            for (size_t i = 0; i < IMAGES; i++) {
                double change = contribution(outputs, from, member < model_count ? 1 : model_count,
                                             images, i, covered, labels[i]);
                sum[labels[i]] += change;
                all += change / IMAGES;
                right += best(outputs) == (size_t)labels[i] ? 1.0 / IMAGES : 0;
            }
            assert_true(fabs(o->accuracy[member * (o->masks + 1) + mask] - right) < 1e-12);
            if (mask == o->masks)
                continue;
            assert_true(fabs(bang_occlusion_change(o, member, mask) - all) < 1e-5);
            for (size_t c = 0; c < CLASSES; c++) {
                double want = o->images[c] ? sum[c] / (double)o->images[c] : 0;
                double got = o->change[(member * o->masks + mask) * CLASSES + c];
                assert_true(fabs(got - want) < 1e-5 * (1 + want));
            }
        }
}

/* Bytes and floats; columns that are equal and columns that are not. */
static void test_linear_networks(void **state)
{
    (void)state;
    bang_error err = {0};
    const uint8_t masks[3 * CELLS] = {1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
    bang_occlusion_grid grid = {ROWS, COLUMNS, 3, masks};
    int64_t labels[IMAGES];
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = i % 3 ? 2 : 0; /* no image of class 1 */
    for (int kind = 0; kind < 4; kind++)
        for (size_t count = 1; count <= 3; count++) {
            bang_array images = make_images(kind & 1 ? BANG_U8 : BANG_F32, kind & 2);
            bang_mlp mlps[3] = {linear(1), linear(2), linear(3)};
            const bang_mlp *models[3] = {&mlps[0], &mlps[1], &mlps[2]};
            bang_occlusion o;
            assert_int_equal(
                bang_occlusion_run(&o, models, count, &images, labels, &grid, NULL, &err), 0);
            assert_int_equal(o.images[0], 7);
            assert_int_equal(o.images[1], 0);
            assert_int_equal(o.images[2], 13);
            check(&o, models, count, &images, labels, &grid);
            /* a mask of nothing changes nothing; one of all leaves the biases */
            assert_true(bang_occlusion_change(&o, 0, CELLS + 1) == 0);
            assert_true(bang_occlusion_change(&o, 0, CELLS + 2) > 0);
            bang_occlusion_release(&o);
            bang_array_release(&images);
            for (size_t m = 0; m < 3; m++)
                bang_mlp_release(&mlps[m]);
        }
}

/* A grey image has no channels. */
static void test_grey_images(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array images;
    bang_occlusion o;
    bang_mlp mlp;
    const bang_mlp *models[1] = {&mlp};
    const int64_t labels[2] = {1, 1};
    assert_int_equal(bang_array_init(&images, BANG_U8, 3, (size_t[]){2, 2, 2}, &err), 0);
    memcpy(images.data, (uint8_t[]){255, 0, 51, 102, 255, 255, 0, 0}, 8);
    assert_int_equal(bang_mlp_init(&mlp, 1, (size_t[]){4, 2}, BANG_RELU, &err), 0);
    for (size_t i = 0; i < 4; i++) {
        mlp.weight[0][i * 16] = 3;
        mlp.weight[0][i * 16 + 1] = 4; /* a pixel x changes the label's output by 4 x */
    }
    bang_occlusion_grid grid = {2, 2, 0, NULL};
    assert_int_equal(bang_occlusion_run(&o, models, 1, &images, labels, &grid, NULL, &err), 0);
    const double want[4] = {4, 2, 0.4, 0.8};
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(bang_occlusion_change(&o, 0, i) - want[i]) < 1e-6);
    assert_true(o.accuracy[4] == 1);
    double effective = 7.2 * 7.2 / (16 + 4 + 0.16 + 0.64);
    assert_true(fabs(bang_occlusion_effective_cells(&o, 0, 4) - effective) < 1e-5);
    bang_occlusion_release(&o);
    bang_mlp_release(&mlp);
    bang_array_release(&images);
}

/* Parts that matter equally or not at all are counted exactly. */
static void test_counts(void **state)
{
    (void)state;
    const double amounts[6] = {2, 0, 2, 2, 0, 0}, zeros[6] = {0};
    assert_true(fabs(bang_occlusion_effective(amounts, 6) - 3) < 1e-15);
    assert_true(bang_occlusion_effective(zeros, 6) == 0);
    assert_true(bang_occlusion_effective(amounts, 0) == 0);
    /* two members, five cells and one further mask, three classes, the last without images:
     * class 0: {0, 1, 2} and {2, 3}, class 1: {4} and {0, 1, 2, 3} */
    size_t images[3] = {5, 1, 0};
    double change[2 * 6 * 3] = {0};
    static const int used[2][2][6] = {{{1, 1, 1, 0, 0, 1}, {0, 0, 0, 0, 1, 1}},
                                      {{0, 0, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}}};
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 2; c++)
            for (size_t i = 0; i < 6; i++)
                change[(m * 6 + i) * 3 + c] = used[m][c][i] * (m ? 0.7 : 3) * (c ? 2 : 1);
    bang_occlusion o = {.members = 2, .masks = 6, .classes = 3, .images = images, .change = change};
    assert_true(fabs(bang_occlusion_effective_cells(&o, 0, 5) - (3 + 1) / 2.0) < 1e-12);
    assert_true(fabs(bang_occlusion_effective_cells(&o, 1, 5) - (2 + 4) / 2.0) < 1e-12);
    assert_true(fabs(bang_occlusion_shared_cells(&o, 0, 1, 5) - (1 + 0) / 2.0) < 1e-12);
    assert_true(fabs(bang_occlusion_shared_cells(&o, 1, 0, 5) - (1 + 0) / 2.0) < 1e-12);
    assert_true(fabs(bang_occlusion_change(&o, 0, 0) - (3 * 5 + 0) / 6.0) < 1e-12);
    assert_true(fabs(bang_occlusion_change(&o, 0, 4) - (0 + 6) / 6.0) < 1e-12);
}

static void refuse(const bang_array *images, const int64_t *labels, bang_occlusion_grid grid,
                   size_t models, const bang_mlp *second, int code, const char *says)
{
    bang_error err = {0};
    bang_occlusion o;
    bang_mlp first = linear(1);
    const bang_mlp *both[2] = {&first, second};
    assert_int_equal(bang_occlusion_run(&o, both, models, images, labels, &grid, NULL, &err), code);
    if (!strstr(err.message, says))
        fail_msg("%s", err.message);
    bang_occlusion_release(&o); /* does no harm */
    bang_mlp_release(&first);
}

static void test_refused(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array images = make_images(BANG_U8, 1), narrow;
    int64_t labels[IMAGES] = {0};
    const bang_occlusion_grid good = {ROWS, COLUMNS, 0, NULL};
    refuse(&images, labels, good, 0, NULL, BANG_EUSAGE, "no model");
    refuse(&images, labels, (bang_occlusion_grid){3, 3, 0, NULL}, 1, NULL, BANG_EUSAGE, "grid");
    refuse(&images, labels, (bang_occlusion_grid){2, 4, 0, NULL}, 1, NULL, BANG_EUSAGE, "grid");
    refuse(&images, labels, (bang_occlusion_grid){0, 3, 0, NULL}, 1, NULL, BANG_EUSAGE, "grid");
    refuse(&images, labels, (bang_occlusion_grid){8, 3, 0, NULL}, 1, NULL, BANG_EUSAGE, "grid");
    refuse(&images, labels, (bang_occlusion_grid){2, 3, 1, NULL}, 1, NULL, BANG_EUSAGE, "masks");
    bang_mlp other;
    assert_int_equal(bang_mlp_init(&other, 1, (size_t[]){PIXELS, 4}, BANG_RELU, &err), 0);
    refuse(&images, labels, good, 2, &other, BANG_EUSAGE, "outputs");
    bang_mlp_release(&other);
    assert_int_equal(bang_mlp_init(&other, 1, (size_t[]){5, CLASSES}, BANG_RELU, &err), 0);
    refuse(&images, labels, good, 2, &other, BANG_EUSAGE, "model 2");
    bang_mlp_release(&other);
    labels[7] = CLASSES;
    refuse(&images, labels, good, 1, NULL, BANG_EDATA, "image 7");
    labels[7] = -1;
    refuse(&images, labels, good, 1, NULL, BANG_EDATA, "image 7");
    labels[7] = 0;
    assert_int_equal(bang_array_init(&narrow, BANG_U8, 2, (size_t[]){IMAGES, PIXELS}, &err), 0);
    refuse(&narrow, labels, good, 1, NULL, BANG_EDATA, "shape");
    bang_array_release(&narrow);
    assert_int_equal(
        bang_array_init(&narrow, BANG_I16, 4, (size_t[]){IMAGES, HEIGHT, BREADTH, CHANNELS}, &err),
        0);
    refuse(&narrow, labels, good, 1, NULL, BANG_EUSAGE, "I16");
    bang_array_release(&narrow);
    bang_cancel cancel = {1};
    bang_occlusion o;
    bang_mlp first = linear(1);
    const bang_mlp *models[1] = {&first};
    assert_int_equal(bang_occlusion_run(&o, models, 1, &images, labels, &good, &cancel, &err),
                     BANG_ECANCELLED);
    bang_mlp_release(&first);
    bang_array_release(&images);
}

/* A perceptron like any other network. */
static int score_mlp(void *context, float *logits, const bang_array *images, bang_error *err)
{
    bang_columns columns = {0};
    bang_rows rows = {0};
    int rc = bang_columns_init_all(&columns, PIXELS, err);
    if (rc == 0)
        rc = bang_rows_init_dense(&rows, &columns, images, err);
    if (rc == 0)
        rc = bang_mlp_predict(logits, context, &rows, 0, images->shape[0], err);
    bang_rows_release(&rows);
    bang_columns_release(&columns);
    return rc;
}

static int score_badly(void *context, float *logits, const bang_array *images, bang_error *err)
{
    (void)context, (void)images;
    logits[0] = 0;
    return bang_fail(err, BANG_EDATA, "no");
}

static void test_networks(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array images = make_images(BANG_U8, 0);
    bang_mlp mlps[2] = {linear(3), linear(4)};
    const bang_mlp *models[2] = {&mlps[0], &mlps[1]};
    bang_occlusion_network networks[2] = {{CLASSES, score_mlp, &mlps[0]},
                                          {CLASSES, score_mlp, &mlps[1]}};
    bang_occlusion_grid grid = {.rows = ROWS, .columns = COLUMNS};
    bang_occlusion want, got;
    int64_t labels[IMAGES];
    for (int64_t i = 0; i < IMAGES; i++)
        labels[i] = i % CLASSES;
    assert_int_equal(bang_occlusion_run(&want, models, 2, &images, labels, &grid, NULL, &err), 0);
    assert_int_equal(
        bang_occlusion_run_networks(&got, networks, 2, &images, labels, &grid, NULL, &err), 0);
    assert_int_equal(got.members, 3);
    for (size_t i = 0; i < 3 * CELLS * CLASSES; i++)
        assert_true(fabs(got.change[i] - want.change[i]) < 1e-5 && want.change[i] > 1e-4);
    bang_occlusion_release(&want);
    bang_occlusion_release(&got);
    networks[1].classes = 2;
    assert_int_equal(
        bang_occlusion_run_networks(&got, networks, 2, &images, labels, &grid, NULL, &err),
        BANG_EUSAGE);
    networks[1] = (bang_occlusion_network){CLASSES, score_badly, NULL};
    assert_int_equal(
        bang_occlusion_run_networks(&got, networks, 2, &images, labels, &grid, NULL, &err),
        BANG_EDATA);
    assert_int_equal(
        bang_occlusion_run_networks(&got, networks, 0, &images, labels, &grid, NULL, &err),
        BANG_EUSAGE);
    bang_mlp_release(&mlps[0]);
    bang_mlp_release(&mlps[1]);
    bang_array_release(&images);
}

/* Some of the images, then the others, as all at once; one class is in the second part alone. */
static void test_parts(void **state)
{
    (void)state;
    enum { FIRST = IMAGES / 3 };
    bang_error err = {0};
    bang_array images = make_images(BANG_U8, 0), part = images;
    bang_mlp mlps[2] = {linear(3), linear(4)};
    const bang_mlp *models[2] = {&mlps[0], &mlps[1]};
    bang_occlusion_grid grid = {.rows = ROWS, .columns = COLUMNS};
    bang_occlusion want, some, sum = {0};
    int64_t labels[IMAGES];
    size_t numbers = images.count / IMAGES;
    for (int64_t i = 0; i < IMAGES; i++)
        labels[i] = i < FIRST ? i % (CLASSES - 1) : i % CLASSES;
    assert_int_equal(bang_occlusion_run(&want, models, 2, &images, labels, &grid, NULL, &err), 0);
    for (size_t at = 0; at < IMAGES; at += part.shape[0]) {
        part.shape[0] = at ? IMAGES - FIRST : FIRST;
        part.count = part.shape[0] * numbers;
        part.data = (uint8_t *)images.data + at * numbers;
        assert_int_equal(
            bang_occlusion_run(&some, models, 2, &part, labels + at, &grid, NULL, &err), 0);
        assert_int_equal(bang_occlusion_add(&sum, &some, &err), 0);
        bang_occlusion_release(&some);
    }
    assert_memory_equal(sum.images, want.images, CLASSES * sizeof *sum.images);
    assert_memory_equal(sum.accuracy, want.accuracy, 3 * (CELLS + 1) * sizeof *sum.accuracy);
    for (size_t i = 0; i < 3 * CELLS * CLASSES; i++)
        assert_true(fabs(sum.change[i] - want.change[i]) < 1e-5 && want.change[i] > 1e-4);
    want.masks--;
    assert_int_equal(bang_occlusion_add(&sum, &want, &err), BANG_EUSAGE);
    bang_occlusion_release(&want);
    bang_occlusion_release(&sum);
    bang_mlp_release(&mlps[0]);
    bang_mlp_release(&mlps[1]);
    bang_array_release(&images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_networks), cmocka_unit_test(test_grey_images),
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_networks),        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
