/* bang data make */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/data/color.h"
#include "bang/data/shift.h"
#include "data.h"

/* What is made, and how. What has no meaning for it is a problem where it is given. */
typedef struct request {
    const char *split, *protocol, *kind, *output;
    int64_t count;
    int has_count, has_p;
    int shifted; /* digits under shifts, else colours */
    bang_color_options color;
    bang_shift_options shift;
} request;

static int read_count(void *target, const char *value, bang_error *err)
{
    request *r = target;
    r->has_count = 1;
    return cli_read_whole(&r->count, value, err);
}

static int read_p(void *target, const char *value, bang_error *err)
{
    request *r = target;
    r->has_p = 1;
    return cli_read_real(&r->color.shift, value, err);
}

static void check_color(cli *c, request *r)
{
    bang_color_options *o = &r->color;
    o->test = r->split && strcmp(r->split, "test") == 0;
    if (r->split && !o->test && strcmp(r->split, "train") != 0)
        cli_problem(c, "--split %.40s: unknown: choose train or test", r->split);
    if (r->protocol && bang_color_find_protocol(&o->protocol, r->protocol) < 0)
        cli_problem(c, "--protocol %.40s: unknown: choose default, published or paper",
                    r->protocol);
    if (!(o->shift >= 0 && o->shift <= 1))
        cli_problem(c, "--shift %g: must be 0 to 1", o->shift);
    if (r->has_count && r->count < 1)
        cli_problem(c, "--count %lld: must be 1 or more: with all MNIST, at most %s",
                    (long long)r->count,
                    o->protocol == BANG_COLOR_PAPER ? "60000 to train, 10000 to test"
                                                    : "50000 to train, 10000 to test");
    if (r->kind)
        cli_problem(c, "--kind %.40s: is for shift alone", r->kind);
    r->split = o->test ? "test" : "train";
    r->protocol = bang_color_protocol_name(o->protocol);
    o->count = r->has_count && r->count > 0 ? (size_t)r->count : 0;
    o->seed = (uint64_t)c->seed;
}

static void check_shift(cli *c, request *r)
{
    bang_shift_options *o = &r->shift;
    if (!r->kind)
        cli_problem(c, "--kind: missing: choose broad, id, v2, r, a, s or o");
    else if (bang_shift_find(&o->kind, r->kind) < 0)
        cli_problem(c, "--kind %.40s: unknown: choose broad, id, v2, r, a, s or o", r->kind);
    o->split = bang_shift_usual_split(o->kind);
    if (r->split && bang_shift_find_split(&o->split, r->split) < 0)
        cli_problem(c, "--split %.40s: unknown: choose train, val or test", r->split);
    if (r->has_count && r->count < 1)
        cli_problem(c, "--count %lld: must be 1 or more", (long long)r->count);
    if (r->has_p)
        cli_problem(c, "--shift: is of multicolor and singlecolor: %s",
                    r->kind ? "leave it out: --kind says how digits shift" : "choose a --kind");
    if (r->protocol)
        cli_problem(c, "--protocol %.40s: is for colours alone", r->protocol);
    r->split = bang_shift_split_name(o->split);
    o->count = r->has_count && r->count > 0 ? (size_t)r->count : 0;
    o->seed = (uint64_t)c->seed;
    o->threads = (int)c->threads;
    o->cancel = cli_cancel();
}

static void check_request(cli *c, request *r)
{
    const char *name = c->operand_count == 1 ? c->operands[0] : "";
    r->shifted = strcmp(name, "shift") == 0;
    r->color.single = strcmp(name, "singlecolor") == 0;
    if (c->operand_count != 1)
        cli_problem(c, "%zu data sets named: name one, multicolor, singlecolor or shift",
                    c->operand_count);
    else if (!r->shifted && !r->color.single && strcmp(name, "multicolor") != 0)
        cli_problem(c, "%.80s: cannot be made: choose multicolor, singlecolor or shift", name);
    if (r->shifted)
        check_shift(c, r);
    else
        check_color(c, r);
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o DIR");
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
        json_array_append_new(list, json_string(path));
        free(path);
    }
    json_t *out = json_pack("{ss sI}", "name", c->operands[0], "count", (json_int_t)count);
    if (r->shifted)
        json_object_set_new(out, "kind", json_string(r->kind));
    else
        json_object_set_new(out, "shift", bang_json_number(r->color.shift));
    json_object_set_new(out, "seed", json_integer((json_int_t)c->seed));
    json_object_set_new(out, "split", json_string(r->split));
    if (!r->shifted)
        json_object_set_new(out, "protocol", json_string(r->protocol));
    json_object_set_new(out, "files", list);
    json_object_set_new(out, "mnist", json_string(mnist->digest));
    json_object_set_new(out, "original", json_boolean(mnist->original));
    return cli_print_json(c, out);
}

