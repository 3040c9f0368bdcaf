/* Maps of many pictures. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bang/explain/saliency.h"

/* What a thread works with. */
typedef struct desk {
    bang_saliency *maps;
    float *pixels; /* (channels, image, image) */
    double *map;   /* (side, side) before it is made smaller */
} desk;

typedef struct job {
    const bang_saliency_run *run;
    double *maps;
    size_t *explained;
    float *logits;
    size_t cells, side; /* of a map as it is handed out, and as it is made */
    desk *desks;        /* (threads) */
    atomic_size_t done;
} job;

static int open_desk(desk *d, const bang_saliency_run *run, bang_error *err)
{
    const bang_vit_config *c = &run->vit->config;
    d->pixels = calloc(c->channels * c->image * c->image, sizeof *d->pixels);
    d->map = calloc(c->image * c->image, sizeof *d->map);
    return d->pixels && d->map ? bang_saliency_open(&d->maps, run->vit, err)
                               : bang_fail_memory(err);
}

static int work(void *context, size_t i, int worker, bang_error *err)
{
    job *j = context;
    const bang_saliency_run *run = j->run;
    desk *d = &j->desks[worker];
    size_t classes = run->vit->config.classes;
    int rc = d->maps ? 0 : open_desk(d, run, err);
    if (rc < 0)
        return rc;
    run->pixels(run->context, i, d->pixels);
    size_t which = bang_saliency_map(d->map, d->maps, run->kind, d->pixels,
                                     run->which ? run->which[i] : SIZE_MAX);
    bang_saliency_cells(j->maps + i * j->cells * j->cells, j->cells, d->map, j->side);
    if (j->explained)
        j->explained[i] = which;
    if (j->logits && classes)
        memcpy(j->logits + i * classes, bang_saliency_logits(d->maps), classes * sizeof(float));
    bang_progress_step(run->progress, run->done + atomic_fetch_add(&j->done, 1) + 1, run->total);
    return 0;
}

int bang_saliency_maps(double *maps, size_t *explained, float *logits, size_t cells,
                       const bang_saliency_run *run, bang_error *err)
{
    const bang_vit_config *c = &run->vit->config;
    size_t side = run->kind == BANG_INPUT_GRADIENT ? c->image : c->image / c->patch;
    int threads = run->threads > 0 ? run->threads : bang_threads_available();
    job j = {.run = run, .side = side};
    j.maps = maps;
    j.explained = explained;
    j.logits = logits;
    j.cells = cells ? cells : side;
    if (c->classes == 0 && run->kind != BANG_ROLLOUT)
        return bang_fail(err, BANG_EUSAGE, "model: has no head: a map is of one of its outputs");
    if (side % j.cells)
        return bang_fail(err, BANG_EUSAGE, "maps: %zu cells do not divide %zu", cells, side);
    j.desks = calloc((size_t)threads, sizeof *j.desks);
    if (!j.desks)
        return bang_fail_memory(err);
    int rc = bang_parallel_for(run->count, threads, work, &j, run->cancel, err);
    for (int t = 0; t < threads; t++) {
        bang_saliency_close(j.desks[t].maps);
        free(j.desks[t].pixels);
        free(j.desks[t].map);
    }
    free(j.desks);
    return rc;
}
