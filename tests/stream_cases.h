/* Checkpoints and outputs made by chance, and what must come out of a stream over
 * them by plain loops. */
#ifndef BANG_TESTS_STREAM_CASES_H
#define BANG_TESTS_STREAM_CASES_H

#include "store_cases.h"

#include <fcntl.h>

#include "bang/store/stream.h"
#include "store/checkpoint.h"

enum { TENSORS_MOST = 40, INPUTS_MOST = 4, OUTPUTS_MOST = 3 };

static const bang_dtype types[] = {BANG_U8,  BANG_BOOL, BANG_F16,     BANG_BF16, BANG_F32, BANG_F64,
                                   BANG_I64, BANG_C64,  BANG_F8_E4M3, BANG_F4,   BANG_I16};

/* One input: the bytes of its file, and for each tensor those that a reader must see. */
struct input {
    char *bytes;
    size_t size;
    bang_checkpoint *checkpoint;
    const bang_entry *entries[TENSORS_MOST]; /* NULL: not there */
    unsigned char *logical[TENSORS_MOST];
};

struct scene {
    bang_random random;
    char folder[900];
    size_t tensors, inputs, outputs;
    bang_dtype dtypes[TENSORS_MOST], out_dtypes[TENSORS_MOST];
    size_t shapes[TENSORS_MOST][2];
    char names[TENSORS_MOST][32];
    struct input in[INPUTS_MOST];
    bang_feed feeds[TENSORS_MOST][INPUTS_MOST];
};

static inline uint64_t below(struct scene *s, uint64_t bound)
{
    return bang_random_below(&s->random, bound);
}

static inline size_t bytes_of(bang_dtype dtype, const size_t *shape)
{
    return shape[0] * shape[1] * bang_dtype_bits(dtype) / 8;
}

static inline size_t step_of(bang_dtype dtype)
{
    size_t size = bang_dtype_size(dtype);
    return size ? size : 1;
}

/* How the numbers of one tensor lie in its file. */
enum { PLAIN, TURNED, SWAPPED, TURNED_SWAPPED, LAYOUTS };

/* From the logical bytes to those of the file. */
static inline void lay(unsigned char *to, const unsigned char *from, bang_dtype dtype,
                       const size_t *shape, int layout)
{
    size_t size = step_of(dtype), rows = shape[0], columns = shape[1];
    if (bang_dtype_size(dtype) == 0) {
        memcpy(to, from, bytes_of(dtype, shape));
        return;
    }
    for (size_t i = 0; i < rows * columns; i++) {
        size_t place = i;
        if (layout == TURNED || layout == TURNED_SWAPPED)
            place = i % columns * rows + i / columns;
        for (size_t k = 0; k < size; k++) {
            size_t half = dtype == BANG_C64 ? size / 2 : size;
            size_t at = layout >= SWAPPED ? k / half * half + (half - 1 - k % half) : k;
            to[place * size + at] = from[i * size + k];
        }
    }
}

/* A file of all tensors in a random order with gaps, opened as a checkpoint
 * whose entries are added by hand. */
