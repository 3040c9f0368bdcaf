/* bang diagnose --curve: accuracy on the curve, its fit, and what lies above it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"

enum { BAND = 65 }; /* places where the curve is drawn */

static size_t find_point(const diagnose_curve *points, const char *name)
{
    size_t at = 0;
    while (at < points->count && strcmp(points->names[at], name) != 0)
        at++;
    return at;
}

void diagnose_check_highlights(cli *c, const diagnose_curve *points,
                               const diagnose_request *request)
{
    for (size_t i = 0; i < request->highlight_count; i++)
        if (find_point(points, request->highlights[i]) == points->count)
            cli_problem(c, "--highlight %.80s: no row of %.200s is called so",
                        request->highlights[i], request->curve);
}

static void draw_band(bang_finding_curve *out, double level)
{
    double least = out->fit.least, most = out->fit.most;
    for (size_t i = 0; i < out->highlight_count; i++) {
        least = fmin(least, out->highlights[i].point.fine);
        most = fmax(most, out->highlights[i].point.fine);
    }
    for (size_t i = 0; i < BAND; i++) {
        double x = least + (most - least) * (double)i / (BAND - 1);
        out->band[i] = (bang_finding_band){x, bang_curve_at(&out->fit, x, level)};
    }
    out->band_count = BAND;
}

static int fit_points(bang_finding_curve *out, const diagnose_curve *points,
                      const char *is_highlight, const diagnose_request *request, bang_error *err)
{
    double *x = calloc(points->count + 1, sizeof *x), *y = calloc(points->count + 1, sizeof *y);
    int rc = x && y ? 0 : bang_fail_memory(err);
    for (size_t i = 0; i < points->count && rc == 0; i++) {
        if (is_highlight[i])
            continue;
        x[out->count] = points->fine[i];
        y[out->count] = points->avg[i];
        out->points[out->count++] =
            (bang_finding_point){points->names[i], points->fine[i], points->avg[i]};
    }
    bang_error why = {0};
    if (rc == 0 && bang_curve_fit(&out->fit, x, y, out->count, &why) < 0)
        rc = bang_fail(err, BANG_EDATA, "%.200s: %s", request->curve, why.message);
    free(x);
    free(y);
    for (size_t i = 0; i < out->highlight_count && rc == 0; i++) {
        bang_finding_highlight *h = &out->highlights[i];
        h->at = bang_curve_at(&out->fit, h->point.fine, request->level);
        h->residual = bang_curve_compare(&out->fit, h->point.fine, h->point.avg);
    }
    if (rc == 0)
        draw_band(out, request->level);
    return rc;
}

int diagnose_fit_curve(bang_finding_curve *out, const diagnose_curve *points,
                       const diagnose_request *request, bang_error *err)
{
    char *is_highlight = calloc(points->count + 1, 1);
    *out = (bang_finding_curve){0};
    out->points = calloc(points->count + 1, sizeof *out->points);
    out->highlights = calloc(request->highlight_count + 1, sizeof *out->highlights);
    out->band = calloc(BAND, sizeof *out->band);
    int rc =
        is_highlight && out->points && out->highlights && out->band ? 0 : bang_fail_memory(err);
    for (size_t i = 0; i < request->highlight_count && rc == 0; i++) {
        size_t at = find_point(points, request->highlights[i]);
        is_highlight[at] = 1;
        out->highlights[out->highlight_count++].point =
            (bang_finding_point){points->names[at], points->fine[at], points->avg[at]};
    }
    if (rc == 0)
        rc = fit_points(out, points, is_highlight, request, err);
    free(is_highlight);
    return rc;
}

void diagnose_fit_release(bang_finding_curve *fit)
{
    free(fit->points);
    free(fit->highlights);
    free(fit->band);
    *fit = (bang_finding_curve){0};
}

static void print_points(const bang_finding_curve *c)
{
    puts("\n    FM      AM   curve   above  point");
    for (size_t i = 0; i < c->count; i++) {
        const bang_finding_point *p = &c->points[i];
        char above[32];
        double y = bang_curve_at(&c->fit, p->fine, 0.5).y;
        printf("%6.1f  %6.1f  %6.1f  %6s  ", 100 * p->fine, 100 * p->avg, 100 * y,
               bang_finding_in_points(above, p->avg - y));
        cli_print_clean(p->name);
        putchar('\n');
    }
}

/* Above or below the curve, and whether that is more than points scatter: the level decides. */
static void print_highlight(const bang_finding_highlight *h, double level)
{
    const bang_curve_residual *r = &h->residual;
    double residual = 100 * r->residual;
    putchar('\n');
    cli_print_clean(h->point.name);
    printf(": FM %.1f %%, AM %.1f %%", 100 * h->point.fine, 100 * h->point.avg);
    if (isnan(h->at.point_half)) {
        printf(
            "; the curve says %.1f %%: %.1f points %s it\nWith 3 points on the curve nothing can "
            "be said about chance.\n",
            100 * h->at.y, fabs(residual), residual < 0 ? "below" : "above");
        return;
    }
    printf("; the curve says %.1f %%, and %.1f to %.1f %% for a new point\n", 100 * h->at.y,
           100 * (h->at.y - h->at.point_half), 100 * (h->at.y + h->at.point_half));
    printf("%.1f points %s the curve (standard error %.1f, ", fabs(residual),
           residual < 0 ? "below" : "above", 100 * r->standard_error);
    printf(r->p < 1e-4 ? "p < 0.0001" : "p = %.2g", r->p);
    printf("): %s\n", r->p >= 1 - level ? "may be chance"
                      : r->outside      ? "more than other points scatter"
                                        : "real: more than other points scatter");
    if (r->outside)
        puts("Its FM lies outside of the fitted points: the curve is extrapolated there.");
}

void diagnose_print_curve(const bang_finding *r)
{
    const bang_finding_curve *c = r->curve;
    const double *k = c->fit.coefficients;
    printf("Accuracy on the curve: %zu points\n", c->count);
    printf("AM = %.4g %c %.4g FM %c %.4g FM^2 (fractions)", k[0], k[1] < 0 ? '-' : '+', fabs(k[1]),
           k[2] < 0 ? '-' : '+', fabs(k[2]));
    if (!isnan(c->fit.r_squared))
        printf(", R^2 %.3f", c->fit.r_squared);
    if (!isnan(c->fit.residual_sd))
        printf(", residual sd %.2f points", 100 * c->fit.residual_sd);
    putchar('\n');
    print_points(c);
    for (size_t i = 0; i < c->highlight_count; i++)
        print_highlight(&c->highlights[i], r->level);
}
