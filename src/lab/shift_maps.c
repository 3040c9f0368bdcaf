/* Where PM, FM and their average look (Figure 2, right): maps side by side, and how many patches
 * they depend on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/explain/occlusion.h"
#include "bang/explain/overlay.h"
#include "bang/explain/saliency.h"
#include "bang/store/png.h"
#include "lab/shift.h"

enum {
    MEMBERS = 3,  /* PM, FM, the average */
    KINDS = 2,    /* Grad-CAM, HiResCAM */
    IMAGES = 500, /* of each set that are measured */
    SHOWN = 2,    /* of each set out of distribution */
    COLUMNS = 1 + KINDS * MEMBERS,
    CAPTION = 24,
};
static const bang_saliency_kind kinds[KINDS] = {BANG_GRADCAM, BANG_HIRESCAM};
enum { GRADCAM, HIRESCAM };

/* A set's first images. */
typedef struct looks {
    const bang_images *set;
    size_t count, cells;
    double *maps[KINDS][MEMBERS]; /* (count, cells, cells) */
    size_t *predicted[MEMBERS];   /* (count), which is the class that is explained */
    float *logits[MEMBERS];       /* (count, classes) */
    const bang_vit_model *models[MEMBERS];
} looks;

typedef struct source {
    const looks *of;
    const bang_vit_model *model;
} source;

static void read_pixels(void *context, size_t picture, float *out)
{
    const source *s = context;
    const bang_vit_config *c = &s->model->vit.config;
    size_t plane = c->image * c->image, channels = c->channels;
    const uint8_t *from =
        (const uint8_t *)s->of->set->memory.inputs.data + picture * plane * channels;
    for (size_t k = 0; k < channels; k++)
        for (size_t i = 0; i < plane; i++)
            out[k * plane + i] =
                ((float)from[i * channels + k] / 255 - s->model->mean[k]) / s->model->std[k];
}

static int check(const bang_images *set, const bang_vit_model *const models[MEMBERS],
                 bang_error *err)
{
    const bang_vit_config *first = &models[0]->vit.config;
    for (size_t m = 0; m < MEMBERS; m++) {
        const bang_vit_config *c = &models[m]->vit.config;
        if (set->paths || set->memory.inputs.dtype != BANG_U8 ||
            set->memory.width != c->channels * c->image * c->image)
            return bang_fail(err, BANG_EUSAGE, "maps: need images in memory of %zu x %zu bytes",
                             c->image, c->image);
        if (c->image / c->patch != first->image / first->patch || c->classes != first->classes)
            return bang_fail(err, BANG_EUSAGE, "maps: the models differ in patches or classes");
    }
    return 0;
}

static void release(looks *l)
{
    for (size_t m = 0; m < MEMBERS; m++) {
        for (size_t k = 0; k < KINDS; k++)
            free(l->maps[k][m]);
        free(l->predicted[m]);
        free(l->logits[m]);
    }
    *l = (looks){0};
}

static int look(looks *l, const bang_images *set, const bang_vit_model *const models[MEMBERS],
                bang_cancel *cancel, bang_error *err)
{
    const bang_vit_config *c = &models[0]->vit.config;
    *l = (looks){.set = set, .cells = c->image / c->patch};
    l->count = set->count < IMAGES ? set->count : IMAGES;
    int rc = check(set, models, err);
    for (size_t m = 0; rc == 0 && m < MEMBERS; m++) {
        l->models[m] = models[m];
        l->predicted[m] = calloc(l->count, sizeof *l->predicted[m]);
        l->logits[m] = calloc(l->count * c->classes, sizeof *l->logits[m]);
        if (!l->predicted[m] || !l->logits[m])
            rc = bang_fail_memory(err);
        for (size_t k = 0; rc == 0 && k < KINDS; k++) {
            source from = {l, models[m]};
            bang_saliency_run run = {.vit = &models[m]->vit,
                                     .kind = kinds[k],
                                     .count = l->count,
                                     .pixels = read_pixels,
                                     .context = &from,
                                     .cancel = cancel};
            l->maps[k][m] = calloc(l->count * l->cells * l->cells, sizeof *l->maps[k][m]);
            rc = l->maps[k][m] ? bang_saliency_maps(l->maps[k][m], l->predicted[m], l->logits[m], 0,
                                                    &run, err)
                               : bang_fail_memory(err);
        }
    }
    return rc;
}

