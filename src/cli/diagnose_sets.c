/* What bang diagnose found, over all sets: one table, temperatures, which alpha. */
#include <math.h>
#include <stdio.h>

#include "diagnose.h"

static const bang_role columns[] = {BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE, BANG_OSE_SCALED};
enum { COLUMNS = sizeof columns / sizeof *columns, NAME_LEAST = 11, NAME_MOST = 22 };

static void print_percent(double value, int width)
{
    if (isnan(value))
        printf("%*s", width, "-");
    else
        printf("%*.1f", width, 100 * value);
}

/* The better of both, how much the average is above it, FFT, and gaps of both models. */
static void print_line(const bang_estimate of[BANG_QUANTITIES], double gap_pre, double gap_fine)
{
    char points[32], range[64], pre[32], fine[32];
    for (int i = 0; i < COLUMNS; i++)
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

void diagnose_print_sets(const diagnose_result *r)
{
    const bang_diagnosis *d = r->found;
    size_t width = NAME_LEAST;
    for (size_t i = 0; i < d->set_count; i++) {
        size_t size = cli_characters(d->sets[i].name) + (i == d->id ? 5 : 0);
        width = size > width ? size : width;
    }
    width = width > NAME_MOST ? NAME_MOST : width;
    printf("\n\n%-*s%7s%7s%7s%7s%7s  %-22s%6s  %-13s\n%-*s%7s%7s%7s%7s%7s  %-22s%6s  %6s %6s\n",
           (int)width, "All sets", "", "", "", "", "cal.", "AM - the better", "", "   gap",
           (int)width, "per cent", "PM", "FM", "AM", "OSE", "OSE", "in points", "FFT", "PM", "FM");
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        if (i == d->id) {
            cli_print_name(set->name, cli_characters(set->name) > width - 5
                                          ? width - 5
                                          : cli_characters(set->name));
            size_t used =
                cli_characters(set->name) > width - 5 ? width - 5 : cli_characters(set->name);
            printf(" (ID)%*s", (int)(width - 5 - used), "");
        } else
            cli_print_name(set->name, width);
        print_line(set->of, gap_of(set, BANG_PRE), gap_of(set, BANG_FINE));
    }
    if (d->ood_count) {
        cli_print_name("average OOD", width);
        print_line(d->ood, d->ood_confidence[BANG_PRE] - d->ood[BANG_Q_ACCURACY + BANG_PRE].value,
                   d->ood_confidence[BANG_FINE] - d->ood[BANG_Q_ACCURACY + BANG_FINE].value);
    }
}

static void print_temperatures(const bang_diagnosis *d)
{
    if (!d->has_temperature)
        return;
    fputs("\nTemperatures", stdout);
    if (d->fitted) {
        fputs(", fitted on ", stdout);
        cli_print_clean(d->sets[d->fitted_on].name);
    }
    for (int i = 0; i < 2; i++)
        printf("%s %s %.3f%s", i ? "," : ":", i ? "FM" : "PM", d->temperature[i].temperature,
               d->temperature[i].at_limit ? " (at the limit)" : "");
    puts("; above 1: over-confident there");
}

/* At which weight of FM both models weigh the same: no labels needed. */
static void print_balance(const bang_diagnosis *d)
{
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        fputs(i ? "; " : "Alpha at which both models are equally confident: ", stdout);
        if (d->set_count > 1) {
            cli_print_clean(set->name);
            putchar(' ');
        }
        printf(set->balance.at_limit ? "beyond %.2f" : "%.2f", set->balanced_alpha);
    }
    putchar('\n');
}

static void print_rule(const bang_choice *c, const char *title, double nearest)
{
    char range[64], cost[32], cost_range[64];
    printf("%-32s %7.2f %8g", title, c->alpha, nearest);
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
    static const char *const titles[BANG_RULES] = {
        [BANG_RULE_ID_ACCURACY] = "best ID accuracy",
        [BANG_RULE_BALANCE_OOD] = "equal confidence on OOD sets",
        [BANG_RULE_BALANCE_ID] = "equal confidence on the ID set",
        [BANG_RULE_HALF] = "one half",
        [BANG_RULE_ORACLE] = "best OOD accuracy (needs labels)",
    };
    const bang_diagnosis *d = r->found;
    const bang_set_diagnosis *with = diagnose_with_averages(d);
    int advised = diagnose_advised(d);
    print_temperatures(d);
    print_balance(d);
    if (!with || advised < 0)
        return;
    printf("\n%-32s %7s %8s%8s%8s  %-14s%7s\n", "Which alpha, by a rule", "says", "nearest", "ID",
           "OOD", "interval", "cost");
    for (int i = 0; i < BANG_RULES; i++)
        if (d->choices[i].known)
            print_rule(&d->choices[i], titles[i], with->wse[d->choices[i].nearest].alpha);
    printf("By %s: bang average PM FM --alpha %g -o AM\n", titles[advised],
           with->wse[d->choices[advised].nearest].alpha);
}
