/* The figures of section 3 and appendix D.7, by the Gaussian formula and exactly. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/lab/lab.h"
#include "lab/pair.h"

const char *const bang_lab_figures[] = {"f-curve", "example-2", "example-3", NULL};

/* Accuracies of two models and their ensembles, Gaussian [0] and exact [1]. */
typedef struct quartet {
    double first[2], second[2], ose[2], wse[2];
} quartet;

typedef struct setting {
    int64_t classes;
    double shift, sigma;
} setting;

/* n: nv1, ns1, nv2, ns2, nvo, nso */
static int compute_quartet(quartet *out, const int64_t n[6], const setting *s, bang_error *err)
{
    double *targets[4] = {out->first, out->second, out->ose, out->wse};
    for (int i = 0; i < 4; i++) {
        pair_accuracy a;
        int rc = pair_predict(&a, n, 1, 0.5, s->classes, s->shift, s->sigma, (pair_member)i, err);
        if (rc < 0)
            return rc;
        targets[i][0] = a.gaussian;
        targets[i][1] = a.exact;
    }
    return 0;
}

static json_t *whole_numbers(int count)
{
    json_t *out = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(out, json_integer(i));
    return out;
}

static json_t *panel(const char *title)
{
    return json_pack("{ss s[]}", "title", title, "values");
}

static void start_row(json_t *map_panel)
{
    json_array_append_new(json_object_get(map_panel, "values"), json_array());
}

static void add_cell(json_t *map_panel, double value)
{
    json_t *rows = json_object_get(map_panel, "values");
    json_array_append_new(json_array_get(rows, json_array_size(rows) - 1), bang_json_number(value));
}

/* Model 1 learned 5,20; model 2 learned nv = 0..5, ns = 0..20; nothing shared. */
static int example_2(json_t **out, const setting *s, bang_error *err)
{
    json_t *panels[2] = {panel("OSE minus model 1 (F_p)"), panel("OSE minus model 1 (exact)")};
    int rc = 0;
    for (int64_t nv = 0; nv <= 5 && rc == 0; nv++) {
        for (int i = 0; i < 2; i++)
            start_row(panels[i]);
        for (int64_t ns = 0; ns <= 20 && rc == 0; ns++) {
            quartet q = {0};
            rc = compute_quartet(&q, (int64_t[]){5, 20, nv, ns, 0, 0}, s, err);
            for (int i = 0; i < 2; i++)
                add_cell(panels[i], q.ose[i] - q.first[i]);
        }
    }
    char title[96];
    snprintf(title, sizeof title,
             "Example 2, K = %lld, p = %g: output-space ensemble minus model 1",
             (long long)s->classes, s->shift);
    *out = json_pack("{ss ss ss ss ss sb so so s[oo]}", "kind", "heat", "title", title, "x_label",
                     "spurious features of model 2", "y_label", "invariant features of model 2",
                     "value_label", "gain in accuracy, points", "percent", 1, "x",
                     whole_numbers(21), "y", whole_numbers(6), "panels", panels[0], panels[1]);
    return rc == 0 && !*out ? bang_fail_memory(err) : rc;
}

/* Both models learned 10,20 and share nvo = 0..5, nso = 0..5. */
static int example_3(json_t **out, const setting *s, bang_error *err)
{
    json_t *panels[4] = {panel("WSE minus single (F_p)"), panel("WSE minus single (exact)"),
                         panel("WSE minus OSE (F_p)"), panel("WSE minus OSE (exact)")};
    int rc = 0;
    for (int64_t nvo = 0; nvo <= 5 && rc == 0; nvo++) {
        for (int i = 0; i < 4; i++)
            start_row(panels[i]);
        for (int64_t nso = 0; nso <= 5 && rc == 0; nso++) {
            quartet q = {0};
            rc = compute_quartet(&q, (int64_t[]){10, 20, 10, 20, nvo, nso}, s, err);
            for (int i = 0; i < 2; i++) {
                add_cell(panels[i], q.wse[i] - q.first[i]);
                add_cell(panels[2 + i], q.wse[i] - q.ose[i]);
            }
        }
    }
    char title[96];
    snprintf(title, sizeof title, "Shared features (D.7.2), K = %lld, p = %g: what they do",
             (long long)s->classes, s->shift);
    *out = json_pack("{ss ss ss ss ss sb so so s[oooo]}", "kind", "heat", "title", title, "x_label",
                     "shared spurious features", "y_label", "shared invariant features",
                     "value_label", "gain in accuracy, points", "percent", 1, "x", whole_numbers(6),
                     "y", whole_numbers(6), "panels", panels[0], panels[1], panels[2], panels[3]);
    return rc == 0 && !*out ? bang_fail_memory(err) : rc;
}

