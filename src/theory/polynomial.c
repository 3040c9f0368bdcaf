/* G as an exact polynomial in p, in integers (GMP).
 *
 * series.c in whole numbers: with exponential convolution
 *     (f * g)_i = sum_a C(i,a) f_a g_(i-a)
 * the coefficient of x^m in F_T, times prod m_g!, counts the ways to spread
 * the m_g moved features over K-1 classes so that the true class wins, a tie
 * with N classes counting 1/(N+1) (K times the count is whole). Hence
 *
 *     G(p) = K^-(n+1) sum_R E_R (K - (K-1)p)^R p^(n-R),
 *
 * E_R = K sum over r with sum r_g = R of prod C(n_g,r_g) count(r). Only the
 * order of logits matters, so the coefficients c_g may be any real numbers.
 */
#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/theory/theory.h"
#include "theory/gmp_run.h"

enum { MAX_GROUPS = 24 };
static const double MAX_WORK = 4e8; /* products of whole numbers: about a minute */

typedef struct counting {
    const bang_theory_score *score;
    int64_t classes;
    size_t terms, total; /* prod (n_g+1), sum n_g */
    size_t stride[MAX_GROUPS], degree[MAX_GROUPS];
    mpz_t *binomials[MAX_GROUPS]; /* (n_g+1, n_g+1) */
    double *value;                /* (terms) sum c_g a_g */
    double tolerance;
    mpz_t *a, *b, *sum, *power_a, *power_b, *work; /* (terms), one after the other */
    mpz_t *by_kept;                                /* (total+1) E_R */
    mpz_t product;
} counting;

/* They go when the work with GMP ends (gmp_run.h), as does every number here. */
static mpz_t *new_numbers(size_t count)
{
    mpz_t *numbers = theory_gmp_alloc(count ? count : 1, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        mpz_init(numbers[i]);
    return numbers;
}

static void copy(const counting *s, mpz_t *to, mpz_t *from)
{
    for (size_t i = 0; i < s->terms; i++)
        mpz_set(to[i], from[i]);
}

/* work += left * right, one group after the other; factor is the product of
 * the binomials of the groups before. */
static void add_product(counting *s, size_t g, size_t left, size_t right, mpz_t *x, mpz_t *y,
                        const mpz_t factor)
{
    if (g == s->score->group_count) {
        if (mpz_sgn(x[left]) == 0 || mpz_sgn(y[right]) == 0)
            return;
        mpz_mul(s->product, x[left], y[right]);
        mpz_mul(s->product, s->product, factor);
        mpz_add(s->work[left + right], s->work[left + right], s->product);
        return;
    }
    size_t n = s->degree[g];
    mpz_t next;
    mpz_init(next);
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; i + j <= n; j++) {
            mpz_mul(next, factor, s->binomials[g][(i + j) * (n + 1) + i]);
            add_product(s, g + 1, left + i * s->stride[g], right + j * s->stride[g], x, y, next);
        }
    mpz_clear(next);
}

static void clear_work(counting *s)
{
    for (size_t i = 0; i < s->terms; i++)
        mpz_set_ui(s->work[i], 0);
}

static void multiply(counting *s, mpz_t *target, mpz_t *factor)
{
    mpz_t unit;
    mpz_init_set_ui(unit, 1);
    clear_work(s);
    add_product(s, 0, 0, 0, target, factor, unit);
    copy(s, target, s->work);
    mpz_clear(unit);
}

/* sum = sum_{j<K} b^j a^(K-1-j) by doubling, as in series.c; without ties
 * a = b and this is K a^(K-1). */
static void tie_sum(counting *s)
{
    int bit = 62;
    while (!(s->classes >> bit & 1))
        bit--;
    for (size_t i = 0; i < s->terms; i++)
        mpz_set_ui(s->sum[i], i == 0);
    copy(s, s->power_a, s->a);
    copy(s, s->power_b, s->b);
    mpz_t unit;
    mpz_init_set_ui(unit, 1);
    while (bit-- > 0) {
        clear_work(s);
        add_product(s, 0, 0, 0, s->sum, s->power_a, unit);
        add_product(s, 0, 0, 0, s->sum, s->power_b, unit);
        copy(s, s->sum, s->work);
        multiply(s, s->power_a, s->power_a);
        multiply(s, s->power_b, s->power_b);
        if (s->classes >> bit & 1) {
            multiply(s, s->sum, s->a);
            for (size_t i = 0; i < s->terms; i++)
                mpz_add(s->sum[i], s->sum[i], s->power_b[i]);
            multiply(s, s->power_a, s->a);
            multiply(s, s->power_b, s->b);
        }
    }
    mpz_clear(unit);
}

