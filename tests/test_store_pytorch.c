/* Checkpoints as PyTorch writes them, read without it. */
#include "checkpoint_cases.h"

#include "bang/base/file.h"
#include "bang/base/text.h"

#include <unistd.h>
#include <zlib.h>

static void check_state_dict(const bang_checkpoint *c)
{
    check_ramp(c, "a.weight", BANG_F32, 1, 0.25, SHAPE(2, 3));
    check_ramp(c, "a.bias", BANG_F32, 10, 0.25, SHAPE(2));
    check_ramp(c, "scale", BANG_F32, 20, 0.25, SCALAR);
}

static void test_state_dict(void **state)
{
    (void)state;
    static const char *const names[] = {"state_dict.pt", "protocol4.pt", "state_dict_legacy.pt",
                                        "compressed.pt", "big_endian.pt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bang_checkpoint *c = open_vector(names[i]);
        assert_string_equal(c->format, i == 2 ? "pytorch-legacy" : "pytorch");
        assert_int_equal(c->count, 3);
        assert_int_equal(strlen(c->files[0].header_digest), 64);
        assert_int_equal(json_array_size(c->notes), 0);
        assert_null(c->metadata);
        check_state_dict(c);
        bang_checkpoint_close(c);
    }
}

/* What lies in the file as it is can be read from there. */
static void test_plain(void **state)
{
    (void)state;
    bang_checkpoint *c = open_vector("state_dict.pt");
    for (size_t i = 0; i < c->count; i++) {
        assert_true(bang_entry_is_plain(&c->entries[i]));
        assert_int_equal(c->entries[i].file, 0);
        assert_int_equal(c->entries[i].offset % 64, 0); /* as PyTorch aligns them */
        assert_true(i == 0 || c->entries[i].offset > c->entries[i - 1].offset);
    }
    bang_checkpoint_close(c);
    c = open_vector("compressed.pt");
    assert_int_equal(c->file_count, 4);
    bang_checkpoint_close(c);
    c = open_vector("big_endian.pt");
    assert_false(bang_entry_is_plain(&c->entries[0]));
    bang_checkpoint_close(c);
}

static void test_roots(void **state)
{
    (void)state;
    bang_checkpoint *c = open_vector("nested.pt");
    assert_int_equal(c->count, 3);
    check_state_dict(c);
    assert_true(has_note(c, "those of \"state_dict\""));
    assert_true(has_note(c, "left out: epoch, best, optimizer"));
    bang_checkpoint_close(c);

    c = open_vector("flattened.pt");
    assert_int_equal(c->count, 4);
    check_ramp(c, "generator.a.weight", BANG_F32, 1, 0.25, SHAPE(2, 3));
    check_ramp(c, "critic.inner.w", BANG_F32, 40, 0.25, SHAPE(2));
    assert_true(has_note(c, "joined with dots"));
    assert_true(has_note(c, "left out: critic.kind"));
    bang_checkpoint_close(c);

    c = open_vector("prefix.pt");
    check_state_dict(c);
    assert_true(has_note(c, "\"module.\" was taken off"));
    assert_true(has_note(c, "\"_orig_mod.\" was taken off"));
    bang_checkpoint_close(c);

    c = open_vector("tensor.pt");
    assert_int_equal(c->count, 1);
    check_ramp(c, "tensor", BANG_F32, 1, 0.25, SHAPE(2, 2));
    bang_checkpoint_close(c);

    c = open_vector("parameters.pt");
    check_ramp(c, "weight", BANG_F32, 1, 0.25, SHAPE(2, 3));
    bang_checkpoint_close(c);
    check_refused("list.pt", "holds no tensors by name");
}

static void test_types(void **state)
{
    (void)state;
    bang_checkpoint *c = open_vector("types.pt");
    assert_int_equal(c->count, 11);
    check_ramp(c, "f32", BANG_F32, 1, 0.25, SHAPE(3));
    check_ramp(c, "f64", BANG_F64, 1, 0.25, SHAPE(3));
    check_ramp(c, "f16", BANG_F16, 1, 0.25, SHAPE(3));
    check_ramp(c, "bf16", BANG_BF16, 1, 0.25, SHAPE(3));
    check_ramp(c, "i64", BANG_I64, 1, 1, SHAPE(3));
    check_ramp(c, "i32", BANG_I32, 1, 1, SHAPE(3));
    check_ramp(c, "i16", BANG_I16, 1, 1, SHAPE(3));
    check_ramp(c, "i8", BANG_I8, 1, 1, SHAPE(3));
    check_ramp(c, "u8", BANG_U8, 1, 1, SHAPE(3));
    check_ramp(c, "c64", BANG_C64, 1, 1, SHAPE(3));
    const bang_entry *truth = bang_checkpoint_find(c, "bool");
    assert_int_equal(truth->dtype, BANG_BOOL);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(number_at(c, truth, i), i != 1);
    bang_checkpoint_close(c);
}

