#include <math.h>
#include <stdlib.h>

#include "train.h"

static const char summary[] =
    "Trains a multi-layer perceptron, or trains or fine-tunes a vision transformer or the image\n"
    "tower of a CLIP. DATA is a folder of class folders with pictures, a CSV (path,label), a\n"
    "folder with images.npy and labels.npy, or a name as bang data list shows them.\n"
    "--init decides what is trained: the file is saved again under the names it has, with a head\n"
    "for the data. From scratch a ViT has the sizes that are given. A perceptron trains inputs\n"
    "that are equal in all rows as one, which changes rounding only.\n"
    "The state is kept in OUT.state every few minutes and when the run is interrupted; --resume\n"
    "goes on from there and ends with the same bytes as a run that was not stopped; where a\n"
    "ViT of the same options and data is finished, it does nothing. --seed names the first\n"
    "weights, the order of the data and all that is changed at random.\n"
    "Under mpirun all ranks share every batch: --batch is that of all together, so their number\n"
    "changes nothing but the order of sums, and may be another one with --resume.";

static const char example[] =
    "  bang train --data multicolor --val multicolor:split=test --epochs 5 -o model.safetensors\n"
    "  bang train --arch vit --data mnist --val mnist:split=test --epochs 5 -o vit.safetensors\n"
    "  bang train --init clip.safetensors --head head.safetensors --data imagenet/train --val\n"
    "    imagenet/val --augment crop --batch 512 --label-smoothing 0.1 -o tuned.safetensors\n"
    "  mpirun -n 4 bang train --arch vit --data photos --epochs 5 -o vit.safetensors\n";

