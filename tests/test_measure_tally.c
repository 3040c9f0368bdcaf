/* Tallies against a plain reference: one row after the other, the C library's exp and log,
 * probabilities written out, sorting by qsort. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/base/random.h"
#include "bang/measure/tally.h"

enum { SOURCES = 3, MEMBERS = 9, ROWS_MOST = 5003, COLUMNS_MOST = 137 };

typedef struct world {
    size_t rows, columns, classes;
    int kind; /* 0: all F32, 1: all F64, 2: both */
    int probabilities, few, labelled, left_out;
    const bang_class_outputs *picked;
    /* what the tables hold, and what the reference sees of it */
    float *narrow[SOURCES];
    double *wide[SOURCES];
    bang_table table[SOURCES];
    bang_logits logits[SOURCES];
    bang_label *labels;
} world;

static const bang_member members[MEMBERS] = {
    {.part_count = 1, .parts = {{0, 1, 1}}, .equal_mass = 1},
    {.part_count = 1, .parts = {{1, 1, 1}}, .equal_mass = 1},
    {.part_count = 1, .parts = {{2, 1, 1}}, .equal_mass = 1},
    {.part_count = 2, .parts = {{0, 1, 0.5}, {1, 1, 0.5}}, .equal_mass = 1},
    {.part_count = 1, .parts = {{0, 0.25, 1}}},
    {.part_count = 3, .parts = {{0, 1, 0.5}, {1, 0.5, 1}, {2, 2, -0.25}}},
    {.part_count = 1, .parts = {{1, 2, -1}}},
    {.part_count = 2, .parts = {{0, 1, 0.3}, {1, 1, 0.7}}, .probabilities = 1},
    {.part_count = 3, .parts = {{0, 0.25, 0.2}, {1, 3, 0.5}, {2, 1, 0.3}}, .probabilities = 1},
};

static bang_random stream(uint64_t index)
{
    bang_random random;
    bang_random_init(&random, 11, BANG_PURPOSE('t', 'e', 's', 't'), index);
    return random;
}

static void *get(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    assert_non_null(memory);
    return memory;
}

/* Fills tables whose models know the label a little. */
static void make_world(world *w, uint64_t seed)
{
    bang_random random = stream(seed);
    size_t count = w->rows * w->columns;
    w->classes = w->picked ? w->picked->classes : w->columns;
    w->labels = get(w->rows, sizeof *w->labels);
    for (size_t i = 0; i < w->rows; i++) {
        w->labels[i] = (bang_label)bang_random_below(&random, w->classes);
        if (w->left_out && bang_random_below(&random, 4) == 0)
            w->labels[i] = BANG_LEFT_OUT;
    }
    for (size_t s = 0; s < SOURCES; s++) {
        double *z = w->wide[s] = get(count, sizeof *z);
        float *f = w->narrow[s] = get(count, sizeof *f);
        for (size_t i = 0; i < count; i++) {
            size_t label = w->labels[i / w->columns] >= 0 ? (size_t)w->labels[i / w->columns] : 0;
            size_t output = w->picked ? w->picked->output[w->picked->first[label]] : label;
            z[i] = 2 * bang_random_normal(&random) + (i % w->columns == output ? 2.0 : 0.0);
            z[i] = w->few ? floor(z[i]) / 2 : z[i];
        }
        for (size_t i = 0; w->probabilities && i < w->rows; i++) {
            double *row = z + i * w->columns, sum = 0;
            for (size_t k = 0; k < w->columns; k++)
                sum += row[k] = exp(row[k]);
            for (size_t k = 0; k < w->columns; k++)
                row[k] /= sum;
        }
        int is_f32 = w->kind == 0 || (w->kind == 2 && s == 1);
        for (size_t i = 0; is_f32 && i < count; i++)
            z[i] = (double)(f[i] = (float)z[i]);
        bang_table_of(&w->table[s], (const char *[]){"pre", "fine", "avg"}[s],
                      is_f32 ? BANG_F32 : BANG_F64, is_f32 ? (const void *)f : z, w->rows,
                      w->columns);
        w->logits[s] = (bang_logits){
            .table = &w->table[s], .probabilities = w->probabilities, .columns = w->picked};
    }
}

static void drop_world(world *w)
{
    for (size_t s = 0; s < SOURCES; s++) {
        free(w->narrow[s]);
        free(w->wide[s]);
    }
    free(w->labels);
}

