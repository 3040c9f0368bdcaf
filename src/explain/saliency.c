#include "bang/explain/saliency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bang_saliency {
    const bang_vit *vit;
    bang_vit_worker_f32 worker;
    size_t tokens, side;
    float *kept;     /* (depth, tokens, width) what the first norms put out, from the last on */
    float *gradient; /* (depth, tokens, width) of it */
    float *pixels;   /* (channels, image, image) gradient of the picture */
    float *scores;   /* (tokens, tokens) of one head */
    double *share;   /* (tokens) the class token's in the rollout, so far */
    double *next;    /* (tokens) */
    float *scratch;  /* of products, aligned */
};

int bang_saliency_open(bang_saliency **out, const bang_vit *vit, bang_error *err)
{
    const bang_vit_config *c = &vit->config;
    *out = NULL;
    bang_saliency *m = calloc(1, sizeof *m);
    if (!m)
        return bang_fail_memory(err);
    m->vit = vit;
    m->tokens = bang_vit_tokens(c);
    m->side = c->image / c->patch;
    m->kept = calloc(c->depth * m->tokens, c->width * sizeof *m->kept);
    m->gradient = calloc(c->depth * m->tokens, c->width * sizeof *m->gradient);
    m->pixels = calloc(c->channels * c->image * c->image, sizeof *m->pixels);
    m->scores = calloc(m->tokens, m->tokens * sizeof *m->scores);
    m->share = calloc(m->tokens, sizeof *m->share);
    m->next = calloc(m->tokens, sizeof *m->next);
    void *scratch = NULL;
    int rc = posix_memalign(&scratch, 64, (bang_product_scratch_f32() + 1) * sizeof *m->scratch);
    m->scratch = rc == 0 ? scratch : NULL;
    rc = m->kept && m->gradient && m->pixels && m->scores && m->share && m->next && m->scratch
             ? bang_vit_worker_init_f32(&m->worker, c, 1, BANG_VIT_TRAIN, err)
             : bang_fail_memory(err);
    if (rc < 0)
        bang_saliency_close(m);
    else
        *out = m;
    return rc;
}

void bang_saliency_close(bang_saliency *m)
{
    if (!m)
        return;
    bang_vit_worker_release_f32(&m->worker);
    free(m->kept);
    free(m->gradient);
    free(m->pixels);
    free(m->scores);
    free(m->share);
    free(m->next);
    free(m->scratch);
    free(m);
}

size_t bang_saliency_side(const bang_saliency *m, bang_saliency_kind kind)
{
    return kind == BANG_INPUT_GRADIENT ? m->vit->config.image : m->side;
}

const float *bang_saliency_logits(const bang_saliency *m)
{
    return m->worker.logits;
}

/* map_t = max(0, sum_c A_tc mean_s G_sc); token 0 is no patch. */
static void gradcam(double *out, bang_saliency *m)
{
    size_t width = m->vit->config.width, patches = m->tokens - 1;
    bang_vit_sensitivity_f32(&m->worker, m->vit->parameters, 1, 1, m->kept, m->gradient, NULL);
    memset(out, 0, patches * sizeof *out);
    for (size_t c = 0; c < width; c++) {
        double weight = 0;
        for (size_t t = 1; t <= patches; t++)
            weight += (double)m->gradient[t * width + c];
        weight /= (double)patches;
        for (size_t t = 1; t <= patches; t++)
            out[t - 1] += weight * (double)m->kept[t * width + c];
    }
    for (size_t t = 0; t < patches; t++)
        out[t] = out[t] > 0 ? out[t] : 0;
}

/* map_t = sum_l max(0, sum_c A_ltc G_ltc) */
static void hirescam(double *out, bang_saliency *m)
{
    const bang_vit_config *c = &m->vit->config;
    size_t width = c->width, patches = m->tokens - 1;
    bang_vit_sensitivity_f32(&m->worker, m->vit->parameters, 1, c->depth, m->kept, m->gradient,
                             NULL);
    memset(out, 0, patches * sizeof *out);
    for (size_t l = 0; l < c->depth; l++)
        for (size_t t = 0; t < patches; t++) {
            size_t at = (l * m->tokens + 1 + t) * width;
            double sum = 0;
            for (size_t k = 0; k < width; k++)
                sum += (double)m->kept[at + k] * (double)m->gradient[at + k];
            out[t] += sum > 0 ? sum : 0;
        }
}

