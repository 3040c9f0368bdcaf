/* The parts of the benchmark `average`: files to average, and what the disk itself can do.
 * All of them say on stderr what went wrong and return -1. */
#ifndef BENCH_AVERAGE_H
#define BENCH_AVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "../process.h"

/* ---- files.c ---- */

typedef struct content {
    const char *dtype; /* "F32", "F16" or "BF16" */
    size_t times, of;  /* first dimensions are those of CLIP ViT-B/16 times this over that */
    uint64_t seed;
    int sparse; /* nothing but holes after the header */
} content;

/* Writes a safetensors file with the 302 tensors of OpenAI's CLIP ViT-B/16. */
int write_checkpoint(const char *path, const content *what);
uint64_t file_size(const char *path); /* 0 when it is not there */
uint64_t free_space(const char *folder);

/* Puts files, up to a NULL, out of the page cache or into it, and looks whether
 * that is so. */
int make_cold(const char *const paths[]);
int make_warm(const char *const paths[]);

/* ---- disk.c ---- */

/* Writes a file of size bytes durably and reads the inputs, up to a NULL, on the
 * way, with O_DIRECT and io_uring, depth requests at a time for each file. It
 * computes nothing: what it writes is the first input. */
int disk_limit(cost *out, const char *to, uint64_t size, unsigned depth, const char *const from[]);
/* The same with two processes of dd. */
int dd_limit(cost *out, const char *to, const char *const from[2]);

#endif
