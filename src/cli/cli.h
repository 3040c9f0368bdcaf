/* What the commands share: options, messages, progress. Only this folder talks
 * to a terminal.
 *
 * A command describes its options in a table, reads its arguments with
 * cli_parse, checks what they mean and says every problem with cli_problem;
 * cli_usage_failed then ends it before any work:
 *
 *     if (cli_usage_failed(cli)) return CLI_USAGE;
 *
 * What the command line alone tells ends with CLI_USAGE; what only files tell, such as a model
 * and data that do not fit together, is collected in the same way and ends with CLI_FAILED.
 */
#ifndef BANG_CLI_H
#define BANG_CLI_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "bang/base/error.h"
#include "bang/base/json.h"
#include "bang/base/progress.h"
#include "bang/base/rank.h"
#include "bang/base/text.h"
#include "bang/base/thread.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* Reads the argument of an option; NULL value for a flag. On failure err says
 * why the value is wrong and what would be right. */
typedef int (*cli_reader)(void *target, const char *value, bang_error *err);

typedef struct cli_option {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* short form, or 0 */
    const char *argument; /* what help calls it; NULL for a flag */
    const char *help;
    cli_reader read;
    void *target;
} cli_option;

typedef struct cli {
    const char *command;
    bang_text problems; /* one line each */
    int starved;        /* memory was out while options were read */
    int json, quiet, help;
    int64_t seed, threads; /* threads: of this process */
    bang_ranks *ranks;     /* NULL: this process is alone; borrowed */
    const char **operands; /* (operand_count) what is no option, borrowed */
    size_t operand_count;
    int argc;
    char **argv; /* (argc) as typed, borrowed */
} cli;

/* Under mpirun a command is run by every rank. main opens the ranks before it and closes them after
 * it. Rank 0 alone has a standard output, and all but rank 0 are quiet; a failure is printed once,
 * by cli_fail, whichever rank it happened on. shared is 0 for a command that knows nothing of
 * ranks: its rank 0 works, the others wait for it to end. Both return an exit status. */
int cli_ranks_open(const char *command, int shared);
int cli_ranks_close(int status);
/* Those that share the work of this command; NULL: there are none. */
bang_ranks *cli_ranks(void);
/* What ranks mean for options that were read: threads that are not given, a remark. */
void cli_ranks_note(cli *c);
/* Agrees with the other ranks on what went wrong: *err becomes that. 1 if this process is the one
 * to say so. */
int cli_agree(bang_error *err);
/* 1 if this process is the one that talks to people. */
int cli_speaks(void);

/* Every command has these; they follow its own in help. */
int cli_init(cli *c, const char *command, int argc);
void cli_release(cli *c);

int cli_read_flag(void *target, const char *value, bang_error *err);  /* int */
int cli_read_text(void *target, const char *value, bang_error *err);  /* const char * */
int cli_read_real(void *target, const char *value, bang_error *err);  /* double */
int cli_read_whole(void *target, const char *value, bang_error *err); /* int64_t */
int cli_read_bytes(void *target, const char *value, bang_error *err); /* uint64_t; 64M, 1.5G */

/* Numbers separated by commas into out, (most); how many, or -1 if text is no such list. */
int cli_numbers(double *out, int most, const char *text);

/* name with every {alpha} replaced by the text of one; the caller frees it. NULL when memory is
 * out. */
char *cli_with_alpha(const char *name, const char *alpha);

/* Reads argv[first..]; problems are collected, never printed here. */
void cli_parse(cli *c, const cli_option *own, int argc, char **argv, int first);

/* What was typed, as a shell reads it again: "bang train --data 'my photos' ...". */
void cli_add_command(bang_text *out, const cli *c);

/* "what: why: what to do" */
void cli_problem(cli *c, const char *format, ...) BANG_PRINTF(2, 3);

/* An output file that is named for another format is a problem. */
void cli_check_output(cli *c, const char *path, const char *end);

/* Memory is out before the work: it fails, and not for its usage. */
void cli_starve(cli *c);
/* A problem was told that is no wrong usage: the system refused something. */
void cli_refuse(void);
/* The exit status of the process, given that of a command. */
int cli_final_status(int status);

/* Prints the collected problems; 1 if there were any. */
int cli_usage_failed(cli *c);

/* Prints one failure of the work and returns the exit status it deserves. */
int cli_fail(const cli *c, const bang_error *err);
int cli_status(int code); /* of an error */

void cli_print_help(const char *command, const char *operands, const char *summary,
                    const cli_option *options, const char *example);

/* Prints value as one line and drops the reference. Returns an exit status. */
int cli_print_json(const cli *c, json_t *value);

/* A bar on stderr, if that is a terminal, not a dumb one, and --quiet is not given. finish
 * removes it. */
typedef struct cli_bar {
    bang_progress progress;
    const char *label;
    double begin, last;
    int active;
    int bytes;        /* what is counted: the bar shows MB and GB/s */
    uint64_t from;    /* done before it began, by a run that this one goes on with */
    char text[2][96]; /* labels that cli_bar_say gave it, in turn: one may be drawn meanwhile */
    atomic_int said;  /* which of them, from 1 on; 0: label */
} cli_bar;
void cli_bar_start(cli_bar *bar, const cli *c, const char *label);
/* Another label from now on. */
void cli_bar_say(cli_bar *bar, const char *what);
void cli_bar_finish(cli_bar *bar);

/* Columns of standard output; 80 where it is no terminal. */
int cli_columns(void);
/* 1 if the locale of the environment is one of UTF-8. */
int cli_is_utf8(void);

/* Names come from files: what could steer a terminal is printed as '?', and so is what is no
 * UTF-8. */
void cli_print_clean(const char *s);
/* The same for lines, to stdout or stderr. */
void cli_put_clean(FILE *to, const char *lines);
/* A remark on stderr, clean. */
void cli_say(const char *format, ...) BANG_PRINTF(1, 2);
/* The same in so many columns: a long name loses its beginning, which tells less than its end. */
void cli_print_name(const char *name, size_t width);
/* Characters of UTF-8. */
size_t cli_characters(const char *s);

/* Of a clock that only goes forward. */
double cli_seconds(void);

/* From the start: until there is something to stop or to clear up, SIGINT and SIGTERM end the
 * process with a word and the status of an interruption. */
void cli_catch(void);
/* Raised by SIGINT and SIGTERM; a second signal ends the process at once, as a rank only SIGINT
 * does. */
bang_cancel *cli_cancel(void);

/* The commands: cmd_NAME.c each. Return an exit status. */
int cmd_theory(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_reproduce(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_zeroshot(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_average(int argc, char **argv);
int cmd_diagnose(int argc, char **argv);

#endif
