/* `bang explain` in parts: what is asked for (cmd_explain.c), cells made black
 * (explain_occlusion.c), and maps of transformers: which pictures (explain_choose.c), the work
 * (explain_maps.c), what is said about it (explain_print.c), a sheet and a page
 * (explain_sheet.c, explain_page.c). */
#ifndef BANG_CLI_EXPLAIN_H
#define BANG_CLI_EXPLAIN_H

#include "bang/explain/saliency.h"
#include "predict.h"

typedef struct explain_request {
    predict_request from; /* models, data, how pictures are read */
    /* as typed */
    const char *grid, *class_text, *samples, *group, *by, *output, *html;
    int64_t count, rows; /* 0: not given */
    /* after the check */
    int occlusion;           /* or maps of this kind */
    bang_saliency_kind kind; /* of maps */
    const char *method;      /* "gradcam", as typed */
    const char *title;       /* "Grad-CAM" */
    size_t usual;            /* pictures, if nobody says how many */
    int csv;                 /* the output is */
    size_t grid_rows, grid_columns;
} explain_request;

/* Returns an exit status. */
int explain_occlusion(cli *c, explain_request *r);
int explain_maps(cli *c, explain_request *r);

/* Samples of the set, which the caller frees. */
typedef struct explain_choice {
    size_t count;
    uint32_t *index; /* (count) */
    size_t of;       /* how many there were to choose from */
} explain_choice;

/* Says through c what is wrong with how pictures are chosen, before and after data are there. */
void explain_choice_check(cli *c, const explain_request *r);
void explain_choice_fit(cli *c, const explain_request *r);
/* By class in turn where labels are known. With a group, all models look at all pictures first. */
/* 1 if that is how. */
int explain_by_class(const explain_request *r);
int explain_choose(explain_choice *out, cli *c, const explain_request *r, bang_error *err);

/* One model's maps. */
typedef struct explain_member {
    size_t side, cells;             /* edges of a map, and of the grid of patches */
    double *maps;                   /* (shown, side, side) */
    double *patches;                /* (count, cells, cells) means over patches */
    size_t *explained, *predicted;  /* (count) outputs */
    double *confidence, *effective; /* (count): of the prediction; patches in use, NaN: none */
} explain_member;

typedef struct explain_result {
    const explain_request *request;
    const cli *cli;
    explain_choice choice;
    size_t count;   /* pictures that could be read */
    size_t skipped; /* that could not */
    size_t shown;   /* the first so many are on the sheet */
    size_t size, channels;
    uint8_t *pictures; /* (shown, size, size, channels) as the first model reads them */
    size_t model_count;
    explain_member *members; /* (model_count) */
    char (*names)[64];       /* (model_count) short, for headings */
    bang_text bad;           /* a line per picture that was left out */
} explain_result;

/* What maps of two models have in common: means over pictures, NaN where it is not known. */
typedef struct explain_pair {
    double correlation, overlap;
    size_t pictures; /* of which neither map is zero */
} explain_pair;
explain_pair explain_compare(const explain_result *result, size_t a, size_t b);
/* Mean over pictures of what is known; error: its standard error, or NULL. */
double explain_mean(const double *values, size_t count, double *error);
/* Maps of the model that are zero: nothing in the picture speaks for the class. */
int explain_is_zero(const explain_result *result, size_t member, size_t picture);
size_t explain_zeros(const explain_result *result, size_t member);
/* -1: not known; 0 or 1. */
int explain_is_right(const explain_result *result, size_t member, size_t picture);
int64_t explain_label(const explain_result *result, size_t picture);
/* What an output is called, also by the data where their classes are the outputs in order; NULL:
 * it has no name. */
const char *explain_class_name(const predict_request *p, size_t class);
/* "dog", or "class 3"; UTF-8, as all that follow. */
void explain_class(char *out, size_t size, const explain_result *result, int64_t class);
/* The name of the file without its folder, or "picture 12". */
void explain_name(char *out, size_t size, const explain_result *result, size_t picture);
/* What is explained: "the class that each predicts"; NULL: no class. */
const char *explain_what(const explain_request *r);

/* rows, if there are so many; else it is released and NULL: one was out of memory. */
json_t *explain_rows(json_t *rows, size_t count);
int explain_write_csv(const explain_result *result, bang_error *err);
/* The caller releases out. */
/* Before the work: can the sheet of so many pictures and models be drawn? */
int explain_sheet_fits(const explain_result *result, bang_error *err);
int explain_draw(bang_array *out, const explain_result *result, bang_error *err);
int explain_write_page(const explain_result *result, bang_error *err);
/* Returns an exit status. */
int explain_print(const cli *c, const explain_result *result);

#endif