/* The logits of a source's classes. */
static void plain_logits(double *z, const world *w, size_t source, size_t row)
{
    const double *numbers = w->wide[source] + row * w->columns;
    for (size_t c = 0; c < w->classes; c++) {
        double most = w->picked ? -INFINITY : numbers[c];
        for (size_t i = w->picked ? w->picked->first[c] : 1;
             w->picked && i < w->picked->first[c + 1]; i++)
            most = fmax(most, numbers[w->picked->output[i]]);
        z[c] = w->probabilities ? log(most) : most;
    }
}

/* Probabilities as they are given; of picked classes they sum to 1. */
static void plain_given(double *p, const world *w, size_t source, size_t row)
{
    const double *numbers = w->wide[source] + row * w->columns;
    double sum = 0;
    for (size_t c = 0; c < w->classes; c++) {
        p[c] = w->picked ? 0 : numbers[c];
        for (size_t i = w->picked ? w->picked->first[c] : 1;
             w->picked && i < w->picked->first[c + 1]; i++)
            p[c] = fmax(p[c], numbers[w->picked->output[i]]);
        sum += p[c];
    }
    for (size_t c = 0; w->picked && c < w->classes; c++)
        p[c] /= sum;
}

static size_t arg_max(const double *z, size_t count)
{
    size_t best = 0;
    for (size_t k = 1; k < count; k++)
        if (z[k] > z[best])
            best = k;
    return best;
}

static void plain_softmax(double *p, const double *z, size_t count)
{
    double top = z[arg_max(z, count)], sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += p[k] = exp(z[k] - top);
    for (size_t k = 0; k < count; k++)
        p[k] /= sum;
}

/* What one member says of one row. */
typedef struct opinion {
    size_t prediction;
    double confidence, margin, nll, brier;
} opinion;

static void plain_opinion(opinion *out, const world *w, const bang_member *member, size_t row)
{
    static double z[COLUMNS_MOST], p[COLUMNS_MOST], sum[COLUMNS_MOST];
    size_t n = w->classes, label = w->labels[row] >= 0 ? (size_t)w->labels[row] : 0;
    memset(sum, 0, sizeof sum);
    for (size_t i = 0; i < member->part_count; i++) {
        const bang_member_part *part = &member->parts[i];
        plain_logits(z, w, part->source, row);
        for (size_t k = 0; k < n; k++)
            z[k] *= part->scale;
        if (w->probabilities && part->scale == 1)
            plain_given(p, w, part->source, row);
        else
            plain_softmax(p, z, n);
        for (size_t k = 0; k < n; k++)
            sum[k] += part->share * (member->probabilities ? p[k] : z[k]);
    }
    out->prediction = arg_max(sum, n);
    const bang_member_part *only = &member->parts[0];
    int given = w->probabilities && member->part_count == 1 && only->scale * only->share == 1;
    if (member->probabilities)
        memcpy(p, sum, sizeof p);
    else if (given)
        plain_given(p, w, only->source, row);
    else
        plain_softmax(p, sum, n);
    out->confidence = p[out->prediction];
    out->nll = -log(p[label]);
    double rival = 0;
    out->brier = 0;
    for (size_t k = 0; k < n; k++) {
        double target = k == label ? 1 : 0;
        out->brier += (p[k] - target) * (p[k] - target);
        rival = k != label && p[k] > rival ? p[k] : rival;
    }
    out->margin = p[label] - rival;
}

static void near(double found, double right)
{
    if (isnan(right) ? !isnan(found) : !(fabs(found - right) <= 1e-12 * (1 + fabs(right))))
        fail_msg("%.17g is not %.17g", found, right);
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static void check_bins(const world *w, const bang_bin *width, const bang_bin *mass, size_t bins,
                       double *confidence, size_t n)
{
    for (size_t b = 0; b < bins; b++) {
        double sum = 0, right = 0;
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            double c = fabs(confidence[i]), place = ceil((double)bins * c) - 1;
            if (fmin(fmax(place, 0), (double)bins - 1) != (double)b)
                continue;
            count++;
            sum += c;
            right += confidence[i] > 0;
        }
        assert_int_equal(width[b].count, count);
        near(width[b].confidence, count ? sum / (double)count : NAN);
        near(width[b].accuracy, count && w->labelled ? right / (double)count : NAN);
        near(width[b].low, (double)b / (double)bins);
        near(width[b].high, (double)(b + 1) / (double)bins);
    }
    qsort(confidence, n, sizeof *confidence, by_size);
    for (size_t b = 0, first = 0; mass && b < bins; b++) {
        size_t count = n / bins + (b < n % bins);
        double sum = 0, right = 0;
        for (size_t i = first; i < first + count; i++) {
            sum += fabs(confidence[i]);
            right += confidence[i] > 0;
        }
        assert_int_equal(mass[b].count, count);
        near(mass[b].confidence, count ? sum / (double)count : NAN);
        if (!w->few) /* without equals the order is known */
            near(mass[b].accuracy, count && w->labelled ? right / (double)count : NAN);
        first += count;
    }
}

