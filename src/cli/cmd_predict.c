#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoints.h"
#include "predict.h"

static const char summary[] =
    "Runs networks (perceptrons, ViTs, CLIPs, in any mixture) over data and writes what\n"
    "they put out, (n, classes) f32. One network: its logits. Several: the mean of their\n"
    "logits or, with --ensemble probabilities, the mean of their class probabilities;\n"
    "--weights are taken as they are. Each reads the data through its own preprocessing.\n"
    "\n"
    "DATA is a folder of class folders, a CSV (path, label), a folder with images.npy (and\n"
    "labels.npy), a name as bang data list shows them, or pictures (also without --data):\n"
    "then their five likeliest classes are printed. Without -o nothing is written: of data\n"
    "with labels the accuracy is printed.\n"
    "\n"
    "A class folder is the output of that name if the head (bang zeroshot writes such heads)\n"
    "or --classes names the outputs (case aside, and '_', '-', ' ' are the same), else, if there\n"
    "are as many folders as outputs, the output of its place in the order of names; there is no\n"
    "accuracy where some names say otherwise. With --map (see bang data map) outputs become the\n"
    "scores of the map's classes before anything else is done with them. Labels are numbered as\n"
    "the columns of the output.\n"
    "Under mpirun all ranks share the data; rank 0 writes the same bytes as one process.";

static const char example[] =
    "  bang predict --model model.safetensors --data multicolor:split=test,p=0.8 -o logits.npy\n"
    "  bang predict --model pre.safetensors --model fine.safetensors --data photos/val \\\n"
    "      -o ose.npy --labels labels.npy\n"
    "  bang predict --model fine.safetensors --data photos/val\n"
    "  bang predict --model fine.safetensors --data imagenet-a --map imagenet-a.json -o a.npy\n"
    "  bang predict --model clip.safetensors --head head.safetensors cat.jpg dog.png\n";

static void check_models(cli *c, const predict_request *r)
{
    bang_activation activation;
    if (r->count == 0)
        cli_problem(c, "--model: missing: name a network with --model FILE");
    if (r->activation && bang_activation_find(&activation, r->activation) < 0)
        cli_problem(c, "--activation %.40s: unknown: choose relu, gelu or tanh", r->activation);
}

static void check_ensemble(cli *c, predict_request *r)
{
    r->probabilities = strcmp(r->ensemble, "probabilities") == 0;
    if (!r->probabilities && strcmp(r->ensemble, "logits") != 0)
        cli_problem(c, "--ensemble %.40s: unknown: choose logits or probabilities", r->ensemble);
    if (r->features && r->count > 1)
        cli_problem(c, "--features: %zu models: features have no mean, give one model", r->count);
    if (r->features && (r->probabilities || r->map_path))
        cli_problem(c, "--features: have no classes: leave out --ensemble and --map");
    if (!r->weights_text)
        return;
    r->weights = calloc(r->count + 1, sizeof *r->weights);
    int count = r->weights ? cli_numbers(r->weights, (int)r->count, r->weights_text) : -1;
    if (r->weights && (count < 0 || (size_t)count != r->count))
        cli_problem(c,
                    "--weights %.80s: must be one number per model, separated by commas, for %zu "
                    "model%s: two are --weights 0.7,0.3",
                    r->weights_text, r->count, r->count == 1 ? "" : "s");
    else if (!r->weights)
        cli_problem(c, "out of memory");
}

static void check_request(cli *c, predict_request *r)
{
    check_models(c, r);
    predict_check_sources(c, r, 0);
    check_ensemble(c, r);
    picture_options_check(c, &r->pictures);
    if (r->batch < 0 || r->batch > 1 << 20)
        cli_problem(c, "--batch %lld: must be 1 to %d", (long long)r->batch, 1 << 20);
    if (!r->output && r->features)
        cli_problem(c, "--output: missing: say where to write the features with -o FILE.npy");
    if (r->output) {
        cli_check_output(c, r->output, ".npy");
        check_output(c, "output", r->output);
    }
    if (r->labels && r->output && strcmp(r->labels, r->output) == 0)
        cli_problem(c, "--labels %.200s: is the output too: name another file", r->labels);
    else if (r->labels)
        check_output(c, "labels", r->labels);
}

static int predict_all(cli *c, predict_request *r)
{
    bang_error err = {0};
    bang_text notes = {0};
    predict_result result = {0};
    int status = predict_load(c, r);
    if (status == CLI_DONE) {
        predict_fit(c, r, &notes);
        if (notes.size && !c->quiet)
            print_lines(c, "note: ", notes.data);
        status = cli_usage_failed(c) ? CLI_FAILED : CLI_DONE;
    }
    if (status == CLI_DONE) {
        int rc = predict_run(&result, c, r, &err);
        if (rc == 0 && result.bad.size && !c->quiet)
            print_lines(c, "left out: ", result.bad.data);
        status = rc < 0 ? cli_fail(c, &err) : predict_print(c, r, &result);
    }
    predict_result_release(&result);
    bang_text_release(&notes);
    return status;
}

int cmd_predict(int argc, char **argv)
{
    predict_request r = {
        .ensemble = "logits", .pictures = PICTURE_OPTIONS_INIT, .option = "--model "};
    cli_option options[] = {
        {"model", 'm', "FILE", "a network, any checkpoint; several are an ensemble",
         predict_read_model, &r},
        {"head", 0, "FILE", "of the model before it; before all: of each", predict_read_head, &r},
        {"data", 'd', "DATA", "a folder, a CSV, a named data set, or a picture",
         predict_read_source, &r},
        {"output", 'o', "FILE", "where to write the outputs, .npy", cli_read_text, &r.output},
        {"labels", 0, "FILE", "write the labels there too, .npy (n) i64", cli_read_text, &r.labels},
        {"ensemble", 0, "HOW", "of several: mean of logits or probabilities (logits)",
         cli_read_text, &r.ensemble},
        {"weights", 0, "W1,W2,..", "of several: sum with these weights (the mean)", cli_read_text,
         &r.weights_text},
        {"map", 0, "FILE", "which outputs stand for which folders, .json", cli_read_text,
         &r.map_path},
        {"classes", 0, "FILE", "what outputs are called: a NAME, or CLASS<TAB>NAME a line",
         cli_read_text, &r.classes},
        {"features", 0, NULL, "write what the head reads in place of logits", cli_read_flag,
         &r.features},
        {"batch", 0, "N", "pictures prepared at once (some megabytes)", cli_read_whole, &r.batch},
        PICTURE_OPTIONS(&r.pictures),
        {"activation", 0, "NAME", "of perceptrons: relu, gelu or tanh (the file's)", cli_read_text,
         &r.activation},
        {0},
    };
    cli c;
    if (cli_init(&c, "predict", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("predict", "--model FILE ... --data DATA [-o FILE.npy] | PICTURE ...",
                       summary, options, example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : predict_all(&c, &r);
    }
    predict_release(&r);
    cli_release(&c);
    return status;
}
