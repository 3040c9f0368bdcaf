/* What the parts of a diagnosis share while it runs. */
#ifndef BANG_SRC_MEASURE_DIAGNOSIS_H
#define BANG_SRC_MEASURE_DIAGNOSIS_H

#include "bang/measure/diagnosis.h"

/* What the tally of one set scores. Members 0, 1 and 2 are PM, FM and AM. */
typedef struct diagnosis_members {
    size_t source_count;
    bang_logits sources[3 + BANG_ALPHAS_MAX];
    size_t count;
    bang_member of[BANG_MEMBERS_MAX];
    int role[BANG_ROLES];              /* a member, or -1 */
    int wse[BANG_ALPHAS_MAX + 2];      /* of the averages with alpha 0 and 1, ascending */
    double alpha[BANG_ALPHAS_MAX + 2]; /* theirs */
    size_t wse_count;
    int ose[BANG_ALPHAS_MAX];        /* of the further OSEs */
    int beside[BANG_ALPHAS_MAX + 2]; /* the OSE at the alpha of wse, or -1 */
} diagnosis_members;

typedef struct diagnosis_run {
    const bang_diagnosis_set *sets; /* (out->set_count) */
    const bang_diagnosis_options *options;
    diagnosis_members *members; /* (out->set_count) */
    bang_diagnosis *out;
} diagnosis_run;

/* diagnosis_check.c */
int bang_diagnosis_check(const bang_diagnosis_set *sets, size_t count,
                         const bang_diagnosis_options *options, bang_error *err);

/* diagnosis_members.c: temperature (2) of PM and FM, or NULL. */
void bang_diagnosis_members(diagnosis_members *out, const bang_diagnosis_set *set,
                            const bang_diagnosis_options *options, const double *temperature);

/* diagnosis_groups.c */

/* Counts of rows by which of some members are right; bit i of a kind: members[i] is. */
enum { DIAGNOSIS_JOINT = 5, DIAGNOSIS_KINDS = 1 << DIAGNOSIS_JOINT };
typedef struct diagnosis_joint {
    size_t kinds; /* that occur */
    uint32_t right[DIAGNOSIS_KINDS];
    size_t count[DIAGNOSIS_KINDS];
    size_t total;
} diagnosis_joint;
/* A member of -1 is never right. */
void bang_joint_init(diagnosis_joint *out, const bang_tally *tally, const int *members,
                     size_t count);

/* The roles that differences and groups need together, in the order of their bits. */
extern const bang_role bang_joint_roles[DIAGNOSIS_JOINT];
void bang_joint_of_roles(diagnosis_joint *out, const bang_set_diagnosis *set);
/* All quantities but accuracies of other roles, from the counts (joint->kinds) of the sample or
 * of a replicate; scaled: there is a calibrated OSE, else what needs it is not touched. */
void bang_joint_quantities(double out[BANG_QUANTITIES], const diagnosis_joint *joint,
                           const size_t *counts, int scaled);

/* Of two members of a tally; b: only the first is right. NaN where one is -1, or without labels. */
bang_mcnemar bang_members_mcnemar(const bang_tally *tally, int first, int second);
void bang_diagnosis_diversity(bang_set_diagnosis *set);

/* diagnosis_bootstrap.c: all intervals but those of the choices. */
int bang_diagnosis_bootstrap(const diagnosis_run *run, bang_error *err);
/* Mean accuracy, over choice sets, of chosen alphas (count of them, at most DIAGNOSIS_JOINT, the
 * first being the oracle's), and what they lack to the first. */
int bang_diagnosis_bootstrap_choices(bang_interval *accuracy, bang_interval *cost,
                                     const diagnosis_run *run, const size_t *chosen, size_t count,
                                     bang_error *err);

/* diagnosis_alpha.c */

/* Labelled, out of distribution, with averages: what choices are judged on. */
int bang_diagnosis_is_choice_set(const bang_diagnosis *diagnosis, size_t set);
/* Of the averages and of further OSEs; intervals come later. */
void bang_diagnosis_alpha_scores(bang_set_diagnosis *set, const diagnosis_members *members,
                                 const bang_diagnosis_options *options);
int bang_diagnosis_choose(const diagnosis_run *run, bang_error *err);

#endif
