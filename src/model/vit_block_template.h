/* vit_block.h for one number type. The includer defines REAL and NAME(x), which
 * gives x the suffix of the type.
 *
 * Every number of a layer's output is written once, by the product that makes it:
 * bias, residual and GELU are folded into it. */
typedef NAME(vit_pass) NAME(pass);
typedef NAME(vit_kept) NAME(kept);
#define PASS NAME(pass)
#define KEPT NAME(kept)
#define LINEAR NAME(bang_vit_linear)
#define LINEAR_ADD NAME(linear_add)
#define LINEAR_GELU NAME(linear_gelu)
#define WEIGHT_GRADIENT NAME(bang_vit_linear_weight)
#define INPUT_GRADIENT NAME(bang_vit_linear_input)
#define BIAS_GRADIENT NAME(bang_vit_bias)
/* A tensor's place in the gradient; NULL where no parameter's is wanted. */
#define INTO(g, offset) ((g) ? (g) + (offset) : NULL)

REAL *NAME(bang_vit_place)(NAME(vit_room) * room, size_t rows, size_t width)
{
    enum { LINE = 64 / sizeof(REAL) };
    size_t most = SIZE_MAX / sizeof(REAL) / 2;
    if (room->used == SIZE_MAX || (width && rows > (most - room->used) / width)) {
        room->used = SIZE_MAX;
        return NULL;
    }
    REAL *place = room->base ? room->base + room->used : NULL;
    room->used += (rows * width + LINE - 1) / LINE * LINE;
    return place;
}

void NAME(bang_vit_pass_place)(PASS *pass, NAME(vit_room) * room, size_t sequences, int backward)
{
    size_t width = pass->width, wide = pass->hidden > 3 * width ? pass->hidden : 3 * width;
    size_t rows = pass->tokens > SIZE_MAX / sequences ? SIZE_MAX : sequences * pass->tokens;
    pass->product = NAME(bang_vit_place)(room, 1, NAME(bang_product_scratch)());
    pass->attention = NAME(bang_vit_place)(
        room, 1, NAME(bang_attention_scratch)(pass->tokens, pass->heads, width / pass->heads));
    pass->normed = NAME(bang_vit_place)(room, rows, width);
    pass->wide = NAME(bang_vit_place)(room, rows, wide);
    pass->rows = NAME(bang_vit_place)(room, sequences, width);
    pass->last = NAME(bang_vit_place)(room, sequences, width);
    if (backward)
        pass->back = NAME(bang_vit_place)(room, rows, width);
}

/* x W^T (+ bias) into y, rows without gaps. */
static NAME(bang_product) NAME(linear)(REAL *y, const REAL *x, const REAL *weight, const REAL *bias,
                                       size_t rows, size_t out, size_t in)
{
    return (NAME(bang_product)){.m = rows,
                                .n = out,
                                .k = in,
                                .a = x,
                                .a_row = in,
                                .a_column = 1,
                                .b = weight,
                                .b_row = 1,
                                .b_column = in,
                                .c = y,
                                .c_row = out,
                                .bias = bias};
}

void NAME(bang_vit_linear)(const PASS *pass, REAL *y, size_t y_row, const REAL *x,
                           const REAL *weight, const REAL *bias, size_t rows, size_t out, size_t in)
{
    NAME(bang_product) p = NAME(linear)(y, x, weight, bias, rows, out, in);
    p.c_row = y_row;
    NAME(bang_product_run)(&p, pass->product);
}

static void NAME(linear_add)(const PASS *pass, REAL *y, const REAL *x, const REAL *weight,
                             const REAL *bias, const REAL *residual, size_t rows, size_t out,
                             size_t in)
{
    NAME(bang_product) p = NAME(linear)(y, x, weight, bias, rows, out, in);
    p.residual = residual;
    p.residual_row = out;
    NAME(bang_product_run)(&p, pass->product);
}

static void NAME(linear_gelu)(const PASS *pass, REAL *y, REAL *activated, const REAL *x,
                              const REAL *weight, const REAL *bias, size_t rows, size_t out,
                              size_t in)
{
    NAME(bang_product) p = NAME(linear)(y, x, weight, bias, rows, out, in);
    p.activated = activated;
    p.gelu = pass->gelu;
    NAME(bang_product_run)(&p, pass->product);
}

