#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
    int shared; /* its work is split over ranks */
} commands[] = {
    {"theory", "predict the accuracy of models and their ensembles, exactly", cmd_theory, 0},
    {"simulate", "draw the theory's data, fit models, measure, compare", cmd_simulate, 1},
    {"data", "get, make and show data sets: MNIST, colours, shifts", cmd_data, 0},
    {"train", "train a network on a data set", cmd_train, 1},
    {"zeroshot", "a classification head from class names, by a CLIP's text tower", cmd_zeroshot, 0},
    {"predict", "run networks over a data set: outputs, accuracy, ensembles", cmd_predict, 1},
    {"average", "combine checkpoints of any architecture into a more robust one", cmd_average, 0},
    {"diagnose", "why an average helps, from logits: groups, calibration, margins, intervals",
     cmd_diagnose, 0},
    {"diff", "how far two checkpoints are apart, layer by layer", cmd_diff, 0},
    {"inspect", "what a checkpoint holds: layout, tensors, statistics", cmd_inspect, 0},
    {"convert", "a checkpoint in another layout, number type or format", cmd_convert, 0},
    {"explain", "which parts of an image networks use", cmd_explain, 0},
    {"reproduce", "the paper's tables and figures, measured beside printed", cmd_reproduce, 1},
    {"report", "an HTML report from the records of a run", cmd_report, 0},
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
         "2 wrong usage, 130 interrupted (SIGINT, SIGTERM).");
}

static size_t find(const char *name)
{
    size_t i = 0;
    while (i < command_count && strcmp(name, commands[i].name) != 0)
        i++;
    return i;
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
    const size_t i = find(argv[1]);
    if (i < command_count)
        return commands[i].run(argc, argv);
    if (cli_speaks())
        fprintf(stderr, "bang: %.80s: no such command: see bang --help\n", argv[1]);
    return CLI_USAGE;
}

/* Where standard input or an output is closed, the next file that is opened would take its number,
 * and get what is meant for it. What takes the number instead can be neither read from there nor
 * written to. */
static int fill_standard(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 &&
            open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY) != i)
            return -1;
    return 0;
}

/* Who reads a pipe and goes has seen enough, and wants to hear nothing of it. */
static int reader_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && output.revents & POLLERR;
}

/* Output that did not reach its file is a failure, also when only the last
 * bytes are missing. */
int main(int argc, char **argv)
{
    if (fill_standard() < 0)
        return CLI_FAILED;
    /* A limit on the size of files, or a reader that has gone, is then an error of writing like
     * any other. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    bang_memory_watch();
    cli_catch();
    const size_t command = argc > 1 ? find(argv[1]) : command_count;
    const int shared = command < command_count && commands[command].shared;
    int status = cli_ranks_open(argc > 1 ? argv[1] : NULL, shared);
    if (status == CLI_DONE && (shared || cli_speaks()))
        status = cli_final_status(run(argc, argv));
    if ((fflush(stdout) == EOF || ferror(stdout)) && status == CLI_DONE) {
        if (!reader_gone())
            fprintf(stderr, "bang: standard output: cannot be written: is the disk full?\n");
        status = CLI_FAILED;
    }
    return cli_ranks_close(status);
}
