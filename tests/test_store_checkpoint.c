/* Checkpoints: what is found under a path, and what is refused. */
#include "store_cases.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "bang/base/text.h"
#include "store/checkpoint.h"

static const char one_u8[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";

/* A file with one tensor of that name and four bytes. */
static void put_one(const char *path, const char *name, const char *bytes)
{
    char json[256];
    snprintf(json, sizeof json, "{\"%s\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
             name);
    put_safetensors(path, json, bytes, 4);
}

static void check_four(const bang_checkpoint *c, const char *name, const char *bytes)
{
    char got[5] = "";
    bang_error err = {0};
    const bang_entry *entry = bang_checkpoint_find(c, name);
    assert_non_null(entry);
    assert_int_equal(entry->bytes, 4);
    assert_int_equal(bang_checkpoint_read(c, entry, 0, got, 4, &err), 0);
    assert_string_equal(got, bytes);
}

static void test_single(void **state)
{
    const char *path = in_folder(*state, "x.safetensors");
    put_safetensors(path,
                    "{\"__metadata__\":{\"k\":\"v\"},"
                    "\"b\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[8,12]},"
                    "\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
                    "\"\":{\"dtype\":\"U8\",\"shape\":[0,5],\"data_offsets\":[8,8]}}  ",
                    "\0\0\0\0\0\0\xf0\x3f\1\0\xff\xff", 12);
    bang_checkpoint *c = open_it(path);
    assert_string_equal(c->format, "safetensors");
    assert_string_equal(c->path, path);
    assert_string_equal(c->files[0].name, "x.safetensors");
    assert_int_equal(strlen(c->files[0].header_digest), 64);
    assert_int_equal(c->is_folder, 0);
    assert_int_equal(c->count, 3);
    assert_string_equal(json_string_value(json_object_get(c->metadata, "k")), "v");
    assert_string_equal(c->entries[0].name, "a");
    assert_string_equal(c->entries[1].name, ""); /* empty, before what begins there too */
    assert_string_equal(c->entries[2].name, "b");
    assert_null(bang_checkpoint_find(c, "c"));
    assert_null(bang_checkpoint_find(c, "aa"));
    assert_ptr_equal(bang_checkpoint_find(c, ""), &c->entries[1]);
    const bang_entry *a = bang_checkpoint_find(c, "a");
    double number = 0;
    bang_error err = {0};
    assert_int_equal(bang_checkpoint_read(c, a, 0, &number, 8, &err), 0);
    assert_true(number == 1);
    assert_int_equal(bang_entry_count(a), 1);
    assert_int_equal(bang_entry_step(a), 8);
    assert_true(bang_entry_is_plain(a));
    /* Outside: refused, also where the sum overflows. */
    char byte;
    assert_int_equal(bang_checkpoint_read(c, a, 8, &byte, 0, &err), 0);
    assert_int_equal(bang_checkpoint_read(c, a, 8, &byte, 1, &err), BANG_EUSAGE);
    assert_int_equal(bang_checkpoint_read(c, a, UINT64_MAX, &byte, 1, &err), BANG_EUSAGE);
    assert_int_equal(bang_checkpoint_read(c, a, 1, &byte, SIZE_MAX, &err), BANG_EUSAGE);
    bang_checkpoint_close(c);
}

/* Headers whose first bytes look like the text of an index. */
static void test_header_lengths(void **state)
{
    static const size_t lengths[] = {123, 379, 97056, 0x7b0a, 0x7b20, 0x097b20, 0x200a7b};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char *json = malloc(lengths[i] + 1);
        memset(json, ' ', lengths[i]);
        memcpy(json, one_u8, strlen(one_u8));
        json[lengths[i]] = '\0';
        put_safetensors(in_folder(*state, "x.safetensors"), json, "good", 4);
        free(json);
        bang_checkpoint *c = open_it(in_folder(*state, "x.safetensors"));
        check_four(c, "a", "good");
        bang_checkpoint_close(c);
    }
}

/* As bash's <(...) gives it: what was written is there once. */
static void test_pipe(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    size_t size;
    char *data = join_safetensors(&size, one_u8, "pipe", 4);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], data, size), size);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    bang_checkpoint *c = open_it(path);
    check_four(c, "a", "pipe");
    bang_checkpoint_close(c);
    close(ends[0]);
    free(data);
}

