/* Accuracy along alpha, of averages of weights and of outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnose_page.h"

/* A path along alpha: of one set, or the mean over OOD sets. */
typedef struct alpha_path {
    size_t count;
    double *alpha, *accuracy, *half, *ece; /* (count) */
} alpha_path;

static void release_path(alpha_path *path)
{
    free(path->alpha);
    free(path->accuracy);
    free(path->half);
    free(path->ece);
    *path = (alpha_path){0};
}

static int reserve_path(alpha_path *path, size_t count)
{
    size_t wanted = count ? count : 1;
    *path = (alpha_path){.count = count,
                         .alpha = calloc(wanted, sizeof(double)),
                         .accuracy = calloc(wanted, sizeof(double)),
                         .half = calloc(wanted, sizeof(double)),
                         .ece = calloc(wanted, sizeof(double))};
    if (path->alpha && path->accuracy && path->half && path->ece)
        return 0;
    release_path(path);
    return -1;
}

static double half_of(const bang_estimate *estimate)
{
    return (estimate->interval.high - estimate->interval.low) / 2;
}

/* OSEs reach from PM, alpha 0, to FM, alpha 1, whether or not these were asked for. */
static bang_alpha_score end_of(const bang_set_diagnosis *set, int end)
{
    bang_role role = end ? BANG_FINE : BANG_PRE;
    const bang_member_tally *member = &set->tally->of[set->member[role]];
    return (bang_alpha_score){.alpha = end,
                              .accuracy = set->of[BANG_Q_ACCURACY + (int)role],
                              .confidence = member->confidence,
                              .nll = member->nll,
                              .ece = set->width[role].ece};
}

static size_t score_count(const diagnose_page *p, const bang_set_diagnosis *set, int is_ose)
{
    const double *alphas = p->r->ose_alphas;
    size_t count = p->r->ose_count;
    if (!is_ose)
        return set->wse_count;
    return count ? count + (alphas[0] > 0) + (alphas[count - 1] < 1) : 0;
}

static bang_alpha_score score_at(const diagnose_page *p, const bang_set_diagnosis *set, int is_ose,
                                 size_t at)
{
    size_t before = is_ose && p->r->ose_alphas[0] > 0;
    if (!is_ose)
        return set->wse[at];
    if (at < before)
        return end_of(set, 0);
    return at - before < p->r->ose_count ? set->ose[at - before] : end_of(set, 1);
}

/* Whether set i takes part in the path of `which`: itself, or the mean. */
static int takes_part(const diagnose_page *p, size_t i, size_t which, int is_ose)
{
    return page_is_labelled(p, i) && (which == PAGE_MEAN ? i != p->r->found->id : i == which) &&
           score_count(p, &p->r->found->sets[i], is_ose) > 0;
}

/* Sets are drawn independently of each other: their half widths add up as squares. */
static int make_path(alpha_path *out, const diagnose_page *p, size_t which, int is_ose)
{
    const bang_diagnosis *found = p->r->found;
    size_t sets = 0, count = 0;
    for (size_t i = 0; i < found->set_count; i++)
        if (takes_part(p, i, which, is_ose)) {
            sets++;
            count = score_count(p, &found->sets[i], is_ose);
        }
    if (reserve_path(out, count) < 0)
        return -1;
    for (size_t i = 0; i < found->set_count; i++)
        for (size_t at = 0; at < count && takes_part(p, i, which, is_ose); at++) {
            bang_alpha_score score = score_at(p, &found->sets[i], is_ose, at);
            double half = half_of(&score.accuracy) / (double)sets;
            out->alpha[at] = score.alpha;
            out->accuracy[at] += score.accuracy.value / (double)sets;
            out->ece[at] += score.ece / (double)sets;
            out->half[at] = hypot(out->half[at], half);
        }
    return 0;
}

static json_t *numbers_of(diagnose_page *p, const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        page_put(p, list, bang_json_number(values[i]));
    return list;
}

static void add_path(diagnose_page *p, json_t *chart, json_t *name, const alpha_path *path,
                     int color)
{
    json_t *series = json_object();
    page_set(p, series, "name", name);
    page_set(p, series, "color", json_integer(color));
    page_set(p, series, "x", numbers_of(p, path->alpha, path->count));
    page_set(p, series, "y", numbers_of(p, path->accuracy, path->count));
    if (p->r->replicates)
        page_set(p, series, "band", numbers_of(p, path->half, path->count));
    page_put(p, json_object_get(chart, "series"), series);
}

static json_t *alpha_chart(diagnose_page *p, const char *title)
{
    json_t *chart = page_entry(p, "lines", title);
    page_set(p, chart, "x_label",
             json_string("alpha: 0 is the pre-trained, 1 the fine-tuned model"));
    page_set(p, chart, "y_label", json_string("accuracy"));
    page_set(p, chart, "percent", json_true());
    page_set(p, chart, "series", json_array());
    return chart;
}

