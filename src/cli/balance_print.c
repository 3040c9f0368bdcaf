/* Balance by confidence: what is said about it, to people and to scripts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "balance_work.h"

static const balance_pool *measured(const balance_work *w)
{
    return w->on_id ? &w->id : &w->pool;
}

/* "1000 of 2334 inputs of art, sketch" */
static void print_inputs(const balance_work *w, const balance_pool *pool, size_t count)
{
    printf("%zu", count);
    if (count < pool->found)
        printf(" of %zu", pool->found);
    printf(" inputs of ");
    if (pool == &w->id)
        cli_print_clean(w->r->id);
    for (size_t i = 0; pool != &w->id && i < w->r->source_count; i++) {
        printf("%s", i ? ", " : "");
        cli_print_clean(w->r->sources[i]);
    }
}

/* In 10 columns; nothing for NaN. */
static void print_number(double value, int decimals)
{
    if (isnan(value))
        printf("%10s", "");
    else
        printf("%10.*f", decimals, value);
}

/* share: of a layer's tensors or all, or NULL for a model that has no weight. */
static void print_line(const bang_balance_layer *l, int by_layer, const char *name,
                       const balance_share *share)
{
    print_number(l->confidence, 4);
    if (by_layer) {
        printf(" ");
        print_number(l->without, 4);
    }
    if (isnan(l->tau))
        printf(" %10s ", "");
    else
        printf(" %10.5g ", l->tau);
    print_number(l->alpha, 5);
    printf(" ");
    print_number(l->scale, 5);
    printf("  ");
    cli_print_clean(name);
    if (share && share->tensors == 0)
        printf(" (not averaged)"); /* the second model has none of it */
    else if (share && isnan(l->confidence))
        printf(" (not measured)");
    if (share && share->by_rule)
        printf(" (--rule: %zu of %zu tensors)", share->by_rule, share->tensors);
    printf("\n");
}

/* What was found, without weights that nothing is written with. */
static bang_balance_layer applied(const bang_balance_layer *found, const balance_share *share)
{
    bang_balance_layer out = *found;
    if (share->tensors == share->by_rule)
        out.alpha = out.scale = NAN;
    return out;
}

/* Of the whole model: layer by layer it is no weight of anything. */
static bang_balance_layer whole(const balance_work *w)
{
    bang_balance_layer out = applied(&w->found.whole, &w->shares[w->layer_count]);
    out.without = NAN;
    if (w->r->kind == BALANCE_LAYERS)
        out.alpha = out.scale = NAN;
    return out;
}

void balance_print(const balance_work *w, const char *output)
{
    const bang_balance *b = &w->found;
    int by_layer = w->r->kind == BALANCE_LAYERS;
    bang_balance_layer model = {NAN, NAN, NAN, NAN, NAN};
    printf("\nbalance: mean confidence on ");
    print_inputs(w, measured(w), measured(w)->rows);
    printf("\n%10s", "confidence");
    if (by_layer)
        printf(" %10s", "without");
    printf(" %10s %10s %10s  of\n", "tau", "alpha", "scale");
    model.confidence = b->confidence;
    print_line(&model, by_layer, w->pair.models[0].path, NULL);
    bang_balance_layer fine = whole(w);
    print_line(&fine, by_layer, w->pair.models[1].path,
               by_layer ? NULL : &w->shares[w->layer_count]);
    for (size_t i = 0; i < b->layer_count; i++) {
        bang_balance_layer layer = applied(&b->layers[i], &w->shares[i]);
        print_line(&layer, by_layer, w->layers[i], &w->shares[i]);
    }
    model.confidence = w->result.confidence;
    print_line(&model, by_layer, output, NULL);
    if (w->labelled == 0)
        return;
    printf("accuracy on ");
    print_inputs(w, &w->id, w->labelled);
    printf(": pre-trained %.2f %%, fine-tuned %.2f %%, result %.2f %%\n", 100 * w->pre.accuracy,
           100 * w->fine.accuracy, 100 * w->result.accuracy);
}

