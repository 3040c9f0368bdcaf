/* Exact accuracy for few groups of any size, by generating functions.
 *
 * Let the group sizes be Poisson with means lambda_g. Then the counts of all
 * classes are independent and the accuracy is a sum over one variable,
 *
 *     H(lambda) = sum_t P(S_1 = t) F_t,   S_k = sum_g c_g Poisson(lambda_g q_k),
 *
 * q_1 = q, q_k = p/K otherwise, where F_t is the chance that K-1 independent
 * copies of S_2 stay below V + t. With A = P(S_2 < V+t), B = P(S_2 = V+t) the
 * tie rule gives F_t = ((A+B)^K - A^K) / (K B), and F_t = A^(K-1) if B = 0.
 * What is wanted is the accuracy at the sizes n_g themselves:
 *
 *     G = prod_g n_g! [lambda_g^n_g]  exp(sum_g lambda_g) H(lambda),
 *
 * the coefficient taken with M_g nodes lambda_g = n_g exp(i theta) on a circle.
 * There all terms are Poisson probabilities times phases, so nothing overflows
 * and sums are accurate to rounding; M_g ~ 9 sqrt(n_g) makes the aliased mass
 * less than 1e-18. Terms a_g, r_g > n_g do not reach the coefficient and are
 * left out. K enters only through a power.
 *
 * What is summed is the loss 1-G: its terms vanish where the true class is
 * sure to win, and such t are dropped. Nodes far from theta = 0 are dropped
 * when a bound of their contribution is below 1e-17; for large K few are left.
 *
 * With noise tau, A becomes sum_a P(S_2 = a) Phi((u-a)/tau) and t becomes an
 * integral over u = V + t + tau z (trapezoid); see points.c.
 */
#include <math.h>
#include <string.h>

#include "theory/complex.h"
#include "theory/exact.h"
#include "theory/levels.h"
#include "theory/points.h"

enum { MAX_CIRCLES = 16, DIRECT_CLASSES = 12 };

/* One group: its Poisson probabilities and the roots of unity of its nodes. */
typedef struct circle {
    int64_t n;
    size_t nodes;                /* M */
    complex_pair *root;          /* (nodes) exp(2 pi i j / M) */
    int64_t same_low, same_high; /* where Poisson(n q) lives, at most n */
    int64_t other_low, other_high;
    double *same, *other; /* their probabilities */
    double inverse_peak;  /* 1 / P(Poisson(n) = n) ~ sqrt(2 pi n) */
} circle;

typedef struct generating {
    const exact_case *c;
    size_t circles;
    circle circle[MAX_CIRCLES];
    level_set wrong, right; /* values of S_2 and of V + S_1 */
    point_set points;
    double scale;     /* prod of inverse_peak / nodes */
    double max_decay; /* nodes with a larger decay are dropped */
    complex_pair *wrong_fold[MAX_CIRCLES + 1], *right_fold[MAX_CIRCLES + 1];
    complex_pair *pmf; /* one group's probabilities times phases */
    size_t node[MAX_CIRCLES];
} generating;

/* log of P(Poisson(n) = n + shift) / P(Poisson(n) = n) */
static double log_ratio(double n, double shift)
{
    return shift * log(n) + lgamma(n + 1) - lgamma(n + shift + 1);
}

/* Nodes so that n + M and n - M hold less than 1e-18 of the mass at n. */
static size_t choose_nodes(int64_t n)
{
    double x = (double)n, limit = log(1e-18), low = 1, high = 64 + 12 * sqrt(x);
    while (high - low > 0.5) {
        double middle = 0.5 * (low + high);
        int fine = log_ratio(x, middle) < limit && (middle > x || log_ratio(x, -middle) < limit);
        if (fine)
            high = middle;
        else
            low = middle;
    }
    return (size_t)ceil(high);
}

/* The stretch around the mean of Poisson(mean) outside which less than limit
 * lies, cut at n. Chernoff: P(X >= k), P(X <= k) <= exp(k - mean - k log(k/mean)). */
static void poisson_stretch(int64_t *low, int64_t *high, double mean, int64_t n, double limit)
{
    double bound = log(limit), span = 4 + 12 * sqrt(mean) + 2 * mean;
    double inside = mean, outside = mean + fmax(span, 60 - 2 * bound);
    while (outside - inside > 0.5) {
        double k = 0.5 * (inside + outside);
        if (k - mean - k * log(k / mean) < bound)
            outside = k;
        else
            inside = k;
    }
    *high = outside < (double)n ? (int64_t)ceil(outside) : n;
    inside = mean;
    outside = 0;
    while (inside - outside > 0.5 && -mean < bound) {
        double k = 0.5 * (inside + outside);
        if (k - mean - k * log(k / mean) < bound)
            outside = k;
        else
            inside = k;
    }
    *low = (int64_t)floor(outside);
    if (*low > *high)
        *low = *high;
}

