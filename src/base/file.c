#include "bang/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/os.h"

enum { BUFFER_SIZE = 64 * 1024 };

struct bang_file {
    char *path;   /* as the caller said it, for messages */
    char *target; /* what is replaced */
    char *part;   /* NULL when the target is written directly */
    int descriptor;
    int mode;    /* rights of the target, or -1 */
    int renamed; /* it is the target */
    int failure; /* errno of the first write that failed */
    size_t buffered;
    char buffer[BUFFER_SIZE];
};

/* Length of the folder part of path, its last slash included; 0 without one. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

char *bang_path_join(const char *folder, const char *name)
{
    size_t length = strlen(folder), rest = strlen(name) + 1;
    int slash = length > 0 && folder[length - 1] != '/';
    char *path = malloc(length + (size_t)slash + rest);
    if (!path) {
        bang_memory_refuse();
        return NULL;
    }
    memcpy(path, folder, length);
    if (slash)
        path[length] = '/';
    memcpy(path + length + slash, name, rest);
    return path;
}

char *bang_path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    if (name[0] == '/' || !slash)
        return strdup(name);
    char *folder = strndup(path, (size_t)(slash - path) + 1);
    char *out = folder ? bang_path_join(folder, name) : NULL;
    free(folder);
    return out;
}

static const char part_suffix[] = ".bang-part";

char *bang_path_hidden(const char *path, const char *suffix)
{
    size_t folder = folder_length(path), length = strlen(path), rest = strlen(suffix) + 1;
    char *out = malloc(length + 1 + rest);
    if (!out)
        return NULL;
    memcpy(out, path, folder);
    out[folder] = '.';
    memcpy(out + folder + 1, path + folder, length - folder);
    memcpy(out + length + 1, suffix, rest);
    return out;
}

static void free_file(bang_file *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor); /* also gives the lock back */
    free(file->path);
    free(file->target);
    free(file->part);
    free(file);
}

static int open_part(bang_file *file, bang_error *err)
{
    int why = bang_os_open_held(&file->descriptor, file->part);
    switch (why) {
    case 0:
        return 0;
    case ENOENT:
        return bang_fail(err, BANG_EIO, "%s: its folder does not exist: make it first", file->path);
    case EWOULDBLOCK:
        return bang_fail(err, BANG_EIO, "%s: another run is writing it: wait for its end",
                         file->path);
    case EEXIST:
        return bang_fail(err, BANG_EIO, "%s: is in the way: remove it", file->part);
    default:
        return bang_fail(err, BANG_EIO, "%s: %s: cannot write beside it", file->path,
                         strerror(why));
    }
}

/* The folder where path stands, without links; the caller frees it; NULL with errno. */
static char *folder_of(const char *path)
{
    size_t length = folder_length(path);
    char *named = length ? strndup(path, length) : strdup(".");
    char *folder = named ? realpath(named, NULL) : NULL;
    free(named);
    return folder;
}

/* What an existing path leads to, if that lies in the folder where path stands; else path itself:
 * a link to another place is replaced, not followed. The caller frees it; NULL with errno. */
static char *target_of(const char *path)
{
    char *folder = folder_of(path), *real = realpath(path, NULL);
    size_t length = folder && folder[1] ? strlen(folder) : 0; /* the root ends in its slash */
    int same = folder && real && strncmp(real, folder, length) == 0 && real[length] == '/' &&
               !strchr(real + length + 1, '/');
    if (folder && real && !same) {
        free(real);
        real = strdup(path);
    }
    free(folder);
    return real;
}

/* What the system keeps in path's folder leads where its names say, as /dev/fd/3 does. */
static int is_of_system(const char *path)
{
    char *folder = folder_of(path);
    int is = folder && (strcmp(folder, "/dev") == 0 || strncmp(folder, "/proc/", 6) == 0);
    free(folder);
    return is;
}

/* A pipe that nobody reads yet is waited for, until a signal is caught meanwhile. */
static int open_special(bang_file *file, const char *place, int flags, bang_error *err)
{
    flags |= O_WRONLY | O_CLOEXEC | O_NOCTTY;
    file->descriptor = (int)TEMP_FAILURE_RETRY(open(place, flags | O_NONBLOCK));
    if (file->descriptor < 0 && errno == ENXIO) {
        file->descriptor = open(place, flags);
        if (file->descriptor < 0 && errno == EINTR)
            return bang_fail(err, BANG_ECANCELLED, "%s: nobody reads this pipe", file->path);
    }
    if (file->descriptor < 0 || fcntl(file->descriptor, F_SETFL, O_WRONLY) < 0)
        return bang_fail(err, BANG_EIO, "%s: %s", file->path, strerror(errno));
    return 0;
}

