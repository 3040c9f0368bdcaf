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
 * With two circles or more, the inner one is done by a fast Fourier transform
 * over its nodes for all levels at once, unless few of them are left. The nodes
 * of the outer circle are shared out between threads and summed in order.
 *
 * With noise tau, A becomes sum_a P(S_2 = a) Phi((u-a)/tau) and t becomes an
 * integral over u = V + t + tau z (trapezoid); see points.c.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "theory/circle.h"
#include "theory/complex.h"
#include "theory/exact.h"
#include "theory/fourier.h"
#include "theory/levels.h"
#include "theory/loss.h"
#include "theory/points.h"

enum { MAX_CIRCLES = 16, THREADS_WORTH = 5 /* milliseconds */ };

typedef struct generating {
    const exact_case *c;
    size_t circles;
    circle circle[MAX_CIRCLES];
    level_set wrong, right; /* values of S_2 and of V + S_1 */
    point_set points;
    double scale;           /* prod of inverse_peak / nodes */
    double max_decay;       /* nodes with a larger decay are dropped */
    struct walker *walkers; /* (threads) */
    double *sums;           /* (nodes of the outer circle) */
    atomic_size_t done;
} generating;

/* What one thread needs to walk through nodes: fold g holds the probabilities
 * of the levels of the first g groups at the present node. */
typedef struct walker {
    const generating *s;
    complex_pair *wrong[MAX_CIRCLES + 1], *right[MAX_CIRCLES + 1];
    complex_pair *wrong_table, *right_table; /* (nodes of the last circle, levels) */
    complex_pair *pmf;                       /* one group's probabilities times phases */
    complex_pair *suffix;                    /* (wrong levels + 1) */
    size_t node[MAX_CIRCLES];
} walker;

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

/* The loss at one node: sum over the points of P(S_1) times loss, turned back
 * by exp(-i n theta) for the coefficient. */
static double node_loss(walker *w, const complex_pair *wrong, const complex_pair *right)
{
    const generating *s = w->s;
    complex_pair *suffix = w->suffix, sum = {0, 0};
    tail t = {0};
    for (size_t g = 0; g < s->circles; g++) {
        double mean = (double)s->circle[g].n * s->c->other;
        complex_pair root = s->circle[g].root[w->node[g]];
        t.log_full.re -= mean * (1 - root.re);
        t.log_full.im += mean * root.im;
    }
    t.full = complex_exp(t.log_full);
    suffix[s->wrong.count] = (complex_pair){0, 0};
    for (size_t i = s->wrong.count; i-- > 0;)
        suffix[i] = complex_add(suffix[i + 1], wrong[i]);
    if (s->c->classes <= DIRECT_CLASSES) /* for huge n the phase of exp loses digits */
        t.full = suffix[0];
    for (size_t i = 0; i < s->points.count; i++) {
        const point *p = &s->points.points[i];
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
        sum = complex_add(sum, complex_mul(weight, tail_loss(&t, s->c->classes)));
    }
    for (size_t g = 0; g < s->circles; g++) {
        const circle *o = &s->circle[g];
        complex_pair root = o->root[(size_t)o->n % o->nodes * w->node[g] % o->nodes];
        sum = complex_mul(sum, (complex_pair){root.re, -root.im});
    }
    return sum.re;
}

/* How much |full| has decayed at node j of a circle, as an exponent. */
static double node_decay(const generating *s, size_t g, size_t j)
{
    return (double)s->circle[g].n * s->c->other * (1 - s->circle[g].root[j].re);
}

/* Folds node j of circle g into both level sets. */
static void fold_node(walker *w, size_t g, size_t j)
{
    const circle *o = &w->s->circle[g];
    w->node[g] = j;
    circle_phased(w->pmf, o, j, o->other, o->other_low, o->other_high);
    fold(w->wrong[g + 1], w->wrong[g], w->pmf, &w->s->wrong.steps[g]);
    circle_phased(w->pmf, o, j, o->same, o->same_low, o->same_high);
    fold(w->right[g + 1], w->right[g], w->pmf, &w->s->right.steps[g]);
}

/* table (nodes, levels): the fold of the last circle at all its nodes. The sum
 * over a with phase exp(i a theta_j) is a Fourier transform in a. */
static void fold_all(complex_pair *table, const complex_pair *in, const circle *o,
                     const level_step *step, const double *p)
{
    memset(table, 0, o->nodes * step->count * sizeof *table);
    for (size_t i = 0; i < step->previous; i++)
        for (size_t a = 0; a < step->range; a++) {
            size_t row = (size_t)(step->low + (int64_t)a) & (o->nodes - 1);
            complex_pair *to = &table[row * step->count + step->next[i * step->range + a]];
            to->re += in[i].re * p[a];
            to->im += in[i].im * p[a];
        }
    fourier_columns(table, o->nodes, step->count, o->root);
}

