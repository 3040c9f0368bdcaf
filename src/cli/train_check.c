/* bang train: what is asked for, and what is chosen where nothing is said. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/model/layout.h"
#include "train.h"

/* "64,64": widths of the hidden layers; "0" for none. */
static void read_hidden(cli *c, train_request *r)
{
    const char *at = r->hidden ? r->hidden : "64,64";
    r->layers = 1;
    if (strcmp(at, "0") == 0)
        return;
    while (1) {
        char item[24] = {0};
        int64_t units = 0;
        size_t size = strcspn(at, ",");
        memcpy(item, at, size < sizeof item ? size : sizeof item - 1);
        if (bang_text_to_int64(&units, item) < 0 || units < 1 || units > 1 << 24) {
            cli_problem(c, "--hidden %.80s: \"%s\" is no width: write such as 64,64, or 0 for none",
                        r->hidden, item);
            return;
        }
        if (r->layers == BANG_MLP_LAYERS_MAX) {
            cli_problem(c, "--hidden: more than %d layers: leave some out",
                        BANG_MLP_LAYERS_MAX - 1);
            return;
        }
        r->width[r->layers++] = (size_t)units;
        if (!at[size])
            return;
        at += size + 1;
    }
}

train_kind train_kind_of(bang_layout layout)
{
    return layout == BANG_LAYOUT_VIT                                    ? TRAIN_VIT
           : layout == BANG_LAYOUT_MLP || layout == BANG_LAYOUT_UNKNOWN ? TRAIN_MLP
                                                                        : TRAIN_CLIP;
}

/* What was said, or what the file to begin with holds, or a perceptron. */
static void read_kind(cli *c, train_request *r)
{
    static const char *const names[] = {"mlp", "vit", "clip"};
    bang_checkpoint *file = NULL;
    int known = 0;
    for (int i = 0; r->arch && i < 3; i++)
        if (strcmp(r->arch, names[i]) == 0) {
            r->kind = (train_kind)i;
            known = 1;
        }
    if (r->arch && !known)
        cli_problem(c, "--arch %.40s: unknown: choose mlp, vit or clip", r->arch);
    if (!r->init)
        return;
    /* a file that cannot be read is complained about when it is loaded */
    bang_layout layout =
        bang_checkpoint_open(&file, r->init, NULL) < 0 ? BANG_LAYOUT_VIT : bang_layout_guess(file);
    train_kind holds = train_kind_of(layout);
    if (!r->arch)
        r->kind = holds;
    else if (file && known && r->kind == TRAIN_MLP && holds != TRAIN_MLP)
        cli_problem(c, "--arch mlp: %.300s holds a %s: say --arch %s", r->init,
                    holds == TRAIN_VIT ? "vision transformer" : "CLIP", names[holds]);
    bang_checkpoint_close(file);
}

static void read_names(cli *c, train_request *r)
{
    bang_train_options *o = &r->options;
    if (r->activation && bang_activation_find(&r->activation_kind, r->activation) < 0)
        cli_problem(c, "--activation %.40s: unknown: choose relu, gelu or tanh", r->activation);
    if (bang_loss_find(&o->loss, r->loss) < 0)
        cli_problem(c, "--loss %.40s: unknown: choose cross-entropy or mse", r->loss);
    if (bang_optimizer_find(&o->optimizer, r->optimizer) < 0)
        cli_problem(c, "--optimizer %.40s: unknown: choose adamw, adam or sgd", r->optimizer);
    if (bang_schedule_find(&o->schedule, r->schedule) < 0)
        cli_problem(c, "--schedule %.40s: unknown: choose constant, cosine or step", r->schedule);
    if (bang_smoothing_find(&o->smoothing, r->smoothing) < 0)
        cli_problem(c, "--smoothing-mode %.40s: unknown: choose original, others or classy_vision",
                    r->smoothing);
}

