/* Files that claim more than they hold, and small ones that unpack to much: refused, or read,
 * in memory that their own size bounds. Each case runs in a process of its own whose memory is
 * limited and measured; running into the limit is a failure, as "out of memory" is no reason to
 * refuse a file of some kilobytes. */
#include "store_cases.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/model/mlp.h"
#include "bang/store/gzip.h"
#include "bang/store/idx.h"
#include "bang/store/image.h"
#include "bang/store/npy.h"
#include "store/pickle.h"

enum { ROOM = 48 << 20 }; /* bytes that a case may take beyond what the program has */

typedef int (*reader)(const char *path, bang_error *err);

#ifdef __SANITIZE_ADDRESS__ /* which reserves terabytes */
static int limit_memory(void)
{
    return 0;
}
#else
static int limit_memory(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu", &pages) != 1)
        return -1;
    fclose(file);
    rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
    return setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
}
#endif

/* In the child: 0 as expected, else a number that says what is wrong. */
static int judge(reader read, const char *path, int expected, const char *why)
{
    if (limit_memory() < 0)
        return 8;
    bang_error err = {0};
    int code = read(path, &err);
    if (code != expected || (code < 0 && !strstr(err.message, why)) || strchr(err.message, '\n')) {
        fprintf(stderr, "%s: %d, not %d: %s\n", path, code, expected, err.message);
        return 7;
    }
    return 0;
}

/* That the file is refused as data, for a reason that has this in it; why NULL: it is read. */
static void check(reader read, const char *path, const char *why)
{
    struct rusage used;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(judge(read, path, why ? BANG_EDATA : 0, why));
    assert_int_equal(wait4(child, &status, 0, &used), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: status %x", path, (unsigned)status);
        /* resident kilobytes; sanitizers add shadows and quarantines */
#ifndef __SANITIZE_ADDRESS__
    assert_true(used.ru_maxrss < (ROOM >> 10) + 64 * 1024);
#endif
}

static int read_checkpoint(const char *path, bang_error *err)
{
    bang_checkpoint *c;
    int code = bang_checkpoint_open(&c, path, err);
    for (size_t i = 0; code == 0 && i < c->count; i++) {
        char bytes[4096];
        const bang_entry *entry = &c->entries[i];
        size_t size = entry->bytes < sizeof bytes ? (size_t)entry->bytes : sizeof bytes;
        code = bang_checkpoint_read(c, entry, entry->bytes - size, bytes, size, err);
    }
    bang_checkpoint_close(c);
    return code;
}

static int read_npy(const char *path, bang_error *err)
{
    bang_array array;
    int code = bang_npy_read(&array, path, err);
    bang_array_release(&array);
    return code;
}

static int read_table(const char *path, bang_error *err)
{
    bang_npy_table *table;
    int code = bang_npy_table_open(&table, path, err);
    bang_npy_table_close(table);
    return code;
}

static int read_idx(const char *path, bang_error *err)
{
    bang_array array;
    int code = bang_idx_read(&array, path, err);
    bang_array_release(&array);
    return code;
}

static int read_image(const char *path, bang_error *err)
{
    bang_array array;
    int code = bang_image_read(&array, path, err);
    bang_array_release(&array);
    return code;
}

static int read_gzip(const char *path, bang_error *err)
{
    char *text;
    size_t size;
    int code = bang_gzip_read(&text, &size, path, 1 << 20, err);
    free(text);
    return code;
}

static int read_mlp(const char *path, bang_error *err)
{
    bang_mlp mlp;
    int code = bang_mlp_load(&mlp, path, err);
    if (code == 0)
        bang_mlp_release(&mlp);
    return code;
}

static void test_claims_of_tensors(void **state)
{
    const char *path = in_folder(*state, "a.safetensors");
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1152921504606846976],"
        "\"data_offsets\":[0,4611686018427387904]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807,2],\"data_offsets\":[0,2]}}",
        "{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[65536,65536],"
        "\"data_offsets\":[0,17179869184]}}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        put_safetensors(path, headers[i], "1234", 4);
        check(read_checkpoint, path, "");
        check(read_mlp, path, "");
    }
    /* lengths of headers: beyond what is allowed, and beyond the file */
    put_bytes(path, "\0\0\0\0\0\0\0\x10{}", 10);
    check(read_checkpoint, path, "a header of 1152921504606846976 bytes");
    put_bytes(path, "\0\0\0\x05\0\0\0\0{}", 10);
    check(read_checkpoint, path, "ends within its header");
}

