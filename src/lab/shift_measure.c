/* Measures a method: the fine-tuned model, its averages with the pre-trained one, ensembles of
 * the two, and the classifier alone re-scaled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "bang/measure/diagnosis.h"
#include "lab/shift_unit.h"

enum { K = BANG_SHIFT_CLASSES, LABELLED = SHIFT_UNLABELLED };

/* All that a method's models say. */
typedef struct outputs {
    float *fine;              /* (images of all parts, K) */
    float *at[SHIFT_BETWEEN]; /* (images with labels, K) averages at alphas .1 .. .9 */
    float *features;          /* (images with labels, width) of the average at 1/2 */
    float *mixed;             /* (parameters) an average */
} outputs;

static void release_outputs(outputs *o)
{
    free(o->fine);
    for (size_t a = 0; a < SHIFT_BETWEEN; a++)
        free(o->at[a]);
    free(o->features);
    free(o->mixed);
}

static int look(outputs *o, shift_run *run, const shift_seed *seed, const bang_vit *fine,
                bang_error *err)
{
    const bang_vit *pre = &seed->pre.vit;
    size_t all = seed->first[SHIFT_PARTS], labelled = seed->first[LABELLED];
    o->fine = calloc(all * K, sizeof *o->fine);
    o->features = calloc(labelled * bang_vit_features(&pre->config), sizeof *o->features);
    o->mixed = aligned_alloc(64, (pre->map.count * sizeof(float) + 63) / 64 * 64);
    if (!o->fine || !o->features || !o->mixed)
        return bang_fail_memory(err);
    int rc = shift_look(o->fine, NULL, run, seed, fine->parameters, 0, SHIFT_PARTS, err);
    for (size_t a = 0; rc == 0 && a < SHIFT_BETWEEN; a++) {
        if (!(o->at[a] = calloc(labelled * K, sizeof **o->at)))
            return bang_fail_memory(err);
        shift_mix(o->mixed, pre->parameters, fine->parameters, shift_alphas[a + 1], pre->map.count);
        rc = shift_look(o->at[a], a == SHIFT_HALF ? o->features : NULL, run, seed, o->mixed, 0,
                        LABELLED, err);
    }
    return rc;
}

/* Tables and labels of the diagnosis. */
typedef struct views {
    bang_table pre[LABELLED], fine[LABELLED], at[LABELLED][SHIFT_BETWEEN];
    bang_logits logits[LABELLED][SHIFT_BETWEEN];
    bang_label *labels; /* (images with labels) */
    bang_diagnosis_set sets[LABELLED];
} views;

static int make_views(views *v, const shift_seed *seed, const outputs *o, bang_error *err)
{
    v->labels = calloc(seed->first[LABELLED] + 1, sizeof *v->labels);
    if (!v->labels)
        return bang_fail_memory(err);
    for (size_t s = 0; s < LABELLED; s++) {
        size_t first = seed->first[s], rows = seed->first[s + 1] - first;
        for (size_t i = 0; i < rows; i++)
            v->labels[first + i] = (bang_label)shift_part(seed, s)->labels[i];
        bang_table_of(&v->pre[s], "pre", BANG_F32, seed->pre_logits + first * K, rows, K);
        bang_table_of(&v->fine[s], "fine", BANG_F32, o->fine + first * K, rows, K);
        for (size_t a = 0; a < SHIFT_BETWEEN; a++) {
            bang_table_of(&v->at[s][a], "avg", BANG_F32, o->at[a] + first * K, rows, K);
            v->logits[s][a] = (bang_logits){.table = &v->at[s][a]};
        }
        v->sets[s] = (bang_diagnosis_set){
            .name = s < SHIFT_SETS ? shift_set_names[s] : "validation",
            .pre = {.table = &v->pre[s]},
            .fine = {.table = &v->fine[s]},
            .avg = v->logits[s][SHIFT_HALF],
            .labels = v->labels + first,
            .at = v->logits[s],
        };
    }
    return 0;
}

