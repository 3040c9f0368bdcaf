/* How the lab does its work: what a run trains and measures, and the state of a seed.
 *
 *     shift_plan plan = shift_plan_make(&options, &mnist);
 *     shift_run_units(&units, &plan, &mnist, &options, &err);
 */
#ifndef BANG_LAB_SHIFT_UNIT_H
#define BANG_LAB_SHIFT_UNIT_H

#include <stdatomic.h>

#include "lab/shift.h"

/* Parts of a seed's images that models look at: the six test sets, ID validation, and OOD
 * images without labels, of which balance by confidence may see. */
enum { SHIFT_VALIDATION = SHIFT_SETS, SHIFT_UNLABELLED, SHIFT_PARTS };
enum { SHIFT_METHODS_MOST = 24, SHIFT_GRID_MOST = 48, SHIFT_BETWEEN = SHIFT_ALPHAS - 2 };
enum { SHIFT_HALF = 4 }; /* alpha 1/2 among those between 0 and 1 */

/* A point of the grid of appendix H: vanilla fine-tuning. STEP: a tenth of the rate after each
 * third of the steps. */
typedef struct shift_point {
    double rate;
    int steps;
    bang_schedule schedule;
} shift_point;

enum { SHIFT_DEPTH = 3, SHIFT_LAYERS = SHIFT_DEPTH + 2 }; /* embedding, blocks, norm and head */

typedef struct shift_plan {
    size_t seeds;
    uint64_t seed; /* of the first unit */
    int full;
    size_t method_count;
    const shift_method *methods[SHIFT_METHODS_MOST];
    size_t grid_count; /* on the first seed */
    shift_point grid[SHIFT_GRID_MOST];
    size_t broad, tune, validation, test; /* images; test: of each set */
    size_t unlabelled; /* of each of the five OOD kinds, digits of no other part */
    uint64_t pre_steps;
    size_t pre_batch, batch;
    int shorten;                    /* steps of fine-tuning are divided by it: 1, more in tests */
    int fashion, maps;              /* clothes, and where models look */
    char recipes[BANG_DIGEST_TEXT]; /* of all trainings and of some images of each part */
    char clothes[BANG_DIGEST_TEXT]; /* of Fashion-MNIST; "": it is not there */
} shift_plan;

/* mnist says how many images there are at most. */
shift_plan shift_plan_make(const bang_lab_options *options, const bang_mnist *mnist);
/* Fills in the digests, which the options of all records name. */
int shift_plan_seal(shift_plan *plan, const bang_mnist *mnist, const bang_lab_options *options,
                    bang_error *err);
/* 1: alpha is balanced by confidence for this method. */
int shift_is_balanced(const shift_plan *plan, const shift_method *method);
/* The method that another is held against: vanilla, or long-vanilla. */
const char *shift_base(const shift_method *method);
/* The options of a unit's record, and of what sums all up; new references. */
json_t *shift_unit_options(const shift_plan *plan, size_t unit, const char *digest);
json_t *shift_plan_options(const shift_plan *plan, const char *digest);

/* How a method, a point of the grid and pre-training train; unit is the seed's number from 0. */
int shift_recipe(bang_tune_options *out, const shift_plan *plan, const shift_method *method,
                 size_t unit, bang_error *err);
void shift_recipe_grid(bang_tune_options *out, const shift_plan *plan, const shift_point *point,
                       size_t unit);
void shift_recipe_pre(bang_tune_options *out, const shift_plan *plan, size_t unit);
/* Pictures that such a training sees of so many. */
uint64_t shift_pictures(const bang_tune_options *options, size_t count);

/* A member's predictions on the test sets, one after the other. */
typedef struct shift_member {
    char name[48];    /* "vanilla/avg" */
    uint8_t *classes; /* (tests) owned */
} shift_member;

/* What was measured of a method. */
enum { SHIFT_MEMBERS_MOST = 24 };
typedef struct shift_found {
    json_t *record; /* METHOD */
    json_t *pre;    /* MEMBER of the pre-trained model, the same for all methods */
    size_t member_count;
    shift_member members[SHIFT_MEMBERS_MOST];
} shift_found;

