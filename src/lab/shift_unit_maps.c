/* Where the models of a seed look: a task of the last round. */
#include <string.h>

#include "lab/shift_unit.h"

static const bang_vit_model *model_of(const shift_run *run, const shift_seed *seed,
                                      const char *method)
{
    for (size_t m = 0; m < run->plan->method_count; m++)
        if (strcmp(run->plan->methods[m]->name, method) == 0)
            return &seed->fine[m];
    return NULL;
}

uint64_t shift_maps_cost(const shift_plan *plan)
{
    enum { MODELS = 4, KINDS = 2, THIRDS = 3 }; /* forward and backward */
    size_t images = plan->test < SHIFT_MAP_IMAGES ? plan->test : SHIFT_MAP_IMAGES;
    return plan->maps ? (uint64_t)images * SHIFT_SETS * MODELS * KINDS * THIRDS : 0;
}

int shift_measure_maps(shift_run *run, shift_seed *seed, bang_error *err)
{
    bang_vit_model average = {0};
    const bang_vit_model *pre = &seed->pre, *fine = model_of(run, seed, "vanilla");
    int rc = 0;
    if (run->plan->maps && fine) {
        seed->maps = json_object();
        rc = seed->maps ? shift_copy(&average, pre, err) : bang_fail_memory(err);
        if (rc == 0) {
            const bang_vit_model *models[] = {pre, fine, &average,
                                              model_of(run, seed, "mixup-ls-10")};
            shift_mix(average.vit.parameters, pre->vit.parameters, fine->vit.parameters, .5,
                      average.vit.map.count);
            rc = shift_maps(seed->maps, models, &seed->data, seed->unit == 0, run->options->cancel,
                            err);
        }
        bang_vit_model_release(&average);
    }
    shift_looked(run, shift_maps_cost(run->plan));
    return rc;
}
