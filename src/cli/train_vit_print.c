/* bang train: what is said about the training of a vision transformer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checkpoints.h"
#include "train_vit.h"

static const char *const gelus[] = {"exact", "quick", "tanh"};

static void print_numbers(const char *name, const float *values, size_t channels)
{
    printf("%s", name);
    for (size_t i = 0; i < channels; i++)
        printf("%s%.6g", i ? "," : " ", (double)values[i]);
}

static void print_network(const vit_job *j)
{
    const train_request *r = j->r;
    const bang_vit_config *v = &j->model.vit.config;
    printf("network    %s/%zu, %zu px, width %zu, depth %zu, %zu head%s, MLP %zu, GELU %s, "
           "%zu parameters; %s%s\n",
           r->kind == TRAIN_CLIP ? "CLIP's ViT" : "ViT", v->patch, v->image, v->width, v->depth,
           v->heads, v->heads == 1 ? "" : "s", v->hidden, gelus[v->gelu], j->model.vit.map.count,
           r->init ? "from " : "from scratch", r->init ? r->init : "");
    printf("head       %zu outputs, ", v->classes);
    if (j->head == HEAD_OF_FILE)
        printf("from %s", r->head);
    else if (j->head == HEAD_OF_INIT)
        printf("from %s", r->init);
    else
        printf("new");
    printf("%s\n", r->only_head ? "; it alone is trained" : "");
}

static void print_pictures(const vit_job *j)
{
    const bang_transform *t = &j->options.feed.transform;
    size_t channels = j->model.vit.config.channels;
    printf("pictures   ");
    print_numbers("mean", j->model.mean, channels);
    print_numbers(", std", j->model.std, channels);
    printf(", crop %s", t->crop == BANG_CROP_HF ? "hf" : "torchvision");
    if (t->random_crop)
        printf(", random crop %g to %g", t->scale[0], t->scale[1]);
    if (t->flip)
        printf(", flip");
    if (t->degrees > 0)
        printf(", rotate %g", t->degrees);
    if (t->color > 0)
        printf(", color %g", t->color);
    putchar('\n');
}

/* Four digits, and above them whole numbers. */
static int speed_decimals(double speed)
{
    return speed >= 1000 ? 0 : speed >= 100 ? 1 : speed >= 10 ? 2 : 3;
}

static void print_outcome(const vit_job *j)
{
    const train_request *r = j->r;
    const bang_tune_result *o = &j->result;
    char memory[32], ranks[32] = "";
    if (bang_ranks_count(j->c->ranks) > 1)
        snprintf(ranks, sizeof ranks, "%d ranks of ", bang_ranks_count(j->c->ranks));
    if (o->resumed_from)
        printf("resumed    after step %llu\n", (unsigned long long)o->resumed_from);
    if (j->seconds > 0 && j->pictures > 0)
        printf("speed      %.*f images/s, %s%d thread%s, pieces of %zu, %s%s\n",
               speed_decimals(j->pictures / j->seconds), j->pictures / j->seconds, ranks,
               o->threads, o->threads == 1 ? "" : "s", o->piece,
               bytes_text(memory, (double)o->bytes), *ranks ? " each" : "");
    if (o->bad || o->validation_bad)
        printf("left out   %zu picture%s that cannot be read, %zu of the validation data\n", o->bad,
               o->bad == 1 ? "" : "s", o->validation_bad);
    if (r->options.steps)
        printf("loss       %.4g\n", o->loss);
    if (j->validation.count) {
        printf("accuracy   %.2f %% on %s, loss %.4g", 100 * o->accuracy, r->validation,
               o->validation_loss);
        if (j->options.keep_best)
            printf("; the best, of step %llu", (unsigned long long)o->best_step);
        putchar('\n');
    }
    printf("written    %s\n", r->output);
}

void vit_print_plan(const vit_job *j)
{
    const train_request *r = j->r;
    if (j->c->json || j->c->quiet)
        return;
    printf("data       %s: %zu pictures, %zu classes", r->data, j->train.count, j->train.classes);
    if (j->validation.count)
        printf("; validation %s: %zu pictures", r->validation, j->validation.count);
    putchar('\n');
    print_network(j);
    print_pictures(j);
    train_print_recipe(r, "picture", j->epoch_steps);
    fflush(stdout);
}

