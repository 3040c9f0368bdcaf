/* Batches that threads prepare: what comes, in which order, and what happens with
 * pictures that cannot be read. */
#include "image_cases.h"

#include "bang/base/file.h"
#include "bang/data/feed.h"
#include "bang/store/image.h"
#include "train/tune.h"

enum { COUNT = 12, SIZE = 16, SAMPLE = SIZE * SIZE * 3 };

/* COUNT pictures of different sizes in three classes. */
static bang_images make_set(const char *folder)
{
    bang_images set;
    bang_error err = {0};
    char name[64];
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "set/class%u", i / 4);
        assert_int_equal(bang_folder_create(in_folder(folder, name), NULL), 0);
        snprintf(name, sizeof name, "set/class%u/%02u.png", i / 4, i);
        write_picture(in_folder(folder, name), 20 + 3 * i, 50 - 2 * i, i % 5 == 4 ? 1 : 3, i);
    }
    if (bang_images_open(&set, in_folder(folder, "set"), &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(set.count, COUNT);
    return set;
}

static bang_feed_options make_options(void)
{
    bang_feed_options options = {.transform = BANG_TRANSFORM_INIT, .seed = 3, .threads = 2};
    options.transform.size = SIZE;
    return options;
}

static bang_feed *open_feed(const bang_images *set, const bang_feed_options *options)
{
    bang_feed *feed;
    bang_error err = {0};
    if (bang_feed_open(&feed, set, options, &err) < 0)
        fail_msg("%s", err.message);
    return feed;
}

static void ask(bang_feed *feed, const uint32_t *index, size_t count, uint64_t draw)
{
    bang_error err = {0};
    if (bang_feed_ask(feed, index, count, draw, &err) < 0)
        fail_msg("%s", err.message);
}

static bang_batch take(bang_feed *feed)
{
    bang_batch batch;
    bang_error err = {0};
    if (bang_feed_take(&batch, feed, &err) < 0)
        fail_msg("%s", err.message);
    return batch;
}

/* What the transform makes of a picture by itself. */
static void expect_sample(uint8_t *out, const bang_images *set, uint32_t index,
                          const bang_transform *t)
{
    bang_array picture;
    assert_int_equal(bang_image_read(&picture, set->paths[index], NULL), 0);
    assert_int_equal(bang_transform_apply(out, &picture, t, NULL, NULL), 0);
    bang_array_release(&picture);
}

static void test_order(void **state)
{
    bang_images set = make_set(*state);
    bang_feed_options options = make_options();
    bang_feed *feed = open_feed(&set, &options);
    static const uint32_t first[] = {11, 0, 5, 5, 4}, second[] = {9}, third[] = {0};
    ask(feed, first, 5, 0);
    ask(feed, second, 1, 0);
    ask(feed, third, 0, 0); /* nothing may be asked for, too */
    bang_batch batch = take(feed);
    uint8_t expected[SAMPLE];
    assert_int_equal(batch.count, 5);
    assert_int_equal(batch.dtype, BANG_U8);
    for (size_t i = 0; i < 5; i++) {
        expect_sample(expected, &set, first[i], &options.transform);
        assert_memory_equal((const uint8_t *)batch.pixels + i * SAMPLE, expected, SAMPLE);
        assert_int_equal(batch.index[i], first[i]);
        assert_int_equal(batch.labels[i], first[i] / 4);
    }
    batch = take(feed);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.labels[0], 2);
    assert_int_equal(take(feed).count, 0);
    assert_int_equal(bang_feed_bad_count(feed), 0);
    bang_feed_close(feed);
    bang_images_release(&set);
}

/* All samples of some epochs, in one block that the caller frees. */
static uint8_t *run_epochs(const bang_images *set, const bang_feed_options *options)
{
    enum { EPOCHS = 3, BATCH = 5, AHEAD = 3 };
    bang_feed *feed = open_feed(set, options);
    uint8_t *all = malloc((size_t)EPOCHS * COUNT * SAMPLE);
    size_t asked = 0, taken = 0, total = (size_t)EPOCHS * COUNT, got = 0;
    while (got < total) {
        while (asked < total && taken < AHEAD) {
            uint32_t index[BATCH];
            size_t count = 0, epoch = asked / COUNT;
            while (count < BATCH && asked < total && asked / COUNT == epoch)
                index[count++] = (uint32_t)(asked++ * 7 % COUNT);
            ask(feed, index, count, epoch);
            taken++;
        }
        bang_batch batch = take(feed);
        memcpy(all + got * SAMPLE, batch.pixels, batch.count * SAMPLE);
        got += batch.count;
        taken--;
    }
    bang_feed_close(feed);
    return all;
}

