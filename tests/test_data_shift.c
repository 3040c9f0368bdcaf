/* Digits under shifts: which digits, that an image depends on its own stream alone, and that
 * each kind does what its name says. */
#include "mnist_small.h"

#include <math.h>
#include <string.h>

#include "bang/data/dataset.h"
#include "bang/store/npy.h"
#include "data/shift.h"

enum { TRAIN = 1200, TEST = 200 };

/* All digits are a ring, 3 pixels wide as strokes go. */
static void ring_mnist(bang_mnist *out)
{
    small_mnist(out, TRAIN, TEST);
    bang_array *files[2] = {&out->train_images, &out->test_images};
    for (int f = 0; f < 2; f++) {
        uint8_t *pixels = files[f]->data;
        for (size_t i = 0; i < files[f]->count; i++) {
            size_t row = i % 784 / 28, column = i % 28;
            double y = (double)row - 13.5, x = (double)column - 13.5;
            double from = fabs(sqrt(y * y + x * x) - 7);
            pixels[i] = from < 1 ? 255 : from < 2 ? (uint8_t)(255 * (2 - from)) : 0;
        }
    }
}

typedef struct made {
    bang_array images, labels;
} made;

static made make(const bang_mnist *mnist, bang_shift_options options)
{
    made out;
    bang_error err = {0};
    if (bang_shift_make(&out.images, &out.labels, mnist, &options, &err) < 0)
        fail_msg("%s", err.message);
    return out;
}

static void release(made *set)
{
    bang_array_release(&set->images);
    bang_array_release(&set->labels);
}

static void test_names(void **state)
{
    (void)state;
    for (int kind = 0; kind < BANG_SHIFT_KINDS; kind++) {
        bang_shift_kind found;
        assert_int_equal(bang_shift_find(&found, bang_shift_names[kind]), 0);
        assert_int_equal(found, kind);
    }
    bang_shift_kind kind = BANG_SHIFT_A;
    bang_shift_split split = BANG_SHIFT_VAL;
    assert_int_equal(bang_shift_find(&kind, "R"), -1);
    assert_int_equal(bang_shift_find_split(&split, "tests"), -1);
    assert_int_equal(kind, BANG_SHIFT_A);
    assert_int_equal(split, BANG_SHIFT_VAL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bang_shift_find_split(&split, bang_shift_split_name(i)), 0);
        assert_int_equal(split, i);
    }
    assert_int_equal(bang_shift_usual_split(BANG_SHIFT_BROAD), BANG_SHIFT_TRAIN);
    assert_int_equal(bang_shift_usual_split(BANG_SHIFT_ID), BANG_SHIFT_TRAIN);
    assert_int_equal(bang_shift_usual_split(BANG_SHIFT_V2), BANG_SHIFT_TEST);
    assert_int_equal(bang_shift_usual_split(BANG_SHIFT_O), BANG_SHIFT_TEST);
}

/* The sizes with all MNIST; of the files only their lengths matter. */
static void test_counts(void **state)
{
    (void)state;
    static const size_t expected[BANG_SHIFT_KINDS][3] = {
        {60000, 0, 1000}, {3000, 1000, 5000}, {0, 0, 10000}, {0, 0, 2500},
        {0, 0, 2500},     {0, 0, 2500},       {0, 0, 2500},
    };
    bang_mnist mnist = {.train_labels.count = 60000, .test_labels.count = 10000};
    for (int kind = 0; kind < BANG_SHIFT_KINDS; kind++)
        for (int split = 0; split < 3; split++)
            assert_int_equal(bang_shift_count(&mnist, kind, split), expected[kind][split]);
    mnist = (bang_mnist){.train_labels.count = 120, .test_labels.count = 30};
    assert_int_equal(bang_shift_count(&mnist, BANG_SHIFT_BROAD, BANG_SHIFT_TRAIN), 120);
    assert_int_equal(bang_shift_count(&mnist, BANG_SHIFT_ID, BANG_SHIFT_TRAIN), 6);
    assert_int_equal(bang_shift_count(&mnist, BANG_SHIFT_ID, BANG_SHIFT_VAL), 2);
    assert_int_equal(bang_shift_count(&mnist, BANG_SHIFT_V2, BANG_SHIFT_TEST), 30);
    assert_int_equal(bang_shift_count(&mnist, BANG_SHIFT_O, BANG_SHIFT_TEST), 5);
}

