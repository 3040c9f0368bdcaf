/* The lab at a scale of seconds: a plan, and digits for it. */
#ifndef BANG_TESTS_SHIFT_TINY_H
#define BANG_TESTS_SHIFT_TINY_H

#include "mnist_small.h"

#include "lab/shift_unit.h"

/* Little enough for seconds under sanitizers. */
static inline shift_plan tiny_plan(void)
{
    size_t count;
    const shift_method *all = shift_methods(&count);
    shift_plan plan = {.seeds = 2,
                       .seed = 5,
                       .broad = 40,
                       .tune = 24,
                       .validation = 6,
                       .test = 6,
                       .unlabelled = 1,
                       .pre_steps = 4,
                       .pre_batch = 8,
                       .batch = 8,
                       .shorten = 100,
                       .grid_count = 2,
                       .grid = {{1e-3, 200, BANG_COSINE}, {2e-3, 400, BANG_STEP}}};
    static const char *const names[] = {"vanilla", "mixup-ls-10", "long-vanilla"};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(all[i].name, names[k]) == 0)
                plan.methods[plan.method_count++] = &all[i];
    assert_int_equal(plan.method_count, sizeof names / sizeof *names);
    return plan;
}

/* Digits that can be told apart a little: a bar whose place is the class. */
static inline void make_digits(bang_mnist *out)
{
    small_mnist(out, 1200, 200);
    bang_array *images[] = {&out->train_images, &out->test_images};
    bang_array *labels[] = {&out->train_labels, &out->test_labels};
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < images[f]->count; i++) {
            size_t class = ((uint8_t *)labels[f]->data)[i / 784];
            ((uint8_t *)images[f]->data)[i] = i % 784 / 56 == 2 + class ? 250 : 0;
        }
    snprintf(out->digest, sizeof out->digest, "made up");
}

#endif
