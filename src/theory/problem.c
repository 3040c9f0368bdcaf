#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/theory/theory.h"
#include "theory/sets.h"

enum { FORM_NONE, FORM_COUNTS, FORM_SETS };

void bang_theory_problem_init(bang_theory_problem *problem, int64_t classes, double shift)
{
    *problem = (bang_theory_problem){.classes = classes, .shift = shift};
    for (int m = 0; m < BANG_THEORY_MAX_MODELS; m++)
        problem->weights[m] = problem->scales[m] = problem->heads[m] = 1;
}

void bang_theory_problem_release(bang_theory_problem *problem)
{
    if (problem->sets)
        for (int m = 0; m < BANG_THEORY_MAX_MODELS; m++)
            for (int kind = 0; kind < FEATURE_KINDS; kind++)
                index_set_release(&problem->sets->of[m][kind]);
    free(problem->sets);
    free(problem->patterns);
    *problem = (bang_theory_problem){0};
}

/* Gives problem room for one more pattern and returns it, or NULL. */
static bang_theory_pattern *grow_patterns(bang_theory_problem *problem)
{
    size_t room = (problem->pattern_count + 1) * sizeof *problem->patterns;
    bang_theory_pattern *grown = realloc(problem->patterns, room);
    if (!grown)
        return NULL;
    problem->patterns = grown;
    grown[problem->pattern_count] = (bang_theory_pattern){0};
    return &grown[problem->pattern_count++];
}

static int add_counts(bang_theory_problem *problem, const char *text, bang_error *err)
{
    const char *comma = strchr(text, ',');
    char left[24] = {0};
    int64_t nv = -1, ns = -1;
    if (comma && (size_t)(comma - text) < sizeof left) {
        memcpy(left, text, (size_t)(comma - text));
        if (bang_text_to_int64(&nv, left) < 0 || bang_text_to_int64(&ns, comma + 1) < 0)
            nv = -1;
    }
    if (nv < 0 || ns < 0 || nv > BANG_THEORY_MAX_FEATURES || ns > BANG_THEORY_MAX_FEATURES)
        return bang_fail(err, BANG_EUSAGE,
                         "model '%.80s': cannot be read: write NV,NS (0 to %d each) or index sets "
                         "such as v0-1,s0-2",
                         text, BANG_THEORY_MAX_FEATURES);
    bang_theory_pattern *pattern = grow_patterns(problem);
    if (!pattern)
        return bang_fail_memory(err);
    *pattern = (bang_theory_pattern){UINT64_C(1) << problem->models, nv, ns};
    if (problem->models < 2) {
        problem->counts[problem->models][0] = nv;
        problem->counts[problem->models][1] = ns;
    }
    return 0;
}

static int add_sets(bang_theory_problem *problem, const char *text, bang_error *err)
{
    if (!problem->sets)
        problem->sets = calloc(1, sizeof *problem->sets);
    if (!problem->sets)
        return bang_fail_memory(err);
    int m = problem->models;
    int rc = index_sets_parse(problem->sets->of[m], text, err);
    bang_theory_pattern *patterns = NULL;
    size_t count = 0;
    if (rc == 0)
        rc = index_sets_patterns(&patterns, &count, problem->sets, m + 1, err);
    if (rc < 0) { /* the problem stays as it was */
        for (int kind = 0; kind < FEATURE_KINDS; kind++)
            index_set_release(&problem->sets->of[m][kind]);
        return rc;
    }
    free(problem->patterns);
    problem->patterns = patterns;
    problem->pattern_count = count;
    return 0;
}

int bang_theory_add_model(bang_theory_problem *problem, const char *text, bang_error *err)
{
    int form = *text == 'v' || *text == 's' ? FORM_SETS : FORM_COUNTS;
    if (problem->models == BANG_THEORY_MAX_MODELS)
        return bang_fail(err, BANG_EUSAGE, "model '%.80s': there are %d already: that is the limit",
                         text, BANG_THEORY_MAX_MODELS);
    if (problem->form != FORM_NONE && problem->form != form)
        return bang_fail(err, BANG_EUSAGE,
                         "model '%.80s': mixes counts with index sets: say all models in one way",
                         text);
    int rc = form == FORM_SETS ? add_sets(problem, text, err) : add_counts(problem, text, err);
    if (rc < 0)
        return rc;
    problem->form = form;
    problem->models++;
    return 0;
}

