/* From what was typed to what it means. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "average.h"

/* Numbers between commas, each with its text; returns how many, 0 if one is
 * none. The caller frees the list and its texts. */
static size_t read_list(typed **out, const char *text)
{
    size_t count = 1, i = 0;
    for (const char *c = text; *c; c++)
        count += *c == ',';
    typed *list = calloc(count + 1, sizeof *list);
    *out = list;
    for (const char *at = text; list && i < count; i++) {
        size_t length = strcspn(at, ",");
        list[i].text = strndup(at, length);
        if (!list[i].text || bang_text_to_double(&list[i].value, list[i].text) < 0)
            return 0;
        at += length + 1;
    }
    return list ? count : 0;
}

static void free_list(typed *list)
{
    for (size_t i = 0; list && list[i].text; i++)
        free(list[i].text);
    free(list);
}

/* The number of a name in a list that ends with NULL; a problem if it is not there. */
static int choose(cli *c, const char *option, const char *value, const char *const *names,
                  const char *advice)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    cli_problem(c, "--%s %.40s: unknown: choose %s", option, value, advice);
    return 0;
}

static void check_names(cli *c, average_request *r)
{
    static const char *const methods[] = {"linear", "slerp",  "task",   "ties",    "dare",
                                          "stock",  "fisher", "greedy", "uniform", NULL};
    static const char *const balances[] = {"norm", "layer-norm", "confidence", "layer-confidence",
                                           NULL};
    static const char *const scopes[] = {"tensor", "layer", "model", NULL};
    static const char *const integers[] = {"error", "first", "last", NULL};
    static const char *const missing[] = {"error", "keep", "drop", NULL};
    bang_average_options *o = &r->options;
    int method = choose(c, "method", r->method, methods,
                        "linear, slerp, task, ties, dare, stock, fisher or greedy");
    r->greedy = method == 7;
    o->method = (bang_average_method)(method >= 7 ? 0 : method);
    int balance = r->balance ? choose(c, "balance", r->balance, balances,
                                      "norm, layer-norm, confidence or layer-confidence")
                             : -1;
    if (balance >= 2)
        r->confidence.kind = balance == 2 ? BALANCE_WHOLE : BALANCE_LAYERS;
    else
        o->balance = (bang_average_balance)(1 + balance);
    if (r->scope)
        o->scope = (bang_average_scope)(1 + choose(c, "scope", r->scope, scopes,
                                                   "tensor, layer or model"));
    o->on_integer = (bang_average_choice)choose(c, "on-integer", r->on_integer, integers,
                                                "error, first or last");
    o->on_missing = (bang_average_missing)choose(c, "on-missing", r->on_missing, missing,
                                                 "error, keep or drop");
}

/* What fits which method. */
static void check_method(cli *c, average_request *r)
{
    bang_average_options *o = &r->options;
    size_t inputs = r->inputs.count;
    int base = o->method == BANG_AVERAGE_TASK || o->method == BANG_AVERAGE_TIES ||
               o->method == BANG_AVERAGE_DARE || o->method == BANG_AVERAGE_STOCK;
    if (inputs < (base ? 1U : 2U))
        cli_problem(c, "inputs: %zu: name at least %s", inputs, base ? "one" : "two checkpoints");
    if (o->method == BANG_AVERAGE_SLERP && inputs > 2)
        cli_problem(c, "--method slerp: %zu inputs: it is made for two", inputs);
    if (base && r->base.count == 0)
        cli_problem(c, "--base: missing: --method %s needs what the inputs were fine-tuned from",
                    r->method);
    if (!base && r->base.count > 0)
        cli_problem(c,
                    "--base: --method %s has no use for it: leave it out, or choose task, ties, "
                    "dare or stock",
                    r->method);
    if (r->base.count > 1)
        cli_problem(c, "--base: given %zu times: there is one", r->base.count);
    if (o->method == BANG_AVERAGE_FISHER && r->fishers.count != inputs)
        cli_problem(c, "--fisher: %zu for %zu inputs: give one for each, in their order",
                    r->fishers.count, inputs);
    if (o->method != BANG_AVERAGE_FISHER && r->fishers.count > 0)
        cli_problem(c, "--fisher: only for --method fisher");
    if (r->greedy && !r->score)
        cli_problem(c, "--score: missing: greedy needs a command that prints a number for {}");
    if (r->score && !r->greedy && !(r->alpha && strchr(r->alpha, ',')))
        cli_problem(c, "--score: chooses among several: give --method greedy or some alphas");
    if (r->greedy && (r->alpha || r->weights || r->rule_count))
        cli_problem(c, "--method greedy: chooses the weights itself: leave out --alpha, --weights "
                       "and --rule");
    if (o->method == BANG_AVERAGE_STOCK && (r->alpha || r->weights || r->rule_count))
        cli_problem(c, "--method stock: finds the weights itself: leave out --alpha, --weights and "
                       "--rule");
    if (r->balance && (o->method != BANG_AVERAGE_LINEAR || r->greedy))
        cli_problem(c, "--balance: only for --method linear");
    if (r->confidence.kind != BALANCE_NOT && (r->alpha || r->weights || r->score))
        cli_problem(c,
                    "--balance %s: finds the weights itself: leave out --alpha, --weights and "
                    "--score",
                    r->balance);
    if (!isnan(r->target) && o->balance == BANG_BALANCE_NONE)
        cli_problem(c, "--target: only with --balance norm and layer-norm");
    if (!isnan(r->target) && !(r->target >= 0))
        cli_problem(c, "--target %g: must be 0 or more", r->target);
    if (r->scale != 1 && (!base || o->method == BANG_AVERAGE_STOCK))
        cli_problem(c, "--scale: only for --method task, ties and dare");
    if (r->density != 0.2 && o->method != BANG_AVERAGE_TIES)
        cli_problem(c, "--density: only for --method ties");
    if (!(r->density > 0 && r->density <= 1))
        cli_problem(c, "--density %g: must be above 0 and at most 1", r->density);
    if (r->drop != 0.9 && o->method != BANG_AVERAGE_DARE)
        cli_problem(c, "--drop: only for --method dare");
    if (!(r->drop >= 0 && r->drop < 1))
        cli_problem(c, "--drop %g: must be at least 0 and below 1", r->drop);
    if (o->scope != BANG_SCOPE_USUAL && o->method != BANG_AVERAGE_SLERP &&
        o->method != BANG_AVERAGE_STOCK && o->method != BANG_AVERAGE_TIES)
        cli_problem(c, "--scope: only for --method slerp, stock and ties");
}

