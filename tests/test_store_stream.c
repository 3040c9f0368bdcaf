/* Streams against plain loops: the same bytes with any number of threads, any
 * memory and any way of reading. */
#include "stream_cases.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct seen {
    uint64_t done, total;
};

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct seen *seen = context;
    if (done > seen->done) /* one thread only where this is used */
        *seen = (struct seen){done, total};
}

static void test_write(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        make_scene(&s, *state, seed, seed % 25 == 0);
        size_t metadata[OUTPUTS_MOST] = {0};
        for (size_t o = 0; o < s.outputs; o++)
            metadata[o] = below(&s, 3) * below(&s, seed % 6 == 0 ? 300000 : 200);
        uint64_t shard_size = below(&s, 3) ? 0 : 1 + below(&s, 1000000);
        plan_outputs(&to, &s, shard_size, metadata, ".safetensors");
        add_parts(&to, &s, seed % 3 == 0);
        begin_outputs(&to, &s);
        struct seen seen = {0};
        bang_progress progress = {note_progress, &seen};
        bang_stream stream = BANG_STREAM_INIT;
        stream.threads = (int)(1 + seed % 4);
        stream.plain = seed / 4 % 2 == 1;
        stream.max_memory = seed / 8 % 3 == 0 && seed % 6 ? resident_now() + 24000000
                            : seed / 8 % 3 == 1           ? (uint64_t)1 << 31
                                                          : resident_now() + 100000000;
        if (stream.plain && stream.threads == 1)
            stream.progress = &progress;
        if (seed % 2 == 0)
            forget(&s);
        bang_error err = {0};
        if (write_outputs(&stream, &to, &s, &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.message);
        uint64_t size = 0;
        for (size_t o = 0; o < s.outputs; o++) {
            for (size_t f = 0; f < bang_output_file_count(to.list[o]); f++)
                assert_int_equal(access(bang_output_file_path(to.list[o], f), F_OK), -1);
            if (bang_output_commit(to.list[o], &err) < 0)
                fail_msg("%s", err.message);
            for (size_t f = 0; f < bang_output_file_count(to.list[o]); f++) {
                const char *path = bang_output_file_path(to.list[o], f);
                struct stat status;
                assert_int_equal(stat(path, &status), 0);
                if (!strstr(path, ".json"))
                    size += (uint64_t)status.st_size;
            }
        }
        assert_int_equal(stream.bytes_written, size);
        if (stream.progress && s.outputs == 1)
            assert_int_equal(seen.done, seen.total);
        check_outputs(&to, &s);
        for (size_t o = 0; o < s.outputs; o++)
            for (size_t f = 0; f < bang_output_file_count(to.list[o]); f++)
                assert_int_equal(unlink(bang_output_file_path(to.list[o], f)), 0);
        drop_outputs(&to, &s);
        check_names(*state, (int)s.inputs);
        for (size_t i = 0; i < s.inputs; i++) {
            size_t length;
            char *after = get_bytes(s.in[i].checkpoint->path, &length);
            assert_int_equal(length, s.in[i].size);
            assert_memory_equal(after, s.in[i].bytes, length);
            free(after);
            assert_int_equal(unlink(s.in[i].checkpoint->path), 0);
        }
        drop_scene(&s);
    }
}