void balance_print_plan(const balance_work *w)
{
    size_t passes = balance_passes(w), models = w->changed_count ? 2 : 1;
    printf("balance on ");
    print_inputs(w, measured(w), measured(w)->kept);
    printf("\n        %zu of %zu layers differ: %zu model%s, %zu hybrids and the result are "
           "measured\n",
           w->changed_count, w->layer_count, models, models == 1 ? "" : "s", passes - models);
    if (w->pair.match != PREDICT_NO_MATCH && !w->on_id) {
        printf("        accuracy on ");
        print_inputs(w, &w->id, w->id.kept);
        printf("\n");
    }
}

static json_t *three(double pre, double fine, double result)
{
    return json_pack("{so so so}", "pre", bang_json_number(pre), "fine", bang_json_number(fine),
                     "result", bang_json_number(result));
}

json_t *balance_json(const balance_work *w)
{
    const bang_balance *b = &w->found;
    json_t *layers = json_array();
    bang_balance_layer all = whole(w);
    for (size_t i = 0; i < b->layer_count; i++) {
        bang_balance_layer l = applied(&b->layers[i], &w->shares[i]);
        json_array_append_new(
            layers, json_pack("{ss sb so so so so so sI sI}", "name", w->layers[i], "measured",
                              w->used[i], "confidence", bang_json_number(l.confidence), "without",
                              bang_json_number(l.without), "tau", bang_json_number(l.tau), "alpha",
                              bang_json_number(l.alpha), "scale", bang_json_number(l.scale),
                              "tensors", (json_int_t)w->shares[i].tensors, "by_rule",
                              (json_int_t)w->shares[i].by_rule));
    }
    json_t *accuracy =
        w->labelled ? three(w->pre.accuracy, w->fine.accuracy, w->result.accuracy) : json_null();
    json_t *out = json_pack("{so so so so so so sI}", "confidence",
                            three(b->confidence, b->whole.confidence, w->result.confidence), "tau",
                            bang_json_number(all.tau), "alpha", bang_json_number(all.alpha),
                            "scale", bang_json_number(all.scale), "layers", layers, "accuracy",
                            accuracy, "inputs", (json_int_t)measured(w)->rows);
    json_object_set_new(out, "id_inputs", json_integer((json_int_t)w->labelled));
    json_object_set_new(out, "tensors",
                        json_integer((json_int_t)w->shares[w->layer_count].tensors));
    json_object_set_new(out, "by_rule",
                        json_integer((json_int_t)w->shares[w->layer_count].by_rule));
    return out;
}

/* A data set or file without its folder: equal work gives equal bytes. */
static json_t *name_json(const char *path)
{
    size_t end = path ? strlen(path) : 0;
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t from = end;
    while (from > 0 && path[from - 1] != '/')
        from--;
    return path ? json_stringn(path + from, end - from) : json_null();
}

/* Options that were typed, by their names. */
static void add_pictures(json_t *out, const picture_options *p)
{
    const struct {
        const char *name, *text;
    } texts[] = {{"mean", p->mean_text},
                 {"std", p->std_text},
                 {"crop", p->crop_text},
                 {"gelu", p->gelu_text},
                 {"on_bad_image", p->bad_text}};
    if (p->size)
        json_object_set_new(out, "image_size", json_integer((json_int_t)p->size));
    if (p->heads)
        json_object_set_new(out, "heads", json_integer((json_int_t)p->heads));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text)
            json_object_set_new(out, texts[i].name, json_string(texts[i].text));
}

json_t *balance_measured_json(const balance_work *w)
{
    const balance_pool *pool = measured(w);
    json_t *sources = json_array();
    for (size_t i = 0; i < w->r->source_count; i++)
        json_array_append_new(sources, name_json(w->r->sources[i]));
    json_t *out = json_pack("{so so sI sI sI so}", "id", name_json(w->r->id), "unlabelled", sources,
                            "inputs", (json_int_t)pool->rows, "of", (json_int_t)pool->found, "seed",
                            (json_int_t)w->c->seed, "head", name_json(w->r->head));
    add_pictures(out, &w->r->pictures);
    return out;
}

json_t *balance_plan_json(const balance_work *w)
{
    return json_pack("{sI sI sI sI}", "inputs", (json_int_t)measured(w)->kept, "passes",
                     (json_int_t)balance_passes(w) + 1, "layers", (json_int_t)w->layer_count,
                     "layers_that_differ", (json_int_t)w->changed_count);
}
