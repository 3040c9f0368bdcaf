/* Which outputs are classes. */
#include "bang/measure/subset.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

enum { SAID = 5 };

/* Outputs as they are found. */
typedef struct list {
    size_t count, capacity, most;
    int64_t *outputs; /* at most one more than there are: then one is there twice */
    size_t wrong;     /* words; the first few are said */
    bang_text problems;
    int failed; /* memory */
} list;

static void add(list *l, int64_t output)
{
    if (l->count > l->most)
        return;
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 256;
        int64_t *outputs = realloc(l->outputs, capacity * sizeof *outputs);
        if (!outputs) {
            l->failed = 1;
            return;
        }
        l->outputs = outputs;
        l->capacity = capacity;
    }
    l->outputs[l->count++] = output;
}

static void complain(list *l, const char *word, size_t size, const char *why)
{
    char shown[64];
    size_t kept = size < sizeof shown ? size : sizeof shown - 1;
    memcpy(shown, word, kept);
    shown[kept] = '\0';
    bang_text_flatten(shown);
    if (l->wrong++ < SAID)
        bang_text_add(&l->problems, "%s\"%s%s\" %s", l->problems.size ? "; " : "", shown,
                      kept < size ? "..." : "", why);
}

/* A name and whose it is. */
typedef struct entry {
    const char *name;
    size_t output;
} entry;

typedef struct glossary {
    size_t count;
    entry *entries; /* (count) by name */
} glossary;

static int by_name(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->output > b->output) - (a->output < b->output);
}

static int glossary_make(glossary *out, const bang_output_names *names)
{
    *out = (glossary){0};
    if (!names || names->count == 0)
        return 0;
    out->entries = calloc(names->count, 2 * sizeof *out->entries);
    if (!out->entries)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        out->entries[out->count++] = (entry){names->keys[i], i};
        if (strcmp(names->keys[i], names->names[i]) != 0)
            out->entries[out->count++] = (entry){names->names[i], i};
    }
    qsort(out->entries, out->count, sizeof *out->entries, by_name);
    return 0;
}

/* How many outputs have that name; *output is the first. */
static size_t look_up(const glossary *names, const char *name, size_t size, size_t *output)
{
    size_t low = 0, high = names->count, found = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = names->entries[middle].name;
        int order = strncmp(other, name, size);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* Those that begin so follow, the shortest first. */
    for (; low < names->count && strncmp(names->entries[low].name, name, size) == 0 &&
           !names->entries[low].name[size];
         low++)
        if (found++ == 0)
            *output = names->entries[low].output;
    return found;
}

/* Digits into out, at most those that fit; how many bytes they are. */
static size_t take_number(int64_t *out, const char *word, size_t size)
{
    size_t i = 0;
    *out = 0;
    for (; i < size && word[i] >= '0' && word[i] <= '9'; i++)
        *out = *out > INT64_MAX / 10 - 1 ? INT64_MAX / 10 : *out * 10 + (word[i] - '0');
    return i;
}

/* "7" or "5-9": 1 if the word is one. */
static int take_range(int64_t *first, int64_t *last, const char *word, size_t size)
{
    size_t digits = take_number(first, word, size);
    *last = *first;
    if (digits == 0 || digits == size)
        return digits > 0;
    if (word[digits] != '-' || digits + 1 == size)
        return 0;
    return digits + 1 + take_number(last, word + digits + 1, size - digits - 1) == size;
}

/* A word, or a name of several: 1 if it is something. */
static int take(list *l, const char *word, size_t size, const glossary *names)
{
    int64_t first = 0, last = 0;
    size_t output = 0, count = look_up(names, word, size, &output);
    int range = take_range(&first, &last, word, size);
    if (!range && count == 0)
        return 0;
    if (count > 1)
        complain(l, word, size, "is the name of several outputs: write its number");
    else if (range && count == 1 && (first != last || (size_t)first != output))
        complain(l, word, size, "is the number of one output and the name of another");
    else if (!range)
        add(l, (int64_t)output);
    else if (first > last)
        complain(l, word, size, "is a range that ends before it begins");
    else if (last >= (int64_t)l->most)
        complain(l, word, size, "is beyond the last output");
    else
        for (; first <= last; first++)
            add(l, first);
    return 1;
}

static const char blanks[] = " \t\r";

static size_t trim(const char **text, size_t size)
{
    while (size > 0 && strchr(blanks, **text)) {
        (*text)++;
        size--;
    }
    while (size > 0 && strchr(blanks, (*text)[size - 1]))
        size--;
    return size;
}

static size_t until(const char *text, size_t size, const char *stops)
{
    size_t i = 0;
    while (i < size && !strchr(stops, text[i]))
        i++;
    return i;
}

