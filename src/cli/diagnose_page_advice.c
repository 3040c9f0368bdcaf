/* Which alpha to take, and what it costs. */
#include <math.h>

#include "diagnose_page.h"

/* What each rule needs, in the order of bang_rule. */
static const char *const rule_needs[BANG_RULES] = {
    [BANG_RULE_ID_ACCURACY] = "labels of the ID set",
    [BANG_RULE_BALANCE_OOD] = "OOD samples without labels",
    [BANG_RULE_BALANCE_ID] = "ID samples without labels",
    [BANG_RULE_HALF] = "nothing",
    [BANG_RULE_ORACLE] = "OOD labels: not to be had in practice",
};
static const char *const rule_titles[BANG_RULES] = {
    [BANG_RULE_ID_ACCURACY] = "best ID accuracy",
    [BANG_RULE_BALANCE_OOD] = "equal confidence on OOD sets",
    [BANG_RULE_BALANCE_ID] = "equal confidence on the ID set",
    [BANG_RULE_HALF] = "one half",
    [BANG_RULE_ORACLE] = "best OOD accuracy (oracle)",
};

enum { RULE, NEEDS, ALPHA, NEAREST, ID, OOD, COST, COLUMNS };

/* What is measured at an alpha says nothing about one that is far from it. */
static void add_choice(diagnose_page *p, json_t *table, const char *title, const char *needs,
                       const bang_choice *choice, double nearest)
{
    int is_near = fabs(nearest - choice->alpha) <= BANG_FINDING_NEAREST_MOST;
    json_t *row = page_row(p, table);
    page_put(p, row, json_string(title));
    page_put(p, row, json_string(needs));
    page_put(p, row, bang_json_number(choice->alpha));
    page_put(p, row, is_near ? bang_json_number(nearest) : json_string("none"));
    page_put(p, row, is_near ? page_estimate(&choice->id, 0) : json_null());
    if (p->r->found->choice_sets) {
        page_put(p, row, is_near ? page_estimate(&choice->ood, 0) : json_null());
        page_put(p, row, is_near ? page_estimate(&choice->cost, 0) : json_null());
    }
}

/* A model that is not averaged, to compare with. */
static void add_single(diagnose_page *p, json_t *table, bang_role role)
{
    const bang_diagnosis *found = p->r->found;
    const bang_estimate *ood = &found->ood[BANG_Q_ACCURACY + (int)role];
    const bang_choice single = {
        .alpha = role == BANG_FINE,
        .id = found->sets[found->id].of[BANG_Q_ACCURACY + (int)role],
        .ood = *ood,
        .cost = {found->choices[BANG_RULE_ORACLE].ood.value - ood->value, {NAN, NAN, NAN}}};
    add_choice(p, table, role == BANG_FINE ? "FM, not averaged" : "PM, not averaged", "nothing",
               &single, single.alpha);
}

static void add_choices(diagnose_page *p, const bang_set_diagnosis *with)
{
    static const char *const columns[COLUMNS] = {
        "rule", "needs", "alpha", "measured at", "accuracy ID", "accuracy OOD", "cost, points"};
    const bang_diagnosis *found = p->r->found;
    int judged = found->choice_sets > 0; /* on OOD labels */
    json_t *table = page_table(p, "Ways to choose alpha.", columns, judged ? COLUMNS : OOD);
    for (int rule = 0; rule < BANG_RULES; rule++) {
        const bang_choice *choice = &found->choices[rule];
        if (choice->known)
            add_choice(p, table, rule_titles[rule], rule_needs[rule], choice,
                       with->wse[choice->nearest].alpha);
    }
    for (int role = BANG_PRE; role <= BANG_FINE && judged; role++)
        if (found->choice_sets == found->ood_count)
            add_single(p, table, (bang_role)role);
    page_set(p, table, "decimals", judged ? json_pack("[nninnnn]", 3) : json_pack("[nninn]", 3));
    page_note(
        p, table,
        "Accuracies in per cent, at the measured alpha nearest to the rule's, if that is "
        "within %g.%s%s",
        BANG_FINDING_NEAREST_MOST,
        judged ? " Cost: what the choice lacks to the best alpha on the labelled OOD sets" : "",
        !judged            ? ""
        : p->r->replicates ? ", which is chosen with their labels, and its interval, which holds "
                             "both alphas fixed; where that holds 0, the best may be better by "
                             "chance alone."
                           : ", which is chosen with their labels.");
}

/* The rule that does best without OOD labels is not known without them: the one of the text. */
static void add_command(diagnose_page *p, int advised)
{
    const bang_diagnosis *found = p->r->found;
    json_t *facts = page_entry(p, "facts", "To write such an average"), *rows = json_array();
    page_put(p, rows,
             json_pack("[so]", "by the rule",
                       page_format("%s%s", rule_titles[advised],
                                   found->set_count > 1 ? ", which needs no OOD labels" : "")));
    page_put(p, rows,
             json_pack("[so]", "command",
                       page_format("bang average PM FM --alpha %.2g -o AM",
                                   found->choices[advised].alpha)));
    page_set(p, facts, "rows", rows);
}

static void add_balance(diagnose_page *p)
{
    static const char *const columns[] = {"set", "PM", "FM", "tau", "alpha"};
    const bang_diagnosis *found = p->r->found;
    json_t *table = page_table(p, "The alpha of balanced confidence, set by set.", columns,
                               sizeof columns / sizeof *columns);
    page_set(p, table, "groups",
             json_pack("[[si][si][si]]", "", 1, "mean confidence, %", 2, "balance", 2));
    page_set(p, table, "decimals", json_pack("[niiii]", 1, 1, 3, 3));
    for (size_t i = 0; i < found->set_count; i++) {
        const bang_set_diagnosis *set = &found->sets[i];
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        for (int m = 0; m < 2; m++)
            page_put(
                p, row,
                page_percent(set->tally->of[set->member[m ? BANG_FINE : BANG_PRE]].confidence, 0));
        page_put(p, row,
                 set->balance.at_limit ? json_null() : bang_json_number(set->balance.temperature));
        page_put(p, row,
                 set->balance.at_limit ? json_null() : bang_json_number(set->balanced_alpha));
    }
    page_note(p, table,
              "tau is the temperature at which FM is on average as confident as PM, and alpha = "
              "1/(1 + tau): (1 \u2212 alpha) z_PM + alpha z_FM is then proportional to z_PM + "
              "z_FM/tau, the sum of two equally confident models. Above tau = 1 the fine-tuned "
              "model is the more confident one and gets less weight. No labels are used. It is an "
              "ensemble's rule: for an average of weights it is a starting point, not a law.");
}

void page_advice(diagnose_page *p)
{
    const bang_set_diagnosis *with = bang_finding_with_averages(p->r->found);
    int advised = bang_finding_advised(p->r->found);
    if (with && advised >= 0) {
        add_choices(p, with);
        add_command(p, advised);
    }
    add_balance(p);
}
