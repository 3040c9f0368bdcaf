/* From counts of rows to the paper's quantities. */
#include <math.h>
#include <string.h>

#include "measure/diagnosis.h"

const char *const bang_role_names[BANG_ROLES] = {
    [BANG_PRE] = "pre",
    [BANG_FINE] = "fine",
    [BANG_AVG] = "avg",
    [BANG_OSE] = "ose",
    [BANG_OSE_MEAN] = "ose_probabilities",
    [BANG_PRE_SCALED] = "pre_calibrated",
    [BANG_FINE_SCALED] = "fine_calibrated",
    [BANG_OSE_SCALED] = "calibrated_ose",
    [BANG_OSE_SCALED_MEAN] = "calibrated_ose_probabilities",
};

const bang_role bang_joint_roles[DIAGNOSIS_JOINT] = {
    BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE, BANG_OSE_SCALED,
};

int bang_quantity_roles(bang_quantity quantity, bang_role *first, bang_role *second)
{
    static const bang_role roles[BANG_QUANTITIES][2] = {
        [BANG_Q_AVG_PRE] = {BANG_AVG, BANG_PRE},
        [BANG_Q_AVG_FINE] = {BANG_AVG, BANG_FINE},
        [BANG_Q_AVG_OSE] = {BANG_AVG, BANG_OSE},
        [BANG_Q_FINE_PRE] = {BANG_FINE, BANG_PRE},
        [BANG_Q_OSE_PRE] = {BANG_OSE, BANG_PRE},
        [BANG_Q_OSE_FINE] = {BANG_OSE, BANG_FINE},
        [BANG_Q_SCALED_OSE] = {BANG_OSE_SCALED, BANG_OSE},
        [BANG_Q_AVG_SCALED] = {BANG_AVG, BANG_OSE_SCALED},
    };
    if (quantity < BANG_Q_AVG_PRE || quantity > BANG_Q_AVG_SCALED)
        return -1;
    *first = roles[quantity][0];
    *second = roles[quantity][1];
    return 0;
}

/* (a - b)/total, exact but for the division. */
static double difference(size_t a, size_t b, size_t total)
{
    if (total == 0)
        return NAN;
    return a >= b ? (double)(a - b) / (double)total : -((double)(b - a) / (double)total);
}

double bang_improve_contribution(size_t pre, size_t fine, size_t avg, size_t total)
{
    return difference(avg, pre > fine ? pre : fine, total);
}

void bang_group_quantities(double out[BANG_QUANTITIES], const size_t groups[BANG_GROUPS])
{
    const size_t *g = groups;
    size_t n = 0;
    for (int i = 0; i < BANG_GROUPS; i++)
        n += g[i];
    /* Right ones on TT+FF, of PM and FM alike, and on TF+FT. */
    size_t same = g[BANG_TTT] + g[BANG_TTF], same_avg = g[BANG_TTT] + g[BANG_FFT];
    size_t pre = g[BANG_TFT] + g[BANG_TFF], fine = g[BANG_FTT] + g[BANG_FTF];
    size_t avg = g[BANG_TFT] + g[BANG_FTT];
    out[BANG_Q_AVG_PRE] = difference(same_avg + avg, same + pre, n);
    out[BANG_Q_AVG_FINE] = difference(same_avg + avg, same + fine, n);
    out[BANG_Q_FINE_PRE] = difference(same + fine, same + pre, n);
    out[BANG_Q_ALL] = bang_improve_contribution(same + pre, same + fine, same_avg + avg, n);
    out[BANG_Q_TT_FF] = bang_improve_contribution(same, same, same_avg, n);
    out[BANG_Q_TF_FT] = bang_improve_contribution(pre, fine, avg, n);
    out[BANG_Q_FFT] = difference(g[BANG_FFT], 0, n);
    out[BANG_Q_TTF] = difference(g[BANG_TTF], 0, n);
    out[BANG_Q_CORRECTED] = difference(g[BANG_TFT], 0, n);
}

void bang_joint_init(diagnosis_joint *out, const bang_tally *tally, const int *members,
                     size_t count)
{
    size_t of[DIAGNOSIS_KINDS] = {0};
    for (size_t p = 0; p < tally->pattern_count; p++) {
        uint32_t kind = 0;
        for (size_t i = 0; i < count; i++)
            if (members[i] >= 0)
                kind |= (uint32_t)(tally->patterns[p].right >> members[i] & 1) << i;
        of[kind] += tally->patterns[p].count;
    }
    out->kinds = out->total = 0;
    for (uint32_t kind = 0; kind < DIAGNOSIS_KINDS; kind++)
        if (of[kind] > 0) {
            out->right[out->kinds] = kind;
            out->count[out->kinds++] = of[kind];
            out->total += of[kind];
        }
}

