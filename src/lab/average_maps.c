/* Which parts of an image PM, FM, their average and their ensemble use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "bang/explain/occlusion.h"
#include "lab/average_colors.h"

enum { GRID = 6, CELLS = GRID * GRID, MASKS = 2, IMAGES = 500, MODELS = 3, MEMBERS = 4 };

static const char *const member_names[MEMBERS] = {"PM", "FM", "WSE", "OSE"};

/* The digit; all patches. */
static void fill_masks(uint8_t masks[MASKS][CELLS])
{
    memset(masks[0], 1, CELLS);
    memset(masks[1], 0, CELLS);
    for (int i = 0; i < BANG_COLOR_PATCHES; i++) {
        int row, column;
        bang_color_cell(i, &row, &column);
        masks[0][row * GRID + column] = 0;
        masks[1][row * GRID + column] = 1;
    }
}

/* PM, FM and the average with all pixels as inputs. */
static int expand(bang_mlp dense[MODELS], const bang_mlp *start, const bang_mlp *const *reduced,
                  const bang_columns *columns, bang_error *err)
{
    int rc = 0;
    for (int m = 0; m < MODELS && rc == 0; m++) {
        rc = bang_mlp_copy(&dense[m], start, err);
        if (rc == 0)
            rc = bang_mlp_expand(&dense[m], reduced[m], columns, 1, err);
    }
    return rc;
}

static int make_images(bang_array *images, int64_t **labels, const color_plan *plan, size_t i,
                       const bang_mnist *mnist, bang_error *err)
{
    bang_color_options o = BANG_COLOR_OPTIONS_INIT;
    bang_color_set set;
    o.protocol = plan->protocol;
    o.seed = color_data_seed(plan, i);
    o.test = 1;
    int rc = bang_color_make(&set, mnist, &o, err);
    if (rc < 0)
        return rc;
    const size_t count = set.count < IMAGES ? set.count : IMAGES;
    rc = bang_array_init(images, BANG_U8, 4,
                         (const size_t[]){count, BANG_COLOR_SIDE, BANG_COLOR_SIDE, 3}, err);
    *labels = calloc(count + 1, sizeof **labels);
    if (rc == 0 && !*labels)
        rc = bang_fail_memory(err);
    for (size_t k = 0; k < count && rc == 0; k++)
        (*labels)[k] = set.labels[k];
    if (rc == 0)
        bang_color_render(images->data, &set, 0, count);
    bang_color_release(&set);
    return rc;
}

/* Where the four are: PM, FM and their ensemble come out of one run, the average of another. */
typedef struct maps {
    bang_occlusion pair, average;
} maps;

static const bang_occlusion *find(const maps *m, size_t member, size_t *at)
{
    *at = member == 3 ? 2 : member == 2 ? 0 : member;
    return member == 2 ? &m->average : &m->pair;
}

/* The patches' changes alone, (CELLS) per class; the digit's are 0. */
static double patch_change(const maps *m, size_t member, size_t cell, size_t class,
                           const uint8_t *is_patch)
{
    size_t at;
    const bang_occlusion *o = find(m, member, &at);
    return is_patch[cell] ? o->change[(at * o->masks + cell) * o->classes + class] : 0;
}

/* How many patches two members share, as bang_occlusion_shared_cells: cos(a, b) sqrt(n_a n_b). */
static double shared(const maps *m, size_t member, size_t other, const uint8_t *is_patch)
{
    double total = 0;
    size_t seen = 0;
    for (size_t c = 0; c < m->pair.classes; c++) {
        double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
        for (size_t cell = 0; cell < CELLS; cell++) {
            double x = patch_change(m, member, cell, c, is_patch);
            double y = patch_change(m, other, cell, c, is_patch);
            a += x;
            b += y;
            aa += x * x;
            bb += y * y;
            ab += x * y;
        }
        seen += m->pair.images[c] > 0;
        total += aa > 0 && bb > 0 ? ab * a * b / (aa * bb) : 0;
    }
    return seen ? total / (double)seen : 0;
}