/* Which digits a set shows: labels that are the low and then the high byte of their place. */
static void test_digits_are_disjoint(void **state)
{
    (void)state;
    enum { ALL = 480 };
    bang_mnist mnist;
    int users[ALL] = {0};
    small_mnist(&mnist, ALL, 80);
    memset(mnist.test_labels.data, 77, 80);
    uint8_t *labels = mnist.train_labels.data;
    for (int kind = 0; kind < BANG_SHIFT_KINDS; kind++)
        for (int split = 0; split < 3; split++) {
            if (bang_shift_count(&mnist, kind, split) == 0)
                continue;
            made set[2];
            for (int part = 0; part < 2; part++) {
                for (int i = 0; i < ALL; i++)
                    labels[i] = (uint8_t)(part ? i >> 8 : i);
                set[part] = make(&mnist, (bang_shift_options){kind, split, 1, 0, 1, NULL, 0});
            }
            const int64_t *low = set[0].labels.data, *high = set[1].labels.data;
            for (size_t i = 0; i < set[0].labels.count; i++) {
                if (kind == BANG_SHIFT_V2)
                    assert_int_equal(low[i], 77);
                else
                    users[low[i] + 256 * high[i]] |= 1 << (3 * kind + split);
            }
            release(&set[0]);
            release(&set[1]);
        }
    for (int i = 0; i < ALL; i++) { /* each digit in one set, and the mixture has two thirds */
        assert_true(users[i] != 0 && (users[i] & (users[i] - 1)) == 0);
        assert_int_equal(users[i] == 1, i < ALL / 3 * 2);
    }
    bang_mnist_release(&mnist);
}

/* Spare digits are those of broad test, whatever kind renders them. */
static void test_spare_digits(void **state)
{
    (void)state;
    bang_mnist mnist;
    small_mnist(&mnist, 1200, 80);
    memset(mnist.test_labels.data, 77, 80);
    for (int i = 0; i < 1200; i++)
        ((uint8_t *)mnist.train_labels.data)[i] = (uint8_t)(i < 880 || i >= 900 ? 99 : i - 880);
    for (int kind = BANG_SHIFT_ID; kind < BANG_SHIFT_KINDS; kind++) {
        made set = make(&mnist, (bang_shift_options){kind, BANG_SHIFT_TEST, 1, 0, 1, NULL, 1});
        assert_int_equal(set.labels.count, 20);
        for (int i = 0; i < 20; i++)
            assert_int_equal(((int64_t *)set.labels.data)[i], i);
        release(&set);
    }
    bang_mnist_release(&mnist);
}

/* 60,000 renderings of 40,000 digits: labels go round, pictures do not repeat. */
static void test_mixture_goes_round(void **state)
{
    (void)state;
    bang_mnist mnist;
    ring_mnist(&mnist);
    const uint8_t *labels = mnist.train_labels.data;
    made set = make(&mnist, (bang_shift_options){.kind = BANG_SHIFT_BROAD, .seed = 2});
    const int64_t *to = set.labels.data;
    const uint8_t *images = set.images.data;
    assert_int_equal(set.labels.count, TRAIN);
    for (size_t i = 0; i < TRAIN; i++)
        assert_int_equal(to[i], labels[i % (TRAIN / 3 * 2)]);
    /* all digits are the same here: pictures differ where their streams do */
    for (size_t i = 1; i < TRAIN; i++)
        assert_memory_not_equal(images, images + i * 784, 784);
    release(&set);
    bang_mnist_release(&mnist);
}