static void test_refused_files(void **state)
{
    const char *folder = *state, *path = in_folder(folder, "x");
    check_not_opened(path, BANG_EIO, "No such file");
    put_text(path, "");
    check_not_opened(path, BANG_EDATA, "too short");
    put_text(path, "{");
    check_not_opened(path, BANG_EDATA, "is no checkpoint: neither safetensors, PyTorch nor NumPy");
    static const char *const foreign[] = {"hello\n", "<!DOCTYPE html>\n", "import torch, sys\n",
                                          "\x89PNG\r\n\x1a\n...."};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        put_text(path, foreign[i]);
        check_not_opened(path, BANG_EDATA, "x: is no checkpoint: neither");
    }
    put_text(path, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n");
    check_not_opened(path, BANG_EDATA, "is a Git LFS pointer, not the file itself");
    const char *named = in_folder(folder, "x.safetensors");
    put_text(named, "<!DOCTYPE html>\n");
    check_not_opened(named, BANG_EDATA, "is no checkpoint");
    put_text(named, "\3\1");
    check_not_opened(named, BANG_EDATA, "too short");
    put_text(named, "\xff\xff\xff\xff\xff\xff\xff\x7f...");
    check_not_opened(named, BANG_EDATA, "at most 100000000");
    put_bytes(path, "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
    check_not_opened(path, BANG_EDATA, "at most 100000000");
    put_bytes(path, "\xff\0\0\0\0\0\0\0{}", 10);
    check_not_opened(path, BANG_EDATA, "is cut");
    struct {
        const char *json, *why;
    } cases[] = {
        {"[]", "no JSON object"},
        {" {}", "no JSON object"},
        {"{\"a\":1}", "no object"},
        {"{\"a\":{\"dtype\":\"U9\",\"shape\":[4],\"data_offsets\":[0,4]}}", "not known"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,4]}}", "do not fit"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", "need 3 bytes"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}", "is cut"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[1,4]}}", "nobody's"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
         "overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
         "duplicate"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
         "larger than memory"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807],"
         "\"data_offsets\":[0,9223372036854775807]}}",
         "larger than memory"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-4],\"data_offsets\":[0,4]}}", "list of sizes"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]}}", "do not fit"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[7],\"data_offsets\":[0,4]}}", "whole bytes"},
        {"{\"__metadata__\":{\"a\":1},\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":"
         "[0,4]}}",
         "is no text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_safetensors(path, cases[i].json, "1234", 4);
        check_not_opened(path, BANG_EDATA, cases[i].why);
    }
    /* Nested deeper than any reader should follow. */
    char deep[5001];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    memcpy(deep, "{\"a\":", 5);
    put_safetensors(path, deep, "", 0);
    check_not_opened(path, BANG_EDATA, "depth");
    put_text(path, deep);
    check_not_opened(path, BANG_EDATA, "depth");
}

static void test_folder(void **state)
{
    const char *folder = *state;
    check_not_opened(folder, BANG_EDATA, "no checkpoint");
    put_text(in_folder(folder, "config.json"), "{}");
    put_one(in_folder(folder, ".hidden.safetensors"), "a", "hidn");
    assert_int_equal(mkdir(in_folder(folder, "sub.safetensors"), 0777), 0);
    check_not_opened(folder, BANG_EDATA, "no checkpoint");
    /* The last kind first: each further one is preferred. */
    put_one(in_folder(folder, "n.npz"), "a", "_npz");
    bang_checkpoint *c = open_it(folder);
    assert_int_equal(c->is_folder, 1);
    check_four(c, "a", "_npz");
    bang_checkpoint_close(c);
    const char *names[] = {"p.pth",
                           "q.pt",
                           "r.bin",
                           NULL,
                           "s.safetensors",
                           "pytorch_model.bin",
                           NULL,
                           "model.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!names[i])
            continue;
        char bytes[5];
        snprintf(bytes, sizeof bytes, "no%02d", (int)i);
        put_one(in_folder(folder, names[i]), "a", bytes);
        c = open_it(folder);
        check_four(c, "a", bytes);
        bang_checkpoint_close(c);
    }
    put_text(in_folder(folder, "model.safetensors.index.json"),
             "{\"weight_map\":{\"a\":\"s.safetensors\"}}");
    c = open_it(folder);
    assert_string_equal(c->format, "safetensors-sharded");
    check_four(c, "a", "no04");
    bang_checkpoint_close(c);
}