static json_t *member_json(const maps *m, size_t member, const uint8_t *is_patch)
{
    size_t at;
    const bang_occlusion *o = find(m, member, &at);
    json_t *map = json_array();
    double patches = 0;
    for (size_t row = 0; row < GRID; row++) {
        json_t *line = json_array();
        for (size_t column = 0; column < GRID; column++) {
            size_t cell = row * GRID + column;
            double change = bang_occlusion_change(o, at, cell);
            patches += is_patch[cell] ? change : 0;
            json_array_append_new(line, bang_json_number(change));
        }
        json_array_append_new(map, line);
    }
    const double *accuracy = o->accuracy + at * (o->masks + 1);
    return json_pack(
        "{ss so so so so so so so}", "name", member_names[member], "change", map, "patches",
        bang_json_number(patches), "digit", bang_json_number(bang_occlusion_change(o, at, CELLS)),
        "effective", bang_json_number(shared(m, member, member, is_patch)), "accuracy",
        bang_json_number(accuracy[o->masks]), "without_digit", bang_json_number(accuracy[CELLS]),
        "without_patches", bang_json_number(accuracy[CELLS + 1]));
}

static json_t *maps_json(const maps *m, const uint8_t *is_patch)
{
    json_t *members = json_array(), *all = json_array();
    for (size_t k = 0; k < MEMBERS; k++) {
        json_t *line = json_array();
        json_array_append_new(members, member_json(m, k, is_patch));
        for (size_t l = 0; l < MEMBERS; l++)
            json_array_append_new(line, bang_json_number(shared(m, k, l, is_patch)));
        json_array_append_new(all, line);
    }
    return json_pack("{so so}", "members", members, "shared", all);
}

int average_occlusion(json_t *result, const bang_mlp *start, const bang_mlp *const reduced[3],
                      const average_data *data, const color_plan *plan, size_t i,
                      const bang_mnist *mnist, bang_cancel *cancel, bang_error *err)
{
    uint8_t masks[MASKS][CELLS];
    bang_mlp dense[MODELS] = {0};
    const bang_mlp *models[MODELS] = {&dense[0], &dense[1], &dense[2]};
    bang_array images = {0};
    int64_t *labels = NULL;
    maps m = {0};
    fill_masks(masks);
    const bang_occlusion_grid grid = {GRID, GRID, MASKS, masks[0]};
    int rc = expand(dense, start, reduced, &data->columns, err);
    if (rc == 0)
        rc = make_images(&images, &labels, plan, i, mnist, err);
    if (rc == 0)
        rc = bang_occlusion_run(&m.pair, models, 2, &images, labels, &grid, cancel, err);
    if (rc == 0)
        rc = bang_occlusion_run(&m.average, models + 2, 1, &images, labels, &grid, cancel, err);
    if (rc == 0)
        json_object_set_new(result, "occlusion", maps_json(&m, masks[1]));
    bang_occlusion_release(&m.pair);
    bang_occlusion_release(&m.average);
    bang_array_release(&images);
    free(labels);
    for (int k = 0; k < MODELS; k++)
        bang_mlp_release(&dense[k]);
    return rc;
}

static const json_t *occlusion_of(const json_t *units, size_t u)
{
    return json_object_get(json_array_get(units, u), "occlusion");
}

double average_map_number(const json_t *units, size_t u, size_t member, const char *name)
{
    const json_t *members = json_object_get(occlusion_of(units, u), "members");
    return json_number_value(json_object_get(json_array_get(members, member), name));
}

double average_map_mean(const json_t *units, size_t member, const char *name)
{
    double sum = 0;
    size_t count = json_array_size(units);
    for (size_t u = 0; u < count; u++)
        sum += average_map_number(units, u, member, name);
    return sum / (double)count;
}

static double mean_shared(const json_t *units, size_t member, size_t other)
{
    double sum = 0;
    size_t count = json_array_size(units);
    for (size_t u = 0; u < count; u++) {
        const json_t *lines = json_object_get(occlusion_of(units, u), "shared");
        sum += json_number_value(json_array_get(json_array_get(lines, member), other));
    }
    return sum / (double)count;
}

static void show_heat(json_t *show, const json_t *units)
{
    json_t *panels = json_array(), *ticks = json_pack("[iiiiii]", 1, 2, 3, 4, 5, 6);
    const json_t *members = json_object_get(occlusion_of(units, 0), "members");
    for (size_t m = 0; m < json_array_size(members); m++)
        json_array_append_new(panels,
                              json_pack("{ss sO}", "title", average_members[m].name, "values",
                                        json_object_get(json_array_get(members, m), "change")));
    json_array_append_new(
        show,
        json_pack("{ss ss ss ss ss ss sb sb sO sO so}", "kind", "heat", "title",
                  "Which cells PM, FM, WSE and OSE use (first seed)", "x_label", "column",
                  "y_label", "row", "value_label", "change of the output", "note",
                  "Mean absolute change of the true class's output when the cell is made black, "
                  "on images in distribution (p = 0). The digit fills the four cells in the "
                  "middle, the patches the others.",
                  "sequential", 1, "top_down", 1, "x", ticks, "y", ticks, "panels", panels));
    json_decref(ticks);
}

