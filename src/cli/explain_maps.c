/* bang explain: maps of transformers over some pictures, model by model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/utf8.h"
#include "bang/data/feed.h"
#include "bang/explain/occlusion.h"
#include "bang/store/png.h"
#include "checkpoints.h"
#include "classes.h"
#include "explain.h"

/* Pictures at once; at all and on the sheet, if nobody says. */
enum { PIECE = 32, COUNT = 8, ROWS = 16 };

const char *explain_what(const explain_request *r)
{
    if (r->kind == BANG_ROLLOUT)
        return NULL;
    if (!r->class_text || strcmp(r->class_text, "predicted") == 0)
        return "the class that each predicts";
    return strcmp(r->class_text, "label") == 0 ? "the true class" : r->class_text;
}

/* The output of that name or number; -1 and a problem if there is none. */
static int64_t find_output(cli *c, const explain_request *r)
{
    const predict_request *p = &r->from;
    int64_t place = -1, number;
    char *wanted = (char *)r->class_text;
    bang_images asked = {.classes = 1, .class_names = &wanted};
    char **names = calloc(p->width + 1, sizeof *names);
    size_t named = 0;
    if (!names) {
        cli_problem(c, "out of memory");
        return -1;
    }
    for (; named < p->width && explain_class_name(p, named); named++)
        names[named] = (char *)explain_class_name(p, named);
    if (named && classes_find(&place, &asked, names, named) != 1)
        place = -1;
    free(names);
    if (place < 0 && bang_text_to_int64(&number, r->class_text) == 0 && number >= 0 &&
        (uint64_t)number < p->width)
        place = number;
    if (place < 0)
        cli_problem(c,
                    "--class %.80s: is none of the %zu outputs: give predicted, label, %s0 to %zu",
                    r->class_text, p->width, named ? "a class's name, or " : "", p->width - 1);
    return place;
}

/* Maps are of one size among the models or not compared. */
static void fit_models(cli *c, const explain_request *r)
{
    const predict_request *p = &r->from;
    for (size_t m = 0; m < p->count; m++)
        if (!p->models[m].is_vit)
            cli_problem(c,
                        "--model %.200s: is a perceptron: maps of this kind are of ViTs and CLIPs: "
                        "take occlusion",
                        p->models[m].path);
}

/* The stem of a path, as much of it as fits. */
static void name_model(char out[64], const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    char *stem = dot && dot > base ? strndup(base, (size_t)(dot - base)) : NULL;
    if (dot && dot > base && !stem)
        bang_memory_refuse(); /* the whole name would do, but is not the same picture */
    bang_utf8_clip(out, 64, stem ? stem : base);
    free(stem);
}

static int make_result(explain_result *out, const explain_request *r, bang_error *err)
{
    const predict_request *p = &r->from;
    const bang_vit_config *first = &p->models[0].vit.vit.config;
    size_t count = out->choice.count, rows = r->rows ? (size_t)r->rows : ROWS;
    out->shown = count < rows ? count : rows;
    out->size = first->image;
    out->channels = first->channels;
    out->model_count = p->count;
    out->members = calloc(p->count, sizeof *out->members);
    out->names = calloc(p->count, sizeof *out->names);
    out->pictures = calloc(out->shown, out->size * out->size * out->channels);
    int rc = out->members && out->names && out->pictures ? 0 : bang_fail_memory(err);
    for (size_t m = 0; rc == 0 && m < p->count; m++) {
        const bang_vit_config *c = &p->models[m].vit.vit.config;
        explain_member *e = &out->members[m];
        name_model(out->names[m], p->models[m].path);
        e->cells = c->image / c->patch;
        e->side = r->kind == BANG_INPUT_GRADIENT ? c->image : e->cells;
        e->maps = calloc(out->shown * e->side * e->side, sizeof *e->maps);
        e->patches = calloc(count * e->cells * e->cells, sizeof *e->patches);
        e->explained = calloc(count, sizeof *e->explained);
        e->predicted = calloc(count, sizeof *e->predicted);
        e->confidence = calloc(count, sizeof *e->confidence);
        e->effective = calloc(count, sizeof *e->effective);
        if (!e->maps || !e->patches || !e->explained || !e->predicted || !e->confidence ||
            !e->effective)
            rc = bang_fail_memory(err);
    }
    return rc;
}

static void release_result(explain_result *result)
{
    for (size_t m = 0; result->members && m < result->model_count; m++) {
        explain_member *e = &result->members[m];
        free(e->maps);
        free(e->patches);
        free(e->explained);
        free(e->predicted);
        free(e->confidence);
        free(e->effective);
    }
    free(result->members);
    free(result->names);
    free(result->pictures);
    free(result->choice.index);
    bang_text_release(&result->bad);
    *result = (explain_result){0};
}

