/* What `bang average` costs beside PyTorch and beside what the disk itself can
 * do. All take turns, with the inputs in the page cache (warm) or on the disk
 * only (cold), and the best turn of each counts. bang is measured as a process
 * from start to end and syncs what it writes; PyTorch (Debian's python3-torch,
 * tests/bench/average_torch.py) counts from the first load, so without the time
 * it takes to start.
 *
 * The files go to $BANG_BENCH_FOLDER, else beside the build, and need up to
 * 22 GB; what does not fit is left out with a word. BANG_BENCH_QUICK=1 takes files
 * of a tenth. BANG_BUILD says where another build of bang is. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "average/average.h"
#include "bang/base/file.h"

enum { COLD, WARM, WARM_TURNS = 5, COLD_TURNS = 3, DISK_TURNS = 5 };
#define MEGA 1e6

static const char *const caches[] = {"cold", "warm"};
static char folder[4000], bang[4096], script[4096];
static char a[4096], b[4096], a_torch[4096], b_torch[4096], out[4096], out_torch[4096],
    out_limit[4096];
static int quick;

/* ---- Turns ---- */

static int turns(int cache)
{
    return quick ? 2 : cache == COLD ? COLD_TURNS : WARM_TURNS;
}

/* Old outputs go, nothing is left to be written, and the inputs are where they
 * should be. */
static int prepare(int cache, const char *first, const char *second)
{
    const char *const paths[] = {first, second, NULL};
    unlink(out);
    unlink(out_torch);
    unlink(out_limit);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) < 0)
        return -1;
    close(fd);
    return cache == COLD ? make_cold(paths) : make_warm(paths);
}

/* The fastest turn counts, for memory the largest. */
static void keep(cost *best, cost turn)
{
    double peak = fmax(best->peak, turn.peak);
    if (best->seconds == 0 || turn.seconds < best->seconds)
        *best = turn;
    best->peak = peak;
}

static int bang_turn(cost *best, int cache, const char *memory)
{
    char output[65536];
    const char *line[] = {bang,   "average", a,    b,        "-o",
                          out,    "--alpha", ".5", "--json", memory ? "--max-memory" : NULL,
                          memory, NULL};
    cost turn;
    if (prepare(cache, a, b) < 0 || run(&turn, output, sizeof output, line) < 0)
        return -1;
    keep(best, turn);
    if (file_size(out) + 65536 > file_size(a)) /* headers may differ */
        return 0;
    fprintf(stderr, "%s: bang average wrote %.0f MB instead of %.0f\n", out,
            (double)file_size(out) / MEGA, (double)file_size(a) / MEGA);
    return -1;
}

static int limit_turn(cost *best, int cache, unsigned depth)
{
    const char *const inputs[] = {a, b, NULL};
    cost turn;
    /* What is in the page cache need not be read. */
    if (prepare(cache, a, b) < 0 ||
        disk_limit(&turn, out_limit, file_size(a), depth, cache == COLD ? inputs : inputs + 2) < 0)
        return -1;
    keep(best, turn);
    return 0;
}

static int dd_turn(cost *best)
{
    cost turn;
    if (prepare(COLD, a, b) < 0 || dd_limit(&turn, out_limit, (const char *[]){a, b}) < 0)
        return -1;
    keep(best, turn);
    return 0;
}

typedef struct torch_cost {
    cost process, saved, durable; /* all of it; until torch.save is back; until fsync is */
} torch_cost;

static int torch_turn(torch_cost *best, int cache)
{
    char output[4096];
    const char *const line[] = {"/usr/bin/python3", script, "average", ".5", a_torch, b_torch,
                                out_torch,          NULL};
    cost process, saved, durable;
    if (prepare(cache, a_torch, b_torch) < 0 || run(&process, output, sizeof output, line) < 0)
        return -1;
    saved.peak = durable.peak = process.peak;
    if (sscanf(output, "%lf %lf %lf %lf", &saved.seconds, &durable.seconds, &saved.cores,
               &durable.cores) != 4) {
        fprintf(stderr, "%s printed: %s", script, output);
        return -1;
    }
    keep(&best->process, process);
    keep(&best->saved, saved);
    keep(&best->durable, durable);
    return 0;
}

