/* What the tests of checkpoints share: the files of tests/data/checkpoints (made by
 * tools/make-checkpoint-vectors), whose numbers follow a formula. */
#ifndef BANG_TESTS_CHECKPOINT_CASES_H
#define BANG_TESTS_CHECKPOINT_CASES_H

#include "testing.h"

#include "bang/store/checkpoint.h"

static inline const char *vector_path(const char *name)
{
    const char *source = getenv("BANG_SOURCE");
    return in_folder(in_folder(source ? source : ".", "tests/data/checkpoints"), name);
}

static inline bang_checkpoint *open_vector(const char *name)
{
    bang_checkpoint *c = NULL;
    bang_error err = {0};
    if (bang_checkpoint_open(&c, vector_path(name), &err) < 0)
        fail_msg("%s", err.message);
    return c;
}

/* That opening fails, with a message of one line that has this in it. */
static inline void check_refused(const char *name, const char *why)
{
    bang_checkpoint *c = NULL;
    bang_error err = {0};
    assert_int_equal(bang_checkpoint_open(&c, vector_path(name), &err), BANG_EDATA);
    assert_null(c);
    assert_null(strchr(err.message, '\n'));
    if (!strstr(err.message, why))
        fail_msg("\"%s\" is not in: %s", why, err.message);
}

/* Number index of a tensor, of the types that the vectors have. */
static inline double number_at(const bang_checkpoint *c, const bang_entry *entry, uint64_t index)
{
    bang_error err = {0};
    bang_array one;
    assert_int_equal(bang_array_init(&one, entry->dtype, 0, NULL, &err), 0);
    size_t size = bang_dtype_size(entry->dtype);
    if (bang_checkpoint_read(c, entry, index * size, one.data, size, &err) < 0)
        fail_msg("%s", err.message);
    float real;
    memcpy(&real, one.data, entry->dtype == BANG_C64 ? sizeof real : 1);
    double number = entry->dtype == BANG_C64 ? (double)real : bang_array_number(&one, 0);
    bang_array_release(&one);
    return number;
}

/* A tensor of that shape (up to 4 sizes, -1 ends them), numbers first + step * i. */
static inline const bang_entry *check_ramp(const bang_checkpoint *c, const char *name,
                                           bang_dtype dtype, double first, double step,
                                           const int *shape)
{
    const bang_entry *entry = bang_checkpoint_find(c, name);
    if (!entry)
        fail_msg("%s: no tensor %s", c->path, name);
    assert_string_equal(bang_dtype_name(entry->dtype), bang_dtype_name(dtype));
    int rank = 0;
    uint64_t count = 1;
    for (; shape[rank] >= 0; rank++) {
        assert_true(rank < entry->rank);
        assert_int_equal(entry->shape[rank], shape[rank]);
        count *= (uint64_t)shape[rank];
    }
    assert_int_equal(entry->rank, rank);
    assert_int_equal(entry->bytes, count * bang_dtype_size(dtype));
    for (uint64_t i = 0; i < count; i++) {
        double expected = first + step * (double)i, found = number_at(c, entry, i);
        if (found != expected)
            fail_msg("%s: number %d is %g, not %g", name, (int)i, found, expected);
    }
    return entry;
}
#define SHAPE(...) ((const int[]){__VA_ARGS__, -1})
#define SCALAR ((const int[]){-1})

/* 1 if one of the notes has this in it. */
static inline int has_note(const bang_checkpoint *c, const char *text)
{
    for (size_t i = 0; i < json_array_size(c->notes); i++)
        if (strstr(json_string_value(json_array_get(c->notes, i)), text))
            return 1;
    return 0;
}

#endif