/* The same bytes, whatever the threads and the cache. */
static void test_threads(void **state)
{
    bang_images set = make_set(*state);
    static const char *const changes[] = {NULL, "flip,rotate,color", "flip,rotate,color,crop"};
    for (size_t c = 0; c < 3; c++) {
        bang_feed_options options = make_options();
        if (changes[c])
            assert_int_equal(bang_transform_augment(&options.transform, changes[c], NULL), 0);
        options.threads = 1;
        uint8_t *one = run_epochs(&set, &options);
        static const size_t caches[] = {0, 5 * SAMPLE, 1 << 20};
        for (size_t k = 0; k < 3; k++) {
            options.threads = 4;
            options.cache_bytes = caches[k];
            uint8_t *four = run_epochs(&set, &options);
            assert_memory_equal(one, four, 3 * COUNT * SAMPLE);
            free(four);
        }
        /* A new epoch is another draw, and so is another seed. */
        int same = memcmp(one, one + COUNT * SAMPLE, COUNT * SAMPLE) == 0;
        assert_int_equal(same, changes[c] == NULL);
        options.seed = 4;
        uint8_t *other = run_epochs(&set, &options);
        same = memcmp(one, other, 3 * COUNT * SAMPLE) == 0;
        assert_int_equal(same, changes[c] == NULL);
        free(other);
        free(one);
    }
    bang_images_release(&set);
}

/* A sample's changes are its own: not those of its place in a batch, and not those of
 * another sample, be it the same picture. */
static void test_streams(void **state)
{
    bang_images set = make_set(*state);
    bang_feed_options options = make_options();
    static const uint32_t some[] = {3, 4, 5}, turned[] = {5, 3};
    free(set.paths[4]);
    set.paths[4] = strdup(set.paths[3]);
    assert_int_equal(bang_transform_augment(&options.transform, "flip,rotate,color,crop", NULL), 0);
    bang_feed *feed = open_feed(&set, &options);
    ask(feed, some, 3, 8);
    ask(feed, turned, 2, 8);
    uint8_t first[3 * SAMPLE];
    memcpy(first, take(feed).pixels, sizeof first);
    const uint8_t *second = take(feed).pixels;
    assert_memory_equal(first, second + SAMPLE, SAMPLE);
    assert_memory_equal(first + 2 * SAMPLE, second, SAMPLE);
    assert_memory_not_equal(first, first + SAMPLE, SAMPLE);
    bang_feed_close(feed);
    bang_images_release(&set);
}