/* Adds the outcomes in which index r keeps its class to by_kept[sum r_g]. */
static void collect(counting *s, size_t r)
{
    size_t kept = 0;
    mpz_set(s->product, s->sum[s->terms - 1 - r]);
    for (size_t g = 0; g < s->score->group_count; g++) {
        size_t n = s->degree[g], digit = r / s->stride[g] % (n + 1);
        kept += digit;
        mpz_mul(s->product, s->product, s->binomials[g][n * (n + 1) + digit]);
    }
    mpz_add(s->by_kept[kept], s->by_kept[kept], s->product);
}

/* Every r whose level is new computes its series; later ones of the same level
 * reuse it, so the levels are visited in turn. */
static void count_outcomes(counting *s, unsigned char *done)
{
    for (size_t r = 0; r < s->terms; r++) {
        if (done[r])
            continue;
        double target = s->score->invariant + s->value[r];
        int any = 0;
        for (size_t i = 0; i < s->terms; i++) {
            double margin = target - s->value[i];
            mpz_set_ui(s->a[i], margin > s->tolerance);
            mpz_set_ui(s->b[i], margin >= -s->tolerance);
            any |= margin >= -s->tolerance;
        }
        if (any)
            tie_sum(s);
        for (size_t i = r; i < s->terms; i++)
            if (!done[i] && fabs(s->value[i] - s->value[r]) <= s->tolerance) {
                done[i] = 1;
                if (any)
                    collect(s, i);
            }
    }
}

/* C(i, j) for 0 <= j <= i <= n_g, group by group. */
static void setup_binomials(counting *s)
{
    for (size_t g = 0; g < s->score->group_count; g++) {
        size_t n = s->degree[g];
        mpz_t *at = s->binomials[g] = new_numbers((n + 1) * (n + 1));
        for (size_t i = 0; i <= n; i++)
            for (size_t j = 0; j <= i; j++)
                mpz_bin_uiui(at[i * (n + 1) + j], i, j);
    }
}

static void setup(counting *s)
{
    s->terms = 1;
    double size = fabs(s->score->invariant);
    for (size_t g = s->score->group_count; g-- > 0;) {
        size_t n = (size_t)s->score->groups[g].count;
        s->stride[g] = s->terms;
        s->degree[g] = n;
        s->terms *= n + 1;
        s->total += n;
        size += fabs(s->score->groups[g].coefficient) * (double)n;
    }
    s->tolerance = 1e-14 * size;
    setup_binomials(s);
    s->a = new_numbers(6 * s->terms);
    s->b = s->a + s->terms;
    s->sum = s->b + s->terms;
    s->power_a = s->sum + s->terms;
    s->power_b = s->power_a + s->terms;
    s->work = s->power_b + s->terms;
    s->by_kept = new_numbers(s->total + 1);
    s->value = theory_gmp_alloc(s->terms, sizeof *s->value);
    for (size_t i = 0; i < s->terms; i++)
        for (size_t g = 0; g < s->score->group_count; g++)
            s->value[i] +=
                s->score->groups[g].coefficient * (double)(i / s->stride[g] % (s->degree[g] + 1));
    mpz_init(s->product);
}

static int check_size(const bang_theory_score *score, int64_t classes, bang_error *err)
{
    double terms = 1, pairs = 1;
    for (size_t g = 0; g < score->group_count; g++) {
        double n = (double)score->groups[g].count;
        terms *= n + 1;
        pairs *= 0.5 * (n + 1) * (n + 2);
    }
    if (score->group_count > MAX_GROUPS ||
        terms * pairs * (2 + 4 * log2((double)classes)) > MAX_WORK)
        return bang_fail(err, BANG_EUSAGE,
                         "polynomial: too many spurious features for exact rationals: leave "
                         "--polynomial out or take smaller models");
    if (score->noise > 0)
        return bang_fail(err, BANG_EUSAGE,
                         "polynomial: exists only in the small-noise limit: use --sigma 0");
    return 0;
}

/* G = sum_i coefficients[i] p^i / denominator. coefficients holds total+1
 * initialised numbers. */
static void expand(counting *s, mpz_t *coefficients, mpz_t denominator)
{
    mpz_t term;
    mpz_init(term);
    mpz_ui_pow_ui(denominator, (unsigned long)s->classes, s->total + 1);
    for (size_t kept = 0; kept <= s->total; kept++)
        for (size_t i = 0; i <= kept; i++) {
            /* E_R C(R,i) K^(R-i) (-(K-1))^i p^(i+n-R) */
            mpz_ui_pow_ui(term, (unsigned long)s->classes - 1, i);
            mpz_mul(term, term, s->by_kept[kept]);
            mpz_t other;
            mpz_init(other);
            mpz_bin_uiui(other, kept, i);
            mpz_mul(term, term, other);
            mpz_ui_pow_ui(other, (unsigned long)s->classes, kept - i);
            mpz_mul(term, term, other);
            mpz_clear(other);
            mpz_t *to = &coefficients[i + s->total - kept];
            if (i % 2)
                mpz_sub(*to, *to, term);
            else
                mpz_add(*to, *to, term);
        }
    mpz_clear(term);
}

