/* All that is wrong with what a diagnosis is asked for, in one message. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/base/text.h"
#include "measure/diagnosis.h"

static int is_share(double x)
{
    return x >= 0 && x <= 1; /* no NaN */
}

static void check_alphas(bang_text *wrong, const bang_diagnosis_options *o, int averages)
{
    for (size_t i = 0; i < o->alpha_count; i++) {
        if (!is_share(o->alphas[i]))
            bang_text_add(wrong, "; alpha %g: not between 0 and 1", o->alphas[i]);
        if (i > 0 && !(o->alphas[i] > o->alphas[i - 1]))
            bang_text_add(wrong, "; alphas: %g does not follow %g: give them ascending, each once",
                          o->alphas[i], o->alphas[i - 1]);
    }
    for (size_t i = 0; i < o->ose_count; i++)
        if (!is_share(o->ose_alphas[i]))
            bang_text_add(wrong, "; alpha %g of an ensemble: not between 0 and 1",
                          o->ose_alphas[i]);
    size_t most = BANG_ALPHAS_MAX, at = averages ? o->alpha_count : 0;
    if (at > most || o->ose_count > most - at)
        bang_text_add(wrong, "; %zu averages and %zu ensembles: at most %zu together", at,
                      o->ose_count, most);
}

static void check_options(bang_text *wrong, const bang_diagnosis_options *o, size_t count)
{
    if (o->bins < 1 || o->bins > BANG_BINS_MAX)
        bang_text_add(wrong, "; bins: %d: take 1 to %d", o->bins, (int)BANG_BINS_MAX);
    if (!(o->level > 0 && o->level < 1))
        bang_text_add(wrong, "; level: %g is not between 0 and 1", o->level);
    if (o->replicates &&
        (o->replicates < BANG_REPLICATES_LEAST || o->replicates > BANG_REPLICATES_MAX))
        bang_text_add(wrong, "; replicates: %zu: take none, or %d to %d", o->replicates,
                      (int)BANG_REPLICATES_LEAST, (int)BANG_REPLICATES_MAX);
    const double *w = o->weights;
    if (!isfinite(w[0]) || !isfinite(w[1]) || !(w[0] / 2 + w[1] / 2 > 0))
        bang_text_add(wrong, "; weights: %g and %g: take two whose sum is above 0", w[0], w[1]);
    if (o->id >= count)
        bang_text_add(wrong, "; the set in distribution: there is no set %zu", o->id);
    if (o->fit && o->fitted_on >= count)
        bang_text_add(wrong, "; temperatures: there is no set %zu to fit them on", o->fitted_on);
    const double *t = o->temperature;
    if (t[0] != 0 || t[1] != 0)
        for (int m = 0; m < 2; m++)
            if (!(t[m] >= BANG_TEMPERATURE_LEAST && t[m] <= BANG_TEMPERATURE_MOST))
                bang_text_add(wrong, "; temperature %g: take %g to %g, or 0 for both models", t[m],
                              BANG_TEMPERATURE_LEAST, BANG_TEMPERATURE_MOST);
    if (o->listed >> BANG_GROUPS)
        bang_text_add(wrong, "; listed groups: there are %d", (int)BANG_GROUPS);
}

/* Logits of one model against those of PM. */
static void check_logits(bang_text *wrong, const bang_diagnosis_set *set, const char *what,
                         const bang_logits *logits)
{
    if (!logits->table) {
        bang_text_add(wrong, "; %s: no logits of %s", set->name, what);
        return;
    }
    size_t rows = logits->table->rows, classes = bang_logits_classes(logits);
    if (rows == 0 || classes == 0)
        bang_text_add(wrong, "; %s: %s has %zu rows of %zu classes: nothing to measure", set->name,
                      what, rows, classes);
    if (logits == &set->pre || !set->pre.table)
        return;
    if (rows != set->pre.table->rows)
        bang_text_add(wrong, "; %s: %s has %zu rows, pre has %zu", set->name, what, rows,
                      set->pre.table->rows);
    if (classes != bang_logits_classes(&set->pre))
        bang_text_add(wrong, "; %s: %s has %zu classes, pre has %zu", set->name, what, classes,
                      bang_logits_classes(&set->pre));
}

static void check_labels(bang_text *wrong, const bang_diagnosis_set *set)
{
    if (!set->labels || !set->pre.table)
        return;
    size_t rows = set->pre.table->rows, classes = bang_logits_classes(&set->pre);
    size_t bad = 0, first = 0, counted = 0;
    for (size_t i = 0; i < rows; i++) {
        bang_label label = set->labels[i];
        if (label == BANG_LEFT_OUT)
            continue;
        counted++;
        if ((label < 0 || (size_t)label >= classes) && bad++ == 0)
            first = i;
    }
    if (bad > 0)
        bang_text_add(wrong, "; %s: label %d of row %zu is not among the %zu classes", set->name,
                      (int)set->labels[first], first, classes);
    if (bad > 1)
        bang_text_add(wrong, " (and %zu more)", bad - 1);
    if (rows > 0 && counted == 0)
        bang_text_add(wrong, "; %s: every row is left out: nothing to measure", set->name);
}

static void check_set(bang_text *wrong, const bang_diagnosis_set *sets, size_t s,
                      const bang_diagnosis_options *o)
{
    const bang_diagnosis_set *set = &sets[s];
    if (!set->name || !*set->name) {
        bang_text_add(wrong, "; set %zu: has no name", s + 1);
        return;
    }
    for (size_t other = 0; other < s; other++)
        if (sets[other].name && strcmp(sets[other].name, set->name) == 0) {
            bang_text_add(wrong, "; %s: two sets have this name", set->name);
            break;
        }
    check_logits(wrong, set, "pre", &set->pre);
    check_logits(wrong, set, "fine", &set->fine);
    if (set->avg.table)
        check_logits(wrong, set, "avg", &set->avg);
    for (size_t i = 0; set->at && i < o->alpha_count; i++) {
        char what[64];
        snprintf(what, sizeof what, "the average at %g", o->alphas[i]);
        check_logits(wrong, set, what, &set->at[i]);
    }
    check_labels(wrong, set);
}

int bang_diagnosis_check(const bang_diagnosis_set *sets, size_t count,
                         const bang_diagnosis_options *options, bang_error *err)
{
    bang_text wrong = {0};
    if (count == 0)
        return bang_fail(err, BANG_EUSAGE, "no data set: give one or more");
    /* A stream of random numbers is named by 16 bits of the set. */
    if (count > UINT16_MAX)
        return bang_fail(err, BANG_EUSAGE, "%zu data sets: take at most %d", count,
                         (int)UINT16_MAX);
    int averages = 0;
    for (size_t s = 0; s < count; s++)
        averages |= sets[s].at != NULL && options->alpha_count > 0;
    check_options(&wrong, options, count);
    check_alphas(&wrong, options, averages);
    for (size_t s = 0; s < count; s++)
        check_set(&wrong, sets, s, options);
    return bang_text_fail(&wrong, err);
}
