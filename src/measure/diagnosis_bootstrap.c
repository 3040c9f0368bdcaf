/* Intervals by drawing every set again.
 *
 * A replicate of a set needs counts of rows by which models are right, no rows. With a
 * member for every alpha there may be as many such patterns as rows, and a draw costs one
 * binomial number for each. But an interval needs only what stands in its own quantity to be
 * drawn together:
 *
 *     differences and groups     PM, FM, AM, OSE and the calibrated OSE: at most 32 kinds
 *     accuracy of one member     right or wrong: one binomial number
 *     average less OSE           only one of the two, or the other, is right: three kinds
 *     costs of chosen alphas     the at most five that the rules choose: at most 32 kinds
 *
 * So patterns are collapsed to these, each drawn from a stream of its own; every interval has
 * the distribution that drawing rows would give it, and time does not grow with the rows.
 * A member that stands in two places has one draw and one interval. A temperature changes
 * no prediction, so a model at its own has the draws of the model.
 *
 * A stream is named by set, draw and replicate, and replicate r is written to place r: no
 * result depends on the threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/diagnosis.h"

/* A task is this many replicates: some milliseconds. */
enum { CHUNK = 512 };

/* What is drawn: the roles, the chosen alphas, or ONE + m: member m alone, or TWO + i: average i
 * and the OSE at its alpha. */
enum { ROLES, CHOSEN, ONE, TWO = ONE + BANG_MEMBERS_MAX };

typedef struct bootstrap {
    const diagnosis_run *run;
    size_t replicates;
    double *values; /* (BANG_QUANTITIES, replicates) of set s */
    double *ood;    /* (BANG_QUANTITIES, replicates) sums over OOD sets */
    size_t s;
    int in_ood; /* s is one of them */
    diagnosis_joint joint;
    size_t alone_count;
    int alone[BANG_MEMBERS_MAX]; /* members that have no role */
    bang_interval of_alone[BANG_MEMBERS_MAX];
} bootstrap;

static void start_stream(bang_random *random, const diagnosis_run *run, size_t s, int draw,
                         size_t replicate)
{
    uint64_t stream = (uint64_t)s << 48 | (uint64_t)draw << 32 | (uint64_t)replicate;
    bang_random_init(random, run->options->seed, BANG_PURPOSE('b', 'o', 'o', 't'), stream);
}

/* Accuracy of member m by itself in a replicate. */
static double draw_one(const diagnosis_run *run, size_t s, int m, size_t replicate)
{
    const bang_tally *tally = run->out->sets[s].tally;
    double n = (double)tally->counted;
    bang_random random;
    start_stream(&random, run, s, ONE + m, replicate);
    double p = (double)tally->of[m].right / n;
    return (double)bang_random_binomial(&random, (int64_t)tally->counted, p) / n;
}

/* What average i has more than the OSE at its alpha in a replicate. */
static double draw_two(const diagnosis_run *run, size_t s, size_t i, size_t replicate)
{
    const bang_set_diagnosis *set = &run->out->sets[s];
    const bang_mcnemar *test = &set->wse[i].against_ose;
    size_t n = set->tally->counted, drawn[3];
    const size_t counts[3] = {test->b, test->c, n - test->b - test->c};
    bang_random random;
    start_stream(&random, run, s, TWO + (int)i, replicate);
    bang_resample(drawn, counts, 3, &random);
    return ((double)drawn[0] - (double)drawn[1]) / (double)n;
}

/* All resamples of what is always right, or always wrong, are the same: the exact interval. */
static void widen(bang_interval *interval, size_t right, size_t counted, double level)
{
    double power = log((1 - level) / 2) / (double)counted;
    if (right == counted)
        interval->low = exp(power);
    else if (right == 0)
        interval->high = -expm1(power);
}