static void check_member(const world *w, const bang_tally *tally, opinion (*said)[MEMBERS],
                         const size_t *rows, size_t n, size_t m)
{
    const bang_member_tally *of = &tally->of[m];
    size_t right = 0, pairs[BANG_PAIRS] = {0};
    double sums[3] = {0}, margin[BANG_PAIRS] = {0};
    double *confidence = get(n, sizeof *confidence);
    for (size_t i = 0; i < n; i++) {
        const opinion *o = &said[i][m];
        size_t label = (size_t)w->labels[rows[i]];
        int is_right = w->labelled && o->prediction == label;
        size_t pair = 2 * (said[i][0].prediction != label) + (said[i][1].prediction != label);
        right += (size_t)is_right;
        sums[0] += o->confidence;
        sums[1] += o->nll;
        sums[2] += o->brier;
        margin[pair] += o->margin;
        pairs[pair]++;
        confidence[i] = is_right || !w->labelled ? o->confidence : -o->confidence;
    }
    double count = n > 0 ? (double)n : NAN, known = w->labelled ? count : NAN;
    assert_int_equal(of->right, right);
    near(of->confidence, sums[0] / count);
    near(of->nll, sums[1] / known);
    near(of->brier, sums[2] / known);
    for (size_t p = 0; p < BANG_PAIRS; p++)
        near(of->margin[p], w->labelled && pairs[p] ? margin[p] / (double)pairs[p] : NAN);
    assert_true(!of->mass == !members[m].equal_mass);
    check_bins(w, of->width, of->mass, (size_t)tally->bins, confidence, n);
    free(confidence);
}

static void check_pairs(const world *w, const bang_tally *tally, opinion (*said)[MEMBERS],
                        const size_t *rows, size_t n)
{
    for (size_t a = 0; a < MEMBERS; a++)
        for (size_t b = 0; b < MEMBERS; b++) {
            size_t agree = 0, mistake = 0;
            for (size_t i = 0; i < n; i++) {
                int same = said[i][a].prediction == said[i][b].prediction;
                agree += (size_t)same;
                mistake +=
                    w->labelled && same && said[i][a].prediction != (size_t)w->labels[rows[i]];
            }
            assert_int_equal(tally->agree[a * MEMBERS + b], agree);
            assert_int_equal(tally->same_mistake[a * MEMBERS + b], mistake);
        }
}

static void check_patterns(const world *w, const bang_tally *tally, opinion (*said)[MEMBERS],
                           const size_t *rows, size_t n)
{
    size_t counts[1 << MEMBERS] = {0}, next = 0;
    size_t *by_class = get(w->classes, sizeof *by_class);
    for (size_t i = 0; i < n; i++) {
        size_t pattern = 0, label = (size_t)w->labels[rows[i]];
        for (size_t m = 0; m < MEMBERS; m++)
            pattern |= (size_t)(said[i][m].prediction == label) << m;
        counts[pattern]++;
        by_class[label]++;
    }
    for (size_t p = 0; p < 1 << MEMBERS; p++)
        if (counts[p] > 0) {
            assert_true(next < tally->pattern_count && tally->patterns[next].right == p);
            assert_int_equal(tally->patterns[next++].count, counts[p]);
        }
    assert_int_equal(next, tally->pattern_count);
    for (size_t c = 0; c < w->classes; c++) {
        assert_int_equal(tally->class_rows[c], by_class[c]);
        for (size_t m = 0; m < MEMBERS; m++) {
            size_t right = 0;
            for (size_t i = 0; i < n; i++)
                right += (size_t)w->labels[rows[i]] == c && said[i][m].prediction == c;
            assert_int_equal(tally->class_right[c * MEMBERS + m], right);
        }
    }
    free(by_class);
}

static void check_listed(const world *w, const bang_tally *tally, opinion (*said)[MEMBERS],
                         const size_t *rows, size_t n, unsigned listed)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        size_t label = (size_t)w->labels[rows[i]];
        char name[4] = "";
        for (size_t m = 0; m < 3; m++)
            name[m] = said[i][m].prediction == label ? 'T' : 'F';
        int group = 0;
        while (strcmp(bang_group_names[group], name) != 0)
            group++;
        if (!(listed >> group & 1))
            continue;
        assert_true(next < tally->listed_count);
        const bang_sample *sample = &tally->listed[next++];
        assert_int_equal(sample->index, rows[i]);
        assert_int_equal(sample->group, group);
        assert_int_equal(sample->label, label);
        for (size_t m = 0; m < 3; m++) {
            assert_int_equal(sample->prediction[m], said[i][m].prediction);
            near(sample->confidence[m], said[i][m].confidence);
            near(sample->margin[m], said[i][m].margin);
        }
    }
    assert_int_equal(tally->listed_count, next);
}

