/* One seed of the averaging on MultiColorMNIST: pairs of networks are trained, averaged and
 * scored at every p. Its record holds rows of one number per shift of color_shifts, one row
 * per pair:
 *
 *     {"pre", "pre/confidence",
 *      "vanilla/fine", "vanilla/wse", "vanilla/ose": accuracies, alpha = 1/2 for the last two
 *      "vanilla/fine/confidence", ...: mean confidence
 *      "vanilla/wse/fft", "vanilla/wse/ttf", "vanilla/wse/tt_ff", "vanilla/wse/tf_ft": shares of
 *          images, by PM, FM and WSE (bang/measure/diagnosis.h); "vanilla/ose/..": by the OSE
 *      "ls/..", "mixup/..", "mixup-ls/..": the same of the other ways to fine-tune
 *      "alphas/wse", "alphas/ose": eleven rows per pair, alpha = 0, .1 .. 1, of vanilla
 *      "occlusion": of the first pair (average_colors.h)}
 */
#include <stdio.h>
#include <stdlib.h>

#include "bang/base/json.h"
#include "bang/measure/diagnosis.h"
#include "lab/average_colors.h"

const average_variant average_variants[AVERAGE_VARIANTS] = {
    {"vanilla", "vanilla", 0, 0},
    {"ls", "LS(0.1)", 0.1, 0},
    {"mixup", "Mixup(0.2)", 0, 0.2},
    {"mixup-ls", "Mixup(0.2) + LS(0.1)", 0.1, 0.2},
};

enum {
    LAST = AVERAGE_ALPHAS - 1, /* FM */
    HALF = LAST / 2,
    INNER = LAST - 1, /* alphas between PM and FM */
    /* members of a tally; after them the OSEs and the averages at the inner alphas */
    PRE = 0,
    FINE,
    WSE,
    OSE,
    ROLES,
    OSES = ROLES,
    WSES = OSES + INNER,
    MEMBERS = WSES + INNER,
    GROUPS = 4,
};

static const char *const role_names[ROLES] = {"pre", "fine", "wse", "ose"};
static const char *const group_names[GROUPS] = {"fft", "ttf", "tt_ff", "tf_ft"};
static const bang_quantity group_quantities[GROUPS] = {BANG_Q_FFT, BANG_Q_TTF, BANG_Q_TT_FF,
                                                       BANG_Q_TF_FT};

typedef struct work {
    json_t *result;
    const average_data *data;
    size_t images;
    bang_label *labels;                           /* (images) */
    float *outputs[AVERAGE_ALPHAS][COLOR_SHIFTS]; /* (images, classes); 0 is PM, LAST is FM */
} work;

/* What is found of one pair and variant. */
typedef struct found {
    double accuracy[ROLES][COLOR_SHIFTS], confidence[ROLES][COLOR_SHIFTS];
    double group[ROLES][GROUPS][COLOR_SHIFTS];     /* of WSE and OSE */
    double alpha[2][AVERAGE_ALPHAS][COLOR_SHIFTS]; /* WSE, OSE */
} found;

static void release(work *w)
{
    for (size_t a = 0; a < AVERAGE_ALPHAS; a++)
        for (size_t p = 0; p < COLOR_SHIFTS; p++)
            free(w->outputs[a][p]);
    free(w->labels);
}

static int allocate(work *w, bang_error *err)
{
    int failed = !(w->labels = calloc(w->images + 1, sizeof *w->labels));
    for (size_t i = 0; i < w->images && !failed; i++)
        w->labels[i] = (bang_label)w->data->test_labels[i];
    for (size_t a = 0; a < AVERAGE_ALPHAS; a++)
        for (size_t p = 0; p < COLOR_SHIFTS; p++)
            failed |=
                !(w->outputs[a][p] = calloc(w->images * BANG_COLOR_CLASSES + 1, sizeof(float)));
    return failed ? bang_fail_memory(err) : 0;
}