/* The work on one model. */
typedef struct work {
    const explain_request *request;
    explain_result *result;
    const bang_vit_model *model;
    explain_member *member;
    size_t number; /* of the model */
    int64_t output;
    bang_transform transform;
    bang_batch batch;
    double *maps;  /* (PIECE, side, side) */
    float *logits; /* (PIECE, classes) */
    int threads;
    cli_bar *bar;
} work;

static void read_pixels(void *context, size_t picture, float *out)
{
    const work *w = context;
    bang_batch_pixels(out, &w->batch, &w->transform, picture, picture, 1, w->model->mean,
                      w->model->std);
}

/* Row i of the batch as bytes. */
static void keep_picture(const work *w, uint8_t *to, size_t i)
{
    size_t size = w->transform.size * w->transform.size * w->transform.channels;
    if (w->batch.dtype == BANG_U8) {
        memcpy(to, (const uint8_t *)w->batch.pixels + i * size, size);
        return;
    }
    const float *from = (const float *)w->batch.pixels + i * size;
    for (size_t k = 0; k < size; k++)
        to[k] = (uint8_t)(255 * fminf(fmaxf(from[k], 0), 1) + .5F);
}

static void keep_outputs(explain_member *e, size_t at, const float *z, size_t classes)
{
    size_t best = 0;
    double sum = 0;
    if (classes == 0) {
        e->confidence[at] = NAN;
        return;
    }
    for (size_t k = 1; k < classes; k++)
        best = z[k] > z[best] ? k : best;
    for (size_t k = 0; k < classes; k++)
        sum += exp((double)z[k] - (double)z[best]);
    e->predicted[at] = best;
    e->confidence[at] = 1 / sum;
}

/* Row i of the batch, which is picture at of the result. */
static void keep_row(const work *w, size_t i, size_t at)
{
    explain_result *result = w->result;
    explain_member *e = w->member;
    size_t cells = e->cells * e->cells, numbers = e->side * e->side;
    const double *map = w->maps + i * numbers;
    bang_saliency_cells(e->patches + at * cells, e->cells, map, e->side);
    double n = bang_occlusion_effective(e->patches + at * cells, cells);
    e->effective[at] = n > 0 ? n : NAN;
    keep_outputs(e, at, w->logits + i * w->model->vit.config.classes, w->model->vit.config.classes);
    if (at < result->shown)
        memcpy(e->maps + at * numbers, map, numbers * sizeof *map);
    if (at < result->shown && w->number == 0)
        keep_picture(w, result->pictures + at * result->size * result->size * result->channels, i);
}

static int fail_changed(uint32_t picture, bang_error *err)
{
    return bang_fail(err, BANG_EDATA,
                     "picture %u: was read once and could not be read again, or the other way "
                     "round: is the folder being changed?",
                     (unsigned)picture);
}

/* The batch's maps; done pictures come before it. The first model says which can be read. */
static int run_batch(work *w, size_t done, bang_error *err)
{
    const bang_batch *b = &w->batch;
    explain_result *result = w->result;
    size_t which[PIECE];
    int label = w->request->class_text && strcmp(w->request->class_text, "label") == 0;
    for (size_t i = 0; i < b->count; i++)
        which[i] = label ? (size_t)b->labels[i] : w->output < 0 ? SIZE_MAX : (size_t)w->output;
    bang_saliency_run run = {.vit = &w->model->vit,
                             .kind = w->request->kind,
                             .count = b->count,
                             .pixels = read_pixels,
                             .context = w,
                             .which = which,
                             .threads = w->threads,
                             .cancel = cli_cancel(),
                             .progress = &w->bar->progress,
                             .done = w->number * result->choice.count + done,
                             .total = result->model_count * result->choice.count};
    int rc = bang_saliency_maps(w->maps, w->member->explained + done, w->logits, 0, &run, err);
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        if (w->number == 0)
            result->choice.index[done + i] = b->index[i];
        else if (done + i >= result->choice.count || result->choice.index[done + i] != b->index[i])
            return fail_changed(b->index[i], err);
        keep_row(w, i, done + i);
    }
    return rc;
}

