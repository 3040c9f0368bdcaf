/* What stands before the numbers of an npy file: a Python dict. */
#include <stdlib.h>
#include <string.h>

#include "store/npy.h"

enum { PREFIX = 8 }; /* magic and version */

static const char magic[] = "\x93NUMPY";

static const struct {
    char kind, size;
    bang_dtype dtype;
} types[] = {
    {'b', '1', BANG_BOOL}, {'u', '1', BANG_U8},  {'i', '1', BANG_I8},  {'u', '2', BANG_U16},
    {'i', '2', BANG_I16},  {'u', '4', BANG_U32}, {'i', '4', BANG_I32}, {'u', '8', BANG_U64},
    {'i', '8', BANG_I64},  {'f', '2', BANG_F16}, {'f', '4', BANG_F32}, {'f', '8', BANG_F64},
    {'c', '8', BANG_C64},
};

enum { TYPE_COUNT = sizeof types / sizeof *types };

int bang_npy_type(char *kind, char *size, bang_dtype dtype)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (types[i].dtype == dtype) {
            *kind = types[i].kind;
            *size = types[i].size;
            return 0;
        }
    }
    return -1;
}

struct header {
    const char *at;   /* what is not read yet; terminated */
    const char *name; /* of the file */
    int has_descr, has_order, has_shape;
    char descr[16];
    int fortran;
    int rank;
    size_t shape[BANG_RANK_MAX];
};

static int fail_header(const struct header *header, const char *why, bang_error *err)
{
    return bang_fail(err, BANG_EDATA, "%s: %s: not a header that NumPy writes", header->name, why);
}

static void skip_space(struct header *header)
{
    header->at += strspn(header->at, " \t\n\r\f");
}

/* Takes c if it comes next. */
static int take(struct header *header, char c)
{
    skip_space(header);
    if (*header->at != c)
        return 0;
    header->at++;
    return 1;
}

static int take_word(struct header *header, const char *word)
{
    size_t length = strlen(word);
    skip_space(header);
    if (strncmp(header->at, word, length) != 0)
        return 0;
    header->at += length;
    return 1;
}

/* A Python string without escapes into out; 0 if there is none or it is longer. */
static int take_string(struct header *header, char *out, size_t size)
{
    skip_space(header);
    char quote = *header->at;
    if (quote != '\'' && quote != '"')
        return 0;
    const char *from = header->at + 1, *end = strchr(from, quote);
    if (!end || (size_t)(end - from) >= size || memchr(from, '\\', (size_t)(end - from)))
        return 0;
    memcpy(out, from, (size_t)(end - from));
    out[end - from] = '\0';
    header->at = end + 1;
    return 1;
}

static int parse_descr(struct header *header, bang_error *err)
{
    skip_space(header);
    if (*header->at == '[' || *header->at == '(')
        return bang_fail(err, BANG_EDATA,
                         "%s: a structured array: save each of its fields as an array of its own",
                         header->name);
    if (!take_string(header, header->descr, sizeof header->descr))
        return fail_header(header, "descr is no short text", err);
    header->has_descr = 1;
    return 0;
}

/* One dimension: decimal digits, perhaps the L of an old Python. */
static int take_dimension(struct header *header, size_t *out)
{
    skip_space(header);
    size_t length = strspn(header->at, "0123456789");
    *out = 0;
    for (size_t i = 0; i < length; i++) {
        size_t digit = (size_t)(header->at[i] - '0');
        if (*out > (SIZE_MAX - digit) / 10)
            return 0;
        *out = *out * 10 + digit;
    }
    header->at += length + (length > 0 && header->at[length] == 'L');
    return length > 0;
}

