/* Averages whose alpha comes from confidence alone (combine/balance.h): on ID validation images,
 * and on OOD images without labels; for the whole model and layer by layer. The variant "root"
 * takes 1/(1 + sqrt(tau)), right where classifier and features are each sqrt(tau) times too
 * large. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "bang/combine/balance.h"
#include "bang/measure/temperature.h"
#include "lab/shift_unit.h"

enum { K = BANG_SHIFT_CLASSES };

typedef struct search {
    shift_run *run;
    shift_seed *seed;
    const bang_vit *pre, *fine;
    const float *fine_logits;       /* (images of all parts, K) */
    size_t part;                    /* on which confidence is measured */
    size_t begin[SHIFT_LAYERS + 1]; /* of a layer's parameters */
    float *mixed;                   /* (parameters) */
    float *logits;                  /* (images of the largest part, or of all tests, K) */
} search;

static double mean_confidence(const float *logits, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++, logits += K) {
        double most = (double)logits[0], total = 0;
        for (int k = 1; k < K; k++)
            most = fmax(most, (double)logits[k]);
        for (int k = 0; k < K; k++)
            total += exp((double)logits[k] - most);
        sum += 1 / total;
    }
    return sum / (double)count;
}

/* Layer l at alpha[l]. */
static void mix_layers(const search *s, const double *alpha)
{
    for (size_t l = 0; l < SHIFT_LAYERS; l++)
        shift_mix(s->mixed + s->begin[l], s->pre->parameters + s->begin[l],
                  s->fine->parameters + s->begin[l], alpha[l], s->begin[l + 1] - s->begin[l]);
}

static int probe(void *context, double *confidence, double *tau, double target,
                 const unsigned char *hybrid, size_t layers, bang_error *err)
{
    const search *s = context;
    size_t first = s->seed->first[s->part], count = s->seed->first[s->part + 1] - first, taken = 0;
    const float *logits = s->logits;
    double alpha[SHIFT_LAYERS];
    for (size_t l = 0; l < layers; l++)
        alpha[l] = hybrid[l], taken += hybrid[l];
    int rc = 0;
    if (taken == 0 || taken == layers) { /* what they say is known */
        logits = (taken ? s->fine_logits : s->seed->pre_logits) + first * K;
    } else {
        mix_layers(s, alpha);
        rc = shift_look(s->logits, NULL, s->run, s->seed, s->mixed, s->part, s->part + 1, err);
    }
    if (rc < 0)
        return rc;
    *confidence = mean_confidence(logits, count);
    if (isnan(target))
        return 0;
    bang_table table;
    bang_temperature found;
    bang_table_of(&table, "hybrid", BANG_F32, logits, count, K);
    rc = bang_temperature_balance(&found, &(bang_logits){.table = &table}, NULL, target, 1,
                                  s->run->options->cancel, err);
    *tau = found.temperature;
    return rc;
}

/* Measures the average with these alphas under a name; entry, which says them, is stolen. */
static int measure(json_t *out, const search *s, shift_found *found, const char *method,
                   const char *name, const double *alpha, json_t *entry, bang_error *err)
{
    double accuracy[SHIFT_SETS];
    shift_member *member = shift_add_member(found, s->seed, method, name);
    int rc = member && entry ? 0 : bang_fail_memory(err);
    if (rc == 0) {
        mix_layers(s, alpha);
        rc = shift_look(s->logits, NULL, s->run, s->seed, s->mixed, 0, SHIFT_SETS, err);
    }
    if (rc == 0) {
        shift_classes(member->classes, s->logits, s->seed->first[SHIFT_SETS]);
        for (size_t k = 0; k < SHIFT_SETS; k++)
            accuracy[k] =
                shift_accuracy(member->classes + s->seed->first[k], shift_part(s->seed, k));
        if (json_object_set_new(entry, "accuracy", lab_numbers(accuracy, SHIFT_SETS)) < 0 ||
            json_object_set(out, name, entry) < 0)
            rc = bang_fail_memory(err);
    }
    json_decref(entry);
    return rc;
}

