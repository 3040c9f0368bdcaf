/* The parts of the benchmark `vit`. Both sides run in processes of their own and
 * speak the same few words: told a number of steps, they answer with what those
 * cost. */
#ifndef BENCH_VIT_H
#define BENCH_VIT_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "../peer.h"
#include "bang/model/vit.h"

/* What one side is to do. */
typedef struct job {
    bang_vit_config config;
    bang_vit_purpose purpose;
    size_t batch;
    int threads;
    size_t piece; /* images that a thread of ours takes at once; 0: the trainer's choice */
} job;

typedef struct cost {
    double wall, core; /* seconds of some steps: passed, and of all cores together */
    double peak;       /* bytes resident at most, since the process began */
} cost;

double wall_seconds(void);
/* Of all threads of this process. */
double core_seconds(void);

/* ---- work.c ---- */

/* Floating-point operations of an image, as every token's are counted: forward, or with
 * backward. */
double nominal_work(const job *j);
/* The same without what only the class token needs in the last block. */
double exact_work(const job *j);
/* Operations per second of fused multiply-adds in registers, on so many threads; 0: not
 * known on this processor. */
double measure_peak(int threads);

/* ---- ours.c ---- */

/* Our side: answers on stdout what comes on stdin, until that ends. */
int serve(const job *j);
/* Memory of one thread's worker, for each image that it has under way. */
double activation_bytes(const job *j);

/* ---- side.c ---- */

typedef peer side;

/* Starts it and waits until its first step is done. Returns -1 when it cannot. */
int start_ours(side *s, const job *j);
/* wait: OMP_WAIT_POLICY, how its threads wait; empty: as they do by themselves. */
int start_torch(side *s, const job *j, const char *wait);
/* Returns -1 when the process has ended. */
int run_steps(cost *out, side *s, int steps);
/* CPU seconds of its process so far; negative when it has ended. */
double core_of(const side *s);
void stop_side(side *s);
/* The words after "--side" as start_ours wrote them; -1 when they are not. */
int read_job(job *out, int count, char **words);

#endif
