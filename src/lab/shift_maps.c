/* Where PM, FM and their average look (Figure 2, right): maps side by side, how alike they are, and
 * how many patches they depend on. All explain the same logit, that of the true class: maps of
 * two classes would differ for that alone. How alike two models' maps can be at all is measured
 * on a second fine-tuning. */
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
    PM,
    FM,
    AVERAGE,
    MEMBERS, /* that are shown */
    OTHER = MEMBERS,
    MODELS,    /* with the other FM */
    KINDS = 2, /* Grad-CAM, HiResCAM */
    SHOWN = 2, /* of each set out of distribution */
    COLUMNS = 1 + KINDS * MEMBERS,
    CAPTION = 24,
};
static const bang_saliency_kind kinds[KINDS] = {BANG_GRADCAM, BANG_HIRESCAM};

/* A set's first images. */
typedef struct looks {
    const bang_images *set;
    size_t count, cells;
    double *maps[KINDS][MODELS]; /* (count, cells, cells); NULL of a model that is not there */
    size_t *which;               /* (count) the true classes, which are explained */
    size_t *predicted[MODELS];   /* (count) */
    float *logits[MODELS];       /* (count, classes) */
    const bang_vit_model *models[MODELS];
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

static int check(const bang_images *set, const bang_vit_model *const models[MODELS],
                 bang_error *err)
{
    const bang_vit_config *first = &models[0]->vit.config;
    for (size_t m = 0; m < MODELS && models[m]; m++) {
        const bang_vit_config *c = &models[m]->vit.config;
        if (set->paths || set->memory.inputs.dtype != BANG_U8 ||
            set->memory.width != c->channels * c->image * c->image)
            return bang_fail(err, BANG_EUSAGE, "maps: need images in memory of %zu x %zu bytes",
                             c->image, c->image);
        if (c->image / c->patch != first->image / first->patch || c->classes != first->classes)
            return bang_fail(err, BANG_EUSAGE, "maps: the models differ in patches or classes");
    }
    for (size_t i = 0; i < set->count; i++)
        if (set->labels[i] < 0 || (uint64_t)set->labels[i] >= first->classes)
            return bang_fail(err, BANG_EUSAGE, "maps: image %zu has no class of the models", i);
    return 0;
}

static void release(looks *l)
{
    for (size_t m = 0; m < MODELS; m++) {
        for (size_t k = 0; k < KINDS; k++)
            free(l->maps[k][m]);
        free(l->predicted[m]);
        free(l->logits[m]);
    }
    free(l->which);
    *l = (looks){0};
}

/* All maps of one model, which is number m. */
static int look_with(looks *l, size_t m, const bang_vit_model *model, bang_cancel *cancel,
                     bang_error *err)
{
    size_t classes = model->vit.config.classes;
    source from = {l, model};
    int rc = 0;
    l->models[m] = model;
    l->predicted[m] = calloc(l->count, sizeof *l->predicted[m]);
    l->logits[m] = calloc(l->count * classes, sizeof *l->logits[m]);
    if (!l->predicted[m] || !l->logits[m])
        return bang_fail_memory(err);
    for (size_t k = 0; rc == 0 && k < KINDS; k++) {
        bang_saliency_run run = {.vit = &model->vit,
                                 .kind = kinds[k],
                                 .count = l->count,
                                 .pixels = read_pixels,
                                 .context = &from,
                                 .which = l->which,
                                 .threads = 1,
                                 .cancel = cancel};
        l->maps[k][m] = calloc(l->count * l->cells * l->cells, sizeof *l->maps[k][m]);
        rc = l->maps[k][m] ? bang_saliency_maps(l->maps[k][m], NULL, l->logits[m], 0, &run, err)
                           : bang_fail_memory(err);
    }
    for (size_t i = 0; i < l->count; i++)
        for (size_t c = 1; c < classes; c++)
            if (l->logits[m][i * classes + c] > l->logits[m][i * classes + l->predicted[m][i]])
                l->predicted[m][i] = c;
    return rc;
}

static int look(looks *l, const bang_images *set, const bang_vit_model *const models[MODELS],
                bang_cancel *cancel, bang_error *err)
{
    const bang_vit_config *c = &models[0]->vit.config;
    *l = (looks){.set = set, .cells = c->image / c->patch};
    l->count = set->count < SHIFT_MAP_IMAGES ? set->count : SHIFT_MAP_IMAGES;
    int rc = check(set, models, err);
    if (rc == 0 && !(l->which = calloc(l->count, sizeof *l->which)))
        rc = bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < l->count; i++)
        l->which[i] = (size_t)set->labels[i];
    for (size_t m = 0; rc == 0 && m < MODELS && models[m]; m++)
        rc = look_with(l, m, models[m], cancel, err);
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

/* [mean, its variance by images] */
static json_t *mean_json(const mean *m)
{
    double value = value_of(m), variance = NAN;
    if (m->count > 1)
        variance = fmax(0, m->squares / m->count - value * value) / (m->count - 1);
    return json_pack("[oo]", bang_json_number(value), bang_json_number(variance));
}

/* Pairs of models whose maps are compared. */
enum { PM_FM, FM_OTHER, PM_AVERAGE, FM_AVERAGE, PAIRS };
static const size_t pairs[PAIRS][2] = {{PM, FM}, {FM, OTHER}, {PM, AVERAGE}, {FM, AVERAGE}};

/* Of one kind of map, over images. */
typedef struct diversity {
    mean correlation[PAIRS];
    mean effective[MEMBERS]; /* patches */
    mean apart;              /* correlation of FM with the other FM less that of PM with FM */
    mean more[2];            /* the average's effective patches less PM's, less FM's */
} diversity;

/* A map of zeros, where nothing speaks for the class, has no number of patches. */
static double effective(const looks *l, size_t kind, size_t member, size_t i)
{
    double n = bang_occlusion_effective(map_of(l, kind, member, i), l->cells * l->cells);
    return n > 0 ? n : NAN;
}

static double correlation(const looks *l, size_t kind, const size_t pair[2], size_t i)
{
    if (!l->maps[kind][pair[0]] || !l->maps[kind][pair[1]])
        return NAN;
    return bang_saliency_correlation(map_of(l, kind, pair[0], i), map_of(l, kind, pair[1], i),
                                     l->cells * l->cells);
}

static void measure(diversity *d, const looks *l, size_t kind)
{
    for (size_t i = 0; i < l->count; i++) {
        double n[MEMBERS], r[PAIRS];
        for (size_t m = 0; m < MEMBERS; m++)
            add(&d->effective[m], n[m] = effective(l, kind, m, i));
        for (size_t p = 0; p < PAIRS; p++)
            add(&d->correlation[p], r[p] = correlation(l, kind, pairs[p], i));
        add(&d->apart, r[FM_OTHER] - r[PM_FM]);
        add(&d->more[0], n[AVERAGE] - n[PM]);
        add(&d->more[1], n[AVERAGE] - n[FM]);
    }
}

static int is_right(const looks *l, size_t member, size_t i)
{
    return l->set->labels[i] >= 0 && l->predicted[member][i] == (size_t)l->set->labels[i];
}

/* 0 for FalseFalseTrue, 1 where the average is right and one of the others is wrong, else 2. */
static int interest(const looks *l, size_t i)
{
    int pre = is_right(l, PM, i), fine = is_right(l, FM, i);
    return !is_right(l, AVERAGE, i) || (pre && fine) ? 2 : pre || fine;
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

static int draw_gallery(json_t *result, const gallery *g, const bang_vit_config *c, bang_error *err)
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
    if (rc == 0 &&
        (base64.failed || json_object_set_new(result, "png", json_string(base64.data)) < 0))
        rc = bang_fail_memory(err);
    bang_array_release(&picture);
    bang_text_release(&png);
    bang_text_release(&base64);
    return rc;
}

/* One number per set under each name. */
static json_t *sets_json(const char *const *names, const mean *first, size_t stride, size_t count)
{
    json_t *out = json_object();
    for (size_t i = 0; i < count; i++) {
        double row[SHIFT_SETS];
        for (size_t s = 0; s < SHIFT_SETS; s++)
            row[s] = value_of(&first[s * stride + i]);
        json_object_set_new(out, names[i], lab_numbers(row, SHIFT_SETS));
    }
    return out;
}

static json_t *kind_json(const diversity d[SHIFT_SETS], const diversity *ood)
{
    static const char *const pair_names[PAIRS] = {"pre-fine", "fine-other", "pre-avg", "fine-avg"};
    static const char *const names[MEMBERS] = {"pre", "fine", "avg"};
    mean correlations[SHIFT_SETS][PAIRS], numbers[SHIFT_SETS][MEMBERS];
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        memcpy(correlations[s], d[s].correlation, sizeof correlations[s]);
        memcpy(numbers[s], d[s].effective, sizeof numbers[s]);
    }
    return json_pack("{so so s{so so so}}", "correlation",
                     sets_json(pair_names, correlations[0], PAIRS, PAIRS), "effective",
                     sets_json(names, numbers[0], MEMBERS, MEMBERS), "ood", "apart",
                     mean_json(&ood->apart), "over_pre", mean_json(&ood->more[0]), "over_fine",
                     mean_json(&ood->more[1]));
}

