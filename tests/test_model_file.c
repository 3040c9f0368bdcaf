/* Networks in files: what is written, what is read, what is refused. */
#include "testing.h"

#include "bang/base/file.h"
#include "bang/model/mlp.h"
#include "bang/store/safetensors.h"

static void make_network(bang_mlp *out, int layers, const size_t *width, bang_activation activation)
{
    bang_error err = {0};
    assert_int_equal(bang_mlp_init(out, layers, width, activation, &err), 0);
    bang_mlp_randomise(out, 7, 3);
}

static void assert_same(const bang_mlp *a, const bang_mlp *b)
{
    assert_int_equal(a->layers, b->layers);
    assert_int_equal(a->activation, b->activation);
    assert_memory_equal(a->width, b->width, (size_t)(a->layers + 1) * sizeof *a->width);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->parameters, b->parameters, a->count * sizeof *a->parameters);
}

static void check_round_trip(const char *folder, int layers, const size_t *width,
                             bang_activation activation)
{
    bang_mlp mlp, again;
    bang_error err = {0};
    char *first, *second;
    size_t first_size, second_size;
    const char *path = in_folder(folder, "a.safetensors"), *copy = in_folder(folder, "b");
    make_network(&mlp, layers, width, activation);
    assert_int_equal(bang_mlp_save(&mlp, path, &err), 0);
    assert_int_equal(bang_mlp_load(&again, path, &err), 0);
    assert_same(&mlp, &again);
    assert_int_equal(bang_mlp_save(&again, copy, &err), 0);
    assert_int_equal(bang_file_read(&first, &first_size, path, &err), 0);
    assert_int_equal(bang_file_read(&second, &second_size, copy, &err), 0);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    free(first);
    free(second);
    bang_mlp_release(&mlp);
    bang_mlp_release(&again);
}

static void test_round_trip(void **state)
{
    size_t deep[BANG_MLP_LAYERS_MAX + 1];
    for (size_t i = 0; i <= BANG_MLP_LAYERS_MAX; i++)
        deep[i] = 1 + i % 3;
    check_round_trip(*state, 3, (size_t[]){5, 17, 16, 3}, BANG_RELU);
    check_round_trip(*state, 2, (size_t[]){33, 1, 10}, BANG_GELU);
    check_round_trip(*state, 1, (size_t[]){1, 1}, BANG_TANH);
    check_round_trip(*state, BANG_MLP_LAYERS_MAX, deep, BANG_TANH);
}

static void test_content(void **state)
{
    const char *path = in_folder(*state, "a.safetensors");
    bang_mlp mlp;
    bang_tensors file;
    bang_error err = {0};
    make_network(&mlp, 2, (size_t[]){3, 4, 2}, BANG_GELU);
    assert_int_equal(bang_mlp_save(&mlp, path, &err), 0);
    assert_int_equal(bang_safetensors_read(&file, path, &err), 0);
    assert_int_equal(file.count, 4);
    assert_string_equal(bang_tensors_metadata(&file, "arch"), "mlp");
    assert_string_equal(bang_tensors_metadata(&file, "activation"), "gelu");
    assert_int_equal(json_object_size(file.metadata), 2);
    for (int l = 0; l < 2; l++) {
        char name[32];
        snprintf(name, sizeof name, "%d.weight", 2 * l);
        const bang_array *weight = bang_tensors_find(&file, name);
        snprintf(name, sizeof name, "%d.bias", 2 * l);
        const bang_array *bias = bang_tensors_find(&file, name);
        assert_true(weight && bias && weight->rank == 2 && bias->rank == 1);
        assert_int_equal(weight->shape[0], mlp.width[l + 1]);
        assert_int_equal(weight->shape[1], mlp.width[l]);
        assert_int_equal(bias->shape[0], mlp.width[l + 1]);
        for (size_t j = 0; j < mlp.width[l + 1]; j++) {
            assert_true(((const float *)bias->data)[j] == mlp.bias[l][j]);
            for (size_t i = 0; i < mlp.width[l]; i++)
                assert_true(((const float *)weight->data)[j * mlp.width[l] + i] ==
                            mlp.weight[l][i * mlp.stride[l + 1] + j]);
        }
    }
    bang_tensors_release(&file);
    bang_mlp_release(&mlp);
}

