/* safetensors: the format's rules, and files as the reference writer writes. */
#include "testing.h"

#include <math.h>

#include "bang/base/file.h"
#include "bang/store/safetensors.h"

/* A file with that header and size bytes of data, exactly as large. */
static int parse(bang_tensors *out, const char *header, const void *data, size_t size,
                 bang_error *err)
{
    size_t length = strlen(header);
    unsigned char *file = malloc(8 + length + size);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(file + 8, header, length);
    if (size > 0)
        memcpy(file + 8 + length, data, size);
    int code = bang_safetensors_parse(out, file, 8 + length + size, "x.st", err);
    free(file);
    return code;
}

static void check_refused(const char *header, size_t size, const char *why)
{
    static const char data[256];
    bang_tensors tensors = {.count = 7};
    bang_error err = {0};
    int code = parse(&tensors, header, data, size, &err);
    if (code != BANG_EDATA || !strstr(err.message, why) || strncmp(err.message, "x.st: ", 6) != 0 ||
        strchr(err.message, '\n'))
        fail_msg("%s: %d %s", header, code, err.message);
    assert_int_equal(tensors.count, 0);
    assert_null(tensors.items);
    assert_null(tensors.metadata);
}

/* In any order of the header, with spaces, fields that nobody knows, rank 0
 * and empty tensors. */
static void test_read(void **state)
{
    (void)state;
    bang_tensors tensors;
    bang_error err = {0};
    if (parse(&tensors,
              "{ \"b\": {\"data_offsets\":[4,7], \"dtype\":\"U8\", \"shape\":[3,1], \"new\":1},"
              "\"empty\":{\"dtype\":\"F64\",\"shape\":[0,5],\"data_offsets\":[4,4]},"
              "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
              "\"__metadata__\":{\"format\":\"pt\",\"empty\":\"\"}}      ",
              "\0\0\xc0\x3f\1\2\3", 7, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(tensors.count, 3);
    const bang_array *a = bang_tensors_find(&tensors, "a"), *b = bang_tensors_find(&tensors, "b"),
                     *empty = bang_tensors_find(&tensors, "empty");
    assert_int_equal(a->rank, 0);
    assert_true(bang_array_number(a, 0) == 1.5);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[0], 3);
    assert_memory_equal(b->data, "\1\2\3", 3);
    assert_int_equal(empty->count, 0);
    assert_int_equal(empty->shape[1], 5);
    assert_null(bang_tensors_find(&tensors, "c"));
    assert_string_equal(bang_tensors_metadata(&tensors, "format"), "pt");
    assert_string_equal(bang_tensors_metadata(&tensors, "empty"), "");
    assert_null(bang_tensors_metadata(&tensors, "none"));
    bang_tensors_release(&tensors);
    assert_int_equal(tensors.count, 0);
    bang_tensors_release(&tensors);
    assert_null(bang_tensors_metadata(&tensors, "format"));
}

#define ENTRY(name, dtype, shape, begin, end)                                                      \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end   \
    "]}"

static void test_refused_offsets(void **state)
{
    (void)state;
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "3") "}", 3, "do not fit its shape");
    check_refused("{" ENTRY("a", "F32", "[2]", "0", "4") "}", 4, "do not fit its shape");
    check_refused("{" ENTRY("a", "U8", "[2]", "2", "0") "}", 2, "do not fit its shape");
    check_refused("{" ENTRY("a", "U8", "[2]", "1", "3") "}", 3, "are nobody's");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "3", "5") "}",
                  5, "tensor \"b\": bytes before");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "1", "3") "}",
                  3, "tensor \"b\": its data overlap");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "0", "2") "}",
                  2, "overlap");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[0]", "1", "1") "}",
                  2, "overlap");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2") "}", 3,
                  "but 3 follow: the file is damaged");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2") "}", 1, "but 1 follow: the file is cut");
    check_refused("{}", 1, "but 1 follow");
    check_refused("{" ENTRY("a", "U8", "[2]", "-1", "1") "}", 2, "no two offsets");
    check_refused("{" ENTRY("a", "U8", "[2]", "0.0", "2.0") "}", 2, "no two offsets");
    check_refused("{" ENTRY("a", "U8", "[2]", "0", "2,2") "}", 2, "no two offsets");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", 2, "no two offsets");
    check_refused("{" ENTRY("a", "U8", "[1000000000000]", "0", "1000000000000") "}", 8, "cut");
}