static json_t *alphas_json(const bang_balance *b)
{
    json_t *alphas = json_object();
    for (size_t l = 0; l < b->layer_count; l++) {
        char name[32];
        snprintf(name, sizeof name, "blocks.%zu", l - 1);
        json_object_set_new(alphas,
                            l == 0                    ? "embedding"
                            : l + 1 == b->layer_count ? "head"
                                                      : name,
                            bang_json_number(b->layers[l].alpha));
    }
    return json_pack("{so}", "alphas", alphas);
}

/* All averages of one source of confidence, "id" or "ood". */
static int measure_source(json_t *out, search *s, shift_found *found, const char *method,
                          const char *source, bang_error *err)
{
    bang_balance balance = {0};
    double alpha[SHIFT_LAYERS];
    int rc = bang_balance_find(&balance, SHIFT_LAYERS, 1, probe, s, err);
    for (int root = 0; rc == 0 && root < 2; root++) {
        char name[40];
        double tau = root ? sqrt(balance.whole.tau) : balance.whole.tau;
        snprintf(name, sizeof name, root ? "confidence-root-%s" : "confidence-%s", source);
        for (size_t l = 0; l < SHIFT_LAYERS; l++)
            alpha[l] = bang_balance_alpha(tau);
        rc = measure(
            out, s, found, method, name, alpha,
            json_pack("{so so}", "alpha", bang_json_number(alpha[0]), "tau", bang_json_number(tau)),
            err);
    }
    if (rc == 0) {
        char name[40];
        snprintf(name, sizeof name, "layer-confidence-%s", source);
        for (size_t l = 0; l < SHIFT_LAYERS; l++)
            alpha[l] = balance.layers[l].alpha;
        rc = measure(out, s, found, method, name, alpha, alphas_json(&balance), err);
    }
    bang_balance_release(&balance);
    return rc;
}

/* Pictures that are looked at for one method. */
uint64_t shift_balance_cost(const shift_plan *plan)
{
    return 2 * SHIFT_LAYERS * (plan->validation + (SHIFT_SETS - 1) * plan->unlabelled) +
           6 * SHIFT_SETS * plan->test;
}

int shift_measure_balance(shift_run *run, shift_seed *seed, size_t m, const float *fine_logits,
                          bang_error *err)
{
    const char *method = run->plan->methods[m]->name;
    shift_found *found = &seed->found[m];
    const bang_vit *pre = &seed->pre.vit;
    search s = {.run = run,
                .seed = seed,
                .pre = pre,
                .fine = &seed->fine[m].vit,
                .fine_logits = fine_logits};
    for (size_t b = 0; b < SHIFT_DEPTH; b++)
        s.begin[b + 1] = pre->map.blocks[b].norm1_gain;
    s.begin[SHIFT_LAYERS - 1] = pre->map.norm_gain;
    s.begin[SHIFT_LAYERS] = pre->map.count;
    json_t *out = json_object();
    s.mixed = aligned_alloc(64, (pre->map.count * sizeof(float) + 63) / 64 * 64);
    s.logits = calloc(seed->first[SHIFT_PARTS] * K, sizeof *s.logits);
    int rc = out && s.mixed && s.logits ? 0 : bang_fail_memory(err);
    s.part = SHIFT_VALIDATION;
    if (rc == 0)
        rc = measure_source(out, &s, found, method, "id", err);
    s.part = SHIFT_UNLABELLED;
    if (rc == 0)
        rc = measure_source(out, &s, found, method, "ood", err);
    if (rc == 0 && json_object_set(found->record, "balance", out) < 0)
        rc = bang_fail_memory(err);
    json_decref(out);
    free(s.mixed);
    free(s.logits);
    return rc;
}
