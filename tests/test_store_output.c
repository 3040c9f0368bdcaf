/* Outputs: where everything lies, what the header says, and that files appear
 * whole or not at all. */
#include "store_cases.h"

#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/store/stream.h"

/* FACTS of the format: the order of the reference writer, last first. */
static const char *const order[] = {
    "BOOL",    "F4",          "F6_E2M3",     "F6_E3M2", "U8",  "I8",  "F8_E5M2", "F8_E4M3",
    "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I16",     "U16", "F16", "BF16",    "I32",
    "U32",     "F32",         "C64",         "F64",     "I64", "U64"};
enum { TYPES = sizeof order / sizeof *order };

static bang_dtype dtype_of(const char *name)
{
    bang_dtype dtype;
    assert_int_equal(bang_dtype_parse(&dtype, name), 0);
    return dtype;
}

static void zeros(void *context, size_t output, size_t item, uint64_t first, size_t count,
                  const void *const *in, void *out)
{
    (void)output, (void)first, (void)in;
    const bang_output_item *items = context;
    size_t size = bang_dtype_size(items[item].dtype);
    memset(out, (int)('a' + item), count * (size ? size : 1));
}

/* Fills every tensor with one letter. */
static int fill(bang_output *output, bang_output_item *items, size_t count, bang_error *err)
{
    bang_stream_item *list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        size_t size = bang_dtype_size(items[i].dtype);
        list[i] = (bang_stream_item){.count = items[i].bytes / (size ? size : 1),
                                     .file = items[i].file,
                                     .offset = items[i].offset,
                                     .step = size ? size : 1,
                                     .item = i};
    }
    bang_stream stream = {.threads = 2, .max_memory = 1 << 30};
    int code = bang_stream_write(&stream, list, count, 0, &output, 1, zeros, items, err);
    free(list);
    return code;
}

static bang_output *plan(const char *path, bang_output_item *items, size_t count,
                         uint64_t shard_size, json_t *metadata)
{
    bang_output *output = NULL;
    bang_error err = {0};
    bang_output_options options = {.shard_size = shard_size, .metadata = metadata};
    if (bang_output_plan(&output, path, items, count, &options, &err) < 0)
        fail_msg("%s", err.message);
    return output;
}

static void write_all(bang_output *output, bang_output_item *items, size_t count)
{
    bang_error err = {0};
    if (bang_output_begin(output, &err) < 0 || fill(output, items, count, &err) < 0 ||
        bang_output_commit(output, &err) < 0)
        fail_msg("%s", err.message);
}

/* Three tensors of 8, 16 and 4 bytes. */
static const size_t shape2[] = {2}, shape4[] = {4}, shape1[] = {1};
static void three(bang_output_item *items)
{
    items[0] = (bang_output_item){.name = "x", .dtype = BANG_F32, .rank = 1, .shape = shape2};
    items[1] = (bang_output_item){.name = "y", .dtype = BANG_F32, .rank = 1, .shape = shape4};
    items[2] = (bang_output_item){.name = "z", .dtype = BANG_F32, .rank = 1, .shape = shape1};
}

