/* What bang diagnose found on each set, for a terminal. At most 100 columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

enum { NAME = 26, WIDTH = 100 }; /* columns: of a model's name, of a line */

static void format_percent(char out[32], double value)
{
    snprintf(out, 32, isnan(value) ? "-" : "%.1f", 100 * value);
}

static void format_plain(char out[32], double value)
{
    snprintf(out, 32, isnan(value) ? "-" : "%.3f", value);
}

static void format_margin(char out[32], double value)
{
    snprintf(out, 32, isnan(value) ? "-" : "%+.2f", value);
}

static void format_interval(char out[64], const bang_estimate *e)
{
    if (isnan(e->value) || isnan(e->interval.low))
        snprintf(out, 64, "-");
    else
        snprintf(out, 64, "[%.1f, %.1f]", 100 * e->interval.low, 100 * e->interval.high);
}

/* "OSE, weights 2 and 1" where they are not equal. */
static void role_text(char out[64], const bang_finding *r, bang_role role)
{
    if (role == BANG_OSE && r->weights[0] != r->weights[1])
        snprintf(out, 64, "OSE, weights %.4g, %.4g", r->weights[0], r->weights[1]);
    else
        snprintf(out, 64, "%s", bang_finding_role_title(role));
}

static void print_role(const bang_finding *r, const bang_set_diagnosis *set, bang_role role)
{
    char title[64];
    role_text(title, r, role);
    const bang_member_tally *m = &set->tally->of[set->member[role]];
    const bang_estimate *accuracy = &set->of[BANG_Q_ACCURACY + role];
    char right[32], range[64], sure[32], gap[32], ece[32], nll[32], brier[32];
    format_percent(right, accuracy->value);
    format_interval(range, accuracy);
    format_percent(sure, m->confidence);
    bang_finding_in_points(gap, m->confidence - accuracy->value);
    format_percent(ece, set->width[role].ece);
    format_plain(nll, m->nll);
    format_plain(brier, m->brier);
    printf("%-*s  %8s  %14s  %10s  %6s  %6s  %8s  %6s\n", NAME, title, right, range, sure, gap, ece,
           nll, brier);
}

static void print_models(const bang_finding *r, const bang_set_diagnosis *set)
{
    char level[32];
    snprintf(level, sizeof level, "%g %% interval", 100 * r->level);
    printf("\n%-*s  %8s  %14s  %10s  %6s  %6s  %8s  %6s\n", NAME, "per cent", "accuracy",
           r->replicates ? level : "interval", "confidence", "gap", "ECE", "NLL", "Brier");
    for (int role = 0; role < BANG_ROLES; role++)
        if (bang_finding_has_role(r->found, set, (bang_role)role))
            print_role(r, set, (bang_role)role);
}

/* All there is without labels. */
static void print_confidence(const bang_diagnosis *found, const bang_set_diagnosis *set)
{
    printf("\n%-*s  %10s\n", NAME, "per cent", "confidence");
    for (int role = 0; role < BANG_ROLES; role++)
        if (bang_finding_has_role(found, set, (bang_role)role))
            printf("%-*s  %10.1f\n", NAME, bang_finding_role_title((bang_role)role),
                   100 * set->tally->of[set->member[role]].confidence);
}

static void print_p(double p)
{
    printf(p < 1e-4 ? "< 0.0001\n" : "%.2g\n", p);
}

/* width: of the words about it, where something follows. */
static void print_estimate(const char *title, const bang_estimate *e, const char *verdict,
                           int width)
{
    char points[32], range[64];
    printf("%-*s  %6s", NAME, title, bang_finding_in_points(points, e->value));
    if (width || !isnan(e->interval.low))
        printf(" %-16s  %-*s", bang_finding_range(range, e), width, verdict);
}

/* Without an average these are others once more, or none. */
static int is_twice(int q)
{
    return q == BANG_Q_AVG_OSE || q == BANG_Q_AVG_SCALED || q == BANG_Q_OSE_PRE ||
           q == BANG_Q_OSE_FINE;
}

