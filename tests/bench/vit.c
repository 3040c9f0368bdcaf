/* What a vision transformer costs beside PyTorch, in one run: both work in turns on
 * two threads, each in a process of its own, and the best turn of each counts.
 * PyTorch is Debian's python3-torch with OpenBLAS; tests/bench/vit_torch.py is its side.
 *
 *     build/bench/vit [--quick] [--alone] [--threads N] [--piece N] [PART...]
 *
 * Parts: train, recompute, predict, tiny, small, lab, idle; all of them unless some are
 * named, which takes about a quarter of an hour and 9 GB for PyTorch's batch of 32.
 * --quick takes fewer turns and no batch above 8 of the large network; --alone leaves
 * PyTorch out. The lab trains many networks side by side, each on one thread: its part does,
 * too, and its goal is for a second of one core.
 *
 * A training step is forward, cross-entropy, backward, clipping of the gradient at
 * norm 1, and AdamW. Ours goes through bang_tune_vit with pictures of bytes in memory,
 * PyTorch's has its tensor ready. Work is counted as every token's, for both, so that
 * "of peak" compares like with like; what we leave out in the last block is said. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vit/vit.h"

#define MEGA 1e6
#define GIGA 1e9

static struct {
    int quick, alone, threads;
    size_t piece;
    double peak;      /* operations per second of all threads; 0: not known */
    const char *wait; /* how PyTorch's threads wait, as is best for this part; NULL: not known */
} run = {.threads = 2};

/* ---- The networks ---- */

#define COMMON .epsilon = 1e-6, .gelu = BANG_GELU_EXACT, .patch_bias = 1
static const bang_vit_config base = {.image = 224,
                                     .patch = 16,
                                     .channels = 3,
                                     .width = 768,
                                     .depth = 12,
                                     .heads = 12,
                                     .hidden = 3072,
                                     .classes = 1000,
                                     COMMON};
static const bang_vit_config tiny = {.image = 224,
                                     .patch = 16,
                                     .channels = 3,
                                     .width = 192,
                                     .depth = 12,
                                     .heads = 3,
                                     .hidden = 768,
                                     .classes = 1000,
                                     COMMON};
static const bang_vit_config small = {.image = 28,
                                      .patch = 7,
                                      .channels = 1,
                                      .width = 64,
                                      .depth = 4,
                                      .heads = 4,
                                      .hidden = 256,
                                      .classes = 10,
                                      COMMON};

/* ---- Turns ---- */

/* Best turn: the smaller of each time; the largest memory. */
typedef struct best {
    cost turn;
    double activations; /* bytes per image */
    int there;
} best;

static void keep(best *b, const cost *turn, int steps)
{
    b->turn.wall = fmin(b->there ? b->turn.wall : INFINITY, turn->wall / steps);
    b->turn.core = fmin(b->there ? b->turn.core : INFINITY, turn->core / steps);
    b->turn.peak = fmax(b->turn.peak, turn->peak);
    b->there = 1;
}

static void say_side(const char *who, const job *j, const best *b)
{
    double images = (double)j->batch, speed = images / b->turn.wall;
    printf("  %-8s %8.2f images/s %8.4f core s/image", who, speed, b->turn.core / images);
    if (run.peak > 0)
        printf(" %5.1f %% of peak", 100 * speed * nominal_work(j) / run.peak);
    printf(" %7.0f MB\n", b->turn.peak / MEGA);
}

static void say(const char *what, const job *j, const best *ours, const best *theirs, double goal)
{
    printf("%s, batch %zu\n", what, j->batch);
    say_side("bang", j, ours);
    if (theirs->there) {
        say_side("PyTorch", j, theirs);
        double ratio = theirs->turn.wall / ours->turn.wall;
        double per_core = theirs->turn.core / ours->turn.core;
        printf("  ratio %.2f (per core second %.2f)", ratio, per_core);
        if (goal > 0)
            printf("   goal %g: %s", goal,
                   (j->threads == 1 ? per_core : ratio) >= goal ? "met" : "MISSED");
        printf("\n");
    }
}

/* Starts PyTorch. Threads of OpenMP that spin before they sleep can be better or, beside
 * those of OpenBLAS, a good deal worse than those that sleep at once: both are tried. */
static int start_best_torch(side *s, const job *j)
{
    static const char *const ways[] = {"", "passive"};
    double seconds[2] = {INFINITY, INFINITY};
    cost turn;
    for (int i = 0; i < 2 && !run.wait; i++) {
        int rc = start_torch(s, j, ways[i]);
        for (int t = 0; rc == 0 && t < 2 && (rc = run_steps(&turn, s, 1)) == 0; t++)
            seconds[i] = fmin(seconds[i], turn.wall);
        stop_side(s);
        if (rc < 0)
            return rc;
    }
    if (!run.wait)
        run.wait = ways[seconds[1] < seconds[0]];
    return start_torch(s, j, run.wait);
}

