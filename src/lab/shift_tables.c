/* Tables in the paper's form: methods x data sets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/shift_show.h"

const char *shift_title(char out[SHIFT_TITLE], const char *method)
{
    int is_long = strncmp(method, "long-", 5) == 0;
    const char *name = method + (is_long ? 5 : 0), *tail = is_long ? ", LONG" : "";
    const char *strength = strstr(name, "ls-");
    int mixup = strncmp(name, "mixup", 5) == 0;
    if (strcmp(name, "pre") == 0)
        snprintf(out, SHIFT_TITLE, "PM");
    else if (strength)
        snprintf(out, SHIFT_TITLE, "%sLS(0.%s)%s", mixup ? "Mixup + " : "", strength + 3, tail);
    else
        snprintf(out, SHIFT_TITLE, "%c%s%s", name[0] - 'a' + 'A', name + 1, tail);
    return out;
}

json_t *shift_percent(double fraction)
{
    return bang_json_number(100 * fraction);
}

json_t *shift_interval_cell(const shift_effect *effect)
{
    char text[3 * SHIFT_POINTS + 8], mean[SHIFT_POINTS], low[SHIFT_POINTS], high[SHIFT_POINTS];
    if (!effect->n)
        return json_null();
    snprintf(text, sizeof text, "%s [%s, %s]", shift_points(mean, effect->mean, 2),
             shift_points(low, effect->low, 2), shift_points(high, effect->high, 2));
    return json_string(text);
}

json_t *shift_seeds_cell(const shift_effect *effect)
{
    char text[48];
    if (!effect->n)
        return json_null();
    snprintf(text, sizeof text, "%zu of %zu", effect->wins, effect->n);
    return json_string(text);
}

static double standard_error(const shift_effect *effect)
{
    return effect->sd / sqrt((double)effect->n);
}

/* Mean per cent of one member on every set and on the shifted ones together, and the standard
 * error of these. */
static void add_accuracies(json_t *row, const json_t *units, const char *member)
{
    shift_effect e = {0};
    for (size_t set = 0; set < SHIFT_COLUMNS; set++) {
        shift_difference d = {SHIFT_ACCURACY, member, set, NULL, 0};
        e = shift_effect_of(units, &d);
        json_array_append_new(row, shift_percent(e.mean));
    }
    json_array_append_new(row, shift_percent(standard_error(&e)));
}

static json_t *begin_rows(const char *title, int paper)
{
    static const char *const columns[] = {"model",  "ID", "V2", "R", "A", "S", "O", "OOD",
                                          "\u00b1", "IN", "V2", "R", "A", "S", "O", "OOD"};
    enum { ERROR = 8, LAB = ERROR + 1, ALL = sizeof columns / sizeof *columns };
    const char *names[ALL + 1] = {NULL};
    json_t *decimals = json_array();
    for (size_t i = 0; i < (paper ? ALL : LAB); i++) {
        names[i] = columns[i];
        json_array_append_new(decimals, i == 0 ? json_null() : json_integer(i == ERROR ? 2 : 1));
    }
    json_t *table = lab_table(title, names, NULL);
    json_object_set_new(table, "decimals", decimals);
    if (paper)
        json_object_set_new(table, "groups",
                            json_pack("[[si][si][si]]", "", 1, "this lab", LAB - 1,
                                      "the paper: CLIP on ImageNet", ALL - LAB));
    return table;
}

void shift_show_rows(json_t *show, const json_t *units, const char *title, const char *note,
                     const shift_row *rows, size_t count, const char *prefix, int paper)
{
    bang_text text = {0};
    size_t missing = 0, dashes = 0, shown = 0;
    json_t *table = begin_rows(title, paper);
    bang_text_add(&text, "%s", note);
    for (size_t i = 0; i < count; i++) {
        char member[96];
        shift_row_member(member, sizeof member, &rows[i], prefix);
        int exists = !isnan(shift_mean(units, SHIFT_ACCURACY, member, SHIFT_OOD));
        if (!exists && !paper) {
            bang_text_add(&text, "%s%s",
                          missing++ ? ", " : " Not run at this scale: ", rows[i].title);
            continue;
        }
        dashes += !exists;
        json_t *row = json_array();
        json_array_append_new(row, json_string(rows[i].title));
        add_accuracies(row, units, member);
        for (size_t s = 0; paper && s < SHIFT_COLUMNS; s++)
            json_array_append_new(row, json_real(rows[i].paper[s]));
        lab_table_row(table, row);
        shown += exists && strcmp(member, "pre") != 0;
    }
    if (missing || dashes)
        bang_text_add(&text, missing ? "." : " A dash: not run at this scale.");
    if (text.data)
        json_object_set_new(table, "note", json_string(text.data));
    if (shown)
        json_array_append_new(show, table);
    else
        json_decref(table);
    bang_text_release(&text);
}

