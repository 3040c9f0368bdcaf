#include <string.h>

#include "bang/lab/lab.h"

static const bang_lab_example examples[] = {
    {"1-1", {"2,3", "2,3"}, {0, 0}, {.866, .866, .974, .974}, {.865, .865, .973, .973}},
    {"1-2", {"2,3", "2,3"}, {1, 1}, {.866, .861, .943, .940}, {.865, .865, .948, .946}},
    {"2-1", {"5,20", "4,20"}, {0, 0}, {.940, .894, .978, .978}, {.941, .910, .980, .980}},
    {"2-2", {"5,20", "5,20"}, {4, 1}, {.943, .939, .999, .989}, {.943, .943, .992, .983}},
};

const bang_lab_example *bang_lab_examples(size_t *count)
{
    *count = sizeof examples / sizeof *examples;
    return examples;
}

const bang_lab_example *bang_lab_find_example(const char *name)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(examples[i].name, name) == 0)
            return &examples[i];
    return NULL;
}

int bang_lab_example_problem(bang_theory_problem *problem, const bang_lab_example *example,
                             bang_error *err)
{
    bang_theory_problem_init(problem, 3, 0.9);
    problem->sigma = 0.01;
    int rc = bang_theory_add_model(problem, example->models[0], err);
    if (rc == 0)
        rc = bang_theory_add_model(problem, example->models[1], err);
    if (rc == 0)
        rc = bang_theory_set_overlap(problem, example->overlap[0], example->overlap[1], err);
    if (rc < 0)
        bang_theory_problem_release(problem);
    return rc;
}