/* Without an average the OSE takes its place, and bears its own name. */
static bang_role role_in_place(const bang_set_diagnosis *set, bang_role role)
{
    return role == BANG_AVG && !set->has_average ? BANG_OSE : role;
}

/* With McNemar's test: how many samples only the first or only the second of the two gets right. */
static void print_differences(const bang_finding *r, const bang_set_diagnosis *set)
{
    printf("\n%-*s  %6s%-17s  %-13s  %8s  %8s  %s\n", NAME, "Differences of accuracy", "points", "",
           "", "only 1st", "only 2nd", "McNemar's p");
    for (int q = BANG_Q_AVG_PRE; q <= BANG_Q_AVG_SCALED; q++) {
        char title[80];
        bang_role first, second;
        bang_mcnemar test;
        bang_quantity_roles((bang_quantity)q, &first, &second);
        first = role_in_place(set, first);
        if (bang_finding_mcnemar(&test, set, (bang_quantity)q) < 0 ||
            !bang_finding_has_role(r->found, set, first) ||
            !bang_finding_has_role(r->found, set, second) || (!set->has_average && is_twice(q)))
            continue;
        snprintf(title, sizeof title, "%s - %s", bang_finding_role_title(first),
                 bang_finding_role_title(second));
        print_estimate(title, &set->of[q],
                       bang_finding_verdict_of(set, set->of, (bang_quantity)q, r->level), 13);
        printf("  %8zu  %8zu  ", test.b, test.c);
        print_p(test.p);
    }
}

/* PM and FM down, AM across. */
static void print_groups(const bang_set_diagnosis *set)
{
    static const char *const titles[BANG_PAIRS] = {"PM and FM right", "only PM right",
                                                   "only FM right", "both wrong"};
    const char *avg = set->has_average ? "AM" : "OSE";
    double n = (double)set->tally->counted;
    printf("\n%-*s%19s right%19s wrong\n", NAME, "Groups, per cent and count", avg, avg);
    for (int g = 0; g < BANG_GROUPS; g++) {
        if (g % 2 == 0)
            printf("%-*s", NAME, titles[g / 2]);
        printf("  %s %8.1f %10zu", bang_group_names[g], 100 * (double)set->groups[g] / n,
               set->groups[g]);
        if (g % 2)
            putchar('\n');
    }
}

static void print_contributions(const bang_finding *r, const bang_set_diagnosis *set)
{
    char all[64];
    snprintf(all, sizeof all, "all, %s - the better one", set->has_average ? "AM" : "OSE");
    const struct {
        const char *title;
        bang_quantity quantity;
    } parts[] = {{"TT+FF, both right or wrong", BANG_Q_TT_FF},
                 {"TF+FT, one of them right", BANG_Q_TF_FT},
                 {all, BANG_Q_ALL}};
    puts("\nWhere the improvement comes from, in points (ImproveContri)");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bang_quantity q = parts[i].quantity;
        print_estimate(parts[i].title, &set->of[q],
                       bang_finding_verdict_of(set, set->of, q, r->level), 0);
        putchar('\n');
    }
    const struct {
        const char *title;
        bang_quantity quantity;
    } ratios[] = {{"FalseFalseTrue ratio FFT/n", BANG_Q_FFT},
                  {"corrected ratio TFT/n", BANG_Q_CORRECTED}};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        char value[32], range[64];
        format_percent(value, set->of[ratios[i].quantity].value);
        format_interval(range, &set->of[ratios[i].quantity]);
        printf("%-*s  %6s  %s\n", NAME, ratios[i].title, value, range);
    }
}

static void print_margin_line(const char *title, const double values[BANG_PAIRS])
{
    printf("%-*s", NAME, title);
    for (int p = 0; p < BANG_PAIRS; p++) {
        char text[32];
        format_margin(text, values[p]);
        printf("  %8s", text);
    }
    putchar('\n');
}

