#include "bang/train/train.h"

#include <math.h>

#include "train/loop.h"
#include "train/state.h"

int train_about_mlp(json_t **out, const bang_mlp *shape, const bang_rows *rows,
                    const int64_t *labels, const bang_train_options *options, const void *start,
                    size_t start_size, bang_error *err)
{
    json_t *about = train_about(options), *widths = json_array();
    int failed = 0;
    for (int l = 0; l <= shape->layers; l++)
        failed |= json_array_append_new(widths, json_integer((json_int_t)shape->width[l])) < 0;
    failed |= json_object_set_new(about, "layers", widths) < 0;
    failed |= json_object_set_new(about, "activation",
                                  json_string(bang_activation_name(shape->activation))) < 0;
    failed |= json_object_set_new(about, "rows", json_integer((json_int_t)rows->count)) < 0;
    int rc = failed ? bang_fail_memory(err) : 0;
    if (rc == 0)
        rc = train_about_bytes(about, "labels", labels, rows->count * sizeof *labels, err);
    if (rc == 0)
        rc = train_about_bytes(about, "first weights", start, start_size, err);
    if (rc < 0)
        json_decref(about);
    *out = rc < 0 ? NULL : about;
    return rc;
}

int bang_train_mlp(bang_mlp *mlp, const bang_rows *rows, const int64_t *labels,
                   const bang_train_options *options, bang_train_result *result, bang_error *err)
{
    int rc = bang_train_check(options, err);
    if (rc < 0)
        return rc;
    if (mlp->width[0] != rows->columns->group_count)
        return bang_fail(err, BANG_EUSAGE, "network: it reads %zu inputs, the data have %zu",
                         mlp->width[0], rows->columns->group_count);
    if (rows->count == 0 || rows->count > UINT32_MAX)
        return bang_fail(err, BANG_EUSAGE, "training: %zu rows: give 1 to 4e9", rows->count);
    for (size_t i = 0; i < rows->count; i++)
        if (labels[i] < 0 || (size_t)labels[i] >= mlp->width[mlp->layers])
            return bang_fail(err, BANG_EDATA,
                             "labels: row %zu has label %lld: the network has %zu classes", i,
                             (long long)labels[i], mlp->width[mlp->layers]);
    if (options->optimizer == BANG_ADAM && options->weight_decay > 0 &&
        rows->columns->group_count != rows->columns->width)
        return bang_fail(err, BANG_EUSAGE,
                         "training: Adam with weight decay moves equal inputs differently: take "
                         "adamw, or train without reduction");
    rc = train_run_f32(mlp, mlp->parameters, rows, labels, options, result, err);
    /* the last step was taken after the last loss */
    for (size_t i = 0; rc == 0 && i < mlp->count; i++)
        if (!isfinite(mlp->parameters[i]))
            rc = bang_fail(err, BANG_EDATA,
                           "training: weights are not finite after the last step: take a smaller "
                           "learning rate, or look for bad numbers in the data");
    return rc;
}
