#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checkpoints.h"
#include "diff.h"

static const char summary[] =
    "Says how far checkpoint B is from checkpoint A: for every tensor, every layer and in\n"
    "all the relative change |b - a|/|a|, the cosine, the norm ratio |b|/|a| and the largest\n"
    "|b - a|. A and B are files of any format, an index of shards, or a folder that holds\n"
    "one; they may differ in format, in number type and in what they hold. What is not\n"
    "defined (a norm of 0, NaN in a tensor) is a dash, null in JSON; a tensor without numbers\n"
    "has not changed (0) and has neither cosine nor ratio. Layers and the total leave pairs\n"
    "of numbers out that are not finite. Integers (counters, indices) are compared tensor by\n"
    "tensor only: layers, the total and what moved most leave them out. What was 0 before\n"
    "has no relative change and comes after what has one. That they differ is no failure:\n"
    "exit status 0. In a SIZE, M is 2^20 and MB 10^6.";

static const char example[] = "  bang diff zeroshot.safetensors finetuned.safetensors\n"
                              "  bang diff base/ tuned/ --sort change --top 20 --html diff.html\n";

double diff_rank(const bang_change *change, int equal)
{
    if (equal || change->count == 0)
        return -1;
    if (!isnan(change->relative_change))
        return change->relative_change;
    return change->norm_a == 0 && !change->not_finite ? DBL_TRUE_MIN : INFINITY;
}

static int compare_ranks(double a, double b)
{
    return (b > a) - (b < a);
}

/* Equal ones stay in the order of the file: they lie in one array. */
static int tensors_by_change(const void *left, const void *right)
{
    const bang_tensor_change *a = *(const bang_tensor_change *const *)left;
    const bang_tensor_change *b = *(const bang_tensor_change *const *)right;
    int order = compare_ranks(diff_rank(&a->change, a->equal), diff_rank(&b->change, b->equal));
    return order ? order : (a > b) - (a < b);
}

static int tensors_by_name(const void *left, const void *right)
{
    const bang_tensor_change *a = *(const bang_tensor_change *const *)left;
    const bang_tensor_change *b = *(const bang_tensor_change *const *)right;
    return bang_name_compare(a->a->name, b->a->name);
}

static int layers_by_change(const void *left, const void *right)
{
    const bang_layer_change *a = *(const bang_layer_change *const *)left;
    const bang_layer_change *b = *(const bang_layer_change *const *)right;
    int order = compare_ranks(diff_rank(&a->change, a->equal == a->tensors),
                              diff_rank(&b->change, b->equal == b->tensors));
    return order ? order : (a > b) - (a < b);
}

static int layers_by_name(const void *left, const void *right)
{
    const bang_layer_change *a = *(const bang_layer_change *const *)left;
    const bang_layer_change *b = *(const bang_layer_change *const *)right;
    return bang_name_compare(a->name, b->name);
}

static int arrange(diff_result *r, const char *sort, bang_error *err)
{
    const bang_difference *d = &r->found;
    r->layers = calloc(d->layer_count + 1, sizeof(bang_layer_change *));
    r->tensors = calloc(d->count + 1, sizeof(bang_tensor_change *));
    r->moved = calloc(d->count + 1, sizeof(bang_tensor_change *));
    if (!r->layers || !r->tensors || !r->moved)
        return bang_fail_memory(err);
    for (size_t i = 0; i < d->layer_count; i++)
        r->layers[i] = &d->layers[i];
    for (size_t i = 0; i < d->count; i++) {
        r->tensors[i] = &d->tensors[i];
        if (bang_tensor_change_counts(&d->tensors[i]) &&
            diff_rank(&d->tensors[i].change, d->tensors[i].equal) > 0)
            r->moved[r->moved_count++] = &d->tensors[i];
    }
    qsort(r->moved, r->moved_count, sizeof(bang_tensor_change *), tensors_by_change);
    if (strcmp(sort, "file") == 0)
        return 0;
    int by_name = strcmp(sort, "name") == 0;
    qsort(r->layers, d->layer_count, sizeof(bang_layer_change *),
          by_name ? layers_by_name : layers_by_change);
    qsort(r->tensors, d->count, sizeof(bang_tensor_change *),
          by_name ? tensors_by_name : tensors_by_change);
    return 0;
}

/* Where the last parts components of a path begin, without slashes at its end. */
static size_t tail_start(const char *path, size_t size, int parts)
{
    size_t at = size;
    while (at > 0 && parts > 0)
        if (path[--at] == '/' && --parts == 0)
            return at + 1;
    return 0;
}

