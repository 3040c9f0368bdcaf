#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "checkpoints.h"
#include "diagnose.h"
#include "networks.h"

static const char summary[] =
    "Says whether and why the average (AM) of a pre-trained model (PM) and a fine-tuned one\n"
    "(FM) is better than both, from their logits on one or several data sets: files .npy\n"
    "(n, outputs) of f16, f32 or f64 from bang predict, PyTorch, JAX or NumPy, with labels\n"
    "(n) of any integer type. Files are read piece by piece and may be larger than memory.\n"
    "\n"
    "Per set: accuracy, confidence (the largest probability), gap (confidence - accuracy), ECE\n"
    "with bins (lo, hi] of equal width, NLL, Brier score; differences with bootstrap intervals,\n"
    "paired, and McNemar's test; the eight groups TTT .. FFF of samples that PM, FM, AM get\n"
    "right (T) or wrong (F); FalseFalseTrue ratio FFT/n; ImproveContri, the part of the\n"
    "improvement over the better model that comes from TT+FF (FFT - TTF) and from TF+FT; mean\n"
    "margins p_label - max p_other; agreement and error correlation. A difference is called\n"
    "real when its interval excludes 0 and McNemar's exact test agrees; of a mean over sets there\n"
    "is no test, and the interval decides. OSE is the ensemble of the outputs of PM and FM, the\n"
    "mean of their logits; the calibrated one divides each by a temperature that is fitted on the\n"
    "ID set; where none fits, since a model makes no mistake there, text and page leave it out.\n"
    "Without --avg the OSE takes the average's place.\n"
    "Of several sets the text has tables over all of them, and --details each. Without --labels a\n"
    "set tells confidence, agreement and balance only.\n"
    "\n"
    "Options from --set to --classes belong to the set that --set began; several sets have their\n"
    "options one after the other. --classes before the first --set is for all that have none.\n"
    "A subset is a list 0,3,5-9, a file of numbers (or of names, with --class-names), an .npy\n"
    "of integers, or a map of bang data map; logits are sliced to it, and labels are places in\n"
    "it, or outputs of the model.\n"
    "\n"
    "Which alpha: with averages at several alphas (--at) it is chosen without OOD labels, by ID\n"
    "accuracy, and by where both models are equally confident: alpha = 1/(1 + tau), with tau the\n"
    "temperature at which FM is as confident as PM. Where labels are, the cost is shown.\n"
    "\n"
    "--curve: a CSV with the columns name,fine,avg of accuracies, or of files of logits with a\n"
    "column labels; AM's accuracy against FM's, c0 + c1 x + c2 x^2, and how far --highlight is\n"
    "above it.";

static const char example[] =
    "  bang diagnose --labels y.npy --pre pm.npy --fine fm.npy --avg am.npy\n"
    "  bang diagnose --labels y.npy --pre pm.npy --fine fm.npy --avg am.npy --list FFT,TTF\n"
    "  bang diagnose --set id --labels id/y.npy --pre id/pm.npy --fine id/fm.npy \\\n"
    "      --at 'id/am-{alpha}.npy' --set sketch --labels sk/y.npy --pre sk/pm.npy \\\n"
    "      --fine sk/fm.npy --at 'sk/am-{alpha}.npy' --alphas 0.3,0.5,0.7 --html page.html\n"
    "  bang diagnose --curve runs.csv --highlight 'Mixup + LS'\n";

/* All that is open at a time. */
typedef struct work {
    diagnose_inputs in;
    diagnose_curve points;
    bang_finding_curve fit;
    diagnose_files files;
    bang_finding_facts *facts; /* (sets) */
    bang_diagnosis *found;
    bang_finding result;
} work;

static void release(work *w)
{
    bang_diagnosis_free(w->found);
    diagnose_fit_release(&w->fit);
    diagnose_curve_release(&w->points);
    diagnose_files_release(&w->files);
    diagnose_inputs_release(&w->in);
    bang_text_release(&w->result.notes);
    free(w->facts);
}

/* Whether the output would take the place of a picture, or of a file that the curve names. */
static int is_read(const work *w, const diagnose_request *r, const char *output)
{
    if (r->curve && w->points.files && diagnose_curve_reads(&w->points, output))
        return 1;
    /* names of pictures are paths; those of a text are not */
    int same = 0, there = access(output, F_OK) == 0;
    for (size_t i = 0; there && !w->files.text && !same && i < w->files.count; i++)
        same = same_file(w->files.names[i], output);
    return same;
}

