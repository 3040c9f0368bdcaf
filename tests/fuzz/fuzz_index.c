/* An index beside two shards names them and nothing else, or is refused with a
 * reason on one line. */
#include "bang/store/checkpoint.h"
#include "files.h"

/* The folder with its shards, once. */
static void prepare(void)
{
    if (!prepare_folder())
        return;
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
    prepare();
    put("index.json", data, size);
    if (bang_checkpoint_open(&c, place("index.json"), &err) < 0) {
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
