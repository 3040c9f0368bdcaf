/* Making the files of an output, and giving them their names in the end. */
#include "store/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "store/bytes.h"

int bang_output_copy(bang_output *output, const char *path, bang_error *err)
{
    char **copies = realloc((void *)output->copies, (output->copy_count + 1) * sizeof *copies);
    if (!copies)
        return bang_fail_memory(err);
    output->copies = copies;
    copies[output->copy_count] = strdup(path);
    if (!copies[output->copy_count])
        return bang_fail_memory(err);
    output->copy_count++;
    return 0;
}

/* The space is taken now, so that a full disk is found before the work; where
 * the file system cannot, the size alone is set. */
static int reserve(bang_output_file *file, bang_error *err)
{
    int fd = bang_file_descriptor(file->file), failed;
    if (fd < 0)
        return bang_fail(err, BANG_EIO, "%s: is no regular file: name one", file->path);
    do
        failed = file->size > 0 && fallocate(fd, 0, 0, (off_t)file->size) < 0 ? errno : 0;
    while (failed == EINTR);
    if (failed == EOPNOTSUPP || failed == ENOSYS)
        failed = TEMP_FAILURE_RETRY(ftruncate(fd, (off_t)file->size)) < 0 ? errno : 0;
    if (failed)
        return bang_fail(err, BANG_EIO, "%s: %s: %llu bytes are needed: nothing was written",
                         file->path, strerror(failed), (unsigned long long)file->size);
    return 0;
}

/* A second descriptor that writes past the page cache; -1 where that cannot be had. */
static int open_direct(int fd)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return (int)TEMP_FAILURE_RETRY(open(link, O_WRONLY | O_DIRECT | O_CLOEXEC));
}

/* Makes the folder and remembers which part of its path was there before. */
static int make_folder(bang_output *output, bang_error *err)
{
    struct stat status;
    char *path = output->path;
    size_t length = strlen(path);
    if (stat(path, &status) == 0)
        return 0;
    output->made_folder = 1;
    for (output->kept = 0; length > 0 && output->kept == 0; length--) {
        char held = path[length];
        if (held != '/')
            continue;
        path[length] = '\0';
        if (stat(path, &status) == 0)
            output->kept = length;
        path[length] = held;
    }
    return bang_folder_create(path, err);
}

/* Removes the folders that were made, as far as they are empty. */
static void remove_folder(bang_output *output)
{
    size_t length = strlen(output->path);
    while (length > output->kept && rmdir(output->path) == 0) {
        while (length > output->kept && output->path[length - 1] == '/')
            length--;
        while (length > output->kept && output->path[length - 1] != '/')
            length--;
        while (length > output->kept && output->path[length - 1] == '/')
            length--;
        output->path[length] = '\0';
    }
}

int bang_output_begin(bang_output *output, bang_error *err)
{
    int code = output->folder ? make_folder(output, err) : 0;
    for (size_t i = 0; code == 0 && i < output->file_count; i++) {
        bang_output_file *file = &output->files[i];
        code = bang_file_begin(&file->file, file->path, err);
        if (code == 0)
            code = reserve(file, err);
        if (code == 0)
            file->direct = open_direct(bang_file_descriptor(file->file));
    }
    if (code == 0 && output->index_path)
        code = bang_file_begin(&output->index_file, output->index_path, err);
    if (code == 0 && output->in_order) {
        output->sums = calloc(output->item_count + 1, sizeof *output->sums);
        code = output->sums ? 0 : bang_fail_memory(err);
    }
    return code;
}

void bang_output_saw(bang_output *output, size_t item, const void *bytes, size_t size)
{
    output->sums[item] = (uint32_t)crc32_z(output->sums[item], bytes, size);
}

int bang_output_rewrite(bang_output_file *file, bang_error *err)
{
    for (size_t i = 0; i < file->span_count; i++) {
        const bang_span *span = &file->spans[i];
        size_t done = 0;
        while (done < span->bytes.size) {
            ssize_t n = pwrite(bang_file_descriptor(file->file), span->bytes.data + done,
                               span->bytes.size - done, (off_t)(span->offset + done));
            if (n < 0 && errno != EINTR)
                return bang_fail(err, BANG_EIO, "%s: %s", file->path, strerror(errno));
            done += n > 0 ? (size_t)n : 0;
        }
    }
    return 0;
}

/* A copy of from in the folder, complete but for its name; the caller commits it. Piece
 * by piece: who knows what else lies in the folder. */
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
    code = bang_file_begin(out, to, err);
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

/* All of them, or none. */
static int copy_all(const bang_output *output, bang_error *err)
{
    bang_file **files = calloc(output->copy_count + 1, sizeof(void *));
    int code = files ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < output->copy_count; i++)
        code = copy_beside(&files[i], output, output->copies[i], err);
    for (size_t i = 0; files && i < output->copy_count; i++) {
        if (code == 0)
            code = bang_file_commit(files[i], err);
        else
            bang_file_discard(files[i]);
    }
    free((void *)files);
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

