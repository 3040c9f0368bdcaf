#include "prompts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lines.h"

static char default_template[] = "a photo of a {}.";

typedef struct twin {
    const char *class;
    size_t line;
} twin;

static int by_class(const void *left, const void *right)
{
    const twin *a = left, *b = right;
    int order = strcmp(a->class, b->class);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Sorted by class, then line; the caller frees it. */
static twin *sort_classes(const prompts *p)
{
    twin *sorted = calloc(p->class_count + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < p->class_count; i++)
        sorted[i] = (twin){p->classes[i], i};
    if (sorted)
        qsort(sorted, p->class_count, sizeof *sorted, by_class);
    return sorted;
}

/* Takes "class<TAB>name" apart; two lines for one class of a data set are a mistake. */
static void split_classes(cli *c, prompts *p, const char *path)
{
    p->names = calloc(p->class_count + 1, sizeof *p->names);
    if (!p->names) {
        cli_problem(c, "--classes %.200s: out of memory", path);
        return;
    }
    for (size_t i = 0; i < p->class_count; i++) {
        char *tab = strchr(p->classes[i], '\t');
        p->names[i] = tab ? tab + 1 : p->classes[i];
        if (tab)
            *tab = '\0';
        if (tab && (strspn(p->classes[i], " ") == strlen(p->classes[i]) ||
                    strspn(p->names[i], " \t") == strlen(p->names[i])))
            cli_problem(c, "--classes %.200s: line %zu: must be a name, or CLASS<TAB>NAME", path,
                        i + 1);
    }
    twin *sorted = sort_classes(p);
    for (size_t i = 1; sorted && i < p->class_count; i++) {
        size_t a = sorted[i - 1].line, b = sorted[i].line;
        int told = p->names[a] != p->classes[a] || p->names[b] != p->classes[b];
        if (told && *sorted[i].class && strcmp(sorted[i - 1].class, sorted[i].class) == 0)
            cli_problem(c, "--classes %.200s: line %zu: class %.80s is in line %zu, too", path,
                        b + 1, p->classes[b], a + 1);
    }
    free(sorted);
}

void prompts_read(cli *c, prompts *out, const char *classes, const char *templates)
{
    struct stat info;
    if (stat(classes, &info) == 0 && S_ISDIR(info.st_mode)) {
        cli_problem(c,
                    "--classes %.200s: is a folder: write its classes into a file with bang data "
                    "classes, and name that",
                    classes);
        return;
    }
    out->classes = lines_read(c, "classes", classes, &out->class_text, &out->class_count);
    if (out->classes)
        split_classes(c, out, classes);
    if (templates)
        out->templates =
            lines_read(c, "templates", templates, &out->template_text, &out->template_count);
    else
        out->templates = calloc(1, sizeof *out->templates);
    if (!out->templates) {
        if (!templates)
            cli_problem(c, "out of memory");
        return;
    }
    if (!templates)
        out->templates[out->template_count++] = default_template;
    for (size_t i = 0; i < out->template_count; i++)
        if (*out->templates[i] && !strstr(out->templates[i], "{}"))
            cli_problem(c, "--templates %.200s: line %zu: has no {} where the name goes", templates,
                        i + 1);
}

void prompts_release(prompts *p)
{
    free((void *)p->classes);
    free((void *)p->names);
    free((void *)p->templates);
    free(p->class_text);
    free(p->template_text);
    *p = (prompts){0};
}

void prompts_notes(const cli *c, const prompts *p)
{
    twin *sorted = c->quiet || c->json ? NULL : sort_classes(p);
    for (size_t i = 1; sorted && i < p->class_count; i++)
        if (strcmp(sorted[i - 1].class, sorted[i].class) == 0)
            cli_say("bang %s: note: lines %zu and %zu of the classes are both \"%s\": a data set "
                    "cannot tell them apart\n",
                    c->command, sorted[i - 1].line + 1, sorted[i].line + 1, sorted[i].class);
    free(sorted);
}

void prompts_make(bang_text *text, const prompts *p, size_t k, size_t t)
{
    const char *at = p->templates[t], *name = p->names[k];
    text->size = 0;
    for (const char *hole; (hole = strstr(at, "{}")); at = hole + 2) {
        bang_text_add_bytes(text, at, (size_t)(hole - at));
        bang_text_add_bytes(text, name, strlen(name));
    }
    bang_text_add_bytes(text, at, strlen(at));
}