static void add_all_sets(diagnose_page *p, int is_ose)
{
    const bang_diagnosis *found = p->r->found;
    json_t *chart = alpha_chart(p, is_ose ? "Ensembles of outputs along alpha."
                                          : "Averages of weights along alpha.");
    int color = 0;
    for (size_t i = 0; i < found->set_count; i++) {
        alpha_path path;
        if (!takes_part(p, i, i, is_ose))
            continue;
        if (make_path(&path, p, i, is_ose) < 0) {
            p->failed = 1;
            return;
        }
        add_path(p, chart, page_set_name(p, i), &path, color++);
        release_path(&path);
    }
    page_note(p, chart,
              "A curve that rises above both of its ends is a set on which combining helps.%s",
              p->r->replicates ? " Bands are the intervals." : "");
}

/* The two ways on one set, or in the mean over OOD sets. */
static void add_both(diagnose_page *p, size_t which, const alpha_path *wse, const alpha_path *ose)
{
    json_t *chart = alpha_chart(p, NULL);
    page_set(p, chart, "title",
             which == PAGE_MEAN
                 ? page_format("Averaging weights against averaging outputs, mean over OOD sets.")
                 : page_format("Averaging weights against averaging outputs on %s.",
                               p->r->found->sets[which].name));
    add_path(p, chart, json_string("weights (WSE)"), wse, PAGE_AVG);
    add_path(p, chart, json_string("outputs (OSE)"), ose, PAGE_OSE);
    page_note(p, chart,
              "WSE: (1 \u2212 alpha) of PM's weights + alpha of FM's. OSE: the same of "
              "their logits. Both begin and end with the same models.");
}

/* Alphas stand beside the points of the first path; of both they would cover each other. */
static void add_trade(diagnose_page *p, json_t *chart, const char *name, const alpha_path *id,
                      const alpha_path *ood, int color)
{
    json_t *labels = json_array();
    int is_first = json_array_size(json_object_get(chart, "series")) == 0;
    if (id->count && id->count == ood->count) {
        for (size_t i = 0; i < id->count; i++)
            page_put(p, labels, page_format("%g", id->alpha[i]));
        page_put(p, json_object_get(chart, "series"),
                 json_pack("{ss so so si}", "name", name, "x",
                           numbers_of(p, id->accuracy, id->count), "y",
                           numbers_of(p, ood->accuracy, id->count), "color", color));
        page_put(p, json_object_get(chart, "series"),
                 json_pack("{ss so so si sb sO sb}", "name", name, "x",
                           numbers_of(p, id->accuracy, id->count), "y",
                           numbers_of(p, ood->accuracy, id->count), "color", color, "points", 1,
                           "labels", labels, "beside", is_first));
    }
    json_decref(labels);
}

static void add_cells(diagnose_page *p, json_t *row, const alpha_path *path, double alpha)
{
    for (size_t i = 0; i < path->count; i++)
        if (path->alpha[i] == alpha) {
            page_put(p, row, page_percent(path->accuracy[i], 0));
            page_put(p, row, page_percent(path->ece[i], 0));
            return;
        }
    page_put(p, row, json_null());
    page_put(p, row, json_null());
}

enum { ID_WSE, OOD_WSE, ID_OSE, OOD_OSE, PATHS };

/* Every alpha that any of the paths has. */
static void add_alpha_table(diagnose_page *p, const alpha_path paths[PATHS])
{
    static const char *const names[PATHS] = {"weights, ID", "weights, OOD", "outputs, ID",
                                             "outputs, OOD"};
    static const char *const short_names[PATHS] = {"weights", "weights", "outputs", "outputs"};
    int one_set = page_labelled(p) == 1;
    const char *columns[1 + 2 * PATHS] = {"alpha"};
    size_t used = 0, next[PATHS] = {0};
    json_t *groups = json_pack("[[si]]", "", 1);
    for (int k = 0; k < PATHS; k++)
        if (paths[k].count) {
            columns[1 + 2 * used] = "accuracy";
            columns[2 + 2 * used] = "ECE";
            used++;
            page_put(p, groups, json_pack("[si]", (one_set ? short_names : names)[k], 2));
        }
    json_t *table = page_table(p, "Accuracy and calibration at every alpha, in per cent.", columns,
                               1 + 2 * used);
    page_set(p, table, "groups", groups);
    page_decimals(p, table, 1, 1);
    for (;;) {
        double alpha = INFINITY;
        for (int k = 0; k < PATHS; k++)
            if (next[k] < paths[k].count)
                alpha = fmin(alpha, paths[k].alpha[next[k]]);
        if (isinf(alpha))
            break;
        json_t *row = page_row(p, table);
        page_put(p, row, bang_json_number(alpha));
        for (int k = 0; k < PATHS; k++) {
            if (paths[k].count)
                add_cells(p, row, &paths[k], alpha);
            while (next[k] < paths[k].count && paths[k].alpha[next[k]] <= alpha)
                next[k]++;
        }
    }
    page_note(p, table, "%sECE as above.",
              one_set ? ""
                      : "OOD: the mean over the labelled sets other than the ID set that have the "
                        "alphas. ");
}

