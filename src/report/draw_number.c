/* Numbers and axes. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"

int bang_draw_begin(bang_draw_locale *locale)
{
    locale->before = NULL;
    locale->c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!locale->c)
        return -1;
    locale->before = uselocale((locale_t)locale->c);
    return 0;
}

void bang_draw_end(bang_draw_locale *locale)
{
    if (!locale->c)
        return;
    uselocale((locale_t)locale->before);
    freelocale((locale_t)locale->c);
}

int bang_draw_usable(double value)
{
    return isfinite(value) && fabs(value) < 1e300;
}

/* Copies digits with U+2212 for the hyphen, and without it for -0.00. */
static void copy_signed(char *out, size_t size, const char *digits)
{
    int negative = digits[0] == '-';
    if (negative)
        digits++;
    if (!strpbrk(digits, "123456789"))
        negative = 0;
    snprintf(out, size, "%s%s", negative ? "\u2212" : "", digits);
}

void bang_number_fixed(char out[BANG_NUMBER_SIZE], double value, int decimals)
{
    char digits[48];
    if (decimals < 0)
        decimals = 0;
    if (decimals > 20)
        decimals = 20;
    if (fabs(value) >= 1e18) {
        bang_number_power(out, value, 6);
        return;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals, value);
    copy_signed(out, BANG_NUMBER_SIZE, digits);
}

void bang_number_power(char out[BANG_NUMBER_SIZE], double value, int decimals)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[28], exponent[24] = "";
    if (decimals < 0)
        decimals = 0;
    if (decimals > 16)
        decimals = 16;
    snprintf(digits, sizeof digits, "%.*e", decimals, value);
    char *mark = strchr(digits, 'e');
    if (!mark || value == 0) {
        snprintf(out, BANG_NUMBER_SIZE, "0");
        return;
    }
    *mark = '\0';
    const char *e = mark + 1;
    size_t at = 0;
    if (*e == '-')
        at += (size_t)snprintf(exponent, sizeof exponent, "⁻");
    e += strspn(e, "+-0");
    if (!*e)
        e = "0";
    for (; *e >= '0' && *e <= '9' && at + 4 < sizeof exponent; e++)
        at += (size_t)snprintf(exponent + at, sizeof exponent - at, "%s", raised[*e - '0']);
    char front[BANG_NUMBER_SIZE / 2];
    copy_signed(front, sizeof front, digits);
    snprintf(out, BANG_NUMBER_SIZE, "%s×10%s", front, exponent);
}

int bang_number_decimals(double value, int most)
{
    /* Whether more digits would say more is a question about the decimal
     * text, not about the binary fraction: 0.1 needs one. */
    for (int d = 0; d < most; d++) {
        double scale = pow(10, d), scaled = value * scale;
        if (fabs(scaled - round(scaled)) <= 1e-9 * fmax(1, fabs(scaled)))
            return d;
    }
    return most;
}

int bang_number_digits(char out[BANG_NUMBER_SIZE], double value, int digits)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", digits - 1, value); /* rounded: 9.996 has one place more */
    double rounded = strtod(text, NULL), size = fabs(rounded);
    int places = size > 0 ? (int)floor(log10(size) + 1e-9) : 0;
    int most = digits - 1 - places;
    if (size > 0 && (places < -4 || places >= 7)) {
        bang_number_power(out, value, bang_number_decimals(rounded / pow(10, places), digits - 1));
        return 0;
    }
    bang_number_fixed(out, value, most > 0 ? bang_number_decimals(rounded, most) : 0);
    return rounded == value || (most < 0 && value == rint(value));
}

