/* bang diagnose: from what was typed to what it means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "networks.h"

static diagnose_block *add_block(diagnose_request *r, bang_error *err)
{
    diagnose_block *blocks = realloc(r->blocks, (r->block_count + 1) * sizeof *blocks);
    if (!blocks) {
        bang_fail_memory(err);
        return NULL;
    }
    r->blocks = blocks;
    blocks[r->block_count] = (diagnose_block){0};
    return &blocks[r->block_count++];
}

/* The block that an option belongs to; before any --set it is one without a name. */
static diagnose_block *last_block(diagnose_request *r, bang_error *err)
{
    return r->block_count ? &r->blocks[r->block_count - 1] : add_block(r, err);
}

int diagnose_read_set(void *request, const char *value, bang_error *err)
{
    diagnose_request *r = request;
    diagnose_block *block = last_block(r, err) ? add_block(r, err) : NULL;
    if (!block)
        return err->code;
    block->set.name = value;
    return 0;
}

int diagnose_read_field(void *field, const char *value, bang_error *err)
{
    const diagnose_field *f = field;
    /* as from a variable that was never set: not the same as an option that was not given */
    if (!*value)
        return bang_fail(err, BANG_EUSAGE, "is empty: give a value, or leave the option out");
    diagnose_block *block = last_block(f->request, err);
    if (!block)
        return err->code;
    const char **place = (const char **)(void *)((char *)block + f->offset);
    if (*place)
        return bang_fail(err, BANG_EUSAGE, "is the second of one set: begin another with --set");
    *place = value;
    return 0;
}

static int add_text(const char ***list, size_t *count, const char *value, bang_error *err)
{
    const char **longer = realloc((void *)*list, (*count + 1) * sizeof *longer);
    if (!longer)
        return bang_fail_memory(err);
    *list = longer;
    longer[(*count)++] = value;
    return 0;
}

int diagnose_read_at(void *request, const char *value, bang_error *err)
{
    diagnose_block *block = last_block(request, err);
    return block ? add_text(&block->at_typed, &block->at_typed_count, value, err) : err->code;
}

int diagnose_read_highlight(void *request, const char *value, bang_error *err)
{
    diagnose_request *r = request;
    return add_text(&r->highlights, &r->highlight_count, value, err);
}

static int is_utf8(const char *text)
{
    json_t *value = json_string(text);
    json_decref(value);
    return value != NULL;
}

static int has_control(const char *text)
{
    while (*text && (unsigned char)*text >= 0x20 && *text != 0x7F)
        text++;
    return *text != '\0';
}

static void check_name(cli *c, const diagnose_request *r, size_t index)
{
    const char *name = r->sets[index].name;
    if (!*name || has_control(name) || !is_utf8(name))
        cli_problem(c, "--set '%.80s': is no name: use letters, digits and signs, in UTF-8", name);
    if (strcmp(name, "none") == 0)
        cli_problem(c, "--set none: means no set elsewhere: choose another name");
    for (size_t i = 0; i < index; i++)
        if (strcmp(r->sets[i].name, name) == 0)
            cli_problem(c, "--set %.80s: is there twice: sets need names of their own", name);
}

/* What stands before the first --set: a set of its own if it names files, else the default of
 * --classes. */
static int is_set(const diagnose_block *b)
{
    return b->set.name || b->set.pre || b->set.fine || b->set.avg || b->set.labels ||
           b->at_typed_count || b->name;
}

static void check_sets(cli *c, diagnose_request *r)
{
    const char *classes = NULL;
    r->sets = calloc(r->block_count + 1, sizeof *r->sets);
    if (!r->sets) {
        cli_problem(c, "out of memory");
        return;
    }
    for (size_t i = 0; i < r->block_count; i++) {
        diagnose_block *b = &r->blocks[i];
        if (i == 0 && !is_set(b)) {
            classes = b->set.classes;
            continue;
        }
        if (b->set.name && b->name)
            cli_problem(c, "--name %.80s: the set is called %.80s by --set: leave it out", b->name,
                        b->set.name);
        if (!b->set.name)
            b->set.name = b->name ? b->name : "data";
        if (!b->set.classes)
            b->set.classes = classes;
        if (!b->set.pre || !b->set.fine)
            cli_problem(c, "set %.80s: %s missing: name the logits of both models", b->set.name,
                        b->set.pre    ? "--fine is"
                        : b->set.fine ? "--pre is"
                                      : "--pre and --fine are");
        r->sets[r->set_count++] = b->set;
        check_name(c, r, r->set_count - 1);
    }
    if (r->set_count == 0 && classes)
        cli_problem(c, "--classes: of no set: name logits with --pre and --fine");
    else if (r->set_count == 0 && !r->curve)
        cli_problem(c, "no logits are named: give --pre, --fine and --labels, or --curve");
}

