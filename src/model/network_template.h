/* network.h for one number type. The includer defines REAL, NAME(x), which gives
 * x the suffix of the type, and ERF, EXP and TANH. */
typedef NAME(bang_network) NAME(net);
#define NET NAME(net)

/* Weights, then biases, layer by layer in one block. */
static void NAME(place)(const NET *net, REAL *block, REAL **weight, REAL **bias)
{
    for (int l = 0; l < net->layers; l++) {
        weight[l] = block;
        block += net->width[l] * net->stride[l + 1];
        bias[l] = block;
        block += net->stride[l + 1];
    }
}

static int NAME(take)(NET *net, REAL **target, size_t rows, size_t row)
{
    *target = row && rows > SIZE_MAX / row
                  ? NULL
                  : bang_arena_alloc(&net->arena, rows * row, sizeof(REAL));
    return !*target;
}

int NAME(bang_network_init)(NET *net, const bang_mlp *shape, REAL *parameters, size_t batch,
                            int training, bang_error *err)
{
    *net = (NET){.kernels = NAME(bang_kernels_best)(),
                 .layers = shape->layers,
                 .activation = shape->activation,
                 .batch = batch,
                 .parameters = parameters};
    memcpy(net->width, shape->width, sizeof net->width);
    memcpy(net->stride, shape->stride, sizeof net->stride);
    NAME(place)(net, parameters, net->weight, net->bias);
    int failed = 0;
    size_t widest = 0;
    for (int l = 1; l <= net->layers; l++) {
        size_t n = net->stride[l];
        failed |= NAME(take)(net, &net->x[l], batch, n);
        if (net->activation == BANG_GELU)
            failed |= NAME(take)(net, &net->z[l], batch, n);
        if (training)
            failed |= NAME(take)(net, &net->delta[l], batch, n);
        widest = n > widest ? n : widest;
    }
    if (training) {
        failed |= NAME(take)(net, &net->turned, widest, widest);
        failed |= NAME(take)(net, &net->mixed, batch, net->stride[1]);
        failed |= NAME(take)(net, &net->gradient, 1, shape->count);
        failed |= NAME(take)(net, &net->panel, batch, BANG_PANEL);
    }
    if (failed) {
        NAME(bang_network_release)(net);
        return bang_fail_memory(err);
    }
    if (training)
        NAME(place)(net, net->gradient, net->weight_gradient, net->bias_gradient);
    return 0;
}

void NAME(bang_network_release)(NET *net)
{
    bang_arena_release(&net->arena);
    *net = (NET){0};
}

int NAME(bang_network_accept)(NET *net, const bang_rows *rows, bang_error *err)
{
    int failed = 0;
    size_t wanted = rows->block_count * BANG_LANES;
    if (wanted > UINT16_MAX)
        return bang_fail(err, BANG_EUSAGE,
                         "inputs: %zu coded columns are too many: train without reduction",
                         rows->block_count);
    if (rows->dense && !net->input)
        failed |= NAME(take)(net, &net->input, net->batch, net->width[0]);
    if (wanted > net->table_rows) {
        failed |= NAME(take)(net, &net->table, wanted, net->stride[1]);
        if (net->gradient)
            failed |= NAME(take)(net, &net->table_gradient, wanted, net->stride[1]);
        net->table_rows = failed ? 0 : wanted;
    }
    return failed ? bang_fail_memory(err) : 0;
}

/* Block b has rows 16b, 16b+1, ... of the table, one per code. */
void NAME(bang_network_tabulate)(NET *net, const bang_rows *rows)
{
    size_t n = net->stride[1];
    if (rows->block_count == 0)
        return;
    memset(net->table, 0, rows->block_count * BANG_LANES * n * sizeof *net->table);
    for (size_t b = 0; b < rows->block_count; b++) {
        const bang_column_block *k = &rows->blocks[b];
        for (size_t c = 0; c < k->code_count; c++)
            net->kernels->gather(net->table + (b * BANG_LANES + c) * n, net->weight[0], n,
                                 k->column + k->start[c], k->value + k->start[c],
                                 k->start[c + 1] - k->start[c]);
    }
}

static void NAME(read_dense)(NET *net, const bang_rows *rows, const uint32_t *index, size_t count)
{
    size_t width = net->width[0];
    for (size_t i = 0; i < count; i++) {
        REAL *to = net->input + i * width;
        if (rows->dense->dtype == BANG_U8)
            net->kernels->from_u8(to, (const uint8_t *)rows->dense->data + index[i] * width, width);
        else
            net->kernels->from_f32(to, (const float *)rows->dense->data + index[i] * width, width);
    }
}

