/* What bang diff found, as a page: records that the report knows how to show. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/report/report.h"
#include "diff.h"

/* A section of the page; takes over show. */
static json_t *section(const diff_result *r, const char *key, const char *title, json_t *show)
{
    return json_pack("{ss ss ss ss s{ss ss} s{} so}", "key", key, "experiment", "diff", "section",
                     title, "version", BANG_VERSION, "options", "A", r->a, "B", r->b, "result",
                     "show", show);
}

static json_t *count_of(size_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *summary_of(const diff_result *r)
{
    const bang_difference *d = &r->found;
    const bang_change *total = &d->total;
    json_t *rows = json_pack("[[ss][ss][so][so][so][so]]", "A", r->a, "B", r->b, "Tensors compared",
                             count_of(d->count), "of them equal", count_of(d->equal),
                             "Numbers compared", count_of((size_t)total->count),
                             "of them not finite, left out", count_of((size_t)total->not_finite));
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"Relative change", total->relative_change},
                   {"Cosine", total->cosine},
                   {"Norm ratio", total->norm_ratio},
                   {"Largest |b - a|", total->max_abs}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[32];
        snprintf(text, sizeof text, isnan(numbers[i].value) ? "not defined" : "%.6g",
                 numbers[i].value);
        json_array_append_new(rows, json_pack("[ss]", numbers[i].name, text));
    }
    return json_pack("[{ss ss so}]", "kind", "facts", "title", "In all", "rows", rows);
}

static json_t *numbers_of(const bang_change *change)
{
    return json_pack("[oooo]", bang_json_number(change->relative_change),
                     bang_json_number(change->cosine), bang_json_number(change->norm_ratio),
                     bang_json_number(change->max_abs));
}

static json_t *layers_of(const diff_result *r)
{
    json_t *names = json_array(), *values = json_array(), *rows = json_array();
    for (size_t i = 0; i < r->found.layer_count; i++) {
        const bang_layer_change *layer = r->layers[i];
        json_t *row = json_pack("[s]", layer->name), *numbers = numbers_of(&layer->change);
        json_array_append_new(names, json_string(layer->name));
        json_array_append_new(values, bang_json_number(layer->change.relative_change));
        json_array_extend(row, numbers);
        json_decref(numbers);
        json_array_append_new(row, count_of(layer->tensors));
        json_array_append_new(row, count_of((size_t)layer->change.count));
        json_array_append_new(rows, row);
    }
    return json_pack(
        "[{ss ss ss so so} {ss ss s[sssssss] s[nninnii] s[niniinn] so ss}]", "kind", "bars",
        "title", "How far each layer moved.", "value_label", "relative change |b - a|/|a|", "names",
        names, "values", values, "kind", "table", "title", "Layers.", "columns", "layer",
        "relative change", "cosine", "norm ratio", "max |b - a|", "tensors", "numbers", "decimals",
        6, 0, 0, "digits", 4, 4, 4, "rows", rows, "note",
        "Relative change is |b - a|/|a|, norm ratio |b|/|a|. A dash is a number that "
        "is not defined: a norm of 0, or numbers that are not finite. Integers are left "
        "out.");
}

enum { BINS = 47 }; /* 1-2-5 steps from 1e-12 to 1000, and what lies beyond */

/* The lower end of bin i >= 1: 1e-12, 2e-12, 5e-12, 1e-11, ... */
static double bin_start(int i)
{
    static const double steps[] = {1, 2, 5};
    int power = (i - 1) / 3 - 12;
    return steps[(i - 1) % 3] * pow(10, power);
}

static void bin_name(char out[64], int i)
{
    if (i == 0)
        snprintf(out, 64, "below 1e-12");
    else if (i == BINS - 1)
        snprintf(out, 64, "%g and more", bin_start(i));
    else
        snprintf(out, 64, "%g to %g", bin_start(i), bin_start(i + 1));
}

