/* Calls to the operating system that start again when a signal interrupts
 * them. Private to this room; 0, or -1 with errno. */
#ifndef BANG_BASE_OS_H
#define BANG_BASE_OS_H

/* operation as for flock(2). */
int bang_os_lock(int descriptor, int operation);

/* Content to disk. */
int bang_os_sync(int descriptor);

/* The name of a file that was made or renamed to disk. */
int bang_os_sync_folder_of(const char *path);

#endif