/* Sets target, or opens what is no regular file. */
static int find_target(bang_file *file, const struct stat *old, int regular, bang_error *err)
{
    struct stat named;
    int of_system = is_of_system(file->path);
    file->target = of_system ? strdup(file->path) : target_of(file->path);
    if (!file->target)
        return errno != ENOMEM ? bang_fail(err, BANG_EIO, "%s: %s", file->path, strerror(errno))
                               : bang_fail_memory(err);
    if (S_ISREG(old->st_mode) ||
        (!of_system && lstat(file->target, &named) == 0 && S_ISLNK(named.st_mode)))
        return 0;
    if (regular)
        return bang_fail(err, BANG_EIO, "%s: is no regular file: name one", file->path);
    int code = open_special(file, file->target, of_system ? 0 : O_NOFOLLOW, err);
    free(file->target);
    file->target = NULL;
    return code;
}

/* Fills everything but path; on failure the caller frees what is there. */
static int open_target(bang_file *file, int regular, bang_error *err)
{
    const char *path = file->path;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return bang_fail(err, BANG_EUSAGE, "\"%s\": not the name of a file", path);
    /* Our own streams are shared with whoever else writes to them, whatever
     * they lead to: opening a name again would start at its beginning. */
    int stream = strcmp(path, "/dev/stdout") == 0 ? 1 : strcmp(path, "/dev/stderr") == 0 ? 2 : -1;
    if (stream >= 0 && !regular) {
        file->descriptor = fcntl(stream, F_DUPFD_CLOEXEC, 0);
        return file->descriptor < 0 ? bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno)) : 0;
    }
    struct stat old;
    int exists = stat(path, &old) == 0;
    if (!exists && errno != ENOENT)
        return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
    if (exists && S_ISDIR(old.st_mode))
        return bang_fail(err, BANG_EIO, "%s: is a folder: name a file in it", path);
    if (!exists && !(file->target = strdup(path)))
        return bang_fail_memory(err);
    int code = exists ? find_target(file, &old, regular, err) : 0;
    if (code < 0 || !file->target)
        return code;
    file->part = bang_path_hidden(file->target, part_suffix);
    if (!file->part)
        return bang_fail_memory(err);
    code = open_part(file, err);
    if (code < 0)
        return code;
    if (exists && S_ISREG(old.st_mode))
        file->mode = (int)(old.st_mode & 07777);
    /* What a killed run left is dropped. Nobody else may see more than of the old content, but
     * should this run be killed, the next must be able to open it. */
    if (TEMP_FAILURE_RETRY(ftruncate(file->descriptor, 0)) < 0 ||
        (file->mode >= 0 && fchmod(file->descriptor, (mode_t)file->mode | S_IRUSR | S_IWUSR) < 0)) {
        code = bang_fail(err, BANG_EIO, "%s: %s", file->part, strerror(errno));
        unlink(file->part);
    }
    return code;
}

static int begin(bang_file **out, const char *path, int regular, bang_error *err)
{
    *out = NULL;
    bang_file *file = malloc(sizeof *file);
    if (!file)
        return bang_fail_memory(err);
    /* Not the buffer: clearing it would only cost time. */
    file->target = file->part = NULL;
    file->descriptor = file->mode = -1;
    file->renamed = file->failure = 0;
    file->buffered = 0;
    file->path = strdup(path);
    int code = file->path ? open_target(file, regular, err) : bang_fail_memory(err);
    if (code < 0) {
        free_file(file);
        return code;
    }
    *out = file;
    return 0;
}

int bang_file_begin(bang_file **out, const char *path, bang_error *err)
{
    return begin(out, path, 0, err);
}

int bang_file_begin_regular(bang_file **out, const char *path, bang_error *err)
{
    return begin(out, path, 1, err);
}

static void write_all(bang_file *file, const char *data, size_t size)
{
    while (size > 0 && !file->failure) {
        ssize_t n = write(file->descriptor, data, size);
        if (n >= 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno != EINTR) {
            file->failure = errno;
        }
    }
}

static void flush(bang_file *file)
{
    write_all(file, file->buffer, file->buffered);
    file->buffered = 0;
}

void bang_file_write(bang_file *file, const void *data, size_t size)
{
    if (size > BUFFER_SIZE - file->buffered)
        flush(file);
    if (size >= BUFFER_SIZE) {
        write_all(file, data, size);
    } else if (size > 0) {
        memcpy(file->buffer + file->buffered, data, size);
        file->buffered += size;
    }
}

int bang_file_descriptor(const bang_file *file)
{
    return file->part ? file->descriptor : -1;
}

const char *bang_file_target(const bang_file *file)
{
    return file->target;
}

int bang_file_replace(bang_file *file, size_t offset, const void *data, size_t size)
{
    const char *bytes = data;
    if (!file->part)
        return -1;
    flush(file);
    for (size_t done = 0; done < size && !file->failure;) {
        ssize_t n = pwrite(file->descriptor, bytes + done, size - done, (off_t)(offset + done));
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            file->failure = errno;
    }
    return 0;
}

