/* The worker of vit.h for one number type. The includer defines REAL and NAME(x),
 * which gives x the suffix of the type, and has included vit_block_template.h. */
typedef NAME(bang_vit_worker) NAME(worker);
#define WORKER NAME(worker)

/* R = images*tokens rows; inputs = channels*patch*patch. */
struct NAME(vit_state) {
    PASS pass;
    REAL *patches;                  /* (R, inputs); zero for the class token */
    REAL *first;                    /* (R, width) before ln_pre, if there is one */
    REAL *first_mean, *first_scale; /* (R) */
    KEPT *kept;                     /* (depth) */
    REAL *last;                     /* (images, width) out of the last block */
    REAL *last_mean, *last_scale;   /* (images) */
    REAL *normed;                   /* (images, width) last after the norm, or NULL: features */
    REAL *projected;                /* (images, projection) before it has length 1, if both */
    REAL *length;                   /* (images) of features before */
    REAL *features_gradient;        /* (images, features) */
    REAL *projected_gradient;       /* (images, features) before they have length 1, if they do */
    REAL *x_gradient;               /* (R, width) */
};

/* What a block keeps; where nothing is kept, what the block before has. */
static void NAME(place_block)(WORKER *w, NAME(vit_room) * room, size_t l, size_t rows)
{
    struct NAME(vit_state) *s = w->state;
    const PASS *pass = &s->pass;
    size_t width = pass->width, after = l + 1 < w->config.depth ? rows : w->images;
    KEPT *k = &s->kept[l];
    if (l > 0 && w->purpose != BANG_VIT_TRAIN)
        *k = s->kept[l - 1];
    if (l == 0 || w->purpose != BANG_VIT_PREDICT)
        k->x = NAME(bang_vit_place)(room, rows, width);
    if (l > 0 && w->purpose == BANG_VIT_RECOMPUTE)
        return;
    if (l == 0 || w->purpose == BANG_VIT_TRAIN)
        k->sums = NAME(bang_vit_place)(room, pass->heads, rows);
    if (w->purpose == BANG_VIT_PREDICT) {
        k->qkv = k->inner = pass->wide;
        k->attended = pass->normed;
        k->x2 = l + 1 < w->config.depth ? k->x : pass->last;
        return;
    }
    k->mean1 = NAME(bang_vit_place)(room, rows, 1);
    k->scale1 = NAME(bang_vit_place)(room, rows, 1);
    k->qkv = NAME(bang_vit_place)(room, rows, 3 * width);
    k->attended = NAME(bang_vit_place)(room, after, width);
    k->x2 = NAME(bang_vit_place)(room, after, width);
    k->mean2 = NAME(bang_vit_place)(room, after, 1);
    k->scale2 = NAME(bang_vit_place)(room, after, 1);
    k->inner = NAME(bang_vit_place)(room, after, pass->hidden);
}

static void NAME(place_all)(WORKER *w, NAME(vit_room) * room)
{
    const bang_vit_config *c = &w->config;
    struct NAME(vit_state) *s = w->state;
    size_t tokens = s->pass.tokens, features = bang_vit_features(c), images = w->images;
    size_t rows = images > SIZE_MAX / tokens ? SIZE_MAX : images * tokens;
    int backward = w->purpose != BANG_VIT_PREDICT;
    NAME(bang_vit_pass_place)(&s->pass, room, images, backward);
    s->patches = NAME(bang_vit_place)(room, rows, c->channels * c->patch * c->patch);
    if (c->norm_first) {
        s->first = NAME(bang_vit_place)(room, rows, c->width);
        s->first_mean = NAME(bang_vit_place)(room, rows, 1);
        s->first_scale = NAME(bang_vit_place)(room, rows, 1);
    }
    for (size_t l = 0; l < c->depth; l++)
        NAME(place_block)(w, room, l, rows);
    s->last = NAME(bang_vit_place)(room, images, c->width);
    s->last_mean = NAME(bang_vit_place)(room, images, 1);
    s->last_scale = NAME(bang_vit_place)(room, images, 1);
    if (c->projection || c->unit_features)
        s->normed = NAME(bang_vit_place)(room, images, c->width);
    if (c->projection && c->unit_features)
        s->projected = NAME(bang_vit_place)(room, images, c->projection);
    s->length = NAME(bang_vit_place)(room, images, 1);
    w->features = NAME(bang_vit_place)(room, images, features);
    w->logits = NAME(bang_vit_place)(room, images, c->classes);
    w->logits_gradient = NAME(bang_vit_place)(room, images, c->classes);
    if (backward) {
        s->features_gradient = NAME(bang_vit_place)(room, images, features);
        s->projected_gradient = NAME(bang_vit_place)(room, images, features);
        s->x_gradient = NAME(bang_vit_place)(room, rows, c->width);
    }
}