/* Two tensors of every type, in an order of their own; the header by a plain loop. */
static void test_header(void **state)
{
    bang_output_item items[2 * TYPES];
    char names[2 * TYPES][32],
        expected[8192] = "{\"__metadata__\":{\"k\\n\\u001f\":\"\xc3\xa9\\\"\"}";
    static const size_t shape[] = {3, 8};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        size_t type = i * 5 % TYPES;
        snprintf(names[i], sizeof names[i], "%s.%s", i < TYPES ? "b\xc3\xa4" : "b", order[type]);
        items[i] = (bang_output_item){
            .name = names[i], .dtype = dtype_of(order[type]), .rank = 2, .shape = shape};
    }
    uint64_t at = 0;
    for (size_t t = TYPES; t-- > 0;) {
        for (int second = 0; second < 2; second++) { /* "b." is before "b\xc3" */
            uint64_t bytes = 24 * bang_dtype_bits(dtype_of(order[t])) / 8;
            size_t length = strlen(expected);
            snprintf(expected + length, sizeof expected - length,
                     ",\"%s.%s\":{\"dtype\":\"%s\",\"shape\":[3,8],\"data_offsets\":[%d,%d]}",
                     second ? "b\xc3\xa4" : "b", order[t], order[t], (int)at, (int)(at + bytes));
            at += bytes;
        }
    }
    size_t end = strlen(expected);
    expected[end++] = '}';
    while (end % 8 != 0)
        expected[end++] = ' '; /* what follows is zero */
    json_t *metadata = json_pack("{ss}", "k\n\x1f", "\xc3\xa9\"");
    const char *path = in_folder(*state, "x.safetensors");
    bang_output *output = plan(path, items, 2 * TYPES, 0, metadata);
    assert_int_equal(bang_output_bytes(output), 8 + strlen(expected) + at);
    write_all(output, items, 2 * TYPES);
    bang_output_free(output);
    json_decref(metadata);
    size_t size, total;
    char *got = get_bytes(path, &size), *want = join_safetensors(&total, expected, NULL, 0);
    assert_int_equal(size, total + at);
    assert_memory_equal(got, want, total);
    bang_checkpoint *c = open_it(path);
    assert_int_equal(c->count, 2 * TYPES);
    for (size_t i = 0; i < 2 * TYPES; i++) {
        const bang_entry *entry = bang_checkpoint_find(c, names[i]);
        assert_non_null(entry);
        assert_int_equal(entry->offset, items[i].offset);
        assert_int_equal(entry->bytes, items[i].bytes);
        for (uint64_t k = 0; k < entry->bytes; k++)
            assert_int_equal((unsigned char)got[entry->offset + k], (unsigned char)('a' + i));
    }
    bang_checkpoint_close(c);
    free(got);
    free(want);
}

static void check_plan(const char *path, uint64_t shard_size, const size_t *files, size_t count,
                       const char *const *names)
{
    bang_output_item items[3];
    three(items);
    bang_output *output = plan(path, items, 3, shard_size, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(items[i].file, files[i]);
    assert_int_equal(bang_output_file_count(output), count);
    for (size_t i = 0; i < count; i++) {
        const char *slash = strrchr(bang_output_file_path(output, i), '/');
        assert_string_equal(slash ? slash + 1 : bang_output_file_path(output, i), names[i]);
    }
    bang_output_free(output);
}

static void test_shards(void **state)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/m.safetensors", (const char *)*state);
    const char *one[] = {"m.safetensors"};
    const char *two[] = {"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors",
                         "m.safetensors.index.json"};
    const char *all[] = {"m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors",
                         "m-00003-of-00003.safetensors", "m.safetensors.index.json"};
    const char *single[] = {"m-00001-of-00001.safetensors", "m.safetensors.index.json"};
    check_plan(path, 0, (size_t[]){0, 0, 0}, 1, one);
    check_plan(path, 28, (size_t[]){0, 0, 0}, 1, one);
    check_plan(path, 27, (size_t[]){0, 0, 1}, 3, two);
    check_plan(path, 24, (size_t[]){0, 0, 1}, 3, two);
    check_plan(path, 23, (size_t[]){0, 1, 1}, 3, two);
    check_plan(path, 20, (size_t[]){0, 1, 1}, 3, two);
    check_plan(path, 19, (size_t[]){0, 1, 2}, 4, all);
    check_plan(path, 1, (size_t[]){0, 1, 2}, 4, all);
    check_plan(in_folder(*state, "m.safetensors.index.json"), 0, (size_t[]){0, 0, 0}, 2, single);
    check_plan(in_folder(*state, "m.safetensors.index.json"), 27, (size_t[]){0, 0, 1}, 3, two);
    check_names(*state, 0); /* a plan touches no disk */
    bang_output_item items[3];
    three(items);
    bang_output *output = plan(path, items, 3, 24, NULL);
    write_all(output, items, 3);
    bang_output_free(output);
    size_t size;
    char *index = get_bytes(in_folder(*state, "m.safetensors.index.json"), &size);
    assert_string_equal(index, "{\n  \"metadata\": {\n    \"total_size\": 28\n  },\n"
                               "  \"weight_map\": {\n"
                               "    \"x\": \"m-00001-of-00002.safetensors\",\n"
                               "    \"y\": \"m-00001-of-00002.safetensors\",\n"
                               "    \"z\": \"m-00002-of-00002.safetensors\"\n  }\n}\n");
    free(index);
    bang_checkpoint *c = open_it(in_folder(*state, "m.safetensors.index.json"));
    assert_int_equal(c->count, 3);
    bang_checkpoint_close(c);
    check_names(*state, 3);
}

