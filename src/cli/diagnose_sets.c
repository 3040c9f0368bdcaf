/* What bang diagnose found, over all sets: one table, temperatures, which alpha. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

static const bang_role columns[] = {BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE, BANG_OSE_SCALED};
static const char *const titles[2][5] = {{"", "", "", "", "cal."},
                                         {"PM", "FM", "AM", "OSE", "OSE"}};
enum { COLUMNS = sizeof columns / sizeof *columns, NAME_LEAST = 11, NAME_MOST = 22 };

/* Where no set has an average, AM would be the OSE once more. */
static int is_shown(const bang_finding *r, int column)
{
    int any = 0;
    for (size_t i = 0; i < r->found->set_count; i++)
        any |= bang_finding_has_role(r->found, &r->found->sets[i], columns[column]);
    return any;
}

static void print_percent(double value, int width)
{
    if (isnan(value))
        printf("%*s", width, "-");
    else
        printf("%*.1f", width, 100 * value);
}

/* Accuracies, FFT, and gaps of both models. */
static void print_line(const bang_finding *r, const bang_estimate *of, double gap_pre,
                       double gap_fine, int no_average)
{
    char pre[32], fine[32];
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            printf("%*.1f%c", i == 0 ? 7 : 6, 100 * of[BANG_Q_ACCURACY + columns[i]].value,
                   columns[i] == BANG_AVG && no_average ? '*' : ' ');
    print_percent(of[BANG_Q_FFT].value, 6);
    printf("  %6s %6s\n", bang_finding_in_points(pre, gap_pre),
           bang_finding_in_points(fine, gap_fine));
}

static void print_set_name(const bang_diagnosis *d, size_t index, size_t width)
{
    static const char mark[] = " (ID)";
    size_t room = index == d->id ? width - strlen(mark) : width;
    size_t size = cli_characters(d->sets[index].name);
    cli_print_name(d->sets[index].name, size < room ? size : room);
    printf("%s%*s", index == d->id ? mark : "", (int)(size < room ? room - size : 0), "");
}

static void print_heading(const bang_finding *r, int width)
{
    for (int line = 0; line < 2; line++) {
        printf("%-*s", width, line ? "per cent" : "All sets");
        for (int i = 0; i < COLUMNS; i++)
            if (is_shown(r, i))
                printf("%7s", titles[line][i]);
        if (line)
            printf("%7s  %6s %6s\n", "FFT", "PM", "FM");
        else
            printf("%7s  %6s\n", "", "gap");
    }
}

/* What the average gains, and where from: two tables of three columns. */
static const struct {
    bang_quantity quantity;
    const char *title, *without; /* an average: the OSE takes its place; NULL: not shown */
} gains[2][3] = {
    {{BANG_Q_AVG_PRE, "AM - PM", "OSE - PM"},
     {BANG_Q_AVG_FINE, "AM - FM", "OSE - FM"},
     {BANG_Q_AVG_OSE, "AM - OSE", NULL}},
    {{BANG_Q_ALL, "AM - the better", "OSE - the better"},
     {BANG_Q_TT_FF, "of it TT+FF", "of it TT+FF"},
     {BANG_Q_TF_FT, "and TF+FT", "and TF+FT"}},
};

/* "+1.9 [+1.2, +2.6]" each, with a mark where it may be chance; set is NULL for the mean over the
 * OOD sets. */
static void print_gains(const bang_finding *r, int table, const bang_set_diagnosis *set,
                        const bang_estimate *of)
{
    char line[256] = "";
    size_t used = 0;
    for (int i = 0; i < 3; i++) {
        const bang_estimate *e = &of[gains[table][i].quantity];
        char points[32], range[64], cell[128];
        if (!is_shown(r, 2) && !gains[table][i].without)
            continue;
        const char *verdict = bang_finding_verdict_of(set, of, gains[table][i].quantity, r->level);
        snprintf(cell, sizeof cell, "%7s%s%s", bang_finding_in_points(points, e->value),
                 bang_finding_range(range, e), *verdict == 'm' ? " ~" : "");
        used += (size_t)snprintf(line + used, sizeof line - used, "%-*s", i < 2 ? 26 : 0, cell);
    }
    while (used && line[used - 1] == ' ')
        line[--used] = '\0';
    puts(line);
}