void bang_number_short(char out[BANG_NUMBER_SIZE], double value, int percent)
{
    if (percent)
        value *= 100;
    if (!isfinite(value)) {
        snprintf(out, BANG_NUMBER_SIZE, "\u2013");
        return;
    }
    double size = fabs(value);
    int places = size > 0 ? (int)floor(log10(size)) : 0;
    if (size > 0 && (places < -4 || places >= 7))
        bang_number_power(out, value, bang_number_decimals(value / pow(10, places), 5));
    else
        bang_number_fixed(out, value, bang_number_decimals(value, places > 5 ? 0 : 5 - places));
    if (percent) {
        size_t at = strlen(out);
        snprintf(out + at, BANG_NUMBER_SIZE - at, "%%");
    }
}

void bang_number_brief(char out[BANG_NUMBER_SIZE], double value, int percent)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.2e", value);
    bang_number_short(out, bang_draw_usable(value) ? strtod(digits, NULL) : NAN, percent);
}

/* The 1, 2 or 5 times a power of ten nearest above what `want` intervals need. */
static double round_step(double range, int want)
{
    double raw = range / want;
    double power = pow(10, floor(log10(raw)));
    double lead = raw / power;
    return power * (lead <= 1.0 + 1e-9 ? 1 : lead <= 2.0 + 1e-9 ? 2 : lead <= 5.0 + 1e-9 ? 5 : 10);
}

/* Ends that can be told apart: around a single value, or 0 .. 1 without any. */
static void spread(double *lo, double *hi)
{
    if (!(*lo <= *hi)) {
        *lo = 0;
        *hi = 1;
    }
    double size = fmax(fabs(*lo), fabs(*hi));
    if (*hi - *lo > 1e-11 * size && *hi - *lo > 1e-290)
        return;
    double room = size > 1e-290 ? 0.05 * size : 0.5, middle = *lo / 2 + *hi / 2;
    *lo = middle - room;
    *hi = middle + room;
}

static void choose_labels(bang_axis *axis)
{
    double factor = axis->percent ? 100 : 1;
    double size = fmax(fabs(axis->lo), fabs(axis->hi)) * factor;
    int places = (int)floor(log10(size));
    int fine = (int)floor(log10(axis->step * factor) + 1e-9);
    axis->power = places >= 7 || places < -4;
    axis->decimals = axis->power ? places - fine : -fine;
    if (axis->decimals < 0)
        axis->decimals = 0;
}

void bang_axis_fit(bang_axis *axis, double lo, double hi, int want, int percent)
{
    spread(&lo, &hi);
    axis->lo = lo;
    axis->hi = hi;
    axis->percent = percent;
    axis->step = round_step(hi - lo, want < 1 ? 1 : want);
    axis->first = ceil(lo / axis->step - 1e-6);
    axis->last = floor(hi / axis->step + 1e-6);
    choose_labels(axis);
}

void bang_axis_fit_round(bang_axis *axis, double lo, double hi, int want, int percent)
{
    bang_axis_fit(axis, lo, hi, want, percent);
    axis->first = floor(axis->lo / axis->step + 1e-6);
    axis->last = ceil(axis->hi / axis->step - 1e-6);
    axis->lo = axis->first * axis->step;
    axis->hi = axis->last * axis->step;
    choose_labels(axis);
}

void bang_axis_label(char out[BANG_NUMBER_SIZE], const bang_axis *axis, double value)
{
    if (axis->percent)
        value *= 100;
    if (axis->power)
        bang_number_power(out, fabs(value) < 1e-6 * axis->step ? 0 : value, axis->decimals);
    else
        bang_number_fixed(out, value, axis->decimals);
    if (!axis->percent)
        return;
    size_t at = strlen(out);
    snprintf(out + at, BANG_NUMBER_SIZE - at, "%%");
}

double bang_axis_label_width(const bang_axis *axis, double size)
{
    char label[BANG_NUMBER_SIZE];
    double widest = 0;
    for (double i = axis->first; i <= axis->last; i++) {
        bang_axis_label(label, axis, i * axis->step);
        widest = fmax(widest, bang_draw_text_width(label, size));
    }
    return widest;
}
