/* For targets whose parser opens files by name: a folder of their own, which goes when the
 * program ends, and an input that is taken apart into several files. */
#ifndef BANG_TESTS_FUZZ_FILES_H
#define BANG_TESTS_FUZZ_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bang/base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[256];

static inline void forget(void)
{
    bang_folder_remove(folder, NULL);
}

/* Memory is quicker than a disk; returns 1 the first time. */
static inline int prepare_folder(void)
{
    const char *base = getenv("TMPDIR");
    if (folder[0])
        return 0;
    if (!base || !*base)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/bang-fuzz-XXXXXX", base);
    if (!mkdtemp(folder))
        abort();
    atexit(forget);
    return 1;
}

/* folder/NAME, good until the next call but three. */
static inline const char *place(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void put(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(place(name), "wb");
    if (!file || (size && fwrite(data, 1, size, file) != size) || fclose(file) != 0)
        abort();
}

/* The next part of the input, up to a line "----", which is skipped. */
static inline size_t next_part(const uint8_t **data, size_t *size, const uint8_t **part)
{
    static const char mark[] = "\n----\n";
    enum { MARK = sizeof mark - 1 };
    const uint8_t *found = *size ? memmem(*data, *size, mark, MARK) : NULL;
    size_t length = found ? (size_t)(found - *data) : *size;
    *part = *data;
    *data += found ? length + MARK : length;
    *size -= found ? length + MARK : length;
    return length;
}

#endif
