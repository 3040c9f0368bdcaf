/* The naive layers for one number type. The includer defines
 *
 *     REAL                float or double
 *     ATTENTION, LAYERS   the structs of this type
 *     NAME(x)             x with the type's suffix
 */
static void NAME(norm_forward)(REAL *out, REAL *mean, REAL *scale, const REAL *x, const REAL *gain,
                               const REAL *bias, size_t rows, size_t width, REAL epsilon)
{
    for (size_t i = 0; i < rows; i++, x += width, out += width) {
        double sum = 0, square = 0;
        for (size_t j = 0; j < width; j++)
            sum += (double)x[j];
        sum /= (double)width;
        for (size_t j = 0; j < width; j++)
            square += ((double)x[j] - sum) * ((double)x[j] - sum);
        double s = 1 / sqrt(square / (double)width + (double)epsilon);
        for (size_t j = 0; j < width; j++)
            out[j] = (REAL)(((double)x[j] - sum) * s * (double)gain[j] + (double)bias[j]);
        if (mean) {
            mean[i] = (REAL)sum;
            scale[i] = (REAL)s;
        }
    }
}

static void NAME(norm_again)(REAL *out, const REAL *mean, const REAL *scale, const REAL *x,
                             const REAL *gain, const REAL *bias, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++, x += width, out += width)
        for (size_t j = 0; j < width; j++)
            out[j] = (REAL)(((double)x[j] - (double)mean[i]) * (double)scale[i] * (double)gain[j] +
                            (double)bias[j]);
}

/* With n = (x - mean) scale and g = gain * out_gradient:
 *     x_gradient = scale (g - mean(g) - n mean(g n)). */
static void NAME(norm_backward)(REAL *x_gradient, REAL *gain_gradient, REAL *bias_gradient,
                                const REAL *out_gradient, const REAL *x, const REAL *mean,
                                const REAL *scale, const REAL *gain, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++, x += width, out_gradient += width, x_gradient += width) {
        double m = (double)mean[i], s = (double)scale[i], sum = 0, along = 0;
        for (size_t j = 0; j < width; j++) {
            double g = (double)gain[j] * (double)out_gradient[j], n = ((double)x[j] - m) * s;
            sum += g;
            along += g * n;
            if (gain_gradient) {
                gain_gradient[j] += (REAL)(n * (double)out_gradient[j]);
                bias_gradient[j] += out_gradient[j];
            }
        }
        for (size_t j = 0; j < width; j++) {
            double g = (double)gain[j] * (double)out_gradient[j], n = ((double)x[j] - m) * s;
            x_gradient[j] += (REAL)(s * (g - sum / (double)width - n * along / (double)width));
        }
    }
}

static void NAME(gelu_forward)(REAL *out, const REAL *x, size_t count, bang_gelu kind)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (REAL)bang_naive_gelu((double)x[i], kind);
}

static void NAME(gelu_backward)(REAL *gradient, REAL *activated, const REAL *x, size_t count,
                                bang_gelu kind)
{
    for (size_t i = 0; i < count; i++) {
        double at = (double)x[i];
        gradient[i] = (REAL)((double)gradient[i] * bang_naive_gelu_slope(at, kind));
        if (activated)
            activated[i] = (REAL)bang_naive_gelu(at, kind);
    }
}

/* q.k/sqrt(width) of one query and one key */
static double NAME(score)(const REAL *q, const REAL *k, size_t width)
{
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        sum += (double)q[j] * (double)k[j];
    return sum / sqrt((double)width);
}

static void NAME(attention_forward)(const ATTENTION *a)
{
    size_t all = a->heads * a->width, step = 3 * all; /* from token to token */
    for (size_t head = 0; head < a->heads; head++)
        for (size_t i = 0; i < a->queries; i++) {
            size_t seen = a->causal ? i + 1 : a->tokens;
            const REAL *q = a->qkv + i * step + head * a->width, *k = a->qkv + head * a->width;
            const REAL *v = k + 2 * all;
            double most = -INFINITY, sum = 0;
            k += all;
            for (size_t t = 0; t < seen; t++) {
                double s = NAME(score)(q, k + t * step, a->width);
                most = s > most ? s : most;
            }
            for (size_t t = 0; t < seen; t++)
                sum += exp(NAME(score)(q, k + t * step, a->width) - most);
            double log_sum = most + log(sum);
            a->sums[head * a->queries + i] = (REAL)log_sum;
            for (size_t t = 0; t < seen; t++)
                a->scratch[t] = (REAL)exp(NAME(score)(q, k + t * step, a->width) - log_sum);
            for (size_t j = 0; j < a->width; j++) {
                double mix = 0;
                for (size_t t = 0; t < seen; t++)
                    mix += (double)a->scratch[t] * (double)v[t * step + j];
                a->out[i * all + head * a->width + j] = (REAL)mix;
            }
        }
}