/* P(Poisson(mean) = k) for low <= k <= high, by recurrence from the largest
 * one, whose own value follows from Stirling's series: near the bulk every
 * value is then good to a few roundings, which exp(k log mean - mean -
 * lgamma(k+1)) would not be. */
static void poisson_table(double *out, double mean, int64_t low, int64_t high)
{
    double mode = fmin(fmax(floor(mean), (double)low), (double)high);
    double value;
    if (mode < 16) {
        value = exp(-mean);
        for (double k = 1; k <= mode; k++)
            value *= mean / k;
    } else {
        double d = (mean - mode) / mode, i = 1 / (mode * mode);
        double series = (1.0 / 12 - i * (1.0 / 360 - i * (1.0 / 1260 - i / 1680))) / mode;
        value = exp(mode * (log1p(d) - d) - series) / sqrt(2 * acos(-1.0) * mode);
    }
    size_t at = (size_t)((int64_t)mode - low), count = (size_t)(high - low + 1);
    out[at] = value;
    for (size_t j = at; j + 1 < count; j++)
        out[j + 1] = out[j] * mean / (double)(low + (int64_t)j + 1);
    for (size_t j = at; j > 0; j--)
        out[j - 1] = out[j] * (double)(low + (int64_t)j) / mean;
}

static void choose_stretches(circle *o, const exact_case *c, const bang_theory_group *group,
                             double limit)
{
    double n = (double)group->count;
    o->n = group->count;
    o->nodes = choose_nodes(o->n);
    poisson_stretch(&o->same_low, &o->same_high, n * c->same, o->n, limit);
    poisson_stretch(&o->other_low, &o->other_high, n * c->other, o->n, limit);
}

/* What may be lost per tail: amplified by at most K-1 and prod sqrt(2 pi n). */
static double tail_limit(const exact_case *c)
{
    double limit = 1e-20 / (double)c->classes;
    for (size_t g = 0; g < c->group_count; g++)
        limit /= sqrt(2 * acos(-1.0) * (double)c->groups[g].count);
    return limit;
}

static int setup_circle(circle *o, const exact_case *c, const bang_theory_group *group,
                        bang_arena *arena)
{
    choose_stretches(o, c, group, tail_limit(c));
    double n = (double)o->n, peak;
    o->root = bang_arena_alloc(arena, o->nodes, sizeof *o->root);
    o->same = bang_arena_alloc(arena, (size_t)(o->same_high - o->same_low + 1), sizeof *o->same);
    o->other =
        bang_arena_alloc(arena, (size_t)(o->other_high - o->other_low + 1), sizeof *o->other);
    if (!o->root || !o->same || !o->other)
        return -1;
    for (size_t j = 0; j < o->nodes; j++) {
        double angle = 2 * acos(-1.0) * (double)j / (double)o->nodes;
        o->root[j] = (complex_pair){cos(angle), sin(angle)};
    }
    poisson_table(o->same, n * c->same, o->same_low, o->same_high);
    poisson_table(o->other, n * c->other, o->other_low, o->other_high);
    poisson_table(&peak, n, o->n, o->n);
    o->inverse_peak = 1 / peak;
    return 0;
}

/* pmf[a - low] = p_a exp(i a theta_j); the phase index a j mod M is exact. */
static void phased(complex_pair *pmf, const circle *o, size_t j, const double *p, int64_t low,
                   int64_t high)
{
    size_t at = (size_t)low % o->nodes * j % o->nodes;
    for (int64_t a = low; a <= high; a++) {
        double value = p[a - low];
        pmf[a - low] = (complex_pair){value * o->root[at].re, value * o->root[at].im};
        at += j;
        if (at >= o->nodes)
            at -= o->nodes;
    }
}

static void fold(complex_pair *out, const complex_pair *in, const complex_pair *pmf,
                 const level_step *step)
{
    memset(out, 0, step->count * sizeof *out);
    for (size_t i = 0; i < step->previous; i++) {
        const uint32_t *next = step->next + i * step->range;
        complex_pair x = in[i];
        for (size_t a = 0; a < step->range; a++) {
            complex_pair *to = &out[next[a]];
            to->re += x.re * pmf[a].re - x.im * pmf[a].im;
            to->im += x.re * pmf[a].im + x.im * pmf[a].re;
        }
    }
}