static int predict(work *w, size_t alpha, const bang_mlp *model, bang_error *err)
{
    const bang_rows *tests[COLOR_SHIFTS];
    for (size_t p = 0; p < COLOR_SHIFTS; p++)
        tests[p] = &w->data->test[p];
    return bang_mlp_predict_sets(w->outputs[alpha], model, tests, COLOR_SHIFTS, err);
}

static bang_member alone(size_t source)
{
    return (bang_member){.part_count = 1, .parts = {{source, 1, 1}}};
}

static bang_member both(double alpha)
{
    return (bang_member){.part_count = 2, .parts = {{0, 1, 1 - alpha}, {1, 1, alpha}}};
}

static void count_groups(found *f, const bang_tally *t, int average, size_t p)
{
    size_t groups[BANG_GROUPS] = {0};
    double of[BANG_QUANTITIES] = {0};
    for (size_t k = 0; k < t->pattern_count; k++) {
        uint64_t wrong = ~t->patterns[k].right;
        groups[(wrong >> PRE & 1) << 2 | (wrong >> FINE & 1) << 1 | (wrong >> average & 1)] +=
            t->patterns[k].count;
    }
    bang_group_quantities(of, groups);
    for (int g = 0; g < GROUPS; g++)
        f->group[average][g][p] = of[group_quantities[g]];
}

static void keep(found *f, const bang_tally *t, size_t p, int curve)
{
    double n = (double)t->counted;
    for (int r = 0; r < ROLES; r++) {
        f->accuracy[r][p] = (double)t->of[r].right / n;
        f->confidence[r][p] = t->of[r].confidence;
    }
    count_groups(f, t, WSE, p);
    count_groups(f, t, OSE, p);
    for (int k = 0; k < 2 && curve; k++) {
        f->alpha[k][0][p] = f->accuracy[PRE][p];
        f->alpha[k][LAST][p] = f->accuracy[FINE][p];
        for (int a = 0; a < INNER; a++)
            f->alpha[k][a + 1][p] = (double)t->of[(k ? OSES : WSES) + a].right / n;
    }
}

/* All members at one shift. */
static int score(found *f, const work *w, size_t p, int curve, bang_error *err)
{
    enum { SOURCES = 3 + INNER };
    bang_table tables[SOURCES];
    bang_logits sources[SOURCES];
    size_t alpha[SOURCES] = {0, LAST, HALF};
    bang_member members[MEMBERS] = {alone(0), alone(1), alone(2), both(0.5)};
    for (size_t a = 0; a < INNER; a++) {
        alpha[3 + a] = a + 1;
        members[OSES + a] = both((double)(a + 1) / LAST);
        members[WSES + a] = alone(3 + a);
    }
    bang_tally_input input = {.source_count = curve ? SOURCES : 3,
                              .sources = sources,
                              .labels = w->labels,
                              .member_count = curve ? MEMBERS : ROLES,
                              .members = members};
    for (size_t s = 0; s < input.source_count; s++) {
        bang_table_of(&tables[s], "outputs", BANG_F32, w->outputs[alpha[s]][p], w->images,
                      BANG_COLOR_CLASSES);
        sources[s] = (bang_logits){&tables[s], 0, NULL};
    }
    bang_tally_options o = BANG_TALLY_OPTIONS_INIT;
    bang_tally *t;
    o.threads = 1;
    int rc = bang_tally_run(&t, &input, &o, err);
    if (rc < 0)
        return rc;
    keep(f, t, p, curve);
    bang_tally_free(t);
    return 0;
}

/* One more row of a field of the record. */
static void put_row(json_t *result, const char *field, const double *values)
{
    if (!json_object_get(result, field))
        json_object_set_new(result, field, json_array());
    json_array_append_new(json_object_get(result, field), lab_numbers(values, COLOR_SHIFTS));
}