/* ---- Files ---- */

static int fits(double bytes, const char *what)
{
    double there = (double)free_space(folder);
    if (there >= bytes)
        return 1;
    printf("%s: left out: %.0f GB are needed and %.0f free; BANG_BENCH_FOLDER may name a folder "
           "elsewhere\n",
           what, ceil(bytes / 1e9), floor(there / 1e9));
    return 0;
}

static void name_pair(const char *pair)
{
    snprintf(a, sizeof a, "%s/%s-a.safetensors", folder, pair);
    snprintf(b, sizeof b, "%s/%s-b.safetensors", folder, pair);
    snprintf(a_torch, sizeof a_torch, "%s/%s-a.pt", folder, pair);
    snprintf(b_torch, sizeof b_torch, "%s/%s-b.pt", folder, pair);
}

static int make_pair(const char *pair, content what)
{
    name_pair(pair);
    what.seed = 1;
    if (write_checkpoint(a, &what) < 0)
        return -1;
    what.seed = 2;
    return write_checkpoint(b, &what);
}

static int convert_pair(void)
{
    char output[4096];
    cost turn;
    if (run(&turn, output, sizeof output,
            (const char *[]){"/usr/bin/python3", script, "convert", a, a_torch, NULL}) < 0)
        return -1;
    return run(&turn, output, sizeof output,
               (const char *[]){"/usr/bin/python3", script, "convert", b, b_torch, NULL});
}

static void drop_pair(void)
{
    unlink(a);
    unlink(b);
    unlink(a_torch);
    unlink(b_torch);
    unlink(out);
    unlink(out_torch);
    unlink(out_limit);
}

/* ---- What was found ---- */

static void show(const char *name, cost found)
{
    printf("   %s %.2f s, %.2f core s", name, found.seconds, found.cores);
}

/* How many times as fast as the other ours is, first; goal 0 is none. */
static void verdict(const char *what, cost ours, cost other, const char *name, double goal)
{
    double ratio = other.seconds / ours.seconds;
    printf("  %-46s %6.2f times", what, ratio);
    if (goal > 0)
        printf("   goal >= %-4g %-6s", goal, ratio >= goal ? "met" : "MISSED");
    else
        printf("%-22s", "");
    show("bang", ours);
    show(name, other);
    printf("\n");
}

static void verdict_memory(const char *what, double peak, double goal)
{
    printf("  %-46s %6.1f MB      goal <= %-4g %s\n", what, peak / MEGA, goal / MEGA,
           peak <= goal ? "met" : "MISSED");
}

static void title(const char *what)
{
    printf("\n%s, %.0f MB each\n", what, (double)file_size(a) / MEGA);
}

/* Peak memory with the bound that holds by itself and with a smaller one. */
static int show_memory(cost found)
{
    cost small = {0};
    verdict_memory("peak resident memory", found.peak, 64 * MEGA);
    if (bang_turn(&small, COLD, "32M") < 0)
        return -1;
    verdict_memory("peak resident memory, --max-memory 32M", small.peak, 32 * MEGA);
    return 0;
}

/* ---- Measurements ---- */

/* The same numbers, bit for bit? */
static int compare_outputs(void)
{
    char output[4096];
    cost turn;
    int tensors = 0, different = -1;
    if (torch_turn(&(torch_cost){0}, WARM) < 0)
        return -1;
    char kept[4200];
    snprintf(kept, sizeof kept, "%s.kept", out_torch);
    rename(out_torch, kept);
    int rc = bang_turn(&(cost){0}, WARM, NULL);
    if (rc == 0)
        rc = run(&turn, output, sizeof output,
                 (const char *[]){"/usr/bin/python3", script, "compare", kept, out, NULL});
    unlink(kept);
    if (rc == 0)
        sscanf(output, "%d %d", &tensors, &different);
    if (rc == 0 && different != 0) {
        fprintf(stderr, "bang and PyTorch give different numbers in %d of %d tensors\n", different,
                tensors);
        return -1;
    }
    if (rc == 0)
        printf("  both wrote the same bits in all %d tensors\n", tensors);
    return rc;
}

