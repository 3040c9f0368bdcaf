#include "store/zip.h"

#include <stdlib.h>
#include <string.h>

enum {
    END = 22,     /* bytes of the record at the end, without its comment */
    LOCATOR = 20, /* of what says where ZIP64's record is */
    END64 = 56,   /* of that record */
    CENTRAL = 46, /* of an entry of the directory, without its name */
    LOCAL = 30,   /* of the header before a member's bytes */
    COMMENT_MOST = 65535,
    DIRECTORY_MOST = 1 << 30, /* held in memory; some ten million members */
    DEFLATE_MOST = 1032,      /* bytes that one byte can unpack to */
};

static uint64_t number(const unsigned char *bytes, int size)
{
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static int fail(const bang_source *source, const char *why, bang_error *err)
{
    return bang_fail(err, BANG_EDATA, "%s: %s: the zip file is damaged", source->name, why);
}

static int fail_member(const bang_source *source, const char *member, const char *why,
                       bang_error *err)
{
    char shown[BANG_SHOWN];
    return bang_fail(err, BANG_EDATA, "%s: member \"%s\": %s", source->name,
                     bang_bytes_show(shown, member), why);
}

/* What the end of the file says about the directory. */
struct end {
    uint64_t at; /* where the records of the end begin: everything else lies before */
    uint64_t disk, directory_disk, count_here, count, size, offset;
};

/* The record lies before a comment of unknown length, so its signature is looked
 * for from the end on; what it says of the comment must lead to the file's end. */
static int find_end(struct end *out, const bang_source *source, bang_error *err)
{
    size_t tail = source->size < END + COMMENT_MOST ? source->size : END + COMMENT_MOST;
    unsigned char *bytes = malloc(tail + 1);
    if (!bytes)
        return bang_fail_memory(err);
    int code = bang_source_read(source, bytes, source->size - tail, tail, err);
    int found = 0;
    for (size_t back = END; code == 0 && !found && back <= tail; back++) {
        const unsigned char *at = bytes + tail - back;
        if (memcmp(at, "PK\5\6", 4) != 0 || number(at + 20, 2) != back - END)
            continue;
        found = 1;
        *out = (struct end){.at = source->size - back,
                            .disk = number(at + 4, 2),
                            .directory_disk = number(at + 6, 2),
                            .count_here = number(at + 8, 2),
                            .count = number(at + 10, 2),
                            .size = number(at + 12, 4),
                            .offset = number(at + 16, 4)};
    }
    free(bytes);
    if (code == 0 && !found)
        code = bang_fail(err, BANG_EDATA, "%s: has no end record of a zip file: the file is cut",
                         source->name);
    return code;
}

/* A field of the old record is full or says the same. */
static int merge(uint64_t *field, uint64_t full, uint64_t value)
{
    if (*field != full && *field != value)
        return -1;
    *field = value;
    return 0;
}

/* ZIP64's record, if there is one. */
static int find_end64(struct end *end, const bang_source *source, bang_error *err)
{
    unsigned char bytes[END64];
    if (end->at < LOCATOR)
        return 0;
    int code = bang_source_read(source, bytes, (size_t)end->at - LOCATOR, LOCATOR, err);
    if (code < 0 || memcmp(bytes, "PK\6\7", 4) != 0)
        return code;
    uint64_t at = number(bytes + 8, 8), limit = end->at - LOCATOR;
    uint64_t disk = number(bytes + 4, 4), disks = number(bytes + 16, 4);
    if (limit < END64 || at > limit - END64)
        return fail(source, "its ZIP64 record lies outside", err);
    code = bang_source_read(source, bytes, (size_t)at, END64, err);
    if (code < 0)
        return code;
    if (memcmp(bytes, "PK\6\6", 4) != 0)
        return fail(source, "its ZIP64 record is not where it should be", err);
    if (merge(&end->disk, 0xffff, number(bytes + 16, 4)) < 0 ||
        merge(&end->directory_disk, 0xffff, number(bytes + 20, 4)) < 0 ||
        merge(&end->count_here, 0xffff, number(bytes + 24, 8)) < 0 ||
        merge(&end->count, 0xffff, number(bytes + 32, 8)) < 0 ||
        merge(&end->size, 0xffffffff, number(bytes + 40, 8)) < 0 ||
        merge(&end->offset, 0xffffffff, number(bytes + 48, 8)) < 0)
        return fail(source, "its two end records disagree", err);
    if (disk != 0 || disks > 1)
        end->disk = 1;
    end->at = at;
    return 0;
}

static int check_end(const struct end *end, const bang_source *source, bang_error *err)
{
    if (end->disk != 0 || end->directory_disk != 0 || end->count_here != end->count)
        return bang_fail(err, BANG_EDATA, "%s: one of several parts of a zip file: join them first",
                         source->name);
    if (end->offset > end->at || end->size > end->at - end->offset)
        return fail(source, "its directory lies outside", err);
    if (end->size > DIRECTORY_MOST)
        return bang_fail(err, BANG_EDATA, "%s: a directory of %llu bytes: at most %d are read",
                         source->name, (unsigned long long)end->size, DIRECTORY_MOST);
    if (end->count > end->size / CENTRAL)
        return fail(source, "its directory is too short for its members", err);
    return 0;
}

/* The 8-byte values for fields of the entry that are full, in their fixed order. */
static int read_extra(bang_zip_member *member, const unsigned char *extra, size_t size)
{
    uint64_t *fields[] = {&member->size, &member->packed, &member->header};
    while (size >= 4) {
        size_t id = (size_t)number(extra, 2), length = (size_t)number(extra + 2, 2);
        if (length > size - 4)
            return -1;
        if (id == 1) {
            const unsigned char *at = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (*fields[i] != 0xffffffff)
                    continue;
                if (length < 8)
                    return -1;
                *fields[i] = number(at, 8);
                at += 8;
                length -= 8;
            }
            return 0;
        }
        extra += 4 + length;
        size -= 4 + length;
    }
    return 0;
}

