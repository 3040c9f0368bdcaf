#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/data/color.h"
#include "bang/explain/heat.h"
#include "bang/explain/occlusion.h"
#include "bang/store/png.h"
#include "networks.h"

typedef struct request {
    networks models;
    const char *data, *output, *grid;
    int64_t count;
    size_t rows, columns;
    int csv;
    bang_dataset set;
    size_t images;
    uint8_t *masks; /* (2, rows, columns): the digit, all but the digit; NULL for other images */
    bang_occlusion result;
} request;

static const char summary[] =
    "occlusion: makes one cell of a grid over the images black after the other and measures\n"
    "how far the output of the true class moves (mean over the images) and what accuracy is\n"
    "left; of each network, and of the mean of their logits. The PNG shows a heat map of\n"
    "each side by side on one scale, the CSV has the numbers. DATA is a folder with\n"
    "images.npy and labels.npy, or a name as bang data list shows them.";

static const char example[] =
    "  bang explain occlusion --model a.safetensors --model b.safetensors --data "
    "multicolor:split=test -o map.png\n";

static void read_grid(cli *c, request *r)
{
    const char *cross = strchr(r->grid, 'x');
    char first[24] = {0};
    int64_t rows = 0, columns = 0;
    size_t size = cross ? (size_t)(cross - r->grid) : 0;
    if (size < sizeof first)
        memcpy(first, r->grid, size);
    if (!cross || bang_text_to_int64(&rows, first) < 0 ||
        bang_text_to_int64(&columns, cross + 1) < 0 || rows < 1 || columns < 1 || rows > 4096 ||
        columns > 4096)
        cli_problem(c, "--grid %.40s: is no grid: write rows and columns such as 6x6", r->grid);
    r->rows = (size_t)rows;
    r->columns = (size_t)columns;
}

static void check_request(cli *c, request *r)
{
    const char *what = c->operand_count ? c->operands[0] : NULL;
    if (!what)
        cli_problem(c, "no method named: write bang explain occlusion");
    else if (strcmp(what, "gradcam") == 0)
        cli_problem(c, "gradcam: not in this version: take occlusion");
    else if (strcmp(what, "occlusion") != 0)
        cli_problem(c, "%.80s: unknown: choose occlusion", what);
    for (size_t i = 1; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: a network is named with --model", c->operands[i]);
    networks_check(c, &r->models);
    read_grid(c, r);
    if (!r->data)
        cli_problem(c, "--data: missing: name a folder or a data set with --data DATA");
    if (r->count < 1)
        cli_problem(c, "--count %lld: must be 1 or more", (long long)r->count);
    r->csv = r->output && bang_text_ends_with(r->output, ".csv");
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o FILE.png or FILE.csv");
    else if (!r->csv && !bang_text_ends_with(r->output, ".png"))
        cli_problem(c, "--output %.200s: unknown kind: end it in .png or .csv", r->output);
    else
        check_output(c, "output", r->output);
}

/* The digit and its surroundings, where images are laid out as the colour sets. */
static int make_masks(request *r, bang_error *err)
{
    const bang_array *a = &r->set.inputs;
    enum { CELLS = BANG_COLOR_SIDE / BANG_COLOR_CELL };
    if (a->rank != 4 || a->shape[1] != BANG_COLOR_SIDE || a->shape[2] != BANG_COLOR_SIDE ||
        a->shape[3] != 3 || r->rows != CELLS || r->columns != CELLS)
        return 0;
    r->masks = calloc(2, CELLS * CELLS);
    if (!r->masks)
        return bang_fail_memory(err);
    memset(r->masks, 1, CELLS * CELLS);
    for (int patch = 0; patch < BANG_COLOR_PATCHES; patch++) {
        int row, column;
        bang_color_cell(patch, &row, &column);
        r->masks[row * CELLS + column] = 0;
        r->masks[(CELLS + row) * CELLS + column] = 1;
    }
    return 0;
}

static const char *member_name(const request *r, size_t member)
{
    return member < r->models.count ? r->models.paths[member] : "ensemble";
}

static double accuracy_without(const request *r, size_t member, size_t mask)
{
    return r->result.accuracy[member * (r->result.masks + 1) + mask];
}

static void add_csv_name(bang_text *csv, const char *name)
{
    if (!strpbrk(name, ",\"\n\r")) {
        bang_text_add(csv, "%s", name);
        return;
    }
    bang_text_add(csv, "\"");
    for (; *name; name++)
        bang_text_add(csv, *name == '"' ? "\"%c" : "%c", *name);
    bang_text_add(csv, "\"");
}

static int write_csv(const request *r, bang_error *err)
{
    bang_text csv = {0};
    bang_text_add(&csv, "member,row,column,change,accuracy_without\n");
    for (size_t m = 0; m < r->result.members; m++)
        for (size_t i = 0; i < r->rows * r->columns; i++) {
            add_csv_name(&csv, member_name(r, m));
            bang_text_add(&csv, ",%zu,%zu,%.17g,%.17g\n", i / r->columns, i % r->columns,
                          bang_occlusion_change(&r->result, m, i), accuracy_without(r, m, i));
        }
    int rc = csv.failed ? bang_fail_memory(err) : bang_file_put(r->output, csv.data, csv.size, err);
    bang_text_release(&csv);
    return rc;
}

static int write_png(const request *r, bang_error *err)
{
    size_t cells = r->rows * r->columns, members = r->result.members;
    bang_array picture = {0};
    double *amount = calloc(members * cells, sizeof *amount);
    int rc = amount ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < members * cells; i++)
        amount[i] = bang_occlusion_change(&r->result, i / cells, i % cells);
    if (rc == 0)
        rc = bang_heat_draw(&picture, amount, members, r->rows, r->columns, err);
    if (rc == 0)
        rc = bang_png_write(r->output, picture.data, picture.shape[1], picture.shape[0], 3, err);
    bang_array_release(&picture);
    free(amount);
    return rc;
}