/* Headers of very different length on both sides of the first output's. */
static void test_headers(void **state)
{
    static struct scene s;
    static struct outputs to;
    static const size_t lengths[][3] = {
        {200000, 10, 400000}, {10, 200000, 2000000}, {1500000, 3, 3000000}, {400, 401, 399}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        make_simple(&s, &to, *state);
        drop_outputs(&to, &s);
        s.outputs = 3;
        plan_outputs(&to, &s, 0, lengths[i], ".safetensors");
        add_parts(&to, &s, 0);
        begin_outputs(&to, &s);
        bang_stream stream = BANG_STREAM_INIT;
        stream.threads = 2;
        stream.max_memory = 1 << 30;
        bang_error err = {0};
        if (write_outputs(&stream, &to, &s, &err) < 0)
            fail_msg("%s", err.message);
        for (size_t o = 0; o < s.outputs; o++)
            assert_int_equal(bang_output_commit(to.list[o], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

/* What a scan found: sums of floats depend on their order in the last bits. */
struct scan {
    const struct scene *scene;
    float sum;
    uint64_t numbers, hash;
    size_t last_item;
};

struct partial {
    float sum;
    uint32_t count;
    uint64_t first;
};

static float value_at(const unsigned char *byte)
{
    return (float)*byte / 7.0f;
}

static void look(void *context, size_t item, uint64_t first, size_t count, const void *const *in,
                 void *partial)
{
    const struct scan *scan = context;
    struct partial *found = partial;
    size_t step = step_of(scan->scene->dtypes[item]);
    if (found->sum != 0 || found->count != 0 || found->first != 0 || count == 0 ||
        count > BANG_SCAN_BLOCK || first % BANG_SCAN_BLOCK != 0)
        abort();
    found->first = first;
    found->count = (uint32_t)count;
    for (size_t i = 0; i < scan->scene->inputs; i++)
        for (size_t k = 0; in[i] && k < count * step; k++)
            found->sum += value_at((const unsigned char *)in[i] + k);
}

static void fold(void *context, size_t item, const void *partial)
{
    struct scan *scan = context;
    const struct partial *found = partial;
    assert_true(item >= scan->last_item);
    scan->last_item = item;
    scan->sum += found->sum;
    scan->numbers += found->count;
    scan->hash = (scan->hash ^ found->first ^ item << 40) * 0x9e3779b97f4a7c15U;
}

static void plain_scan(struct scan *scan, const struct scene *s)
{
    for (size_t t = 0; t < s->tensors; t++) {
        uint64_t count = numbers_of(s, t);
        size_t step = step_of(s->dtypes[t]);
        for (uint64_t first = 0; first < count; first += BANG_SCAN_BLOCK) {
            size_t block = count - first < BANG_SCAN_BLOCK ? count - first : BANG_SCAN_BLOCK;
            float sum = 0;
            for (size_t i = 0; i < s->inputs; i++)
                for (size_t k = 0; s->in[i].entries[t] && k < block * step; k++)
                    sum += value_at(s->in[i].logical[t] + first * step + k);
            struct partial found = {sum, (uint32_t)block, first};
            fold(scan, t, &found);
        }
    }
}

static void test_scan(void **state)
{
    static struct scene s;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        make_scene(&s, *state, 5000 + seed, seed == 8);
        bang_stream_item items[TENSORS_MOST];
        for (size_t t = 0; t < s.tensors; t++)
            items[t] = (bang_stream_item){.feeds = s.feeds[t], .count = numbers_of(&s, t)};
        struct scan expected = {.scene = &s};
        plain_scan(&expected, &s);
        for (int way = 0; way < 16; way++) {
            struct scan found = {.scene = &s};
            bang_stream stream = BANG_STREAM_INIT;
            bang_error err = {0};
            stream.threads = 1 + way % 4;
            stream.plain = way / 4 % 2;
            stream.max_memory = resident_now() + (way < 8 ? 24000000 : 500000000);
            if (way % 3 == 0)
                forget(&s);
            if (bang_stream_scan(&stream, items, s.tensors, s.inputs, sizeof(struct partial), look,
                                 fold, &found, &err) < 0)
                fail_msg("%s", err.message);
            assert_memory_equal(&found.sum, &expected.sum, sizeof found.sum);
            assert_int_equal(found.numbers, expected.numbers);
            assert_int_equal(found.hash, expected.hash);
        }
        drop_scene(&s);
    }
}

/* A partial much larger than a unit's usual room. */
static void fold_large(void *context, size_t item, const void *partial)
{
    (void)item;
    uint64_t *sum = context;
    const unsigned char *bytes = partial;
    *sum += bytes[0] + bytes[(1 << 20) - 1];
}

static void look_large(void *context, size_t item, uint64_t first, size_t count,
                       const void *const *in, void *partial)
{
    (void)context, (void)item, (void)first, (void)in;
    unsigned char *bytes = partial;
    if (bytes[0] || bytes[(1 << 20) - 1])
        abort();
    bytes[0] = 1;
    bytes[(1 << 20) - 1] = (unsigned char)(count & 1);
}

static void test_large_partial(void **state)
{
    static struct scene s;
    make_scene(&s, *state, 77, 1);
    bang_stream_item items[TENSORS_MOST];
    uint64_t expected = 0, sum = 0;
    for (size_t t = 0; t < s.tensors; t++) {
        uint64_t count = numbers_of(&s, t);
        items[t] = (bang_stream_item){.feeds = s.feeds[t], .count = count};
        expected += (count + BANG_SCAN_BLOCK - 1) / BANG_SCAN_BLOCK + (count & 1);
    }
    bang_stream stream = {.threads = 3, .max_memory = resident_now() + 30000000};
    bang_error err = {0};
    assert_int_equal(bang_stream_scan(&stream, items, s.tensors, s.inputs, 1 << 20, look_large,
                                      fold_large, &sum, &err),
                     0);
    assert_int_equal(sum, expected);
    drop_scene(&s);
}

/* An error that names the need; with that much, there is one unit at a time. */
static void test_too_little_memory(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int plain = 0; plain < 2; plain++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        bang_stream stream = {.threads = 2, .plain = plain, .max_memory = 1000000};
        bang_error err = {0};
        assert_int_equal(write_outputs(&stream, &to, &s, &err), BANG_EUSAGE);
        assert_non_null(strstr(err.message, "1 MB of memory are too few"));
        const char *need = strstr(err.message, "at least ");
        assert_non_null(need);
        stream.max_memory = strtoull(need + strlen("at least "), NULL, 10) * 1000000;
        forget(&s);
        if (write_outputs(&stream, &to, &s, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(bang_output_commit(to.list[0], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

struct cancelling {
    bang_cancel cancel;
    atomic_int left;
    struct made made;
};

static void make_and_cancel(void *context, size_t output, size_t item, uint64_t first, size_t count,
                            const void *const *in, void *out)
{
    struct cancelling *c = context;
    if (atomic_fetch_sub(&c->left, 1) == 0)
        atomic_store(&c->cancel.raised, 1);
    make_block(&c->made, output, item, first, count, in, out);
}

static void test_cancel(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int way = 0; way < 8; way++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        struct cancelling c = {.made = {&s, to.tensor, to.base}};
        atomic_init(&c.left, way % 3);
        bang_stream stream = {.threads = 1 + way / 2, .plain = way % 2, .cancel = &c.cancel};
        stream.max_memory = resident_now() + 10000000;
        bang_error err = {0};
        assert_int_equal(bang_stream_write(&stream, to.parts, to.count, 1, to.list, 1,
                                           make_and_cancel, &c, &err),
                         BANG_ECANCELLED);
        assert_int_equal(err.code, BANG_ECANCELLED);
        drop_outputs(&to, &s);
        check_names(*state, 1);
        /* The same before anything began, and for a scan. */
        struct scan found = {.scene = &s};
        assert_int_equal(bang_stream_scan(&stream, to.parts, to.count, 1, sizeof(struct partial),
                                          look, fold, &found, &err),
                         BANG_ECANCELLED);
        assert_int_equal(found.numbers, 0);
        drop_scene(&s);
    }
}

static void test_input_shrinks(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int plain = 0; plain < 2; plain++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        assert_int_equal(truncate(s.in[0].checkpoint->path, 5000000), 0);
        bang_stream stream = {.threads = 3, .plain = plain, .max_memory = 1 << 30};
        bang_error err = {0};
        assert_int_equal(write_outputs(&stream, &to, &s, &err), BANG_EDATA);
        assert_non_null(strstr(err.message, "became shorter"));
        drop_outputs(&to, &s);
        check_names(*state, 1);
        drop_scene(&s);
    }
}

/* Another file takes the name of an input that is open: its bytes are not ours. */
static void test_input_replaced(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int plain = 0; plain < 2; plain++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        forget(&s);
        char *other = calloc(s.in[0].size, 1);
        put_bytes(in_folder(*state, "other"), other, s.in[0].size);
        free(other);
        assert_int_equal(rename(in_folder(*state, "other"), s.in[0].checkpoint->path), 0);
        bang_stream stream = {.threads = 2, .plain = plain, .max_memory = 1 << 30};
        bang_error err = {0};
        assert_int_equal(write_outputs(&stream, &to, &s, &err), 0);
        assert_int_equal(bang_output_commit(to.list[0], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

/* No room: where the space is reserved, and where it is written. */
static void test_write_fails(void **state)
{
    static struct scene s;
    static struct outputs to;
    struct rlimit before, small;
    bang_error err = {0};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 3000000;
    make_simple(&s, &to, *state);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = bang_output_begin(to.list[0], &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, BANG_EIO);
    assert_non_null(strstr(err.message, "File too large"));
    drop_outputs(&to, &s);
    check_names(*state, 1);
    drop_scene(&s);
    for (int way = 0; way < 6; way++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        bang_stream stream = {.threads = 1 + way / 2, .plain = way % 2, .max_memory = 1 << 30};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        code = write_outputs(&stream, &to, &s, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(code, BANG_EIO);
        assert_non_null(strstr(err.message, "out0.safetensors: File too large"));
        drop_outputs(&to, &s);
        check_names(*state, 1);
        drop_scene(&s);
    }
    signal(SIGXFSZ, SIG_DFL);
}

/* No more descriptors: no rings, and no second descriptors either. */
static void test_no_ring(void **state)
{
    static struct scene s;
    static struct outputs to;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 5; more++) { /* of those for rings and files, so many may open */
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        forget(&s);
        int next = dup(0);
        close(next);
        none = before;
        none.rlim_cur = (rlim_t)next + (rlim_t)more;
        bang_stream stream = {.threads = 2, .max_memory = 1 << 30};
        bang_error err = {0};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int code = write_outputs(&stream, &to, &s, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (code < 0)
            fail_msg("%s", err.message);
        assert_int_equal(bang_output_commit(to.list[0], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_headers, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_scan, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_large_partial, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_too_little_memory, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_cancel, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_input_shrinks, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_input_replaced, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_write_fails, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_no_ring, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
