/* What `bang diagnose` costs beside NumPy for the same quantities, once in whole arrays and once
 * in blocks that stay in the cache (tests/bench/diagnose_numpy.py). All take turns on the same
 * files, which are in the page cache, and the best turn of each counts. bang is measured as a
 * process from start to end; NumPy counts from the first read, so without the time it takes to
 * start.
 *
 * The files, 600 MB at a time, go to a new folder in $BANG_BENCH_FOLDER, else $TMPDIR, else
 * /tmp; NumPy needs 7 GB of memory. BANG_BENCH_QUICK=1 takes a tenth of the rows. BANG_BUILD says
 * where another build of bang is. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/base/random.h"
#include "bang/store/npy.h"
#include "peer.h"
#include "process.h"

enum { TURNS = 6, SLOW_TURNS = 2, PIECE = 1000, MODELS = 3, OUTPUT = 1 << 20 };
enum { PLAIN, BLOCKS, WAYS }; /* of NumPy */
#define MEGA 1e6

typedef struct shape {
    const char *what;
    size_t rows, classes;
    double seconds; /* the goal; 0: none */
} shape;

static const shape shapes[] = {
    {"50,000 x 1000 logits of three models", 50000, 1000, 1.5},
    {"5,000,000 x 10 logits of three models", 5000000, 10, 0},
};

static char folder[4000], bang[4096], script[4096];
static char labels[4096], logits[MODELS][4096];
static int quick;

/* ---- Files ---- */

static bang_random stream(uint32_t purpose, uint64_t row)
{
    bang_random random;
    bang_random_init(&random, 1, purpose, row / PIECE);
    return random;
}

static int write_labels(const shape *s, bang_error *err)
{
    bang_array array;
    size_t dims[] = {s->rows};
    int rc = bang_array_init(&array, BANG_I64, 1, dims, err);
    if (rc < 0)
        return rc;
    int64_t *label = array.data;
    bang_random random;
    for (size_t i = 0; i < s->rows; i++) {
        if (i % PIECE == 0)
            random = stream(BANG_PURPOSE('l', 'a', 'b', 'l'), i);
        label[i] = (int64_t)bang_random_below(&random, s->classes);
    }
    rc = bang_npy_write(labels, &array, err);
    bang_array_release(&array);
    return rc;
}

/* Normal noise, in part the same for all models, and the true class above it by `skill`. */
static int write_logits(const shape *s, int model, bang_error *err)
{
    static const double skill[MODELS] = {3, 4, 4.5}, sharp[MODELS] = {1, 2.5, 1.5};
    bang_npy_rows *to;
    float *piece = malloc(PIECE * s->classes * sizeof *piece);
    int rc = bang_npy_rows_begin(&to, logits[model], s->classes, s->rows, err);
    if (rc < 0 || !piece) {
        free(piece);
        return -1;
    }
    for (size_t first = 0; first < s->rows; first += PIECE) {
        size_t count = s->rows - first < PIECE ? s->rows - first : PIECE;
        bang_random label = stream(BANG_PURPOSE('l', 'a', 'b', 'l'), first);
        bang_random shared = stream(BANG_PURPOSE('s', 'h', 'a', 'r'), first);
        bang_random own = stream(BANG_PURPOSE('o', 'w', 'n', '0' + model), first);
        for (size_t i = 0; i < count; i++) {
            float *z = piece + i * s->classes;
            for (size_t k = 0; k < s->classes; k++)
                z[k] = (float)(sharp[model] * (0.6 * bang_random_normal(&shared) +
                                               0.8 * bang_random_normal(&own)));
            z[bang_random_below(&label, s->classes)] += (float)(sharp[model] * skill[model]);
        }
        bang_npy_rows_add(to, piece, count);
    }
    free(piece);
    return bang_npy_rows_commit(to, err);
}