/* A file of tensors whose numbers are all the float 1.5; rank 0 to 2. */
typedef struct spec {
    const char *name;
    bang_dtype dtype;
    int rank;
    size_t shape[2];
} spec;

static void write_tensors(const char *path, const spec *specs, size_t count, const char *key,
                          const char *value)
{
    bang_tensors file = {0};
    bang_error err = {0};
    for (size_t i = 0; i < count; i++) {
        bang_array array;
        assert_int_equal(
            bang_array_init(&array, specs[i].dtype, specs[i].rank, specs[i].shape, &err), 0);
        for (size_t j = 0; j < array.count; j++)
            switch (array.dtype) {
            case BANG_F64:
                ((double *)array.data)[j] = 1.5;
                break;
            case BANG_F32:
                ((float *)array.data)[j] = 1.5F;
                break;
            case BANG_F16:
                ((uint16_t *)array.data)[j] = 0x3e00;
                break;
            case BANG_BF16:
                ((uint16_t *)array.data)[j] = 0x3fc0;
                break;
            default:
                break;
            }
        assert_int_equal(bang_tensors_add(&file, specs[i].name, &array, &err), 0);
    }
    if (key)
        assert_int_equal(bang_tensors_set_metadata(&file, key, value, &err), 0);
    assert_int_equal(bang_safetensors_write(path, &file, &err), 0);
    bang_tensors_release(&file);
}

static void test_foreign(void **state)
{
    static const spec specs[] = {
        {"module.net.10.weight", BANG_F16, 2, {2, 5}}, {"module.net.0.bias", BANG_F64, 1, {4}},
        {"module.net.3.weight", BANG_BF16, 2, {5, 4}}, {"module.net.0.weight", BANG_F64, 2, {4, 3}},
        {"module.net.10.bias", BANG_F32, 1, {2}},
    };
    const char *path = in_folder(*state, "a.safetensors");
    bang_mlp mlp;
    bang_error err = {0};
    write_tensors(path, specs, sizeof specs / sizeof *specs, NULL, NULL);
    assert_int_equal(bang_mlp_load(&mlp, path, &err), 0);
    assert_int_equal(mlp.layers, 3); /* by number: 0, 3, 10 */
    assert_memory_equal(mlp.width, ((size_t[]){3, 4, 5, 2}), 4 * sizeof(size_t));
    assert_int_equal(mlp.activation, BANG_RELU);
    for (int l = 0; l < 3; l++)
        for (size_t j = 0; j < mlp.stride[l + 1]; j++) {
            float used = j < mlp.width[l + 1] ? 1.5F : 0; /* padding stays zero */
            assert_true(mlp.bias[l][j] == (l == 1 ? 0 : used));
            for (size_t i = 0; i < mlp.width[l]; i++)
                assert_true(mlp.weight[l][i * mlp.stride[l + 1] + j] == used);
        }
    bang_mlp_release(&mlp);
    write_tensors(path, (spec[]){{"5.weight", BANG_F32, 2, {1, 1}}}, 1, "activation", "tanh");
    assert_int_equal(bang_mlp_load(&mlp, path, &err), 0);
    assert_int_equal(mlp.activation, BANG_TANH);
    bang_mlp_release(&mlp);
}

static void refuse(const char *folder, const spec *specs, size_t count, const char *key,
                   const char *value, const char *why)
{
    const char *path = in_folder(folder, "bad.safetensors");
    char expected[2048];
    bang_mlp mlp;
    bang_error err = {0};
    write_tensors(path, specs, count, key, value);
    assert_int_equal(bang_mlp_load(&mlp, path, &err), BANG_EDATA);
    snprintf(expected, sizeof expected, "%s: %s", path, why);
    assert_string_equal(err.message, expected);
    assert_null(mlp.parameters);
}
#define REFUSE(why, ...)                                                                           \
    refuse(*state, (const spec[]){__VA_ARGS__}, sizeof((spec[]){__VA_ARGS__}) / sizeof(spec),      \
           NULL, NULL, why)

