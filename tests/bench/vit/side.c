#include "vit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 12, WORDS = NUMBERS + 4 };

/* Which numbers follow on both sides' lines, in this order. */
static void numbers_of(uint64_t out[NUMBERS], const job *j)
{
    const bang_vit_config *c = &j->config;
    const uint64_t all[NUMBERS] = {c->image,
                                   c->patch,
                                   c->channels,
                                   c->width,
                                   c->depth,
                                   c->heads,
                                   c->hidden,
                                   c->classes,
                                   j->batch,
                                   j->piece,
                                   (uint64_t)j->purpose,
                                   (uint64_t)j->threads};
    memcpy(out, all, sizeof all);
}

int read_job(job *out, int count, char **words)
{
    uint64_t n[NUMBERS];
    if (count != NUMBERS)
        return -1;
    for (int i = 0; i < NUMBERS; i++)
        n[i] = strtoull(words[i], NULL, 10);
    *out = (job){.batch = (size_t)n[8], .piece = (size_t)n[9], .threads = (int)n[11]};
    out->purpose = (bang_vit_purpose)n[10];
    out->config = (bang_vit_config){.image = (size_t)n[0],
                                    .patch = (size_t)n[1],
                                    .channels = (size_t)n[2],
                                    .width = (size_t)n[3],
                                    .depth = (size_t)n[4],
                                    .heads = (size_t)n[5],
                                    .hidden = (size_t)n[6],
                                    .classes = (size_t)n[7],
                                    .epsilon = 1e-6,
                                    .gelu = BANG_GELU_EXACT,
                                    .patch_bias = 1};
    return 0;
}

int start_ours(side *s, const job *j)
{
    char program[] = "/proc/self/exe", word[] = "--side";
    char text[NUMBERS][24], *line[WORDS] = {program, word};
    uint64_t n[NUMBERS];
    numbers_of(n, j);
    for (int i = 0; i < NUMBERS; i++) {
        snprintf(text[i], sizeof text[i], "%" PRIu64, n[i]);
        line[2 + i] = text[i];
    }
    return start_peer(s, line);
}

int start_torch(side *s, const job *j, const char *wait)
{
    const char *source = getenv("BANG_SOURCE");
    char script[1024], python[] = "/usr/bin/python3", train[] = "train", predict[] = "predict";
    char text[NUMBERS][24];
    char *line[WORDS] = {python, script, j->purpose == BANG_VIT_PREDICT ? predict : train};
    uint64_t n[NUMBERS];
    snprintf(script, sizeof script, "%s/tests/bench/vit_torch.py", source ? source : ".");
    numbers_of(n, j);
    int words = 3;
    for (int i = 0; i < NUMBERS; i++) {
        if (i == 9 || i == 10) /* piece and purpose are ours alone */
            continue;
        snprintf(text[i], sizeof text[i], "%" PRIu64, n[i]);
        line[words++] = text[i];
    }
    if (*wait)
        setenv("OMP_WAIT_POLICY", wait, 1);
    else
        unsetenv("OMP_WAIT_POLICY");
    return start_peer(s, line);
}

int run_steps(cost *out, side *s, int steps)
{
    fprintf(s->in, "%d\n", steps);
    fflush(s->in);
    return fscanf(s->out, "%lf %lf %lf", &out->wall, &out->core, &out->peak) == 3 ? 0 : -1;
}

double core_of(const side *s)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)s->process);
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    const char *after =
        fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL; /* the name's end */
    fclose(f);
    double user, system;
    if (!after ||
        sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf", &user, &system) != 2)
        return -1;
    return (user + system) / (double)sysconf(_SC_CLK_TCK);
}

void stop_side(side *s)
{
    if (s->in)
        fclose(s->in);
    if (s->out)
        fclose(s->out);
    if (s->process > 0)
        waitpid(s->process, NULL, 0);
    *s = (side){0};
}
