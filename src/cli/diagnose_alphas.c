/* bang diagnose: averages and ensembles at alphas, as they were typed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"

/* A list of numbers with their texts: (count) of each, owned. */
typedef struct numbers {
    size_t count;
    double *values;
    char **texts;
} numbers;

static void numbers_release(numbers *n)
{
    for (size_t i = 0; n->texts && i < n->count; i++)
        free(n->texts[i]);
    free(n->texts);
    free(n->values);
    *n = (numbers){0};
}

/* Alphas between commas: within 0..1, no two equal. */
static void read_alphas(cli *c, numbers *out, const char *text)
{
    size_t most = 1;
    for (const char *s = text; *s; s++)
        most += *s == ',';
    out->values = calloc(most, sizeof *out->values);
    out->texts = calloc(most, sizeof *out->texts);
    if (!out->values || !out->texts) {
        cli_problem(c, "out of memory");
        return;
    }
    for (size_t length, left = most; left > 0; left--, text += length + 1) {
        length = strcspn(text, ",");
        char *item = strndup(text, length);
        double *value = &out->values[out->count];
        out->texts[out->count++] = item;
        if (!item || bang_text_to_double(value, item) < 0 || !(*value >= 0 && *value <= 1)) {
            cli_problem(c, "--alphas: %.40s: must be numbers within 0..1, as in 0.3,0.5,0.7",
                        item ? item : "");
            free(out->texts[--out->count]);
            return;
        }
        for (size_t i = 0; i + 1 < out->count; i++)
            if (out->values[i] == *value) {
                cli_problem(c, "--alphas: %.40s: is there twice", item);
                free(out->texts[--out->count]);
                break;
            }
    }
}

static void add_at(cli *c, diagnose_block *block, double alpha, char *path)
{
    diagnose_at *at = realloc(block->at, (block->set.at_count + 1) * sizeof *at);
    if (at)
        block->at = at;
    if (!at || !path) {
        cli_problem(c, "out of memory");
        free(path);
        return;
    }
    for (size_t i = 0; i < block->set.at_count; i++)
        if (at[i].alpha == alpha) {
            cli_problem(c, "--at %g=%.200s: set %.80s has that alpha already: %.200s", alpha, path,
                        block->set.name, at[i].path);
            free(path);
            return;
        }
    at[block->set.at_count++] = (diagnose_at){alpha, path};
}

static int by_alpha(const void *left, const void *right)
{
    const diagnose_at *a = left, *b = right;
    return (a->alpha > b->alpha) - (a->alpha < b->alpha);
}

/* ALPHA=FILE, or a name with {alpha} for every one of --alphas. */
static void check_at(cli *c, const diagnose_request *r, diagnose_block *block, const char *typed,
                     const numbers *alphas)
{
    const char *equal = strchr(typed, '=');
    char *front = equal ? strndup(typed, (size_t)(equal - typed)) : NULL;
    double alpha = NAN;
    int has_alpha = front && bang_text_to_double(&alpha, front) == 0;
    free(front);
    if (has_alpha && !(alpha >= 0 && alpha <= 1))
        cli_problem(c, "--at %.200s: alpha must be within 0..1", typed);
    else if (has_alpha && !equal[1])
        cli_problem(c, "--at %.200s: names no file: write ALPHA=FILE", typed);
    else if (has_alpha)
        add_at(c, block, alpha, strdup(equal + 1));
    else if (!strstr(typed, "{alpha}"))
        cli_problem(c,
                    "--at %.200s: names no alpha: write ALPHA=FILE, or put {alpha} into the name",
                    typed);
    else if (!r->alphas)
        cli_problem(c, "--at %.200s: needs --alphas to say which they are", typed);
    else
        for (size_t i = 0; i < alphas->count; i++)
            add_at(c, block, alphas->values[i], cli_with_alpha(typed, alphas->texts[i]));
}

static int same_alphas(const diagnose_block *a, const diagnose_block *b)
{
    int same = a->set.at_count == b->set.at_count;
    for (size_t i = 0; same && i < a->set.at_count; i++)
        same = a->at[i].alpha == b->at[i].alpha;
    return same;
}

/* The averages at alphas of all sets; those that have any have the same. */
static void check_averages(cli *c, diagnose_request *r, const numbers *alphas)
{
    const diagnose_block *first = NULL;
    for (size_t i = 0; i < r->block_count; i++) {
        diagnose_block *b = &r->blocks[i];
        for (size_t k = 0; k < b->at_typed_count; k++)
            check_at(c, r, b, b->at_typed[k], alphas);
        if (b->set.at_count == 0)
            continue;
        qsort(b->at, b->set.at_count, sizeof *b->at, by_alpha);
        b->set.at = b->at;
        if (!first)
            first = b;
        else if (!same_alphas(first, b))
            cli_problem(c,
                        "--at: sets %.80s and %.80s have averages at other alphas: give the same "
                        "ones, or none for one of them",
                        first->set.name, b->set.name);
    }
    if (!first)
        return;
    r->at_alphas = calloc(first->set.at_count, sizeof *r->at_alphas);
    if (!r->at_alphas)
        cli_problem(c, "out of memory");
    for (size_t i = 0; r->at_alphas && i < first->set.at_count; i++)
        r->at_alphas[i] = first->at[i].alpha;
    r->options.alphas = r->at_alphas;
    r->options.alpha_count = r->at_alphas ? first->set.at_count : 0;
}

void diagnose_check_alphas(cli *c, diagnose_request *r)
{
    numbers alphas = {0};
    if (r->alphas)
        read_alphas(c, &alphas, r->alphas);
    check_averages(c, r, &alphas);
    r->ose_alphas = alphas.values;
    r->options.ose_alphas = r->ose_alphas;
    r->options.ose_count = alphas.count;
    if (r->options.alpha_count + alphas.count > BANG_ALPHAS_MAX)
        cli_problem(c, "--at and --alphas: %zu alphas together: at most %d are scored at once",
                    r->options.alpha_count + alphas.count, BANG_ALPHAS_MAX);
    alphas.values = NULL;
    numbers_release(&alphas);
}
