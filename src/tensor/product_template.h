/* Blocked products for one number type and one vector length. The includer defines
 *
 *     REAL           float or double
 *     REAL_BITS      32 or 64
 *     VECTOR_BYTES   16, 32 or 64
 *     PRODUCT        the struct of a product
 *     NAME(x)        x with a suffix of its own
 *
 * k is cut into slices. Of a slice, rows of A are packed six by six into one
 * piece that stays in the second or third cache; then one panel of B after the
 * other, two vectors wide, is copied to be in one piece and all rows of A pass
 * over it, while the next panel is asked for. Where n is small A is read where it
 * lies, since packing would cost more than it saves. None of this changes any
 * sum: an element is the sum over slices of the slices' sums. What is added to
 * the product is added with the first slice, as it may be what C holds before.
 */
#include "tensor/product_tile.h"

#include "tensor/layers_math.h"
#include "tensor/product_turn.h"

enum {
    NAME(rows_most) = 804,                  /* of a packed part, a multiple of 6 */
    NAME(near) = 262144 / sizeof(REAL),     /* numbers of A in a part that is not packed */
    NAME(depth_most) = 3200 / sizeof(REAL), /* of a slice */
    NAME(depth_few) = 1152 / sizeof(REAL),  /* the same with few columns */
    NAME(turned_row) = 1024 / sizeof(REAL), /* of A that may be read where it lies */
    NAME(group) = 8 /* panels of A that are packed together, from rows of 48 numbers */
};

/* Few columns use a packed A too seldom, unless they are long sums, or A's columns lie
 * in one piece with the next one far away. */
static int NAME(pays_to_pack)(const PRODUCT *p)
{
    if (p->n > 256)
        return 1;
    return p->a_column == 1 ? p->n > 128 && p->k > NAME(depth_few)
                            : p->n > 64 && p->a_column > NAME(turned_row);
}

/* Depends on nothing that differs between the rows of C. */
static size_t NAME(slice_depth)(const PRODUCT *p)
{
    size_t few = p->a_column == 1 ? 128 : 256;
    size_t most = p->n > few ? NAME(depth_most) : NAME(depth_few);
    size_t slices = (p->k + most - 1) / most;
    return slices ? (p->k + slices - 1) / slices : 1; /* without any k one empty slice */
}

TILES(packed, 1, 6, 2 * L)
TILES(plain, a_row, 1, 2 * L)
TILES(turned, 1, a_column, 2 * L)

/* A slice of B's columns `from` and following; lanes beyond n hold anything. */
static void NAME(copy_panel)(REAL *out, const PRODUCT *p, size_t from, size_t slice, size_t depth)
{
    const REAL *b = p->b + slice * p->b_row + from * p->b_column;
    size_t columns = p->n - from < 2 * L ? p->n - from : 2 * L;
    if (p->b_column != 1) {
        NAME(turn_panel)(out, b, p->b_column, columns, depth);
        return;
    }
    if (columns < 2 * L)
        memset(out, 0, depth * 2 * L * sizeof *out);
    for (size_t j = 0; j < depth; j++, b += p->b_row, out += 2 * L)
        if (columns < 2 * L) {
            memcpy(out, b, columns * sizeof *out);
        } else {
            NAME(store)(out, NAME(load)(b));
            NAME(store)(out + L, NAME(load)(b + L));
        }
}

/* Six rows of A side by side; what a last panel lacks is never read. */
static void NAME(pack_rows)(REAL *out, const REAL *a, size_t row, size_t column, size_t rows,
                            size_t depth)
{
    for (; rows; out += 6 * depth) {
        size_t some = rows < 6 ? rows : 6, j = 0;
        if (some == 6 && column == 1)
            j = NAME(turn_six)(out, a, row, depth);
        for (; j < depth; j++)
            for (size_t i = 0; i < some; i++)
                out[6 * j + i] = a[i * row + j * column];
        a += some * row;
        rows -= some;
    }
}

/* The same for A whose columns are rows in memory, several panels from each so that
 * whole lines of the cache are used; they are asked for some rows ahead. */