static void put_npy(const char *path, int version, const char *shape, const char *data)
{
    char head[256], file[512];
    int size = snprintf(head, sizeof head,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", shape);
    int at = snprintf(file, sizeof file, "\x93NUMPY%c%c", version, 0);
    file[7] = 0;
    at = 8;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        file[at++] = (char)(size >> (8 * i));
    memcpy(file + at, head, (size_t)size);
    memcpy(file + at + size, data, strlen(data));
    put_bytes(path, file, (size_t)at + (size_t)size + strlen(data));
}

static void test_claims_of_arrays(void **state)
{
    static const char *const shapes[] = {"(1152921504606846976,)", "(4294967296, 4294967296)",
                                         "(4611686018427387904, 4)", "(1000000, 1000000)"};
    const char *path = in_folder(*state, "a.npy");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int version = 1; version <= 2; version++) {
            put_npy(path, version, shapes[i], "1234");
            check(read_npy, path, "");
            check(read_table, path, "");
            check(read_checkpoint, path, "");
        }
    put_bytes(path, "\x93NUMPY\2\0\xff\xff\xff\xff{}", 14);
    check(read_npy, path, "");
    const char *idx = in_folder(*state, "a-idx4");
    put_bytes(idx, "\0\0\x0e\4\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff",
              20);
    check(read_idx, idx, "cut");
}

/* count zeros as deflate makes them; kind 15 + 16: gzip, -15: raw. The caller frees. */
static unsigned char *deflate_zeros(size_t *size, size_t count, int kind)
{
    static unsigned char zeros[1 << 16];
    z_stream stream = {0};
    size_t room = count / 500 + 1000;
    unsigned char *out = malloc(room);
    assert_non_null(out);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, kind, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    for (int rc = Z_OK; rc != Z_STREAM_END;) {
        size_t piece = count < sizeof zeros ? count : sizeof zeros;
        stream.next_in = zeros;
        stream.avail_in = (uInt)piece;
        count -= piece;
        rc = deflate(&stream, count ? Z_NO_FLUSH : Z_FINISH);
        assert_true(rc == Z_OK || rc == Z_STREAM_END);
    }
    *size = room - stream.avail_out;
    deflateEnd(&stream);
    return out;
}

static void test_gzip_bomb(void **state)
{
    size_t size, count = (size_t)100 << 20;
    unsigned char *bomb = deflate_zeros(&size, count, 15 + 16);
    const char *path = in_folder(*state, "a.gz");
    assert_true(size < 1 << 20);
    put_bytes(path, bomb, size);
    check(read_gzip, path, "unpacks to more than 1048576 bytes");
    /* an idx of zeros: no such type */
    check(read_idx, path, "does not begin as an idx file");
    free(bomb);
}

static void add_number(bang_text *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        bang_text_add_bytes(out, &(char){(char)(i < 8 ? value >> (8 * i) : 0)}, 1);
}

/* A zip of one deflated member that says it has so many bytes. */
static void put_zip(const char *path, const char *name, const void *packed, size_t size,
                    uint64_t says, uint32_t crc)
{
    bang_text out = {0};
    bang_text_add_bytes(&out, "PK\3\4\x14\0\0\0\x08\0\0\0\0\0", 14);
    for (int place = 0; place < 2; place++) { /* before the bytes, and in the directory */
        size_t at = out.size;
        if (place) {
            at = 30 + strlen(name) + size;
            bang_text_add_bytes(&out, "PK\1\2\x14\0\x14\0\0\0\x08\0\0\0\0\0", 16);
        }
        add_number(&out, crc, 4);
        add_number(&out, size, 4);
        add_number(&out, says, 4);
        add_number(&out, strlen(name), 2);
        add_number(&out, 0, place ? 2 + 2 + 2 + 2 + 4 + 4 : 2);
        bang_text_add(&out, "%s", name);
        if (!place) {
            bang_text_add_bytes(&out, packed, size);
        } else {
            size_t length = out.size - at;
            bang_text_add_bytes(&out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
            add_number(&out, length, 4);
            add_number(&out, at, 4);
            add_number(&out, 0, 2);
        }
    }
    assert_false(out.failed);
    put_bytes(path, out.data, out.size);
    bang_text_release(&out);
}

static void test_zip_bombs(void **state)
{
    size_t size, count = (size_t)32 << 20;
    unsigned char *bomb = deflate_zeros(&size, count, -15);
    uLong crc = crc32(0, NULL, 0);
    static unsigned char zeros[1 << 16];
    for (size_t i = 0; i < count / sizeof zeros; i++)
        crc = crc32(crc, zeros, sizeof zeros);
    const char *path = in_folder(*state, "a.npz");
    /* unpacked, it is no array */
    put_zip(path, "a.npy", bomb, size, count, (uint32_t)crc);
    check(read_checkpoint, path, "");
    /* it says less, it says more than deflate can do */
    put_zip(path, "a.npy", bomb, size, 1000, (uint32_t)crc);
    check(read_checkpoint, path, "");
    put_zip(path, "a.npy", bomb, 100, 4000000000, (uint32_t)crc);
    check(read_checkpoint, path, "cannot be as large as it says");
    /* a pickle is held in memory: a deflated one is of few bytes */
    put_zip(path, "archive/data.pkl", bomb, size, count, (uint32_t)crc);
    check(read_checkpoint, path, "at most 8000000 are read");
    free(bomb);
}

/* A chunk of a PNG. */
static void add_chunk(bang_text *out, const char *kind, const void *data, size_t size)
{
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)kind, 4);
    crc = size ? crc32(crc, data, (uInt)size) : crc;
    for (int i = 3; i >= 0; i--)
        bang_text_add_bytes(out, &(char){(char)(size >> (8 * i))}, 1);
    bang_text_add_bytes(out, kind, 4);
    if (size)
        bang_text_add_bytes(out, data, size);
    for (int i = 3; i >= 0; i--)
        bang_text_add_bytes(out, &(char){(char)(crc >> (8 * i))}, 1);
}