static int check_member(const bang_zip_member *member, unsigned flags, int method,
                        const bang_source *source, bang_error *err)
{
    char shown[BANG_SHOWN];
    if (flags & (1 | 1 << 6 | 1 << 13))
        return fail_member(source, member->name, "is encrypted: decrypt the file first", err);
    if (method != BANG_ZIP_STORED && method != BANG_ZIP_DEFLATED)
        return bang_fail(err, BANG_EDATA,
                         "%s: member \"%s\": compression method %d is not read: pack it with "
                         "deflate or not at all",
                         source->name, bang_bytes_show(shown, member->name), method);
    if (method == BANG_ZIP_STORED && member->packed != member->size)
        return fail_member(source, member->name, "is stored but has two sizes: damaged", err);
    if (member->size > PTRDIFF_MAX ||
        (method == BANG_ZIP_DEFLATED && member->size / DEFLATE_MOST > member->packed))
        return fail_member(source, member->name, "cannot be as large as it says: damaged", err);
    return 0;
}

/* One entry of the directory; *used are its bytes. */
static int read_entry(bang_zip_member *member, char **names, size_t *used,
                      const unsigned char *bytes, size_t left, const bang_source *source,
                      bang_error *err)
{
    if (left < CENTRAL || memcmp(bytes, "PK\1\2", 4) != 0)
        return fail(source, "its directory ends too early", err);
    size_t name = (size_t)number(bytes + 28, 2), extra = (size_t)number(bytes + 30, 2);
    size_t comment = (size_t)number(bytes + 32, 2);
    if (name + extra + comment > left - CENTRAL)
        return fail(source, "its directory ends within an entry", err);
    if (name == 0 || memchr(bytes + CENTRAL, 0, name))
        return fail(source, "a member has no name or a zero byte in it", err);
    *member = (bang_zip_member){.name = *names,
                                .method = (int)number(bytes + 10, 2),
                                .crc = (uint32_t)number(bytes + 16, 4),
                                .packed = number(bytes + 20, 4),
                                .size = number(bytes + 24, 4),
                                .header = number(bytes + 42, 4)};
    memcpy(*names, bytes + CENTRAL, name);
    (*names)[name] = '\0';
    *names += name + 1;
    *used = CENTRAL + name + extra + comment;
    if (read_extra(member, bytes + CENTRAL + name, extra) < 0)
        return fail_member(source, member->name, "its large sizes are cut: damaged", err);
    if (number(bytes + 34, 2) != 0)
        return fail_member(source, member->name, "lies in another part of the zip file", err);
    return check_member(member, (unsigned)number(bytes + 8, 2), member->method, source, err);
}

