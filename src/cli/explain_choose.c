/* bang explain: which pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/train/predict.h"
#include "explain.h"

/* Calls use for every number of "3,7,10-12"; -1 if that is no such list. */
static int each_sample(const char *list, int (*use)(void *context, int64_t number), void *context)
{
    while (*list) {
        char part[48] = {0};
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof part)
            return -1;
        memcpy(part, list, length);
        char *dash = strchr(part, '-');
        int64_t first, last;
        if (dash)
            *dash = '\0';
        if (bang_text_to_int64(&first, part) < 0 ||
            bang_text_to_int64(&last, dash ? dash + 1 : part) < 0 || first < 0 || last < first ||
            last >= UINT32_MAX)
            return -1;
        for (int64_t i = first; i <= last; i++)
            if (use(context, i) < 0)
                return -1;
        list += length;
        if (*list == ',' && !*++list)
            return -1;
    }
    return 0;
}

static int count_one(void *context, int64_t number)
{
    (void)number;
    size_t *count = context;
    return ++*count > UINT32_MAX ? -1 : 0;
}

void explain_choice_check(cli *c, const explain_request *r)
{
    size_t count = 0, letters = r->group ? strlen(r->group) : 0;
    if (r->samples && (!*r->samples || each_sample(r->samples, count_one, &count) < 0))
        cli_problem(c, "--samples %.80s: is no list: write numbers from 0 on such as 3,7,10-12",
                    r->samples);
    if (r->group && (letters == 0 || strspn(r->group, "TF") != letters))
        cli_problem(c,
                    "--group %.40s: is no group: write T (right) or F (wrong) for each model, such "
                    "as FFT",
                    r->group);
    else if (r->group && r->from.count && letters != r->from.count)
        cli_problem(c, "--group %.40s: is of %zu model%s: %zu %s named", r->group, letters,
                    letters == 1 ? "" : "s", r->from.count, r->from.count == 1 ? "is" : "are");
    if (r->by && strcmp(r->by, "class") != 0 && strcmp(r->by, "order") != 0)
        cli_problem(c, "--by %.40s: unknown: choose class or order", r->by);
    if (r->samples && (r->group || r->by || r->count))
        cli_problem(c, "--samples: says which pictures: leave out --group, --by and --count");
}

typedef struct limits {
    size_t count, outside;
    int64_t first;
} limits;

static int find_outside(void *context, int64_t number)
{
    limits *l = context;
    if ((uint64_t)number >= l->count && l->outside++ == 0)
        l->first = number;
    return 0;
}

void explain_choice_fit(cli *c, const explain_request *r)
{
    const predict_request *p = &r->from;
    limits l = {.count = p->set.count};
    int known = p->match != PREDICT_NO_MATCH;
    if (r->samples && each_sample(r->samples, find_outside, &l) == 0 && l.outside)
        cli_problem(c, "--samples %.80s: there is no picture %lld: %.200s has 0 to %zu", r->samples,
                    (long long)l.first, predict_source(p), p->set.count ? p->set.count - 1 : 0);
    if (r->group && !known)
        cli_problem(c, "--group %.40s: %.200s has no labels that fit the models", r->group,
                    predict_source(p));
    if (r->by && strcmp(r->by, "class") == 0 && !known)
        cli_problem(c, "--by class: %.200s has no labels that fit the models", predict_source(p));
}

typedef struct list {
    uint32_t *index;
    size_t count;
} list;

static int add_one(void *context, int64_t number)
{
    list *l = context;
    l->index[l->count++] = (uint32_t)number;
    return 0;
}

static int choose_samples(explain_choice *out, const explain_request *r, bang_error *err)
{
    list l = {0};
    size_t count = 0;
    each_sample(r->samples, count_one, &count);
    l.index = calloc(count + 1, sizeof *l.index);
    if (!l.index)
        return bang_fail_memory(err);
    each_sample(r->samples, add_one, &l);
    *out = (explain_choice){l.count, l.index, r->from.set.count};
    return 0;
}

static size_t largest(const float *z, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (z[i] > z[best])
            best = i;
    return best;
}