/* Transposed, cut, expanded, shared: what number (i, j) must be follows from
 * that of the matrix they are views of, (6 i + j) / 4. */
static void test_views(void **state)
{
    (void)state;
    bang_checkpoint *c = open_vector("views.pt");
    assert_int_equal(c->count, 9);
    const bang_entry *base = check_ramp(c, "base", BANG_F32, 0, 0.25, SHAPE(4, 6));
    const bang_entry *again = check_ramp(c, "again", BANG_F32, 0, 0.25, SHAPE(4, 6));
    assert_int_equal(base->offset, again->offset);
    assert_true(bang_entry_is_plain(base));
    const bang_entry *turned = bang_checkpoint_find(c, "turned");
    assert_false(bang_entry_is_plain(turned));
    for (uint64_t i = 0; i < 6; i++)
        for (uint64_t j = 0; j < 4; j++)
            assert_true(number_at(c, turned, 4 * i + j) == 0.25 * (double)(6 * j + i));
    const bang_entry *part = bang_checkpoint_find(c, "part");
    for (uint64_t i = 0; i < 2; i++)
        for (uint64_t j = 0; j < 3; j++)
            assert_true(number_at(c, part, 3 * i + j) == 0.25 * (double)(6 * (i + 1) + j + 2));
    check_ramp(c, "column", BANG_F32, 0.25, 1.5, SHAPE(4));
    const bang_entry *expanded = bang_checkpoint_find(c, "expanded");
    assert_int_equal(expanded->bytes, 3 * 4 * 4);
    for (uint64_t i = 0; i < 12; i++)
        assert_true(number_at(c, expanded, i) == 5 + 0.25 * (double)(i / 4));
    const bang_entry *single = check_ramp(c, "single", BANG_F32, 9, 0.25, SHAPE(1, 2, 1));
    assert_true(bang_entry_is_plain(single)); /* steps over one element do not matter */
    check_ramp(c, "scalar", BANG_F32, 11, 0, SCALAR);
    check_ramp(c, "empty", BANG_F32, 0, 0, SHAPE(0, 5));
    bang_checkpoint_close(c);

    c = open_vector("views_legacy.pt");
    assert_int_equal(c->count, 3);
    check_ramp(c, "base", BANG_F32, 0, 0.25, SHAPE(4, 6));
    check_ramp(c, "long", BANG_I64, 3, 1, SHAPE(2));
    turned = bang_checkpoint_find(c, "turned");
    assert_true(number_at(c, turned, 4 * 5 + 1) == 0.25 * (6 * 1 + 5));
    bang_checkpoint_close(c);
}

/* A pickled module gives what its state_dict() would, and none of its calls is made. */
static void test_module(void **state)
{
    (void)state;
    static const char *const names[] = {"module.pt", "module_legacy.pt", "parallel.pt"};
    for (int i = 0; i < 3; i++) {
        bang_checkpoint *c = open_vector(names[i]);
        assert_int_equal(c->count, 6); /* "mask" is not persistent */
        check_ramp(c, "image_encoder.model.visual.weight", BANG_F32, 1, 0.25, SHAPE(2, 3));
        check_ramp(c, "image_encoder.model.visual.bias", BANG_F32, 10, 0.25, SHAPE(2));
        check_ramp(c, "image_encoder.model.logit_scale", BANG_F32, 7, 0, SCALAR);
        check_ramp(c, "classification_head.weight", BANG_F32, 20, 0.25, SHAPE(4, 2));
        check_ramp(c, "classification_head.bias", BANG_F32, 30, 0.25, SHAPE(4));
        check_ramp(c, "classification_head.count", BANG_I64, 9, 0, SCALAR);
        assert_true(
            has_note(c, "that were not made: __builtin__.getattr, __main__.make_transform"));
        assert_int_equal(has_note(c, "taken off"), i == 2);
        bang_checkpoint_close(c);
    }
    bang_checkpoint *c = open_vector("script.pt");
    assert_int_equal(c->count, 3);
    check_ramp(c, "layer.weight", BANG_F32, 1, 0.25, SHAPE(2, 3));
    check_ramp(c, "layer.bias", BANG_F32, 10, 0.25, SHAPE(2));
    check_ramp(c, "scale", BANG_F32, 5, 0, SCALAR);
    bang_checkpoint_close(c);
}

