/* What the lab trains: the ways of fine-tuning, the grid, the recipes. */
#include <string.h>

#include "bang/base/json.h"
#include "lab/shift_unit.h"

const char *const shift_set_names[SHIFT_SETS] = {"ID", "V2", "R", "A", "S", "O"};
const char shift_unit_prefix[] = "lab/seed-";
const char shift_section[] = "BANG end to end (section 4, appendices D and E)";
const double shift_alphas[SHIFT_ALPHAS] = {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1};

enum { MAIN = 500, LONG = 1200 };
#define MAIN_RATE 5e-4
#define LONG_RATE 1e-3
#define MIXUP 0.2 /* Beta(.2, .2) */

static const shift_method methods[] = {
    {"vanilla", "Vanilla", 0, 0, NULL, MAIN_RATE, MAIN, 1},
    {"ls-05", "LS(0.05)", .05, 0, NULL, MAIN_RATE, MAIN, 0},
    {"ls-10", "LS(0.10)", .10, 0, NULL, MAIN_RATE, MAIN, 1},
    {"ls-15", "LS(0.15)", .15, 0, NULL, MAIN_RATE, MAIN, 0},
    {"ls-20", "LS(0.20)", .20, 0, NULL, MAIN_RATE, MAIN, 0},
    {"mixup", "Mixup", 0, MIXUP, NULL, MAIN_RATE, MAIN, 1},
    {"mixup-ls-05", "Mixup + LS(0.05)", .05, MIXUP, NULL, MAIN_RATE, MAIN, 0},
    {"mixup-ls-10", "Mixup + LS(0.10)", .10, MIXUP, NULL, MAIN_RATE, MAIN, 1},
    {"mixup-ls-15", "Mixup + LS(0.15)", .15, MIXUP, NULL, MAIN_RATE, MAIN, 0},
    {"mixup-ls-20", "Mixup + LS(0.20)", .20, MIXUP, NULL, MAIN_RATE, MAIN, 0},
    {"flip", "Flip", 0, 0, "flip", MAIN_RATE, MAIN, 0},
    {"rotate", "Rotate", 0, 0, "rotate", MAIN_RATE, MAIN, 0},
    {"color", "Color", 0, 0, "color", MAIN_RATE, MAIN, 1},
    {"long-vanilla", "Vanilla, long", 0, 0, NULL, LONG_RATE, LONG, 1},
    {"long-ls-10", "LS(0.10), long", .10, 0, NULL, LONG_RATE, LONG, 0},
    {"long-mixup", "Mixup, long", 0, MIXUP, NULL, LONG_RATE, LONG, 0},
    {"long-mixup-ls-10", "Mixup + LS(0.10), long", .10, MIXUP, NULL, LONG_RATE, LONG, 1},
};

const shift_method *shift_methods(size_t *count)
{
    *count = sizeof methods / sizeof *methods;
    return methods;
}

const char *shift_base(const shift_method *method)
{
    return method->steps == LONG ? "long-vanilla" : "vanilla";
}

/* Searching costs as much as most of a method's averages: it is done for what the paper holds
 * against each other, at the quick scale for plain fine-tuning alone. */
int shift_is_balanced(const shift_plan *plan, const shift_method *method)
{
    int plain = strcmp(method->name, shift_base(method)) == 0;
    int usual = method->smoothing <= 0 || (method->smoothing > .05 && method->smoothing < .15);
    return plain || (plan->full && !method->augment && usual);
}

static const double rates[] = {2.5e-4, 5e-4, 1e-3, 2e-3};
static const int lengths[] = {200, 400, 500, 600, 800, 1000};
/* Enough of the grid for a curve. */
static const shift_point quick_grid[] = {
    {2.5e-4, 200, BANG_COSINE}, {5e-4, 500, BANG_COSINE}, {1e-3, 500, BANG_COSINE},
    {1e-3, 800, BANG_STEP},     {2e-3, 200, BANG_COSINE}, {2e-3, 800, BANG_COSINE},
};

static void add_grid(shift_plan *plan, int full)
{
    size_t quick = sizeof quick_grid / sizeof *quick_grid;
    if (!full)
        memcpy(plan->grid, quick_grid, sizeof quick_grid);
    plan->grid_count = full ? 0 : quick;
    for (size_t r = 0; full && r < sizeof rates / sizeof *rates; r++)
        for (size_t s = 0; s < sizeof lengths / sizeof *lengths; s++)
            for (int k = 0; k < 2; k++)
                plan->grid[plan->grid_count++] =
                    (shift_point){rates[r], lengths[s], k ? BANG_STEP : BANG_COSINE};
}

static void limit_to(size_t *count, size_t most)
{
    *count = *count < most ? *count : most;
}

/* As many images as are wanted, or as there are. */
static void limit(size_t *count, const bang_mnist *mnist, bang_shift_kind kind,
                  bang_shift_split split)
{
    limit_to(count, bang_shift_count(mnist, kind, split));
}

