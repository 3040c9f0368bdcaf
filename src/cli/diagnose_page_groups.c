/* Where the average is right: the eight groups, and what the paper counts in them. */
#include <math.h>
#include <stdio.h>

#include "diagnose_page.h"

/* Colours of the pairs of PM and FM; the third model's mistakes are pale. */
static const int pair_colors[BANG_PAIRS] = {PAGE_GREY, PAGE_PRE, PAGE_FINE, PAGE_AMBER};

static double share_of(const bang_set_diagnosis *set, int group)
{
    return (double)set->groups[group] / (double)set->tally->counted;
}

static void add_stacks(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    json_t *chart = page_entry(p, "columns", "The eight groups.");
    json_t *names = json_array(), *list = json_array();
    for (size_t i = 0; i < found->set_count; i++)
        if (page_is_labelled(p, i))
            page_put(p, names, page_set_name(p, i));
    for (int g = 0; g < BANG_GROUPS; g++) {
        json_t *values = json_array();
        for (size_t i = 0; i < found->set_count; i++)
            if (page_is_labelled(p, i))
                page_put(p, values, bang_json_number(share_of(&found->sets[i], g)));
        page_put(p, list,
                 json_pack("{ss so si sb}", "name", bang_group_names[g], "values", values, "color",
                           pair_colors[g / 2], "pale", g % 2));
    }
    page_set(p, chart, "value_label", json_string("share of the samples"));
    page_set(p, chart, "percent", json_true());
    page_set(p, chart, "stacked", json_true());
    page_set(p, chart, "names", names);
    page_set(p, chart, "series", list);
    page_note(p, chart,
              "Letters say whether PM, FM and %s are right (T) or wrong (F), in this order; where "
              "%s is wrong the fill is pale. Solid parts together are its accuracy. FFT is what it "
              "gets right although both models are wrong, TTF the reverse.",
              p->third, p->third);
}

void page_group_table(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    const char *columns[2 + BANG_GROUPS] = {"set", "samples"};
    for (int g = 0; g < BANG_GROUPS; g++)
        columns[2 + g] = bang_group_names[g];
    json_t *table = page_table(p, "Samples in the eight groups, and per cent of the set.", columns,
                               2 + BANG_GROUPS);
    for (size_t i = 0; i < found->set_count; i++) {
        const bang_set_diagnosis *set = &found->sets[i];
        if (!page_is_labelled(p, i))
            continue;
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        page_put(p, row, json_integer((json_int_t)set->tally->counted));
        for (int g = 0; g < BANG_GROUPS; g++)
            page_put(p, row, page_format("%zu (%.1f)", set->groups[g], 100 * share_of(set, g)));
    }
    page_note(p, table, "Letters: PM, FM, %s; T right, F wrong.", p->third);
}

static void add_ratios(diagnose_page *p)
{
    json_t *chart =
        page_columns(p, "FalseFalseTrue ratio and overall improvement.", "share of the samples");
    page_quantity(p, chart, "FalseFalseTrue ratio", BANG_Q_FFT, PAGE_AMBER);
    page_quantity(p, chart, "overall improvement", BANG_Q_ALL, PAGE_AVG);
    page_note(p, chart,
              "FalseFalseTrue ratio: samples that %s gets right and both models get wrong, FFT/n. "
              "Overall improvement: accuracy of %s minus that of the better model. Where the first "
              "is higher than the second, %s also loses samples that the better model has.",
              p->third, p->third, p->third);

    chart = page_columns(p, "Where the improvement comes from (ImproveContri).",
                         "contribution to accuracy");
    page_quantity(p, chart, "TT + FF: the models are both right or both wrong", BANG_Q_TT_FF,
                  PAGE_AMBER);
    page_quantity(p, chart, "TF + FT: exactly one is right", BANG_Q_TF_FT, PAGE_SKY);
    page_quantity(p, chart, "all samples", BANG_Q_ALL, PAGE_AVG);
    page_note(p, chart,
              "In a group G of samples: (right ones of %s \u2212 the larger of PM's and FM's)/n. "
              "The first two add up to the third. Below 0 on TF + FT: where only one "
              "model is right, %s is right less often than the better model is.",
              p->third, p->third);

    chart = page_columns(p, "Samples corrected against samples broken.", "share of the samples");
    page_quantity(p, chart, "FFT: both wrong, corrected", BANG_Q_FFT, PAGE_AMBER);
    page_quantity(p, chart, "TTF: both right, broken", BANG_Q_TTF, PAGE_GREY);
    page_note(p, chart,
              "The paper takes TTF as a measure of accidents: of how often a changed network "
              "flips a prediction for no good reason. FFT far above it is more than accident. "
              "Their difference is the contribution of TT + FF above.");
}

static void add_corrected(diagnose_page *p)
{
    json_t *chart = page_columns(p, "Corrected ratio: mistakes of the fine-tuned model undone.",
                                 "share of the samples");
    page_quantity(p, chart, "corrected ratio N1/N2", BANG_Q_CORRECTED, PAGE_AVG);
    page_note(p, chart,
              "N1 counts the samples that PM and %s get right and FM does not (TFT), N2 all "
              "samples of the set.",
              p->third);
}

