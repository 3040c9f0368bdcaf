/* Subsets of outputs, and what labels mean with them. */
#include "testing.h"

#include "bang/measure/subset.h"

static const char *const keys[] = {"n01", "n02", "n03", "n04", "7",
                                   "n06", "n07", "n08", "n09", "n10"};
static const char *const names[] = {"cat", "dog",  "great white shark", "crane", "3",
                                    "dog", "dogs", "tench, Tinca",      "5-6",   "crane"};
static const bang_output_names ten = {10, keys, names};

/* Parses text; the outputs, in order, must be those of `expected`, (count). */
static void check_parse(const char *text, const bang_output_names *with, const uint32_t *expected,
                        size_t count)
{
    bang_class_outputs found;
    bang_error err = {0};
    if (bang_class_outputs_parse(&found, text, with, 10, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(found.classes, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found.first[i], i);
        assert_int_equal(found.output[i], expected[i]);
    }
    assert_int_equal(found.first[count], count);
    bang_class_outputs_release(&found);
    assert_null(found.first);
}

#define PARSES(text, with, ...)                                                                    \
    check_parse(text, with, (const uint32_t[]){__VA_ARGS__},                                       \
                sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void test_lists(void **state)
{
    (void)state;
    PARSES("3", NULL, 3);
    PARSES("0,3,5-9", NULL, 0, 3, 5, 6, 7, 8, 9);
    PARSES("9 0,\t2\n\n 1 ,4\r\n6\r\n", NULL, 9, 0, 2, 1, 4, 6); /* in the order that is written */
    PARSES("4-4", NULL, 4);
    PARSES("007,", NULL, 7);
    PARSES("\xef\xbb\xbf"
           "1,2",
           NULL, 1, 2);
}

static void test_names(void **state)
{
    (void)state;
    PARSES("cat\nn02\n", &ten, 0, 1);
    PARSES("cat,n02 2", &ten, 0, 1, 2);
    PARSES("great white shark\ndogs", &ten, 2, 6);
    PARSES("great white shark, cat n02", &ten, 2, 0, 1);
    PARSES("tench, Tinca\r\n1", &ten, 7, 1); /* a line is tried before its parts */
}

static void refuse(const char *text, const bang_output_names *with, const char *why)
{
    bang_class_outputs found = {.classes = 7};
    bang_error err = {0};
    int rc = bang_class_outputs_parse(&found, text, with, 10, &err);
    if (rc != BANG_EDATA || found.classes || found.first || !strstr(err.message, why) ||
        strchr(err.message, '\n'))
        fail_msg("%.40s: %d, not \"%s\": %s", text, rc, why, err.message);
}

static void test_refused_lists(void **state)
{
    (void)state;
    refuse("", NULL, "no class: name at least one");
    refuse(" ,\n, ", NULL, "no class");
    refuse("0,10", NULL, "\"10\" is beyond the last output; outputs are 0 to 9");
    refuse("3-12", NULL, "\"3-12\" is beyond");
    refuse("99999999999999999999999", NULL, "is beyond");
    refuse("0-99999999999999999999999", NULL, "is beyond");
    refuse("5-3", NULL, "\"5-3\" is a range that ends before it begins");
    refuse("1,2,1", NULL, "output 1: is class 0 and class 2: an output is one class");
    refuse("1-3,2-5", NULL, "output 2: is class 1 and class 3");
    refuse("1-3,2-5", NULL, "2 such in all");
    refuse("0-9,0-9,0-9,0-9", NULL, "output 0: is class 0 and class 10");
    refuse("-1", NULL, "\"-1\" is no number of an output");
    refuse("1-", NULL, "\"1-\" is no number of an output");
    refuse("1-2-3", NULL, "\"1-2-3\" is no number");
    refuse("1.5", NULL, "\"1.5\" is no number");
    refuse("cat", NULL, "\"cat\" is no number of an output; outputs are 0 to 9");
    refuse("a b c d e f g", NULL, "\"e\" is no number of an output; and 2 more; outputs");
    refuse("a\x01"
           "b",
           NULL, "\"a?b\" is no number");
}

static void test_refused_names(void **state)
{
    (void)state;
    refuse("cow", &ten, "\"cow\" is neither the number of an output nor a name of one");
    refuse("ca", &ten, "\"ca\" is neither");
    refuse("dog", &ten, "\"dog\" is the name of several outputs: write its number");
    refuse("cat,dog", &ten, "\"dog\" is the name of several");
    refuse("3", &ten, "\"3\" is the number of one output and the name of another");
    refuse("7", &ten, "\"7\" is the number of one output and the name of another");
    refuse("5-6", &ten, "\"5-6\" is the number");
    refuse("cat,n01", &ten, "output 0: is class 0 and class 1");
    refuse("great white", &ten, "\"great\" is neither");
}

static void test_numbers_of_outputs(void **state)
{
    (void)state;
    bang_class_outputs found;
    bang_error err = {0};
    assert_int_equal(bang_class_outputs_of(&found, (int64_t[]){4, 2}, 2, 5, &err), 0);
    assert_int_equal(found.classes, 2);
    assert_int_equal(found.output[0], 4);
    assert_int_equal(found.output[1], 2);
    bang_class_outputs_release(&found);
    assert_int_equal(bang_class_outputs_of(&found, (int64_t[]){4, -1, 5}, 3, 5, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "output -1: there are 0 to 4; 2 such in all"));
    assert_int_equal(bang_class_outputs_of(&found, NULL, 0, 5, &err), BANG_EDATA);
    assert_int_equal(bang_class_outputs_of(&found, (int64_t[]){0}, 1, 0, &err), BANG_EDATA);
}

/* Labels of some type, all from the same numbers; (count) or (count, 1). */
static bang_array make_labels(bang_dtype dtype, int rank, const int64_t *numbers, size_t count)
{
    bang_array out;
    size_t shape[] = {count, 1};
    assert_int_equal(bang_array_init(&out, dtype, rank, shape, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        unsigned char *to = (unsigned char *)out.data + i * bang_dtype_size(dtype);
        switch (bang_dtype_size(dtype)) {
        case 1:
            *to = (unsigned char)numbers[i];
            break;
        case 2:
            memcpy(to, &(uint16_t){(uint16_t)numbers[i]}, 2);
            break;
        case 4:
            memcpy(to, &(uint32_t){(uint32_t)numbers[i]}, 4);
            break;
        default:
            memcpy(to, &numbers[i], 8);
        }
    }
    return out;
}

static const uint32_t singles_first[] = {0, 1, 2, 3};
static const uint32_t singles_output[] = {6, 11, 13};
static const bang_class_outputs singles = {3, singles_first, singles_output};

static void test_types_of_labels(void **state)
{
    (void)state;
    static const bang_dtype types[] = {BANG_U8,  BANG_I8,  BANG_U16, BANG_I16,
                                       BANG_U32, BANG_I32, BANG_U64, BANG_I64};
    const int64_t numbers[] = {0, 2, 99, 1};
    for (size_t t = 0; t < 8; t++)
        for (int rank = 1; rank <= 2; rank++) {
            bang_array labels = make_labels(types[t], rank, numbers, 4);
            bang_label out[4];
            bang_numbered how;
            bang_error err = {0};
            if (bang_labels_number(out, &how, &labels, 100, NULL, BANG_NUMBERS_AUTO, &err) < 0)
                fail_msg("%s", err.message);
            for (size_t i = 0; i < 4; i++)
                assert_int_equal(out[i], numbers[i]);
            assert_int_equal(how.left_out, 0);
            assert_int_equal(
                bang_labels_number(out, &how, &labels, 99, NULL, BANG_NUMBERS_AUTO, &err),
                BANG_EDATA);
            assert_string_equal(err.message, "1 of 4 labels is out of range: the first is 99, in "
                                             "row 2 (from 0), but classes are 0 to 98");
            bang_array_release(&labels);
        }
}

/* What the numbers become, as text, and how they were taken. */
static void check_numbers(const int64_t *numbers, size_t count, size_t outputs,
                          const bang_class_outputs *columns, bang_numbers as,
                          const bang_label *expected, bang_numbers taken, int doubtful)
{
    bang_array labels = make_labels(BANG_I64, 1, numbers, count);
    bang_label out[16];
    bang_numbered how;
    bang_error err = {0};
    size_t left_out = 0;
    if (bang_labels_number(out, &how, &labels, outputs, columns, as, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(out[i], expected[i]);
        left_out += expected[i] == BANG_LEFT_OUT;
    }
    assert_int_equal(how.numbers, taken);
    assert_int_equal(how.doubtful, doubtful);
    assert_int_equal(how.left_out, left_out);
    bang_array_release(&labels);
}

static void test_places_and_outputs(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 1, 2, 3}, output[] = {6, 4, 13};
    static const bang_class_outputs high = {3, first, output};
    /* all below 3, and none is an output of the subset */
    check_numbers((int64_t[]){0, 2, 1}, 3, 20, &high, BANG_NUMBERS_AUTO, (bang_label[]){0, 2, 1},
                  BANG_NUMBERS_PLACES, 0);
    /* one is 3 or more */
    check_numbers((int64_t[]){6, 13, 2, 6, 3}, 5, 20, &singles, BANG_NUMBERS_AUTO,
                  (bang_label[]){0, 2, -1, 0, -1}, BANG_NUMBERS_OUTPUTS, 0);
    check_numbers((int64_t[]){0, 2, 6}, 3, 20, &singles, BANG_NUMBERS_OUTPUTS,
                  (bang_label[]){-1, -1, 0}, BANG_NUMBERS_OUTPUTS, 0);
    check_numbers((int64_t[]){0, 2, 1}, 3, 20, &singles, BANG_NUMBERS_PLACES,
                  (bang_label[]){0, 2, 1}, BANG_NUMBERS_PLACES, 0);
}

static void test_doubtful_numbers(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 1, 2, 3}, output[] = {2, 1, 0};
    static const bang_class_outputs turned = {3, first, output};
    static const uint32_t same[] = {0, 1, 2};
    static const bang_class_outputs in_order = {3, first, same};
    check_numbers((int64_t[]){0, 1}, 2, 20, &turned, BANG_NUMBERS_AUTO, (bang_label[]){0, 1},
                  BANG_NUMBERS_PLACES, 1);
    /* 1 is both the same */
    check_numbers((int64_t[]){1, 1}, 2, 20, &turned, BANG_NUMBERS_AUTO, (bang_label[]){1, 1},
                  BANG_NUMBERS_PLACES, 0);
    check_numbers((int64_t[]){2, 0}, 2, 20, &in_order, BANG_NUMBERS_AUTO, (bang_label[]){2, 0},
                  BANG_NUMBERS_PLACES, 0);
    check_numbers((int64_t[]){0, 1}, 2, 20, &turned, BANG_NUMBERS_OUTPUTS, (bang_label[]){2, 1},
                  BANG_NUMBERS_OUTPUTS, 0);
    /* as outputs, 2 would be left out */
    static const uint32_t few[] = {1, 0, 9};
    static const bang_class_outputs some = {3, first, few};
    check_numbers((int64_t[]){0, 2, 1}, 3, 20, &some, BANG_NUMBERS_AUTO, (bang_label[]){0, 2, 1},
                  BANG_NUMBERS_PLACES, 1);
}

static void test_classes_of_several_outputs(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 2, 3, 5}, output[] = {4, 9, 6, 7, 8};
    static const bang_class_outputs map = {3, first, output};
    check_numbers((int64_t[]){9, 4, 8, 6, 5}, 5, 10, &map, BANG_NUMBERS_AUTO,
                  (bang_label[]){0, 0, 2, 1, -1}, BANG_NUMBERS_OUTPUTS, 0);
    check_numbers((int64_t[]){2, 0}, 2, 10, &map, BANG_NUMBERS_AUTO, (bang_label[]){2, 0},
                  BANG_NUMBERS_PLACES, 0);
}

static void refuse_labels(const int64_t *numbers, size_t count, const bang_class_outputs *columns,
                          bang_numbers as, const char *why)
{
    bang_array labels = make_labels(BANG_I64, 1, numbers, count);
    bang_label out[16];
    bang_numbered how;
    bang_error err = {0};
    int rc = bang_labels_number(out, &how, &labels, 20, columns, as, &err);
    if (rc != BANG_EDATA || !strstr(err.message, why))
        fail_msg("%d, not \"%s\": %s", rc, why, err.message);
    bang_array_release(&labels);
}

static void test_labels_out_of_range(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 2, 4}, output[] = {4, 9, 9, 7};
    static const bang_class_outputs shared = {2, first, output};
    refuse_labels((int64_t[]){3, 20, 25, INT64_MIN}, 4, NULL, BANG_NUMBERS_AUTO,
                  "3 of 4 labels are out of range: the first is 20, in row 1 (from 0), but classes "
                  "are 0 to 19");
    refuse_labels((int64_t[]){3, -1}, 2, NULL, BANG_NUMBERS_AUTO,
                  "is -1, in row 1 (from 0), but classes are 0 to 19: bang predict writes -1");
    refuse_labels((int64_t[]){1, 20}, 2, NULL, BANG_NUMBERS_AUTO, "they begin at 1: give y - 1");
    refuse_labels((int64_t[]){6, 20}, 2, &singles, BANG_NUMBERS_AUTO,
                  "but outputs of the model are 0 to 19");
    refuse_labels((int64_t[]){0, -1}, 2, &singles, BANG_NUMBERS_AUTO,
                  "but places in the subset are 0 to 2: bang predict");
    refuse_labels((int64_t[]){0, 6}, 2, &singles, BANG_NUMBERS_PLACES,
                  "places in the subset are 0 to 2: are they outputs of the model");
    refuse_labels((int64_t[]){5, 5}, 2, &singles, BANG_NUMBERS_AUTO,
                  "no label is an output of the subset");
    static const uint32_t each[] = {0, 1, 2, 3}, few[] = {3, 17, 12};
    static const bang_class_outputs lacks_one = {3, each, few};
    refuse_labels(
        (int64_t[]){0, 1, 2, 3}, 4, &lacks_one, BANG_NUMBERS_AUTO,
        "labels up to 3 are too large for places in a subset of 3 classes, and as outputs "
        "of the model 3 of 4 are outside");
    refuse_labels((int64_t[]){4, 9}, 2, &shared, BANG_NUMBERS_AUTO,
                  "label 9 in row 1 is an output of several classes");
}

