/* A report under way: its records by chapter, and what the overview says of them. */
#ifndef BANG_REPORT_OUTLINE_H
#define BANG_REPORT_OUTLINE_H

#include "report/page.h"

/* A section of which there is something to see. */
typedef struct bang_chapter {
    const char *name;
    size_t shown, listed;          /* records with and without "show" */
    size_t plain;                  /* of those shown: texts and tables alone */
    size_t held[BANG_HOLDS_COUNT]; /* verdicts by what they say */
} bang_chapter;

typedef struct bang_outline {
    const json_t *records;
    size_t *chapter_of;     /* (records) */
    bang_chapter *chapters; /* (count), in order of first appearance */
    size_t count;
    size_t visible; /* chapters with anything to see */
    size_t held[BANG_HOLDS_COUNT];
} bang_outline;

/* records is borrowed and outlives the outline, which the caller releases. 0, or -1 when memory
 * is out. */
int bang_outline_make(bang_outline *outline, const json_t *records);
void bang_outline_release(bang_outline *outline);

/* The text of a member of a record, or otherwise. */
const char *bang_outline_text(const json_t *record, const char *name, const char *otherwise);
int bang_outline_is_shown(const json_t *record);
/* 1 when it shows neither a verdict nor a chart nor a picture. */
int bang_outline_is_plain(const json_t *record);
size_t bang_outline_verdicts(const size_t held[BANG_HOLDS_COUNT]);
/* "Simulation (appendix C.4)", what stands in brackets apart, for the style sheet. */
void bang_outline_name(bang_text *out, const char *name);

/* The overview of the page: how many verdicts there are of each kind, all of them by chapter
 * with a link to where they are shown, and the chapters. Nothing on a page without verdicts, or
 * that begins with all of them. */
/* 1 if the page has one. */
int bang_overview_has(const bang_outline *outline);
void bang_overview_add(bang_text *out, const bang_outline *outline);

#endif
