#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/machine.h"
#include "bang/base/record.h"
#include "bang/tensor/kernels.h"
#include "lab/lab.h"

static const bang_lab_experiment experiments[] = {
    {"theory", "the propositions and figures of section 3, and where they err", lab_run_theory},
    {"simulation", "the four simulated examples of appendix C.4", lab_run_simulation},
    {"multicolor", "MultiColorMNIST: 32 spurious features (section 3.4)", lab_run_multicolor},
    {"singlecolor", "SingleColorMNIST: one spurious feature (appendix C.3)", lab_run_singlecolor},
    {"ensemble-size", "ensembles of 1 to 16 networks on both", lab_run_ensemble_size},
    {"occlusion", "which patches networks and ensembles use, theory beside it", lab_run_occlusion},
    {"multicolor-average", "averaged weights on MultiColorMNIST", lab_run_multicolor_average},
    {"two-layer", "WSE less OSE, term by term (appendix D.2)", lab_run_two_layer},
    {"lab", "BANG end to end on shifted digits (section 4)", lab_run_shift},
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

int lab_recall(json_t **result, const char *key, json_t *settings, const bang_lab_options *options,
               bang_error *err)
{
    json_t *records = NULL;
    *result = NULL;
    if (bang_ranks_rank(options->ranks) > 0)
        return 0;
    int rc = bang_record_read(&records, options->folder, err);
    if (rc < 0)
        return rc;
    json_t *record = bang_record_find(records, key, settings);
    if (record)
        *result = json_incref(json_object_get(record, "result"));
    else if (bang_record_find(records, key, NULL))
        rc = bang_fail(err, BANG_EUSAGE,
                       "%s: holds %s made with other options (seed or scale): resume with those, "
                       "or take another folder",
                       options->folder, key);
    json_decref(records);
    return rc;
}

void lab_command(bang_text *out, const char *experiment, const bang_lab_options *options)
{
    bang_text_add(out, "bang reproduce %s --seed %llu", experiment,
                  (unsigned long long)options->seed);
    if (options->full)
        bang_text_add(out, " --full");
    if (options->protocol != BANG_COLOR_DEFAULT)
        bang_text_add(out, " --protocol %s", bang_color_protocol_name(options->protocol));
    if (options->seeds)
        bang_text_add(out, " --seeds %zu", options->seeds);
    if (options->models)
        bang_text_add(out, " --models %zu", options->models);
    bang_text_add(out, " -o run");
}

int lab_store(lab_measurement m, json_t *result, json_t *show, const bang_lab_options *options,
              bang_error *err)
{
    json_t *record =
        json_pack("{ss ss ss ss so sO}", "key", m.key, "experiment", m.experiment, "section",
                  m.section, "version", BANG_VERSION, "options", m.options, "result", result);
    bang_text command = {0};
    if (bang_lab_find_experiment(m.experiment))
        lab_command(&command, m.experiment, options);
    if (record && command.data)
        json_object_set_new(record, "command", json_string(command.data));
    if (record && show)
        json_object_set(record, "show", show);
    bang_text_release(&command);
    int rc = record ? bang_record_append(options->folder, record, err) : bang_fail_memory(err);
    json_decref(record);
    return rc;
}

static int measure(json_t **result, lab_measurement m, int together,
                   const bang_lab_options *options, bang_error *err)
{
    *result = NULL;
    int first = bang_ranks_rank(options->ranks) == 0;
    int rc = options->resume ? lab_recall(result, m.key, m.options, options, err) : 0;
    uint8_t there = *result != NULL || (!first && !together);
    if (rc == 0 && together)
        rc = bang_ranks_broadcast(options->ranks, &there, 1, err);
    if (rc == 0 && there && !first && !(*result = json_object()))
        rc = bang_fail_memory(err);
    if (rc < 0 || there) {
        json_decref(m.options);
        return rc;
    }
    *result = json_object();
    json_t *show = json_array();
    rc = *result && show ? m.measure(*result, show, m.context, err) : bang_fail_memory(err);
    if (rc == 0 && first)
        rc = lab_store(m, *result, show, options, err);
    else
        json_decref(m.options);
    json_decref(show);
    if (rc < 0) {
        json_decref(*result);
        *result = NULL;
    }
    return rc;
}

int lab_measure(json_t **result, lab_measurement m, const bang_lab_options *options,
                bang_error *err)
{
    return measure(result, m, 0, options, err);
}

int lab_measure_together(json_t **result, lab_measurement m, const bang_lab_options *options,
                         bang_error *err)
{
    return measure(result, m, 1, options, err);
}

void lab_show_text(json_t *show, const char *text)
{
    json_array_append_new(show, json_pack("{ss ss}", "kind", "text", "text", text));
}

void lab_show_item(json_t *show, const char *item, const char *claim, const char *holds,
                   const char *because)
{
    json_array_append_new(show, json_pack("{ss ss ss ss ss}", "kind", "verdict", "item", item,
                                          "claim", claim, "holds", holds, "because", because));
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

json_t *lab_numbers(const double *values, size_t count)
{
    json_t *out = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(out, bang_json_number(values[i]));
    return out;
}

static int describe_machine(json_t *result, json_t *show, void *context, bang_error *err)
{
    const bang_lab_options *options = *(const bang_lab_options *const *)context;
    char processor[128], cores[32], scale[96];
    (void)err;
    bang_machine_processor(processor, sizeof processor);
    snprintf(cores, sizeof cores, "%d", bang_machine_cores());
    snprintf(scale, sizeof scale, "%s, seed %llu", options->full ? "full" : "quick",
             (unsigned long long)options->seed);
    const char *kernels = bang_kernels_best_f32()->name;
    json_object_set_new(result, "processor", json_string(processor));
    json_object_set_new(result, "cores", json_integer(bang_machine_cores()));
    json_object_set_new(result, "kernels", json_string(kernels));
    json_array_append_new(show,
                          json_pack("{ss ss s[[ss][ss][ss][ss][ss]]}", "kind", "facts", "title",
                                    "What was run, and on which machine", "rows", "Program",
                                    "bang " BANG_VERSION, "Scale", scale, "Processor", processor,
                                    "Cores", cores, "Vector instructions", kernels));
    lab_show_text(show, "Networks are trained in single precision: their last digits, and so each "
                        "single network, depend on the vector instructions; means do not. The "
                        "number of threads changes nothing.");
    return 0;
}

int bang_lab_describe_machine(const bang_lab_options *options, bang_error *err)
{
    json_t *result = NULL;
    int rc = lab_measure(&result,
                         (lab_measurement){.experiment = "machine",
                                           .section = "What was run",
                                           .key = "machine",
                                           .options = json_object(),
                                           .measure = describe_machine,
                                           .context = &options},
                         options, err);
    json_decref(result);
    return rc;
}