static void NAME(pack_columns)(REAL *out, const REAL *a, size_t column, size_t rows, size_t depth)
{
    enum { AHEAD = 16, LINE = 64 / sizeof(REAL) };
    for (; rows >= 6 * NAME(group); rows -= 6 * NAME(group)) {
        for (size_t j = 0; j < depth; j++) {
            const REAL *from = a + j * column;
            if (j + AHEAD < depth)
                for (size_t x = 0; x < 6 * NAME(group); x += LINE)
                    __builtin_prefetch(from + AHEAD * column + x);
            for (size_t x = 0; x < NAME(group); x++)
                memcpy(out + x * 6 * depth + 6 * j, from + 6 * x, 6 * sizeof *a);
        }
        a += 6 * NAME(group);
        out += 6 * NAME(group) * depth;
    }
    NAME(pack_rows)(out, a, 1, column, rows, depth);
}

/* Asks for the next panel of B, a few lines at each tile. */
typedef struct NAME(ahead) {
    const REAL *at, *end; /* in the row that lies in one piece; end: of it */
    size_t row;           /* to the next such row */
    size_t left;          /* rows */
    size_t length;        /* of a row */
    size_t lines;         /* at each tile */
} NAME(ahead);

static void NAME(look_ahead)(NAME(ahead) * s, const PRODUCT *p, size_t from, size_t slice,
                             size_t depth, size_t tiles)
{
    const size_t line = 64 / sizeof(REAL);
    int turned = p->b_column != 1;
    s->left = from + 2 * L <= p->n ? (turned ? 2 * L : depth) : 0;
    s->length = turned ? depth : 2 * L;
    s->row = turned ? p->b_column : p->b_row;
    s->at = s->left ? p->b + slice * p->b_row + from * p->b_column : NULL;
    s->end = s->left ? s->at + s->length : NULL;
    s->lines = (s->left * ((s->length + line - 1) / line) + tiles - 1) / tiles;
}

static inline void NAME(ask)(NAME(ahead) * s)
{
    for (size_t i = 0; i < s->lines && s->left; i++) {
        __builtin_prefetch(s->at, 0, 2);
        s->at += 64 / sizeof(REAL);
        if (s->at >= s->end) {
            s->end += s->row;
            s->at = s->end - s->length;
            s->left--;
        }
    }
}

#define ACTIVATE(kind)                                                                             \
    static void NAME(activate_##kind)(REAL * out, const REAL *c, size_t row, size_t rows)          \
    {                                                                                              \
        for (size_t i = 0; i < rows; i++, c += row, out += row) {                                  \
            NAME(store)(out, NAME(gelu)(NAME(load)(c), kind));                                     \
            NAME(store)(out + L, NAME(gelu)(NAME(load)(c + L), kind));                             \
        }                                                                                          \
    }
ACTIVATE(BANG_GELU_EXACT)
ACTIVATE(BANG_GELU_QUICK)
ACTIVATE(BANG_GELU_TANH)
#undef ACTIVATE

static void NAME(activate)(REAL *out, const REAL *c, size_t row, size_t rows, bang_gelu kind)
{
    if (kind == BANG_GELU_EXACT)
        NAME(activate_BANG_GELU_EXACT)(out, c, row, rows);
    else if (kind == BANG_GELU_QUICK)
        NAME(activate_BANG_GELU_QUICK)(out, c, row, rows);
    else
        NAME(activate_BANG_GELU_TANH)(out, c, row, rows);
}

/* The last columns, fewer than two vectors: a whole block aside, then what is
 * asked for of it. */
static void NAME(finish_edge)(const PRODUCT *p, REAL *block, size_t row, size_t rows, size_t from,
                              int first, int last)
{
    size_t columns = p->n - from;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            REAL *c = p->c + (row + i) * p->c_row + from + j, x = block[i * 2 * L + j];
            x = !first || p->add ? x + *c : x;
            x = first && p->bias ? x + p->bias[from + j] : x;
            x = first && p->residual ? x + p->residual[(row + i) * p->residual_row + from + j] : x;
            *c = block[i * 2 * L + j] = x;
        }
    if (!last || !p->activated)
        return;
    NAME(activate)(block, block, 2 * L, rows, p->gelu);
    for (size_t i = 0; i < rows; i++)
        memcpy(p->activated + (row + i) * p->c_row + from, block + i * 2 * L,
               columns * sizeof *block);
}