static void print_gain_table(const bang_finding *r, int table, size_t width)
{
    const bang_diagnosis *d = r->found;
    int last = is_shown(r, 2) || table ? 2 : 1;
    printf("\n%-*s", (int)width, table ? "where from" : "In points");
    for (int i = 0; i <= last; i++)
        printf("   %-*s", i < last ? 23 : 0,
               is_shown(r, 2) ? gains[table][i].title : gains[table][i].without);
    putchar('\n');
    for (size_t i = 0; i < d->set_count; i++) {
        if (!d->sets[i].tally->labelled)
            continue;
        print_set_name(d, i, width);
        print_gains(r, table, &d->sets[i], d->sets[i].of);
    }
    if (d->ood_count > 1) {
        cli_print_name("average OOD", width);
        print_gains(r, table, NULL, d->ood);
    }
}

void diagnose_print_sets(const bang_finding *r)
{
    const bang_diagnosis *d = r->found;
    size_t width = NAME_LEAST;
    int labelled = 0, without = 0, without_ood = 0;
    for (size_t i = 0; i < d->set_count; i++) {
        labelled |= d->sets[i].tally->labelled;
        size_t size = cli_characters(d->sets[i].name) + (i == d->id ? 5 : 0);
        width = size > width ? size : width;
    }
    width = width > NAME_MOST ? NAME_MOST : width;
    if (!labelled)
        return;
    print_heading(r, (int)width);
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        if (!set->tally->labelled)
            continue;
        print_set_name(d, i, width);
        print_line(r, set->of, bang_finding_gap(set, BANG_PRE), bang_finding_gap(set, BANG_FINE),
                   !set->has_average);
        without += !set->has_average;
        without_ood += i != d->id && !set->has_average;
    }
    if (d->ood_count > 1) {
        cli_print_name("average OOD", width);
        print_line(r, d->ood,
                   d->ood_confidence[BANG_PRE] - d->ood[BANG_Q_ACCURACY + BANG_PRE].value,
                   d->ood_confidence[BANG_FINE] - d->ood[BANG_Q_ACCURACY + BANG_FINE].value,
                   without_ood > 0);
    }
    if (without && is_shown(r, 2))
        puts("*: without an average, the OSE in its place");
    print_gain_table(r, 0, width);
    print_gain_table(r, 1, width);
    if (r->replicates)
        puts("~: may be chance");
    puts("PM: pre-trained, FM: fine-tuned, AM: their average, OSE: ensemble of their outputs; FFT: "
         "AM\n"
         "is right where PM and FM are wrong; gap: confidence - accuracy");
    if (d->ood_count > 1)
        printf("average OOD of %s - the better: of PM and FM the better one set by set\n",
               is_shown(r, 2) ? "AM" : "OSE");
    if (!r->details)
        puts("--details tells more of each set, --html draws it");
}

static void add_temperatures(bang_text *out, const bang_diagnosis *d)
{
    if (!d->has_temperature)
        return;
    bang_text_add(out, "Temperatures");
    if (d->fitted)
        bang_text_add(out, ", fitted on %s", d->sets[d->fitted_on].name);
    else
        bang_text_add(out, " as given");
    char text[32];
    for (int i = 0; i < 2; i++)
        bang_text_add(out, "%s %s %s%s", i ? "," : ":", i ? "FM" : "PM",
                      bang_finding_temperature(text, d->temperature[i].temperature),
                      d->temperature[i].at_limit ? " (at the limit)" : "");
    bang_text_add(out, !d->fitted ? "\n"
                       : d->set_count == 1
                           ? "; above 1: over-confident. What is "
                             "calibrated is judged here on the set it was fitted on\n"
                           : "; above 1: over-confident there, where what is calibrated looks "
                             "better than on new samples\n");
}

/* At which weight of FM both models weigh the same: no labels needed. */
static void add_balance(bang_text *out, const bang_diagnosis *d)
{
    bang_text_add(out, "Alpha at which both models are equally confident: ");
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        bang_text_add(out, "%s%s%s%.2f%s", i ? "; " : "", d->set_count > 1 ? set->name : "",
                      d->set_count > 1 ? " " : "", set->balanced_alpha,
                      set->balance.at_limit ? " (the limit)" : "");
    }
    bang_text_add(out, "\n");
}

