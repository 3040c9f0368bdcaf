/* Why a ridge: in distribution every feature shows its class, so at small sigma
 * the training sample is linearly separable. Then scaling a separating W up
 * lowers the cross-entropy for ever and no finite minimiser exists; what a
 * solver returned would be an accident of its stopping rule. The ridge makes
 * the objective strongly convex: one minimiser, whatever the way to it.
 *
 * Why L-BFGS (Nocedal 1980): K*d unknowns make a Newton step costly, and the
 * objective is smooth and convex. The iteration ends when
 *
 *     max |gradient|  <=  1e-8 max(1, max |gradient at W = 0|),
 *
 * which by strong convexity bounds the distance to the minimiser by
 * ||gradient|| / ridge; so a ridge far below 1e-8 would again leave the choice
 * to the stopping rule. Not getting there is an error, never a result.
 */
#include "theory/logistic.h"

#include <math.h>
#include <string.h>

#include "theory/simulate_vector.h"

enum {
    HISTORY = 10,      /* pairs that the inverse Hessian is built from */
    ITERATIONS = 2000, /* typical: 20 to 100 */
    TRIALS = 60,       /* of one line search */
};

#define TOLERANCE 1e-8

double bang_logistic_scratch(double classes, double d)
{
    return (4 + 2 * HISTORY) * classes * d + classes;
}

double bang_logistic_loss(double *gradient, const bang_logistic_data *data, const double *w,
                          double *logits)
{
    size_t classes = data->classes, d = data->d, size = classes * d;
    double share = 1 / (double)data->n, loss = 0;
    for (size_t i = 0; i < size; i++)
        gradient[i] = data->ridge * w[i];
    for (size_t s = 0; s < data->n; s++) {
        if (s % 256 == 0 && bang_cancelled(data->cancel))
            return NAN;
        const double *x = data->x + s * d;
        size_t truth = data->y[s], top = 0;
        for (size_t k = 0; k < classes; k++) {
            logits[k] = vector_dot(w + k * d, x, d);
            top = logits[k] > logits[top] ? k : top;
        }
        /* The largest term is exp(0) = 1; kept apart, a loss far below 1 keeps
         * its digits, which the line search compares. */
        double largest = logits[top], rest = 0;
        loss += largest - logits[truth];
        for (size_t k = 0; k < classes; k++) {
            logits[k] = k == top ? 1 : exp(logits[k] - largest);
            rest += k == top ? 0 : logits[k];
        }
        loss += log1p(rest);
        for (size_t k = 0; k < classes; k++) {
            double residual = logits[k] / (1 + rest) - (k == truth);
            vector_add(gradient + k * d, share * residual, x, d);
        }
    }
    return loss * share + data->ridge / 2 * vector_dot(w, w, size);
}

/* The state of one minimisation; every vector is (K, d) flattened. */
typedef struct search {
    const bang_logistic_data *data;
    size_t size; /* K * d */
    double *w, *gradient;
    double *trial, *trial_gradient;
    double *direction;
    double *steps;             /* (HISTORY, size): s_i = w_{i+1} - w_i, a ring */
    double *changes;           /* (HISTORY, size): y_i = gradient_{i+1} - gradient_i */
    double curvature[HISTORY]; /* s_i'y_i */
    size_t pairs;              /* ever stored */
    double *logits;            /* (K) */
    double loss;
} search;

/* max |v_i|, or NaN where fmax would hide one. */
static double largest_entry(const double *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i]))
            return NAN;
        most = fmax(most, fabs(v[i]));
    }
    return most;
}

/* direction = -H gradient, H the inverse Hessian that the history implies (the
 * two-loop recursion; Nocedal and Wright, algorithm 7.4). */