/* The role whose draw is that of role r, too; r itself where it is drawn alone. */
static bang_role drawn_with(const bang_set_diagnosis *set, bang_role r)
{
    if (r == BANG_PRE_SCALED)
        return BANG_PRE;
    if (r == BANG_FINE_SCALED)
        return BANG_FINE;
    for (size_t i = 0; i < DIAGNOSIS_JOINT; i++)
        if (set->member[bang_joint_roles[i]] == set->member[r])
            return bang_joint_roles[i];
    return r;
}

static void draw_replicate(double out[BANG_QUANTITIES], const bootstrap *b, size_t replicate)
{
    const bang_set_diagnosis *set = &b->run->out->sets[b->s];
    size_t drawn[DIAGNOSIS_KINDS];
    bang_random random;
    start_stream(&random, b->run, b->s, ROLES, replicate);
    bang_resample(drawn, b->joint.count, b->joint.kinds, &random);
    for (int q = 0; q < BANG_QUANTITIES; q++)
        out[q] = NAN;
    bang_joint_quantities(out, &b->joint, drawn, set->member[BANG_OSE_SCALED] >= 0);
    for (int r = BANG_OSE_MEAN; r < BANG_ROLES; r++) {
        if (set->member[r] < 0 || r == BANG_OSE_SCALED)
            continue;
        bang_role with = drawn_with(set, (bang_role)r);
        out[BANG_Q_ACCURACY + r] = with != (bang_role)r
                                       ? out[BANG_Q_ACCURACY + with]
                                       : draw_one(b->run, b->s, set->member[r], replicate);
    }
}

static int draw_chunk(void *context, size_t index, int worker, bang_error *err)
{
    const bootstrap *b = context;
    size_t end = (index + 1) * CHUNK < b->replicates ? (index + 1) * CHUNK : b->replicates;
    (void)worker, (void)err;
    for (size_t r = index * CHUNK; r < end; r++) {
        double value[BANG_QUANTITIES];
        draw_replicate(value, b, r);
        for (size_t q = 0; q < BANG_QUANTITIES; q++) {
            b->values[q * b->replicates + r] = value[q];
            if (b->in_ood)
                b->ood[q * b->replicates + r] += value[q];
        }
    }
    return 0;
}

/* Intervals of the set's quantities, then of members that stand alone. */
static int find_interval(void *context, size_t index, int worker, bang_error *err)
{
    bootstrap *b = context;
    double level = b->run->options->level;
    bang_set_diagnosis *set = &b->run->out->sets[b->s];
    (void)worker;
    if (index < BANG_QUANTITIES) {
        bang_estimate *e = &set->of[index];
        if (isnan(e->value))
            return 0;
        e->interval = bang_interval_of(b->values + index * b->replicates, b->replicates, level);
        if (index < BANG_Q_ACCURACY + BANG_ROLES)
            widen(&e->interval, set->tally->of[set->member[index - BANG_Q_ACCURACY]].right,
                  set->tally->counted, level);
        return 0;
    }
    size_t i = index - BANG_QUANTITIES, place = i - b->alone_count;
    if (i >= b->alone_count && b->run->members[b->s].beside[place] < 0)
        return 0;
    double *values = malloc(b->replicates * sizeof *values);
    if (!values)
        return bang_fail_memory(err);
    if (i < b->alone_count) {
        for (size_t r = 0; r < b->replicates; r++)
            values[r] = draw_one(b->run, b->s, b->alone[i], r);
        b->of_alone[i] = bang_interval_of(values, b->replicates, level);
        widen(&b->of_alone[i], set->tally->of[b->alone[i]].right, set->tally->counted, level);
    } else {
        for (size_t r = 0; r < b->replicates; r++)
            values[r] = draw_two(b->run, b->s, place, r);
        set->wse[place].minus_ose.interval = bang_interval_of(values, b->replicates, level);
    }
    free(values);
    return 0;
}