/* 1 if the models are right and wrong about row i as the letters say. */
static int in_group(const char *group, const bang_predicted *some, size_t i, size_t classes)
{
    if (some->labels[i] < 0)
        return 0;
    for (size_t m = 0; group[m]; m++) {
        int right = largest(some->outputs[m] + i * classes, classes) == (size_t)some->labels[i];
        if (right != (group[m] == 'T'))
            return 0;
    }
    return 1;
}

/* The pictures of the group, all of them. */
static int find_group(list *l, cli *c, const explain_request *r, bang_error *err)
{
    const predict_request *p = &r->from;
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    bang_predictor *predictor = NULL;
    bang_predicted some;
    cli_bar bar;
    const bang_vit_model **models = calloc(p->count, sizeof(const bang_vit_model *));
    if (!models)
        return bang_fail_memory(err);
    for (size_t m = 0; m < p->count; m++)
        models[m] = &p->models[m].vit;
    cli_bar_start(&bar, c, "pictures");
    options.feed.transform.crop = p->pictures.crop;
    options.feed.threads = options.threads = (int)c->threads;
    options.feed.skip_bad = p->pictures.skip_bad;
    options.feed.cancel = cli_cancel();
    options.progress = &bar.progress;
    int rc = bang_predictor_open(&predictor, models, p->count, &p->set, &options, err);
    while (rc == 0 && (rc = bang_predictor_next(&some, predictor, err)) > 0) {
        for (size_t i = 0; i < some.count; i++)
            if (in_group(r->group, &some, i, p->width))
                l->index[l->count++] = some.index[i];
        rc = 0;
        if (some.index[some.count - 1] + 1 == p->set.count)
            break;
    }
    cli_bar_finish(&bar);
    bang_predictor_close(predictor);
    free(models);
    return rc < 0 ? rc : 0;
}

typedef struct place {
    uint32_t index;
    size_t rank; /* among its class's */
    int64_t label;
} place;

static int by_class(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The first of every class, then the second of every class, ... */
static int sort_by_class(list *l, const bang_images *set, size_t classes, bang_error *err)
{
    place *places = calloc(l->count + 1, sizeof *places);
    size_t *seen = calloc(classes + 1, sizeof *seen);
    int rc = places && seen ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < l->count; i++) {
        int64_t label = set->labels[l->index[i]];
        size_t class = label >= 0 && (uint64_t)label < classes ? (size_t)label : classes;
        places[i] = (place){l->index[i], seen[class]++, (int64_t) class};
    }
    if (rc == 0)
        qsort(places, l->count, sizeof *places, by_class);
    for (size_t i = 0; rc == 0 && i < l->count; i++)
        l->index[i] = places[i].index;
    free(places);
    free(seen);
    return rc;
}

int explain_by_class(const explain_request *r)
{
    return r->by ? strcmp(r->by, "class") == 0 : r->from.match != PREDICT_NO_MATCH;
}

int explain_choose(explain_choice *out, cli *c, const explain_request *r, bang_error *err)
{
    const predict_request *p = &r->from;
    *out = (explain_choice){0};
    if (r->samples)
        return choose_samples(out, r, err);
    list l = {calloc(p->set.count + 1, sizeof *l.index), 0};
    if (!l.index)
        return bang_fail_memory(err);
    int rc = 0;
    if (r->group)
        rc = find_group(&l, c, r, err);
    else
        for (size_t i = 0; i < p->set.count; i++)
            l.index[l.count++] = (uint32_t)i;
    if (rc == 0 && l.count == 0 && r->group)
        rc = bang_fail(err, BANG_EDATA, "%.300s: no picture of it is in group %.40s: take another",
                       predict_source(p), r->group);
    else if (rc == 0 && l.count == 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s: it is empty", predict_source(p));
    if (rc == 0 && explain_by_class(r))
        rc = sort_by_class(&l, &p->set, p->width, err);
    if (rc < 0) {
        free(l.index);
        return rc;
    }
    size_t most = r->count ? (size_t)r->count : p->single ? l.count : r->usual;
    *out = (explain_choice){l.count < most ? l.count : most, l.index, l.count};
    return 0;
}
