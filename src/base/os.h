/* Calls to the operating system that start again when a signal interrupts
 * them. Private to this room; 0, or -1 with errno. */
#ifndef BANG_BASE_OS_H
#define BANG_BASE_OS_H

#include <stddef.h>

/* operation as for flock(2). */
int bang_os_lock(int descriptor, int operation);

/* Opens path, made where it is missing, and locks it for this descriptor alone. 0; EWOULDBLOCK
 * when somebody else holds it; or an errno. What the name
 * means afterwards is what is locked: whoever held it before may have renamed or removed it.
 * A link is not followed; what is no regular file, or has a second name, gives EEXIST. */
int bang_os_open_held(int *out, const char *path);

/* Content to disk. */
int bang_os_sync(int descriptor);

/* The name of a file that was made or renamed to disk. */
int bang_os_sync_folder_of(const char *path);

/* Has jansson take its memory through json.c. */
void bang_json_watch(void);
/* Of what is kept for the moment when memory is out, 64 KB in all; NULL when it does not suffice.
 * Nothing of it comes back. */
void *bang_json_reserve(size_t size);

#endif