/* A difference of two roles has one interval, wherever it stands. */
static void share_interval(bang_alpha_score *score, const bang_set_diagnosis *set, int average,
                           int ose)
{
    for (int q = BANG_Q_AVG_PRE; q <= BANG_Q_AVG_SCALED; q++) {
        bang_role first, second;
        bang_quantity_roles((bang_quantity)q, &first, &second);
        if (set->member[first] == average && set->member[second] == ose)
            score->minus_ose.interval = set->of[q].interval;
    }
}

static int find_ood_interval(void *context, size_t index, int worker, bang_error *err)
{
    bootstrap *b = context;
    bang_diagnosis *d = b->run->out;
    double *column = b->ood + index * b->replicates;
    (void)worker, (void)err;
    if (isnan(d->ood[index].value))
        return 0;
    for (size_t r = 0; r < b->replicates; r++)
        column[r] /= (double)d->ood_count;
    d->ood[index].interval = bang_interval_of(column, b->replicates, b->run->options->level);
    return 0;
}

static int has_role(const bang_set_diagnosis *set, int m, int *role)
{
    for (int r = 0; r < BANG_ROLES; r++)
        if (set->member[r] == m) {
            *role = r;
            return 1;
        }
    return 0;
}

static void stand_alone(bootstrap *b)
{
    const diagnosis_members *members = &b->run->members[b->s];
    int role;
    b->alone_count = 0;
    for (int m = 0; m < (int)members->count; m++)
        if (!has_role(&b->run->out->sets[b->s], m, &role))
            b->alone[b->alone_count++] = m;
}

/* The interval of a member's accuracy, wherever it was drawn. */
static bang_interval interval_of_member(const bootstrap *b, int m)
{
    const bang_set_diagnosis *set = &b->run->out->sets[b->s];
    int role;
    if (has_role(set, m, &role))
        return set->of[BANG_Q_ACCURACY + role].interval;
    size_t i = 0;
    while (b->alone[i] != m)
        i++;
    return b->of_alone[i];
}

static int bootstrap_set(bootstrap *b, bang_error *err)
{
    const bang_diagnosis_options *o = b->run->options;
    bang_set_diagnosis *set = &b->run->out->sets[b->s];
    const diagnosis_members *members = &b->run->members[b->s];
    b->in_ood = b->s != o->id;
    bang_joint_of_roles(&b->joint, set);
    stand_alone(b);
    int rc = bang_parallel_for((b->replicates + CHUNK - 1) / CHUNK, o->threads, draw_chunk, b,
                               o->cancel, err);
    if (rc == 0)
        rc = bang_parallel_for(BANG_QUANTITIES + b->alone_count + set->wse_count, o->threads,
                               find_interval, b, o->cancel, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < set->wse_count; i++) {
        set->wse[i].accuracy.interval = interval_of_member(b, members->wse[i]);
        share_interval(&set->wse[i], set, members->wse[i], members->beside[i]);
    }
    for (size_t i = 0; i < o->ose_count; i++)
        set->ose[i].accuracy.interval = interval_of_member(b, members->ose[i]);
    return 0;
}

int bang_diagnosis_bootstrap(const diagnosis_run *run, bang_error *err)
{
    const bang_diagnosis *d = run->out;
    bootstrap b = {.run = run, .replicates = run->options->replicates};
    int rc = 0;
    if (b.replicates == 0)
        return 0;
    b.values = calloc(b.replicates * BANG_QUANTITIES, sizeof *b.values);
    b.ood = calloc(b.replicates * BANG_QUANTITIES, sizeof *b.ood);
    if (!b.values || !b.ood)
        rc = bang_fail_memory(err);
    for (b.s = 0; b.s < d->set_count && rc == 0; b.s++)
        if (d->sets[b.s].tally->labelled)
            rc = bootstrap_set(&b, err);
    if (rc == 0 && d->ood_count > 0)
        rc = bang_parallel_for(BANG_QUANTITIES, run->options->threads, find_ood_interval, &b,
                               run->options->cancel, err);
    free(b.values);
    free(b.ood);
    return rc;
}

