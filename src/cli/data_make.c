/* bang data make, bang data preview */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/data/color.h"
#include "bang/data/sheet.h"
#include "bang/store/png.h"
#include "data.h"

typedef struct request {
    const char *split, *protocol, *output;
    int64_t count;
    int has_count;
    bang_color_options options;
} request;

static int read_count(void *target, const char *value, bang_error *err)
{
    request *r = target;
    r->has_count = 1;
    return cli_read_whole(&r->count, value, err);
}

static void check_request(cli *c, request *r)
{
    bang_color_options *o = &r->options;
    if (c->operand_count != 1)
        cli_problem(c, "%zu data sets named: name one, multicolor or singlecolor",
                    c->operand_count);
    else if (strcmp(c->operands[0], "multicolor") != 0 &&
             strcmp(c->operands[0], "singlecolor") != 0)
        cli_problem(c, "%.80s: cannot be made: choose multicolor or singlecolor", c->operands[0]);
    else
        o->single = c->operands[0][0] == 's';
    o->test = strcmp(r->split, "test") == 0;
    if (!o->test && strcmp(r->split, "train") != 0)
        cli_problem(c, "--split %.40s: unknown: choose train or test", r->split);
    if (bang_color_find_protocol(&o->protocol, r->protocol) < 0)
        cli_problem(c, "--protocol %.40s: unknown: choose default, published or paper",
                    r->protocol);
    if (!(o->shift >= 0 && o->shift <= 1))
        cli_problem(c, "--shift %g: must be 0 to 1", o->shift);
    if (r->has_count && r->count < 1)
        cli_problem(c, "--count %lld: must be 1 or more: with all MNIST, at most %s",
                    (long long)r->count,
                    o->protocol == BANG_COLOR_PAPER ? "60000 to train, 10000 to test"
                                                    : "50000 to train, 10000 to test");
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o DIR");
    o->count = r->has_count && r->count > 0 ? (size_t)r->count : 0;
    o->seed = (uint64_t)c->seed;
}

static int print_made(const cli *c, const request *r, size_t count, const bang_mnist *mnist)
{
    static const char *const files[] = {"images.npy", "labels.npy", "preview.png", "manifest.json"};
    if (!c->json) {
        if (!c->quiet)
            printf("%s: %zu image%s in %s\n", c->operands[0], count, count == 1 ? "" : "s",
                   r->output);
        return CLI_DONE;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = bang_path_join(r->output, files[i]);
        json_array_append_new(list, json_string(path ? path : files[i]));
        free(path);
    }
    json_t *out = json_pack("{ss sI so sI ss ss so ss sb}", "name", c->operands[0], "count",
                            (json_int_t)count, "shift", bang_json_number(r->options.shift), "seed",
                            (json_int_t)c->seed, "split", r->split, "protocol", r->protocol,
                            "files", list, "mnist", mnist->digest, "original", mnist->original);
    return cli_print_json(c, out);
}

static int make(const cli *c, const request *r)
{
    bang_error err = {0};
    bang_mnist mnist = {0};
    bang_color_set set = {0};
    cli_bar bar;
    int rc = data_open_mnist(&mnist, c, &err);
    if (rc == 0)
        rc = bang_color_make(&set, &mnist, &r->options, &err);
    if (rc == 0) {
        cli_bar_start(&bar, c, "images");
        rc = bang_color_save(r->output, &set, &mnist, &r->options, &bar.progress, cli_cancel(),
                             &err);
        cli_bar_finish(&bar);
    }
    int status = rc < 0 ? cli_fail(c, &err) : print_made(c, r, set.count, &mnist);
    bang_color_release(&set);
    bang_mnist_release(&mnist);
    return status;
}

