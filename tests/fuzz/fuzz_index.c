/* An index beside two shards names them and nothing else, or is refused with a
 * reason on one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/store/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[256];

static void forget(void)
{
    bang_folder_remove(folder, NULL);
}

static void put(const char *name, const void *data, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* The folder with its shards, once; it goes when the program ends. */
static void prepare(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/bang-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(forget);
    for (int i = 0; i < 2; i++) {
        char bytes[128] = {0}, name[] = "1.safetensors";
        int length =
            snprintf(bytes + 8, sizeof bytes - 8,
                     "{\"%c\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 'a' + i);
        bytes[0] = (char)length;
        name[0] = (char)('1' + i);
        memcpy(bytes + 8 + length, "1234", 4);
        put(name, bytes, 8 + (size_t)length + 4);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_checkpoint *c;
    bang_error err = {0};
    char path[512];
    if (!folder[0])
        prepare();
    put("index.json", data, size);
    snprintf(path, sizeof path, "%s/index.json", folder);
    if (bang_checkpoint_open(&c, path, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || c)
            abort();
        return 0;
    }
    /* What was opened lies in the folder, and every tensor can be read. */
    for (size_t i = 0; i < c->file_count; i++)
        if (c->files[i].path && (strncmp(c->files[i].path, folder, strlen(folder)) != 0 ||
                                 strchr(c->files[i].path + strlen(folder) + 1, '/')))
            abort();
    for (size_t i = 0; i < c->count; i++) {
        char bytes[4];
        const bang_entry *entry = &c->entries[i];
        if (strcmp(c->format, "safetensors-sharded") != 0 || entry->bytes != 4)
            continue; /* the input itself was a checkpoint */
        if (bang_checkpoint_find(c, entry->name) != entry ||
            bang_checkpoint_read(c, entry, 0, bytes, 4, &err) < 0 || memcmp(bytes, "1234", 4) != 0)
            abort();
    }
    bang_checkpoint_close(c);
    return 0;
}
