/* What torch.save wrote before version 1.6, and still does when asked to: five
 * pickles one after the other, then the bytes of each storage behind its length. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/digest.h"
#include "store/pytorch.h"

enum { FIRST_PIECE = 1 << 16, VERSION = 1001, START = 512 };

/* The number that the first pickle holds, as protocols 2 and later write it. */
static const unsigned char magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
static const char magic_text[] = "L119547037146038801333356L\n";

/* Which of the old formats, by the first bytes. */
enum old { NOTHING, PICKLES, BARE, TAR };

static enum old look(const bang_source *source)
{
    unsigned char start[START] = {0};
    size_t size = source->size < START ? source->size : START;
    if (size < 16 || bang_source_read(source, start, 0, size, NULL) < 0)
        return NOTHING;
    if (memcmp(start, magic_text, sizeof magic_text - 1) == 0)
        return PICKLES;
    if (size >= 262 && memcmp(start + 257, "ustar", 5) == 0)
        return TAR;
    if (start[0] != 0x80 || start[1] < 2 || start[1] > 5)
        return NOTHING;
    if (memmem(start, 32 < size ? 32 : size, magic, sizeof magic))
        return PICKLES;
    return start[8] == '{' ? NOTHING : BARE; /* a safetensors file begins with its length */
}

int bang_is_legacy_pytorch(const bang_source *source)
{
    return look(source) != NOTHING;
}

/* A pickle with the bytes that its texts lie in. */
struct held {
    bang_pickle pickle;
    char *bytes;
    const void *start;
};

static void release(struct held *held)
{
    bang_pickle_release(&held->pickle);
    free(held->bytes);
}

/* The pickle at *at, which moves behind it. How long it is only its end tells,
 * so more is read until there is one. */
static int next(struct held *out, uint64_t *at, const bang_source *source, bang_error *err)
{
    size_t left = source->size - (size_t)*at;
    size_t most = left < BANG_PICKLE_MOST ? left : BANG_PICKLE_MOST;
    size_t size = source->data || most < FIRST_PIECE ? most : FIRST_PIECE;
    for (;;) {
        int code = 0;
        out->start = source->data ? source->data + *at : NULL;
        if (!source->data) {
            free(out->bytes);
            out->start = out->bytes = malloc(size + 1);
            code = out->bytes ? bang_source_read(source, out->bytes, (size_t)*at, size, err)
                              : bang_fail_memory(err);
        }
        if (code == 0)
            code = bang_pickle_parse(&out->pickle, out->start, size, source->name, err);
        if (code == 0)
            *at += out->pickle.used;
        if (code == 0 || !out->pickle.is_cut || size == most)
            return code;
        bang_pickle_release(&out->pickle);
        size = size > most / 8 ? most : 8 * size;
    }
}

struct storage {
    const bang_value *key;
    size_t size; /* bytes of a number */
    uint64_t offset, bytes;
    int found;
};

struct legacy {
    size_t file;
    const bang_source *source;
    struct storage *storages; /* (count) by key */
    size_t count;
};

static int compare_keys(const bang_value *a, const bang_value *b)
{
    size_t size = a->text.size < b->text.size ? a->text.size : b->text.size;
    int order = size > 0 ? memcmp(a->text.bytes, b->text.bytes, size) : 0;
    if (order != 0)
        return order;
    return a->text.size < b->text.size ? -1 : a->text.size > b->text.size;
}

static int by_key(const void *left, const void *right)
{
    const struct storage *a = left, *b = right;
    int order = compare_keys(a->key, b->key);
    if (order != 0)
        return order;
    return a->size < b->size ? -1 : a->size > b->size;
}