void page_groups(diagnose_page *p)
{
    page_paragraph(p,
                   "Every sample belongs to one of eight groups by whether the pre-trained "
                   "model (PM), the fine-tuned model (FM) and the %s (%s) predict it right. "
                   "The groups show whether it merely picks the better model, or is right where "
                   "no model is.",
                   p->third_name, p->third);
    if (p->has_stand_in)
        page_paragraph(p, "On sets without an average (see the data sets above) AM stands for the "
                          "output-space ensemble here.");
    if (page_labelled(p) == 1) {
        page_one(p);
        return;
    }
    add_ratios(p);
    add_stacks(p);
    page_group_table(p);
    add_corrected(p);
}

static json_t *margin_series(diagnose_page *p, const char *name, int color)
{
    json_t *series = json_pack("{ss s[] si}", "name", name, "values", "color", color);
    p->failed |= !series;
    return series;
}

/* Of PM, of FM, or their sum. */
static double margin_of(const bang_set_diagnosis *set, int which, int pair)
{
    int member = which == 2 ? -1 : set->member[which ? BANG_FINE : BANG_PRE];
    return which == 2   ? set->margin_sum[pair]
           : member < 0 ? NAN
                        : set->tally->of[member].margin[pair];
}

/* One chart: either the pairs of one set, or the sets of one pair. */
static void add_margin_chart(diagnose_page *p, const char *title, size_t only_set, int only_pair)
{
    static const char *const names[] = {"pre-trained (PM)", "fine-tuned (FM)", "sum of both"};
    static const int colors[] = {PAGE_PRE, PAGE_FINE, PAGE_GREY};
    const bang_diagnosis *found = p->r->found;
    json_t *chart = page_entry(p, "columns", title), *places = json_array(), *list = json_array();
    for (int which = 0; which < 3; which++) {
        json_t *series = margin_series(p, names[which], colors[which]);
        for (size_t i = 0; i < found->set_count; i++)
            for (int pair = 0; pair < BANG_PAIRS; pair++) {
                if (!page_is_labelled(p, i) || (only_set != PAGE_END && i != only_set) ||
                    (only_pair >= 0 && pair != only_pair))
                    continue;
                if (which == 0)
                    page_put(p, places,
                             only_pair >= 0 ? page_set_name(p, i)
                                            : json_string(bang_pair_names[pair]));
                page_put(p, json_object_get(series, "values"),
                         bang_json_number(margin_of(&found->sets[i], which, pair)));
            }
        page_put(p, list, series);
    }
    page_set(p, chart, "value_label", json_string("mean margin"));
    page_set(p, chart, "names", places);
    page_set(p, chart, "series", list);
    page_note(p, chart, "%s%s", only_pair < 0 ? "Groups by PM and FM: T right, F wrong. " : "",
              only_pair == BANG_FT
                  ? "A positive sum says that FM is surer of the right class than PM is of its "
                    "mistake."
                  : "In TF a negative sum says that FM is surer of its mistake than PM is of the "
                    "right class: an average leans to the mistake.");
}

static void add_margin_table(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    const char *columns[1 + 3 * BANG_PAIRS] = {"set"};
    json_t *groups = json_pack("[[si]]", "", 1);
    for (int pair = 0; pair < BANG_PAIRS; pair++) {
        columns[1 + 3 * pair] = "PM";
        columns[2 + 3 * pair] = "FM";
        columns[3 + 3 * pair] = "sum";
        page_put(p, groups, json_pack("[si]", bang_pair_names[pair], 3));
    }
    json_t *table = page_table(p, "Mean margins in the groups of PM and FM.", columns,
                               sizeof columns / sizeof *columns);
    page_set(p, table, "groups", groups);
    for (size_t i = 0; i < found->set_count; i++) {
        if (!page_is_labelled(p, i))
            continue;
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        for (int pair = 0; pair < BANG_PAIRS; pair++)
            for (int which = 0; which < 3; which++) {
                char text[PAGE_TEXT];
                double margin = margin_of(&found->sets[i], which, pair);
                page_say_number(text, margin, 2, PAGE_SIGN);
                page_put(p, row, isfinite(margin) ? json_string(text) : json_null());
            }
    }
    page_note(p, table,
              "Groups by PM and FM: T right, F wrong. A dash: no such samples. Means over the "
              "samples of the group; a group of few samples says little.");
}

void page_margins(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    page_paragraph(p, "The margin is the probability of the true class minus the largest of the "
                      "others: positive where a model is right, and the larger the surer it is. "
                      "Where two models disagree, their mean tends to follow the one with the "
                      "larger margin.");
    if (page_labelled(p) == 1) {
        for (size_t i = 0; i < found->set_count; i++)
            if (page_is_labelled(p, i))
                add_margin_chart(p, "Mean margins in the groups of PM and FM.", i, -1);
        return;
    }
    add_margin_chart(p, "Margins where only the pre-trained model is right (TF).", PAGE_END,
                     BANG_TF);
    add_margin_chart(p, "Margins where only the fine-tuned model is right (FT).", PAGE_END,
                     BANG_FT);
    add_margin_table(p);
}
