/* Terms of two-layer networks near a base, in double. */
#include "lab/two_layer.h"

#include <math.h>
#include <stdlib.h>

#include "bang/model/network.h"

/* out += factor W'x of (rows, outputs) */
static void add_product(double *out, const double *w, const double *x, size_t rows, size_t outputs,
                        double factor)
{
    for (size_t i = 0; i < rows; i++) {
        double value = factor * x[i];
        if (value == 0)
            continue;
        for (size_t k = 0; k < outputs; k++)
            out[k] += value * w[i * outputs + k];
    }
}

/* One of the two models or their WSE as shares of both changes: a line of each array is its d,
 * D d and r, (hidden + 1) numbers. */
typedef struct member {
    double share[2];
    double moved[TWO_HIDDEN_MAX + 1]; /* u(h + d) */
    double kept[TWO_HIDDEN_MAX + 1];  /* D d */
    double rest[TWO_HIDDEN_MAX + 1];  /* r */
} member;

static size_t fill_member(member *m, const double *h, const double *d1, const double *d2,
                          size_t hidden)
{
    size_t switched = 0;
    for (size_t i = 0; i < hidden; i++) {
        double d = m->share[0] * d1[i] + m->share[1] * d2[i], z = h[i] + d;
        int was = h[i] > 0, is = z > 0;
        m->moved[i] = is ? z : 0;
        m->kept[i] = was ? d : 0;
        m->rest[i] = was != is ? fabs(z) : 0;
        switched += was != is;
    }
    m->moved[hidden] = 1; /* the bias */
    m->kept[hidden] = m->rest[hidden] = 0;
    return switched;
}

/* The two parts of the member's head, base and change, on a vector. */
static void add_head(double *out, const two_layer_heads *w, const member *m, const double *x,
                     int base)
{
    size_t rows = w->hidden + 1;
    if (base)
        add_product(out, w->base, x, rows, w->outputs, 1);
    for (int k = 0; k < 2; k++)
        if (m->share[k] != 0)
            add_product(out, w->change[k], x, rows, w->outputs, m->share[k]);
}

void two_layer_split_image(two_layer_split *out, const two_layer_heads *heads, const double *h,
                           const double *d1, const double *d2, double scale)
{
    const double shares[3][2] = {{scale, 0}, {0, scale}, {scale / 2, scale / 2}};
    double on[TWO_HIDDEN_MAX + 1];
    member m;
    *out = (two_layer_split){0};
    for (size_t i = 0; i < heads->hidden; i++)
        on[i] = h[i] > 0 ? h[i] : 0;
    on[heads->hidden] = 1;
    for (int k = 0; k < 3; k++) {
        double(*term)[TWO_OUTPUTS_MAX] = out->term[k];
        m.share[0] = shares[k][0];
        m.share[1] = shares[k][1];
        out->switched[k] = fill_member(&m, h, d1, d2, heads->hidden);
        add_product(term[TWO_FIXED], heads->base, on, heads->hidden + 1, heads->outputs, 1);
        add_product(term[TWO_LINEAR], heads->base, m.kept, heads->hidden, heads->outputs, 1);
        add_head(term[TWO_LINEAR], heads, &m, on, 0);
        add_head(term[TWO_BILINEAR], heads, &m, m.kept, 0);
        add_head(term[TWO_REST], heads, &m, m.rest, 1);
        add_head(out->output[k], heads, &m, m.moved, 1);
    }
    for (size_t c = 0; c < heads->outputs; c++) {
        out->output[TWO_OSE][c] = (out->output[TWO_FIRST][c] + out->output[TWO_SECOND][c]) / 2;
        for (int t = 0; t < TWO_TERMS; t++)
            out->term[TWO_OSE][t][c] =
                (out->term[TWO_FIRST][t][c] + out->term[TWO_SECOND][t][c]) / 2;
    }
}

static size_t largest(const double *z, size_t count)
{
    size_t best = 0;
    for (size_t k = 1; k < count; k++)
        best = z[k] > z[best] ? k : best;
    return best;
}

static void centre(double *z, size_t count)
{
    double mean = 0;
    for (size_t k = 0; k < count; k++)
        mean += z[k] / (double)count;
    for (size_t k = 0; k < count; k++)
        z[k] -= mean;
}

void two_layer_centre(two_layer_split *x, size_t outputs)
{
    for (int m = 0; m < TWO_MEMBERS; m++) {
        centre(x->output[m], outputs);
        for (int t = 0; t < TWO_TERMS; t++)
            centre(x->term[m][t], outputs);
    }
}

static void add_split(two_layer_sums *s, const two_layer_split *x, int64_t label)
{
    double guess[TWO_OUTPUTS_MAX];
    for (size_t k = 0; k < s->outputs; k++) {
        double bilinear = x->term[TWO_WSE][TWO_BILINEAR][k] - x->term[TWO_OSE][TWO_BILINEAR][k];
        double rest = x->term[TWO_WSE][TWO_REST][k] - x->term[TWO_OSE][TWO_REST][k];
        double whole = x->output[TWO_WSE][k] - x->output[TWO_OSE][k];
        s->whole += whole * whole;
        s->bilinear += bilinear * bilinear;
        s->rest += rest * rest;
        s->whole_size += fabs(whole);
        s->bilinear_size += fabs(bilinear);
        s->rest_size += fabs(rest);
        guess[k] = x->output[TWO_OSE][k] + bilinear;
        for (int m = 0; m < TWO_MEMBERS; m++) {
            s->output[m] += x->output[m][k] * x->output[m][k];
            for (int t = 0; t < TWO_TERMS; t++)
                s->term[m][t] += x->term[m][t][k] * x->term[m][t][k];
        }
    }
    size_t wse = largest(x->output[TWO_WSE], s->outputs);
    size_t ose = largest(x->output[TWO_OSE], s->outputs), told = largest(guess, s->outputs);
    s->differ += wse != ose;
    s->foretold += wse != ose && told == wse;
    s->alarms += wse == ose && told != ose;
    for (int m = 0; m < TWO_MEMBERS; m++)
        s->right[m] += (int64_t)largest(x->output[m], s->outputs) == label;
    for (int m = 0; m < 3; m++)
        s->switched[m] += x->switched[m];
    s->images++;
}