void NAME(bang_vit_linear_weight)(const PASS *pass, REAL *weight_gradient, const REAL *y_gradient,
                                  size_t y_row, const REAL *x, size_t rows, size_t out, size_t in)
{
    NAME(bang_product) p = {.m = out, .n = in, .k = rows, .add = pass->add};
    if (!weight_gradient)
        return;
    p.a = y_gradient, p.a_row = 1, p.a_column = y_row;
    p.b = x, p.b_row = in, p.b_column = 1;
    p.c = weight_gradient, p.c_row = in;
    NAME(bang_product_run)(&p, pass->product);
}

void NAME(bang_vit_bias)(const PASS *pass, REAL *bias_gradient, const REAL *y_gradient, size_t rows,
                         size_t out)
{
    if (bias_gradient)
        pass->layers->add_rows(bias_gradient, y_gradient, rows, out);
}

void NAME(bang_vit_linear_input)(const PASS *pass, REAL *x_gradient, const REAL *y_gradient,
                                 size_t y_row, const REAL *weight, size_t rows, size_t out,
                                 size_t in)
{
    NAME(bang_product) p = {.m = rows, .n = in, .k = out};
    p.a = y_gradient, p.a_row = y_row, p.a_column = 1;
    p.b = weight, p.b_row = in, p.b_column = 1;
    p.c = x_gradient, p.c_row = in;
    NAME(bang_product_run)(&p, pass->product);
}

/* The row where sequence i begins; that of the one behind the last is how many there are. */
static size_t NAME(first_row)(const PASS *pass, size_t i)
{
    return pass->start ? pass->start[i] : i * pass->tokens;
}

/* The row of sequence i that is wanted of the last block. */
static size_t NAME(wanted)(const PASS *pass, size_t i)
{
    return pass->start ? pass->start[i + 1] - 1 : i * pass->tokens;
}

/* Those rows of x (R, width), into out (S, width). */
static void NAME(pick)(const PASS *pass, REAL *out, const REAL *x)
{
    for (size_t i = 0; i < pass->count; i++)
        memcpy(out + i * pass->width, x + NAME(wanted)(pass, i) * pass->width,
               pass->width * sizeof *out);
}

/* The attention of sequence i, asked by all its tokens or, in the last block, by one. */
static NAME(bang_attention) NAME(attention)(const PASS *pass, const KEPT *kept, size_t i, int one)
{
    size_t row = NAME(first_row)(pass, i), tokens = NAME(first_row)(pass, i + 1) - row;
    return (NAME(bang_attention)){
        .tokens = tokens,
        .heads = pass->heads,
        .width = pass->width / pass->heads,
        .queries = one ? 1 : tokens,
        .causal = pass->causal && !one, /* a text's last token sees all */
        .qkv = kept->qkv + row * 3 * pass->width,
        .out = kept->attended + (one ? i : row) * pass->width,
        .sums = kept->sums + row * pass->heads,
        .scratch = pass->attention,
    };
}

/* out = x2 + fc2(gelu(fc1(norm2(x2)))) */
static void NAME(mlp_forward)(const PASS *pass, const bang_vit_block *at, const REAL *w,
                              const KEPT *kept, REAL *out, size_t rows)
{
    size_t width = pass->width, hidden = pass->hidden;
    pass->layers->norm_forward(pass->normed, kept->mean2, kept->scale2, kept->x2,
                               w + at->norm2_gain, w + at->norm2_bias, rows, width, pass->epsilon);
    if (!out) { /* the way back makes the GELU again */
        LINEAR(pass, kept->inner, hidden, pass->normed, w + at->fc1_weight, w + at->fc1_bias, rows,
               hidden, width);
        return;
    }
    LINEAR_GELU(pass, kept->inner, pass->wide, pass->normed, w + at->fc1_weight, w + at->fc1_bias,
                rows, hidden, width);
    LINEAR_ADD(pass, out, pass->wide, w + at->fc2_weight, w + at->fc2_bias, kept->x2, rows, width,
               hidden);
}

