/* npy: files that NumPy wrote are read, ours are what NumPy writes, and what is
 * wrong is refused. */
#include "testing.h"

#include <math.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/store/npy.h"

/* np.save of np.arange(6, dtype="<f4").reshape(2, 3) / 2 */
static const char floats_header[] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    "                                                          \n";
static const char floats_data[] =
    "\0\0\0\0\0\0\0\x3f\0\0\x80\x3f\0\0\xc0\x3f\0\0\0\x40\0\0\x20\x40";

static int parse(bang_array *out, const char *header, const char *data, size_t size,
                 bang_error *err)
{
    bang_text file = {0};
    bang_text_add_bytes(&file, header, 10 + (size_t)(unsigned char)header[8]);
    bang_text_add_bytes(&file, data, size);
    /* No terminator behind, so that a sanitizer sees a read too far. */
    char *exact = malloc(file.size);
    memcpy(exact, file.data, file.size);
    int code = bang_npy_parse(out, exact, file.size, "x.npy", err);
    free(exact);
    bang_text_release(&file);
    return code;
}

/* Version 1 with that dict and size bytes of data. */
static int parse_dict(bang_array *out, const char *dict, const char *data, size_t size,
                      bang_error *err)
{
    char header[300];
    snprintf(header, sizeof header, "\x93NUMPY\x01%c%c%c%s", 0, (int)strlen(dict), 0, dict);
    memcpy(header + 10, dict, strlen(dict));
    return parse(out, header, data, size, err);
}

static void test_what_numpy_wrote(void **state)
{
    (void)state;
    bang_array array;
    bang_error err = {0};
    if (parse(&array, floats_header, floats_data, 24, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(array.dtype, BANG_F32);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], 2);
    assert_int_equal(array.shape[1], 3);
    for (size_t i = 0; i < 6; i++)
        assert_true(bang_array_number(&array, i) == (double)i / 2);
    bang_array_release(&array);
}

/* np.save of np.asfortranarray((np.arange(6).reshape(2, 3) / 2).astype(">i2")) */
static void test_fortran_order_and_other_bytes(void **state)
{
    (void)state;
    static const char header[] =
        "\x93NUMPY\x01\x00v\x00{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }"
        "                                                           \n";
    static const double expected[] = {0, 0, 1, 1, 2, 2};
    bang_array array;
    assert_int_equal(parse(&array, header, "\0\0\0\1\0\0\0\2\0\1\0\2", 12, NULL), 0);
    assert_int_equal(array.dtype, BANG_I16);
    for (size_t i = 0; i < 6; i++)
        assert_true(bang_array_number(&array, i) == expected[i]);
    bang_array_release(&array);
}

/* Three dimensions, compared with the definition of the two orders. */
static void test_fortran_order_of_three_dimensions(void **state)
{
    (void)state;
    char data[24];
    for (int i = 0; i < 24; i++)
        data[i] = (char)i;
    bang_array array;
    assert_int_equal(parse_dict(&array,
                                "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", data,
                                24, NULL),
                     0);
    for (size_t a = 0; a < 2; a++)
        for (size_t b = 0; b < 3; b++)
            for (size_t c = 0; c < 4; c++)
                assert_int_equal(((uint8_t *)array.data)[(a * 3 + b) * 4 + c], a + 2 * (b + 3 * c));
    bang_array_release(&array);
}

static void test_versions_2_and_3(void **state)
{
    (void)state;
    /* np.lib.format.write_array of np.array(-1.5, ">f8") with version (3, 0) */
    char file[] =
        "\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '>f8', 'fortran_order': False, 'shape': (), }"
        "                                                            \n\xbf\xf8\0\0\0\0\0\0";
    for (char version = 2; version <= 3; version++) {
        bang_array array;
        file[6] = version;
        assert_int_equal(bang_npy_parse(&array, file, sizeof file - 1, "x", NULL), 0);
        assert_int_equal(array.rank, 0);
        assert_int_equal(array.count, 1);
        assert_true(bang_array_number(&array, 0) == -1.5);
        bang_array_release(&array);
    }
    bang_array array;
    bang_error err = {0};
    file[6] = 4;
    assert_int_equal(bang_npy_parse(&array, file, sizeof file - 1, "x", &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "version 4.0"));
    file[6] = 2;
    file[11] = 1; /* a header of more than 16 megabytes */
    assert_int_equal(bang_npy_parse(&array, file, sizeof file - 1, "x", &err), BANG_EDATA);
}