int shift_maps(json_t *result, const bang_vit_model *const models[4], const shift_data *data,
               int picture, bang_cancel *cancel, bang_error *err)
{
    const bang_vit_config *c = &models[0]->vit.config;
    looks l[SHIFT_SETS] = {0};
    diversity d[KINDS][SHIFT_SETS] = {0}, ood[KINDS] = {0};
    gallery *g = calloc(1, sizeof *g);
    json_t *counts = json_array();
    int rc = g && counts ? 0 : bang_fail_memory(err);
    for (size_t s = 0; rc == 0 && s < SHIFT_SETS; s++) {
        size_t chosen[SHOWN];
        rc = look(&l[s], &data->test[s], models, cancel, err);
        if (rc < 0)
            break;
        json_array_append_new(counts, json_integer((json_int_t)l[s].count));
        for (size_t k = 0; k < KINDS; k++) {
            measure(&d[k][s], &l[s], k);
            if (s > 0) /* the first is in distribution */
                measure(&ood[k], &l[s], k);
        }
        size_t found = picture && s > 0 ? choose(chosen, &l[s]) : 0;
        for (size_t i = 0; i < found; i++)
            hang(g, &l[s], shift_set_names[s], chosen[i]);
    }
    if (rc == 0 && g->rows)
        rc = draw_gallery(result, g, c, err);
    if (rc == 0 && (json_object_set(result, "n", counts) < 0 ||
                    json_object_set_new(result, "gradcam", kind_json(d[0], &ood[0])) < 0 ||
                    json_object_set_new(result, "hirescam", kind_json(d[1], &ood[1])) < 0))
        rc = bang_fail_memory(err);
    for (size_t s = 0; s < SHIFT_SETS; s++)
        release(&l[s]);
    json_decref(counts);
    free(g);
    return rc;
}