/* full^(K-1) - F for one t: the loss. full = sum of all probabilities of S_2
 * at this node; over = those >= V+t, above = those > V+t (equal when there is
 * no tie). */
typedef struct tail {
    complex_pair full, log_full;
    complex_pair over, above;
    int tie;
} tail;

static complex_pair loss_direct(const tail *t, int64_t classes)
{
    complex_pair below = complex_sub(t->full, t->over), power = {1, 0}, full = {1, 0};
    complex_pair sum = {1, 0}, upto = complex_sub(t->full, t->above);
    for (int64_t k = 1; k < classes; k++) {
        full = complex_mul(full, t->full);
        power = complex_mul(power, t->tie ? upto : below);
        sum = complex_mul(sum, below); /* sum_{j<=k} upto^j below^(k-j) */
        if (t->tie)
            sum = complex_add(sum, power);
    }
    if (t->tie)
        sum = complex_scale(sum, 1 / (double)classes);
    return complex_sub(full, sum);
}

/* log(full - part), through log1p where part is small so that the error of the
 * power (K-1) log stays at rounding level for any K. */
static complex_pair log_without(const tail *t, complex_pair part)
{
    double size = complex_norm(t->full);
    if (complex_norm(part) < 0.25 * size) {
        complex_pair ratio = complex_div(part, t->full);
        complex_pair minus = {-ratio.re, -ratio.im};
        return complex_add(t->log_full, complex_log1p(minus));
    }
    return complex_log(complex_sub(t->full, part));
}

static complex_pair loss_by_logs(const tail *t, double classes)
{
    complex_pair whole = complex_exp(complex_scale(t->log_full, classes - 1));
    complex_pair below = complex_sub(t->full, t->over);
    if (!t->tie) {
        if (below.re == 0 && below.im == 0)
            return whole;
        complex_pair log_below = log_without(t, t->over);
        complex_pair gain = complex_scale(complex_sub(log_below, t->log_full), classes - 1);
        if (complex_norm(whole) > 0 && gain.re < 30)
            return complex_scale(complex_mul(whole, complex_expm1(gain)), -1);
        return complex_sub(whole, complex_exp(complex_scale(log_below, classes - 1)));
    }
    /* F = base^(K-1) ((1+u)^K - 1)/(K u), base the larger of A and A+B */
    complex_pair upto = complex_sub(t->full, t->above);
    complex_pair at = complex_sub(t->over, t->above);
    int from_below = complex_norm(below) >= complex_norm(upto);
    complex_pair base = from_below ? below : upto;
    if (base.re == 0 && base.im == 0)
        return whole;
    complex_pair u = complex_div(from_below ? at : complex_scale(at, -1), base);
    complex_pair factor = {1, 0};
    if (u.re != 0 || u.im != 0)
        factor = complex_div(complex_expm1(complex_scale(complex_log1p(u), classes)),
                             complex_scale(u, classes));
    complex_pair log_base = log_without(t, from_below ? t->over : t->above);
    complex_pair f = complex_mul(complex_exp(complex_scale(log_base, classes - 1)), factor);
    return complex_sub(whole, f);
}

/* The loss at one node: sum over the points of P(S_1) times loss. */
static complex_pair node_loss(generating *s)
{
    const complex_pair *right = s->right_fold[s->circles];
    complex_pair *wrong = s->wrong_fold[s->circles]; /* becomes its suffix sums */
    const point_set *points = &s->points;
    tail t = {0};
    for (size_t g = 0; g < s->circles; g++) {
        double mean = (double)s->circle[g].n * s->c->other;
        complex_pair root = s->circle[g].root[s->node[g]];
        t.log_full.re -= mean * (1 - root.re);
        t.log_full.im += mean * root.im;
    }
    t.full = complex_exp(t.log_full);
    complex_pair *suffix = points->suffix;
    suffix[s->wrong.count] = (complex_pair){0, 0};
    for (size_t i = s->wrong.count; i-- > 0;)
        suffix[i] = complex_add(suffix[i + 1], wrong[i]);
    complex_pair sum = {0, 0};
    for (size_t i = 0; i < points->count; i++) {
        const point *p = &points->points[i];
        complex_pair weight = {0, 0};
        for (size_t j = 0; j < p->right_count; j++)
            weight =
                complex_add(weight, complex_scale(right[p->right_first + j], p->right_weight[j]));
        t.above = suffix[p->wrong_first + p->wrong_count];
        t.over = t.above;
        for (size_t j = 0; j < p->wrong_count; j++)
            t.over =
                complex_add(t.over, complex_scale(wrong[p->wrong_first + j], p->wrong_weight[j]));
        t.tie = p->tie;
        complex_pair loss = s->c->classes <= DIRECT_CLASSES
                                ? loss_direct(&t, s->c->classes)
                                : loss_by_logs(&t, (double)s->c->classes);
        sum = complex_add(sum, complex_mul(weight, loss));
    }
    return sum;
}

