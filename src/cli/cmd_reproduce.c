#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/base/lock.h"
#include "bang/base/record.h"
#include "bang/lab/lab.h"
#include "bang/report/figure.h"
#include "bang/report/report.h"
#include "cli.h"

static const char summary[] =
    "Runs the paper's experiments and writes DIR/results.jsonl, DIR/report.html and\n"
    "CSV tables, with the paper's numbers beside ours. EXPERIMENT is all or any of:\n"
    "  theory         the propositions and figures of section 3, and where they err\n"
    "  simulation     the four simulated examples of appendix C.4\n"
    "  multicolor     MultiColorMNIST: two networks and their ensemble, also with\n"
    "                 cross-entropy (section 3.4, appendix C.3)\n"
    "  singlecolor    SingleColorMNIST: the same with one spurious feature\n"
    "  ensemble-size  ensembles of 1 to 16 networks on both\n"
    "  occlusion      which patches networks use, and what theory makes of it\n"
    "  multicolor-average\n"
    "                 weights averaged on MultiColorMNIST: the paper's future work\n"
    "  two-layer      where averages of weights and of outputs differ (appendix D.2)\n"
    "  lab            BANG end to end on shifted digits: a small transformer pre-trained,\n"
    "                 fine-tuned in many ways, averaged, measured in distribution and out\n"
    "                 of it (section 4, appendices C.1, D.7, E, H)\n"
    "All but the first two fetch MNIST if need be (see bang data get).\n"
    "\n"
    "Time on two cores: all with --quick about 5 minutes, 2 to 3 of them the lab; lab --full 25\n"
    "to 45, the experiments on colours --full some 8. Disk: 20 MB for all, with lab --full 70,\n"
    "most of it the lab's models in DIR/models, for bang average and explain.\n"
    "\n"
    "--seeds is of all but theory and simulation; --models and --protocol are of the experiments\n"
    "on colours (multicolor to two-layer): no other takes notice of them. Protocols:\n"
    "  default        what gave the paper's tables, with 100 images a step, 5,000 steps\n"
    "                 and a new draw of colours for every seed\n"
    "  published      64 images, 4,501 steps, one draw for all seeds\n"
    "  paper          as the text reads: one hidden layer, the official test digits";

enum { NOT_GIVEN = INT32_MIN };

typedef struct request {
    const char *output;
    int quick, full, resume;
    const char *protocol_name;
    bang_color_protocol protocol;
    int64_t seeds, models;
    size_t count;
    const bang_lab_experiment *experiments[16];
} request;

static void add_experiment(request *r, const bang_lab_experiment *e)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->experiments[i] == e)
            return;
    r->experiments[r->count++] = e;
}

static void choose_experiments(cli *c, request *r)
{
    size_t count;
    const bang_lab_experiment *all = bang_lab_experiments(&count);
    int whole = c->operand_count == 0;
    for (size_t i = 0; i < c->operand_count; i++) {
        const bang_lab_experiment *e = bang_lab_find_experiment(c->operands[i]);
        if (strcmp(c->operands[i], "all") == 0)
            whole = 1;
        else if (e)
            add_experiment(r, e);
        else
            cli_problem(c, "%.80s: no such experiment: see bang reproduce --help", c->operands[i]);
    }
    for (size_t i = 0; whole && i < count; i++)
        add_experiment(r, &all[i]);
    if (r->quick && r->full)
        cli_problem(c, "--quick, --full: both set the scale: leave one out");
    if (r->protocol_name && bang_color_find_protocol(&r->protocol, r->protocol_name) < 0)
        cli_problem(c, "--protocol: %.40s is none: choose default, published or paper",
                    r->protocol_name);
    if (r->seeds != NOT_GIVEN && (r->seeds < 1 || r->seeds > 10000))
        cli_problem(c, "--seeds: %lld is not possible: choose 1 to 10000", (long long)r->seeds);
    if (r->models != NOT_GIVEN && (r->models < 1 || r->models > 1024))
        cli_problem(c, "--models: %lld is not possible: choose 1 to 1024", (long long)r->models);
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o DIR");
}

static int write_csv(const char *folder, const char *file, const json_t *entry, bang_error *err)
{
    bang_text name = {0}, csv = {0};
    bang_text_add(&name, "%s/%s", folder, file);
    int rc = name.failed ? bang_fail_memory(err) : bang_figure_csv(&csv, entry, err);
    if (rc == 0)
        rc = bang_file_put(name.data, csv.data, csv.size, err);
    bang_text_release(&name);
    bang_text_release(&csv);
    return rc;
}

