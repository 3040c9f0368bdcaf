/* Ranks at work, started by mpirun: calls CASE ... Says what went wrong, or nothing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bang/base/rank.h"

static bang_cancel cancel;
static bang_ranks *ranks;
static int rank, count;

/* Ends a case with the line that was not true. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what))                                                                               \
            return bang_fail(err, BANG_EDATA, "line %d: %s", __LINE__, #what);                     \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        int tried = (call);                                                                        \
        if (tried < 0)                                                                             \
            return tried;                                                                          \
    } while (0)

static void on_signal(int number)
{
    (void)number;
    atomic_store(&cancel.raised, 1);
}

/* A stage holds 1 Mi floats: these counts are below, at, and beyond one, and beyond several. */
static const size_t counts[] = {0, 1, 1000, 1 << 20, (1 << 20) + 1, (2 << 20) + 7};
enum { COUNTS = sizeof counts / sizeof *counts };

static float value_of(int r, size_t i)
{
    return (float)((i * 7 + 13 * (size_t)r) % 1001) - 500.0F;
}

static int test_sums(bang_error *err)
{
    for (int c = 0; c < COUNTS; c++) {
        size_t n = counts[c];
        float *f = calloc(n + 1, sizeof *f);
        double *d = calloc(n + 1, sizeof *d);
        uint8_t *u = calloc(n + 1, 1);
        CHECK(f && d && u);
        for (size_t i = 0; i < n; i++) {
            f[i] = value_of(rank, i);
            d[i] = 0.125 * (double)value_of(rank, i);
            u[i] = (uint8_t)((i + (size_t)rank * 50) % 251);
        }
        f[n] = 17;
        TRY(bang_ranks_sum_f32(ranks, f, n, err));
        TRY(bang_ranks_sum_f64(ranks, d, n, err));
        TRY(bang_ranks_max_u8(ranks, u, n, err));
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            uint8_t most = 0;
            for (int r = 0; r < count; r++) {
                uint8_t one = (uint8_t)((i + (size_t)r * 50) % 251);
                sum += value_of(r, i);
                most = one > most ? one : most;
            }
            CHECK(f[i] == sum && d[i] == 0.125 * (double)sum && u[i] == most);
        }
        CHECK(f[n] == 17);
        free(f);
        free(d);
        free(u);
    }
    return 0;
}

static int test_gather(bang_error *err)
{
    static const size_t rows[] = {0, 1, 2, 3, 5, 10, 1000};
    static const size_t sizes[] = {1, 24, 7777};
    for (size_t c = 0; c < 7 * 3; c++) {
        size_t n = rows[c % 7], size = sizes[c / 7], from, to;
        unsigned char *data = calloc(n * size + 1, 1);
        CHECK(data);
        bang_ranks_share(&from, &to, ranks, n);
        for (size_t i = from * size; i < to * size; i++)
            data[i] = (unsigned char)(i % 253);
        data[n * size] = 99;
        TRY(bang_ranks_gather(ranks, data, size, n, err));
        for (size_t i = 0; i < n * size; i++)
            CHECK(data[i] == i % 253);
        CHECK(data[n * size] == 99);
        memset(data, rank == 0 ? 5 : 6, n * size);
        TRY(bang_ranks_broadcast(ranks, data, n * size, err));
        for (size_t i = 0; i < n * size; i++)
            CHECK(data[i] == 5);
        free(data);
    }
    return 0;
}

enum { LETTERS = 20 };

/* From nothing to more than a stage. */
static size_t letter_size(uint64_t number)
{
    return number % LETTERS == 7 ? (9U << 20) + 3 : (size_t)(number % LETTERS) * 997;
}

static int test_mail(bang_error *err)
{
    size_t expected = rank == 0 ? (size_t)(count - 1) * LETTERS : 0;
    unsigned char *seen = calloc((size_t)count * LETTERS, 1);
    CHECK(seen);
    for (uint64_t i = 0; rank > 0 && i < LETTERS; i++) {
        uint64_t number = (uint64_t)rank * LETTERS + i;
        size_t size = letter_size(number);
        unsigned char *data = malloc(size + 1);
        CHECK(data);
        memset(data, (int)(number % 255), size);
        TRY(bang_ranks_post(ranks, number, data, size, err));
        free(data); /* it was copied */
    }
    for (size_t i = 0; i < expected; i++) {
        uint64_t number = 0;
        void *data = NULL;
        size_t size = 0;
        int rc = 0;
        for (int tries = 0; rc == 0; tries++)
            TRY(rc = bang_ranks_receive(ranks, &number, &data, &size, tries > 2, err));
        CHECK(number < (uint64_t)count * LETTERS && !seen[number]);
        CHECK(size == letter_size(number));
        for (size_t k = 0; k < size; k++)
            CHECK(((unsigned char *)data)[k] == number % 255);
        CHECK(((char *)data)[size] == '\0');
        seen[number] = 1;
        free(data);
    }
    free(seen);
    return 0;
}