static int make_color(size_t *count, const cli *c, const request *r, const bang_mnist *mnist,
                      bang_error *err)
{
    bang_color_set set = {0};
    cli_bar bar;
    int rc = bang_color_make(&set, mnist, &r->color, err);
    if (rc == 0) {
        cli_bar_start(&bar, c, "images");
        rc = bang_color_save(r->output, &set, mnist, &r->color, &bar.progress, cli_cancel(), err);
        cli_bar_finish(&bar);
    }
    *count = set.count;
    bang_color_release(&set);
    return rc;
}

static int make(const cli *c, const request *r)
{
    bang_error err = {0};
    bang_mnist mnist = {0};
    size_t count = 0;
    int rc = data_open_mnist(&mnist, c, &err);
    if (rc == 0)
        rc = r->shifted ? bang_shift_save(&count, r->output, &mnist, &r->shift, &err)
                        : make_color(&count, c, r, &mnist, &err);
    int status = rc < 0 ? cli_fail(c, &err) : print_made(c, r, count, &mnist);
    bang_mnist_release(&mnist);
    return status;
}

static const char about[] =
    "Writes a data set that is made from MNIST to a folder: images.npy, labels.npy (N),\n"
    "preview.png and manifest.json.\n\n"
    "multicolor, singlecolor: (N, 42, 42, 3), a digit in the middle of 32 patches of one\n"
    "colour each. A patch shows the class by its colour; with probability P it shows any of\n"
    "the ten instead (singlecolor: all patches together). The same seed gives the same\n"
    "colours for the classes, whatever the other options.\n\n"
    "shift: (N, 28, 28), digits under shifts. broad is a mixture of many changes to\n"
    "pre-train on; id, grey on clouds with a little noise, is to fine-tune in; the others\n"
    "are to test on: v2 (other writers, more noise), r (thick or blurred, any texture, half\n"
    "of them inverted), a (covered in part, noisy), s (thin and dark on white), o (turned,\n"
    "scaled, sheared, moved). No two of them share a digit.";

int data_make(int argc, char **argv)
{
    request r = {.color = BANG_COLOR_OPTIONS_INIT, .shift = BANG_SHIFT_OPTIONS_INIT};
    cli_option options[] = {
        {"shift", 'p', "P", "colours: probability that a patch takes any, 0 to 1 (0)", read_p, &r},
        {"kind", 0, "KIND", "shift: broad, id, v2, r, a, s or o", cli_read_text, &r.kind},
        {"count", 0, "N", "images, from the first on (all)", read_count, &r},
        {"split", 0, "WHICH",
         "digits to train or to test with: train or test, of id also val\n"
         "                               (train; where there is none, test)",
         cli_read_text, &r.split},
        {"protocol", 0, "NAME",
         "colours: default, published: 50000/10000 of MNIST's training\n"
         "                               file; paper: 60000 and the official 10000 (default)",
         cli_read_text, &r.protocol},
        {"output", 'o', "DIR", "the folder to write", cli_read_text, &r.output},
        {0},
    };
    cli c;
    if (cli_init(&c, "data make", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    if (c.help) {
        cli_print_help("data make", "multicolor|singlecolor|shift -o DIR [options]", about, options,
                       "  bang data make multicolor -o train\n"
                       "  bang data make multicolor -p 0.8 --split test --seed 3 --count 1000 -o "
                       "shifted\n"
                       "  bang data make shift --kind s -o sketch\n");
        cli_release(&c);
        return CLI_DONE;
    }
    check_request(&c, &r);
    int status = cli_usage_failed(&c) ? CLI_USAGE : make(&c, &r);
    cli_release(&c);
    return status;
}
