/* Files that appear whole or not at all. The content goes to one fixed name
 * beside the target (".NAME.bang-part"), held by a lock, and takes the
 * target's place when it is complete and on disk; a run that was killed leaves
 * at most that one file, which the next run reuses.
 *
 *     bang_file *file;
 *     if (bang_file_begin(&file, path, &err) < 0) return err.code;
 *     bang_file_write(file, data, size);         // errors are remembered
 *     return bang_file_commit(file, &err);       // or bang_file_discard(file)
 */
#ifndef BANG_BASE_FILE_H
#define BANG_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"

typedef struct bang_file bang_file;

/* Opens path for writing. An existing target that is no regular file (a pipe,
 * /dev/stdout) is written directly, once a pipe has a reader, and BANG_ECANCELLED if a signal that
 * a handler catches ends the wait for one; a link to a file in the same folder stays and what it
 * names is replaced; a link to anywhere else is itself replaced, and never followed.
 * Fails when another live process writes the same path. The caller ends with
 * commit or discard. */
int bang_file_begin(bang_file **out, const char *path, bang_error *err);
/* The same, but what would be written directly is refused, before it is opened. */
int bang_file_begin_regular(bang_file **out, const char *path, bang_error *err);
void bang_file_write(bang_file *file, const void *data, size_t size);
/* For a writer that places its bytes itself, in place of bang_file_write; -1
 * where the target is no regular file. The file keeps it. */
int bang_file_descriptor(const bang_file *file);
/* What it will take the place of: its path, or what a link in the same folder names; NULL where
 * the target is no regular file. Borrowed. */
const char *bang_file_target(const bang_file *file);
/* Puts other bytes in the place of some that were written: a header that says how much
 * followed. -1 where that cannot be done, as the target is no regular file. */
int bang_file_replace(bang_file *file, size_t offset, const void *data, size_t size);
/* Brings all that was written to disk, and says what failed so far: of files that belong
 * together each is settled before the first is committed, which then seldom fails. */
int bang_file_settle(bang_file *file, bang_error *err);
/* Removes what has the name now, and sees to it that this is on disk: of files that belong
 * together the old one goes before the first new one comes, so that no moment has one of each.
 * What is no regular file stays. */
int bang_file_vacate(bang_file *file, bang_error *err);
/* The first half of a commit, for who must know whether a failed one changed a name: content to
 * disk, and the rename. */
int bang_file_rename(bang_file *file, bang_error *err);
/* Syncs, renames and frees; after a failure the target is as it was. */
int bang_file_commit(bang_file *file, bang_error *err);
/* Removes what was written and frees; NULL is allowed. */
void bang_file_discard(bang_file *file);

/* begin, write, commit. */
int bang_file_put(const char *path, const void *data, size_t size, bang_error *err);

/* For files that were made elsewhere, on the same file system: from takes the place of to; a file
 * goes, where one is. Both are on disk when they return. */
int bang_file_move(const char *from, const char *to, bang_error *err);
int bang_file_remove(const char *path, bang_error *err);

/* Fails, saying both numbers, where the disk of folder (NULL: that of path) has less free than the
 * bytes that path is to have; where that cannot be known it does not. */
int bang_file_room(const char *path, const char *folder, uint64_t bytes, bang_error *err);

/* Removes the ".NAME.bang-part" that a killed run has left beside path, or all in a folder
 * whose NAME is mine (NULL: all); those of runs that are alive stay. For who is done with an
 * output and need not have written all that an earlier run began. */
void bang_file_sweep(const char *path);
void bang_folder_sweep(const char *path, int (*mine)(const void *context, const char *name),
                       const void *context);

/* Whole content, terminated by a 0 that size does not count; the caller frees. */
int bang_file_read(char **out, size_t *size, const char *path, bang_error *err);

/* Creates the folder and its parents; one that exists is fine. */
int bang_folder_create(const char *path, bang_error *err);
/* The same for path, which is a folder in or below top, as this is written: what is a link on the
 * way from top, and might lead elsewhere, is refused. */
int bang_folder_create_below(const char *top, const char *path, bang_error *err);

/* Removes a folder with all that is in it, links not followed; one that is not
 * there is fine, a file or a link in its place is an error. */
int bang_folder_remove(const char *path, bang_error *err);

/* Where downloads are kept: $BANG_CACHE, else $XDG_CACHE_HOME/bang, else
 * $HOME/.cache/bang; empty ones and a relative XDG_CACHE_HOME do not count.
 * The folder need not exist; the caller frees the path. */
int bang_cache_folder(char **out, bang_error *err);

/* folder + "/" + name; the caller frees; NULL when memory is out. */
char *bang_path_join(const char *folder, const char *name);
/* name as a file that stands at path means it: in the same folder, unless it begins at the
 * root; the caller frees; NULL when memory is out. */
char *bang_path_beside(const char *path, const char *name);
/* folder/NAME -> folder/.NAME and suffix; the caller frees; NULL when memory is out. */
char *bang_path_hidden(const char *path, const char *suffix);

#endif
