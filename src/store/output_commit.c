/* Giving the files of an output their names, and taking those of what was there before. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/bytes.h"
#include "store/output.h"

/* A copy of from in the folder, complete but for its name. Piece by
 * piece: who knows what else lies in the folder. */
static int copy_beside(bang_file **out, const bang_output *output, const char *from,
                       bang_error *err)
{
    const char *slash = strrchr(from, '/');
    char *to = bang_path_join(output->path, slash ? slash + 1 : from), piece[16384];
    bang_source source;
    int code = to ? bang_source_open(&source, from, err) : bang_fail_memory(err);
    if (code < 0) {
        free(to);
        return code;
    }
    code = bang_file_begin_regular(out, to, err);
    for (size_t at = 0, n = 0; code == 0 && at < source.size; at += n) {
        n = source.size - at < sizeof piece ? source.size - at : sizeof piece;
        code = bang_source_read(&source, piece, at, n, err);
        if (code == 0)
            bang_file_write(*out, piece, n);
    }
    bang_source_close(&source);
    free(to);
    return code;
}

/* Brings all bytes to disk before anything gets its name: then little is left that can fail. */
static int settle(bang_output *output, bang_error *err)
{
    int code = output->finish ? output->finish(output, err) : 0;
    for (size_t i = 0; code == 0 && i < output->file_count; i++) {
        bang_output_file *file = &output->files[i];
        if (file->direct >= 0)
            close(file->direct);
        file->direct = -1;
        code = bang_file_settle(file->file, err);
    }
    if (code == 0 && output->index_file) {
        bang_file_write(output->index_file, output->index.data, output->index.size);
        code = bang_file_settle(output->index_file, err);
    }
    if (code == 0 && !(output->copy_files = calloc(output->copy_count + 1, sizeof(void *))))
        code = bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < output->copy_count; i++) {
        code = copy_beside(&output->copy_files[i], output, output->copies[i], err);
        if (code == 0)
            code = bang_file_settle(output->copy_files[i], err);
    }
    return code;
}

/* Those from first on, once the new files are complete. */
static int remove_old(const bang_output_old *old, size_t first, bang_error *err)
{
    for (size_t i = first; i < old->count; i++)
        if (unlink(old->paths[i]) < 0 && errno != ENOENT)
            return bang_fail(err, BANG_EIO, "%s: %s: remove it, the new files are complete",
                             old->paths[i], strerror(errno));
    return 0;
}

/* Where a mark lies: one that is written may be a link, and then it is what that names. */
static const char *place_of(const bang_output *output, const char *mark)
{
    if (output->index_path && strcmp(mark, output->index_path) == 0)
        return bang_file_target(output->index_file);
    return strcmp(mark, output->files[0].path) == 0 ? bang_file_target(output->files[0].file)
                                                    : mark;
}

/* One old mark: it makes way, or gets a second, hidden name. */
static int clear_mark(const bang_output *output, bang_output_old *old, size_t k, bang_error *err)
{
    bang_output_mark *mark = &old->marks[k];
    const char *place = mark->path ? place_of(output, mark->path) : NULL;
    struct stat now, noted;
    if (!place || lstat(place, &now) < 0 || S_ISDIR(now.st_mode))
        return 0;
    int moves = output->copy_count > 0 || (k == 0 && old->clash);
    /* The note of a run that was killed has served. */
    if (k == 0 && lstat(mark->note, &noted) == 0 && noted.st_ino != now.st_ino) {
        int code = remove_old(old, old->left, err);
        if (code < 0)
            return code;
    }
    /* It may also be this mark itself, and a rename between two names of a file does nothing. */
    if (moves || k == 0)
        unlink(mark->note);
    if (moves) {
        mark->state = BANG_MARK_MOVED;
        return bang_file_move(place, mark->note, err);
    }
    /* Where the file system has no links, shards stay if this run is killed. */
    if (k == 0 && old->count > 0 && link(place, mark->note) == 0)
        mark->state = BANG_MARK_NOTED;
    return 0;
}

/* After a failure: as long as no file of this run has its name, all is as it was before. */
static int restore(const bang_output *output, const bang_output_old *old, size_t named, int code,
                   bang_error *err)
{
    for (size_t k = 0; k < BANG_OUTPUT_MARKS; k++) {
        const bang_output_mark *mark = &old->marks[k];
        if (mark->state == BANG_MARK_NOTED && named < output->file_count + output->copy_count)
            unlink(mark->note);
        if (mark->state != BANG_MARK_MOVED)
            continue;
        if (named == 0)
            (void)bang_file_move(mark->note, place_of(output, mark->path), NULL);
        if (err && access(mark->note, F_OK) == 0) {
            bang_error why = *err;
            code = bang_fail(err, code, "%s: the old %s is now %s", why.message, mark->path,
                             mark->note);
        }
    }
    return code;
}

static int give_name(bang_file **file, size_t *named, bang_error *err)
{
    int code = bang_file_rename(*file, err);
    if (code < 0)
        return code;
    ++*named;
    code = bang_file_commit(*file, err);
    *file = NULL;
    return code;
}

/* Copies come first, then shards, then what makes them a checkpoint: until then the old one holds.
 * Only where files have the names of old ones does the old mark make way before, so that it
 * never stands for files of two runs. */
static int give_names(bang_output *output, bang_output_old *old, bang_error *err)
{
    size_t named = 0;
    int code = bang_memory_refused() ? bang_fail_memory(err) : 0;
    for (size_t k = 0; code == 0 && k < BANG_OUTPUT_MARKS; k++)
        code = clear_mark(output, old, k, err);
    for (size_t i = 0; code == 0 && i < output->copy_count; i++)
        code = give_name(&output->copy_files[i], &named, err);
    for (size_t i = 0; code == 0 && i < output->file_count; i++)
        code = give_name(&output->files[i].file, &named, err);
    if (code == 0 && output->index_file)
        code = give_name(&output->index_file, &named, err);
    if (code < 0)
        return restore(output, old, named, code, err);
    output->made_folder = 0;
    code = remove_old(old, 0, err);
    for (size_t k = 0; code == 0 && k < BANG_OUTPUT_MARKS; k++)
        if (old->marks[k].note)
            unlink(old->marks[k].note);
    return code;
}

int bang_output_commit(bang_output *output, bang_error *err)
{
    bang_output_old old = {0};
    int code = settle(output, err);
    if (code == 0)
        code = bang_output_find_old(&old, output, err);
    if (code == 0)
        code = give_names(output, &old, err);
    if (code == 0)
        bang_output_sweep(output);
    bang_output_release_old(&old);
    return code;
}