static uint64_t at_least(cli *c, const char *name, int64_t value, int64_t least)
{
    if (value < least)
        cli_problem(c, "--%s %lld: must be %lld or more", name, (long long)value, (long long)least);
    return value < least ? (uint64_t)least : (uint64_t)value;
}

static void read_counts(cli *c, train_request *r)
{
    bang_train_options *o = &r->options;
    if (r->epochs != TRAIN_NOT_GIVEN && r->steps != TRAIN_NOT_GIVEN)
        cli_problem(c, "--epochs and --steps: both say how long: give one");
    if (r->epochs != TRAIN_NOT_GIVEN)
        at_least(c, "epochs", r->epochs, 0);
    if (r->steps != TRAIN_NOT_GIVEN)
        at_least(c, "steps", r->steps, 0);
    o->steps = r->steps > 0 ? (uint64_t)r->steps : 0;
    o->batch = (size_t)at_least(c, "batch", r->batch, 1);
    if (r->warmup != TRAIN_NOT_GIVEN)
        o->warmup = at_least(c, "warmup", r->warmup, 0);
    o->step_every = at_least(c, "step-every", r->step_every, 1);
    at_least(c, "log-every", r->log_every, 1);
    if (r->eval_every != TRAIN_NOT_GIVEN)
        at_least(c, "eval-every", r->eval_every, 1);
    if (r->piece != TRAIN_NOT_GIVEN)
        at_least(c, "piece", r->piece, 1);
    if (r->batch > 1 << 24)
        cli_problem(c, "--batch %lld: must be at most %d", (long long)r->batch, 1 << 24);
}

/* Defaults that depend on what is trained: for a whole network from a file those of
 * fine-tuning. */
static void choose(train_request *r)
{
    bang_train_options *o = &r->options;
    int vit = r->kind != TRAIN_MLP, fine = vit && r->init && !r->only_head;
    if (r->batch == TRAIN_NOT_GIVEN)
        r->batch = vit ? 64 : 100;
    if (r->log_every == TRAIN_NOT_GIVEN)
        r->log_every = vit ? 1 : 100;
    if (!r->loss)
        r->loss = "cross-entropy";
    if (!r->optimizer)
        r->optimizer = "adamw";
    if (!r->schedule)
        r->schedule = vit ? "cosine" : "constant";
    if (!r->smoothing)
        r->smoothing = "original";
    if (isnan(o->rate))
        o->rate = fine ? 3e-5 : 1e-3;
    if (isnan(o->clip_norm))
        o->clip_norm = vit ? 1 : 0;
    if (isnan(o->weight_decay))
        o->weight_decay = strcmp(r->optimizer, "adamw") != 0 ? 0 : fine ? 0.1 : 0.01;
}

/* Options that belong to another kind of network. */
static void check_kind(cli *c, const train_request *r)
{
    const picture_options *p = &r->pictures;
    int vit = r->kind != TRAIN_MLP;
    const struct {
        const char *name;
        int given, of_vit;
    } own[] = {
        {"hidden", r->hidden != NULL, 0},     {"activation", r->activation != NULL, 0},
        {"no-reduction", r->no_reduction, 0}, {"patch", r->patch != 0, 1},
        {"channels", r->channels != 0, 1},    {"width", r->embedding != 0, 1},
        {"depth", r->depth != 0, 1},          {"mlp-ratio", !isnan(r->mlp_ratio), 1},
        {"head", r->head != NULL, 1},         {"only-head", r->only_head, 1},
        {"recompute", r->recompute, 1},       {"piece", r->piece != TRAIN_NOT_GIVEN, 1},
        {"augment", r->augment != NULL, 1},   {"eval-every", r->eval_every != TRAIN_NOT_GIVEN, 1},
        {"keep", r->keep != NULL, 1},         {"image-size", p->size != 0, 1},
        {"heads", p->heads != 0, 1},          {"mean", p->mean_text != NULL, 1},
        {"std", p->std_text != NULL, 1},      {"crop", p->crop_text != NULL, 1},
        {"gelu", p->gelu_text != NULL, 1},    {"on-bad-image", p->bad_text != NULL, 1},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].given && own[i].of_vit != vit)
            cli_problem(c, "--%s: is for %s: leave it out, or say --arch %s", own[i].name,
                        vit ? "perceptrons" : "vision transformers", vit ? "mlp" : "vit");
}

