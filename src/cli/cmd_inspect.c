#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/combine/statistics.h"
#include "bang/model/layout.h"
#include "checkpoints.h"

typedef struct request {
    int stats;
    uint64_t max_memory;
    bang_checkpoint *checkpoint;
    bang_layout layout;
    bang_statistics *statistics; /* (count), or NULL */
    uint64_t parameters, bytes, file_bytes;
    size_t types[BANG_DTYPE_COUNT];
} request;

static const char summary[] =
    "Shows what a checkpoint holds: format, layout, how many parameters, every tensor.\n"
    "FILE is safetensors, PyTorch's .pt or .bin, .npz or .npy, an index of shards, or a\n"
    "folder that holds one. Layouts: clip-hf, clip-openai, clip-open_clip, vit, mlp,\n"
    "unknown; the two in the middle have the same names, and where nothing tells them\n"
    "apart clip-openai is said. Parameters are the numbers of all tensors that are not\n"
    "integers. Long metadata are cut; --json has all. In a SIZE, M is 2^20 and MB 10^6.";

static const char example[] = "  bang inspect model.safetensors\n"
                              "  bang inspect pytorch_model.bin --stats --json\n";

static void add_up(request *r)
{
    const bang_checkpoint *c = r->checkpoint;
    r->layout = bang_layout_guess(c);
    for (size_t i = 0; i < c->count; i++) {
        const bang_entry *e = &c->entries[i];
        r->types[e->dtype]++;
        r->bytes += e->bytes;
        if (!bang_dtype_is_integer(e->dtype))
            r->parameters += e->bytes * 8 / bang_dtype_bits(e->dtype);
    }
    for (size_t i = 0; i < c->file_count; i++)
        if (c->files[i].path)
            r->file_bytes += c->files[i].size;
}

static int measure(const cli *c, request *r, bang_error *err)
{
    bang_stream stream = BANG_STREAM_INIT;
    cli_bar bar;
    r->statistics = calloc(r->checkpoint->count + 1, sizeof *r->statistics);
    if (!r->statistics)
        return bang_fail_memory(err);
    cli_bar_start(&bar, c, "statistics");
    bar.bytes = 1;
    stream.threads = (int)c->threads;
    stream.max_memory = r->max_memory;
    stream.progress = &bar.progress;
    stream.cancel = cli_cancel();
    int rc = bang_statistics_measure(r->statistics, r->checkpoint, &stream, err);
    cli_bar_finish(&bar);
    return rc;
}

static void add_statistics(json_t *to, const bang_statistics *s)
{
    json_object_set_new(to, "min", s->known ? bang_json_number(s->min) : json_null());
    json_object_set_new(to, "max", s->known ? bang_json_number(s->max) : json_null());
    json_object_set_new(to, "mean", s->known ? bang_json_number(s->mean) : json_null());
    json_object_set_new(to, "norm", s->known ? bang_json_number(s->norm) : json_null());
    json_object_set_new(to, "nan", s->known ? json_integer((json_int_t)s->nan) : json_null());
    json_object_set_new(to, "inf", s->known ? json_integer((json_int_t)s->inf) : json_null());
}

static json_t *tensor_json(const request *r, size_t i)
{
    const bang_entry *e = &r->checkpoint->entries[i];
    json_t *shape = json_array();
    for (int k = 0; k < e->rank; k++)
        json_array_append_new(shape, json_integer((json_int_t)e->shape[k]));
    json_t *out =
        json_pack("{ss ss so sI ss}", "name", e->name, "dtype", bang_dtype_name(e->dtype), "shape",
                  shape, "bytes", (json_int_t)e->bytes, "file", r->checkpoint->files[e->file].name);
    if (out && r->statistics)
        add_statistics(out, &r->statistics[i]);
    return out;
}

static json_t *sizes_json(const request *r)
{
    bang_layout_sizes s;
    bang_layout_measure(&s, r->checkpoint, r->layout);
    const struct {
        const char *name;
        size_t size;
    } all[] = {
        {"width", s.width},           {"depth", s.depth},           {"patch", s.patch},
        {"image_size", s.image_size}, {"text_width", s.text_width}, {"text_depth", s.text_depth},
        {"context", s.context},       {"vocabulary", s.vocabulary}, {"embedding", s.embedding}};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].size)
            json_object_set_new(out, all[i].name, json_integer((json_int_t)all[i].size));
    return out;
}

static int print_json(const cli *c, const request *r)
{
    const bang_checkpoint *k = r->checkpoint;
    json_t *tensors = json_array(), *files = json_array(), *types = json_object();
    for (size_t i = 0; i < k->count; i++)
        json_array_append_new(tensors, tensor_json(r, i));
    for (size_t i = 0; i < k->file_count; i++)
        if (k->files[i].path)
            json_array_append_new(files, json_pack("{ss sI}", "name", k->files[i].name, "bytes",
                                                   (json_int_t)k->files[i].size));
    for (int t = 0; t < BANG_DTYPE_COUNT; t++)
        if (r->types[t])
            json_object_set_new(types, bang_dtype_name((bang_dtype)t),
                                json_integer((json_int_t)r->types[t]));
    json_t *metadata = k->metadata ? json_incref(k->metadata) : json_object();
    json_t *notes = k->notes ? json_incref(k->notes) : json_array();
    return cli_print_json(
        c, json_pack("{ss ss so sI sI so so so so so}", "format", k->format, "layout",
                     bang_layout_name(r->layout), "sizes", sizes_json(r), "parameters",
                     (json_int_t)r->parameters, "bytes", (json_int_t)r->bytes, "dtypes", types,
                     "files", files, "tensors", tensors, "metadata", metadata, "notes", notes));
}

