/* Balance by confidence: what is said about it, to people and to scripts. */
#include <math.h>
#include <stdio.h>

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

static void print_line(const bang_balance_layer *l, int by_layer, const char *name)
{
    printf("%10.4f", l->confidence);
    if (by_layer && isnan(l->without))
        printf(" %10s", "");
    else if (by_layer)
        printf(" %10.4f", l->without);
    if (isnan(l->tau))
        printf(" %10s %10s %10s  ", "", "", "");
    else
        printf(" %10.5g %10.5f %10.5f  ", l->tau, l->alpha, l->scale);
    cli_print_clean(name);
    printf("\n");
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
    print_line(&model, by_layer, w->pair.models[0].path);
    bang_balance_layer fine = b->whole;
    fine.without = NAN;
    print_line(&fine, by_layer, w->pair.models[1].path);
    for (size_t i = 0; i < b->layer_count; i++)
        print_line(&b->layers[i], by_layer, w->layers[i]);
    model.confidence = w->result.confidence;
    print_line(&model, by_layer, output);
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
    for (size_t i = 0; i < b->layer_count; i++) {
        const bang_balance_layer *l = &b->layers[i];
        json_array_append_new(layers, json_pack("{ss so so so so so}", "name", w->layers[i],
                                                "confidence", bang_json_number(l->confidence),
                                                "without", bang_json_number(l->without), "tau",
                                                bang_json_number(l->tau), "alpha",
                                                bang_json_number(l->alpha), "scale",
                                                bang_json_number(l->scale)));
    }
    json_t *accuracy =
        w->labelled ? three(w->pre.accuracy, w->fine.accuracy, w->result.accuracy) : json_null();
    json_t *out =
        json_pack("{so so so so so so sI}", "confidence",
                  three(b->confidence, b->whole.confidence, w->result.confidence), "tau",
                  bang_json_number(b->whole.tau), "alpha", bang_json_number(b->whole.alpha),
                  "scale", bang_json_number(b->whole.scale), "layers", layers, "accuracy", accuracy,
                  "inputs", (json_int_t)measured(w)->rows);
    json_object_set_new(out, "id_inputs", json_integer((json_int_t)w->labelled));
    return out;
}

json_t *balance_plan_json(const balance_work *w)
{
    return json_pack("{sI sI sI sI}", "inputs", (json_int_t)measured(w)->kept, "passes",
                     (json_int_t)balance_passes(w) + 1, "layers", (json_int_t)w->layer_count,
                     "layers_that_differ", (json_int_t)w->changed_count);
}