static void put_png(const char *path, const char head[13], const void *data, size_t size)
{
    bang_text png = {0};
    bang_text_add_bytes(&png, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&png, "IHDR", head, 13);
    add_chunk(&png, "IDAT", data, size);
    add_chunk(&png, "IEND", "", 0);
    assert_false(png.failed);
    put_bytes(path, png.data, png.size);
    bang_text_release(&png);
}

static void test_pictures(void **state)
{
    size_t size;
    unsigned char *zeros = deflate_zeros(&size, 1 << 20, 15);
    const char *path = in_folder(*state, "a.png");
    put_png(path, "\0\0\xea\x60\0\0\xea\x60\x08\2\0\0\0", zeros, size); /* 60000 x 60000 */
    check(read_image, path, "more than 200000000 are refused");
    put_png(path, "\0\0\x27\x10\0\0\x27\x10\x08\2\0\0\0", zeros, size); /* 10000 x 10000 */
    check(read_image, path, "cannot be in");
    put_png(path, "\x7f\xff\xff\xff\x7f\xff\xff\xff\x10\6\0\0\1", zeros, size);
    check(read_image, path, "more than 200000000 are refused");
    free(zeros);
    const char *jpeg = in_folder(*state, "a.jpg");
    static const char jpeg_head[] = /* a frame of 65000 x 65000, and of 14000 x 14000 */
        "\xff\xd8\xff\xc0\0\x11\x08\xfd\xe8\xfd\xe8\3\1\x11\0\2\x11\0\3\x11\0\xff\xd9";
    char small[sizeof jpeg_head];
    put_bytes(jpeg, jpeg_head, sizeof jpeg_head - 1);
    check(read_image, jpeg, "");
    memcpy(small, jpeg_head, sizeof small);
    memcpy(small + 7, "\x36\xb0\x36\xb0", 4);
    put_bytes(jpeg, small, sizeof small - 1);
    check(read_image, jpeg, "");
    const char *webp = in_folder(*state, "a.webp"); /* 14000 x 14000 */
    put_bytes(webp,
              "RIFF\x2c\0\0\0WEBPVP8 \x20\0\0\0\x10\2\0\x9d\1\x2a\xb0\x36\xb0\x36"
              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
              52);
    check(read_image, webp, "");
}

/* start, piece again and again with the number of the piece in place of %d, end. */
static char *repeat(const char *start, const char *piece, size_t count, const char *end)
{
    bang_text text = {0};
    const char *place = strstr(piece, "%d"), *rest = place ? place + 2 : "";
    bang_text_add(&text, "%s", start);
    for (size_t i = 0; i < count; i++) {
        bang_text_add_bytes(&text, piece, place ? (size_t)(place - piece) : strlen(piece));
        if (place)
            bang_text_add(&text, "%zu%s", i, rest);
    }
    bang_text_add(&text, "%s", end);
    assert_false(text.failed);
    return text.data;
}

