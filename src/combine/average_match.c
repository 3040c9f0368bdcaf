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
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++) /* a name may hold anything */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    bang_text_add(to, "%s\n", line);
}

/* Names that have the same thing wrong: the first few, then how many more. */
struct names {
    bang_text list;
    size_t count;
};

static void add_name(struct names *names, const char *name)
{
    if (names->count < SHOWN)
        bang_text_add(&names->list, "%s%.200s", names->count ? ", " : "", name);
    names->count++;
}

static void end_names(struct names *names, bang_text *to, const char *what, const char *advice)
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
    const char *path = a->sources[feed]->path;
    return path;
}

static void shape_text(char *out, size_t size, const bang_entry *entry)
{
    size_t used = (size_t)snprintf(out, size, "(");
    for (int i = 0; i < entry->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%zu", i ? ", " : "", entry->shape[i]);
    if (used < size)
        snprintf(out + used, size - used, "%s)", entry->rank == 1 ? "," : "");
}

static int same_shape(const bang_entry *a, const bang_entry *b)
{
    if (a->rank != b->rank)
        return 0;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return 0;
    return 1;
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
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
        struct names lacking = {0};
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
            if (have < inputs)
                add_name(&lacking, name);
            if (have == inputs || a->options.on_missing == BANG_MISSING_KEEP)
                a->tensors[a->count++].name = name;
        }
        snprintf(what, sizeof what, "%.1000s: has tensors that not all inputs have", c->path);
        if (a->options.on_missing == BANG_MISSING_ERROR)
            end_names(&lacking, &a->problems, what,
                      "the models differ, or one is in another layout: bang convert, or "
                      "--on-missing keep or drop");
        else
            end_names(&lacking, &a->warnings, what,
                      a->options.on_missing == BANG_MISSING_KEEP ? "kept" : "left out");
    }
    if (a->count == 0)
        bang_average_say(&a->problems,
                         "%s: no tensor is in all inputs: they are different models, or one is in "
                         "another layout: see bang inspect",
                         file_of(a, a->first_input));
    return 0;
}

/* Other problems with one tensor, collected by kind. */
struct trouble {
    struct names shapes, types, base, fisher, batches, statistics;
    char shape[1400], type[1400]; /* of the first that has it */
};

static void check_feed(bang_average *a, bang_average_tensor *t, size_t feed,
                       struct trouble *trouble)
{
    const bang_entry *first = t->feeds[a->first_input].entry, *entry = t->feeds[feed].entry;
    int fisher = feed >= a->first_input + a->options.input_count;
    if (!same_shape(first, entry)) {
        char one[400], other[400];
        shape_text(one, sizeof one, first);
        shape_text(other, sizeof other, entry);
        if (trouble->shapes.count == 0)
            snprintf(trouble->shape, sizeof trouble->shape,
                     "shapes differ (%s in %.200s, %s in %.200s)", one, file_of(a, a->first_input),
                     other, file_of(a, feed));
        add_name(&trouble->shapes, t->name);
    } else if (fisher ? !bang_dtype_is_real(entry->dtype)
                      : entry->dtype != first->dtype &&
                            !(a->options.dtype >= 0 && bang_dtype_is_real(entry->dtype) &&
                              bang_dtype_is_real(first->dtype))) {
        if (trouble->types.count == 0)
            snprintf(trouble->type, sizeof trouble->type,
                     "number types differ (%s in %.200s, %s in %.200s)",
                     bang_dtype_name(first->dtype), file_of(a, a->first_input),
                     bang_dtype_name(entry->dtype), file_of(a, feed));
        add_name(&trouble->types, t->name);
    }
}

/* Its bytes are those of one feed. */
static void copy_from(const bang_average *a, bang_average_tensor *t, size_t feed)
{
    for (size_t o = 0; o < a->options.output_count; o++)
        t->copies[o] = feed;
    for (size_t f = 0; f < a->feed_count; f++)
        if (f != feed)
            t->feeds[f].entry = NULL;
}