/* One seed while it is worked on. */
typedef struct shift_seed {
    size_t unit;
    shift_data data;
    bang_images unlabelled;
    size_t first[SHIFT_PARTS + 1];           /* where a part begins among all images */
    bang_vit_model pre;                      /* has no parameters until it is there */
    float *pre_logits;                       /* (images of all parts, classes) */
    bang_vit_model fine[SHIFT_METHODS_MOST]; /* as in the plan */
    shift_found found[SHIFT_METHODS_MOST];
    json_t *grid[SHIFT_GRID_MOST]; /* of the first seed */
    json_t *fashion, *maps;
    atomic_size_t left; /* tasks until it is measured */
    json_t *record;
} shift_seed;

void shift_seed_release(shift_seed *seed);

/* A call: seeds that are worked on together. */
typedef struct shift_run {
    const shift_plan *plan;
    const bang_mnist *mnist;
    const bang_lab_options *options;
    size_t count;
    shift_seed *seeds;          /* (count) */
    atomic_uint_least64_t done; /* in thirds of pictures: backward is twice forward's work; those of
                                   other ranks too */
    uint64_t total;
    struct ledger *ledger;
} shift_run;

/* Reports that so many pictures more were looked at, or trained on. */
void shift_looked(shift_run *run, uint64_t pictures);
void shift_trained(shift_run *run, uint64_t pictures);

/* All images of a seed, and all but the broad ones gone. */
int shift_data_make(shift_seed *seed, const shift_run *run, bang_error *err);
void shift_data_release(shift_seed *seed);
const bang_images *shift_part(const shift_seed *seed, size_t part);

/* Models of a seed: taken from the folder where a run that goes on left them, else trained and
 * kept there. fine begins as the pre-trained model. */
int shift_train_pre(shift_run *run, shift_seed *seed, bang_error *err);
int shift_train_fine(shift_run *run, shift_seed *seed, bang_vit_model *fine, const char *name,
                     const bang_tune_options *options, bang_error *err);
/* The lab's ViT as it begins. */
int shift_make_model(bang_vit_model *out, uint64_t seed, bang_error *err);
/* The same model with all its parameters; the caller releases it. */
int shift_copy(bang_vit_model *out, const bang_vit_model *model, bang_error *err);

/* out (images of parts from .. to - 1, classes) logits; features (the same, width) or NULL. */
int shift_look(float *out, float *features, shift_run *run, const shift_seed *seed,
               const float *parameters, size_t from, size_t to, bang_error *err);
/* out (count) = (1 - alpha) pre + alpha fine, as bang average computes it; 0 and 1 are the models
 * themselves. */
void shift_mix(float *out, const float *pre, const float *fine, double alpha, size_t count);
/* Class of each of count rows of logits: the largest, the first among equals. */
void shift_classes(uint8_t *out, const float *logits, size_t count);
/* The share of part's images that predictions (of that part) have right. */
double shift_accuracy(const uint8_t *classes, const bang_images *part);
/* A new member of found; NULL when memory is out. */
shift_member *shift_add_member(shift_found *found, const shift_seed *seed, const char *method,
                               const char *name);

/* Measures method m of the plan: seed->found[m]. */
int shift_measure(shift_run *run, shift_seed *seed, size_t m, bang_error *err);
void shift_found_release(shift_found *found);
/* "balance" of a method. fine_logits (images of all parts, classes). */
int shift_measure_balance(shift_run *run, shift_seed *seed, size_t m, const float *fine_logits,
                          bang_error *err);
/* Pictures that are looked at for it. */
uint64_t shift_balance_cost(const shift_plan *plan);
/* Which pairs of members are compared, and how: "contrasts". */
json_t *shift_contrasts(const shift_run *run, const shift_seed *seed);

/* Trains and measures a point of the grid: seed->grid[point]. */
int shift_measure_point(shift_run *run, shift_seed *seed, size_t point, bang_error *err);

/* "maps" of a seed, and what they cost in thirds of pictures. */
int shift_measure_maps(shift_run *run, shift_seed *seed, bang_error *err);
uint64_t shift_maps_cost(const shift_plan *plan);

/* "lab/seed-3", and the section of the report that units are listed in. */
void shift_unit_key(char *out, size_t size, size_t unit);
extern const char shift_unit_prefix[], shift_section[];

/* Runs what is missing of the units and returns the results of all in order (a new
 * reference). */
int shift_run_units(json_t **out, const shift_plan *plan, const bang_mnist *mnist,
                    const bang_lab_options *options, bang_error *err);
/* All of the experiment: units, chapters, and the summary for programs. */
int shift_run_lab(json_t *result, const shift_plan *plan, const bang_mnist *mnist,
                  const bang_lab_options *options, bang_error *err);

#endif