static int parse_shape(struct header *header, bang_error *err)
{
    if (!take(header, '('))
        return fail_header(header, "shape is no tuple", err);
    int comma = 1;
    while (!take(header, ')')) {
        size_t dimension;
        if (!comma || !take_dimension(header, &dimension))
            return fail_header(header, "shape is no tuple of sizes", err);
        if (header->rank == BANG_RANK_MAX)
            return bang_fail(err, BANG_EDATA, "%s: more than %d dimensions: reshape it to fewer",
                             header->name, BANG_RANK_MAX);
        header->shape[header->rank++] = dimension;
        comma = take(header, ',');
    }
    if (header->rank == 1 && !comma)
        return fail_header(header, "shape is a number in brackets", err);
    header->has_shape = 1;
    return 0;
}

static int parse_entry(struct header *header, bang_error *err)
{
    char key[16];
    if (!take_string(header, key, sizeof key) || !take(header, ':'))
        return fail_header(header, "its dict has a strange key", err);
    if (strcmp(key, "descr") == 0 && !header->has_descr)
        return parse_descr(header, err);
    if (strcmp(key, "shape") == 0 && !header->has_shape)
        return parse_shape(header, err);
    if (strcmp(key, "fortran_order") != 0 || header->has_order)
        return fail_header(header, "its dict has a key too many", err);
    header->has_order = 1;
    header->fortran = take_word(header, "True");
    return header->fortran || take_word(header, "False")
               ? 0
               : fail_header(header, "fortran_order is neither True nor False", err);
}

static int parse_header(struct header *header, bang_error *err)
{
    if (!take(header, '{'))
        return fail_header(header, "no dict", err);
    int comma = 1;
    while (!take(header, '}')) {
        if (!comma)
            return fail_header(header, "a comma is missing in its dict", err);
        int code = parse_entry(header, err);
        if (code < 0)
            return code;
        comma = take(header, ',');
    }
    skip_space(header);
    if (*header->at)
        return fail_header(header, "something follows its dict", err);
    if (!header->has_descr || !header->has_order || !header->has_shape)
        return fail_header(header, "descr, fortran_order or shape is missing", err);
    return 0;
}

/* What "<f4" says. */
static int parse_type(bang_dtype *dtype, int *big, const struct header *header, bang_error *err)
{
    const char *descr = header->descr;
    char shown[BANG_SHOWN];
    if (strchr(descr, 'O'))
        return bang_fail(err, BANG_EDATA,
                         "%s: holds Python objects: convert it to an array of numbers",
                         header->name);
    int is_type = strlen(descr) == 3 && strchr("<>=|", descr[0]);
    for (int i = 0; is_type && i < TYPE_COUNT; i++) {
        if (descr[1] != types[i].kind || descr[2] != types[i].size)
            continue;
        *dtype = types[i].dtype;
        *big = descr[0] == '>' || (descr[0] != '<' && !bang_bytes_native_little());
        return 0;
    }
    if (strcmp(descr + 1, "V2") == 0)
        return bang_fail(err, BANG_EDATA,
                         "%s: number type \"%s\" may be bfloat16, which npy cannot tell: convert "
                         "it to f4",
                         header->name, bang_bytes_show(shown, descr));
    return bang_fail(err, BANG_EDATA,
                     "%s: number type \"%s\" is not known: convert it to b1, u1-u8, i1-i8, f2, f4, "
                     "f8 or c8",
                     header->name, bang_bytes_show(shown, descr));
}

/* What begins so instead, as far as (size) bytes tell: people mix up what has to do with
 * arrays. */
static const char *other_format(const unsigned char *bytes, size_t size)
{
    static const struct {
        const char *begin;
        const char *what;
    } known[] = {
        {"PK\x03\x04", "a zip, as numpy.savez and torch.save make"},
        {"\x80\x02", "a pickle, as torch.save made"},
        {"\x80\x03", "a pickle"},
        {"\x80\x04", "a pickle"},
        {"\x80\x05", "a pickle"},
        {"\x89HDF", "HDF5"},
        {"\x1f\x8b", "gzip"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size >= strlen(known[i].begin) &&
            memcmp(bytes, known[i].begin, strlen(known[i].begin)) == 0)
            return known[i].what;
    /* the length of a header, 8 bytes, and the header: JSON */
    if (size > 8 && bytes[7] == 0 && bytes[8] == '{')
        return "safetensors";
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < 0x20 && !strchr("\t\n\r", bytes[i]))
            return NULL;
    return size > 0 ? "text" : "nothing";
}