/* The entries of a tensor in all feeds; those that are not needed stay NULL. */
static int find_feeds(bang_average *a, bang_average_tensor *t, struct trouble *trouble,
                      bang_error *err)
{
    size_t inputs = a->options.input_count, have = 0;
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
        if (f >= a->first_input && f < a->first_input + inputs && feed->entry) {
            have++;
            first = first ? first : feed->entry;
        }
        if (feed->entry)
            t->types[f] = feed->entry->dtype;
    }
    int real = bang_dtype_is_real(first->dtype);
    t->dtype = real && a->options.dtype >= 0 ? (bang_dtype)a->options.dtype : first->dtype;
    t->rank = first->rank;
    t->shape = first->shape;
    t->key = bang_block_key(t->name);
    t->kind = real && have == inputs ? TENSOR_MIX : TENSOR_COPY;
    if (have < inputs) { /* kept from the first that has it */
        for (size_t f = 0; f < a->feed_count; f++) {
            if (t->feeds[f].entry == first)
                copy_from(a, t, f);
        }
        return 0;
    }
    for (size_t f = 0; f < a->feed_count; f++) {
        int fisher = f >= a->first_input + inputs;
        if (!t->feeds[f].entry && t->kind == TENSOR_MIX)
            add_name(fisher ? &trouble->fisher : &trouble->base, t->name);
        else if (t->feeds[f].entry && (t->kind == TENSOR_MIX || !fisher))
            check_feed(a, t, f, trouble);
        if (t->kind == TENSOR_COPY && (f < a->first_input || fisher))
            t->feeds[f].entry = NULL;
    }
    if (t->kind == TENSOR_COPY && ends_with(t->name, "num_batches_tracked"))
        add_name(&trouble->batches, t->name);
    if (t->kind == TENSOR_MIX &&
        (ends_with(t->name, "running_mean") || ends_with(t->name, "running_var")))
        add_name(&trouble->statistics, t->name);
    return 0;
}

static void tell_trouble(bang_average *a, struct trouble *t)
{
    end_names(&t->shapes, &a->problems, t->shape, "only tensors of one shape can be combined");
    end_names(&t->types, &a->problems, t->type, "say what to write with --dtype f32, f16 or bf16");
    end_names(&t->base, &a->problems, "the base lacks tensors", "it must be of the same model");
    end_names(&t->fisher, &a->problems, "Fisher weights are missing or no numbers",
              "every input needs a file with the same names and shapes");
    end_names(&t->batches, &a->warnings, "counters of batches", "taken from the last input");
    end_names(&t->statistics, &a->warnings, "running statistics of batch norm were combined",
              "recompute them with a pass over training data");
}

/* Which input a tensor without arithmetic comes from; for those that must be
 * equal the comparison follows. */
static void choose_copies(bang_average *a)
{
    size_t last = a->first_input + a->options.input_count - 1;
    for (size_t i = 0; i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        if (t->kind != TENSOR_COPY || t->copies[0] != NO_COPY)
            continue;
        int is_last = a->options.on_integer == BANG_CHOOSE_LAST ||
                      (ends_with(t->name, "num_batches_tracked") &&
                       a->options.on_integer != BANG_CHOOSE_FIRST);
        if (is_last || a->options.on_integer == BANG_CHOOSE_FIRST)
            copy_from(a, t, is_last ? last : a->first_input);
    }
}

struct comparison {
    const bang_average *average;
    const size_t *tensors; /* (items) which tensor an item is */
    unsigned char *differs;
};

static void compare_block(void *context, size_t item, uint64_t first, size_t count,
                          const void *const *in, void *partial)
{
    const struct comparison *c = context;
    const bang_average *a = c->average;
    const bang_average_tensor *t = &a->tensors[c->tensors[item]];
    size_t size = count * bang_entry_step(t->feeds[a->first_input].entry);
    (void)first;
    for (size_t i = 1; i < a->options.input_count; i++)
        if (memcmp(in[a->first_input], in[a->first_input + i], size) != 0)
            *(unsigned char *)partial = 1;
}

static void compare_fold(void *context, size_t item, const void *partial)
{
    const struct comparison *c = context;
    c->differs[item] |= *(const unsigned char *)partial;
}

