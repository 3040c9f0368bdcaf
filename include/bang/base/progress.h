/* Progress of long work. The library reports through a callback and never
 * prints; the command draws the bar that bang_progress_render composes.
 *
 *     bang_progress_step(progress, done, total);   // progress may be NULL
 */
#ifndef BANG_BASE_PROGRESS_H
#define BANG_BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bang_progress {
    /* Called from any thread, one call at a time not guaranteed. */
    void (*step)(void *context, uint64_t done, uint64_t total);
    void *context;
} bang_progress;

/* Reports through progress, which may be NULL. */
void bang_progress_step(const bang_progress *progress, uint64_t done, uint64_t total);

/* Writes one line such as
 *     runs [#########...........]  45% 450/1000  210/s  2s left
 * of at most width characters into out (size bytes, always terminated).
 * What matters less is left out where the width is small. seconds is the time
 * since the work began; label may be NULL. */
void bang_progress_render(char *out, size_t size, const char *label, uint64_t done, uint64_t total,
                          double seconds, int width);
/* The same for bytes: MB and GB/s. */
void bang_progress_render_bytes(char *out, size_t size, const char *label, uint64_t done,
                                uint64_t total, double seconds, int width);

/* 0 while so little is done that time left would be a guess, which frightens: 2 % and a second, or
 * 0.5 % and 20 seconds, are enough. */
int bang_progress_tells(uint64_t done, uint64_t total, double seconds);

#endif
