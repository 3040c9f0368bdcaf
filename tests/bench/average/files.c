#include "average.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { TENSORS = 302, PIECE = 1 << 20 };

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
    return -1;
}

/* ---- Content ---- */

typedef struct tensor {
    char name[64];
    int rank;
    size_t shape[4];
} tensor;

typedef struct list {
    tensor all[TENSORS];
    size_t count, times, of;
} list;

static void add(list *to, const char *prefix, const char *name, int rank, const size_t *shape)
{
    tensor *t = &to->all[to->count++];
    snprintf(t->name, sizeof t->name, "%s%s", prefix, name);
    t->rank = rank;
    memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    if (rank > 0)
        t->shape[0] = (shape[0] * to->times + to->of - 1) / to->of;
}

static void add_norm(list *to, const char *prefix, const char *name, size_t width)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    add(to, full, ".weight", 1, (size_t[]){width});
    add(to, full, ".bias", 1, (size_t[]){width});
}

static void add_blocks(list *to, const char *tower, size_t width)
{
    for (int i = 0; i < 12; i++) {
        char prefix[48];
        snprintf(prefix, sizeof prefix, "%s.resblocks.%d.", tower, i);
        add(to, prefix, "attn.in_proj_weight", 2, (size_t[]){3 * width, width});
        add(to, prefix, "attn.in_proj_bias", 1, (size_t[]){3 * width});
        add(to, prefix, "attn.out_proj.weight", 2, (size_t[]){width, width});
        add(to, prefix, "attn.out_proj.bias", 1, (size_t[]){width});
        add_norm(to, prefix, "ln_1", width);
        add(to, prefix, "mlp.c_fc.weight", 2, (size_t[]){4 * width, width});
        add(to, prefix, "mlp.c_fc.bias", 1, (size_t[]){4 * width});
        add(to, prefix, "mlp.c_proj.weight", 2, (size_t[]){width, 4 * width});
        add(to, prefix, "mlp.c_proj.bias", 1, (size_t[]){width});
        add_norm(to, prefix, "ln_2", width);
    }
}

static void clip(list *to)
{
    add(to, "", "positional_embedding", 2, (size_t[]){77, 512});
    add(to, "", "text_projection", 2, (size_t[]){512, 512});
    add(to, "", "logit_scale", 0, (size_t[]){0});
    add(to, "visual.", "class_embedding", 1, (size_t[]){768});
    add(to, "visual.", "positional_embedding", 2, (size_t[]){197, 768});
    add(to, "visual.", "proj", 2, (size_t[]){768, 512});
    add(to, "visual.", "conv1.weight", 4, (size_t[]){768, 3, 16, 16});
    add_norm(to, "visual.", "ln_pre", 768);
    add_blocks(to, "visual.transformer", 768);
    add_norm(to, "visual.", "ln_post", 768);
    add_blocks(to, "transformer", 512);
    add(to, "", "token_embedding.weight", 2, (size_t[]){49408, 512});
    add_norm(to, "", "ln_final", 512);
}

/* The header with its length before it, for the caller to free; *bytes are those
 * of the tensors. */
static char *make_header(size_t *size, uint64_t *bytes, const content *what)
{
    list *tensors = calloc(1, sizeof *tensors);
    char *text = NULL;
    FILE *out = tensors ? open_memstream(&text, size) : NULL;
    if (!out) {
        free(tensors);
        return NULL;
    }
    tensors->times = what->times;
    tensors->of = what->of;
    clip(tensors);
    uint64_t length = 0, end = 0;
    fwrite(&length, sizeof length, 1, out);
    fprintf(out, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < tensors->count; i++) {
        const tensor *t = &tensors->all[i];
        uint64_t begin = end, count = 1;
        fprintf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", t->name, what->dtype);
        for (int d = 0; d < t->rank; d++) {
            fprintf(out, "%s%zu", d ? "," : "", t->shape[d]);
            count *= t->shape[d];
        }
        end += count * (strcmp(what->dtype, "F32") == 0 ? 4 : 2);
        fprintf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
                (unsigned long long)end);
    }
    fputc('}', out);
    while (ftell(out) % 8)
        fputc(' ', out);
    free(tensors);
    int full = ferror(out);
    if (fclose(out) != 0 || full) {
        free(text);
        return NULL;
    }
    length = *size - 8; /* little endian, as everything here */
    memcpy(text, &length, sizeof length);
    *bytes = end;
    return text;
}

static int write_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t done = write(fd, at, size);
        if (done < 0)
            return -1;
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

