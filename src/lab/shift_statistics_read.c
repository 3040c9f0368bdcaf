/* Numbers of one unit, by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/shift_show.h"

/* Exp 1 and Exp 2 of appendix E.6 choose among alpha .2 .3 .4 .5: rows 2 to 5 of all alphas. */
enum { CHOICES = SHIFT_EXP1, FIRST_CHOICE = 2 };

static double number_at(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* "vanilla/avg" into "vanilla" and what follows the last '/' ("" if there is none). */
static const json_t *method_of(const json_t *unit, const char *member, const char **kind)
{
    const char *slash = strrchr(member, '/');
    size_t size = slash ? (size_t)(slash - member) : strlen(member);
    *kind = slash ? slash + 1 : "";
    const json_t *methods = json_object_get(unit, "methods"), *method;
    const char *name;
    json_object_foreach((json_t *)methods, name,
                        method) if (strlen(name) == size &&
                                    memcmp(name, member, size) == 0) return method;
    return NULL;
}

static const json_t *member_of(const json_t *unit, const char *member)
{
    const char *kind;
    if (strcmp(member, "pre") == 0)
        return json_object_get(unit, "pre");
    const json_t *method = method_of(unit, member, &kind), *found = json_object_get(method, kind);
    return json_is_object(found) ? found
                                 : json_object_get(json_object_get(method, "balance"), kind);
}

/* Rows of accuracies for the four alphas: of the head alone (exp1) or of all weights (exp2). */
static double choice_at(const json_t *method, int head, size_t choice, size_t set)
{
    const json_t *rows = json_object_get(method, head ? "exp1" : "wse");
    return number_at(json_array_get(rows, head ? choice : FIRST_CHOICE + choice), set);
}

/* The best of the four on a set: by the test labels of unit u, or on all units but u. Among equals
 * the largest alpha, the one of plain averaging. */
static double best_choice(const json_t *units, size_t u, const char *member, int head, int others,
                          size_t set)
{
    const char *kind;
    double best = NAN, most = -INFINITY;
    const json_t *own = method_of(json_array_get(units, u), member, &kind);
    for (size_t choice = CHOICES; choice-- > 0;) {
        double sum = others ? 0 : choice_at(own, head, choice, set);
        size_t seen = !others;
        for (size_t v = 0; others && v < json_array_size(units); v++) {
            const json_t *method = method_of(json_array_get(units, v), member, &kind);
            if (v == u || !method)
                continue;
            sum += choice_at(method, head, choice, set);
            seen++;
        }
        if (seen && sum > most) {
            most = sum;
            best = choice_at(own, head, choice, set);
        }
    }
    return best;
}

/* Which alpha is best on ID validation: its number, the smallest of equals. */
static size_t validated(const json_t *method)
{
    const json_t *scores = json_object_get(method, "validation");
    size_t best = 0;
    for (size_t a = 1; a < json_array_size(scores); a++)
        if (number_at(scores, a) > number_at(scores, best))
            best = a;
    return best;
}

static double accuracy_at(const json_t *units, size_t u, const char *member, size_t set)
{
    static const char *const chosen[] = {"exp2", "exp1", "exp2-others", "exp1-others"};
    const char *kind;
    const json_t *unit = json_array_get(units, u);
    const json_t *method = method_of(unit, member, &kind);
    for (int i = 0; i < 4; i++)
        if (strcmp(kind, chosen[i]) == 0) /* the paper chooses for OOD sets alone */
            return set == 0 ? NAN : best_choice(units, u, member, i % 2, i / 2, set);
    if (strcmp(kind, "id-alpha") == 0)
        return number_at(json_array_get(json_object_get(method, "wse"), validated(method)), set);
    return number_at(json_object_get(member_of(unit, member), "accuracy"), set);
}

static double group_share(const json_t *unit, const char *method, const char *groups, size_t set)
{
    static const char *const names[] = {"TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF"};
    const char *kind;
    const json_t *rows = json_object_get(method_of(unit, method, &kind), "groups");
    double sum = 0, all = 0;
    for (size_t g = 0; g < 8; g++) {
        double count = number_at(json_array_get(rows, set), g);
        all += count;
        if (strstr(groups, names[g]))
            sum += count;
    }
    return sum / all;
}

static double margin_at(const json_t *unit, const char *method, const char *whose, size_t group,
                        size_t set)
{
    const char *kind;
    const json_t *margin = json_object_get(method_of(unit, method, &kind), "margin");
    return number_at(json_array_get(json_object_get(margin, whose), set), group);
}

static double margin_sum(const json_t *unit, const char *method, size_t set)
{
    return margin_at(unit, method, "pre", 1, set) + margin_at(unit, method, "fine", 1, set);
}

/* What the average gains on the images that one of PM and FM alone has right. */
static double gain_of_one(const json_t *unit, const char *method, size_t set)
{
    return group_share(unit, method, "TFT FTT", set) -
           fmax(group_share(unit, method, "TFT TFF", set),
                group_share(unit, method, "FTT FTF", set));
}

static double gain_of_all(const json_t *unit, const char *method, size_t set)
{
    return group_share(unit, method, "TTT TFT FTT FFT", set) -
           fmax(group_share(unit, method, "TTT TTF TFT TFF", set),
                group_share(unit, method, "TTT TTF FTT FTF", set));
}

static double read_set(const json_t *units, size_t u, shift_quantity quantity, const char *member,
                       size_t set)
{
    const json_t *unit = json_array_get(units, u);
    double accuracy = quantity <= SHIFT_GAP ? accuracy_at(units, u, member, set) : NAN;
    const json_t *found = quantity <= SHIFT_GAP ? member_of(unit, member) : NULL;
    double confidence = number_at(json_object_get(found, "confidence"), set);
    switch (quantity) {
    case SHIFT_ACCURACY:
        return accuracy;
    case SHIFT_CONFIDENCE:
        return confidence;
    case SHIFT_ECE:
        return number_at(json_object_get(found, "ece"), set);
    case SHIFT_OVER:
        return confidence - accuracy;
    case SHIFT_GAP:
        return fabs(confidence - accuracy);
    case SHIFT_FFT:
        return group_share(unit, member, "FFT", set);
    case SHIFT_TTF:
        return group_share(unit, member, "TTF", set);
    case SHIFT_BEYOND:
        return group_share(unit, member, "FFT", set) - fmax(0, gain_of_all(unit, member, set));
    case SHIFT_BOTH:
        return group_share(unit, member, "FFT", set) - group_share(unit, member, "TTF", set);
    case SHIFT_TWICE:
        return group_share(unit, member, "FFT", set) - 2 * group_share(unit, member, "TTF", set);
    case SHIFT_ONE:
        return gain_of_one(unit, member, set);
    case SHIFT_ALL:
        return gain_of_all(unit, member, set);
    case SHIFT_CORRECTED:
        return group_share(unit, member, "TFT", set);
    case SHIFT_MARGIN_PRE:
        return margin_at(unit, member, "pre", 1, set);
    case SHIFT_MARGIN_FINE:
        return margin_at(unit, member, "fine", 1, set);
    case SHIFT_MARGIN_SUM:
        return margin_sum(unit, member, set);
    default:
        return NAN;
    }
}

int shift_curve_of(shift_curve *out, const json_t *units, size_t u)
{
    const json_t *grid = json_object_get(json_array_get(units, u), "curve");
    out->count = 0;
    for (size_t i = 0; i < json_array_size(grid) && out->count < SHIFT_CURVE_MOST; i++) {
        double x = 0, y = 0;
        for (size_t s = 1; s < SHIFT_SETS; s++) {
            const json_t *point = json_array_get(grid, i);
            x += number_at(json_object_get(point, "fine"), s) / (SHIFT_SETS - 1);
            y += number_at(json_object_get(point, "avg"), s) / (SHIFT_SETS - 1);
        }
        if (isnan(x) || isnan(y))
            continue;
        out->x[out->count] = x;
        out->y[out->count++] = y;
    }
    if (out->count < 4)
        return -1;
    return bang_curve_fit(&out->fit, out->x, out->y, out->count, NULL) < 0 ? -1 : 0;
}

/* How far the ends of a curve over [least, most] are from its tangent in the middle. */
static double bend_of(const bang_curve *fit)
{
    double half = (fit->most - fit->least) / 2;
    return fabs(fit->coefficients[2]) * half * half;
}

/* 1 - sum of squares of what the other points leave of each over that of their mean. With the
 * residual r and the leverage h of a point, the curve without it misses it by r/(1 - h), and the
 * mean without it by n/(n - 1) of what the whole mean does. A parabola through six points explains
 * much of them whatever they are; it predicts none. */
static double predicted_share(const shift_curve *curve)
{
    const bang_curve *fit = &curve->fit;
    double n = (double)curve->count, mean = 0, left = 0, all = 0;
    for (size_t i = 0; i < curve->count; i++)
        mean += curve->y[i] / n;
    for (size_t i = 0; i < curve->count; i++) {
        double z = (curve->x[i] - fit->center) / fit->scale, v[] = {1, z, z * z}, h = 0, y = 0;
        for (int j = 0; j < 3; j++) {
            y += fit->scaled[j] * v[j];
            for (int k = 0; k < 3; k++)
                h += v[j] * fit->inverse[j][k] * v[k];
        }
        double miss = (curve->y[i] - y) / (1 - h), other = (curve->y[i] - mean) * n / (n - 1);
        left += miss * miss;
        all += other * other;
    }
    return 1 - left / all;
}

int shift_curve_compare(bang_curve_residual *out, double *x, const json_t *units, size_t u,
                        const char *method)
{
    shift_curve curve;
    char fine[96], avg[96];
    if (shift_curve_of(&curve, units, u) < 0)
        return -1;
    snprintf(fine, sizeof fine, "%s/fine", method);
    snprintf(avg, sizeof avg, "%s/avg", method);
    *x = shift_read(units, u, SHIFT_ACCURACY, fine, SHIFT_OOD);
    double y = shift_read(units, u, SHIFT_ACCURACY, avg, SHIFT_OOD);
    if (isnan(*x) || isnan(y))
        return -1;
    *out = bang_curve_compare(&curve.fit, *x, y);
    return 0;
}

static double read_curve(const json_t *units, size_t u, shift_quantity quantity, const char *member)
{
    shift_curve curve;
    bang_curve_residual residual;
    double x;
    if (shift_curve_of(&curve, units, u) < 0)
        return NAN;
    if (quantity == SHIFT_FIT)
        return predicted_share(&curve);
    if (quantity == SHIFT_BEND)
        return bend_of(&curve.fit);
    return shift_curve_compare(&residual, &x, units, u, member) < 0 ? NAN : residual.residual;
}

double shift_read(const json_t *units, size_t u, shift_quantity quantity, const char *member,
                  size_t set)
{
    if (quantity == SHIFT_FASHION) {
        const json_t *fashion = json_object_get(json_array_get(units, u), "fashion");
        return number_at(json_object_get(fashion, member), SHIFT_ALPHAS / 2);
    }
    if (quantity >= SHIFT_ABOVE_CURVE)
        return read_curve(units, u, quantity, member);
    if (set < SHIFT_SETS)
        return read_set(units, u, quantity, member, set);
    double sum = 0;
    for (size_t s = 1; s < SHIFT_SETS; s++)
        sum += read_set(units, u, quantity, member, s) / (SHIFT_SETS - 1);
    return sum;
}

/* The mean of what units say. */
typedef struct mean {
    double sum;
    size_t count;
} mean;

static void add(mean *m, double value)
{
    if (isnan(value))
        return;
    m->sum += value;
    m->count++;
}

double shift_mean(const json_t *units, shift_quantity quantity, const char *member, size_t set)
{
    mean m = {0, 0};
    for (size_t u = 0; u < json_array_size(units); u++)
        add(&m, shift_read(units, u, quantity, member, set));
    return m.count ? m.sum / (double)m.count : NAN;
}

double shift_mean_alpha(const json_t *units, const char *method, const char *field, size_t a,
                        size_t set)
{
    const char *kind;
    mean m = {0, 0};
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *rows =
            json_object_get(method_of(json_array_get(units, u), method, &kind), field);
        double sum = 0;
        size_t first = set == SHIFT_OOD ? 1 : set, last = set == SHIFT_OOD ? SHIFT_SETS - 1 : set;
        for (size_t s = first; s <= last; s++)
            sum += number_at(json_array_get(rows, a), s) / (double)(last - first + 1);
        add(&m, sum);
    }
    return m.count ? m.sum / (double)m.count : NAN;
}

double shift_mean_margin(const json_t *units, const char *method, const char *whose, size_t group,
                         size_t set)
{
    mean m = {0, 0};
    for (size_t u = 0; u < json_array_size(units); u++)
        for (size_t s = 1; s < SHIFT_SETS; s++)
            if (set == SHIFT_OOD || s == set)
                add(&m, margin_at(json_array_get(units, u), method, whose, group, s));
    return m.count ? m.sum / (double)m.count : NAN;
}

double shift_mean_validated(const json_t *units, const char *method)
{
    const char *kind;
    mean m = {0, 0};
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *found = method_of(json_array_get(units, u), method, &kind);
        if (found)
            add(&m, number_at(json_object_get(found, "alphas"), validated(found)));
    }
    return m.count ? m.sum / (double)m.count : NAN;
}
