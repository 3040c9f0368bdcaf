/* Where the models of the first seed look: the last chapter of the lab. */
#include <stdlib.h>
#include <string.h>

#include "lab/shift_unit.h"

static const char method_name[] = "vanilla";

typedef struct request {
    const shift_plan *plan;
    const bang_mnist *mnist;
    const bang_lab_options *options;
} request;

static int find_recipe(bang_tune_options *out, const shift_plan *plan, bang_error *err)
{
    for (size_t m = 0; m < plan->method_count; m++)
        if (strcmp(plan->methods[m]->name, method_name) == 0)
            return shift_recipe(out, plan, plan->methods[m], 0, err);
    return bang_fail(err, BANG_EUSAGE, "the lab: no method %s: nothing to look at", method_name);
}

/* The models are in the folder; those that somebody has removed since are made again. */
static int measure(json_t *result, json_t *show, void *context, bang_error *err)
{
    const request *r = context;
    bang_lab_options again = *r->options;
    again.resume = 1;
    again.progress = NULL;
    shift_run run = {.plan = r->plan, .mnist = r->mnist, .options = &again};
    shift_seed *seed = calloc(1, sizeof *seed);
    bang_vit_model average = {0};
    bang_tune_options recipe;
    (void)result;
    if (!seed)
        return bang_fail_memory(err);
    int rc = find_recipe(&recipe, r->plan, err);
    if (rc == 0)
        rc = shift_data_make(seed, &run, err);
    if (rc == 0)
        rc = shift_train_pre(&run, seed, err);
    if (rc == 0)
        rc = shift_train_fine(&run, seed, &seed->fine[0], method_name, &recipe, err);
    if (rc == 0)
        rc = shift_copy(&average, &seed->pre, err);
    if (rc == 0) {
        shift_mix(average.vit.parameters, seed->pre.vit.parameters, seed->fine[0].vit.parameters,
                  .5, average.vit.map.count);
        rc = shift_maps(show, &seed->pre, &seed->fine[0], &average, &seed->data, again.cancel, err);
    }
    bang_vit_model_release(&average);
    shift_seed_release(seed);
    free(seed);
    return rc;
}

int shift_run_maps(const shift_plan *plan, const bang_mnist *mnist, const bang_lab_options *options,
                   bang_error *err)
{
    request r = {plan, mnist, options};
    json_t *result = NULL;
    int rc = lab_measure(&result,
                         (lab_measurement){.experiment = "lab",
                                           .section = "The lab: where models look (section 2)",
                                           .key = "lab/maps",
                                           .options = shift_plan_options(plan, mnist->digest),
                                           .measure = measure,
                                           .context = &r},
                         options, err);
    json_decref(result);
    return rc;
}