static struct storage *find_key(const struct legacy *l, const bang_value *key)
{
    size_t from = 0, to = l->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = compare_keys(key, l->storages[middle].key);
        if (order == 0)
            return &l->storages[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

static int find_storage(bang_torch_place *out, void *context, const bang_value *key, size_t size,
                        bang_error *err)
{
    const struct legacy *l = context;
    const struct storage *storage = find_key(l, key);
    if (!storage || !storage->found || storage->size != size)
        return bang_fail(err, BANG_EDATA,
                         "%s: the bytes of a storage are missing: the file is damaged",
                         l->source->name);
    *out = (bang_torch_place){l->file, storage->offset, storage->bytes};
    return 0;
}

/* Every storage that the object uses once, with the size of its numbers, which
 * the data do not tell. */
static int list_storages(struct legacy *l, const bang_pickle *object, bang_error *err)
{
    size_t count = object->storages.list.count;
    l->storages = calloc(count + 1, sizeof *l->storages);
    if (!l->storages)
        return bang_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const bang_value *storage = object->storages.list.items[i];
        bang_dtype dtype;
        int untyped;
        char shown[BANG_SHOWN];
        if (bang_torch_dtype(&dtype, &untyped, storage->storage.type) < 0)
            return bang_fail(err, BANG_EDATA, "%s: a storage of type %s is not known: convert it",
                             l->source->name, bang_value_show(shown, storage->storage.type));
        l->storages[i] =
            (struct storage){.key = storage->storage.key, .size = bang_dtype_size(dtype)};
    }
    qsort(l->storages, count, sizeof *l->storages, by_key);
    for (size_t i = 0; i < count; i++) {
        if (l->count > 0 && compare_keys(l->storages[l->count - 1].key, l->storages[i].key) == 0) {
            if (l->storages[l->count - 1].size != l->storages[i].size)
                return bang_fail(err, BANG_EDATA, "%s: a storage has two number types: damaged",
                                 l->source->name);
            continue;
        }
        l->storages[l->count++] = l->storages[i];
    }
    return 0;
}

/* The storages follow in the order of the list, each behind its number of numbers. */
static int place_storages(struct legacy *l, const bang_value *keys, uint64_t at, bang_error *err)
{
    if (keys->kind != BANG_VALUE_LIST)
        return bang_fail(err, BANG_EDATA, "%s: has no list of storages: damaged", l->source->name);
    for (size_t i = 0; i < keys->list.count; i++) {
        const bang_value *key = keys->list.items[i];
        struct storage *storage = key->kind == BANG_VALUE_TEXT ? find_key(l, key) : NULL;
        unsigned char bytes[8];
        uint64_t count = 0;
        if (!storage || storage->found)
            return bang_fail(err, BANG_EDATA,
                             "%s: its list of storages has one that is nobody's: damaged",
                             l->source->name);
        int code = bang_source_read(l->source, bytes, (size_t)at, sizeof bytes, err);
        if (code < 0)
            return code;
        for (int b = 7; b >= 0; b--)
            count = count << 8 | bytes[b];
        at += sizeof bytes;
        if (count > (l->source->size - at) / storage->size)
            return bang_fail(err, BANG_EDATA, "%s: ends within a storage: the file is cut",
                             l->source->name);
        storage->found = 1;
        storage->offset = at;
        storage->bytes = count * storage->size;
        at += storage->bytes;
    }
    return 0;
}

enum { MAGIC, PROTOCOL, SYSTEM, OBJECT, KEYS, PICKLE_COUNT };

/* The byte order of the machine (SYSTEM) does not matter: PyTorch itself writes
 * and reads these storages little-endian everywhere. */
static int open_pickles(struct held *held, struct legacy *l, bang_checkpoint *c, bang_error *err)
{
    bang_torch_list list = {0};
    uint64_t at = 0, start = 0;
    int code = 0;
    for (int i = 0; code == 0 && i < PICKLE_COUNT; i++) {
        start = i == OBJECT ? at : start;
        code = next(&held[i], &at, l->source, err);
        const bang_value *root = held[i].pickle.root;
        if (code == 0 && i == PROTOCOL &&
            (root->kind != BANG_VALUE_INT || root->integer != VERSION))
            code = bang_fail(err, BANG_EDATA, "%s: is of another version of torch.save than %d",
                             l->source->name, VERSION);
        if (code == 0 && i == OBJECT)
            code = bang_digest_bytes(c->files[l->file].header_digest, held[i].start,
                                     held[i].pickle.used, err);
    }
    if (code == 0)
        code = bang_torch_collect(&list, c, l->file, &held[OBJECT].pickle, err);
    if (code == 0)
        code = list_storages(l, &held[OBJECT].pickle, err);
    if (code == 0)
        code = place_storages(l, held[KEYS].pickle.root, at, err);
    if (code == 0)
        code = bang_torch_add(c, &list, l->source->name, find_storage, l, 0, err);
    free(list.items);
    free(l->storages);
    return code;
}

int bang_open_legacy_pytorch(bang_checkpoint *c, size_t file, bang_error *err)
{
    struct legacy l = {.file = file, .source = bang_checkpoint_source(c, file)};
    struct held held[PICKLE_COUNT] = {0};
    enum old old = look(l.source);
    if (old == TAR)
        return bang_fail(err, BANG_EDATA,
                         "%s: a tar file as torch.save wrote before 0.1.10: load it with PyTorch "
                         "and save its state_dict again",
                         l.source->name);
    if (old == BARE)
        return bang_fail(err, BANG_EDATA,
                         "%s: a pickle that torch.save did not write: nothing is run: save a "
                         "state_dict with torch.save(model.state_dict(), ...)",
                         l.source->name);
    int code = open_pickles(held, &l, c, err);
    for (int i = 0; i < PICKLE_COUNT; i++)
        release(&held[i]);
    c->format = "pytorch-legacy";
    return code;
}
