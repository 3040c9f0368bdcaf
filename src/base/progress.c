#include "bang/base/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bang_progress_step(const bang_progress *progress, uint64_t done, uint64_t total)
{
    if (progress && progress->step)
        progress->step(progress->context, done, total);
}

/* 2s, 1m05s, 3h07m, 2d04h. */
static void render_duration(char *out, size_t size, double seconds)
{
    if (!(seconds < 1e8)) {
        snprintf(out, size, "very long");
        return;
    }
    long s = (long)ceil(seconds);
    if (s < 60)
        snprintf(out, size, "%lds", s);
    else if (s < 3600)
        snprintf(out, size, "%ldm%02lds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, size, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else
        snprintf(out, size, "%ldd%02ldh", s / 86400, s / 3600 % 24);
}

static void render_rate(char *out, size_t size, double rate)
{
    if (rate >= 1e7)
        snprintf(out, size, "%.0fM/s", rate / 1e6);
    else if (rate >= 1e4)
        snprintf(out, size, "%.0fk/s", rate / 1e3);
    else if (rate >= 10)
        snprintf(out, size, "%.0f/s", rate);
    else if (rate >= 0.1)
        snprintf(out, size, "%.1f/s", rate);
    else
        snprintf(out, size, "%.1f/min", rate * 60);
}

/* Adds length to used if it stays within limit, and says whether it did. */
static void take(size_t *used, size_t limit, size_t length, int *taken)
{
    *taken = length <= limit - *used;
    *used += *taken ? length : 0;
}

/* How much is done, and how fast. */
static void render_amount(char (*out)[64], int bytes, uint64_t done, uint64_t total, double seconds)
{
    double rate = done > 0 && seconds > 0 && isfinite(seconds) ? (double)done / seconds : 0;
    if (bytes) {
        int giga = total >= 10000000000U;
        double unit = giga ? 1e9 : 1e6;
        snprintf(out[0], sizeof out[0], giga ? " %.1f/%.1f %s" : " %.0f/%.0f %s",
                 (double)done / unit, (double)total / unit, giga ? "GB" : "MB");
        if (rate > 0)
            snprintf(out[1], sizeof out[1], "  %.2f GB/s", rate / 1e9);
        return;
    }
    snprintf(out[0], sizeof out[0], " %llu/%llu", (unsigned long long)done,
             (unsigned long long)total);
    if (rate > 0) {
        char text[48];
        render_rate(text, sizeof text, rate);
        snprintf(out[1], sizeof out[1], "  %s", text);
    }
}

static void render(char *out, size_t size, const char *label, int bytes, uint64_t done,
                   uint64_t total, double seconds, int width)
{
    enum { SMALLEST_BAR = 5, LARGEST_BAR = 40, MOST = 256 };
    if (size == 0)
        return;
    out[0] = '\0';
    if (width <= 0)
        return;
    double share = total ? (done < total ? (double)done / (double)total : 1) : 0;
    /* 100 % only when all is done. */
    int percent = (int)floor(100 * share);

    /* What follows the bar, most important first: what does not fit is left out. */
    char parts[4][64] = {{0}};
    snprintf(parts[0], sizeof parts[0], "%3d%%", percent);
    render_amount(parts + 1, bytes, done, total, seconds);
    if (done > 0 && seconds > 0 && isfinite(seconds) && done < total) {
        char text[48];
        render_duration(text, sizeof text, seconds / (double)done * (double)(total - done));
        snprintf(parts[3], sizeof parts[3], "  %s left", text);
    }
    size_t limit = size - 1 < (size_t)width ? size - 1 : (size_t)width;
    if (limit > MOST)
        limit = MOST;
    /* In order of importance: per cent, label, time left, a small bar, count, rate. */
    int shown[4] = {0}, bar_shown;
    size_t used = 0, name = label ? strlen(label) + 1 : 0, cells = 0;
    take(&used, limit, strlen(parts[0]), &shown[0]);
    if (used + name > limit)
        name = 0;
    used += name;
    take(&used, limit, strlen(parts[3]), &shown[3]);
    take(&used, limit, SMALLEST_BAR + 3, &bar_shown);
    take(&used, limit, strlen(parts[1]), &shown[1]);
    take(&used, limit, strlen(parts[2]), &shown[2]);
    char bar[LARGEST_BAR + 4] = {0};
    if (bar_shown) {
        cells = SMALLEST_BAR + (limit - used);
        cells = cells < LARGEST_BAR ? cells : LARGEST_BAR;
        size_t full = (size_t)(share * (double)cells);
        bar[0] = '[';
        memset(bar + 1, '#', full);
        memset(bar + 1 + full, '.', cells - full);
        bar[1 + cells] = ']';
        bar[2 + cells] = ' ';
    }
    char line[MOST + 64];
    snprintf(line, sizeof line, "%s%s%s%s%s%s%s", name ? label : "", name ? " " : "", bar,
             shown[0] ? parts[0] : "", shown[1] ? parts[1] : "", shown[2] ? parts[2] : "",
             shown[3] ? parts[3] : "");
    const char *start = line; /* without a bar or label the line must not begin with a space */
    while (*start == ' ')
        start++;
    snprintf(out, size, "%s", start);
}

void bang_progress_render(char *out, size_t size, const char *label, uint64_t done, uint64_t total,
                          double seconds, int width)
{
    render(out, size, label, 0, done, total, seconds, width);
}

void bang_progress_render_bytes(char *out, size_t size, const char *label, uint64_t done,
                                uint64_t total, double seconds, int width)
{
    render(out, size, label, 1, done, total, seconds, width);
}

int bang_progress_tells(uint64_t done, uint64_t total, double seconds)
{
    double share = total ? (double)done / (double)total : 0;
    return (share >= .02 && seconds >= 1) || (share >= .005 && seconds >= 20);
}
