/* The grid of appendix H: vanilla fine-tuning at many rates, lengths and schedules, each
 * averaged at 1/2. */
#include <stdio.h>
#include <stdlib.h>

#include "bang/base/json.h"
#include "lab/shift_unit.h"

static json_t *accuracies(const shift_seed *seed, const float *logits, uint8_t *classes)
{
    double row[SHIFT_SETS];
    shift_classes(classes, logits, seed->first[SHIFT_SETS]);
    for (size_t s = 0; s < SHIFT_SETS; s++)
        row[s] = shift_accuracy(classes + seed->first[s], shift_part(seed, s));
    return lab_numbers(row, SHIFT_SETS);
}

int shift_measure_point(shift_run *run, shift_seed *seed, size_t point, bang_error *err)
{
    const shift_point *p = &run->plan->grid[point];
    const char *schedule = p->schedule == BANG_STEP ? "step" : "cosine";
    const bang_vit *pre = &seed->pre.vit;
    size_t tests = seed->first[SHIFT_SETS];
    char name[64];
    bang_tune_options options;
    bang_vit_model fine = {0};
    json_t *fine_row = NULL, *avg_row = NULL;
    snprintf(name, sizeof name, "curve-%g-%d-%s", p->rate, p->steps, schedule);
    shift_recipe_grid(&options, run->plan, p, seed->unit);
    int rc = shift_train_fine(run, seed, &fine, name, &options, err);
    float *logits = calloc(tests * BANG_SHIFT_CLASSES, sizeof *logits);
    float *mixed = aligned_alloc(64, (pre->map.count * sizeof(float) + 63) / 64 * 64);
    uint8_t *classes = malloc(tests + 1);
    if (rc == 0 && (!logits || !mixed || !classes))
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = shift_look(logits, NULL, run, seed, fine.vit.parameters, 0, SHIFT_SETS, err);
    if (rc == 0) {
        fine_row = accuracies(seed, logits, classes);
        shift_mix(mixed, pre->parameters, fine.vit.parameters, .5, pre->map.count);
        rc = shift_look(logits, NULL, run, seed, mixed, 0, SHIFT_SETS, err);
    }
    if (rc == 0)
        avg_row = accuracies(seed, logits, classes);
    if (rc == 0 &&
        !(seed->grid[point] = json_pack("{so sI ss sO sO}", "rate", bang_json_number(p->rate),
                                        "steps", (json_int_t)p->steps, "schedule", schedule, "fine",
                                        fine_row, "avg", avg_row)))
        rc = bang_fail_memory(err);
    json_decref(fine_row);
    json_decref(avg_row);
    free(logits);
    free(mixed);
    free(classes);
    bang_vit_model_release(&fine);
    return rc;
}