/* x' (rows, width): of out before, of x2 after. */
static void NAME(mlp_backward)(const PASS *pass, const bang_vit_block *at, const REAL *w, REAL *g,
                               const KEPT *kept, REAL *x_gradient, size_t rows)
{
    size_t width = pass->width, hidden = pass->hidden;
    INPUT_GRADIENT(pass, pass->wide, x_gradient, width, w + at->fc2_weight, rows, width, hidden);
    pass->layers->gelu_backward(pass->wide, kept->inner, kept->inner, rows * hidden, pass->gelu);
    WEIGHT_GRADIENT(pass, INTO(g, at->fc2_weight), x_gradient, width, kept->inner, rows, width,
                    hidden);
    BIAS_GRADIENT(pass, INTO(g, at->fc2_bias), x_gradient, rows, width);
    pass->layers->norm_again(pass->normed, kept->mean2, kept->scale2, kept->x2, w + at->norm2_gain,
                             w + at->norm2_bias, rows, width);
    WEIGHT_GRADIENT(pass, INTO(g, at->fc1_weight), pass->wide, hidden, pass->normed, rows, hidden,
                    width);
    BIAS_GRADIENT(pass, INTO(g, at->fc1_bias), pass->wide, rows, hidden);
    INPUT_GRADIENT(pass, pass->back, pass->wide, hidden, w + at->fc1_weight, rows, hidden, width);
    pass->layers->norm_backward(x_gradient, INTO(g, at->norm2_gain), INTO(g, at->norm2_bias),
                                pass->back, kept->x2, kept->mean2, kept->scale2, w + at->norm2_gain,
                                rows, width);
}

/* pass->back (rows, width) = gradient of attended */
static void NAME(proj_backward)(const PASS *pass, const bang_vit_block *at, const REAL *w, REAL *g,
                                const KEPT *kept, const REAL *x2_gradient, size_t rows)
{
    size_t width = pass->width;
    WEIGHT_GRADIENT(pass, INTO(g, at->proj_weight), x2_gradient, width, kept->attended, rows, width,
                    width);
    BIAS_GRADIENT(pass, INTO(g, at->proj_bias), x2_gradient, rows, width);
    INPUT_GRADIENT(pass, pass->back, x2_gradient, width, w + at->proj_weight, rows, width, width);
}

/* pass->wide (R, 3, width) = gradient of qkv from pass->back, that of attended. */
static void NAME(attention_backward)(const PASS *pass, const bang_vit_block *at, REAL *g,
                                     const KEPT *kept, int one)
{
    for (size_t i = 0; i < pass->count; i++) {
        NAME(bang_attention) a = NAME(attention)(pass, kept, i, one);
        a.out_gradient = pass->back + (a.out - kept->attended);
        a.qkv_gradient = pass->wide + (a.qkv - kept->qkv);
        pass->layers->attention_backward(&a);
        /* while it is in the cache */
        BIAS_GRADIENT(pass, INTO(g, at->qkv_bias), a.qkv_gradient, a.tokens, 3 * pass->width);
    }
}

void NAME(bang_vit_block_forward)(const PASS *pass, const bang_vit_block *at, const REAL *w,
                                  const KEPT *kept, REAL *out)
{
    size_t width = pass->width, rows = NAME(first_row)(pass, pass->count);
    pass->layers->norm_forward(pass->normed, kept->mean1, kept->scale1, kept->x, w + at->norm1_gain,
                               w + at->norm1_bias, rows, width, pass->epsilon);
    LINEAR(pass, kept->qkv, 3 * width, pass->normed, w + at->qkv_weight, w + at->qkv_bias, rows,
           3 * width, width);
    for (size_t i = 0; i < pass->count; i++) {
        NAME(bang_attention) a = NAME(attention)(pass, kept, i, 0);
        pass->layers->attention_forward(&a);
    }
    LINEAR_ADD(pass, kept->x2, kept->attended, w + at->proj_weight, w + at->proj_bias, kept->x,
               rows, width, width);
    NAME(mlp_forward)(pass, at, w, kept, out, rows);
}