static int diagnose(bang_diagnosis **out, const shift_run *run, const views *v, bang_error *err)
{
    bang_diagnosis_options how = BANG_DIAGNOSIS_OPTIONS_INIT;
    how.replicates = 0; /* what varies is the seed */
    how.fitted_on = SHIFT_VALIDATION;
    how.alpha_count = how.ose_count = SHIFT_BETWEEN;
    how.alphas = how.ose_alphas = shift_alphas + 1;
    how.threads = 1;
    how.cancel = run->options->cancel;
    return bang_diagnose(out, v->sets, LABELLED, &how, err);
}

static json_t *member_json(const bang_diagnosis *d, bang_role role)
{
    double accuracy[SHIFT_SETS], confidence[SHIFT_SETS], ece[SHIFT_SETS], nll[SHIFT_SETS];
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        const bang_set_diagnosis *set = &d->sets[s];
        const bang_member_tally *tally = &set->tally->of[set->member[role]];
        accuracy[s] = set->of[BANG_Q_ACCURACY + role].value;
        confidence[s] = tally->confidence;
        nll[s] = tally->nll;
        ece[s] = set->width[role].ece;
    }
    return json_pack("{so so so so}", "accuracy", lab_numbers(accuracy, SHIFT_SETS), "confidence",
                     lab_numbers(confidence, SHIFT_SETS), "ece", lab_numbers(ece, SHIFT_SETS),
                     "nll", lab_numbers(nll, SHIFT_SETS));
}

/* One row per alpha, one number per set. */
static json_t *alphas_json(const bang_diagnosis *d, int ose, int confidence)
{
    json_t *out = json_array();
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        double row[SHIFT_SETS];
        for (size_t s = 0; s < SHIFT_SETS; s++) {
            const bang_set_diagnosis *set = &d->sets[s];
            int end = a == 0 || a == SHIFT_ALPHAS - 1; /* the models themselves */
            const bang_alpha_score *score = ose && !end ? &set->ose[a - 1] : &set->wse[a];
            row[s] = confidence ? score->confidence : score->accuracy.value;
        }
        json_array_append_new(out, lab_numbers(row, SHIFT_SETS));
    }
    return out;
}

static json_t *validation_json(const bang_diagnosis *d)
{
    double row[SHIFT_ALPHAS];
    for (size_t a = 0; a < SHIFT_ALPHAS; a++)
        row[a] = d->sets[SHIFT_VALIDATION].wse[a].accuracy.value;
    return lab_numbers(row, SHIFT_ALPHAS);
}

static json_t *groups_json(const bang_diagnosis *d)
{
    json_t *out = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        json_t *row = json_array();
        for (size_t g = 0; g < BANG_GROUPS; g++)
            json_array_append_new(row, json_integer((json_int_t)d->sets[s].groups[g]));
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *margins_json(const bang_diagnosis *d, bang_role role)
{
    json_t *out = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        const bang_set_diagnosis *set = &d->sets[s];
        json_array_append_new(out,
                              lab_numbers(set->tally->of[set->member[role]].margin, BANG_PAIRS));
    }
    return out;
}

static int write_record(shift_found *found, const bang_diagnosis *d, bang_error *err)
{
    static const bang_role roles[] = {BANG_FINE,     BANG_AVG,         BANG_OSE,
                                      BANG_OSE_MEAN, BANG_FINE_SCALED, BANG_OSE_SCALED};
    found->pre = member_json(d, BANG_PRE);
    json_t *r = found->record = json_object();
    int failed = !found->pre || !r;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        failed |= json_object_set_new(r, bang_role_names[roles[i]], member_json(d, roles[i]));
    failed |= json_object_set_new(r, "temperature",
                                  json_pack("{so so}", "pre",
                                            bang_json_number(d->temperature[0].temperature), "fine",
                                            bang_json_number(d->temperature[1].temperature)));
    failed |= json_object_set_new(r, "alphas", lab_numbers(shift_alphas, SHIFT_ALPHAS));
    failed |= json_object_set_new(r, "wse", alphas_json(d, 0, 0));
    failed |= json_object_set_new(r, "wse_confidence", alphas_json(d, 0, 1));
    failed |= json_object_set_new(r, "ose_alphas", alphas_json(d, 1, 0));
    failed |= json_object_set_new(r, "validation", validation_json(d));
    failed |= json_object_set_new(r, "groups", groups_json(d));
    failed |= json_object_set_new(r, "margin",
                                  json_pack("{so so so}", "pre", margins_json(d, BANG_PRE), "fine",
                                            margins_json(d, BANG_FINE), "avg",
                                            margins_json(d, BANG_AVG)));
    return failed ? bang_fail_memory(err) : 0;
}