int NAME(bang_vit_worker_init)(WORKER *out, const bang_vit_config *config, size_t images,
                               bang_vit_purpose purpose, bang_error *err)
{
    *out = (WORKER){.config = *config, .purpose = purpose, .images = images ? images : 1};
    int rc = bang_vit_map_init(&out->map, config, err);
    if (rc < 0)
        return rc;
    struct NAME(vit_state) *s = out->state = bang_arena_alloc(&out->arena, 1, sizeof *s);
    NAME(vit_room) room = {0};
    if (!s || !(s->kept = bang_arena_alloc(&out->arena, config->depth, sizeof *s->kept)))
        goto memory;
    s->pass = (PASS){.layers = NAME(bang_layers_best)(),
                     .width = config->width,
                     .heads = config->heads,
                     .hidden = config->hidden,
                     .tokens = bang_vit_tokens(config),
                     .gelu = config->gelu,
                     .epsilon = (REAL)config->epsilon};
    NAME(place_all)(out, &room);
    if (room.used == SIZE_MAX)
        goto memory;
    out->bytes = room.used * sizeof(REAL) + sizeof *s +
                 config->depth * (sizeof *s->kept + sizeof *out->map.blocks) +
                 out->map.tensor_count * sizeof *out->map.tensors;
    room = (NAME(vit_room)){.base = bang_arena_alloc(&out->arena, room.used, sizeof(REAL))};
    if (!room.base)
        goto memory;
    NAME(place_all)(out, &room);
    return 0;
memory:
    NAME(bang_vit_worker_release)(out);
    return bang_fail_memory(err);
}

void NAME(bang_vit_worker_release)(WORKER *worker)
{
    bang_vit_map_release(&worker->map);
    bang_arena_release(&worker->arena);
    *worker = (WORKER){0};
}

/* pixels (channels, image, image) into rows (tokens-1, channels, patch, patch). */
static void NAME(unfold)(const bang_vit_config *c, REAL *rows, const REAL *pixels)
{
    size_t side = c->image / c->patch;
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++)
            for (size_t plane = 0; plane < c->channels; plane++)
                for (size_t y = 0; y < c->patch; y++, rows += c->patch)
                    memcpy(rows,
                           pixels + (plane * c->image + i * c->patch + y) * c->image + j * c->patch,
                           c->patch * sizeof *rows);
}

/* x_0 of all images. The product adds to what it finds there: positions, class token and
 * the bias. The class token's patch is zero. */
