/* bang predict: what came out, for a person or as JSON. */
#include <math.h>
#include <stdio.h>

#include "bang/base/utf8.h"
#include "predict.h"

static const char *match_name(predict_match match)
{
    static const char *const names[] = {
        [PREDICT_BY_NUMBER] = "number",
        [PREDICT_BY_ORDER] = "order",
        [PREDICT_BY_NAME] = "name",
        [PREDICT_BY_MAP] = "map",
    };
    return names[match];
}

static json_t *top_json(const predict_request *r, const predict_result *result)
{
    json_t *list = json_array();
    for (size_t i = 0; i < result->count; i++) {
        const predict_top *top = &result->top[i];
        json_t *classes = json_array();
        for (size_t k = 0; k < top->count; k++)
            json_array_append_new(
                classes, json_pack("{sI so so}", "output", (json_int_t)top->column[k], "name",
                                   bang_utf8_json(predict_class_name(r, top->column[k])),
                                   "probability", bang_json_number(top->probability[k])));
        json_array_append_new(list,
                              json_pack("{so so}", "file", bang_utf8_json(r->set.paths[top->index]),
                                        "classes", classes));
    }
    return list;
}

static int print_json(const cli *c, const predict_request *r, const predict_result *result)
{
    json_t *models = json_array();
    for (size_t m = 0; m < r->count; m++)
        json_array_append_new(models, bang_json_number(result->accuracy[m]));
    json_t *out =
        json_pack("{sI sI so so ss so}", "n", (json_int_t)result->count, "classes",
                  (json_int_t)r->columns, "accuracy", bang_json_number(result->accuracy[r->count]),
                  "models", models, "ensemble", r->ensemble, "output", bang_utf8_json(r->output));
    json_object_set_new(out, "skipped", json_integer((json_int_t)result->skipped));
    json_object_set_new(out, "labels", bang_utf8_json(r->labels));
    json_object_set_new(out, "map", bang_utf8_json(r->has_map ? r->map.name : NULL));
    json_object_set_new(out, "matched", bang_utf8_json(match_name(r->match)));
    if (r->single)
        json_object_set_new(out, "top", top_json(r, result));
    return cli_print_json(c, out);
}

static void print_top(const predict_request *r, const predict_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        const predict_top *top = &result->top[i];
        fputs(i ? "\n" : "", stdout);
        cli_print_clean(r->set.paths[top->index]);
        putchar('\n');
        for (size_t k = 0; k < top->count; k++) {
            const char *name = predict_class_name(r, top->column[k]);
            printf("%8.2f %%  ", 100 * top->probability[k]);
            if (name)
                cli_print_clean(name);
            else
                printf("class %zu", top->column[k]);
            putchar('\n');
        }
    }
}

static void print_accuracy(const predict_request *r, const predict_result *result)
{
    printf("%zu %s%s, %zu %s", result->count, r->set.paths ? "picture" : "input",
           result->count == 1 ? "" : "s", r->columns,
           r->features ? (r->columns == 1 ? "feature" : "features")
                       : (r->columns == 1 ? "class" : "classes"));
    if (result->skipped)
        printf("; %zu could not be read", result->skipped);
    putchar('\n');
    if (isnan(result->accuracy[0]))
        return;
    puts("\naccuracy");
    for (size_t m = 0; m < r->count; m++)
        printf("%8.2f %%  %s\n", 100 * result->accuracy[m], r->models[m].path);
    if (r->count > 1)
        printf("%8.2f %%  %s of %s\n", 100 * result->accuracy[r->count],
               r->weights ? "weighted sum" : "mean", r->ensemble);
}

int predict_print(const cli *c, const predict_request *r, const predict_result *result)
{
    if (c->json)
        return print_json(c, r, result);
    if (r->single && (!c->quiet || !r->output)) /* what was asked for is no remark */
        print_top(r, result);
    if (!r->single && (!c->quiet || !r->output))
        print_accuracy(r, result);
    if (r->output && !c->quiet)
        printf("\n%s: %s\n", r->output,
               r->features        ? "features"
               : r->probabilities ? "class probabilities"
                                  : "logits");
    if (r->labels && !c->quiet)
        printf("%s%s: labels\n", r->output ? "" : "\n", r->labels);
    return CLI_DONE;
}