static void test_streams(void **state)
{
    (void)state;
    bang_mnist mnist;
    ring_mnist(&mnist);
    for (int kind = 0; kind < BANG_SHIFT_KINDS; kind++) {
        bang_shift_options options = {.kind = kind, .split = BANG_SHIFT_TEST, .seed = 5};
        size_t most = bang_shift_count(&mnist, kind, BANG_SHIFT_TEST);
        options.threads = 1;
        made one = make(&mnist, options);
        options.threads = 3;
        made three = make(&mnist, options);
        options.count = most / 3 + 1;
        made few = make(&mnist, options);
        assert_int_equal(one.labels.count, most);
        assert_int_equal(few.labels.count, most / 3 + 1);
        assert_memory_equal(one.images.data, three.images.data, most * 784);
        assert_memory_equal(one.labels.data, three.labels.data, most * 8);
        assert_memory_equal(one.images.data, few.images.data, options.count * 784);
        assert_memory_equal(one.labels.data, few.labels.data, options.count * 8);
        options.seed = 6;
        made other = make(&mnist, options);
        assert_memory_not_equal(other.images.data, few.images.data, 784);
        release(&one);
        release(&three);
        release(&few);
        release(&other);
    }
    made train = make(&mnist, (bang_shift_options){.kind = BANG_SHIFT_ID, .count = 3});
    made val = make(&mnist, (bang_shift_options){BANG_SHIFT_ID, BANG_SHIFT_VAL, 0, 3, 0, NULL, 0});
    assert_memory_not_equal(train.images.data, val.images.data, 784);
    release(&train);
    release(&val);
    bang_mnist_release(&mnist);
}

/* Mean brightness, and the share of the variance that neighbours do not explain: what noise
 * leaves of (2 p - left - right)/sqrt 6 on the whole, in units of pixels 0..1. */
typedef struct look {
    double mean, rough;
} look;

static look look_at(const bang_mnist *mnist, bang_shift_kind kind)
{
    look out = {0};
    made set = make(mnist, (bang_shift_options){kind, BANG_SHIFT_TEST, 3, 0, 0, NULL, 0});
    const uint8_t *p = set.images.data;
    size_t inner = 0;
    for (size_t i = 0; i < set.images.count; i++) {
        out.mean += p[i] / 255.0;
        if (i % 28 > 0 && i % 28 < 27) {
            double d = (2.0 * p[i] - p[i - 1] - p[i + 1]) / 255;
            out.rough += d * d / 6;
            inner++;
        }
    }
    out.mean /= (double)set.images.count;
    out.rough = sqrt(out.rough / (double)inner);
    release(&set);
    return out;
}

static void test_styles(void **state)
{
    (void)state;
    bang_mnist mnist;
    ring_mnist(&mnist);
    look at[BANG_SHIFT_KINDS];
    for (int kind = BANG_SHIFT_ID; kind < BANG_SHIFT_KINDS; kind++)
        at[kind] = look_at(&mnist, kind);
    assert_true(at[BANG_SHIFT_S].mean > 0.75);
    assert_true(at[BANG_SHIFT_ID].mean > 0.15 && at[BANG_SHIFT_ID].mean < 0.5);
    assert_true(at[BANG_SHIFT_V2].rough > at[BANG_SHIFT_ID].rough + 0.03);
    assert_true(at[BANG_SHIFT_A].rough > at[BANG_SHIFT_ID].rough + 0.03);
    assert_true(at[BANG_SHIFT_O].rough < at[BANG_SHIFT_A].rough);
    bang_mnist_release(&mnist);
}

/* A digit as it is on plain black: every change can then be set by itself. */
static bang_shift_plan plain(void)
{
    return (bang_shift_plan){.front = 1};
}

static double draw(uint8_t out[784], const uint8_t *digit, bang_shift_plan plan)
{
    bang_random random;
    double sum = 0;
    bang_random_init(&random, 9, BANG_PURPOSE('t', 'e', 's', 't'), 0);
    bang_shift_render(out, digit, &plan, &random);
    for (int i = 0; i < 784; i++)
        sum += out[i];
    return sum / 255;
}

