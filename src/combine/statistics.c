#include "bang/combine/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bang/tensor/convert.h"

/* Sums of one block. */
typedef struct partial {
    double min, max, sum, square;
    uint64_t nan, inf;
} partial;

typedef struct scanning {
    const bang_dtype *types; /* (stream items) */
    const size_t *entries;   /* (stream items) whose numbers */
    bang_statistics *out;
} scanning;

/* Little-endian bytes of any integer type. */
static void integers_to_f64(double *out, const unsigned char *in, bang_dtype dtype, size_t count)
{
    size_t size = bang_dtype_size(dtype);
    uint64_t sign = size > 0 ? UINT64_C(1) << (8 * size - 1) : 0;
    int is_signed = dtype == BANG_I8 || dtype == BANG_I16 || dtype == BANG_I32 || dtype == BANG_I64;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        for (size_t b = 0; b < size; b++)
            bits |= (uint64_t)in[i * size + b] << 8 * b;
        if (is_signed) /* two's complement: flip the sign's bit, take its worth away */
            out[i] = (double)(int64_t)((bits ^ sign) - sign);
        else
            out[i] = (double)bits;
    }
}

enum { LANES = 8, CHUNK = 1024 };

typedef struct lanes {
    double min[LANES], max[LANES], sum[LANES], square[LANES], bad[LANES], nan[LANES];
} lanes;

/* Without a branch, so that LANES numbers go side by side. count is a multiple of LANES. */
static void add_chunk(lanes *s, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            double v = x[i + l];
            int fine = fabs(v) <= DBL_MAX;
            double low = fine ? v : INFINITY, high = fine ? v : -INFINITY, plain = fine ? v : 0;
            s->min[l] = low < s->min[l] ? low : s->min[l];
            s->max[l] = high > s->max[l] ? high : s->max[l];
            s->sum[l] += plain;
            s->square[l] += plain * plain;
            s->bad[l] += fine ? 0.0 : 1.0;
            s->nan[l] += v == v ? 0.0 : 1.0;
        }
}

static void look(void *context, size_t item, uint64_t first, size_t count, const void *const *in,
                 void *out)
{
    const scanning *scan = context;
    bang_dtype dtype = scan->types[item];
    size_t size = bang_dtype_size(dtype);
    double chunk[CHUNK], padding = 0;
    lanes s = {.sum = {0}};
    partial *p = out;
    (void)first;
    for (size_t l = 0; l < LANES; l++) {
        s.min[l] = INFINITY;
        s.max[l] = -INFINITY;
    }
    for (size_t i = 0; i < count; i += CHUNK) {
        size_t n = count - i < CHUNK ? count - i : CHUNK;
        const unsigned char *bytes = (const unsigned char *)in[0] + i * size;
        if (bang_dtype_is_real(dtype))
            bang_to_f64(chunk, bytes, dtype, n);
        else
            integers_to_f64(chunk, bytes, dtype, n);
        for (; n % LANES; n++, padding++) /* infinite: adds to no sum, and is taken off below */
            chunk[n] = INFINITY;
        add_chunk(&s, chunk, n);
    }
    *p = (partial){.min = INFINITY, .max = -INFINITY};
    double bad = 0, nan = 0;
    for (size_t l = 0; l < LANES; l++) {
        p->min = s.min[l] < p->min ? s.min[l] : p->min;
        p->max = s.max[l] > p->max ? s.max[l] : p->max;
        p->sum += s.sum[l];
        p->square += s.square[l];
        bad += s.bad[l];
        nan += s.nan[l];
    }
    p->nan = (uint64_t)nan;
    p->inf = (uint64_t)(bad - nan - padding);
}

/* mean and norm hold sums until all blocks are there. */
static void fold(void *context, size_t item, const void *block)
{
    const scanning *scan = context;
    const partial *p = block;
    bang_statistics *out = &scan->out[scan->entries[item]];
    out->min = p->min < out->min ? p->min : out->min;
    out->max = p->max > out->max ? p->max : out->max;
    out->mean += p->sum;
    out->norm += p->square;
    out->nan += p->nan;
    out->inf += p->inf;
}

static void finish(bang_statistics *s)
{
    uint64_t finite = s->count - s->nan - s->inf;
    s->min = finite ? s->min : (double)NAN;
    s->max = finite ? s->max : (double)NAN;
    s->mean = finite ? s->mean / (double)finite : (double)NAN;
    s->norm = finite ? sqrt(s->norm) : (double)NAN;
}

int bang_statistics_measure(bang_statistics *out, const bang_checkpoint *checkpoint,
                            bang_stream *stream, bang_error *err)
{
    size_t count = 0, total = checkpoint->count;
    bang_stream_item *items = calloc(total + 1, sizeof *items);
    bang_feed *feeds = calloc(total + 1, sizeof *feeds);
    bang_dtype *types = calloc(total + 1, sizeof *types);
    size_t *entries = calloc(total + 1, sizeof *entries);
    int rc = items && feeds && types && entries ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < total; i++) {
        const bang_entry *entry = &checkpoint->entries[i];
        out[i] = (bang_statistics){.min = INFINITY, .max = -INFINITY};
        if (!bang_dtype_is_real(entry->dtype) && !bang_dtype_is_integer(entry->dtype))
            continue;
        out[i].known = 1;
        out[i].count = bang_entry_count(entry);
        feeds[count] = (bang_feed){checkpoint, entry};
        items[count] = (bang_stream_item){.feeds = &feeds[count], .count = out[i].count};
        types[count] = entry->dtype;
        entries[count++] = i;
    }
    scanning scan = {types, entries, out};
    if (rc == 0)
        rc = bang_stream_scan(stream, items, count, 1, sizeof(partial), look, fold, &scan, err);
    for (size_t i = 0; rc == 0 && i < total; i++)
        if (out[i].known)
            finish(&out[i]);
    free(items);
    free(feeds);
    free(types);
    free(entries);
    return rc;
}
