/* What a user may say a model learned: two models from two lines of text. A
 * problem that is accepted must hold together and give scores. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/theory/theory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_score(const bang_theory_score *score)
{
    if (!isfinite(score->invariant))
        abort();
    for (size_t g = 0; g < score->group_count; g++)
        if (score->groups[g].count < 1 || score->groups[g].coefficient == 0 ||
            (g > 0 && score->groups[g].coefficient <= score->groups[g - 1].coefficient))
            abort();
}

static void try_models(const char *first, const char *second)
{
    bang_theory_problem problem;
    bang_theory_score score;
    bang_error err = {0};
    bang_theory_problem_init(&problem, 3, 0.9);
    if (bang_theory_add_model(&problem, first, &err) == 0 &&
        bang_theory_add_model(&problem, second, &err) == 0 &&
        bang_theory_check(&problem, &err) == 0) {
        if (bang_theory_shared(&problem, 0, 1) > bang_theory_shared(&problem, 0, 0))
            abort();
        if (bang_theory_score_ose(&score, &problem, &err) < 0)
            abort();
        check_score(&score);
        bang_theory_score_release(&score);
        if (bang_theory_score_wse(&score, &problem, &err) < 0)
            abort();
        check_score(&score);
        bang_theory_score_release(&score);
    } else if (err.code >= 0 || !err.message[0]) {
        abort();
    }
    bang_theory_problem_release(&problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    char *second = strchr(text, '\n');
    if (second)
        *second++ = '\0';
    try_models(text, second ? second : text);
    free(text);
    return 0;
}