/* The sets with what was found out about them since. */
static void update_sets(diagnose_request *r)
{
    size_t skipped = r->block_count - r->set_count;
    for (size_t i = 0; r->sets && i < r->set_count; i++)
        r->sets[i] = r->blocks[skipped + i].set;
}

/* A set by its name into index; a problem, and 0, if it is not there. */
static int find_set(cli *c, const diagnose_request *r, const char *option, const char *name,
                    size_t *index)
{
    for (size_t i = 0; i < r->set_count; i++)
        if (strcmp(r->sets[i].name, name) == 0) {
            *index = i;
            return 1;
        }
    cli_problem(c, "--%s %.80s: there is no such set", option, name);
    return 0;
}

static void check_temperature(cli *c, diagnose_request *r)
{
    bang_diagnosis_options *o = &r->options;
    o->fitted_on = o->id;
    if (r->fit && strcmp(r->fit, "none") == 0)
        o->fit = 0;
    else if (r->fit && find_set(c, r, "fit-temperature", r->fit, &o->fitted_on) &&
             !r->sets[o->fitted_on].labels)
        cli_problem(c, "--fit-temperature %.80s: the set has no labels: give it --labels", r->fit);
    if (!r->temperature)
        return;
    o->fit = 0;
    if (r->fit)
        cli_problem(c, "--temperature and --fit-temperature: both are given: leave one out");
    if (cli_numbers(o->temperature, 2, r->temperature) != 2 || !(o->temperature[0] > 0) ||
        !(o->temperature[1] > 0))
        cli_problem(c,
                    "--temperature %.80s: must be two numbers above 0, of PM and FM: as in "
                    "1.1,1.6",
                    r->temperature);
}

static void check_list(cli *c, diagnose_request *r)
{
    for (const char *at = r->list; at && *at;) {
        size_t size = strcspn(at, ","), found = BANG_GROUPS;
        if (size == 0) {
            at++;
            continue;
        }
        for (size_t g = 0; g < BANG_GROUPS; g++)
            if (strlen(bang_group_names[g]) == size && memcmp(at, bang_group_names[g], size) == 0)
                found = g;
        if (found < BANG_GROUPS)
            r->options.listed |= 1U << found;
        else if (size == 3 && memcmp(at, "all", 3) == 0)
            r->options.listed = (1U << BANG_GROUPS) - 1;
        else
            cli_problem(c,
                        "--list %.*s: is no group: choose of TTT,TTF,TFT,TFF,FTT,FTF,FFT,FFF, or "
                        "all",
                        (int)(size < 40 ? size : 40), at);
        at += size + (at[size] == ',');
    }
    if (r->list && !r->list[strspn(r->list, ",")])
        cli_problem(c, "--list: names no group: as in --list FFT,TTF");
    if (r->files && !r->list)
        cli_problem(c, "--files: names what --list shows: give --list, too");
    if (r->files && r->set_count > 1)
        cli_problem(c, "--files: there are %zu sets: it is for one", r->set_count);
    int labelled = 0;
    for (size_t i = 0; i < r->set_count; i++)
        labelled |= r->sets[i].labels != NULL;
    if ((r->list || r->by_class) && !labelled)
        cli_problem(c, "--%s: no set has labels: give --labels", r->list ? "list" : "by-class");
}