/* Sums under way beside collective calls of the caller. */
static int test_overlap(bang_error *err)
{
    enum { N = 3000000, SLICES = 12 };
    float *f = calloc(N, sizeof *f);
    double one = 1;
    CHECK(f);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++)
            f[i] = value_of(rank, i);
        for (size_t s = 0; s < SLICES; s++)
            TRY(bang_ranks_begin_sum(ranks, f + s * (N / SLICES), N / SLICES, err));
        one = 1;
        TRY(bang_ranks_sum_f64(ranks, &one, 1, err));
        CHECK(one == count);
        TRY(bang_ranks_end_sums(ranks, err));
        for (size_t i = 0; i < N; i++) {
            float sum = 0;
            for (int r = 0; r < count; r++)
                sum += value_of(r, i);
            CHECK(f[i] == sum);
        }
    }
    free(f);
    return 0;
}

static void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

/* Sums without end, until something happens. */
static int sum_for_ever(bang_error *err)
{
    float values[1000] = {0};
    for (;;) {
        TRY(bang_ranks_sum_f32(ranks, values, 1000, err));
        TRY(bang_ranks_begin_sum(ranks, values, 1000, err));
        TRY(bang_ranks_end_sums(ranks, err));
    }
}

static int test_failure(bang_error *err)
{
    double one = 1;
    TRY(bang_ranks_sum_f64(ranks, &one, 1, err));
    if (rank == count - 1)
        return bang_fail(err, BANG_EDATA, "the milk is sour");
    return sum_for_ever(err);
}

/* The last, or the first, is killed at a time when all are at work. */
static int test_killed(int victim, bang_error *err)
{
    double one = 1;
    TRY(bang_ranks_sum_f64(ranks, &one, 1, err));
    if (rank == victim) {
        nap(.2);
        raise(SIGKILL);
    }
    return sum_for_ever(err);
}

/* The others compute and look at nothing but cancel. */
static int test_killed_busy(bang_error *err)
{
    if (rank == count - 1) {
        nap(.2);
        raise(SIGKILL);
    }
    while (!bang_cancelled(&cancel))
        nap(.01);
    return bang_fail(err, BANG_ECANCELLED, "stopped on request");
}

static atomic_int missed;

static void on_lost(void *context, const bang_error *why)
{
    (void)context;
    fprintf(stderr, "calls: %s (%d of %d says so)\n", why->message, rank, count);
    atomic_store(&missed, 1);
}

/* The one that is left looks at nothing at all until it was told. */
static int test_killed_watched(int victim, bang_error *err)
{
    bang_ranks_watch(ranks, on_lost, NULL);
    if (rank == victim)
        raise(SIGKILL);
    while (!atomic_load(&missed))
        nap(.01);
    return bang_fail(err, BANG_ECANCELLED, "stopped on request");
}

static int test_cancel(bang_error *err)
{
    if (rank == count - 1) {
        nap(.1);
        atomic_store(&cancel.raised, 1);
    }
    return sum_for_ever(err);
}

static int run(const char *name, bang_error *err)
{
    return strcmp(name, "sums") == 0          ? test_sums(err)
           : strcmp(name, "gather") == 0      ? test_gather(err)
           : strcmp(name, "mail") == 0        ? test_mail(err)
           : strcmp(name, "overlap") == 0     ? test_overlap(err)
           : strcmp(name, "failure") == 0     ? test_failure(err)
           : strcmp(name, "killed") == 0      ? test_killed(count - 1, err)
           : strcmp(name, "killed-0") == 0    ? test_killed(0, err)
           : strcmp(name, "killed-busy") == 0 ? test_killed_busy(err)
           : strcmp(name, "watched") == 0     ? test_killed_watched(count - 1, err)
           : strcmp(name, "watched-0") == 0   ? test_killed_watched(0, err)
           : strcmp(name, "cancel") == 0      ? test_cancel(err)
                                         : bang_fail(err, BANG_EUSAGE, "%s: no such case", name);
}

int main(int argc, char **argv)
{
    bang_error err = {0};
    signal(SIGTERM, on_signal);
    int rc = argc > 1 ? bang_ranks_open(&ranks, &cancel, &err) : -1;
    rank = bang_ranks_rank(ranks);
    count = bang_ranks_count(ranks);
    for (int i = 1; i < argc && rc == 0; i++)
        rc = run(argv[i], &err);
    rc = bang_ranks_finish(ranks, rc < 0 ? &err : NULL, &err);
    if (rc < 0 && bang_ranks_speaks(ranks))
        fprintf(stderr, "calls: %s (%d of %d says so)\n", err.message, rank, count);
    int status = rc == 0 ? 0 : rc == BANG_ECANCELLED ? 130 : 1;
    bang_ranks_close(ranks, NULL, &err);
    return status;
}