/* Sums Re(loss exp(-i n theta)) over the nodes of circles g, g+1, ...; the
 * folds of the circles before are in place. The first circle needs only half
 * of its nodes, the others being conjugates. */
static double sum_nodes(generating *s, size_t g, double decay, double weight)
{
    if (g == s->circles) {
        complex_pair loss = node_loss(s);
        for (size_t i = 0; i < s->circles; i++) {
            const circle *o = &s->circle[i];
            size_t at = (size_t)o->n % o->nodes * s->node[i] % o->nodes;
            complex_pair back = {o->root[at].re, -o->root[at].im};
            loss = complex_mul(loss, back);
        }
        return weight * loss.re;
    }
    const circle *o = &s->circle[g];
    size_t last = g == 0 ? o->nodes / 2 : o->nodes - 1;
    double sum = 0;
    for (size_t j = 0; j <= last; j++) {
        double here = decay + (double)o->n * s->c->other * (1 - o->root[j].re);
        if (here > s->max_decay)
            continue;
        s->node[g] = j;
        phased(s->pmf, o, j, o->other, o->other_low, o->other_high);
        fold(s->wrong_fold[g + 1], s->wrong_fold[g], s->pmf, &s->wrong.steps[g]);
        phased(s->pmf, o, j, o->same, o->same_low, o->same_high);
        fold(s->right_fold[g + 1], s->right_fold[g], s->pmf, &s->right.steps[g]);
        int alone = g > 0 || j == 0 || 2 * j == o->nodes;
        sum += sum_nodes(s, g + 1, here, alone ? weight : 2 * weight);
        if (bang_cancelled(s->c->options->cancel))
            return NAN;
    }
    return sum;
}

/* The real probabilities, at theta = 0, tell which points and nodes matter. */
static void real_fold(double *out, const level_set *levels, const generating *s, int same,
                      double *scratch)
{
    out[0] = 1;
    for (size_t g = 0; g < levels->step_count; g++) {
        const level_step *step = &levels->steps[g];
        const double *p = same ? s->circle[g].same : s->circle[g].other;
        memset(scratch, 0, step->count * sizeof *scratch);
        for (size_t i = 0; i < step->previous; i++)
            for (size_t a = 0; a < step->range; a++)
                scratch[step->next[i * step->range + a]] += out[i] * p[a];
        memcpy(out, scratch, step->count * sizeof *scratch);
    }
}

/* At a node with |full| = exp(-decay): |A| <= min(1 - w, |full| + w), w the
 * real tail, and likewise |A+B|, so the node's loss is at most this. */
static double node_bound(const generating *s, double decay)
{
    double full = exp(-decay), power = (double)(s->c->classes - 1), sum = 0;
    for (size_t i = 0; i < s->points.count; i++) {
        const point *p = &s->points.points[i];
        double most = fmin(1 - p->real_above, full + p->real_over);
        sum += p->real_weight * (pow(full, power) + pow(fmax(most, 0), power));
    }
    return sum;
}

static void choose_max_decay(generating *s)
{
    double limit = 1e-17, most = 1;
    for (size_t g = 0; g < s->circles; g++) {
        limit /= s->circle[g].inverse_peak;
        most += 2 * (double)s->circle[g].n * s->c->other;
    }
    s->max_decay = most;
    if (node_bound(s, most) > limit)
        return;
    double low = 0;
    for (int i = 0; i < 24; i++) {
        double middle = 0.5 * (low + s->max_decay);
        if (node_bound(s, middle) > limit)
            low = middle;
        else
            s->max_decay = middle;
    }
}

static size_t longest(const level_set *levels)
{
    size_t most = 1;
    for (size_t g = 0; g < levels->step_count; g++) {
        const level_step *step = &levels->steps[g];
        most = step->count > most ? step->count : most;
        most = step->range > most ? step->range : most;
    }
    return most;
}