/* The old index under a hidden name: should the run be killed once the new one has its place, the
 * next run knows by it which shards are nobody's. One that was left by such a run has served.
 * Where the file system has no links, such shards stay. */
static int keep_note(const bang_output_old *old, const char *index, bang_error *err)
{
    struct stat now, noted;
    if (!old->note || stat(index, &now) < 0)
        return 0;
    if (lstat(old->note, &noted) == 0 && noted.st_ino != now.st_ino) {
        int code = remove_old(old, old->left, err);
        if (code < 0)
            return code;
        unlink(old->note);
    }
    if (old->count > 0)
        (void)!link(index, old->note);
    return 0;
}

/* All bytes are on disk before anything gets its name. Shards come first, then what
 * makes them a checkpoint: until then the old one holds. Only where shards have the
 * names of old ones does the old index go before, so that it never names new ones. */
static int give_names(bang_output *output, const bang_output_old *old, bang_error *err)
{
    int code = keep_note(old, output->index_path ? output->index_path : output->stale, err);
    if (code == 0 && old->clash && output->index_path && unlink(output->index_path) < 0 &&
        errno != ENOENT)
        code = bang_fail(err, BANG_EIO, "%s: %s", output->index_path, strerror(errno));
    for (size_t i = 0; code == 0 && i < output->file_count; i++) {
        code = bang_file_commit(output->files[i].file, err);
        output->files[i].file = NULL;
    }
    if (code == 0 && output->index_file) {
        bang_file_write(output->index_file, output->index.data, output->index.size);
        code = bang_file_commit(output->index_file, err);
        output->index_file = NULL;
    }
    if (code == 0)
        output->made_folder = 0;
    if (code == 0)
        code = remove_old(old, 0, err);
    if (old->note)
        unlink(old->note);
    return code;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* What an output of this path may be written as: its files; and, where that is safetensors, as
 * one file, an index, or shards, -I-of-N, of the same name. */
static int could_write(const void *context, const char *name)
{
    static const char one[] = ".safetensors", many[] = ".safetensors.index.json", of[] = "-of-";
    const bang_output *output = context;
    for (size_t i = 0; i < output->file_count; i++)
        if (strcmp(name, last_name(output->files[i].path)) == 0)
            return 1;
    const char *path = output->index_path ? output->index_path : output->files[0].path;
    const char *own = last_name(path), *end = output->index_path ? many : one;
    if (!bang_text_ends_with(own, end))
        return 0;
    size_t length = strlen(own) - strlen(end);
    const char *rest = name + length;
    if (strncmp(name, own, length) != 0)
        return 0;
    if (strcmp(rest, one) == 0 || strcmp(rest, many) == 0)
        return 1;
    const char *middle = *rest == '-' ? skip_digits(rest + 1) : rest;
    return strncmp(middle, of, sizeof of - 1) == 0 &&
           strcmp(skip_digits(middle + sizeof of - 1), one) == 0;
}

/* A run that was killed may have had other shards. */
static void sweep(const bang_output *output)
{
    char *beside = output->folder ? NULL : bang_path_beside(output->files[0].path, ".");
    if (output->folder || beside)
        bang_folder_sweep(beside ? beside : output->path, could_write, output);
    free(beside);
}

int bang_output_commit(bang_output *output, bang_error *err)
{
    bang_output_old old = {0};
    int code = output->finish ? output->finish(output, err) : 0;
    for (size_t i = 0; code == 0 && i < output->file_count; i++) {
        bang_output_file *file = &output->files[i];
        if (file->direct >= 0)
            close(file->direct);
        file->direct = -1;
        if (output->index_path && TEMP_FAILURE_RETRY(fsync(bang_file_descriptor(file->file))) < 0)
            code = bang_fail(err, BANG_EIO, "%s: %s", file->path, strerror(errno));
    }
    if (code == 0)
        code = copy_all(output, err);
    if (code == 0)
        code = bang_output_find_old(&old, output, err);
    if (code == 0)
        code = give_names(output, &old, err);
    if (code == 0 && output->file_count)
        sweep(output);
    bang_output_release_old(&old);
    return code;
}

void bang_output_free(bang_output *output)
{
    if (!output)
        return;
    for (size_t i = 0; i < output->file_count; i++) {
        bang_output_file *file = &output->files[i];
        if (file->direct >= 0)
            close(file->direct);
        bang_file_discard(file->file);
        for (size_t k = 0; k < file->span_count; k++)
            bang_text_release(&file->spans[k].bytes);
        free(file->spans);
        free(file->path);
    }
    bang_file_discard(output->index_file);
    if (output->made_folder)
        remove_folder(output);
    for (size_t i = 0; i < output->copy_count; i++)
        free(output->copies[i]);
    free((void *)output->copies);
    free(output->files);
    free(output->index_path);
    free(output->stale);
    bang_text_release(&output->index);
    free(output->sums);
    free(output->path);
    free(output);
}