static void NAME(embed)(WORKER *worker, const REAL *w, const REAL *pixels, size_t count)
{
    const bang_vit_config *c = &worker->config;
    const bang_vit_map *map = &worker->map;
    struct NAME(vit_state) *s = worker->state;
    size_t width = c->width, tokens = s->pass.tokens, inputs = c->channels * c->patch * c->patch;
    REAL *x = c->norm_first ? s->first : s->kept[0].x;
    for (size_t i = 0; i < count; i++) {
        REAL *to = x + i * tokens * width;
        const REAL *from = pixels + i * c->channels * c->image * c->image;
        NAME(unfold)(c, s->patches + (i * tokens + 1) * inputs, from);
        memcpy(to, w + map->positions, tokens * width * sizeof *to);
        s->pass.layers->add(to, w + map->token, width);
        for (size_t t = 1; c->patch_bias && t < tokens; t++)
            s->pass.layers->add(to + t * width, w + map->patch_bias, width);
    }
    NAME(bang_product) p = {.m = count * tokens, .n = width, .k = inputs, .add = 1};
    p.a = s->patches, p.a_row = inputs, p.a_column = 1;
    p.b = w + map->patch_weight, p.b_row = 1, p.b_column = inputs;
    p.c = x, p.c_row = width;
    NAME(bang_product_run)(&p, s->pass.product);
    if (c->norm_first)
        s->pass.layers->norm_forward(s->kept[0].x, s->first_mean, s->first_scale, x,
                                     w + map->first_gain, w + map->first_bias, count * tokens,
                                     width, s->pass.epsilon);
}

static void NAME(embed_backward)(WORKER *worker, const REAL *w, REAL *g, size_t count)
{
    const bang_vit_config *c = &worker->config;
    const bang_vit_map *map = &worker->map;
    struct NAME(vit_state) *s = worker->state;
    const NAME(bang_layers) *layers = s->pass.layers;
    size_t width = c->width, tokens = s->pass.tokens, inputs = c->channels * c->patch * c->patch;
    REAL *x_gradient = s->x_gradient;
    if (c->norm_first) {
        x_gradient = s->pass.normed;
        memset(x_gradient, 0, count * tokens * width * sizeof *x_gradient);
        layers->norm_backward(x_gradient, g + map->first_gain, g + map->first_bias, s->x_gradient,
                              s->first, s->first_mean, s->first_scale, w + map->first_gain,
                              count * tokens, width);
    }
    for (size_t i = 0; i < count; i++) {
        const REAL *of = x_gradient + i * tokens * width;
        layers->add(g + map->positions, of, tokens * width);
        layers->add(g + map->token, of, width);
        if (c->patch_bias)
            layers->add_rows(g + map->patch_bias, of + width, tokens - 1, width);
    }
    WEIGHT_GRADIENT(&s->pass, g + map->patch_weight, x_gradient, width, s->patches, count * tokens,
                    width, inputs);
}

/* last -> norm -> projection -> length 1: features; then the head. Each step writes to
 * where the next finds it, the last of them to worker->features. */
static void NAME(finish)(WORKER *worker, const REAL *w, size_t count)
{
    const bang_vit_config *c = &worker->config;
    const bang_vit_map *map = &worker->map;
    struct NAME(vit_state) *s = worker->state;
    size_t features = bang_vit_features(c);
    REAL *f = s->normed ? s->normed : worker->features;
    s->pass.layers->norm_forward(f, s->last_mean, s->last_scale, s->last, w + map->norm_gain,
                                 w + map->norm_bias, count, c->width, s->pass.epsilon);
    if (c->projection) {
        f = s->projected ? s->projected : worker->features;
        LINEAR(&s->pass, f, features, s->normed, w + map->projection, NULL, count, features,
               c->width);
    }
    if (c->unit_features)
        s->pass.layers->unit_forward(worker->features, s->length, f, count, features);
    if (c->classes)
        LINEAR(&s->pass, worker->logits, c->classes, worker->features, w + map->head_weight,
               w + map->head_bias, count, c->classes, features);
}

static void NAME(head_backward)(WORKER *worker, REAL *g, size_t count)
{
    const bang_vit_config *c = &worker->config;
    const bang_vit_map *map = &worker->map;
    struct NAME(vit_state) *s = worker->state;
    WEIGHT_GRADIENT(&s->pass, g + map->head_weight, worker->logits_gradient, c->classes,
                    worker->features, count, c->classes, bang_vit_features(c));
    s->pass.layers->add_rows(g + map->head_bias, worker->logits_gradient, count, c->classes);
}