static const double *map_of(const looks *l, size_t kind, size_t member, size_t i)
{
    return l->maps[kind][member] + i * l->cells * l->cells;
}

/* Sums for means with their standard errors; what is not defined is left out. */
typedef struct mean {
    double count, sum, squares;
} mean;

static void add(mean *m, double value)
{
    if (!isfinite(value))
        return;
    m->count++;
    m->sum += value;
    m->squares += value * value;
}

static double value_of(const mean *m)
{
    return m->count > 0 ? m->sum / m->count : NAN;
}

/* Half of a 95 % interval. */
static double width_of(const mean *m)
{
    double value = value_of(m);
    return m->count > 1
               ? 1.96 * sqrt(fmax(0, m->squares / m->count - value * value) / (m->count - 1))
               : NAN;
}

/* Of one kind of map, over images. */
typedef struct diversity {
    mean correlation[MEMBERS]; /* of the maps of PM and FM, PM and average, FM and average */
    mean effective[MEMBERS];   /* patches */
    mean more[2];              /* the average's effective patches less PM's, less FM's */
} diversity;

/* A map of zeros, where nothing speaks for the class, has no number of patches. */
static double effective(const looks *l, size_t kind, size_t member, size_t i)
{
    double n = bang_occlusion_effective(map_of(l, kind, member, i), l->cells * l->cells);
    return n > 0 ? n : NAN;
}

static void measure(diversity *d, const looks *l, size_t kind)
{
    for (size_t i = 0; i < l->count; i++) {
        double n[MEMBERS];
        for (size_t m = 0; m < MEMBERS; m++)
            add(&d->effective[m], n[m] = effective(l, kind, m, i));
        add(&d->more[0], n[2] - n[0]);
        add(&d->more[1], n[2] - n[1]);
        for (size_t m = 0; m < MEMBERS; m++)
            add(&d->correlation[m],
                bang_saliency_correlation(map_of(l, kind, m == 2, i), map_of(l, kind, m ? 2 : 1, i),
                                          l->cells * l->cells));
    }
}

static int is_right(const looks *l, size_t member, size_t i)
{
    return l->set->labels[i] >= 0 && l->predicted[member][i] == (size_t)l->set->labels[i];
}

/* 0 for FalseFalseTrue, 1 where the average is right and one of the others is wrong, else 2. */
static int interest(const looks *l, size_t i)
{
    int pre = is_right(l, 0, i), fine = is_right(l, 1, i);
    return !is_right(l, 2, i) || (pre && fine) ? 2 : pre || fine;
}

/* The most telling images of a set, (SHOWN), in the order of interest and then of the set. */
static size_t choose(size_t out[SHOWN], const looks *l)
{
    size_t found = 0;
    for (int wanted = 0; wanted < 3; wanted++)
        for (size_t i = 0; i < l->count && found < SHOWN; i++)
            if (interest(l, i) == wanted)
                out[found++] = i;
    return found;
}

static double confidence(const looks *l, size_t member, size_t i)
{
    size_t classes = l->models[member]->vit.config.classes;
    const float *z = l->logits[member] + i * classes;
    double sum = 0, most = (double)z[l->predicted[member][i]];
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)z[c] - most);
    return 1 / sum;
}

/* The tiles of the sheet and what they say. */
typedef struct gallery {
    size_t rows;
    bang_overlay_tile tiles[SHIFT_SETS * SHOWN][COLUMNS];
    char captions[SHIFT_SETS * SHOWN][COLUMNS][CAPTION];
} gallery;

