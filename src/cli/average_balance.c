/* An average whose weights are found by confidence. */
#include <math.h>
#include <stdlib.h>

#include "average.h"
#include "balance_work.h"
#include "bang/base/json.h"

/* The weights that were found, as rules for layers, before those of the user. */
static int make_rules(balance_work *w, average_request *r, bang_error *err)
{
    const bang_balance *b = &w->found;
    w->weights = calloc(2 * b->layer_count + 1, sizeof *w->weights);
    w->rules = calloc(b->layer_count + r->rule_count + 1, sizeof *w->rules);
    if (!w->weights || !w->rules)
        return bang_fail_memory(err);
    for (size_t i = 0; i < b->layer_count; i++) {
        double *weights = w->weights + 2 * i, alpha = b->layers[i].alpha;
        weights[0] = 1 - alpha;
        weights[1] = alpha;
        w->rules[i] = (bang_average_rule){w->layers[i], weights, 1};
    }
    for (size_t i = 0; i < r->rule_count; i++)
        w->rules[b->layer_count + i] = r->made_rules[i];
    r->options.rules = w->rules;
    r->options.rule_count = b->layer_count + r->rule_count;
    return 0;
}

/* How the weights were found, for the metadata. */
static int make_recipe(balance_work *w, average_request *r, bang_error *err)
{
    const bang_balance *b = &w->found;
    json_t *layers = json_object();
    for (size_t i = 0; i < b->layer_count; i++)
        json_object_set_new(layers, w->layers[i], bang_json_number(b->layers[i].scale));
    w->recipe =
        json_pack("{ss s{so so} so}", "balance", r->balance, "confidence", "pre",
                  bang_json_number(b->confidence), "fine", bang_json_number(b->whole.confidence),
                  "tau", bang_json_number(b->whole.tau));
    if (b->layer_count)
        json_object_set(w->recipe, "scales", layers);
    else
        json_object_set_new(w->recipe, "scale", bang_json_number(b->whole.scale));
    json_decref(layers);
    r->options.recipe = w->recipe;
    return w->recipe ? 0 : bang_fail_memory(err);
}

int average_balance(cli *c, average_request *r, balance_work **out)
{
    bang_error err = {0};
    balance_work *w = *out = balance_new(c, &r->confidence);
    if (!w) {
        bang_fail_memory(&err);
        return cli_fail(c, &err);
    }
    int status = average_plan_all(c, r);
    if (status == CLI_DONE)
        status = balance_load(w, r->options.inputs, r->inputs.paths);
    if (status != CLI_DONE)
        return status;
    if (r->dry_run) {
        r->all_weights[0] = r->all_weights[1] = NAN;
        return CLI_DONE;
    }
    status = balance_find(w);
    if (status != CLI_DONE)
        return status;
    double alpha = r->confidence.kind == BALANCE_LAYERS ? 0.5 : w->found.whole.alpha;
    r->all_weights[0] = 1 - alpha;
    r->all_weights[1] = alpha;
    int rc = make_rules(w, r, &err);
    if (rc == 0)
        rc = make_recipe(w, r, &err);
    return rc < 0 ? cli_fail(c, &err) : CLI_DONE;
}
