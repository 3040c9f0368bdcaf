/* Lists that the command reads, a thing a line: classes and templates of prompts, names of
 * files beside logits, names of outputs, and the log of a training that is gone on with. The
 * parts of the input are classes and templates. */
#include <sys/stat.h>

#include "cli/diagnose.h"
#include "cli/diagnose_read.h"
#include "cli/prompts.h"
#include "cli/train.h"
#include "files.h"

/* What is said: one line each. */
static void check_problems(const cli *c)
{
    if (c->problems.failed || (c->problems.size && c->problems.data[c->problems.size - 1] != '\n'))
        abort();
}

static void try_prompts(void)
{
    cli c = {.command = "fuzz"};
    prompts p = {0};
    bang_text text = {0};
    prompts_read(&c, &p, place("classes"), place("templates"));
    check_problems(&c);
    for (size_t k = 0; c.problems.size == 0 && k < p.class_count; k++)
        for (size_t t = 0; t < p.template_count && k * t < 64; t++) {
            prompts_make(&text, &p, k, t);
            if (text.failed || strstr(p.names[k], "\n"))
                abort();
        }
    bang_text_release(&text);
    bang_text_release(&c.problems);
    prompts_release(&p);
}

static void try_files(void)
{
    cli c = {.command = "fuzz"};
    diagnose_files files;
    diagnose_names names;
    diagnose_files_read(&files, place("classes"), 3, &c);
    if (c.problems.size == 0 && files.count != 3)
        abort();
    for (size_t i = 0; i < files.count; i++)
        if (strchr(files.names[i], '\n'))
            abort();
    diagnose_files_release(&files);
    if (diagnose_names_read(&names, place("classes"), &c) == 0) {
        diagnose_subset subset;
        diagnose_subset_read(&subset, place("templates"), "--classes", NULL, &names, 12, "fuzz",
                             &c);
        for (size_t i = 0; subset.given && i < subset.outputs.classes; i++)
            if (subset.outputs.output[subset.outputs.first[i]] >= 12)
                abort();
        diagnose_subset_release(&subset);
    }
    check_problems(&c);
    diagnose_names_release(&names);
    bang_text_release(&c.problems);
}

/* What stays of a log is its beginning. */
static void try_log(const uint8_t *data, size_t size)
{
    train_log log = {.path = place("log")};
    bang_error err = {0};
    char *text;
    size_t length;
    put("log", data, size);
    train_log_begin(&log, 3);
    if (train_log_end(&log, &err) < 0 || bang_file_read(&text, &length, place("log"), &err) < 0)
        abort();
    if (length > size || (length && (memcmp(text, data, length) != 0 || text[length - 1] != '\n')))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *part;
    prepare_folder();
    try_log(data, size);
    size_t length = next_part(&data, &size, &part);
    put("classes", part, length);
    length = next_part(&data, &size, &part);
    put("templates", part, length);
    try_prompts();
    try_files();
    return 0;
}