/* The largest of some usual patches that gives at least 4 x 4; 0: none does. */
static size_t choose_patch(size_t image)
{
    static const size_t usual[] = {16, 14, 8, 7, 4, 3, 2};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (image % usual[i] == 0 && image / usual[i] >= 4)
            return usual[i];
    return 0;
}

bang_vit_config train_new_config(const train_request *r, size_t image, size_t channels,
                                 size_t classes)
{
    const picture_options *p = &r->pictures;
    bang_vit_config config = {.image = image,
                              .patch = r->patch ? (size_t)r->patch : choose_patch(image),
                              .channels = r->channels ? (size_t)r->channels : channels,
                              .width = r->embedding ? (size_t)r->embedding : 64,
                              .depth = r->depth ? (size_t)r->depth : 4,
                              .heads = p->heads ? (size_t)p->heads : 4,
                              .classes = classes,
                              .gelu =
                                  p->hints.gelu >= 0 ? (bang_gelu)p->hints.gelu : BANG_GELU_EXACT,
                              .epsilon = 1e-6,
                              .patch_bias = 1};
    config.hidden = (size_t)lround((isnan(r->mlp_ratio) ? 4 : r->mlp_ratio) * (double)config.width);
    return config;
}

void train_check_config(cli *c, const bang_vit_config *config)
{
    bang_error why = {0};
    if (config->patch == 0)
        cli_problem(c, "--patch: no usual one fits pictures of %zu pixels: say which",
                    config->image);
    else if (bang_vit_check(config, &why) < 0)
        cli_problem(c, "%s", why.message);
}

/* What sizes that were given, or are chosen without data, say against each other. Where the data
 * decide how large pictures are, any size will do here that the patches divide. */
static void check_together(cli *c, const train_request *r)
{
    enum { FITS_USUAL = 224 };
    size_t image = r->pictures.size ? (size_t)r->pictures.size
                   : r->patch       ? (size_t)r->patch
                                    : FITS_USUAL;
    if (r->init)
        return;
    bang_vit_config config = train_new_config(r, image, 3, 1);
    train_check_config(c, &config);
}

/* Sizes of a new network; one from a file has its own. */
static void check_sizes(cli *c, const train_request *r)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"patch", r->patch}, {"width", r->embedding}, {"depth", r->depth}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].value && r->init)
            cli_problem(c, "--%s: the network comes from %.200s: leave it out", sizes[i].name,
                        r->init);
        else if (sizes[i].value < 0 || sizes[i].value > 1 << 16)
            cli_problem(c, "--%s %lld: must be 1 to %d", sizes[i].name, (long long)sizes[i].value,
                        1 << 16);
    }
    if (r->channels != 0 && r->channels != 1 && r->channels != 3)
        cli_problem(c, "--channels %lld: must be 1 or 3", (long long)r->channels);
    else if (r->channels && r->init)
        cli_problem(c, "--channels: the network comes from %.200s: leave it out", r->init);
    if (!isnan(r->mlp_ratio) && r->init)
        cli_problem(c, "--mlp-ratio: the network comes from %.200s: leave it out", r->init);
    else if (!isnan(r->mlp_ratio) && !(r->mlp_ratio > 0 && r->mlp_ratio <= 64))
        cli_problem(c, "--mlp-ratio %g: must be above 0 and at most 64", r->mlp_ratio);
}

