/* bang train: vision transformers, their data and their head. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/layout.h"
#include "classes.h"
#include "train_vit.h"

static void note(const vit_job *j, const char *format, ...) BANG_PRINTF(2, 3);
static void note(const vit_job *j, const char *format, ...)
{
    if (j->c->quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cli_say("bang %s: note: %s\n", j->c->command, text);
}

/* Numbers of one input as pictures have them; 0 where they have their own sizes. */
static void data_sizes(size_t *size, size_t *channels, const bang_images *set)
{
    const bang_array *all = &set->memory.inputs;
    *size = 0;
    *channels = 3;
    if (set->paths || all->rank < 3)
        return;
    *channels = all->rank == 4 ? all->shape[3] : 1;
    if (all->shape[1] == all->shape[2])
        *size = all->shape[1];
}

static int make_new(vit_job *j, bang_error *err)
{
    const train_request *r = j->r;
    const picture_options *p = &r->pictures;
    size_t size, channels;
    data_sizes(&size, &channels, &j->train);
    size = p->size ? (size_t)p->size : size ? size : 224;
    bang_vit_config config = train_new_config(r, size, channels, j->train.classes);
    train_check_config(j->c, &config);
    if (j->c->problems.size)
        return 0;
    int rc = bang_vit_model_make(&j->model, &config, (uint64_t)j->c->seed, err);
    return rc < 0 ? rc
                  : bang_vit_model_new_head(&j->model, config.classes,
                                            (const char *const *)j->train.class_names, err);
}

static int load_init(vit_job *j, bang_error *err)
{
    train_request *r = j->r;
    bang_checkpoint *file;
    int rc = bang_checkpoint_open(&file, r->init, err);
    if (rc < 0)
        return rc;
    bang_layout layout = bang_layout_guess(file);
    train_kind kind = train_kind_of(layout);
    if (kind != r->kind)
        rc = bang_fail(err, BANG_EDATA, "--arch %s: %.300s holds %s", r->arch, r->init,
                       kind == TRAIN_VIT    ? "a vision transformer: say --arch vit"
                       : kind == TRAIN_CLIP ? "a CLIP: say --arch clip"
                       : layout == BANG_LAYOUT_MLP
                           ? "a perceptron: say --arch mlp"
                           : "no network that can be trained: give a ViT or a CLIP");
    else
        rc = bang_vit_model_read(&j->model, file, &r->pictures.hints, err);
    bang_checkpoint_close(file);
    if (rc == 0 && r->head)
        rc = bang_vit_model_set_head(&j->model, r->head, err);
    return rc;
}

/* Labels as numbers of outputs: by name where all names of the data are among names, (count),
 * else in order unless strict; numbers without names are outputs already, though there may be
 * more outputs. 1 if that can be done. */
static int number_labels(vit_job *j, bang_images *set, const char *source, char *const *names,
                         size_t count, int strict, bang_error *err)
{
    size_t outputs = j->model.vit.config.classes;
    if (!set->class_names)
        return set->classes <= outputs;
    if (count == 0)
        return set->classes == outputs;
    int64_t *place = calloc(set->classes + 1, sizeof *place);
    long found = place ? classes_find(place, set, names, count) : -1;
    int rc = found < 0 ? bang_fail_memory(err) : 0;
    if (found > 0 && (size_t)found == set->classes) {
        if (classes_renumber(set, place) > 0)
            note(j,
                 "%s: classes are found by their names: labels are numbered as the head's "
                 "outputs, not in the order of the folders",
                 source);
        rc = 1;
    } else if (rc == 0 && !strict && classes_in_order(set, place, outputs)) {
        note(j,
             "%s: %ld of %zu classes are named as the head has them: all are taken in order, "
             "the first is its \"%s\"",
             source, found, set->classes, names[0]);
        rc = 1;
        j->in_order = 1;
    }
    free(place);
    return rc;
}

/* The head's names, where it has none and the data do. */
static int adopt_names(bang_vit_model *model, const bang_images *set, bang_error *err)
{
    if (model->class_count || !set->class_names || set->classes != model->vit.config.classes)
        return 0;
    char **copy = calloc(set->classes, sizeof *copy);
    size_t count = 0;
    while (copy && count < set->classes && (copy[count] = strdup(set->class_names[count])))
        count++;
    if (count < set->classes) {
        while (copy && count-- > 0)
            free(copy[count]);
        free((void *)copy);
        return bang_fail_memory(err);
    }
    model->class_names = copy;
    model->class_count = count;
    return 0;
}

