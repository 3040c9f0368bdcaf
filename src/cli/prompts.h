/* Class names and the prompts that are made of them. */
#ifndef BANG_CLI_PROMPTS_H
#define BANG_CLI_PROMPTS_H

#include "cli.h"

typedef struct prompts {
    size_t class_count;
    char **classes; /* (class_count) what data sets call a class */
    char **names;   /* (class_count) what a text calls it */
    size_t template_count;
    char **templates; /* (template_count) with {} where the name goes */
    char *class_text, *template_text;
} prompts;

/* classes: a name a line, or "class<TAB>name" where data sets call it otherwise; templates:
 * one a line, or NULL for "a photo of a {}.". What is wrong is said through c, each with its
 * line. The caller releases it. */
void prompts_read(cli *c, prompts *out, const char *classes, const char *templates);
void prompts_release(prompts *p);
/* Prints names that are there twice, unless --quiet or --json. */
void prompts_notes(const cli *c, const prompts *p);

/* Template t with the name of class k into text, which is emptied before. */
void prompts_make(bang_text *text, const prompts *p, size_t k, size_t t);

#endif
