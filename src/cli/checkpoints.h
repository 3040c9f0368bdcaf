/* What average, inspect, diff and convert share: checkpoints named on the
 * command line, folders of them, and amounts of bytes for people. */
#ifndef BANG_CLI_CHECKPOINTS_H
#define BANG_CLI_CHECKPOINTS_H

#include "bang/store/checkpoint.h"
#include "bang/store/output.h"
#include "cli.h"

/* A list that an option or operands fill, in order. */
typedef struct checkpoints {
    size_t count;
    const char **paths;      /* (count) as typed */
    bang_checkpoint **items; /* (count) once opened */
} checkpoints;

/* For the option table: adds a path. */
int checkpoints_read(void *target, const char *value, bang_error *err);
/* Opens all; what fails is said on stderr, each in its line, and -1 returned. */
int checkpoints_open(const cli *c, checkpoints *list);
void checkpoints_release(checkpoints *list);
/* Prints what reading left out or renamed, unless --quiet or --json. */
void checkpoints_notes(const cli *c, const checkpoints *list);

/* An output that is a folder gets the files of this one: says which folders in it do not come
 * along, unless --quiet or --json. */
void checkpoints_note_folders(const cli *c, const bang_checkpoint *from);

/* "1.2 GB" */
const char *bytes_text(char out[32], double bytes);
/* keep, f32, f16, bf16 to -1 or a bang_dtype; for the option table. */
int dtype_read(void *target, const char *value, bang_error *err);
/* Prints lines, each as a message of the command: "warning: " or "" before it. */
void print_lines(const cli *c, const char *kind, const char *lines);

#endif
