/* Holds the inputs against each other: names, shapes, number types, and what
 * cannot be averaged. */
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/combine/blocks.h"
#include "bang/combine/layer.h"
#include "combine/average.h"

enum { SHOWN = 5 }; /* tensors that are named of each kind of problem */

void bang_average_say(bang_text *to, const char *format, ...)
{
    char line[4096]; /* holds all that end_names puts together */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++) /* a name may hold anything */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    bang_text_add(to, "%s\n", line);
}

void bang_average_add_name(bang_average_names *names, const char *name)
{
    if (names->last == name)
        return;
    names->last = name;
    if (names->count < SHOWN)
        bang_text_add(&names->list, "%s%.200s", names->count ? ", " : "", name);
    names->count++;
}

void bang_average_end_names(bang_average_names *names, bang_text *to, const char *what,
                            const char *advice)
{
    char more[64] = "";
    if (names->count > SHOWN)
        snprintf(more, sizeof more, " and %zu more", names->count - SHOWN);
    if (names->count > 0)
        bang_average_say(to, "%s: %s%s: %s", what, names->list.data ? names->list.data : "?", more,
                         advice);
    bang_text_release(&names->list);
}

int bang_average_has_base(const bang_average *a)
{
    return a->first_input == 1;
}

const double *bang_average_weights(const bang_average *a, const bang_average_tensor *tensor,
                                   size_t output)
{
    return tensor->rule ? tensor->rule : a->options.weights + output * a->options.input_count;
}

static const char *file_of(const bang_average *a, size_t feed)
{
    return a->sources[feed]->path;
}

/* All inputs may have what the base lacks, such as a head: with it nothing can be
 * computed, and the caller may have said what to do. */
static int lacks_base(const bang_average *a, const bang_entry *entry)
{
    return bang_average_has_base(a) && a->options.on_missing != BANG_MISSING_ERROR &&
           bang_dtype_is_real(entry->dtype) && !bang_checkpoint_find(a->sources[0], entry->name);
}

/* Names that only some of the inputs have: a problem, unless the caller said
 * what to do. Only those that all have, or are kept, become tensors. */
static int list_tensors(bang_average *a, bang_error *err)
{
    size_t inputs = a->options.input_count, most = 0;
    for (size_t i = 0; i < inputs; i++)
        most += a->sources[a->first_input + i]->count;
    a->tensors = bang_arena_alloc(&a->arena, most, sizeof *a->tensors);
    if (!a->tensors)
        return bang_fail_memory(err);
    for (size_t i = 0; i < inputs; i++) {
        const bang_checkpoint *c = a->sources[a->first_input + i];
        bang_average_names lacking = {0};
        char what[1200];
        for (size_t e = 0; e < c->count; e++) {
            const char *name = c->entries[e].name;
            size_t have = 0, first = inputs;
            for (size_t k = 0; k < inputs; k++) {
                if (!bang_checkpoint_find(a->sources[a->first_input + k], name))
                    continue;
                have++;
                first = first == inputs ? k : first;
            }
            if (first != i) /* told when that one was looked at */
                continue;
            int partial = have < inputs || lacks_base(a, &c->entries[e]);
            if (partial)
                bang_average_add_name(&lacking, name);
            if (!partial || a->options.on_missing == BANG_MISSING_KEEP) {
                a->tensors[a->count].partial = partial;
                a->tensors[a->count++].name = name;
            }
        }
        snprintf(what, sizeof what, "%.1000s: has tensors that not all have", c->path);
        if (a->options.on_missing == BANG_MISSING_ERROR)
            bang_average_end_names(
                &lacking, &a->problems, what,
                "the models differ, or one is in another layout: bang convert, or "
                "--on-missing keep or drop");
        else
            bang_average_end_names(&lacking, &a->warnings, what,
                                   a->options.on_missing == BANG_MISSING_KEEP ? "kept"
                                                                              : "left out");
    }
    if (a->count == 0)
        bang_average_say(&a->problems,
                         "%s: no tensor is in all inputs: they are different models, or one is in "
                         "another layout: see bang inspect",
                         file_of(a, a->first_input));
    return 0;
}

static int rule_matches(const bang_average_rule *rule, const char *name)
{
    if (!rule->layer)
        return fnmatch(rule->glob, name, 0) == 0;
    size_t length = bang_layer_length(name);
    return strlen(rule->glob) == length && memcmp(rule->glob, name, length) == 0;
}

static void apply_rules(bang_average *a)
{
    for (size_t r = 0; r < a->options.rule_count; r++) {
        const bang_average_rule *rule = &a->options.rules[r];
        size_t matches = 0;
        for (size_t i = 0; i < a->count; i++) {
            if (!rule_matches(rule, a->tensors[i].name))
                continue;
            a->tensors[i].rule = rule->weights;
            matches++;
        }
        if (matches == 0)
            bang_average_say(&a->problems,
                             "--rule %.200s: matches no tensor: see the names with bang inspect",
                             rule->glob);
    }
}

