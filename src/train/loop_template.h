/* The training loop for one number type. The includer defines REAL, DTYPE, which
 * is its bang_dtype, NAME(x), which gives x the suffix of the type, EXP and LOG. */
typedef struct NAME(run) {
    const bang_train_options *options;
    const bang_rows *rows;
    const int64_t *labels;
    NAME(bang_network) net;
    bang_arena arena;
    REAL *first, *second; /* (count) moments */
    REAL *target;         /* (batch, classes) */
    uint32_t *partner;    /* (batch) */
    train_part part;      /* of a batch, what this rank takes */
    REAL *panel_gradient; /* (BANG_PANEL, stride[1]) */
    double hit, miss;
    size_t total;  /* numbers in all parameters */
    int whole;     /* a step needs the whole gradient at once */
    int due;       /* with several ranks: rank 0 wants to save */
    uint64_t step; /* done */
    train_kept kept;
    train_saver saver;
} NAME(run);
#define RUN NAME(run)

static void NAME(set_targets)(RUN *run, const uint32_t *index, size_t count,
                              const NAME(bang_mixing) * mixing)
{
    size_t classes = run->net.width[run->net.layers];
    for (size_t i = 0; i < count; i++) {
        REAL *target = run->target + i * classes;
        for (size_t c = 0; c < classes; c++)
            target[c] = (REAL)run->miss;
        REAL rise = (REAL)(run->hit - run->miss);
        target[run->labels[index[i]]] += mixing ? mixing->lambda * rise : rise;
        if (mixing)
            target[run->labels[index[mixing->partner[i]]]] += (1 - mixing->lambda) * rise;
    }
}

/* Mean over batch and classes of (z - y)^2; its gradient is 2 (z - y)/(n K). Of the n rows of a
 * batch, count are here. */
static double NAME(squared_error)(RUN *run, size_t count, size_t n)
{
    const NAME(bang_network) *net = &run->net;
    size_t classes = net->width[net->layers], stride = net->stride[net->layers];
    REAL scale = 2 / ((REAL)n * (REAL)classes);
    double loss = 0;
    for (size_t i = 0; i < count; i++) {
        const REAL *z = net->x[net->layers] + i * stride, *y = run->target + i * classes;
        REAL *delta = net->delta[net->layers] + i * stride, sum = 0;
        for (size_t c = 0; c < classes; c++) {
            REAL difference = z[c] - y[c];
            delta[c] = scale * difference;
            sum += difference * difference;
        }
        loss += (double)sum;
    }
    return loss / ((double)n * (double)classes);
}

/* Mean over the batch of -sum y log softmax(z); its gradient is (s sum(y) - y)/n. */
static double NAME(cross_entropy)(RUN *run, size_t count, size_t n)
{
    const NAME(bang_network) *net = &run->net;
    size_t classes = net->width[net->layers], stride = net->stride[net->layers];
    REAL scale = 1 / (REAL)n;
    double loss = 0;
    for (size_t i = 0; i < count; i++) {
        const REAL *z = net->x[net->layers] + i * stride, *y = run->target + i * classes;
        REAL *delta = net->delta[net->layers] + i * stride, most = z[0], sum = 0, mass = 0, hit = 0;
        for (size_t c = 1; c < classes; c++)
            most = z[c] > most ? z[c] : most;
        for (size_t c = 0; c < classes; c++) {
            delta[c] = EXP(z[c] - most);
            sum += delta[c];
            mass += y[c];
            hit += y[c] * (z[c] - most);
        }
        for (size_t c = 0; c < classes; c++)
            delta[c] = scale * (delta[c] / sum * mass - y[c]);
        loss += (double)(mass * LOG(sum) - hit);
    }
    return loss / (double)n;
}

static void NAME(update)(RUN *run, size_t at, const REAL *gradient, size_t count,
                         NAME(bang_step) step, double multiplicity)
{
    REAL *w = run->net.parameters + at;
    if (run->options->optimizer == BANG_SGD) {
        step.gradient_scale *= (REAL)multiplicity;
        run->net.kernels->sgd(w, gradient, run->first + at, count, &step);
    } else {
        step.rate *= (REAL)multiplicity;
        run->net.kernels->adam(w, gradient, run->first + at, run->second + at, count, &step);
    }
}

/* The first layer's weights take one step per group of columns; dense ones are
 * updated panel by panel while their gradient is still in the first cache. */
