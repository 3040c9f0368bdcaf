/* The text tower against plain loops in double, and heads made from texts. */
#include "plain_vit.h"

#include "bang/model/text.h"

enum { WIDTH = 12, HIDDEN = 20, DEPTH = 3, CONTEXT = 9, WORDS = 40, OUT = 7, TEXTS = 37 };

static const size_t shapes[][2] = {
    {WORDS, WIDTH}, {CONTEXT, WIDTH}, {1, WIDTH}, {1, WIDTH}, {OUT, WIDTH}};

/* A tower with random numbers, as one block. */
static void make_tower(bang_text_tower *tower, double **parameters, size_t depth, bang_gelu gelu)
{
    size_t at = 0, place[5],
           sizes[] = {WIDTH, WIDTH, 3 * WIDTH * WIDTH, 3 * WIDTH, WIDTH * WIDTH,  WIDTH,
                      WIDTH, WIDTH, HIDDEN * WIDTH,    HIDDEN,    HIDDEN * WIDTH, WIDTH};
    *tower =
        (bang_text_tower){.config = {WORDS, CONTEXT, WIDTH, depth, 3, HIDDEN, OUT, gelu, 1e-5}};
    for (int i = 0; i < 5; i++) {
        place[i] = at;
        at += shapes[i][0] * shapes[i][1];
    }
    tower->blocks = calloc(depth, sizeof *tower->blocks);
    assert_non_null(tower->blocks);
    for (size_t l = 0; l < depth; l++) {
        size_t offsets[12];
        for (int i = 0; i < 12; i++) {
            offsets[i] = at;
            at += sizes[i];
        }
        memcpy(&tower->blocks[l], offsets, sizeof offsets);
    }
    *parameters = vit_numbers(at, depth, 0.3);
    tower->parameters = vit_floats(*parameters, at);
    for (size_t i = 0; i < at; i++)
        (*parameters)[i] = (double)tower->parameters[i];
    tower->tokens = tower->parameters + place[0];
    tower->positions = tower->parameters + place[1];
    tower->norm_gain = tower->parameters + place[2];
    tower->norm_bias = tower->parameters + place[3];
    tower->projection = tower->parameters + place[4];
}

static void drop_tower(bang_text_tower *tower, double *parameters)
{
    free(tower->blocks), free(tower->parameters), free(parameters);
}

static void make_ids(int32_t *ids, size_t texts)
{
    bang_random random;
    bang_random_init(&random, 9, BANG_PURPOSE('t', 'e', 'x', 't'), 0);
    for (size_t i = 0; i < texts; i++) {
        size_t end = (size_t)bang_random_below(&random, CONTEXT);
        for (size_t t = 0; t < CONTEXT; t++)
            ids[i * CONTEXT + t] = (int32_t)bang_random_below(&random, WORDS - 1);
        ids[i * CONTEXT + end] = WORDS - 1;
        if (end + 1 < CONTEXT && i % 2) /* a second one does not count */
            ids[i * CONTEXT + CONTEXT - 1] = WORDS - 1;
    }
}

/* All tokens through all blocks, then the end token's row. */
static void plain_text(double *out, const bang_text_tower *tower, const double *w,
                       const int32_t *ids)
{
    const bang_text_config *c = &tower->config;
    double x[CONTEXT * WIDTH], normed[WIDTH], none[OUT] = {0};
    size_t end = 0, positions = (size_t)(tower->positions - tower->parameters);
    for (size_t t = 0; t < CONTEXT; t++) {
        end = ids[t] > ids[end] ? t : end;
        for (size_t j = 0; j < WIDTH; j++)
            x[t * WIDTH + j] = w[(size_t)ids[t] * WIDTH + j] + w[positions + t * WIDTH + j];
    }
    for (size_t l = 0; l < c->depth; l++)
        plain_block(x, w, &tower->blocks[l], CONTEXT, WIDTH, c->heads, HIDDEN, c->gelu, c->epsilon,
                    1);
    plain_norm(normed, x + end * WIDTH, w + (tower->norm_gain - tower->parameters),
               w + (tower->norm_bias - tower->parameters), 1, WIDTH, c->epsilon);
    plain_linear(out, normed, w + (tower->projection - tower->parameters), none, 1, OUT, WIDTH);
}