/* Is the transform cheaper than folding the nodes that are left one by one? */
static int transform_pays(const generating *s, size_t g, double decay)
{
    const level_step *wrong = &s->wrong.steps[g], *right = &s->right.steps[g];
    double left = 0, nodes = (double)s->circle[g].nodes;
    for (size_t j = 0; j < s->circle[g].nodes; j++)
        left += decay + node_decay(s, g, j) <= s->max_decay;
    double folding = (double)(wrong->previous * wrong->range + right->previous * right->range);
    return left * folding > 2 * nodes * log2(nodes) * (double)(wrong->count + right->count);
}

static double sum_last_circle(walker *w, size_t g, double decay)
{
    const generating *s = w->s;
    const circle *o = &s->circle[g];
    const level_step *wrong = &s->wrong.steps[g], *right = &s->right.steps[g];
    int all = w->wrong_table && transform_pays(s, g, decay);
    if (all) {
        fold_all(w->wrong_table, w->wrong[g], o, wrong, o->other);
        fold_all(w->right_table, w->right[g], o, right, o->same);
    }
    double sum = 0;
    for (size_t j = 0; j < o->nodes; j++) {
        if (decay + node_decay(s, g, j) > s->max_decay)
            continue;
        w->node[g] = j;
        if (!all)
            fold_node(w, g, j);
        sum +=
            all ? node_loss(w, w->wrong_table + j * wrong->count, w->right_table + j * right->count)
                : node_loss(w, w->wrong[g + 1], w->right[g + 1]);
    }
    return sum;
}

/* Sums the losses of all nodes of circle g and after; the folds of the circles
 * before are in place. */
static double sum_circles(walker *w, size_t g, double decay)
{
    const generating *s = w->s;
    if (g == s->circles)
        return node_loss(w, w->wrong[g], w->right[g]);
    if (g + 1 == s->circles)
        return sum_last_circle(w, g, decay);
    double sum = 0;
    for (size_t j = 0; j < s->circle[g].nodes; j++) {
        double here = decay + node_decay(s, g, j);
        if (here > s->max_decay || bang_cancelled(s->c->options->cancel))
            continue;
        fold_node(w, g, j);
        sum += sum_circles(w, g + 1, here);
    }
    return sum;
}

/* One node of the outer circle. Only half of them are walked: the others are
 * conjugates. */