/* What is in the cache is not read again: the files may be gone. */
static void test_cache(void **state)
{
    bang_images set = make_set(*state);
    bang_feed_options options = make_options();
    static const uint32_t all[COUNT] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    options.cache_bytes = COUNT * SAMPLE;
    options.transform.flip = 1;
    options.skip_bad = 1;
    for (int random_crop = 0; random_crop <= 1; random_crop++) {
        options.transform.random_crop = random_crop;
        bang_feed *feed = open_feed(&set, &options);
        ask(feed, all, COUNT, 0);
        assert_int_equal(take(feed).count, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(remove(set.paths[i]), 0);
        ask(feed, all, COUNT, 1);
        assert_int_equal(take(feed).count, random_crop ? 0 : COUNT);
        bang_feed_close(feed);
        bang_images_release(&set);
        set = make_set(*state);
    }
    bang_images_release(&set);
}

static void test_bad(void **state)
{
    bang_images set = make_set(*state);
    bang_feed_options options = make_options();
    static const uint32_t all[] = {0, 1, 2, 3, 4, 1};
    bang_error err = {0};
    bang_batch batch;
    assert_int_equal(bang_file_put(set.paths[1], "no picture", 10, NULL), 0);
    assert_int_equal(remove(set.paths[3]), 0);
    options.skip_bad = 1;
    bang_feed *feed = open_feed(&set, &options);
    for (uint64_t draw = 0; draw < 2; draw++) {
        ask(feed, all, 6, draw);
        batch = take(feed);
        assert_int_equal(batch.count, 3);
        static const uint32_t good[] = {0, 2, 4};
        assert_memory_equal(batch.index, good, sizeof good);
        static const int64_t labels[] = {0, 0, 1};
        assert_memory_equal(batch.labels, labels, sizeof labels);
        uint8_t expected[SAMPLE];
        for (size_t i = 0; i < 3; i++) {
            expect_sample(expected, &set, good[i], &options.transform);
            assert_memory_equal((const uint8_t *)batch.pixels + i * SAMPLE, expected, SAMPLE);
        }
        /* Each is noted once, in the order of the batches. */
        assert_int_equal(bang_feed_bad_count(feed), 2);
        assert_non_null(strstr(bang_feed_bad(feed, 0), set.paths[1]));
        assert_non_null(strstr(bang_feed_bad(feed, 0), "neither JPEG nor PNG"));
        assert_non_null(strstr(bang_feed_bad(feed, 1), set.paths[3]));
        assert_null(bang_feed_bad(feed, 2));
    }
    bang_feed_close(feed);

    options.skip_bad = 0;
    feed = open_feed(&set, &options);
    ask(feed, all, 6, 0);
    assert_int_equal(bang_feed_take(&batch, feed, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, set.paths[1]));
    assert_int_equal(batch.count, 0);
    ask(feed, all + 2, 1, 0); /* and it goes on */
    assert_int_equal(take(feed).count, 1);
    bang_feed_close(feed);
    bang_images_release(&set);
}

static void test_closing(void **state)
{
    bang_images set = make_set(*state);
    bang_feed_options options = make_options();
    uint32_t index[64];
    bang_error err = {0};
    bang_batch batch;
    for (size_t i = 0; i < 64; i++)
        index[i] = (uint32_t)(i % COUNT);
    for (int threads = 1; threads <= 4; threads++) {
        options.threads = threads;
        bang_feed_close(open_feed(&set, &options)); /* without any */
        bang_feed *feed = open_feed(&set, &options);
        int asked = 0;
        while (bang_feed_ask(feed, index, 64, 0, &err) == 0)
            asked++;
        assert_int_equal(err.code, BANG_EUSAGE); /* the queue has an end */
        assert_in_range(asked, 3, 64);
        if (threads % 2)
            take(feed);
        bang_feed_close(feed);
    }
    bang_feed_close(NULL);
    bang_cancel cancel = {0};
    options.cancel = &cancel;
    bang_feed *feed = open_feed(&set, &options);
    assert_int_equal(bang_feed_take(&batch, feed, &err), BANG_EUSAGE); /* nothing was asked for */
    ask(feed, index, 64, 0);
    atomic_store(&cancel.raised, 1);
    assert_int_equal(bang_feed_take(&batch, feed, &err), BANG_ECANCELLED);
    bang_feed_close(feed);
    options.cancel = NULL;
    feed = open_feed(&set, &options);
    index[1] = COUNT;
    assert_int_equal(bang_feed_ask(feed, index, 2, 0, &err), BANG_EUSAGE);
    assert_int_equal(bang_feed_ask(feed, index, 1, (uint64_t)1 << 32, &err), BANG_EUSAGE);
    bang_feed_close(feed);
    bang_images_release(&set);
}

/* A set in memory of this type and shape; data are not owned. */
static bang_images in_memory(bang_dtype dtype, void *data, size_t count, size_t side,
                             size_t channels, int64_t *labels)
{
    bang_images set = {.count = count, .labels = labels, .classes = 10};
    set.memory = (bang_dataset){.count = count, .width = side * side * channels, .classes = 10};
    set.memory.inputs = (bang_array){.dtype = dtype, .rank = channels > 1 ? 4 : 3, .data = data};
    const size_t shape[4] = {count, side, side, channels};
    memcpy(set.memory.inputs.shape, shape, sizeof shape);
    set.memory.inputs.count = count * side * side * channels;
    return set;
}

static void test_memory(void **state)
{
    (void)state;
    int64_t labels[3] = {7, 8, 9};
    static const uint32_t index[] = {2, 0};
    for (size_t channels = 1; channels <= 3; channels += 2) {
        uint8_t *pixels = make_pixels(3 * SIZE, SIZE, channels, 8);
        bang_images set = in_memory(BANG_U8, pixels, 3, SIZE, channels, labels);
        bang_feed_options options = make_options();
        options.transform.channels = channels;
        size_t sample = SIZE * SIZE * channels;
        bang_feed *feed = open_feed(&set, &options);
        ask(feed, index, 2, 0);
        bang_batch batch = take(feed);
        assert_int_equal(batch.count, 2);
        assert_int_equal(batch.labels[0], 9);
        assert_memory_equal(batch.pixels, pixels + 2 * sample, sample);
        assert_memory_equal((const uint8_t *)batch.pixels + sample, pixels, sample);
        bang_feed_close(feed);
        /* Another size, another number of channels: as the transform makes them. */
        options.transform.size = 24;
        options.transform.channels = 4 - channels;
        options.cache_bytes = 1 << 20;
        feed = open_feed(&set, &options);
        bang_array picture = {BANG_U8, 3, {SIZE, SIZE, channels}, sample, pixels};
        uint8_t expected[24 * 24 * 3];
        for (uint64_t draw = 0; draw < 2; draw++) {
            ask(feed, index, 2, draw);
            batch = take(feed);
            bang_transform_apply(expected, &picture, &options.transform, NULL, NULL);
            assert_memory_equal((const uint8_t *)batch.pixels + 24 * 24 * (4 - channels), expected,
                                24 * 24 * (4 - channels));
        }
        bang_feed_close(feed);
        free(pixels);
    }
}

static void test_floats(void **state)
{
    (void)state;
    float values[2 * 4 * 4];
    int64_t labels[2] = {1, 0};
    static const uint32_t index[] = {1};
    for (int i = 0; i < 32; i++)
        values[i] = (float)i / 3;
    bang_images set = in_memory(BANG_F32, values, 2, 4, 1, labels);
    bang_feed_options options = make_options();
    options.transform.size = 4;
    options.transform.channels = 1;
    bang_feed *feed = open_feed(&set, &options);
    ask(feed, index, 1, 0);
    bang_batch batch = take(feed);
    assert_int_equal(batch.dtype, BANG_F32);
    assert_memory_equal(batch.pixels, values + 16, 16 * sizeof *values);
    float out[16];
    bang_batch_pixels(out, &batch, &options.transform, 0, 0, 1, (float[3]){1}, (float[3]){2});
    for (int i = 0; i < 16; i++)
        assert_true(out[i] == (values[16 + i] - 1) / 2);
    bang_feed_close(feed);

    bang_error err = {0};
    options.transform.size = 8;
    assert_int_equal(bang_feed_open(&feed, &set, &options, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "floats of shape (2, 4, 4)"));
    options.transform.size = 4;
    options.transform.flip = 1;
    assert_int_equal(bang_feed_open(&feed, &set, &options, &err), BANG_EUSAGE);
    options.transform.size = 0;
    assert_int_equal(bang_feed_open(&feed, &set, &options, &err), BANG_EUSAGE);
    options.transform.size = 4;
    set.memory.inputs.rank = 2;
    assert_int_equal(bang_feed_open(&feed, &set, &options, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "are no pictures"));
    set.count = 0;
    assert_int_equal(bang_feed_open(&feed, &set, &options, &err), BANG_EUSAGE);
    assert_null(feed);
}

/* As PyTorch: byte / 255, minus the mean, by the deviation, each rounded to float. */
static void test_pixels(void **state)
{
    (void)state;
    enum { SIDE = 5, PLANE = SIDE * SIDE };
    const float mean[3] = {0.48145466F, 0.4578275F, 0.40821073F};
    const float std[3] = {0.26862954F, 0.26130258F, 0.27577711F};
    bang_transform t = BANG_TRANSFORM_INIT;
    t.size = SIDE;
    for (size_t channels = 1; channels <= 3; channels += 2) {
        uint8_t *pixels = make_pixels(2 * SIDE, SIDE, channels, 2);
        bang_batch batch = {.count = 2, .dtype = BANG_U8, .pixels = pixels};
        float plain[2][PLANE * 3], mixed[PLANE * 3];
        t.channels = channels;
        for (size_t n = 0; n < 2; n++) {
            bang_batch_pixels(plain[n], &batch, &t, n, n, 1, mean, std);
            for (size_t c = 0; c < channels; c++)
                for (size_t i = 0; i < PLANE; i++) {
                    volatile float value = pixels[(n * PLANE + i) * channels + c];
                    value = value / 255.0F;
                    value = value - mean[c];
                    value = value / std[c];
                    assert_true(plain[n][c * PLANE + i] == value);
                }
        }
        const float lambda = 0.3F;
        bang_batch_pixels(mixed, &batch, &t, 0, 1, lambda, mean, std);
        for (size_t i = 0; i < PLANE * channels; i++) {
            volatile float a = lambda * plain[0][i], b = (1 - lambda) * plain[1][i];
            assert_true(mixed[i] == a + b);
        }
        bang_batch_pixels(mixed, &batch, &t, 0, 1, 1, mean, std);
        assert_memory_equal(mixed, plain[0], PLANE * channels * sizeof *mixed);
        free(pixels);
    }
}

/* What is kept: all that fits, of what is the same every time. */
static void test_cache_size(void **state)
{
    bang_images set = make_set(*state);
    static const struct {
        size_t bytes, kept;
        int crop;
    } cases[] = {{0, 0, 0},
                 {SAMPLE - 1, 0, 0},
                 {SAMPLE, SAMPLE, 0},
                 {7 * SAMPLE + 3, 7 * SAMPLE, 0},
                 {COUNT * SAMPLE, COUNT * SAMPLE, 0},
                 {SIZE_MAX, COUNT * SAMPLE, 0},
                 {SIZE_MAX, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_feed_options options = make_options();
        options.cache_bytes = cases[i].bytes;
        options.transform.random_crop = cases[i].crop;
        tune run = {.feed = open_feed(&set, &options), .options = {.feed = options}};
        assert_int_equal(bang_feed_cache(run.feed), cases[i].kept);
        assert_int_equal(tune_cache_left(&run), cases[i].bytes - cases[i].kept);
        bang_feed_close(run.feed);
    }
    bang_images_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_threads, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_streams, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_cache, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_bad, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_closing, make_folder, drop_folder),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test_setup_teardown(test_cache_size, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
