#include "bang/combine/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double bang_balance_alpha(double tau)
{
    return 1 / (1 + tau);
}

struct search {
    bang_balance_probe probe;
    void *context;
    size_t layers;
    unsigned char *hybrid; /* (layers) */
    double target;         /* NaN: not known yet */
};

/* Asks for a hybrid, and takes no answer that is none. */
static int measure(double *confidence, double *tau, const struct search *s, bang_error *err)
{
    *confidence = *tau = NAN;
    int rc = s->probe(s->context, confidence, tau, s->target, s->hybrid, s->layers, err);
    if (rc < 0)
        return rc;
    if (!(*confidence >= 0 && *confidence <= 1))
        return bang_fail(err, BANG_EDATA,
                         "balance: a mean confidence of %g: it must be within 0..1", *confidence);
    if (!isnan(s->target) && !(*tau > 0 && isfinite(*tau)))
        return bang_fail(err, BANG_EDATA,
                         "balance: a temperature of %g: it must be above 0 and finite", *tau);
    return 0;
}

static void settle(bang_balance_layer *out, double tau)
{
    out->tau = tau;
    out->alpha = bang_balance_alpha(tau);
    out->scale = 2 * out->alpha;
}

static int find_layer(bang_balance *out, size_t layer, struct search *s, bang_error *err)
{
    bang_balance_layer *to = &out->layers[layer];
    double alone, without;
    if (s->layers == 1) { /* the hybrids are the models */
        *to = out->whole;
        return 0;
    }
    memset(s->hybrid, 0, s->layers);
    s->hybrid[layer] = 1;
    int rc = measure(&to->confidence, &alone, s, err);
    for (size_t i = 0; i < s->layers; i++)
        s->hybrid[i] = i != layer;
    if (rc == 0)
        rc = measure(&to->without, &without, s, err);
    if (rc == 0) /* temperatures may be as far apart as doubles are */
        settle(to, sqrt(alone) * sqrt(out->whole.tau) / sqrt(without));
    return rc;
}

static int find_whole(bang_balance *out, struct search *s, bang_error *err)
{
    double tau;
    int rc = measure(&out->confidence, &tau, s, err);
    if (rc < 0)
        return rc;
    s->target = out->whole.without = out->confidence;
    memset(s->hybrid, 1, s->layers);
    rc = measure(&out->whole.confidence, &tau, s, err);
    if (rc == 0)
        settle(&out->whole, tau);
    return rc;
}

int bang_balance_find(bang_balance *out, size_t layers, int by_layer, bang_balance_probe probe,
                      void *context, bang_error *err)
{
    *out = (bang_balance){0};
    if (layers == 0)
        return bang_fail(err, BANG_EUSAGE, "balance: no layers: there must be one at least");
    struct search s = {.probe = probe, .context = context, .layers = layers, .target = NAN};
    s.hybrid = calloc(layers, 1);
    out->layers = by_layer ? calloc(layers, sizeof *out->layers) : NULL;
    out->layer_count = out->layers ? layers : 0;
    int rc =
        s.hybrid && (out->layers || !by_layer) ? find_whole(out, &s, err) : bang_fail_memory(err);
    for (size_t i = 0; i < out->layer_count && rc == 0; i++)
        rc = find_layer(out, i, &s, err);
    free(s.hybrid);
    if (rc < 0)
        bang_balance_release(out);
    return rc;
}

void bang_balance_release(bang_balance *balance)
{
    free(balance->layers);
    *balance = (bang_balance){0};
}