int bang_theory_set_overlap(bang_theory_problem *problem, int64_t invariant, int64_t spurious,
                            bang_error *err)
{
    if (problem->models != 2)
        return bang_fail(err, BANG_EUSAGE,
                         "overlap %lld,%lld: needs exactly two models, there are %d: name shared "
                         "features by index sets instead",
                         (long long)invariant, (long long)spurious, problem->models);
    if (problem->form != FORM_COUNTS)
        return bang_fail(err, BANG_EUSAGE,
                         "overlap %lld,%lld: the overlap follows from the index sets: leave it out",
                         (long long)invariant, (long long)spurious);
    int64_t(*n)[2] = problem->counts;
    int64_t most_v = n[0][0] < n[1][0] ? n[0][0] : n[1][0];
    int64_t most_s = n[0][1] < n[1][1] ? n[0][1] : n[1][1];
    if (invariant < 0 || spurious < 0 || invariant > most_v || spurious > most_s)
        return bang_fail(err, BANG_EUSAGE,
                         "overlap %lld,%lld: models %lld,%lld and %lld,%lld can share 0 to %lld "
                         "invariant and 0 to %lld spurious features",
                         (long long)invariant, (long long)spurious, (long long)n[0][0],
                         (long long)n[0][1], (long long)n[1][0], (long long)n[1][1],
                         (long long)most_v, (long long)most_s);
    problem->pattern_count = 0;
    for (uint64_t models = 1; models <= 3; models++) {
        bang_theory_pattern *pattern = grow_patterns(problem);
        if (!pattern)
            return bang_fail_memory(err);
        pattern->models = models;
        pattern->invariant = models == 3 ? invariant : n[models - 1][0] - invariant;
        pattern->spurious = models == 3 ? spurious : n[models - 1][1] - spurious;
    }
    return 0;
}

int bang_theory_check(const bang_theory_problem *problem, bang_error *err)
{
    bang_text wrong = {0};
    if (problem->classes < 2 || problem->classes > BANG_THEORY_MAX_CLASSES)
        bang_text_add(&wrong, "; classes %lld: must be 2 to %d", (long long)problem->classes,
                      BANG_THEORY_MAX_CLASSES);
    if (!(problem->shift >= 0 && problem->shift <= 1))
        bang_text_add(&wrong, "; shift %g: must lie in 0 to 1", problem->shift);
    if (!(problem->sigma >= 0 && problem->sigma <= 1e6))
        bang_text_add(&wrong, "; sigma %g: must lie in 0 to 1e6", problem->sigma);
    if (problem->models < 1)
        bang_text_add(&wrong, "; no model: say what one learned with --model NV,NS");
    for (int m = 0; m < problem->models; m++) {
        if (!(fabs(problem->weights[m]) <= 1e9))
            bang_text_add(&wrong, "; weight %g of model %d: must be finite, at most 1e9",
                          problem->weights[m], m + 1);
        double scale = fabs(problem->scales[m]);
        if (!(scale == 0 || (scale >= 1e-6 && scale <= 1e6)))
            bang_text_add(&wrong, "; scale %g of model %d: its size must be 0 or 1e-6 to 1e6",
                          problem->scales[m], m + 1);
        if (!(problem->heads[m] >= 1e-9 && problem->heads[m] <= 1e9))
            bang_text_add(&wrong, "; head %g of model %d: must be 1e-9 to 1e9", problem->heads[m],
                          m + 1);
    }
    return bang_text_fail(&wrong, err);
}

int64_t bang_theory_shared(const bang_theory_problem *problem, int a, int b)
{
    uint64_t both = UINT64_C(1) << a | UINT64_C(1) << b;
    int64_t shared = 0;
    for (size_t i = 0; i < problem->pattern_count; i++)
        if ((problem->patterns[i].models & both) == both)
            shared += problem->patterns[i].invariant + problem->patterns[i].spurious;
    return shared;
}
