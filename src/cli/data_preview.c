/* bang data preview */
#include <stdio.h>
#include <stdlib.h>

#include "bang/data/sheet.h"
#include "bang/store/png.h"
#include "data.h"

static int preview(const cli *c, const char *output)
{
    bang_error err = {0};
    bang_array sheet = {0};
    size_t count = c->operand_count, opened = 0;
    bang_dataset *sets = calloc(count, sizeof *sets);
    size_t(*sizes)[2] = calloc(count, sizeof *sizes); /* images, classes */
    int rc = sets && sizes ? 0 : bang_fail_memory(&err);
    for (; opened < count && rc == 0; opened++)
        rc = bang_sheet_open(&sets[opened], &sizes[opened][0], &sizes[opened][1],
                             c->operands[opened], &err);
    if (rc == 0)
        rc = bang_sheet_make(&sheet, sets, c->operands, count, &err);
    if (rc == 0)
        rc = bang_png_write(output, sheet.data, sheet.shape[1], sheet.shape[0], 3, &err);
    int status = rc < 0 ? cli_fail(c, &err) : CLI_DONE;
    if (rc == 0 && c->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, json_pack("{ss sI sI}", "source", c->operands[i], "count",
                                                  (json_int_t)sizes[i][0], "classes",
                                                  (json_int_t)sizes[i][1]));
        status = cli_print_json(c, json_pack("{ss sI sI so}", "output", output, "width",
                                             (json_int_t)sheet.shape[1], "height",
                                             (json_int_t)sheet.shape[0], "sets", list));
    }
    if (rc == 0 && !c->json && !c->quiet) {
        cli_print_clean(output);
        putchar('\n');
    }
    bang_array_release(&sheet);
    for (size_t i = 0; i < opened; i++)
        bang_dataset_release(&sets[i]);
    free(sizes);
    free(sets);
    return status;
}

int data_preview(int argc, char **argv)
{
    static const char summary[] =
        "Draws the first eight images of each class (of ten classes at most), a row a class,\n"
        "several data sets below each other. DATA is a folder of class folders with pictures\n"
        "(JPEG, PNG, WebP), a CSV with the columns path and label, a folder with images.npy\n"
        "and, if there are labels, labels.npy, or a name as bang data list shows them.";
    const char *output = NULL;
    cli_option options[] = {
        {"output", 'o', "FILE", "where to write the PNG", cli_read_text, &output},
        {0},
    };
    cli c;
    if (cli_init(&c, "data preview", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    if (c.help) {
        cli_print_help("data preview", "DATA... -o FILE.png", summary, options,
                       "  bang data preview train shifted -o both.png\n"
                       "  bang data preview multicolor:split=test,p=0.8 -o shifted.png\n"
                       "  bang data preview imagenet/val -o val.png\n");
        cli_release(&c);
        return CLI_DONE;
    }
    if (c.operand_count == 0)
        cli_problem(&c, "no data named: name a folder, a CSV or a data set");
    if (!output)
        cli_problem(&c, "--output: missing: say where to write with -o FILE.png");
    else
        cli_check_output(&c, output, ".png");
    int status = cli_usage_failed(&c) ? CLI_USAGE : preview(&c, output);
    cli_release(&c);
    return status;
}
