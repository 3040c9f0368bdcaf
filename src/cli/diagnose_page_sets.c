/* Accuracy on all sets side by side, and whether differences are real. */
#include <math.h>

#include "diagnose_page.h"

static const bang_role shown_roles[] = {BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE, BANG_OSE_SCALED};
enum { SHOWN = sizeof shown_roles / sizeof *shown_roles };

/* A column of nothing but dashes is left out. */
static int is_known(const diagnose_page *p, bang_quantity quantity)
{
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i))
        if (isfinite(page_value(p, i, quantity)->value))
            return 1;
    return 0;
}

static void add_accuracies(diagnose_page *p)
{
    const char *columns[2 + SHOWN] = {"set", "samples"};
    bang_quantity quantities[SHOWN];
    size_t count = 0;
    for (size_t m = 0; m < SHOWN; m++) {
        bang_quantity quantity = (bang_quantity)(BANG_Q_ACCURACY + (int)shown_roles[m]);
        if (!is_known(p, quantity))
            continue;
        columns[2 + count] = page_role_name(shown_roles[m]);
        quantities[count++] = quantity;
    }
    json_t *table = page_table(p, "Accuracy in per cent.", columns, 2 + count);
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i)) {
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        page_put(p, row,
                 i == PAGE_MEAN ? json_null()
                                : json_integer((json_int_t)p->r->found->sets[i].tally->counted));
        for (size_t q = 0; q < count; q++)
            page_put(p, row, page_estimate(page_value(p, i, quantities[q]), 0));
    }
    page_note(p, table, "%s%s",
              "A prediction is the class of the largest output, the first of equals.",
              p->r->replicates ? " In brackets the interval of the bootstrap, see below." : "");
}

static void add_accuracy_chart(diagnose_page *p)
{
    json_t *chart = page_columns(p, "Accuracy of the models.", "accuracy");
    for (size_t m = 0; m < 4; m++) {
        bang_quantity quantity = (bang_quantity)(BANG_Q_ACCURACY + (int)shown_roles[m]);
        if (is_known(p, quantity))
            page_quantity(p, chart, page_role_name(shown_roles[m]), quantity,
                          page_role_color(shown_roles[m]));
    }
    page_note(p, chart, "The higher the better.%s",
              p->r->replicates ? " Whiskers are the intervals; as the models see the same "
                                 "samples, two intervals may overlap although the difference "
                                 "is real: the next table tells."
                               : "");
}

enum { DIFFERENCES = 3 };

/* Some differences side by side, each with its test; the first table explains them. 1 if any of
 * them is known. */
static int add_differences(diagnose_page *p, const char *title, const bang_quantity *wanted,
                           const char *const *names, int is_first)
{
    const char *columns[1 + 2 * DIFFERENCES] = {"set"};
    bang_quantity quantities[DIFFERENCES];
    size_t count = 0;
    json_t *groups = json_pack("[[si]]", "", 1);
    for (size_t q = 0; q < DIFFERENCES; q++) {
        if (!names[q] || !is_known(p, wanted[q]))
            continue;
        columns[1 + 2 * count] = "points";
        columns[2 + 2 * count] = "p";
        quantities[count++] = wanted[q];
        page_put(p, groups, json_pack("[si]", names[q], 2));
    }
    if (!count) {
        json_decref(groups);
        return 0;
    }
    json_t *table = page_table(p, title, columns, 1 + 2 * count);
    page_set(p, table, "groups", groups);
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i)) {
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        for (size_t q = 0; q < count; q++) {
            const bang_estimate *estimate = page_value(p, i, quantities[q]);
            bang_role first, second;
            bang_quantity_roles(quantities[q], &first, &second);
            page_put(p, row, page_estimate(estimate, PAGE_SIGN));
            page_put(p, row,
                     i == PAGE_MEAN || !isfinite(estimate->value)
                         ? json_null()
                         : page_p(bang_diagnosis_mcnemar(&p->r->found->sets[i], first, second).p));
        }
    }
    if (is_first)
        page_note(
            p, table,
            "Differences of accuracies in percentage points. p is of McNemar's exact test on the "
            "samples that only one of the two gets right; it belongs to one set, so the mean has "
            "none. A difference is called real when its interval excludes 0 and p is at most %.3g; "
            "any other may be chance. Many comparisons are made on this page, and none is "
            "corrected for that.",
            1 - p->r->level);
    return 1;
}

void page_accuracy(diagnose_page *p)
{
    static const struct {
        const char *title;
        bang_quantity quantities[DIFFERENCES];
        const char *names[DIFFERENCES];
    } tables[] = {
        {"What the average gains.",
         {BANG_Q_AVG_PRE, BANG_Q_AVG_FINE, BANG_Q_AVG_OSE},
         {"AM \u2212 PM", "AM \u2212 FM", "AM \u2212 OSE"}},
        {"What fine-tuning and the ensemble of outputs gain.",
         {BANG_Q_FINE_PRE, BANG_Q_OSE_PRE, BANG_Q_OSE_FINE},
         {"FM \u2212 PM", "OSE \u2212 PM", "OSE \u2212 FM"}},
        {"What calibration changes.",
         {BANG_Q_SCALED_OSE, BANG_Q_AVG_SCALED, BANG_Q_AVG_SCALED},
         {"calibrated OSE \u2212 OSE", "AM \u2212 calibrated OSE", NULL}},
    };
    int shown = 0;
    add_accuracies(p);
    add_accuracy_chart(p);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        shown +=
            add_differences(p, tables[t].title, tables[t].quantities, tables[t].names, shown == 0);
    if (p->r->replicates)
        page_paragraph(p,
                       "Intervals hold %g %% of %zu resamples of each set (bootstrap). All models "
                       "are scored on the same drawn samples, so differences are paired.%s",
                       100 * p->r->level, p->r->replicates,
                       page_has_mean(p) ? " Average OOD is the plain mean over the sets other "
                                          "than the ID set; its interval is about new samples "
                                          "of these sets, not about other sets."
                                        : "");
}