/* F_p(x) as a line; as points, G of single models with ns = 5 spurious and
 * nv = 0, 1, ... invariant features at their x. */
static int f_curve_of(json_t *series, double shift, int color, const setting *s, bang_error *err)
{
    enum { SPURIOUS = 5 };
    json_t *x = json_array(), *y = json_array(), *points_x = json_array(), *points_y = json_array();
    int rc = 0;
    for (int i = 0; i <= 120; i++) {
        double at = -2 + 0.05 * i;
        json_array_append_new(x, bang_json_number(at));
        json_array_append_new(y, bang_json_number(bang_theory_fp(at, s->classes, shift)));
    }
    for (int nv = 0; rc == 0; nv++) {
        bang_theory_group group = {1, SPURIOUS};
        bang_theory_score score = {nv, s->sigma * (nv + SPURIOUS), 1, &group};
        double at = bang_theory_gaussian_argument(&score, shift);
        if (at > 4)
            break;
        bang_theory_value value;
        rc = bang_theory_exact(&value, &score, s->classes, shift, NULL, err);
        if (rc < 0)
            break;
        json_array_append_new(points_x, bang_json_number(at));
        json_array_append_new(points_y, bang_json_number(value.accuracy));
    }
    char line[64], points[64];
    snprintf(line, sizeof line, "F_p, p = %g", shift);
    snprintf(points, sizeof points, "exact, p = %g", shift);
    json_array_append_new(series,
                          json_pack("{ss so so si}", "name", line, "x", x, "y", y, "color", color));
    json_array_append_new(series, json_pack("{ss so so sb si}", "name", points, "x", points_x, "y",
                                            points_y, "points", 1, "color", color));
    return rc;
}

static int f_curve(json_t **out, const setting *s, bang_error *err)
{
    static const double shifts[] = {0.1, 0.3, 0.5, 0.9};
    json_t *series = json_array();
    int rc = 0;
    for (int i = 0; i < 4 && rc == 0; i++)
        rc = f_curve_of(series, shifts[i], i, s, err);
    *out = json_pack(
        "{ss ss ss ss sb so}", "kind", "lines", "title",
        "F_p(x) as lines; exact accuracies of models with 5 spurious features as points", "x_label",
        "x = (nv + (1−p) ns) / √ns", "y_label", "accuracy", "percent", 1, "series", series);
    return rc == 0 && !*out ? bang_fail_memory(err) : rc;
}

int bang_lab_figure(json_t **out, const char *name, int64_t classes, double shift, double sigma,
                    bang_error *err)
{
    static int (*const makers[])(json_t **, const setting *, bang_error *) = {f_curve, example_2,
                                                                              example_3};
    setting s = {classes, shift, sigma};
    *out = NULL;
    for (size_t i = 0; bang_lab_figures[i]; i++)
        if (strcmp(bang_lab_figures[i], name) == 0) {
            int rc = makers[i](out, &s, err);
            if (rc < 0) {
                json_decref(*out);
                *out = NULL;
            }
            return rc;
        }
    return bang_fail(err, BANG_EUSAGE,
                     "figure '%.40s': unknown: choose f-curve, example-2 or "
                     "example-3",
                     name);
}
