#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/conversion.h"
#include "checkpoints.h"

typedef struct request {
    const char *output, *to;
    int dtype; /* -1: as it is */
    uint64_t shard_size, max_memory;
    int dry_run;
    bang_layout layout; /* BANG_LAYOUT_UNKNOWN: names stay */
    bang_checkpoint *checkpoint;
    bang_conversion *plan;
    bang_output *target;
    bang_stream stream;
    double seconds;
} request;

static const char summary[] =
    "Writes a checkpoint in another layout, number type or format. Without --to tensors\n"
    "keep their names. With --to a CLIP gets the names and shapes of Hugging Face\n"
    "(clip-hf), OpenAI (clip-openai) or open_clip (clip-open_clip); numbers are moved,\n"
    "never computed, so that there and back gives the same tensors, and the same bytes if\n"
    "the file was in the order that safetensors writes (by type, then name). What the\n"
    "layout does not name, such as classification_head.weight, is kept; what wraps a model\n"
    "(module., image_encoder.model.) is removed. OUT's name gives the format: .safetensors,\n"
    "NAME.safetensors.index.json or a folder (shards), .pt, .npz. Metadata are kept; those\n"
    "of a PyTorch file are format = pt, which transformers asks for. In a SIZE, M is 2^20\n"
    "and MB 10^6, likewise K, G, T.";

static const char example[] =
    "  bang convert pytorch_model.bin -o model.safetensors\n"
    "  bang convert ViT-B-16.pt --to clip-hf --dtype bf16 -o clip/ --shard-size 200M\n";

static void check_request(cli *c, request *r)
{
    if (c->operand_count == 0)
        cli_problem(c, "IN: missing: name a checkpoint to convert");
    for (size_t i = 1; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: one checkpoint at a time", c->operands[i]);
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o OUT");
    if (r->to && (bang_layout_find(&r->layout, r->to) < 0 || strncmp(r->to, "clip-", 5) != 0))
        cli_problem(c, "--to %.40s: unknown: choose clip-hf, clip-openai or clip-open_clip", r->to);
}

static int plan(request *r, bang_text *problems, bang_error *err)
{
    bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
    int rc = bang_conversion_plan(&r->plan, r->checkpoint, r->layout, problems, err);
    if (rc < 0)
        return rc;
    if (r->dtype >= 0)
        bang_conversion_retype(r->plan, (bang_dtype)r->dtype);
    bang_output_item *items = bang_conversion_items(r->plan);
    if (!items)
        return bang_fail_memory(err);
    options.shard_size = r->shard_size;
    options.metadata = r->plan->metadata;
    options.folder = bang_output_is_folder(r->output, r->checkpoint);
    rc = bang_output_plan(&r->target, r->output, items, r->plan->count, &options, err);
    const bang_checkpoint *const input[] = {r->checkpoint};
    if (rc == 0)
        rc = bang_output_check(problems, &r->target, 1, input, 1, err);
    if (rc == 0 && problems->size > 0)
        rc = bang_fail(err, BANG_EDATA, "the output cannot be written");
    if (rc == 0 && options.folder)
        rc = bang_output_copy_others(r->target, r->checkpoint, err);
    return rc;
}

static int write_all(const cli *c, request *r, bang_error *err)
{
    cli_bar bar;
    r->stream.threads = (int)c->threads;
    r->stream.max_memory = r->max_memory;
    r->stream.cancel = cli_cancel();
    int rc = bang_output_begin(r->target, err);
    if (rc == 0) {
        cli_bar_start(&bar, c, "convert");
        bar.bytes = 1;
        r->stream.progress = &bar.progress;
        rc = bang_conversion_write(r->plan, r->target, &r->stream, err);
        cli_bar_finish(&bar);
    }
    return rc == 0 ? bang_output_commit(r->target, err) : rc;
}

/* Numbers that the new type cannot hold deserve a word even with --quiet. */
static uint64_t warn_overflows(const cli *c, const request *r)
{
    enum { NAMED = 10 };
    uint64_t all = 0;
    size_t tensors = 0;
    for (size_t i = 0; i < r->plan->count; i++) {
        const bang_conversion_tensor *t = &r->plan->tensors[i];
        all += t->overflows;
        if (t->overflows && tensors++ < NAMED)
            cli_say("bang %s: warning: %s: %" PRIu64 " of its numbers %s too large for %s and "
                    "became infinite\n",
                    c->command, t->name, t->overflows, t->overflows == 1 ? "is" : "are",
                    bang_dtype_name(t->dtype));
    }
    if (tensors > NAMED)
        fprintf(stderr, "bang %s: warning: the same in %zu more tensors\n", c->command,
                tensors - NAMED);
    return all;
}

static int print_json(const cli *c, const request *r, uint64_t overflows)
{
    json_t *files = json_array(), *notes = json_array();
    for (size_t i = 0; i < bang_output_file_count(r->target); i++)
        json_array_append_new(files, json_string(bang_output_file_path(r->target, i)));
    if (r->checkpoint->notes)
        json_array_extend(notes, r->checkpoint->notes);
    json_array_extend(notes, r->plan->notes);
    return cli_print_json(
        c, json_pack("{ss ss sI sI sI sf sI so so sb}", "from", bang_layout_name(r->plan->from),
                     "to", bang_layout_name(r->to ? r->plan->to : r->plan->from), "tensors",
                     (json_int_t)r->plan->count, "bytes_read", (json_int_t)r->stream.bytes_read,
                     "bytes_written", (json_int_t)r->stream.bytes_written, "seconds", r->seconds,
                     "overflows", (json_int_t)overflows, "outputs", files, "notes", notes,
                     "dry_run", r->dry_run));
}

static void print_notes(const json_t *notes)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        fputs("note: ", stdout);
        cli_print_clean(json_string_value(json_array_get(notes, i)));
        putchar('\n');
    }
}

