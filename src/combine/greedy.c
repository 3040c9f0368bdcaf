#include "bang/combine/greedy.h"

#include <math.h>
#include <stdlib.h>

struct candidate {
    double score;
    size_t input;
};

static int by_score(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->input < b->input ? -1 : a->input > b->input;
}

static double known(double score)
{
    return isnan(score) ? -INFINITY : score;
}

int bang_greedy(size_t *members, size_t *member_count, double *scores, double *best, size_t count,
                bang_greedy_score score, void *context, bang_error *err)
{
    struct candidate *list = calloc(count + 1, sizeof *list);
    int code = list ? 0 : bang_fail_memory(err);
    *member_count = 0;
    if (code == 0 && count == 0)
        code = bang_fail(err, BANG_EUSAGE, "greedy: there is no model");
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = score(context, &scores[i], &i, 1, err);
        list[i] = (struct candidate){known(scores[i]), i};
    }
    if (code == 0) {
        qsort(list, count, sizeof *list, by_score);
        members[0] = list[0].input;
        *member_count = 1;
        *best = list[0].score;
    }
    for (size_t i = 1; code == 0 && i < count; i++) {
        double with = 0;
        members[*member_count] = list[i].input;
        code = score(context, &with, members, *member_count + 1, err);
        if (code == 0 && known(with) > *best) {
            *best = with;
            ++*member_count;
        }
    }
    free(list);
    return code;
}
