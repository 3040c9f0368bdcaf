/* Sums of all networks as root mean squares and shares. */
#include <math.h>

#include "lab/two_layer_show.h"

static double number_at(const json_t *sums, const char *name, size_t i)
{
    return json_number_value(json_array_get(json_object_get(sums, name), i));
}

static double count_of(const json_t *sums, const char *name)
{
    return json_number_value(json_object_get(sums, name));
}

/* What is added up over networks and shifts. */
typedef struct total {
    double logits, images, units, switched;
    double squares[3], term[TWO_MEMBERS][TWO_TERMS], right[TWO_MEMBERS];
    double differ, foretold, alarms;
} total;

static void add(total *t, const json_t *sums)
{
    t->logits += count_of(sums, "logits");
    t->images += count_of(sums, "images");
    t->units += count_of(sums, "units");
    t->switched += number_at(sums, "switched", TWO_SECOND);
    t->differ += count_of(sums, "differ");
    t->foretold += count_of(sums, "foretold");
    t->alarms += count_of(sums, "alarms");
    for (size_t k = 0; k < 3; k++)
        t->squares[k] += number_at(sums, "squares", k);
    for (size_t m = 0; m < TWO_MEMBERS; m++) {
        const json_t *terms = json_array_get(json_object_get(sums, "term"), m);
        t->right[m] += number_at(sums, "right", m);
        for (size_t k = 0; k < TWO_TERMS; k++)
            t->term[m][k] += json_number_value(json_array_get(terms, k));
    }
}

static void add_network(total *t, const json_t *network, int pair, const char *field, size_t row,
                        size_t p)
{
    const json_t *rows = json_object_get(json_object_get(network, two_layer_pairs[pair]), field);
    const json_t *cells = json_array_get(rows, row);
    for (size_t k = 0; k < json_array_size(cells); k++)
        if (k == p || p == TWO_SHIFTS)
            add(t, json_array_get(cells, k));
}

/* 0/0 is no share at all: nothing differs. */
static double share_of(const total *t)
{
    return t->squares[0] > 0 ? t->squares[2] / t->squares[0] : NAN;
}

/* Standard error of the mean share, over seeds: networks of a seed have their data in common, so
 * they are one draw. Seeds of which nothing differs have no share. */
typedef struct spread {
    double n, sum, squares;
} spread;

static void add_share(spread *s, const total *seed)
{
    double share = share_of(seed);
    if (isnan(share))
        return;
    s->n++;
    s->sum += share;
    s->squares += share * share;
}

static double error_of(const spread *s)
{
    double rest = s->squares - s->sum * s->sum / s->n;
    return s->n > 1 ? sqrt(fmax(0, rest) / (s->n - 1) / s->n) : NAN;
}

static void finish(two_layer_cell *out, const total *t)
{
    for (int m = 0; m < TWO_MEMBERS; m++) {
        out->accuracy[m] = t->right[m] / t->images;
        for (int k = 0; k < TWO_TERMS; k++)
            out->term[m][k] = sqrt(t->term[m][k] / t->logits);
    }
    out->whole = sqrt(t->squares[0] / t->logits);
    out->bilinear = sqrt(t->squares[1] / t->logits);
    out->rest = sqrt(t->squares[2] / t->logits);
    out->share = share_of(t);
    out->switched = t->switched / t->units;
    out->differ = t->differ / t->images;
    out->images = (size_t)t->images;
    out->different = (size_t)t->differ;
    out->foretold = (size_t)t->foretold;
    out->alarms = (size_t)t->alarms;
}

void two_layer_cell_of(two_layer_cell *out, const json_t *units, int pair, const char *field,
                       size_t row, size_t p)
{
    total all = {0};
    spread seeds = {0};
    *out = (two_layer_cell){0};
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *networks = json_object_get(json_array_get(units, u), "networks");
        total seed = {0};
        for (size_t k = 0; k < json_array_size(networks); k++) {
            add_network(&all, json_array_get(networks, k), pair, field, row, p);
            add_network(&seed, json_array_get(networks, k), pair, field, row, p);
            out->networks++;
        }
        add_share(&seeds, &seed);
    }
    finish(out, &all);
    out->share_error = error_of(&seeds);
}
