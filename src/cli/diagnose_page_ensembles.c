/* Averages of weights (WSE) against ensembles of outputs (OSE), and how much models differ. */
#include <math.h>
#include <stdio.h>

#include "diagnose_page.h"

static void add_spaces(diagnose_page *p)
{
    static const bang_role roles[] = {BANG_AVG, BANG_OSE, BANG_OSE_MEAN, BANG_OSE_SCALED,
                                      BANG_OSE_SCALED_MEAN};
    static const char *const titles[] = {"average of weights (AM)", "logits", "probabilities",
                                         "calibrated logits", "calibrated probabilities"};
    enum { ROLES = sizeof roles / sizeof *roles };
    const char *columns[1 + ROLES] = {"set"};
    bang_quantity quantities[ROLES];
    size_t count = 0;
    for (size_t m = 0; m < ROLES; m++) {
        int known = 0;
        bang_quantity quantity = (bang_quantity)(BANG_Q_ACCURACY + (int)roles[m]);
        for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i))
            known |= isfinite(page_value(p, i, quantity)->value);
        if (!known)
            continue;
        columns[1 + count] = titles[m];
        quantities[count++] = quantity;
    }
    if (!count)
        return;
    json_t *table = page_table(p, "Accuracy of ensembles, in per cent.", columns, 1 + count);
    int leading = quantities[0] == BANG_Q_ACCURACY + (int)BANG_AVG;
    if (leading && count > 1)
        page_set(p, table, "groups",
                 json_pack("[[si][si][si]]", "", 1, "weight space", 1, "output space: mean of",
                           (int)count - 1));
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i)) {
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        for (size_t q = 0; q < count; q++)
            page_put(p, row, page_estimate(page_value(p, i, quantities[q]), 0));
    }
    page_note(p, table,
              "An output-space ensemble (OSE) runs both models and takes the mean of their "
              "outputs, with weights %g of PM and %g of FM%s.",
              p->r->weights[0], p->r->weights[1],
              p->r->found->has_temperature
                  ? "; a calibrated one divides each model's logits by its temperature first"
                  : "");
}

static void add_diversity(diagnose_page *p)
{
    static const char *const columns[] = {
        "set",        "models",       "agreement",        "disagreement",
        "both wrong", "same mistake", "error correlation"};
    static const bang_role roles[] = {BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE};
    const bang_diagnosis *found = p->r->found;
    int labelled = page_labelled(p) > 0;
    json_t *table = page_table(p, "How much the models differ, in per cent of the samples.",
                               columns, labelled ? 7 : 4);
    page_set(p, table, "decimals",
             labelled ? json_pack("[nniiiii]", 1, 1, 1, 1, 3) : json_pack("[nnii]", 1, 1));
    for (size_t i = 0; i < found->set_count; i++)
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++) {
                const bang_diversity *d = &found->sets[i].diversity[a][b];
                /* Of many sets, the two models, and the two ways to combine them. */
                int is_chosen = (a == 0 && b == 1) || (a == 2 && b == 3);
                if (!page_has_role(p, i, roles[a]) || !page_has_role(p, i, roles[b]) ||
                    (found->set_count > 1 && !is_chosen))
                    continue;
                json_t *row = page_row(p, table);
                page_put(p, row, page_set_name(p, i));
                page_put(p, row,
                         page_format("%s, %s", bang_finding_role_title(roles[a]),
                                     bang_finding_role_title(roles[b])));
                page_put(p, row, page_percent(d->agreement, 0));
                page_put(p, row, page_percent(d->disagreement, 0));
                if (!labelled)
                    continue;
                page_put(p, row, page_percent(d->both_wrong, 0));
                page_put(p, row, page_percent(d->same_mistake, 0));
                page_put(p, row, bang_json_number(d->error_correlation));
            }
    page_note(p, table, "Agreement: the same prediction.%s",
              labelled ? " Same mistake: both wrong, with the same prediction. The correlation is "
                         "that of being wrong (phi), between \u22121 and 1: the lower it is, the "
                         "more one model can make up for the other."
                       : "");
}

void page_ensembles(diagnose_page *p)
{
    add_spaces(p);
    page_alphas(p);
    add_diversity(p);
}