/* How pictures are changed while training. */
static void check_augmentation(cli *c, train_request *r)
{
    bang_transform *t = &r->transform;
    bang_error err = {0};
    if (r->augment && bang_transform_augment(t, r->augment, &err) < 0)
        cli_problem(c, "--augment %.80s: %s", r->augment, err.message);
    if (!isnan(r->degrees) && !(t->degrees > 0))
        cli_problem(c, "--rotate-degrees: nothing is rotated: add rotate to --augment");
    else if (!isnan(r->degrees) && !(r->degrees > 0 && r->degrees <= 180))
        cli_problem(c, "--rotate-degrees %g: must be above 0 and at most 180", r->degrees);
    else if (!isnan(r->degrees))
        t->degrees = r->degrees;
    if (!isnan(r->color) && !(t->color > 0))
        cli_problem(c, "--color: no colour is changed: add color to --augment");
    else if (!isnan(r->color) && !(r->color > 0 && r->color <= 1))
        cli_problem(c, "--color %g: must be above 0 and at most 1", r->color);
    else if (!isnan(r->color))
        t->color = r->color;
    double scale[2];
    if (r->crop_scale && !t->random_crop)
        cli_problem(c, "--crop-scale: nothing is cropped at random: add crop to --augment");
    else if (r->crop_scale && (cli_numbers(scale, 2, r->crop_scale) != 2 || !(scale[0] > 0) ||
                               !(scale[0] <= scale[1]) || !(scale[1] <= 1)))
        cli_problem(c, "--crop-scale %.40s: must be two shares of the area such as 0.9,1",
                    r->crop_scale);
    else if (r->crop_scale)
        memcpy(t->scale, scale, sizeof scale);
    t->crop = r->pictures.crop;
}

static void check_vit(cli *c, train_request *r)
{
    size_t before = c->problems.size;
    picture_options_check(c, &r->pictures);
    check_sizes(c, r);
    if (c->problems.size == before) /* each means something */
        check_together(c, r);
    check_augmentation(c, r);
    if (r->keep && strcmp(r->keep, "last") != 0 && strcmp(r->keep, "best") != 0)
        cli_problem(c, "--keep %.40s: unknown: choose last or best", r->keep);
    else if (r->keep && strcmp(r->keep, "best") == 0 && !r->validation)
        cli_problem(c, "--keep best: needs data to measure on: give --val DATA");
    if (r->eval_every != TRAIN_NOT_GIVEN && !r->validation)
        cli_problem(c, "--eval-every: needs data to measure on: give --val DATA");
    if (r->kind == TRAIN_CLIP && !r->init)
        cli_problem(c, "--arch clip: begins with a file: name it with --init CLIP.safetensors");
    if (r->only_head && !r->init)
        cli_problem(c, "--only-head: of a network that was never trained: give one with --init");
    if (r->only_head && r->recompute)
        cli_problem(c, "--recompute: the head alone keeps nothing to compute again: leave it out");
}

/* One that is no regular file (a pipe) has no neighbour. */
static int is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Two names of one file would destroy each other. */
static void check_same(cli *c, const char *option, const char *path, const char *what,
                       const char *other)
{
    if (path && other && strcmp(path, other) == 0)
        cli_problem(c, "--%s %.200s: is %s too: name another file", option, path, what);
}

static void check_files(cli *c, train_request *r)
{
    if (!r->data)
        cli_problem(c, "--data: missing: name a folder or a data set with --data DATA");
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o FILE.safetensors");
    const char *const given[] = {r->init, r->head, r->data, r->validation};
    for (size_t i = 0; r->output && i < sizeof given / sizeof *given; i++)
        if (given[i] && !is_special(r->output) && same_file(given[i], r->output))
            cli_problem(c, "--output %.200s: is an input too: name another file", r->output);
    if (r->output) {
        cli_check_output(c, r->output, ".safetensors");
        check_output(c, "output", r->output);
    }
    if (r->log && r->output && strcmp(r->log, r->output) == 0)
        cli_problem(c, "--log %.200s: is the output too: name another file", r->log);
    else if (r->log)
        check_output(c, "log", r->log);
    if (!r->state && r->output && !is_special(r->output)) {
        size_t size = strlen(r->output) + sizeof ".state";
        r->state_path = malloc(size);
        if (!r->state_path)
            cli_problem(c, "out of memory");
        else
            snprintf(r->state_path, size, "%s.state", r->output);
        r->state = r->state_path;
    } else if (r->state) {
        check_same(c, "state", r->state, "the output", r->output);
        check_same(c, "state", r->state, "the log", r->log);
        check_output(c, "state", r->state);
    }
    if (r->resume && !r->state && r->output)
        cli_problem(c, "--resume: no state is kept beside %.200s: name one with --state FILE",
                    r->output);
    if (!(r->state_minutes >= 0 && r->state_minutes < 1e9))
        cli_problem(c, "--state-minutes %g: must be 0 or more", r->state_minutes);
    r->options.state.path = r->state;
    r->options.state.seconds = 60 * r->state_minutes;
    r->options.state.resume = r->resume;
}

