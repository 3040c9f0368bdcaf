/* The small languages of the command line: amounts of bytes, lists of numbers, sweeps, names
 * with {alpha}, augmentations, rules of an average. What is taken is within its limits. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/data/transform.h"
#include "cli/average.h"
#include "cli/cli.h"
#include "cli/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_values(const char *text)
{
    uint64_t bytes = 0;
    double numbers[8];
    sweep found = {0};
    bang_transform how = BANG_TRANSFORM_INIT;
    bang_error err = {0};
    if (cli_read_bytes(&bytes, text, &err) == 0 ? bytes > 1ULL << 60 : !err.message[0])
        abort();
    int count = cli_numbers(numbers, 8, text);
    for (int i = 0; i < count; i++)
        if (count > 8 || !isfinite(numbers[i]))
            abort();
    if (cli_read_sweep(&found, text, &err) == 0 &&
        (!(found.step > 0) || (found.to - found.from) / found.step >= 1e5))
        abort();
    if (bang_transform_augment(&how, text, &err) < 0 && err.code != BANG_EUSAGE)
        abort();
    char *name = cli_with_alpha(text, "0.5");
    if (!name || strstr(name, "{alpha}"))
        abort();
    free(name);
}

/* Lines are what is given to an average: two of weights, then rules. Every problem is one line. */
static void try_average(char *text)
{
    enum { MOST = 8 };
    const char *lines[MOST] = {0};
    const char *operands[] = {"a", "b", NULL};
    size_t count = 0;
    cli c = {.command = "average", .operands = operands, .operand_count = 2};
    average_request r = {.method = "linear",
                         .output = "out-{alpha}",
                         .target = NAN,
                         .on_integer = "error",
                         .on_missing = "error",
                         .confidence = {.pictures = PICTURE_OPTIONS_INIT},
                         .dtype = -1};
    for (char *line = text, *next; line && count < MOST; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        lines[count++] = line;
    }
    r.alpha = count > 0 && *lines[0] ? lines[0] : NULL;
    r.weights = count > 1 && *lines[1] ? lines[1] : NULL;
    r.rule_count = count > 2 ? count - 2 : 0;
    r.rules = calloc(MOST, sizeof *r.rules);
    if (!r.rules)
        abort();
    memcpy((void *)r.rules, (const void *)(lines + 2), (MOST - 2) * sizeof *lines);
    average_check(&c, &r);
    if (c.problems.failed || (c.problems.size && c.problems.data[c.problems.size - 1] != '\n'))
        abort();
    for (size_t i = 0; c.problems.size == 0 && i < r.rule_count; i++)
        if (!r.made_rules[i].glob[0] || !isfinite(r.made_rules[i].weights[0]))
            abort();
    average_release(&r);
    bang_text_release(&c.problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    try_values(text);
    try_average(text);
    free(text);
    return 0;
}