/* A batch's rows lie anywhere in memory: call for those that come soon. */
static void NAME(fetch_ahead)(const bang_rows *rows, const uint32_t *index, size_t i, size_t count)
{
    enum { ROWS = 6, LINE = 64 };
    if (i + 2 * ROWS < count)
        __builtin_prefetch(&rows->start[index[i + 2 * ROWS]]);
    if (i + ROWS >= count)
        return;
    uint32_t from = rows->start[index[i + ROWS]];
    for (size_t line = 0; line < 2; line++) {
        __builtin_prefetch((const char *)(rows->column + from) + line * LINE);
        __builtin_prefetch((const char *)(rows->value + from) + line * LINE);
    }
}

void NAME(bang_network_numbers)(NET *net, const bang_rows *rows, const uint32_t *index,
                                size_t count)
{
    size_t n = net->stride[1];
    for (size_t i = 0; i < count; i++)
        memcpy(net->x[1] + i * n, net->bias[0], n * sizeof(REAL));
    if (rows->dense) {
        NAME(read_dense)(net, rows, index, count);
        net->kernels->product(net->x[1], n, net->input, net->width[0], 1, net->weight[0], n, count,
                              n, net->width[0], 1);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        NAME(fetch_ahead)(rows, index, i, count);
        uint32_t from = rows->start[index[i]], to = rows->start[index[i] + 1];
        net->kernels->gather(net->x[1] + i * n, net->weight[0], n, rows->column + from,
                             rows->value + from, to - from);
    }
}

/* The rows of the table that a data row names. */
static void NAME(table_rows)(uint16_t *out, const bang_rows *rows, size_t from, size_t count,
                             uint32_t row)
{
    for (size_t b = 0; b < count; b++)
        out[b] =
            (uint16_t)((from + b) * BANG_LANES + rows->codes[row * rows->block_count + from + b]);
}

enum { NAME(bundle) = 64 };

void NAME(bang_network_codes)(NET *net, const bang_rows *rows, const uint32_t *index, size_t count)
{
    uint16_t place[NAME(bundle)];
    size_t n = net->stride[1];
    for (size_t b = 0; b < rows->block_count; b += NAME(bundle)) {
        size_t left = rows->block_count - b, many = left < NAME(bundle) ? left : NAME(bundle);
        for (size_t i = 0; i < count; i++) {
            NAME(table_rows)(place, rows, b, many, index[i]);
            net->kernels->gather(net->x[1] + i * n, net->table, n, place, NULL, many);
        }
    }
}

static void NAME(activate)(NET *net, int l, size_t count)
{
    size_t numbers = count * net->stride[l];
    REAL *x = net->x[l];
    switch (net->activation) {
    case BANG_RELU:
        net->kernels->relu_forward(x, numbers);
        break;
    case BANG_TANH:
        for (size_t i = 0; i < numbers; i++)
            x[i] = TANH(x[i]);
        break;
    case BANG_GELU: /* z Phi(z) */
        memcpy(net->z[l], x, numbers * sizeof *x);
        for (size_t i = 0; i < numbers; i++)
            x[i] *= (REAL)0.5 * (1 + ERF(x[i] * (REAL)0.70710678118654752440));
        break;
    }
}

/* The gradient of x_l becomes that of z_l. */
static void NAME(activate_backward)(NET *net, int l, size_t count)
{
    size_t numbers = count * net->stride[l];
    const REAL *x = net->x[l], *z = net->z[l];
    REAL *d = net->delta[l];
    switch (net->activation) {
    case BANG_RELU:
        net->kernels->relu_backward(d, x, numbers);
        break;
    case BANG_TANH:
        for (size_t i = 0; i < numbers; i++)
            d[i] *= 1 - x[i] * x[i];
        break;
    case BANG_GELU: /* Phi(z) + z phi(z) */
        for (size_t i = 0; i < numbers; i++)
            d[i] *= (REAL)0.5 * (1 + ERF(z[i] * (REAL)0.70710678118654752440)) +
                    z[i] * (REAL)0.39894228040143267794 * EXP(-z[i] * z[i] / 2);
        break;
    }
}

void NAME(bang_network_rest)(NET *net, size_t count)
{
    for (int l = 1; l < net->layers; l++) {
        size_t n = net->stride[l + 1];
        NAME(activate)(net, l, count);
        for (size_t i = 0; i < count; i++)
            memcpy(net->x[l + 1] + i * n, net->bias[l], n * sizeof(REAL));
        net->kernels->product(net->x[l + 1], n, net->x[l], net->stride[l], 1, net->weight[l], n,
                              count, n, net->width[l], 1);
    }
}

/* The first layer is linear, so mixing its outputs mixes its inputs. */
static void NAME(mix)(NET *net, const NAME(bang_mixing) * mixing, size_t count)
{
    size_t n = net->stride[1];
    memcpy(net->mixed, net->x[1], (count + mixing->behind) * n * sizeof *net->mixed);
    for (size_t i = 0; i < count; i++)
        net->kernels->mix(net->x[1] + i * n, mixing->lambda, net->mixed + i * n, 1 - mixing->lambda,
                          net->mixed + mixing->partner[i] * n, n);
}

