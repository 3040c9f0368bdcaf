/* What the tests of checkpoints, outputs and streams share: safetensors files
 * made by hand, so that the library's own writer is not trusted. */
#ifndef BANG_TESTS_STORE_CASES_H
#define BANG_TESTS_STORE_CASES_H

#include "testing.h"

#include <dirent.h>
#include <unistd.h>

#include "bang/base/random.h"
#include "bang/store/checkpoint.h"

static inline void put_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void put_text(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

/* The caller frees; a 0 follows. */
static inline char *get_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s is not there", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    char *data = malloc((size_t)end + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)end, file), end);
    data[end] = '\0';
    fclose(file);
    *size = (size_t)end;
    return data;
}

/* Header and data as one piece of memory, which the caller frees. */
static inline char *join_safetensors(size_t *total, const char *json, const void *data, size_t size)
{
    size_t length = strlen(json);
    char *bytes = malloc(8 + length + size + 1);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)length >> (8 * i) & 255);
    memcpy(bytes + 8, json, length);
    if (size > 0)
        memcpy(bytes + 8 + length, data, size);
    *total = 8 + length + size;
    return bytes;
}

static inline void put_safetensors(const char *path, const char *json, const void *data,
                                   size_t size)
{
    size_t total;
    char *bytes = join_safetensors(&total, json, data, size);
    put_bytes(path, bytes, total);
    free(bytes);
}

/* How many names a folder holds, also hidden ones; the first ones to stderr when
 * it is not as many as expected. */
static inline void check_names(const char *folder, int expected)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (count != expected) {
        rewinddir(dir);
        for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
            print_error("%s\n", entry->d_name);
    }
    closedir(dir);
    assert_int_equal(count, expected);
}

static inline bang_checkpoint *open_it(const char *path)
{
    bang_checkpoint *c = NULL;
    bang_error err = {0};
    if (bang_checkpoint_open(&c, path, &err) < 0)
        fail_msg("%s", err.message);
    return c;
}

/* That opening fails with a message of one line that has this in it. */
static inline void check_not_opened(const char *path, int code, const char *why)
{
    bang_checkpoint *c = NULL;
    bang_error err = {0};
    int got = bang_checkpoint_open(&c, path, &err);
    assert_null(c);
    assert_null(strchr(err.message, '\n'));
    if (got != code || !strstr(err.message, why))
        fail_msg("%d, \"%s\" is not in: %d, %s", code, why, got, err.message);
}

/* Quick rather than good: an unoptimised build fills hundreds of megabytes. */
static inline void fill_random(void *data, size_t size, uint64_t seed)
{
    unsigned char *bytes = data;
    uint64_t word = seed * 2 + 1;
    for (size_t i = 0; i < size; i += 8) {
        word = word * 0x5851f42d4c957f2dU + 0x14057b7ef767814fU;
        uint64_t mixed = word ^ word >> 29;
        memcpy(bytes + i, &mixed, size - i < 8 ? size - i : 8);
    }
}

#endif