void bang_joint_of_roles(diagnosis_joint *out, const bang_set_diagnosis *set)
{
    int members[DIAGNOSIS_JOINT];
    for (size_t i = 0; i < DIAGNOSIS_JOINT; i++)
        members[i] = set->member[bang_joint_roles[i]];
    bang_joint_init(out, set->tally, members, DIAGNOSIS_JOINT);
}

void bang_joint_quantities(double out[BANG_QUANTITIES], const diagnosis_joint *joint,
                           const size_t *counts, int scaled)
{
    /* Where the bits of PM, FM and AM lead; a bit is set when the model is right. */
    static const int group_of[8] = {BANG_FFF, BANG_TFF, BANG_FTF, BANG_TTF,
                                    BANG_FFT, BANG_TFT, BANG_FTT, BANG_TTT};
    size_t groups[BANG_GROUPS] = {0}, right[DIAGNOSIS_JOINT] = {0}, n = joint->total;
    for (size_t k = 0; k < joint->kinds; k++) {
        groups[group_of[joint->right[k] & 7]] += counts[k];
        for (size_t i = 0; i < DIAGNOSIS_JOINT; i++)
            right[i] += (joint->right[k] >> i & 1) * counts[k];
    }
    for (size_t i = 0; i < DIAGNOSIS_JOINT; i++)
        if (bang_joint_roles[i] != BANG_OSE_SCALED || scaled)
            out[BANG_Q_ACCURACY + bang_joint_roles[i]] = difference(right[i], 0, n);
    bang_group_quantities(out, groups);
    out[BANG_Q_AVG_OSE] = difference(right[2], right[3], n);
    out[BANG_Q_OSE_PRE] = difference(right[3], right[0], n);
    out[BANG_Q_OSE_FINE] = difference(right[3], right[1], n);
    if (scaled) {
        out[BANG_Q_SCALED_OSE] = difference(right[4], right[3], n);
        out[BANG_Q_AVG_SCALED] = difference(right[2], right[4], n);
    }
}

/* Rows that both get right, only the first, only the second, none. */
static void count_pair(size_t out[4], const bang_tally *tally, int first, int second)
{
    memset(out, 0, 4 * sizeof *out);
    for (size_t p = 0; p < tally->pattern_count; p++) {
        uint64_t right = tally->patterns[p].right;
        int wrong = (int)(~right >> first & 1) << 1 | (int)(~right >> second & 1);
        out[wrong] += tally->patterns[p].count;
    }
}

bang_mcnemar bang_members_mcnemar(const bang_tally *tally, int first, int second)
{
    if (first < 0 || second < 0 || !tally->labelled)
        return (bang_mcnemar){.p = NAN, .mid_p = NAN, .chi_squared = NAN};
    size_t pair[4];
    count_pair(pair, tally, first, second);
    return bang_mcnemar_test(pair[1], pair[2]);
}

bang_mcnemar bang_diagnosis_mcnemar(const bang_set_diagnosis *set, bang_role first,
                                    bang_role second)
{
    return bang_members_mcnemar(set->tally, set->member[first], set->member[second]);
}

static bang_diversity diversity_of(const bang_set_diagnosis *set, bang_role first, bang_role second)
{
    const bang_tally *tally = set->tally;
    int a = set->member[first], b = set->member[second];
    size_t pair[4], at = (size_t)a * tally->member_count + (size_t)b;
    double n = (double)tally->counted;
    bang_diversity out = {
        .agreement = (double)tally->agree[at] / n,
        .disagreement = (double)(tally->counted - tally->agree[at]) / n,
        .both_wrong = NAN,
        .same_mistake = NAN,
        .error_correlation = NAN,
        .mcnemar = bang_diagnosis_mcnemar(set, first, second),
    };
    if (!tally->labelled)
        return out;
    count_pair(pair, tally, a, b);
    out.both_wrong = (double)pair[3] / n;
    out.same_mistake = (double)tally->same_mistake[at] / n;
    out.error_correlation = bang_error_correlation(pair[0], pair[1], pair[2], pair[3]);
    return out;
}

void bang_diagnosis_diversity(bang_set_diagnosis *set)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            set->diversity[i][j] = diversity_of(set, (bang_role)i, (bang_role)j);
}
