#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/data/tokenizer.h"
#include "bang/model/text.h"
#include "bang/model/vit_file.h"
#include "networks.h"
#include "prompts.h"

typedef struct request {
    const char *model, *classes, *templates, *vocabulary, *output, *gelu;
    int64_t heads, text_heads;
    int with_model;
    bang_vit_hints hints;
    prompts prompts;
    bang_checkpoint *checkpoint;
    bang_text_tower tower;
    bang_tokenizer *tokenizer;
    bang_vit_model image; /* with --with-model */
    float *weight, *bias; /* (classes, projection), (classes) */
    size_t cut;           /* texts that were too long */
} request;

static const char summary[] =
    "Makes a classification head from class names: a CLIP's text tower reads each name in\n"
    "each template, and a class is the mean of its texts' features, all scaled to length 1,\n"
    "times the model's own scale. FILE of --classes has a name a line, or CLASS<TAB>NAME\n"
    "where data sets call the class (a folder's name) otherwise than the texts; FILE of\n"
    "--templates a sentence a line with {} for the name. The vocabulary is CLIP's\n"
    "bpe_simple_vocab_16e6.txt.gz or merges.txt. The head has classification_head.weight\n"
    "(classes, features) and .bias, zero, and the classes' names. With --with-model the image\n"
    "tower comes along, under the names that bang train writes, so that bang average can\n"
    "combine the two.";

static const char example[] =
    "  bang zeroshot --model ViT-B-16.pt --classes classes.txt --templates templates.txt \\\n"
    "      --vocab bpe_simple_vocab_16e6.txt.gz --with-model -o zeroshot.safetensors\n";

static void check_output_file(cli *c, const request *r)
{
    const char *const given[] = {r->model, r->classes, r->templates, r->vocabulary};
    if (!r->output) {
        cli_problem(c, "--output: missing: say where to write with -o HEAD.safetensors");
        return;
    }
    size_t before = c->problems.size;
    cli_check_output(c, r->output, ".safetensors");
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i] && same_file(given[i], r->output))
            cli_problem(c, "--output %.200s: is an input too: name another file", r->output);
    if (c->problems.size == before)
        check_output(c, "output", r->output);
}