static void test_refused_plans(void **state)
{
    bang_output *output;
    bang_output_item items[3];
    bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
    bang_error err = {0};
    char path[1024];
    snprintf(path, sizeof path, "%s/m.safetensors", (const char *)*state);
    struct {
        const char *name, *why;
        uint64_t shard_size;
    } names[] = {{"m.txt", "tells no format", 0},
                 {"m", "tells no format", 0},
                 {"m.pt", "only safetensors", 5},
                 {"m.npy", "one array", 0}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        three(items);
        options.shard_size = names[i].shard_size;
        assert_int_equal(
            bang_output_plan(&output, in_folder(*state, names[i].name), items, 3, &options, &err),
            BANG_EUSAGE);
        assert_null(output);
        assert_non_null(strstr(err.message, names[i].why));
    }
    for (int shards = 0; shards < 2; shards++) {
        options.shard_size = shards ? 1 : 0;
        three(items);
        items[2].name = "x";
        assert_int_equal(bang_output_plan(&output, path, items, 3, &options, &err), BANG_EUSAGE);
        three(items);
        items[1].name = "__metadata__";
        assert_int_equal(bang_output_plan(&output, path, items, 3, &options, &err), BANG_EUSAGE);
        three(items);
        items[1].name = "\xff";
        assert_int_equal(bang_output_plan(&output, path, items, 3, &options, &err), BANG_EUSAGE);
        three(items);
        items[1].dtype = BANG_F4;
        items[1].shape = shape1;
        assert_int_equal(bang_output_plan(&output, path, items, 3, &options, &err), BANG_EUSAGE);
        three(items);
        items[1].shape = (size_t[]){(size_t)1 << 62};
        assert_int_equal(bang_output_plan(&output, path, items, 3, &options, &err), BANG_EUSAGE);
        assert_non_null(strstr(err.message, "too large"));
    }
    check_names(*state, 0);
}

/* Nothing under a final name before the commit, nothing at all without one. */
static void test_whole_or_nothing(void **state)
{
    bang_output_item items[3];
    bang_error err = {0};
    for (int shards = 0; shards < 2; shards++) {
        for (int steps = 0; steps < 3; steps++) {
            three(items);
            bang_output *output =
                plan(in_folder(*state, "m.safetensors"), items, 3, shards ? 8 : 0, NULL);
            if (steps > 0)
                assert_int_equal(bang_output_begin(output, &err), 0);
            if (steps > 1)
                assert_int_equal(fill(output, items, 3, &err), 0);
            for (size_t i = 0; i < bang_output_file_count(output); i++)
                assert_int_equal(access(bang_output_file_path(output, i), F_OK), -1);
            bang_output_free(output);
            check_names(*state, 0);
        }
    }
    bang_output_free(NULL);
    /* What is there stays as it is until then, and keeps its rights. */
    char path[1024];
    snprintf(path, sizeof path, "%s/m.safetensors", (const char *)*state);
    put_text(path, "old");
    assert_int_equal(chmod(path, 0640), 0);
    three(items);
    bang_output *output = plan(path, items, 3, 0, NULL);
    assert_int_equal(bang_output_begin(output, &err), 0);
    /* A second run may not write there at the same time. */
    bang_output *other = plan(path, items, 3, 0, NULL);
    bang_error why = {0};
    assert_int_equal(bang_output_begin(other, &why), BANG_EIO);
    assert_non_null(strstr(why.message, "another run"));
    bang_output_free(other);
    assert_int_equal(fill(output, items, 3, &err), 0);
    size_t size;
    char *got = get_bytes(path, &size);
    assert_string_equal(got, "old");
    free(got);
    assert_int_equal(bang_output_commit(output, &err), 0);
    bang_output_free(output);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    bang_checkpoint_close(open_it(path));
    check_names(*state, 1);
    /* Through a link, which stays. */
    const char *link = in_folder(*state, "link.safetensors");
    assert_int_equal(symlink("m.safetensors", link), 0);
    put_text(path, "old");
    three(items);
    output = plan(link, items, 3, 0, NULL);
    write_all(output, items, 3);
    bang_output_free(output);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    bang_checkpoint_close(open_it(path));
    check_names(*state, 2);
}

