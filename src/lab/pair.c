#include "lab/pair.h"

#include <stdio.h>

/* The score of one member; the caller releases it. */
static int pair_score(bang_theory_score *out, const int64_t n[6], double scale, double alpha,
                      int64_t classes, double shift, double sigma, pair_member member,
                      bang_error *err)
{
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, classes, shift);
    problem.sigma = sigma;
    int rc = 0;
    for (int m = 0; m < 2 && rc == 0; m++) {
        char text[48];
        snprintf(text, sizeof text, "%lld,%lld", (long long)n[2 * m], (long long)n[2 * m + 1]);
        rc = bang_theory_add_model(&problem, text, err);
    }
    if (rc == 0)
        rc = bang_theory_set_overlap(&problem, n[4], n[5], err);
    problem.scales[1] = scale;
    problem.weights[0] = 1 - alpha;
    problem.weights[1] = alpha;
    if (rc == 0)
        rc = member == PAIR_OSE   ? bang_theory_score_ose(out, &problem, err)
             : member == PAIR_WSE ? bang_theory_score_wse(out, &problem, err)
                                  : bang_theory_score_single(out, &problem, (int)member, err);
    bang_theory_problem_release(&problem);
    return rc;
}

int pair_predict(pair_accuracy *out, const int64_t n[6], double scale, double alpha,
                 int64_t classes, double shift, double sigma, pair_member member, bang_error *err)
{
    bang_theory_score score;
    bang_theory_value value;
    *out = (pair_accuracy){0};
    int rc = pair_score(&score, n, scale, alpha, classes, shift, sigma, member, err);
    if (rc < 0)
        return rc;
    rc = bang_theory_exact(&value, &score, classes, shift, NULL, err);
    if (rc == 0) {
        out->exact = value.accuracy;
        out->gaussian = bang_theory_gaussian(&score, classes, shift);
        out->argument = bang_theory_gaussian_argument(&score, shift);
    }
    bang_theory_score_release(&score);
    return rc;
}

int pair_polynomial(char **out, const int64_t n[6], double scale, int64_t classes,
                    pair_member member, bang_error *err)
{
    bang_theory_score score;
    int rc = pair_score(&score, n, scale, 0.5, classes, 0.5, 0, member, err);
    if (rc < 0)
        return rc;
    rc = bang_theory_polynomial(out, &score, classes, err);
    bang_theory_score_release(&score);
    return rc;
}