/* Words for a failure: what was there before is still there, or what to do. */
static const char *advice(const bang_file *file, int why)
{
    if (!file->part)
        return "";
    if (access(file->target, F_OK) == 0)
        return ": it is as it was before";
    return why == ENOSPC || why == EDQUOT ? ": make room or choose another disk" : "";
}

int bang_file_settle(bang_file *file, bang_error *err)
{
    flush(file);
    if (!file->failure && file->part && bang_os_sync(file->descriptor) < 0)
        file->failure = errno;
    return file->failure ? bang_fail(err, BANG_EIO, "%s: %s%s", file->path, strerror(file->failure),
                                     advice(file, file->failure))
                         : 0;
}

int bang_file_remove(const char *path, bang_error *err)
{
    if ((unlink(path) < 0 && errno != ENOENT) || bang_os_sync_folder_of(path) < 0)
        return bang_fail(err, BANG_EIO, "%s: %s: cannot be removed", path, strerror(errno));
    return 0;
}

int bang_file_room(const char *path, const char *folder, uint64_t bytes, bang_error *err)
{
    struct statvfs space;
    size_t length = folder_length(path);
    char *own = folder ? strdup(folder) : length ? strndup(path, length) : strdup(".");
    if (!own)
        return bang_fail_memory(err);
    int known = statvfs(own, &space) == 0;
    free(own);
    unsigned long long room = known ? (unsigned long long)space.f_bavail * space.f_frsize : 0;
    if (known && room < bytes)
        return bang_fail(
            err, BANG_EIO,
            "%.500s: %llu bytes are needed, %llu are free: make room or choose another "
            "disk",
            path, (unsigned long long)bytes, room);
    return 0;
}

int bang_file_move(const char *from, const char *to, bang_error *err)
{
    if (rename(from, to) < 0 || bang_os_sync_folder_of(to) < 0)
        return bang_fail(err, BANG_EIO, "%s: %s: cannot be replaced", to, strerror(errno));
    return 0;
}

int bang_file_vacate(bang_file *file, bang_error *err)
{
    if (bang_memory_refused())
        return bang_fail_memory(err);
    return file->part ? bang_file_remove(file->target, err) : 0;
}

int bang_file_rename(bang_file *file, bang_error *err)
{
    int code = bang_memory_refused() ? bang_fail_memory(err) : bang_file_settle(file, err);
    if (code < 0 || !file->part)
        return code;
    if (rename(file->part, file->target) < 0) {
        int why = errno;
        return bang_fail(err, BANG_EIO, "%s: %s%s", file->path, strerror(why), advice(file, why));
    }
    file->renamed = 1;
    if (file->mode >= 0)
        (void)!fchmod(file->descriptor, (mode_t)file->mode);
    return 0;
}

int bang_file_commit(bang_file *file, bang_error *err)
{
    int code = file->renamed ? 0 : bang_file_rename(file, err);
    if (code == 0 && file->renamed && bang_os_sync_folder_of(file->target) < 0)
        code = bang_fail(err, BANG_EIO, "%s: %s: written, but perhaps not yet on disk", file->path,
                         strerror(errno));
    bang_file_discard(file);
    return code;
}

void bang_file_discard(bang_file *file)
{
    if (!file)
        return;
    if (file->part && !file->renamed)
        unlink(file->part);
    free_file(file);
}

int bang_file_put(const char *path, const void *data, size_t size, bang_error *err)
{
    bang_file *file;
    int code = bang_file_begin(&file, path, err);
    if (code < 0)
        return code;
    bang_file_write(file, data, size);
    return bang_file_commit(file, err);
}

/* Nobody holds it: its writer is gone. */
static void remove_if_left(const char *part)
{
    struct stat named;
    int fd;
    if (lstat(part, &named) < 0 || !S_ISREG(named.st_mode) || bang_os_open_held(&fd, part) != 0)
        return;
    unlink(part);
    close(fd);
}

void bang_file_sweep(const char *path)
{
    char *target = target_of(path);
    char *part = bang_path_hidden(target ? target : path, part_suffix);
    if (part)
        remove_if_left(part);
    free(part);
    free(target);
}

/* NAME of a ".NAME.bang-part"; NULL for other files. The caller frees it. */
static char *name_of_part(const char *part)
{
    size_t length = strlen(part), end = sizeof part_suffix - 1;
    return part[0] == '.' && length > end + 1 && strcmp(part + length - end, part_suffix) == 0
               ? strndup(part + 1, length - end - 1)
               : NULL;
}

void bang_folder_sweep(const char *path, int (*mine)(const void *context, const char *name),
                       const void *context)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char *name = name_of_part(entry->d_name);
        char *part =
            name && (!mine || mine(context, name)) ? bang_path_join(path, entry->d_name) : NULL;
        if (part)
            remove_if_left(part);
        free(part);
        free(name);
    }
    if (folder)
        closedir(folder);
}