static void test_folder(void **state)
{
    bang_output_item items[3];
    bang_error err = {0};
    char deep[1024];
    snprintf(deep, sizeof deep, "%s/a/b//c/", (const char *)*state);
    assert_int_equal(mkdir(in_folder(*state, "a"), 0777), 0);
    three(items);
    bang_output *output = plan(deep, items, 3, 0, NULL);
    assert_int_equal(bang_output_begin(output, &err), 0);
    assert_int_equal(access(deep, F_OK), 0);
    bang_output_free(output);
    check_names(in_folder(*state, "a"), 0); /* which was there before */
    /* A copy that fails leaves nothing of the others either. */
    put_text(in_folder(*state, "config.json"), "{\"c\":1}");
    three(items);
    output = plan(deep, items, 3, 0, NULL);
    assert_int_equal(bang_output_copy(output, in_folder(*state, "config.json"), &err), 0);
    assert_int_equal(bang_output_copy(output, in_folder(*state, "no.json"), &err), 0);
    assert_int_equal(bang_output_begin(output, &err), 0);
    assert_int_equal(fill(output, items, 3, &err), 0);
    assert_int_equal(bang_output_commit(output, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "no.json"));
    bang_output_free(output);
    check_names(in_folder(*state, "a"), 0);
    three(items);
    output = plan(deep, items, 3, 0, NULL);
    assert_int_equal(bang_output_copy(output, in_folder(*state, "config.json"), &err), 0);
    write_all(output, items, 3);
    bang_output_free(output);
    check_names(deep, 2);
    bang_checkpoint *c = open_it(deep);
    assert_string_equal(c->format, "safetensors");
    bang_checkpoint_close(c);
    /* Shards in its place: what is read afterwards is the new. */
    for (int i = 0; i < 4; i++) {
        three(items);
        items[0].name = i % 2 ? "new" : "newer";
        output = plan(deep, items, 3, i % 2 ? 0 : 24, NULL);
        write_all(output, items, 3);
        bang_output_free(output);
        c = open_it(deep);
        assert_string_equal(c->format, i % 2 ? "safetensors" : "safetensors-sharded");
        assert_non_null(bang_checkpoint_find(c, items[0].name));
        bang_checkpoint_close(c);
        check_names(deep, i % 2 ? 2 : 4); /* config.json, and nothing of the one before */
    }
    /* As many shards again, then more of them. */
    for (uint64_t size = 24; size > 8; size -= 8) {
        three(items);
        output = plan(deep, items, 3, size, NULL);
        write_all(output, items, 3);
        bang_output_free(output);
        bang_checkpoint_close(open_it(deep));
        check_names(deep, size == 24 ? 4 : 5);
    }
    /* An old index that is none, or that names what is not beside it. */
    put_text(in_folder(*state, "precious.safetensors"), "precious");
    static const char *const indexes[] = {
        "{", "[]", "{\"weight_map\":{\"x\":\"../../../../precious.safetensors\",\"y\":7}}",
        "{\"weight_map\":{\"x\":\"config.json\",\"y\":\"model.safetensors\"}}"};
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        three(items);
        output = plan(deep, items, 3, 0, NULL);
        assert_int_equal(bang_output_begin(output, &err), 0);
        assert_int_equal(fill(output, items, 3, &err), 0);
        put_text(in_folder(deep, "model.safetensors.index.json"), indexes[i]);
        assert_int_equal(bang_output_commit(output, &err), 0);
        bang_output_free(output);
        bang_checkpoint_close(open_it(deep));
    }
    assert_int_equal(access(in_folder(deep, "config.json"), F_OK), 0);
    assert_int_equal(access(in_folder(*state, "precious.safetensors"), F_OK), 0);
}

/* Writes three tensors, in shards if size is not 0. */
static void put_three(const char *path, uint64_t size)
{
    bang_output_item items[3];
    three(items);
    bang_output *output = plan(path, items, 3, size, NULL);
    write_all(output, items, 3);
    bang_output_free(output);
}

