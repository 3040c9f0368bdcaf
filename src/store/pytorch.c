/* What torch.save writes since version 1.6: a zip file with a pickle, and a
 * member for the bytes of each storage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/digest.h"
#include "bang/base/text.h"
#include "store/npy.h"
#include "store/pytorch.h"
#include "store/zip.h"

int bang_is_zip(const bang_source *source)
{
    char start[4];
    return source->size >= 22 && bang_source_read(source, start, 0, 4, NULL) == 0 &&
           (memcmp(start, "PK\3\4", 4) == 0 || memcmp(start, "PK\5\6", 4) == 0);
}

struct archive {
    bang_checkpoint *c;
    size_t file;
    const bang_source *source;
    bang_zip zip;
    const bang_zip_member *pickle;
    size_t prefix;    /* bytes of the folder that all members are in */
    size_t *unpacked; /* (members) file of the checkpoint for a compressed one; 0: not yet */
    char *name;       /* room for the name of a member */
    size_t name_size;
};

/* The member of that name in the archive's folder, or NULL. */
static const bang_zip_member *member(struct archive *a, const char *folder, const char *name,
                                     size_t size)
{
    size_t before = strlen(folder), need = a->prefix + before + size + 1;
    if (memchr(name, 0, size))
        return NULL;
    if (need > a->name_size) {
        char *grown = realloc(a->name, need);
        if (!grown)
            return NULL;
        a->name = grown;
        a->name_size = need;
    }
    memcpy(a->name, a->pickle->name, a->prefix);
    memcpy(a->name + a->prefix, folder, before);
    memcpy(a->name + a->prefix + before, name, size);
    a->name[need - 1] = '\0';
    return bang_zip_find(&a->zip, a->name);
}

static int find_storage(bang_torch_place *out, void *context, const bang_value *key, size_t size,
                        bang_error *err)
{
    struct archive *a = context;
    const bang_zip_member *found = member(a, "data/", key->text.bytes, key->text.size);
    (void)size;
    if (!found)
        return bang_fail(err, BANG_EDATA,
                         "%s: the bytes of a storage are missing: the file is damaged",
                         a->source->name);
    *out = (bang_torch_place){.file = a->file, .offset = found->offset, .bytes = found->size};
    if (found->method == BANG_ZIP_STORED)
        return 0;
    size_t *file = &a->unpacked[found - a->zip.members];
    bang_packed packed = {a->file, found->offset, found->packed, found->crc};
    int code =
        *file ? 0 : bang_checkpoint_add_packed(a->c, file, found->name, found->size, &packed, err);
    out->file = *file;
    out->offset = 0;
    return code;
}

/* Since 2.1 the archive says in which byte order its numbers are. */
static int read_order(int *swapped, struct archive *a, bang_error *err)
{
    const bang_zip_member *order = member(a, "", "byteorder", strlen("byteorder"));
    char *text;
    *swapped = 0;
    if (!order)
        return 0;
    int code = bang_zip_load(&text, a->source, order, 64, err);
    if (code < 0)
        return code;
    *swapped = strcmp(text, "big") == 0;
    if (!*swapped && strcmp(text, "little") != 0)
        code = bang_fail(err, BANG_EDATA, "%s: its byte order is neither little nor big",
                         a->source->name);
    free(text);
    return code;
}

/* A pickle lies in the file as it is. One that is deflated, as other tools do, may
 * be a thousand times what the file has, so it must be small. */
static int load_pickle(char **bytes, const struct archive *a, bang_error *err)
{
    if (a->pickle->method != BANG_ZIP_STORED && a->pickle->size > BANG_PICKLE_UNPACKED_MOST)
        return bang_fail(err, BANG_EDATA,
                         "%s: its data.pkl unpacks to %llu bytes, of a compressed one at most %d "
                         "are read: store it uncompressed",
                         a->source->name, (unsigned long long)a->pickle->size,
                         BANG_PICKLE_UNPACKED_MOST);
    return bang_zip_load(bytes, a->source, a->pickle, BANG_PICKLE_MOST, err);
}

static int open_archive(struct archive *a, bang_error *err)
{
    char *bytes = NULL;
    int swapped = 0;
    bang_pickle pickle = {0};
    bang_torch_list list = {0};
    a->prefix = strlen(a->pickle->name) - strlen("data.pkl");
    a->unpacked = calloc(a->zip.count, sizeof *a->unpacked);
    int code = a->unpacked ? read_order(&swapped, a, err) : bang_fail_memory(err);
    if (code == 0)
        code = load_pickle(&bytes, a, err);
    if (code == 0)
        code = bang_digest_bytes(a->c->files[a->file].header_digest, bytes, (size_t)a->pickle->size,
                                 err);
    if (code == 0)
        code = bang_pickle_parse(&pickle, bytes, (size_t)a->pickle->size, a->source->name, err);
    if (code == 0)
        code = bang_torch_collect(&list, a->c, a->file, &pickle, err);
    if (code == 0)
        code = bang_torch_add(a->c, &list, a->source->name, find_storage, a, swapped, err);
    a->c->format = "pytorch";
    free(list.items);
    bang_pickle_release(&pickle);
    free(bytes);
    free(a->unpacked);
    free(a->name);
    return code;
}

/* What kind of archive the members make. */
static int open_members(struct archive *a, bang_error *err)
{
    size_t arrays = 0, pickles = 0, folders = 0;
    for (size_t i = 0; i < a->zip.count; i++) {
        const bang_zip_member *m = &a->zip.members[i];
        const char *slash = strchr(m->name, '/');
        arrays += (size_t)bang_text_ends_with(m->name, ".npy");
        folders += (size_t)bang_text_ends_with(m->name, "/");
        if (strcmp(slash ? slash + 1 : m->name, "data.pkl") == 0) {
            pickles++;
            a->pickle = m;
        }
    }
    if (pickles == 1)
        return open_archive(a, err);
    if (pickles > 1)
        return bang_fail(err, BANG_EDATA, "%s: holds %zu files data.pkl: which one is not clear",
                         a->source->name, pickles);
    if (arrays > 0 && arrays + folders == a->zip.count)
        return bang_open_npz(a->c, a->file, &a->zip, err);
    return bang_fail(err, BANG_EDATA,
                     "%s: a zip file without data.pkl of PyTorch and not only of .npy arrays: no "
                     "checkpoint",
                     a->source->name);
}

int bang_open_zip(bang_checkpoint *c, size_t file, bang_error *err)
{
    /* Files that are added may move c->files, but not what input points to. */
    struct archive a = {.c = c, .file = file, .source = bang_checkpoint_source(c, file)};
    int code = bang_zip_read(&a.zip, a.source, err);
    if (code == 0)
        code = open_members(&a, err);
    bang_zip_release(&a.zip);
    return code;
}
