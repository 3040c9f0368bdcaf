/* Loaded before a command (LD_PRELOAD), this makes the world around it fail, as its environment
 * says:
 *   FAULT_SITES=FILE   writes the numbers of allocations, from 1, whose chain of callers is a
 *                      new one: who fails each of these has seen every place that allocates
 *   FAULT_ALLOC=N      allocation N fails, with FAULT_ONWARD all from there on; FAULT_TRACE=1
 *                      tells who asked for it
 *   FAULT_EINTR=N      of calls that read, write, open, lock and sync each N-th is interrupted,
 *                      and each N+1-th read or write does half of what it could
 *   FAULT_STORM=US     a signal every so many microseconds, with a handler that interrupts calls
 *   FAULT_SHRINK=PATH  that file is cut to half its size, before it is read for the
 *   FAULT_AFTER=N      N-th time (1)
 *   FAULT_SLOW=MS      a file takes so many milliseconds to sync
 *   FAULT_KILL=N       SIGKILL instead of the N-th call that renames or removes
 * Allocations are counted from the beginning of main. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The next definition of a function; looked up at its first call. */
#define NEXT(type, name, ...)                                                                      \
    static type (*next)(__VA_ARGS__);                                                              \
    if (!next)                                                                                     \
        *(void **)&next = dlsym(RTLD_NEXT, name);

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

/* ---- allocation ---- */

enum { SITES_MOST = 1 << 16, DEPTH = 40 };

static atomic_int armed;
static atomic_long allocations;
static long fail_at, onward, trace;
static const char *sites_path;
static uint64_t sites[SITES_MOST]; /* a hash table of chains of callers; 0: free */
static int sites_file = -1;
static _Thread_local int inside;

/* OpenSSL makes thousands of things when it is first called; what calls it counts as one. */
static uintptr_t crypto_begin, crypto_end;

static int find_crypto(struct dl_phdr_info *library, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; strstr(library->dlpi_name, "libcrypto") && i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        uintptr_t begin = library->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        if (!crypto_begin || begin < crypto_begin)
            crypto_begin = begin;
        if (begin + part->p_memsz > crypto_end)
            crypto_end = begin + part->p_memsz;
    }
    return 0;
}

static void note_site(long number)
{
    void *frames[DEPTH];
    uint64_t hash = 14695981039346656037U;
    int count = backtrace(frames, DEPTH);
    for (int i = count; i-- > 2;) { /* from main on */
        uintptr_t at = (uintptr_t)frames[i];
        if (at >= crypto_begin && at < crypto_end)
            break;
        hash = (hash ^ (uint64_t)at) * 1099511628211U;
    }
    hash += hash == 0;
    size_t at = hash % SITES_MOST;
    while (sites[at] && sites[at] != hash)
        at = (at + 1) % SITES_MOST;
    if (sites[at])
        return;
    sites[at] = hash;
    char line[24];
    int size = snprintf(line, sizeof line, "%ld\n", number);
    if (write(sites_file, line, (size_t)size) != size)
        _exit(99);
}

/* 1 if this allocation is to fail. */
static int is_refused(void)
{
    if (!atomic_load(&armed) || inside)
        return 0;
    long number = atomic_fetch_add(&allocations, 1) + 1;
    if (sites_path) {
        inside = 1;
        note_site(number);
        inside = 0;
    }
    int refused = fail_at && (number == fail_at || (onward && number > fail_at));
    if (refused && trace) {
        void *frames[DEPTH];
        inside = 1;
        backtrace_symbols_fd(frames, backtrace(frames, DEPTH), 2);
        inside = 0;
    }
    if (refused)
        errno = ENOMEM;
    return refused;
}

/* While dlsym looks for malloc it may allocate. */
static char early[8192];
static size_t early_used;
static volatile int finding; /* the compiler believes that dlsym does not call back */

static void *take_early(size_t size)
{
    size_t at = (early_used + 15) / 16 * 16;
    if (size > sizeof early - at)
        _exit(98);
    early_used = at + size;
    return early + at;
}

static int is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

#define NEXT_ALLOCATOR(type, name, ...)                                                            \
    static type (*next)(__VA_ARGS__);                                                              \
    if (!next) {                                                                                   \
        finding++;                                                                                 \
        *(void **)&next = dlsym(RTLD_NEXT, name);                                                  \
        finding--;                                                                                 \
    }

void *malloc(size_t size)
{
    if (finding)
        return take_early(size);
    NEXT_ALLOCATOR(void *, "malloc", size_t)
    return is_refused() ? NULL : next(size);
}

void *calloc(size_t count, size_t size)
{
    if (finding) /* the buffer is zero, and used once */
        return take_early(count * size);
    NEXT_ALLOCATOR(void *, "calloc", size_t, size_t)
    return is_refused() ? NULL : next(count, size);
}

void *realloc(void *old, size_t size)
{
    if (finding || is_early(old)) {
        void *fresh = finding ? take_early(size) : malloc(size);
        if (old && fresh)
            memcpy(fresh, old, size);
        return fresh;
    }
    NEXT_ALLOCATOR(void *, "realloc", void *, size_t)
    return is_refused() ? NULL : next(old, size);
}