static void test_malicious(void **state)
{
    (void)state;
    static const char *const names[] = {"malicious.pt", "malicious_legacy.pt", "malicious_root.pt"};
    for (int i = 0; i < 3; i++) {
        check_refused(names[i], "calls posix.system: only tensors and containers are read");
        check_refused(names[i], "torch.save(model.state_dict(), ...)");
    }
    check_refused("bare.pkl", "a pickle that torch.save did not write");
    assert_int_not_equal(access("/tmp/bang-was-here", F_OK), 0);
}

/* A file that is cut anywhere is refused. */
static void test_damage(void **state)
{
    (void)state;
    static const char *const names[] = {"state_dict.pt", "state_dict_legacy.pt", "compressed.pt"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char *data;
        size_t size;
        bang_checkpoint *c;
        bang_error err = {0};
        assert_int_equal(bang_file_read(&data, &size, vector_path(names[n]), &err), 0);
        for (size_t cut = 0; cut < size; cut++) {
            err = (bang_error){0};
            assert_true(bang_checkpoint_parse(&c, data, cut, "cut.pt", &err) < 0);
            assert_null(c);
            assert_true(err.message[0] && !strchr(err.message, '\n'));
        }
        free(data);
    }
}

static void test_tar(void **state)
{
    (void)state;
    char data[1024] = {0};
    bang_checkpoint *c;
    bang_error err = {0};
    memcpy(data + 257, "ustar", 6);
    assert_int_equal(bang_checkpoint_parse(&c, data, sizeof data, "old.pt", &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "tar"));
}

/* Old files are the easiest to make by hand: pickles one after the other, then
 * a storage "0" of six floats, 1 to 6. */