/* In another process: its memory would count as that of those it starts. */
static int make_files(const shape *s)
{
    int status = -1;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        bang_error err = {0};
        int rc = write_labels(s, &err);
        for (int m = 0; rc == 0 && m < MODELS; m++)
            rc = write_logits(s, m, &err);
        if (rc < 0)
            fprintf(stderr, "%s\n", err.message);
        _exit(rc < 0);
    }
    if (process < 0 || waitpid(process, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- Turns ---- */

/* Some numbers that both sides must agree on. */
typedef struct answers {
    double avg, calibrated; /* accuracies */
    double temperature, nll, ece;
} answers;

static void keep(cost *best, cost turn)
{
    double peak = fmax(best->peak, turn.peak);
    if (best->seconds == 0 || turn.seconds < best->seconds)
        *best = turn;
    best->peak = peak;
}

static double number_at(const json_t *object, const char *key, const char *role)
{
    return json_number_value(json_object_get(json_object_get(object, key), role));
}

static int bang_turn(cost *best, answers *found)
{
    static char output[OUTPUT];
    const char *const line[] = {bang,      "diagnose", "--labels", labels,  "--pre",
                                logits[0], "--fine",   logits[1],  "--avg", logits[2],
                                "--json",  "--quiet",  NULL};
    cost turn;
    json_t *json;
    bang_error err = {0};
    if (run(&turn, output, sizeof output, line) < 0)
        return -1;
    keep(best, turn);
    if (bang_json_parse(&json, output, strlen(output), &err) < 0) {
        fprintf(stderr, "bang diagnose printed no JSON: %s\n", err.message);
        return -1;
    }
    *found =
        (answers){number_at(json, "accuracy", "avg"), number_at(json, "accuracy", "calibrated_ose"),
                  number_at(json, "temperature", "fine"), number_at(json, "nll", "fine"),
                  number_at(json, "ece", "pre")};
    json_decref(json);
    return 0;
}

static int numpy_turn(cost *best, answers *found, peer *numpy)
{
    cost turn;
    fprintf(numpy->in, "%s\t%s\t%s\t%s\n", labels, logits[0], logits[1], logits[2]);
    fflush(numpy->in);
    if (fscanf(numpy->out, "%lf %lf %lf %lf %lf %lf %lf %lf", &turn.seconds, &turn.cores,
               &turn.peak, &found->avg, &found->calibrated, &found->temperature, &found->nll,
               &found->ece) != 8) {
        fprintf(stderr, "%s ended before its answer\n", script);
        return -1;
    }
    keep(best, turn);
    return 0;
}

static int agree(const answers *a, const answers *b)
{
    const double first[] = {a->avg, a->calibrated, a->temperature, a->nll, a->ece};
    const double second[] = {b->avg, b->calibrated, b->temperature, b->nll, b->ece};
    for (int i = 0; i < 5; i++)
        if (!(fabs(first[i] - second[i]) <= 1e-8 * fabs(second[i]))) {
            fprintf(stderr, "bang and NumPy give different numbers: %.17g and %.17g\n", first[i],
                    second[i]);
            return -1;
        }
    return 0;
}

/* ---- What was found ---- */

static void show(const char *name, cost found)
{
    printf("  %-8s %7.2f s %7.2f core s %7.0f MB\n", name, found.seconds, found.cores,
           found.peak / MEGA);
}

static void verdict(const char *what, double value, const char *sign, double goal, int met)
{
    printf("  %-22s %7.2f   goal %s %-4g %s\n", what, value, sign, goal,
           quick ? "for all rows"
           : met ? "met"
                 : "MISSED");
}

static int measure(const shape *all, peer numpy[WAYS])
{
    static const char *const names[WAYS] = {"plain", "blocks"};
    shape s = *all;
    s.rows /= quick ? 10 : 1;
    cost ours = {0}, theirs[WAYS] = {0};
    answers mine, other;
    printf("%s%s\n", s.what, quick ? ", a tenth of the rows" : "");
    if (make_files(&s) < 0)
        return -1;
    for (int turn = 0; turn < TURNS; turn++) {
        if (bang_turn(&ours, &mine) < 0)
            return -1;
        for (int way = 0; numpy && way < WAYS && turn < SLOW_TURNS; way++)
            if (numpy_turn(&theirs[way], &other, &numpy[way]) < 0 || agree(&mine, &other) < 0)
                return -1;
    }
    show("bang", ours);
    for (int way = 0; numpy && way < WAYS; way++)
        show(names[way], theirs[way]);
    if (s.seconds > 0)
        verdict("seconds", ours.seconds, "<=", s.seconds, ours.seconds <= s.seconds);
    verdict("peak memory in MB", ours.peak / MEGA, "<=", 200, ours.peak <= 200 * MEGA);
    if (!numpy)
        return 0;
    double ratio = theirs[PLAIN].seconds / ours.seconds;
    verdict("times as fast as plain", ratio, ">=", 20, ratio >= 20);
    printf("  %-22s %7.2f\n", "as blocks", theirs[BLOCKS].seconds / ours.seconds);
    return 0;
}

static int start_numpy(peer *numpy, const char *way)
{
    char python[] = "/usr/bin/python3", word[16];
    snprintf(word, sizeof word, "%s", way);
    char *const line[] = {python, script, word, NULL};
    return start_peer(numpy, line);
}

static int measure_all(void)
{
    peer numpy[WAYS] = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    int there =
            start_numpy(&numpy[PLAIN], "plain") == 0 && start_numpy(&numpy[BLOCKS], "blocks") == 0,
        rc = 0;
    if (there)
        printf("%s and in blocks; it uses one core\n", numpy[PLAIN].about);
    else
        printf("NumPy is not here: install python3-numpy\n");
    for (size_t i = 0; rc == 0 && i < sizeof shapes / sizeof *shapes; i++)
        rc = measure(&shapes[i], there ? numpy : NULL);
    for (int way = 0; way < WAYS; way++) {
        if (numpy[way].in)
            fclose(numpy[way].in);
        if (numpy[way].out)
            fclose(numpy[way].out);
    }
    return rc;
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
    const char *temporary = getenv("TMPDIR");
    if (!wish || !*wish)
        wish = temporary && *temporary ? temporary : "/tmp";
    quick = small && *small && strcmp(small, "0") != 0;
    snprintf(folder, sizeof folder, "%.3000s/bench-diagnose-XXXXXX", wish);
    snprintf(bang, sizeof bang, "%.3000s/bang", build && *build ? build : self);
    snprintf(script, sizeof script, "%.3000s/tests/bench/diagnose_numpy.py", source ? source : ".");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "%s: cannot be made: set BANG_BENCH_FOLDER\n", folder);
        return -1;
    }
    snprintf(labels, sizeof labels, "%s/labels.npy", folder);
    for (int m = 0; m < MODELS; m++)
        snprintf(logits[m], sizeof logits[m], "%s/logits-%d.npy", folder, m);
    return 0;
}

static volatile pid_t worker;

static void pass_on(int number)
{
    kill(-worker, number);
}

/* The work is done in another process, so that its files go however it ends, and in a group of
 * its own, so that those it started end with it. */
int main(void)
{
    bang_error err = {0};
    int status = -1;
    if (find_places() < 0)
        return 1;
    worker = fork();
    if (worker == 0) {
        setpgid(0, 0);
        exit(measure_all() < 0);
    }
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