static void check_outputs(const work *w, cli *c, const diagnose_request *r)
{
    if (r->html && is_read(w, r, r->html))
        cli_problem(c, "--html %.200s: is an input, too: name another file", r->html);
    if (r->csv && is_read(w, r, r->csv))
        cli_problem(c, "--csv %.200s: is an input, too: name another file", r->csv);
}

/* Opens all files and says everything that is wrong with them. */
static void open_all(work *w, cli *c, const diagnose_request *r)
{
    int opened =
        r->set_count && diagnose_inputs_open(&w->in, r->sets, r->set_count, &r->input, c) == 0;
    if (r->files && opened)
        diagnose_files_read(&w->files, r->files, w->in.of[0].rows, c);
    if (r->curve && diagnose_curve_open(&w->points, r->curve, &r->input, c) == 0)
        diagnose_check_highlights(c, &w->points, r);
    check_outputs(w, c, r);
}

static void collect_notes(work *w)
{
    bang_text *notes = &w->result.notes;
    if (w->in.notes.size)
        bang_text_add(notes, "%s", w->in.notes.data);
    if (w->points.notes.size)
        bang_text_add(notes, "%s", w->points.notes.data);
}

static int describe(work *w, const diagnose_request *r, bang_error *err)
{
    static const char *const averages[] = {
        [DIAGNOSE_AVERAGE_GIVEN] = "given",
        [DIAGNOSE_AVERAGE_AT_HALF] = "at 0.5",
        [DIAGNOSE_AVERAGE_OSE] = "ose",
    };
    const bang_diagnosis_options *o = &r->options;
    w->facts = calloc(w->in.count + 1, sizeof *w->facts);
    if (!w->facts)
        return bang_fail_memory(err);
    for (size_t i = 0; i < w->in.count; i++) {
        const diagnose_input *in = &w->in.of[i];
        w->facts[i] = (bang_finding_facts){.outputs = in->outputs,
                                           .left_out = in->left_out,
                                           .average = averages[in->average],
                                           .class_name = in->class_names,
                                           .file = w->files.names};
    }
    bang_finding *out = &w->result;
    out->found = w->found;
    out->facts = w->facts;
    out->curve = r->curve ? &w->fit : NULL;
    out->level = o->level;
    out->replicates = o->replicates;
    out->bins = o->bins;
    out->seed = o->seed;
    out->weights[0] = o->weights[0];
    out->weights[1] = o->weights[1];
    out->ose_count = o->ose_count;
    out->ose_alphas = o->ose_alphas;
    out->listed = o->listed;
    out->by_class = o->by_class;
    out->details = r->details;
    out->argument_count = r->argument_count;
    out->arguments = r->arguments;
    return out->notes.failed ? bang_fail_memory(err) : 0;
}

static int measure(work *w, const cli *c, const diagnose_request *r, bang_error *err)
{
    cli_bar bar;
    bang_diagnosis_options options = r->options;
    int rc = 0;
    cli_bar_start(&bar, c, "samples");
    options.progress = &bar.progress;
    options.cancel = cli_cancel();
    if (r->set_count)
        rc = bang_diagnose(&w->found, w->in.sets, w->in.count, &options, err);
    if (rc == 0 && r->curve) {
        const diagnose_curve_options how = {(int)c->threads, &bar.progress, options.cancel};
        rc = diagnose_curve_run(&w->points, &how, err);
    }
    cli_bar_finish(&bar);
    if (rc == 0 && r->curve)
        rc = diagnose_fit_curve(&w->fit, &w->points, r, err);
    return rc == 0 ? describe(w, r, err) : rc;
}

static int tell(const cli *c, const diagnose_request *r, const bang_finding *result,
                bang_error *err)
{
    if (r->html && diagnose_write_page(r->html, result, err) < 0)
        return cli_fail(c, err);
    if (r->csv && diagnose_write_csv(r->csv, result, err) < 0)
        return cli_fail(c, err);
    if (c->json)
        return cli_print_json(c, bang_finding_json(result));
    if (c->quiet && (r->html || r->csv))
        return CLI_DONE;
    diagnose_print(result);
    if (r->html && !c->quiet)
        printf("\n%s: charts and tables\n", r->html);
    if (r->csv && !c->quiet)
        printf("%s%s: all numbers\n", r->html ? "" : "\n", r->csv);
    return CLI_DONE;
}

static int diagnose(cli *c, const diagnose_request *r)
{
    work w = {0};
    bang_error err = {0};
    int status = CLI_FAILED;
    open_all(&w, c, r);
    if (!cli_usage_failed(c)) {
        collect_notes(&w);
        if (w.result.notes.size && !c->quiet && !c->json)
            print_lines(c, "note: ", w.result.notes.data);
        status = measure(&w, c, r, &err) < 0 ? cli_fail(c, &err) : tell(c, r, &w.result, &err);
    }
    release(&w);
    return status;
}