static void find_direction(search *s)
{
    double weight[HISTORY];
    size_t size = s->size, kept = s->pairs < HISTORY ? s->pairs : HISTORY;
    for (size_t i = 0; i < size; i++)
        s->direction[i] = -s->gradient[i];
    for (size_t back = 1; back <= kept; back++) {
        size_t i = (s->pairs - back) % HISTORY;
        weight[i] = vector_dot(s->steps + i * size, s->direction, size) / s->curvature[i];
        vector_add(s->direction, -weight[i], s->changes + i * size, size);
    }
    if (kept) {
        size_t last = (s->pairs - 1) % HISTORY;
        const double *change = s->changes + last * size;
        double scale = s->curvature[last] / vector_dot(change, change, size);
        for (size_t i = 0; i < size; i++)
            s->direction[i] *= scale;
    }
    for (size_t back = kept; back >= 1; back--) {
        size_t i = (s->pairs - back) % HISTORY;
        double other = vector_dot(s->changes + i * size, s->direction, size) / s->curvature[i];
        vector_add(s->direction, weight[i] - other, s->steps + i * size, size);
    }
}

/* Finds a step along direction that meets the weak Wolfe conditions by
 * bisection, which always ends for a convex function; fills trial,
 * trial_gradient and *loss. Near the minimum the loss no longer resolves a
 * step, so it may rise by its own rounding and the slope decides alone.
 * Returns 0, or -1 when no step was found. */
static int search_line(search *s, double *loss)
{
    double slope = vector_dot(s->direction, s->gradient, s->size);
    double slack = 1e-12 * s->loss, low = 0, high = INFINITY;
    /* The first direction is the bare gradient: no step longer than 1, nor than
     * what the ridge alone would take back. */
    double step =
        s->pairs ? 1 : 1 / fmax(fmax(1, s->data->ridge), largest_entry(s->gradient, s->size));
    if (!(slope < 0))
        return -1;
    for (int trial = 0; trial < TRIALS; trial++) {
        for (size_t i = 0; i < s->size; i++)
            s->trial[i] = s->w[i] + step * s->direction[i];
        *loss = bang_logistic_loss(s->trial_gradient, s->data, s->trial, s->logits);
        double reached = vector_dot(s->direction, s->trial_gradient, s->size);
        if (!(*loss <= s->loss + 1e-4 * step * slope + slack) || reached > -0.9 * slope)
            high = step;
        else if (reached < 0.9 * slope)
            low = step;
        else
            return 0;
        step = isinf(high) ? 2 * step : (low + high) / 2;
    }
    return -1;
}

/* Moves to the trial point and remembers what the step taught. */
static void accept(search *s, double loss)
{
    size_t slot = s->pairs % HISTORY;
    double *step = s->steps + slot * s->size, *change = s->changes + slot * s->size;
    for (size_t i = 0; i < s->size; i++) {
        step[i] = s->trial[i] - s->w[i];
        change[i] = s->trial_gradient[i] - s->gradient[i];
    }
    s->curvature[slot] = vector_dot(step, change, s->size);
    if (s->curvature[slot] > 0) /* always, but for rounding */
        s->pairs++;
    memcpy(s->w, s->trial, s->size * sizeof *s->w);
    memcpy(s->gradient, s->trial_gradient, s->size * sizeof *s->gradient);
    s->loss = loss;
}

int bang_logistic_fit(double *w, const bang_logistic_data *data, double *scratch, bang_error *err)
{
    size_t size = data->classes * data->d;
    search s = {.data = data, .size = size, .w = w};
    s.gradient = scratch;
    s.trial = s.gradient + size;
    s.trial_gradient = s.trial + size;
    s.direction = s.trial_gradient + size;
    s.steps = s.direction + size;
    s.changes = s.steps + HISTORY * size;
    s.logits = s.changes + HISTORY * size;
    memset(w, 0, size * sizeof *w);
    s.loss = bang_logistic_loss(s.gradient, data, w, s.logits);
    double start = largest_entry(s.gradient, size), goal = TOLERANCE * fmax(1, start);
    for (int i = 0; i < ITERATIONS && isfinite(start) && isfinite(s.loss); i++) {
        if (largest_entry(s.gradient, size) <= goal)
            return 0;
        double loss;
        find_direction(&s);
        if (search_line(&s, &loss) < 0)
            break;
        accept(&s, loss);
    }
    if (bang_cancelled(data->cancel))
        return bang_fail(err, BANG_ECANCELLED, "logistic fit: cancelled");
    return bang_fail(err, BANG_EUSAGE,
                     "logistic fit: did not converge, largest gradient entry %.3g instead of %.3g: "
                     "use a larger ridge than %g",
                     largest_entry(s.gradient, size), goal, data->ridge);
}