static void check_request(cli *c, request *r)
{
    static const char *const gelus[] = {"exact", "quick", "tanh"};
    for (size_t i = 0; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: a CLIP is named with --model", c->operands[i]);
    if (!r->model)
        cli_problem(c, "--model: missing: name a CLIP with --model FILE");
    if (!r->classes)
        cli_problem(c, "--classes: missing: name a file with a class name a line");
    if (!r->vocabulary)
        cli_problem(c, "--vocab: missing: name CLIP's bpe_simple_vocab_16e6.txt.gz");
    if (r->heads < 0 || r->text_heads < 0)
        cli_problem(c, "--%s: must be 1 or more", r->heads < 0 ? "heads" : "text-heads");
    if (r->heads > 0 && !r->with_model)
        cli_problem(c, "--heads: are those of the image tower, for --with-model: did you mean "
                       "--text-heads?");
    r->hints = (bang_vit_hints)BANG_VIT_HINTS_INIT;
    r->hints.heads = (size_t)r->heads;
    r->hints.text_heads = (size_t)r->text_heads;
    for (int i = 0; r->gelu && i < 3; i++)
        if (strcmp(r->gelu, gelus[i]) == 0)
            r->hints.gelu = i;
    if (r->gelu && r->hints.gelu < 0)
        cli_problem(c, "--gelu %.40s: unknown: choose exact, quick or tanh", r->gelu);
    check_output_file(c, r);
}

/* Opens every input and says all that is wrong with them, before any work. */
static int open_inputs(cli *c, request *r)
{
    bang_error err = {0};
    prompts_read(c, &r->prompts, r->classes, r->templates);
    if (bang_tokenizer_open(&r->tokenizer, r->vocabulary, &err) < 0)
        cli_problem(c, "--vocab %s", err.message);
    if (bang_checkpoint_open(&r->checkpoint, r->model, &err) < 0)
        cli_problem(c, "--model %s", err.message);
    if (r->checkpoint && bang_text_tower_load(&r->tower, r->checkpoint, &r->hints, &err) < 0)
        cli_problem(c, "--model %s", err.message);
    if (r->checkpoint && r->with_model &&
        bang_vit_model_read(&r->image, r->checkpoint, &r->hints, &err) < 0)
        cli_problem(c, "--model %s", err.message);
    size_t known = r->tower.config.vocabulary;
    if (known && r->tokenizer && bang_tokenizer_vocabulary(r->tokenizer) != known)
        cli_problem(c, "--vocab %.200s: has %zu tokens: the model knows %zu", r->vocabulary,
                    bang_tokenizer_vocabulary(r->tokenizer), known);
    return cli_usage_failed(c) ? -1 : 0;
}

/* Work on some classes after others: a bar over all texts. */
typedef struct stretch {
    bang_progress progress;
    const bang_progress *to;
    uint64_t before, total;
} stretch;

static void step(void *context, uint64_t done, uint64_t total)
{
    const stretch *s = context;
    (void)total;
    bang_progress_step(s->to, s->before + done, s->total);
}

/* Classes first .. first+count-1: ids (count * templates, context). */
static int tokenize(int32_t *ids, request *r, size_t first, size_t count, bang_error *err)
{
    size_t templates = r->prompts.template_count, context = r->tower.config.context;
    bang_text text = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count * templates; i++) {
        prompts_make(&text, &r->prompts, first + i / templates, i % templates);
        int cut = text.failed ? bang_fail_memory(err)
                              : bang_tokenizer_encode(ids + i * context, context, r->tokenizer,
                                                      text.data, err);
        r->cut += cut > 0;
        rc = cut < 0 ? cut : 0;
    }
    bang_text_release(&text);
    return rc;
}

static int encode(const cli *c, request *r, const bang_progress *progress, bang_error *err)
{
    enum { TEXTS = 512 }; /* together, if a class has fewer */
    size_t classes = r->prompts.class_count, templates = r->prompts.template_count;
    size_t width = r->tower.config.projection;
    size_t most = templates < TEXTS ? TEXTS / templates : 1;
    most = most < classes ? most : classes;
    int32_t *ids = calloc(most * templates, r->tower.config.context * sizeof *ids);
    float *features = calloc(most * templates, width * sizeof *features);
    stretch s = {.to = progress, .total = (uint64_t)classes * templates};
    s.progress = (bang_progress){step, &s};
    int rc = ids && features ? 0 : bang_fail_memory(err);
    for (size_t first = 0; rc == 0 && first < classes; first += most) {
        size_t count = classes - first < most ? classes - first : most;
        s.before = (uint64_t)first * templates;
        rc = tokenize(ids, r, first, count, err);
        if (rc == 0)
            rc = bang_text_tower_encode(features, &r->tower, ids, count * templates,
                                        (int)c->threads, &s.progress, cli_cancel(), err);
        for (size_t k = 0; rc == 0 && k < count; k++)
            bang_zeroshot_class(r->weight + (first + k) * width, features + k * templates * width,
                                templates, width, r->tower.logit_scale);
    }
    free(ids);
    free(features);
    return rc;
}

static int save(request *r, bang_error *err)
{
    size_t classes = r->prompts.class_count, width = r->tower.config.projection;
    const char *const *names = (const char *const *)r->prompts.classes;
    if (!r->with_model)
        return bang_head_save(r->output, r->weight, r->bias, classes, width, names, err);
    int rc = bang_vit_model_new_head(&r->image, classes, names, err);
    if (rc < 0)
        return rc;
    memcpy(r->image.vit.parameters + r->image.vit.map.head_weight, r->weight,
           classes * width * sizeof *r->weight);
    return bang_vit_model_save(&r->image, r->output, err);
}

