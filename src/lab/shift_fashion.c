/* Other labels: the towers of the lab's models at work on Fashion-MNIST. A head is fitted to the
 * features of the pre-trained tower and then serves all towers, as the paper's text encoder does:
 * what fine-tuning and averaging do to the features is all that differs. One thread does it. */
#include <stdlib.h>
#include <string.h>

#include "lab/shift_probe.h"
#include "lab/shift_unit.h"

enum {
    K = BANG_FASHION_CLASSES,
    TRAIN = 10000, /* images that the probe learns from: another ten thousand per seed */
    TEST = 4000,
    PIECE = 48, /* images: enough rows for large products, little enough for the cache */
};

/* count images of Fashion-MNIST from first on, going round. The caller releases them. */
static int take_images(bang_images *out, const bang_array *pixels, const bang_array *labels,
                       size_t first, size_t count, bang_error *err)
{
    size_t size = (size_t)BANG_SHIFT_SIDE * BANG_SHIFT_SIDE;
    bang_dataset *memory = &out->memory;
    *out = (bang_images){.count = count, .classes = K};
    *memory = (bang_dataset){.count = count, .width = size, .classes = K};
    out->labels = calloc(count, sizeof *out->labels);
    int rc = out->labels ? 0 : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_array_init(&memory->inputs, BANG_U8, 3,
                             (size_t[]){count, BANG_SHIFT_SIDE, BANG_SHIFT_SIDE}, err);
    if (rc == 0)
        rc = bang_array_init(&memory->labels, BANG_I64, 1, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        size_t from = (first + i) % labels->count;
        memcpy((uint8_t *)memory->inputs.data + i * size,
               (const uint8_t *)pixels->data + from * size, size);
        out->labels[i] = ((int64_t *)memory->labels.data)[i] = ((uint8_t *)labels->data)[from];
    }
    return rc;
}

/* Where Fashion-MNIST is not there, both stay empty, and why stands in result; torn files are an
 * error. */
static int take_sets(bang_images *train, bang_images *test, json_t *result, uint64_t seed,
                     bang_error *err)
{
    bang_mnist all;
    bang_error why = {0};
    int rc = bang_fashion_open(&all, &why);
    if (rc == BANG_EIO)
        return json_object_set_new(result, "missing", json_string(why.message)) < 0
                   ? bang_fail_memory(err)
                   : 0;
    if (rc != 0)
        return bang_fail(err, rc, "%s", why.message);
    size_t n = all.train_labels.count, m = all.test_labels.count;
    rc = take_images(train, &all.train_images, &all.train_labels, (size_t)(seed % n * TRAIN) % n,
                     n < TRAIN ? n : TRAIN, err);
    if (rc == 0)
        rc = take_images(test, &all.test_images, &all.test_labels, 0, m < TEST ? m : TEST, err);
    bang_mnist_release(&all);
    return rc;
}

/* logits (count, K) of a model with these parameters, or the features (count, features). */
static int look(float *logits, float *features, const bang_vit_model *model,
                const float *parameters, const bang_images *images, bang_cancel *cancel,
                bang_error *err)
{
    const bang_transform plain = {.size = BANG_SHIFT_SIDE, .channels = 1};
    const bang_batch batch = {images->count, BANG_U8, images->memory.inputs.data, images->labels,
                              NULL};
    size_t width = images->memory.width, length = bang_vit_features(&model->vit.config);
    bang_vit_worker_f32 worker = {0};
    float *pixels = aligned_alloc(64, PIECE * width * sizeof *pixels);
    int rc =
        pixels ? bang_vit_worker_init_f32(&worker, &model->vit.config, PIECE, BANG_VIT_PREDICT, err)
               : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < images->count; i += PIECE) {
        size_t count = images->count - i < PIECE ? images->count - i : PIECE;
        for (size_t j = 0; j < count; j++)
            bang_batch_pixels(pixels + j * width, &batch, &plain, i + j, i + j, 1, model->mean,
                              model->std);
        bang_vit_forward_f32(&worker, parameters, pixels, count);
        if (logits)
            memcpy(logits + i * K, worker.logits, count * K * sizeof *logits);
        if (features)
            memcpy(features + i * length, worker.features, count * length * sizeof *features);
        if (bang_cancelled(cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "stopped");
    }
    bang_vit_worker_release_f32(&worker);
    free(pixels);
    return rc;
}