static void read_heads(two_layer_heads *w, const bang_mlp *base, const bang_mlp *const models[2])
{
    w->hidden = base->width[1];
    w->outputs = base->width[2];
    for (size_t i = 0; i <= w->hidden; i++)
        for (size_t k = 0; k < w->outputs; k++) {
            size_t at = i * w->outputs + k, from = i * base->stride[2] + k;
            int bias = i == w->hidden;
            double zero = (double)(bias ? base->bias[1][k] : base->weight[1][from]);
            w->base[at] = zero;
            for (int m = 0; m < 2; m++)
                w->change[m][at] =
                    (double)(bias ? models[m]->bias[1][k] : models[m]->weight[1][from]) - zero;
        }
}

enum { LAYERS = 3, BATCH = 256 };

/* The first layers of the base and of the two changes, each a network of one layer: it computes
 * h, d_1, d_2. */
typedef struct first_layers {
    bang_mlp shape;
    double *parameters[LAYERS];
    bang_network_f64 net[LAYERS];
} first_layers;

static void close_layers(first_layers *f)
{
    for (int l = 0; l < LAYERS; l++) {
        bang_network_release_f64(&f->net[l]);
        free(f->parameters[l]);
    }
    bang_mlp_release(&f->shape);
}

static int open_layers(first_layers *f, const bang_mlp *base, const bang_mlp *const models[2],
                       const bang_rows *rows, bang_error *err)
{
    *f = (first_layers){0};
    int rc = bang_mlp_init(&f->shape, 1, base->width, BANG_RELU, err);
    for (int l = 0; l < LAYERS && rc == 0; l++) {
        const bang_mlp *model = l ? models[l - 1] : base;
        f->parameters[l] = aligned_alloc(64, (f->shape.count * sizeof(double) + 63) / 64 * 64);
        if (!f->parameters[l])
            return bang_fail_memory(err);
        for (size_t i = 0; i < f->shape.count; i++) /* the first layer comes first */
            f->parameters[l][i] =
                (double)model->parameters[i] - (l ? (double)base->parameters[i] : 0);
        rc = bang_network_init_f64(&f->net[l], &f->shape, f->parameters[l], BATCH, 0, err);
        if (rc == 0)
            rc = bang_network_accept_f64(&f->net[l], rows, err);
        if (rc == 0)
            bang_network_tabulate_f64(&f->net[l], rows);
    }
    return rc;
}

static int check(const bang_mlp *base, const bang_mlp *first, const bang_mlp *second,
                 const bang_rows *rows, size_t count, bang_error *err)
{
    if (base->layers != 2 || base->activation != BANG_RELU || base->width[1] > TWO_HIDDEN_MAX ||
        base->width[2] > TWO_OUTPUTS_MAX || first->count != base->count ||
        second->count != base->count)
        return bang_fail(err, BANG_EUSAGE,
                         "networks: these are no three of one hidden layer of at most %d units "
                         "with ReLU and at most %d outputs",
                         TWO_HIDDEN_MAX, TWO_OUTPUTS_MAX);
    if (base->width[0] != rows->columns->group_count || count > rows->count)
        return bang_fail(err, BANG_EUSAGE,
                         "networks: they read %zu inputs and %zu rows; the data have %zu and %zu",
                         base->width[0], count, rows->columns->group_count, rows->count);
    return 0;
}

int two_layer_measure(two_layer_sums *out, const bang_mlp *base, const bang_mlp *first,
                      const bang_mlp *second, double scale, const bang_rows *rows,
                      const int64_t *labels, size_t count, bang_error *err)
{
    const bang_mlp *const models[2] = {first, second};
    two_layer_split split;
    first_layers f;
    int rc = check(base, first, second, rows, count, err);
    if (rc < 0)
        return rc;
    two_layer_heads *heads = calloc(1, sizeof *heads);
    if (!heads)
        return bang_fail_memory(err);
    read_heads(heads, base, models);
    *out = (two_layer_sums){.outputs = heads->outputs, .hidden = heads->hidden};
    rc = open_layers(&f, base, models, rows, err);
    for (size_t at = 0; at < count && rc == 0; at += BATCH) {
        uint32_t index[BATCH];
        size_t many = count - at < BATCH ? count - at : BATCH, stride = f.shape.stride[1];
        for (size_t i = 0; i < many; i++)
            index[i] = (uint32_t)(at + i);
        for (int l = 0; l < LAYERS; l++)
            bang_network_forward_f64(&f.net[l], rows, index, many, NULL);
        for (size_t i = 0; i < many; i++) {
            two_layer_split_image(&split, heads, f.net[0].x[1] + i * stride,
                                  f.net[1].x[1] + i * stride, f.net[2].x[1] + i * stride, scale);
            two_layer_centre(&split, heads->outputs);
            add_split(out, &split, labels[at + i]);
        }
    }
    close_layers(&f);
    free(heads);
    return rc;
}