static void test_forms_of_the_dict(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "{'descr':'|u1','fortran_order':False,'shape':(2,)}",
        " {\"shape\" : ( 2 , ) , \"descr\" : \"|u1\" , \"fortran_order\" : False , } \n",
        "{'shape': (2L,), 'fortran_order': True, 'descr': '<u1'}",
        "{'shape': (1, 2), 'fortran_order': False, 'descr': '=i1'}",
        "{'shape': (2, 1,), 'fortran_order': False, 'descr': '>b1'}",
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        bang_array array;
        bang_error err = {0};
        if (parse_dict(&array, fine[i], "\1\1", 2, &err) < 0)
            fail_msg("%s: %s", fine[i], err.message);
        assert_int_equal(array.count, 2);
        assert_true(bang_array_number(&array, 1) == 1);
        bang_array_release(&array);
    }
}

static void test_refused_headers(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "structured"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "Python objects"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "\"<c8\" is not known"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", "\"<U3\" is not known"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}", "\"<f16\" is not known"},
        {"{'descr': '<\n4', 'fortran_order': False, 'shape': (2,)}", "\"<?4\" is not known"},
        {"{'descr': 'u1', 'fortran_order': False, 'shape': (2,)}", "not known"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", "not known"},
        {"{'descr': '|u1', 'fortran_order': 0, 'shape': (2,)}", "fortran_order"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': [2]}", "no tuple"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2)}", "brackets"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}", "tuple of sizes"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2 1)}", "tuple of sizes"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,", "tuple of sizes"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,),", "strange key"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         "tuple of sizes"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}",
         "more than 8 dimensions"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "larger than memory"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 2)}",
         "larger than memory"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000,)}",
         "needs 1000000000000 bytes of numbers, but 2 follow: the file is cut"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "no single array"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (0,)}", "no single array"},
        {"{'descr': '|u1', 'fortran_order': False}", "is missing"},
        {"{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "key too many"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'more': 1}", "key too many"},
        {"{'descr': '|u1' 'fortran_order': False, 'shape': (2,)}", "comma"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x", "follows its dict"},
        {"[]", "no dict"},
        {"", "no dict"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bang_array array = {.data = (void *)1};
        bang_error err = {0};
        assert_int_equal(parse_dict(&array, bad[i][0], "\1\1", 2, &err), BANG_EDATA);
        if (!strstr(err.message, bad[i][1]) || strncmp(err.message, "x.npy: ", 7) != 0 ||
            strchr(err.message, '\n'))
            fail_msg("%s: %s", bad[i][0], err.message);
        assert_null(array.data);
    }
}

/* Every beginning of a file is refused, whatever is missing. */
static void test_cut_files(void **state)
{
    (void)state;
    char file[sizeof floats_header - 1 + 24];
    memcpy(file, floats_header, sizeof floats_header - 1);
    memcpy(file + sizeof floats_header - 1, floats_data, 24);
    for (size_t size = 0; size < sizeof file; size++) {
        bang_array array;
        bang_error err = {0};
        char *exact = malloc(size + 1);
        memcpy(exact, file, size);
        exact = realloc(exact, size ? size : 1);
        assert_int_equal(bang_npy_parse(&array, exact, size, "x", &err), BANG_EDATA);
        assert_true(err.message[0]);
        free(exact);
    }
    bang_array array;
    assert_int_equal(bang_npy_parse(&array, NULL, 0, "x", NULL), BANG_EDATA);
    file[0] = 'X';
    assert_int_equal(bang_npy_parse(&array, file, sizeof file, "x", NULL), BANG_EDATA);
}

static size_t written_size(const char *path, const size_t *shape)
{
    bang_array array;
    char *text;
    size_t size;
    assert_int_equal(bang_array_init(&array, BANG_U8, 8, shape, NULL), 0);
    assert_int_equal(bang_npy_write(path, &array, NULL), 0);
    bang_array_release(&array);
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_int_equal(text[size - 1], '\n');
    free(text);
    return size;
}

/* Byte for byte what NumPy wrote. */
static void test_written_bytes(void **state)
{
    const char *path = in_folder(*state, "out.npy");
    bang_array array;
    char *text;
    size_t size;
    assert_int_equal(parse(&array, floats_header, floats_data, 24, NULL), 0);
    assert_int_equal(bang_npy_write(path, &array, NULL), 0);
    bang_array_release(&array);
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_int_equal(size, sizeof floats_header - 1 + 24);
    assert_memory_equal(text, floats_header, sizeof floats_header - 1);
    assert_memory_equal(text + sizeof floats_header - 1, floats_data, 24);
    free(text);
    /* The header would end at a multiple of 64 without padding; NumPy then adds
     * a whole block. One character less, and it does not. */
    size_t shape[] = {0, 1000, 1000, 1000, 1000, 1000, 1000, 100};
    assert_int_equal(written_size(path, shape), 192);
    shape[7] = 10;
    assert_int_equal(written_size(path, shape), 128);
}

