/* Made-up records of the lab, with effects that a test chooses. */
#ifndef BANG_TESTS_SHIFT_CASES_H
#define BANG_TESTS_SHIFT_CASES_H

#include <math.h>

#include "lab/shift_show.h"

/* A way of fine-tuning: what its FM and its average have over those of the vanilla one. */
typedef struct shift_case {
    const char *name;
    double fine, avg;  /* OOD accuracy gained */
    double confidence; /* of FM on OOD sets, less than the vanilla one's */
    double margin;     /* of FM on TF */
    double corrected;  /* share of TFT gained */
} shift_case;

typedef struct shift_world {
    size_t seeds;
    size_t images;
    double noise;   /* how much the gains differ between seeds */
    double average; /* OOD gain of the vanilla average over PM */
    double fft, ttf;
    double wse_ose, fashion; /* gain of WSE over OSE on OOD sets, on other labels */
    double rescaled;         /* what alpha .3 gains over .5 on OOD sets */
    double balanced;         /* what balance by confidence gains */
    int curve, with_fashion, contrasts;
    size_t count;
    const shift_case *methods;
} shift_world;

/* A number in -1 .. 1 that depends on what it is for alone. */
static inline double shift_wiggle(size_t seed, const char *what, size_t set)
{
    double phase = 1.7 * (double)seed + 3.1 * (double)set;
    for (; *what; what++)
        phase = 1.3 * phase + *what;
    return sin(phase);
}

static inline double case_pre(size_t u, size_t set)
{
    static const double base[] = {.607, .60, .50, .52, .62, .52};
    return base[set] + .01 * shift_wiggle(u, "pre", set);
}

static inline double case_gain(const shift_world *w, size_t u, const char *what, size_t set,
                               double gain)
{
    return set ? gain + w->noise * shift_wiggle(u, what, set) : 0;
}

static inline double case_fine(const shift_world *w, size_t u, const shift_case *m, size_t set)
{
    static const double base[] = {.70, .63, .42, .47, .55, .49};
    return base[set] + .01 * shift_wiggle(u, "fine", set) + case_gain(w, u, m->name, set, m->fine);
}

static inline double case_avg(const shift_world *w, size_t u, const shift_case *m, size_t set)
{
    double vanilla = set ? case_pre(u, set) + w->average + w->noise * shift_wiggle(u, "avg", set)
                         : .68 + .01 * shift_wiggle(u, "fine", 0);
    return vanilla + case_gain(w, u, m->name, set + 9, m->avg) * (set > 0);
}

static inline json_t *case_list(const double *values, size_t count)
{
    return lab_numbers(values, count);
}

static inline json_t *case_member(const double *accuracy, const double *confidence)
{
    double ece[SHIFT_SETS], nll[SHIFT_SETS];
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        ece[s] = fabs(confidence[s] - accuracy[s]) + .01;
        nll[s] = 2 - accuracy[s];
    }
    return json_pack("{so so so so}", "accuracy", case_list(accuracy, SHIFT_SETS), "confidence",
                     case_list(confidence, SHIFT_SETS), "ece", case_list(ece, SHIFT_SETS), "nll",
                     case_list(nll, SHIFT_SETS));
}

/* Accuracies along alpha through PM, the average at 1/2 and FM, a parabola; on OOD sets bent so
 * that .3 gains what the world says. */
static inline double case_along(const shift_world *w, double pre, double avg, double fine,
                                double alpha, size_t set)
{
    double a = 2 * (pre + fine) - 4 * avg, b = fine - pre - a;
    double extra = set ? w->rescaled * fmax(0, 1 - fabs(alpha - .3) / .15) : 0;
    return pre + (a * alpha + b) * alpha + extra;
}

static inline json_t *case_rows(const shift_world *w, size_t u, const shift_case *m, double ose)
{
    json_t *rows = json_array();
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        double row[SHIFT_SETS];
        for (size_t s = 0; s < SHIFT_SETS; s++)
            row[s] = case_along(w, case_pre(u, s), case_avg(w, u, m, s) - (s ? ose : 0),
                                case_fine(w, u, m, s), (double)a / 10, s);
        json_array_append_new(rows, case_list(row, SHIFT_SETS));
    }
    return rows;
}

