/* What a run depends on beyond the numbers of its plan, as digests: a run that goes on must not
 * mix records of two recipes, of two renderers, or of runs with clothes and without. */
#include <stdlib.h>
#include <string.h>

#include "lab/shift_unit.h"

enum { SAMPLE = 16 }; /* images of each part: enough to tell two renderers apart */

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

static void add_bytes(bang_text *text, const bang_images *images, int *rc, bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    const bang_array *a = &images->memory.inputs;
    if (*rc == 0)
        *rc = bang_digest_bytes(digest, a->data, bang_dtype_size(a->dtype) * a->count, err);
    if (*rc == 0)
        bang_text_add(text, "%s\n", digest);
}

static void add_recipe(bang_text *text, const char *name, bang_vit_model *model,
                       const bang_images *images, const bang_tune_options *options, int *rc,
                       bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    if (*rc == 0)
        *rc = bang_tune_digest(digest, model, images, NULL, options, err);
    if (*rc == 0)
        bang_text_add(text, "%s %s\n", name, digest);
}

/* A line for each training of the first seed, on a sample of its images, and for each part. */
static int describe(bang_text *text, const shift_plan *plan, shift_seed *seed, bang_error *err)
{
    bang_vit_model model = {0};
    bang_tune_options o;
    int rc = shift_make_model(&model, plan->seed, err);
    shift_recipe_pre(&o, plan, 0);
    add_recipe(text, "pre", &model, &seed->data.broad, &o, &rc, err);
    for (size_t m = 0; rc == 0 && m < plan->method_count; m++) {
        rc = shift_recipe(&o, plan, plan->methods[m], 0, err);
        add_recipe(text, plan->methods[m]->name, &model, &seed->data.tune, &o, &rc, err);
        bang_text_add(text, "balanced %d\n", shift_is_balanced(plan, plan->methods[m]));
    }
    for (size_t p = 0; rc == 0 && p < plan->grid_count; p++) {
        shift_recipe_grid(&o, plan, &plan->grid[p], 0);
        add_recipe(text, "curve", &model, &seed->data.tune, &o, &rc, err);
    }
    bang_text_add(text, "maps %d\n", plan->maps);
    for (size_t part = 0; part < SHIFT_PARTS; part++)
        add_bytes(text, shift_part(seed, part), &rc, err);
    bang_vit_model_release(&model);
    return rc;
}

static int seal_recipes(shift_plan *plan, const bang_mnist *mnist, const bang_lab_options *options,
                        bang_error *err)
{
    shift_plan few = *plan;
    few.broad = at_most(few.broad, SAMPLE);
    few.tune = at_most(few.tune, SAMPLE);
    few.validation = at_most(few.validation, SAMPLE);
    few.test = at_most(few.test, SAMPLE);
    few.unlabelled = at_most(few.unlabelled, SAMPLE);
    shift_run run = {.plan = &few, .mnist = mnist, .options = options};
    shift_seed *seed = calloc(1, sizeof *seed);
    bang_text text = {0};
    int rc = seed ? shift_data_make(seed, &run, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = describe(&text, plan, seed, err);
    if (rc == 0)
        rc = text.failed ? bang_fail_memory(err)
                         : bang_digest_bytes(plan->recipes, text.data, text.size, err);
    if (seed)
        shift_seed_release(seed);
    free(seed);
    bang_text_release(&text);
    return rc;
}

/* Clothes that are not there are left out, with a word in the records; torn ones are an error,
 * before any work. */
static int seal_clothes(shift_plan *plan, bang_error *err)
{
    bang_mnist clothes;
    bang_error why = {0};
    plan->clothes[0] = '\0';
    int rc = plan->fashion ? bang_fashion_open(&clothes, &why) : BANG_EIO;
    if (rc == BANG_EIO)
        return 0;
    if (rc < 0)
        return bang_fail(err, rc, "%s", why.message);
    memcpy(plan->clothes, clothes.digest, sizeof plan->clothes);
    bang_mnist_release(&clothes);
    return 0;
}

int shift_plan_seal(shift_plan *plan, const bang_mnist *mnist, const bang_lab_options *options,
                    bang_error *err)
{
    int rc = seal_clothes(plan, err);
    return rc < 0 ? rc : seal_recipes(plan, mnist, options, err);
}