static void print_text(const request *r)
{
    const bang_conversion *p = r->plan;
    char bytes[32];
    printf("%s", bang_layout_name(p->from));
    if (r->to)
        printf(" -> %s", bang_layout_name(p->to));
    if (r->dtype >= 0)
        printf(", %s", bang_dtype_name((bang_dtype)r->dtype));
    printf(": %zu tensors into %zu, %s\n", r->checkpoint->count, p->count,
           bytes_text(bytes, (double)bang_output_bytes(r->target)));
    print_notes(r->checkpoint->notes);
    print_notes(p->notes);
    for (size_t i = 0; r->dry_run && i < p->count; i++) {
        const bang_conversion_tensor *t = &p->tensors[i];
        fputs("  ", stdout);
        cli_print_clean(t->name);
        for (size_t k = 0; k < t->part_count; k++) {
            fputs(k ? " + " : " <- ", stdout);
            cli_print_clean(t->parts[k]->name);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < bang_output_file_count(r->target); i++)
        printf("%s%s\n", r->dry_run ? "would write " : "", bang_output_file_path(r->target, i));
}

static int convert(const cli *c, request *r)
{
    bang_error err = {0};
    bang_text problems = {0};
    double begin = cli_seconds();
    int status, rc = bang_checkpoint_open(&r->checkpoint, c->operands[0], &err);
    if (rc == 0)
        rc = plan(r, &problems, &err);
    if (rc == 0 && bang_output_is_folder(r->output, r->checkpoint))
        checkpoints_note_folders(c, r->checkpoint);
    if (rc == 0 && !r->dry_run)
        rc = write_all(c, r, &err);
    r->seconds = cli_seconds() - begin;
    if (rc < 0 && problems.size) {
        print_lines(c, "", problems.data);
        status = CLI_FAILED;
    } else if (rc < 0) {
        status = cli_fail(c, &err);
    } else {
        uint64_t overflows = warn_overflows(c, r);
        status = CLI_DONE;
        if (c->json)
            status = print_json(c, r, overflows);
        else if (!c->quiet)
            print_text(r);
    }
    bang_text_release(&problems);
    return status;
}

int cmd_convert(int argc, char **argv)
{
    request r = {.dtype = -1, .stream = BANG_STREAM_INIT};
    cli_option options[] = {
        {"output", 'o', "OUT", "where to write", cli_read_text, &r.output},
        {"to", 0, "LAYOUT", "clip-hf, clip-openai or clip-open_clip", cli_read_text, &r.to},
        {"dtype", 0, "TYPE", "of numbers that are not integers: f32, f16, bf16 (keep)", dtype_read,
         &r.dtype},
        {"shard-size", 0, "SIZE", "bytes of tensors that a file may hold, such as 5G",
         cli_read_bytes, &r.shard_size},
        {"max-memory", 0, "SIZE", "of the whole process (64M)", cli_read_bytes, &r.max_memory},
        {"dry-run", 0, NULL, "say what would be written, and from what", cli_read_flag, &r.dry_run},
        {0},
    };
    cli c;
    if (cli_init(&c, "convert", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("convert", "IN -o OUT [--to LAYOUT] [--dtype TYPE]", summary, options,
                       example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : convert(&c, &r);
    }
    bang_output_free(r.target);
    bang_conversion_free(r.plan);
    bang_checkpoint_close(r.checkpoint);
    cli_release(&c);
    return status;
}