static void test_encode(void **state)
{
    (void)state;
    int32_t ids[TEXTS * CONTEXT];
    make_ids(ids, TEXTS);
    for (size_t depth = 1; depth <= DEPTH; depth++) {
        bang_text_tower tower;
        double *w;
        bang_error err = {0};
        float features[TEXTS * OUT], again[TEXTS * OUT];
        make_tower(&tower, &w, depth, (bang_gelu)(depth % 3));
        if (bang_text_tower_encode(features, &tower, ids, TEXTS, 1, NULL, NULL, &err) < 0)
            fail_msg("%s", err.message);
        for (size_t i = 0; i < TEXTS; i++) {
            double want[OUT];
            plain_text(want, &tower, w, ids + i * CONTEXT);
            for (size_t j = 0; j < OUT; j++) /* some hundred roundings of numbers around 1 */
                if (!(fabs((double)features[i * OUT + j] - want[j]) < 1e-5))
                    fail_msg("depth %zu, text %zu: %.9g, not %.9g", depth, i,
                             (double)features[i * OUT + j], want[j]);
        }
        /* neither threads nor neighbours matter */
        assert_int_equal(bang_text_tower_encode(again, &tower, ids, TEXTS, 3, NULL, NULL, &err), 0);
        assert_memory_equal(features, again, sizeof features);
        for (size_t i = 0; i < TEXTS; i++)
            assert_int_equal(bang_text_tower_encode(again + i * OUT, &tower, ids + i * CONTEXT, 1,
                                                    1, NULL, NULL, &err),
                             0);
        assert_memory_equal(features, again, sizeof features);
        drop_tower(&tower, w);
    }
}

static void count_steps(void *context, uint64_t done, uint64_t total)
{
    uint64_t *most = context;
    assert_int_equal(total, TEXTS);
    *most = done > *most ? done : *most;
}

static void test_outside(void **state)
{
    (void)state;
    int32_t ids[TEXTS * CONTEXT];
    float features[TEXTS * OUT];
    bang_text_tower tower;
    bang_error err = {0};
    double *w;
    uint64_t most = 0;
    bang_progress progress = {count_steps, &most};
    bang_cancel cancel = {1};
    make_ids(ids, TEXTS);
    make_tower(&tower, &w, 2, BANG_GELU_QUICK);
    assert_int_equal(bang_text_tower_encode(features, &tower, ids, TEXTS, 1, &progress, NULL, &err),
                     0);
    assert_int_equal(most, TEXTS);
    assert_int_equal(bang_text_tower_encode(features, &tower, ids, 0, 1, NULL, NULL, &err), 0);
    assert_int_equal(bang_text_tower_encode(features, &tower, ids, TEXTS, 1, NULL, &cancel, &err),
                     BANG_ECANCELLED);
    for (int i = 0; i < 2; i++) {
        ids[3 * CONTEXT + 1] = i ? -1 : WORDS;
        assert_int_equal(bang_text_tower_encode(features, &tower, ids, TEXTS, 1, NULL, NULL, &err),
                         BANG_EUSAGE);
        assert_non_null(strstr(err.message, i ? "text 3: token -1" : "text 3: token 40"));
        assert_int_equal(bang_text_tower_encode(features, &tower, ids, TEXTS, 1, NULL, NULL, NULL),
                         BANG_EUSAGE);
    }
    drop_tower(&tower, w);
}

static void test_class(void **state)
{
    (void)state;
    enum { PROMPTS = 5, WIDE = 1100 };
    for (size_t width = 1; width <= WIDE; width += width < 4 ? 1 : 548) {
        double *numbers = vit_numbers(PROMPTS * width, width, 3), square = 0;
        float *features = vit_floats(numbers, PROMPTS * width);
        float *weight = vit_floats(numbers, width);
        double *want = vit_numbers(width, 0, 0);
        for (size_t i = 0; i < PROMPTS; i++) {
            double length = 0;
            for (size_t j = 0; j < width; j++)
                length += pow((double)features[i * width + j], 2);
            for (size_t j = 0; j < width; j++)
                want[j] += (double)features[i * width + j] / sqrt(length) / PROMPTS;
        }
        for (size_t j = 0; j < width; j++)
            square += want[j] * want[j];
        bang_zeroshot_class(weight, features, PROMPTS, width, log(100));
        for (size_t j = 0; j < width; j++)
            assert_true(fabs((double)weight[j] - 100 * want[j] / sqrt(square)) < 2e-5);
        memset(features, 0, PROMPTS * width * sizeof *features); /* no direction: no weight */
        bang_zeroshot_class(weight, features, PROMPTS, width, log(100));
        for (size_t j = 0; j < width; j++)
            assert_true(weight[j] == 0);
        free(numbers), free(features), free(weight), free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
