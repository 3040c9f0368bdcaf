/* The paper's tables on coloured digits, as printed (per cent). What stands
 * behind its +- is a standard error over 20 seeds in the tables of two networks on
 * MultiColorMNIST and a standard deviation in those on SingleColorMNIST: only so
 * do they agree with the spread of networks. In its table of ensemble sizes on
 * MultiColorMNIST it fits a standard error over about five.
 */
#include <math.h>

#include "lab/color.h"

#define ROWS(...)                                                                                  \
    (const color_printed[])                                                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const color_paper color_paper_multi = {
    .spread_is_error = 1,
    .rows = 11,
    .model1 = ROWS({.1, 100.00, 0.00}, {.2, 99.99, 0.00}, {.3, 99.91, 0.01}, {.4, 99.16, 0.11},
                   {.5, 95.84, 0.35}, {.6, 87.15, 0.74}, {.7, 71.05, 1.04}, {.75, 60.07, 1.04},
                   {.8, 48.57, 0.92}, {.85, 36.93, 0.70}, {.9, 26.01, 0.45}),
    .model2 = ROWS({.1, 100.00, 0.00}, {.2, 99.99, 0.00}, {.3, 99.89, 0.04}, {.4, 99.19, 0.13},
                   {.5, 96.06, 0.35}, {.6, 87.56, 0.69}, {.7, 71.77, 0.94}, {.75, 60.75, 0.91},
                   {.8, 49.26, 0.83}, {.85, 37.74, 0.66}, {.9, 26.63, 0.42}),
    .ensemble = ROWS({.1, 100.00, 0.00}, {.2, 100.00, 0.00}, {.3, 99.99, 0.01}, {.4, 99.75, 0.03},
                     {.5, 98.13, 0.14}, {.6, 92.31, 0.41}, {.7, 78.64, 0.73}, {.75, 67.61, 0.80},
                     {.8, 55.25, 0.75}, {.85, 42.34, 0.64}, {.9, 29.28, 0.40}),
    .size_rows = 5,
    .sizes =
        {
            ROWS({.7, 71.66, 2.06}, {.75, 60.68, 2.23}, {.8, 49.33, 2.02}, {.85, 37.74, 1.58},
                 {.9, 26.74, 1.05}),
            ROWS({.7, 78.88, 1.24}, {.75, 68.34, 0.89}, {.8, 55.96, 0.77}, {.85, 42.91, 0.64},
                 {.9, 29.89, 0.63}),
            ROWS({.7, 84.39, 1.33}, {.75, 74.00, 1.26}, {.8, 62.04, 1.32}, {.85, 47.92, 1.17},
                 {.9, 32.74, 0.75}),
            ROWS({.7, 85.64, 1.22}, {.75, 75.73, 1.62}, {.8, 63.52, 1.61}, {.85, 49.15, 1.23},
                 {.9, 33.67, 0.93}),
            ROWS({.7, 86.76, 0.55}, {.75, 77.31, 0.87}, {.8, 64.85, 1.09}, {.85, 50.63, 0.69},
                 {.9, 34.47, 0.40}),
        },
};

const color_paper color_paper_single = {
    .spread_is_error = 0,
    .rows = 9,
    .model1 = ROWS({.1, 91.04, 0.03}, {.2, 82.34, 0.02}, {.3, 72.93, 0.08}, {.4, 64.08, 0.09},
                   {.5, 54.89, 0.12}, {.6, 45.91, 0.16}, {.7, 37.39, 0.15}, {.8, 27.86, 0.19},
                   {.9, 19.28, 0.18}),
    .model2 = ROWS({.1, 91.07, 0.05}, {.2, 82.39, 0.07}, {.3, 72.99, 0.10}, {.4, 64.21, 0.19},
                   {.5, 54.99, 0.18}, {.6, 46.09, 0.31}, {.7, 37.55, 0.27}, {.8, 28.06, 0.32},
                   {.9, 19.50, 0.34}),
    .ensemble = ROWS({.1, 91.04, 0.04}, {.2, 82.34, 0.04}, {.3, 72.93, 0.09}, {.4, 64.10, 0.11},
                     {.5, 54.88, 0.14}, {.6, 45.92, 0.19}, {.7, 37.39, 0.17}, {.8, 27.87, 0.22},
                     {.9, 19.29, 0.20}),
    .size_rows = 5,
    .sizes =
        {
            ROWS({.7, 37.40, 0.11}, {.75, 32.64, 0.11}, {.8, 27.90, 0.14}, {.85, 23.32, 0.14},
                 {.9, 19.32, 0.14}),
            ROWS({.7, 37.32, 0.03}, {.75, 32.54, 0.05}, {.8, 27.78, 0.04}, {.85, 23.20, 0.04},
                 {.9, 19.18, 0.05}),
            ROWS({.7, 37.35, 0.09}, {.75, 32.57, 0.12}, {.8, 27.81, 0.13}, {.85, 23.22, 0.11},
                 {.9, 19.23, 0.12}),
            ROWS({.7, 37.30, 0.01}, {.75, 32.50, 0.01}, {.8, 27.74, 0.02}, {.85, 23.16, 0.02},
                 {.9, 19.16, 0.00}),
            ROWS({.7, 37.35, 0.08}, {.75, 32.56, 0.09}, {.8, 27.82, 0.12}, {.85, 23.22, 0.10},
                 {.9, 19.24, 0.11}),
        },
};

size_t color_shift_index(double p)
{
    size_t best = 0;
    for (size_t i = 0; i < COLOR_SHIFTS; i++)
        if (fabs(color_shifts[i] - p) < fabs(color_shifts[best] - p))
            best = i;
    return best;
}

/* The paper's tables come from one draw of 10,000 test images: what 20 networks
 * share by it is part of its error and not of what it prints. */
double color_distance(const color_column *column, const color_printed *printed,
                      const color_paper *paper)
{
    enum { SEEDS = 20, IMAGES = 10000 };
    size_t i = color_shift_index(printed->p);
    double a = printed->mean / 100, spread = printed->spread / 100;
    double error = paper->spread_is_error ? spread : spread / sqrt(SEEDS);
    double rounding = 0.005 / 100 / sqrt(3); /* of the last printed digit */
    double all = sqrt(column->error[i] * column->error[i] + error * error + rounding * rounding +
                      a * (1 - a) / IMAGES);
    return (column->mean[i] - a) / all;
}