/* What a killed run of this output may have left goes, in whatever form; nothing else does. */
static void test_sweeps_its_own(void **state)
{
    static const char *const gone[] = {"m.safetensors", "m.safetensors.index.json",
                                       "m-00001-of-00002.safetensors",
                                       "m-00007-of-00009.safetensors"};
    static const char *const kept[] = {"other.safetensors",
                                       "m2.safetensors",
                                       "m-00001-of-00002.npz",
                                       "mm-00001-of-00002.safetensors",
                                       "m-00001-00002.safetensors",
                                       "m",
                                       "m.npz",
                                       "x.npy"};
    for (uint64_t size = 0; size < 48; size += 16) {
        for (size_t i = 0; i < 12; i++) {
            char *part =
                bang_path_hidden(in_folder(*state, i < 4 ? gone[i] : kept[i - 4]), ".bang-part");
            put_text(part, "x");
            free(part);
        }
        put_three(in_folder(*state, "m.safetensors"), size);
        for (size_t i = 0; i < 12; i++) {
            const char *name = i < 4 ? gone[i] : kept[i - 4];
            char *part = bang_path_hidden(in_folder(*state, name), ".bang-part");
            if ((access(part, F_OK) == 0) != (i >= 4))
                fail_msg("%s %s", name, i < 4 ? "stays" : "is gone");
            free(part);
        }
    }
}

static void check_overwrites(const char *folder, const char *from, const char *to, uint64_t size,
                             int expected)
{
    bang_output_item items[3];
    three(items);
    bang_output *output = plan(in_folder(folder, to), items, 3, size, NULL);
    bang_checkpoint *c = open_it(in_folder(folder, from));
    if ((bang_output_overwrites(output, c) != NULL) != expected)
        fail_msg("%s to %s", from, to);
    bang_checkpoint_close(c);
    bang_output_free(output);
}

/* However an input is spelled or linked, and whatever of it would go. */
static void test_overwrites(void **state)
{
    static const char one[] = "one.safetensors", shard[] = "d/model-00001-of-00003.safetensors",
                      index[] = "d/model.safetensors.index.json";
    static const struct {
        const char *from, *to;
        uint64_t size;
        int expected;
    } cases[] = {
        {one, one, 0, 1},
        {one, "d/../one.safetensors", 0, 1},
        {one, "hard.safetensors", 0, 1},
        {one, "soft.safetensors", 0, 1},
        {"soft.safetensors", one, 0, 1},
        {one, "two.safetensors", 0, 0},
        {one, one, 16, 1}, /* shards of that name, one more to mix up */
        {one, "one.npz", 0, 0},
        {"d", "d", 0, 1},
        {"d", index, 0, 1},
        {"d", shard, 0, 1},
        {index, shard, 0, 1},
        {"d", "d/beside.safetensors", 0, 0},
        {index, "d", 0, 1}, /* would be removed */
        {shard, "d", 0, 1},
        {shard, "d", 16, 1},
        {shard, "d", 24, 1},
        {shard, "e", 16, 0},
        {"e/model.safetensors", "e", 16, 1},
    };
    put_three(in_folder(*state, one), 0);
    put_three(in_folder(*state, "d/"), 16);
    put_three(in_folder(*state, "e/"), 0);
    assert_int_equal(link(in_folder(*state, one), in_folder(*state, "hard.safetensors")), 0);
    assert_int_equal(symlink(one, in_folder(*state, "soft.safetensors")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_overwrites(*state, cases[i].from, cases[i].to, cases[i].size, cases[i].expected);
}

static void test_no_place(void **state)
{
    bang_output_item items[3];
    bang_error err = {0};
    three(items);
    bang_output *output = plan(in_folder(*state, "no/m.safetensors"), items, 3, 0, NULL);
    assert_int_equal(bang_output_begin(output, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "its folder does not exist"));
    bang_output_free(output);
    put_text(in_folder(*state, "file"), "");
    output = plan(in_folder(*state, "file/"), items, 3, 0, NULL);
    assert_int_equal(bang_output_begin(output, &err), BANG_EIO);
    bang_output_free(output);
    assert_int_equal(access(in_folder(*state, "file"), F_OK), 0);
    if (geteuid() == 0) /* may write everywhere */
        return;
    assert_int_equal(mkdir(in_folder(*state, "locked"), 0500), 0);
    output = plan(in_folder(*state, "locked/m.safetensors"), items, 3, 0, NULL);
    assert_int_equal(bang_output_begin(output, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "Permission denied"));
    bang_output_free(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_shards, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_refused_plans, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_whole_or_nothing, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_folder, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_overwrites, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_sweeps_its_own, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_no_place, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