static void test_refused_shapes_and_types(void **state)
{
    (void)state;
    /* 2^32 * 2^32 is 0 in 64 bits, and so is 2^62 * 4. */
    check_refused("{" ENTRY("a", "U8", "[4294967296,4294967296]", "0", "0") "}", 0, "larger than");
    check_refused("{" ENTRY("a", "F32", "[4611686018427387904]", "0", "0") "}", 0, "larger than");
    check_refused("{" ENTRY("a", "U8", "[99999999999999999999]", "0", "0") "}", 0, "its header");
    check_refused("{" ENTRY("a", "U8", "[-1]", "0", "0") "}", 0, "no list of sizes");
    check_refused("{" ENTRY("a", "U8", "[\"1\"]", "0", "1") "}", 1, "no list of sizes");
    check_refused("{" ENTRY("a", "U8", "1", "0", "1") "}", 1, "no list");
    check_refused("{" ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,1]", "0", "1") "}", 1, "9 dimensions");
    check_refused("{" ENTRY("weight", "F8_E9M9", "[1]", "0", "1") "}", 1,
                  "tensor \"weight\": number type \"F8_E9M9\" is not known");
    check_refused("{" ENTRY("a", "f32", "[1]", "0", "4") "}", 4, "\"f32\" is not known");
    check_refused("{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "dtype is missing");
    check_refused("{\"a\":[]}", 0, "no object");
    check_refused("{" ENTRY("a\\nb\\u001b", "X", "[1]", "0", "1") "}", 1, "tensor \"a?b?\"");
}