static void print_margins(const bang_set_diagnosis *set)
{
    printf("\n%-*s", NAME, "Mean margins by group");
    for (int p = 0; p < BANG_PAIRS; p++)
        printf("  %8s", bang_pair_names[p]);
    putchar('\n');
    for (int role = BANG_PRE; role <= BANG_AVG; role++)
        if (role != BANG_AVG || set->has_average)
            print_margin_line(bang_finding_role_title((bang_role)role),
                              set->tally->of[set->member[role]].margin);
        else
            print_margin_line("OSE", set->tally->of[set->member[BANG_OSE]].margin);
    print_margin_line("PM + FM", set->margin_sum);
    /* appendix E.6: the sign of the sum tells which of the two carries the mean */
    if (bang_finding_dominates(set, BANG_TF))
        puts("TF: the sum is negative: where only PM is right, FM is surer of its mistake");
    if (bang_finding_dominates(set, BANG_FT))
        puts("FT: the sum is negative: where only FM is right, PM is surer of its mistake");
}

static void print_diversity(const bang_set_diagnosis *set)
{
    const bang_diversity *d = &set->diversity[BANG_PRE][BANG_FINE];
    printf("\nPM and FM predict the same on %.1f %%", 100 * d->agreement);
    if (set->tally->labelled) {
        printf("; both are wrong on %.1f %%, with the same mistake on %.1f %%", 100 * d->both_wrong,
               100 * d->same_mistake);
        if (!isnan(d->error_correlation))
            printf(";\ntheir errors correlate by %.2f", d->error_correlation);
    }
    putchar('\n');
}

static void print_scores(const bang_alpha_score *scores, size_t count, double alpha, int is_last)
{
    for (size_t i = 0; i < count; i++)
        if (scores[i].alpha == alpha) {
            char accuracy[32], range[64], sure[32], ece[32];
            format_percent(accuracy, scores[i].accuracy.value);
            format_interval(range, &scores[i].accuracy);
            format_percent(sure, scores[i].confidence);
            format_percent(ece, scores[i].ece);
            printf("  %8s  %14s  %10s  %6s", accuracy, range, sure, ece);
            return;
        }
    if (!is_last)
        printf("  %8s  %14s  %10s  %6s", "", "", "", "");
}

/* The next larger alpha of both lists, of which one may be in any order. */
static double next_alpha(const bang_finding *r, const bang_set_diagnosis *set, double after)
{
    double next = INFINITY;
    for (size_t i = 0; i < set->wse_count; i++)
        if (set->wse[i].alpha > after && set->wse[i].alpha < next)
            next = set->wse[i].alpha;
    for (size_t i = 0; i < r->ose_count; i++)
        if (set->ose[i].alpha > after && set->ose[i].alpha < next)
            next = set->ose[i].alpha;
    return next;
}

/* Averages of weights and ensembles of outputs, side by side. */
static void print_alphas(const bang_finding *r, const bang_set_diagnosis *set)
{
    if (set->wse_count + r->ose_count == 0)
        return;
    printf("\n%6s", "");
    if (set->wse_count)
        printf("  %-44s", "average of weights, per cent");
    if (r->ose_count)
        printf("  %s", "ensemble of outputs, per cent");
    printf("\n%6s", "alpha");
    for (int k = 0; k < (set->wse_count > 0) + (r->ose_count > 0); k++)
        printf("  %8s  %14s  %10s  %6s", "accuracy", "interval", "confidence", "ECE");
    putchar('\n');
    for (double a = next_alpha(r, set, -1); a <= 1; a = next_alpha(r, set, a)) {
        printf("%6g", a);
        if (set->wse_count)
            print_scores(set->wse, set->wse_count, a, r->ose_count == 0);
        if (r->ose_count)
            print_scores(set->ose, r->ose_count, a, 1);
        putchar('\n');
    }
}

/* The two at the same alpha, as print_differences has it. */
static void print_spaces(const bang_finding *r, const bang_set_diagnosis *set)
{
    int any = 0;
    for (size_t i = 0; i < set->wse_count; i++) {
        const bang_alpha_score *s = &set->wse[i];
        const bang_mcnemar *test = &s->against_ose;
        char title[80];
        /* at the ends both are the same model; else the OSE alone is among the differences */
        if (!r->ose_count || isnan(s->minus_ose.value) || s->alpha == 0 || s->alpha == 1)
            continue;
        if (!any++)
            printf("\n%-*s  %6s%-17s  %-13s  %8s  %8s  %s\n", NAME, "Weights - outputs", "points",
                   "", "", "only 1st", "only 2nd", "McNemar's p");
        snprintf(title, sizeof title, "at alpha %g", s->alpha);
        print_estimate(title, &s->minus_ose, bang_finding_verdict(&s->minus_ose, test->p, r->level),
                       13);
        printf("  %8zu  %8zu  ", test->b, test->c);
        print_p(test->p);
    }
}

