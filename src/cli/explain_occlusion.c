/* bang explain occlusion: cells of images made black. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/utf8.h"
#include "bang/data/color.h"
#include "bang/explain/heat.h"
#include "bang/store/png.h"
#include "checkpoints.h"
#include "explain_occlusion.h"

enum { COUNT = 1000, COUNT_VIT = 32, GRID_VIT = 7 }; /* if nobody says */

/* The digit and its surroundings, where images are laid out as the colour sets. */
static int make_masks(occlusion *o, bang_error *err)
{
    const bang_array *a = o->array;
    enum { CELLS = BANG_COLOR_SIDE / BANG_COLOR_CELL };
    if (a->rank != 4 || a->shape[1] != BANG_COLOR_SIDE || a->shape[2] != BANG_COLOR_SIDE ||
        a->shape[3] != 3 || o->rows != CELLS || o->columns != CELLS)
        return 0;
    o->masks = calloc(2, CELLS * CELLS);
    if (!o->masks)
        return bang_fail_memory(err);
    memset(o->masks, 1, CELLS * CELLS);
    for (int patch = 0; patch < BANG_COLOR_PATCHES; patch++) {
        int row, column;
        bang_color_cell(patch, &row, &column);
        o->masks[row * CELLS + column] = 0;
        o->masks[(CELLS + row) * CELLS + column] = 1;
    }
    return 0;
}

static const char *member_name(const occlusion *o, size_t member)
{
    const predict_request *p = &o->request->from;
    return member < p->count ? p->models[member].path : "ensemble";
}

static double accuracy_without(const occlusion *o, size_t member, size_t mask)
{
    return o->result.accuracy[member * (o->result.masks + 1) + mask];
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

static int write_csv(const occlusion *o, bang_error *err)
{
    bang_text csv = {0};
    bang_text_add(&csv, "member,row,column,change,accuracy_without\n");
    for (size_t m = 0; m < o->result.members; m++)
        for (size_t i = 0; i < o->rows * o->columns; i++) {
            add_csv_name(&csv, member_name(o, m));
            bang_text_add(&csv, ",%zu,%zu,%.17g,%.17g\n", i / o->columns, i % o->columns,
                          bang_occlusion_change(&o->result, m, i), accuracy_without(o, m, i));
        }
    int rc = csv.failed ? bang_fail_memory(err)
                        : bang_file_put(o->request->output, csv.data, csv.size, err);
    bang_text_release(&csv);
    return rc;
}

static int write_png(const occlusion *o, bang_error *err)
{
    size_t cells = o->rows * o->columns, members = o->result.members;
    bang_array picture = {0};
    double *amount = calloc(members * cells, sizeof *amount);
    int rc = amount ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < members * cells; i++)
        amount[i] = bang_occlusion_change(&o->result, i / cells, i % cells);
    if (rc == 0)
        rc = bang_heat_draw(&picture, amount, members, o->rows, o->columns, err);
    if (rc == 0)
        rc = bang_png_write(o->request->output, picture.data, picture.shape[1], picture.shape[0], 3,
                            err);
    bang_array_release(&picture);
    free(amount);
    return rc;
}

static json_t *member_json(const occlusion *o, size_t m)
{
    size_t cells = o->rows * o->columns;
    json_t *change = json_array(), *accuracy = json_array();
    for (size_t row = 0; row < o->rows; row++) {
        json_t *changes = json_array(), *accuracies = json_array();
        for (size_t i = row * o->columns; i < (row + 1) * o->columns; i++) {
            json_array_append_new(changes,
                                  bang_json_number(bang_occlusion_change(&o->result, m, i)));
            json_array_append_new(accuracies, bang_json_number(accuracy_without(o, m, i)));
        }
        json_array_append_new(change, changes);
        json_array_append_new(accuracy, accuracies);
    }
    json_t *out =
        json_pack("{so so so so so}", "name", bang_utf8_json(member_name(o, m)), "accuracy",
                  bang_json_number(accuracy_without(o, m, o->result.masks)), "effective",
                  bang_json_number(bang_occlusion_effective_cells(&o->result, m, cells)), "change",
                  change, "accuracy_without", accuracy);
    if (o->masks) {
        json_object_set_new(out, "without_digit", bang_json_number(accuracy_without(o, m, cells)));
        json_object_set_new(out, "without_border",
                            bang_json_number(accuracy_without(o, m, cells + 1)));
    }
    return out;
}

