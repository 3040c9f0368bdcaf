/* How a record's "show" entries become HTML. An entry that does not hold what
 * its kind needs leaves a visible note and nothing else; the page goes on. */
#ifndef BANG_REPORT_PAGE_H
#define BANG_REPORT_PAGE_H

#include "bang/base/json.h"
#include "bang/base/text.h"

typedef struct bang_page {
    bang_text out;
    int figures, tables; /* numbered so that people can speak of them */
    int verdicts;        /* numbered so that the overview can lead to them */
    json_t *files;       /* names of CSV files for the entries of the record that is shown */
    size_t entry;        /* which of them */
} bang_page;

/* In the order in which they are counted. */
enum { BANG_HOLDS, BANG_HOLDS_PARTLY, BANG_HOLDS_NOT, BANG_HOLDS_OPEN, BANG_HOLDS_COUNT };

typedef struct bang_verdict {
    const char *item, *claim, *because; /* borrowed; item and because may be NULL */
    int holds;                          /* of the enum above */
} bang_verdict;

/* report.css and report.js, terminated: CMakeLists.txt makes them out of the files. */
extern const char bang_page_css[], bang_page_js[];

/* All entries of one record. */
void bang_page_show(bang_page *page, const json_t *record);

/* A folded list of what the record was made with, its key as the heading. */
void bang_page_origin(bang_page *page, const json_t *record);

/* One entry each: checked as a whole before anything is added. 0, or a negative
 * code and why it cannot be shown. */
int bang_page_table(bang_page *page, const json_t *entry, bang_error *err);
/* The kinds that are charts. */
int bang_page_is_chart(const char *kind);
int bang_page_figure(bang_page *page, const json_t *entry, bang_error *err);
int bang_page_picture(bang_page *page, const json_t *entry, bang_error *err);
int bang_page_facts(bang_page *page, const json_t *entry, bang_error *err);
/* The chart of such an entry alone, as one <svg> element. */
int bang_page_chart(bang_text *out, const json_t *entry, int titled, bang_error *err);
int bang_page_verdict(bang_verdict *out, const json_t *entry, bang_error *err);
/* "yes", "partly", "no" or "open", which is also its class in the style sheet. */
const char *bang_page_holds(int holds);
/* What people read instead: "holds", "partly", "does not hold here", "open". */
const char *bang_page_holds_words(int holds);
void bang_page_chip(bang_text *out, int holds);

/* The text of a member: NULL when it is missing or null, an error when it is
 * anything but a string. */
int bang_page_string(const char **out, const json_t *entry, const char *name, bang_error *err);
/* The member as an array; an error when it is anything else. */
int bang_page_array(const json_t **out, const json_t *entry, const char *name, bang_error *err);
/* 1 when the member is true, 0 when it is false, null or missing; an error when
 * it is anything else. */
int bang_page_flag(int *out, const json_t *entry, const char *name, bang_error *err);

/* "Table 3." and the title; the number links to the table itself, whose id is
 * "table-3". word is Table or Figure. */
void bang_page_caption(bang_text *out, const char *word, int number, const char *title);
/* <figure> with the next number; </figure> after a caption. title and note may be NULL. */
void bang_page_open_figure(bang_page *page);
void bang_page_close_figure(bang_page *page, const json_t *entry, const char *title,
                            const char *note);
/* A link that saves the entry's numbers as a file, which needs no script; nothing for an
 * entry without numbers. */
void bang_page_csv(bang_page *page, const json_t *entry);
/* A number or text as it stands in JSON, lists and objects in brackets. */
void bang_page_value(bang_text *out, const json_t *value);

#endif
