/* How work scales from one rank to two, one thread each, and what a sum over ranks costs.
 *
 *     build/bench/ranks [--quick] [--KEY VALUE ...] [PART ...]
 *
 * Parts, all unless some are named (about ten minutes on two idle cores, and 4 GB):
 *   sums     a sum by its size: alone, and while ten are under way
 *   lab      bang reproduce multicolor, eight seeds: goal 1.9 times
 *   vit      training ViT-Ti/16 on batches of 16 pictures: goal 1.7 times
 *   cluster  ViT-B/16, and what follows from it on paper for ImageNet on 1 to 64 nodes. Keys of the
 *            cluster: cores, threads, speed, bandwidth (GB/s), latency (us), memory and
 *            memory-one (GB/s), batch, decode (ms); with picture (s), numbers and messages, which
 *            it prints as measured, nothing is measured again
 * --quick takes one turn each, four seeds, and smaller batches.
 *
 * One rank and two take turns, each in processes of its own; the best turn of each counts. One rank
 * is a plain process, two are started by mpirun, and that is counted where a command as a
 * whole is measured. A machine with other work, or fewer than two cores, shows less. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "process.h"
#include "ranks/ranks.h"

static struct {
    int quick, turns;
    char self[1024], bang[1100], mpirun[1100];
    cluster paper;
} bench = {.turns = 3,
           .paper = {.cores = 32,
                     .threads = 16,
                     .speed = 0.85,
                     .bandwidth = 3.1e9,
                     .latency = 20e-6,
                     .memory = 100e9,
                     .memory_one = 10e9,
                     .batch = 2048,
                     .decode = 8e-3,
                     .piece = 4}};

/* Runs line, (the words behind mpirun), as so many ranks. */
static int run_ranks(cost *out, char *output, size_t size, int ranks, const char *const line[])
{
    const char *all[32] = {bench.mpirun, "2"};
    size_t at = ranks == 1 ? 0 : 2;
    for (size_t i = 0; line[i] && at < 31; i++)
        all[at++] = line[i];
    return run(out, output, size, all);
}

/* The next numbers of a text, behind the word that they follow; how many there are, at most most.
 */
static int read_numbers(double *out, int most, const char *text)
{
    int count = 0;
    char *end = NULL;
    for (; count < most; count++, text = end) {
        out[count] = strtod(text, &end);
        if (end == text)
            break;
    }
    return count;
}

static int measure_sums(void)
{
    char output[4096];
    cost spent;
    double line_of[3]; /* bytes, seconds alone, seconds under way */
    const char *const line[] = {bench.self, "--worker", "sums", NULL};
    if (run_ranks(&spent, output, sizeof output, 2, line) < 0)
        return -1;
    printf("a sum over 2 ranks of this machine\n");
    printf("  %12s %14s %14s %10s\n", "bytes", "alone us", "under way us", "GB/s");
    for (const char *at = strstr(output, "sum "); at; at = strstr(at, "sum ")) {
        at += strlen("sum ");
        if (read_numbers(line_of, 3, at) < 3)
            return -1;
        printf("  %12.0f %14.1f %14.1f %10.3f\n", line_of[0], line_of[1] * 1e6, line_of[2] * 1e6,
               line_of[0] / fmin(line_of[1], line_of[2]) / 1e9);
    }
    return 0;
}

static void say_scaling(double one, double two, double goal)
{
    double times = one / two;
    printf("  one rank %.2f s, two %.2f s: %.2f times   goal %g: %s\n", one, two, times, goal,
           times >= goal ? "met" : "MISSED");
}

static int measure_lab(void)
{
    const char *there = getenv("TMPDIR");
    char folder[1024], output[4096];
    const char *seeds = bench.quick ? "4" : "8";
    double best[2] = {INFINITY, INFINITY};
    int length =
        snprintf(folder, sizeof folder, "%s/bang-bench-XXXXXX", there && there[0] ? there : "/tmp");
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder))
        return -1;
    int rc = 0;
    for (int turn = 0; rc == 0 && turn < bench.turns; turn++)
        for (int i = 0; rc == 0 && i < 2; i++) {
            cost spent = {0};
            const char *const line[] = {bench.bang, "reproduce", "multicolor", "--seeds",
                                        seeds,      "--threads", "1",          "--quiet",
                                        "-o",       folder,      NULL};
            const char *const clear[] = {"rm", "-rf", folder, NULL};
            rc = run(&spent, output, sizeof output, clear);
            if (rc == 0)
                rc = run_ranks(&spent, output, sizeof output, i + 1, line);
            best[i] = fmin(best[i], spent.seconds);
        }
    const char *const clear[] = {"rm", "-rf", folder, NULL};
    cost spent;
    if (run(&spent, output, sizeof output, clear) < 0 || rc < 0)
        return -1;
    printf("reproduce multicolor, %s seeds, start and report included\n", seeds);
    say_scaling(best[0], best[1], 1.9);
    return 0;
}

typedef struct training {
    double step, messages, bytes, waited, alone, numbers;
} training;