static json_t *member_json(const request *r, size_t m)
{
    size_t cells = r->rows * r->columns;
    json_t *change = json_array(), *accuracy = json_array();
    for (size_t row = 0; row < r->rows; row++) {
        json_t *changes = json_array(), *accuracies = json_array();
        for (size_t i = row * r->columns; i < (row + 1) * r->columns; i++) {
            json_array_append_new(changes,
                                  bang_json_number(bang_occlusion_change(&r->result, m, i)));
            json_array_append_new(accuracies, bang_json_number(accuracy_without(r, m, i)));
        }
        json_array_append_new(change, changes);
        json_array_append_new(accuracy, accuracies);
    }
    json_t *out = json_pack("{ss so so so so}", "name", member_name(r, m), "accuracy",
                            bang_json_number(accuracy_without(r, m, r->result.masks)), "effective",
                            bang_json_number(bang_occlusion_effective_cells(&r->result, m, cells)),
                            "change", change, "accuracy_without", accuracy);
    if (r->masks) {
        json_object_set_new(out, "without_digit", bang_json_number(accuracy_without(r, m, cells)));
        json_object_set_new(out, "without_border",
                            bang_json_number(accuracy_without(r, m, cells + 1)));
    }
    return out;
}

static int print_json(const cli *c, const request *r)
{
    size_t cells = r->rows * r->columns;
    json_t *members = json_array(), *shared = json_array();
    for (size_t m = 0; m < r->result.members; m++) {
        json_t *row = json_array();
        for (size_t other = 0; other < r->result.members; other++)
            json_array_append_new(
                row, bang_json_number(bang_occlusion_shared_cells(&r->result, m, other, cells)));
        json_array_append_new(shared, row);
        json_array_append_new(members, member_json(r, m));
    }
    return cli_print_json(c, json_pack("{s[II] sI so so ss}", "grid", (json_int_t)r->rows,
                                       (json_int_t)r->columns, "images", (json_int_t)r->images,
                                       "members", members, "shared", shared, "output", r->output));
}

