/* Networks in safetensors files, with the names of PyTorch's nn.Sequential. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/model/mlp.h"
#include "bang/store/safetensors.h"
#include "model/layout.h"

/* One layer of a file. */
typedef struct part {
    const char *prefix; /* of its name, size bytes, borrowed */
    size_t size;
    unsigned long number;
    const bang_tensor *weight, *bias; /* NULL while not seen */
} part;

typedef struct reading {
    const bang_tensors *tensors;
    part *parts; /* (count) sorted by number at the end */
    size_t count;
    bang_text problems; /* "; what: why" each */
} reading;

static int add_tensor(bang_tensors *file, int layer, const char *what, bang_array *array,
                      bang_error *err)
{
    char name[32];
    /* an activation stands between two layers and has a number of its own */
    snprintf(name, sizeof name, "%d.%s", 2 * layer, what);
    int rc = bang_tensors_add(file, name, array, err);
    bang_array_release(array);
    return rc;
}

static int add_layer(bang_tensors *file, const bang_mlp *mlp, int l, bang_error *err)
{
    size_t in = mlp->width[l], out = mlp->width[l + 1], stride = mlp->stride[l + 1];
    bang_array array;
    int rc = bang_array_init(&array, BANG_F32, 2, (size_t[]){out, in}, err);
    if (rc < 0)
        return rc;
    float *numbers = array.data;
    for (size_t i = 0; i < in; i++)
        for (size_t j = 0; j < out; j++)
            numbers[j * in + i] = mlp->weight[l][i * stride + j];
    rc = add_tensor(file, l, "weight", &array, err);
    if (rc == 0)
        rc = bang_array_init(&array, BANG_F32, 1, &out, err);
    if (rc < 0)
        return rc;
    memcpy(array.data, mlp->bias[l], out * sizeof *numbers);
    return add_tensor(file, l, "bias", &array, err);
}

int bang_mlp_save(const bang_mlp *mlp, const char *path, bang_error *err)
{
    bang_tensors file = {0};
    int rc = bang_tensors_set_metadata(&file, "arch", "mlp", err);
    if (rc == 0)
        rc = bang_tensors_set_metadata(&file, "activation", bang_activation_name(mlp->activation),
                                       err);
    for (int l = 0; rc == 0 && l < mlp->layers; l++)
        rc = add_layer(&file, mlp, l, err);
    if (rc == 0)
        rc = bang_safetensors_write(path, &file, err);
    bang_tensors_release(&file);
    return rc;
}

static part *find_part(reading *r, const char *prefix, size_t size, unsigned long number)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->parts[i].number == number && r->parts[i].size == size &&
            memcmp(r->parts[i].prefix, prefix, size) == 0)
            return &r->parts[i];
    r->parts[r->count] = (part){.prefix = prefix, .size = size, .number = number};
    return &r->parts[r->count++];
}

/* Puts a tensor into the layer that its name says. */
static void take_tensor(reading *r, const bang_tensor *tensor)
{
    const bang_array *array = &tensor->array;
    size_t size;
    unsigned long number;
    const char *what;
    char shape[160];
    bang_array_shape_text(shape, sizeof shape, array);
    int weight = 0;
    if (bang_layout_split(tensor->name, &size, &number, &what) < 0 ||
        ((weight = strcmp(what, "weight") == 0) == 0 && strcmp(what, "bias") != 0)) {
        bang_text_add(&r->problems, "; %.80s: no layer's: layers are named N.weight and N.bias",
                      tensor->name);
        return;
    }
    if (array->dtype < BANG_F16)
        bang_text_add(&r->problems, "; %.80s: type %s: must be F16, BF16, F32 or F64", tensor->name,
                      bang_dtype_name(array->dtype));
    if (array->rank != (weight ? 2 : 1) || array->count == 0)
        bang_text_add(&r->problems, "; %.80s: shape %s: must be %s", tensor->name, shape,
                      weight ? "(outputs, inputs)" : "(outputs)");
    part *layer = find_part(r, tensor->name, size, number);
    const bang_tensor **place = weight ? &layer->weight : &layer->bias;
    if (*place) /* 1.weight and 01.weight */
        bang_text_add(&r->problems, "; %.80s and %.80s: are the same layer", (*place)->name,
                      tensor->name);
    *place = tensor;
}