static json_t *channel_list(const float *values, size_t channels)
{
    json_t *list = json_array();
    for (size_t i = 0; i < channels; i++)
        if (json_array_append_new(list, bang_json_number((double)values[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* All that was chosen, by the user or for him. */
static json_t *options_used(const vit_job *j)
{
    const train_request *r = j->r;
    const bang_train_options *o = &r->options;
    const bang_transform *t = &j->options.feed.transform;
    const bang_vit_config *v = &j->model.vit.config;
    json_t *used =
        json_pack("{ss ss ss ss sI so so so sI so ss so sb sb sb sI sI}", "arch",
                  r->kind == TRAIN_CLIP ? "clip" : "vit", "loss", r->loss, "optimizer",
                  r->optimizer, "schedule", r->schedule, "warmup", (json_int_t)o->warmup, "lr",
                  bang_json_number(o->rate), "weight_decay", bang_json_number(o->weight_decay),
                  "momentum", bang_json_number(o->momentum), "seed", (json_int_t)o->seed,
                  "label_smoothing", bang_json_number(o->label_smoothing), "smoothing_mode",
                  r->smoothing, "mixup", bang_json_number(o->mixup), "only_head", r->only_head,
                  "recompute", r->recompute, "keep_best", j->options.keep_best, "threads",
                  (json_int_t)j->result.threads, "piece", (json_int_t)j->result.piece);
    json_t *pictures = json_pack(
        "{sI so so ss so sb so so}", "image_size", (json_int_t)v->image, "mean",
        channel_list(j->model.mean, v->channels), "std", channel_list(j->model.std, v->channels),
        "crop", t->crop == BANG_CROP_HF ? "hf" : "torchvision", "crop_scale",
        t->random_crop ? json_pack("[ff]", t->scale[0], t->scale[1]) : json_null(), "flip", t->flip,
        "rotate_degrees", bang_json_number(t->degrees), "color", bang_json_number(t->color));
    json_t *network = json_pack("{sI sI sI sI sI sI ss}", "patch", (json_int_t)v->patch, "width",
                                (json_int_t)v->width, "depth", (json_int_t)v->depth, "heads",
                                (json_int_t)v->heads, "hidden", (json_int_t)v->hidden, "channels",
                                (json_int_t)v->channels, "gelu", gelus[v->gelu]);
    int ranks = bang_ranks_count(j->c->ranks);
    if (!used || json_object_set_new(used, "clip_norm", bang_json_number(o->clip_norm)) < 0 ||
        (ranks > 1 && json_object_set_new(used, "ranks", json_integer(ranks)) < 0) ||
        json_object_update(used, pictures) < 0 || json_object_update(used, network) < 0) {
        json_decref(used);
        used = NULL;
    }
    json_decref(pictures);
    json_decref(network);
    return used;
}

int vit_print_finished(const vit_job *j)
{
    const char *output = j->r->output;
    if (j->c->json)
        return cli_print_json(
            j->c, json_pack("{sb sI ss}", "finished", 1, "steps", (json_int_t)0, "output", output));
    if (!j->c->quiet)
        printf("finished   %s is there, of the same options and data: nothing to do\n", output);
    return CLI_DONE;
}

int vit_print(const vit_job *j)
{
    const train_request *r = j->r;
    const bang_tune_result *o = &j->result;
    if (!j->c->json) {
        if (!j->c->quiet)
            print_outcome(j);
        return CLI_DONE;
    }
    json_t *accuracy = json_pack("{sn so}", "train", "val", bang_json_number(o->accuracy));
    double rate = j->seconds > 0 ? j->pictures / j->seconds : NAN;
    return cli_print_json(
        j->c,
        json_pack("{sI so so so so sI sI sI sI sI sI sI sI so so so ss}", "steps",
                  (json_int_t)r->options.steps, "epochs",
                  bang_json_number((double)r->options.steps / (double)j->epoch_steps), "loss",
                  bang_json_number(o->loss), "accuracy", accuracy, "validation_loss",
                  bang_json_number(o->validation_loss), "best_step", (json_int_t)o->best_step,
                  "resumed_from", (json_int_t)o->resumed_from, "images", (json_int_t)j->train.count,
                  "bad_images", (json_int_t)o->bad, "bad_validation_images",
                  (json_int_t)o->validation_bad, "parameters", (json_int_t)j->model.vit.map.count,
                  "batch", (json_int_t)r->options.batch, "memory", (json_int_t)o->bytes, "seconds",
                  bang_json_number(j->seconds), "images_per_second", bang_json_number(rate),
                  "options", options_used(j), "output", r->output));
}
