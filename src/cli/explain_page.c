/* bang explain: maps as a page: records that the report knows how to show. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/base/utf8.h"
#include "bang/report/report.h"
#include "bang/store/png.h"
#include "explain.h"

static const char *method_text(const explain_request *r)
{
    static const char *const texts[BANG_SALIENCY_KINDS] = {
        [BANG_GRADCAM] =
            "Grad-CAM on tokens: what each patch holds when it last reaches the class token (the "
            "first norm of the last block), weighted by the mean gradient of the class's output; "
            "what speaks against the class is left out. It explains what the last block adds: a "
            "network that decides in an earlier one is better looked at with hirescam.",
        [BANG_HIRESCAM] =
            "HiResCAM's weighting, summed over blocks: what each patch holds at the first norm of "
            "a block times the gradient of the class's output there; what speaks against the class "
            "is left out. HiResCAM (Draelos and Carin 2020) is of one layer; adding up all blocks "
            "is ours.",
        [BANG_INPUT_GRADIENT] =
            "Input gradients: how fast the class's output changes with a pixel, the largest of "
            "its channels. Numbers are of the means over patches.",
        [BANG_ROLLOUT] =
            "Attention rollout: how much of the class token's attention comes from each patch, "
            "through all blocks. It knows no class.",
    };
    return texts[r->kind];
}

/* A section of the page; takes over show. */
static json_t *section(const explain_request *r, const char *key, const char *title, json_t *show)
{
    json_t *models = json_array();
    for (size_t m = 0; m < r->from.count; m++)
        json_array_append_new(models, bang_utf8_json(r->from.models[m].path));
    return json_pack("{ss ss ss ss s{ss so so} s{} so}", "key", key, "experiment", "explain",
                     "section", title, "version", BANG_VERSION, "options", "method", r->method,
                     "models", explain_rows(models, r->from.count), "data",
                     bang_utf8_json(predict_source(&r->from)), "result", "show", show);
}

/* How pictures were chosen, in words. */
static void add_choice(bang_text *out, const explain_result *result)
{
    const explain_request *r = result->request;
    bang_text_add(out, "%zu of %zu", result->count, result->choice.of);
    if (r->group)
        bang_text_add(out, " in group %s (T right, F wrong, model by model)", r->group);
    if (r->samples)
        bang_text_add(out, ": %s", r->samples);
    else if (result->count < result->choice.of)
        bang_text_add(out,
                      explain_by_class(r) ? ", class by class in turn" : ", the first of them");
    if (result->skipped)
        bang_text_add(out, "; %zu could not be read", result->skipped);
}

/* All that was asked for, in sight. */
static json_t *facts_of(const explain_result *result)
{
    const explain_request *r = result->request;
    bang_text command = {0}, choice = {0};
    cli_add_command(&command, result->cli);
    add_choice(&choice, result);
    json_t *rows =
        json_pack("[[ss] [so] [so]]", "Method", r->title, "Of", bang_utf8_json(explain_what(r)),
                  "Pictures", bang_utf8_json(choice.failed ? NULL : choice.data));
    if (!explain_what(r))
        json_array_remove(rows, 1);
    json_array_append_new(
        rows, json_pack("[so]", "Command", bang_utf8_json(command.failed ? NULL : command.data)));
    bang_text_release(&command);
    bang_text_release(&choice);
    return json_pack("{ss ss so}", "kind", "facts", "title", "How it was made.", "rows", rows);
}

static json_t *sheet_of(const explain_result *result, bang_error *err)
{
    const explain_request *r = result->request;
    bang_array sheet;
    bang_text png = {0}, base64 = {0}, note = {0};
    json_t *entry = NULL;
    char title[40];
    snprintf(title, sizeof title, "%s.", r->title);
    int rc = explain_draw(&sheet, result, err);
    if (rc == 0)
        rc = bang_png_encode(&png, sheet.data, sheet.shape[1], sheet.shape[0], 3, err);
    if (rc == 0) {
        bang_text_add_base64(&base64, png.data, png.size);
        bang_text_add(&note,
                      "%zu of %zu pictures, each beside maps%s%s. Light is much; each map has its "
                      "own scale.%s A map marked zero is in grey: nothing speaks for the class.",
                      result->shown, result->count, explain_what(r) ? " of " : "",
                      explain_what(r) ? explain_what(r) : "",
                      r->from.width ? " Below a map: the confidence and the class of what this "
                                      "model predicts."
                                    : "");
        if (!base64.failed && !note.failed)
            entry = json_pack("{ss ss ss sf ss so}", "kind", "picture", "title", title, "png",
                              base64.data, "scale", 0.8, "alt",
                              "pictures, each beside its maps by the models", "note",
                              bang_utf8_json(note.data));
        if (!entry)
            bang_fail_memory(err);
    }
    bang_array_release(&sheet);
    bang_text_release(&png);
    bang_text_release(&base64);
    bang_text_release(&note);
    return entry;
}