/* Both sides in turns, some steps each. */
static int compare(best *ours, best *theirs, const char *what, const job *j, int turns, int steps,
                   double goal)
{
    side a = {0}, b = {0};
    cost turn;
    *ours = *theirs = (best){0};
    int with = !run.alone, rc = start_ours(&a, j);
    if (rc == 0 && with && start_best_torch(&b, j) < 0) {
        printf("PyTorch is not here: install python3-torch, libopenblas0-pthread\n");
        run.alone = 1;
        with = 0;
    }
    if (with && strstr(b.about, "reference"))
        printf("PyTorch without OpenBLAS is ten times slower: the comparison is not fair\n");
    for (int t = 0; rc == 0 && t < turns; t++) {
        rc = run_steps(&turn, &a, steps);
        if (rc == 0)
            keep(ours, &turn, steps);
        if (rc == 0 && with)
            rc = run_steps(&turn, &b, steps);
        if (rc == 0 && with)
            keep(theirs, &turn, steps);
    }
    stop_side(&a);
    stop_side(&b);
    if (rc < 0)
        fprintf(stderr, "%s, batch %zu: a process ended before its answer\n", what, j->batch);
    else
        say(what, j, ours, theirs, goal);
    return rc;
}

static job make_job(const bang_vit_config *config, bang_vit_purpose purpose, size_t batch)
{
    return (job){*config, purpose, batch, run.threads, run.piece};
}

/* ---- Parts ---- */

/* Of all that the last block needs not compute. */
static void say_work(const char *what, const job *j)
{
    double all = nominal_work(j), exact = exact_work(j);
    printf("%s: %.1f MFLOP per image; we compute %.1f %% of it, the last block for the class "
           "token alone\n",
           what, all / MEGA, 100 * exact / all);
}

static int train_base(bang_vit_purpose purpose)
{
    static const size_t batches[] = {8, 16, 32};
    int recompute = purpose == BANG_VIT_RECOMPUTE, alone = run.alone;
    const char *what =
        recompute ? "ViT-B/16 training, activations recomputed" : "ViT-B/16 training";
    best ours[3], theirs[3];
    int count = run.quick ? 1 : 3, rc = 0;
    job j = make_job(&base, purpose, 8);
    say_work("ViT-B/16 at 224, training step", &j);
    run.alone = alone || recompute;
    for (int i = recompute ? count - 1 : 0; rc == 0 && i < count; i++) {
        j.batch = batches[i];
        rc = compare(&ours[i], &theirs[i], what, &j, run.quick ? 1 : 3, 1, recompute ? 0 : 1.3);
    }
    run.alone = alone;
    if (rc < 0)
        return rc;
    double mine = activation_bytes(&j) / MEGA;
    printf("  activations per image under way: bang %.1f MB", mine);
    if (count == 3 && !alone && !recompute) {
        double per = (theirs[2].turn.peak - theirs[0].turn.peak) / 24 / MEGA;
        double share = ours[2].turn.peak / theirs[2].turn.peak;
        printf(", PyTorch %.1f MB; goal 108: %s\n", per, mine <= 108 ? "met" : "MISSED");
        printf("  memory at batch 32: %.2f of PyTorch's; goal 0.5: %s\n", share,
               share <= 0.5 ? "met" : "MISSED");
    } else {
        printf("; goal 108: %s\n", mine <= 108 ? "met" : "MISSED");
    }
    return 0;
}

static int part_train(void)
{
    return train_base(BANG_VIT_TRAIN);
}

static int part_recompute(void)
{
    return train_base(BANG_VIT_RECOMPUTE);
}

static int part_predict(void)
{
    best ours, theirs;
    job j = make_job(&base, BANG_VIT_PREDICT, 8);
    say_work("ViT-B/16 at 224, forward", &j);
    int turns = run.quick ? 2 : 5,
        rc = compare(&ours, &theirs, "ViT-B/16 forward", &j, turns, 1, 1.2);
    j.batch = 32;
    if (rc == 0 && !run.quick)
        rc = compare(&ours, &theirs, "ViT-B/16 forward", &j, turns, 1, 1.2);
    return rc;
}

static int part_tiny(void)
{
    best ours, theirs;
    job j = make_job(&tiny, BANG_VIT_TRAIN, 32);
    say_work("ViT-Ti/16 at 224, training step", &j);
    return compare(&ours, &theirs, "ViT-Ti/16 training", &j, run.quick ? 2 : 5, 1, 0);
}

