/* Heat maps: order of colours, place of cells. */
#include "testing.h"

#include <math.h>

#include "bang/explain/heat.h"

static int brightness(const uint8_t rgb[3])
{
    return 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2];
}

static void test_colors(void **state)
{
    (void)state;
    uint8_t before[3], now[3];
    bang_heat_color(before, 0, 10);
    for (int i = 1; i <= 100; i++) { /* more is darker, everywhere */
        bang_heat_color(now, i, 100);
        assert_true(brightness(now) < brightness(before));
        memcpy(before, now, sizeof now);
    }
    bang_heat_color(now, 1e300, 1); /* beyond the scale: its end */
    assert_memory_equal(now, before, 3);
    bang_heat_color(before, 0, 1);
    const double nothing[] = {-1, NAN, -INFINITY};
    for (int i = 0; i < 3; i++) {
        bang_heat_color(now, nothing[i], 1);
        assert_memory_equal(now, before, 3);
    }
    bang_heat_color(now, 0, 0);
    assert_memory_equal(now, before, 3);
}

/* The pixel in the middle of a cell has its colour; around it is white. */
static void test_places(void **state)
{
    enum { MAPS = 3, ROWS = 2, COLUMNS = 5, PITCH = BANG_HEAT_CELL + BANG_HEAT_GAP };
    (void)state;
    double amount[MAPS * ROWS * COLUMNS];
    bang_array out;
    bang_error err = {0};
    for (int i = 0; i < MAPS * ROWS * COLUMNS; i++)
        amount[i] = (i * 7) % 30;
    assert_int_equal(bang_heat_draw(&out, amount, MAPS, ROWS, COLUMNS, &err), 0);
    size_t span = COLUMNS * PITCH - BANG_HEAT_GAP + BANG_HEAT_MARGIN;
    assert_int_equal(out.rank, 3);
    assert_int_equal(out.shape[0], ROWS * PITCH - BANG_HEAT_GAP + 2 * BANG_HEAT_MARGIN);
    assert_int_equal(out.shape[1], MAPS * span + BANG_HEAT_MARGIN);
    assert_int_equal(out.shape[2], 3);
    const uint8_t *pixels = out.data;
    size_t painted = 0;
    for (size_t i = 0; i < out.count; i += 3)
        painted += pixels[i] != 255 || pixels[i + 1] != 255 || pixels[i + 2] != 255;
    assert_int_equal(painted, MAPS * ROWS * COLUMNS * BANG_HEAT_CELL * BANG_HEAT_CELL);
    for (size_t m = 0; m < MAPS; m++)
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < COLUMNS; c++) {
                uint8_t rgb[3];
                size_t y = BANG_HEAT_MARGIN + r * PITCH,
                       x = BANG_HEAT_MARGIN + m * span + c * PITCH;
                bang_heat_color(rgb, amount[(m * ROWS + r) * COLUMNS + c], 29);
                assert_memory_equal(pixels + 3 * (y * out.shape[1] + x), rgb, 3);
                y += BANG_HEAT_CELL - 1;
                x += BANG_HEAT_CELL - 1;
                assert_memory_equal(pixels + 3 * (y * out.shape[1] + x), rgb, 3);
            }
    bang_array_release(&out);
}

static void test_refuses(void **state)
{
    (void)state;
    const double amount[1] = {0};
    const size_t bad[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {1, 4097, 1}, {1, 1, SIZE_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bang_array out;
        bang_error err = {0};
        assert_int_equal(bang_heat_draw(&out, amount, bad[i][0], bad[i][1], bad[i][2], &err),
                         BANG_EUSAGE);
        assert_null(out.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colors),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
