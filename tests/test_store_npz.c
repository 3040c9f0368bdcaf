/* NumPy's arrays as checkpoints. */
#include "checkpoint_cases.h"

#include "bang/base/file.h"

static void test_npz(void **state)
{
    (void)state;
    static const char *const names[] = {"stored.npz", "deflated.npz"};
    for (int packed = 0; packed < 2; packed++) {
        bang_checkpoint *c = open_vector(names[packed]);
        assert_string_equal(c->format, "npz");
        assert_int_equal(c->count, 10);
        assert_int_equal(strlen(c->files[0].header_digest), 64);
        const bang_entry *weight = check_ramp(c, "weight", BANG_F32, 1, 0.25, SHAPE(2, 3));
        assert_true(bang_entry_is_plain(weight));
        assert_int_equal(weight->file == 0, !packed);
        assert_int_equal(weight->strides != NULL, 0);
        const bang_entry *fortran = check_ramp(c, "fortran", BANG_F32, 1, 0.25, SHAPE(2, 3));
        assert_non_null(fortran->strides);
        const bang_entry *big = check_ramp(c, "big", BANG_F32, 1, 0.25, SHAPE(2, 3));
        assert_true(big->swapped);
        check_ramp(c, "half", BANG_F16, 1, 0.25, SHAPE(2, 3));
        check_ramp(c, "whole", BANG_I64, 1, 1, SHAPE(4));
        check_ramp(c, "truth", BANG_BOOL, 1, -1, SHAPE(2));
        check_ramp(c, "complex", BANG_C64, 0, 1, SHAPE(2));
        check_ramp(c, "scalar", BANG_F64, 3.5, 0, SCALAR);
        check_ramp(c, "empty", BANG_F32, 0, 0, SHAPE(0, 5));
        check_ramp(c, "deep/name", BANG_U16, 0, 1, SHAPE(3));
        bang_checkpoint_close(c);
    }
}

static void test_npy(void **state)
{
    (void)state;
    static const char *const names[] = {"weight.npy", "fortran.npy", "big.npy"};
    for (int i = 0; i < 3; i++) {
        bang_checkpoint *c = open_vector(names[i]);
        assert_string_equal(c->format, "npy");
        assert_int_equal(c->count, 1);
        const bang_entry *entry = check_ramp(c, "array", BANG_F32, 1, 0.25, SHAPE(2, 3));
        assert_int_equal(bang_entry_is_plain(entry), i == 0);
        bang_checkpoint_close(c);
    }
}

static void test_refused(void **state)
{
    (void)state;
    check_refused("objects.npz", "objects.npy: holds Python objects");
    check_refused("mixed.npz", "no checkpoint");
    check_refused("bfloat16.npz", "may be bfloat16");
}

/* A cut file is refused, and so is one whose header says another size. */
static void test_damage(void **state)
{
    (void)state;
    static const char *const names[] = {"stored.npz", "deflated.npz", "weight.npy"};
    for (int n = 0; n < 3; n++) {
        char *data;
        size_t size;
        bang_checkpoint *c;
        bang_error err = {0};
        assert_int_equal(bang_file_read(&data, &size, vector_path(names[n]), &err), 0);
        for (size_t cut = 0; cut < size; cut++) {
            assert_true(bang_checkpoint_parse(&c, data, cut, "cut", &err) < 0);
            assert_null(c);
        }
        char *shape = memmem(data, size, "(2, 3)", 6);
        if (n != 1) {
            assert_non_null(shape);
            shape[1] = '3';
            assert_int_equal(bang_checkpoint_parse(&c, data, size, "x", &err), BANG_EDATA);
            assert_non_null(strstr(err.message, "needs 36 bytes of numbers, but 24 follow"));
        }
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz),
        cmocka_unit_test(test_npy),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
