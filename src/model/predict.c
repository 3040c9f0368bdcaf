#include <string.h>

#include "bang/model/network.h"

enum { BATCH = 512 };

static int check(const bang_mlp *mlp, const bang_rows *rows, bang_error *err)
{
    if (mlp->width[0] != rows->columns->group_count)
        return bang_fail(err, BANG_EUSAGE, "network: it reads %zu inputs, the data have %zu",
                         mlp->width[0], rows->columns->group_count);
    if (rows->count > UINT32_MAX)
        return bang_fail(err, BANG_EUSAGE, "rows: %zu are too many: give at most 4e9", rows->count);
    return 0;
}

static void keep_outputs(float *logits, const bang_network_f32 *net, size_t count)
{
    size_t classes = net->width[net->layers], stride = net->stride[net->layers];
    for (size_t i = 0; i < count; i++)
        memcpy(logits + i * classes, net->x[net->layers] + i * stride, classes * sizeof *logits);
}

int bang_mlp_predict(float *logits, const bang_mlp *mlp, const bang_rows *rows, size_t first,
                     size_t count, bang_error *err)
{
    bang_network_f32 net;
    uint32_t index[BATCH];
    int rc = check(mlp, rows, err);
    if (rc == 0 && (first > rows->count || count > rows->count - first))
        rc = bang_fail(err, BANG_EUSAGE, "rows: %zu from row %zu on are not there: there are %zu",
                       count, first, rows->count);
    if (rc == 0)
        rc = bang_network_init_f32(&net, mlp, mlp->parameters, BATCH, 0, err);
    if (rc < 0)
        return rc;
    rc = bang_network_accept_f32(&net, rows, err);
    if (rc == 0)
        bang_network_tabulate_f32(&net, rows);
    for (size_t at = 0; rc == 0 && at < count; at += BATCH) {
        size_t many = count - at < BATCH ? count - at : BATCH;
        for (size_t i = 0; i < many; i++)
            index[i] = (uint32_t)(first + at + i);
        bang_network_forward_f32(&net, rows, index, many, NULL);
        keep_outputs(logits + at * mlp->width[mlp->layers], &net, many);
    }
    bang_network_release_f32(&net);
    return rc;
}

int bang_mlp_predict_sets(float *const *logits, const bang_mlp *mlp, const bang_rows *const *rows,
                          size_t sets, bang_error *err)
{
    int rc = 0, shared = 1;
    for (size_t s = 0; s < sets && rc == 0; s++) {
        rc = check(mlp, rows[s], err);
        shared = shared && bang_rows_same_numbers(rows[0], rows[s]);
    }
    for (size_t s = 0; s < sets && rc == 0 && !shared; s++)
        rc = bang_mlp_predict(logits[s], mlp, rows[s], 0, rows[s]->count, err);
    if (rc < 0 || !shared || !sets)
        return rc;
    /* What the sets share, for all rows; each set then adds its codes. */
    size_t n = mlp->stride[1], count = rows[0]->count, classes = mlp->width[mlp->layers];
    uint32_t index[BATCH];
    bang_arena arena = {0};
    bang_network_f32 net;
    float *numbers = bang_arena_alloc(&arena, count, n * sizeof *numbers);
    rc = numbers ? bang_network_init_f32(&net, mlp, mlp->parameters, BATCH, 0, err)
                 : bang_fail_memory(err);
    if (rc < 0) {
        bang_arena_release(&arena);
        return rc;
    }
    for (size_t s = 0; s < sets && rc == 0; s++) {
        rc = bang_network_accept_f32(&net, rows[s], err);
        if (rc == 0)
            bang_network_tabulate_f32(&net, rows[s]);
        for (size_t at = 0; rc == 0 && at < count; at += BATCH) {
            size_t many = count - at < BATCH ? count - at : BATCH;
            for (size_t i = 0; i < many; i++)
                index[i] = (uint32_t)(at + i);
            if (s == 0) {
                bang_network_numbers_f32(&net, rows[0], index, many);
                memcpy(numbers + at * n, net.x[1], many * n * sizeof *numbers);
            } else {
                memcpy(net.x[1], numbers + at * n, many * n * sizeof *numbers);
            }
            bang_network_codes_f32(&net, rows[s], index, many);
            bang_network_rest_f32(&net, many);
            keep_outputs(logits[s] + at * classes, &net, many);
        }
    }
    bang_network_release_f32(&net);
    bang_arena_release(&arena);
    return rc;
}
