#include <math.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/train/train.h"

static int find(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static const char *const loss_names[] = {"mse", "cross-entropy", NULL};
static const char *const smoothing_names[] = {"original", "others", "classy_vision", NULL};
static const char *const optimizer_names[] = {"sgd", "adam", "adamw", NULL};
static const char *const schedule_names[] = {"constant", "cosine", "step", NULL};

#define FINDER(what)                                                                               \
    int bang_##what##_find(bang_##what *out, const char *name)                                     \
    {                                                                                              \
        int found = find(what##_names, name);                                                      \
        if (found < 0)                                                                             \
            return -1;                                                                             \
        *out = (bang_##what)found;                                                                 \
        return 0;                                                                                  \
    }
FINDER(loss)
FINDER(smoothing)
FINDER(optimizer)
FINDER(schedule)
#undef FINDER

int bang_train_check(const bang_train_options *o, bang_error *err)
{
    bang_text problems = {0};
    if (!(o->label_smoothing >= 0 && o->label_smoothing <= 1))
        bang_text_add(&problems, "; label smoothing: %g is not between 0 and 1",
                      o->label_smoothing);
    if (!(o->mixup >= 0 && o->mixup < 1e6))
        bang_text_add(&problems, "; mixup: %g is not a positive number or 0", o->mixup);
    if (!(o->rate >= 0 && isfinite(o->rate)))
        bang_text_add(&problems, "; learning rate: %g is not a positive number", o->rate);
    if (!(o->beta1 >= 0 && o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1))
        bang_text_add(&problems, "; betas: %g, %g are not both in 0 .. 1", o->beta1, o->beta2);
    /* as a float: a parameter whose gradient is always 0 is divided by it alone */
    if (!((float)o->epsilon > 0 && isfinite(o->epsilon)))
        bang_text_add(&problems, "; epsilon: %g is not a positive number", o->epsilon);
    if (!(o->momentum >= 0 && o->momentum < 1))
        bang_text_add(&problems, "; momentum: %g is not in 0 .. 1", o->momentum);
    if (!(o->weight_decay >= 0 && isfinite(o->weight_decay)))
        bang_text_add(&problems, "; weight decay: %g is not a positive number or 0",
                      o->weight_decay);
    if (!(o->clip_norm >= 0 && isfinite(o->clip_norm)))
        bang_text_add(&problems, "; clip norm: %g is not a positive number or 0", o->clip_norm);
    if (o->schedule == BANG_STEP &&
        (o->step_every == 0 || !(o->step_factor >= 0 && isfinite(o->step_factor))))
        bang_text_add(&problems, "; step schedule: needs a number of steps and a factor");
    if (o->batch == 0)
        bang_text_add(&problems, "; batch: 0 rows: take at least 1");
    if (o->steps > 0 && o->warmup > o->steps)
        bang_text_add(&problems, "; warm-up: %llu steps are more than the %llu of the training",
                      (unsigned long long)o->warmup, (unsigned long long)o->steps);
    return bang_text_fail(&problems, err);
}

double bang_train_rate(const bang_train_options *o, uint64_t step)
{
    if (step < o->warmup)
        return o->rate * (double)(step + 1) / (double)o->warmup;
    double after = (double)(step - o->warmup), all = (double)(o->steps - o->warmup);
    switch (o->schedule) {
    case BANG_COSINE:
        return o->rate * 0.5 * (1 + cos(3.14159265358979323846 * after / (all > 0 ? all : 1)));
    case BANG_STEP:
        return o->rate * pow(o->step_factor, floor(after / (double)o->step_every));
    case BANG_CONSTANT:
        break;
    }
    return o->rate;
}
