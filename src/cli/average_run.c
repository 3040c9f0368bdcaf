/* Doing it, and saying what was done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "average.h"
#include "bang/base/json.h"

int average_once(cli *c, const bang_average_options *options, int writes, bang_stream *stream,
                 bang_average **kept)
{
    bang_error err = {0};
    bang_average *average = NULL;
    cli_bar bar;
    cli_bar_start(&bar, c, "average");
    bar.bytes = 1;
    stream->progress = &bar.progress;
    int code = bang_average_plan(&average, options, stream, &err);
    for (size_t k = 0; code == 0 && options->folder && k < options->output_count; k++)
        code = bang_output_copy_others(bang_average_target(average, k), options->inputs[0], &err);
    if (code == 0 && writes)
        code = bang_average_run(average, stream, &err);
    cli_bar_finish(&bar);
    stream->progress = NULL;
    *kept = average;
    if (code == 0)
        return CLI_DONE;
    const char *problems = bang_average_problems(average);
    if (!*problems || err.code == BANG_ECANCELLED)
        return cli_fail(c, &err);
    print_lines(c, "", problems);
    return CLI_FAILED;
}

/* What to open to read an output: of shards it is the index, which comes last. */
static const char *written(const average_request *r, const bang_average *average, size_t output)
{
    const bang_output *target = bang_average_target(average, output);
    size_t count = bang_output_file_count(target);
    return r->options.folder || count < 2 ? r->options.paths[output]
                                          : bang_output_file_path(target, count - 1);
}

/* What balance found, for scripts. */
static json_t *norms_json(const bang_average_result *result)
{
    json_t *list = json_array();
    for (size_t i = 0; i < result->scale_count; i++) {
        const bang_average_scale *s = &result->scales[i];
        json_t *entry = json_pack("{sI so so so}", "input", (json_int_t)s->input, "norm",
                                  bang_json_number(s->norm), "change", bang_json_number(s->change),
                                  "scale", bang_json_number(s->scale));
        if (s->layer)
            json_object_set_new(entry, "layer", json_string(s->layer));
        json_array_append_new(list, entry);
    }
    return json_pack("{so so}", "target", bang_json_number(result->target), "scales", list);
}

static json_t *lines_json(const char *lines)
{
    json_t *list = json_array();
    for (size_t size; *lines; lines += size + (lines[size] == '\n')) {
        size = strcspn(lines, "\n");
        json_array_append_new(list, json_stringn(lines, size));
    }
    return list;
}

static json_t *result_json(const average_request *r, const bang_average *average,
                           const bang_stream *stream, const balance_work *w, double seconds)
{
    bang_average_result result = bang_average_get(average);
    json_t *outputs = json_array(), *found = lines_json(w ? balance_warnings(w) : "");
    for (size_t k = 0; k < r->options.output_count; k++)
        json_array_append_new(outputs, json_string(written(r, average, k)));
    json_t *out = json_pack("{sI sI sI sI so so so}", "tensors", (json_int_t)result.tensors,
                            "copied", (json_int_t)result.copied, "bytes_read",
                            (json_int_t)stream->bytes_read, "bytes_written",
                            (json_int_t)stream->bytes_written, "seconds", bang_json_number(seconds),
                            "outputs", outputs, "warnings", lines_json(result.warnings));
    if (r->options.balance != BANG_BALANCE_NONE && !r->dry_run)
        json_object_set_new(out, "balance", norms_json(&result));
    if (w)
        json_object_set_new(out, "balance", r->dry_run ? balance_plan_json(w) : balance_json(w));
    json_array_extend(json_object_get(out, "warnings"), found);
    json_decref(found);
    if (r->dry_run) {
        json_object_set_new(out, "dry_run", json_true());
        json_object_set_new(out, "bytes_to_write", json_integer((json_int_t)result.bytes));
    }
    return out;
}

static void print_scales(const bang_average_result *result)
{
    if (result->scale_count == 0)
        return;
    printf("\nbalance: |change|/|first| brought to %.6g\n", result->target);
    printf("%12s %12s %10s  %s\n", "|first|", "|change|", "scale", "of");
    for (size_t i = 0; i < result->scale_count; i++) {
        const bang_average_scale *s = &result->scales[i];
        printf("%12.6g %12.6g %10.6g  ", s->norm, s->change, s->scale);
        cli_print_clean(s->layer ? s->layer : "the model");
        printf(s->input > 1 || result->scales[result->scale_count - 1].input > 1 ? " (input %zu)\n"
                                                                                 : "\n",
               s->input + 1);
    }
}