int cmd_diagnose(int argc, char **argv)
{
    diagnose_request r = {.argument_count = (size_t)argc - 1,
                          .arguments = argv + 1,
                          .label_numbers = "auto",
                          .bins = BANG_BINS,
                          .replicates = 10000,
                          .level = 0.95};
    diagnose_field labels = {&r, offsetof(diagnose_block, set.labels)},
                   pre = {&r, offsetof(diagnose_block, set.pre)},
                   fine = {&r, offsetof(diagnose_block, set.fine)},
                   avg = {&r, offsetof(diagnose_block, set.avg)},
                   classes = {&r, offsetof(diagnose_block, set.classes)},
                   name = {&r, offsetof(diagnose_block, name)};
    cli_option options[] = {
        {"set", 0, "NAME", "begins a data set", diagnose_read_set, &r},
        {"name", 0, "NAME", "of the only set (data)", diagnose_read_field, &name},
        {"labels", 0, "FILE", "(n) class numbers; without: no accuracy", diagnose_read_field,
         &labels},
        {"pre", 0, "FILE", "(n, outputs) logits of the pre-trained model", diagnose_read_field,
         &pre},
        {"fine", 0, "FILE", "of the fine-tuned model", diagnose_read_field, &fine},
        {"avg", 0, "FILE", "of the average", diagnose_read_field, &avg},
        {"at", 0, "ALPHA=FILE", "of the average at an alpha; or a name with {alpha}",
         diagnose_read_at, &r},
        {"classes", 0, "SUBSET", "outputs that are classes: a list, a file, a class map",
         diagnose_read_field, &classes},
        {"label-numbers", 0, "HOW", "of a subset: auto, places or outputs (auto)", cli_read_text,
         &r.label_numbers},
        {"class-names", 0, "FILE", "a name a line, by output", cli_read_text, &r.class_names},
        {"probabilities", 0, NULL, "the files hold probabilities, not logits", cli_read_flag,
         &r.probabilities},
        {"logits", 0, NULL, "they hold logits, also if they look like probabilities", cli_read_flag,
         &r.logits},
        {"id", 0, "NAME", "the set in distribution (the first)", cli_read_text, &r.id},
        {"fit-temperature", 0, "NAME", "fit temperatures on this set, or none (the ID set)",
         cli_read_text, &r.fit},
        {"temperature", 0, "TP,TF", "of PM and FM, instead of fitting", cli_read_text,
         &r.temperature},
        {"weights", 0, "W,W", "of PM and FM in the OSE (0.5,0.5)", cli_read_text, &r.weights},
        {"alphas", 0, "A,A,..", "further OSEs (1-a) PM + a FM; what {alpha} stands for",
         cli_read_text, &r.alphas},
        {"list", 0, "G,G,..", "show samples of FFF, FFT, FTF, FTT, TFF, TFT, TTF, TTT or all",
         cli_read_text, &r.list},
        {"files", 0, "DIR|FILE", "what they are called: pictures, or a line for each row",
         cli_read_text, &r.files},
        {"by-class", 0, NULL, "accuracy of every class", cli_read_flag, &r.by_class},
        {"details", 0, NULL, "of several sets, print all of each", cli_read_flag, &r.details},
        {"bins", 0, "N", "of calibration (15)", cli_read_whole, &r.bins},
        {"bootstrap", 0, "N", "resamples, 100 or more; 0: no intervals (10000)", cli_read_whole,
         &r.replicates},
        {"level", 0, "P", "of intervals (0.95)", cli_read_real, &r.level},
        {"curve", 0, "FILE", "a CSV of fine-tuned models and their averages", cli_read_text,
         &r.curve},
        {"highlight", 0, "NAME", "a row of it to compare with the curve of the others",
         diagnose_read_highlight, &r},
        {"html", 0, "FILE", "write a page with charts and tables", cli_read_text, &r.html},
        {"csv", 0, "FILE", "write all numbers, one a line", cli_read_text, &r.csv},
        {0},
    };
    cli c;
    if (cli_init(&c, "diagnose", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("diagnose", "--labels FILE --pre FILE --fine FILE [--avg FILE] [options]",
                       summary, options, example);
    } else {
        diagnose_check(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : diagnose(&c, &r);
    }
    diagnose_request_release(&r);
    cli_release(&c);
    return status;
}