int data_make(int argc, char **argv)
{
    static const char summary[] =
        "Writes MultiColorMNIST or SingleColorMNIST to a folder: images.npy (N, 42, 42, 3),\n"
        "labels.npy (N), preview.png and manifest.json. An image holds a digit in the middle\n"
        "of 32 patches of one colour each. A patch shows the class by its colour; with\n"
        "probability P it shows any of the ten instead (singlecolor: all patches together).\n"
        "The same seed gives the same colours for the classes, whatever the other options.";
    request r = {.split = "train", .protocol = "default", .options = BANG_COLOR_OPTIONS_INIT};
    cli_option options[] = {
        {"shift", 'p', "P", "probability that a patch takes any colour, 0 to 1 (0)", cli_read_real,
         &r.options.shift},
        {"count", 0, "N", "images, from the first on (all)", read_count, &r},
        {"split", 0, "WHICH", "digits to train or to test with: train or test (train)",
         cli_read_text, &r.split},
        {"protocol", 0, "NAME",
         "default, published: 50000/10000 of MNIST's training file;\n"
         "                               paper: 60000 and the official 10000 (default)",
         cli_read_text, &r.protocol},
        {"output", 'o', "DIR", "the folder to write", cli_read_text, &r.output},
        {0},
    };
    cli c;
    if (cli_init(&c, "data make", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    if (c.help) {
        cli_print_help("data make", "multicolor|singlecolor -p P -o DIR [options]", summary,
                       options,
                       "  bang data make multicolor -o train\n"
                       "  bang data make multicolor -p 0.8 --split test --seed 3 --count 1000 -o "
                       "shifted\n");
        cli_release(&c);
        return CLI_DONE;
    }
    check_request(&c, &r);
    int status = cli_usage_failed(&c) ? CLI_USAGE : make(&c, &r);
    cli_release(&c);
    return status;
}

static int preview(const cli *c, const char *output)
{
    bang_error err = {0};
    bang_array sheet = {0};
    size_t count = c->operand_count, opened = 0;
    bang_dataset *sets = calloc(count, sizeof *sets);
    size_t(*sizes)[2] = calloc(count, sizeof *sizes); /* images, classes */
    int rc = sets && sizes ? 0 : bang_fail_memory(&err);
    for (; opened < count && rc == 0; opened++)
        rc = bang_sheet_open(&sets[opened], &sizes[opened][0], &sizes[opened][1],
                             c->operands[opened], &err);
    if (rc == 0)
        rc = bang_sheet_make(&sheet, sets, c->operands, count, &err);
    if (rc == 0)
        rc = bang_png_write(output, sheet.data, sheet.shape[1], sheet.shape[0], 3, &err);
    int status = rc < 0 ? cli_fail(c, &err) : CLI_DONE;
    if (rc == 0 && c->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, json_pack("{ss sI sI}", "source", c->operands[i], "count",
                                                  (json_int_t)sizes[i][0], "classes",
                                                  (json_int_t)sizes[i][1]));
        status = cli_print_json(c, json_pack("{ss sI sI so}", "output", output, "width",
                                             (json_int_t)sheet.shape[1], "height",
                                             (json_int_t)sheet.shape[0], "sets", list));
    }
    bang_array_release(&sheet);
    for (size_t i = 0; i < opened; i++)
        bang_dataset_release(&sets[i]);
    free(sizes);
    free(sets);
    return status;
}

int data_preview(int argc, char **argv)
{
    static const char summary[] =
        "Draws the first eight images of each class (of ten classes at most), a row a class,\n"
        "several data sets below each other. DATA is a folder of class folders with pictures\n"
        "(JPEG, PNG, WebP), a CSV with the columns path and label, a folder with images.npy\n"
        "and labels.npy, or a name as bang data list shows them.";
    const char *output = NULL;
    cli_option options[] = {
        {"output", 'o', "FILE", "where to write the PNG", cli_read_text, &output},
        {0},
    };
    cli c;
    if (cli_init(&c, "data preview", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    if (c.help) {
        cli_print_help("data preview", "DATA... -o FILE.png", summary, options,
                       "  bang data preview train shifted -o both.png\n"
                       "  bang data preview multicolor:split=test,p=0.8 -o shifted.png\n"
                       "  bang data preview imagenet/val -o val.png\n");
        cli_release(&c);
        return CLI_DONE;
    }
    if (c.operand_count == 0)
        cli_problem(&c, "no data named: name a folder, a CSV or a data set");
    if (!output)
        cli_problem(&c, "--output: missing: say where to write with -o FILE.png");
    else
        cli_check_output(&c, output, ".png");
    int status = cli_usage_failed(&c) ? CLI_USAGE : preview(&c, output);
    cli_release(&c);
    return status;
}
