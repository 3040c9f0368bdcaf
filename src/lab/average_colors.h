/* Weight averaging on MultiColorMNIST: ways to fine-tune, and the parts of the experiment. */
#ifndef BANG_LAB_AVERAGE_COLORS_H
#define BANG_LAB_AVERAGE_COLORS_H

#include "lab/average.h"

enum { AVERAGE_VARIANTS = 4, AVERAGE_ALPHAS = 11 };

/* A way to fine-tune: the paper's BANG averages with the last three. */
typedef struct average_variant {
    const char *name, *title;
    double smoothing, mixup;
} average_variant;
extern const average_variant average_variants[AVERAGE_VARIANTS]; /* the first: vanilla */

/* Shifts over which means are taken: p = .7, .75, .8, .85, .9. */
enum { AVERAGE_FAR = 7, AVERAGE_FAR_END = COLOR_SHIFTS };

/* What is compared, with its field in a unit's record. */
enum { AVERAGE_MEMBERS = 4 };
typedef struct average_member {
    const char *name, *field;
} average_member;
extern const average_member average_members[AVERAGE_MEMBERS]; /* PM, FM, WSE, OSE */

/* A field less another (or NULL) over those shifts. */
average_choice average_far(const char *field, const char *minus);
/* A field at every shift. */
void average_column(color_column *out, const json_t *units, const char *field);
/* {"mean", "stderr", "low", "high", "pairs", "above"}, a new reference. */
json_t *average_estimate_json(const average_estimate *e);
/* "yes" when the interval is above 0, "no" when it is below, else "open". */
const char *average_sign(const average_estimate *e);

/* A unit (average_unit.c says what its record holds). */
int average_unit(json_t *result, const color_plan *plan, size_t i, const bang_mnist *mnist,
                 average_scratch *scratch, bang_cancel *cancel, bang_error *err);

/* Which parts PM, FM, WSE and OSE use, on images in distribution: result["occlusion"] =
 *     {"members": [{"name", "change": (6, 6), "patches", "digit", "effective", "accuracy",
 *                   "without_digit", "without_patches"}, ..],       PM, FM, WSE, OSE
 *      "shared": [[patches that two members share], ..]}
 * digit: change of the true class's output when the digit turns black; patches: sum of the
 * patches' changes one by one. start: PM before its training; reduced: PM, FM and their average. */
int average_occlusion(json_t *result, const bang_mlp *start, const bang_mlp *const reduced[3],
                      const average_data *data, const color_plan *plan, size_t i,
                      const bang_mnist *mnist, bang_cancel *cancel, bang_error *err);

/* A number of a member of a unit's occlusion, and its mean over units. */
double average_map_number(const json_t *units, size_t u, size_t member, const char *name);
double average_map_mean(const json_t *units, size_t member, const char *name);

/* Tables, figures, verdicts: each adds to show, and to result what programs read. */
void average_show_accuracy(json_t *result, json_t *show, const json_t *units);
void average_show_groups(json_t *result, json_t *show, const json_t *units);
void average_show_alphas(json_t *result, json_t *show, const json_t *units);
void average_show_variants(json_t *result, json_t *show, const json_t *units);
void average_show_maps(json_t *result, json_t *show, const json_t *units);
int average_show_theory(json_t *result, json_t *show, const json_t *units, bang_error *err);

#endif
