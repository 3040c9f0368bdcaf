/* The parts of a tally: a plan of what is computed once per row, workers with their scratch
 * memory and counts, and the sums of blocks of rows. */
#ifndef BANG_SRC_MEASURE_TALLY_H
#define BANG_SRC_MEASURE_TALLY_H

#include "bang/base/arena.h"
#include "bang/measure/tally.h"
#include "measure/reader.h"

/* One softmax(scale z), scored once however many members have a share in it. */
typedef struct bang_softmax {
    const bang_member *mixed; /* z is the mix of its parts; NULL: z is a source */
    size_t source;
    double scale;
    int kept;  /* its exponentials are needed, for probabilities */
    int given; /* its probabilities are the source's own, and no softmax is taken */
} bang_softmax;

typedef struct bang_recipe {
    size_t part_count; /* 0: the member is softmax[0] itself */
    size_t softmax[BANG_PARTS_MAX];
    double share[BANG_PARTS_MAX];
} bang_recipe;

typedef struct bang_plan {
    size_t softmax_count, kept_count;
    bang_softmax *softmax; /* (softmax_count) */
    bang_recipe *members;  /* (member_count) */
    int *read, *scanned;   /* (sources) whether some member needs it; its largest */
    int mixes;             /* some softmax is of a mix */
} bang_plan;

/* Also checks members. The caller releases it in any case. */
int bang_plan_init(bang_plan *plan, const bang_tally_input *input, bang_error *err);
void bang_plan_release(bang_plan *plan);

/* How often each pattern occurs: an array where that is small, else a table by hash. */
typedef struct bang_counts {
    size_t *plain; /* (2^members), or NULL */
    bang_pattern *slots;
    size_t capacity, used; /* of slots; a power of 2 */
} bang_counts;

/* The caller releases it in any case. */
int bang_counts_init(bang_counts *counts, size_t members, bang_error *err);
void bang_counts_release(bang_counts *counts);
int bang_counts_add(bang_counts *counts, uint64_t right, bang_error *err);
/* All patterns of several counts, ascending; the caller frees them. */
int bang_counts_collect(bang_pattern **out, size_t *count, const bang_counts *counts,
                        size_t counts_count, size_t members, bang_error *err);

/* One bin of a member, within a block. */
typedef struct bang_cell {
    double confidence; /* sum */
    uint64_t counts;   /* of rows; of right ones in the upper half */
} bang_cell;

typedef struct bang_worker {
    int ready;
    bang_arena arena;
    const bang_measure_kernels *kernels;
    bang_reader *readers;       /* (sources) */
    double **z;                 /* (sources) of (classes, 4) */
    double **p;                 /* (sources) of (classes, 4), where probabilities are given */
    double *mixed;              /* (classes, 4) */
    double **e;                 /* (softmaxes) of (classes, 4), or NULL */
    bang_scan *scans;           /* (sources) */
    bang_soft *softs;           /* (softmaxes) */
    bang_score *soft;           /* (softmaxes) their scores */
    bang_score *scores;         /* (members) */
    uint64_t (*bin)[BANG_SIDE]; /* (members) */
    bang_fold *folds;           /* (members) of the block */
    bang_cell *cells;           /* (members, bins) of the block */
    /* Of all blocks; whole numbers, so that their order does not matter. */
    bang_counts counts;
    bang_accord *accords;             /* (pairs of members) */
    size_t *bin_count, *bin_right;    /* (members, bins) */
    size_t *class_rows, *class_right; /* as bang_tally */
} bang_worker;

typedef struct bang_listing {
    size_t count, capacity;
    bang_sample *samples;
} bang_listing;

enum { BANG_SUMS = 3 + BANG_PAIRS }; /* confidence, NLL, Brier, margins */

typedef struct bang_job {
    const bang_tally_input *input;
    const bang_tally_options *options;
    bang_plan plan;
    size_t rows, classes, bins;
    size_t block_rows, block_count;
    size_t piece_rows;
    size_t *offset;         /* (block_count + 1) counted rows before the block */
    double *sums;           /* (block_count, members, BANG_SUMS + bins) */
    double **mass;          /* (members) of (counted), or NULL */
    bang_listing *listings; /* (block_count) */
    size_t worker_count;
    bang_worker *workers;
    atomic_size_t done; /* rows */
} bang_job;

/* A bang_task: rows of one block. */
int bang_tally_block(void *context, size_t index, int worker, bang_error *err);

#endif
