/* One seed of the experiment on two layers: a base trained with random colours, two networks
 * fine-tuned from it with perfect ones in different orders, for some lengths. Its record holds,
 * for each base network,
 *
 *     {"networks": [{"fine-fine": {"steps": [[SUMS per p] per length],
 *                                  "scales": [[SUMS per p] per scale of the change]},
 *                    "pre-fine": {..}}, ..]}
 *
 * fine-fine: the two fine-tuned networks; pre-fine: the base itself and the first of them.
 * SUMS (two_layer.h; of logits less their mean over the classes; "squares" and "sizes" are sums
 * over images and outputs):
 *     {"images", "logits", "output": [..], "term": [[..] per member], "squares": [whole,
 *      bilinear, rest], "sizes": [..], "switched": [..], "units", "differ", "foretold", "alarms",
 *      "right": [..]}
 */
#include "bang/base/json.h"
#include "lab/two_layer_show.h"

const double two_layer_shifts[TWO_SHIFTS] = {0, .5, .8, .9};
const uint64_t two_layer_steps[TWO_LENGTHS] = {30, 100, 300, 1000};
const double two_layer_scales[TWO_SCALES] = {1, .5, .25, .125, .0625, .03125};
const char *const two_layer_pairs[TWO_PAIRS] = {"fine-fine", "pre-fine"};

static json_t *counts_json(const size_t *counts, size_t count)
{
    json_t *out = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(out, json_integer((json_int_t)counts[i]));
    return out;
}

static json_t *sums_json(const two_layer_sums *s)
{
    json_t *terms = json_array();
    for (int m = 0; m < TWO_MEMBERS; m++)
        json_array_append_new(terms, lab_numbers(s->term[m], TWO_TERMS));
    const double squares[] = {s->whole, s->bilinear, s->rest};
    const double sizes[] = {s->whole_size, s->bilinear_size, s->rest_size};
    return json_pack("{sI sI so so so so so sI sI sI sI so}", "images", (json_int_t)s->images,
                     "logits", (json_int_t)s->images * (json_int_t)s->outputs, "output",
                     lab_numbers(s->output, TWO_MEMBERS), "term", terms, "squares",
                     lab_numbers(squares, 3), "sizes", lab_numbers(sizes, 3), "switched",
                     counts_json(s->switched, 3), "units",
                     (json_int_t)s->images * (json_int_t)s->hidden, "differ", (json_int_t)s->differ,
                     "foretold", (json_int_t)s->foretold, "alarms", (json_int_t)s->alarms, "right",
                     counts_json(s->right, TWO_MEMBERS));
}

/* A row of sums, one per p, appended to result[pair][field]. */
static int add_row(json_t *result, int pair, const char *field, const bang_mlp *base,
                   const bang_mlp fine[2], double scale, const average_data *data, bang_error *err)
{
    json_t *row = json_array();
    int rc = 0;
    for (size_t p = 0; p < TWO_SHIFTS && rc == 0; p++) {
        two_layer_sums sums;
        rc = two_layer_measure(&sums, base, pair ? base : &fine[0], pair ? &fine[0] : &fine[1],
                               scale, &data->test[p], data->test_labels, data->test[p].count, err);
        if (rc == 0)
            json_array_append_new(row, sums_json(&sums));
    }
    json_t *rows = json_object_get(json_object_get(result, two_layer_pairs[pair]), field);
    json_array_append_new(rows, row);
    return rc;
}

static int run_network(json_t *result, const average_data *data, const color_plan *plan, size_t i,
                       size_t network, bang_cancel *cancel, bang_error *err)
{
    bang_mlp start = {0}, base = {0};
    for (int pair = 0; pair < TWO_PAIRS; pair++)
        json_object_set_new(result, two_layer_pairs[pair],
                            json_pack("{s[] s[]}", "steps", "scales"));
    int rc = average_network(&start, plan, i, network, 1, err);
    if (rc == 0)
        rc = average_train_pre(&base, &start, data, plan, i, network, cancel, err);
    for (size_t l = 0; l < TWO_LENGTHS && rc == 0; l++) {
        bang_mlp fine[2] = {0};
        for (uint64_t order = 0; order < 2 && rc == 0; order++)
            rc = average_train_fine(&fine[order], &base, data, plan, i, network,
                                    (average_training){.steps = two_layer_steps[l], .order = order},
                                    cancel, err);
        for (int pair = 0; pair < TWO_PAIRS && rc == 0; pair++) {
            rc = add_row(result, pair, "steps", &base, fine, 1, data, err);
            for (size_t s = 0; s < TWO_SCALES && rc == 0 && l == TWO_RECIPE; s++)
                rc = add_row(result, pair, "scales", &base, fine, two_layer_scales[s], data, err);
        }
        bang_mlp_release(&fine[0]);
        bang_mlp_release(&fine[1]);
    }
    bang_mlp_release(&start);
    bang_mlp_release(&base);
    return rc;
}

int two_layer_unit(json_t *result, const color_plan *plan, size_t i, const bang_mnist *mnist,
                   average_scratch *scratch, bang_cancel *cancel, bang_error *err)
{
    enum { TWO_IMAGES = 2000 };
    average_data data;
    bang_color_set all;
    const bang_color_options o = {.test = 1, .protocol = plan->protocol};
    int rc = bang_color_make(&all, mnist, &o, err);
    if (rc < 0)
        return rc;
    size_t images = all.count < TWO_IMAGES ? all.count : TWO_IMAGES;
    bang_color_release(&all);
    rc = average_data_make(&data, scratch, plan, i,
                           (average_tests){two_layer_shifts, TWO_SHIFTS, images}, mnist, cancel,
                           err);
    if (rc < 0)
        return rc;
    json_t *networks = json_array();
    json_object_set_new(result, "networks", networks);
    for (size_t k = 0; k < plan->models && rc == 0; k++) {
        json_array_append_new(networks, json_object());
        rc = run_network(json_array_get(networks, k), &data, plan, i, k, cancel, err);
    }
    average_data_release(&data);
    return rc;
}
