/* What was there before an output holds until the new one does, also where a commit fails. */
#include "store_cases.h"

#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/store/stream.h"

static const size_t shape[] = {2};

static void make(void *context, size_t output, size_t item, uint64_t first, size_t count,
                 const void *const *in, void *out)
{
    (void)context, (void)output, (void)item, (void)first, (void)in;
    memset(out, 0, count * sizeof(float));
}

/* Where the output of a test goes. */
static const char *output_of(const char *folder)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/d/", folder);
    return path;
}

/* Three tensors of 8 bytes whose names begin with run, all but committed to path; the config is
 * copied beside them, unless it is NULL. */
static bang_output *prepare(const char *path, const char *run, uint64_t shard_size,
                            const char *config)
{
    static char names[3][32];
    static bang_output_item items[3];
    bang_stream_item list[3];
    bang_output *output = NULL;
    bang_error err = {0};
    bang_output_options options = {.shard_size = shard_size};
    bang_stream stream = {.threads = 1, .max_memory = 1 << 30};
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof names[i], "%s.%d", run, i);
        items[i] =
            (bang_output_item){.name = names[i], .dtype = BANG_F32, .rank = 1, .shape = shape};
    }
    if (bang_output_plan(&output, path, items, 3, &options, &err) < 0 ||
        (config && bang_output_copy(output, config, &err) < 0) ||
        bang_output_begin(output, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < 3; i++)
        list[i] = (bang_stream_item){
            .count = 2, .file = items[i].file, .offset = items[i].offset, .step = 4, .item = i};
    if (bang_stream_write(&stream, list, 3, 0, &output, 1, make, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return output;
}

static void commit(bang_output *output)
{
    bang_error err = {0};
    if (bang_output_commit(output, &err) < 0)
        fail_msg("%s", err.message);
    bang_output_free(output);
}

/* Its message is the caller's until the next call. */
static const char *fail_to_commit(bang_output *output)
{
    static bang_error err;
    err = (bang_error){0};
    assert_int_equal(bang_output_commit(output, &err), BANG_EIO);
    bang_output_free(output);
    return err.message;
}

static void check_run(const char *path, const char *run)
{
    char name[32];
    bang_error err = {0};
    bang_checkpoint *c;
    if (bang_checkpoint_open(&c, path, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(name, sizeof name, "%s.0", run);
    assert_non_null(bang_checkpoint_find(c, name));
    bang_checkpoint_close(c);
}

static int exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* The rename of a file fails whose part is gone. */
static void lose(const char *folder, const char *name)
{
    char *part = bang_path_hidden(in_folder(folder, name), ".bang-part");
    assert_int_equal(unlink(part), 0);
    free(part);
}

static const char first[] = "model-00001-of-00003.safetensors",
                  second[] = "model-00002-of-00003.safetensors",
                  third[] = "model-00003-of-00003.safetensors", one[] = "model.safetensors",
                  index_name[] = "model.safetensors.index.json",
                  index_note[] = ".model.safetensors.index.json.bang-old",
                  one_note[] = ".model.safetensors.bang-old";

/* Shards of the same names: the index makes way, and comes back if nothing else has happened. */
static void test_index_comes_back(void **state)
{
    const char *folder = output_of(*state);
    commit(prepare(folder, "old", 8, NULL));
    bang_output *output = prepare(folder, "new", 8, NULL);
    lose(folder, first);
    fail_to_commit(output);
    check_names(folder, 4);
    check_run(folder, "old");
    /* others that a killed run has left are not taken for it */
    put_text(in_folder(folder, index_note), "{}");
    output = prepare(folder, "new", 8, NULL);
    lose(folder, first);
    fail_to_commit(output);
    check_names(folder, 4);
    check_run(folder, "old");
    /* also where it is a link */
    assert_int_equal(rename(in_folder(folder, index_name), in_folder(folder, "real.json")), 0);
    assert_int_equal(symlink("real.json", in_folder(folder, index_name)), 0);
    output = prepare(folder, "new", 8, NULL);
    lose(folder, first);
    fail_to_commit(output);
    check_names(folder, 5);
    check_run(folder, "old");
    commit(prepare(folder, "new", 8, NULL));
    check_names(folder, 5);
    check_run(folder, "new");
}

/* Once a shard is a new one the old index stays away, but what it says is kept for the next run. */
static void test_index_stays_away(void **state)
{
    const char *folder = output_of(*state);
    commit(prepare(folder, "old", 8, NULL));
    /* a killed run with other shards has noted it already */
    assert_int_equal(link(in_folder(folder, index_name), in_folder(folder, index_note)), 0);
    bang_output *output = prepare(folder, "new", 8, NULL);
    lose(folder, second);
    assert_non_null(strstr(fail_to_commit(output), index_note));
    assert_false(exists(in_folder(folder, index_name)));
    assert_true(exists(in_folder(folder, index_note)));
    check_names(folder, 4);
    /* a run that fails in its turn does not bring it back */
    output = prepare(folder, "new", 8, NULL);
    lose(folder, first);
    fail_to_commit(output);
    assert_false(exists(in_folder(folder, index_name)));
    assert_true(exists(in_folder(folder, index_note)));
    /* one with other shards knows by it which are nobody's */
    commit(prepare(folder, "newer", 16, NULL));
    check_names(folder, 3);
    check_run(folder, "newer");
}

/* Shards of other names: the old index holds until the new one comes. */
static void test_index_holds(void **state)
{
    const char *folder = output_of(*state);
    commit(prepare(folder, "old", 16, NULL));
    bang_output *output = prepare(folder, "new", 8, NULL);
    lose(folder, third);
    fail_to_commit(output);
    check_run(folder, "old");
    assert_false(exists(in_folder(folder, index_note)));
    commit(prepare(folder, "new", 8, NULL));
    check_run(folder, "new");
    check_names(folder, 4);
}

/* A config belongs to the weights beside it: while it is replaced there are none. */
static void test_copies(void **state)
{
    const char *where = output_of(*state);
    char inside[1024], config[1024], *text;
    size_t size;
    snprintf(config, sizeof config, "%s/config.json", (const char *)*state);
    snprintf(inside, sizeof inside, "%s/d/config.json", (const char *)*state);
    for (uint64_t shards = 0; shards <= 8; shards += 8) {
        const char *mark = shards ? index_name : one, *note = shards ? index_note : one_note;
        put_text(config, "old");
        commit(prepare(where, "old", shards, config));
        put_text(config, "new");
        bang_output *output = prepare(where, "new", shards, config);
        lose(where, shards ? first : one); /* after the copy */
        assert_non_null(strstr(fail_to_commit(output), note));
        assert_false(exists(in_folder(where, mark)));
        assert_true(exists(in_folder(where, note)));
        /* before the copy: all is as it was */
        commit(prepare(where, "old", shards, NULL));
        assert_false(exists(in_folder(where, note)));
        put_text(inside, "old");
        output = prepare(where, "new", shards, in_folder(*state, "missing.json"));
        fail_to_commit(output);
        check_run(where, "old");
        commit(prepare(where, "new", shards, config));
        check_run(where, "new");
        text = get_bytes(inside, &size);
        assert_string_equal(text, "new");
        free(text);
        check_names(where, shards ? 5 : 2);
    }
    /* a part of one that a killed run has left goes, though this run copies nothing */
    put_text(in_folder(where, ".config.json.bang-part"), "x");
    commit(prepare(where, "new", 8, NULL));
    check_names(where, 5);
}

/* 1 while the part is there, which this makes first if told to. */
static int part_of(const char *folder, const char *name, int makes)
{
    char *part = bang_path_hidden(in_folder(folder, name), ".bang-part");
    if (makes)
        put_text(part, "x");
    int is = exists(part);
    free(part);
    return is;
}

/* Outputs that differ in a number: others of their kind go, whatever their form. */
static void test_sweep_of_alike(void **state)
{
    static const char *const names[] = {
        /* gone */
        "o-0.5.safetensors", "o-1e-3.safetensors", "o-0.5.safetensors.index.json",
        "o-0.25-00001-of-00002.safetensors", "d-0.5/model.safetensors", "d-1/config.json",
        /* kept */
        "o-best.safetensors", "o-.npz", "o-0.5.npz", "p-0.5.safetensors", "d-x/model.safetensors",
        "d/model.safetensors"};
    enum { GONE = 6, COUNT = sizeof names / sizeof *names };
    static const char *const folders[] = {"d-0.5", "d-1", "d-x", "d"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdir(in_folder(*state, folders[i]), 0777), 0);
    for (size_t i = 0; i < COUNT; i++)
        part_of(*state, names[i], 1);
    bang_file *live;
    assert_int_equal(bang_file_begin(&live, in_folder(*state, "o-7.safetensors"), NULL), 0);
    bang_output_sweep_like(in_folder(*state, "o-0.3.safetensors"), "{alpha}");
    bang_output_sweep_like(in_folder(*state, "{alpha}/o"), "{alpha}");
    for (size_t i = 0; i < COUNT; i++)
        assert_true(part_of(*state, names[i], 0));
    bang_output_sweep_like(in_folder(*state, "o-{alpha}.safetensors"), "{alpha}");
    bang_output_sweep_like(in_folder(*state, "d-{alpha}/"), "{alpha}");
    for (size_t i = 0; i < COUNT; i++)
        if (part_of(*state, names[i], 0) != (i >= GONE))
            fail_msg("%s %s", names[i], i < GONE ? "stays" : "is gone");
    assert_true(part_of(*state, "o-7.safetensors", 0));
    bang_file_discard(live);
    /* the number may be there twice */
    part_of(*state, "o-0.5-0.5.npz", 1);
    part_of(*state, "o-0.5-0.6.npz", 1);
    bang_output_sweep_like(in_folder(*state, "o-{alpha}-{alpha}.npz"), "{alpha}");
    assert_false(part_of(*state, "o-0.5-0.5.npz", 0));
    assert_true(part_of(*state, "o-0.5-0.6.npz", 0));
}

/* What cannot be reserved is not opened: nobody reads this pipe. */
static void test_pipe(void **state)
{
    static bang_output_item item = {.name = "x", .dtype = BANG_F32, .rank = 1, .shape = shape};
    const char *pipe = in_folder(*state, "pipe.safetensors");
    bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
    bang_output *output = NULL;
    bang_error err = {0};
    assert_int_equal(mkfifo(pipe, 0666), 0);
    assert_int_equal(bang_output_plan(&output, pipe, &item, 1, &options, &err), 0);
    assert_int_equal(bang_output_begin(output, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "is no regular file: name one"));
    bang_output_free(output);
}

/* Last, as it cannot be undone: a lack of memory that nobody else has seen. */
static void test_memory(void **state)
{
    const char *folder = output_of(*state);
    bang_error err = {0};
    commit(prepare(folder, "old", 8, NULL));
    bang_output *output = prepare(folder, "new", 8, NULL);
    bang_memory_watch();
    bang_memory_refuse();
    assert_int_equal(bang_output_commit(output, &err), BANG_EMEMORY);
    bang_output_free(output);
    check_names(folder, 4);
    assert_true(exists(in_folder(folder, index_name)));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_index_comes_back), IN_FOLDER(test_index_stays_away),
        IN_FOLDER(test_index_holds),      IN_FOLDER(test_copies),
        IN_FOLDER(test_sweep_of_alike),   IN_FOLDER(test_pipe),
        IN_FOLDER(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
