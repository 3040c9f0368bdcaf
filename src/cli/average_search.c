/* Searches: greedy soup, and the best of several alphas. Scores come from a program
 * of the user's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "average.h"
#include "bang/base/file.h"
#include "bang/base/process.h"
#include "bang/combine/greedy.h"

struct search {
    cli *c;
    average_request *r;
    const average_place *place; /* where averages to be scored are written */
    char *candidate;            /* what to open there: of shards the index */
    double *weights;
    int failed; /* an exit status: what went wrong was said already */
};

/* The path in single quotes, as sh reads it. */
static void add_quoted(bang_text *out, const char *path)
{
    bang_text_add(out, "'");
    for (; *path; path++)
        if (*path == '\'')
            bang_text_add(out, "'\\''");
        else
            bang_text_add_bytes(out, path, 1);
    bang_text_add(out, "'");
}

/* COMMAND with each {} replaced, or the path at its end. */
static void make_line(bang_text *out, const char *command, const char *path)
{
    int placed = 0;
    for (const char *found = strstr(command, "{}"); found; found = strstr(command, "{}")) {
        bang_text_add_bytes(out, command, (size_t)(found - command));
        add_quoted(out, path);
        command = found + 2;
        placed = 1;
    }
    bang_text_add(out, "%s", command);
    if (!placed) {
        bang_text_add(out, " ");
        add_quoted(out, path);
    }
}

/* The last word of the last line that is not empty. */
static int read_score(double *score, char *output)
{
    size_t length = strlen(output);
    while (length > 0 && strchr(" \t\r\n", output[length - 1]))
        output[--length] = '\0';
    size_t start = length;
    while (start > 0 && !strchr(" \t\r\n=:", output[start - 1]))
        start--;
    if (strcasecmp(output + start, "nan") == 0) { /* of a model that went astray: the worst */
        *score = NAN;
        return 0;
    }
    return bang_text_to_double(score, output + start);
}

static int run_command(double *score, const struct search *s, const char *path, bang_error *err)
{
    bang_text line = {0};
    char *output = NULL;
    int status = 0;
    make_line(&line, s->r->score, path);
    const char *const words[] = {"sh", "-c", line.data, NULL};
    int code = line.failed ? bang_fail_memory(err)
                           : bang_process_capture(&output, &status, NULL, words, cli_cancel(), err);
    if (code == 0 && status != 0)
        code = bang_fail(err, BANG_EIO,
                         "--score: \"%.300s\" ended with status %d: it must print a number and end "
                         "with 0",
                         line.data, status);
    if (code == 0 && read_score(score, output) < 0)
        code = bang_fail(
            err, BANG_EDATA,
            "--score: \"%.300s\" printed no number at the end of its last line: print the "
            "score last",
            line.data);
    free(output);
    bang_text_release(&line);
    return code;
}

int average_plan_all(cli *c, const average_request *r)
{
    bang_average_options options = r->options;
    bang_stream stream = BANG_STREAM_INIT;
    bang_average *average = NULL;
    options.hash = 0;
    options.output_count = 1;
    stream.threads = (int)c->threads;
    stream.max_memory = r->max_memory;
    stream.cancel = cli_cancel();
    int status = average_once(c, &options, 0, &stream, &average);
    bang_average_free(average);
    return status;
}

/* Of shards the index comes last. */
static int keep_name(struct search *s, const bang_output *output, bang_error *err)
{
    size_t count = bang_output_file_count(output);
    free(s->candidate);
    s->candidate =
        strdup(s->r->options.folder ? s->place->path : bang_output_file_path(output, count - 1));
    return s->candidate ? 0 : bang_fail_memory(err);
}

/* The average with these weights, where the command will find it; on failure what is in
 * failed or in err tells. */
static int write_candidate(struct search *s, const double *weights, bang_error *err)
{
    const average_request *r = s->r;
    bang_average_options options = r->options;
    bang_stream stream = BANG_STREAM_INIT;
    bang_average *average = NULL;
    const char *paths[] = {s->place->path};
    options.weights = weights;
    options.paths = paths;
    options.output_count = 1;
    options.weight_text = NULL;
    options.hash = 0;
    stream.threads = (int)s->c->threads;
    stream.max_memory = r->max_memory;
    stream.cancel = cli_cancel();
    int code = average_place_clear(s->place, err);
    if (code == 0)
        code = bang_folder_create(s->place->folder, err);
    if (code < 0)
        return code;
    s->failed = average_once(s->c, &options, 1, &stream, &average);
    code = s->failed ? bang_fail(err, BANG_EIO, "failed")
                     : keep_name(s, bang_average_target(average, 0), err);
    bang_average_free(average);
    return code;
}

