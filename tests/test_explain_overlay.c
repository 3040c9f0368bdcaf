/* Pictures with maps over them: colours, places between cells, the sheet. */
#include "testing.h"

#include <math.h>

#include "bang/explain/overlay.h"

static int brightness(const uint8_t rgb[3])
{
    return 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2];
}

static void test_colors(void **state)
{
    (void)state;
    uint8_t before[3], now[3];
    bang_overlay_color(before, 0);
    for (int i = 1; i <= 100; i++) { /* more is lighter, everywhere */
        bang_overlay_color(now, i / 100.0);
        assert_true(brightness(now) > brightness(before));
        memcpy(before, now, sizeof now);
    }
    bang_overlay_color(now, 7); /* beyond the scale: its end */
    assert_memory_equal(now, before, 3);
    bang_overlay_color(before, 0);
    bang_overlay_color(now, NAN);
    assert_memory_equal(now, before, 3);
    bang_overlay_color(now, -1);
    assert_memory_equal(now, before, 3);
}

static void check(double got, double want)
{
    if (!(fabs(got - want) < 1e-12))
        fail_msg("%.15g, not %.15g", got, want);
}

/* Cells' middles have their values, half way between is the mean, level towards the edge. */
static void test_value(void **state)
{
    (void)state;
    const double map[4] = {1, 3, 5, 9}, one[1] = {7};
    check(bang_overlay_value(map, 2, .25, .25), 1);
    check(bang_overlay_value(map, 2, .75, .25), 3);
    check(bang_overlay_value(map, 2, .25, .75), 5);
    check(bang_overlay_value(map, 2, .5, .25), 2);
    check(bang_overlay_value(map, 2, .5, .5), 4.5);
    check(bang_overlay_value(map, 2, 0, 0), 1);
    check(bang_overlay_value(map, 2, 1, 1), 9);
    check(bang_overlay_value(one, 1, .1, .9), 7);
}

static const uint8_t *at(const bang_array *sheet, size_t x, size_t y)
{
    return (const uint8_t *)sheet->data + 3 * (y * sheet->shape[1] + x);
}

enum { GAP = 12 }; /* around tiles */

static void test_sheet(void **state)
{
    (void)state;
    enum { SIZE = 4, EDGE = 168 };
    uint8_t picture[SIZE * SIZE * 3];
    double map[4] = {0, 0, 0, 2}, zero[4] = {0};
    bang_error err = {0};
    bang_array sheet;
    memset(picture, 100, sizeof picture);
    picture[0] = 250; /* red above left */
    bang_overlay_tile tiles[3] = {{.picture = picture, .caption = "dog\n\xC3\xA4.jpg"},
                                  {.picture = picture, .map = map, .side = 2, .caption = "a"},
                                  {.picture = picture, .map = zero, .side = 2}};
    const char *headings[3] = {"picture", "a very long name that does not fit into its column", ""};
    bang_overlay_sheet of = {1, 3, SIZE, 3, tiles, headings};
    assert_int_equal(bang_overlay_draw(&sheet, &of, &err), 0);
    assert_int_equal(sheet.shape[1], GAP + 3 * (EDGE + GAP));
    size_t top = 0; /* of the first tile, whose first pixels are red */
    while (top < sheet.shape[0] && at(&sheet, GAP, top)[0] != 250)
        top++;
    assert_in_range(top, GAP, sheet.shape[0] - EDGE);
    assert_memory_equal(at(&sheet, GAP + 41, top + 41), ((uint8_t[]){250, 100, 100}), 3);
    assert_memory_equal(at(&sheet, GAP + 42, top), ((uint8_t[]){100, 100, 100}), 3);
    assert_memory_equal(at(&sheet, 0, 0), ((uint8_t[]){255, 255, 255}), 3);
    /* the map is lightest below right; one of zeros has no colour of the scale, but pale grey */
    size_t second = GAP + EDGE + GAP, third = second + EDGE + GAP;
    assert_true(brightness(at(&sheet, second + 150, top + 150)) >
                brightness(at(&sheet, second + 100, top + 100)));
    assert_true(brightness(at(&sheet, second + 100, top + 100)) >
                brightness(at(&sheet, second + 60, top + 100)));
    assert_memory_equal(at(&sheet, third + 150, top + 150), at(&sheet, third + 60, top + 150), 3);
    const uint8_t *zeros = at(&sheet, third + 150, top + 150);
    assert_true(zeros[0] == zeros[1] && zeros[1] == zeros[2] && zeros[0] > 150);
    /* beside the scale stands that it is each map's own */
    size_t words = 0;
    for (size_t y = sheet.shape[0] - GAP - 14; y < sheet.shape[0] - GAP; y++)
        for (size_t x = second; x < third - GAP; x++)
            words += brightness(at(&sheet, x, y)) < 150000;
    assert_true(words > 20);
    /* captions: ink below the tiles that have one */
    size_t ink[3] = {0};
    for (int t = 0; t < 3; t++)
        for (size_t y = top + EDGE; y < top + EDGE + 30; y++)
            for (size_t x = 0; x < EDGE; x++)
                ink[t] += brightness(at(&sheet, GAP + (size_t)t * (EDGE + GAP) + x, y)) < 128000;
    assert_true(ink[0] > 20 && ink[1] > 5);
    assert_int_equal(ink[2], 0);
    /* a name that is too long does not run into the next column */
    for (size_t y = 0; y < top; y++)
        for (size_t x = 0; x < GAP; x++)
            assert_memory_equal(at(&sheet, third - GAP + x, y), ((uint8_t[]){255, 255, 255}), 3);
    bang_array_release(&sheet);
    /* a third line has room, too */
    size_t two = 0, three = 0, width;
    assert_int_equal(bang_overlay_size(&two, &width, &of, &err), 0);
    tiles[2].caption = "one\ntwo\nthree";
    assert_int_equal(bang_overlay_size(&three, &width, &of, &err), 0);
    assert_true(three > two);
    assert_int_equal(bang_overlay_draw(&sheet, &of, &err), 0);
    size_t line = three - two, drawn = 0;
    for (size_t y = top + EDGE + 2 * line; y < top + EDGE + 3 * line; y++)
        for (size_t x = 0; x < EDGE; x++)
            drawn += brightness(at(&sheet, third + x, y)) < 150000;
    assert_true(drawn > 20);
    bang_array_release(&sheet);
}