static int is_compared(const diagnose_page *p, size_t i, size_t at)
{
    const bang_set_diagnosis *set = &p->r->found->sets[i];
    return page_is_labelled(p, i) && at < set->wse_count &&
           isfinite(set->wse[at].minus_ose.value) && set->wse[at].alpha > 0 &&
           set->wse[at].alpha < 1;
}

/* Weights less outputs at the same alpha, paired: a row for every alpha where that is known. */
static void add_comparison(diagnose_page *p, const bang_set_diagnosis *with)
{
    const bang_diagnosis *found = p->r->found;
    json_t *table = NULL, *columns = NULL;
    for (size_t at = 0; with && at < with->wse_count; at++) {
        size_t compared = 0;
        for (size_t i = 0; i < found->set_count; i++)
            compared += is_compared(p, i, at) != 0;
        if (!compared)
            continue;
        if (!table) {
            static const char *const first[] = {"alpha"};
            table = page_table(p, "Averages of weights less ensembles of outputs, in points.",
                               first, 1);
            columns = json_object_get(table, "columns");
        }
        json_t *row = page_row(p, table);
        page_put(p, row, bang_json_number(with->wse[at].alpha));
        for (size_t i = 0; i < found->set_count; i++) {
            if (!page_is_labelled(p, i) || !found->sets[i].wse_count)
                continue;
            if (json_array_size(json_object_get(table, "rows")) == 1)
                page_put(p, columns, page_set_name(p, i));
            page_put(p, row,
                     is_compared(p, i, at)
                         ? page_estimate(&found->sets[i].wse[at].minus_ose, PAGE_SIGN)
                         : json_null());
        }
    }
    if (table)
        page_note(p, table,
                  "The same samples, the same alpha: above 0 the average of the weights "
                  "is better.");
}

static void add_paths(diagnose_page *p, const alpha_path paths[PATHS])
{
    const bang_diagnosis *found = p->r->found;
    if (paths[OOD_WSE].count && paths[OOD_OSE].count)
        add_both(p, PAGE_MEAN, &paths[OOD_WSE], &paths[OOD_OSE]);
    else if (paths[ID_WSE].count && paths[ID_OSE].count)
        add_both(p, found->id, &paths[ID_WSE], &paths[ID_OSE]);
    if ((paths[ID_WSE].count && paths[OOD_WSE].count) ||
        (paths[ID_OSE].count && paths[OOD_OSE].count)) {
        json_t *chart =
            page_entry(p, "lines", "Accuracy in against out of distribution, along alpha.");
        page_set(p, chart, "x_label",
                 page_format("accuracy on %s (ID)", found->sets[found->id].name));
        page_set(p, chart, "y_label", json_string("mean accuracy on the OOD sets"));
        page_set(p, chart, "percent", json_true());
        page_set(p, chart, "x_percent", json_true());
        page_set(p, chart, "series", json_array());
        add_trade(p, chart, "weights (WSE)", &paths[ID_WSE], &paths[OOD_WSE], PAGE_AVG);
        add_trade(p, chart, "outputs (OSE)", &paths[ID_OSE], &paths[OOD_OSE], PAGE_OSE);
        page_note(p, chart,
                  "Numbers are alphas, from the pre-trained model (0) to the fine-tuned "
                  "one (1). Up and to the right is better in both respects.");
    }
    add_alpha_table(p, paths);
    add_comparison(p, bang_finding_with_averages(found));
}

void page_alphas(diagnose_page *p)
{
    size_t id = p->r->found->id;
    const struct {
        size_t which;
        int is_ose;
    } wanted[PATHS] = {{id, 0}, {PAGE_MEAN, 0}, {id, 1}, {PAGE_MEAN, 1}};
    alpha_path paths[PATHS] = {{0}};
    size_t any[2] = {0};
    for (int k = 0; k < PATHS; k++) {
        if (make_path(&paths[k], p, wanted[k].which, wanted[k].is_ose) < 0)
            p->failed = 1;
        any[wanted[k].is_ose] += paths[k].count;
    }
    /* Of one set with both kinds, the two in one chart say it all. */
    if ((any[0] || any[1]) && !(page_labelled(p) == 1 && any[0] && any[1]) && !p->failed)
        add_all_sets(p, any[0] == 0);
    if ((any[0] || any[1]) && !p->failed)
        add_paths(p, paths);
    for (int k = 0; k < PATHS; k++)
        release_path(&paths[k]);
}