static void NAME(update_all)(RUN *run, size_t count, const NAME(bang_step) * step)
{
    NAME(bang_network) *net = &run->net;
    size_t n = net->stride[1], head = net->width[0] * n;
    const uint32_t *multiplicity = run->rows->columns->multiplicity;
    if (run->rows->dense && !run->whole) {
        for (size_t from = 0; from < net->width[0]; from += BANG_PANEL) {
            size_t left = net->width[0] - from, many = left < BANG_PANEL ? left : BANG_PANEL;
            NAME(bang_network_backward_dense)(net, run->panel_gradient, from, from + many, count);
            NAME(update)(run, from * n, run->panel_gradient, many * n, *step, 1);
        }
    } else {
        for (size_t i = 0; i < net->width[0]; i++)
            NAME(update)(run, i * n, net->gradient + i * n, n, *step, multiplicity[i]);
    }
    NAME(update)(run, head, net->gradient + head, run->total - head, *step, 1);
}

/* count is padded. Lanes of their own let the compiler use vectors. */
static double NAME(sum_of_squares)(const REAL *x, size_t count)
{
    double lane[BANG_LANES] = {0}, sum = 0;
    for (size_t i = 0; i < count; i += BANG_LANES)
        for (size_t j = 0; j < BANG_LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t j = 0; j < BANG_LANES; j++)
        sum += lane[j];
    return sum;
}

/* The factor that brings the norm of the gradient, equal inputs counted as
 * often as there are, down to its limit. */
static double NAME(clip)(const RUN *run)
{
    const NAME(bang_network) *net = &run->net;
    size_t n = net->stride[1], head = net->width[0] * n;
    double square = NAME(sum_of_squares)(net->gradient + head, run->total - head);
    for (size_t i = 0; i < net->width[0]; i++)
        square +=
            run->rows->columns->multiplicity[i] * NAME(sum_of_squares)(net->gradient + i * n, n);
    double norm = sqrt(square), limit = run->options->clip_norm;
    /* PyTorch's form */
    return norm + 1e-6 > limit ? limit / (norm + 1e-6) : 1;
}

static NAME(bang_step) NAME(plan_step)(RUN *run, double rate)
{
    const bang_train_options *o = run->options;
    NAME(bang_step) step = {.gradient_scale = 1, .keep = 1};
    if (o->optimizer == BANG_SGD) {
        step.rate = (REAL)rate;
        step.beta1 = (REAL)o->momentum;
        step.decay = (REAL)o->weight_decay;
        run->kept.shrink_mean =
            o->momentum * run->kept.shrink_mean + o->weight_decay * run->kept.shrink;
        run->kept.shrink -= rate * run->kept.shrink_mean;
        return step;
    }
    run->kept.power1 *= o->beta1;
    run->kept.power2 *= o->beta2;
    step.rate = (REAL)(rate / (1 - run->kept.power1));
    step.root_correction = (REAL)(1 / sqrt(1 - run->kept.power2));
    step.beta1 = (REAL)o->beta1;
    step.beta2 = (REAL)o->beta2;
    step.epsilon = (REAL)o->epsilon;
    if (o->optimizer == BANG_ADAMW)
        step.keep = (REAL)(1 - rate * o->weight_decay);
    else /* not linear in the weight: no factor stands for it */
        step.decay = (REAL)o->weight_decay;
    run->kept.shrink *= (double)step.keep;
    return step;
}

/* The whole gradient of the first layer, for a step that cannot take it panel by panel. */
static void NAME(gather_gradient)(RUN *run, size_t count)
{
    NAME(bang_network) *net = &run->net;
    for (size_t from = 0; run->rows->dense && from < net->width[0]; from += BANG_PANEL) {
        size_t left = net->width[0] - from, many = left < BANG_PANEL ? left : BANG_PANEL;
        NAME(bang_network_backward_dense)
        (net, net->gradient + from * net->stride[1], from, from + many, count);
    }
}

