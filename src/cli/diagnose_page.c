/* What bang diagnose found, as a page: records that the report knows how to show. */
#include "diagnose_page.h"

#include <stdio.h>
#include <string.h>

#include "bang/report/report.h"

static json_t *options_of(diagnose_page *p)
{
    const bang_finding *r = p->r;
    json_t *options = json_object(), *sets = json_array();
    for (size_t i = 0; r->found && i < r->found->set_count; i++)
        page_put(p, sets, page_string(r->found->sets[i].name));
    page_set(p, options, "sets", sets);
    if (r->found) {
        page_set(p, options, "id", page_string(r->found->sets[r->found->id].name));
        page_set(p, options, "bins", json_integer(r->bins));
        page_set(p, options, "bootstrap", json_integer((json_int_t)r->replicates));
        page_set(p, options, "weights", json_pack("[ff]", r->weights[0], r->weights[1]));
    }
    page_set(p, options, "level", bang_json_number(r->level));
    return options;
}

/* The command line as sh reads it. */
static json_t *command_of(const diagnose_page *p)
{
    bang_text line = {0};
    bang_text_add(&line, "bang");
    for (size_t i = 0; i < p->r->argument_count; i++) {
        const char *s = p->r->arguments[i];
        int is_plain = *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_./,:=%+@^-")];
        bang_text_add(&line, is_plain ? " " : " '");
        for (; *s; s++)
            if (*s == '\'')
                bang_text_add(&line, "'\\''");
            else
                bang_text_add_bytes(&line, s, 1);
        bang_text_add(&line, is_plain ? "" : "'");
    }
    json_t *command = line.failed ? NULL : page_string(line.data);
    bang_text_release(&line);
    return command;
}

/* Ends a section: what p->show holds becomes its record. */
static void end_section(diagnose_page *p, json_t *records, const char *key, const char *title)
{
    if (json_array_size(p->show) == 0)
        return;
    json_t *record = json_pack("{so ss ss ss so s{} so}", "key", page_format("diagnose/%s", key),
                               "experiment", "diagnose", "section", title, "version", BANG_VERSION,
                               "options", options_of(p), "result", "show", p->show);
    p->show = json_array();
    page_put(p, records, record);
    if (!p->failed)
        page_set(p, record, "command", command_of(p));
}

static json_t *models_of(const diagnose_page *p)
{
    return page_format("pre-trained (PM), fine-tuned (FM)%s and their output-space ensemble (OSE)",
                       p->has_average ? ", average of their weights (AM)" : "");
}

static json_t *average_of(const bang_finding_facts *facts)
{
    return json_string(strcmp(facts->average, "ose") == 0 ? "none: the OSE in its place"
                                                          : facts->average);
}

/* Columns that say the same of every set are left out. */
static void add_set_table(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    const char *columns[7] = {"set", "samples", "classes"};
    size_t count = 3;
    int has_subset = 0, has_left_out = 0, unlabelled = 0;
    for (size_t i = 0; i < found->set_count; i++) {
        has_subset |= p->r->facts[i].outputs != found->sets[i].tally->classes;
        has_left_out |= p->r->facts[i].left_out > 0;
        unlabelled |= !page_is_labelled(p, i);
    }
    if (has_subset)
        columns[count++] = "of outputs";
    if (has_left_out)
        columns[count++] = "left out";
    if (unlabelled)
        columns[count++] = "labels";
    columns[count++] = "average";
    json_t *table = page_table(p, "Data sets.", columns, count);
    for (size_t i = 0; i < found->set_count; i++) {
        const bang_finding_facts *facts = &p->r->facts[i];
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        page_put(p, row, json_integer((json_int_t)found->sets[i].tally->counted));
        page_put(p, row, json_integer((json_int_t)found->sets[i].tally->classes));
        if (has_subset)
            page_put(p, row, json_integer((json_int_t)facts->outputs));
        if (has_left_out)
            page_put(p, row, json_integer((json_int_t)facts->left_out));
        if (unlabelled)
            page_put(p, row, json_boolean(page_is_labelled(p, i)));
        page_put(p, row, average_of(facts));
    }
    if (has_left_out)
        page_note(p, table, "Left out: samples whose label is none of the classes.");
}

static void add_facts(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    json_t *rows = json_array(), *facts = page_entry(p, "facts", "What was diagnosed");
    page_put(p, rows, json_pack("[so]", "Models", models_of(p)));
    if (found->set_count > 1)
        page_put(p, rows,
                 json_pack("[so]", "In distribution",
                           page_format("%s (ID); all other sets are out of distribution (OOD)",
                                       found->sets[found->id].name)));
    if (page_labelled(p))
        page_put(p, rows,
                 json_pack("[so]", "Intervals",
                           p->r->replicates
                               ? page_format("%g %%, from %zu resamples (paired bootstrap)",
                                             100 * p->r->level, p->r->replicates)
                               : page_format("none (--bootstrap 0)")));
    if (page_labelled(p))
        page_put(p, rows,
                 json_pack("[so]", "Calibration",
                           page_format("%d bins; ECE of equal-width bins (lo, hi]", p->r->bins)));
    page_set(p, facts, "rows", rows);
    add_set_table(p);
}

