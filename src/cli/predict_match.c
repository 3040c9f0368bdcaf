/* bang predict: do models, data and map fit, and which output is which class? */
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "predict.h"

static size_t output_count(const predict_request *r, size_t i)
{
    const predict_model *m = &r->models[i];
    if (!m->is_vit)
        return m->mlp.width[m->mlp.layers];
    return r->features ? bang_vit_features(&m->vit.vit.config) : m->vit.vit.config.classes;
}

/* What data sets call the outputs: as a file says, else the first head that says. */
typedef struct naming {
    size_t count; /* 0: nobody says */
    char *const *names;
} naming;

static naming find_naming(const predict_request *r)
{
    if (r->names.class_count)
        return (naming){r->names.class_count, r->names.classes};
    for (size_t i = 0; i < r->count; i++)
        if (r->models[i].is_vit && r->models[i].vit.class_count)
            return (naming){r->models[i].vit.class_count, r->models[i].vit.class_names};
    return (naming){0};
}

const char *predict_class_name(const predict_request *r, size_t column)
{
    naming named = find_naming(r);
    if (r->has_map)
        return r->map.folders[column];
    if (r->names.class_count)
        return r->names.names[column];
    return column < named.count ? named.names[column] : NULL;
}

static void fit_mlp(cli *c, const predict_request *r, const predict_model *m)
{
    const char *source = predict_source(r);
    if (m->head)
        cli_problem(c, "--head %.200s: %.200s is a perceptron, whose last layer is its head",
                    m->head, m->path);
    if (r->features)
        cli_problem(c, "--features: %.200s is a perceptron: only a ViT or a CLIP has them",
                    m->path);
    if (r->set.paths)
        cli_problem(c,
                    "%s%.200s: is a perceptron: it reads arrays (a folder with images.npy, a "
                    "named set), not pictures",
                    r->option, m->path);
    else if (m->mlp.width[0] != r->set.memory.width)
        cli_problem(c, "%s%.200s: reads %zu numbers: an input of %.200s has %zu", r->option,
                    m->path, m->mlp.width[0], source, r->set.memory.width);
}

static void fit_vit(cli *c, const predict_request *r, predict_model *m)
{
    picture_options_apply(c, &r->pictures, &m->vit, m->path);
    if (m->vit.vit.config.classes == 0 && !r->features && !(r->headless && r->width == 0))
        cli_problem(c,
                    "%s%.200s: has no head: give one with --head FILE, as bang zeroshot "
                    "writes it",
                    r->option, m->path);
}

/* Two heads that name the same classes in another order would be added up wrongly. */
static void fit_names(cli *c, const predict_request *r, const predict_model *m)
{
    naming named = find_naming(r);
    if (!m->is_vit || m->vit.class_count == 0 || m->vit.class_count != named.count)
        return;
    size_t moved = 0, found = 0, first = 0;
    for (size_t i = named.count; i-- > 0;) {
        if (strcmp(m->vit.class_names[i], named.names[i]) == 0)
            continue;
        first = i;
        moved++;
        for (size_t k = 0; k < named.count; k++)
            if (strcmp(m->vit.class_names[i], named.names[k]) == 0) {
                found++;
                break;
            }
    }
    if (moved && found == moved)
        cli_problem(c,
                    "%s%.200s: names output %zu \"%.60s\", which %s calls \"%.60s\": the "
                    "outputs are in another order",
                    r->option, m->path, first, m->vit.class_names[first],
                    r->names.class_count ? r->classes : "another model", named.names[first]);
}

static void fit_outputs(cli *c, const predict_request *r, const predict_model *m, size_t count)
{
    if (r->has_map && count != r->map.outputs)
        cli_problem(c, "--map %.200s: is for models with %zu outputs: %.200s has %zu", r->map_path,
                    r->map.outputs, m->path, count);
    if (count != r->width)
        cli_problem(c, "%s%.200s: has %zu outputs, %.200s has %zu: they must agree", r->option,
                    m->path, count, r->models[0].path, r->width);
    else if (!r->has_map && !r->features && count < r->set.classes)
        cli_problem(c, "%s%.200s: has %zu outputs: %.200s has %zu classes", r->option, m->path,
                    count, predict_source(r), r->set.classes);
}

static int labels_known(const bang_images *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->labels[i] >= 0)
            return 1;
    return 0;
}

/* The first few classes that have no place: "a", "b" and 7 more. */
static void list_unknown(bang_text *out, const bang_images *set, const int64_t *place)
{
    enum { SAID = 3 };
    size_t count = 0;
    for (size_t i = 0; i < set->classes; i++)
        if (place[i] < 0 && count++ < SAID)
            bang_text_add(out, "%s\"%.60s\"", count > 1 ? ", " : "", set->class_names[i]);
    if (count > SAID)
        bang_text_add(out, " and %zu more", count - SAID);
}