/* What stays the same for the rows and panels of one slice. */
typedef struct NAME(part) {
    const PRODUCT *p;
    NAME(tile_call) *const *tiles;
    const REAL *a; /* of the first row */
    size_t a_row, a_column, row, rows, slice, depth;
    int first, last; /* of the slices */
} NAME(part);

static void NAME(panel_of)(const NAME(part) * s, const REAL *b, size_t from, NAME(ahead) * ahead)
{
    const PRODUCT *p = s->p;
    int edge = p->n - from < 2 * L;
    NAME(finish) finish = {.add = p->add || !s->first};
    VECTOR block[12] = {0};
    if (s->first && !edge) {
        finish.bias = p->bias ? p->bias + from : NULL;
        finish.residual = p->residual ? p->residual + s->row * p->residual_row + from : NULL;
        finish.residual_row = p->residual_row;
    }
    for (size_t i = 0; i < s->rows; i += 6) {
        size_t rows = s->rows - i < 6 ? s->rows - i : 6, row = s->row + i;
        const REAL *a = s->a + i * s->a_row;
        REAL *c = p->c + row * p->c_row + from;
        if (ahead->left)
            NAME(ask)(ahead);
        if (edge) {
            REAL *aside = (REAL *)(void *)block;
            s->tiles[rows](aside, 2 * L, a, s->a_row, s->a_column, b, 2 * L, s->depth, NULL);
            NAME(finish_edge)(p, aside, row, rows, from, s->first, s->last);
            continue;
        }
        s->tiles[rows](c, p->c_row, a, s->a_row, s->a_column, b, 2 * L, s->depth, &finish);
        finish.residual += finish.residual ? 6 * p->residual_row : 0;
        if (s->last && p->activated)
            NAME(activate)(p->activated + row * p->c_row + from, c, p->c_row, rows, p->gelu);
    }
}

void NAME(bang_product)(const PRODUCT *p, REAL *scratch)
{
    int packed = NAME(pays_to_pack)(p);
    size_t depth = NAME(slice_depth)(p);
    size_t rows_most = packed ? NAME(rows_most) : NAME(near) / depth / 6 * 6 + 6;
    size_t parts = (p->m + rows_most - 1) / rows_most;
    size_t rows = parts ? ((p->m + parts - 1) / parts + 5) / 6 * 6 : 0;
    REAL *panel = scratch + (size_t)NAME(depth_most) * NAME(rows_most);
    for (size_t slice = 0; slice == 0 || slice < p->k; slice += depth) {
        NAME(part) s = {.p = p, .slice = slice};
        s.depth = p->k - slice < depth ? p->k - slice : depth;
        s.first = !slice;
        s.last = slice + s.depth == p->k;
        for (s.row = 0; s.row < p->m; s.row += rows) {
            s.rows = p->m - s.row < rows ? p->m - s.row : rows;
            s.a = p->a + s.row * p->a_row + slice * p->a_column;
            s.a_row = p->a_row;
            s.a_column = p->a_column;
            s.tiles = packed ? NAME(packed) : p->a_column == 1 ? NAME(plain) : NAME(turned);
            if (packed) {
                if (p->a_row == 1)
                    NAME(pack_columns)(scratch, s.a, p->a_column, s.rows, s.depth);
                else
                    NAME(pack_rows)(scratch, s.a, p->a_row, p->a_column, s.rows, s.depth);
                s.a = scratch;
                s.a_row = s.depth; /* a panel is six rows of this length */
            }
            NAME(ahead) ahead = {0}; /* nothing to ask for where all is near */
            for (size_t from = 0; from < p->n; from += 2 * L) {
                NAME(copy_panel)(panel, p, from, slice, s.depth);
                if (packed)
                    NAME(look_ahead)(&ahead, p, from + 2 * L, slice, s.depth, (s.rows + 5) / 6);
                NAME(panel_of)(&s, panel, from, &ahead);
            }
        }
    }
}

#undef L
#undef VECTOR
#undef TILE
#undef TILES
#undef FAR
#undef LOG2_E
#undef REAL
#undef REAL_BITS
#undef PRODUCT
#undef NAME