/* The weights that one alpha gives: of two, or of one beside a base. */
static void from_alpha(double *weights, double alpha, size_t inputs)
{
    if (inputs == 2)
        weights[0] = 1 - alpha;
    weights[inputs - 1] = alpha;
}

/* That the method can use these weights. */
static void check_usable(cli *c, const average_request *r, const double *weights)
{
    if (r->options.method == BANG_AVERAGE_SLERP && r->inputs.count == 2 &&
        fabs(weights[0] + weights[1] - 1) > 1e-6)
        cli_problem(c, "weights %g and %g: --method slerp needs 1 - alpha and alpha: give --alpha",
                    weights[0], weights[1]);
    if (r->options.method != BANG_AVERAGE_TIES && r->options.method != BANG_AVERAGE_FISHER)
        return;
    for (size_t i = 0; i < r->inputs.count; i++)
        if (weights[i] < 0) {
            cli_problem(c, "weight %g: --method %s takes none below 0", weights[i], r->method);
            return;
        }
}

static void check_rules(cli *c, average_request *r)
{
    size_t inputs = r->inputs.count;
    r->made_rules = calloc(r->rule_count + 1, sizeof *r->made_rules);
    for (size_t k = 0; r->made_rules && k < r->rule_count; k++) {
        const char *text = r->rules[k], *equal = strrchr(text, '=');
        typed *list = NULL;
        size_t count = equal ? read_list(&list, equal + 1) : 0;
        double *weights = calloc(inputs + 1, sizeof *weights);
        char *glob = equal ? strndup(text, (size_t)(equal - text)) : NULL;
        r->made_rules[k] = (bang_average_rule){.glob = glob, .weights = weights};
        if (!equal || count == 0 || equal == text)
            cli_problem(c, "--rule %.200s: not understood: write GLOB=A such as 'head.*=0.3'",
                        text);
        else if (weights && count == 1 && inputs <= 2 && inputs > 0)
            from_alpha(weights, list[0].value, inputs);
        else if (count != inputs)
            cli_problem(c, "--rule %.200s: %zu weights for %zu inputs: give one for each", text,
                        count, inputs);
        for (size_t i = 0; weights && i < inputs && count == inputs && (count > 1 || inputs > 2);
             i++)
            weights[i] = list[i].value;
        if (weights && glob)
            check_usable(c, r, weights);
        free_list(list);
    }
    r->options.rules = r->made_rules;
    r->options.rule_count = r->made_rules ? r->rule_count : 0;
}

