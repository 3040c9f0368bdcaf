#include <math.h>
#include <string.h>

#include "train.h"

static const char summary[] =
    "Trains a multi-layer perceptron and saves it with the names of PyTorch's nn.Sequential.\n"
    "DATA is a folder with images.npy and labels.npy, or a name as bang data list shows them.\n"
    "Inputs that are equal in all rows are trained as one, which changes rounding only and\n"
    "saves most of the work on images of patches. --seed names the first weights, the order\n"
    "of the rows and what Mixup mixes; the same options give the same file.";

static const char example[] =
    "  bang train --data multicolor --val multicolor:split=test --epochs 5 -o model.safetensors\n"
    "  bang train --data DIR --hidden 256 --lr 0.001 --label-smoothing 0.1 --mixup 0.2 --steps "
    "5000 -o model.safetensors\n";

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

static void read_names(cli *c, train_request *r)
{
    bang_train_options *o = &r->options;
    if (strcmp(r->arch, "vit") == 0 || strcmp(r->arch, "clip") == 0)
        cli_problem(c, "--arch %s: not in this version: take mlp", r->arch);
    else if (strcmp(r->arch, "mlp") != 0)
        cli_problem(c, "--arch %.40s: unknown: take mlp", r->arch);
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
    o->warmup = at_least(c, "warmup", r->warmup, 0);
    o->step_every = at_least(c, "step-every", r->step_every, 1);
    at_least(c, "log-every", r->log_every, 1);
    if (r->batch > 1 << 24)
        cli_problem(c, "--batch %lld: must be at most %d", (long long)r->batch, 1 << 24);
}

static void check_request(cli *c, train_request *r)
{
    bang_error err = {0};
    for (size_t i = 0; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: data are named with --data", c->operands[i]);
    read_names(c, r);
    read_hidden(c, r);
    read_counts(c, r);
    if (isnan(r->options.weight_decay)) /* not given */
        r->options.weight_decay = r->options.optimizer == BANG_ADAMW ? 0.01 : 0;
    if (bang_train_check(&r->options, &err) < 0)
        cli_problem(c, "%s", err.message);
    if (r->options.momentum > 0 && r->options.optimizer != BANG_SGD)
        cli_problem(c, "--momentum: is sgd's: leave it out or take --optimizer sgd");
    if (!r->data)
        cli_problem(c, "--data: missing: name a folder or a data set with --data DATA");
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o FILE.safetensors");
    if (r->output) {
        cli_check_output(c, r->output, ".safetensors");
        check_output(c, "output", r->output);
    }
    if (r->log && r->output && strcmp(r->log, r->output) == 0)
        cli_problem(c, "--log %.200s: is the output too: name another file", r->log);
    else if (r->log)
        check_output(c, "log", r->log);
    r->options.seed = (uint64_t)c->seed;
}

int cmd_train(int argc, char **argv)
{
    train_request r = {.arch = "mlp",
                       .loss = "cross-entropy",
                       .optimizer = "adamw",
                       .schedule = "constant",
                       .smoothing = "original",
                       .epochs = TRAIN_NOT_GIVEN,
                       .steps = TRAIN_NOT_GIVEN,
                       .batch = 100,
                       .step_every = 1000,
                       .log_every = 100,
                       .options = BANG_TRAIN_OPTIONS_INIT};
    bang_train_options *o = &r.options;
    o->weight_decay = NAN;
    cli_option options[] = {
        {"data", 'd', "DATA", "what to train on", cli_read_text, &r.data},
        {"val", 0, "DATA", "what to measure on besides; has no part in training", cli_read_text,
         &r.validation},
        {"output", 'o', "FILE", "where to write the network, .safetensors", cli_read_text,
         &r.output},
        {"arch", 0, "NAME", "mlp (mlp)", cli_read_text, &r.arch},
        {"hidden", 0, "W1,W2,..", "units of the hidden layers, 0 for none (64,64)", cli_read_text,
         &r.hidden},
        {"activation", 0, "NAME", "relu, gelu or tanh (relu)", cli_read_text, &r.activation},
        {"init", 0, "FILE", "start from this network instead of random weights", cli_read_text,
         &r.init},
        {"loss", 0, "NAME", "cross-entropy or mse (cross-entropy)", cli_read_text, &r.loss},
        {"epochs", 0, "E", "passes over the data (10)", cli_read_whole, &r.epochs},
        {"steps", 0, "N", "batches, instead of --epochs", cli_read_whole, &r.steps},
        {"batch", 0, "B", "rows in a batch (100)", cli_read_whole, &r.batch},
        {"lr", 0, "X", "learning rate (0.001)", cli_read_real, &o->rate},
        {"optimizer", 0, "NAME", "adamw, adam or sgd (adamw)", cli_read_text, &r.optimizer},
        {"momentum", 0, "M", "of sgd (0)", cli_read_real, &o->momentum},
        {"weight-decay", 0, "W", "adamw 0.01, adam and sgd 0", cli_read_real, &o->weight_decay},
        {"warmup", 0, "N", "steps in which the rate rises (0)", cli_read_whole, &r.warmup},
        {"schedule", 0, "NAME", "of the rate: constant, cosine or step (constant)", cli_read_text,
         &r.schedule},
        {"step-every", 0, "N", "schedule step: steps between two falls (1000)", cli_read_whole,
         &r.step_every},
        {"step-factor", 0, "F", "schedule step: what a fall multiplies with (0.1)", cli_read_real,
         &o->step_factor},
        {"clip-norm", 0, "C", "largest norm of the gradient (0: any)", cli_read_real,
         &o->clip_norm},
        {"label-smoothing", 0, "E", "mass that leaves the true class, 0 to 1 (0)", cli_read_real,
         &o->label_smoothing},
        {"smoothing-mode", 0, "NAME", "original, others or classy_vision (original)", cli_read_text,
         &r.smoothing},
        {"mixup", 0, "A", "mix pairs of rows, lambda ~ Beta(A, A) a batch (0: no)", cli_read_real,
         &o->mixup},
        {"no-reduction", 0, NULL, "train every input by itself", cli_read_flag, &r.no_reduction},
        {"log", 0, "FILE", "write step, loss and rate there, a JSON object a line", cli_read_text,
         &r.log},
        {"log-every", 0, "N", "steps that a line of the log is the mean of (100)", cli_read_whole,
         &r.log_every},
        {0},
    };
    cli c;
    if (cli_init(&c, "train", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("train", "--data DATA -o FILE.safetensors [options]", summary, options,
                       example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : train_run(&c, &r);
    }
    cli_release(&c);
    return status;
}
