/* What the parts of the page of bang diagnose share. A part adds entries to page->show; the
 * page collects failures, so that nobody has to look at each of thousands of small values:
 *
 *     json_t *table = page_table(p, "Accuracy.", columns, 3);
 *     json_t *row = page_row(p, table);
 *     page_put(p, row, page_string("IN-A"));
 */
#ifndef BANG_CLI_DIAGNOSE_PAGE_H
#define BANG_CLI_DIAGNOSE_PAGE_H

#include "diagnose.h"

typedef struct diagnose_page {
    const bang_finding *r;
    json_t *show; /* entries of the section that is written */
    int failed;   /* something could not be made: out of memory */
    /* What the third letter of a group stands for: the average where any set has one, else
     * the ensemble that takes its place. */
    int has_average;
    int has_stand_in;  /* on some sets it is the ensemble nevertheless */
    const char *third; /* "AM" or "OSE" */
    const char *third_name;
} diagnose_page;

/* Colours of the models, everywhere the same. */
enum {
    PAGE_PRE,
    PAGE_FINE,
    PAGE_AVG,
    PAGE_OSE,
    PAGE_AMBER, /* the calibrated FM; samples that both models get wrong */
    PAGE_SKY,   /* the calibrated PM; samples that exactly one gets right */
    PAGE_GREY,  /* samples that both get right; sums and fits */
};
int page_role_color(bang_role role);
/* "pre-trained (PM)", ... */
const char *page_role_name(bang_role role);
/* The role is scored on set i, and is not the OSE in the place of the average. */
int page_has_role(const diagnose_page *p, size_t i, bang_role role);

/* A string, or one with '?' for what is no UTF-8. */
json_t *page_string(const char *s);
json_t *page_format(const char *format, ...) BANG_PRINTF(1, 2);
/* Both take over value. */
void page_put(diagnose_page *p, json_t *array, json_t *value);
void page_set(diagnose_page *p, json_t *object, const char *key, json_t *value);

/* Entries of the section; borrowed. */
json_t *page_entry(diagnose_page *p, const char *kind, const char *title);
json_t *page_table(diagnose_page *p, const char *title, const char *const *columns, size_t count);
json_t *page_row(diagnose_page *p, json_t *table);
void page_note(diagnose_page *p, json_t *entry, const char *format, ...) BANG_PRINTF(3, 4);
void page_paragraph(diagnose_page *p, const char *format, ...) BANG_PRINTF(2, 3);
/* "decimals" of a table: first columns without, then all others with that many. */
void page_decimals(diagnose_page *p, json_t *table, size_t without, int decimals);

/* Sets. The labelled ones, and, where there are several out of distribution, their mean:
 *     for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i)) */
#define PAGE_BEGIN SIZE_MAX
#define PAGE_END (SIZE_MAX - 1)
#define PAGE_MEAN (SIZE_MAX - 2)
size_t page_next(const diagnose_page *p, size_t i);
size_t page_labelled(const diagnose_page *p);
int page_is_labelled(const diagnose_page *p, size_t i);
int page_has_mean(const diagnose_page *p);
/* "IN-A", "ImageNet (ID)" where there are others, "average OOD". */
json_t *page_set_name(const diagnose_page *p, size_t i);
/* Of a set or the mean; NaN where one of the roles is not there. */
const bang_estimate *page_value(const diagnose_page *p, size_t i, bang_quantity quantity);
/* Of the mean over OOD sets, of the only OOD set, or of the only labelled set; NULL without
 * labels. */
const bang_estimate *page_headline(const diagnose_page *p);

/* Columns side by side, per cent: a name for every set as page_next goes. */
json_t *page_columns(diagnose_page *p, const char *title, const char *label);
/* A series of it: one number a set. */
void page_quantity(diagnose_page *p, json_t *chart, const char *name, bang_quantity quantity,
                   int color);

/* Cells; null where it is not a number. Fractions are shown in per cent. */
enum { PAGE_SIGN = 1 };
json_t *page_percent(double value, int flags);
/* "81.7 [80.9, 82.4]", with PAGE_SIGN "+1.9 [+0.4, +3.3]"; the interval only where there is one. */
json_t *page_estimate(const bang_estimate *estimate, int flags);
json_t *page_p(double p);
/* The same for sentences. */
enum { PAGE_TEXT = 64 };
void page_say_number(char out[PAGE_TEXT], double value, int decimals, int flags);
void page_say_percent(char out[PAGE_TEXT], double value, int flags);
void page_say(char out[PAGE_TEXT], const bang_estimate *estimate, int flags);
void page_say_p(char out[PAGE_TEXT], double p);

/* The sections. */
void page_verdicts(diagnose_page *p);
void page_accuracy(diagnose_page *p);
void page_groups(diagnose_page *p);
void page_one(diagnose_page *p); /* the groups, where only one set has labels */
void page_group_table(diagnose_page *p);
void page_margins(diagnose_page *p);
void page_calibration(diagnose_page *p);
void page_ensembles(diagnose_page *p);
void page_alphas(diagnose_page *p);
void page_advice(diagnose_page *p);
void page_curve(diagnose_page *p);
void page_classes(diagnose_page *p);
void page_samples(diagnose_page *p);

#endif