/* A part of a line between commas: a name with blanks, or words. */
static void take_part(list *l, const char *part, size_t size, const glossary *names)
{
    size = trim(&part, size);
    if (size == 0 || take(l, part, size, names))
        return;
    for (size_t length; size > 0; part += length, size -= length) {
        length = until(part, size, blanks);
        if (!take(l, part, length, names))
            complain(l, part, length,
                     names->count ? "is neither the number of an output nor a name of one"
                                  : "is no number of an output");
        part += length;
        size -= length;
        length = 0;
        while (length < size && strchr(blanks, part[length]))
            length++;
    }
}

static void take_line(list *l, const char *line, size_t size, const glossary *names)
{
    size = trim(&line, size);
    if (size == 0 || (names->count && take(l, line, size, names)))
        return;
    for (size_t length;; line += length + 1, size -= length + 1) {
        length = until(line, size, ",");
        take_part(l, line, length, names);
        if (length == size)
            return;
    }
}

int bang_class_outputs_parse(bang_class_outputs *out, const char *text,
                             const bang_output_names *names, size_t most, bang_error *err)
{
    list l = {.most = most};
    glossary sorted;
    *out = (bang_class_outputs){0};
    int rc = glossary_make(&sorted, names) < 0 ? bang_fail_memory(err) : 0;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (rc == 0 && *text) {
        size_t size = strcspn(text, "\n");
        take_line(&l, text, size, &sorted);
        text += size + (text[size] == '\n');
    }
    if (rc == 0 && (l.failed || l.problems.failed))
        rc = bang_fail_memory(err);
    else if (rc == 0 && l.wrong > SAID)
        rc = bang_fail(err, BANG_EDATA, "%s; and %zu more; outputs are 0 to %zu", l.problems.data,
                       l.wrong - SAID, most - 1);
    else if (rc == 0 && l.wrong > 0)
        rc = bang_fail(err, BANG_EDATA, "%s; outputs are 0 to %zu", l.problems.data, most - 1);
    if (rc == 0)
        rc = bang_class_outputs_of(out, l.outputs, l.count, most, err);
    free(l.outputs);
    bang_text_release(&l.problems);
    free(sorted.entries);
    return rc;
}

/* Says what is wrong with the outputs, the first of each kind. */
static int check(const int64_t *outputs, size_t count, size_t most, bang_error *err)
{
    size_t *place = calloc(most + 1, sizeof *place), beyond = 0, twice = 0;
    bang_text problems = {0};
    if (!place)
        return bang_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (outputs[i] < 0 || (uint64_t)outputs[i] >= most) {
            if (beyond++ == 0)
                bang_text_add(&problems, "; output %lld: there are 0 to %zu", (long long)outputs[i],
                              most - 1);
        } else if (place[outputs[i]] > 0) {
            if (twice++ == 0)
                bang_text_add(&problems,
                              "; output %lld: is class %zu and class %zu: an output is one class",
                              (long long)outputs[i], place[outputs[i]] - 1, i);
        } else {
            place[outputs[i]] = i + 1;
        }
    }
    free(place);
    if (beyond + twice > (beyond > 0) + (size_t)(twice > 0))
        bang_text_add(&problems, "; %zu such in all", beyond + twice);
    int rc = problems.failed ? bang_fail_memory(err)
             : problems.size ? bang_fail(err, BANG_EDATA, "%s", problems.data + 2)
                             : 0;
    bang_text_release(&problems);
    return rc;
}

int bang_class_outputs_of(bang_class_outputs *out, const int64_t *outputs, size_t count,
                          size_t most, bang_error *err)
{
    *out = (bang_class_outputs){0};
    if (count == 0)
        return bang_fail(err, BANG_EDATA, "no class: name at least one output");
    if (most == 0 || most > UINT32_MAX)
        return bang_fail(err, BANG_EDATA, "%zu outputs: at most %lu can be told apart", most,
                         (unsigned long)UINT32_MAX);
    int rc = check(outputs, count, most, err);
    if (rc < 0)
        return rc;
    uint32_t *first = calloc(count + 1, sizeof *first);
    uint32_t *output = calloc(count, sizeof *output);
    if (!first || !output) {
        free(first);
        free(output);
        return bang_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        output[i] = (uint32_t)outputs[i];
        first[i + 1] = (uint32_t)(i + 1);
    }
    *out = (bang_class_outputs){count, first, output};
    return 0;
}

void bang_class_outputs_release(bang_class_outputs *columns)
{
    free((void *)columns->first);
    free((void *)columns->output);
    *columns = (bang_class_outputs){0};
}
