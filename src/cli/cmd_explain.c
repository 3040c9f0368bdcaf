#include <stdio.h>
#include <string.h>

#include "explain.h"

static const char summary[] =
    "Shows which parts of a picture networks use, models side by side on the same pictures.\n"
    "\n"
    "Commands, all but the last for ViTs and CLIPs:\n"
    "  gradcam    what patches hold at the first norm of the last block, weighted by the mean\n"
    "             gradient of a class's output (Grad-CAM as it is done for ViTs)\n"
    "  hirescam   each patch weighted by its own gradient, as HiResCAM does in one layer, here\n"
    "             summed over blocks (ours): also right where a network, as small ones do,\n"
    "             decides before its last block\n"
    "  gradients  how fast a class's output changes with each pixel\n"
    "  rollout    whence the class token's attention comes, through all blocks; of no class,\n"
    "             so that the network needs no head\n"
    "  occlusion  how far the output of the true class moves (mean over the images) and what\n"
    "             accuracy is left when one cell of a grid after the other turns black; of\n"
    "             perceptrons or transformers, and of the mean of their logits\n"
    "\n"
    "Maps: the PNG has a row for each picture and a column for each model; the CSV a line for\n"
    "each picture, model and patch (gradients: means over patches); --html writes a page. All\n"
    "print how many patches a map spreads over, the effective number (sum a)^2 / sum a^2, and\n"
    "how alike the maps of two models are. Occlusion: the PNG shows a heat map of each network\n"
    "on one scale, the CSV has the numbers; the effective number is the mean over the maps of\n"
    "the classes, not that of the map of all that is shown.\n"
    "\n"
    "Pictures are taken class by class in turn, or as --by and --samples say, or, for maps,\n"
    "--group: FFT are those that the first two models get wrong and the third right.\n"
    "\n"
    "DATA is as bang predict reads it; pictures may also stand alone.";

static const char example[] =
    "  bang explain gradcam --model pre.safetensors --model fine.safetensors \\\n"
    "      --model avg.safetensors --data photos --group FFT -o maps.png --html maps.html\n"
    "  bang explain hirescam --model fine.safetensors --class dog dog.jpg -o dog.png\n"
    "  bang explain occlusion --model a.safetensors --model b.safetensors --data "
    "multicolor:split=test -o map.png\n";

/* One of the methods, or -1 with a problem. */
static int read_method(cli *c, explain_request *r)
{
    static const struct {
        const char *name, *title;
        int occlusion;
        bang_saliency_kind kind;
    } methods[] = {
        {"gradcam", "Grad-CAM", 0, BANG_GRADCAM},
        {"hirescam", "Summed HiResCAM", 0, BANG_HIRESCAM},
        {"gradients", "Input gradients", 0, BANG_INPUT_GRADIENT},
        {"rollout", "Attention rollout", 0, BANG_ROLLOUT},
        {"occlusion", "Occlusion", 1, BANG_GRADCAM},
    };
    const char *what = c->operand_count ? c->operands[0] : NULL;
    for (size_t i = 0; what && i < sizeof methods / sizeof *methods; i++)
        if (strcmp(what, methods[i].name) == 0) {
            r->method = methods[i].name;
            r->title = methods[i].title;
            r->occlusion = methods[i].occlusion;
            r->kind = methods[i].kind;
            return 0;
        }
    if (what)
        cli_problem(c, "%.80s: unknown: choose gradcam, hirescam, gradients, rollout or occlusion",
                    what);
    else
        cli_problem(c, "no method named: write bang explain gradcam, hirescam, gradients, rollout "
                       "or occlusion");
    return -1;
}

static void read_grid(cli *c, explain_request *r)
{
    const char *grid = r->grid ? r->grid : "6x6", *cross = strchr(grid, 'x');
    char first[24] = {0};
    int64_t rows = 0, columns = 0;
    size_t size = cross ? (size_t)(cross - grid) : 0;
    if (size < sizeof first)
        memcpy(first, grid, size);
    if (!cross || bang_text_to_int64(&rows, first) < 0 ||
        bang_text_to_int64(&columns, cross + 1) < 0 || rows < 1 || columns < 1 || rows > 4096 ||
        columns > 4096)
        cli_problem(c, "--grid %.40s: is no grid: write rows and columns such as 6x6", grid);
    r->grid_rows = (size_t)rows;
    r->grid_columns = (size_t)columns;
}