/* Classes of scale[0] pre + scale[1] fine on the test sets. */
static void ensemble_classes(uint8_t *out, const float *pre, const float *fine,
                             const double scale[2], size_t count)
{
    for (size_t i = 0; i < count; i++, pre += K, fine += K) {
        double most = 0;
        for (int k = 0; k < K; k++) {
            double z = scale[0] * (double)pre[k] + scale[1] * (double)fine[k];
            if (k == 0 || z > most)
                most = z, out[i] = (uint8_t)k;
        }
    }
}

/* A head at alpha between the two models' over the features of the average at 1/2. */
static void head_classes(uint8_t *out, const float *features, const bang_vit *pre,
                         const bang_vit *fine, double alpha, size_t count)
{
    enum { WIDTH_MOST = 64 };
    size_t width = bang_vit_features(&pre->config), at = pre->map.head_weight;
    float head[K * WIDTH_MOST + K];
    shift_mix(head, pre->parameters + at, fine->parameters + at, alpha, pre->map.count - at);
    for (size_t i = 0; i < count; i++, features += width) {
        double most = 0;
        for (size_t k = 0; k < K; k++) {
            double z = (double)head[K * width + k];
            for (size_t j = 0; j < width; j++)
                z += (double)head[k * width + j] * (double)features[j];
            if (k == 0 || z > most)
                most = z, out[i] = (uint8_t)k;
        }
    }
}

/* Takes over the predictions of one set if they are better there than what was kept. */
static double keep_better(shift_member *member, double best, const uint8_t *classes,
                          const shift_seed *seed, size_t set)
{
    const bang_images *part = shift_part(seed, set);
    double accuracy = shift_accuracy(classes + seed->first[set], part);
    if (accuracy > best)
        memcpy(member->classes + seed->first[set], classes + seed->first[set], part->count);
    return accuracy > best ? accuracy : best;
}

/* "exp2-30": all predictions at one alpha, of plain methods, whose best alpha others may choose. */
static int keep_alpha(shift_found *found, const shift_seed *seed, const char *method,
                      const char *name, double alpha, const uint8_t *classes, bang_error *err)
{
    char full[32];
    snprintf(full, sizeof full, "%s-%.0f", name, 100 * alpha);
    shift_member *member = shift_add_member(found, seed, method, full);
    if (!member)
        return bang_fail_memory(err);
    memcpy(member->classes, classes, seed->first[SHIFT_SETS]);
    return 0;
}

/* Exp 1 (head alone) and Exp 2 (all weights) of appendix E.6 at alpha .5, .4, .3, .2, and as
 * members at the best alpha of each set, as the paper takes it. */
static int rescale(shift_run *run, const shift_seed *seed, size_t m, shift_found *found,
                   const outputs *o, bang_error *err)
{
    const char *method = run->plan->methods[m]->name;
    const bang_vit *pre = &seed->pre.vit, *fine = &seed->fine[m].vit;
    int plain = strcmp(method, shift_base(run->plan->methods[m])) == 0, rc = 0;
    size_t tests = seed->first[SHIFT_SETS];
    uint8_t *classes = malloc(tests + 1);
    shift_member *one = shift_add_member(found, seed, method, "exp1");
    shift_member *two = shift_add_member(found, seed, method, "exp2");
    json_t *rows[SHIFT_EXP1], *list = json_array();
    if (!classes || !one || !two || !list) {
        free(classes);
        json_decref(list);
        return bang_fail_memory(err);
    }
    double best_one[SHIFT_SETS], best_two[SHIFT_SETS], row[SHIFT_SETS];
    for (size_t s = 0; s < SHIFT_SETS; s++)
        best_one[s] = best_two[s] = -1;
    for (size_t e = SHIFT_EXP1; e-- > 0;) { /* alpha 1/2 first: it stays among equals */
        size_t a = e + 1;                   /* among those between 0 and 1 */
        shift_classes(classes, o->at[a], tests);
        for (size_t s = 0; s < SHIFT_SETS; s++)
            best_two[s] = keep_better(two, best_two[s], classes, seed, s);
        if (rc == 0 && plain && a != SHIFT_HALF)
            rc = keep_alpha(found, seed, method, "exp2", shift_alphas[a + 1], classes, err);
        if (a != SHIFT_HALF)
            head_classes(classes, o->features, pre, fine, shift_alphas[a + 1], tests);
        if (rc == 0 && plain && a != SHIFT_HALF)
            rc = keep_alpha(found, seed, method, "exp1", shift_alphas[a + 1], classes, err);
        for (size_t s = 0; s < SHIFT_SETS; s++) {
            row[s] = shift_accuracy(classes + seed->first[s], shift_part(seed, s));
            best_one[s] = keep_better(one, best_one[s], classes, seed, s);
        }
        rows[e] = lab_numbers(row, SHIFT_SETS);
    }
    for (size_t e = 0; e < SHIFT_EXP1; e++)
        json_array_append_new(list, rows[e]);
    free(classes);
    if (json_object_set_new(found->record, "exp1", list) < 0)
        rc = bang_fail_memory(err);
    return rc;
}

