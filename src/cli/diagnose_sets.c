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
static int is_shown(const diagnose_result *r, int column)
{
    int any = columns[column] != BANG_AVG;
    for (size_t i = 0; i < r->found->set_count; i++)
        any |= r->found->sets[i].has_average;
    return any;
}

static void print_percent(double value, int width)
{
    if (isnan(value))
        printf("%*s", width, "-");
    else
        printf("%*.1f", width, 100 * value);
}

/* The better of both, how much the average is above it, FFT, and gaps of both models. */
static void print_line(const diagnose_result *r, const bang_estimate *of, double gap_pre,
                       double gap_fine)
{
    char points[32], range[64], pre[32], fine[32];
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            print_percent(of[BANG_Q_ACCURACY + columns[i]].value, 7);
    printf("  %6s%-16s", diagnose_points(points, of[BANG_Q_ALL].value),
           diagnose_range(range, &of[BANG_Q_ALL]));
    print_percent(of[BANG_Q_FFT].value, 6);
    printf("  %6s %6s\n", diagnose_points(pre, gap_pre), diagnose_points(fine, gap_fine));
}

static double gap_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->tally->of[set->member[role]].confidence - set->of[BANG_Q_ACCURACY + role].value;
}

static void print_set_name(const bang_diagnosis *d, size_t index, size_t width)
{
    static const char mark[] = " (ID)";
    size_t room = index == d->id ? width - strlen(mark) : width;
    size_t size = cli_characters(d->sets[index].name);
    cli_print_name(d->sets[index].name, size < room ? size : room);
    printf("%s%*s", index == d->id ? mark : "", (int)(size < room ? room - size : 0), "");
}

static void print_heading(const diagnose_result *r, int width)
{
    for (int line = 0; line < 2; line++) {
        printf("%-*s", width, line ? "per cent" : "All sets");
        for (int i = 0; i < COLUMNS; i++)
            if (is_shown(r, i))
                printf("%7s", titles[line][i]);
        printf(line ? "  %-22s%6s  %6s %6s\n" : "  %-22s%6s  %6s\n",
               line             ? "in points"
               : is_shown(r, 2) ? "AM - the better"
                                : "OSE - the better",
               line ? "FFT" : "", line ? "PM" : "gap", "FM");
    }
}

void diagnose_print_sets(const diagnose_result *r)
{
    const bang_diagnosis *d = r->found;
    size_t width = NAME_LEAST;
    for (size_t i = 0; i < d->set_count; i++) {
        size_t size = cli_characters(d->sets[i].name) + (i == d->id ? 5 : 0);
        width = size > width ? size : width;
    }
    width = width > NAME_MOST ? NAME_MOST : width;
    puts("\n");
    print_heading(r, (int)width);
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        print_set_name(d, i, width);
        print_line(r, set->of, gap_of(set, BANG_PRE), gap_of(set, BANG_FINE));
    }
    if (d->ood_count) {
        cli_print_name("average OOD", width);
        print_line(r, d->ood,
                   d->ood_confidence[BANG_PRE] - d->ood[BANG_Q_ACCURACY + BANG_PRE].value,
                   d->ood_confidence[BANG_FINE] - d->ood[BANG_Q_ACCURACY + BANG_FINE].value);
    }
}

static void add_temperatures(bang_text *out, const bang_diagnosis *d)
{
    if (!d->has_temperature)
        return;
    bang_text_add(out, "Temperatures");
    if (d->fitted)
        bang_text_add(out, ", fitted on %s", d->sets[d->fitted_on].name);
    for (int i = 0; i < 2; i++)
        bang_text_add(out, "%s %s %.3f%s", i ? "," : ":", i ? "FM" : "PM",
                      d->temperature[i].temperature,
                      d->temperature[i].at_limit ? " (at the limit)" : "");
    bang_text_add(out, "; above 1: over-confident there\n");
}

/* At which weight of FM both models weigh the same: no labels needed. */
static void add_balance(bang_text *out, const bang_diagnosis *d)
{
    bang_text_add(out, "Alpha at which both models are equally confident: ");
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        bang_text_add(out, "%s%s%s%.2f%s", i ? "; " : "", d->set_count > 1 ? set->name : "",
                      d->set_count > 1 ? " " : "", set->balanced_alpha,
                      set->balance.at_limit ? " or beyond" : "");
    }
    bang_text_add(out, "\n");
}

static void print_rule(const bang_choice *c, const char *title, double nearest)
{
    char range[64], cost[32], cost_range[64];
    printf("%-30s %7.2f %8g", title, c->alpha, nearest);
    print_percent(c->id.value, 8);
    print_percent(c->ood.value, 8);
    if (isnan(c->ood.value) || isnan(c->ood.interval.low))
        printf("  %-14s", "");
    else {
        snprintf(range, sizeof range, "[%.1f, %.1f]", 100 * c->ood.interval.low,
                 100 * c->ood.interval.high);
        printf("  %-14s", range);
    }
    printf("%7s%s\n", diagnose_points(cost, c->cost.value), diagnose_range(cost_range, &c->cost));
}

void diagnose_print_alpha(const diagnose_result *r)
{
    static const char *const rules[BANG_RULES] = {
        [BANG_RULE_ID_ACCURACY] = "best ID accuracy",
        [BANG_RULE_BALANCE_OOD] = "equal confidence on OOD sets",
        [BANG_RULE_BALANCE_ID] = "equal confidence on the ID set",
        [BANG_RULE_HALF] = "one half",
        [BANG_RULE_ORACLE] = "best OOD accuracy, with labels",
    };
    const bang_diagnosis *d = r->found;
    const bang_set_diagnosis *with = diagnose_with_averages(d);
    int advised = diagnose_advised(d);
    bang_text said = {0};
    add_temperatures(&said, d);
    add_balance(&said, d);
    putchar('\n');
    if (said.size)
        diagnose_print_wrapped(said.data);
    bang_text_release(&said);
    if (!with || advised < 0)
        return;
    puts("\nWhich alpha; the cost is what the OOD accuracy lacks to the best one, in points");
    printf("%-30s %7s %8s%8s%8s  %-14s%7s\n", "by", "alpha", "nearest", "ID", "OOD", "interval",
           "cost");
    for (int i = 0; i < BANG_RULES; i++)
        if (d->choices[i].known)
            print_rule(&d->choices[i], rules[i], with->wse[d->choices[i].nearest].alpha);
    if (isnan(d->choices[advised].cost.value))
        printf("By %s: ", rules[advised]);
    else
        printf("The cheapest that needs no OOD labels: ");
    printf("bang average PM FM --alpha %g -o AM\n", with->wse[d->choices[advised].nearest].alpha);
}