static int fail_format(const bang_source *source, const unsigned char *bytes, size_t size,
                       bang_error *err)
{
    const char *what = other_format(bytes, size);
    return bang_fail(err, BANG_EDATA, "%s: is no npy file%s%s: write the array with numpy.save",
                     source->name, what ? " but " : "", what ? what : "");
}

/* Reads the header; *start is where the numbers begin. *text is the caller's
 * to free, also on failure. */
static int read_header(struct header *header, char **text, size_t *start, const bang_source *source,
                       bang_error *err)
{
    unsigned char prefix[PREFIX + 4];
    size_t first = source->size < PREFIX + 2 ? source->size : PREFIX + 2;
    int code = bang_source_read(source, prefix, 0, first, err);
    if (code < 0)
        return code;
    if (memcmp(prefix, magic, first < sizeof magic - 1 ? first : sizeof magic - 1) != 0 ||
        first == 0)
        return fail_format(source, prefix, first, err);
    if (first < PREFIX + 2)
        return bang_fail(err, BANG_EDATA, "%s: %zu bytes: too short for an npy file: it is cut",
                         source->name, source->size);
    if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
        return bang_fail(err, BANG_EDATA, "%s: npy version %d.%d: versions 1.0 to 3.0 are read",
                         source->name, prefix[6], prefix[7]);
    size_t length = (size_t)(prefix[8] | prefix[9] << 8), from = PREFIX + 2;
    if (prefix[6] > 1) {
        from = PREFIX + 4;
        code = bang_source_read(source, prefix + PREFIX, PREFIX, 4, err);
        if (code < 0)
            return code;
        length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (length > source->size - from)
        return bang_fail(err, BANG_EDATA, "%s: ends within its header: the file is cut",
                         source->name);
    *text = malloc(length + 1);
    if (!*text)
        return bang_fail_memory(err);
    code = bang_source_read(source, *text, from, length, err);
    if (code < 0)
        return code;
    (*text)[length] = '\0';
    if (strlen(*text) != length)
        return bang_fail(err, BANG_EDATA, "%s: a zero byte in its header", source->name);
    *header = (struct header){.at = *text, .name = source->name};
    *start = from + length;
    return parse_header(header, err);
}

static int count_bytes(bang_npy_head *out, const char *name, bang_error *err)
{
    size_t count = 1, size = bang_dtype_size(out->dtype), limit = PTRDIFF_MAX / size;
    for (int i = 0; i < out->rank; i++) {
        if (out->shape[i] != 0 && count > limit / out->shape[i])
            return bang_fail(err, BANG_EDATA, "%s: its shape is larger than memory can address",
                             name);
        count *= out->shape[i];
    }
    out->bytes = count * size;
    return 0;
}

int bang_npy_head_read(bang_npy_head *out, const bang_source *source, bang_error *err)
{
    struct header header = {0};
    char *text = NULL;
    *out = (bang_npy_head){0};
    int code = read_header(&header, &text, &out->start, source, err);
    if (code == 0)
        code = parse_type(&out->dtype, &out->big, &header, err);
    if (code == 0) {
        out->fortran = header.fortran;
        out->rank = header.rank;
        memcpy(out->shape, header.shape, sizeof out->shape);
        code = count_bytes(out, source->name, err);
    }
    free(text);
    return code;
}

size_t bang_npy_head_size(const unsigned char *bytes, size_t size)
{
    if (size < PREFIX + 2 || memcmp(bytes, magic, sizeof magic - 1) != 0)
        return 0;
    size_t length = (size_t)(bytes[8] | bytes[9] << 8);
    if (bytes[6] <= 1 || size < BANG_NPY_START)
        return PREFIX + 2 + length;
    return PREFIX + 4 + (length | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24);
}