static inline void make_input(struct scene *s, size_t which)
{
    struct input *in = &s->in[which];
    bang_error err = {0};
    char path[1000], name[32];
    size_t order[TENSORS_MOST], offsets[TENSORS_MOST], file;
    int layouts[TENSORS_MOST], scattered = below(s, 2) == 0;
    in->size = below(s, 9000);
    for (size_t i = 0; i < s->tensors; i++)
        order[i] = i;
    for (size_t i = s->tensors; scattered && i > 1; i--) {
        size_t other = below(s, i), held = order[i - 1];
        order[i - 1] = order[other];
        order[other] = held;
    }
    for (size_t k = 0; k < s->tensors; k++) {
        size_t i = order[k], bytes = bytes_of(s->dtypes[i], s->shapes[i]);
        layouts[i] = bytes < 300000 && below(s, 5) == 0 ? (int)below(s, LAYOUTS) : PLAIN;
        if (bang_dtype_size(s->dtypes[i]) == 0)
            layouts[i] = PLAIN;
        offsets[i] = in->size;
        in->size += bytes + (below(s, 4) == 0 ? below(s, 5000) : 0);
    }
    in->bytes = calloc(in->size + 1, 1);
    fill_random(in->bytes, in->size, bang_random_u64(&s->random));
    snprintf(name, sizeof name, "in%zu", which);
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    for (size_t i = 0; i < s->tensors; i++) {
        size_t bytes = bytes_of(s->dtypes[i], s->shapes[i]);
        in->logical[i] = malloc(bytes + 1);
        fill_random(in->logical[i], bytes, bang_random_u64(&s->random));
        lay((unsigned char *)in->bytes + offsets[i], in->logical[i], s->dtypes[i], s->shapes[i],
            layouts[i]);
    }
    put_bytes(path, in->bytes, in->size);
    assert_int_equal(bang_checkpoint_new(&in->checkpoint, path, &err), 0);
    if (below(s, 8) == 0) /* the same from memory */
        assert_int_equal(
            bang_checkpoint_add_memory(in->checkpoint, &file, in->bytes, in->size, name, &err), 0);
    else
        assert_int_equal(bang_checkpoint_add_path(in->checkpoint, &file, path, &err), 0);
    for (size_t i = 0; i < s->tensors; i++) {
        ptrdiff_t turned[2] = {1, (ptrdiff_t)s->shapes[i][0]};
        bang_entry entry = {.name = s->names[i],
                            .dtype = s->dtypes[i],
                            .rank = 2,
                            .shape = s->shapes[i],
                            .file = file,
                            .offset = offsets[i],
                            .swapped = layouts[i] >= SWAPPED};
        if (layouts[i] == TURNED || layouts[i] == TURNED_SWAPPED)
            entry.strides = turned;
        if (bang_checkpoint_add(in->checkpoint, &entry, &err) < 0)
            fail_msg("%s", err.message);
    }
    assert_int_equal(bang_checkpoint_complete(in->checkpoint, &err), 0);
    for (size_t i = 0; i < s->tensors; i++)
        in->entries[i] = below(s, 10) == 0 ? NULL : &in->checkpoint->entries[i];
}

/* large tells whether tensors of megabytes are among them. */
static inline void make_scene(struct scene *s, const char *folder, uint64_t seed, int large)
{
    memset(s, 0, sizeof *s);
    bang_random_init(&s->random, seed, BANG_PURPOSE('s', 't', 'r', 'm'), 0);
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    s->tensors = below(s, TENSORS_MOST + 1);
    s->inputs = 1 + below(s, INPUTS_MOST);
    s->outputs = 1 + below(s, OUTPUTS_MOST);
    for (size_t i = 0; i < s->tensors; i++) {
        static const size_t most[] = {3, 40, 2000, 12000};
        s->dtypes[i] = types[below(s, sizeof types / sizeof *types)];
        /* Written as it is, or as numbers of another size. */
        s->out_dtypes[i] =
            below(s, 3) || s->dtypes[i] == BANG_F4 ? s->dtypes[i] : types[below(s, 8)];
        s->shapes[i][0] = below(s, most[below(s, 4)]);
        s->shapes[i][1] = below(s, 10) == 0 ? 0 : 2 + 2 * below(s, 4);
        if (large && below(s, 8) == 0)
            s->shapes[i][0] += below(s, 200000);
        snprintf(s->names[i], sizeof s->names[i], "t%02d", (int)((i * 17) % 41));
    }
    for (size_t i = 0; i < s->inputs; i++)
        make_input(s, i);
    for (size_t t = 0; t < s->tensors; t++)
        for (size_t i = 0; i < s->inputs; i++)
            s->feeds[t][i] = (bang_feed){s->in[i].checkpoint, s->in[i].entries[t]};
}

static inline void drop_scene(struct scene *s)
{
    for (size_t i = 0; i < s->inputs; i++) {
        bang_checkpoint_close(s->in[i].checkpoint);
        free(s->in[i].bytes);
        for (size_t t = 0; t < s->tensors; t++)
            free(s->in[i].logical[t]);
    }
}

static inline uint64_t numbers_of(const struct scene *s, size_t tensor)
{
    return bytes_of(s->dtypes[tensor], s->shapes[tensor]) / step_of(s->dtypes[tensor]);
}

/* What is written: each byte of a number from bytes of all inputs, the place,
 * the output and the tensor. */
struct made {
    const struct scene *scene;
    const size_t *tensor; /* of an item */
    const uint64_t *base; /* of an item: its first number within the tensor */
};

static inline void make_number(unsigned char *out, size_t output, size_t tensor, uint64_t number,
                               size_t in_step, size_t out_step, const unsigned char *const *in,
                               size_t inputs)
{
    for (size_t k = 0; k < out_step; k++) {
        unsigned value = (unsigned)(output * 7 + tensor * 13 + number * 31 + k);
        for (size_t i = 0; i < inputs; i++)
            if (in[i])
                value = value * 33 + in[i][k % in_step];
        out[k] = (unsigned char)(value ^ value >> 8);
    }
}