void free(void *p)
{
    if (is_early(p) || finding) /* a message of dlsym's own: it may stay */
        return;
    NEXT_ALLOCATOR(void, "free", void *)
    next(p);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    NEXT_ALLOCATOR(void *, "aligned_alloc", size_t, size_t)
    return is_refused() ? NULL : next(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    NEXT_ALLOCATOR(int, "posix_memalign", void **, size_t, size_t)
    return is_refused() ? ENOMEM : next(out, alignment, size);
}

/* ---- calls that are interrupted, files that shrink ---- */

static long interrupt_every, shrink_after, slow;
static const char *shrink_path;
static atomic_long calls;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 0, 1: interrupted, 2: half. */
static int disturb(void)
{
    if (!interrupt_every || !atomic_load(&armed))
        return 0;
    long number = atomic_fetch_add(&calls, 1);
    if (number % interrupt_every == interrupt_every - 1) {
        errno = EINTR;
        return 1;
    }
    return number % interrupt_every == 0 ? 2 : 0;
}

static size_t part(size_t size, int half)
{
    return half == 2 && size > 1 ? size / 2 : size;
}

static void shrink(int descriptor)
{
    struct stat file, read;
    if (!shrink_path || !atomic_load(&armed) || stat(shrink_path, &file) < 0 ||
        fstat(descriptor, &read) < 0 || file.st_ino != read.st_ino || file.st_dev != read.st_dev ||
        --shrink_after != 0)
        return;
    if (truncate(shrink_path, file.st_size / 2) < 0)
        _exit(97);
}

ssize_t read(int descriptor, void *out, size_t size)
{
    NEXT(ssize_t, "read", int, void *, size_t)
    shrink(descriptor);
    int how = disturb();
    return how == 1 ? -1 : next(descriptor, out, part(size, how));
}

ssize_t pread(int descriptor, void *out, size_t size, off_t offset)
{
    NEXT(ssize_t, "pread", int, void *, size_t, off_t)
    shrink(descriptor);
    int how = disturb();
    return how == 1 ? -1 : next(descriptor, out, part(size, how), offset);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    NEXT(ssize_t, "write", int, const void *, size_t)
    int how = disturb();
    return how == 1 ? -1 : next(descriptor, data, part(size, how));
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)
    int how = disturb();
    return how == 1 ? -1 : next(descriptor, data, part(size, how), offset);
}

int fsync(int descriptor)
{
    NEXT(int, "fsync", int)
    double end = now() + 1e-3 * (double)slow;
    while (atomic_load(&armed) && now() < end) /* a signal cuts a nap short */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return disturb() == 1 ? -1 : next(descriptor);
}

int flock(int descriptor, int operation)
{
    NEXT(int, "flock", int, int)
    return disturb() == 1 ? -1 : next(descriptor, operation);
}

int ftruncate(int descriptor, off_t size)
{
    NEXT(int, "ftruncate", int, off_t)
    return disturb() == 1 ? -1 : next(descriptor, size);
}

int fallocate(int descriptor, int mode, off_t offset, off_t size)
{
    NEXT(int, "fallocate", int, int, off_t, off_t)
    return disturb() == 1 ? -1 : next(descriptor, mode, offset, size);
}

int open(const char *path, int flags, ...)
{
    NEXT(int, "open", const char *, int, ...)
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    return disturb() == 1 ? -1 : next(path, flags, mode);
}

/* ---- the moments in which names change ---- */

static atomic_long changes; /* that are left */

static void change(void)
{
    if (atomic_load(&armed) && atomic_fetch_sub(&changes, 1) == 1)
        kill(getpid(), SIGKILL);
}

int rename(const char *from, const char *to)
{
    NEXT(int, "rename", const char *, const char *)
    change();
    return next(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    NEXT(int, "renameat2", int, const char *, int, const char *, unsigned)
    change();
    return next(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path)
{
    NEXT(int, "unlink", const char *)
    change();
    return next(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    NEXT(int, "unlinkat", int, const char *, int)
    change();
    return next(folder, path, flags);
}

int rmdir(const char *path)
{
    NEXT(int, "rmdir", const char *)
    change();
    return next(path);
}

int remove(const char *path)
{
    NEXT(int, "remove", const char *)
    change();
    return next(path);
}

static void on_storm(int number)
{
    (void)number;
}

static void begin_storm(long microseconds)
{
    struct sigaction action = {.sa_handler = on_storm};
    struct itimerval every = {{0, (suseconds_t)microseconds}, {0, (suseconds_t)microseconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

/* ---- the beginning ---- */

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment)
{
    void *frames[2];
    fail_at = setting("FAULT_ALLOC");
    onward = setting("FAULT_ONWARD");
    trace = setting("FAULT_TRACE");
    slow = setting("FAULT_SLOW");
    interrupt_every = setting("FAULT_EINTR");
    shrink_path = getenv("FAULT_SHRINK");
    shrink_after = getenv("FAULT_AFTER") ? setting("FAULT_AFTER") : 1;
    sites_path = getenv("FAULT_SITES");
    if (sites_path) {
        backtrace(frames, 2); /* loads what it needs */
        dl_iterate_phdr(find_crypto, NULL);
        sites_file = open(sites_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    atomic_store(&changes, setting("FAULT_KILL"));
    unsetenv("LD_PRELOAD"); /* of this process alone, not of what it starts */
    if (setting("FAULT_STORM"))
        begin_storm(setting("FAULT_STORM"));
    atomic_store(&armed, 1);
    return real_main(argc, argv, environment);
}

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*loader)(void), void *stack);

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*loader)(void), void *stack)
{
    NEXT(int, "__libc_start_main", int (*)(int, char **, char **), int, char **, void (*)(void),
         void (*)(void), void (*)(void), void *)
    real_main = entry;
    return next(counted_main, argc, argv, init, fini, loader, stack);
}