void NAME(bang_vit_block_backward)(const PASS *pass, const bang_vit_block *at, const REAL *w,
                                   REAL *g, const KEPT *kept, REAL *x_gradient)
{
    size_t width = pass->width, rows = NAME(first_row)(pass, pass->count);
    NAME(mlp_backward)(pass, at, w, g, kept, x_gradient, rows);
    NAME(proj_backward)(pass, at, w, g, kept, x_gradient, rows);
    NAME(attention_backward)(pass, at, g, kept, 0);
    pass->layers->norm_again(pass->normed, kept->mean1, kept->scale1, kept->x, w + at->norm1_gain,
                             w + at->norm1_bias, rows, width);
    WEIGHT_GRADIENT(pass, INTO(g, at->qkv_weight), pass->wide, 3 * width, pass->normed, rows,
                    3 * width, width);
    INPUT_GRADIENT(pass, pass->back, pass->wide, 3 * width, w + at->qkv_weight, rows, 3 * width,
                   width);
    pass->layers->norm_backward(x_gradient, INTO(g, at->norm1_gain), INTO(g, at->norm1_bias),
                                pass->back, kept->x, kept->mean1, kept->scale1, w + at->norm1_gain,
                                rows, width);
}

/* The one query of a sequence stands where its first token's would, whichever token
 * asks: the order of keys does not matter to a query that sees all of them. */
void NAME(bang_vit_last_forward)(const PASS *pass, const bang_vit_block *at, const REAL *w,
                                 const KEPT *kept, REAL *out)
{
    size_t width = pass->width, rows = NAME(first_row)(pass, pass->count);
    pass->layers->norm_forward(pass->normed, kept->mean1, kept->scale1, kept->x, w + at->norm1_gain,
                               w + at->norm1_bias, rows, width, pass->epsilon);
    LINEAR(pass, kept->qkv + width, 3 * width, pass->normed, w + at->qkv_weight + width * width,
           w + at->qkv_bias + width, rows, 2 * width, width);
    NAME(pick)(pass, pass->rows, pass->normed);
    LINEAR(pass, pass->last, width, pass->rows, w + at->qkv_weight, w + at->qkv_bias, pass->count,
           width, width);
    for (size_t i = 0; i < pass->count; i++) {
        NAME(bang_attention) a = NAME(attention)(pass, kept, i, 1);
        memcpy(kept->qkv + NAME(first_row)(pass, i) * 3 * width, pass->last + i * width,
               width * sizeof *kept->qkv);
        pass->layers->attention_forward(&a);
    }
    NAME(pick)(pass, pass->rows, kept->x);
    LINEAR_ADD(pass, kept->x2, kept->attended, w + at->proj_weight, w + at->proj_bias, pass->rows,
               pass->count, width, width);
    NAME(mlp_forward)(pass, at, w, kept, out, pass->count);
}

void NAME(bang_vit_last_backward)(const PASS *pass, const bang_vit_block *at, const REAL *w,
                                  REAL *g, const KEPT *kept, REAL *x_gradient)
{
    size_t width = pass->width, rows = NAME(first_row)(pass, pass->count),
           step = pass->tokens * 3 * width;
    NAME(mlp_backward)(pass, at, w, g, kept, pass->last, pass->count);
    NAME(proj_backward)(pass, at, w, g, kept, pass->last, pass->count);
    NAME(attention_backward)(pass, at, g, kept, 1);
    pass->layers->norm_again(pass->normed, kept->mean1, kept->scale1, kept->x, w + at->norm1_gain,
                             w + at->norm1_bias, rows, width);
    WEIGHT_GRADIENT(pass, INTO(g, at->qkv_weight + width * width), pass->wide + width, 3 * width,
                    pass->normed, rows, 2 * width, width);
    NAME(pick)(pass, pass->rows, pass->normed);
    WEIGHT_GRADIENT(pass, INTO(g, at->qkv_weight), pass->wide, step, pass->rows, pass->count, width,
                    width);
    INPUT_GRADIENT(pass, pass->back, pass->wide + width, 3 * width,
                   w + at->qkv_weight + width * width, rows, 2 * width, width);
    INPUT_GRADIENT(pass, pass->rows, pass->wide, step, w + at->qkv_weight, pass->count, width,
                   width);
    memset(x_gradient, 0, rows * width * sizeof *x_gradient);
    for (size_t i = 0; i < pass->count; i++) {
        size_t row = NAME(wanted)(pass, i) * width;
        pass->layers->add(pass->back + row, pass->rows + i * width, width);
        memcpy(x_gradient + row, pass->last + i * width, width * sizeof *x_gradient);
    }
    pass->layers->norm_backward(x_gradient, INTO(g, at->norm1_gain), INTO(g, at->norm1_bias),
                                pass->back, kept->x, kept->mean1, kept->scale1, w + at->norm1_gain,
                                rows, width);
}