/* What is going to happen, for --dry-run. */
static void print_plan(const average_request *r, const bang_average *average, const balance_work *w)
{
    char text[32];
    bang_average_result result = bang_average_get(average);
    bang_text lines = {0};
    for (size_t i = 0; i < r->inputs.count; i++)
        printf("input   %s: %s, %zu tensors\n", r->inputs.paths[i], r->inputs.items[i]->format,
               r->inputs.items[i]->count);
    if (r->base.count)
        printf("base    %s: %s, %zu tensors\n", r->base.paths[0], r->base.items[0]->format,
               r->base.items[0]->count);
    printf("method  %s%s\n", r->method, r->score ? ": the score decides, shown for all" : "");
    if (w)
        balance_print_plan(w);
    for (size_t k = 0; k < r->options.output_count; k++) {
        const bang_output *output = bang_average_target(average, k);
        for (size_t f = 0; f < bang_output_file_count(output); f++)
            printf("output  %s\n", bang_output_file_path(output, f));
    }
    printf("writes  %s\n\n", bytes_text(text, (double)result.bytes));
    bang_average_describe(&lines, average);
    if (lines.data)
        cli_put_clean(stdout, lines.data);
    bang_text_release(&lines);
}

static int print_result(const cli *c, const average_request *r, const bang_average *average,
                        const bang_stream *stream, const balance_work *w, double seconds,
                        json_t *told)
{
    bang_average_result result = bang_average_get(average);
    if (c->json) {
        json_t *out = result_json(r, average, stream, w, seconds);
        if (told)
            json_object_set(out, r->greedy ? "greedy" : "search", told);
        return cli_print_json(c, out);
    }
    if (!c->quiet)
        print_lines(c, "warning: ", result.warnings);
    if (!c->quiet && w)
        print_lines(c, "warning: ", balance_warnings(w));
    if (r->dry_run) {
        print_plan(r, average, w);
        return CLI_DONE;
    }
    if (c->quiet)
        return CLI_DONE;
    char text[32];
    double bytes = (double)(stream->bytes_read + stream->bytes_written);
    for (size_t k = 0; k < r->options.output_count; k++)
        printf("%s\n", written(r, average, k));
    printf("%zu tensors (%zu copied), %s read and written", result.tensors, result.copied,
           bytes_text(text, bytes));
    if (bytes >= 1e8) /* less says nothing about the disk */
        printf(" in %.2f s, %.2f GB/s", seconds, bytes / seconds / 1e9);
    printf("\n");
    print_scales(&result);
    if (w)
        balance_print(w, written(r, average, 0));
    return CLI_DONE;
}

int average_go(cli *c, average_request *r)
{
    double begin = cli_seconds();
    int failed = checkpoints_open(c, &r->inputs) < 0;
    failed = checkpoints_open(c, &r->base) < 0 || failed;
    failed = checkpoints_open(c, &r->fishers) < 0 || failed;
    if (failed)
        return CLI_FAILED;
    checkpoints_notes(c, &r->inputs);
    r->options.inputs = (const bang_checkpoint *const *)r->inputs.items;
    r->options.input_count = r->inputs.count;
    r->options.base = r->base.items[0];
    r->options.fishers = (const bang_checkpoint *const *)r->fishers.items;
    r->options.folder = bang_output_is_folder(r->paths[0], r->inputs.items[0]);
    if (r->options.folder)
        checkpoints_note_folders(c, r->inputs.items[0]);
    bang_stream stream = BANG_STREAM_INIT;
    stream.threads = (int)c->threads;
    stream.max_memory = r->max_memory;
    stream.cancel = cli_cancel();
    json_t *told = NULL;
    bang_average *average = NULL;
    balance_work *balance = NULL;
    average_place place = {0};
    int status = CLI_DONE;
    if (r->score && !r->dry_run)
        status = r->greedy ? average_greedy(c, r, &place, &told)
                           : average_best_alpha(c, r, &place, &told);
    if (r->confidence.kind != BALANCE_NOT)
        status = average_balance(c, r, &balance);
    if (status == CLI_DONE)
        status = average_once(c, &r->options, !r->dry_run, &stream, &average);
    average_place_close(&place);
    if (status == CLI_DONE && !r->dry_run) {
        average_place_sweep(r);
        bang_output_sweep_like(r->output, "{alpha}");
    }
    if (status == CLI_DONE && balance && !r->dry_run)
        status = balance_measure(balance, written(r, average, 0));
    if (status == CLI_DONE)
        status = print_result(c, r, average, &stream, balance, cli_seconds() - begin, told);
    bang_average_free(average);
    balance_free(balance);
    json_decref(told);
    return status;
}