static int print_json(const cli *c, const occlusion *o)
{
    size_t cells = o->rows * o->columns;
    json_t *members = json_array(), *shared = json_array();
    for (size_t m = 0; m < o->result.members; m++) {
        json_t *row = json_array();
        for (size_t other = 0; other < o->result.members; other++)
            json_array_append_new(
                row, bang_json_number(bang_occlusion_shared_cells(&o->result, m, other, cells)));
        json_array_append_new(shared, row);
        json_array_append_new(members, member_json(o, m));
    }
    return cli_print_json(
        c, json_pack("{ss s[II] sI sI sI so so so}", "method", o->request->method, "grid",
                     (json_int_t)o->rows, (json_int_t)o->columns, "images", (json_int_t)o->images,
                     "chosen_from", (json_int_t)o->choice.of, "skipped", (json_int_t)o->skipped,
                     "members", explain_rows(members, o->result.members), "shared", shared,
                     "output", bang_utf8_json(o->request->output)));
}

static void print_table(const occlusion *o)
{
    size_t cells = o->rows * o->columns;
    printf("%zu image%s", o->images, o->images == 1 ? "" : "s");
    if (o->skipped)
        printf(" (%zu could not be read)", o->skipped);
    printf(", %zu x %zu cells\n\n", o->rows, o->columns);
    printf(" accuracy  %sin use  largest change     network\n",
           o->masks ? "no digit  no border  cells " : "cells ");
    for (size_t m = 0; m < o->result.members; m++) {
        size_t best = 0;
        for (size_t i = 1; i < cells; i++)
            if (bang_occlusion_change(&o->result, m, i) >
                bang_occlusion_change(&o->result, m, best))
                best = i;
        printf("%7.2f %%", 100 * accuracy_without(o, m, o->result.masks));
        if (o->masks)
            printf("%8.2f %%%9.2f %%", 100 * accuracy_without(o, m, cells),
                   100 * accuracy_without(o, m, cells + 1));
        char place[48];
        snprintf(place, sizeof place, "(%zu, %zu)", best / o->columns, best % o->columns);
        printf("%14.1f  %-8.3g %-9s ", bang_occlusion_effective_cells(&o->result, m, cells),
               bang_occlusion_change(&o->result, m, best), place);
        cli_print_clean(member_name(o, m));
        putchar('\n');
    }
    putchar('\n');
    cli_print_clean(o->request->output);
    putchar('\n');
}

/* The images of the choice and their labels, as perceptrons read them. */
static int gather(bang_array *images, int64_t *labels, const occlusion *o, bang_error *err)
{
    const bang_images *set = &o->request->from.set;
    const bang_array *from = &set->memory.inputs;
    size_t shape[BANG_RANK_MAX], size = set->memory.width * bang_dtype_size(from->dtype);
    memcpy(shape, from->shape, sizeof shape);
    shape[0] = o->choice.count;
    int rc = bang_array_init(images, from->dtype, from->rank, shape, err);
    for (size_t i = 0; rc == 0 && i < o->choice.count; i++) {
        size_t index = o->choice.index[i];
        memcpy((char *)images->data + i * size, (const char *)from->data + index * size, size);
        labels[i] = set->labels[index];
    }
    return rc;
}

