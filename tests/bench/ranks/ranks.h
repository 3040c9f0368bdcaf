/* What the driver of the benchmark and the ranks that it starts have in common. */
#ifndef BANG_TESTS_BENCH_RANKS_H
#define BANG_TESTS_BENCH_RANKS_H

#include <stddef.h>

/* Networks to train: "tiny" is ViT-Ti/16, "base" ViT-B/16. */

/* What ranks measure, started with --worker:
 *
 *     sums               lines "sum BYTES SECONDS CARRIED": one sum at a time, and ten under way
 *     vit NAME BATCH STEPS   a line "vit SECONDS MESSAGES BYTES WAITED ALONE NUMBERS": of the best
 *                        step and of the rank that waited least; ALONE: the same messages while
 *                        nothing else is computed; NUMBERS: parameters */
int worker(int argc, char **argv);

/* What a cluster is taken to be, and what was measured. */
typedef struct cluster {
    double cores, threads;     /* of a node, of a rank */
    double speed;              /* of a core beside all others, relative to one alone */
    double bandwidth;          /* bytes a second, each way, of a node's network */
    double latency;            /* seconds of a message */
    double memory, memory_one; /* bytes a second: of a node, of one core */
    double batch;              /* pictures of all nodes together */
    double decode;             /* seconds of a core for a picture */
    /* measured */
    double picture; /* seconds of a core, forward and backward */
    double numbers, messages;
    double piece; /* pictures that a thread takes at once */
} cluster;

/* ImageNet, 10 epochs, on 1, 2, 4, ... 64 nodes. */
void print_cluster(const cluster *c);

#endif