static int parse_legacy(bang_checkpoint **out, bang_text *file, const char *object, size_t size,
                        bang_error *err)
{
    static const char head[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                               "\x80\2M\xe9\3."
                               "\x80\2}.";
    static const char keys[] = "\x80\2](X\1\0\0\0"
                               "0e.\6\0\0\0\0\0\0";
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    bang_text_add_bytes(file, head, sizeof head - 1);
    bang_text_add_bytes(file, object, size);
    bang_text_add_bytes(file, keys, sizeof keys);
    bang_text_add_bytes(file, (const char *)numbers, sizeof numbers);
    assert_false(file->failed);
    return bang_checkpoint_parse(out, file->data, file->size, "x.pt", err);
}

#define STORAGE(type)                                                                              \
    "(U\7storagectorch\n" type "\nU\1"                                                             \
    "0U\3cpuK\6tQ"
#define TENSOR(rest) "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE("FloatStorage") rest "tR"
#define BYTES(text) text, sizeof(text) - 1

static void test_geometry(void **state)
{
    (void)state;
    static const struct {
        const char *object;
        size_t size;
        const char *why; /* NULL: it is fine */
    } cases[] = {
        {BYTES("}U\1w" TENSOR("K\0K\2K\3\x86K\3K\1\x86") "s."), NULL},
        {BYTES("}U\1w" TENSOR("K\1K\2K\3\x86K\3K\1\x86") "s."), "beyond its storage"},
        {BYTES("}U\1w" TENSOR("K\0K\2K\3\x86K\4K\1\x86") "s."), "beyond its storage"},
        {BYTES("}U\1w" TENSOR("K\x07K\1\x85K\1\x85") "s."), "beyond its storage"},
        {BYTES("}U\1w" TENSOR("K\xffK\0\x85K\1\x85") "s."), NULL}, /* empty */
        {BYTES("}U\1w" TENSOR("J\xff\xff\xff\xffK\1\x85K\1\x85") "s."), "offset is negative"},
        {BYTES("}U\1w" TENSOR("K\0J\xff\xff\xff\xff\x85K\1\x85") "s."), "are no sizes"},
        {BYTES("}U\1w" TENSOR("K\0K\2\x85J\xff\xff\xff\xff\x85") "s."), "are no sizes"},
        {BYTES("}U\1w" TENSOR("K\0K\2\x85)") "s."), "do not fit its shape"},
        {BYTES(
             "}U\1w" TENSOR("K\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1t(K\1K\1K\1K\1K\1K\1K\1K\1K\1t") "s."),
         "9 dimensions"},
        {BYTES("}U\1w" TENSOR("K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"
                              "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85") "s."),
         "farther than a file can"},
        /* 2^40 floats of one, 2^30 + 1, 2^30; 2^31 times 2^31 of them */
        {BYTES("}U\1w" TENSOR("K\0\x8a\6\0\0\0\0\0\1\x85K\0\x85") "s."),
         "is expanded from 24 to 4398046511104 bytes: save a contiguous copy"},
        {BYTES("}U\1w" TENSOR("K\0J\1\0\0\x40\x85K\0\x85") "s."), "from 24 to 4294967300 bytes"},
        {BYTES("}U\1w" TENSOR("K\0J\0\0\0\x40\x85K\0\x85") "s."), NULL},
        {BYTES("}U\1w" TENSOR("K\0\x8a\5\0\0\0\x80\0\x8a\5\0\0\0\x80\0\x86K\0K\0\x86") "s."),
         "larger than a file can be"},
        {BYTES("}U\1wctorch._utils\n_rebuild_tensor_v2\n(" STORAGE("QInt8Storage") "K\0))tRs."),
         "QInt8Storage is not known"},
        {BYTES("}U\1wctorch._utils\n_rebuild_tensor_v2\n(" STORAGE("DoubleStorage") "K\0))tRs."),
         "the file is cut"},
        {BYTES("}U\1wctorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\n"
               "U\1"
               "1U\3cpuK\6tQK\0))tRs."),
         "nobody's"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_checkpoint *c;
        bang_text file = {0};
        bang_error err = {0};
        int code = parse_legacy(&c, &file, cases[i].object, cases[i].size, &err);
        if (cases[i].why ? code != BANG_EDATA || !strstr(err.message, cases[i].why) : code != 0)
            fail_msg("case %zu: %s", i, err.message);
        if (i == 0)
            check_ramp(c, "w", BANG_F32, 1, 1, SHAPE(2, 3));
        bang_checkpoint_close(c);
        bang_text_release(&file);
    }
}

/* A view of an older file: the tensor counts from where the view begins. */
static void test_storage_view(void **state)
{
    (void)state;
    bang_checkpoint *c;
    bang_text file = {0};
    bang_error err = {0};
    static const char object[] =
        "}U\1wctorch._utils\n_rebuild_tensor\n((U\7storagectorch\nFloatStorage\n"
        "U\1"
        "0U\3cpuK\6U\1vK\2K\3\x87tQK\1K\2\x85K\1\x85tRs.";
    if (parse_legacy(&c, &file, object, sizeof object - 1, &err) < 0)
        fail_msg("%s", err.message);
    check_ramp(c, "w", BANG_F32, 4, 1, SHAPE(2));
    bang_checkpoint_close(c);
    bang_text_release(&file);
}

/* Containers that hold themselves or each other cannot keep us busy. */
static void test_endless(void **state)
{
    (void)state;
    bang_checkpoint *c;
    bang_text file = {0}, object = {0};
    bang_error err = {0};
    static const char self[] = "}q\0U\1sh\0sU\1w" TENSOR("K\0K\6\x85K\1\x85") "s.";
    assert_int_equal(parse_legacy(&c, &file, self, sizeof self - 1, &err), 0);
    assert_int_equal(c->count, 1);
    assert_true(has_note(c, "left out: s"));
    bang_checkpoint_close(c);
    bang_text_release(&file);

    /* Each of 40 dicts holds the one before twice: 2^40 names, of tensors or not. */
    static const char tensor[] = "}U\1w" TENSOR("K\0K\6\x85K\1\x85") "sq\0";
    static const char nothing[] = "}U\1wNsq\0";
    for (int with = 0; with < 2; with++) {
        bang_text_add_bytes(&object, with ? tensor : nothing,
                            with ? sizeof tensor - 1 : sizeof nothing - 1);
        for (int i = 0; i < 40; i++) {
            const char doubled[] = {'}', 'U', 1,   'a',     'h', (char)i, 's',          'U',
                                    1,   'b', 'h', (char)i, 's', 'q',     (char)(i + 1)};
            bang_text_add_bytes(&object, doubled, sizeof doubled);
        }
        bang_text_add_bytes(&object, ".", 1);
        assert_int_equal(parse_legacy(&c, &file, object.data, object.size, &err), BANG_EDATA);
        assert_non_null(strstr(err.message, "without end"));
        bang_text_release(&object);
        bang_text_release(&file);
    }
}

/* What is looked for in a state, or in all states of many objects, is looked for
 * once: with N of each it would take minutes otherwise. */
static void test_shared_state(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
    for (int way = 0; way < 4; way++) {
        bang_text object = {0}, file = {0};
        bang_checkpoint *c = NULL;
        bang_error err = {0};
        /* memo 0: a dict of many attributes, at its end those of a module or not */
        bang_text_add_bytes(&object, BYTES("}q\0("));
        for (int i = 0; way != 3 && i < MANY; i++)
            bang_text_add_bytes(&object, BYTES("U\1aN"));
        for (int p = 0; way == 2 && p < 3; p++)
            bang_text_add(&object, "U%c%s}", (int)strlen(parts[p]), parts[p]);
        bang_text_add_bytes(&object, BYTES("u0ca\nC\nq\1)\x81h\0bq\2"));
        /* the root is a module that holds it, or others with its state, or its own buffers */
        bang_text_add_bytes(&object, BYTES("0h\1)\x81}(U\x0b_parameters}U\1w"));
        bang_text_add_bytes(&object, BYTES(TENSOR("K\0K\6\x85K\1\x85") "s"));
        bang_text_add(&object, "U\b%s}(", way == 3 ? "_buffers" : "_modules");
        for (int i = 0; i < MANY; i++)
            if (way == 0)
                bang_text_add_bytes(&object, BYTES("U\1mh\2"));
            else
                bang_text_add_bytes(&object, BYTES("U\1mh\1)\x81h\0b"));
        bang_text_add_bytes(&object, BYTES("u"));
        if (way == 3) {
            bang_text_add_bytes(&object, BYTES("U\x08_modules}"));
            for (int i = 0; i < MANY; i++)
                bang_text_add_bytes(&object, BYTES("U\1aN"));
        }
        bang_text_add_bytes(&object, BYTES("ub."));
        int code = parse_legacy(&c, &file, object.data, object.size, &err);
        if (way == 2 ? code != BANG_EDATA || !strstr(err.message, "without end") : code != 0)
            fail_msg("way %d: %s", way, err.message);
        assert_true(way == 2 || c->count == 1);
        bang_checkpoint_close(c);
        bang_text_release(&object);
        bang_text_release(&file);
    }
}

static void add_number(bang_text *out, uint64_t value, int size)
{
    for (int i = 0; i < size; i++, value >>= 8)
        bang_text_add_bytes(out, &(char){(char)(value & 255)}, 1);
}

/* A zip file of one member that is deflated. */
static void add_deflated(bang_text *out, const char *name, char *data, size_t size)
{
    uLong room = compressBound((uLong)size);
    unsigned char *packed = malloc(room);
    z_stream z = {.next_in = (Bytef *)data,
                  .avail_in = (uInt)size,
                  .next_out = packed,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    size_t directory = 0;
    for (int central = 0; central < 2; central++) {
        directory = out->size;
        bang_text_add_bytes(out, central ? "PK\1\2\24\0" : "PK\3\4", central ? 6 : 4);
        add_number(out, 20, 2);
        add_number(out, 0, 2);
        add_number(out, 8, 2); /* deflated */
        add_number(out, 0, 4);
        add_number(out, crc32(0, (const Bytef *)data, (uInt)size), 4);
        add_number(out, z.total_out, 4);
        add_number(out, size, 4);
        add_number(out, strlen(name), 2);
        add_number(out, 0, central ? 8 : 2);
        add_number(out, 0, central ? 8 : 0);
        bang_text_add(out, "%s", name);
        if (!central)
            bang_text_add_bytes(out, (char *)packed, z.total_out);
    }
    size_t length = out->size - directory;
    bang_text_add_bytes(out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    add_number(out, length, 4);
    add_number(out, directory, 4);
    add_number(out, 0, 2);
    assert_false(out->failed);
    free(packed);
}

/* A small file that would unpack to a large pickle, or that makes too much of it. */
static void test_bomb(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *why;
    } cases[] = {{16000000, "unpacks to 16000000 bytes"},
                 {8000001, "unpacks to 8000001 bytes"},
                 {8000000, "more than 4194304 values"},
                 {1000000, "holds no tensors by name"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = cases[i].size;
        char *data = malloc(size);
        bang_text file = {0};
        bang_checkpoint *c;
        bang_error err = {0};
        assert_non_null(data);
        memset(data, ')', size);
        memcpy(data, "\x80\2(", 3);
        memcpy(data + size - 2, "t.", 2);
        add_deflated(&file, "x/data.pkl", data, size);
        assert_true(file.size < 20000);
        assert_int_equal(bang_checkpoint_parse(&c, file.data, file.size, "x.pt", &err), BANG_EDATA);
        if (!strstr(err.message, cases[i].why) || strchr(err.message, '\n'))
            fail_msg("%s", err.message);
        bang_text_release(&file);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_dict),   cmocka_unit_test(test_plain),
        cmocka_unit_test(test_roots),        cmocka_unit_test(test_types),
        cmocka_unit_test(test_views),        cmocka_unit_test(test_module),
        cmocka_unit_test(test_malicious),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_tar),          cmocka_unit_test(test_geometry),
        cmocka_unit_test(test_storage_view), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_shared_state), cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