/* "run1/model.safetensors" and "run2/model.safetensors": no more of the paths
 * than tells them apart. */
static int shorten(diff_result *r, const char *a, const char *b, bang_error *err)
{
    size_t m = strlen(a), n = strlen(b), i = 0, k = 0;
    while (m > 1 && a[m - 1] == '/')
        m--;
    while (n > 1 && b[n - 1] == '/')
        n--;
    for (int parts = 1; parts < 100; parts++) {
        i = tail_start(a, m, parts);
        k = tail_start(b, n, parts);
        if ((i == 0 && k == 0) || m - i != n - k || memcmp(a + i, b + k, m - i) != 0)
            break;
    }
    r->a = strndup(a + i, m - i);
    r->b = strndup(b + k, n - k);
    return r->a && r->b ? 0 : bang_fail_memory(err);
}

/* Said before two models are read. */
static int has_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat info;
    char *folder = slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;
    int is_there = !folder || stat(folder, &info) == 0;
    free(folder);
    return is_there;
}

static void check_request(cli *c, const diff_request *r)
{
    if (c->operand_count != 2)
        cli_problem(c, "%zu checkpoint%s named: name two: bang diff A B", c->operand_count,
                    c->operand_count == 1 ? "" : "s");
    if (strcmp(r->sort, "change") != 0 && strcmp(r->sort, "name") != 0 &&
        strcmp(r->sort, "file") != 0)
        cli_problem(c, "--sort %.40s: unknown: choose change, name or file", r->sort);
    if (r->top < 0)
        cli_problem(c, "--top %lld: must not be negative", (long long)r->top);
    struct stat info;
    if (r->html && stat(r->html, &info) == 0 && S_ISDIR(info.st_mode))
        cli_problem(c, "--html %.200s: is a folder: name a file in it", r->html);
    else if (r->html && !has_folder(r->html))
        cli_problem(c, "--html %.200s: its folder does not exist: make it first", r->html);
}

static int measure(diff_result *result, const cli *c, const diff_request *r,
                   const checkpoints *both, bang_error *err)
{
    bang_stream stream = BANG_STREAM_INIT;
    cli_bar bar;
    cli_bar_start(&bar, c, "reading");
    bar.bytes = 1;
    stream.threads = (int)c->threads;
    stream.max_memory = r->max_memory;
    stream.progress = &bar.progress;
    stream.cancel = cli_cancel();
    int rc = bang_difference_measure(&result->found, both->items[0], both->items[1], &stream, err);
    cli_bar_finish(&bar);
    if (rc == 0)
        rc = arrange(result, r->sort, err);
    if (rc == 0)
        rc = shorten(result, c->operands[0], c->operands[1], err);
    return rc;
}

static int tell(const cli *c, const diff_request *r, const diff_result *result, bang_error *err)
{
    if (r->html && diff_write_page(r->html, result, err) < 0)
        return cli_fail(c, err);
    if (c->json)
        return cli_print_json(c, diff_json(result));
    if (!c->quiet)
        diff_print(r, result);
    return CLI_DONE;
}

static int diff(const cli *c, const diff_request *r)
{
    checkpoints both = {0};
    diff_result result = {0};
    bang_error err = {0};
    int status = CLI_FAILED, rc = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = checkpoints_read(&both, c->operands[i], &err);
    if (rc < 0) {
        cli_fail(c, &err);
    } else if (checkpoints_open(c, &both) == 0) {
        checkpoints_notes(c, &both);
        status =
            measure(&result, c, r, &both, &err) < 0 ? cli_fail(c, &err) : tell(c, r, &result, &err);
    }
    bang_difference_release(&result.found);
    free(result.layers);
    free(result.tensors);
    free(result.moved);
    free(result.a);
    free(result.b);
    checkpoints_release(&both);
    return status;
}

int cmd_diff(int argc, char **argv)
{
    diff_request r = {.sort = "file", .top = 10};
    cli_option options[] = {
        {"html", 0, "FILE", "write a page with charts and sortable tables", cli_read_text, &r.html},
        {"sort", 0, "BY", "show by change, name or file (file)", cli_read_text, &r.sort},
        {"top", 0, "N", "tensors in the lists (10)", cli_read_whole, &r.top},
        {"tensors", 0, NULL, "list every tensor", cli_read_flag, &r.tensors},
        {"max-memory", 0, "SIZE", "memory to read with (64M)", cli_read_bytes, &r.max_memory},
        {0},
    };
    cli c;
    if (cli_init(&c, "diff", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("diff", "A B [options]", summary, options, example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : diff(&c, &r);
    }
    cli_release(&c);
    return status;
}