static void input_gradient(double *out, bang_saliency *m)
{
    const bang_vit_config *c = &m->vit->config;
    size_t plane = c->image * c->image;
    bang_vit_sensitivity_f32(&m->worker, m->vit->parameters, 1, 0, NULL, NULL, m->pixels);
    for (size_t i = 0; i < plane; i++) {
        out[i] = 0;
        for (size_t k = 0; k < c->channels; k++)
            out[i] = fmax(out[i], fabs((double)m->pixels[k * plane + i]));
    }
}

/* next += share P_h / heads, with P_h = softmax(q k^T / sqrt(width)) of one head for the first
 * so many tokens; the others' share is zero. */
static void add_head(bang_saliency *m, const float *qkv, size_t head, size_t queries)
{
    const bang_vit_config *c = &m->vit->config;
    size_t width = c->width / c->heads, row = 3 * c->width, tokens = m->tokens;
    bang_product_f32 p = {.m = queries, .n = tokens, .k = width};
    p.a = qkv + head * width, p.a_row = row, p.a_column = 1;
    p.b = qkv + c->width + head * width, p.b_row = 1, p.b_column = row;
    p.c = m->scores, p.c_row = tokens;
    bang_product_run_f32(&p, m->scratch);
    for (size_t i = 0; i < queries; i++) {
        const float *z = m->scores + i * tokens;
        double most = (double)z[0], sum = 0, scale = 1 / sqrt((double)width);
        for (size_t t = 1; t < tokens; t++)
            most = fmax(most, (double)z[t]);
        for (size_t t = 0; t < tokens; t++)
            sum += exp(((double)z[t] - most) * scale);
        double part = m->share[i] / sum / (double)c->heads;
        for (size_t t = 0; t < tokens; t++)
            m->next[t] += part * exp(((double)z[t] - most) * scale);
    }
}

/* The class token's row of (P_L + I)/2 ... (P_1 + I)/2, from the left: in the last block that
 * row alone is needed, which is the one there is. */
static void rollout(double *out, bang_saliency *m)
{
    size_t depth = m->vit->config.depth;
    memset(m->share, 0, m->tokens * sizeof *m->share);
    m->share[0] = 1;
    for (size_t l = depth; l-- > 0;) {
        const float *qkv = bang_vit_qkv_f32(&m->worker, l);
        memcpy(m->next, m->share, m->tokens * sizeof *m->next);
        for (size_t h = 0; h < m->vit->config.heads; h++)
            add_head(m, qkv, h, l + 1 < depth ? m->tokens : 1);
        for (size_t t = 0; t < m->tokens; t++)
            m->share[t] = m->next[t] / 2;
    }
    memcpy(out, m->share + 1, (m->tokens - 1) * sizeof *out);
}

size_t bang_saliency_map(double *out, bang_saliency *m, bang_saliency_kind kind,
                         const float *pixels, size_t which)
{
    bang_vit_worker_f32 *w = &m->worker;
    size_t classes = m->vit->config.classes;
    bang_vit_forward_f32(w, m->vit->parameters, pixels, 1);
    if (classes == 0) {
        size_t side = bang_saliency_side(m, kind);
        memset(out, 0, side * side * sizeof *out);
        if (kind == BANG_ROLLOUT)
            rollout(out, m);
        return SIZE_MAX;
    }
    if (which >= classes) {
        which = 0;
        for (size_t i = 1; i < classes; i++)
            if (w->logits[i] > w->logits[which])
                which = i;
    }
    memset(w->logits_gradient, 0, classes * sizeof *w->logits_gradient);
    w->logits_gradient[which] = 1;
    if (kind == BANG_ROLLOUT)
        rollout(out, m);
    else if (kind == BANG_INPUT_GRADIENT)
        input_gradient(out, m);
    else if (kind == BANG_HIRESCAM)
        hirescam(out, m);
    else
        gradcam(out, m);
    return which;
}
