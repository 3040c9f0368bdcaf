#include <math.h>
#include <stdlib.h>

#include "measure/tally.h"

static int check_member(const bang_tally_input *input, size_t index, bang_error *err)
{
    const bang_member *member = &input->members[index];
    double sum = 0;
    if (member->part_count < 1 || member->part_count > BANG_PARTS_MAX)
        return bang_fail(err, BANG_EUSAGE, "member %zu: has %zu parts: 1 to %d are possible", index,
                         member->part_count, BANG_PARTS_MAX);
    for (size_t i = 0; i < member->part_count; i++) {
        const bang_member_part *part = &member->parts[i];
        if (part->source >= input->source_count)
            return bang_fail(err, BANG_EUSAGE,
                             "member %zu: asks for source %zu, and there are %zu: count from 0",
                             index, part->source, input->source_count);
        if (!isfinite(part->scale) || part->scale <= 0)
            return bang_fail(err, BANG_EUSAGE, "member %zu: scale %g: it must be above 0", index,
                             part->scale);
        if (!isfinite(part->share) || (member->probabilities && part->share < 0))
            return bang_fail(err, BANG_EUSAGE, "member %zu: %g is no share", index, part->share);
        sum += part->share;
    }
    if (member->probabilities && !(fabs(sum - 1) <= 1e-6))
        return bang_fail(err, BANG_EUSAGE,
                         "member %zu: shares of probabilities sum to %g: they must to 1", index,
                         sum);
    return 0;
}

/* The softmax of a source at a scale, a new one if there is none. */
static size_t softmax_of(bang_plan *plan, const bang_tally_input *input, size_t source,
                         double scale)
{
    for (size_t i = 0; i < plan->softmax_count; i++) {
        const bang_softmax *old = &plan->softmax[i];
        if (!old->mixed && old->source == source && old->scale == scale)
            return i;
    }
    plan->softmax[plan->softmax_count] = (bang_softmax){
        .source = source,
        .scale = scale,
        .given = input->sources[source].probabilities && scale == 1,
    };
    plan->read[source] = plan->scanned[source] = 1;
    return plan->softmax_count++;
}

static void plan_probabilities(bang_plan *plan, const bang_tally_input *input, bang_recipe *recipe,
                               const bang_member *member)
{
    recipe->part_count = member->part_count;
    for (size_t i = 0; i < member->part_count; i++) {
        const bang_member_part *part = &member->parts[i];
        size_t softmax = softmax_of(plan, input, part->source, part->scale);
        plan->kept_count += !plan->softmax[softmax].kept;
        plan->softmax[softmax].kept = 1;
        recipe->softmax[i] = softmax;
        recipe->share[i] = part->share;
    }
}

static void plan_member(bang_plan *plan, const bang_tally_input *input, bang_recipe *recipe,
                        const bang_member *member)
{
    const bang_member_part *first = &member->parts[0];
    double scale = first->scale * (member->probabilities ? 1 : first->share);
    /* A single model is never multiplied: its prediction is that of its logits, ties
     * included, at every temperature. */
    if (member->part_count == 1 && (member->probabilities ? first->share == 1 : scale > 0)) {
        recipe->softmax[0] = softmax_of(plan, input, first->source, scale);
        return;
    }
    if (member->probabilities) {
        plan_probabilities(plan, input, recipe, member);
        return;
    }
    recipe->softmax[0] = plan->softmax_count;
    plan->softmax[plan->softmax_count++] = (bang_softmax){.mixed = member, .scale = 1};
    plan->mixes = 1;
    for (size_t i = 0; i < member->part_count; i++)
        plan->read[member->parts[i].source] = 1;
}

int bang_plan_init(bang_plan *plan, const bang_tally_input *input, bang_error *err)
{
    *plan = (bang_plan){0};
    for (size_t m = 0; m < input->member_count; m++) {
        int rc = check_member(input, m, err);
        if (rc < 0)
            return rc;
    }
    plan->softmax = calloc(input->member_count * BANG_PARTS_MAX + 1, sizeof *plan->softmax);
    plan->members = calloc(input->member_count + 1, sizeof *plan->members);
    plan->read = calloc(input->source_count + 1, sizeof *plan->read);
    plan->scanned = calloc(input->source_count + 1, sizeof *plan->scanned);
    if (!plan->softmax || !plan->members || !plan->read || !plan->scanned)
        return bang_fail_memory(err);
    for (size_t m = 0; m < input->member_count; m++)
        plan_member(plan, input, &plan->members[m], &input->members[m]);
    return 0;
}

void bang_plan_release(bang_plan *plan)
{
    free(plan->softmax);
    free(plan->members);
    free(plan->read);
    free(plan->scanned);
    *plan = (bang_plan){0};
}