static void check_alphas(cli *c, average_request *r)
{
    size_t inputs = r->inputs.count;
    typed *list = NULL;
    size_t count = read_list(&list, r->alpha);
    if (count == 0)
        cli_problem(c, "--alpha %.80s: not understood: write numbers such as 0.5 or 0,0.5,1",
                    r->alpha);
    if (inputs > 2)
        cli_problem(c, "--alpha: %zu inputs: give --weights, one for each", inputs);
    if (count > 1 && !r->score && r->output && !strstr(r->output, "{alpha}"))
        cli_problem(c, "--output %.200s: %zu alphas need as many names: put {alpha} into it",
                    r->output, count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[i].text, list[k].text) == 0)
                cli_problem(c, "--alpha: %s is there twice", list[i].text);
    r->paths = calloc(count + 1, sizeof *r->paths);
    r->texts = calloc(count + 1, sizeof *r->texts);
    r->all_weights = calloc(count * inputs + 1, sizeof *r->all_weights);
    if (r->paths && r->texts && r->all_weights && r->output && inputs > 0 && inputs <= 2) {
        for (size_t i = 0; i < count; i++) {
            r->paths[i] = cli_with_alpha(r->output, list[i].text);
            r->texts[i] = strdup(list[i].text);
            from_alpha(r->all_weights + i * inputs, list[i].value, inputs);
            check_usable(c, r, r->all_weights + i * inputs);
        }
        r->options.output_count = r->path_count = count;
    }
    free_list(list);
}

/* One output: the weights as given, or each 1/n. */
static void check_weights(cli *c, average_request *r)
{
    size_t inputs = r->inputs.count;
    typed *list = NULL;
    size_t count = r->weights ? read_list(&list, r->weights) : inputs;
    r->paths = calloc(2, sizeof *r->paths);
    r->all_weights = calloc(inputs + 1, sizeof *r->all_weights);
    if (count == 0 && inputs > 0)
        cli_problem(c, "--weights %.80s: not understood: write numbers such as 0.2,0.8",
                    r->weights);
    else if (count != inputs)
        cli_problem(c, "--weights: %zu for %zu inputs: give one for each", count, inputs);
    for (size_t i = 0; r->all_weights && i < inputs && count == inputs; i++)
        r->all_weights[i] = list ? list[i].value : 1 / (double)inputs;
    if (r->all_weights)
        check_usable(c, r, r->all_weights);
    if (r->paths && r->output)
        r->paths[0] = strdup(r->output);
    if (r->output && strstr(r->output, "{alpha}"))
        cli_problem(c, "--output %.200s: {alpha} is only for --alpha", r->output);
    r->options.output_count = r->path_count = 1;
    free_list(list);
}

void average_check(cli *c, average_request *r)
{
    bang_error err = {0};
    bang_average_options *o = &r->options;
    *o = (bang_average_options)BANG_AVERAGE_OPTIONS_INIT;
    for (size_t i = 0; i < c->operand_count; i++)
        if (checkpoints_read(&r->inputs, c->operands[i], &err) < 0)
            cli_problem(c, "%s", err.message);
    if (!r->output || !*r->output)
        cli_problem(c, "--output: missing: say where to write with -o OUT");
    check_names(c, r);
    check_method(c, r);
    balance_check(c, &r->confidence, r->balance, r->inputs.count);
    if (r->alpha && r->weights)
        cli_problem(c, "--alpha and --weights: both are given: leave one out");
    if (r->alpha)
        check_alphas(c, r);
    else
        check_weights(c, r);
    check_rules(c, r);
    int whole = r->paths && r->all_weights && r->made_rules && (!r->alpha || r->texts);
    for (size_t i = 0; whole && r->output && i < r->path_count; i++)
        whole = r->paths[i] && (!r->alpha || r->texts[i]);
    for (size_t i = 0; whole && i < r->rule_count; i++)
        whole = r->made_rules[i].glob && r->made_rules[i].weights;
    if (!whole && c->problems.size == 0) /* a problem keeps some from being made */
        cli_starve(c);
    o->weights = r->all_weights;
    o->paths = (const char *const *)r->paths;
    o->weight_text = (const char *const *)r->texts;
    o->scale = r->scale;
    o->density = r->density;
    o->drop = r->drop;
    o->target = isnan(r->target) ? -1 : r->target;
    o->seed = (uint64_t)c->seed;
    o->dtype = r->dtype;
    o->allow_nan = r->allow_nan;
    o->hash = r->hash;
    o->shard_size = r->shard_size;
}

void average_release(average_request *r)
{
    for (size_t i = 0; i < r->path_count; i++) {
        if (r->paths)
            free(r->paths[i]);
        if (r->texts)
            free(r->texts[i]);
    }
    for (size_t i = 0; r->made_rules && i < r->rule_count; i++) {
        free((void *)r->made_rules[i].glob);
        free((void *)r->made_rules[i].weights);
    }
    free((void *)r->paths);
    free((void *)r->texts);
    free(r->all_weights);
    free(r->made_rules);
    free((void *)r->rules);
    balance_request_release(&r->confidence);
    checkpoints_release(&r->inputs);
    checkpoints_release(&r->base);
    checkpoints_release(&r->fishers);
}
