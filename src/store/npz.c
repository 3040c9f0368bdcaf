/* NumPy's arrays as checkpoints: one of an .npy file, all of an .npz file. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/digest.h"
#include "store/npy.h"

enum { HEADER_MOST = 1 << 20 }; /* bytes; NumPy itself reads 10000 unless told otherwise */

int bang_is_npy(const bang_source *source)
{
    unsigned char start[BANG_NPY_START];
    return source->size >= sizeof start &&
           bang_source_read(source, start, 0, sizeof start, NULL) == 0 &&
           bang_npy_head_size(start, sizeof start) > 0;
}

/* The array as a tensor; base is where its npy file, of size bytes, begins. */
static int add(bang_checkpoint *c, const bang_npy_head *head, const char *name, size_t file,
               uint64_t base, uint64_t size, bang_error *err)
{
    const char *path = c->files[file].name;
    char shown[BANG_SHOWN];
    ptrdiff_t strides[BANG_RANK_MAX];
    size_t step = 1;
    if (head->start > size || head->bytes != size - head->start)
        return bang_fail(err, BANG_EDATA,
                         "%s: array \"%s\": its shape needs %zu bytes of numbers, but %llu follow: "
                         "damaged",
                         path, bang_bytes_show(shown, name), head->bytes,
                         (unsigned long long)(head->start > size ? 0 : size - head->start));
    if (head->big && head->dtype == BANG_C64)
        return bang_fail(err, BANG_EDATA,
                         "%s: array \"%s\": big-endian complex numbers are not read: convert it",
                         path, bang_bytes_show(shown, name));
    for (int i = 0; i < head->rank; i++) { /* an empty array has none to step over */
        strides[i] = head->bytes > 0 ? (ptrdiff_t)step : 1;
        step *= head->shape[i];
    }
    bang_entry entry = {.name = name,
                        .dtype = head->dtype,
                        .rank = head->rank,
                        .shape = head->shape,
                        .strides = head->fortran && head->rank > 1 ? strides : NULL,
                        .file = file,
                        .offset = base + head->start,
                        .swapped = head->big};
    return bang_checkpoint_add(c, &entry, err);
}

int bang_open_npy(bang_checkpoint *c, size_t file, bang_error *err)
{
    const bang_source *source = bang_checkpoint_source(c, file);
    bang_npy_head head;
    char *bytes = NULL;
    int code = bang_npy_head_read(&head, source, err);
    if (code < 0)
        return code;
    bytes = malloc(head.start + 1);
    code = bytes ? bang_source_read(source, bytes, 0, head.start, err) : bang_fail_memory(err);
    if (code == 0)
        code = bang_digest_bytes(c->files[file].header_digest, bytes, head.start, err);
    free(bytes);
    c->format = "npy";
    return code < 0 ? code : add(c, &head, "array", file, 0, source->size, err);
}

/* The header of a member, which may be compressed. */
static int read_head(bang_npy_head *out, const bang_source *zip, const bang_zip_member *member,
                     bang_error *err)
{
    unsigned char start[BANG_NPY_START], *bytes = NULL;
    char shown[BANG_SHOWN];
    size_t got = 0;
    int code = bang_zip_peek(start, &got, sizeof start, zip, member, err);
    size_t size = code == 0 ? bang_npy_head_size(start, got) : 0;
    if (code == 0 && (size == 0 || size > member->size || size > HEADER_MOST))
        code = bang_fail(err, BANG_EDATA, "%s: member \"%s\": is no npy file", zip->name,
                         bang_bytes_show(shown, member->name));
    if (code == 0 && !(bytes = malloc(size)))
        code = bang_fail_memory(err);
    if (code == 0)
        code = bang_zip_peek(bytes, &got, size, zip, member, err);
    if (code == 0) {
        bang_source source;
        bang_source_memory(&source, bytes, size, bang_bytes_show(shown, member->name));
        bang_error why = {0};
        code = bang_npy_head_read(out, &source, &why);
        if (code < 0)
            code = bang_fail(err, code, "%s: %s", zip->name, why.message);
    }
    free(bytes);
    return code;
}

static int add_member(bang_checkpoint *c, size_t file, const bang_zip_member *member,
                      bang_error *err)
{
    const bang_source *source = bang_checkpoint_source(c, file);
    bang_npy_head head;
    size_t length = strlen(member->name) - strlen(".npy"), place = file;
    char *name = strndup(member->name, length);
    json_t *text = json_stringn(member->name, length);
    int code = name ? 0 : bang_fail_memory(err);
    if (code == 0 && !text)
        code = bang_fail(err, BANG_EDATA, "%s: an array's name is no UTF-8", source->name);
    if (code == 0)
        code = read_head(&head, source, member, err);
    if (code == 0 && member->method == BANG_ZIP_DEFLATED) {
        bang_packed packed = {file, member->offset, member->packed, member->crc};
        code = bang_checkpoint_add_packed(c, &place, member->name, member->size, &packed, err);
    }
    if (code == 0)
        code = add(c, &head, name, place, place == file ? member->offset : 0, member->size, err);
    json_decref(text);
    free(name);
    return code;
}

static int by_place(const void *left, const void *right)
{
    const bang_zip_member *const *a = left, *const *b = right;
    return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

static int digest_directory(bang_checkpoint *c, size_t file, const bang_zip *zip, bang_error *err)
{
    char *bytes = malloc((size_t)zip->directory_size + 1);
    if (!bytes)
        return bang_fail_memory(err);
    int code = bang_source_read(bang_checkpoint_source(c, file), bytes, (size_t)zip->directory,
                                (size_t)zip->directory_size, err);
    if (code == 0)
        code = bang_digest_bytes(c->files[file].header_digest, bytes, (size_t)zip->directory_size,
                                 err);
    free(bytes);
    return code;
}

int bang_open_npz(bang_checkpoint *c, size_t file, const bang_zip *zip, bang_error *err)
{
    const bang_zip_member **members = calloc(zip->count + 1, sizeof *members);
    int code = members ? digest_directory(c, file, zip, err) : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < zip->count; i++)
        members[i] = &zip->members[i];
    if (code == 0)
        qsort(members, zip->count, sizeof *members, by_place);
    for (size_t i = 0; code == 0 && i < zip->count; i++)
        if (members[i]->name[strlen(members[i]->name) - 1] != '/')
            code = add_member(c, file, members[i], err);
    free(members);
    c->format = "npz";
    return code;
}