/* The gradient of last, into pass.last. */
static void NAME(finish_backward)(WORKER *worker, const REAL *w, REAL *g, size_t count)
{
    const bang_vit_config *c = &worker->config;
    const bang_vit_map *map = &worker->map;
    struct NAME(vit_state) *s = worker->state;
    size_t width = c->width, features = bang_vit_features(c);
    REAL *f = s->features_gradient;
    INPUT_GRADIENT(&s->pass, f, worker->logits_gradient, c->classes, w + map->head_weight, count,
                   c->classes, features);
    if (c->unit_features) {
        f = s->projected_gradient;
        s->pass.layers->unit_backward(f, s->features_gradient, worker->features, s->length, count,
                                      features);
    }
    if (c->projection) {
        WEIGHT_GRADIENT(&s->pass, INTO(g, map->projection), f, features, s->normed, count, features,
                        width);
        INPUT_GRADIENT(&s->pass, s->pass.rows, f, features, w + map->projection, count, features,
                       width);
        f = s->pass.rows;
    }
    memset(s->pass.last, 0, count * width * sizeof *f);
    s->pass.layers->norm_backward(s->pass.last, INTO(g, map->norm_gain), INTO(g, map->norm_bias), f,
                                  s->last, s->last_mean, s->last_scale, w + map->norm_gain, count,
                                  width);
}

void NAME(bang_vit_forward)(WORKER *worker, const REAL *parameters, const REAL *pixels,
                            size_t count)
{
    struct NAME(vit_state) *s = worker->state;
    size_t last = worker->config.depth - 1;
    if (count == 0)
        return;
    s->pass.count = count;
    NAME(embed)(worker, parameters, pixels, count);
    const bang_vit_block *at = worker->map.blocks;
    for (size_t l = 0; l < last; l++)
        NAME(bang_vit_block_forward)(&s->pass, at + l, parameters, s->kept + l, s->kept[l + 1].x);
    NAME(bang_vit_last_forward)(&s->pass, at + last, parameters, s->kept + last, s->last);
    NAME(finish)(worker, parameters, count);
}

/* Products overwrite when they are told to; everything else adds to zero then. */
static void NAME(clear)(const WORKER *worker, REAL *g, int matrices, int only_head)
{
    const bang_vit_map *map = &worker->map;
    for (size_t t = 0; t < map->tensor_count; t++) {
        const bang_vit_tensor *tensor = &map->tensors[t];
        int matrix = tensor->rank > 1 && tensor->offset != map->positions;
        int head = map->head_weight != SIZE_MAX && tensor->offset >= map->head_weight;
        if ((head || !only_head) && (matrices || !matrix))
            memset(g + tensor->offset, 0, tensor->count * sizeof *g);
    }
}

/* Of block l, after those behind it. */
static void NAME(block_backward)(WORKER *worker, const REAL *w, REAL *g, size_t l)
{
    struct NAME(vit_state) *s = worker->state;
    const bang_vit_block *at = worker->map.blocks + l;
    REAL *d = s->x_gradient;
    if (l + 1 == worker->config.depth) {
        NAME(bang_vit_last_backward)(&s->pass, at, w, g, s->kept + l, d);
        return;
    }
    if (worker->purpose == BANG_VIT_RECOMPUTE)
        NAME(bang_vit_block_forward)(&s->pass, at, w, s->kept + l, NULL);
    NAME(bang_vit_block_backward)(&s->pass, at, w, g, s->kept + l, d);
}

static void NAME(settle)(const WORKER *worker, size_t from)
{
    if (worker->settled)
        worker->settled(worker->context, from);
}