/* With P the softmax and G the gradient of O = P V:
 *     V' = P^T G,  S' = P * (G V^T - rowsum(G * O)),  Q' = S' K/sqrt(width),
 *     K' = S'^T Q/sqrt(width). */
static void NAME(attention_backward)(const ATTENTION *a)
{
    size_t width = a->width, all = a->heads * width, step = 3 * all;
    for (size_t i = 0; i < a->tokens * step; i++)
        a->qkv_gradient[i] = 0;
    for (size_t head = 0; head < a->heads; head++)
        for (size_t i = 0; i < a->queries; i++) {
            size_t seen = a->causal ? i + 1 : a->tokens, at = i * all + head * width;
            const REAL *q = a->qkv + i * step + head * width, *k = a->qkv + all + head * width;
            REAL *q_gradient = a->qkv_gradient + i * step + head * width;
            REAL *k_gradient = a->qkv_gradient + all + head * width;
            double along = 0, log_sum = (double)a->sums[head * a->queries + i];
            for (size_t j = 0; j < width; j++)
                along += (double)a->out[at + j] * (double)a->out_gradient[at + j];
            for (size_t t = 0; t < seen; t++) {
                double p = exp(NAME(score)(q, k + t * step, width) - log_sum), dot = 0;
                for (size_t j = 0; j < width; j++)
                    dot += (double)a->out_gradient[at + j] * (double)k[t * step + all + j];
                double slope = p * (dot - along) / sqrt((double)width);
                for (size_t j = 0; j < width; j++) {
                    q_gradient[j] += (REAL)(slope * (double)k[t * step + j]);
                    k_gradient[t * step + j] += (REAL)(slope * (double)q[j]);
                    k_gradient[t * step + all + j] += (REAL)(p * (double)a->out_gradient[at + j]);
                }
            }
        }
}

static void NAME(add_rows)(REAL *sum, const REAL *x, size_t rows, size_t width)
{
    for (size_t j = 0; j < width; j++) {
        double s = (double)sum[j];
        for (size_t i = 0; i < rows; i++)
            s += (double)x[i * width + j];
        sum[j] = (REAL)s;
    }
}

static void NAME(add)(REAL *y, const REAL *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

static double NAME(square_sum)(const REAL *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void NAME(unit_forward)(REAL *out, REAL *length, const REAL *x, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++, x += width, out += width) {
        double root = sqrt(NAME(square_sum)(x, width));
        length[i] = (REAL)root;
        for (size_t j = 0; j < width; j++)
            out[j] = root == 0 ? 0 : (REAL)((double)x[j] / root);
    }
}

static void NAME(unit_backward)(REAL *x_gradient, const REAL *out_gradient, const REAL *out,
                                const REAL *length, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++, x_gradient += width, out_gradient += width, out += width) {
        double dot = 0, root = (double)length[i];
        for (size_t j = 0; j < width; j++)
            dot += (double)out[j] * (double)out_gradient[j];
        for (size_t j = 0; j < width; j++)
            x_gradient[j] =
                root == 0 ? 0 : (REAL)(((double)out_gradient[j] - (double)out[j] * dot) / root);
    }
}

const LAYERS NAME(bang_layers_naive) = {
    "naive",
    NAME(norm_forward),
    NAME(norm_again),
    NAME(norm_backward),
    NAME(gelu_forward),
    NAME(gelu_backward),
    NAME(attention_forward),
    NAME(attention_backward),
    NAME(add_rows),
    NAME(add),
    NAME(unit_forward),
    NAME(unit_backward),
    NAME(square_sum),
};

#undef REAL
#undef ATTENTION
#undef LAYERS
#undef NAME