static inline json_t *case_groups(const shift_world *w, size_t u, const shift_case *m)
{
    json_t *out = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        double n = (double)w->images, pre = case_pre(u, s), fine = case_fine(w, u, m, s);
        double both = floor(n * .85 * fmin(pre, fine)), tf = floor(n * pre) - both;
        double ft = floor(n * fine) - both, ff = n - both - tf - ft;
        double ttf = floor(n * w->ttf), fft = floor(n * w->fft * (s ? 1 : .5));
        double tft = floor(tf * .6 + n * m->corrected);
        double ftt = floor(n * case_avg(w, u, m, s)) - (both - ttf) - tft - fft;
        ftt = fmin(ft, fmax(0, ftt));
        double counts[] = {both - ttf, ttf, tft, tf - tft, ftt, ft - ftt, fft, ff - fft};
        json_array_append_new(out, case_list(counts, 8));
    }
    return out;
}

static inline json_t *case_margins(size_t u, const shift_case *m, int fine)
{
    json_t *out = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        double jitter = .01 * shift_wiggle(u, "margin", s);
        double pre_row[] = {.5, .22 + jitter, -.3, -.4};
        double fine_row[] = {.8, -.35 + m->margin + jitter, .4, -.6};
        json_array_append_new(out, case_list(fine ? fine_row : pre_row, 4));
    }
    return out;
}

static inline json_t *case_balance(const shift_world *w, size_t u, const shift_case *m)
{
    static const char *const names[] = {"confidence-id", "confidence-ood", "layer-confidence-id",
                                        "layer-confidence-ood"};
    json_t *out = json_object();
    for (size_t i = 0; i < 4; i++) {
        double row[SHIFT_SETS];
        for (size_t s = 0; s < SHIFT_SETS; s++)
            row[s] = case_avg(w, u, m, s) +
                     (s ? w->balanced + w->noise * shift_wiggle(u, names[i], s) : -.01);
        json_t *entry = json_pack("{so}", "accuracy", case_list(row, SHIFT_SETS));
        if (i < 2)
            json_object_set_new(entry, "alpha", json_real(.38 + .02 * (double)i));
        json_object_set_new(out, names[i], entry);
    }
    return out;
}

static inline json_t *case_method(const shift_world *w, size_t u, const shift_case *m)
{
    double pre[SHIFT_SETS], fine[SHIFT_SETS], avg[SHIFT_SETS], ose[SHIFT_SETS], cal[SHIFT_SETS];
    double sure[SHIFT_SETS], calm[SHIFT_SETS], cooled[SHIFT_SETS];
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        pre[s] = case_pre(u, s);
        fine[s] = case_fine(w, u, m, s);
        avg[s] = case_avg(w, u, m, s);
        ose[s] = avg[s] - (s ? w->wse_ose + w->noise * shift_wiggle(u, "ose", s) : 0);
        cal[s] = ose[s] + .002;
        sure[s] = fine[s] + (s ? .20 : .12) - m->confidence;
        cooled[s] = fine[s] + (s ? .09 : .003);
        calm[s] = pre[s] - .02;
    }
    json_t *validation = json_array(), *exp1 = json_array(), *alphas = json_array();
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        json_array_append_new(alphas, json_real((double)a / 10));
        json_array_append_new(validation,
                              json_real(case_along(w, pre[0], avg[0], fine[0], (double)a / 10, 0)));
    }
    for (size_t a = 0; a < SHIFT_EXP1; a++) {
        double row[SHIFT_SETS];
        for (size_t s = 0; s < SHIFT_SETS; s++)
            row[s] = avg[s] - .0004 * (double)(SHIFT_EXP1 - 1 - a);
        json_array_append_new(exp1, case_list(row, SHIFT_SETS));
    }
    (void)calm;
    json_t *out = json_pack("{so so so so so so s{sf sf} so so so so so so so s{so so}}", "fine",
                            case_member(fine, sure), "avg", case_member(avg, avg), "ose",
                            case_member(ose, ose), "ose_probabilities", case_member(ose, ose),
                            "fine_calibrated", case_member(fine, cooled), "calibrated_ose",
                            case_member(cal, cal), "temperature", "pre", 1.0, "fine", 1.6, "alphas",
                            alphas, "wse", case_rows(w, u, m, 0), "wse_confidence",
                            case_rows(w, u, m, 0), "ose_alphas", case_rows(w, u, m, w->wse_ose),
                            "validation", validation, "exp1", exp1, "groups", case_groups(w, u, m),
                            "margin", "pre", case_margins(u, m, 0), "fine", case_margins(u, m, 1));
    if (strstr(m->name, "vanilla"))
        json_object_set_new(out, "balance", case_balance(w, u, m));
    return out;
}