static void print_title(const bang_finding *r, size_t index)
{
    const bang_set_diagnosis *set = &r->found->sets[index];
    const bang_finding_facts *facts = &r->facts[index];
    cli_print_clean(set->name);
    if (r->found->set_count > 1 && index == r->found->id)
        printf(" (in distribution)");
    printf(": %zu sample%s, %zu classes", set->tally->counted, set->tally->counted == 1 ? "" : "s",
           set->tally->classes);
    if (facts->outputs != set->tally->classes)
        printf(" of %zu outputs", facts->outputs);
    if (facts->left_out)
        printf(", %zu left out", facts->left_out);
    if (!set->tally->labelled)
        printf(", no labels");
    puts(!set->has_average                       ? "; AM is the OSE"
         : strcmp(facts->average, "at 0.5") == 0 ? "; AM at alpha 0.5"
                                                 : "");
    puts("PM: pre-trained, FM: fine-tuned, AM: their average, OSE: the ensemble of their outputs");
}

static void print_set(const bang_finding *r, size_t index)
{
    const bang_set_diagnosis *set = &r->found->sets[index];
    print_title(r, index);
    if (!set->tally->labelled)
        print_confidence(r->found, set);
    else {
        print_models(r, set);
        print_differences(r, set);
        print_groups(set);
        print_contributions(r, set);
        print_margins(set);
    }
    print_diversity(set);
    print_alphas(r, set);
    print_spaces(r, set);
    if (r->by_class && set->tally->labelled)
        diagnose_print_classes(r, index);
    if (r->listed && set->tally->labelled)
        diagnose_print_list(r, index);
    if (r->found->set_count > 1)
        puts("\n");
}

/* What was asked for of every set. */
static void print_samples(const bang_finding *r, size_t index)
{
    if (!(r->by_class || r->listed) || !r->found->sets[index].tally->labelled)
        return;
    print_title(r, index);
    if (r->by_class)
        diagnose_print_classes(r, index);
    if (r->listed)
        diagnose_print_list(r, index);
    puts("\n");
}

/* Where a line of at most WIDTH columns may end: at a blank, but not within [1.2, 2.6] nor before
 * a per cent sign. */
static size_t line_end(const char *text, size_t size)
{
    size_t used = 0, last = 0;
    int within = 0;
    for (size_t i = 0; i < size; i++) {
        used += ((unsigned char)text[i] & 0xC0) != 0x80;
        within += (text[i] == '[') - (text[i] == ']');
        if (used > WIDTH + 1 || (used > WIDTH && text[i] != ' '))
            return last ? last : size;
        if (text[i] == ' ' && within <= 0 && text[i + 1] != '%')
            last = i;
    }
    return size;
}

void diagnose_print_wrapped(const char *text)
{
    while (*text) {
        size_t end = line_end(text, strcspn(text, "\n"));
        printf("%.*s\n", (int)end, text);
        text += end + (text[end] != '\0');
    }
}

void diagnose_print(const bang_finding *r)
{
    bang_text said = {0};
    int several = r->found && r->found->set_count > 1;
    for (size_t i = 0; r->found && i < r->found->set_count; i++)
        if (!several || r->details)
            print_set(r, i);
        else
            print_samples(r, i);
    if (several)
        diagnose_print_sets(r);
    if (r->found)
        diagnose_print_alpha(r);
    if (r->found && r->curve)
        putchar('\n');
    if (r->curve)
        diagnose_print_curve(r);
    bang_finding_sentences(&said, r);
    if (said.size) {
        putchar('\n');
        diagnose_print_wrapped(said.data);
    }
    bang_text_release(&said);
}