/* Other problems with one tensor, collected by kind. */
struct trouble {
    bang_average_names shapes, types, kinds, base, fisher;
    char shape[1400], type[1400], kind[1400]; /* of the first that has it */
};

static void add_types(bang_average_names *names, char *what, size_t size, const bang_average *a,
                      const bang_average_tensor *t, size_t feed)
{
    if (names->count == 0)
        snprintf(what, size, "number types differ (%s in %.200s, %s in %.200s)",
                 bang_dtype_name(t->feeds[a->first_input].entry->dtype), file_of(a, a->first_input),
                 bang_dtype_name(t->feeds[feed].entry->dtype), file_of(a, feed));
    bang_average_add_name(names, t->name);
}

static void check_feed(bang_average *a, bang_average_tensor *t, size_t feed,
                       struct trouble *trouble)
{
    const bang_entry *first = t->feeds[a->first_input].entry, *entry = t->feeds[feed].entry;
    int fisher = feed >= a->first_input + a->options.input_count;
    if (!bang_entry_same_shape(first, entry)) {
        char one[400], other[400];
        bang_entry_shape_text(one, sizeof one, first);
        bang_entry_shape_text(other, sizeof other, entry);
        if (trouble->shapes.count == 0)
            snprintf(trouble->shape, sizeof trouble->shape,
                     "shapes differ (%s in %.200s, %s in %.200s)", one, file_of(a, a->first_input),
                     other, file_of(a, feed));
        bang_average_add_name(&trouble->shapes, t->name);
    } else if (fisher || entry->dtype == first->dtype)
        return;
    else if (!bang_dtype_is_real(entry->dtype) || !bang_dtype_is_real(first->dtype))
        add_types(&trouble->kinds, trouble->kind, sizeof trouble->kind, a, t, feed);
    else if (a->options.dtype < 0)
        add_types(&trouble->types, trouble->type, sizeof trouble->type, a, t, feed);
}

/* A rule chooses one input, so the others need not fit: a head for other classes. */
static void take_whole(bang_average *a, bang_average_tensor *t, size_t feed)
{
    const bang_entry *entry = t->feeds[feed].entry;
    int real = bang_dtype_is_real(entry->dtype);
    t->kind = TENSOR_COPY;
    t->dtype = real && a->options.dtype >= 0 ? (bang_dtype)a->options.dtype : entry->dtype;
    t->rank = entry->rank;
    t->shape = entry->shape;
    bang_average_copy_from(a, t, feed);
}

/* The entries of a tensor in all feeds; those that are not needed stay NULL. */
static int find_feeds(bang_average *a, bang_average_tensor *t, struct trouble *trouble,
                      bang_error *err)
{
    size_t inputs = a->options.input_count;
    t->feeds = bang_arena_alloc(&a->arena, a->feed_count, sizeof *t->feeds);
    t->types = bang_arena_alloc(&a->arena, a->feed_count, sizeof *t->types);
    t->bad = bang_arena_alloc(&a->arena, a->options.output_count, sizeof *t->bad);
    t->copies = bang_arena_alloc(&a->arena, a->options.output_count, sizeof *t->copies);
    if (!t->feeds || !t->types || !t->bad || !t->copies)
        return bang_fail_memory(err);
    for (size_t o = 0; o < a->options.output_count; o++)
        t->copies[o] = NO_COPY;
    const bang_entry *first = NULL;
    for (size_t f = 0; f < a->feed_count; f++) {
        bang_feed *feed = &t->feeds[f];
        feed->checkpoint = a->sources[f];
        feed->entry = bang_checkpoint_find(a->sources[f], t->name);
        if (f >= a->first_input && f < a->first_input + inputs && !first)
            first = feed->entry;
        if (feed->entry)
            t->types[f] = feed->entry->dtype;
    }
    if (!first) /* list_tensors found the name in one of them */
        return bang_fail(err, BANG_EUSAGE, "average: a tensor is lost");
    int real = bang_dtype_is_real(first->dtype);
    t->dtype = real && a->options.dtype >= 0 ? (bang_dtype)a->options.dtype : first->dtype;
    t->rank = first->rank;
    t->shape = first->shape;
    t->key = bang_block_key(t->name);
    t->kind = real && !t->partial && !bang_average_is_counter(t) ? TENSOR_MIX : TENSOR_COPY;
    if (t->partial) { /* kept from the first that has it */
        for (size_t f = 0; f < a->feed_count; f++) {
            if (t->feeds[f].entry == first)
                bang_average_copy_from(a, t, f);
        }
        return 0;
    }
    if (t->rule && bang_average_sole_feed(a, t, 0) != NO_COPY) {
        take_whole(a, t, bang_average_sole_feed(a, t, 0));
        return 0;
    }
    int no_fisher = 0;
    for (size_t f = 0; f < a->feed_count; f++) {
        int fisher = f >= a->first_input + inputs, input = f >= a->first_input && !fisher;
        const bang_entry *entry = t->feeds[f].entry;
        if ((t->kind == TENSOR_COPY && !input) || (fisher && bang_average_is_statistic(t)))
            t->feeds[f].entry = NULL;
        else if (fisher && (!entry || !bang_dtype_is_real(entry->dtype)))
            no_fisher = 1;
        else if (!entry)
            bang_average_add_name(&trouble->base, t->name);
        else
            check_feed(a, t, f, trouble);
    }
    if (no_fisher)
        bang_average_add_name(&trouble->fisher, t->name);
    return 0;
}

