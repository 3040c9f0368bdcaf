/* What training would take on a cluster: a model on paper. docs/SCALING.md explains it. */
#include "ranks.h"

#include <math.h>
#include <stdio.h>

typedef struct prediction {
    double compute, sum, exposed, rest, step;
} prediction;

static prediction predict(const cluster *c, double nodes)
{
    prediction p;
    double ranks = nodes * c->cores / c->threads, here = c->cores / c->threads;
    double bytes = 4 * c->numbers, pictures = ceil(c->batch / nodes / c->cores);
    double picture = c->picture / c->speed + c->decode;
    p.compute = pictures * picture;
    /* a ring: every byte leaves a node 2 (ranks - 1)/ranks times, in 2 (ranks - 1) hops a message
     */
    p.sum = ranks > 1 ? 2 * (ranks - 1) / ranks * bytes / c->bandwidth +
                            c->messages * 2 * (ranks - 1) * c->latency
                      : 0;
    /* it is hidden by the last piece's way back, two thirds of its work, up to the last message */
    double hiding = 2. / 3 * fmin(pictures, c->piece) * picture, last = p.sum / c->messages;
    p.exposed = fmax(p.sum - hiding, last);
    /* threads add up in a tree, on one core in the end: 12 bytes a number; then the update of
     * every rank's copy: 28 bytes a number */
    p.rest = ceil(log2(c->threads)) * 12 * c->numbers / c->memory_one +
             here * 28 * c->numbers / c->memory;
    p.step = p.compute + p.exposed + p.rest;
    return p;
}

void print_cluster(const cluster *c)
{
    enum { PICTURES = 1281167, EPOCHS = 10, MOST = 64 };
    double steps = EPOCHS * ceil(PICTURES / c->batch), one = predict(c, 1).step;
    printf("on paper: ImageNet, %d pictures, %d epochs, ViT-B/16, batches of %g: %g steps\n",
           PICTURES, EPOCHS, c->batch, steps);
    printf(
        "  nodes of %g cores, ranks of %g threads, a core among others at %g of its speed alone\n",
        c->cores, c->threads, c->speed);
    printf(
        "  network %.3g GB/s each way, %.3g us a message; memory %.3g GB/s, %.3g GB/s one core\n",
        c->bandwidth / 1e9, c->latency * 1e6, c->memory / 1e9, c->memory_one / 1e9);
    printf("  measured: %.3f s of a core for a picture, %.1f MB of gradient in %g messages\n",
           c->picture, 4 * c->numbers / 1e6, c->messages);
    printf("  assumed: %.3g ms of a core to decode a picture\n", c->decode * 1e3);
    printf("  | nodes | pictures a node | compute s | sum s | of it seen s | rest s | step s | "
           "hours | "
           "efficiency |\n  | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (double nodes = 1; nodes <= MOST; nodes *= 2) {
        prediction p = predict(c, nodes);
        printf("  | %g | %g | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f | %.0f %% |\n", nodes,
               c->batch / nodes, p.compute, p.sum, p.exposed, p.rest, p.step, steps * p.step / 3600,
               100 * one / (nodes * p.step));
    }
}