/* 149620737 as 149,620,737. */
static const char *with_commas(char out[32], uint64_t number)
{
    char plain[24];
    int size = snprintf(plain, sizeof plain, "%" PRIu64, number), at = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = plain[i];
    }
    out[at] = '\0';
    return out;
}

static void print_safe(const char *text, int width)
{
    int size = (int)strnlen(text, 1000);
    cli_print_clean(text);
    printf("%*s", width > size ? width - size : 0, "");
}

/* "key = value" on a line of at most COLUMNS, as far as it fits. */
static void print_metadata(const char *key, const char *value)
{
    enum { COLUMNS = 100 };
    static const char rest[] = "... (--json has all)";
    int at = printf("metadata    "), last = COLUMNS - (int)sizeof rest + 1;
    bang_text line = {0};
    size_t cut = 0;
    bang_text_add(&line, "%s = %s", key, value);
    for (size_t i = 0; i < line.size; i++) {
        if (((unsigned char)line.data[i] & 0xC0) == 0x80) /* within a character */
            continue;
        if (at++ == last)
            cut = i;
    }
    if (line.data && at > COLUMNS)
        line.data[cut] = '\0';
    print_safe(line.data ? line.data : "", 0);
    puts(at > COLUMNS ? rest : "");
    bang_text_release(&line);
}

static void print_head(const request *r)
{
    const bang_checkpoint *k = r->checkpoint;
    bang_text about = {0};
    char a[32];
    size_t files = 0;
    bang_layout_describe(&about, k, r->layout);
    printf("format      %s\n", k->format);
    printf("layout      %s%s%s\n", bang_layout_name(r->layout), about.size ? ": " : "",
           about.size ? about.data : "");
    printf("parameters  %s\n", with_commas(a, r->parameters));
    printf("tensors     %zu, %s", k->count, bytes_text(a, (double)r->bytes));
    for (int t = BANG_DTYPE_COUNT - 1, before = 0; t >= 0; t--)
        if (r->types[t])
            printf("%s%zu %s", before++ ? ", " : ": ", r->types[t], bang_dtype_name((bang_dtype)t));
    putchar('\n');
    for (size_t i = 0; i < k->file_count; i++)
        files += k->files[i].path != NULL;
    printf("files       %zu, %s bytes\n", files, with_commas(a, r->file_bytes));
    const char *key;
    json_t *value;
    json_object_foreach(k->metadata, key, value)
    {
        print_metadata(key, json_string_value(value) ? json_string_value(value) : "");
    }
    for (size_t i = 0; i < json_array_size(k->notes); i++) {
        printf("note        ");
        print_safe(json_string_value(json_array_get(k->notes, i)), 0);
        putchar('\n');
    }
    bang_text_release(&about);
}

static void print_statistics(const bang_statistics *s)
{
    if (!s->known)
        return;
    const double all[] = {s->min, s->max, s->mean, s->norm};
    putchar(' ');
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (isnan(all[i]))
            printf(" %11s", "-");
        else
            printf(" %11.4g", all[i]);
    printf(" %6" PRIu64 " %6" PRIu64, s->nan, s->inf);
}

static void print_table(const request *r)
{
    const bang_checkpoint *k = r->checkpoint;
    char shape[256], bytes[32];
    int name = 4, wide = 5;
    for (size_t i = 0; i < k->count; i++) {
        int size = (int)strnlen(k->entries[i].name, 1000);
        name = size > name ? size : name;
        bang_entry_shape_text(shape, sizeof shape, &k->entries[i]);
        wide = (int)strlen(shape) > wide ? (int)strlen(shape) : wide;
    }
    printf("\n%-*s  %-9s %-*s %11s", name, "name", "dtype", wide, "shape", "bytes");
    if (r->statistics)
        printf("  %11s %11s %11s %11s %6s %6s", "min", "max", "mean", "norm", "nan", "inf");
    putchar('\n');
    for (size_t i = 0; i < k->count; i++) {
        const bang_entry *e = &k->entries[i];
        bang_entry_shape_text(shape, sizeof shape, e);
        print_safe(e->name, name);
        printf("  %-9s %-*s %11s", bang_dtype_name(e->dtype), wide, shape,
               bytes_text(bytes, (double)e->bytes));
        if (r->statistics)
            print_statistics(&r->statistics[i]);
        putchar('\n');
    }
}

static int inspect(const cli *c, request *r)
{
    bang_error err = {0};
    int rc = bang_checkpoint_open(&r->checkpoint, c->operands[0], &err);
    if (rc == 0)
        add_up(r);
    if (rc == 0 && r->stats)
        rc = measure(c, r, &err);
    if (rc < 0)
        return cli_fail(c, &err);
    if (c->json)
        return print_json(c, r);
    print_head(r);
    print_table(r);
    return CLI_DONE;
}

int cmd_inspect(int argc, char **argv)
{
    request r = {0};
    cli_option options[] = {
        {"stats", 0, NULL, "min, max, mean, norm of each tensor, and how many are not finite",
         cli_read_flag, &r.stats},
        {"max-memory", 0, "SIZE", "of the whole process, for --stats (64M)", cli_read_bytes,
         &r.max_memory},
        {0},
    };
    cli c;
    if (cli_init(&c, "inspect", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("inspect", "FILE [--stats]", summary, options, example);
    } else {
        if (c.operand_count == 0)
            cli_problem(&c, "FILE: missing: name a checkpoint");
        for (size_t i = 1; i < c.operand_count; i++)
            cli_problem(&c, "%.80s: unexpected: one checkpoint at a time", c.operands[i]);
        status = cli_usage_failed(&c) ? CLI_USAGE : inspect(&c, &r);
    }
    free(r.statistics);
    bang_checkpoint_close(r.checkpoint);
    cli_release(&c);
    return status;
}