/* Logits of the average at the smallest of the alphas that are best on ID validation. */
static const float *validated(const shift_seed *seed, const outputs *o, const bang_diagnosis *d)
{
    const bang_alpha_score *scores = d->sets[SHIFT_VALIDATION].wse;
    size_t best = 0;
    for (size_t a = 1; a < SHIFT_ALPHAS; a++)
        if (scores[a].accuracy.value > scores[best].accuracy.value)
            best = a;
    return best == 0 ? seed->pre_logits : best == SHIFT_ALPHAS - 1 ? o->fine : o->at[best - 1];
}

static int add_members(const shift_seed *seed, const char *method, shift_found *found,
                       const outputs *o, const bang_diagnosis *d, bang_error *err)
{
    size_t tests = seed->first[SHIFT_SETS];
    const double half[2] = {.5, .5};
    const double scaled[2] = {.5 * (1 / d->temperature[0].temperature),
                              .5 * (1 / d->temperature[1].temperature)};
    shift_member *fine = shift_add_member(found, seed, method, "fine");
    shift_member *avg = shift_add_member(found, seed, method, "avg");
    shift_member *ose = shift_add_member(found, seed, method, "ose");
    shift_member *calibrated = shift_add_member(found, seed, method, "calibrated_ose");
    shift_member *pre = shift_add_member(found, seed, "", "pre");
    shift_member *chosen = shift_add_member(found, seed, method, "id-alpha");
    if (!fine || !avg || !ose || !calibrated || !pre || !chosen)
        return bang_fail_memory(err);
    shift_classes(pre->classes, seed->pre_logits, tests);
    shift_classes(fine->classes, o->fine, tests);
    shift_classes(chosen->classes, validated(seed, o, d), tests);
    shift_classes(avg->classes, o->at[SHIFT_HALF], tests);
    ensemble_classes(ose->classes, seed->pre_logits, o->fine, half, tests);
    ensemble_classes(calibrated->classes, seed->pre_logits, o->fine, scaled, tests);
    return 0;
}

int shift_measure(shift_run *run, shift_seed *seed, size_t m, bang_error *err)
{
    const shift_method *method = run->plan->methods[m];
    shift_found *found = &seed->found[m];
    outputs o = {0};
    bang_diagnosis *diagnosis = NULL;
    views *v = calloc(1, sizeof *v);
    int rc = v ? look(&o, run, seed, &seed->fine[m].vit, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = make_views(v, seed, &o, err);
    if (rc == 0)
        rc = diagnose(&diagnosis, run, v, err);
    if (rc == 0)
        rc = write_record(found, diagnosis, err);
    if (rc == 0)
        rc = add_members(seed, method->name, found, &o, diagnosis, err);
    if (rc == 0)
        rc = rescale(run, seed, m, found, &o, err);
    if (rc == 0 && shift_is_balanced(run->plan, method))
        rc = shift_measure_balance(run, seed, m, o.fine, err);
    bang_diagnosis_free(diagnosis);
    if (v)
        free(v->labels);
    free(v);
    release_outputs(&o);
    return rc;
}