static void same_tally(const bang_tally *a, const bang_tally *b)
{
    size_t square = a->member_count * a->member_count;
    assert_int_equal(a->counted, b->counted);
    assert_int_equal(a->pattern_count, b->pattern_count);
    assert_int_equal(a->listed_count, b->listed_count);
    for (size_t m = 0; m < a->member_count; m++) {
        bang_member_tally x = a->of[m], y = b->of[m];
        assert_memory_equal(x.width, y.width, (size_t)a->bins * sizeof *x.width);
        if (x.mass)
            assert_memory_equal(x.mass, y.mass, (size_t)a->bins * sizeof *x.mass);
        x.width = y.width = x.mass = y.mass = NULL;
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_memory_equal(a->agree, b->agree, square * sizeof *a->agree);
    assert_memory_equal(a->same_mistake, b->same_mistake, square * sizeof *a->agree);
    for (size_t i = 0; i < a->pattern_count; i++)
        assert_true(a->patterns[i].right == b->patterns[i].right &&
                    a->patterns[i].count == b->patterns[i].count);
    for (size_t i = 0; i < a->listed_count; i++)
        assert_true(a->listed[i].index == b->listed[i].index &&
                    a->listed[i].margin[1] == b->listed[i].margin[1]);
}

static void check_world(world *w, uint64_t seed)
{
    make_world(w, seed);
    unsigned listed = seed % 2 ? 0xff : 1U << BANG_FFT | 1U << BANG_TTF;
    bang_tally_input input = {SOURCES, w->logits, w->labelled ? w->labels : NULL, MEMBERS, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_tally *tally, *again;
    bang_error err = {0};
    options.bins = seed % 3 ? BANG_BINS : 7;
    options.by_class = 1;
    options.listed = listed;
    options.threads = 1;
    if (bang_tally_run(&tally, &input, &options, &err) < 0)
        fail_msg("%s", err.message);
    options.threads = 3;
    assert_int_equal(bang_tally_run(&again, &input, &options, &err), 0);
    same_tally(tally, again);
    bang_tally_free(again);

    size_t n = 0, *rows = get(w->rows, sizeof *rows);
    opinion(*said)[MEMBERS] = get(w->rows, sizeof *said);
    for (size_t i = 0; i < w->rows; i++) {
        if (w->labelled && w->labels[i] < 0)
            continue;
        for (size_t m = 0; m < MEMBERS; m++)
            plain_opinion(&said[n][m], w, &members[m], i);
        rows[n++] = i;
    }
    assert_int_equal(tally->rows, w->rows);
    assert_int_equal(tally->counted, n);
    assert_int_equal(tally->classes, w->classes);
    assert_int_equal(tally->labelled, w->labelled);
    for (size_t m = 0; m < MEMBERS; m++)
        check_member(w, tally, said, rows, n, m);
    check_pairs(w, tally, said, rows, n);
    if (w->labelled) {
        check_patterns(w, tally, said, rows, n);
        check_listed(w, tally, said, rows, n, listed);
    } else {
        assert_true(tally->pattern_count == 0 && tally->listed_count == 0 && !tally->class_rows);
    }
    free(rows);
    free(said);
    bang_tally_free(tally);
    drop_world(w);
}

static void test_shapes(void **state)
{
    (void)state;
    const size_t rows[] = {0, 1, 5, 67, 1003}, columns[] = {1, 2, 10, 137};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            world w = {.rows = rows[i], .columns = columns[j], .kind = (int)(i + j) % 3};
            w.labelled = 1;
            w.left_out = (i + j) % 2;
            check_world(&w, 10 * i + j);
        }
}

static void test_many_rows(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        world w = {.rows = ROWS_MOST, .columns = 10, .kind = kind, .labelled = 1};
        w.left_out = kind;
        check_world(&w, 100 + (uint64_t)kind);
    }
}

static void test_equals(void **state)
{
    (void)state;
    for (size_t columns = 2; columns <= 10; columns += 4)
        for (int kind = 0; kind < 2; kind++) {
            world w = {.rows = 1501, .columns = columns, .kind = kind, .few = 1, .labelled = 1};
            check_world(&w, 200 + 10 * columns + (uint64_t)kind);
        }
}

