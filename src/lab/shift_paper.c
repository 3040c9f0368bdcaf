/* The paper's tables on CLIP ViT-B/16, fine-tuned on ImageNet, as printed (per cent). Table 2 says
 * label smoothing .10, but its rows with Mixup + LS are those of .15 (fine-tuned) and .05
 * (averaged) in table 9.
 */
#include <stdio.h>
#include <string.h>

#include "lab/shift_show.h"

#define ZERO_SHOT                                                                                  \
    {                                                                                              \
        "pre", 0, "PM: zero-shot",                                                                 \
        {                                                                                          \
            68.3, 61.9, 77.6, 49.8, 48.2, 53.0, 58.1                                               \
        }                                                                                          \
    }
#define FINE_TUNED                                                                                 \
    {                                                                                              \
        "vanilla", 0, "FM: fine-tuning",                                                           \
        {                                                                                          \
            81.3, 70.9, 65.6, 36.7, 46.3, 49.6, 53.8                                               \
        }                                                                                          \
    }
#define WISE_FT                                                                                    \
    {                                                                                              \
        "vanilla", 1, "WiSE-FT",                                                                   \
        {                                                                                          \
            81.7, 72.8, 78.7, 52.2, 53.9, 57.3, 63.0                                               \
        }                                                                                          \
    }

/* Table 2. */
const shift_row shift_rows_main[] = {
    ZERO_SHOT,
    FINE_TUNED,
    {"ls-10", 0, "FM (LS)", {82.0, 72.3, 63.3, 38.3, 46.5, 51.1, 54.3}},
    {"mixup", 0, "FM (Mixup)", {83.0, 72.7, 66.4, 43.7, 48.8, 52.4, 56.8}},
    {"mixup-ls-10", 0, "FM (Mixup + LS)", {82.9, 72.7, 65.8, 43.6, 48.5, 52.2, 56.6}},
    WISE_FT,
    {"ls-10", 1, "BANG (LS)", {82.1, 73.3, 78.2, 55.2, 53.7, 58.9, 63.9}},
    {"mixup", 1, "BANG (Mixup)", {81.5, 73.0, 79.5, 57.9, 54.5, 58.7, 64.7}},
    {"mixup-ls-10", 1, "BANG (Mixup + LS)", {81.6, 73.1, 79.7, 58.2, 54.8, 58.9, 64.9}},
};
const size_t shift_rows_main_count = sizeof shift_rows_main / sizeof *shift_rows_main;

/* Table 8; WiSE-FT is of table 2. */
const shift_row shift_rows_augment[] = {
    ZERO_SHOT,
    FINE_TUNED,
    {"flip", 0, "FM (Flip)", {81.3, 70.5, 63.1, 36.8, 44.6, 51.4, 53.3}},
    {"rotate", 0, "FM (Rotate)", {81.4, 70.7, 65.2, 35.6, 45.3, 49.5, 53.3}},
    {"color", 0, "FM (Color)", {81.4, 71.5, 65.3, 37.3, 46.7, 50.4, 54.2}},
    {"mixup", 0, "FM (Mixup)", {83.0, 72.7, 66.4, 43.7, 48.8, 52.4, 56.8}},
    WISE_FT,
    {"flip", 1, "Average (Flip)", {81.8, 72.7, 78.2, 52.9, 53.6, 58.4, 63.1}},
    {"rotate", 1, "Average (Rotate)", {81.7, 72.8, 78.8, 52.7, 53.7, 57.3, 63.1}},
    {"color", 1, "Average (Color)", {81.7, 72.9, 78.5, 53.2, 54.2, 58.2, 63.4}},
    {"mixup", 1, "Average (Mixup)", {81.5, 73.0, 79.5, 57.9, 54.5, 58.7, 64.7}},
};
const size_t shift_rows_augment_count = sizeof shift_rows_augment / sizeof *shift_rows_augment;

/* Table 9. */
const shift_row shift_rows_strength[] = {
    ZERO_SHOT,
    FINE_TUNED,
    {"ls-05", 0, "FM (LS 0.05)", {82.0, 71.5, 62.8, 37.7, 45.5, 50.6, 53.6}},
    {"ls-10", 0, "FM (LS 0.10)", {82.0, 72.3, 63.3, 38.3, 46.5, 51.1, 54.3}},
    {"ls-15", 0, "FM (LS 0.15)", {82.1, 72.1, 63.3, 38.0, 46.6, 50.7, 54.1}},
    {"ls-20", 0, "FM (LS 0.20)", {82.1, 72.1, 62.8, 36.9, 46.2, 50.5, 53.7}},
    {"mixup", 0, "FM (Mixup)", {83.0, 72.7, 66.4, 43.7, 48.8, 52.4, 56.8}},
    {"mixup-ls-05", 0, "FM (Mixup + LS 0.05)", {83.0, 73.2, 65.9, 43.9, 48.5, 52.3, 56.7}},
    {"mixup-ls-10", 0, "FM (Mixup + LS 0.10)", {82.7, 73.0, 66.4, 43.3, 48.6, 52.4, 56.8}},
    {"mixup-ls-15", 0, "FM (Mixup + LS 0.15)", {82.9, 72.7, 65.8, 43.6, 48.5, 52.2, 56.6}},
    {"mixup-ls-20", 0, "FM (Mixup + LS 0.20)", {82.9, 73.2, 66.4, 44.6, 48.5, 52.4, 57.0}},
    WISE_FT,
    {"ls-05", 1, "BANG (LS 0.05)", {82.2, 73.0, 78.1, 54.7, 53.8, 58.3, 63.6}},
    {"ls-10", 1, "BANG (LS 0.10)", {82.1, 73.3, 78.2, 55.2, 53.7, 58.9, 63.9}},
    {"ls-15", 1, "BANG (LS 0.15)", {82.0, 73.2, 78.1, 55.0, 53.4, 58.9, 63.7}},
    {"ls-20", 1, "BANG (LS 0.20)", {81.7, 73.1, 77.9, 54.2, 53.6, 58.6, 63.4}},
    {"mixup", 1, "BANG (Mixup)", {81.5, 73.0, 79.5, 57.9, 54.5, 58.7, 64.7}},
    {"mixup-ls-05", 1, "BANG (Mixup + LS 0.05)", {81.6, 73.1, 79.7, 58.2, 54.8, 58.9, 64.9}},
    {"mixup-ls-10", 1, "BANG (Mixup + LS 0.10)", {81.5, 73.0, 79.8, 57.9, 54.8, 59.0, 64.9}},
    {"mixup-ls-15", 1, "BANG (Mixup + LS 0.15)", {81.7, 72.9, 79.6, 57.7, 54.6, 59.1, 64.8}},
    {"mixup-ls-20", 1, "BANG (Mixup + LS 0.20)", {81.6, 73.1, 79.9, 57.8, 54.8, 59.0, 64.9}},
};
const size_t shift_rows_strength_count = sizeof shift_rows_strength / sizeof *shift_rows_strength;

/* Tables 10 and 11. */
const double shift_paper_rescaled[4] = {63.0, 63.0, 64.1, 64.9};
const double shift_paper_corrected[2] = {10.6, 13.4};

void shift_row_member(char *out, size_t size, const shift_row *row, const char *prefix)
{
    if (strcmp(row->method, "pre") == 0)
        snprintf(out, size, "pre");
    else
        snprintf(out, size, "%s%s/%s", prefix, row->method, row->average ? "avg" : "fine");
}