static void check_numbers(cli *c, diagnose_request *r)
{
    bang_diagnosis_options *o = &r->options;
    if (r->bins < 1 || r->bins > BANG_BINS_MAX)
        cli_problem(c, "--bins %lld: must be 1 to %d", (long long)r->bins, BANG_BINS_MAX);
    if (r->replicates &&
        (r->replicates < BANG_REPLICATES_LEAST || r->replicates > BANG_REPLICATES_MAX))
        cli_problem(
            c,
            "--bootstrap %lld: must be 0 (no intervals), or %d to %d: of fewer resamples an "
            "interval tells nothing",
            (long long)r->replicates, BANG_REPLICATES_LEAST, BANG_REPLICATES_MAX);
    if (!(r->level > 0 && r->level < 1))
        cli_problem(c, "--level %g: must be above 0 and below 1, as in 0.95", r->level);
    if (r->weights && (cli_numbers(o->weights, 2, r->weights) != 2 || !isfinite(o->weights[0]) ||
                       !isfinite(o->weights[1]) || !(o->weights[0] / 2 + o->weights[1] / 2 > 0)))
        cli_problem(c, "--weights %.80s: must be two numbers whose sum is above 0: as in 1,2",
                    r->weights);
    o->bins = (int)r->bins;
    o->replicates = (size_t)r->replicates;
    o->level = r->level;
    o->by_class = r->by_class;
    o->seed = (uint64_t)c->seed;
    o->threads = (int)c->threads;
}

static int is_one(const char *a, const char *b)
{
    return a && b && same_file(a, b);
}

/* An output must not take the place of what is read. */
static void check_apart(cli *c, const diagnose_request *r, const char *option, const char *path)
{
    int same = is_one(path, r->curve) || is_one(path, r->class_names) || is_one(path, r->files);
    for (size_t i = 0; i < r->set_count; i++) {
        const diagnose_set_request *s = &r->sets[i];
        same = same || is_one(path, s->pre) || is_one(path, s->fine) || is_one(path, s->avg) ||
               is_one(path, s->labels) || is_one(path, s->classes);
        for (size_t k = 0; k < s->at_count; k++)
            same = same || is_one(path, s->at[k].path);
    }
    if (same)
        cli_problem(c, "--%s %.200s: is an input, too: name another file", option, path);
}

static void check_files(cli *c, const diagnose_request *r)
{
    const struct {
        const char *option, *path;
    } outputs[] = {{"html", r->html}, {"csv", r->csv}};
    for (size_t i = 0; i < 2; i++)
        if (outputs[i].path) {
            check_output(c, outputs[i].option, outputs[i].path);
            check_apart(c, r, outputs[i].option, outputs[i].path);
        }
    if (r->html && r->csv && is_one(r->html, r->csv))
        cli_problem(c, "--csv %.200s: is the page, too: name another file", r->csv);
    if (r->highlight_count && !r->curve)
        cli_problem(c, "--highlight: is a point of a curve: give --curve FILE.csv");
    for (size_t i = 0; i < r->highlight_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->highlights[k], r->highlights[i]) == 0)
                cli_problem(c, "--highlight %.80s: is given twice", r->highlights[i]);
}

static void check_label_numbers(cli *c, diagnose_request *r)
{
    static const struct {
        const char *name;
        bang_numbers value;
    } known[] = {{"auto", BANG_NUMBERS_AUTO},
                 {"places", BANG_NUMBERS_PLACES},
                 {"outputs", BANG_NUMBERS_OUTPUTS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(r->label_numbers, known[i].name) == 0) {
            r->input.label_numbers = known[i].value;
            return;
        }
    cli_problem(c, "--label-numbers %.40s: unknown: choose auto, places or outputs",
                r->label_numbers);
}

void diagnose_check(cli *c, diagnose_request *r)
{
    r->options = BANG_DIAGNOSIS_OPTIONS_INIT;
    for (size_t i = 0; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: files are named by options, as in --pre FILE",
                    c->operands[i]);
    check_sets(c, r);
    diagnose_check_alphas(c, r);
    update_sets(r);
    if (r->id)
        find_set(c, r, "id", r->id, &r->options.id);
    check_temperature(c, r);
    check_list(c, r);
    check_numbers(c, r);
    check_label_numbers(c, r);
    check_files(c, r);
    if (r->probabilities && r->logits)
        cli_problem(c, "--probabilities and --logits: both are given: leave one out");
    r->input.probabilities = r->probabilities;
    r->input.logits = r->logits;
    r->input.class_names = r->class_names;
}

void diagnose_request_release(diagnose_request *r)
{
    for (size_t i = 0; i < r->block_count; i++) {
        diagnose_block *b = &r->blocks[i];
        for (size_t k = 0; k < b->set.at_count; k++)
            free((void *)b->at[k].path);
        free(b->at);
        free((void *)b->at_typed);
    }
    free(r->blocks);
    free(r->sets);
    free((void *)r->highlights);
    free(r->at_alphas);
    free(r->ose_alphas);
}