static void test_no_labels(void **state)
{
    (void)state;
    world w = {.rows = 301, .columns = 10, .kind = 2};
    check_world(&w, 300);
    world left = {.rows = 64, .columns = 3, .left_out = 1};
    check_world(&left, 301);
}

/* Classes that stand for one output and for several. */
static void test_picked(void **state)
{
    (void)state;
    const uint32_t first[] = {0, 1, 4, 5, 7}, output[] = {19, 3, 5, 0, 7, 11, 12};
    const bang_class_outputs picked = {.classes = 4, .first = first, .output = output};
    for (int kind = 0; kind < 6; kind++) {
        world w = {.rows = 203, .columns = 20, .kind = kind % 3, .labelled = 1};
        w.picked = &picked;
        w.probabilities = kind / 3;
        check_world(&w, 400 + (uint64_t)kind);
    }
}

static void test_probabilities(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        world w = {.rows = 203, .columns = 10, .kind = kind, .labelled = 1, .probabilities = 1};
        check_world(&w, 500 + (uint64_t)kind);
        static const uint32_t first[] = {0, 1, 3, 4}, output[] = {7, 2, 4, 0};
        static const bang_class_outputs some = {3, first, output};
        w.picked = &some;
        check_world(&w, 600 + (uint64_t)kind);
    }
}

/* On the edges of bins a last bit decides: confidences are the given ones, not nearly so. */
static void test_probabilities_on_edges(void **state)
{
    (void)state;
    enum { N = 7 };
    const double p[N][3] = {{5 / 15., 5 / 15., 5 / 15.},
                            {6 / 15., 5 / 15., 4 / 15.},
                            {7 / 15., 4 / 15., 4 / 15.},
                            {1 / 15., 9 / 15., 5 / 15.},
                            {2 / 15., 2 / 15., 11 / 15.},
                            {1 / 15., 13 / 15., 1 / 15.},
                            {0, 1, 0}};
    const bang_label labels[N] = {0, 1, 0, 2, 2, 1, 0};
    bang_table table;
    bang_table_of(&table, "given", BANG_F64, p, N, 3);
    bang_logits logits = {.table = &table, .probabilities = 1};
    bang_member member = {.part_count = 1, .parts = {{0, 1, 1}}, .equal_mass = 1};
    bang_tally_input input = {1, &logits, labels, 1, &member};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_tally *tally;
    bang_error err = {0};
    size_t count[BANG_BINS] = {0};
    double sum = 0, nll = 0, brier = 0;
    assert_int_equal(bang_tally_run(&tally, &input, &options, &err), 0);
    for (size_t i = 0; i < N; i++) {
        double top = fmax(p[i][0], fmax(p[i][1], p[i][2]));
        count[bang_bin_of(top, BANG_BINS)]++;
        sum += top;
        nll -= log(fmax(p[i][labels[i]], 5e-324));
        for (int k = 0; k < 3; k++)
            brier += (p[i][k] - (k == labels[i])) * (p[i][k] - (k == labels[i]));
    }
    for (size_t b = 0; b < BANG_BINS; b++)
        assert_int_equal(tally->of[0].width[b].count, count[b]);
    near(tally->of[0].confidence, sum / N);
    near(tally->of[0].nll, nll / N);
    near(tally->of[0].brier, brier / N);
    assert_true(tally->of[0].mass[1].low == 6 / 15. || tally->of[0].mass[0].low == 5 / 15.);
    bang_tally_free(tally);
}

/* All rows left out: nothing is known, and nothing fails. */
static void test_nothing_counts(void **state)
{
    (void)state;
    const double z[6] = {0};
    const bang_label labels[3] = {-1, -1, -1};
    bang_table table;
    bang_table_of(&table, "pre", BANG_F64, z, 3, 2);
    bang_logits logits[SOURCES] = {{.table = &table}, {.table = &table}, {.table = &table}};
    bang_tally_input input = {SOURCES, logits, labels, MEMBERS, members};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_tally *tally;
    bang_error err = {0};
    assert_int_equal(bang_tally_run(&tally, &input, &options, &err), 0);
    assert_true(tally->rows == 3 && tally->counted == 0 && tally->pattern_count == 0);
    assert_true(isnan(tally->of[0].confidence) && isnan(tally->of[0].nll));
    assert_true(isnan(tally->of[0].margin[0]) && isnan(tally->of[0].width[3].confidence));
    assert_int_equal(tally->of[0].mass[3].count, 0);
    bang_tally_free(tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_equals),
        cmocka_unit_test(test_no_labels),
        cmocka_unit_test(test_picked),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_probabilities_on_edges),
        cmocka_unit_test(test_nothing_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
