#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/store/npy.h"
#include "networks.h"

typedef struct request {
    networks models;
    const char *data, *output, *labels, *ensemble;
    bang_dataset set;
} request;

static const char summary[] =
    "Runs networks over a data set and writes what they put out, (n, classes) f32. One\n"
    "network: its logits. Several: the mean of their logits or, with --ensemble\n"
    "probabilities, the mean of their class probabilities. DATA is a folder with\n"
    "images.npy and labels.npy, or a name as bang data list shows them.";

static const char example[] =
    "  bang predict --model model.safetensors --data multicolor:split=test,p=0.8 -o logits.npy\n"
    "  bang predict --model a.safetensors --model b.safetensors --data shifted -o ose.npy\n";

static void check_request(cli *c, const request *r)
{
    for (size_t i = 0; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: a network is named with --model", c->operands[i]);
    networks_check(c, &r->models);
    if (!r->data)
        cli_problem(c, "--data: missing: name a folder or a data set with --data DATA");
    if (strcmp(r->ensemble, "logits") != 0 && strcmp(r->ensemble, "probabilities") != 0)
        cli_problem(c, "--ensemble %.40s: unknown: choose logits or probabilities", r->ensemble);
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o FILE.npy");
    if (r->output) {
        cli_check_output(c, r->output, ".npy");
        check_output(c, "output", r->output);
    }
    if (r->labels && r->output && strcmp(r->labels, r->output) == 0)
        cli_problem(c, "--labels %.200s: is the output too: name another file", r->labels);
    else if (r->labels)
        check_output(c, "labels", r->labels);
}

static int print_result(const cli *c, const request *r, const double *accuracy)
{
    const networks *n = &r->models;
    size_t classes = n->mlps[0].width[n->mlps[0].layers];
    if (c->json) {
        json_t *list = json_array();
        for (size_t m = 0; m < n->count; m++)
            json_array_append_new(list, bang_json_number(accuracy[m]));
        return cli_print_json(c, json_pack("{sI sI so so ss ss}", "n", (json_int_t)r->set.count,
                                           "classes", (json_int_t)classes, "accuracy",
                                           bang_json_number(accuracy[n->count]), "models", list,
                                           "ensemble", r->ensemble, "output", r->output));
    }
    if (c->quiet)
        return CLI_DONE;
    printf("%zu inputs, %zu classes\n\naccuracy\n", r->set.count, classes);
    for (size_t m = 0; m < n->count; m++)
        printf("%8.2f %%  %s\n", 100 * accuracy[m], n->paths[m]);
    if (n->count > 1)
        printf("%8.2f %%  mean of %s\n", 100 * accuracy[n->count], r->ensemble);
    printf("\n%s: %s\n", r->output,
           strcmp(r->ensemble, "logits") == 0 ? "logits" : "class probabilities");
    return CLI_DONE;
}

typedef struct target {
    bang_file *file;
    size_t classes;
} target;

/* Little-endian as the header says, whatever this machine is. */
static void take_outputs(void *context, const float *outputs, size_t count)
{
    const target *to = context;
    unsigned char bytes[4096];
    size_t used = 0;
    for (size_t i = 0; i < count * to->classes; i++) {
        uint32_t bits;
        memcpy(&bits, &outputs[i], sizeof bits);
        for (int b = 0; b < 4; b++)
            bytes[used++] = (unsigned char)(bits >> 8 * b & 255);
        if (used == sizeof bytes || i + 1 == count * to->classes) {
            bang_file_write(to->file, bytes, used);
            used = 0;
        }
    }
}

static int write_outputs(double *accuracy, const cli *c, const request *r, bang_error *err)
{
    const networks *n = &r->models;
    target to = {NULL, n->mlps[0].width[n->mlps[0].layers]};
    forward how = {.probabilities = strcmp(r->ensemble, "probabilities") == 0,
                   .threads = (int)c->threads,
                   .cancel = cli_cancel(),
                   .take = take_outputs,
                   .context = &to};
    bang_array shape = {.dtype = BANG_F32, .rank = 2, .shape = {r->set.count, to.classes}};
    bang_text header = {0};
    inputs in;
    cli_bar bar;
    shape.count = r->set.count * to.classes;
    int rc = inputs_init(&in, &r->set, 1, err);
    if (rc < 0)
        return rc;
    rc = bang_npy_header(&header, &shape, err);
    if (rc == 0)
        rc = bang_file_begin(&to.file, r->output, err);
    if (rc == 0) {
        bang_file_write(to.file, header.data, header.size);
        cli_bar_start(&bar, c, "inputs");
        how.progress = &bar.progress;
        rc = forward_run(accuracy, n->mlps, n->count, &in, &how, err);
        cli_bar_finish(&bar);
    }
    if (rc == 0)
        rc = bang_file_commit(to.file, err);
    else
        bang_file_discard(to.file);
    bang_text_release(&header);
    inputs_release(&in);
    return rc;
}

static int predict_all(cli *c, request *r)
{
    bang_error err = {0};
    int status = CLI_USAGE;
    double *accuracy = calloc(r->models.count + 1, sizeof *accuracy);
    int rc = accuracy ? networks_load(&r->models, &err) : bang_fail_memory(&err);
    if (rc == 0)
        rc = bang_dataset_open(&r->set, r->data, &err);
    if (rc == 0) {
        networks_fit(c, &r->models, &r->set, r->data);
        if (cli_usage_failed(c)) {
            free(accuracy);
            return status;
        }
        rc = write_outputs(accuracy, c, r, &err);
    }
    if (rc == 0 && r->labels)
        rc = bang_npy_write(r->labels, &r->set.labels, &err);
    status = rc < 0 ? cli_fail(c, &err) : print_result(c, r, accuracy);
    free(accuracy);
    return status;
}

int cmd_predict(int argc, char **argv)
{
    request r = {.ensemble = "logits"};
    cli_option options[] = {
        NETWORK_OPTIONS(&r.models),
        {"data", 'd', "DATA", "a folder or a named data set", cli_read_text, &r.data},
        {"ensemble", 0, "HOW", "of several: mean of logits or probabilities (logits)",
         cli_read_text, &r.ensemble},
        {"output", 'o', "FILE", "where to write the outputs, .npy", cli_read_text, &r.output},
        {"labels", 0, "FILE", "write the labels there too, .npy (n) i64", cli_read_text, &r.labels},
        {0},
    };
    cli c;
    if (cli_init(&c, "predict", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("predict", "--model FILE ... --data DATA -o FILE.npy", summary, options,
                       example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : predict_all(&c, &r);
    }
    bang_dataset_release(&r.set);
    networks_release(&r.models);
    cli_release(&c);
    return status;
}