/* The best step of some turns; what is told of the sums is that turn's. */
static int train(training *best, const char *name, const char *batch, int ranks)
{
    char output[4096];
    double told[6];
    cost spent;
    const char *const line[] = {bench.self, "--worker", "vit", name, batch, "4", NULL};
    if (run_ranks(&spent, output, sizeof output, ranks, line) < 0)
        return -1;
    const char *said = strstr(output, "vit ");
    if (!said || read_numbers(told, 6, said + strlen("vit ")) < 6) {
        fprintf(stderr, "%s: says: %s\n", name, output);
        return -1;
    }
    training t = {told[0], told[1], told[2], told[3], told[4], told[5]};
    if (t.step < best->step)
        *best = t;
    return 0;
}

static void say_sums(const training *t)
{
    printf(
        "  %.1f MB of gradient a step in %g messages of %.2f MB on average: %.1f ms when nothing "
        "else\n  is done; a rank waited %.1f ms for them: %.0f %% are hidden by the way back\n",
        t->bytes / 1e6, t->messages, t->bytes / t->messages / 1e6, t->alone * 1e3, t->waited * 1e3,
        100 * fmax(0, 1 - t->waited / t->alone));
}

/* Both numbers of ranks in turns. */
static int train_both(training best[2], const char *name, const char *batch, int turns)
{
    best[0] = best[1] = (training){.step = INFINITY};
    for (int turn = 0; turn < turns; turn++)
        if (train(&best[0], name, batch, 1) < 0 || train(&best[1], name, batch, 2) < 0)
            return -1;
    return 0;
}

static int measure_vit(void)
{
    training best[2];
    const char *batch = bench.quick ? "8" : "16";
    if (train_both(best, "tiny", batch, bench.turns) < 0)
        return -1;
    printf("a step of ViT-Ti/16, 224 px, batch %s, AdamW\n", batch);
    say_scaling(best[0].step, best[1].step, 1.7);
    say_sums(&best[1]);
    return 0;
}

static int measure_cluster(void)
{
    training few[2], many = {.step = INFINITY};
    if (bench.paper.picture > 0 && bench.paper.numbers > 0 && bench.paper.messages > 0) {
        print_cluster(&bench.paper);
        return 0;
    }
    if (train_both(few, "base", "4", 1) < 0 || train(&many, "base", "8", 1) < 0)
        return -1;
    printf("a step of ViT-B/16, 224 px, batch 4, AdamW\n");
    say_scaling(few[0].step, few[1].step, 1.7);
    say_sums(&few[1]);
    cluster *c = &bench.paper;
    c->picture = (many.step - few[0].step) / 4;
    c->numbers = few[1].numbers;
    c->messages = few[1].messages;
    print_cluster(c);
    return 0;
}

/* 1 if key is one of the cluster's. */
static int set_key(const char *key, const char *text)
{
    cluster *c = &bench.paper;
    struct {
        const char *name;
        double *value, unit;
    } keys[] = {{"cores", &c->cores, 1},
                {"threads", &c->threads, 1},
                {"speed", &c->speed, 1},
                {"bandwidth", &c->bandwidth, 1e9},
                {"latency", &c->latency, 1e-6},
                {"memory", &c->memory, 1e9},
                {"memory-one", &c->memory_one, 1e9},
                {"batch", &c->batch, 1},
                {"decode", &c->decode, 1e-3},
                {"picture", &c->picture, 1},
                {"numbers", &c->numbers, 1},
                {"messages", &c->messages, 1}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i].name) == 0) {
            char *end;
            double value = strtod(text, &end);
            if (end == text || *end || !(value > 0))
                return 0;
            *keys[i].value = value * keys[i].unit;
            return 1;
        }
    return 0;
}

static int set_paths(void)
{
    const char *source = getenv("BANG_SOURCE");
    ssize_t size = readlink("/proc/self/exe", bench.self, sizeof bench.self - 1);
    if (size <= 0)
        return -1;
    bench.self[size] = 0;
    const char *folder = strrchr(bench.self, '/');
    snprintf(bench.bang, sizeof bench.bang, "%.*s/../bang", (int)(folder - bench.self), bench.self);
    snprintf(bench.mpirun, sizeof bench.mpirun, "%.1000s/tests/rank/mpirun", source ? source : ".");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*measure)(void);
    } parts[] = {{"sums", measure_sums},
                 {"vit", measure_vit},
                 {"lab", measure_lab},
                 {"cluster", measure_cluster}};
    enum { PARTS = sizeof parts / sizeof *parts };
    int wanted[PARTS] = {0}, any = 0;
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker(argc, argv);
    if (set_paths() < 0)
        return 1;
    for (int i = 1; i < argc; i++) {
        int known = strcmp(argv[i], "--quick") == 0;
        if (known)
            bench.quick = bench.turns = 1;
        else if (strncmp(argv[i], "--", 2) == 0 && i + 1 < argc &&
                 set_key(argv[i] + 2, argv[i + 1]))
            known = ++i;
        for (int p = 0; p < PARTS && !known; p++)
            if (strcmp(argv[i], parts[p].name) == 0)
                known = wanted[p] = any = 1;
        if (!known) {
            fprintf(stderr, "%s: unknown: see tests/bench/ranks.c\n", argv[i]);
            return 2;
        }
    }
    int rc = 0;
    for (int p = 0; p < PARTS && rc == 0; p++)
        if (wanted[p] || !any)
            rc = parts[p].measure();
    return rc < 0;
}