static int read_directory(bang_zip *zip, const struct end *end, const bang_source *source,
                          bang_error *err)
{
    size_t size = (size_t)end->size, count = (size_t)end->count, at = 0;
    unsigned char *bytes = malloc(size + 1);
    zip->members = calloc(count + 1, sizeof *zip->members);
    zip->names = malloc(size + 1); /* a name and its zero are shorter than its entry */
    int code = bytes && zip->members && zip->names ? 0 : bang_fail_memory(err);
    if (code == 0)
        code = bang_source_read(source, bytes, (size_t)end->offset, size, err);
    char *names = zip->names;
    for (zip->count = 0; code == 0 && zip->count < count; zip->count++) {
        size_t used = 0;
        code = read_entry(&zip->members[zip->count], &names, &used, bytes + at, size - at, source,
                          err);
        at += used;
    }
    if (code == 0 && size - at >= 4 && memcmp(bytes + at, "PK\1\2", 4) == 0)
        code = fail(source, "its directory has more members than it says", err);
    free(bytes);
    return code;
}

static int by_place(const void *left, const void *right)
{
    const bang_zip_member *a = left, *b = right;
    return a->header < b->header ? -1 : a->header > b->header;
}

static int by_name(const void *left, const void *right)
{
    const bang_zip_member *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* The header before the member's bytes, which begin behind it; it must say what
 * the directory says. limit: where the next member or the directory begins. */
static int read_local(bang_zip_member *member, uint64_t limit, char *name,
                      const bang_source *source, bang_error *err)
{
    unsigned char bytes[LOCAL];
    if (member->header > limit || limit - member->header < LOCAL)
        return fail_member(source, member->name, "its header overlaps with another's: damaged",
                           err);
    int code = bang_source_read(source, bytes, (size_t)member->header, LOCAL, err);
    if (code < 0)
        return code;
    size_t length = (size_t)number(bytes + 26, 2), extra = (size_t)number(bytes + 28, 2);
    uint64_t left = limit - member->header - LOCAL;
    if (memcmp(bytes, "PK\3\4", 4) != 0 || number(bytes + 8, 2) != (uint64_t)member->method ||
        length != strlen(member->name) || length + extra > left)
        return fail_member(source, member->name, "its header is not what the directory says", err);
    code = bang_source_read(source, name, (size_t)member->header + LOCAL, length, err);
    if (code < 0)
        return code;
    if (memcmp(name, member->name, length) != 0)
        return fail_member(source, member->name, "is called otherwise in its header", err);
    member->offset = member->header + LOCAL + length + extra;
    if (member->packed > left - length - extra)
        return fail_member(source, member->name, "its bytes overlap with what follows: damaged",
                           err);
    return 0;
}

static int place_members(bang_zip *zip, const bang_source *source, bang_error *err)
{
    char *name = malloc(COMMENT_MOST + 1);
    if (!name)
        return bang_fail_memory(err);
    int code = 0;
    qsort(zip->members, zip->count, sizeof *zip->members, by_place);
    for (size_t i = 0; code == 0 && i < zip->count; i++)
        code = read_local(&zip->members[i],
                          i + 1 < zip->count ? zip->members[i + 1].header : zip->directory, name,
                          source, err);
    free(name);
    qsort(zip->members, zip->count, sizeof *zip->members, by_name);
    for (size_t i = 1; code == 0 && i < zip->count; i++)
        if (strcmp(zip->members[i - 1].name, zip->members[i].name) == 0)
            code = fail_member(source, zip->members[i].name, "is there twice: damaged", err);
    return code;
}

int bang_zip_read(bang_zip *out, const bang_source *source, bang_error *err)
{
    struct end end = {0};
    *out = (bang_zip){0};
    int code = find_end(&end, source, err);
    if (code == 0)
        code = find_end64(&end, source, err);
    if (code == 0)
        code = check_end(&end, source, err);
    if (code == 0) {
        out->directory = end.offset;
        out->directory_size = end.size;
        code = read_directory(out, &end, source, err);
    }
    if (code == 0)
        code = place_members(out, source, err);
    if (code < 0)
        bang_zip_release(out);
    return code;
}

void bang_zip_release(bang_zip *zip)
{
    free(zip->members);
    free(zip->names);
    *zip = (bang_zip){0};
}

const bang_zip_member *bang_zip_find(const bang_zip *zip, const char *name)
{
    size_t from = 0, to = zip->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(name, zip->members[middle].name);
        if (order == 0)
            return &zip->members[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}
