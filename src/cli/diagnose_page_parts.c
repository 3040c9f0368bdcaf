/* Cells, tables and names of the page of bang diagnose. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose_page.h"

#define MINUS "\u2212"

int page_role_color(bang_role role)
{
    static const int colors[BANG_ROLES] = {
        [BANG_PRE] = PAGE_PRE,
        [BANG_FINE] = PAGE_FINE,
        [BANG_AVG] = PAGE_AVG,
        [BANG_OSE] = PAGE_OSE,
        [BANG_OSE_MEAN] = PAGE_OSE,
        [BANG_PRE_SCALED] = PAGE_SKY,
        [BANG_FINE_SCALED] = PAGE_AMBER,
        [BANG_OSE_SCALED] = PAGE_GREY,
        [BANG_OSE_SCALED_MEAN] = PAGE_GREY,
    };
    return colors[role];
}

const char *page_role_name(bang_role role)
{
    static const char *const names[BANG_ROLES] = {
        [BANG_PRE] = "pre-trained (PM)",
        [BANG_FINE] = "fine-tuned (FM)",
        [BANG_AVG] = "average (AM)",
        [BANG_OSE] = "output-space ensemble (OSE)",
        [BANG_OSE_MEAN] = "OSE of probabilities",
        [BANG_PRE_SCALED] = "PM calibrated",
        [BANG_FINE_SCALED] = "FM calibrated",
        [BANG_OSE_SCALED] = "calibrated OSE",
        [BANG_OSE_SCALED_MEAN] = "calibrated OSE of probabilities",
    };
    return names[role];
}

int page_has_role(const diagnose_page *p, size_t i, bang_role role)
{
    return bang_finding_has_role(p->r->found, &p->r->found->sets[i], role);
}

json_t *page_string(const char *s)
{
    json_t *value = json_string(s);
    if (value)
        return value;
    /* Arguments and file names may hold any bytes. */
    char *plain = strdup(s);
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = plain ? json_string(plain) : NULL;
    free(plain);
    return value;
}

static json_t *format_text(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    json_t *value = NULL;
    if (text) {
        vsnprintf(text, (size_t)size + 1, format, arguments);
        value = page_string(text);
    }
    free(text);
    return value;
}

json_t *page_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *value = format_text(format, arguments);
    va_end(arguments);
    return value;
}

void page_put(diagnose_page *p, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        p->failed = 1;
}

void page_set(diagnose_page *p, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        p->failed = 1;
}

json_t *page_entry(diagnose_page *p, const char *kind, const char *title)
{
    json_t *entry = json_object();
    page_set(p, entry, "kind", json_string(kind));
    if (title)
        page_set(p, entry, "title", page_string(title));
    page_put(p, p->show, entry);
    return p->failed ? NULL : entry;
}

json_t *page_table(diagnose_page *p, const char *title, const char *const *columns, size_t count)
{
    json_t *entry = page_entry(p, "table", title), *names = json_array();
    for (size_t c = 0; c < count; c++)
        page_put(p, names, page_string(columns[c]));
    page_set(p, entry, "columns", names);
    page_set(p, entry, "rows", json_array());
    return entry;
}

json_t *page_row(diagnose_page *p, json_t *table)
{
    json_t *row = json_array();
    page_put(p, json_object_get(table, "rows"), row);
    return p->failed ? NULL : row;
}

void page_note(diagnose_page *p, json_t *entry, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    page_set(p, entry, "note", format_text(format, arguments));
    va_end(arguments);
}

void page_paragraph(diagnose_page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    page_set(p, page_entry(p, "text", NULL), "text", format_text(format, arguments));
    va_end(arguments);
}

void page_decimals(diagnose_page *p, json_t *table, size_t without, int decimals)
{
    json_t *list = json_array();
    size_t count = json_array_size(json_object_get(table, "columns"));
    for (size_t c = 0; c < count; c++)
        page_put(p, list, c < without ? json_null() : json_integer(decimals));
    page_set(p, table, "decimals", list);
}

int page_is_labelled(const diagnose_page *p, size_t i)
{
    return p->r->found->sets[i].tally->labelled;
}

size_t page_labelled(const diagnose_page *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->r->found->set_count; i++)
        count += page_is_labelled(p, i) != 0;
    return count;
}

json_t *page_set_name(const diagnose_page *p, size_t i)
{
    const bang_diagnosis *found = p->r->found;
    if (i == PAGE_MEAN)
        return json_string("average OOD");
    return page_format("%s%s", found->sets[i].name,
                       found->set_count > 1 && i == found->id ? " (ID)" : "");
}

int page_has_mean(const diagnose_page *p)
{
    return p->r->found->ood_count > 1;
}

const bang_estimate *page_headline(const diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    if (found->ood_count)
        return found->ood;
    return page_is_labelled(p, found->id) ? found->sets[found->id].of : NULL;
}