static void test_refused_headers(void **state)
{
    (void)state;
    check_refused("", 0, "no JSON object");
    check_refused(" {}", 0, "no JSON object");
    check_refused("[]", 0, "no JSON object");
    check_refused("{", 0, "its header");
    check_refused("{} {}", 0, "its header");
    check_refused("{\"a\xff\":1}", 0, "its header");
    check_refused("{" ENTRY("a", "U8", "[0]", "0", "0") "," ENTRY("a", "U8", "[0]", "0", "0") "}",
                  0, "duplicate");
    check_refused("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "duplicate");
    check_refused("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: \"a\" is no text");
    check_refused("{\"__metadata__\":[]}", 0, "__metadata__ is no object");
    /* Lengths that the file does not have, or nobody should. */
    static const unsigned char lengths[][8] = {
        {3},
        {0, 0, 0, 1},
        {1, 0xe1, 0xf5, 5},
        {0, 0, 0, 0, 0, 0, 0, 0x80},
        {0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
    };
    for (size_t i = 0; i < 5; i++) {
        unsigned char file[10];
        bang_tensors tensors;
        bang_error err = {0};
        memcpy(file, lengths[i], 8);
        memcpy(file + 8, "{}", 2);
        assert_int_equal(bang_safetensors_parse(&tensors, file, 10, "x", &err), BANG_EDATA);
        assert_non_null(
            strstr(err.message, i < 2 ? "ends within its header" : "at most 100000000"));
    }
    for (size_t size = 0; size < 8; size++) {
        bang_tensors tensors;
        assert_int_equal(bang_safetensors_parse(&tensors, "\2\0\0\0\0\0\0\0{}", size, "x", NULL),
                         BANG_EDATA);
    }
}

static void add(bang_tensors *tensors, const char *name, bang_dtype dtype, int rank,
                const size_t *shape)
{
    bang_array array;
    bang_error err = {0};
    assert_int_equal(bang_array_init(&array, dtype, rank, shape, &err), 0);
    unsigned char *bytes = array.data;
    for (size_t i = 0; i < array.count * bang_dtype_size(dtype); i++)
        bytes[i] = (unsigned char)(i + (size_t)dtype);
    if (bang_tensors_add(tensors, name, &array, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(array.data);
}

static void check_written(const bang_tensors *tensors, const char *path, const char *header)
{
    char *text;
    size_t size;
    bang_error err = {0};
    if (bang_safetensors_write(path, tensors, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_true(size >= 8 + strlen(header));
    assert_int_equal((unsigned char)text[0] | (unsigned char)text[1] << 8, strlen(header));
    assert_memory_equal(text + 2, "\0\0\0\0\0\0", 6);
    assert_memory_equal(text + 8, header, strlen(header));
    free(text);
}

/* Files that the reference writer is known to write. */
static void test_known_files(void **state)
{
    const char *path = in_folder(*state, "out.st");
    bang_tensors tensors = {0};
    char *text;
    size_t size;
    check_written(&tensors, path, "{}      ");
    assert_int_equal(bang_tensors_set_metadata(&tensors, "framework", "pt", NULL), 0);
    check_written(&tensors, path, "{\"__metadata__\":{\"framework\":\"pt\"}}     ");
    bang_tensors_release(&tensors);

    bang_array array;
    assert_int_equal(bang_array_init(&array, BANG_F32, 4, (size_t[]){1, 1, 2, 3}, NULL), 0);
    for (int i = 0; i < 6; i++)
        ((float *)array.data)[i] = (float)i;
    assert_int_equal(bang_tensors_add(&tensors, "attn0", &array, NULL), 0);
    assert_int_equal(bang_safetensors_write(path, &tensors, NULL), 0);
    static const char expected[] =
        "\x48\0\0\0\0\0\0\0"
        "{\"attn0\":{\"dtype\":\"F32\",\"shape\":[1,1,2,3],\"data_offsets\":[0,24]}}       "
        "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40";
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(text, expected, size);
    free(text);
    bang_tensors_release(&tensors);
}

/* By number type, largest alignment first, then by the bytes of the name. */
static void test_order(void **state)
{
    static const bang_dtype given[] = {
        BANG_F16, BANG_U8,  BANG_I64,  BANG_BOOL, BANG_F32, BANG_U64, BANG_I16,
        BANG_F64, BANG_I32, BANG_BF16, BANG_I8,   BANG_U32, BANG_U16,
    };
    bang_tensors tensors = {0};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        add(&tensors, bang_dtype_name(given[i]), given[i], 0, NULL);
    add(&tensors, "\xc3\xa4", BANG_U64, 1, (size_t[]){1});
    add(&tensors, "A\t\x1f/\x7f\"\\", BANG_U64, 2, (size_t[]){0, 3});
    assert_int_equal(bang_tensors_set_metadata(&tensors, "b", "2", NULL), 0);
    assert_int_equal(bang_tensors_set_metadata(&tensors, "a", "1", NULL), 0);
    check_written(&tensors, in_folder(*state, "out.st"),
                  "{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"},"
                  /* clang-format off */
        ENTRY("A\\t\\u001f/\x7f\\\"\\\\", "U64", "[0,3]", "0", "0") ","
        ENTRY("U64", "U64", "[]", "0", "8") ","
        ENTRY("\xc3\xa4", "U64", "[1]", "8", "16") ","
        ENTRY("I64", "I64", "[]", "16", "24") ","
        ENTRY("F64", "F64", "[]", "24", "32") ","
        ENTRY("F32", "F32", "[]", "32", "36") ","
        ENTRY("U32", "U32", "[]", "36", "40") ","
        ENTRY("I32", "I32", "[]", "40", "44") ","
        ENTRY("BF16", "BF16", "[]", "44", "46") ","
        ENTRY("F16", "F16", "[]", "46", "48") ","
        ENTRY("U16", "U16", "[]", "48", "50") ","
        ENTRY("I16", "I16", "[]", "50", "52") ","
        ENTRY("I8", "I8", "[]", "52", "53") ","
        ENTRY("U8", "U8", "[]", "53", "54") ","
        ENTRY("BOOL", "BOOL", "[]", "54", "55") "}    "
                  /* clang-format on */
    );
    bang_tensors_release(&tensors);
}

static void test_round_trip(void **state)
{
    const char *path = in_folder(*state, "out.st"), *second = in_folder(*state, "again.st");
    bang_tensors tensors = {0}, again;
    char name[32], *first_text, *second_text;
    size_t first_size, second_size;
    for (int i = 0; i < 60; i++) {
        bang_dtype dtype = (bang_dtype)(i % BANG_DTYPE_COUNT);
        snprintf(name, sizeof name, "layer.%d.weight", i);
        if (bang_dtype_size(dtype) > 0) /* else not for arrays */
            add(&tensors, name, dtype, i % 4, (size_t[]){(size_t)i, 3, (size_t)i % 5});
    }
    assert_int_equal(bang_tensors_set_metadata(&tensors, "note", "\xc3\xa4 \"quoted\"\n", NULL), 0);
    assert_int_equal(bang_safetensors_write(path, &tensors, NULL), 0);
    assert_int_equal(bang_safetensors_read(&again, path, NULL), 0);
    assert_int_equal(again.count, tensors.count);
    for (size_t i = 0; i < tensors.count; i++) {
        const bang_array *a = &tensors.items[i].array,
                         *b = bang_tensors_find(&again, tensors.items[i].name);
        assert_non_null(b);
        assert_int_equal(a->dtype, b->dtype);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->shape, b->shape, sizeof a->shape);
        if (a->count > 0)
            assert_memory_equal(a->data, b->data, a->count * bang_dtype_size(a->dtype));
    }
    assert_string_equal(bang_tensors_metadata(&again, "note"), "\xc3\xa4 \"quoted\"\n");
    assert_int_equal(bang_safetensors_write(second, &again, NULL), 0);
    assert_int_equal(bang_file_read(&first_text, &first_size, path, NULL), 0);
    assert_int_equal(bang_file_read(&second_text, &second_size, second, NULL), 0);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first_text, second_text, first_size);
    free(first_text);
    free(second_text);
    bang_tensors_release(&tensors);
    bang_tensors_release(&again);
}

static void test_names(void **state)
{
    const char *path = in_folder(*state, "out.st");
    bang_tensors tensors = {0};
    bang_array array;
    bang_error err = {0};
    add(&tensors, "a", BANG_U8, 1, (size_t[]){2});
    assert_int_equal(bang_array_init(&array, BANG_U8, 0, NULL, NULL), 0);
    assert_int_equal(bang_tensors_add(&tensors, "a", &array, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "\"a\""));
    assert_non_null(array.data);
    assert_int_equal(bang_tensors_add(&tensors, "__metadata__", &array, &err), BANG_EUSAGE);
    assert_int_equal(tensors.count, 1);
    /* What no reader would take is not written. */
    assert_int_equal(bang_tensors_set_metadata(&tensors, "k", "\xff", &err), BANG_EUSAGE);
    assert_null(tensors.metadata);
    assert_int_equal(bang_tensors_set_metadata(&tensors, "k", "v", &err), 0);
    assert_int_equal(bang_tensors_set_metadata(&tensors, "\xff", "v", &err), BANG_EUSAGE);
    assert_int_equal(bang_tensors_set_metadata(&tensors, "k", "w", &err), 0);
    assert_string_equal(bang_tensors_metadata(&tensors, "k"), "w");
    assert_int_equal(bang_tensors_add(&tensors, "\xff", &array, &err), 0);
    assert_int_equal(bang_safetensors_write(path, &tensors, &err), BANG_EUSAGE);
    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, path, NULL), BANG_EIO);
    bang_tensors_release(&tensors);
    assert_int_equal(bang_safetensors_read(&tensors, path, &err), BANG_EIO);
    assert_int_equal(tensors.count, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_refused_offsets),
        cmocka_unit_test(test_refused_shapes_and_types),
        cmocka_unit_test(test_refused_headers),
        IN_FOLDER(test_known_files),
        IN_FOLDER(test_order),
        IN_FOLDER(test_round_trip),
        IN_FOLDER(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
