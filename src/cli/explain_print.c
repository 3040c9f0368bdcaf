/* bang explain: what maps of transformers show, in numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/utf8.h"
#include "explain.h"

double explain_mean(const double *values, size_t count, double *error)
{
    double sum = 0, squares = 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        sum += values[i];
        n++;
    }
    double mean = n > 0 ? sum / n : NAN;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            squares += (values[i] - mean) * (values[i] - mean);
    if (error)
        *error = n > 1 ? sqrt(squares / (n - 1) / n) : NAN;
    return mean;
}

explain_pair explain_compare(const explain_result *result, size_t a, size_t b)
{
    const explain_member *x = &result->members[a], *y = &result->members[b];
    double correlation = 0, overlap = 0, correlated = 0, overlapped = 0;
    size_t cells = x->cells * x->cells;
    if (x->cells != y->cells)
        return (explain_pair){NAN, NAN, 0};
    for (size_t i = 0; i < result->count; i++) {
        double r = bang_saliency_correlation(x->patches + i * cells, y->patches + i * cells, cells);
        double o = bang_saliency_overlap(x->patches + i * cells, y->patches + i * cells, cells);
        correlation += isfinite(r) ? r : 0;
        correlated += isfinite(r);
        overlap += isfinite(o) ? o : 0;
        overlapped += isfinite(o);
    }
    return (explain_pair){correlated > 0 ? correlation / correlated : NAN,
                          overlapped > 0 ? overlap / overlapped : NAN, (size_t)overlapped};
}

int explain_is_zero(const explain_result *result, size_t member, size_t picture)
{
    return isnan(result->members[member].effective[picture]);
}

size_t explain_zeros(const explain_result *result, size_t member)
{
    size_t zeros = 0;
    for (size_t i = 0; i < result->count; i++)
        zeros += explain_is_zero(result, member, i) != 0;
    return zeros;
}

int64_t explain_label(const explain_result *result, size_t picture)
{
    const predict_request *p = &result->request->from;
    return p->match == PREDICT_NO_MATCH ? -1 : p->set.labels[result->choice.index[picture]];
}

int explain_is_right(const explain_result *result, size_t member, size_t picture)
{
    int64_t label = explain_label(result, picture);
    return label < 0 ? -1 : result->members[member].predicted[picture] == (uint64_t)label;
}

const char *explain_class_name(const predict_request *p, size_t class)
{
    const char *name = predict_class_name(p, class);
    int in_order = p->match == PREDICT_BY_ORDER && p->set.class_names && class < p->set.classes;
    return name ? name : in_order ? p->set.class_names[class] : NULL;
}

void explain_class(char *out, size_t size, const explain_result *result, int64_t class)
{
    const predict_request *p = &result->request->from;
    const char *name = class >= 0 ? explain_class_name(p, (size_t) class) : NULL;
    if (name)
        bang_utf8_clip(out, size, name);
    else if (class >= 0)
        snprintf(out, size, "class %lld", (long long)class);
    else
        snprintf(out, size, "?");
}

void explain_name(char *out, size_t size, const explain_result *result, size_t picture)
{
    const bang_images *set = &result->request->from.set;
    uint32_t index = result->choice.index[picture];
    const char *path = set->paths ? set->paths[index] : NULL,
               *slash = path ? strrchr(path, '/') : NULL;
    if (path)
        bang_utf8_clip(out, size, slash ? slash + 1 : path);
    else
        snprintf(out, size, "picture %u", (unsigned)index);
}

static void add_field(bang_text *csv, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        bang_text_add(csv, "%s", text);
        return;
    }
    bang_text_add(csv, "\"");
    for (; *text; text++)
        bang_text_add(csv, *text == '"' ? "\"%c" : "%c", *text);
    bang_text_add(csv, "\"");
}

/* The lines of picture i by model m. */
static void add_map(bang_text *csv, const explain_result *result, size_t i, size_t m)
{
    const explain_request *r = result->request;
    const explain_member *e = &result->members[m];
    uint32_t index = result->choice.index[i];
    for (size_t t = 0; t < e->cells * e->cells; t++) {
        bang_text_add(csv, "%u,", (unsigned)index);
        add_field(csv, r->from.set.paths ? r->from.set.paths[index] : "");
        if (explain_label(result, i) >= 0)
            bang_text_add(csv, ",%lld,", (long long)explain_label(result, i));
        else
            bang_text_add(csv, ",,");
        add_field(csv, r->from.models[m].path);
        if (r->kind == BANG_ROLLOUT)
            bang_text_add(csv, ",");
        else
            bang_text_add(csv, ",%zu", e->explained[i]);
        if (r->from.width)
            bang_text_add(csv, ",%zu,%.17g", e->predicted[i], e->confidence[i]);
        else
            bang_text_add(csv, ",,");
        bang_text_add(csv, ",%zu,%zu,%.17g\n", t / e->cells, t % e->cells,
                      e->patches[i * e->cells * e->cells + t]);
    }
}

