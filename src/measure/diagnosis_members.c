/* What is scored on a set: one member of the tally for everything that differs. */
#include <string.h>

#include "measure/diagnosis.h"

/* The same file may be the average and the average at 1/2: it is read once. */
static size_t source_of(diagnosis_members *all, const bang_logits *logits)
{
    for (size_t i = 0; i < all->source_count; i++) {
        const bang_logits *known = &all->sources[i];
        if (known->table == logits->table && known->columns == logits->columns &&
            known->probabilities == logits->probabilities)
            return i;
    }
    all->sources[all->source_count] = *logits;
    return all->source_count++;
}

/* Parts with a share of 0 are left out: at alpha 0 an ensemble is PM itself. */
static bang_member mix_of(const double share[2], const double scale[2], int probabilities)
{
    bang_member mix = {0};
    for (size_t m = 0; m < 2; m++)
        if (share[m] != 0)
            mix.parts[mix.part_count++] = (bang_member_part){m, scale[m], share[m]};
    mix.probabilities = probabilities && mix.part_count > 1;
    return mix;
}

static bang_member single(size_t source, double scale)
{
    return (bang_member){.part_count = 1, .parts = {{source, scale, 1}}};
}

static int same_member(const bang_member *a, const bang_member *b)
{
    if (a->part_count != b->part_count || a->probabilities != b->probabilities)
        return 0;
    for (size_t i = 0; i < a->part_count; i++)
        if (a->parts[i].source != b->parts[i].source || a->parts[i].scale != b->parts[i].scale ||
            a->parts[i].share != b->parts[i].share)
            return 0;
    return 1;
}

static int append(diagnosis_members *all, bang_member member)
{
    all->of[all->count] = member;
    return (int)all->count++;
}

/* A member that is there already is not scored twice. */
static int obtain(diagnosis_members *all, bang_member member)
{
    for (size_t m = 0; m < all->count; m++)
        if (same_member(&all->of[m], &member))
            return (int)m;
    return append(all, member);
}

static void add_roles(diagnosis_members *all, const bang_diagnosis_set *set, const double share[2],
                      const double *temperature)
{
    const double plain[2] = {1, 1};
    int *role = all->role;
    for (int r = 0; r < BANG_ROLES; r++)
        role[r] = -1;
    /* Groups are told by members 0, 1 and 2, so these are there even where they are equal. */
    all->sources[0] = set->pre;
    all->sources[1] = set->fine;
    all->source_count = 2;
    role[BANG_PRE] = append(all, single(0, 1));
    role[BANG_FINE] = append(all, single(1, 1));
    bang_member ose = mix_of(share, plain, 0);
    role[BANG_AVG] = append(all, set->avg.table ? single(source_of(all, &set->avg), 1) : ose);
    role[BANG_OSE] = set->avg.table ? obtain(all, ose) : role[BANG_AVG];
    for (int r = BANG_PRE; r <= BANG_OSE; r++)
        all->of[role[r]].equal_mass = 1;
    /* less than nothing of a model's probabilities is no probability */
    int is_mean = share[0] >= 0 && share[1] >= 0;
    if (is_mean)
        role[BANG_OSE_MEAN] = obtain(all, mix_of(share, plain, 1));
    if (!temperature)
        return;
    const double scale[2] = {1 / temperature[0], 1 / temperature[1]};
    role[BANG_PRE_SCALED] = obtain(all, single(0, scale[0]));
    role[BANG_FINE_SCALED] = obtain(all, single(1, scale[1]));
    role[BANG_OSE_SCALED] = obtain(all, mix_of(share, scale, 0));
    if (is_mean)
        role[BANG_OSE_SCALED_MEAN] = obtain(all, mix_of(share, scale, 1));
}

static void add_wse(diagnosis_members *all, double alpha, int member)
{
    all->alpha[all->wse_count] = alpha;
    all->wse[all->wse_count++] = member;
}

static void add_averages(diagnosis_members *all, const bang_diagnosis_set *set,
                         const bang_diagnosis_options *o)
{
    if (!set->at || o->alpha_count == 0)
        return;
    if (o->alphas[0] > 0)
        add_wse(all, 0, all->role[BANG_PRE]);
    for (size_t i = 0; i < o->alpha_count; i++)
        add_wse(all, o->alphas[i], obtain(all, single(source_of(all, &set->at[i]), 1)));
    if (o->alphas[o->alpha_count - 1] < 1)
        add_wse(all, 1, all->role[BANG_FINE]);
}

void bang_diagnosis_members(diagnosis_members *out, const bang_diagnosis_set *set,
                            const bang_diagnosis_options *options, const double *temperature)
{
    /* halves: a sum of large weights stays finite */
    const double *w = options->weights, half = w[0] / 2 + w[1] / 2;
    const double share[2] = {w[0] / 2 / half, w[1] / 2 / half};
    memset(out, 0, sizeof *out);
    add_roles(out, set, share, temperature);
    add_averages(out, set, options);
    for (size_t i = 0; i < options->ose_count; i++) {
        const double a = options->ose_alphas[i], plain[2] = {1, 1};
        const double at[2] = {1 - a, a};
        out->ose[i] = obtain(out, mix_of(at, plain, 0));
    }
    for (size_t i = 0; i < out->wse_count; i++) {
        out->beside[i] = share[1] == out->alpha[i] ? out->role[BANG_OSE] : -1;
        for (size_t k = 0; k < options->ose_count; k++)
            if (options->ose_alphas[k] == out->alpha[i])
                out->beside[i] = out->ose[k];
    }
}