static void show_counts(json_t *show, const json_t *units)
{
    static const char *const names[] = {
        "",        "digit",   "patches",         "of FM's",     "effective number",
        "with PM", "with FM", "in distribution", "digit black", "patches black",
        NULL};
    char note[480];
    snprintf(note, sizeof note,
             "Means over %zu pairs. Change: of the true class's output when the digit is made "
             "black, and summed over patches made black one by one. Effective number of patches: "
             "(sum a)^2 / sum a^2 of their changes a, per class; a patch is black in one class of "
             "ten, so %.1f at most. What PM's patches show told nothing of the class where it was "
             "trained.",
             json_array_size(units), 0.9 * BANG_COLOR_PATCHES);
    json_t *table = lab_table("What PM, FM, WSE and OSE use", names, note);
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si][si][si]]", "", 1, "change", 2, "patches", 2,
                                  "patches shared", 2, "accuracy, per cent", 3));
    json_object_set_new(table, "decimals", json_pack("[niiiiiiiii]", 2, 2, 2, 1, 1, 1, 1, 1, 1));
    double fine = average_map_mean(units, 1, "patches");
    for (size_t m = 0; m < MEMBERS; m++)
        lab_table_row(
            table,
            json_pack("[sooooooooo]", average_members[m].name,
                      bang_json_number(average_map_mean(units, m, "digit")),
                      bang_json_number(average_map_mean(units, m, "patches")),
                      bang_json_number(average_map_mean(units, m, "patches") / fine),
                      bang_json_number(average_map_mean(units, m, "effective")),
                      bang_json_number(mean_shared(units, m, 0)),
                      bang_json_number(mean_shared(units, m, 1)),
                      bang_json_number(100 * average_map_mean(units, m, "accuracy")),
                      bang_json_number(100 * average_map_mean(units, m, "without_digit")),
                      bang_json_number(100 * average_map_mean(units, m, "without_patches"))));
    json_array_append_new(show, table);
}

static void show_claim(json_t *show, const json_t *units)
{
    size_t count = json_array_size(units), good = 0;
    char because[400];
    for (size_t u = 0; u < count; u++) {
        double digit[3], patches[3];
        for (size_t m = 0; m < 3; m++) {
            digit[m] = average_map_number(units, u, m, "digit");
            patches[m] = average_map_number(units, u, m, "patches");
        }
        good += digit[2] >= 0.9 * (digit[0] < digit[1] ? digit[0] : digit[1]) &&
                patches[2] > patches[0] && patches[2] < patches[1];
    }
    if (count < 3)
        return; /* too few to say */
    snprintf(because, sizeof because,
             "in %zu of %zu pairs the digit moves the average's output by at least nine tenths of "
             "what it moves PM's and FM's, and the patches by more than PM's and less than FM's "
             "(holds in nine of ten); means: digit %.2f, %.2f, %.2f, patches %.2f, %.2f, %.2f of "
             "PM, FM and WSE",
             good, count, average_map_mean(units, 0, "digit"), average_map_mean(units, 1, "digit"),
             average_map_mean(units, 2, "digit"), average_map_mean(units, 0, "patches"),
             average_map_mean(units, 1, "patches"), average_map_mean(units, 2, "patches"));
    lab_show_item(show, "Beyond the paper",
                  "The average keeps what both models know, the digit, and takes on what "
                  "one of them knows, the patches, in part",
                  10 * good >= 9 * count ? "yes"
                  : 2 * good >= count    ? "partly"
                                         : "no",
                  because);
}

void average_show_maps(json_t *result, json_t *show, const json_t *units)
{
    static const char *const fields[] = {"digit", "patches", "effective", "without_digit",
                                         "without_patches"};
    json_t *all = json_object();
    for (size_t m = 0; m < MEMBERS; m++) {
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            json_object_set_new(one, fields[k],
                                bang_json_number(average_map_mean(units, m, fields[k])));
        json_object_set_new(one, "shared_with_pre", bang_json_number(mean_shared(units, m, 0)));
        json_object_set_new(one, "shared_with_fine", bang_json_number(mean_shared(units, m, 1)));
        json_object_set_new(all, average_members[m].name, one);
    }
    json_object_set_new(result, "occlusion", all);
    show_heat(show, units);
    show_counts(show, units);
    show_claim(show, units);
}