/* Images that each alone has right: their difference is that of the accuracies. */
static inline json_t *case_contrast(const shift_world *w, size_t u, const shift_case *a,
                                    const shift_case *b)
{
    json_t *only_a = json_array(), *only_b = json_array();
    char one[96], two[96];
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        double n = (double)w->images, gain = case_avg(w, u, a, s) - case_avg(w, u, b, s);
        double shared = floor(.03 * n);
        json_array_append_new(only_a,
                              json_integer((json_int_t)(shared + fmax(0, round(n * gain)))));
        json_array_append_new(only_b,
                              json_integer((json_int_t)(shared + fmax(0, -round(n * gain)))));
    }
    snprintf(one, sizeof one, "%s/avg", a->name);
    snprintf(two, sizeof two, "%s/avg", b->name);
    return json_pack("{ss ss so so}", "a", one, "b", two, "only_a", only_a, "only_b", only_b);
}

static inline json_t *case_curve(const shift_world *w, size_t u)
{
    json_t *out = json_array();
    for (size_t i = 0; i < 16; i++) {
        double fine[SHIFT_SETS], avg[SHIFT_SETS], x = .44 + .006 * (double)i;
        double bent = .55 - 2.5 * (x - .5) * (x - .5) + .001 * sin(7.3 * (double)(i * i));
        for (size_t s = 0; s < SHIFT_SETS; s++) {
            fine[s] = x + .01 * ((double)s - 3);
            avg[s] = bent + w->average - .002 + .01 * ((double)s - 3);
        }
        json_array_append_new(
            out, json_pack("{sf si ss so so}", "rate", 5e-4, "steps", (int)(200 + 50 * i),
                           "schedule", i % 2 ? "step" : "cosine", "fine",
                           case_list(fine, SHIFT_SETS), "avg", case_list(avg, SHIFT_SETS)));
    }
    (void)u;
    return out;
}

static inline json_t *case_fashion(const shift_world *w, size_t u)
{
    json_t *wse = json_array(), *ose = json_array();
    double n = (double)w->images, jitter = .2 * w->noise * shift_wiggle(u, "fashion", 0);
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        double alpha = (double)a / 10, base = .80 - .12 * alpha * alpha;
        double inside = 4 * alpha * (1 - alpha);
        json_array_append_new(wse, json_real(base + inside * (w->fashion + jitter)));
        json_array_append_new(ose, json_real(base));
    }
    return json_pack("{sI sf sf so so sI sI}", "n", (json_int_t)w->images, "pre", .80, "fine", .68,
                     "wse", wse, "ose", ose, "only_wse",
                     (json_int_t)(.02 * n + fmax(0, n * w->fashion)), "only_ose",
                     (json_int_t)(.02 * n + fmax(0, -n * w->fashion)));
}

/* All units of a world, a new reference. */
static inline json_t *shift_world_units(const shift_world *w)
{
    json_t *units = json_array();
    for (size_t u = 0; u < w->seeds; u++) {
        double pre[SHIFT_SETS], calm[SHIFT_SETS];
        json_t *methods = json_object(), *contrasts = json_array(), *n = json_array();
        for (size_t s = 0; s < SHIFT_SETS; s++) {
            pre[s] = case_pre(u, s);
            calm[s] = pre[s] - .02 + .03 * shift_wiggle(s, "calm", 0);
            json_array_append_new(n, json_integer((json_int_t)w->images));
        }
        for (size_t m = 0; m < w->count; m++) {
            json_object_set_new(methods, w->methods[m].name, case_method(w, u, &w->methods[m]));
            for (size_t b = 0; w->contrasts && b < m; b++)
                json_array_append_new(contrasts,
                                      case_contrast(w, u, &w->methods[m], &w->methods[b]));
        }
        json_t *unit =
            json_pack("{s[ssssss] so so so so}", "sets", "ID", "V2", "R", "A", "S", "O", "n", n,
                      "pre", case_member(pre, calm), "methods", methods, "contrasts", contrasts);
        if (w->curve && u == 0)
            json_object_set_new(unit, "curve", case_curve(w, u));
        if (w->with_fashion)
            json_object_set_new(unit, "fashion", case_fashion(w, u));
        json_array_append_new(units, unit);
    }
    return units;
}

#endif
