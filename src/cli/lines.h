/* Files of text, a thing a line. */
#ifndef BANG_CLI_LINES_H
#define BANG_CLI_LINES_H

#include "cli.h"

/* The lines of a file, (count), which point into *text; the caller frees both. Blank ones are
 * problems, unless they end the file, and so is what is not UTF-8: said through c as of that
 * option, each with its line. NULL if the file cannot be read or is empty. */
char **lines_read(cli *c, const char *option, const char *path, char **text, size_t *count);

#endif