static void test_huge_labels(void **state)
{
    (void)state;
    bang_array labels;
    bang_label out[1];
    bang_numbered how;
    bang_error err = {0};
    assert_int_equal(bang_array_init(&labels, BANG_U64, 1, (size_t[]){1}, NULL), 0);
    memset(labels.data, 255, 8);
    assert_int_equal(bang_labels_number(out, &how, &labels, 20, NULL, BANG_NUMBERS_AUTO, &err),
                     BANG_EDATA);
    assert_non_null(strstr(err.message, "the first is 18446744073709551615, in row 0"));
    bang_array_release(&labels);
}

static void test_arrays_that_are_no_labels(void **state)
{
    (void)state;
    static const struct {
        bang_dtype dtype;
        int rank;
        size_t shape[3];
        const char *why;
    } bad[] = {
        {BANG_F32, 1, {4}, "is F32: labels are whole numbers: give y.astype(\"int64\")"},
        {BANG_BOOL, 1, {4}, "is BOOL"},
        {BANG_I64,
         2,
         {4, 3},
         "shape (4, 3): a class number for each row is needed, (rows,): give "
         "y.argmax(1)"},
        {BANG_F32, 2, {4, 3}, "y.argmax(1)"},
        {BANG_I64, 0, {0}, "shape ()"},
        {BANG_I64, 3, {4, 1, 1}, "shape (4, 1, 1)"},
        {BANG_F16, 2, {4, 1}, "is F16"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bang_array labels;
        bang_label out[16];
        bang_numbered how;
        bang_error err = {0};
        assert_int_equal(bang_array_init(&labels, bad[i].dtype, bad[i].rank, bad[i].shape, NULL),
                         0);
        assert_int_equal(bang_labels_number(out, &how, &labels, 3, NULL, BANG_NUMBERS_AUTO, &err),
                         BANG_EDATA);
        if (!strstr(err.message, bad[i].why))
            fail_msg("not \"%s\": %s", bad[i].why, err.message);
        bang_array_release(&labels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused_lists),
        cmocka_unit_test(test_refused_names),
        cmocka_unit_test(test_numbers_of_outputs),
        cmocka_unit_test(test_types_of_labels),
        cmocka_unit_test(test_places_and_outputs),
        cmocka_unit_test(test_doubtful_numbers),
        cmocka_unit_test(test_classes_of_several_outputs),
        cmocka_unit_test(test_labels_out_of_range),
        cmocka_unit_test(test_huge_labels),
        cmocka_unit_test(test_arrays_that_are_no_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