static int train(int argc, char **argv, train_request *r)
{
    bang_train_options *o = &r->options;
    cli_option options[] = {
        {"data", 'd', "DATA", "what to train on", cli_read_text, &r->data},
        {"val", 0, "DATA", "what to measure on besides; has no part in training", cli_read_text,
         &r->validation},
        {"output", 'o', "FILE", "where to write the network, .safetensors", cli_read_text,
         &r->output},
        {"arch", 0, "NAME", "mlp, vit or clip (what --init is, else mlp)", cli_read_text, &r->arch},
        {"init", 0, "FILE", "start from this network instead of random weights", cli_read_text,
         &r->init},
        {"loss", 0, "NAME", "cross-entropy or mse (cross-entropy)", cli_read_text, &r->loss},
        {"epochs", 0, "E", "passes over the data (10)", cli_read_whole, &r->epochs},
        {"steps", 0, "N", "batches, instead of --epochs", cli_read_whole, &r->steps},
        {"batch", 0, "B", "rows in a batch, of all ranks (100; pictures 64)", cli_read_whole,
         &r->batch},
        {"lr", 0, "X", "learning rate (0.001; fine-tuning a whole ViT 3e-5)", cli_read_real,
         &o->rate},
        {"optimizer", 0, "NAME", "adamw, adam or sgd (adamw)", cli_read_text, &r->optimizer},
        {"momentum", 0, "M", "of sgd (0)", cli_read_real, &o->momentum},
        {"weight-decay", 0, "W", "adamw 0.01, fine-tuning 0.1, adam and sgd 0", cli_read_real,
         &o->weight_decay},
        {"warmup", 0, "N", "steps in which the rate rises (0; ViT 1/20, at most 500)",
         cli_read_whole, &r->warmup},
        {"schedule", 0, "NAME", "of the rate: constant, cosine or step (constant; ViT cosine)",
         cli_read_text, &r->schedule},
        {"step-every", 0, "N", "schedule step: steps between two falls (1000)", cli_read_whole,
         &r->step_every},
        {"step-factor", 0, "F", "schedule step: what a fall multiplies with (0.1)", cli_read_real,
         &o->step_factor},
        {"clip-norm", 0, "C", "largest norm of the gradient (0: any; ViT 1)", cli_read_real,
         &o->clip_norm},
        {"label-smoothing", 0, "E", "mass that leaves the true class, 0 to 1 (0)", cli_read_real,
         &o->label_smoothing},
        {"smoothing-mode", 0, "NAME", "original, others or classy_vision (original)", cli_read_text,
         &r->smoothing},
        {"mixup", 0, "A", "mix pairs of rows, lambda ~ Beta(A, A) a batch (0: no)", cli_read_real,
         &o->mixup},
        {"log", 0, "FILE", "write step, loss and rate there, a JSON object a line", cli_read_text,
         &r->log},
        {"log-every", 0, "N", "steps that a line of the log is the mean of (100; ViT 1)",
         cli_read_whole, &r->log_every},
        {"state", 0, "FILE", "what a stopped run goes on from (OUT.state)", cli_read_text,
         &r->state},
        {"state-minutes", 0, "M", "between two writes of it (5)", cli_read_real, &r->state_minutes},
        {"resume", 0, NULL, "go on where a run of the same options stopped", cli_read_flag,
         &r->resume},
        {"hidden", 0, "W1,W2,..", "mlp: units of the hidden layers, 0 for none (64,64)",
         cli_read_text, &r->hidden},
        {"activation", 0, "NAME", "mlp: relu, gelu or tanh (relu)", cli_read_text, &r->activation},
        {"no-reduction", 0, NULL, "mlp: train every input by itself", cli_read_flag,
         &r->no_reduction},
        {"head", 0, "FILE", "ViT: start with this head, as bang zeroshot writes it", cli_read_text,
         &r->head},
        {"only-head", 0, NULL, "ViT: the rest of the network stays as it is", cli_read_flag,
         &r->only_head},
        {"augment", 0, "LIST", "change pictures: any of flip,rotate,color,crop", cli_read_text,
         &r->augment},
        {"rotate-degrees", 0, "D", "rotate by at most this much (15)", cli_read_real, &r->degrees},
        {"crop-scale", 0, "A,B", "crop such a share of the area (0.9,1)", cli_read_text,
         &r->crop_scale},
        {"color", 0, "X", "change colours by at most this much (0.4)", cli_read_real, &r->color},
        {"eval-every", 0, "N", "steps between two measurements on --val (at the end)",
         cli_read_whole, &r->eval_every},
        {"keep", 0, "WHICH", "the last weights or the best on --val: last, best (last)",
         cli_read_text, &r->keep},
        {"patch", 0, "N", "new ViT: edge of a patch (so that 16 or more fit)", cli_read_whole,
         &r->patch},
        {"width", 0, "N", "new ViT: numbers per token (64)", cli_read_whole, &r->embedding},
        {"depth", 0, "N", "new ViT: blocks (4)", cli_read_whole, &r->depth},
        {"mlp-ratio", 0, "R", "new ViT: hidden units / width (4)", cli_read_real, &r->mlp_ratio},
        {"channels", 0, "N", "new ViT: 1 or 3 (the data's)", cli_read_whole, &r->channels},
        PICTURE_OPTIONS(&r->pictures),
        {"recompute", 0, NULL, "ViT: less memory, a fifth more work", cli_read_flag, &r->recompute},
        {"piece", 0, "N", "ViT: pictures that a thread takes at once (by size)", cli_read_whole,
         &r->piece},
        {"cache", 0, "SIZE", "memory for read pictures, --val gets what is left (1G)",
         cli_read_bytes, &r->cache},
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
        train_check(&c, r);
        status = cli_usage_failed(&c)   ? CLI_USAGE
                 : r->kind == TRAIN_MLP ? train_run(&c, r)
                                        : train_vit(&c, r);
    }
    cli_release(&c);
    return status;
}

int cmd_train(int argc, char **argv)
{
    train_request r = {.epochs = TRAIN_NOT_GIVEN,
                       .steps = TRAIN_NOT_GIVEN,
                       .batch = TRAIN_NOT_GIVEN,
                       .warmup = TRAIN_NOT_GIVEN,
                       .log_every = TRAIN_NOT_GIVEN,
                       .eval_every = TRAIN_NOT_GIVEN,
                       .piece = TRAIN_NOT_GIVEN,
                       .step_every = 1000,
                       .state_minutes = 5,
                       .mlp_ratio = NAN,
                       .degrees = NAN,
                       .color = NAN,
                       .cache = 1 << 30,
                       .transform = BANG_TRANSFORM_INIT,
                       .pictures = PICTURE_OPTIONS_INIT,
                       .options = BANG_TRAIN_OPTIONS_INIT};
    r.options.weight_decay = r.options.rate = r.options.clip_norm = NAN;
    int status = train(argc, argv, &r);
    free(r.state_path);
    return status;
}
