/* From the lab's records to what a person sees. Everything here reads units: the array of records
 * that shift.h describes.
 *
 * A difference says what is compared: one quantity of two members (or of one). An effect is what
 * the units say of it:
 *
 *     shift_difference d = {SHIFT_ACCURACY, "mixup/avg", SHIFT_OOD, "vanilla/avg", SHIFT_OOD};
 *     shift_effect e = shift_effect_of(units, &d);        // mean, 95 % interval, k of n seeds
 *
 * Members, besides those that shift.h names: METHOD/exp1 and METHOD/exp2 at the best of the
 * alphas .2 .3 .4 .5 of each OOD set (appendix E.6: chosen by the test labels),
 * METHOD/exp1-others and METHOD/exp2-others at the alpha that is best for that set on the other
 * seeds, METHOD/id-alpha at the alpha that is best on ID validation.
 */
#ifndef BANG_LAB_SHIFT_SHOW_H
#define BANG_LAB_SHIFT_SHOW_H

#include "bang/measure/curve.h"
#include "lab/shift.h"

enum { SHIFT_OOD = SHIFT_SETS, SHIFT_COLUMNS }; /* as a set: the mean over V2, R, A, S, O */

/* What is read of a unit and a member on a set; all are fractions. Those from SHIFT_FFT to
 * SHIFT_CORRECTED belong to a method ("vanilla"): to PM, its FM and their average. */
typedef enum shift_quantity {
    SHIFT_ACCURACY,
    SHIFT_CONFIDENCE,
    SHIFT_ECE,
    SHIFT_OVER,        /* confidence - accuracy */
    SHIFT_GAP,         /* |confidence - accuracy| of each set */
    SHIFT_FFT,         /* share of FalseFalseTrue */
    SHIFT_TTF,         /* of TrueTrueFalse */
    SHIFT_BEYOND,      /* FFT - max(0, ImproveContri(ALL)) */
    SHIFT_BOTH,        /* ImproveContri(TT+FF) = FFT - TTF */
    SHIFT_TWICE,       /* FFT - 2 TTF */
    SHIFT_ONE,         /* ImproveContri(TF+FT) */
    SHIFT_ALL,         /* ImproveContri(ALL): of the average over the better of PM and FM */
    SHIFT_CORRECTED,   /* N1/N2: share of TrueFalseTrue */
    SHIFT_MARGIN_PRE,  /* margin on the images that PM alone has right, of PM, */
    SHIFT_MARGIN_FINE, /* of FM, */
    SHIFT_MARGIN_SUM,  /* of both together */
    SHIFT_ABOVE_CURVE, /* OOD accuracy of METHOD's average over the quadratic curve; no set */
    SHIFT_BEND,        /* how far the curve's ends are from a line through its middle, no member */
    SHIFT_FIT,         /* R^2 of the curve, each point predicted by the others */
    SHIFT_FASHION,     /* accuracy on Fashion-MNIST of "wse" or "ose" at alpha 1/2; no set */
} shift_quantity;

typedef struct shift_difference {
    shift_quantity quantity;
    const char *a;
    size_t a_set;
    const char *b; /* NULL: the quantity of a itself */
    size_t b_set;
} shift_difference;

/* The interval of the mean over n seeds.
 *
 * Three seeds or more: Student's t over seeds. All seeds are tested on renderings of the same
 * digits, so it speaks of other trainings, not of other digits.
 *
 * Fewer: mean +- z sqrt(max(V, s^2/n)), where s^2 is the variance between seeds and V the mean of
 * the seeds' variances by images, not divided by n: images of two seeds show the same digits. For
 * two seeds z s/sqrt(2) is 0.98 of their distance, so the interval holds both of them: it excludes
 * nothing that one of them says. One seed says nothing of trainings and decides nothing.
 *
 * V is from the images that one of the two alone has right where they were counted (b and c of n:
 * (b + c - (b - c)^2/n)/n^2), else as if the two were independent and each as variable as its mean
 * allows, which is too wide where both see the same images.
 *
 * What is read off the curve has the interval of the curve's fit: t with the degrees of freedom of
 * the grid. It knows how trainings vary, on that seed. */
typedef enum shift_basis { SHIFT_BY_SEEDS, SHIFT_BY_IMAGES, SHIFT_BY_GRID } shift_basis;
typedef struct shift_effect {
    size_t n;    /* seeds that have it; 0: it was not run, and the rest is NaN */
    size_t wins; /* seeds above the bar */
    shift_basis basis;
    double mean, sd, low, high;
} shift_effect;
/* Of 95 %, above 0. */
shift_effect shift_effect_of(const json_t *units, const shift_difference *difference);
/* Of any level, wins counted above bar. */
shift_effect shift_effect_at(const json_t *units, const shift_difference *difference, double level,
                             double bar);

/* One number of unit u; NaN when it is not there. */
double shift_read(const json_t *units, size_t u, shift_quantity quantity, const char *member,
                  size_t set);
/* What the report calls a method: "Mixup + LS(0.10), LONG". The caller's buffer is returned. */
enum { SHIFT_TITLE = 64 };
const char *shift_title(char out[SHIFT_TITLE], const char *method);
/* Its mean over the units that have it; NaN if there are none. */
double shift_mean(const json_t *units, shift_quantity quantity, const char *member, size_t set);
/* Accuracy at alphas[a] of METHOD's "wse" or "ose_alphas", mean over units. */
double shift_mean_alpha(const json_t *units, const char *method, const char *field, size_t a,
                        size_t set);
/* Margin of "pre" or "fine" on group TT TF FT FF, mean over units that have one. */
double shift_mean_margin(const json_t *units, const char *method, const char *whose, size_t group,
                         size_t set);