/* Values of two or three bytes take many times that once they are parsed; those that a header or
 * an index has take less, whatever their strings hold. */
static void test_small_values(void **state)
{
    static const struct {
        const char *start, *piece, *end, *why;
        size_t count;
    } cases[] = {
        {"{\"a\":[", "{},", "0]}", "32 times its size", 700000},
        {"{\"a\":[", "[],", "0]}", "32 times its size", 700000},
        {"{\"a\":{\"b\":[", "[[]],", "0]}}", "32 times its size", 400000},
        {"{", "\"%d\":{},", "\"a\":{}}", "32 times its size", 200000},
        {"{", "\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
         "\"__metadata__\":{}}", NULL, 20000},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[", "0,", "0],\"data_offsets\":[0,0]}}", NULL, 400000},
        {"{\"__metadata__\":{", "\"%d\":\"\",", "\"a\":\"\"}}", NULL, 100000},
        {"{\"__metadata__\":{\"a\":\"", "[{\\\":,", "\"}}", NULL, 400000},
        {"{ \t\r\n\"__metadata__\" : {}", " ", "}", NULL, 2000000},
    };
    const char *path = in_folder(*state, "a.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *header = repeat(cases[i].start, cases[i].piece, cases[i].count, cases[i].end);
        put_safetensors(path, header, "", 0);
        check(read_checkpoint, path, cases[i].why);
        free(header);
    }
    const char *index = in_folder(*state, "index.json");
    put_safetensors(path, "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", "", 0);
    char *text =
        repeat("{\"weight_map\":{\"a\":\"a.safetensors\"},\"metadata\":[", "{},", 700000, "0]}");
    put_bytes(index, text, strlen(text));
    check(read_checkpoint, index, "32 times its size");
    free(text);
    text = repeat("{\"weight_map\":{\"a\":\"a.safetensors\"},\"metadata\":{", "\"%d\":[{}],", 2000,
                  "\"a\":0}}");
    put_bytes(index, text, strlen(text));
    check(read_checkpoint, index, NULL);
    free(text);
}

/* Text that opens so many brackets. */
static void put_nested(const char *path, const char *before, size_t depth)
{
    bang_text text = {0};
    bang_text_add(&text, "%s", before);
    for (size_t i = 0; i < depth; i++)
        bang_text_add_bytes(&text, "[", 1);
    assert_false(text.failed);
    put_bytes(path, text.data, text.size);
    bang_text_release(&text);
}

static int read_pickle(const char *path, bang_error *err)
{
    size_t size;
    char *data = get_bytes(path, &size);
    bang_pickle pickle;
    int code = bang_pickle_parse(&pickle, data, size, path, err);
    bang_pickle_release(&pickle);
    free(data);
    return code;
}

static void test_depth(void **state)
{
    enum { DEEP = 200000 };
    const char *path = in_folder(*state, "index.json");
    put_nested(path, "{\"weight_map\":", 4000);
    check(read_checkpoint, path, "maximum parsing depth");
    put_nested(path, "{\"weight_map\":", DEEP);
    check(read_checkpoint, path, "32 times its size");
    bang_text list = {0}; /* lists in lists: ]]]...aaa. */
    for (int i = 0; i < DEEP; i++)
        bang_text_add_bytes(&list, "]", 1);
    for (int i = 1; i < DEEP; i++)
        bang_text_add_bytes(&list, "a", 1);
    bang_text_add_bytes(&list, ".", 1);
    assert_false(list.failed);
    const char *pickle = in_folder(*state, "a.pkl");
    put_bytes(pickle, list.data, list.size);
    bang_text_release(&list);
    check(read_pickle, pickle, NULL);
}

/* In the place of a file that lies beside others: a device that never ends. */
static void test_devices(void **state)
{
    char *text;
    size_t size;
    bang_error err = {0};
    const char *path = in_folder(*state, "config.json");
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(bang_file_read(&text, &size, path, &err), BANG_EIO);
    assert_null(text);
    assert_non_null(strstr(err.message, "too large"));
    assert_int_equal(bang_file_read(&text, &size, "/dev/null", &err), 0);
    assert_int_equal(size, 0);
    free(text);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_claims_of_tensors), IN_FOLDER(test_claims_of_arrays),
        IN_FOLDER(test_gzip_bomb),         IN_FOLDER(test_zip_bombs),
        IN_FOLDER(test_pictures),          IN_FOLDER(test_depth),
        IN_FOLDER(test_devices),           IN_FOLDER(test_small_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
