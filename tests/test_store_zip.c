/* Directories of zip files, made here byte by byte so that each part can lie. */
#include "testing.h"

#include <unistd.h>
#include <zlib.h>

#include "bang/base/text.h"
#include "store/checkpoint.h"
#include "store/zip.h"

/* What is to be wrong, or at least unusual; all zero: a usual file. */
struct wish {
    int zip64;           /* all sizes and the end as ZIP64 has them */
    unsigned flags;      /* of the members */
    int method;          /* instead of the right one */
    int disk;            /* another part of several */
    int twice;           /* the second member is called like the first */
    const char *local;   /* what the first local header calls it */
    const char *comment; /* of the file */
    long more_members;   /* than there are */
    long more_size;      /* of the first member, both times it is said */
    long more_unpacked;  /* the same, of its unpacked size only */
    long move_first;     /* its local header */
    long move_directory; /* what the end says of it */
    long grow_directory;
    unsigned wrong_crc;
};

static void add_number(bang_text *out, uint64_t value, int size)
{
    for (int i = 0; i < size; i++) {
        char byte = (char)(value >> (8 * i));
        bang_text_add_bytes(out, &byte, 1);
    }
}

struct part {
    const char *name;
    unsigned char bytes[256];
    size_t packed, size, offset;
    uint32_t crc;
    int method;
};

static void pack(struct part *part, const char *name, const char *data, size_t size, int method)
{
    *part = (struct part){.name = name, .size = size, .packed = size, .method = method};
    part->crc = (uint32_t)crc32(0, (const unsigned char *)data, (uInt)size);
    memcpy(part->bytes, data, method ? 0 : size);
    if (!method)
        return;
    z_stream stream = {.next_in = (unsigned char *)data,
                       .avail_in = (uInt)size,
                       .next_out = part->bytes,
                       .avail_out = sizeof part->bytes};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    part->packed = stream.total_out;
    deflateEnd(&stream);
}

static void add_local(bang_text *out, struct part *part, const struct wish *wish, const char *name)
{
    part->offset = out->size;
    bang_text_add_bytes(out, "PK\3\4", 4);
    add_number(out, 20, 2);
    add_number(out, wish->flags, 2);
    add_number(out, (uint64_t)(wish->method ? wish->method : part->method), 2);
    add_number(out, 0, 4);
    add_number(out, part->crc, 4);
    add_number(out, part->packed, 4);
    add_number(out, part->size, 4);
    add_number(out, strlen(name), 2);
    add_number(out, 7, 2); /* an extra field that the directory does not have */
    bang_text_add(out, "%s", name);
    bang_text_add_bytes(out, "FB\3\0abc", 7);
    bang_text_add_bytes(out, (char *)part->bytes, part->packed);
}

static void add_central(bang_text *out, const struct part *part, const struct wish *wish, int first)
{
    long more = first ? wish->more_size : 0, unpacked = first ? wish->more_unpacked : 0;
    uint64_t packed = part->packed + (uint64_t)more;
    uint64_t size = part->size + (uint64_t)more + (uint64_t)unpacked;
    uint64_t offset = part->offset + (uint64_t)(first ? wish->move_first : 0);
    bang_text_add_bytes(out, "PK\1\2", 4);
    add_number(out, 20, 2);
    add_number(out, 20, 2);
    add_number(out, wish->flags, 2);
    add_number(out, (uint64_t)(wish->method ? wish->method : part->method), 2);
    add_number(out, 0, 4);
    add_number(out, part->crc ^ wish->wrong_crc, 4);
    add_number(out, wish->zip64 ? UINT32_MAX : packed, 4);
    add_number(out, wish->zip64 ? UINT32_MAX : size, 4);
    add_number(out, strlen(part->name), 2);
    add_number(out, wish->zip64 ? 28 : 0, 2);
    add_number(out, 0, 2);
    add_number(out, (uint64_t)wish->disk, 2);
    add_number(out, 0, 6);
    add_number(out, wish->zip64 ? UINT32_MAX : offset, 4);
    bang_text_add(out, "%s", part->name);
    if (wish->zip64) {
        add_number(out, 1, 2);
        add_number(out, 24, 2);
        add_number(out, size, 8);
        add_number(out, packed, 8);
        add_number(out, offset, 8);
    }
}