static inline void make_block(void *context, size_t output, size_t item, uint64_t first,
                              size_t count, const void *const *in, void *out)
{
    const struct made *made = context;
    const struct scene *s = made->scene;
    size_t t = made->tensor[item], in_step = step_of(s->dtypes[t]),
           out_step = step_of(s->out_dtypes[t]);
    for (size_t n = 0; n < count; n++) {
        const unsigned char *at[INPUTS_MOST];
        for (size_t i = 0; i < s->inputs; i++)
            at[i] = in[i] ? (const unsigned char *)in[i] + n * in_step : NULL;
        make_number((unsigned char *)out + n * out_step, output, t, made->base[item] + first + n,
                    in_step, out_step, at, s->inputs);
    }
}

/* The bytes of one tensor of an output by a plain loop; the caller frees. */
static inline unsigned char *reference(const struct scene *s, size_t output, size_t t)
{
    size_t in_step = step_of(s->dtypes[t]), out_step = step_of(s->out_dtypes[t]);
    uint64_t count = numbers_of(s, t);
    unsigned char *out = malloc(count * out_step + 1);
    assert_non_null(out);
    for (uint64_t n = 0; n < count; n++) {
        const unsigned char *at[INPUTS_MOST];
        for (size_t i = 0; i < s->inputs; i++)
            at[i] = s->in[i].entries[t] ? s->in[i].logical[t] + n * in_step : NULL;
        make_number(out + n * out_step, output, t, n, in_step, out_step, at, s->inputs);
    }
    return out;
}

enum { CUTS = 4, PARTS_MOST = CUTS * TENSORS_MOST };

/* The outputs of a scene, and the items that fill them: whole tensors, or some
 * rows of one. */
struct outputs {
    bang_output *list[OUTPUTS_MOST];
    bang_output_item items[OUTPUTS_MOST][TENSORS_MOST];
    json_t *metadata[OUTPUTS_MOST];
    size_t count, tensor[PARTS_MOST];
    uint64_t base[PARTS_MOST];
    bang_stream_item parts[PARTS_MOST];
    bang_feed feeds[PARTS_MOST][INPUTS_MOST];
};

static inline void add_part(struct outputs *to, struct scene *s, size_t t, size_t first,
                            size_t rows)
{
    size_t index = to->count++, step = step_of(s->out_dtypes[t]);
    int whole = first == 0 && rows == s->shapes[t][0];
    to->tensor[index] = t;
    to->base[index] = first * s->shapes[t][1];
    for (size_t i = 0; i < s->inputs; i++) {
        bang_error err = {0};
        bang_feed *feed = &to->feeds[index][i];
        *feed = s->feeds[t][i];
        if (feed->entry && !whole)
            feed->entry = bang_checkpoint_rows(s->in[i].checkpoint, feed->entry, first, rows, &err);
        if (!feed->entry && s->feeds[t][i].entry)
            fail_msg("%s", err.message);
    }
    to->parts[index] =
        (bang_stream_item){.feeds = to->feeds[index],
                           .count = whole ? numbers_of(s, t) : rows * s->shapes[t][1],
                           .file = to->items[0][t].file,
                           .offset = to->items[0][t].offset + to->base[index] * step,
                           .step = step,
                           .item = t};
}

static inline void add_parts(struct outputs *to, struct scene *s, int cut)
{
    for (size_t t = 0; t < s->tensors; t++) {
        size_t rows = s->shapes[t][0], first = 0;
        int can = cut && bang_dtype_size(s->dtypes[t]) > 0;
        for (int p = 0; can && p < CUTS - 1; p++) {
            size_t more = below(s, rows - first + 1);
            add_part(to, s, t, first, more);
            first += more;
        }
        add_part(to, s, t, first, rows - first);
    }
    for (size_t i = to->count; i > 1; i--) { /* the order of items is no matter */
        size_t k = below(s, i), tensor = to->tensor[i - 1];
        uint64_t base = to->base[i - 1];
        bang_stream_item held = to->parts[i - 1];
        to->parts[i - 1] = to->parts[k];
        to->tensor[i - 1] = to->tensor[k];
        to->base[i - 1] = to->base[k];
        to->parts[k] = held;
        to->tensor[k] = tensor;
        to->base[k] = base;
    }
}