/* Forward and backward over this rank's part of a batch of n rows. */
static double NAME(compute_part)(RUN *run, size_t n, REAL lambda)
{
    NAME(bang_network) *net = &run->net;
    const train_part *part = &run->part;
    NAME(bang_mixing) mixing = {lambda, run->partner, part->behind};
    NAME(bang_mixing) *mixed = run->options->mixup > 0 ? &mixing : NULL;
    size_t count = part->count;
    NAME(bang_network_tabulate)(net, run->rows);
    NAME(bang_network_forward)(net, run->rows, part->index, count, mixed);
    NAME(set_targets)(run, part->index, count, mixed);
    double loss = run->options->loss == BANG_MSE ? NAME(squared_error)(run, count, n)
                                                 : NAME(cross_entropy)(run, count, n);
    NAME(bang_network_backward)(net, count, mixed);
    count += part->behind;
    if (!run->rows->dense)
        NAME(bang_network_backward_compact)(net, run->rows, part->index, count);
    if (run->whole)
        NAME(gather_gradient)(run, count);
    return loss;
}

/* Gradient and loss over all ranks; with them rank 0 says whether it wants to save. */
static int NAME(sum_ranks)(RUN *run, double *loss, bang_error *err)
{
    const bang_train_options *o = run->options;
    double both[2] = {*loss};
    if (bang_ranks_count(o->ranks) == 1)
        return 0;
    if (run->part.count == 0)
        memset(run->net.gradient, 0, run->total * sizeof(REAL));
    if (bang_ranks_rank(o->ranks) == 0 && o->state.path)
        both[1] = train_saver_is_due(&run->saver);
    int rc = NAME(bang_ranks_sum)(o->ranks, run->net.gradient, run->total, err);
    if (rc == 0)
        rc = bang_ranks_sum_f64(o->ranks, both, 2, err);
    *loss = both[0];
    run->due = both[1] > 0;
    return rc;
}

static int NAME(train_step)(RUN *run, const uint32_t *index, size_t count, double rate,
                            double *loss, bang_error *err)
{
    const bang_train_options *o = run->options;
    double lambda = train_take_part(&run->part, run->partner, index, count, o, run->step);
    *loss = run->part.count ? NAME(compute_part)(run, count, (REAL)lambda) : 0;
    int rc = NAME(sum_ranks)(run, loss, err);
    if (rc < 0)
        return rc;
    NAME(bang_step) step = NAME(plan_step)(run, rate);
    if (o->clip_norm > 0)
        step.gradient_scale = (REAL)NAME(clip)(run);
    NAME(update_all)(run, count, &step);
    return 0;
}

static int NAME(prepare)(RUN *run, const bang_mlp *shape, REAL *parameters, bang_error *err)
{
    const bang_train_options *o = run->options;
    size_t classes = shape->width[shape->layers];
    size_t batch = o->batch < run->rows->count ? o->batch : run->rows->count;
    int rc = NAME(bang_network_init)(&run->net, shape, parameters, batch, 1, err);
    if (rc < 0)
        return rc;
    rc = NAME(bang_network_accept)(&run->net, run->rows, err);
    if (rc < 0)
        return rc;
    run->total = shape->count;
    run->first = bang_arena_alloc(&run->arena, shape->count, sizeof(REAL));
    run->second = bang_arena_alloc(&run->arena, shape->count, sizeof(REAL));
    run->target = bang_arena_alloc(&run->arena, batch, classes * sizeof(REAL));
    run->partner = bang_arena_alloc(&run->arena, batch, sizeof(uint32_t));
    run->part.own = bang_arena_alloc(&run->arena, batch, sizeof(uint32_t));
    run->part.places = bang_arena_alloc(&run->arena, batch, sizeof(uint32_t));
    run->whole = o->clip_norm > 0 || bang_ranks_count(o->ranks) > 1;
    run->panel_gradient =
        bang_arena_alloc(&run->arena, BANG_PANEL * shape->stride[1], sizeof(REAL));
    run->kept = (train_kept){.power1 = 1, .power2 = 1, .shrink = 1};
    train_smooth(&run->hit, &run->miss, classes, o);
    return run->first && run->second && run->target && run->partner && run->part.own &&
                   run->part.places && run->panel_gradient
               ? 0
               : bang_fail_memory(err);
}