json_t *page_columns(diagnose_page *p, const char *title, const char *label)
{
    json_t *chart = page_entry(p, "columns", title), *names = json_array();
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i))
        page_put(p, names, page_set_name(p, i));
    page_set(p, chart, "value_label", json_string(label));
    page_set(p, chart, "percent", json_true());
    page_set(p, chart, "names", names);
    page_set(p, chart, "series", json_array());
    return chart;
}

/* The mean over OOD sets is one of the role on all of them. */
static int mean_has_role(const diagnose_page *p, bang_role role)
{
    const bang_diagnosis *found = p->r->found;
    for (size_t i = 0; i < found->set_count; i++)
        if (i != found->id && page_is_labelled(p, i) && !page_has_role(p, i, role))
            return 0;
    return 1;
}

const bang_estimate *page_value(const diagnose_page *p, size_t i, bang_quantity quantity)
{
    static const bang_estimate none = {NAN, {NAN, NAN, NAN}};
    const bang_diagnosis *found = p->r->found;
    bang_role first = BANG_PRE, second = BANG_PRE;
    if (quantity < BANG_Q_ACCURACY + BANG_ROLES)
        first = (bang_role)quantity;
    else if (bang_quantity_roles(quantity, &first, &second) < 0)
        first = second = BANG_PRE; /* groups are of PM, FM and whatever is third */
    if (i == PAGE_MEAN)
        return mean_has_role(p, first) && mean_has_role(p, second) ? &found->ood[quantity] : &none;
    return page_has_role(p, i, first) && page_has_role(p, i, second) ? &found->sets[i].of[quantity]
                                                                     : &none;
}

size_t page_next(const diagnose_page *p, size_t i)
{
    size_t count = p->r->found->set_count;
    if (i == PAGE_MEAN)
        return PAGE_END;
    for (i = i == PAGE_BEGIN ? 0 : i + 1; i < count; i++)
        if (page_is_labelled(p, i))
            return i;
    return page_has_mean(p) ? PAGE_MEAN : PAGE_END;
}

void page_quantity(diagnose_page *p, json_t *chart, const char *name, bang_quantity quantity,
                   int color)
{
    json_t *series = json_object(), *values = json_array(), *low = json_array(),
           *high = json_array();
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i)) {
        const bang_estimate *estimate = page_value(p, i, quantity);
        page_put(p, values, bang_json_number(estimate->value));
        page_put(p, low, bang_json_number(estimate->interval.low));
        page_put(p, high, bang_json_number(estimate->interval.high));
    }
    page_set(p, series, "name", json_string(name));
    page_set(p, series, "color", json_integer(color));
    page_set(p, series, "values", values);
    if (p->r->replicates) {
        page_set(p, series, "low", json_incref(low));
        page_set(p, series, "high", json_incref(high));
    }
    json_decref(low);
    json_decref(high);
    page_put(p, json_object_get(chart, "series"), series);
}

void page_say_number(char out[PAGE_TEXT], double value, int decimals, int flags)
{
    char digits[PAGE_TEXT];
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    /* What rounds to 0 keeps its sign where signs matter: [+0.0, +0.2] excludes 0. */
    int is_zero = flags & PAGE_SIGN ? value == 0 : !strpbrk(digits, "123456789");
    const char *sign = is_zero ? "" : value < 0 ? MINUS : flags & PAGE_SIGN ? "+" : "";
    snprintf(out, PAGE_TEXT, "%s%s", sign, digits);
}

void page_say_percent(char out[PAGE_TEXT], double value, int flags)
{
    page_say_number(out, 100 * value, 1, flags);
}

void page_say(char out[PAGE_TEXT], const bang_estimate *estimate, int flags)
{
    char value[PAGE_TEXT], low[PAGE_TEXT], high[PAGE_TEXT];
    page_say_percent(value, estimate->value, flags);
    page_say_percent(low, estimate->interval.low, flags);
    page_say_percent(high, estimate->interval.high, flags);
    if (isfinite(estimate->interval.low) && isfinite(estimate->interval.high))
        snprintf(out, PAGE_TEXT, "%.15s [%.15s, %.15s]", value, low, high);
    else
        snprintf(out, PAGE_TEXT, "%s", value);
}

void page_say_p(char out[PAGE_TEXT], double p)
{
    if (p < 0.0001)
        snprintf(out, PAGE_TEXT, "<0.0001");
    else
        snprintf(out, PAGE_TEXT, "%.*f", p < 0.001 ? 4 : 3, p);
}

json_t *page_estimate(const bang_estimate *estimate, int flags)
{
    char text[PAGE_TEXT];
    if (!isfinite(estimate->value))
        return json_null();
    page_say(text, estimate, flags);
    return json_string(text);
}

json_t *page_percent(double value, int flags)
{
    char text[PAGE_TEXT];
    if (!isfinite(value))
        return json_null();
    if (!(flags & PAGE_SIGN))
        return bang_json_number(100 * value);
    page_say_percent(text, value, flags);
    return json_string(text);
}

json_t *page_p(double p)
{
    char text[PAGE_TEXT];
    if (!isfinite(p))
        return json_null();
    page_say_p(text, p);
    return json_string(text);
}