/* The coefficients of G, *count numbers; denominator is initialised by the caller. */
static int polynomial_coefficients(mpz_t **out, size_t *count, mpz_t denominator,
                                   const bang_theory_score *score, int64_t classes, bang_error *err)
{
    int rc = check_size(score, classes, err);
    if (rc < 0)
        return rc;
    counting s = {.score = score, .classes = classes};
    setup(&s);
    *count = s.total + 1;
    *out = new_numbers(*count);
    count_outcomes(&s, theory_gmp_alloc(s.terms, 1));
    expand(&s, *out, denominator);
    return 0;
}

/* What is asked, and what comes of it. */
typedef struct question {
    const bang_theory_score *score;
    int64_t classes, numerator, denominator;
    bang_text text;
    double value;
} question;

/* " - 4/81 p^4": the sign stands apart except in front. */
static void add_term(bang_text *text, const mpq_t coefficient, size_t power)
{
    int sign = mpq_sgn(coefficient);
    if (sign == 0)
        return;
    mpq_t size;
    mpq_init(size);
    mpq_abs(size, coefficient);
    char *digits = mpq_get_str(NULL, 10, size);
    const char *lead = text->size == 0 ? (sign < 0 ? "-" : "") : (sign < 0 ? " - " : " + ");
    bang_text_add(text, "%s", lead);
    int unit = mpq_cmp_ui(size, 1, 1) == 0;
    if (power == 0 || !unit)
        bang_text_add(text, "%s%s", digits, power ? " " : "");
    if (power == 1)
        bang_text_add(text, "p");
    else if (power > 1)
        bang_text_add(text, "p^%zu", power);
    mpq_clear(size);
}

static int write_polynomial(void *context, bang_error *err)
{
    question *q = context;
    mpz_t *coefficients = NULL, denominator;
    size_t count = 0;
    mpz_init(denominator);
    int rc = polynomial_coefficients(&coefficients, &count, denominator, q->score, q->classes, err);
    mpq_t term;
    mpq_init(term);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        mpz_set(mpq_numref(term), coefficients[i]);
        mpz_set(mpq_denref(term), denominator);
        mpq_canonicalize(term);
        add_term(&q->text, term, i);
    }
    if (rc == 0 && q->text.size == 0)
        bang_text_add(&q->text, "0");
    return rc == 0 && q->text.failed ? bang_fail_memory(err) : rc;
}

int bang_theory_polynomial(char **out, const bang_theory_score *score, int64_t classes,
                           bang_error *err)
{
    question q = {.score = score, .classes = classes};
    int rc = theory_gmp_run(write_polynomial, &q, err);
    if (rc < 0)
        bang_text_release(&q.text);
    *out = q.text.data;
    return rc;
}

static int evaluate(void *context, bang_error *err)
{
    question *q = context;
    mpz_t *coefficients = NULL, common;
    size_t count = 0;
    mpz_init(common);
    int rc = polynomial_coefficients(&coefficients, &count, common, q->score, q->classes, err);
    mpq_t sum, p, term;
    mpq_inits(sum, p, term, NULL);
    mpq_set_si(p, (long)q->numerator, (unsigned long)q->denominator);
    mpq_canonicalize(p);
    for (size_t i = count; rc == 0 && i-- > 0;) { /* Horner */
        mpz_set(mpq_numref(term), coefficients[i]);
        mpz_set_ui(mpq_denref(term), 1);
        mpq_mul(sum, sum, p);
        mpq_add(sum, sum, term);
    }
    mpz_set(mpq_numref(term), common);
    mpz_set_ui(mpq_denref(term), 1);
    if (rc == 0) {
        mpq_div(sum, sum, term);
        q->value = mpq_get_d(sum);
    }
    return rc;
}

int bang_theory_exact_rational(double *out, const bang_theory_score *score, int64_t classes,
                               int64_t numerator, int64_t denominator, bang_error *err)
{
    question q = {
        .score = score, .classes = classes, .numerator = numerator, .denominator = denominator};
    if (denominator <= 0)
        return bang_fail(err, BANG_EUSAGE, "denominator %lld: must be positive",
                         (long long)denominator);
    int rc = theory_gmp_run(evaluate, &q, err);
    if (rc == 0)
        *out = q.value;
    return rc;
}