static void put_found(json_t *result, const found *f, const average_variant *v, int curve)
{
    char name[64];
    if (curve) { /* PM once */
        put_row(result, "pre", f->accuracy[PRE]);
        put_row(result, "pre/confidence", f->confidence[PRE]);
    }
    for (int r = FINE; r < ROLES; r++) {
        snprintf(name, sizeof name, "%s/%s", v->name, role_names[r]);
        put_row(result, name, f->accuracy[r]);
        snprintf(name, sizeof name, "%s/%s/confidence", v->name, role_names[r]);
        put_row(result, name, f->confidence[r]);
        for (int g = 0; g < GROUPS && r != FINE; g++) {
            snprintf(name, sizeof name, "%s/%s/%s", v->name, role_names[r], group_names[g]);
            put_row(result, name, f->group[r][g]);
        }
    }
    for (int a = 0; a < AVERAGE_ALPHAS && curve; a++) {
        put_row(result, "alphas/wse", f->alpha[0][a]);
        put_row(result, "alphas/ose", f->alpha[1][a]);
    }
}

/* FM of one variant, its averages with PM, and all scores. */
static int run_variant(work *w, bang_mlp *fine, bang_mlp *half, const bang_mlp *pre,
                       const color_plan *plan, size_t i, size_t pair, size_t variant,
                       bang_cancel *cancel, bang_error *err)
{
    const average_variant *v = &average_variants[variant];
    const average_training training = {.smoothing = v->smoothing, .mixup = v->mixup};
    found f;
    int curve = variant == 0;
    int rc = average_train_fine(fine, pre, w->data, plan, i, pair, training, cancel, err);
    if (rc == 0)
        rc = predict(w, LAST, fine, err);
    for (size_t a = 1; a < LAST && rc == 0; a++) {
        bang_mlp mixed;
        if (a != HALF && !curve)
            continue;
        rc = average_mix(&mixed, pre, fine, (double)a / LAST, err);
        if (rc < 0)
            break;
        rc = predict(w, a, &mixed, err);
        if (a == HALF && rc == 0)
            *half = mixed;
        else
            bang_mlp_release(&mixed);
    }
    for (size_t p = 0; p < COLOR_SHIFTS && rc == 0; p++)
        rc = score(&f, w, p, curve, err);
    if (rc == 0)
        put_found(w->result, &f, v, curve);
    return rc;
}

static int run_pair(work *w, const color_plan *plan, size_t i, size_t pair, const bang_mnist *mnist,
                    bang_cancel *cancel, bang_error *err)
{
    bang_mlp start = {0}, pre = {0};
    int rc = average_network(&start, plan, i, pair, 2, err);
    if (rc == 0)
        rc = average_train_pre(&pre, &start, w->data, plan, i, pair, cancel, err);
    if (rc == 0)
        rc = predict(w, 0, &pre, err);
    for (size_t v = 0; v < AVERAGE_VARIANTS && rc == 0; v++) {
        bang_mlp fine = {0}, half = {0};
        rc = run_variant(w, &fine, &half, &pre, plan, i, pair, v, cancel, err);
        const bang_mlp *const reduced[3] = {&pre, &fine, &half};
        if (rc == 0 && pair == 0 && v == 0)
            rc =
                average_occlusion(w->result, &start, reduced, w->data, plan, i, mnist, cancel, err);
        bang_mlp_release(&fine);
        bang_mlp_release(&half);
    }
    bang_mlp_release(&start);
    bang_mlp_release(&pre);
    return rc;
}

int average_unit(json_t *result, const color_plan *plan, size_t i, const bang_mnist *mnist,
                 average_scratch *scratch, bang_cancel *cancel, bang_error *err)
{
    average_data data;
    int rc = average_data_make(&data, scratch, plan, i,
                               (average_tests){color_shifts, COLOR_SHIFTS, 0}, mnist, cancel, err);
    if (rc < 0)
        return rc;
    work w = {.result = result, .data = &data, .images = data.test[0].count};
    rc = allocate(&w, err);
    for (size_t pair = 0; pair < plan->models && rc == 0; pair++)
        rc = run_pair(&w, plan, i, pair, mnist, cancel, err);
    release(&w);
    average_data_release(&data);
    return rc;
}
