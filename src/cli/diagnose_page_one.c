/* The groups and margins of a single labelled set: what has one column a set otherwise stands
 * side by side. */
#include <math.h>

#include "diagnose_page.h"

static size_t only_set(const diagnose_page *p)
{
    size_t i = 0;
    while (i + 1 < p->r->found->set_count && !page_is_labelled(p, i))
        i++;
    return i;
}

/* One series over some names; intervals where there are any. */
static json_t *add_columns(diagnose_page *p, const char *title, const char *label,
                           const char *const *names, const bang_estimate *values, size_t count,
                           int color)
{
    json_t *chart = page_entry(p, "columns", title), *series = json_object(), *list = json_array();
    json_t *places = json_array(), *heights = json_array(), *low = json_array(),
           *high = json_array();
    int intervals = p->r->replicates > 0;
    for (size_t i = 0; i < count; i++) {
        page_put(p, places, json_string(names[i]));
        page_put(p, heights, bang_json_number(values[i].value));
        page_put(p, low, bang_json_number(values[i].interval.low));
        page_put(p, high, bang_json_number(values[i].interval.high));
        intervals &= isfinite(values[i].interval.low) != 0;
    }
    page_set(p, series, "name", page_string(p->r->found->sets[only_set(p)].name));
    page_set(p, series, "values", heights);
    page_set(p, series, "color", json_integer(color));
    if (intervals) {
        page_set(p, series, "low", json_incref(low));
        page_set(p, series, "high", json_incref(high));
    }
    json_decref(low);
    json_decref(high);
    page_put(p, list, series);
    page_set(p, chart, "value_label", json_string(label));
    page_set(p, chart, "percent", json_true());
    page_set(p, chart, "names", places);
    page_set(p, chart, "series", list);
    return chart;
}

static void add_quantities(diagnose_page *p, const bang_set_diagnosis *set)
{
    static const bang_quantity quantities[] = {BANG_Q_FFT,   BANG_Q_TTF, BANG_Q_TT_FF,
                                               BANG_Q_TF_FT, BANG_Q_ALL, BANG_Q_CORRECTED};
    static const char *const names[] = {"FFT", "TTF", "TT + FF", "TF + FT", "all", "TFT"};
    enum { COUNT = sizeof quantities / sizeof *quantities };
    bang_estimate values[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        values[i] = set->of[quantities[i]];
    json_t *chart = add_columns(p, "What the groups contribute to the accuracy.",
                                "share of the samples", names, values, COUNT, PAGE_AVG);
    page_note(
        p, chart,
        "FFT, the FalseFalseTrue ratio: %s is right where both models are wrong; TTF: the "
        "reverse. TT + FF, TF + FT and all: ImproveContri, (right ones of %s \u2212 the "
        "larger of PM's and FM's)/n in the group; on TT + FF that is FFT \u2212 TTF, and with "
        "TF + FT, where exactly one model is right, it adds up to the improvement over the "
        "better model on all. TFT, the corrected ratio N1/N2: %s is right where PM is and FM "
        "is not.",
        p->third, p->third, p->third);
}

static void add_groups(diagnose_page *p, const bang_set_diagnosis *set)
{
    bang_estimate values[BANG_GROUPS];
    for (int g = 0; g < BANG_GROUPS; g++)
        values[g] =
            (bang_estimate){(double)set->groups[g] / (double)set->tally->counted, {NAN, NAN, NAN}};
    json_t *chart = add_columns(p, "The eight groups.", "share of the samples", bang_group_names,
                                values, BANG_GROUPS, PAGE_GREY);
    page_note(p, chart,
              "Letters say whether PM, FM and %s are right (T) or wrong (F), in this order. FFT is "
              "what %s gets right although both models are wrong, TTF the reverse.",
              p->third, p->third);
}

void page_one(diagnose_page *p)
{
    const bang_set_diagnosis *set = &p->r->found->sets[only_set(p)];
    add_quantities(p, set);
    add_groups(p, set);
    page_group_table(p);
}