static inline void plan_outputs(struct outputs *to, struct scene *s, uint64_t shard_size,
                                const size_t *metadata, const char *ending)
{
    bang_error err = {0};
    memset(to, 0, sizeof *to);
    for (size_t o = 0; o < s->outputs; o++) {
        char name[1000];
        snprintf(name, sizeof name, "%s/out%zu%s", s->folder, o, ending);
        for (size_t t = 0; t < s->tensors; t++)
            to->items[o][t] = (bang_output_item){
                .name = s->names[t], .dtype = s->out_dtypes[t], .rank = 2, .shape = s->shapes[t]};
        bang_output_options options = {.shard_size = shard_size};
        if (metadata[o] > 0) {
            char *text = calloc(metadata[o] + 1, 1);
            memset(text, 'm', metadata[o]);
            to->metadata[o] = json_pack("{ss}", "recipe", text);
            options.metadata = to->metadata[o];
            free(text);
        }
        if (bang_output_plan(&to->list[o], name, to->items[o], s->tensors, &options, &err) < 0)
            fail_msg("%s", err.message);
    }
}

static inline void begin_outputs(struct outputs *to, const struct scene *s)
{
    bang_error err = {0};
    for (size_t o = 0; o < s->outputs; o++)
        if (bang_output_begin(to->list[o], &err) < 0)
            fail_msg("%s", err.message);
}

static inline void drop_outputs(struct outputs *to, const struct scene *s)
{
    for (size_t o = 0; o < s->outputs; o++) {
        bang_output_free(to->list[o]);
        json_decref(to->metadata[o]);
    }
}

static inline int write_outputs(bang_stream *stream, struct outputs *to, struct scene *s,
                                bang_error *err)
{
    struct made made = {s, to->tensor, to->base};
    return bang_stream_write(stream, to->parts, to->count, s->inputs, to->list, s->outputs,
                             make_block, &made, err);
}

/* All tensors are in the files where they should be, and those can be read. */
static inline void check_outputs(struct outputs *to, struct scene *s)
{
    for (size_t o = 0; o < s->outputs; o++) {
        size_t files = bang_output_file_count(to->list[o]);
        bang_checkpoint *c = open_it(bang_output_file_path(to->list[o], files - 1));
        assert_int_equal(c->count, s->tensors);
        for (size_t t = 0; t < s->tensors; t++) {
            unsigned char *expected = reference(s, o, t);
            const bang_entry *entry = bang_checkpoint_find(c, s->names[t]);
            bang_error err = {0};
            assert_non_null(entry);
            assert_int_equal(entry->dtype, s->out_dtypes[t]);
            unsigned char *got = malloc(entry->bytes + 1);
            assert_int_equal(entry->bytes, numbers_of(s, t) * step_of(s->out_dtypes[t]));
            if (bang_checkpoint_read(c, entry, 0, got, entry->bytes, &err) < 0)
                fail_msg("%s", err.message);
            if (memcmp(got, expected, entry->bytes) != 0)
                fail_msg("output %zu, tensor %zu of %zu: other bytes", o, t, s->tensors);
            free(got);
            free(expected);
        }
        bang_checkpoint_close(c);
    }
}

static inline uint64_t resident_now(void)
{
    unsigned long long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu", &total, &pages), 2);
    fclose(file);
    return pages * 4096;
}

/* Drops the input files from the page cache, so that they are read past it. */
static inline void forget(const struct scene *s)
{
    for (size_t i = 0; i < s->inputs; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/in%zu", s->folder, i);
        int fd = open(path, O_RDONLY);
        assert_true(fd >= 0);
        fdatasync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

/* One input and one output of megabytes, for what goes wrong on the way. */
static inline void make_simple(struct scene *s, struct outputs *to, const char *folder)
{
    memset(s, 0, sizeof *s);
    bang_random_init(&s->random, 1, BANG_PURPOSE('o', 'n', 'e', '.'), 0);
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    s->tensors = s->inputs = s->outputs = 1;
    s->dtypes[0] = s->out_dtypes[0] = BANG_F32;
    s->shapes[0][0] = 900001;
    s->shapes[0][1] = 2;
    snprintf(s->names[0], sizeof s->names[0], "t");
    do {
        if (s->in[0].checkpoint)
            drop_scene(s);
        make_input(s, 0);
    } while (!s->in[0].entries[0] || !s->in[0].checkpoint->files[0].path);
    s->feeds[0][0] = (bang_feed){s->in[0].checkpoint, s->in[0].entries[0]};
    plan_outputs(to, s, 0, (size_t[OUTPUTS_MOST]){0}, ".safetensors");
    add_parts(to, s, 0);
}

#endif
