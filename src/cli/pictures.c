#include "pictures.h"

#include <string.h>

/* One number for all channels, or one for each; returns how many there are. */
static int read_channels(cli *c, float out[3], const char *option, const char *text, int positive)
{
    double values[3] = {0};
    int count = cli_numbers(values, 3, text), bad = count != 1 && count != 3;
    for (int i = 0; i < 3; i++) {
        double value = values[count == 3 ? i : 0];
        bad |= positive && !(value > 0);
        out[i] = (float)value;
    }
    if (bad)
        cli_problem(c, "--%s %.80s: cannot be read: write one number%s or three: 0.5,0.5,0.5",
                    option, text, positive ? " above 0" : "");
    return count;
}

/* The place of value among names; says through c if it is none. */
static int choose(cli *c, const char *option, const char *value, const char *const *names,
                  const char *choice)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    cli_problem(c, "--%s %.40s: unknown: choose %s", option, value, choice);
    return 0;
}

void picture_options_check(cli *c, picture_options *o)
{
    static const char *const crops[] = {"torchvision", "hf", NULL};
    static const char *const gelus[] = {"exact", "quick", "tanh", NULL};
    static const char *const bads[] = {"fail", "skip", NULL};
    enum { SIZE_MOST = 1 << 14, HEADS_MOST = 1 << 16 };
    if (o->size < 0 || o->size > SIZE_MOST)
        cli_problem(c, "--image-size %lld: must be 1 to %d", (long long)o->size, SIZE_MOST);
    if (o->heads < 0 || o->heads > HEADS_MOST)
        cli_problem(c, "--heads %lld: must be 1 to %d", (long long)o->heads, HEADS_MOST);
    else
        o->hints.heads = (size_t)o->heads;
    if (o->mean_text)
        o->mean_count = read_channels(c, o->mean, "mean", o->mean_text, 0);
    if (o->std_text)
        o->std_count = read_channels(c, o->std, "std", o->std_text, 1);
    if (o->crop_text)
        o->crop = (bang_crop)choose(c, "crop", o->crop_text, crops, "torchvision or hf");
    if (o->gelu_text)
        o->hints.gelu = choose(c, "gelu", o->gelu_text, gelus, "exact, quick or tanh");
    if (o->bad_text)
        o->skip_bad = choose(c, "on-bad-image", o->bad_text, bads, "fail or skip");
}

/* Three numbers have no meaning where there is one channel. */
static void check_channels(cli *c, const char *option, const char *text, int count,
                           const bang_vit_model *model, const char *path)
{
    if (text && count > 1 && model->vit.config.channels == 1)
        cli_problem(c, "--%s %.80s: %.300s reads one channel: give one number", option, text, path);
}

void picture_options_apply(cli *c, const picture_options *o, bang_vit_model *model,
                           const char *path)
{
    bang_error err = {0};
    check_channels(c, "mean", o->mean_text, o->mean_count, model, path);
    check_channels(c, "std", o->std_text, o->std_count, model, path);
    if (o->mean_text)
        memcpy(model->mean, o->mean, sizeof model->mean);
    if (o->std_text)
        memcpy(model->std, o->std, sizeof model->std);
    if (o->size && bang_vit_resize(&model->vit, (size_t)o->size, &err) < 0)
        cli_problem(c, "--image-size %lld: %.300s: %s", (long long)o->size, path, err.message);
}