/* Large pictures are reduced, grey ones are grey, maps as fine as the picture are shown to what
 * 99 of 100 values lie below. */
static void test_large(void **state)
{
    (void)state;
    enum { SIZE = 300, COUNT = SIZE * SIZE };
    size_t height, width;
    bang_error err = {0};
    bang_array sheet;
    uint8_t *picture = calloc(COUNT, 1);
    double *map = calloc(COUNT, sizeof *map);
    assert_true(picture && map);
    memset(picture, 60, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        map[i] = 1;
    map[0] = 1e6; /* one wild value does not darken the rest */
    bang_overlay_tile tiles[2] = {{.picture = picture},
                                  {.picture = picture, .map = map, .side = SIZE}};
    bang_overlay_sheet of = {1, 2, SIZE, 1, tiles, NULL};
    assert_int_equal(bang_overlay_draw(&sheet, &of, &err), 0);
    assert_int_equal(sheet.shape[1], GAP + 2 * (SIZE / 2 + GAP));
    assert_int_equal(bang_overlay_size(&height, &width, &of, &err), 0);
    assert_int_equal(height, sheet.shape[0]);
    assert_int_equal(width, sheet.shape[1]);
    assert_memory_equal(at(&sheet, GAP + 70, GAP + 70), ((uint8_t[]){60, 60, 60}), 3);
    assert_true(brightness(at(&sheet, GAP + 150 + GAP + 70, GAP + 70)) > 140000);
    bang_array_release(&sheet);
    of.rows = 1000; /* too tall for a picture */
    bang_overlay_tile *many = calloc(2000, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < 2000; i++)
        many[i] = tiles[0];
    of.tiles = many;
    assert_int_equal(bang_overlay_draw(&sheet, &of, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "fewer"));
    err = (bang_error){0};
    assert_int_equal(bang_overlay_size(&height, &width, &of, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "fewer"));
    of.rows = 0;
    assert_int_equal(bang_overlay_draw(&sheet, &of, &err), BANG_EUSAGE);
    of = (bang_overlay_sheet){1, 2, SIZE, 1, tiles, NULL};
    tiles[1].side = 0;
    assert_int_equal(bang_overlay_draw(&sheet, &of, &err), BANG_EUSAGE);
    free(many), free(picture), free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colors),
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_sheet),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