static void hang(gallery *g, const looks *l, const char *name, size_t image)
{
    const bang_vit_config *c = &l->models[0]->vit.config;
    bang_overlay_tile *tiles = g->tiles[g->rows];
    size_t size = c->image * c->image * c->channels;
    for (size_t t = 0; t < COLUMNS; t++) {
        char *caption = g->captions[g->rows][t];
        tiles[t] = (bang_overlay_tile){.picture = (const uint8_t *)l->set->memory.inputs.data +
                                                  image * size,
                                       .side = l->cells,
                                       .caption = caption};
        if (t == 0) {
            snprintf(caption, CAPTION, "%s: a %lld", name, (long long)l->set->labels[image]);
            continue;
        }
        size_t member = (t - 1) % MEMBERS;
        tiles[t].map = map_of(l, (t - 1) / MEMBERS, member, image);
        snprintf(caption, CAPTION, "%zu%s, %.0f %%", l->predicted[member][image],
                 is_right(l, member, image) ? "" : " (wrong)", 100 * confidence(l, member, image));
    }
    g->rows++;
}

static int show_gallery(json_t *show, const gallery *g, const bang_vit_config *c, bang_error *err)
{
    static const char *const headings[COLUMNS] = {"image",   "PM, Grad-CAM", "FM, Grad-CAM",
                                                  "average", "PM, HiResCAM", "FM, HiResCAM",
                                                  "average"};
    bang_overlay_sheet sheet = {.rows = g->rows,
                                .columns = COLUMNS,
                                .size = c->image,
                                .channels = c->channels,
                                .tiles = g->tiles[0],
                                .headings = headings};
    bang_array picture;
    bang_text png = {0}, base64 = {0};
    int rc = bang_overlay_draw(&picture, &sheet, err);
    if (rc == 0)
        rc = bang_png_encode(&png, picture.data, picture.shape[1], picture.shape[0], 3, err);
    if (rc == 0)
        bang_text_add_base64(&base64, png.data, png.size);
    if (rc == 0 && base64.failed)
        rc = bang_fail_memory(err);
    if (rc == 0)
        json_array_append_new(
            show,
            json_pack("{ss ss ss sf ss ss}", "kind", "picture", "title",
                      "Where PM, FM and the average look.", "png", base64.data, "scale", 0.6, "alt",
                      "images of every set out of distribution, each beside maps of the patches "
                      "that speak for what PM, FM and the average take it for",
                      "note",
                      "Images that PM and FM get wrong and the average right, if a set has "
                      "them, else such that one gets wrong. A map shows the patches that speak for "
                      "the class that this model predicts (below it, with its confidence); light "
                      "is much, each map on its own scale. Left Grad-CAM of the last block, as the "
                      "paper; right HiResCAM of all blocks. Look whether PM's light patches are "
                      "FM's, and whether the average's are more than either's."));
    bang_array_release(&picture);
    bang_text_release(&png);
    bang_text_release(&base64);
    return rc;
}

static void add_row(json_t *table, const char *name, size_t images, const diversity d[KINDS])
{
    json_t *row = json_pack("[sI]", name, (json_int_t)images);
    for (size_t k = 0; k < KINDS; k++) {
        json_array_append_new(row, bang_json_number(value_of(&d[k].correlation[0])));
        for (size_t m = 0; m < MEMBERS; m++)
            json_array_append_new(row, bang_json_number(value_of(&d[k].effective[m])));
    }
    lab_table_row(table, row);
}

static json_t *make_table(size_t patches)
{
    static const char *const columns[] = {"set", "images",  "correlation", "PM",
                                          "FM",  "average", "correlation", "PM",
                                          "FM",  "average", NULL};
    char note[400];
    snprintf(note, sizeof note,
             "Correlation: of PM's map with FM's, mean over images. PM, FM, average: effective "
             "number of patches (sum a)^2 / sum a^2 of %zu, which is n when n patches speak "
             "equally for the predicted class and the others not at all; maps without any are "
             "left out. Grad-CAM sees the last block only, and finds marks no better than "
             "chance in a small network that decides before; HiResCAM finds them.",
             patches);
    json_t *table = lab_table("How many patches they depend on", columns, note);
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si]]", "", 2, "Grad-CAM", 4, "HiResCAM", 4));
    json_object_set_new(table, "decimals", json_pack("[nniiiiiiii]", 2, 1, 1, 1, 2, 1, 1, 1));
    return table;
}