/* Two of the best kind: refused, whatever else is there twice, in any order. */
static void test_folder_ambiguous(void **state)
{
    const char *folder = *state;
    put_one(in_folder(folder, "b.pt"), "a", "b.pt");
    put_one(in_folder(folder, "a.pt"), "a", "a.pt");
    check_not_opened(folder, BANG_EDATA, "holds a.pt and b.pt");
    put_one(in_folder(folder, "z.pth"), "a", ".pth");
    put_one(in_folder(folder, "y.pth"), "a", ".pth");
    check_not_opened(folder, BANG_EDATA, "holds a.pt and b.pt");
    put_one(in_folder(folder, "2.safetensors"), "a", "2..s");
    bang_checkpoint *c = open_it(folder);
    check_four(c, "a", "2..s");
    bang_checkpoint_close(c);
    put_one(in_folder(folder, "1.safetensors"), "a", "1..s");
    put_one(in_folder(folder, "3.safetensors"), "a", "3..s");
    check_not_opened(folder, BANG_EDATA, "holds 1.safetensors and 2.safetensors");
    put_text(in_folder(folder, "i.safetensors.index.json"),
             "{\"weight_map\":{\"a\":\"3.safetensors\"}}");
    c = open_it(folder);
    check_four(c, "a", "3..s");
    bang_checkpoint_close(c);
}

static const char *put_index(const char *folder, const char *json)
{
    const char *path = in_folder(folder, "model.safetensors.index.json");
    put_text(path, json);
    return path;
}

static void test_index(void **state)
{
    const char *folder = *state;
    put_one(in_folder(folder, "1.safetensors"), "a", "aaaa");
    put_one(in_folder(folder, "2.safetensors"), "b", "bbbb");
    const char *index = put_index(folder, " \n\t\r \n\t\r \n {\"metadata\":{\"total_size\":8},"
                                          "\"weight_map\":{\"b\":\"2.safetensors\","
                                          "\"a\":\"1.safetensors\"}}");
    bang_checkpoint *c = open_it(index);
    assert_string_equal(c->format, "safetensors-sharded");
    assert_int_equal(c->file_count, 2);
    assert_string_equal(c->files[0].name, "1.safetensors");
    assert_int_equal(c->count, 2);
    check_four(c, "a", "aaaa");
    check_four(c, "b", "bbbb");
    bang_checkpoint_close(c);
    /* Beside the working folder, without any slash in the path. */
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    c = open_it("model.safetensors.index.json");
    check_four(c, "b", "bbbb");
    bang_checkpoint_close(c);
    assert_int_equal(chdir(before), 0);
    free(before);
    index = put_index(folder, "{\"weight_map\":{}}");
    c = open_it(index);
    assert_int_equal(c->count, 0);
    bang_checkpoint_close(c);
}