static int score(void *context, double *out, const size_t *members, size_t count, bang_error *err)
{
    struct search *s = context;
    const average_request *r = s->r;
    const char *path = r->inputs.paths[members[0]];
    if (count > 1) {
        memset(s->weights, 0, r->inputs.count * sizeof *s->weights);
        for (size_t i = 0; i < count; i++)
            s->weights[members[i]] = 1 / (double)count;
        int failed = write_candidate(s, s->weights, err);
        if (failed)
            return failed;
        path = s->candidate;
    }
    int code = run_command(out, s, path, err);
    if (code == 0 && !s->c->quiet && !s->c->json) {
        fprintf(stderr, "bang average: score %.10g:", *out);
        for (size_t i = 0; i < count; i++)
            fprintf(stderr, " %s%s", i ? "+ " : "", r->inputs.paths[members[i]]);
        fprintf(stderr, "\n");
    }
    return code;
}

int average_greedy(cli *c, average_request *r, average_place *place, json_t **told)
{
    bang_error err = {0};
    int status = average_plan_all(c, r);
    if (status != CLI_DONE)
        return status;
    size_t inputs = r->inputs.count, count = 0;
    struct search s = {
        .c = c, .r = r, .place = place, .weights = calloc(inputs + 1, sizeof(double))};
    size_t *members = calloc(inputs + 1, sizeof *members);
    double *scores = calloc(inputs + 1, sizeof *scores), best = 0;
    int code = s.weights && members && scores ? 0 : bang_fail_memory(&err);
    if (code == 0)
        code = average_place_open(place, r, &err);
    if (code == 0)
        code = bang_greedy(members, &count, scores, &best, inputs, score, &s, &err);
    if (code == 0)
        code = average_place_clear(place, &err);
    status = code == 0 ? CLI_DONE : s.failed ? s.failed : cli_fail(c, &err);
    if (code == 0) {
        json_t *single = json_array(), *chosen = json_array();
        memset(r->all_weights, 0, inputs * sizeof *r->all_weights);
        for (size_t i = 0; i < count; i++) {
            r->all_weights[members[i]] = 1 / (double)count;
            json_array_append_new(chosen, json_string(r->inputs.paths[members[i]]));
        }
        for (size_t i = 0; i < inputs; i++)
            json_array_append_new(single, bang_json_number(scores[i]));
        *told = json_pack("{so so so}", "scores", single, "members", chosen, "score",
                          bang_json_number(best));
        if (!c->quiet && !c->json)
            fprintf(stderr, "bang average: %zu of %zu models stay, score %.10g\n", count, inputs,
                    best);
    }
    free(s.candidate);
    free(s.weights);
    free(members);
    free(scores);
    return status;
}

/* Scores every alpha; *best is the number of the best, of equal ones the first. */
static int try_alphas(struct search *s, double *scores, size_t *best, bang_error *err)
{
    const average_request *r = s->r;
    int code = 0;
    *best = 0;
    for (size_t k = 0; code == 0 && k < r->options.output_count; k++) {
        code = write_candidate(s, r->all_weights + k * r->inputs.count, err);
        if (code == 0)
            code = run_command(&scores[k], s, s->candidate, err);
        if (code == 0 && !s->c->quiet && !s->c->json)
            fprintf(stderr, "bang average: score %.10g: alpha %s\n", scores[k], r->texts[k]);
        if (code == 0 && (scores[k] > scores[*best] || (isnan(scores[*best]) && !isnan(scores[k]))))
            *best = k;
    }
    return code;
}

/* The request is that for one alpha from now on. */
static void keep_alpha(average_request *r, size_t best)
{
    char *path = r->paths[best], *text = r->texts[best];
    r->paths[best] = r->paths[0];
    r->texts[best] = r->texts[0];
    r->paths[0] = path;
    r->texts[0] = text;
    memmove(r->all_weights, r->all_weights + best * r->inputs.count,
            r->inputs.count * sizeof *r->all_weights);
    r->options.output_count = 1;
}

int average_best_alpha(cli *c, average_request *r, average_place *place, json_t **told)
{
    bang_error err = {0};
    int status = average_plan_all(c, r);
    if (status != CLI_DONE)
        return status;
    struct search s = {.c = c, .r = r, .place = place};
    size_t count = r->options.output_count, best = 0;
    double *scores = calloc(count + 1, sizeof *scores);
    int code = scores ? average_place_open(place, r, &err) : bang_fail_memory(&err);
    if (code == 0)
        code = try_alphas(&s, scores, &best, &err);
    if (code == 0)
        code = average_place_clear(place, &err);
    status = code == 0 ? CLI_DONE : s.failed ? s.failed : cli_fail(c, &err);
    if (code == 0) {
        json_t *all = json_array(), *alphas = json_array();
        for (size_t k = 0; k < count; k++) {
            json_array_append_new(all, bang_json_number(scores[k]));
            json_array_append_new(alphas, json_string(r->texts[k]));
        }
        *told = json_pack("{so so ss so}", "alphas", alphas, "scores", all, "alpha", r->texts[best],
                          "score", bang_json_number(scores[best]));
        if (!c->quiet && !c->json)
            fprintf(stderr, "bang average: alpha %s is best, score %.10g\n", r->texts[best],
                    scores[best]);
        keep_alpha(r, best);
    }
    free(s.candidate);
    free(scores);
    return status;
}
