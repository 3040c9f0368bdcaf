#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"theory", "predict the accuracy of models and their ensembles, exactly", cmd_theory},
    {"simulate", "draw the theory's data, fit models, measure, compare", cmd_simulate},
    {"data", "get, make and show data sets: MNIST, MultiColorMNIST", cmd_data},
    {"train", "train a network on a data set", cmd_train},
    {"zeroshot", "a classification head from class names, by a CLIP's text tower", cmd_zeroshot},
    {"predict", "run networks over a data set: outputs, accuracy, ensembles", cmd_predict},
    {"average", "combine checkpoints of any architecture into a more robust one", cmd_average},
    {"diagnose", "why an average helps, from logits: groups, calibration, margins, intervals",
     cmd_diagnose},
    {"diff", "how far two checkpoints are apart, layer by layer", cmd_diff},
    {"inspect", "what a checkpoint holds: layout, tensors, statistics", cmd_inspect},
    {"convert", "a checkpoint in another layout, number type or format", cmd_convert},
    {"explain", "which parts of an image networks use", cmd_explain},
    {"reproduce", "the paper's tables and figures, measured beside printed", cmd_reproduce},
    {"report", "an HTML report from the records of a run", cmd_report},
};
static const size_t command_count = sizeof commands / sizeof *commands;

static void print_help(void)
{
    puts("Usage: bang COMMAND [options]\n\n"
         "Makes fine-tuned models hold up out of distribution, and says why.\n\n"
         "Commands:");
    for (size_t i = 0; i < command_count; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].summary);
    puts("\nbang COMMAND --help tells more. Exit status: 0 done, 1 the work failed,\n"
         "2 wrong usage, 130 interrupted.");
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help();
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("bang " BANG_VERSION);
        return CLI_DONE;
    }
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc, argv);
    fprintf(stderr, "bang: %.80s: no such command: see bang --help\n", argv[1]);
    return CLI_USAGE;
}

/* Output that did not reach its file is a failure, also when only the last
 * bytes are missing. */
int main(int argc, char **argv)
{
    /* A limit on the size of files is then an error of writing like any other. */
    signal(SIGXFSZ, SIG_IGN);
    bang_memory_watch();
    cli_catch();
    int status = cli_status(run(argc, argv));
    if ((fflush(stdout) == EOF || ferror(stdout)) && status == CLI_DONE) {
        fprintf(stderr, "bang: standard output: cannot be written: is the disk full?\n");
        return CLI_FAILED;
    }
    return status;
}