/* By HiResCAM, over all sets out of distribution; Grad-CAM's answer beside it. */
static void show_verdicts(json_t *show, const diversity all[KINDS])
{
    char because[480];
    const mean *between = all[HIRESCAM].correlation;
    double correlation = value_of(between), half = width_of(between);
    snprintf(because, sizeof because,
             "out of distribution PM's and FM's maps of an image correlate with %.2f +- %.2f by "
             "HiResCAM (%.2f by Grad-CAM), the average's with PM's %.2f, with FM's %.2f; holds "
             "below 0.5 with the interval of 95 %% over images, partly below 0.8",
             correlation, half, value_of(all[GRADCAM].correlation), value_of(&between[1]),
             value_of(&between[2]));
    lab_show_item(show, "Figure 2 (right)", "PM and FM rely on different features",
                  !isfinite(correlation + half) ? "open"
                  : correlation + half < 0.5    ? "yes"
                  : correlation + half < 0.8    ? "partly"
                                                : "no",
                  because);
    const mean *pre = &all[HIRESCAM].more[0], *fine = &all[HIRESCAM].more[1];
    int above_pre = value_of(pre) - width_of(pre) > 0,
        above_fine = value_of(fine) - width_of(fine) > 0;
    snprintf(because, sizeof because,
             "out of distribution the average's maps have %.2f effective patches, PM's %.2f, FM's "
             "%.2f by HiResCAM: %+.2f +- %.2f and %+.2f +- %.2f image by image (by Grad-CAM %+.2f "
             "and %+.2f); holds when it has more than both with the interval of 95 %% over images, "
             "partly more than one",
             value_of(&all[HIRESCAM].effective[2]), value_of(&all[HIRESCAM].effective[0]),
             value_of(&all[HIRESCAM].effective[1]), value_of(pre), width_of(pre), value_of(fine),
             width_of(fine), value_of(&all[GRADCAM].more[0]), value_of(&all[GRADCAM].more[1]));
    lab_show_item(show, "Figure 2 (right)", "The average uses more diverse features than both",
                  !isfinite(width_of(pre) + width_of(fine)) ? "open"
                  : above_pre && above_fine                 ? "yes"
                  : above_pre || above_fine                 ? "partly"
                                                            : "no",
                  because);
}

int shift_maps(json_t *show, const bang_vit_model *pre, const bang_vit_model *fine,
               const bang_vit_model *average, const shift_data *data, bang_cancel *cancel,
               bang_error *err)
{
    const bang_vit_model *models[MEMBERS] = {pre, fine, average};
    const bang_vit_config *c = &pre->vit.config;
    looks l[SHIFT_SETS] = {0};
    diversity all[KINDS] = {0};
    gallery *g = calloc(1, sizeof *g);
    json_t *table = make_table((c->image / c->patch) * (c->image / c->patch));
    int rc = g && table ? 0 : bang_fail_memory(err);
    for (size_t s = 0; rc == 0 && s < SHIFT_SETS; s++) {
        diversity d[KINDS] = {0};
        size_t chosen[SHOWN];
        rc = look(&l[s], &data->test[s], models, cancel, err);
        if (rc < 0)
            break;
        for (size_t k = 0; k < KINDS; k++) {
            measure(&d[k], &l[s], k);
            if (s > 0) /* the first is in distribution */
                measure(&all[k], &l[s], k);
        }
        add_row(table, shift_set_names[s], l[s].count, d);
        size_t found = s > 0 ? choose(chosen, &l[s]) : 0;
        for (size_t i = 0; i < found; i++)
            hang(g, &l[s], shift_set_names[s], chosen[i]);
    }
    if (rc == 0 && g->rows)
        rc = show_gallery(show, g, c, err);
    if (rc == 0) {
        json_array_append(show, table);
        show_verdicts(show, all);
    }
    for (size_t s = 0; s < SHIFT_SETS; s++)
        release(&l[s]);
    json_decref(table);
    free(g);
    return rc;
}