static int print_result(const cli *c, const request *r)
{
    const prompts *p = &r->prompts;
    size_t texts = p->class_count * p->template_count;
    if (c->json)
        return cli_print_json(
            c, json_pack("{sI sI sI so sI ss sb}", "classes", (json_int_t)p->class_count,
                         "templates", (json_int_t)p->template_count, "features",
                         (json_int_t)r->tower.config.projection, "logit_scale",
                         bang_json_number(r->tower.logit_scale), "truncated", (json_int_t)r->cut,
                         "output", r->output, "with_model", r->with_model));
    if (c->quiet)
        return CLI_DONE;
    printf("%zu classes, %zu template%s: %zu texts", p->class_count, p->template_count,
           p->template_count == 1 ? "" : "s", texts);
    if (r->cut)
        printf(", %zu of them cut to %zu tokens", r->cut, r->tower.config.context);
    printf("\n%s: %shead (%zu, %zu), scale %.2f\n", r->output,
           r->with_model ? "image tower and " : "", p->class_count, r->tower.config.projection,
           exp(r->tower.logit_scale));
    return CLI_DONE;
}

static int make_head(cli *c, request *r)
{
    bang_error err = {0};
    cli_bar bar;
    if (open_inputs(c, r) < 0)
        return CLI_FAILED;
    prompts_notes(c, &r->prompts);
    r->weight = calloc(r->prompts.class_count, r->tower.config.projection * sizeof *r->weight);
    r->bias = calloc(r->prompts.class_count, sizeof *r->bias);
    int rc = r->weight && r->bias ? 0 : bang_fail_memory(&err);
    if (rc == 0) {
        cli_bar_start(&bar, c, "texts");
        rc = encode(c, r, &bar.progress, &err);
        cli_bar_finish(&bar);
    }
    if (rc == 0)
        rc = save(r, &err);
    return rc < 0 ? cli_fail(c, &err) : print_result(c, r);
}

int cmd_zeroshot(int argc, char **argv)
{
    request r = {0};
    cli_option options[] = {
        {"model", 'm', "CLIP", "a CLIP in any layout: a file, an index of shards, a folder",
         cli_read_text, &r.model},
        {"classes", 0, "FILE", "a class name a line, or CLASS<TAB>NAME", cli_read_text, &r.classes},
        {"templates", 0, "FILE", "a sentence a line with {} for the name (a photo of a {}.)",
         cli_read_text, &r.templates},
        {"vocab", 0, "FILE", "CLIP's byte pairs, plain or .gz", cli_read_text, &r.vocabulary},
        {"with-model", 0, NULL, "write the image tower, too", cli_read_flag, &r.with_model},
        {"heads", 0, "N", "attention heads of the image tower (as the file says, or width/64)",
         cli_read_whole, &r.heads},
        {"text-heads", 0, "N", "attention heads of the text tower (likewise)", cli_read_whole,
         &r.text_heads},
        {"gelu", 0, "KIND", "exact, quick or tanh (as the file says, or its layout has it)",
         cli_read_text, &r.gelu},
        {"output", 'o', "FILE", "where to write the head, .safetensors", cli_read_text, &r.output},
        {0},
    };
    cli c;
    if (cli_init(&c, "zeroshot", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("zeroshot", "--model CLIP --classes FILE --vocab FILE -o HEAD.safetensors",
                       summary, options, example);
    } else {
        check_request(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : make_head(&c, &r);
    }
    free(r.weight);
    free(r.bias);
    bang_vit_model_release(&r.image);
    bang_tokenizer_close(r.tokenizer);
    bang_text_tower_release(&r.tower);
    bang_checkpoint_close(r.checkpoint);
    prompts_release(&r.prompts);
    cli_release(&c);
    return status;
}