static void add_end(bang_text *out, size_t count, size_t offset, const struct wish *wish)
{
    size_t end = out->size;
    uint64_t members = count + (uint64_t)wish->more_members;
    uint64_t size = end - offset + (uint64_t)wish->grow_directory;
    uint64_t start = offset + (uint64_t)wish->move_directory;
    if (wish->zip64) {
        bang_text_add_bytes(out, "PK\6\6", 4);
        add_number(out, 44, 8);
        add_number(out, 45, 2);
        add_number(out, 45, 2);
        add_number(out, 0, 8);
        add_number(out, members, 8);
        add_number(out, members, 8);
        add_number(out, size, 8);
        add_number(out, start, 8);
        bang_text_add_bytes(out, "PK\6\7", 4);
        add_number(out, 0, 4);
        add_number(out, end, 8);
        add_number(out, 1, 4);
    }
    bang_text_add_bytes(out, "PK\5\6", 4);
    add_number(out, (uint64_t)wish->disk, 2);
    add_number(out, 0, 2);
    add_number(out, wish->zip64 ? 0xffff : members, 2);
    add_number(out, wish->zip64 ? 0xffff : members, 2);
    add_number(out, wish->zip64 ? UINT32_MAX : size, 4);
    add_number(out, wish->zip64 ? UINT32_MAX : start, 4);
    add_number(out, wish->comment ? strlen(wish->comment) : 0, 2);
    bang_text_add(out, "%s", wish->comment ? wish->comment : "");
}

static const char text[] = "some bytes, of which some are the same";

/* Two members: "b/stored" and "a/packed", both of text. */
static void make_zip(bang_text *out, const struct wish *wish)
{
    struct part parts[2];
    pack(&parts[0], "b/stored", text, sizeof text, BANG_ZIP_STORED);
    pack(&parts[1], wish->twice ? "b/stored" : "a/packed", text, sizeof text, BANG_ZIP_DEFLATED);
    for (int i = 0; i < 2; i++)
        add_local(out, &parts[i], wish, i == 0 && wish->local ? wish->local : parts[i].name);
    size_t offset = out->size;
    for (int i = 0; i < 2; i++)
        add_central(out, &parts[i], wish, i == 0);
    add_end(out, 2, offset, wish);
    assert_false(out->failed);
}

static int read_zip(bang_zip *zip, bang_source *source, bang_text *bytes, const struct wish *wish,
                    bang_error *err)
{
    make_zip(bytes, wish);
    bang_source_memory(source, bytes->data, bytes->size, "x.zip");
    return bang_zip_read(zip, source, err);
}