static void tell_trouble(bang_average *a, struct trouble *t)
{
    bang_average_end_names(&t->shapes, &a->problems, t->shape,
                           "only tensors of one shape can be combined: --rule 'NAME=0' takes the "
                           "first input's as they are, =1 the last's");
    bang_average_end_names(&t->types, &a->problems, t->type,
                           "say what to write with --dtype f32, f16 or bf16");
    bang_average_end_names(&t->kinds, &a->problems, t->kind,
                           "only real numbers are converted: make the files alike");
    bang_average_end_names(&t->base, &a->problems, "the base lacks tensors",
                           "it must be of the same model, or --on-missing keep or drop");
    bang_average_end_names(&t->fisher, &a->problems,
                           "Fisher weights are missing or no real numbers",
                           "every input needs a file with the same names and shapes");
}

/* A tensor and what of its name tells the group. */
struct member {
    const char *name;
    size_t length, tensor;
};

static int by_name(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->name, b->name, shorter);
    if (order == 0 && a->length != b->length)
        order = a->length < b->length ? -1 : 1;
    return order ? order : a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* Numbers the groups of tensors that are measured together, in the order in which
 * their first tensors come. */
static int group(bang_average *a, bang_error *err)
{
    bang_average_scope scope = a->options.scope;
    if (scope == BANG_SCOPE_USUAL)
        scope = a->options.method == BANG_AVERAGE_TIES ? BANG_SCOPE_MODEL : BANG_SCOPE_TENSOR;
    if (a->options.balance != BANG_BALANCE_NONE)
        scope = BANG_SCOPE_LAYER;
    a->groups = bang_arena_alloc(&a->arena, a->count + 1, sizeof(void *));
    struct member *list = calloc(a->count + 1, sizeof *list);
    size_t *first = calloc(a->count + 1, sizeof *first), count = 0;
    int code = a->groups && list && first ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < a->count; i++) {
        const char *name = a->tensors[i].name;
        if (a->tensors[i].kind != TENSOR_MIX || bang_average_is_statistic(&a->tensors[i]))
            continue;
        size_t length = scope == BANG_SCOPE_MODEL   ? 0
                        : scope == BANG_SCOPE_LAYER ? bang_layer_length(name)
                                                    : strlen(name);
        list[count++] = (struct member){name, length, i};
    }
    if (code == 0)
        qsort(list, count, sizeof *list, by_name);
    /* The first tensor of each group, for all its tensors. */
    for (size_t k = 0; code == 0 && k < count; k++) {
        int same = k > 0 && list[k].length == list[k - 1].length &&
                   memcmp(list[k].name, list[k - 1].name, list[k].length) == 0;
        first[list[k].tensor] = same ? first[list[k - 1].tensor] : list[k].tensor;
    }
    size_t groups = 0;
    for (size_t i = 0; code == 0 && i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        if (t->kind != TENSOR_MIX || bang_average_is_statistic(t))
            continue;
        if (first[i] != i) {
            t->group = a->tensors[first[i]].group;
            continue;
        }
        size_t length = bang_layer_length(t->name);
        char *name = bang_arena_alloc(&a->arena, length + 1, 1);
        t->group = groups;
        if (name)
            a->groups[groups++] = memcpy(name, t->name, length);
        else
            code = bang_fail_memory(err);
    }
    a->group_count = groups ? groups : 1;
    free(list);
    free(first);
    return code;
}

int bang_average_match(bang_average *a, bang_stream *scan, bang_error *err)
{
    struct trouble trouble = {0};
    int code = list_tensors(a, err);
    if (code == 0)
        apply_rules(a);
    for (size_t i = 0; code == 0 && i < a->count; i++)
        code = find_feeds(a, &a->tensors[i], &trouble, err);
    tell_trouble(a, &trouble);
    if (code == 0) {
        bang_average_choose_copies(a);
        code = group(a, err);
    }
    if (code == 0)
        code = bang_average_compare_copies(a, scan, err);
    return code;
}
