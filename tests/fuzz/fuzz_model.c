/* Any text as a model: refused with one line, or accepted and usable. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/theory/theory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_theory_problem problem;
    bang_error err = {0};
    bang_theory_problem_init(&problem, 3, 0.9);
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line = text; line;) { /* one model per line */
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (bang_theory_add_model(&problem, line, &err) < 0 &&
            (err.code != BANG_EUSAGE || strchr(err.message, '\n')))
            abort();
        line = end ? end + 1 : NULL;
    }
    bang_theory_score score;
    if (problem.models > 0 && bang_theory_score_wse(&score, &problem, &err) == 0) {
        for (size_t g = 0; g < score.group_count; g++)
            if (score.groups[g].count < 1 || score.groups[g].coefficient <= 0)
                abort();
        bang_theory_score_release(&score);
    }
    bang_theory_problem_release(&problem);
    free(text);
    return 0;
}