static void note_order(bang_text *notes, const bang_images *set, const int64_t *place, naming named,
                       long found)
{
    size_t first = 0;
    while (place[first] >= 0)
        first++;
    bang_text_add(notes,
                  "%ld of %zu classes are named as the model has them: all are taken in the "
                  "order of their names: \"%.60s\" is its \"%.60s\"\n",
                  found, set->classes, set->class_names[first],
                  first < named.count ? named.names[first] : "?");
}

static void note_unknown(bang_text *notes, const predict_request *r, const int64_t *place,
                         long found)
{
    const bang_images *set = &r->set;
    if (found) {
        size_t missing = set->classes - (size_t)found;
        bang_text_add(notes, "%zu of %zu classes %s not among the model's outputs: ", missing,
                      set->classes, missing == 1 ? "is" : "are");
        list_unknown(notes, set, place);
        bang_text_add(notes, r->inside ? ": no accuracy: rename folders"
                                       : ": no accuracy: rename folders, say what outputs are "
                                         "called with --classes FILE, or give a --map");
    } else {
        bang_text_add(notes,
                      "%zu class%s, %zu output%s and no names in common: no accuracy: give the "
                      "model a head for these classes%s",
                      set->classes, set->classes == 1 ? "" : "es", r->width,
                      r->width == 1 ? "" : "s", r->inside ? "" : ", or a --map");
    }
    bang_text_add(notes, r->labels ? "; labels are numbers of the sorted folders\n" : "\n");
}

/* Class folders against outputs: by their names if the head knows them all, else in their
 * order if they are equally many and no name speaks against it. */
static void match_folders(cli *c, predict_request *r, bang_text *notes)
{
    bang_images *set = &r->set;
    naming named = find_naming(r);
    int64_t *place = calloc(set->classes + 1, sizeof *place);
    long found = place ? classes_find(place, set, named.names, named.count) : -1;
    if (found < 0) {
        cli_problem(c, "out of memory");
    } else if (named.count && (size_t)found == set->classes) {
        size_t moved = classes_renumber(set, place);
        r->match = PREDICT_BY_NAME;
        if (moved && !r->inside) /* which writes no labels */
            bang_text_add(notes,
                          "classes are found by their names: labels are numbered as the model's "
                          "outputs, not in the order of the folders\n");
    } else if (classes_in_order(set, place, r->width)) {
        r->match = PREDICT_BY_ORDER;
        if (named.count)
            note_order(notes, set, place, named, found);
    } else {
        note_unknown(notes, r, place, found);
    }
    free(place);
}

static void match_labels(cli *c, predict_request *r, bang_text *notes)
{
    bang_error err = {0};
    if (r->has_map && !r->single) {
        if (bang_class_map_apply(&r->set, &r->map, notes, &err) < 0)
            cli_problem(c, "--map %.200s: %s", r->map_path, err.message);
        r->match = PREDICT_BY_MAP;
    }
    int known = labels_known(&r->set);
    if (r->labels && !known)
        cli_problem(c, "--labels %.200s: %.200s has none: leave it out", r->labels,
                    predict_source(r));
    if (!known || r->features || r->width == 0)
        r->match = PREDICT_NO_MATCH;
    else if (!r->has_map && r->set.class_names)
        match_folders(c, r, notes);
    else if (!r->has_map)
        r->match = PREDICT_BY_NUMBER;
    if (r->match == PREDICT_NO_MATCH && !r->output && !r->labels && !r->single && !r->inside)
        cli_problem(c,
                    "--output: missing: %.200s has no %s, so there is no accuracy to show: say "
                    "where to write the outputs with -o FILE.npy",
                    predict_source(r), known ? "labels that fit the model" : "labels");
}

void predict_fit(cli *c, predict_request *r, bang_text *notes)
{
    size_t vits = 0;
    r->width = output_count(r, 0);
    r->columns = r->has_map ? r->map.classes : r->width;
    for (size_t i = 0; i < r->count; i++) {
        predict_model *m = &r->models[i];
        size_t count = output_count(r, i);
        if (m->is_vit)
            fit_vit(c, r, m);
        else
            fit_mlp(c, r, m);
        if (count || !m->is_vit) /* else it was said that there is no head */
            fit_outputs(c, r, m, count);
        if (!r->features)
            fit_names(c, r, m);
        vits += m->is_vit != 0;
    }
    if (r->names.class_count && r->names.class_count != r->width && !r->features)
        cli_problem(c, "--classes %.200s: has %zu names: the models have %zu outputs", r->classes,
                    r->names.class_count, r->width);
    if (r->activation && vits == r->count)
        cli_problem(c, "--activation: is one of perceptrons: see --gelu");
    if (c->problems.size == 0)
        match_labels(c, r, notes);
    if (notes->failed)
        cli_problem(c, "out of memory");
}