void train_check(cli *c, train_request *r)
{
    bang_error err = {0};
    for (size_t i = 0; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: data are named with --data", c->operands[i]);
    read_kind(c, r);
    choose(r);
    read_names(c, r);
    check_kind(c, r);
    if (r->kind == TRAIN_MLP)
        read_hidden(c, r);
    else
        check_vit(c, r);
    read_counts(c, r);
    if (bang_train_check(&r->options, &err) < 0)
        cli_problem(c, "%s", err.message);
    if (r->options.momentum > 0 && r->options.optimizer != BANG_SGD)
        cli_problem(c, "--momentum: is sgd's: leave it out or take --optimizer sgd");
    check_files(c, r);
    r->options.seed = (uint64_t)c->seed;
}

void train_count_steps(cli *c, train_request *r, size_t rows)
{
    enum { WARMUP_MOST = 500, WARMUP_PART = 20 };
    bang_train_options *o = &r->options;
    uint64_t epoch = rows / o->batch + (rows % o->batch > 0);
    if (r->steps == TRAIN_NOT_GIVEN) {
        uint64_t epochs = r->epochs == TRAIN_NOT_GIVEN ? 10 : (uint64_t)r->epochs;
        if (epochs > UINT64_MAX / 2 / epoch)
            cli_problem(c, "--epochs %lld: more steps than can be counted", (long long)r->epochs);
        else
            o->steps = epochs * epoch;
        if (r->warmup != TRAIN_NOT_GIVEN && o->warmup > o->steps)
            cli_problem(c, "--warmup %llu: is more than the %llu steps of the training",
                        (unsigned long long)o->warmup, (unsigned long long)o->steps);
    }
    if (r->warmup == TRAIN_NOT_GIVEN && r->kind != TRAIN_MLP) {
        o->warmup = o->steps / WARMUP_PART;
        o->warmup = o->warmup < WARMUP_MOST ? o->warmup : WARMUP_MOST;
    }
}

void train_print_recipe(const train_request *r, const char *rows, uint64_t epoch_steps)
{
    const bang_train_options *o = &r->options;
    double epochs = (double)o->steps / (double)epoch_steps;
    printf("training   %llu step%s of %zu %s%s (%.4g epoch%s), %s, %s, rate %g %s",
           (unsigned long long)o->steps, o->steps == 1 ? "" : "s", o->batch, rows,
           o->batch == 1 ? "" : "s", epochs, epochs == 1 ? "" : "s", r->loss, r->optimizer, o->rate,
           r->schedule);
    if (o->warmup)
        printf(", warm-up %llu", (unsigned long long)o->warmup);
    if (o->momentum > 0)
        printf(", momentum %g", o->momentum);
    if (o->weight_decay > 0)
        printf(", weight decay %g", o->weight_decay);
    if (o->clip_norm > 0)
        printf(", gradient at most %g", o->clip_norm);
    if (o->label_smoothing > 0)
        printf(", label smoothing %g (%s)", o->label_smoothing, r->smoothing);
    if (o->mixup > 0)
        printf(", mixup %g", o->mixup);
    putchar('\n');
}