static void test_index_refused(void **state)
{
    const char *folder = *state;
    put_one(in_folder(folder, "1.safetensors"), "a", "aaaa");
    put_one(in_folder(folder, "2.safetensors"), "b", "bbbb");
    put_one(in_folder(folder, "3.safetensors"), "a", "AAAA");
    struct {
        const char *json;
        int code;
        const char *why;
    } cases[] = {
        {"{}", BANG_EDATA, "no weight_map"},
        {"{\"weight_map\":[]}", BANG_EDATA, "no weight_map"},
        {"{\"weight_map\":null}", BANG_EDATA, "no weight_map"},
        {"{\"weight_map\":{\"a\":1}}", BANG_EDATA, "\"a\" is given no file"},
        {"{\"weight_map\":{\"a\":\"../1.safetensors\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"/1.safetensors\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"x/1.safetensors\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"./1.safetensors\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"..\\\\1.safetensors\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\".\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"..\"}}", BANG_EDATA, "refused"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\\u0000\"}}", BANG_EDATA, "\\u0000"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\"}", BANG_EDATA, "neither"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"a\":\"3.safetensors\"}}", BANG_EDATA,
         "duplicate"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"c\":\"1.safetensors\"}}", BANG_EDATA,
         "\"c\" is not in 1.safetensors"},
        {"{\"weight_map\":{\"c\":\"1.safetensors\"}}", BANG_EDATA, "\"a\" is in 1.safetensors"},
        {"{\"weight_map\":{\"a\":\"2.safetensors\",\"b\":\"1.safetensors\"}}", BANG_EDATA,
         "does not say so"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"3.safetensors\"}}", BANG_EDATA,
         "does not say so"},
        {"{\"weight_map\":{\"a\":\"model.safetensors.index.json\"}}", BANG_EDATA, "safetensors"},
        {"{\"weight_map\":{\"a\":\"no\\n\\u001b[31m.safetensors\"}}", BANG_EDATA, "refused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_not_opened(put_index(folder, cases[i].json), cases[i].code, cases[i].why);
    /* An index alone in memory, or in a pipe, has no files beside it. */
    bang_checkpoint *c;
    bang_error err = {0};
    const char *text = "{\"weight_map\":{\"a\":\"1.safetensors\"}}";
    assert_int_equal(bang_checkpoint_parse(&c, text, strlen(text), "i", &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "beside its files"));
}

static void test_index_missing_files(void **state)
{
    const char *folder = *state;
    put_one(in_folder(folder, "1.safetensors"), "a", "aaaa");
    const char *index =
        put_index(folder, "{\"weight_map\":{\"z\":\"z.safetensors\",\"a\":\"1.safetensors\","
                          "\"y\":\"y.safetensors\",\"y2\":\"y.safetensors\"}}");
    check_not_opened(index, BANG_EIO, "2 of its files cannot be opened: y.safetensors, z.safeten");
    index = put_index(folder, "{\"weight_map\":{\"z\":\"z.safetensors\"}}");
    check_not_opened(index, BANG_EIO, "z.safetensors: No such file");
    char json[20000] = "{\"weight_map\":{\"a\":\"1.safetensors\"";
    for (int i = 0; i < 99; i++)
        snprintf(json + strlen(json), sizeof json - strlen(json),
                 ",\"t%d\":\"model-%05d-of-00099.safetensors\"", i, i + 1);
    snprintf(json + strlen(json), sizeof json - strlen(json), "}}");
    index = put_index(folder, json);
    check_not_opened(index, BANG_EIO, "99 of its files");
    check_not_opened(index, BANG_EIO, "model-00020-of-00099.safetensors");
    check_not_opened(index, BANG_EIO, " more");
}

/* Every name is there but one, among very many: this must not take a minute. */
static void test_index_large(void **state)
{
    enum { COUNT = 200000 };
    bang_text header = {0}, index = {0};
    bang_text_add(&header, "{");
    bang_text_add(&index, "{\"weight_map\":{");
    for (int i = 0; i < COUNT; i++) {
        bang_text_add(&header,
                      "%s\"%07d\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[%d,%d]}",
                      i ? "," : "", i, i, i + 1);
        bang_text_add(&index, "\"%07d\":\"1.safetensors\",", i);
    }
    bang_text_add(&header, "}");
    bang_text_add(&index, "\"last\":\"1.safetensors\"}}");
    char *data = calloc(COUNT, 1);
    put_safetensors(in_folder(*state, "1.safetensors"), header.data, data, COUNT);
    check_not_opened(put_index(*state, index.data), BANG_EDATA, "\"last\" is not in 1.safetensors");
    free(data);
    bang_text_release(&header);
    bang_text_release(&index);
}

/* A file that becomes shorter while it is open. */
static void test_shrinks(void **state)
{
    const char *path = in_folder(*state, "x.safetensors");
    char data[8192];
    fill_random(data, sizeof data, 1);
    put_safetensors(path,
                    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1024],\"data_offsets\":[0,8192]}}",
                    data, sizeof data);
    bang_checkpoint *c = open_it(path);
    bang_error err = {0};
    const bang_entry *turned = bang_checkpoint_transposed(c, &c->entries[0], &err);
    assert_int_equal(truncate(path, 4000), 0);
    char got[8192];
    assert_int_equal(bang_checkpoint_read(c, &c->entries[0], 0, got, sizeof got, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "became shorter"));
    assert_int_equal(bang_checkpoint_read(c, turned, 0, got, sizeof got, &err), BANG_EDATA);
    assert_int_equal(bang_checkpoint_read(c, &c->entries[0], 0, got, 100, &err), 0);
    assert_memory_equal(got, data, 100);
    bang_checkpoint_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_single, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_header_lengths, make_folder, drop_folder),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test_setup_teardown(test_refused_files, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_folder, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_folder_ambiguous, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_index, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_index_refused, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_index_missing_files, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_index_large, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_shrinks, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