/* One CSV file for every table and chart of the records. */
static int write_tables(const char *folder, bang_error *err)
{
    json_t *records = NULL, *record, *entry;
    size_t i, k;
    int rc = bang_record_read(&records, folder, err);
    json_array_foreach(records, i, record)
    {
        json_t *files = bang_figure_files(record);
        if (rc == 0 && !files)
            rc = bang_fail_memory(err);
        json_array_foreach(json_object_get(record, "show"), k, entry)
        {
            const char *file = json_string_value(json_array_get(files, k));
            if (rc == 0 && file)
                rc = write_csv(folder, file, entry, err);
        }
        json_decref(files);
    }
    json_decref(records);
    return rc;
}

/* A name beside the records that no earlier run has taken: results.old.jsonl, then .old-2, ... */
static int find_aside(char *name, size_t size, char **path, const char *folder, bang_error *err)
{
    struct stat there;
    for (int i = 1;; i++) {
        if (i == 1)
            snprintf(name, size, "results.old.jsonl");
        else
            snprintf(name, size, "results.old-%d.jsonl", i);
        *path = bang_path_join(folder, name);
        if (!*path)
            return bang_fail_memory(err);
        if (lstat(*path, &there) < 0)
            return 0;
        free(*path);
    }
}

/* A fresh run starts with no records. Those of an earlier one are set aside, in
 * case --resume was forgotten; its report goes, as it would contradict them. */
static int set_records_aside(const cli *c, const char *folder, bang_error *err)
{
    char name[40], *aside = NULL;
    char *path = bang_path_join(folder, "results.jsonl");
    char *report = bang_path_join(folder, "report.html");
    int rc =
        path && report ? find_aside(name, sizeof name, &aside, folder, err) : bang_fail_memory(err);
    if (rc == 0 && rename(path, aside) == 0) {
        unlink(report);
        if (!c->quiet)
            fprintf(stderr, "bang reproduce: %s: earlier records are now %s\n", folder, name);
    } else if (rc == 0 && errno != ENOENT) {
        rc = bang_fail(err, BANG_EIO, "%s: cannot be replaced: %s", path, strerror(errno));
    }
    free(path);
    free(aside);
    free(report);
    return rc;
}

/* Two runs into one folder would mix their records: the second is refused. */
static int lock_folder(bang_lock **lock, const char *folder, bang_error *err)
{
    char *path = bang_path_join(folder, ".bang-lock");
    int rc = path ? bang_lock_take(lock, path, err) : bang_fail_memory(err);
    free(path);
    return rc <= 0 ? rc
                   : bang_fail(err, BANG_EIO,
                               "%s: another run is writing here: wait for its end or take another "
                               "folder",
                               folder);
}

/* Only the lab has phases; what it counts are pictures. */
static void show_phase(const bang_progress *progress, const char *what)
{
    char label[96];
    snprintf(label, sizeof label, "lab: %s: pictures", what);
    cli_bar_say(progress->context, label);
}

static int run_all(json_t *results, const cli *c, const request *r, bang_error *err)
{
    cli_bar bar;
    int rc = 0;
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    options.folder = r->output;
    options.full = r->full;
    options.resume = r->resume;
    options.seed = (uint64_t)c->seed;
    options.threads = (int)c->threads;
    options.cancel = cli_cancel();
    options.ranks = c->ranks;
    options.protocol = r->protocol;
    options.seeds = r->seeds == NOT_GIVEN ? 0 : (size_t)r->seeds;
    options.models = r->models == NOT_GIVEN ? 0 : (size_t)r->models;
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        json_t *result = json_object();
        cli_bar_start(&bar, c, r->experiments[i]->name);
        options.progress = &bar.progress;
        options.phase = show_phase;
        rc = r->experiments[i]->run(result, &options, err);
        cli_bar_finish(&bar);
        json_object_set_new(results, r->experiments[i]->name, result);
    }
    if (rc == 0 && bang_ranks_rank(c->ranks) == 0)
        rc = bang_lab_describe_machine(&options, err);
    return rc;
}

static int write_report(const cli *c, const char *folder, bang_error *err)
{
    char *report = bang_path_join(folder, "report.html");
    int rc = write_tables(folder, err);
    if (rc == 0)
        rc = report ? bang_report_write(report, folder, err) : bang_fail_memory(err);
    if (rc == 0 && !c->quiet && !c->json)
        printf("%s\n", report);
    free(report);
    return rc;
}