static void NAME(mix_backward)(NET *net, const NAME(bang_mixing) * mixing, size_t count)
{
    size_t n = net->stride[1];
    memcpy(net->mixed, net->delta[1], count * n * sizeof *net->mixed);
    memset(net->delta[1] + count * n, 0, mixing->behind * n * sizeof *net->mixed);
    for (size_t i = 0; i < count; i++) {
        REAL *partner = net->delta[1] + mixing->partner[i] * n;
        net->kernels->mix(partner, 1, partner, 1 - mixing->lambda, net->mixed + i * n, n);
    }
    for (size_t i = 0; i < count; i++) {
        /* each row held its own gradient whole when the partners' were added */
        REAL *own = net->delta[1] + i * n;
        net->kernels->mix(own, 1, own, mixing->lambda - 1, net->mixed + i * n, n);
    }
}

void NAME(bang_network_forward)(NET *net, const bang_rows *rows, const uint32_t *index,
                                size_t count, const NAME(bang_mixing) * mixing)
{
    size_t read = count + (mixing ? mixing->behind : 0);
    NAME(bang_network_numbers)(net, rows, index, read);
    NAME(bang_network_codes)(net, rows, index, read);
    if (mixing)
        NAME(mix)(net, mixing, count);
    NAME(bang_network_rest)(net, count);
}

static void NAME(bias_backward)(NET *net, int l, size_t count)
{
    size_t n = net->stride[l + 1];
    REAL *out = net->bias_gradient[l];
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < count; i++)
        net->kernels->mix(out, 1, out, 1, net->delta[l + 1] + i * n, n);
}

void NAME(bang_network_backward)(NET *net, size_t count, const NAME(bang_mixing) * mixing)
{
    for (int l = net->layers - 1; l > 0; l--) {
        size_t in = net->stride[l], out = net->stride[l + 1];
        const REAL *delta = net->delta[l + 1];
        NAME(bias_backward)(net, l, count);
        net->kernels->product(net->weight_gradient[l], out, net->x[l], 1, in, delta, out,
                              net->width[l], out, count, 0);
        for (size_t i = 0; i < net->width[l]; i++) /* its padding stays zero */
            for (size_t j = 0; j < net->width[l + 1]; j++)
                net->turned[j * in + i] = net->weight[l][i * out + j];
        net->kernels->product(net->delta[l], in, delta, out, 1, net->turned, in, count, in,
                              net->width[l + 1], 0);
        NAME(activate_backward)(net, l, count);
        memset(net->turned, 0, net->width[l + 1] * in * sizeof *net->turned);
    }
    NAME(bias_backward)(net, 0, count);
    if (mixing)
        NAME(mix_backward)(net, mixing, count);
}

void NAME(bang_network_backward_compact)(NET *net, const bang_rows *rows, const uint32_t *index,
                                         size_t count)
{
    uint16_t place[NAME(bundle)];
    size_t n = net->stride[1];
    REAL *out = net->weight_gradient[0];
    memset(out, 0, net->width[0] * n * sizeof *out);
    if (rows->block_count > 0)
        memset(net->table_gradient, 0, rows->block_count * BANG_LANES * n * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const REAL *delta = net->delta[1] + i * n;
        uint32_t from = rows->start[index[i]], to = rows->start[index[i] + 1];
        net->kernels->scatter(out, delta, n, rows->column + from, rows->value + from, to - from);
        for (size_t b = 0; b < rows->block_count; b += NAME(bundle)) {
            size_t left = rows->block_count - b, many = left < NAME(bundle) ? left : NAME(bundle);
            NAME(table_rows)(place, rows, b, many, index[i]);
            net->kernels->scatter(net->table_gradient, delta, n, place, NULL, many);
        }
    }
    for (size_t b = 0; b < rows->block_count; b++) {
        const bang_column_block *k = &rows->blocks[b];
        for (size_t c = 0; c < k->code_count; c++)
            net->kernels->scatter(out, net->table_gradient + (b * BANG_LANES + c) * n, n,
                                  k->column + k->start[c], k->value + k->start[c],
                                  k->start[c + 1] - k->start[c]);
    }
}

void NAME(bang_network_backward_dense)(NET *net, REAL *out, size_t from, size_t to, size_t count)
{
    size_t n = net->stride[1], width = net->width[0], many = to - from;
    for (size_t i = 0; i < count; i++)
        memcpy(net->panel + i * BANG_PANEL, net->input + i * width + from, many * sizeof(REAL));
    net->kernels->product(out, n, net->panel, 1, BANG_PANEL, net->delta[1], n, many, n, count, 0);
}