typedef struct chosen_draws {
    const diagnosis_run *run;
    size_t replicates, count;
    diagnosis_joint *joints; /* (sets) of the chosen alphas, of choice sets */
    double *values;          /* (count, replicates) mean accuracies */
} chosen_draws;

static void draw_chosen(double *accuracy, const chosen_draws *c, size_t replicate)
{
    const bang_diagnosis *d = c->run->out;
    for (size_t i = 0; i < c->count; i++)
        accuracy[i] = 0;
    for (size_t s = 0; s < d->set_count; s++) {
        if (!bang_diagnosis_is_choice_set(d, s))
            continue;
        const diagnosis_joint *joint = &c->joints[s];
        size_t drawn[DIAGNOSIS_KINDS], right[DIAGNOSIS_JOINT] = {0};
        bang_random random;
        start_stream(&random, c->run, s, CHOSEN, replicate);
        bang_resample(drawn, joint->count, joint->kinds, &random);
        for (size_t k = 0; k < joint->kinds; k++)
            for (size_t i = 0; i < c->count; i++)
                right[i] += (joint->right[k] >> i & 1) * drawn[k];
        for (size_t i = 0; i < c->count; i++)
            accuracy[i] += (double)right[i] / (double)joint->total;
    }
    for (size_t i = 0; i < c->count; i++)
        accuracy[i] /= (double)d->choice_sets;
}

static int draw_chosen_chunk(void *context, size_t index, int worker, bang_error *err)
{
    const chosen_draws *c = context;
    size_t end = (index + 1) * CHUNK < c->replicates ? (index + 1) * CHUNK : c->replicates;
    (void)worker, (void)err;
    for (size_t r = index * CHUNK; r < end; r++) {
        double accuracy[DIAGNOSIS_JOINT];
        draw_chosen(accuracy, c, r);
        for (size_t i = 0; i < c->count; i++)
            c->values[i * c->replicates + r] = accuracy[i];
    }
    return 0;
}

static void join_chosen(chosen_draws *c, const size_t *chosen)
{
    const bang_diagnosis *d = c->run->out;
    for (size_t s = 0; s < d->set_count; s++) {
        int members[DIAGNOSIS_JOINT];
        if (!bang_diagnosis_is_choice_set(d, s))
            continue;
        for (size_t i = 0; i < c->count; i++)
            members[i] = c->run->members[s].wse[chosen[i]];
        bang_joint_init(&c->joints[s], d->sets[s].tally, members, c->count);
    }
}

int bang_diagnosis_bootstrap_choices(bang_interval *accuracy, bang_interval *cost,
                                     const diagnosis_run *run, const size_t *chosen, size_t count,
                                     bang_error *err)
{
    const bang_diagnosis_options *o = run->options;
    size_t n = o->replicates;
    chosen_draws c = {.run = run, .replicates = n, .count = count};
    double *lack = calloc(n, sizeof *lack);
    c.values = calloc(n * DIAGNOSIS_JOINT, sizeof *c.values);
    c.joints = calloc(run->out->set_count, sizeof *c.joints);
    int rc = lack && c.values && c.joints ? 0 : bang_fail_memory(err);
    if (rc < 0)
        goto done;
    join_chosen(&c, chosen);
    rc = bang_parallel_for((n + CHUNK - 1) / CHUNK, o->threads, draw_chosen_chunk, &c, o->cancel,
                           err);
    if (rc < 0)
        goto done;
    /* From the last: sorting the first, the oracle's, would undo the pairing. */
    for (size_t i = count; i-- > 0;) {
        const double *mine = c.values + i * n;
        for (size_t r = 0; r < n; r++)
            lack[r] = c.values[r] - mine[r];
        cost[i] = bang_interval_of(lack, n, o->level);
        accuracy[i] = bang_interval_of(c.values + i * n, n, o->level);
    }
done:
    free(lack);
    free(c.values);
    free(c.joints);
    return rc;
}