static int outer_node(void *context, size_t j, int worker, bang_error *err)
{
    (void)err;
    generating *s = context;
    walker *w = &s->walkers[worker];
    size_t nodes = s->circle[0].nodes;
    double decay = node_decay(s, 0, j);
    if (decay <= s->max_decay) {
        fold_node(w, 0, j);
        double sum = sum_circles(w, 1, decay);
        s->sums[j] = j == 0 || 2 * j == nodes ? sum : 2 * sum;
    }
    bang_progress_step(s->c->options->progress, atomic_fetch_add(&s->done, 1) + 1, nodes / 2 + 1);
    return 0;
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

static int setup_walker(walker *w, const generating *s, bang_arena *arena)
{
    size_t wrong = longest(&s->wrong), right = longest(&s->right), last = s->circles - 1;
    w->s = s;
    w->pmf = bang_arena_alloc(arena, wrong + right, sizeof *w->pmf);
    w->suffix = bang_arena_alloc(arena, s->wrong.count + 1, sizeof *w->suffix);
    for (size_t g = 0; g <= s->circles; g++) {
        w->wrong[g] = bang_arena_alloc(arena, wrong, sizeof *w->wrong[g]);
        w->right[g] = bang_arena_alloc(arena, right, sizeof *w->right[g]);
        if (!w->wrong[g] || !w->right[g])
            return -1;
    }
    if (!w->pmf || !w->suffix)
        return -1;
    w->wrong[0][0] = w->right[0][0] = (complex_pair){1, 0};
    if (last > 0 && transform_pays(s, last, 0)) {
        size_t nodes = s->circle[last].nodes;
        w->wrong_table = bang_arena_alloc(arena, nodes * s->wrong.count, sizeof *w->pmf);
        w->right_table = bang_arena_alloc(arena, nodes * s->right.count, sizeof *w->pmf);
        if (!w->wrong_table || !w->right_table)
            return -1;
    }
    return 0;
}

static int setup(generating *s, bang_arena *arena, bang_error *err)
{
    const exact_case *c = s->c;
    int64_t low[2][MAX_CIRCLES], high[2][MAX_CIRCLES];
    s->circles = c->group_count;
    s->scale = 1;
    for (size_t g = 0; g < s->circles; g++) {
        circle *o = &s->circle[g];
        if (circle_setup(o, c, &c->groups[g], g > 0 && g + 1 == s->circles, arena) < 0)
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
    s->sums = bang_arena_alloc(arena, s->circle[0].nodes / 2 + 1, sizeof *s->sums);
    if (!real || !s->sums)
        return bang_fail_memory(err);
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

static int sum_outer_circle(double *loss, generating *s, bang_arena *arena, bang_error *err)
{
    int threads = s->c->options->threads > 0 ? s->c->options->threads : bang_threads_available();
    if (1e3 * generating_cost(s->c) < THREADS_WORTH)
        threads = 1;
    size_t count = s->circle[0].nodes / 2 + 1;
    s->walkers = bang_arena_alloc(arena, (size_t)threads, sizeof *s->walkers);
    for (int i = 0; i < threads; i++)
        if (!s->walkers || setup_walker(&s->walkers[i], s, arena) < 0)
            return bang_fail_memory(err);
    int rc = bang_parallel_for(count, threads, outer_node, s, s->c->options->cancel, err);
    *loss = 0;
    for (size_t j = 0; j < count; j++)
        *loss += s->scale * s->sums[j];
    return rc;
}

int generating_accuracy(double *out, const exact_case *c, bang_error *err)
{
    bang_arena arena = {0};
    generating s = {.c = c};
    double loss = 0;
    int rc = setup(&s, &arena, err);
    if (rc == 0 && s.points.count)
        rc = sum_outer_circle(&loss, &s, &arena, err);
    *out = 1 - loss;
    bang_arena_release(&arena);
    return rc;
}

/* One tail_loss. */
static double power_cost(const exact_case *c)
{
    return c->classes <= DIRECT_CLASSES ? 4e-9 * (double)c->classes : 2e-7;
}

/* Nodes times what one costs: the fold or transform of the last circle and the
 * points. *fold_size is the number of ways to reach a level. */
static double crude_cost(const exact_case *c, double *fold_size)
{
    if (c->group_count > MAX_CIRCLES)
        return INFINITY;
    double limit = circle_tail_limit(c), nodes = 0.5, folding = 0, transform = 0;
    int64_t low[2][MAX_CIRCLES] = {{0}}, high[2][MAX_CIRCLES] = {{0}};
    for (size_t g = 0; g < c->group_count; g++) {
        circle o = {0};
        int transformed = g > 0 && g + 1 == c->group_count;
        circle_choose(&o, c, &c->groups[g], transformed, limit);
        low[0][g] = o.other_low;
        high[0][g] = o.other_high;
        low[1][g] = o.same_low;
        high[1][g] = o.same_high;
        /* for large K only about 20 nodes around 0 survive */
        nodes *= c->classes > 100 ? fmin(24, (double)o.nodes) : (double)o.nodes;
        if (g + 1 < c->group_count)
            continue;
        transform = transformed && c->classes <= 100 ? 2 * log2((double)o.nodes) : INFINITY;
        for (int i = 0; i < 2; i++)
            folding +=
                levels_bound(c->groups, g, low[i], high[i]) * (double)(high[i][g] - low[i][g] + 1);
    }
    double wrong = levels_bound(c->groups, c->group_count, low[0], high[0]);
    double right = levels_bound(c->groups, c->group_count, low[1], high[1]);
    *fold_size = folding;
    if (folding > 1e8) /* memory: four bytes each */
        return INFINITY;
    double points = right, window = 1;
    if (c->noise > 0) { /* a grid of z, and all levels within reach of each point */
        double span = 1e-300;
        for (size_t g = 0; g < c->group_count; g++)
            span += fabs(c->groups[g].coefficient) * (double)(high[0][g] - low[0][g]);
        points *= 60;
        window = 1 + fmin(wrong, 20 * c->noise * wrong / span);
    }
    return nodes * (2e-9 * fmin(folding, transform * (wrong + right)) +
                    points * (power_cost(c) + 2e-9 * window));
}

double generating_cost(const exact_case *c)
{
    double ignored = 0;
    return crude_cost(c, &ignored);
}

/* Nodes of circle g and after that are not dropped. */
static double surviving_nodes(const generating *s, size_t g, double decay)
{
    if (g == s->circles)
        return 1;
    double sum = 0;
    for (size_t j = 0; j < s->circle[g].nodes; j++) {
        double here = decay + node_decay(s, g, j);
        if (here <= s->max_decay)
            sum += surviving_nodes(s, g + 1, here);
    }
    return sum;
}

/* The crude cost cannot know how many points and nodes are dropped; the setup
 * does, and is cheap beside what it may save. */
double generating_refined_cost(const exact_case *c)
{
    double all = 1, fold_size = 0;
    if (isinf(crude_cost(c, &fold_size)) || fold_size > 5e6)
        return INFINITY;
    bang_arena arena = {0};
    bang_error ignored = {0};
    generating s = {.c = c};
    int rc = setup(&s, &arena, &ignored);
    for (size_t g = 0; g < s.circles; g++)
        all *= (double)s.circle[g].nodes;
    double cost = INFINITY;
    if (rc == 0 && s.points.count == 0) {
        cost = 0;
    } else if (rc == 0 && all < 1e8) {
        double last = log2((double)s.circle[s.circles - 1].nodes);
        double node = 4e-9 * last * (double)(s.wrong.count + s.right.count);
        for (size_t i = 0; i < s.points.count; i++)
            node += power_cost(c) + 2e-9 * (double)(s.points.points[i].right_count +
                                                    s.points.points[i].wrong_count);
        cost = 0.5 * surviving_nodes(&s, 0, 0) * node;
    }
    bang_arena_release(&arena);
    return cost;
}
