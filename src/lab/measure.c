#include <stdlib.h>
#include <string.h>

#include "bang/base/record.h"
#include "lab/lab.h"

static const bang_lab_experiment experiments[] = {
    {"theory", "the propositions and figures of section 3, and where they err", lab_run_theory},
    {"simulation", "the four simulated examples of appendix C.4", lab_run_simulation},
};

const bang_lab_experiment *bang_lab_experiments(size_t *count)
{
    *count = sizeof experiments / sizeof *experiments;
    return experiments;
}

const bang_lab_experiment *bang_lab_find_experiment(const char *name)
{
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++)
        if (strcmp(experiments[i].name, name) == 0)
            return &experiments[i];
    return NULL;
}

/* The result that an earlier run left under this key, as a new reference, or NULL. */
static int recall(json_t **result, const lab_measurement *m, const bang_lab_options *options,
                  bang_error *err)
{
    json_t *records = NULL;
    *result = NULL;
    if (!options->resume)
        return 0;
    int rc = bang_record_read(&records, options->folder, err);
    if (rc < 0)
        return rc;
    json_t *record = bang_record_find(records, m->key, m->options);
    if (record)
        *result = json_incref(json_object_get(record, "result"));
    else if (bang_record_find(records, m->key, NULL))
        rc =
            bang_fail(err, BANG_EUSAGE,
                      "%s: holds %s made with other options (seed or scale): resume with those, or "
                      "take another folder",
                      options->folder, m->key);
    json_decref(records);
    return rc;
}

int lab_measure(json_t **result, lab_measurement m, const bang_lab_options *options,
                bang_error *err)
{
    int rc = recall(result, &m, options, err);
    if (rc < 0 || *result) {
        json_decref(m.options);
        return rc;
    }
    *result = json_object();
    json_t *show = json_array();
    json_t *record = json_pack("{ss ss ss ss sO sO sO}", "key", m.key, "experiment", m.experiment,
                               "section", m.section, "version", BANG_VERSION, "options", m.options,
                               "result", *result, "show", show);
    rc = *result && show && record ? m.measure(*result, show, m.context, err)
                                   : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_record_append(options->folder, record, err);
    json_decref(record);
    json_decref(show);
    json_decref(m.options);
    if (rc < 0) {
        json_decref(*result);
        *result = NULL;
    }
    return rc;
}

void lab_show_text(json_t *show, const char *text)
{
    json_array_append_new(show, json_pack("{ss ss}", "kind", "text", "text", text));
}

void lab_show_verdict(json_t *show, const char *claim, const char *holds, const char *because)
{
    json_array_append_new(show, json_pack("{ss ss ss ss}", "kind", "verdict", "claim", claim,
                                          "holds", holds, "because", because));
}

json_t *lab_table(const char *title, const char *const *columns, const char *note)
{
    json_t *names = json_array();
    for (size_t i = 0; columns[i]; i++)
        json_array_append_new(names, json_string(columns[i]));
    json_t *table =
        json_pack("{ss ss so s[]}", "kind", "table", "title", title, "columns", names, "rows");
    if (note)
        json_object_set_new(table, "note", json_string(note));
    return table;
}

void lab_table_row(json_t *table, json_t *row)
{
    json_array_append_new(json_object_get(table, "rows"), row);
}
