/* Figures of confidence, margins and the curve. */
#include <math.h>
#include <stdio.h>

#include "lab/shift_figures.h"

typedef struct scatter_line {
    const char *name, *member;
    int color;
} scatter_line;

/* Widens least and most to what a member has. */
static void add_models(json_t *figure, const json_t *units, const scatter_line *lines, size_t count,
                       double *least, double *most)
{
    for (size_t i = 0; i < count; i++) {
        json_t *series = shift_figure_line(lines[i].name, lines[i].color);
        int known = 0;
        for (size_t set = 0; set < SHIFT_SETS; set++) {
            double x = shift_mean(units, SHIFT_ACCURACY, lines[i].member, set);
            double y = shift_mean(units, SHIFT_CONFIDENCE, lines[i].member, set);
            shift_figure_point(series, x, y);
            if (isnan(x) || isnan(y))
                continue;
            known = 1;
            *least = fmin(*least, fmin(x, y));
            *most = fmax(*most, fmax(x, y));
        }
        if (known)
            shift_figure_add(figure, series);
        else
            json_decref(series);
    }
}

static void show_scatter(json_t *show, const json_t *units, const char *title, const char *note,
                         const scatter_line *lines, size_t count)
{
    double least = 1, most = 0;
    json_t *f = shift_figure_begin("scatter", title, note);
    shift_figure_label(f, "x_label", "accuracy");
    shift_figure_label(f, "y_label", "mean confidence");
    shift_figure_label(f, "above", "over-confident");
    shift_figure_label(f, "below", "under-confident");
    json_object_set_new(f, "diagonal", json_true());
    json_object_set_new(f, "names", shift_figure_sets(0));
    json_object_set_new(
        f, "shapes",
        json_pack("[ssssss]", "triangle down", "diamond", "square", "circle", "plus", "cross"));
    add_models(f, units, lines, count, &least, &most);
    json_object_set_new(f, "min", json_real(fmax(0, floor(10 * least - .2) / 10)));
    json_object_set_new(f, "max", json_real(fmin(1, ceil(10 * most + .2) / 10)));
    if (json_array_size(json_object_get(f, "series")) > 1) /* more than PM */
        shift_figure_show(show, f);
    else
        json_decref(f);
}

static void show_margins(json_t *show, const json_t *units, const char *title, const char *method,
                         const char *note)
{
    static const char *const whose[] = {"pre", "fine"}, *const names[] = {"PM", "FM"};
    json_t *f = shift_figure_begin("columns", title, note);
    shift_figure_label(f, "x_label", "who is right: PM, FM");
    shift_figure_label(f, "value_label", "mean margin");
    json_object_set_new(f, "percent", json_false());
    json_object_set_new(
        f, "names", json_pack("[ssss]", "TT: both", "TF: PM alone", "FT: FM alone", "FF: none"));
    for (int w = 0; w < 3; w++) {
        json_t *values = json_array();
        int known = 0;
        for (size_t group = 0; group < 4; group++) {
            double value = w < 2 ? shift_mean_margin(units, method, whose[w], group, SHIFT_OOD)
                                 : shift_mean_margin(units, method, "pre", group, SHIFT_OOD) +
                                       shift_mean_margin(units, method, "fine", group, SHIFT_OOD);
            json_array_append_new(values, bang_json_number(value));
            known |= !isnan(value);
        }
        json_t *series = json_pack("{ss so si}", "name", w < 2 ? names[w] : "PM + FM", "values",
                                   values, "color", w < 2 ? w : 6);
        if (known)
            shift_figure_add(f, series);
        else
            json_decref(series);
    }
    shift_figure_show(show, f);
}