static int occlude_mlps(occlusion *o, bang_error *err)
{
    const predict_request *p = &o->request->from;
    bang_array images = {0};
    int64_t *labels = calloc(o->choice.count, sizeof *labels);
    const bang_mlp **mlps = calloc(p->count, sizeof(const bang_mlp *));
    o->array = &images;
    o->images = o->choice.count;
    int rc = mlps && labels ? gather(&images, labels, o, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = make_masks(o, err);
    for (size_t i = 0; rc == 0 && i < p->count; i++)
        mlps[i] = &p->models[i].mlp;
    bang_occlusion_grid grid = {o->rows, o->columns, o->masks ? 2 : 0, o->masks};
    if (rc == 0)
        rc = bang_occlusion_run(&o->result, mlps, p->count, &images, labels, &grid, cli_cancel(),
                                err);
    free(mlps);
    free(labels);
    bang_array_release(&images);
    o->array = NULL;
    return rc;
}

/* How many cells, if nobody said. */
static void choose_grid(occlusion *o)
{
    const explain_request *r = o->request;
    const predict_request *p = &r->from;
    o->rows = r->grid_rows;
    o->columns = r->grid_columns;
    if (r->grid || !o->vits)
        return;
    size_t edge = p->models[0].vit.vit.config.image, cells = GRID_VIT;
    while (edge % cells)
        cells--;
    o->rows = o->columns = cells;
}

/* Which images; all of them have a label. */
static int choose_images(occlusion *o, cli *c, bang_error *err)
{
    const predict_request *p = &o->request->from;
    int rc = explain_choose(&o->choice, c, o->request, err);
    for (size_t i = 0; rc == 0 && i < o->choice.count; i++)
        if (p->set.labels[o->choice.index[i]] < 0)
            rc = bang_fail(err, BANG_EDATA,
                           "%.200s: picture %u has no label: occlusion is of the true class's "
                           "output: see --samples",
                           predict_source(p), (unsigned)o->choice.index[i]);
    return rc;
}

static void fit(cli *c, const explain_request *r, size_t vits)
{
    const predict_request *p = &r->from;
    if (vits && vits < p->count)
        cli_problem(c,
                    "--model: %zu of %zu are perceptrons, the others transformers: occlusion "
                    "needs networks that read the same images: give one kind",
                    p->count - vits, p->count);
    for (size_t m = 1; vits == p->count && m < p->count; m++) {
        const bang_vit_config *a = &p->models[0].vit.vit.config, *b = &p->models[m].vit.vit.config;
        if (a->image != b->image || a->channels != b->channels)
            cli_problem(c,
                        "--model %.200s: reads %zu x %zu pixels, %zu channels; %.200s reads %zu x "
                        "%zu, %zu: occlusion needs the same: see --image-size",
                        p->models[m].path, b->image, b->image, b->channels, p->models[0].path,
                        a->image, a->image, a->channels);
    }
    if (c->problems.size == 0 && p->match == PREDICT_NO_MATCH)
        cli_problem(c,
                    "--data %.200s: has no labels that fit the models: occlusion is of the true "
                    "class's output",
                    predict_source(p));
    if (c->problems.size == 0)
        explain_choice_fit(c, r);
}

int explain_occlusion(cli *c, explain_request *r)
{
    predict_request *p = &r->from;
    bang_error err = {0};
    bang_text notes = {0};
    occlusion o = {.request = r};
    int status = predict_load(c, p);
    if (status != CLI_DONE)
        return status;
    for (size_t m = 0; m < p->count; m++)
        o.vits += p->models[m].is_vit != 0;
    predict_fit(c, p, &notes);
    if (notes.size && !c->quiet)
        print_lines(c, "note: ", notes.data);
    bang_text_release(&notes);
    fit(c, r, o.vits);
    if (cli_usage_failed(c))
        return CLI_FAILED;
    r->usual = o.vits ? COUNT_VIT : COUNT;
    choose_grid(&o);
    int rc = choose_images(&o, c, &err);
    if (rc == 0)
        rc = o.vits ? occlude_vits(&o, c, &err) : occlude_mlps(&o, &err);
    if (rc == 0)
        rc = r->csv ? write_csv(&o, &err) : write_png(&o, &err);
    if (rc == 0 && o.bad.size && !c->quiet)
        print_lines(c, "left out: ", o.bad.data);
    if (rc < 0)
        status = cli_fail(c, &err);
    else if (c->json)
        status = print_json(c, &o);
    else if (!c->quiet)
        print_table(&o);
    bang_occlusion_release(&o.result);
    bang_text_release(&o.bad);
    free(o.choice.index);
    free(o.masks);
    return status;
}