static void test_shapes(void **state)
{
    (void)state;
    bang_mnist mnist;
    uint8_t out[784], other[784];
    ring_mnist(&mnist);
    const uint8_t *ring = mnist.train_images.data;
    bang_shift_plan plan = plain();
    double ink = draw(out, ring, plan);
    assert_memory_equal(out, ring, 784); /* no change is no change */
    plan.thick = 1;
    double thick = draw(out, ring, plan);
    plan.thick = 2;
    assert_true(draw(out, ring, plan) > 1.2 * thick && thick > 1.4 * ink);
    plan = plain();
    plan.thin = 0.8;
    assert_true(draw(out, ring, plan) < 0.8 * ink);
    int darkest = 0;
    for (int i = 0; i < 784; i++)
        darkest = out[i] > darkest ? out[i] : darkest;
    assert_int_equal(darkest, 255);
    uint8_t line[784] = {0}, faint[784] = {0}; /* one pixel wide: a fifth is left of it */
    for (int y = 4; y < 24; y++)
        line[y * 28 + 14] = 240;
    draw(faint, line, plan);
    assert_in_range(faint[12 * 28 + 14], 239, 241);
    plan = plain();
    plan.scale = log(0.5); /* bilinear sampling keeps the amount of ink on the whole */
    assert_true(fabs(draw(out, ring, plan) / ink - 0.25) < 0.03);
    plan = plain();
    plan.blur = 1.5;
    assert_true(fabs(draw(out, ring, plan) / ink - 1) < 0.01);
    plan = plain();
    plan.move_x = 3;
    plan.move_y = -2;
    draw(out, ring, plan);
    for (int y = 0; y < 26; y++)
        for (int x = 3; x < 28; x++)
            assert_int_equal(out[y * 28 + x], ring[(y + 2) * 28 + x - 3]);
    plan = plain();
    plan.elastic = 2;
    draw(out, ring, plan);
    assert_memory_not_equal(out, ring, 784);
    plan = plain();
    plan.inverted = 1;
    draw(out, ring, plan);
    for (int i = 0; i < 784; i++)
        assert_int_equal(out[i], 255 - ring[i]);
    /* a quarter turn: right goes down */
    uint8_t dot[784] = {0};
    dot[13 * 28 + 20] = 200;
    plan = plain();
    plan.rotate = 90;
    draw(other, dot, plan);
    assert_int_equal(other[20 * 28 + 14], 200);
    bang_mnist_release(&mnist);
}

static void test_ground(void **state)
{
    (void)state;
    uint8_t out[784], empty[784] = {0};
    for (int kind = 0; kind < SHIFT_TEXTURES; kind++) {
        bang_shift_plan plan = {.front = 1, .ground = 0.2, .texture = 0.5, .kind = kind};
        int low = 255, high = 0;
        draw(out, empty, plan);
        for (int i = 0; i < 784; i++) {
            low = out[i] < low ? out[i] : low;
            high = out[i] > high ? out[i] : high;
        }
        assert_in_range(low, 51, 70);
        assert_in_range(high, 160, 179);
    }
    bang_shift_plan plan = {.front = 1, .covered = 1, .cover = 0.5, .cover_x = 5, .cover_y = 9};
    draw(out, empty, plan);
    for (int i = 0; i < 784; i++)
        assert_int_equal(out[i],
                         i / 28 >= 9 && i / 28 < 18 && i % 28 >= 5 && i % 28 < 14 ? 128 : 0);
    double square = 0;
    plan = (bang_shift_plan){.ground = 0.5, .noise = 0.1};
    draw(out, empty, plan);
    for (int i = 0; i < 784; i++)
        square += (out[i] / 255.0 - 0.5) * (out[i] / 255.0 - 0.5);
    assert_true(fabs(sqrt(square / 784) - 0.1) < 0.01);
}

/* How often and how strongly: the mixture's table against what is drawn, with five standard
 * errors. */
static void test_chances(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    const bang_shift_recipe *recipe = &bang_shift_recipes[BANG_SHIFT_BROAD];
    double thick = 0, turned = 0, covered = 0, inverted = 0, noisy = 0, textures[3] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        bang_random random;
        bang_shift_plan plan;
        bang_random_init(&random, 11, BANG_PURPOSE('t', 'e', 's', 't'), i);
        bang_shift_draw_plan(&plan, recipe, &random);
        thick += plan.thick > 0;
        turned += plan.rotate != 0;
        covered += plan.covered;
        inverted += plan.inverted;
        noisy += plan.noise > 0;
        textures[plan.kind]++;
        assert_true(fabs(plan.rotate) <= 60 && fabs(plan.move_x) <= 2.8 && plan.scale <= 0.2);
        int moved = plan.rotate != 0;
        assert_true((plan.scale != 0) == moved && (plan.shear != 0) == moved);
        assert_true((plan.move_x != 0) == moved && (plan.move_y != 0) == moved);
        assert_in_range(plan.cover_x, 3, 16);
        assert_in_range(plan.cover_y, 3, 16);
        assert_true(plan.front > 0.3 && plan.front <= 1);
    }
    const double got[] = {thick, turned, covered, inverted, noisy, textures[0], textures[2]};
    const double chance[] = {.3, .7, .2, .5, .5, 1. / 3, 1. / 3};
    for (int k = 0; k < 7; k++)
        assert_true(fabs(got[k] / DRAWS - chance[k]) <
                    5 * sqrt(chance[k] * (1 - chance[k]) / DRAWS));
}

