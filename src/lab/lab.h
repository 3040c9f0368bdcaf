/* What the experiments share. */
#ifndef BANG_LAB_PRIVATE_H
#define BANG_LAB_PRIVATE_H

#include "bang/base/text.h"
#include "bang/lab/lab.h"

int lab_run_theory(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_simulation(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_multicolor(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_singlecolor(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_ensemble_size(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_occlusion(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_multicolor_average(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_two_layer(json_t *result, const bang_lab_options *options, bang_error *err);
int lab_run_shift(json_t *result, const bang_lab_options *options, bang_error *err);

/* One measurement: returns the stored result when a resumed run already has
 * it, else calls measure and appends the record. *result is a new reference.
 * options holds all that the result depends on (borrowed). measure fills
 * result and show (an array). */
typedef struct lab_measurement {
    const char *experiment, *section;
    const char *key;
    json_t *options; /* stolen */
    int (*measure)(json_t *result, json_t *show, void *context, bang_error *err);
    void *context;
} lab_measurement;

int lab_measure(json_t **result, lab_measurement measurement, const bang_lab_options *options,
                bang_error *err);
/* The same for what all ranks measure together, of which rank 0 has the result. What lab_measure
 * is asked for is rank 0's work alone. Either way other ranks get an empty result. */
int lab_measure_together(json_t **result, lab_measurement measurement,
                         const bang_lab_options *options, bang_error *err);

/* The two halves of it, for measurements that run together. recall gives the
 * result that this or an earlier run left under the key (a new reference) or
 * NULL; one made with other options is an error. Ranks but the first recall nothing. store appends
 * the record; what it is given stays the caller's, but for the measurement's options. show may be
 * NULL. */
int lab_recall(json_t **result, const char *key, json_t *settings, const bang_lab_options *options,
               bang_error *err);
int lab_store(lab_measurement measurement, json_t *result, json_t *show,
              const bang_lab_options *options, bang_error *err);

/* How to run an experiment with these options, for people to paste. The caller
 * releases the text. */
void lab_command(bang_text *out, const char *experiment, const bang_lab_options *options);

/* Parts of "show"; all references are stolen. */
void lab_show_text(json_t *show, const char *text);
/* A verdict on one item of the paper ("Table 1", "Proposition 3", "Figure 5 (left)"), which the
 * overview of the report lists in the order of the records. */
void lab_show_item(json_t *show, const char *item, const char *claim, const char *holds,
                   const char *because);
json_t *lab_table(const char *title, const char *const *columns, const char *note);
void lab_table_row(json_t *table, json_t *row);
/* An array of numbers, a new reference. */
json_t *lab_numbers(const double *values, size_t count);

#endif