/* The pre-trained tower with a head for clothes. */
static int fit_probe(bang_vit_model *out, const bang_vit_model *pre, const bang_images *train,
                     bang_cancel *cancel, bang_error *err)
{
    size_t length = bang_vit_features(&pre->vit.config);
    float *features = malloc(train->count * length * sizeof *features);
    int rc = features ? shift_copy(out, pre, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_vit_model_new_head(out, K, bang_fashion_names, err);
    if (rc == 0)
        rc = look(NULL, features, out, out->vit.parameters, train, cancel, err);
    const shift_probe probe = {train->count, length, K, features, train->labels, cancel};
    if (rc == 0)
        rc = shift_probe_fit(out->vit.parameters + out->vit.map.head_weight,
                             out->vit.parameters + out->vit.map.head_bias, NULL, &probe, err);
    free(features);
    return rc;
}

/* What averages and ensembles say of the test images. */
typedef struct outputs {
    size_t count;
    float *parameters;  /* (map.count) a mixed tower with the probe's head */
    float *logits;      /* (SHIFT_ALPHAS, count, K) of the averages: first PM, last FM */
    float *mixed;       /* (count, K) of an ensemble */
    uint8_t *wse, *ose; /* (count) classes at one alpha */
    double weight_space[SHIFT_ALPHAS], output_space[SHIFT_ALPHAS];
    int only_wse, only_ose; /* images that one alone has right at 1/2 */
} outputs;

static int outputs_init(outputs *o, size_t count, size_t parameters, bang_error *err)
{
    *o = (outputs){.count = count};
    o->parameters = malloc(parameters * sizeof(float));
    o->logits = malloc(SHIFT_ALPHAS * count * K * sizeof(float));
    o->mixed = malloc(count * K * sizeof(float));
    o->wse = malloc(count);
    o->ose = malloc(count);
    return o->parameters && o->logits && o->mixed && o->wse && o->ose ? 0 : bang_fail_memory(err);
}

static void outputs_release(outputs *o)
{
    free(o->parameters);
    free(o->logits);
    free(o->mixed);
    free(o->wse);
    free(o->ose);
}

/* All averages look at the images. */
static int average(outputs *o, const bang_vit_model *probe, const bang_vit_model *pre,
                   const bang_vit_model *fine, const bang_images *test, bang_cancel *cancel,
                   bang_error *err)
{
    const bang_vit_map *map = &probe->vit.map;
    size_t tower = map->head_weight;
    int rc = 0;
    memcpy(o->parameters + tower, probe->vit.parameters + tower,
           (map->count - tower) * sizeof(float));
    for (int a = 0; rc == 0 && a < SHIFT_ALPHAS; a++) {
        shift_mix(o->parameters, pre->vit.parameters, fine->vit.parameters, shift_alphas[a], tower);
        rc = look(o->logits + (size_t)a * o->count * K, NULL, probe, o->parameters, test, cancel,
                  err);
    }
    return rc;
}

/* Their accuracies, and those of the same mixtures of PM's and FM's outputs. */
static void score(outputs *o, const bang_images *test)
{
    const float *pre = o->logits, *fine = o->logits + (SHIFT_ALPHAS - 1) * o->count * K;
    for (int a = 0; a < SHIFT_ALPHAS; a++) {
        shift_classes(o->wse, o->logits + (size_t)a * o->count * K, o->count);
        shift_mix(o->mixed, pre, fine, shift_alphas[a], o->count * K);
        shift_classes(o->ose, o->mixed, o->count);
        o->weight_space[a] = shift_accuracy(o->wse, test);
        o->output_space[a] = shift_accuracy(o->ose, test);
        for (size_t i = 0; a == SHIFT_ALPHAS / 2 && i < o->count; i++) {
            int wse = o->wse[i] == test->labels[i], ose = o->ose[i] == test->labels[i];
            o->only_wse += wse && !ose;
            o->only_ose += ose && !wse;
        }
    }
}

static int put(json_t *result, const outputs *o, bang_error *err)
{
    json_t *found = json_pack("{sI so sf sf so so si si}", "n", (json_int_t)o->count, "alphas",
                              lab_numbers(shift_alphas, SHIFT_ALPHAS), "pre", o->weight_space[0],
                              "fine", o->weight_space[SHIFT_ALPHAS - 1], "wse",
                              lab_numbers(o->weight_space, SHIFT_ALPHAS), "ose",
                              lab_numbers(o->output_space, SHIFT_ALPHAS), "only_wse", o->only_wse,
                              "only_ose", o->only_ose);
    int rc = found ? json_object_update(result, found) : -1;
    json_decref(found);
    return rc < 0 ? bang_fail_memory(err) : 0;
}

int shift_fashion(json_t *result, const bang_vit_model *pre, const bang_vit_model *fine,
                  uint64_t seed, bang_cancel *cancel, bang_error *err)
{
    bang_images train = {0}, test = {0};
    bang_vit_model probe = {0};
    outputs o = {0};
    const bang_vit_config *config = &pre->vit.config;
    if (config->image != BANG_SHIFT_SIDE || config->channels != 1 ||
        pre->vit.map.count != fine->vit.map.count)
        return bang_fail(err, BANG_EUSAGE,
                         "fashion-mnist: both models must be of one form and read 28 x 28 grey");
    int rc = take_sets(&train, &test, result, seed, err);
    if (rc != 0 || train.count == 0 || test.count == 0)
        goto done;
    rc = fit_probe(&probe, pre, &train, cancel, err);
    if (rc == 0)
        rc = outputs_init(&o, test.count, probe.vit.map.count, err);
    if (rc == 0)
        rc = average(&o, &probe, pre, fine, &test, cancel, err);
    if (rc < 0)
        goto done;
    score(&o, &test);
    rc = put(result, &o, err);
done:
    outputs_release(&o);
    bang_vit_model_release(&probe);
    bang_images_release(&train);
    bang_images_release(&test);
    return rc;
}
