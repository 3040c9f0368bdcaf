/* Making the files of an output; output_commit.c gives them their names in the end. */
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
    do
        failed = file->size > 0 && fallocate(fd, 0, 0, (off_t)file->size) < 0 ? errno : 0;
    while (failed == EINTR);
    if (failed == EOPNOTSUPP || failed == ENOSYS)
        failed = TEMP_FAILURE_RETRY(ftruncate(fd, (off_t)file->size)) < 0 ? errno : 0;
    if (failed)
        return bang_fail(err, BANG_EIO, "%s: %s: %llu bytes are needed: %s", file->path,
                         strerror(failed), (unsigned long long)file->size,
                         failed == ENOSPC || failed == EDQUOT ? "make room or choose another disk"
                                                              : "nothing was written");
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
        code = bang_file_begin_regular(&file->file, file->path, err);
        if (code == 0)
            code = reserve(file, err);
        if (code == 0)
            file->direct = open_direct(bang_file_descriptor(file->file));
    }
    if (code == 0 && output->index_path)
        code = bang_file_begin_regular(&output->index_file, output->index_path, err);
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
    for (size_t i = 0; i < output->copy_count; i++) {
        if (output->copy_files)
            bang_file_discard(output->copy_files[i]);
        free(output->copies[i]);
    }
    if (output->made_folder)
        remove_folder(output);
    free((void *)output->copies);
    free((void *)output->copy_files);
    free(output->files);
    free(output->index_path);
    free(output->stale);
    bang_text_release(&output->index);
    free(output->sums);
    free(output->path);
    free(output);
}