/* several: there are sets other than the ID set. */
static void print_rule(const bang_choice *c, const char *title, double nearest, int several)
{
    char range[64], cost[32], cost_range[64];
    printf("%-30s %7.2f", title, c->alpha);
    if (fabs(nearest - c->alpha) > BANG_FINDING_NEAREST_MOST) {
        printf("     none\n");
        return;
    }
    printf(" %8g", nearest);
    print_percent(c->id.value, 8);
    if (!several) {
        putchar('\n');
        return;
    }
    print_percent(c->ood.value, 8);
    if (isnan(c->ood.value) || isnan(c->ood.interval.low))
        printf("  %-14s", "");
    else {
        snprintf(range, sizeof range, "[%.1f, %.1f]", 100 * c->ood.interval.low,
                 100 * c->ood.interval.high);
        printf("  %-14s", range);
    }
    printf("%7s%s\n", bang_finding_in_points(cost, c->cost.value),
           bang_finding_range(cost_range, &c->cost));
}

/* A model that is not averaged, below the rules. */
static void print_single(const bang_diagnosis *d, bang_role role)
{
    const bang_estimate *ood = &d->ood[BANG_Q_ACCURACY + role];
    bang_choice c = {
        .alpha = role == BANG_FINE,
        .id = d->sets[d->id].of[BANG_Q_ACCURACY + role],
        .ood = *ood,
        .cost = {d->choices[BANG_RULE_ORACLE].ood.value - ood->value, {NAN, NAN, NAN}}};
    print_rule(&c, role == BANG_FINE ? "FM, not averaged" : "PM, not averaged", c.alpha, 1);
}

void diagnose_print_alpha(const bang_finding *r)
{
    static const char *const rules[2][BANG_RULES] = {
        {[BANG_RULE_ID_ACCURACY] = "best accuracy",
         [BANG_RULE_BALANCE_ID] = "equal confidence",
         [BANG_RULE_HALF] = "one half"},
        {[BANG_RULE_ID_ACCURACY] = "best ID accuracy",
         [BANG_RULE_BALANCE_OOD] = "equal confidence on OOD sets",
         [BANG_RULE_BALANCE_ID] = "equal confidence on the ID set",
         [BANG_RULE_HALF] = "one half",
         [BANG_RULE_ORACLE] = "best OOD accuracy, with labels"},
    };
    const bang_diagnosis *d = r->found;
    const bang_set_diagnosis *with = bang_finding_with_averages(d);
    int advised = bang_finding_advised(d), several = d->set_count > 1;
    bang_text said = {0};
    add_temperatures(&said, d);
    add_balance(&said, d);
    putchar('\n');
    if (said.size)
        diagnose_print_wrapped(said.data);
    bang_text_release(&said);
    if (!with || advised < 0)
        return;
    if (several) {
        puts("\nWhich alpha; the cost is what the OOD accuracy lacks to the best one, in points. "
             "The "
             "best\nis chosen with OOD labels; intervals hold all chosen alphas fixed");
        printf("%-30s %7s %8s%8s%8s  %-14s%7s\n", "by", "alpha", "nearest", "ID", "OOD", "interval",
               "cost");
    } else {
        puts("\nWhich alpha, and the accuracy of the nearest that was measured");
        printf("%-30s %7s %8s%8s\n", "by", "alpha", "nearest", "here");
    }
    for (int i = 0; i < BANG_RULES; i++)
        if (d->choices[i].known)
            print_rule(&d->choices[i], rules[several][i], with->wse[d->choices[i].nearest].alpha,
                       several);
    if (several && d->choice_sets && d->choice_sets == d->ood_count)
        for (int role = BANG_PRE; role <= BANG_FINE; role++)
            print_single(d, (bang_role)role);
    printf("By %s%s: bang average PM FM --alpha %.2g -o AM\n", rules[several][advised],
           several ? ", without OOD labels" : "", d->choices[advised].alpha);
}