/* Lines of "what: why", a row each. */
static void add_notes(diagnose_page *p, const char *text)
{
    json_t *rows = json_array();
    while (text && *text) {
        size_t size = strcspn(text, "\n");
        const char *colon = strstr(text, ": ");
        size_t name = colon && (size_t)(colon - text) < size ? (size_t)(colon - text) : 0;
        const char *rest = name ? colon + 2 : text;
        if (size)
            page_put(p, rows,
                     json_pack("[oo]", page_format("%.*s", (int)name, text),
                               page_format("%.*s", (int)(size - (size_t)(rest - text)), rest)));
        text += size + (text[size] == '\n');
    }
    if (json_array_size(rows))
        page_set(p, page_entry(p, "facts", "Notes on the input"), "rows", rows);
    else
        json_decref(rows);
}

/* A line each. */
static void add_lines(diagnose_page *p, const char *text)
{
    while (text && *text) {
        size_t size = strcspn(text, "\n");
        if (size)
            page_paragraph(p, "%.*s", (int)size, text);
        text += size + (text[size] == '\n');
    }
}

static void add_summary(diagnose_page *p)
{
    bang_text sentences = {0};
    if (p->r->found && page_labelled(p)) {
        page_verdicts(p);
        bang_finding_limits(&sentences, p->r->found);
    } else {
        bang_finding_sentences(&sentences, p->r);
    }
    add_lines(p, sentences.data);
    if (p->r->found)
        add_facts(p);
    add_notes(p, p->r->notes.data);
    p->failed |= sentences.failed;
    bang_text_release(&sentences);
}

static void add_sections(diagnose_page *p, json_t *records)
{
    size_t labelled = page_labelled(p);
    if (labelled) {
        page_accuracy(p);
        end_section(p, records, "accuracy", "Accuracy");
        page_groups(p);
        end_section(p, records, "groups",
                    p->has_average ? "Where the average is right" : "Where the ensemble is right");
        page_margins(p);
        end_section(p, records, "margins", "Which model dominates");
    }
    page_calibration(p);
    end_section(p, records, "calibration", labelled ? "Confidence and calibration" : "Confidence");
    page_ensembles(p);
    end_section(p, records, "ensembles",
                !labelled        ? "How much the models differ"
                : p->has_average ? "Averaging weights or outputs"
                                 : "Averaging outputs");
    page_advice(p);
    end_section(p, records, "alpha", "Which alpha");
}

/* What takes the place of the average, and where. */
static void name_third(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    size_t given = 0;
    for (size_t i = 0; found && i < found->set_count; i++)
        given += found->sets[i].has_average != 0;
    p->has_average = given > 0;
    p->has_stand_in = given > 0 && given < found->set_count;
    p->third = given ? "AM" : "OSE";
    p->third_name = given ? "average" : "output-space ensemble";
}

int diagnose_write_page(const char *path, const bang_finding *r, bang_error *err)
{
    diagnose_page p = {.r = r, .show = json_array()};
    json_t *records = json_array();
    bang_text lead = {0};
    name_third(&p);
    add_summary(&p);
    end_section(&p, records, "summary", "Summary");
    if (r->found)
        add_sections(&p, records);
    if (r->curve) {
        page_curve(&p);
        end_section(&p, records, "curve", "Accuracy on the curve");
    }
    if (r->found && r->by_class && page_labelled(&p)) {
        page_classes(&p);
        end_section(&p, records, "classes", "Classes");
    }
    if (r->found && r->listed) {
        page_samples(&p);
        end_section(&p, records, "samples", "Samples");
    }
    if (r->found)
        bang_text_add(&lead,
                      "Why an average of a pre-trained and a fine-tuned model helps, or does not: "
                      "%zu data set%s, diagnosed from the models' outputs by bang %s.",
                      r->found->set_count, r->found->set_count == 1 ? "" : "s", BANG_VERSION);
    else
        bang_text_add(&lead, "Averages against their fine-tuned models, by bang %s.", BANG_VERSION);
    int rc = p.failed || lead.failed || !p.show
                 ? bang_fail_memory(err)
                 : bang_report_put(path, records, "bang diagnose", lead.data, err);
    bang_text_release(&lead);
    json_decref(p.show);
    json_decref(records);
    return rc;
}