/* Options that the method does not know. */
static void check_method(cli *c, const explain_request *r)
{
    const struct {
        const char *name;
        int given, of_occlusion;
    } options[] = {
        {"grid", r->grid != NULL, 1},   {"class", r->class_text != NULL, 0},
        {"group", r->group != NULL, 0}, {"rows", r->rows != 0, 0},
        {"html", r->html != NULL, 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && options[i].of_occlusion != r->occlusion)
            cli_problem(c, "--%s: is no option of %s: leave it out", options[i].name,
                        c->operands[0]);
    if (!r->occlusion && r->kind == BANG_ROLLOUT && r->class_text)
        cli_problem(c, "--class: attention rollout knows no class: leave it out");
}

static void check_output_file(cli *c, explain_request *r)
{
    r->csv = r->output && bang_text_ends_with(r->output, ".csv");
    if (!r->output && (!r->html || r->occlusion))
        cli_problem(c, "--output: missing: say where to write with -o FILE.png or FILE.csv");
    else if (r->output && !r->csv && !bang_text_ends_with(r->output, ".png"))
        cli_problem(c, "--output %.200s: unknown kind: end it in .png or .csv", r->output);
    else if (r->output)
        check_output(c, "output", r->output);
    if (r->html && r->output && same_file(r->html, r->output))
        cli_problem(c, "--html %.200s: is the output too: name another file", r->html);
    else if (r->html)
        check_output(c, "html", r->html);
}

static void check_request(cli *c, explain_request *r)
{
    predict_request *p = &r->from;
    bang_activation activation;
    int rc = read_method(c, r);
    if (p->count == 0)
        cli_problem(c, "--model: missing: name a network with --model FILE");
    if (p->activation && bang_activation_find(&activation, p->activation) < 0)
        cli_problem(c, "--activation %.40s: unknown: choose relu, gelu or tanh", p->activation);
    predict_check_sources(c, p, 1);
    if (rc == 0)
        check_method(c, r);
    read_grid(c, r);
    explain_choice_check(c, r);
    if (r->count < 0)
        cli_problem(c, "--count %lld: must be 1 or more", (long long)r->count);
    if (r->rows < 0 || r->rows > 1 << 12)
        cli_problem(c, "--rows %lld: must be 1 to %d", (long long)r->rows, 1 << 12);
    picture_options_check(c, &p->pictures);
    check_output_file(c, r);
    p->output = r->output ? r->output : r->html; /* there is one, whatever the labels are */
}

/* As cli_read_whole, of numbers from 1 on: 0 is what nobody typed. */
static int read_positive(void *target, const char *value, bang_error *err)
{
    int64_t *number = target;
    int rc = cli_read_whole(number, value, err);
    return rc == 0 && *number < 1 ? bang_fail(err, BANG_EUSAGE, "must be 1 or more") : rc;
}

int cmd_explain(int argc, char **argv)
{
    explain_request r = {
        .from = {.ensemble = "logits", .pictures = PICTURE_OPTIONS_INIT, .option = "--model "}};
    cli_option options[] = {
        {"model", 'm', "FILE", "a network, any checkpoint; several side by side",
         predict_read_model, &r.from},
        {"head", 0, "FILE", "of the model before it; before all: of each", predict_read_head,
         &r.from},
        {"data", 'd', "DATA", "a folder, a CSV, a named data set, or a picture",
         predict_read_source, &r.from},
        {"count", 0, "N", "pictures (8; of occlusion 1000, with ViTs 32)", read_positive, &r.count},
        {"class", 0, "WHICH", "predicted or label, else a number or name (predicted)",
         cli_read_text, &r.class_text},
        {"samples", 0, "N,N,..", "these pictures of the data, from 0 on: 3,7,10-12", cli_read_text,
         &r.samples},
        {"group", 0, "LETTERS", "only those the models get right (T), wrong (F): FFT",
         cli_read_text, &r.group},
        {"by", 0, "HOW", "taken in turn by class or order of the data (class)", cli_read_text,
         &r.by},
        {"rows", 0, "N", "pictures on the sheet and the page at most (16)", read_positive, &r.rows},
        {"grid", 0, "RxC", "occlusion's cells; they divide the image (6x6; ViTs 7x7)",
         cli_read_text, &r.grid},
        {"output", 'o', "FILE", "where to write, .png or .csv", cli_read_text, &r.output},
        {"html", 0, "FILE", "a page with pictures and numbers", cli_read_text, &r.html},
        {"classes", 0, "FILE", "what outputs are called: a NAME, or CLASS<TAB>NAME a line",
         cli_read_text, &r.from.classes},
        PICTURE_OPTIONS(&r.from.pictures),
        {"activation", 0, "NAME", "of perceptrons: relu, gelu or tanh (the file's)", cli_read_text,
         &r.from.activation},
        {0},
    };
    cli c;
    if (cli_init(&c, "explain", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("explain",
                       "METHOD --model FILE ... --data DATA -o FILE.png|FILE.csv [PICTURE ...]",
                       summary, options, example);
    } else {
        check_request(&c, &r);
        r.from.headless = !r.occlusion && r.kind == BANG_ROLLOUT;
        status = cli_usage_failed(&c) ? CLI_USAGE
                 : r.occlusion        ? explain_occlusion(&c, &r)
                                      : explain_maps(&c, &r);
    }
    predict_release(&r.from);
    cli_release(&c);
    return status;
}