void NAME(bang_vit_backward)(WORKER *worker, const REAL *parameters, REAL *gradient, size_t count,
                             int flags)
{
    struct NAME(vit_state) *s = worker->state;
    int nothing = count == 0 || worker->config.classes == 0;
    int only_head = flags & BANG_VIT_ONLY_HEAD || worker->purpose == BANG_VIT_PREDICT;
    s->pass.count = count;
    s->pass.add = !(flags & BANG_VIT_OVERWRITE);
    if (!s->pass.add)
        NAME(clear)(worker, gradient, nothing, only_head);
    if (nothing) {
        NAME(settle)(worker, 0);
        return;
    }
    NAME(head_backward)(worker, gradient, count);
    NAME(settle)(worker, worker->map.head_weight);
    if (only_head)
        return;
    NAME(finish_backward)(worker, parameters, gradient, count);
    NAME(settle)(worker, worker->map.norm_gain);
    for (size_t l = worker->config.depth; l-- > 0;) {
        NAME(block_backward)(worker, parameters, gradient, l);
        NAME(settle)(worker, worker->map.blocks[l].norm1_gain);
    }
    NAME(embed_backward)(worker, parameters, gradient, count);
    NAME(settle)(worker, 0);
}

/* rows (tokens-1, channels, patch, patch) into pixels (channels, image, image). */
static void NAME(fold)(const bang_vit_config *c, REAL *pixels, const REAL *rows)
{
    size_t side = c->image / c->patch;
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++)
            for (size_t plane = 0; plane < c->channels; plane++)
                for (size_t y = 0; y < c->patch; y++, rows += c->patch)
                    memcpy(pixels + (plane * c->image + i * c->patch + y) * c->image + j * c->patch,
                           rows, c->patch * sizeof *rows);
}

/* From x_0's gradient; the patches are spoiled, but for the class tokens', which stay zero. */
static void NAME(pixels_backward)(WORKER *worker, const REAL *w, REAL *pixels_gradient,
                                  size_t count)
{
    const bang_vit_config *c = &worker->config;
    const bang_vit_map *map = &worker->map;
    struct NAME(vit_state) *s = worker->state;
    size_t width = c->width, tokens = s->pass.tokens, inputs = c->channels * c->patch * c->patch;
    const REAL *d = s->x_gradient;
    if (c->norm_first) {
        memset(s->pass.normed, 0, count * tokens * width * sizeof *d);
        s->pass.layers->norm_backward(s->pass.normed, NULL, NULL, d, s->first, s->first_mean,
                                      s->first_scale, w + map->first_gain, count * tokens, width);
        d = s->pass.normed;
    }
    for (size_t i = 0; i < count; i++) {
        size_t row = i * tokens + 1;
        INPUT_GRADIENT(&s->pass, s->patches + row * inputs, d + row * width, width,
                       w + map->patch_weight, tokens - 1, width, inputs);
        REAL *to = pixels_gradient + i * c->channels * c->image * c->image;
        NAME(fold)(c, to, s->patches + row * inputs);
    }
}

void NAME(bang_vit_sensitivity)(WORKER *worker, const REAL *parameters, size_t count, size_t blocks,
                                REAL *tokens, REAL *tokens_gradient, REAL *pixels_gradient)
{
    struct NAME(vit_state) *s = worker->state;
    size_t last = worker->config.depth - 1, numbers = count * s->pass.tokens * s->pass.width;
    s->pass.count = count;
    NAME(finish_backward)(worker, parameters, NULL, count);
    for (size_t done = 0; done <= last && (done < blocks || pixels_gradient); done++) {
        NAME(block_backward)(worker, parameters, NULL, last - done);
        if (done < blocks) {
            memcpy(tokens + done * numbers, s->pass.normed, numbers * sizeof *tokens);
            memcpy(tokens_gradient + done * numbers, s->pass.back, numbers * sizeof *tokens);
        }
    }
    if (pixels_gradient)
        NAME(pixels_backward)(worker, parameters, pixels_gradient, count);
}

const REAL *NAME(bang_vit_qkv)(const WORKER *worker, size_t block)
{
    return worker->state->kept[block].qkv;
}
