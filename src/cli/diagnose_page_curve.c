/* Accuracy on the curve: averages against their fine-tuned models. */
#include <math.h>
#include <stdio.h>

#include "diagnose_page.h"

#define MINUS "\u2212"

static json_t *empty_series(diagnose_page *p, const char *name, int color)
{
    json_t *series = json_pack("{ss si s[] s[]}", "name", name, "color", color, "x", "y");
    p->failed |= !series;
    return series;
}

static void add_point(diagnose_page *p, json_t *series, double x, double y)
{
    page_put(p, json_object_get(series, "x"), bang_json_number(x));
    page_put(p, json_object_get(series, "y"), bang_json_number(y));
}

/* The fit with its band; half widths of a new point where there are any. */
static json_t *fit_series(diagnose_page *p, const bang_finding_curve *curve)
{
    json_t *series = empty_series(p, "quadratic fit", PAGE_GREY), *band = json_array();
    int has_band = curve->band_count > 0;
    for (size_t i = 0; i < curve->band_count; i++) {
        const bang_finding_band *at = &curve->band[i];
        add_point(p, series, at->fine, at->at.y);
        page_put(p, band, bang_json_number(at->at.point_half));
        has_band &= isfinite(at->at.point_half) != 0;
    }
    if (has_band)
        page_set(p, series, "band", json_incref(band));
    json_decref(band);
    return series;
}

static json_t *points_series(diagnose_page *p, const bang_finding_curve *curve)
{
    json_t *series = empty_series(p, "pairs of the fit", PAGE_PRE), *labels = json_array();
    for (size_t i = 0; i < curve->count; i++) {
        add_point(p, series, curve->points[i].fine, curve->points[i].avg);
        page_put(p, labels, page_string(curve->points[i].name));
    }
    page_set(p, series, "points", json_true());
    page_set(p, series, "labels", labels);
    return series;
}

static json_t *highlight_series(diagnose_page *p, const bang_finding_curve *curve)
{
    json_t *series = empty_series(p, "highlighted", PAGE_FINE), *labels = json_array();
    for (size_t i = 0; i < curve->highlight_count; i++) {
        const bang_finding_point *point = &curve->highlights[i].point;
        add_point(p, series, point->fine, point->avg);
        page_put(p, labels, page_string(point->name));
    }
    page_set(p, series, "points", json_true());
    page_set(p, series, "shape", json_string("star"));
    page_set(p, series, "labels", labels);
    page_set(p, series, "beside", json_true());
    return series;
}

static void add_curve_chart(diagnose_page *p, const bang_finding_curve *curve)
{
    json_t *chart = page_entry(p, "lines", "Accuracy on the curve."), *list = json_array();
    page_put(p, list, fit_series(p, curve));
    page_put(p, list, points_series(p, curve));
    if (curve->highlight_count)
        page_put(p, list, highlight_series(p, curve));
    page_set(p, chart, "x_label", json_string("accuracy of the fine-tuned model"));
    page_set(p, chart, "y_label", json_string("accuracy of the average"));
    page_set(p, chart, "percent", json_true());
    page_set(p, chart, "x_percent", json_true());
    page_set(p, chart, "series", list);
    char band[PAGE_TEXT * 2] = "";
    if (isfinite(curve->fit.residual_sd))
        snprintf(band, sizeof band,
                 " The band should hold %g %% of further pairs like these, at each x by itself.",
                 100 * p->r->level);
    page_note(
        p, chart,
        "Each point is a fine-tuned model and its average with the pre-trained one. The curve "
        "says what average to expect of a fine-tuned model of that accuracy; a method above "
        "it has an average that is better than its fine-tuned model explains.%s",
        band);
}

static void add_curve_facts(diagnose_page *p, const bang_finding_curve *curve)
{
    const bang_curve *fit = &curve->fit;
    json_t *facts = page_entry(p, "facts", "The fit"), *rows = json_array();
    const double *c = fit->coefficients;
    char first[PAGE_TEXT], spread[PAGE_TEXT] = "not known with 3 pairs";
    page_say_number(first, c[0], 4, 0);
    page_put(p, rows, json_pack("[sI]", "Pairs", (json_int_t)fit->count));
    page_put(p, rows,
             json_pack("[so]", "Curve",
                       page_format("y = %s %s %.4f x %s %.4f x\u00b2, accuracies as fractions",
                                   first, c[1] < 0 ? MINUS : "+", fabs(c[1]),
                                   c[2] < 0 ? MINUS : "+", fabs(c[2]))));
    if (isfinite(fit->residual_sd))
        snprintf(spread, sizeof spread, "%.2f points", 100 * fit->residual_sd);
    page_put(p, rows, json_pack("[ss]", "Spread around it (sd)", spread));
    if (isfinite(fit->r_squared))
        page_put(p, rows, json_pack("[so]", "R\u00b2", page_format("%.3f", fit->r_squared)));
    page_set(p, facts, "rows", rows);
}

static void add_highlights(diagnose_page *p, const bang_finding_curve *curve)
{
    static const char *const columns[] = {"pair",  "fine-tuned", "average", "curve",
                                          "above", "error",      "p",       "remark"};
    int beyond = 0;
    for (size_t i = 0; i < curve->highlight_count; i++)
        beyond |= curve->highlights[i].residual.outside;
    json_t *table =
        page_table(p, "Highlighted pairs against the curve, in per cent.", columns, beyond ? 8 : 7);
    for (size_t i = 0; i < curve->highlight_count; i++) {
        const bang_finding_highlight *h = &curve->highlights[i];
        char error[PAGE_TEXT];
        json_t *row = page_row(p, table);
        page_put(p, row, page_string(h->point.name));
        page_put(p, row, page_percent(h->point.fine, 0));
        page_put(p, row, page_percent(h->point.avg, 0));
        page_put(p, row, page_percent(h->at.y, 0));
        page_put(p, row, page_percent(h->residual.residual, PAGE_SIGN));
        page_say_number(error, 100 * h->residual.standard_error, 2, 0);
        page_put(p, row, isfinite(h->residual.standard_error) ? json_string(error) : json_null());
        page_put(p, row, page_p(h->residual.p));
        if (beyond)
            page_put(p, row, json_string(h->residual.outside ? "beyond the pairs of the fit" : ""));
    }
    page_decimals(p, table, 1, 1);
    page_note(p, table,
              "Highlighted pairs took no part in the fit. Above: accuracy of the average minus "
              "the curve; error: standard error of a new pair around it; p of a two-sided t "
              "test with %zu degrees of freedom.%s",
              curve->fit.count - 3,
              beyond ? " Beyond the pairs of the fit the curve is a guess." : "");
}

void page_curve(diagnose_page *p)
{
    const bang_finding_curve *curve = p->r->curve;
    add_curve_chart(p, curve);
    add_curve_facts(p, curve);
    if (curve->highlight_count)
        add_highlights(p, curve);
}
