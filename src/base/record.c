#include "bang/base/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "base/os.h"

static const char file_name[] = "results.jsonl";

static int io_failure(const char *path, bang_error *err)
{
    return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
}

/* Where the last complete line ends; -1 with errno on failure. */
static off_t end_of_lines(int descriptor)
{
    char chunk[4096];
    off_t end = lseek(descriptor, 0, SEEK_END);
    while (end > 0) {
        off_t start = end > (off_t)sizeof chunk ? end - (off_t)sizeof chunk : 0;
        size_t size = (size_t)(end - start);
        for (size_t done = 0; done < size;) {
            ssize_t n = TEMP_FAILURE_RETRY(
                pread(descriptor, chunk + done, size - done, start + (off_t)done));
            if (n <= 0) {
                errno = n < 0 ? errno : EIO;
                return -1;
            }
            done += (size_t)n;
        }
        for (size_t i = size; i > 0; i--)
            if (chunk[i - 1] == '\n')
                return start + (off_t)i;
        end = start;
    }
    return end;
}

/* Another writer is waited for, until a signal is caught meanwhile. What has a second name may be
 * somebody else's file. */
static int take(int descriptor, const char *path, bang_error *err)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0)
        return io_failure(path, err);
    if (!S_ISREG(status.st_mode) || status.st_nlink > 1)
        return bang_fail(err, BANG_EIO, "%s: is %s: remove it", path,
                         S_ISREG(status.st_mode) ? "a hard link, which records do not follow"
                                                 : "no regular file");
    if (bang_os_lock(descriptor, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK && flock(descriptor, LOCK_EX) == 0)
        return 0;
    return errno == EINTR ? bang_fail(err, BANG_ECANCELLED, "%s: another run is writing it", path)
                          : io_failure(path, err);
}

/* Under the lock: drops an incomplete last line and adds this one, so that no reader sees two
 * halves that belong to different records. */
static int append_line(int descriptor, const char *path, const bang_text *line, bang_error *err)
{
    int code = take(descriptor, path, err);
    if (code < 0)
        return code;
    off_t end = end_of_lines(descriptor);
    if (end < 0 || TEMP_FAILURE_RETRY(ftruncate(descriptor, end)) < 0)
        return io_failure(path, err);
    size_t done = 0;
    ssize_t n = 1;
    while (done < line->size && n > 0) {
        n = TEMP_FAILURE_RETRY(write(descriptor, line->data + done, line->size - done));
        done += n > 0 ? (size_t)n : 0;
    }
    if (done < line->size) {
        int why = n < 0 ? errno : ENOSPC;
        int restored = (int)TEMP_FAILURE_RETRY(ftruncate(descriptor, end));
        /* A part that stays has no end of line, and the next append drops it. */
        return bang_fail(err, BANG_EIO, "%s: %s: the record was %s", path, strerror(why),
                         restored == 0 ? "not added" : "added in part");
    }
    if (bang_os_sync(descriptor) < 0 || (end == 0 && bang_os_sync_folder_of(path) < 0))
        return io_failure(path, err);
    return 0;
}

int bang_record_append(const char *folder, const json_t *record, bang_error *err)
{
    if (!json_is_object(record))
        return bang_fail(err, BANG_EUSAGE, "a result record must be a JSON object");
    bang_text line = {0};
    int descriptor = -1;
    char *json = bang_json_line(record), *path = bang_path_join(folder, file_name);
    int code;
    if (json)
        bang_text_add(&line, "%s\n", json);
    if (!json || !path || line.failed) {
        code = bang_fail_memory(err);
        goto done;
    }
    code = bang_folder_create(folder, err);
    if (code < 0)
        goto done;
    /* What lies in the folder must not lead elsewhere, nor make this wait. */
    descriptor = (int)TEMP_FAILURE_RETRY(
        open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (descriptor < 0 && errno == ELOOP)
        code =
            bang_fail(err, BANG_EIO, "%s: is a link, which records do not follow: remove it", path);
    else
        code = descriptor < 0 ? io_failure(path, err) : append_line(descriptor, path, &line, err);
done:
    if (descriptor >= 0)
        close(descriptor);
    bang_text_release(&line);
    free(json);
    free(path);
    return code;
}

static int parse_lines(json_t *records, const char *path, const char *text, size_t size,
                       bang_error *err)
{
    size_t number = 1;
    for (const char *line = text, *stop = text + size, *end; line < stop;
         line = end + 1, number++) {
        end = memchr(line, '\n', (size_t)(stop - line));
        if (!end)
            break;
        json_t *record = NULL;
        bang_error why = {0};
        int code = bang_json_parse(&record, line, (size_t)(end - line), &why);
        if (code < 0)
            return bang_fail(err, code, "%s: record %zu: %s", path, number, why.message);
        if (!json_is_object(record)) {
            json_decref(record);
            return bang_fail(err, BANG_EDATA, "%s: record %zu: not a JSON object", path, number);
        }
        if (json_array_append_new(records, record) < 0)
            return bang_fail_memory(err);
    }
    return 0;
}

int bang_record_read(json_t **out, const char *folder, bang_error *err)
{
    *out = NULL;
    char *path = bang_path_join(folder, file_name), *text = NULL;
    size_t size = 0;
    json_t *records = json_array();
    int code = 0;
    if (!path || !records)
        code = bang_fail_memory(err);
    else if (access(path, F_OK) == 0 || errno != ENOENT)
        code = bang_file_read(&text, &size, path, err);
    if (code == 0 && text)
        code = parse_lines(records, path, text, size, err);
    if (code == 0)
        *out = json_incref(records);
    json_decref(records);
    free(text);
    free(path);
    return code;
}

/* json_equal tells 1 from 1.0; here a number is its value. Depth is bounded by
 * jansson's own limit on what it reads. */
static int equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        if (json_is_integer(a) && json_is_integer(b))
            return json_integer_value(a) == json_integer_value(b);
        if (json_is_real(a) && json_is_real(b))
            return json_real_value(a) == json_real_value(b);
        json_int_t whole = json_integer_value(json_is_integer(a) ? a : b);
        double real = json_real_value(json_is_integer(a) ? b : a);
        return real >= -0x1p63 && real < 0x1p63 && (json_int_t)real == whole &&
               (double)(json_int_t)real == real;
    }
    if (json_typeof(a) != json_typeof(b))
        return 0;
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return 0;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!equal(json_array_get(a, i), json_array_get(b, i)))
                return 0;
        return 1;
    }
    if (json_is_object(a)) {
        const char *key;
        json_t *value;
        if (json_object_size(a) != json_object_size(b))
            return 0;
        json_object_foreach((json_t *)a, key, value)
        {
            const json_t *other = json_object_get(b, key);
            if (!other || !equal(value, other))
                return 0;
        }
        return 1;
    }
    return json_equal(a, b);
}

json_t *bang_record_find(const json_t *records, const char *key, const json_t *options)
{
    for (size_t i = 0; i < json_array_size(records); i++) {
        json_t *record = json_array_get(records, i);
        const char *name = json_string_value(json_object_get(record, "key"));
        if (!name || strcmp(name, key) != 0)
            continue;
        const json_t *theirs = json_object_get(record, "options");
        if (!options || (theirs && equal(theirs, options)))
            return record;
    }
    return NULL;
}