int explain_write_csv(const explain_result *result, bang_error *err)
{
    static const char first[] =
        "picture,file,label,model,class,predicted,confidence,row,column,value\n";
    bang_file *file;
    int rc = bang_file_begin(&file, result->request->output, err);
    if (rc < 0)
        return rc;
    bang_file_write(file, first, sizeof first - 1);
    /* a map at a time: all of them may be more text than there is memory */
    for (size_t i = 0; rc == 0 && i < result->count; i++)
        for (size_t m = 0; rc == 0 && m < result->model_count; m++) {
            bang_text csv = {0};
            add_map(&csv, result, i, m);
            if (csv.failed)
                rc = bang_fail_memory(err);
            else
                bang_file_write(file, csv.data, csv.size);
            bang_text_release(&csv);
        }
    if (rc == 0)
        return bang_file_commit(file, err);
    bang_file_discard(file);
    return rc;
}

/* Share that is right, or NaN. */
static double accuracy(const explain_result *result, size_t m)
{
    double right = 0, known = 0;
    for (size_t i = 0; i < result->count; i++) {
        int is = explain_is_right(result, m, i);
        right += is > 0;
        known += is >= 0;
    }
    return known > 0 ? right / known : NAN;
}

json_t *explain_rows(json_t *rows, size_t count)
{
    if (json_array_size(rows) == count)
        return rows;
    json_decref(rows);
    return NULL;
}

static json_t *models_json(const explain_result *result)
{
    json_t *models = json_array();
    for (size_t m = 0; m < result->model_count; m++) {
        const explain_member *e = &result->members[m];
        json_array_append_new(
            models, json_pack("{so s[II] so so so sI}", "name",
                              bang_utf8_json(result->request->from.models[m].path), "grid",
                              (json_int_t)e->cells, (json_int_t)e->cells, "accuracy",
                              bang_json_number(accuracy(result, m)), "confidence",
                              bang_json_number(explain_mean(e->confidence, result->count, NULL)),
                              "effective",
                              bang_json_number(explain_mean(e->effective, result->count, NULL)),
                              "zero", (json_int_t)explain_zeros(result, m)));
    }
    return explain_rows(models, result->model_count);
}

static json_t *pairs_json(const explain_result *result)
{
    json_t *pairs = json_array();
    for (size_t a = 0; a < result->model_count; a++)
        for (size_t b = a + 1; b < result->model_count; b++) {
            explain_pair pair = explain_compare(result, a, b);
            json_array_append_new(pairs, json_pack("{sI sI so so sI}", "a", (json_int_t)a, "b",
                                                   (json_int_t)b, "correlation",
                                                   bang_json_number(pair.correlation), "overlap",
                                                   bang_json_number(pair.overlap), "pictures",
                                                   (json_int_t)pair.pictures));
        }
    return explain_rows(pairs, result->model_count * (result->model_count - 1) / 2);
}

static json_t *picture_json(const explain_result *result, size_t i)
{
    const explain_request *r = result->request;
    uint32_t index = result->choice.index[i];
    int64_t label = explain_label(result, i);
    json_t *models = json_array();
    for (size_t m = 0; m < result->model_count; m++) {
        const explain_member *e = &result->members[m];
        json_array_append_new(
            models,
            json_pack("{so so so so}", "class",
                      r->kind == BANG_ROLLOUT ? json_null()
                                              : json_integer((json_int_t)e->explained[i]),
                      "predicted",
                      r->from.width ? json_integer((json_int_t)e->predicted[i]) : json_null(),
                      "confidence", bang_json_number(e->confidence[i]), "effective",
                      bang_json_number(e->effective[i])));
    }
    return json_pack("{sI so so so}", "index", (json_int_t)index, "file",
                     bang_utf8_json(r->from.set.paths ? r->from.set.paths[index] : NULL), "label",
                     label < 0 ? json_null() : json_integer((json_int_t)label), "models",
                     explain_rows(models, result->model_count));
}