static void test_refuses(void **state)
{
    static const spec good[] = {{"0.weight", BANG_F32, 2, {1, 1}}};
    refuse(*state, good, 0, NULL, NULL, "no layer: a network has 0.weight (outputs, inputs), ...");
    refuse(*state, good, 1, "arch", "vit", "metadata: arch is vit: must be mlp");
    refuse(*state, good, 1, "activation", "silu",
           "metadata: activation is silu: must be relu, gelu or tanh");
    REFUSE("weight: no layer's: layers are named N.weight and N.bias",
           {"weight", BANG_F32, 2, {1, 1}});
    REFUSE("fc1.weight: no layer's: layers are named N.weight and N.bias",
           {"fc1.weight", BANG_F32, 2, {1, 1}});
    REFUSE(".weight: no layer's: layers are named N.weight and N.bias",
           {".weight", BANG_F32, 2, {1, 1}});
    REFUSE("1234567890.weight: no layer's: layers are named N.weight and N.bias",
           {"1234567890.weight", BANG_F32, 2, {1, 1}});
    REFUSE("0.weight: type I32: must be F16, BF16, F32 or F64", {"0.weight", BANG_I32, 2, {1, 1}});
    REFUSE("0.weight: shape (0, 4): must be (outputs, inputs)", {"0.weight", BANG_F32, 2, {0, 4}});
    REFUSE("0.bias: has no weight beside it", {"0.bias", BANG_F32, 1, {4}});
    REFUSE("01.weight and 1.weight: are the same layer", {"1.weight", BANG_F32, 2, {1, 1}},
           {"01.weight", BANG_F32, 2, {1, 1}});
    REFUSE("a.0.weight and b.2.weight: are parts of two networks",
           {"a.0.weight", BANG_F32, 2, {1, 1}}, {"b.2.weight", BANG_F32, 2, {1, 1}});
    /* a normalisation layer, and all that is wrong with each tensor at once */
    REFUSE("1.running_mean: no layer's: layers are named N.weight and N.bias; "
           "1.weight: shape (2,): must be (outputs, inputs); "
           "1.bias: type BOOL: must be F16, BF16, F32 or F64; 1.bias: shape (): must be (outputs)",
           {"0.weight", BANG_F64, 2, {2, 1}}, {"1.weight", BANG_F32, 1, {2}},
           {"1.running_mean", BANG_F32, 1, {2}}, {"1.bias", BANG_BOOL, 0, {0}});
    REFUSE("0.bias: 3 numbers: 0.weight has 4 outputs; 2.weight: reads 5 numbers: 0.weight puts "
           "out 4",
           {"0.weight", BANG_F32, 2, {4, 2}}, {"0.bias", BANG_F32, 1, {3}},
           {"2.weight", BANG_F32, 2, {1, 5}});
}

static void test_refuses_sizes(void **state)
{
    enum { MANY = BANG_MLP_LAYERS_MAX + 1 };
    spec specs[MANY];
    char names[MANY][16];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%d.weight", i);
        specs[i] = (spec){names[i], BANG_F32, 2, {1, 1}};
    }
    refuse(*state, specs, MANY, NULL, NULL, "33 layers: at most 32 are read");
    bang_mlp mlp;
    bang_error err = {0};
    assert_int_equal(bang_mlp_load(&mlp, in_folder(*state, "none"), &err), BANG_EIO);
    assert_null(mlp.parameters);
    assert_int_equal(bang_file_put(in_folder(*state, "text"), "no model", 8, &err), 0);
    assert_int_equal(bang_mlp_load(&mlp, in_folder(*state, "text"), &err), BANG_EDATA);
    /* the target stays as it was */
    make_network(&mlp, 1, (size_t[]){1, 1}, BANG_RELU);
    assert_int_equal(bang_mlp_save(&mlp, in_folder(*state, "none/model"), &err), BANG_EIO);
    bang_mlp_release(&mlp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_content, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_foreign, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_refuses, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_refuses_sizes, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