static void refuse(const bang_mnist *mnist, bang_shift_options options, const char *message)
{
    bang_array images, labels;
    bang_error err = {0};
    assert_int_equal(bang_shift_make(&images, &labels, mnist, &options, &err), BANG_EUSAGE);
    assert_string_equal(err.message, message);
    assert_null(images.data);
    assert_null(labels.data);
}

static void test_refusals(void **state)
{
    (void)state;
    bang_mnist mnist;
    small_mnist(&mnist, SMALL_TRAIN, SMALL_TEST);
    refuse(&mnist, (bang_shift_options){.kind = BANG_SHIFT_R},
           "split train: kind r has none: choose test");
    refuse(&mnist, (bang_shift_options){.kind = BANG_SHIFT_BROAD, .split = BANG_SHIFT_VAL},
           "split val: kind broad has none: choose train or test");
    refuse(&mnist, (bang_shift_options){.kind = BANG_SHIFT_ID, .count = 7},
           "count 7: the split train of kind id has 6 images at most");
    refuse(&mnist, (bang_shift_options){.kind = BANG_SHIFT_KINDS},
           "kind 7, split 0: there is none such");
    bang_mnist_release(&mnist);
    small_mnist(&mnist, 20, 5);
    refuse(&mnist, (bang_shift_options){.kind = BANG_SHIFT_ID, .split = BANG_SHIFT_VAL},
           "split val of kind id: MNIST has too few digits for it");
    bang_cancel cancel = {0};
    atomic_store(&cancel.raised, 1);
    bang_shift_options options = {.kind = BANG_SHIFT_BROAD, .cancel = &cancel};
    bang_array images, labels;
    assert_int_equal(bang_shift_make(&images, &labels, &mnist, &options, NULL), BANG_ECANCELLED);
    assert_null(images.data);
    bang_mnist_release(&mnist);
}

/* By name and from a folder: the same pictures. */
static void test_opened(void **state)
{
    bang_error err = {0};
    bang_mnist mnist;
    bang_dataset named, saved;
    size_t count = 0;
    const char *folder = in_folder(*state, "set");
    assert_int_equal(bang_mnist_get(in_folder(*state, "from"), NULL, &err), 0);
    assert_int_equal(bang_mnist_open(&mnist, &err), 0);
    bang_shift_options options = {BANG_SHIFT_ID, BANG_SHIFT_VAL, 4, 2, 0, NULL, 0};
    assert_int_equal(bang_shift_save(&count, folder, &mnist, &options, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(bang_dataset_open(&saved, folder, &err), 0);
    assert_int_equal(bang_dataset_open(&named, "shift:split=val,seed=4,count=2", &err), 0);
    assert_int_equal(named.count, 2);
    assert_int_equal(named.width, 784);
    assert_int_equal(named.classes, 10);
    assert_int_equal(named.inputs.rank, 3);
    assert_memory_equal(named.inputs.data, saved.inputs.data, 2 * 784);
    assert_memory_equal(named.labels.data, saved.labels.data, 2 * 8);
    bang_dataset_release(&named);
    bang_dataset_release(&saved);
    assert_true(exists(in_folder(folder, "preview.png")));
    /* only tested on: that split is meant */
    assert_int_equal(bang_dataset_open(&named, "shift:kind=o", &err), 0);
    assert_int_equal(named.count, 5);
    bang_dataset_release(&named);
    assert_int_equal(bang_dataset_open(&named, "shift:kind=x,split=all,p=1,seed", &err),
                     BANG_EUSAGE);
    assert_string_equal(err.message,
                        "shift: kind=x: must be broad, id, v2, r, a, s or o; split=all: must be "
                        "train, val or test; p: unknown: give kind, split, seed or count; "
                        "\"seed\": write key=value");
    assert_int_equal(bang_dataset_open(&named, "shift:kind=s,split=val", &err), BANG_EUSAGE);
    assert_string_equal(err.message, "shift: split val: kind s has none: choose test");
    bang_mnist_release(&mnist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_digits_are_disjoint),
        cmocka_unit_test(test_spare_digits),
        cmocka_unit_test(test_mixture_goes_round),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_styles),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_ground),
        cmocka_unit_test(test_chances),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test_setup_teardown(test_opened, small_setup, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