/* Numbers of either sign between 1/128 and 1/8. */
static int write_numbers(int fd, uint64_t bytes, const content *what)
{
    uint64_t keep = 0x81FFFFFF81FFFFFF, set = 0x3C0000003C000000;
    if (strcmp(what->dtype, "BF16") == 0) {
        keep = 0x81FF81FF81FF81FF;
        set = 0x3C003C003C003C00;
    } else if (strcmp(what->dtype, "F16") == 0) {
        keep = 0x8FFF8FFF8FFF8FFF;
        set = 0x2000200020002000;
    }
    uint64_t *piece = malloc(PIECE), state = 0x9E3779B97F4A7C15 * (what->seed + 1);
    int rc = piece ? 0 : -1;
    while (rc == 0 && bytes > 0) {
        for (size_t i = 0; i < PIECE / sizeof *piece; i++) { /* xorshift64* */
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            piece[i] = ((state * 0x2545F4914F6CDD1D) & keep) | set;
        }
        size_t part = bytes < PIECE ? (size_t)bytes : PIECE;
        rc = write_all(fd, piece, part);
        bytes -= part;
    }
    free(piece);
    return rc;
}

int write_checkpoint(const char *path, const content *what)
{
    size_t size = 0;
    uint64_t bytes = 0;
    char *header = make_header(&size, &bytes, what);
    int fd = header ? open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666) : -1;
    int rc = fd < 0 ? -1 : write_all(fd, header, size);
    if (rc == 0)
        rc = what->sparse ? ftruncate(fd, (off_t)(size + bytes)) : write_numbers(fd, bytes, what);
    if (rc == 0)
        rc = fsync(fd);
    if (rc < 0)
        fail(path, "cannot write");
    if (fd >= 0)
        close(fd);
    free(header);
    return rc;
}

uint64_t file_size(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
}

uint64_t free_space(const char *folder)
{
    struct statvfs about;
    return statvfs(folder, &about) == 0 ? (uint64_t)about.f_bavail * about.f_frsize : 0;
}

/* ---- The page cache ---- */

/* Which share of the file is there; negative when that cannot be found out. */
static double cached_share(int fd, uint64_t size)
{
    enum { WINDOW = 1 << 28 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), there = 0, all = 0;
    unsigned char *found = malloc(WINDOW / page + 1);
    for (uint64_t at = 0; found && at < size; at += WINDOW) {
        size_t part = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
        size_t pages = (part + page - 1) / page;
        void *map = mmap(NULL, part, PROT_READ, MAP_SHARED, fd, (off_t)at);
        if (map == MAP_FAILED || mincore(map, part, found) < 0) {
            free(found);
            return -1;
        }
        munmap(map, part);
        all += pages;
        for (size_t i = 0; i < pages; i++)
            there += found[i] & 1;
    }
    free(found);
    return found && all ? (double)there / (double)all : -1;
}

/* For root, where advice on one file was not enough. */
static void drop_all_caches(void)
{
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1\n", 2) < 0)
        errno = 0; /* the caller looks what is left */
    if (fd >= 0)
        close(fd);
}

static int cool(int fd, const char *path, uint64_t size)
{
    double share = 1;
    for (int attempt = 0; attempt < 3 && share > 0.001; attempt++) {
        if (fsync(fd) < 0)
            return fail(path, "cannot sync");
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (attempt == 2)
            drop_all_caches();
        share = cached_share(fd, size);
        if (share < 0)
            return fail(path, "cannot look into the page cache");
    }
    if (share <= 0.001)
        return 0;
    fprintf(stderr,
            "%s: %.0f %% stay in the page cache: set BANG_BENCH_FOLDER to a folder on a disk\n",
            path, 100 * share);
    return -1;
}

static int heat(int fd, const char *path, uint64_t size)
{
    char *piece = malloc(PIECE);
    ssize_t done = piece ? 1 : -1;
    for (uint64_t at = 0; done > 0; at += (uint64_t)done)
        done = pread(fd, piece, PIECE, (off_t)at);
    free(piece);
    if (done < 0)
        return fail(path, "cannot read");
    double share = cached_share(fd, size);
    if (share >= 0.999)
        return 0;
    fprintf(stderr, "%s: only %.0f %% stay in the page cache: not enough memory?\n", path,
            100 * share);
    return -1;
}

static int for_each(const char *const paths[], int (*act)(int, const char *, uint64_t))
{
    int rc = 0;
    for (; rc == 0 && *paths; paths++) {
        int fd = open(*paths, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return fail(*paths, "cannot open");
        rc = act(fd, *paths, file_size(*paths));
        close(fd);
    }
    return rc;
}

int make_cold(const char *const paths[])
{
    return for_each(paths, cool);
}

int make_warm(const char *const paths[])
{
    return for_each(paths, heat);
}