/* The alpha that is best for METHOD on ID validation, mean over units. */
double shift_mean_validated(const json_t *units, const char *method);

/* The grid of unit u and its fit; -1: there is none, or fewer than four points. */
enum { SHIFT_CURVE_MOST = 256 };
typedef struct shift_curve {
    size_t count;
    double x[SHIFT_CURVE_MOST], y[SHIFT_CURVE_MOST]; /* OOD accuracy of FM and of the average */
    bang_curve fit;
} shift_curve;
int shift_curve_of(shift_curve *out, const json_t *units, size_t u);
/* METHOD's average against the curve of unit u, and its x; -1: one of them is missing. */
int shift_curve_compare(bang_curve_residual *out, double *x, const json_t *units, size_t u,
                        const char *method);

/* A row of the paper's tables: a method and its numbers on CLIP ViT-B/16 and ImageNet, per cent:
 * IN, IN-V2, IN-R, IN-A, IN-S, ObjectNet, mean of the five. */
typedef struct shift_row {
    const char *method; /* "pre", "vanilla", .. */
    int average;        /* of the method's average with PM, else its fine-tuned model */
    const char *title;
    double paper[SHIFT_COLUMNS];
} shift_row;
extern const shift_row shift_rows_main[], shift_rows_augment[], shift_rows_strength[];
extern const size_t shift_rows_main_count, shift_rows_augment_count, shift_rows_strength_count;
/* Tables of one line: WiSE-FT, Exp 1, Exp 2, BANG; N1/N2 of WiSE-FT and BANG; per cent. */
extern const double shift_paper_rescaled[4], shift_paper_corrected[2];
/* The name of a row's member, METHOD/fine or METHOD/avg or "pre"; prefix: "" or "long-". */
void shift_row_member(char *out, size_t size, const shift_row *row, const char *prefix);

/* What is claimed of a difference. small is the smallest effect that counts. An interval
 * [low, high] that excludes least on the claimed side and reaches small is an effect; one that does
 * not exclude least and ends before small leaves no room for one; one that excludes least and ends
 * before small is an effect too small to count; any other decides nothing. */
typedef enum shift_aim {
    SHIFT_IS_ABOVE,     /* an effect above least */
    SHIFT_IS_BELOW,     /* an effect below 0 */
    SHIFT_IS_NOT_ABOVE, /* no effect above 0 */
    SHIFT_IS_WITHIN,    /* within +- small */
    SHIFT_IS_SHOWN      /* beside the claim, for the reader */
} shift_aim;
typedef enum shift_holds { SHIFT_YES, SHIFT_PARTLY, SHIFT_NO, SHIFT_UNDECIDED } shift_holds;
extern const char *const shift_holds_names[]; /* as the report has them */

/* A part that was not run leaves a claim undecided unless it is only a second look (LONG). The
 * part that a claim turns on can refute it alone. Fields stand in the order in which a claim is
 * read, whatever that costs in padding. */
typedef enum shift_role { SHIFT_NEEDED, SHIFT_TURNS, SHIFT_SECOND } shift_role;
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
typedef struct shift_clause {
    shift_role role;
    const char *name;
    shift_difference difference;
    shift_aim aim;
    double least, small;
} shift_clause;

enum { SHIFT_AVERAGES, SHIFT_BANG, SHIFT_CALIBRATION, SHIFT_CURVE, SHIFT_CHAPTERS };
typedef struct shift_claim {
    int chapter;
    int some;         /* it is enough that one part holds: intervals share the 5 % (Bonferroni) */
    const char *item; /* of the paper, or SHIFT_BEYOND */
    const char *claim;
    size_t count;
    const shift_clause *parts;
} shift_claim;
const shift_claim *shift_claims(size_t *count);

/* The rule, once: of one part, of all parts together (found[role][holds] counts them), and of a
 * claim whose reasons are added to because. */
shift_holds shift_judge(const shift_effect *effect, const shift_clause *part);
shift_holds shift_combine(const size_t found[3][4], int some);
shift_holds shift_judge_claim(bang_text *because, const json_t *units, const shift_claim *claim);
/* The rule in words; seeds says how many there were. */
void shift_show_rule(json_t *show, const json_t *units);
/* Verdicts of a chapter, to show and, for programs, to verdicts. */
void shift_show_claims(json_t *show, json_t *verdicts, const json_t *units, int chapter);

/* "+0.31", "\u22120.20": value times 100 with a sign. */
enum { SHIFT_POINTS = 24 };
const char *shift_points(char out[SHIFT_POINTS], double value, int decimals);

/* Why Fashion-MNIST is missing, as the units say; NULL: they do not. */
const char *shift_fashion_missing(const json_t *units);

/* Cells of tables: per cent, null for NaN; "+0.31 [+0.05, +0.57]"; "5 of 6". */
json_t *shift_percent(double fraction);
json_t *shift_interval_cell(const shift_effect *effect);
json_t *shift_seeds_cell(const shift_effect *effect);
/* Rows in the paper's form, methods x sets, the paper's numbers beside them if paper is set;
 * those that were not run are named in the note. */
void shift_show_rows(json_t *show, const json_t *units, const char *title, const char *note,
                     const shift_row *rows, size_t count, const char *prefix, int paper);

void shift_tables_averages(json_t *show, const json_t *units);
void shift_tables_bang(json_t *show, const json_t *units);
void shift_tables_calibration(json_t *show, const json_t *units);
void shift_tables_curve(json_t *show, const json_t *units);
void shift_figures_averages(json_t *show, const json_t *units);
void shift_figures_bang(json_t *show, const json_t *units);
void shift_figures_calibration(json_t *show, const json_t *units);
void shift_figures_curve(json_t *show, const json_t *units);

#endif