/* Makes a head that fits the data, unless there is one. */
static int settle_head(vit_job *j, bang_error *err)
{
    train_request *r = j->r;
    size_t outputs = j->model.vit.config.classes, classes = j->train.classes;
    j->head = r->head ? HEAD_OF_FILE : HEAD_OF_INIT;
    /* A zero-shot head has names for people, in the order of the folders. One that was trained
     * has the folders' names: other ones are other classes. */
    int strict = r->kind == TRAIN_VIT && !r->head;
    int rc = outputs ? number_labels(j, &j->train, r->data, j->model.class_names,
                                     j->model.class_count, strict, err)
                     : 0;
    if (rc != 0)
        return rc < 0 ? rc : adopt_names(&j->model, &j->train, err);
    if (r->head) {
        cli_problem(j->c, "--head %.200s: has %zu outputs: %.200s has %zu classes%s", r->head,
                    outputs, r->data, classes,
                    outputs == classes ? ", some of the same name in another place" : "");
        return 0;
    }
    /* a linear probe begins at zero; whoever trains the tower too wants a head to begin with */
    if (r->kind == TRAIN_CLIP && !r->only_head) {
        cli_problem(j->c,
                    "--init %.200s: %s: make one from the names of the classes with bang zeroshot "
                    "--model %.200s --classes FILE --templates FILE --vocab FILE -o "
                    "head.safetensors, and give it with --head head.safetensors",
                    r->init, outputs ? "its head has other classes" : "it has no head", r->init);
        return 0;
    }
    if (outputs == classes)
        note(j, "%s: its head has other classes than %s: begins with a new head of zeros", r->init,
             r->data);
    else if (outputs)
        note(j, "%s: its head has %zu outputs, %s %zu classes: begins with a new head of zeros",
             r->init, outputs, r->data, classes);
    else
        note(j, "%s: has no head: begins with a new one of zeros", r->init);
    j->head = HEAD_NEW;
    return bang_vit_model_new_head(&j->model, classes, (const char *const *)j->train.class_names,
                                   err);
}

static int fit_validation(vit_job *j, bang_error *err)
{
    bang_images *set = &j->validation;
    size_t outputs = j->model.vit.config.classes;
    /* what was taken in order is known by the names of what was trained on */
    int rc = j->in_order ? number_labels(j, set, j->r->validation, j->train.class_names,
                                         j->train.classes, 1, err)
                         : number_labels(j, set, j->r->validation, j->model.class_names,
                                         j->model.class_count, 1, err);
    if (rc == 0)
        cli_problem(j->c, "--val %.200s: has %zu classes%s: the network has %zu outputs",
                    j->r->validation, set->classes, set->class_names ? " of other names" : "",
                    outputs);
    return rc < 0 ? rc : 0;
}

static void check_labels(cli *c, const char *option, const char *source, const bang_images *set)
{
    size_t missing = 0;
    for (size_t i = 0; i < set->count; i++)
        missing += set->labels[i] < 0;
    if (set->count == 0)
        cli_problem(c, "--%s %.200s: holds no pictures", option, source);
    if (missing && !set->paths)
        cli_problem(c, "--%s %.200s: has no labels: training needs labels.npy beside images.npy",
                    option, source);
    else if (missing)
        cli_problem(c,
                    "--%s %.200s: %zu of %zu without a label: put pictures into class "
                    "folders, or list them in a CSV with labels",
                    option, source, missing, set->count);
}

static int fit(vit_job *j, bang_error *err)
{
    train_request *r = j->r;
    int rc = 0;
    check_labels(j->c, "data", r->data, &j->train);
    if (j->validation.count)
        check_labels(j->c, "val", r->validation, &j->validation);
    if (j->c->problems.size || j->train.count == 0)
        return 0;
    if (r->options.batch > j->train.count) /* what is used is what is printed */
        r->options.batch = j->train.count;
    if (j->train.passed_over)
        note(j, "%s: %zu file%s by name: passed over", r->data, j->train.passed_over,
             j->train.passed_over == 1 ? " is no JPEG, PNG or WebP" : "s are no JPEG, PNG or WebP");
    j->epoch_steps = j->train.count / r->options.batch + (j->train.count % r->options.batch > 0);
    train_count_steps(j->c, r, j->train.count);
    if (r->init) {
        rc = settle_head(j, err);
    } else if (r->head) {
        rc = make_new(j, err);
        if (rc == 0 && j->c->problems.size == 0)
            rc = bang_vit_model_set_head(&j->model, r->head, err);
        if (rc == 0 && j->c->problems.size == 0)
            rc = settle_head(j, err);
    } else {
        rc = make_new(j, err);
    }
    if (rc < 0 || j->c->problems.size)
        return rc;
    picture_options_apply(j->c, &r->pictures, &j->model, r->init ? r->init : "the network");
    return j->validation.count ? fit_validation(j, err) : 0;
}

int vit_prepare(vit_job *j)
{
    train_request *r = j->r;
    bang_error err[3] = {{0}};
    int status = CLI_DONE;
    bang_images_open(&j->train, r->data, &err[0]);
    if (r->validation)
        bang_images_open(&j->validation, r->validation, &err[1]);
    if (r->init)
        load_init(j, &err[2]);
    for (int i = 0; i < 3; i++)
        if (err[i].code < 0) {
            int failed = cli_fail(j->c, &err[i]);
            status = status ? status : failed;
        }
    if (status == CLI_DONE && fit(j, &err[0]) < 0)
        status = cli_fail(j->c, &err[0]);
    return status;
}
