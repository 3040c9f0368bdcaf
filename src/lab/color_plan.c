/* What is trained under each protocol. */
#include <string.h>

#include "bang/base/json.h"
#include "lab/color.h"

const double color_shifts[COLOR_SHIFTS] = {0, .1, .2, .3, .4, .5, .6, .7, .75, .8, .85, .9};
const int color_sizes[COLOR_SIZES] = {1, 2, 4, 8, 16};

enum { FULL_SEEDS = 20, FULL_MODELS = 16 };

color_plan color_plan_make(const bang_lab_options *options, int single, size_t quick_seeds,
                           size_t quick_models)
{
    return (color_plan){
        .single = single,
        .loss = BANG_MSE,
        .protocol = options->protocol,
        .seeds = options->seeds  ? options->seeds
                 : options->full ? FULL_SEEDS
                                 : quick_seeds,
        .models = options->models ? options->models
                  : options->full ? FULL_MODELS
                                  : quick_models,
        .seed = options->seed,
    };
}

/* Which weights a model starts from and the order in which it sees the data
 * depend on the stream: with one data draw for all, units follow each other. */
uint64_t color_stream(const color_plan *plan, size_t i, size_t model)
{
    return plan->protocol == BANG_COLOR_PUBLISHED ? i * 4096 + model : model;
}

uint64_t color_data_seed(const color_plan *plan, size_t i)
{
    return plan->protocol == BANG_COLOR_PUBLISHED ? plan->seed : plan->seed + i;
}

int color_network(bang_mlp *out, const color_plan *plan, bang_error *err)
{
    static const size_t two[] = {BANG_COLOR_PIXELS, 64, 64, BANG_COLOR_CLASSES};
    static const size_t one[] = {BANG_COLOR_PIXELS, 64, BANG_COLOR_CLASSES};
    return plan->protocol == BANG_COLOR_PAPER ? bang_mlp_init(out, 2, one, BANG_RELU, err)
                                              : bang_mlp_init(out, 3, two, BANG_RELU, err);
}

bang_train_options color_training(const color_plan *plan, size_t i, size_t model)
{
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT; /* Adam 1e-3, batch 100, 5000 steps */
    o.loss = plan->loss;
    o.seed = color_data_seed(plan, i);
    o.stream = color_stream(plan, i, model);
    if (plan->protocol == BANG_COLOR_PUBLISHED) {
        o.batch = 64;
        o.steps = 4501;
    }
    return o;
}

static json_t *common_options(const color_plan *plan, const char *digest)
{
    bang_train_options o = color_training(plan, 0, 0);
    return json_pack(
        "{ss ss ss sI sI sI sf ss ss}", "data", plan->single ? "singlecolor" : "multicolor",
        "protocol", bang_color_protocol_name(plan->protocol), "loss",
        plan->loss == BANG_MSE ? "mse" : "cross-entropy", "models", (json_int_t)plan->models,
        "steps", (json_int_t)o.steps, "batch", (json_int_t)o.batch, "rate", o.rate, "network",
        plan->protocol == BANG_COLOR_PAPER ? "5292-64-10" : "5292-64-64-10", "mnist", digest);
}

json_t *color_unit_options(const color_plan *plan, size_t i, const char *digest)
{
    json_t *out = common_options(plan, digest);
    json_object_set_new(out, "unit", json_integer((json_int_t)i));
    json_object_set_new(out, "seed", json_integer((json_int_t)color_data_seed(plan, i)));
    return out;
}

json_t *color_plan_options(const color_plan *plan, const char *digest)
{
    json_t *out = common_options(plan, digest);
    json_object_set_new(out, "seeds", json_integer((json_int_t)plan->seeds));
    json_object_set_new(out, "seed", json_integer((json_int_t)plan->seed));
    return out;
}

const char *color_data_name(const color_plan *plan)
{
    return plan->single ? "SingleColorMNIST" : "MultiColorMNIST";
}

const char *color_section(const color_plan *plan)
{
    return plan->inspect            ? "Which patches are used (appendix C.3)"
           : plan->loss != BANG_MSE ? "Cross-entropy instead of squared error"
           : plan->single           ? "SingleColorMNIST (appendix C.3)"
                                    : "MultiColorMNIST (section 3.4, appendix C.3)";
}

int color_open_mnist(bang_mnist *out, const bang_lab_options *options, bang_error *err)
{
    /* One rank fetches; the others find what it got. */
    uint8_t there = 1;
    int rc = 0, first = bang_ranks_rank(options->ranks) == 0;
    if (!first)
        rc = bang_ranks_broadcast(options->ranks, &there, 1, err);
    if (rc == 0 && !bang_mnist_present())
        rc = bang_mnist_get(NULL, options->cancel, err);
    if (rc == 0 && first)
        rc = bang_ranks_broadcast(options->ranks, &there, 1, err);
    return rc < 0 ? rc : bang_mnist_open(out, err);
}

void color_show_foreign_digits(json_t *show, const bang_mnist *mnist)
{
    if (!mnist->original)
        lab_show_text(show,
                      "Attention: the digits are not MNIST but others given with bang data get "
                      "mnist --from, so nothing here can be held against the paper.");
}
