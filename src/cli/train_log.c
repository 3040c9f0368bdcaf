/* The log of a training. Lines reach the file as they come, so that a run that was killed
 * leaves what it did; the next one takes it up at the step of its state. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "train.h"

/* Bytes of text up to the first line that is broken or of a later step. */
static size_t lines_until(const char *text, size_t size, uint64_t step)
{
    size_t kept = 0;
    while (kept < size) {
        const char *end = memchr(text + kept, '\n', size - kept);
        json_t *line = NULL;
        if (!end || bang_json_parse(&line, text + kept, (size_t)(end - text) - kept, NULL) < 0)
            break;
        json_t *number = json_object_get(line, "step");
        int early = json_is_integer(number) && (uint64_t)json_integer_value(number) <= step;
        json_decref(line);
        if (!early)
            break;
        kept = (size_t)(end - text) + 1;
    }
    return kept;
}

static int keep_lines(const char *path, uint64_t step, bang_error *err)
{
    struct stat old;
    char *text = NULL;
    size_t size = 0, kept = 0;
    int rc = 0;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode)) /* a pipe forgets nothing */
        return 0;
    if (step > 0 && bang_file_read(&text, &size, path, NULL) == 0)
        kept = lines_until(text, size, step);
    if (step == 0 || kept < size)
        rc = bang_file_put(path, text ? text : "", kept, err);
    free(text);
    return rc;
}

void train_log_begin(train_log *log, uint64_t step)
{
    if (!log->path || log->begun)
        return;
    log->begun = 1;
    if (keep_lines(log->path, step, &log->err) < 0)
        return;
    bang_file_sweep(log->path);
    log->file = fopen(log->path, "a");
    if (!log->file)
        bang_fail(&log->err, BANG_EIO, "%s: %s", log->path, strerror(errno));
}

void train_log_add(train_log *log, json_t *line)
{
    char *text = line ? bang_json_line(line) : NULL;
    json_decref(line);
    if (!text)
        bang_fail_memory(&log->err);
    else if (log->file && (fprintf(log->file, "%s\n", text) < 0 || fflush(log->file) == EOF) &&
             !log->err.code)
        bang_fail(&log->err, BANG_EIO, "%s: %s", log->path, strerror(errno));
    free(text);
}

int train_log_end(train_log *log, bang_error *err)
{
    if (log->file && fclose(log->file) == EOF && !log->err.code)
        bang_fail(&log->err, BANG_EIO, "%s: %s", log->path, strerror(errno));
    log->file = NULL;
    return log->err.code ? bang_fail(err, log->err.code, "%s", log->err.message) : 0;
}