static int beside_torch(void)
{
    if (!fits(quick ? 0.5e9 : 4.5e9, "beside PyTorch"))
        return 0;
    content what = {.dtype = "F32", .times = 1, .of = quick ? 10 : 1};
    if (make_pair("f32", what) < 0 || convert_pair() < 0)
        return -1;
    title("Beside torch.load, average, torch.save: two F32 files");
    cost peak = {0};
    for (int cache = COLD; cache <= WARM; cache++) {
        torch_cost torch = {0};
        cost ours = {0}, limit = {0};
        for (int turn = 0; turn < turns(cache); turn++)
            if (limit_turn(&limit, cache, 16) < 0 || torch_turn(&torch, cache) < 0 ||
                bang_turn(&ours, cache, NULL) < 0)
                return -1;
        char text[80];
        snprintf(text, sizeof text, "%s cache, both durable", caches[cache]);
        verdict(text, ours, torch.durable, "torch", cache == COLD ? 6 : 10);
        snprintf(text, sizeof text, "%s cache, torch not durable", caches[cache]);
        verdict(text, ours, torch.saved, "torch", 0);
        snprintf(text, sizeof text, "%s cache, start of both included", caches[cache]);
        verdict(text, ours, torch.process, "torch", 0);
        snprintf(text, sizeof text, "%s cache, share of the disk's limit", caches[cache]);
        verdict(text, ours, limit, cache == COLD ? "io_uring" : "io_uring, writes only", 0);
        keep(&peak, ours);
        if (cache == WARM)
            printf("  %-46s %6.1f MB\n", "peak resident memory of torch",
                   torch.process.peak / MEGA);
    }
    int rc = show_memory(peak);
    if (rc == 0)
        rc = compare_outputs();
    drop_pair();
    return rc;
}

/* Numbers of half the width in as many bytes. */
static int number_types(void)
{
    static const char *const types[] = {"F32", "F16", "BF16"}, *const names[] = {"f32", "f16",
                                                                                 "bf16"};
    if (!fits(quick ? 0.5e9 : 4.5e9, "number types"))
        return 0;
    for (int t = 0; t < 3; t++) {
        content what = {.dtype = types[t], .times = t ? 2 : 1, .of = quick ? 10 : 1};
        if (make_pair(names[t], what) < 0)
            return -1;
    }
    title("Number types: two files of as many bytes");
    for (int cache = COLD; cache <= WARM; cache++) {
        cost best[3] = {0};
        for (int turn = 0; turn < turns(cache); turn++)
            for (int t = 0; t < 3; t++) {
                name_pair(names[t]);
                if (bang_turn(&best[t], cache, NULL) < 0)
                    return -1;
            }
        for (int t = 1; t < 3; t++) {
            char text[80];
            snprintf(text, sizeof text, "%s beside F32, %s cache (1: as fast)", types[t],
                     caches[cache]);
            verdict(text, best[t], best[0], "F32", 0.95);
        }
    }
    for (int t = 0; t < 3; t++) {
        name_pair(names[t]);
        drop_pair();
    }
    return 0;
}

