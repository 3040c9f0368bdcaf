/* bang predict: models, data and map from their files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bang/model/layout.h"
#include "predict.h"

int predict_read_model(void *target, const char *value, bang_error *err)
{
    predict_request *r = target;
    predict_model *models = realloc(r->models, (r->count + 1) * sizeof *models);
    if (!models)
        return bang_fail_memory(err);
    r->models = models;
    r->models[r->count++] = (predict_model){.path = value};
    return 0;
}

/* Behind a model it is that one's; before all, everyone's. */
int predict_read_head(void *target, const char *value, bang_error *err)
{
    predict_request *r = target;
    const char **place = r->count ? &r->models[r->count - 1].head : &r->head;
    if (*place)
        return bang_fail(err, BANG_EUSAGE,
                         "is the second for one model: put each --head behind its --model");
    *place = value;
    return 0;
}

int predict_read_source(void *target, const char *value, bang_error *err)
{
    predict_request *r = target;
    const char **sources = realloc(r->sources, (r->source_count + 1) * sizeof *sources);
    if (!sources)
        return bang_fail_memory(err);
    r->sources = sources;
    r->sources[r->source_count++] = value;
    return 0;
}

static int is_picture(const char *path)
{
    struct stat info;
    size_t size = strlen(path);
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode) &&
           (size < 4 || strcasecmp(path + size - 4, ".csv") != 0);
}

static int is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

void predict_check_sources(cli *c, predict_request *r, size_t first)
{
    bang_error err = {0};
    size_t named = r->source_count, pictures = 0;
    int alone = 1; /* no data set is named */
    for (size_t i = 0; i < named; i++)
        alone = alone && is_picture(r->sources[i]);
    for (size_t i = first; i < c->operand_count; i++) {
        const char *operand = c->operands[i];
        /* that a picture is not there is said when it is opened */
        if (!is_picture(operand) && (is_there(operand) || !alone))
            cli_problem(c,
                        "%.80s: %s: a network is named with --model, data with --data; only "
                        "pictures stand alone",
                        operand, is_there(operand) ? "unexpected" : "does not exist");
        else if (predict_read_source(r, operand, &err) < 0)
            cli_problem(c, "%s", err.message);
    }
    for (size_t i = 0; i < r->source_count; i++)
        pictures += is_picture(r->sources[i]) || (i >= named && !is_there(r->sources[i]));
    for (size_t i = 0; r->source_count > 1 && i < named; i++)
        if (!is_picture(r->sources[i]))
            cli_problem(c, "--data %.200s: is no picture: of several each must be one",
                        r->sources[i]);
    /* features are for programs */
    r->single = pictures > 0 && pictures == r->source_count && !r->features;
    if (r->source_count == 0 && c->operand_count <= first)
        cli_problem(c, "--data: missing: name a folder, a data set or pictures with --data DATA");
}

const char *predict_source(const predict_request *r)
{
    return r->source_count == 1 ? r->sources[0] : "pictures";
}

static int load_vit(predict_model *m, const predict_request *r, bang_checkpoint *checkpoint,
                    bang_error *err)
{
    const char *head = m->head ? m->head : r->head;
    int rc = bang_vit_model_read(&m->vit, checkpoint, &r->pictures.hints, err);
    if (rc < 0)
        return rc;
    m->is_vit = 1;
    return head && !r->features ? bang_vit_model_set_head(&m->vit, head, err) : 0;
}

static int load_mlp(predict_model *m, const predict_request *r, bang_error *err)
{
    int rc = bang_mlp_load(&m->mlp, m->path, err);
    if (rc == 0 && r->activation)
        bang_activation_find(&m->mlp.activation, r->activation);
    return rc;
}

int predict_load_model(predict_model *m, const predict_request *r, bang_error *err)
{
    bang_checkpoint *checkpoint;
    int rc = bang_checkpoint_open(&checkpoint, m->path, err);
    if (rc < 0)
        return rc;
    bang_layout layout = bang_layout_guess(checkpoint);
    if (layout == BANG_LAYOUT_UNKNOWN)
        rc = bang_fail(err, BANG_EDATA,
                       "%.300s: is no network that can be run: give a perceptron, a ViT or a CLIP",
                       m->path);
    else if (layout == BANG_LAYOUT_MLP)
        rc = load_mlp(m, r, err);
    else
        rc = load_vit(m, r, checkpoint, err);
    bang_checkpoint_close(checkpoint);
    return rc;
}

/* A single name is a data set's, too, unless it was given as a picture's. */
static int open_data(predict_request *r, bang_error *err)
{
    if (r->single && r->source_count == 1 && access(r->sources[0], F_OK) < 0)
        return bang_fail(err, BANG_EIO, "%.600s: %s", r->sources[0], strerror(errno));
    return bang_images_open_all(&r->set, r->sources, r->source_count, err);
}

int predict_load(cli *c, predict_request *r)
{
    bang_error err = {0};
    int status = CLI_DONE;
    for (size_t i = 0; i < r->count; i++)
        if (predict_load_model(&r->models[i], r, &err) < 0)
            status = cli_fail(c, &err);
    if (open_data(r, &err) < 0)
        status = cli_fail(c, &err);
    if (r->classes)
        prompts_read(c, &r->names, r->classes, NULL);
    if (r->map_path) {
        r->has_map = bang_class_map_load(&r->map, r->map_path, &err) == 0;
        if (!r->has_map)
            status = cli_fail(c, &err);
    }
    if (cli_usage_failed(c)) { /* names that cannot be read */
        bang_text_release(&c->problems);
        status = CLI_FAILED;
    }
    return status;
}

void predict_model_release(predict_model *m)
{
    if (m->is_vit)
        bang_vit_model_release(&m->vit);
    else
        bang_mlp_release(&m->mlp);
}

void predict_release(predict_request *r)
{
    for (size_t i = 0; i < r->count; i++)
        predict_model_release(&r->models[i]);
    bang_images_release(&r->set);
    if (r->has_map)
        bang_class_map_release(&r->map);
    prompts_release(&r->names);
    free(r->models);
    free(r->sources);
    free(r->weights);
    *r = (predict_request){0};
}
