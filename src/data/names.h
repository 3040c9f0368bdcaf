/* Lists of names, and what a folder holds. */
#ifndef BANG_SRC_DATA_NAMES_H
#define BANG_SRC_DATA_NAMES_H

#include <stddef.h>

#include "bang/base/error.h"
#include "bang/base/text.h"

typedef struct bang_names {
    size_t count, capacity;
    char **list; /* (count), owned */
} bang_names;

/* Takes the name over, also on failure; NULL is out of memory. */
int bang_names_add(bang_names *names, char *name, bang_error *err);
/* By bytes. */
void bang_names_sort(bang_names *names);
void bang_names_release(bang_names *names);

/* The names of the folders in a folder, and of all else, each sorted. Links are followed.
 * Names that begin with a dot are for the system, not for us. */
int bang_names_list(bang_names *folders, bang_names *files, const char *path, bang_error *err);

/* Names of which only the first few are said: "a, b, c and 7 more". */
typedef struct bang_some {
    bang_text text;
    size_t count;
} bang_some;

void bang_some_add(bang_some *some, const char *name);
/* Appends them to out and releases. */
void bang_some_end(bang_text *out, bang_some *some);

#endif