/* All inputs can be read side by side. */
static int alike(const bang_average *a, const bang_average_tensor *t)
{
    const bang_entry *first = t->feeds[a->first_input].entry;
    for (size_t i = 1; i < a->options.input_count; i++) {
        const bang_entry *entry = t->feeds[a->first_input + i].entry;
        if (!entry || entry->dtype != first->dtype || !same_shape(first, entry))
            return 0;
    }
    return 1;
}

/* Tensors without arithmetic must be equal. */
static int compare_copies(bang_average *a, bang_stream *scan, bang_error *err)
{
    bang_stream_item *items = calloc(a->count + 1, sizeof *items);
    size_t *tensors = calloc(a->count + 1, sizeof *tensors), count = 0;
    unsigned char *differs = calloc(a->count + 1, 1);
    struct names names = {0};
    int code = items && tensors && differs ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        if (t->kind != TENSOR_COPY || t->copies[0] != NO_COPY || !alike(a, t))
            continue;
        items[count] = (bang_stream_item){
            .feeds = t->feeds, .count = bang_entry_count(t->feeds[a->first_input].entry)};
        tensors[count++] = i;
    }
    struct comparison comparison = {a, tensors, differs};
    if (code == 0 && count > 0)
        code = bang_stream_scan(scan, items, count, a->feed_count, 1, compare_block, compare_fold,
                                &comparison, err);
    for (size_t k = 0; code == 0 && k < count; k++) {
        bang_average_tensor *t = &a->tensors[tensors[k]];
        if (differs[k])
            add_name(&names, t->name);
        copy_from(a, t, a->first_input);
    }
    end_names(&names, &a->problems, "integers or types without arithmetic differ",
              "they cannot be averaged: --on-integer first or last says whose to take");
    free(items);
    free(tensors);
    free(differs);
    return code;
}

static void apply_rules(bang_average *a)
{
    for (size_t r = 0; r < a->options.rule_count; r++) {
        const bang_average_rule *rule = &a->options.rules[r];
        size_t matches = 0;
        for (size_t i = 0; i < a->count; i++) {
            if (fnmatch(rule->glob, a->tensors[i].name, 0) != 0)
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

/* Numbers the groups of tensors that are measured together. */
static int group(bang_average *a, bang_error *err)
{
    bang_average_scope scope = a->options.scope;
    if (scope == BANG_SCOPE_USUAL)
        scope = a->options.method == BANG_AVERAGE_TIES ? BANG_SCOPE_MODEL : BANG_SCOPE_TENSOR;
    if (a->options.balance != BANG_BALANCE_NONE)
        scope = BANG_SCOPE_LAYER;
    a->groups = bang_arena_alloc(&a->arena, a->count + 1, sizeof *a->groups);
    if (!a->groups)
        return bang_fail_memory(err);
    size_t groups = 0;
    for (size_t i = 0; i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        size_t length = bang_layer_length(t->name), g = groups;
        if (t->kind != TENSOR_MIX)
            continue;
        if (scope == BANG_SCOPE_MODEL)
            g = 0;
        for (size_t k = groups; scope == BANG_SCOPE_LAYER && k-- > 0;)
            if (strlen(a->groups[k]) == length && memcmp(a->groups[k], t->name, length) == 0) {
                g = k;
                break;
            }
        if (g == groups) {
            char *name = bang_arena_alloc(&a->arena, length + 1, 1);
            if (!name)
                return bang_fail_memory(err);
            a->groups[groups++] = memcpy(name, t->name, length);
        }
        t->group = g;
    }
    a->group_count = groups ? groups : 1;
    return 0;
}

int bang_average_match(bang_average *a, bang_stream *scan, bang_error *err)
{
    struct trouble trouble = {0};
    int code = list_tensors(a, err);
    for (size_t i = 0; code == 0 && i < a->count; i++)
        code = find_feeds(a, &a->tensors[i], &trouble, err);
    tell_trouble(a, &trouble);
    if (code == 0) {
        apply_rules(a);
        choose_copies(a);
        code = group(a, err);
    }
    if (code == 0)
        code = compare_copies(a, scan, err);
    return code;
}