static int ascending(const void *x, const void *y)
{
    double left = *(const double *)x, right = *(const double *)y;
    return (left > right) - (left < right);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The same traffic without arithmetic. Disks of virtual machines change their
 * speed all the time: pairs of neighbouring turns say more than the best. */
static int beside_disk(int there)
{
    if (!fits(quick ? 1.1e9 : 9.5e9, "beside the disk"))
        return 0;
    if (make_pair("large", (content){.dtype = "F32", .times = 5, .of = quick ? 10 : 1}) < 0)
        return -1;
    title("Beside the disk: two F32 files");
    cost ring = {0}, dd = {0}, ours = {0};
    double share[DISK_TURNS], moved = 3 * (double)file_size(a);
    int count = quick ? 2 : DISK_TURNS;
    for (int turn = 0; turn < count; turn++) {
        cost limit = {0}, one = {0};
        if (limit_turn(&limit, COLD, 16) < 0 || (there && bang_turn(&one, COLD, NULL) < 0) ||
            dd_turn(&dd) < 0)
            return -1;
        keep(&ring, limit);
        keep(&ours, one);
        share[turn] = limit.seconds / one.seconds;
    }
    printf("  the disk moves %.2f GB/s with io_uring, %.2f GB/s with dd\n",
           moved / ring.seconds / 1e9, moved / dd.seconds / 1e9);
    if (!there) {
        drop_pair();
        return 0;
    }
    int by_dd = dd.seconds < ring.seconds;
    verdict("cold cache, both at their best", ours, by_dd ? dd : ring, by_dd ? "dd" : "io_uring",
            0.8);
    printf("  %-46s %6.2f times\n", "the median of pairs, beside io_uring", median(share, count));
    int rc = show_memory(ours);
    drop_pair();
    return rc;
}

/* Files larger than memory: made of holes, so that only the output needs room. */
static int bounded_memory(void)
{
    if (quick || !fits(22e9, "two 20 GB files"))
        return 0;
    if (make_pair("huge", (content){.dtype = "F32", .times = 34, .of = 1, .sparse = 1}) < 0)
        return -1;
    title("Bounded memory: two F32 files of holes");
    cost ours = {0}, small = {0};
    if (bang_turn(&ours, COLD, NULL) < 0)
        return -1;
    verdict_memory("peak resident memory", ours.peak, 64 * MEGA);
    show("  bang", ours);
    printf("\n");
    if (bang_turn(&small, COLD, "32M") < 0)
        return -1;
    verdict_memory("peak resident memory, --max-memory 32M", small.peak, 32 * MEGA);
    drop_pair();
    return 0;
}

static int measure(void)
{
    char output[65536];
    cost turn;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int there =
        run(&turn, output, sizeof output, (const char *[]){bang, "average", "--help", NULL}) == 0;
    int torch = run(&turn, output, sizeof output,
                    (const char *[]){"/usr/bin/python3", "-c",
                                     "import torch; print(torch.__version__, end='')", NULL}) == 0;
    if (torch)
        printf("PyTorch %s, all cores\n", output);
    else
        printf("PyTorch is not here: install python3-torch, python3-numpy\n");
    if (quick)
        printf("the files are a tenth of what the goals are for\n");
    int rc = 0;
    if (there && torch)
        rc = beside_torch();
    if (rc == 0 && there)
        rc = number_types();
    if (rc == 0)
        rc = beside_disk(there);
    if (rc == 0 && there)
        rc = bounded_memory();
    return rc == 0 && there ? 0 : 1;
}

/* ---- The folder ---- */

static int find_places(void)
{
    char self[3000];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return -1;
    self[length] = 0;
    for (int up = 0; up < 2; up++) /* out of build/bench */
        if (strrchr(self, '/'))
            *strrchr(self, '/') = 0;
    const char *source = getenv("BANG_SOURCE"), *build = getenv("BANG_BUILD");
    const char *wish = getenv("BANG_BENCH_FOLDER"), *small = getenv("BANG_BENCH_QUICK");
    quick = small && *small && strcmp(small, "0") != 0;
    snprintf(folder, sizeof folder, "%.3000s/bench-average", wish && *wish ? wish : self);
    snprintf(bang, sizeof bang, "%.3000s/bang", build && *build ? build : self);
    snprintf(script, sizeof script, "%.3000s/tests/bench/average_torch.py", source ? source : ".");
    snprintf(out, sizeof out, "%s/out.safetensors", folder);
    snprintf(out_torch, sizeof out_torch, "%s/out.pt", folder);
    snprintf(out_limit, sizeof out_limit, "%s/out.limit", folder);
    return 0;
}

static volatile pid_t worker;

static void pass_on(int number)
{
    kill(worker, number);
}

/* The work is done in another process, so that its gigabytes go however it ends. */
int main(void)
{
    bang_error err = {0};
    int status = -1;
    if (find_places() < 0 || bang_folder_remove(folder, &err) < 0 ||
        bang_folder_create(folder, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    worker = fork();
    if (worker == 0)
        exit(measure());
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
    if (worker > 0)
        waitpid(worker, &status, 0);
    if (bang_folder_remove(folder, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return worker > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