/* All that the next step depends on. */
static int NAME(keep)(RUN *run, const bang_mlp *shape, bang_error *err)
{
    json_t *about = NULL;
    const bang_train_options *o = run->options;
    if (!o->state.path && bang_ranks_count(o->ranks) == 1)
        return 0;
    int rc = train_about_mlp(&about, shape, run->rows, run->labels, o, run->net.parameters,
                             shape->count * sizeof(REAL), err);
    if (rc == 0)
        rc = train_agree_about(about, &o->state, 0, o->ranks, err);
    if (rc < 0 || !o->state.path) {
        json_decref(about);
        return rc;
    }
    rc = train_saver_init(&run->saver, &o->state, o->ranks, about, err);
    if (rc < 0)
        return rc;
    train_saver_add(&run->saver, "parameters", DTYPE, shape->count, run->net.parameters);
    train_saver_add(&run->saver, "first", DTYPE, shape->count, run->first);
    train_saver_add(&run->saver, "second", DTYPE, shape->count, run->second);
    train_saver_add(&run->saver, "kept", BANG_F64, sizeof run->kept / sizeof(double), &run->kept);
    train_saver_add(&run->saver, "step", BANG_U64, 1, &run->step);
    rc = train_saver_load(&run->saver, err);
    if (rc > 0)
        rc = train_saver_accept(&run->saver, run->step, o->steps, 1, err);
    if (rc < 0) /* what was loaded says nothing */
        run->step = 0;
    run->saver.saved = run->step;
    return rc;
}

static int NAME(agree)(const RUN *run, bang_error *err)
{
    return train_agree_bytes(run->net.parameters, run->total * sizeof(REAL), "the weights",
                             run->options->ranks, err);
}

/* Writes the state if it is time to, or if the work is to stop. */
static int NAME(save)(RUN *run, int stopping, bang_error *err)
{
    const bang_train_options *o = run->options;
    int several = bang_ranks_count(o->ranks) > 1, rc = 0;
    if (!o->state.path || !(stopping || (several ? run->due : train_saver_is_due(&run->saver))))
        return 0;
    if (!stopping)
        rc = NAME(agree)(run, err);
    if (rc < 0)
        return rc;
    return stopping ? train_saver_save(&run->saver, run->step, err)
                    : train_saver_try(&run->saver, run->step, err);
}

/* One batch and what follows it. */
static int NAME(advance)(RUN *run, train_order *order, bang_error *err)
{
    const bang_train_options *o = run->options;
    if (order->next == 0)
        run->kept.epoch_loss = 0, run->kept.in_epoch = 0;
    size_t count;
    const uint32_t *index = train_next_batch(order, &count);
    double rate = bang_train_rate(o, run->step), loss;
    int rc = NAME(train_step)(run, index, count, rate, &loss, err);
    if (rc < 0) { /* another rank is gone, or all are to stop: nothing has changed */
        if (run->step > run->saver.saved)
            NAME(save)(run, 1, NULL);
        return rc;
    }
    run->kept.epoch_loss += loss * (double)count;
    run->kept.in_epoch += (double)count;
    if (o->step)
        o->step(o->context, run->step, loss, rate);
    run->step++;
    if (run->step % 32 == 0 || run->step == o->steps)
        bang_progress_step(o->progress, run->step, o->steps);
    if (!isfinite(loss))
        return bang_fail(err, BANG_EDATA,
                         "training: the loss is not finite at step %llu: take a smaller "
                         "learning rate, or look for bad numbers in the data",
                         (unsigned long long)run->step);
    int cancelled = bang_cancelled(o->cancel);
    rc = NAME(save)(run, cancelled, err);
    if (rc < 0)
        return rc;
    return cancelled ? bang_fail(err, BANG_ECANCELLED, "stopped") : 0;
}

int NAME(train_run)(const bang_mlp *shape, REAL *parameters, const bang_rows *rows,
                    const int64_t *labels, const bang_train_options *options,
                    bang_train_result *result, bang_error *err)
{
    RUN run = {.options = options, .rows = rows, .labels = labels};
    train_order order = {.options = options, .rows = rows->count};
    int rc = NAME(prepare)(&run, shape, parameters, err);
    order.index = rc == 0 ? bang_arena_alloc(&run.arena, rows->count, sizeof *order.index) : NULL;
    if (rc == 0 && !order.index)
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = NAME(keep)(&run, shape, err);
    uint64_t resumed = run.step;
    if (rc == 0)
        train_seek(&order, run.step);
    while (rc == 0 && run.step < options->steps)
        rc = NAME(advance)(&run, &order, err);
    if (rc == 0)
        rc = NAME(agree)(&run, err);
    const train_kept *kept = &run.kept;
    if (result)
        *result = (bang_train_result){kept->in_epoch > 0 ? kept->epoch_loss / kept->in_epoch : 0,
                                      kept->shrink, resumed, run.saver.saved};
    train_saver_release(&run.saver);
    NAME(bang_network_release)(&run.net);
    bang_arena_release(&run.arena);
    return rc;
}