/* How many tensors moved how far, from the least bin that is used to the last. */
static json_t *histogram_of(const diff_result *r)
{
    size_t counts[BINS] = {0};
    int low = BINS, high = -1;
    json_t *names = json_array(), *values = json_array();
    for (size_t i = 0; i < r->moved_count; i++) {
        double value = r->moved[i]->change.relative_change;
        int bin = 0;
        if (isnan(value))
            continue;
        while (bin + 1 < BINS && value >= bin_start(bin + 1))
            bin++;
        counts[bin]++;
        low = bin < low ? bin : low;
        high = bin > high ? bin : high;
    }
    for (int i = low; i <= high; i++) {
        char name[64];
        bin_name(name, i);
        json_array_append_new(names, json_string(name));
        json_array_append_new(values, count_of(counts[i]));
    }
    return json_pack("{ss ss ss si so so}", "kind", "bars", "title",
                     "How many tensors moved how far (relative change).", "value_label", "tensors",
                     "color", 2, "names", names, "values", values);
}

static json_t *type_of(const bang_tensor_change *tensor)
{
    const char *a = bang_dtype_name(tensor->a->dtype), *b = bang_dtype_name(tensor->b->dtype);
    return strcmp(a, b) == 0 ? json_string(a) : json_sprintf("%s, %s", a, b);
}

static json_t *shape_of(const bang_entry *entry)
{
    bang_text text = {0};
    for (int i = 0; i < entry->rank; i++)
        bang_text_add(&text, "%s%zu", i ? " \u00d7 " : "", entry->shape[i]);
    json_t *shape = text.failed ? NULL : json_string(text.data ? text.data : "one number");
    bang_text_release(&text);
    return shape;
}

static json_t *tensors_of(const diff_result *r)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < r->found.count; i++) {
        const bang_tensor_change *tensor = r->tensors[i];
        json_t *row = json_pack("[s]", tensor->a->name), *numbers = numbers_of(&tensor->change);
        const char *remark = tensor->equal ? "equal" : tensor->change.not_finite ? "NaN" : "";
        json_array_extend(row, numbers);
        json_decref(numbers);
        json_array_append_new(row, type_of(tensor));
        json_array_append_new(row, shape_of(tensor->a));
        json_array_append_new(row, json_string(remark));
        json_array_append_new(rows, row);
    }
    json_t *table = json_pack("{ss ss s[ssssssss] s[nninnnnn] s[niniinnn] so}", "kind", "table",
                              "title", "Tensors.", "columns", "tensor", "relative change", "cosine",
                              "norm ratio", "max |b - a|", "type", "shape", "note", "decimals", 6,
                              "digits", 4, 4, 4, "rows", rows);
    return r->moved_count ? json_pack("[oo]", histogram_of(r), table) : json_pack("[o]", table);
}

static void add_only(json_t *rows, const bang_entry *const *entries, size_t count, const char *why)
{
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("[ss]", entries[i]->name, why));
}

static json_t *others_of(const diff_result *r)
{
    const bang_difference *d = &r->found;
    json_t *rows = json_array();
    for (size_t i = 0; i < d->different_count; i++)
        json_array_append_new(rows,
                              json_pack("[ss]", d->different[i].a->name, d->different[i].why));
    add_only(rows, d->only_a, d->only_a_count, "only in A");
    add_only(rows, d->only_b, d->only_b_count, "only in B");
    return json_pack("[{ss ss s[ss] so}]", "kind", "table", "title",
                     "What is in one checkpoint only or does not fit.", "columns", "tensor", "why",
                     "rows", rows);
}

int diff_write_page(const char *path, const diff_result *r, bang_error *err)
{
    const bang_difference *d = &r->found;
    bang_text lead = {0};
    json_t *records = json_pack("[o]", section(r, "diff", "Summary", summary_of(r)));
    if (d->count) {
        json_array_append_new(records, section(r, "diff/layers", "Layers", layers_of(r)));
        json_array_append_new(records, section(r, "diff/tensors", "Tensors", tensors_of(r)));
    }
    if (d->different_count + d->only_a_count + d->only_b_count)
        json_array_append_new(records, section(r, "diff/others", "Not compared", others_of(r)));
    bang_text_add(&lead, "How far %s (B) is from %s (A), made by bang %s.", r->b, r->a,
                  BANG_VERSION);
    size_t wanted =
        1 + 2 * (d->count > 0) + (d->different_count + d->only_a_count + d->only_b_count > 0);
    int rc = lead.failed || json_array_size(records) != wanted
                 ? bang_fail_memory(err)
                 : bang_report_put(path, records, "bang diff", lead.data, err);
    bang_text_release(&lead);
    json_decref(records);
    return rc;
}