static void test_all_types_survive(void **state)
{
    const char *path = in_folder(*state, "out.npy");
    for (int type = 0; type < BANG_DTYPE_COUNT; type++) {
        bang_array array, again;
        bang_error err = {0};
        if (bang_dtype_size((bang_dtype)type) == 0)
            continue; /* not for arrays */
        assert_int_equal(bang_array_init(&array, (bang_dtype)type, 2, (size_t[]){3, 5}, NULL), 0);
        size_t bytes = 15 * bang_dtype_size(array.dtype);
        for (size_t i = 0; i < bytes; i++)
            ((unsigned char *)array.data)[i] = (unsigned char)(i * 37);
        if (type == BANG_BF16 || type > BANG_F64) { /* NumPy has no such type, or we none of it */
            assert_int_equal(bang_npy_write(path, &array, &err), BANG_EUSAGE);
            assert_non_null(strstr(err.message, bang_dtype_name(array.dtype)));
        } else {
            assert_int_equal(bang_npy_write(path, &array, &err), 0);
            assert_int_equal(bang_npy_read(&again, path, &err), 0);
            assert_int_equal(again.dtype, type);
            assert_int_equal(again.shape[1], 5);
            assert_memory_equal(again.data, array.data, bytes);
            bang_array_release(&again);
        }
        bang_array_release(&array);
    }
}

static void check_rows(const char *path, size_t expected, size_t pieces)
{
    const float numbers[] = {1, 2.5F, -3, 4, 5, 6};
    bang_error err = {0};
    bang_npy_rows *rows;
    bang_array array;
    assert_int_equal(bang_npy_rows_begin(&rows, path, 3, expected, &err), 0);
    for (size_t i = 0; i < pieces; i++)
        bang_npy_rows_add(rows, numbers, 2);
    assert_int_equal(bang_npy_rows_commit(rows, &err), 0);
    assert_int_equal(bang_npy_read(&array, path, &err), 0);
    assert_int_equal(array.dtype, BANG_F32);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], 2 * pieces);
    assert_int_equal(array.shape[1], 3);
    for (size_t i = 0; i < pieces; i++)
        assert_memory_equal((float *)array.data + 6 * i, numbers, sizeof numbers);
    /* the same bytes as written at once */
    char *at_once, *by_rows;
    size_t size, other;
    assert_int_equal(bang_file_read(&by_rows, &other, path, &err), 0);
    assert_int_equal(bang_npy_write(path, &array, &err), 0);
    assert_int_equal(bang_file_read(&at_once, &size, path, &err), 0);
    assert_int_equal(size, other);
    assert_memory_equal(at_once, by_rows, size);
    free(at_once);
    free(by_rows);
    bang_array_release(&array);
}

static void test_rows_by_pieces(void **state)
{
    const char *path = in_folder(*state, "rows.npy");
    check_rows(path, 4, 2);
    check_rows(path, 1000000, 2); /* fewer than expected */
    check_rows(path, 6, 0);
    bang_error err = {0};
    bang_npy_rows *rows;
    assert_int_equal(bang_npy_rows_begin(&rows, "/dev/null", 3, 2, &err), 0);
    assert_int_equal(bang_npy_rows_commit(rows, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "2 rows were announced and 0 came"));
    assert_int_equal(bang_npy_rows_begin(&rows, in_folder(*state, "no/rows.npy"), 3, 2, &err),
                     BANG_EIO);
    assert_null(rows);
}

static void test_unreadable(void **state)
{
    bang_array array = {.data = (void *)1};
    bang_error err = {0};
    assert_int_equal(bang_npy_read(&array, in_folder(*state, "none"), &err), BANG_EIO);
    assert_null(array.data);
    assert_int_equal(bang_npy_read(&array, *state, &err), BANG_EIO);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_rows_by_pieces),
        cmocka_unit_test(test_what_numpy_wrote),
        cmocka_unit_test(test_fortran_order_and_other_bytes),
        cmocka_unit_test(test_fortran_order_of_three_dimensions),
        cmocka_unit_test(test_versions_2_and_3),
        cmocka_unit_test(test_forms_of_the_dict),
        cmocka_unit_test(test_refused_headers),
        cmocka_unit_test(test_cut_files),
        IN_FOLDER(test_written_bytes),
        IN_FOLDER(test_all_types_survive),
        IN_FOLDER(test_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