static void print_table(const request *r)
{
    size_t cells = r->rows * r->columns;
    printf("%zu images, %zu x %zu cells\n\n", r->images, r->rows, r->columns);
    printf(" accuracy  %sin use  largest change     network\n",
           r->masks ? "no digit  no border  cells " : "cells ");
    for (size_t m = 0; m < r->result.members; m++) {
        size_t best = 0;
        for (size_t i = 1; i < cells; i++)
            if (bang_occlusion_change(&r->result, m, i) >
                bang_occlusion_change(&r->result, m, best))
                best = i;
        printf("%7.2f %%", 100 * accuracy_without(r, m, r->result.masks));
        if (r->masks)
            printf("%8.2f %%%9.2f %%", 100 * accuracy_without(r, m, cells),
                   100 * accuracy_without(r, m, cells + 1));
        char place[48];
        snprintf(place, sizeof place, "(%zu, %zu)", best / r->columns, best % r->columns);
        printf("%14.1f  %-8.3g %-9s %s\n", bang_occlusion_effective_cells(&r->result, m, cells),
               bang_occlusion_change(&r->result, m, best), place, member_name(r, m));
    }
    printf("\n%s\n", r->output);
}

static int occlude(request *r, bang_error *err)
{
    const networks *n = &r->models;
    bang_array images = r->set.inputs; /* the first of them, borrowed */
    r->images = (uint64_t)r->count < r->set.count ? (size_t)r->count : r->set.count;
    images.shape[0] = r->images;
    images.count = r->images * r->set.width;
    const bang_mlp **mlps = calloc(n->count, sizeof(const bang_mlp *));
    int rc = mlps ? make_masks(r, err) : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < n->count; i++)
        mlps[i] = &n->mlps[i];
    bang_occlusion_grid grid = {r->rows, r->columns, r->masks ? 2 : 0, r->masks};
    if (rc == 0)
        rc = bang_occlusion_run(&r->result, mlps, n->count, &images, r->set.labels.data, &grid,
                                cli_cancel(), err);
    free(mlps);
    if (rc == 0)
        rc = r->csv ? write_csv(r, err) : write_png(r, err);
    return rc;
}

static int explain(cli *c, request *r)
{
    bang_error err = {0};
    int status = networks_load(c, &r->models);
    int rc = bang_dataset_open(&r->set, r->data, &err);
    if (status != CLI_DONE) {
        if (rc < 0)
            cli_fail(c, &err);
        return status;
    }
    if (rc == 0) {
        networks_fit(c, &r->models, &r->set, r->data);
        if (cli_usage_failed(c))
            return CLI_USAGE;
        rc = occlude(r, &err);
    }
    if (rc < 0)
        return cli_fail(c, &err);
    if (c->json)
        return print_json(c, r);
    if (!c->quiet)
        print_table(r);
    return CLI_DONE;
}

int cmd_explain(int argc, char **argv)
{
    request r = {.grid = "6x6", .count = 1000};
    cli_option options[] = {
        NETWORK_OPTIONS(&r.models),
        {"data", 'd', "DATA", "a folder or a named data set, of images", cli_read_text, &r.data},
        {"grid", 0, "RxC", "rows and columns of cells; they divide the image (6x6)", cli_read_text,
         &r.grid},
        {"count", 0, "N", "images, from the first on (1000)", cli_read_whole, &r.count},
        {"output", 'o', "FILE", "where to write, .png or .csv", cli_read_text, &r.output},
        {0},
    };
    cli c;
    if (cli_init(&c, "explain", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("explain", "occlusion --model FILE ... --data DATA -o FILE.png|FILE.csv",
                       summary, options, example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : explain(&c, &r);
    }
    bang_occlusion_release(&r.result);
    free(r.masks);
    bang_dataset_release(&r.set);
    networks_release(&r.models);
    cli_release(&c);
    return status;
}