static int print_json(const cli *c, const explain_result *result)
{
    const explain_request *r = result->request;
    json_t *pictures = json_array();
    for (size_t i = 0; i < result->count; i++)
        json_array_append_new(pictures, picture_json(result, i));
    return cli_print_json(
        c, json_pack("{ss so sI sI sI so so so so so}", "method", r->method, "of",
                     bang_utf8_json(explain_what(r)), "images", (json_int_t)result->count,
                     "chosen_from", (json_int_t)result->choice.of, "skipped",
                     (json_int_t)result->skipped, "models", models_json(result), "pairs",
                     pairs_json(result), "pictures", explain_rows(pictures, result->count),
                     "output", bang_utf8_json(r->output), "html", bang_utf8_json(r->html)));
}

static void print_number(const char *format, int width, double value)
{
    if (isnan(value))
        printf("%*s", width, "-");
    else
        printf(format, width, value);
}

static void print_models(const explain_result *result)
{
    printf("\n   right  confidence  patches in use  maps of zero   model\n");
    for (size_t m = 0; m < result->model_count; m++) {
        const explain_member *e = &result->members[m];
        double right = accuracy(result, m);
        if (isnan(right))
            printf("%8s", "-");
        else
            printf("%6.1f %%", 100 * right);
        if (result->request->from.width)
            printf("%10.1f %%", 100 * explain_mean(e->confidence, result->count, NULL));
        else
            printf("%12s", "-");
        print_number("%*.1f", 10, explain_mean(e->effective, result->count, NULL));
        printf(" of %-4zu%11zu   ", e->cells * e->cells, explain_zeros(result, m));
        cli_print_clean(result->request->from.models[m].path);
        putchar('\n');
    }
}

static void print_pairs(const explain_result *result)
{
    if (result->model_count < 2)
        return;
    printf("\n  correlation  mass in common   of the maps of\n");
    for (size_t a = 0; a < result->model_count; a++)
        for (size_t b = a + 1; b < result->model_count; b++) {
            explain_pair pair = explain_compare(result, a, b);
            print_number("%*.2f", 13, pair.correlation);
            if (isnan(pair.overlap))
                printf("%16s   ", "-");
            else
                printf("%14.1f %%   ", 100 * pair.overlap);
            cli_print_clean(result->names[a]);
            printf(", ");
            cli_print_clean(result->names[b]);
            putchar('\n');
        }
}

/* Grad-CAM of the last block says nothing about a network that has decided before it. */
static void note_zeros(const cli *c, const explain_result *result)
{
    size_t zeros = 0, all = result->count * result->model_count;
    for (size_t m = 0; m < result->model_count; m++)
        zeros += explain_zeros(result, m);
    if (result->request->kind == BANG_GRADCAM && 2 * zeros > all)
        fprintf(stderr, "bang %s: note: most maps are zero (%zu of %zu): try hirescam\n",
                c->command, zeros, all);
}

int explain_print(const cli *c, const explain_result *result)
{
    const explain_request *r = result->request;
    if (!c->quiet)
        note_zeros(c, result);
    if (c->json)
        return print_json(c, result);
    if (c->quiet)
        return CLI_DONE;
    printf("%zu picture%s of %zu", result->count, result->count == 1 ? "" : "s", result->choice.of);
    if (r->group)
        printf(" in group %s", r->group);
    if (result->skipped)
        printf(" (%zu could not be read)", result->skipped);
    printf(", %s%s", r->title, explain_what(r) ? " of " : "");
    cli_print_clean(explain_what(r) ? explain_what(r) : "");
    putchar('\n');
    print_models(result);
    print_pairs(result);
    if (r->output) {
        putchar('\n');
        cli_print_clean(r->output);
        if (!r->csv && result->shown < result->count)
            printf(": the first %zu (--rows)", result->shown);
    }
    if (r->html)
        putchar('\n');
    cli_print_clean(r->html ? r->html : "");
    putchar('\n');
    return CLI_DONE;
}