shift_plan shift_plan_make(const bang_lab_options *options, const bang_mnist *mnist)
{
    enum { QUICK_SEEDS = 2, FULL_SEEDS = 6 };
    shift_plan plan = {.seed = options->seed,
                       .broad = 60000,
                       .tune = 3000,
                       .validation = 1000,
                       .test = 2500,
                       .unlabelled = 200,
                       .pre_steps = 2500,
                       .pre_batch = 128,
                       .batch = 64,
                       .shorten = 1,
                       .fashion = 1,
                       .maps = 1};
    plan.seeds = options->seeds ? options->seeds : options->full ? FULL_SEEDS : QUICK_SEEDS;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (options->full || methods[i].quick)
            plan.methods[plan.method_count++] = &methods[i];
    add_grid(&plan, options->full);
    plan.full = options->full;
    limit(&plan.broad, mnist, BANG_SHIFT_BROAD, BANG_SHIFT_TRAIN);
    limit(&plan.tune, mnist, BANG_SHIFT_ID, BANG_SHIFT_TRAIN);
    limit(&plan.validation, mnist, BANG_SHIFT_ID, BANG_SHIFT_VAL);
    for (int kind = BANG_SHIFT_ID; kind <= BANG_SHIFT_O; kind++)
        limit(&plan.test, mnist, (bang_shift_kind)kind, BANG_SHIFT_TEST);
    size_t spare = bang_shift_count(mnist, BANG_SHIFT_BROAD, BANG_SHIFT_TEST) / (SHIFT_SETS - 1);
    limit_to(&plan.unlabelled, spare ? spare : 1);
    return plan;
}

static json_t *common_options(const shift_plan *plan, const char *digest)
{
    json_t *names = json_array();
    for (size_t i = 0; i < plan->method_count; i++)
        json_array_append_new(names, json_string(plan->methods[i]->name));
    return json_pack("{s{sI sI sI sI sI} s{sI sI} sI sI so ss ss ss?}", "images", "broad",
                     (json_int_t)plan->broad, "tune", (json_int_t)plan->tune, "validation",
                     (json_int_t)plan->validation, "test", (json_int_t)plan->test, "unlabelled",
                     (json_int_t)plan->unlabelled, "pre", "steps", (json_int_t)plan->pre_steps,
                     "batch", (json_int_t)plan->pre_batch, "batch", (json_int_t)plan->batch,
                     "shorten", (json_int_t)plan->shorten, "methods", names, "mnist", digest,
                     "recipes", plan->recipes, "fashion", plan->clothes[0] ? plan->clothes : NULL);
}

json_t *shift_unit_options(const shift_plan *plan, size_t unit, const char *digest)
{
    json_t *out = common_options(plan, digest);
    uint64_t seed = plan->seed + unit;
    json_object_set_new(out, "unit", json_integer((json_int_t)unit));
    json_object_set_new(out, "seed", json_integer((json_int_t)seed));
    json_object_set_new(out, "grid", json_integer(unit == 0 ? (json_int_t)plan->grid_count : 0));
    return out;
}

json_t *shift_plan_options(const shift_plan *plan, const char *digest)
{
    json_t *out = common_options(plan, digest);
    json_object_set_new(out, "seeds", json_integer((json_int_t)plan->seeds));
    json_object_set_new(out, "seed", json_integer((json_int_t)plan->seed));
    json_object_set_new(out, "grid", json_integer((json_int_t)plan->grid_count));
    return out;
}

/* What all trainings share. They run on one thread each: that is fastest, and no bit depends
 * on how many there are. Fine-tunings of a seed see the images in one order, so that they
 * differ by the method alone. */
static void begin_recipe(bang_tune_options *out, const shift_plan *plan, size_t unit, int fine)
{
    *out = (bang_tune_options)BANG_TUNE_OPTIONS_INIT;
    bang_train_options *o = &out->train;
    o->loss = BANG_CROSS_ENTROPY;
    o->optimizer = BANG_ADAMW;
    o->beta1 = .9;
    o->beta2 = .999;
    o->epsilon = 1e-8;
    o->clip_norm = 1;
    o->schedule = BANG_COSINE;
    o->weight_decay = fine ? .1 : .05;
    o->batch = fine ? plan->batch : plan->pre_batch;
    o->seed = out->feed.seed = plan->seed + unit;
    o->stream = fine ? 1 : 0;
    out->threads = out->feed.threads = 1;
}

static void set_steps(bang_tune_options *out, uint64_t steps, double rate)
{
    out->train.steps = steps ? steps : 1;
    out->train.rate = rate;
    out->train.warmup = steps / 20;
}

void shift_recipe_pre(bang_tune_options *out, const shift_plan *plan, size_t unit)
{
    begin_recipe(out, plan, unit, 0);
    set_steps(out, plan->pre_steps, 2e-3);
}

int shift_recipe(bang_tune_options *out, const shift_plan *plan, const shift_method *method,
                 size_t unit, bang_error *err)
{
    begin_recipe(out, plan, unit, 1);
    set_steps(out, (uint64_t)(method->steps / plan->shorten), method->rate);
    out->train.label_smoothing = method->smoothing;
    out->train.mixup = method->mixup;
    return method->augment ? bang_transform_augment(&out->feed.transform, method->augment, err) : 0;
}

void shift_recipe_grid(bang_tune_options *out, const shift_plan *plan, const shift_point *point,
                       size_t unit)
{
    begin_recipe(out, plan, unit, 1);
    set_steps(out, (uint64_t)(point->steps / plan->shorten), point->rate);
    bang_train_options *o = &out->train;
    o->schedule = point->schedule;
    o->step_every = (o->steps - o->warmup + 2) / 3;
}

uint64_t shift_pictures(const bang_tune_options *options, size_t count)
{
    uint64_t steps = options->train.steps, batch = options->train.batch;
    batch = batch < count ? batch : count;
    uint64_t epoch = (count + batch - 1) / batch; /* steps; its last batch may be smaller */
    return steps / epoch * count + steps % epoch * batch;
}