static void test_members(void **state)
{
    (void)state;
    static const struct wish wishes[] = {
        {0},
        {.zip64 = 1},
        {.comment = "PK\5\6 is no end: twenty-two bytes must follow it"},
        {.zip64 = 1, .comment = "x"},
        {.flags = 1 << 3}, /* sizes behind the data: the directory has them too */
    };
    for (size_t w = 0; w < sizeof wishes / sizeof *wishes; w++) {
        bang_zip zip;
        bang_source source;
        bang_text bytes = {0};
        bang_error err = {0};
        if (read_zip(&zip, &source, &bytes, &wishes[w], &err) < 0)
            fail_msg("%zu: %s", w, err.message);
        assert_int_equal(zip.count, 2);
        assert_null(bang_zip_find(&zip, "c"));
        static const char *const names[] = {"a/packed", "b/stored"};
        for (int i = 0; i < 2; i++) {
            const bang_zip_member *member = bang_zip_find(&zip, names[i]);
            assert_ptr_equal(member, &zip.members[i]);
            assert_int_equal(member->size, sizeof text);
            char *out, start[5];
            size_t got;
            assert_int_equal(bang_zip_load(&out, &source, member, 1000, &err), 0);
            assert_memory_equal(out, text, sizeof text);
            free(out);
            assert_int_equal(bang_zip_peek(start, &got, sizeof start, &source, member, &err), 0);
            assert_int_equal(got, sizeof start);
            assert_memory_equal(start, text, sizeof start);
            assert_int_equal(bang_zip_load(&out, &source, member, 10, &err), BANG_EDATA);
        }
        assert_memory_equal(source.data + zip.members[1].offset, text, sizeof text);
        bang_zip_release(&zip);
        bang_text_release(&bytes);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        struct wish wish;
        const char *why;
    } cases[] = {
        {{.flags = 1}, "\"b/stored\": is encrypted"},
        {{.method = 12}, "compression method 12 is not read"},
        {{.disk = 1}, "one of several parts"},
        {{.twice = 1}, "\"b/stored\": is there twice"},
        {{.local = "b/strange"}, "not what the directory says"},
        {{.local = "b/storeD"}, "is called otherwise"},
        {{.zip64 = 1, .more_members = 1}, "ends too early"},
        {{.more_members = -1}, "more members than it says"},
        {{.more_members = 60000}, "too short for its members"},
        {{.zip64 = 1, .more_members = 1L << 60}, "too short for its members"},
        {{.more_size = 1}, "overlap with what follows"},
        {{.more_size = 1 << 30}, "overlap with what follows"},
        {{.zip64 = 1, .more_size = 1L << 62}, "overlap with what follows"},
        {{.zip64 = 1, .more_size = -(1L << 62)}, "cannot be as large as it says"},
        {{.more_unpacked = 1}, "is stored but has two sizes"},
        {{.move_first = 1}, "not what the directory says"},
        {{.move_first = 1 << 30}, "overlaps with another's"},
        {{.zip64 = 1, .move_first = -1L}, "overlaps with another's"},
        {{.move_directory = 1 << 30}, "its directory lies outside"},
        {{.zip64 = 1, .move_directory = -(1L << 62)}, "its directory lies outside"},
        {{.grow_directory = 1}, "its directory lies outside"},
        {{.zip64 = 1, .grow_directory = -(1L << 62)}, "its directory lies outside"},
        {{.grow_directory = -5}, "ends within an entry"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_zip zip;
        bang_source source;
        bang_text bytes = {0};
        bang_error err = {0};
        int code = read_zip(&zip, &source, &bytes, &cases[i].wish, &err);
        if (code != BANG_EDATA || !strstr(err.message, cases[i].why))
            fail_msg("case %zu (%s): %s", i, cases[i].why, err.message);
        assert_null(zip.members);
        bang_text_release(&bytes);
    }
}

/* Every shorter file is refused. */
static void test_cut(void **state)
{
    (void)state;
    bang_text bytes = {0};
    make_zip(&bytes, &(struct wish){.zip64 = 1});
    for (size_t size = 0; size < bytes.size; size++) {
        bang_zip zip;
        bang_source source;
        bang_error err = {0};
        bang_source_memory(&source, bytes.data, size, "x.zip");
        assert_int_equal(bang_zip_read(&zip, &source, &err), BANG_EDATA);
    }
    bang_text_release(&bytes);
}

/* Unpacks the second member to a file, as if it had that size and crc. */
static int inflate_as(bang_source *out, long more, uint32_t crc, bang_error *err)
{
    bang_zip zip;
    bang_source source;
    bang_text bytes = {0};
    assert_int_equal(read_zip(&zip, &source, &bytes, &(struct wish){0}, err), 0);
    const bang_zip_member *member = bang_zip_find(&zip, "a/packed");
    bang_packed packed = {0, member->offset, member->packed, member->crc ^ crc};
    int code = bang_inflate(out, &source, &packed, member->size + (uint64_t)more, err);
    bang_zip_release(&zip);
    bang_text_release(&bytes);
    return code;
}

static void test_inflate(void **state)
{
    const char *folder = *state;
    bang_source out;
    bang_error err = {0};
    char found[sizeof text - 3];
    setenv("TMPDIR", folder, 1);
    assert_int_equal(inflate_as(&out, 0, 0, &err), 0);
    assert_int_equal(out.size, sizeof text);
    out.name = "x";
    assert_int_equal(bang_source_read(&out, found, 3, sizeof found, &err), 0);
    assert_memory_equal(found, text + 3, sizeof found);
    bang_source_close(&out);
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
    assert_int_equal(inflate_as(&out, 0, 0, &err), BANG_EIO);
    assert_non_null(strstr(err.message, "set TMPDIR"));
    unsetenv("TMPDIR");
    assert_int_equal(inflate_as(&out, -1, 0, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "more than the"));
    assert_int_equal(inflate_as(&out, 1, 0, &err), BANG_EDATA);
    assert_int_equal(inflate_as(&out, 0, 1, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "check sum"));
    assert_int_equal(make_folder(state), 0);
    free((char *)folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut),
        cmocka_unit_test_setup_teardown(test_inflate, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
