/* bang_bridge_diagnose: arrays of the caller as one set of a diagnosis. */
#include <stdlib.h>
#include <string.h>

#include "bang/bridge/bridge.h"
#include "bang/bridge/finding.h"
#include "bang/measure/subset.h"
#include "request.h"

/* The arrays, and what is made of them. */
typedef struct input {
    const char *name;
    bang_table tables[3]; /* PM, FM, AM */
    bang_label *labels;   /* (rows), or NULL */
    bang_diagnosis_set set;
    size_t rows, outputs;
} input;

typedef struct asked {
    const char *name;
    const json_t *weights, *temperature, *list;
    json_int_t replicates, seed;
    int fit, probabilities, sure;
    bang_diagnosis_options options;
} asked;

static int read_list(unsigned *out, const json_t *list, bang_error *err)
{
    if (list && !json_is_array(list))
        return bang_fail(err, BANG_EUSAGE, "list: must be an array of groups such as \"FFT\"");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        int g = 0;
        while (text && g < BANG_GROUPS && strcmp(text, bang_group_names[g]) != 0)
            g++;
        if (!text || g == BANG_GROUPS)
            return bang_fail(err, BANG_EUSAGE, "list: entry %zu: choose from TTT, TTF, .. FFF",
                             i + 1);
        *out |= 1U << g;
    }
    return 0;
}

/* Two numbers, or as it was. */
static int read_pair(double out[2], const char *key, const json_t *array, bang_error *err)
{
    double pair[2];
    int count = bang_request_numbers(pair, 2, key, array, err);
    if (count == 1)
        return bang_fail(err, BANG_EUSAGE, "%s: needs two numbers, of pre and fine", key);
    if (count == 2)
        memcpy(out, pair, sizeof pair);
    return count < 0 ? count : 0;
}

static int read_request(asked *a, json_t *request, bang_error *err)
{
    *a = (asked){.name = "data", .fit = 1, .options = BANG_DIAGNOSIS_OPTIONS_INIT};
    bang_diagnosis_options *o = &a->options;
    a->replicates = (json_int_t)o->replicates;
    a->seed = (json_int_t)o->seed;
    int rc = bang_request_unpack(
        request, err, "{s?s s?i s?I s?F s?o s?o s?b s?b s?b s?o s?b s?I s?i}", "name", &a->name,
        "bins", &o->bins, "bootstrap", &a->replicates, "level", &o->level, "weights", &a->weights,
        "temperature", &a->temperature, "fit", &a->fit, "probabilities", &a->probabilities,
        "logits", &a->sure, "list", &a->list, "by_class", &o->by_class, "seed", &a->seed, "threads",
        &o->threads);
    if (rc == 0 && a->replicates < 0)
        rc = bang_fail(err, BANG_EUSAGE, "bootstrap: must be 0, or %d or more",
                       BANG_REPLICATES_LEAST);
    if (rc == 0)
        rc = read_pair(o->weights, "weights", a->weights, err);
    if (rc == 0)
        rc = read_pair(o->temperature, "temperature", a->temperature, err);
    if (rc == 0)
        rc = read_list(&o->listed, a->list, err);
    if (rc == 0)
        rc = bang_request_threads(o->threads, err);
    o->replicates = (size_t)a->replicates;
    o->seed = (uint64_t)a->seed;
    o->fit = a->fit && !a->temperature;
    return rc;
}

static int read_labels(input *in, const int64_t *labels, bang_error *err)
{
    /* bang_labels_number only reads */
    const bang_array array = {.dtype = BANG_I64,
                              .rank = 1,
                              .shape = {in->rows},
                              .count = in->rows,
                              .data = (void *)labels};
    bang_numbered how;
    bang_error why = {0};
    in->labels = calloc(in->rows + 1, sizeof *in->labels);
    if (!in->labels)
        return bang_fail_memory(err);
    int rc =
        bang_labels_number(in->labels, &how, &array, in->outputs, NULL, BANG_NUMBERS_AUTO, &why);
    return rc < 0 ? bang_fail(err, rc, "labels: %.900s", why.message) : 0;
}

static int open_input(input *in, const asked *a, const int64_t *labels,
                      const void *const numbers[3], int wide, bang_error *err)
{
    static const char *const names[] = {"pre", "fine", "avg"};
    bang_logits *const places[] = {&in->set.pre, &in->set.fine, &in->set.avg};
    int rc = labels ? read_labels(in, labels, err) : 0;
    in->set.name = a->name;
    in->set.labels = in->labels;
    for (int i = 0; i < 3 && rc == 0; i++) {
        if (!numbers[i])
            continue;
        bang_table_of(&in->tables[i], names[i], wide ? BANG_F64 : BANG_F32, numbers[i], in->rows,
                      in->outputs);
        *places[i] = (bang_logits){&in->tables[i], a->probabilities, NULL};
        rc = bang_logits_check(places[i], in->labels, a->sure, err);
    }
    return rc;
}

static json_t *tell(const bang_diagnosis *found, const input *in, const asked *a)
{
    const bang_diagnosis_options *o = &a->options;
    int given = in->set.avg.table != NULL;
    bang_finding_facts facts = {.outputs = in->outputs, .average = given ? "given" : "ose"};
    bang_finding finding = {.found = found,
                            .facts = &facts,
                            .level = o->level,
                            .replicates = o->replicates,
                            .bins = o->bins,
                            .seed = o->seed,
                            .weights = {o->weights[0], o->weights[1]},
                            .listed = o->listed,
                            .by_class = o->by_class};
    if (!given)
        bang_text_add(&finding.notes,
                      "%.200s: no avg: the ensemble of the outputs takes its place\n", a->name);
    if (!in->labels)
        bang_text_add(&finding.notes, "%.200s: no labels: confidence and agreement only\n",
                      a->name);
    json_t *told = finding.notes.failed ? NULL : bang_finding_json(&finding);
    bang_text_release(&finding.notes);
    return told;
}

int bang_bridge_diagnose(char **out, const char *request, const int64_t *labels, const void *pre,
                         const void *fine, const void *avg, size_t rows, size_t outputs, int wide,
                         bang_error *err)
{
    const void *const numbers[] = {pre, fine, avg};
    input in = {.rows = rows, .outputs = outputs};
    bang_diagnosis *found = NULL;
    json_t *parsed, *told = NULL;
    asked a;
    *out = NULL;
    if (!pre || !fine)
        return bang_fail(err, BANG_EUSAGE, "pre, fine: missing: logits of both models are needed");
    int rc = bang_request_parse(&parsed, request, err);
    if (rc < 0)
        return rc;
    rc = read_request(&a, parsed, err);
    if (rc == 0)
        rc = open_input(&in, &a, labels, numbers, wide, err);
    if (rc == 0)
        rc = bang_diagnose(&found, &in.set, 1, &a.options, err);
    if (rc == 0) {
        told = tell(found, &in, &a);
        rc = bang_request_answer(out, told, err);
    }
    bang_diagnosis_free(found);
    free(in.labels);
    json_decref(parsed);
    return rc;
}