static int part_small(void)
{
    best ours, theirs;
    job j = make_job(&small, BANG_VIT_TRAIN, 128);
    int turns = run.quick ? 2 : 7, steps = 20;
    say_work("28x28 in patches of 7, width 64, depth 4, 4 heads, training step", &j);
    int rc = compare(&ours, &theirs, "small ViT training, hidden 256", &j, turns, steps, 3);
    j.config.hidden = 128;
    if (rc == 0)
        rc = compare(&ours, &theirs, "small ViT training, hidden 128", &j, turns, steps, 3);
    return rc;
}

/* The network of bang reproduce lab, at its batches of fine-tuning and of pre-training. */
static int part_lab(void)
{
    static const size_t batches[] = {64, 128};
    int threads = run.threads, rc = 0;
    double peak = run.peak;
    best ours, theirs;
    run.threads = 1;
    run.peak = measure_peak(1);
    for (int i = 0; rc == 0 && i < 2; i++) {
        job j = make_job(&small, BANG_VIT_TRAIN, batches[i]);
        j.config.depth = 3;
        j.config.hidden = 128;
        if (i == 0)
            say_work("the lab's ViT: the same with depth 3 and hidden 128, one thread", &j);
        rc = compare(&ours, &theirs, "the lab's ViT training, one thread", &j, run.quick ? 3 : 9,
                     40, 3);
    }
    run.threads = threads;
    run.peak = peak;
    return rc;
}

/* Threads that have nothing to do must sleep: between turns all of them, and with a
 * batch of one piece all but one. */
static int part_idle(void)
{
    enum { SECONDS = 2 };
    job j = make_job(&tiny, BANG_VIT_TRAIN, 4);
    side s = {0};
    cost turn = {0};
    j.piece = j.batch;
    int rc = start_ours(&s, &j);
    double before = core_of(&s);
    if (rc == 0)
        sleep(SECONDS);
    double waiting = core_of(&s) - before;
    if (rc == 0)
        rc = run_steps(&turn, &s, 20);
    stop_side(&s);
    if (rc < 0)
        return rc;
    printf("waiting threads: %.2f core seconds in %d s between two steps; %d threads on a batch "
           "for one of them: %.2f cores busy\n",
           waiting, SECONDS, run.threads, turn.core / turn.wall);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} parts[] = {
    {"train", part_train}, {"recompute", part_recompute}, {"predict", part_predict},
    {"tiny", part_tiny},   {"small", part_small},         {"lab", part_lab},
    {"idle", part_idle},
};
enum { PARTS = sizeof parts / sizeof *parts };

static int usage(void)
{
    fprintf(stderr, "usage: vit [--quick] [--alone] [--threads N] [--piece N] "
                    "[train|recompute|predict|tiny|small|lab|idle]...\n");
    return 2;
}

/* Which parts are asked for; 0 when a word is not known. */
static int read_words(int wanted[PARTS], int count, char **words)
{
    for (int i = 1; i < count; i++) {
        int known = 0;
        for (int p = 0; p < PARTS; p++)
            if (strcmp(words[i], parts[p].name) == 0)
                known = wanted[p] = 1;
        if (strcmp(words[i], "--quick") == 0)
            known = run.quick = 1;
        if (strcmp(words[i], "--alone") == 0)
            known = run.alone = 1;
        if (strcmp(words[i], "--threads") == 0 && i + 1 < count)
            known = (run.threads = (int)strtol(words[++i], NULL, 10)) > 0;
        else if (strcmp(words[i], "--piece") == 0 && i + 1 < count)
            known = (run.piece = (size_t)strtoul(words[++i], NULL, 10)) > 0;
        if (!known)
            return 0;
    }
    return 1;
}

int main(int count, char **words)
{
    int wanted[PARTS] = {0}, any = 0, rc = 0;
    job j;
    if (count > 1 && strcmp(words[1], "--side") == 0)
        return read_job(&j, count - 2, words + 2) < 0 ? usage() : serve(&j) < 0;
    if (!read_words(wanted, count, words))
        return usage();
    for (int p = 0; p < PARTS; p++)
        any |= wanted[p];
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.peak = measure_peak(run.threads);
    if (run.peak > 0)
        printf("peak of %d threads' fused multiply-adds: %.1f GFLOP/s\n", run.threads,
               run.peak / GIGA);
    for (int p = 0; rc == 0 && p < PARTS; p++)
        if (wanted[p] || !any) {
            run.wait = NULL;
            rc = parts[p].run();
        }
    return rc < 0;
}