/* What a way of fine-tuning changes against the vanilla one: in FM, and in the average. */
static void add_difference_row(json_t *table, const json_t *units, const char *method,
                               const char *base, const double *paper)
{
    char title[SHIFT_TITLE], fine[96], avg[96], base_fine[96], base_avg[96];
    snprintf(fine, sizeof fine, "%s/fine", method);
    snprintf(avg, sizeof avg, "%s/avg", method);
    snprintf(base_fine, sizeof base_fine, "%s/fine", base);
    snprintf(base_avg, sizeof base_avg, "%s/avg", base);
    shift_difference of_fine = {SHIFT_ACCURACY, fine, SHIFT_OOD, base_fine, SHIFT_OOD};
    shift_difference of_avg = {SHIFT_ACCURACY, avg, SHIFT_OOD, base_avg, SHIFT_OOD};
    shift_effect one = shift_effect_of(units, &of_fine), two = shift_effect_of(units, &of_avg);
    if (!one.n && !two.n)
        return;
    json_t *row = json_array();
    json_array_append_new(row, json_string(shift_title(title, method)));
    json_array_append_new(row, shift_interval_cell(&one));
    json_array_append_new(row, shift_seeds_cell(&one));
    json_array_append_new(row, bang_json_number(paper[0]));
    json_array_append_new(row, shift_interval_cell(&two));
    json_array_append_new(row, shift_seeds_cell(&two));
    json_array_append_new(row, bang_json_number(paper[1]));
    lab_table_row(table, row);
}

/* The paper's gain of a method over the vanilla one: FM, average; NaN if it has none. */
static void paper_gain(double out[2], const char *method)
{
    const struct {
        const shift_row *rows;
        size_t count;
    } lists[] = {{shift_rows_strength, shift_rows_strength_count},
                 {shift_rows_augment, shift_rows_augment_count}};
    out[0] = out[1] = NAN;
    for (size_t l = 0; l < 2; l++) {
        double base[2] = {NAN, NAN};
        for (size_t i = 0; i < lists[l].count; i++) {
            const shift_row *row = &lists[l].rows[i];
            if (strcmp(row->method, "vanilla") == 0)
                base[row->average] = row->paper[SHIFT_OOD];
        }
        for (size_t i = 0; i < lists[l].count; i++) {
            const shift_row *row = &lists[l].rows[i];
            if (strcmp(row->method, method) == 0)
                out[row->average] = row->paper[SHIFT_OOD] - base[row->average];
        }
    }
}

static void show_differences(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"method",     "difference",    "seeds above 0", "paper",
                                          "difference", "seeds above 0", "paper",         NULL};
    static const char *const methods[] = {
        "ls-05",       "ls-10",       "ls-15",       "ls-20", "mixup",  "mixup-ls-05",
        "mixup-ls-10", "mixup-ls-15", "mixup-ls-20", "flip",  "rotate", "color"};
    json_t *table = lab_table(
        "What each way of fine-tuning changes: OOD accuracy against vanilla, points", columns,
        "Mean over seeds of the paired difference and its 95 % interval. The paper's column is "
        "the difference of its printed means over one run.");
    json_object_set_new(table, "decimals", json_pack("[nnninni]", 1, 1));
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si]]", "", 1, "fine-tuned model", 3,
                                  "average with PM: BANG against WiSE-FT", 3));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        double paper[2];
        paper_gain(paper, methods[i]);
        add_difference_row(table, units, methods[i], "vanilla", paper);
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char name[96];
        snprintf(name, sizeof name, "long-%s", methods[i]);
        add_difference_row(table, units, name, "long-vanilla", (const double[]){NAN, NAN});
    }
    if (json_array_size(json_object_get(table, "rows")))
        json_array_append_new(show, table);
    else
        json_decref(table);
}

void shift_tables_bang(json_t *show, const json_t *units)
{
    shift_show_rows(
        show, units, "BANG against WiSE-FT: accuracy, per cent (the paper's table 2)",
        "OOD: mean of V2, R, A, S, O; \u00b1: its standard error over seeds. Averages (WiSE-FT, "
        "BANG) have alpha 1/2, LS is 0.10: it is spread over all ten classes, so that 0.91 is left "
        "to the true one, where the paper spreads it over the others. The paper's O is ObjectNet, "
        "its two rows Mixup + LS are its strengths 0.15 and 0.05.",
        shift_rows_main, shift_rows_main_count, "", 1);
    shift_show_rows(show, units, "The same after LONG fine-tuning (1,200 steps at twice the rate)",
                    "As before, but for the length and rate of fine-tuning.", shift_rows_main,
                    shift_rows_main_count, "long-", 0);
    show_differences(show, units);
    shift_show_rows(show, units, "Other augmentations: accuracy, per cent (the paper's table 8)",
                    "The paper's WiSE-FT is that of its table 2.", shift_rows_augment,
                    shift_rows_augment_count, "", 1);
    shift_show_rows(
        show, units, "Strength of label smoothing: accuracy, per cent (the paper's table 9)",
        "Smoothing by s leaves 1 \u2212 s + s/10 to the true class here, 1 \u2212 s in the "
        "paper, which spreads it over the other classes alone. Mixup is Beta(0.2, 0.2) "
        "here and the default of its library there.",
        shift_rows_strength, shift_rows_strength_count, "", 1);
}