static void show_margin_sets(json_t *show, const json_t *units)
{
    static const char *const methods[] = {"vanilla", "mixup-ls-10", "long-vanilla",
                                          "long-mixup-ls-10"};
    static const char *const names[] = {"WiSE-FT", "BANG (Mixup + LS)", "WiSE-FT, LONG",
                                        "BANG, LONG"};
    static const int colors[] = {0, 1, 5, 4};
    json_t *f = shift_figure_begin(
        "columns", "Margin of PM + margin of FM where PM alone is right",
        "Below 0 the fine-tuned model outweighs the pre-trained one although it is wrong.");
    shift_figure_label(f, "x_label", "shifted set");
    shift_figure_label(f, "value_label", "mean sum of margins");
    json_object_set_new(f, "percent", json_false());
    json_object_set_new(f, "names", shift_figure_sets(1));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        json_t *values = json_array();
        int known = 0;
        for (size_t set = 1; set < SHIFT_SETS; set++) {
            double value = shift_mean(units, SHIFT_MARGIN_SUM, methods[i], set);
            json_array_append_new(values, bang_json_number(value));
            known |= !isnan(value);
        }
        json_t *series =
            json_pack("{ss so si}", "name", names[i], "values", values, "color", colors[i]);
        if (known)
            shift_figure_add(f, series);
        else
            json_decref(series);
    }
    shift_figure_show(show, f);
}

void shift_figures_calibration(json_t *show, const json_t *units)
{
    static const scatter_line ours[] = {{"PM", "pre", 6},
                                        {"FM, vanilla", "vanilla/fine", 1},
                                        {"FM, temperature from ID", "vanilla/fine_calibrated", 4},
                                        {"FM, LS", "ls-10/fine", 0},
                                        {"FM, Mixup", "mixup/fine", 3},
                                        {"FM, Mixup + LS", "mixup-ls-10/fine", 2}};
    static const scatter_line others[] = {{"PM", "pre", 6},
                                          {"FM, vanilla", "vanilla/fine", 1},
                                          {"FM, flip", "flip/fine", 5},
                                          {"FM, rotate", "rotate/fine", 4},
                                          {"FM, color", "color/fine", 7}};
    static const scatter_line smoothed[] = {{"PM", "pre", 6},
                                            {"FM, vanilla", "vanilla/fine", 1},
                                            {"FM, LS 0.05", "ls-05/fine", 5},
                                            {"FM, LS 0.10", "ls-10/fine", 0},
                                            {"FM, LS 0.15", "ls-15/fine", 4},
                                            {"FM, LS 0.20", "ls-20/fine", 2}};
    static const scatter_line mixed[] = {{"PM", "pre", 6},
                                         {"FM, Mixup", "mixup/fine", 3},
                                         {"FM, Mixup + LS 0.05", "mixup-ls-05/fine", 5},
                                         {"FM, Mixup + LS 0.10", "mixup-ls-10/fine", 0},
                                         {"FM, Mixup + LS 0.15", "mixup-ls-15/fine", 4},
                                         {"FM, Mixup + LS 0.20", "mixup-ls-20/fine", 2}};
    static const scatter_line longer[] = {
        {"PM", "pre", 6},
        {"FM, vanilla", "long-vanilla/fine", 1},
        {"FM, temperature from ID", "long-vanilla/fine_calibrated", 4},
        {"FM, LS", "long-ls-10/fine", 0},
        {"FM, Mixup", "long-mixup/fine", 3},
        {"FM, Mixup + LS", "long-mixup-ls-10/fine", 2}};
    show_scatter(show, units, "Confidence against accuracy",
                 "A point per set and model, means over seeds. On the diagonal a model is as "
                 "confident as it is accurate. The paper finds PM near it and FM far above, most "
                 "of all out of distribution.",
                 ours, sizeof ours / sizeof *ours);
    if (!isnan(shift_mean(units, SHIFT_ACCURACY, "ls-20/fine", SHIFT_OOD)))
        show_scatter(show, units, "Confidence against accuracy by strength of label smoothing",
                     "Below the diagonal FM was smoothed more than it needed on that set.",
                     smoothed, sizeof smoothed / sizeof *smoothed);
    if (!isnan(shift_mean(units, SHIFT_ACCURACY, "mixup-ls-20/fine", SHIFT_OOD)))
        show_scatter(show, units,
                     "Confidence against accuracy by strength of label smoothing with Mixup",
                     "As before, on top of Mixup.", mixed, sizeof mixed / sizeof *mixed);
    show_scatter(show, units, "Confidence against accuracy, other augmentations",
                 "The paper finds that these do not bring FM nearer to the diagonal.", others,
                 sizeof others / sizeof *others);
    show_scatter(show, units, "Confidence against accuracy after LONG fine-tuning",
                 "The same models after longer fine-tuning at a higher rate.", longer,
                 sizeof longer / sizeof *longer);
    show_margins(show, units, "Margins by group, WiSE-FT", "vanilla",
                 "Margin: probability of the right class less the largest of the others; mean over "
                 "the shifted sets. In TF the sum says who wins where PM alone is right.");
    show_margins(show, units, "Margins by group, BANG (Mixup + LS)", "mixup-ls-10",
                 "To be held against the figure before: in TF the paper finds a sum above 0.");
    show_margin_sets(show, units);
}

