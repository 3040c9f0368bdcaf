/* Streams against plain loops: the same bytes with any number of threads, any
 * memory and any way of reading. */
#include "store_cases.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

static uint64_t below(struct scene *s, uint64_t bound)
{
    return bang_random_below(&s->random, bound);
}

static size_t bytes_of(bang_dtype dtype, const size_t *shape)
{
    return shape[0] * shape[1] * bang_dtype_bits(dtype) / 8;
}

static size_t step_of(bang_dtype dtype)
{
    size_t size = bang_dtype_size(dtype);
    return size ? size : 1;
}

/* How the numbers of one tensor lie in its file. */
enum { PLAIN, TURNED, SWAPPED, TURNED_SWAPPED, LAYOUTS };

/* From the logical bytes to those of the file. */
static void lay(unsigned char *to, const unsigned char *from, bang_dtype dtype, const size_t *shape,
                int layout)
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
static void make_input(struct scene *s, size_t which)
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
static void make_scene(struct scene *s, const char *folder, uint64_t seed, int large)
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

static void drop_scene(struct scene *s)
{
    for (size_t i = 0; i < s->inputs; i++) {
        bang_checkpoint_close(s->in[i].checkpoint);
        free(s->in[i].bytes);
        for (size_t t = 0; t < s->tensors; t++)
            free(s->in[i].logical[t]);
    }
}

static uint64_t numbers_of(const struct scene *s, size_t tensor)
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