static json_t *predictions_of(const explain_result *result)
{
    static const char *const names[] = {"predicts", "right", "confidence, %"};
    enum { EACH = sizeof names / sizeof *names };
    json_t *columns = json_pack("[ss]", "picture", "label"), *rows = json_array(),
           *decimals = json_pack("[nn]"), *groups = json_pack("[[si]]", "", 2);
    for (size_t m = 0; m < result->model_count; m++) {
        for (size_t k = 0; k < EACH; k++) {
            json_array_append_new(columns, json_string(names[k]));
            json_array_append_new(decimals, k == EACH - 1 ? json_integer(1) : json_null());
        }
        json_array_append_new(groups, json_pack("[si]", result->names[m], EACH));
    }
    for (size_t i = 0; i < result->shown; i++) {
        char name[96], class[96];
        explain_name(name, sizeof name, result, i);
        json_t *row = json_pack("[s]", name);
        explain_class(class, sizeof class, result, explain_label(result, i));
        json_array_append_new(row, explain_label(result, i) < 0 ? json_null() : json_string(class));
        for (size_t m = 0; m < result->model_count; m++) {
            const explain_member *e = &result->members[m];
            explain_class(class, sizeof class, result, (int64_t)e->predicted[i]);
            json_array_append_new(row, json_string(class));
            int right = explain_is_right(result, m, i);
            json_array_append_new(row,
                                  right < 0 ? json_null() : json_string(right ? "✓ yes" : "✕ no"));
            json_array_append_new(row, bang_json_number(100 * e->confidence[i]));
        }
        json_array_append_new(rows, explain_rows(row, 2 + EACH * result->model_count));
    }
    return json_pack("{ss ss so so so so}", "kind", "table", "title", "What the models say.",
                     "columns", columns, "groups", groups, "decimals", decimals, "rows",
                     explain_rows(rows, result->shown));
}

/* Each model has as many maps to average as are not zero. */
static void add_counts(bang_text *note, const explain_result *result)
{
    bang_text_add(note, "the maps that are not zero (nothing speaks for the class), which are ");
    for (size_t m = 0; m < result->model_count; m++)
        bang_text_add(note, "%s%zu of %s", m ? ", " : "", result->count - explain_zeros(result, m),
                      result->names[m]);
    bang_text_add(note, " (of %zu each)", result->count);
}

static json_t *spread_of(const explain_result *result)
{
    json_t *names = json_array(), *values = json_array(), *low = json_array(), *high = json_array();
    bang_text note = {0};
    size_t zeros = 0, most = 0;
    for (size_t m = 0; m < result->model_count; m++) {
        double error, mean = explain_mean(result->members[m].effective, result->count, &error);
        json_array_append_new(names, json_string(result->names[m]));
        json_array_append_new(values, bang_json_number(mean));
        json_array_append_new(low, bang_json_number(mean - 1.96 * error));
        json_array_append_new(high, bang_json_number(mean + 1.96 * error));
        size_t here = explain_zeros(result, m);
        zeros += here;
        most = result->count - here > most ? result->count - here : most;
    }
    bang_text_add(&note,
                  "Effective number of patches (sum a)^2 / sum a^2 of a map, which is n when n "
                  "patches count equally and the others not at all: mean over ");
    if (zeros == 0)
        bang_text_add(&note, "%zu picture%s", result->count, result->count == 1 ? "" : "s");
    else
        add_counts(&note, result);
    bang_text_add(&note, "%s.", most > 1 ? ", with its 95 % interval over pictures" : "");
    json_t *chart =
        json_pack("{ss ss ss so s[{ss so so so}] so}", "kind", "columns", "title",
                  "How many patches the maps spread over.", "value_label", "patches", "names",
                  names, "series", "name", "patches in use", "values", values, "low", low, "high",
                  high, "note", bang_utf8_json(note.failed ? NULL : note.data));
    bang_text_release(&note);
    return chart;
}

static json_t *pairs_of(const explain_result *result)
{
    json_t *rows = json_array();
    for (size_t a = 0; a < result->model_count; a++)
        for (size_t b = a + 1; b < result->model_count; b++) {
            explain_pair pair = explain_compare(result, a, b);
            json_array_append_new(rows, json_pack("[ssIoo]", result->names[a], result->names[b],
                                                  (json_int_t)pair.pictures,
                                                  bang_json_number(pair.correlation),
                                                  bang_json_number(100 * pair.overlap)));
        }
    return json_pack(
        "{ss ss s[sssss] s[nniii] so ss}", "kind", "table", "title", "How alike the maps are.",
        "columns", "model", "and", "pictures", "correlation", "mass in common, %", "decimals", 0, 2,
        1, "rows", explain_rows(rows, result->model_count * (result->model_count - 1) / 2), "note",
        "Means over the pictures where neither map is zero, of one model's map of a picture with "
        "the other's. "
        "Mass in common: sum of min(a/sum a, b/sum b), 100 for equal maps. A dash: "
        "their patches are not the same, or all maps are zero.");
}

int explain_write_page(const explain_result *result, bang_error *err)
{
    const explain_request *r = result->request;
    json_t *sheet = sheet_of(result, err), *maps, *numbers;
    if (!sheet)
        return err->code;
    maps =
        json_pack("[{ss ss} o o]", "kind", "text", "text", method_text(r), sheet, facts_of(result));
    if (r->from.width)
        json_array_append_new(maps, predictions_of(result));
    numbers = json_pack("[o]", spread_of(result));
    if (result->model_count > 1)
        json_array_append_new(numbers, pairs_of(result));
    json_t *records = json_pack("[oo]", section(r, "explain/maps", "Maps", maps),
                                section(r, "explain/diversity", "Diversity", numbers));
    bang_text lead = {0};
    bang_text_add(&lead, "%s%s%s on %s%s%s, made by bang %s.", r->title,
                  explain_what(r) ? " of " : "", explain_what(r) ? explain_what(r) : "",
                  predict_source(&r->from), r->group ? ", group " : "", r->group ? r->group : "",
                  BANG_VERSION);
    int rc = lead.failed || !records
                 ? bang_fail_memory(err)
                 : bang_report_put(r->html, records, "bang explain", lead.data, err);
    bang_text_release(&lead);
    json_decref(records);
    return rc;
}