static json_t *fit_line(const shift_curve *curve, double from, double to)
{
    enum { STEPS = 40 };
    json_t *series = shift_figure_line("quadratic fit, 95 % band of a new point", 6);
    json_t *band = json_array();
    for (int i = 0; i <= STEPS; i++) {
        double x = from + (to - from) * i / STEPS;
        bang_curve_point at = bang_curve_at(&curve->fit, x, .95);
        shift_figure_point(series, x, at.y);
        json_array_append_new(band, bang_json_number(at.point_half));
    }
    json_object_set_new(series, "band", band);
    return series;
}

static json_t *grid_labels(const json_t *unit)
{
    json_t *labels = json_array();
    const json_t *grid = json_object_get(unit, "curve");
    for (size_t i = 0; i < json_array_size(grid); i++) {
        const json_t *point = json_array_get(grid, i);
        const char *schedule = json_string_value(json_object_get(point, "schedule"));
        char text[96];
        snprintf(text, sizeof text, "rate %g, %.0f steps, %s",
                 json_number_value(json_object_get(point, "rate")),
                 json_number_value(json_object_get(point, "steps")), schedule ? schedule : "");
        json_array_append_new(labels, json_string(text));
    }
    return labels;
}

static void show_curve(json_t *show, const json_t *units, size_t u, const shift_curve *curve)
{
    static const struct {
        const char *method, *label;
    } stars[] = {{"ls-10", "LS"},
                 {"mixup", "Mixup"},
                 {"mixup-ls-10", "Mixup + LS"},
                 {"long-ls-10", "LS, LONG"},
                 {"long-mixup", "Mixup, LONG"},
                 {"long-mixup-ls-10", "Mixup + LS, LONG"}};
    double least = curve->fit.least, most = curve->fit.most;
    json_t *bang = shift_figure_line("BANG", 1), *labels = json_array();
    for (size_t i = 0; i < sizeof stars / sizeof *stars; i++) {
        bang_curve_residual r;
        double x;
        char avg[96];
        if (shift_curve_compare(&r, &x, units, u, stars[i].method) < 0)
            continue;
        snprintf(avg, sizeof avg, "%s/avg", stars[i].method);
        shift_figure_point(bang, x, shift_read(units, u, SHIFT_ACCURACY, avg, SHIFT_OOD));
        json_array_append_new(labels, json_string(stars[i].label));
    }
    json_object_set_new(bang, "points", json_true());
    json_object_set_new(bang, "shape", json_string("star"));
    json_object_set_new(bang, "labels", labels);
    json_object_set_new(bang, "beside", json_true());
    json_t *f = shift_figure_begin(
        "lines", "Accuracy on the curve",
        "Each dot is a vanilla fine-tuning of the grid (rates, lengths, schedules) on one seed and "
        "its average with PM at alpha 1/2. A star above the band is an average better than its "
        "fine-tuned model explains.");
    shift_figure_label(f, "x_label", "OOD accuracy of the fine-tuned model");
    shift_figure_label(f, "y_label", "OOD accuracy of the average");
    json_object_set_new(f, "x_percent", json_true());
    shift_figure_add(f, fit_line(curve, least, most));
    json_t *grid = shift_figure_add(f, shift_figure_line("vanilla fine-tuning", 0));
    for (size_t i = 0; i < curve->count; i++)
        shift_figure_point(grid, curve->x[i], curve->y[i]);
    json_object_set_new(grid, "points", json_true());
    json_object_set_new(grid, "labels", grid_labels(json_array_get(units, u)));
    if (json_array_size(json_object_get(bang, "x")))
        shift_figure_add(f, bang);
    else
        json_decref(bang);
    shift_figure_show(show, f);
}

void shift_figures_curve(json_t *show, const json_t *units)
{
    shift_curve curve;
    for (size_t u = 0; u < json_array_size(units); u++)
        if (shift_curve_of(&curve, units, u) == 0)
            show_curve(show, units, u, &curve);
}