/* What killed runs left, beside the models of the lab too. */
static void sweep_run(const char *folder)
{
    char *models = bang_path_join(folder, "models");
    DIR *listing = models ? opendir(models) : NULL;
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        struct stat there;
        char *path = entry->d_name[0] != '.' ? bang_path_join(models, entry->d_name) : NULL;
        if (path && lstat(path, &there) == 0 && S_ISDIR(there.st_mode)) /* a link leads elsewhere */
            bang_folder_sweep(path, NULL, NULL);
        free(path);
    }
    if (listing)
        closedir(listing);
    free(models);
    bang_folder_sweep(folder, NULL, NULL);
}

/* The rank that writes has the folder for itself; what others find comes to it. *begun: the folder
 * was ours. */
static int run_experiments(json_t *results, int *begun, const cli *c, const request *r,
                           bang_error *err)
{
    *begun = 1;
    if (bang_ranks_rank(c->ranks) > 0)
        return run_all(results, c, r, err);
    bang_lock *lock = NULL;
    int rc = bang_folder_create(r->output, err);
    if (rc == 0)
        rc = lock_folder(&lock, r->output, err);
    *begun = rc == 0;
    if (rc == 0 && !r->resume)
        rc = set_records_aside(c, r->output, err);
    if (rc == 0)
        rc = run_all(results, c, r, err);
    if (rc == 0)
        rc = write_report(c, r->output, err);
    if (rc == 0)
        sweep_run(r->output);
    bang_lock_give(lock);
    return rc;
}

/* What an interrupted run leaves behind, models of the lab included. */
static void print_kept(const char *folder)
{
    json_t *records = NULL;
    bang_error err = {0};
    char *models = bang_path_join(folder, "models");
    struct stat there;
    size_t count = bang_record_read(&records, folder, &err) == 0 ? json_array_size(records) : 0;
    int any = models && stat(models, &there) == 0;
    if (count || any)
        fprintf(stderr, "bang reproduce: %zu record%s%s kept: go on with --resume\n", count,
                count == 1 ? "" : "s",
                any          ? " and the models so far are"
                : count == 1 ? " is"
                             : " are");
    else
        fprintf(stderr, "bang reproduce: nothing was finished yet\n");
    json_decref(records);
    free(models);
}

int cmd_reproduce(int argc, char **argv)
{
    request r = {.seeds = NOT_GIVEN, .models = NOT_GIVEN};
    cli_option options[] = {
        {"output", 'o', "DIR", "the folder to write", cli_read_text, &r.output},
        {"quick", 0, NULL, "a scale that ends within minutes, the paper's where possible (default)",
         cli_read_flag, &r.quick},
        {"full", 0, NULL,
         "the paper's scale or more: 20 seeds of 16 networks, 10,000 simulations, 6 of the lab",
         cli_read_flag, &r.full},
        {"protocol", 0, "NAME", "default, published or paper (see above)", cli_read_text,
         &r.protocol_name},
        {"seeds", 0, "N", "draws of data, each with its networks, instead of what the scale has",
         cli_read_whole, &r.seeds},
        {"models", 0, "M", "networks, or pairs, for each of them (occlusion takes two)",
         cli_read_whole, &r.models},
        {"resume", 0, NULL, "keep the records of a run that was cut short and go on", cli_read_flag,
         &r.resume},
        {0},
    };
    cli c;
    if (cli_init(&c, "reproduce", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    if (c.help) {
        cli_print_help("reproduce", "[EXPERIMENT ...] -o DIR [options]", summary, options,
                       "  bang reproduce all -o run\n");
        cli_release(&c);
        return CLI_DONE;
    }
    choose_experiments(&c, &r);
    int status = CLI_USAGE;
    if (!cli_usage_failed(&c)) {
        bang_error err = {0};
        json_t *results = json_object();
        int begun;
        status = run_experiments(results, &begun, &c, &r, &err) < 0 ? cli_fail(&c, &err) : CLI_DONE;
        int cut = status == CLI_INTERRUPTED || (status == CLI_FAILED && c.ranks);
        if (cut && begun && cli_speaks())
            print_kept(r.output);
        if (status == CLI_DONE && c.json)
            status = cli_print_json(&c, json_incref(results));
        json_decref(results);
    }
    cli_release(&c);
    return status;
}