static void make_number(unsigned char *out, size_t output, size_t tensor, uint64_t number,
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

static void make_block(void *context, size_t output, size_t item, uint64_t first, size_t count,
                       const void *const *in, void *out)
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
static unsigned char *reference(const struct scene *s, size_t output, size_t t)
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

static void add_part(struct outputs *to, struct scene *s, size_t t, size_t first, size_t rows)
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

static void add_parts(struct outputs *to, struct scene *s, int cut)
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

static void plan_outputs(struct outputs *to, struct scene *s, uint64_t shard_size,
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

static void begin_outputs(struct outputs *to, const struct scene *s)
{
    bang_error err = {0};
    for (size_t o = 0; o < s->outputs; o++)
        if (bang_output_begin(to->list[o], &err) < 0)
            fail_msg("%s", err.message);
}

static void drop_outputs(struct outputs *to, const struct scene *s)
{
    for (size_t o = 0; o < s->outputs; o++) {
        bang_output_free(to->list[o]);
        json_decref(to->metadata[o]);
    }
}

static int write_outputs(bang_stream *stream, struct outputs *to, struct scene *s, bang_error *err)
{
    struct made made = {s, to->tensor, to->base};
    return bang_stream_write(stream, to->parts, to->count, s->inputs, to->list, s->outputs,
                             make_block, &made, err);
}

/* All tensors are in the files where they should be, and those can be read. */
static void check_outputs(struct outputs *to, struct scene *s)
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

static uint64_t resident_now(void)
{
    unsigned long long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu", &total, &pages), 2);
    fclose(file);
    return pages * 4096;
}

/* Drops the input files from the page cache, so that they are read past it. */
static void forget(const struct scene *s)
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

struct seen {
    uint64_t done, total;
};

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct seen *seen = context;
    if (done > seen->done) /* one thread only where this is used */
        *seen = (struct seen){done, total};
}

static void test_write(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        make_scene(&s, *state, seed, seed % 25 == 0);
        size_t metadata[OUTPUTS_MOST] = {0};
        for (size_t o = 0; o < s.outputs; o++)
            metadata[o] = below(&s, 3) * below(&s, seed % 6 == 0 ? 300000 : 200);
        uint64_t shard_size = below(&s, 3) ? 0 : 1 + below(&s, 1000000);
        plan_outputs(&to, &s, shard_size, metadata, ".safetensors");
        add_parts(&to, &s, seed % 3 == 0);
        begin_outputs(&to, &s);
        struct seen seen = {0};
        bang_progress progress = {note_progress, &seen};
        bang_stream stream = BANG_STREAM_INIT;
        stream.threads = (int)(1 + seed % 4);
        stream.plain = seed / 4 % 2 == 1;
        stream.max_memory = seed / 8 % 3 == 0 && seed % 6 ? resident_now() + 24000000
                            : seed / 8 % 3 == 1           ? (uint64_t)1 << 31
                                                          : resident_now() + 100000000;
        if (stream.plain && stream.threads == 1)
            stream.progress = &progress;
        if (seed % 2 == 0)
            forget(&s);
        bang_error err = {0};
        if (write_outputs(&stream, &to, &s, &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.message);
        uint64_t size = 0;
        for (size_t o = 0; o < s.outputs; o++) {
            for (size_t f = 0; f < bang_output_file_count(to.list[o]); f++)
                assert_int_equal(access(bang_output_file_path(to.list[o], f), F_OK), -1);
            if (bang_output_commit(to.list[o], &err) < 0)
                fail_msg("%s", err.message);
            for (size_t f = 0; f < bang_output_file_count(to.list[o]); f++) {
                const char *path = bang_output_file_path(to.list[o], f);
                struct stat status;
                assert_int_equal(stat(path, &status), 0);
                if (!strstr(path, ".json"))
                    size += (uint64_t)status.st_size;
            }
        }
        assert_int_equal(stream.bytes_written, size);
        if (stream.progress && s.outputs == 1)
            assert_int_equal(seen.done, seen.total);
        check_outputs(&to, &s);
        for (size_t o = 0; o < s.outputs; o++)
            for (size_t f = 0; f < bang_output_file_count(to.list[o]); f++)
                assert_int_equal(unlink(bang_output_file_path(to.list[o], f)), 0);
        drop_outputs(&to, &s);
        check_names(*state, (int)s.inputs);
        for (size_t i = 0; i < s.inputs; i++) {
            size_t length;
            char *after = get_bytes(s.in[i].checkpoint->path, &length);
            assert_int_equal(length, s.in[i].size);
            assert_memory_equal(after, s.in[i].bytes, length);
            free(after);
            assert_int_equal(unlink(s.in[i].checkpoint->path), 0);
        }
        drop_scene(&s);
    }
}

/* Headers of very different length on both sides of the first output's. */
static void test_headers(void **state)
{
    static struct scene s;
    static struct outputs to;
    static const size_t lengths[][3] = {
        {200000, 10, 400000}, {10, 200000, 2000000}, {1500000, 3, 1400000}, {400, 401, 399}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        make_scene(&s, *state, 1000 + i, i == 0);
        s.outputs = 3;
        plan_outputs(&to, &s, 0, lengths[i], ".safetensors");
        add_parts(&to, &s, 0);
        begin_outputs(&to, &s);
        bang_stream stream = BANG_STREAM_INIT;
        stream.threads = 2;
        stream.max_memory = 1 << 30;
        bang_error err = {0};
        if (write_outputs(&stream, &to, &s, &err) < 0)
            fail_msg("%s", err.message);
        for (size_t o = 0; o < s.outputs; o++)
            assert_int_equal(bang_output_commit(to.list[o], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

/* What a scan found: sums of floats depend on their order in the last bits. */
struct scan {
    const struct scene *scene;
    float sum;
    uint64_t numbers, hash;
    size_t last_item;
};

struct partial {
    float sum;
    uint32_t count;
    uint64_t first;
};

static float value_at(const unsigned char *byte)
{
    return (float)*byte / 7.0f;
}

static void look(void *context, size_t item, uint64_t first, size_t count, const void *const *in,
                 void *partial)
{
    const struct scan *scan = context;
    struct partial *found = partial;
    size_t step = step_of(scan->scene->dtypes[item]);
    if (found->sum != 0 || found->count != 0 || found->first != 0 || count == 0 ||
        count > BANG_SCAN_BLOCK || first % BANG_SCAN_BLOCK != 0)
        abort();
    found->first = first;
    found->count = (uint32_t)count;
    for (size_t i = 0; i < scan->scene->inputs; i++)
        for (size_t k = 0; in[i] && k < count * step; k++)
            found->sum += value_at((const unsigned char *)in[i] + k);
}

static void fold(void *context, size_t item, const void *partial)
{
    struct scan *scan = context;
    const struct partial *found = partial;
    assert_true(item >= scan->last_item);
    scan->last_item = item;
    scan->sum += found->sum;
    scan->numbers += found->count;
    scan->hash = (scan->hash ^ found->first ^ item << 40) * 0x9e3779b97f4a7c15U;
}

static void plain_scan(struct scan *scan, const struct scene *s)
{
    for (size_t t = 0; t < s->tensors; t++) {
        uint64_t count = numbers_of(s, t);
        size_t step = step_of(s->dtypes[t]);
        for (uint64_t first = 0; first < count; first += BANG_SCAN_BLOCK) {
            size_t block = count - first < BANG_SCAN_BLOCK ? count - first : BANG_SCAN_BLOCK;
            float sum = 0;
            for (size_t i = 0; i < s->inputs; i++)
                for (size_t k = 0; s->in[i].entries[t] && k < block * step; k++)
                    sum += value_at(s->in[i].logical[t] + first * step + k);
            struct partial found = {sum, (uint32_t)block, first};
            fold(scan, t, &found);
        }
    }
}

static void test_scan(void **state)
{
    static struct scene s;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        make_scene(&s, *state, 5000 + seed, seed == 8);
        bang_stream_item items[TENSORS_MOST];
        for (size_t t = 0; t < s.tensors; t++)
            items[t] = (bang_stream_item){.feeds = s.feeds[t], .count = numbers_of(&s, t)};
        struct scan expected = {.scene = &s};
        plain_scan(&expected, &s);
        for (int way = 0; way < 16; way++) {
            struct scan found = {.scene = &s};
            bang_stream stream = BANG_STREAM_INIT;
            bang_error err = {0};
            stream.threads = 1 + way % 4;
            stream.plain = way / 4 % 2;
            stream.max_memory = resident_now() + (way < 8 ? 24000000 : 500000000);
            if (way % 3 == 0)
                forget(&s);
            if (bang_stream_scan(&stream, items, s.tensors, s.inputs, sizeof(struct partial), look,
                                 fold, &found, &err) < 0)
                fail_msg("%s", err.message);
            assert_memory_equal(&found.sum, &expected.sum, sizeof found.sum);
            assert_int_equal(found.numbers, expected.numbers);
            assert_int_equal(found.hash, expected.hash);
        }
        drop_scene(&s);
    }
}

/* A partial much larger than a unit's usual room. */
static void fold_large(void *context, size_t item, const void *partial)
{
    (void)item;
    uint64_t *sum = context;
    const unsigned char *bytes = partial;
    *sum += bytes[0] + bytes[(1 << 20) - 1];
}

static void look_large(void *context, size_t item, uint64_t first, size_t count,
                       const void *const *in, void *partial)
{
    (void)context, (void)item, (void)first, (void)in;
    unsigned char *bytes = partial;
    if (bytes[0] || bytes[(1 << 20) - 1])
        abort();
    bytes[0] = 1;
    bytes[(1 << 20) - 1] = (unsigned char)(count & 1);
}

static void test_large_partial(void **state)
{
    static struct scene s;
    make_scene(&s, *state, 77, 1);
    bang_stream_item items[TENSORS_MOST];
    uint64_t expected = 0, sum = 0;
    for (size_t t = 0; t < s.tensors; t++) {
        uint64_t count = numbers_of(&s, t);
        items[t] = (bang_stream_item){.feeds = s.feeds[t], .count = count};
        expected += (count + BANG_SCAN_BLOCK - 1) / BANG_SCAN_BLOCK + (count & 1);
    }
    bang_stream stream = {.threads = 3, .max_memory = resident_now() + 30000000};
    bang_error err = {0};
    assert_int_equal(bang_stream_scan(&stream, items, s.tensors, s.inputs, 1 << 20, look_large,
                                      fold_large, &sum, &err),
                     0);
    assert_int_equal(sum, expected);
    drop_scene(&s);
}

/* One input and one output of megabytes, for what goes wrong on the way. */
static void make_simple(struct scene *s, struct outputs *to, const char *folder)
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

/* An error that names the need; with that much, there is one unit at a time. */
static void test_too_little_memory(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int plain = 0; plain < 2; plain++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        bang_stream stream = {.threads = 2, .plain = plain, .max_memory = 1000000};
        bang_error err = {0};
        assert_int_equal(write_outputs(&stream, &to, &s, &err), BANG_EUSAGE);
        assert_non_null(strstr(err.message, "1 MB of memory are too few"));
        const char *need = strstr(err.message, "at least ");
        assert_non_null(need);
        stream.max_memory = strtoull(need + strlen("at least "), NULL, 10) * 1000000;
        forget(&s);
        if (write_outputs(&stream, &to, &s, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(bang_output_commit(to.list[0], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

struct cancelling {
    bang_cancel cancel;
    atomic_int left;
    struct made made;
};

static void make_and_cancel(void *context, size_t output, size_t item, uint64_t first, size_t count,
                            const void *const *in, void *out)
{
    struct cancelling *c = context;
    if (atomic_fetch_sub(&c->left, 1) == 0)
        atomic_store(&c->cancel.raised, 1);
    make_block(&c->made, output, item, first, count, in, out);
}

static void test_cancel(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int way = 0; way < 8; way++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        struct cancelling c = {.made = {&s, to.tensor, to.base}};
        atomic_init(&c.left, way % 3);
        bang_stream stream = {.threads = 1 + way / 2, .plain = way % 2, .cancel = &c.cancel};
        stream.max_memory = resident_now() + 10000000;
        bang_error err = {0};
        assert_int_equal(bang_stream_write(&stream, to.parts, to.count, 1, to.list, 1,
                                           make_and_cancel, &c, &err),
                         BANG_ECANCELLED);
        assert_int_equal(err.code, BANG_ECANCELLED);
        drop_outputs(&to, &s);
        check_names(*state, 1);
        /* The same before anything began, and for a scan. */
        struct scan found = {.scene = &s};
        assert_int_equal(bang_stream_scan(&stream, to.parts, to.count, 1, sizeof(struct partial),
                                          look, fold, &found, &err),
                         BANG_ECANCELLED);
        assert_int_equal(found.numbers, 0);
        drop_scene(&s);
    }
}

static void test_input_shrinks(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int plain = 0; plain < 2; plain++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        assert_int_equal(truncate(s.in[0].checkpoint->path, 5000000), 0);
        bang_stream stream = {.threads = 3, .plain = plain, .max_memory = 1 << 30};
        bang_error err = {0};
        assert_int_equal(write_outputs(&stream, &to, &s, &err), BANG_EDATA);
        assert_non_null(strstr(err.message, "became shorter"));
        drop_outputs(&to, &s);
        check_names(*state, 1);
        drop_scene(&s);
    }
}

/* Another file takes the name of an input that is open: its bytes are not ours. */
static void test_input_replaced(void **state)
{
    static struct scene s;
    static struct outputs to;
    for (int plain = 0; plain < 2; plain++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        forget(&s);
        char *other = calloc(s.in[0].size, 1);
        put_bytes(in_folder(*state, "other"), other, s.in[0].size);
        free(other);
        assert_int_equal(rename(in_folder(*state, "other"), s.in[0].checkpoint->path), 0);
        bang_stream stream = {.threads = 2, .plain = plain, .max_memory = 1 << 30};
        bang_error err = {0};
        assert_int_equal(write_outputs(&stream, &to, &s, &err), 0);
        assert_int_equal(bang_output_commit(to.list[0], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

/* No room: where the space is reserved, and where it is written. */
static void test_write_fails(void **state)
{
    static struct scene s;
    static struct outputs to;
    struct rlimit before, small;
    bang_error err = {0};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 3000000;
    make_simple(&s, &to, *state);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = bang_output_begin(to.list[0], &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, BANG_EIO);
    assert_non_null(strstr(err.message, "File too large"));
    drop_outputs(&to, &s);
    check_names(*state, 1);
    drop_scene(&s);
    for (int way = 0; way < 6; way++) {
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        bang_stream stream = {.threads = 1 + way / 2, .plain = way % 2, .max_memory = 1 << 30};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        code = write_outputs(&stream, &to, &s, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(code, BANG_EIO);
        assert_non_null(strstr(err.message, "out0.safetensors: File too large"));
        drop_outputs(&to, &s);
        check_names(*state, 1);
        drop_scene(&s);
    }
    signal(SIGXFSZ, SIG_DFL);
}

/* No more descriptors: no rings, and no second descriptors either. */
static void test_no_ring(void **state)
{
    static struct scene s;
    static struct outputs to;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 5; more++) { /* of those for rings and files, so many may open */
        make_simple(&s, &to, *state);
        begin_outputs(&to, &s);
        forget(&s);
        int next = dup(0);
        close(next);
        none = before;
        none.rlim_cur = (rlim_t)next + (rlim_t)more;
        bang_stream stream = {.threads = 2, .max_memory = 1 << 30};
        bang_error err = {0};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int code = write_outputs(&stream, &to, &s, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (code < 0)
            fail_msg("%s", err.message);
        assert_int_equal(bang_output_commit(to.list[0], &err), 0);
        check_outputs(&to, &s);
        drop_outputs(&to, &s);
        drop_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_headers, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_scan, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_large_partial, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_too_little_memory, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_cancel, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_input_shrinks, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_input_replaced, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_write_fails, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_no_ring, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
