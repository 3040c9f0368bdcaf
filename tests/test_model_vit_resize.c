/* Positions of a vision transformer on another grid. */
#include "testing.h"

#include "bang/model/vit.h"

static bang_vit_config config_of(size_t grid)
{
    return (bang_vit_config){.image = 4 * grid,
                             .patch = 4,
                             .channels = 1,
                             .width = 2,
                             .depth = 1,
                             .heads = 1,
                             .hidden = 3,
                             .classes = 2,
                             .epsilon = 1e-6};
}

static void make(bang_vit *vit, size_t grid)
{
    bang_error err = {0};
    bang_vit_config config = config_of(grid);
    assert_int_equal(bang_vit_init(vit, &config, &err), 0);
    for (size_t i = 0; i < vit->map.count; i++)
        vit->parameters[i] = (float)i;
    float *positions = vit->parameters + vit->map.positions + 2;
    for (size_t i = 0; i < grid * grid; i++)
        for (size_t k = 0; k < 2; k++)
            positions[2 * i + k] = (float)((i * 7 + k * 3) % 11) / 4 - 1;
}

/* From torch 1.13: interpolate(x, size, mode="bicubic", antialias=True) in double. */
static const double larger[] = {
    -1.22951938,  -0.328358209, 0.126418888,   0.930038186,  0.52267079,   1.26259197,
    -0.289179104, 0.460820896,  0.583044204,   -0.480566648, 0.671146679,  0.777829747,
    0.239459301,  1.11038354,   -0.441387543,  0.308612457,  1.64440368,   -0.702269173,
    0.904566878,  0.556127222,  -0.0677926093, 0.88868101,   -0.663090069, 0.0869099312,
    1.2891791,    -0.854477612, 0.68034535,    0.403918783,  -0.206464753, 0.736472572,
    -0.815298507, -0.0652985075};
static const double smaller[] = {-0.0238072878, 0.48304846,  0.531602179, 0.131902705,
                                 0.273055973,   0.250046957, 0.298600676, 0.214641247};

static void check(size_t from, size_t to, const double *expected)
{
    bang_error err = {0};
    bang_vit vit, before;
    make(&vit, from);
    make(&before, from);
    assert_int_equal(bang_vit_resize(&vit, 4 * to, &err), 0);
    assert_int_equal(vit.config.image, 4 * to);
    assert_int_equal(vit.map.count, before.map.count + 2 * to * to - 2 * from * from);
    const float *positions = vit.parameters + vit.map.positions;
    for (size_t i = 0; i < 2 * to * to; i++)
        assert_float_equal(positions[2 + i], expected[i], 1e-6);
    /* the class token's, and all other tensors */
    assert_memory_equal(positions, before.parameters + before.map.positions, 2 * sizeof(float));
    for (size_t t = 0; t < vit.map.tensor_count; t++) {
        const bang_vit_tensor *now = &vit.map.tensors[t], *then = &before.map.tensors[t];
        if (now->offset != vit.map.positions)
            assert_memory_equal(vit.parameters + now->offset, before.parameters + then->offset,
                                now->count * sizeof(float));
    }
    bang_vit_release(&vit);
    bang_vit_release(&before);
}

static void test_as_torch(void **state)
{
    (void)state;
    check(3, 4, larger);
    check(4, 2, smaller);
}

static void test_same_size_and_wrong_ones(void **state)
{
    bang_error err = {0};
    bang_vit vit;
    (void)state;
    make(&vit, 3);
    const float *parameters = vit.parameters;
    assert_int_equal(bang_vit_resize(&vit, 12, &err), 0);
    assert_ptr_equal(vit.parameters, parameters);
    assert_int_equal(bang_vit_resize(&vit, 13, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "does not divide"));
    assert_int_equal(bang_vit_resize(&vit, 0, &err), BANG_EUSAGE);
    assert_ptr_equal(vit.parameters, parameters);
    assert_int_equal(vit.config.image, 12);
    bang_vit_release(&vit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_torch),
        cmocka_unit_test(test_same_size_and_wrong_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
