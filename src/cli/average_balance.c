/* An average whose weights are found by confidence. */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "average.h"
#include "balance_work.h"
#include "bang/base/json.h"
#include "bang/combine/layer.h"

static int has_rule(const average_request *r, const char *name)
{
    for (size_t i = 0; i < r->rule_count; i++)
        if (fnmatch(r->made_rules[i].glob, name, 0) == 0)
            return 1;
    return 0;
}

/* Which tensors have the weights that were found, and which those of the user's rules. */
static int count_shares(balance_work *w, const average_request *r, bang_error *err)
{
    const bang_checkpoint *first = r->options.inputs[0], *second = r->options.inputs[1];
    w->shares = calloc(w->layer_count + 1, sizeof *w->shares);
    if (!w->shares)
        return bang_fail_memory(err);
    for (size_t k = 0; k < first->count; k++) {
        const char *name = first->entries[k].name;
        size_t length = bang_layer_length(name), layer = 0;
        if (!bang_checkpoint_find(second, name))
            continue; /* a copy, or dropped */
        while (layer < w->layer_count &&
               (strlen(w->layers[layer]) != length || memcmp(w->layers[layer], name, length) != 0))
            layer++;
        balance_share *shares[] = {&w->shares[layer], &w->shares[w->layer_count]};
        int ruled = has_rule(r, name);
        for (size_t i = 0; i < (layer < w->layer_count ? 2U : 1U); i++) {
            shares[i]->tensors++;
            shares[i]->by_rule += ruled != 0;
        }
    }
    return 0;
}

/* Something is written with what was found for the layer. */
static int is_applied(const balance_work *w, size_t layer)
{
    return w->used[layer] && w->shares[layer].tensors > w->shares[layer].by_rule;
}

/* The weights that were found, as rules for layers, before those of the user. */
static int make_rules(balance_work *w, average_request *r, bang_error *err)
{
    const bang_balance *b = &w->found;
    size_t count = 0;
    w->weights = calloc(2 * b->layer_count + 1, sizeof *w->weights);
    w->rules = calloc(b->layer_count + r->rule_count + 1, sizeof *w->rules);
    if (!w->weights || !w->rules)
        return bang_fail_memory(err);
    for (size_t i = 0; i < b->layer_count; i++) {
        double *weights = w->weights + 2 * i, alpha = b->layers[i].alpha;
        if (!is_applied(w, i))
            continue;
        weights[0] = 1 - alpha;
        weights[1] = alpha;
        w->rules[count++] = (bang_average_rule){w->layers[i], weights, 1};
    }
    for (size_t i = 0; i < r->rule_count; i++)
        w->rules[count++] = r->made_rules[i];
    r->options.rules = w->rules;
    r->options.rule_count = count;
    return 0;
}

/* How the weights were found, for the metadata. */
static int make_recipe(balance_work *w, average_request *r, bang_error *err)
{
    const bang_balance *b = &w->found;
    const balance_share *all = &w->shares[w->layer_count];
    json_t *layers = json_object();
    for (size_t i = 0; i < b->layer_count; i++)
        if (is_applied(w, i))
            json_object_set_new(layers, w->layers[i], bang_json_number(b->layers[i].scale));
    w->recipe =
        json_pack("{ss s{so so} so so}", "balance", r->balance, "confidence", "pre",
                  bang_json_number(b->confidence), "fine", bang_json_number(b->whole.confidence),
                  "measured", balance_measured_json(w), "tau", bang_json_number(b->whole.tau));
    if (b->layer_count)
        json_object_set(w->recipe, "scales", layers);
    else
        json_object_set_new(w->recipe, "scale",
                            bang_json_number(all->tensors > all->by_rule ? b->whole.scale : NAN));
    json_decref(layers);
    r->options.recipe = w->recipe;
    return w->recipe ? 0 : bang_fail_memory(err);
}

/* All that is wrong, with the average and with the data, in one go. */
static int load(cli *c, const average_request *r, balance_work *w)
{
    int status = average_plan_all(c, r);
    if (status == CLI_INTERRUPTED)
        return status;
    int loaded = balance_load(w, r->inputs.paths);
    if (status == CLI_DONE)
        status = loaded;
    return status == CLI_DONE ? balance_prepare(w, r->options.inputs[0]) : status;
}

int average_balance(cli *c, average_request *r, balance_work **out)
{
    bang_error err = {0};
    balance_work *w = *out = balance_new(c, &r->confidence);
    if (!w) {
        bang_fail_memory(&err);
        return cli_fail(c, &err);
    }
    int status = load(c, r, w);
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
    int rc = count_shares(w, r, &err);
    if (rc == 0)
        rc = make_rules(w, r, &err);
    if (rc == 0)
        rc = make_recipe(w, r, &err);
    return rc < 0 ? cli_fail(c, &err) : CLI_DONE;
}