static int by_number(const void *left, const void *right)
{
    const part *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* What is wrong between tensors that are right each by itself. */
static void check_parts(reading *r)
{
    bang_text *problems = &r->problems;
    for (size_t i = 0; i < r->count; i++) {
        const part *layer = &r->parts[i], *before = i ? layer - 1 : NULL;
        const bang_tensor *any = layer->weight ? layer->weight : layer->bias;
        if (before && (before->size != layer->size ||
                       memcmp(before->prefix, layer->prefix, layer->size) != 0)) {
            bang_text_add(problems, "; %.80s and %.80s: are parts of two networks",
                          before->weight ? before->weight->name : before->bias->name, any->name);
            return;
        }
        if (!layer->weight)
            bang_text_add(problems, "; %.80s: has no weight beside it", any->name);
        else if (layer->bias && layer->bias->array.shape[0] != layer->weight->array.shape[0])
            bang_text_add(problems, "; %.80s: %zu numbers: %.80s has %zu outputs",
                          layer->bias->name, layer->bias->array.shape[0], layer->weight->name,
                          layer->weight->array.shape[0]);
        if (before && before->weight && layer->weight &&
            before->weight->array.shape[0] != layer->weight->array.shape[1])
            bang_text_add(problems, "; %.80s: reads %zu numbers: %.80s puts out %zu",
                          layer->weight->name, layer->weight->array.shape[1], before->weight->name,
                          before->weight->array.shape[0]);
    }
    if (r->count == 0)
        bang_text_add(problems, "; no layer: a network has 0.weight (outputs, inputs), ...");
    if (r->count > BANG_MLP_LAYERS_MAX)
        bang_text_add(problems, "; %zu layers: at most %d are read", r->count, BANG_MLP_LAYERS_MAX);
}

/* The layers of the file, or all that is wrong with it in one message. */
static int find_layers(reading *r, bang_activation *activation, const char *path, bang_error *err)
{
    const bang_tensors *tensors = r->tensors;
    const char *arch = bang_tensors_metadata(tensors, "arch");
    const char *name = bang_tensors_metadata(tensors, "activation");
    bang_error why = {0};
    r->parts = calloc(tensors->count + 1, sizeof *r->parts);
    if (!r->parts)
        return bang_fail_memory(err);
    *activation = BANG_RELU;
    if (arch && strcmp(arch, "mlp") != 0)
        bang_text_add(&r->problems, "; metadata: arch is %.40s: must be mlp", arch);
    if (name && bang_activation_find(activation, name) < 0)
        bang_text_add(&r->problems, "; metadata: activation is %.40s: must be relu, gelu or tanh",
                      name);
    for (size_t i = 0; i < tensors->count; i++)
        take_tensor(r, &tensors->items[i]);
    qsort(r->parts, r->count, sizeof *r->parts, by_number);
    if (!r->problems.size) /* else shapes cannot be relied on */
        check_parts(r);
    int rc = bang_text_fail(&r->problems, &why);
    if (rc == BANG_EMEMORY)
        return bang_fail_memory(err);
    return rc < 0 ? bang_fail(err, BANG_EDATA, "%s: %s", path, why.message) : 0;
}

static int fill(bang_mlp *out, const part *parts, bang_error *err)
{
    for (int l = 0; l < out->layers; l++) {
        size_t in = out->width[l], many = out->width[l + 1], stride = out->stride[l + 1];
        bang_array array;
        int rc = bang_array_to_f32(&array, &parts[l].weight->array, err);
        if (rc < 0)
            return rc;
        const float *numbers = array.data;
        for (size_t j = 0; j < many; j++)
            for (size_t i = 0; i < in; i++)
                out->weight[l][i * stride + j] = numbers[j * in + i];
        bang_array_release(&array);
        for (size_t j = 0; parts[l].bias && j < many; j++)
            out->bias[l][j] = (float)bang_array_number(&parts[l].bias->array, j);
    }
    return 0;
}

/* tensors are released. */
static int take(bang_mlp *out, bang_tensors *tensors, const char *path, bang_error *err)
{
    bang_activation activation;
    size_t width[BANG_MLP_LAYERS_MAX + 1];
    reading r = {.tensors = tensors};
    int rc = find_layers(&r, &activation, path, err);
    if (rc == 0) {
        width[0] = r.parts[0].weight->array.shape[1];
        for (size_t l = 0; l < r.count; l++)
            width[l + 1] = r.parts[l].weight->array.shape[0];
        bang_error why = {0};
        rc = bang_mlp_init(out, (int)r.count, width, activation, &why);
        if (rc < 0)
            rc = bang_fail(err, rc == BANG_EUSAGE ? BANG_EDATA : rc, "%s: %s", path, why.message);
    }
    if (rc == 0)
        rc = fill(out, r.parts, err);
    if (rc < 0)
        bang_mlp_release(out);
    free(r.parts);
    bang_tensors_release(tensors);
    return rc;
}

int bang_mlp_load(bang_mlp *out, const char *path, bang_error *err)
{
    bang_tensors tensors;
    *out = (bang_mlp){0};
    int rc = bang_safetensors_read(&tensors, path, err);
    return rc < 0 ? rc : take(out, &tensors, path, err);
}

int bang_mlp_parse(bang_mlp *out, const void *data, size_t size, const char *name, bang_error *err)
{
    bang_tensors tensors;
    *out = (bang_mlp){0};
    int rc = bang_safetensors_parse(&tensors, data, size, name, err);
    return rc < 0 ? rc : take(out, &tensors, name, err);
}