static int setup(generating *s, bang_arena *arena, bang_error *err)
{
    const exact_case *c = s->c;
    int64_t low[2][MAX_CIRCLES], high[2][MAX_CIRCLES];
    s->circles = c->group_count;
    s->scale = 1;
    for (size_t g = 0; g < s->circles; g++) {
        circle *o = &s->circle[g];
        if (setup_circle(o, c, &c->groups[g], arena) < 0)
            return bang_fail_memory(err);
        low[0][g] = o->other_low;
        high[0][g] = o->other_high;
        low[1][g] = o->same_low;
        high[1][g] = o->same_high;
        s->scale *= o->inverse_peak / (double)o->nodes;
    }
    int rc =
        levels_build(&s->wrong, c->groups, s->circles, low[0], high[0], c->tolerance, arena, err);
    if (rc == 0)
        rc = levels_build(&s->right, c->groups, s->circles, low[1], high[1], c->tolerance, arena,
                          err);
    if (rc < 0)
        return rc;
    size_t most = longest(&s->wrong) + longest(&s->right);
    double *real = bang_arena_alloc(arena, 3 * most, sizeof *real);
    s->pmf = bang_arena_alloc(arena, most, sizeof *s->pmf);
    for (size_t g = 0; g <= s->circles; g++) {
        s->wrong_fold[g] = bang_arena_alloc(arena, longest(&s->wrong), sizeof *s->wrong_fold[g]);
        s->right_fold[g] = bang_arena_alloc(arena, longest(&s->right), sizeof *s->right_fold[g]);
        if (!s->wrong_fold[g] || !s->right_fold[g])
            return bang_fail_memory(err);
    }
    if (!real || !s->pmf)
        return bang_fail_memory(err);
    s->wrong_fold[0][0] = s->right_fold[0][0] = (complex_pair){1, 0};
    real_fold(real, &s->wrong, s, 0, real + 2 * most);
    real_fold(real + most, &s->right, s, 1, real + 2 * most);
    double limit = 1e-18;
    for (size_t g = 0; g < s->circles; g++)
        limit /= s->circle[g].inverse_peak;
    rc = points_build(&s->points, c, &s->wrong, real, &s->right, real + most, limit, arena, err);
    if (rc == 0)
        choose_max_decay(s);
    return rc;
}

int generating_accuracy(double *out, const exact_case *c, bang_error *err)
{
    bang_arena arena = {0};
    generating s = {.c = c};
    int rc = setup(&s, &arena, err);
    if (rc == 0) {
        double loss = s.points.count ? s.scale * sum_nodes(&s, 0, 0, 1) : 0;
        if (isnan(loss))
            rc = bang_fail(err, BANG_ECANCELLED, "interrupted");
        *out = 1 - loss;
    }
    bang_arena_release(&arena);
    return rc;
}

/* Nodes times what one costs: the fold of the last circle and the points. */
double generating_cost(const exact_case *c)
{
    if (c->group_count > MAX_CIRCLES)
        return INFINITY;
    double limit = tail_limit(c), nodes = 0.5, wrong_fold = 1, right_fold = 1;
    int64_t low[2][MAX_CIRCLES], high[2][MAX_CIRCLES];
    for (size_t g = 0; g < c->group_count; g++) {
        circle o = {0};
        choose_stretches(&o, c, &c->groups[g], limit);
        low[0][g] = o.other_low;
        high[0][g] = o.other_high;
        low[1][g] = o.same_low;
        high[1][g] = o.same_high;
        /* for large K only about 20 nodes around 0 survive */
        nodes *= c->classes > 100 ? fmin(24, (double)o.nodes) : (double)o.nodes;
        if (g + 1 == c->group_count) {
            wrong_fold =
                levels_bound(c->groups, g, low[0], high[0]) * (double)(high[0][g] - low[0][g] + 1);
            right_fold =
                levels_bound(c->groups, g, low[1], high[1]) * (double)(high[1][g] - low[1][g] + 1);
        }
    }
    if (wrong_fold + right_fold > 2e8) /* memory */
        return INFINITY;
    double points = levels_bound(c->groups, c->group_count, low[1], high[1]);
    if (c->noise > 0)
        points *= 60;
    double power = c->classes <= DIRECT_CLASSES ? 4e-9 * (double)c->classes : 2e-7;
    return nodes * (2e-9 * (wrong_fold + right_fold) + power * points);
}