static int run_model(work *w, bang_error *err)
{
    const predict_request *p = &w->request->from;
    explain_result *result = w->result;
    bang_feed_options options = {.transform = BANG_TRANSFORM_INIT};
    bang_feed *feed = NULL;
    size_t count = result->choice.count, done = 0;
    options.transform.size = w->model->vit.config.image;
    options.transform.channels = w->model->vit.config.channels;
    options.transform.crop = p->pictures.crop;
    options.threads = w->threads;
    options.skip_bad = p->pictures.skip_bad;
    options.cancel = cli_cancel();
    w->transform = options.transform;
    int rc = bang_feed_open(&feed, &p->set, &options, err);
    for (size_t asked = 0; rc == 0 && asked < count; asked += PIECE) {
        size_t many = count - asked < PIECE ? count - asked : PIECE;
        rc = bang_feed_ask(feed, result->choice.index + asked, many, 0, err);
        if (rc == 0)
            rc = bang_feed_take(&w->batch, feed, err);
        if (rc == 0)
            rc = run_batch(w, done, err);
        done += w->batch.count;
    }
    if (rc == 0 && w->number == 0) {
        result->skipped = bang_feed_bad_count(feed);
        for (size_t i = 0; i < result->skipped; i++)
            bang_text_add(&result->bad, "%s\n", bang_feed_bad(feed, i));
        result->choice.count = result->count = done;
        result->shown = done < result->shown ? done : result->shown;
    }
    if (rc == 0 && w->number > 0 && done < count)
        rc = fail_changed(result->choice.index[done], err);
    if (rc == 0 && done == 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s: no picture in it can be read: %s",
                       predict_source(p), result->skipped ? bang_feed_bad(feed, 0) : "it is empty");
    bang_feed_close(feed);
    return rc;
}

static int run_models(explain_result *result, cli *c, const explain_request *r, int64_t output,
                      bang_error *err)
{
    cli_bar bar;
    int rc = 0;
    cli_bar_start(&bar, c, "maps");
    for (size_t m = 0; rc == 0 && m < result->model_count; m++) {
        const bang_vit_model *model = &r->from.models[m].vit;
        explain_member *e = &result->members[m];
        work w = {.request = r,
                  .result = result,
                  .model = model,
                  .member = e,
                  .number = m,
                  .output = output,
                  .threads = (int)c->threads,
                  .bar = &bar};
        w.maps = calloc(PIECE * e->side * e->side, sizeof *w.maps);
        w.logits = calloc(PIECE * model->vit.config.classes + 1, sizeof *w.logits);
        rc = w.maps && w.logits ? run_model(&w, err) : bang_fail_memory(err);
        free(w.maps);
        free(w.logits);
    }
    cli_bar_finish(&bar);
    return rc;
}

static int write_files(const explain_result *result, bang_error *err)
{
    const explain_request *r = result->request;
    bang_array sheet = {0};
    int rc = 0;
    if (r->output && r->csv) {
        rc = explain_write_csv(result, err);
    } else if (r->output) {
        rc = explain_draw(&sheet, result, err);
        if (rc == 0)
            rc = bang_png_write(r->output, sheet.data, sheet.shape[1], sheet.shape[0], 3, err);
        bang_array_release(&sheet);
    }
    if (rc == 0 && r->html)
        rc = explain_write_page(result, err);
    return rc;
}

static int run_all(cli *c, explain_request *r, int64_t output)
{
    bang_error err = {0};
    explain_result result = {.request = r, .cli = c};
    int rc = explain_choose(&result.choice, c, r, &err);
    if (rc == 0)
        rc = make_result(&result, r, &err);
    if (rc == 0 && (r->html || !r->csv))
        rc = explain_sheet_fits(&result, &err);
    if (rc == 0)
        rc = run_models(&result, c, r, output, &err);
    if (rc == 0)
        rc = write_files(&result, &err);
    if (rc == 0 && result.bad.size && !c->quiet)
        print_lines(c, "left out: ", result.bad.data);
    int status = rc < 0 ? cli_fail(c, &err) : explain_print(c, &result);
    release_result(&result);
    return status;
}

int explain_maps(cli *c, explain_request *r)
{
    predict_request *p = &r->from;
    bang_text notes = {0};
    int64_t output = -1;
    r->usual = COUNT;
    int status = predict_load(c, p);
    if (status != CLI_DONE)
        return status;
    fit_models(c, r);
    if (c->problems.size == 0)
        predict_fit(c, p, &notes);
    if (notes.size && !c->quiet)
        print_lines(c, "note: ", notes.data);
    bang_text_release(&notes);
    if (c->problems.size == 0) {
        int by_label = r->class_text && strcmp(r->class_text, "label") == 0;
        explain_choice_fit(c, r);
        if (by_label && p->match == PREDICT_NO_MATCH)
            cli_problem(c, "--class label: %.200s has no labels that fit the models",
                        predict_source(p));
        for (size_t i = 0; by_label && p->match != PREDICT_NO_MATCH && i < p->set.count; i++)
            if (p->set.labels[i] < 0) {
                cli_problem(c, "--class label: picture %zu of %.200s has none", i,
                            predict_source(p));
                break;
            }
        if (r->class_text && !by_label && strcmp(r->class_text, "predicted") != 0)
            output = find_output(c, r);
    }
    return cli_usage_failed(c) ? CLI_FAILED : run_all(c, r, output);
}
