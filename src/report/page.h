/* How a record's "show" entries become HTML. An entry that does not hold what
 * its kind needs leaves a visible note and nothing else; the page goes on. */
#ifndef BANG_REPORT_PAGE_H
#define BANG_REPORT_PAGE_H

#include "bang/base/json.h"
#include "bang/base/text.h"

typedef struct bang_page {
    bang_text out;
    int figures, tables; /* numbered so that people can speak of them */
} bang_page;

typedef struct bang_verdict {
    const char *claim, *because; /* borrowed; because may be NULL */
    enum { BANG_HOLDS, BANG_HOLDS_PARTLY, BANG_HOLDS_NOT } holds;
} bang_verdict;

/* The style sheet, without its <style> tags. */
void bang_page_style(bang_text *out);

/* All entries of one record; show is any JSON value. */
void bang_page_show(bang_page *page, const json_t *show);

/* A folded list of what the record was made with, its key as the heading. */
void bang_page_origin(bang_page *page, const json_t *record);

/* One entry each: checked as a whole before anything is added. 0, or a negative
 * code and why it cannot be shown. */
int bang_page_table(bang_page *page, const json_t *entry, bang_error *err);
int bang_page_lines(bang_page *page, const json_t *entry, bang_error *err);
int bang_page_heat(bang_page *page, const json_t *entry, bang_error *err);
/* The chart of an entry of kind "lines" or "heat" as one <svg> element. */
int bang_page_chart(bang_text *out, const json_t *entry, int titled, bang_error *err);
int bang_page_verdict(bang_verdict *out, const json_t *entry, bang_error *err);
void bang_page_chip(bang_text *out, const bang_verdict *verdict);

/* The text of a member: NULL when it is missing or null, an error when it is
 * anything but a string. */
int bang_page_string(const char **out, const json_t *entry, const char *name, bang_error *err);
/* The member as an array; an error when it is anything else. */
int bang_page_array(const json_t **out, const json_t *entry, const char *name, bang_error *err);
/* 1 when the member is true. */
int bang_page_flag(const json_t *entry, const char *name);

/* <b>Table 3.</b> title */
void bang_page_caption(bang_text *out, const char *word, int number, const char *title);

#endif
