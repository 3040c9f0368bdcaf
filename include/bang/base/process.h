/* Runs another program and waits for it.
 *
 *     const char *const line[] = {"npm", "--version", NULL};
 *     bang_process_run(&output, &status, NULL, line, NULL, &err);
 */
#ifndef BANG_BASE_PROCESS_H
#define BANG_BASE_PROCESS_H

#include "bang/base/error.h"
#include "bang/base/thread.h"

/* Starts line[0], found in PATH, in folder (NULL: here) with no input. What it
 * writes to stdout and stderr comes back in *output, terminated (the caller
 * frees it; NULL when not wanted), its exit status in *status (128 + signal
 * when one ended it; NULL when not wanted). A program that is not there is
 * BANG_EIO with a message that names it. When cancel is raised the program and
 * what it has started are ended and waited for, and BANG_ECANCELLED returned. */
int bang_process_run(char **output, int *status, const char *folder, const char *const line[],
                     bang_cancel *cancel, bang_error *err);
/* The same, but only what it writes to stdout comes back; stderr is ours. */
int bang_process_capture(char **output, int *status, const char *folder, const char *const line[],
                         bang_cancel *cancel, bang_error *err);

#endif
