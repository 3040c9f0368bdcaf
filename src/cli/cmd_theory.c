#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/bridge/prediction.h"
#include "bang/lab/lab.h"
#include "bang/report/figure.h"
#include "models.h"
#include "sweep.h"

typedef struct request {
    cli_models models;
    sweep sweep;
    const char *figure, *output, *method;
    int best, failure, polynomial;
    int64_t samples;
    bang_theory_options options;
} request;

static const char summary[] =
    "Predicts the out-of-distribution accuracy of single models, of their\n"
    "output-space ensemble (OSE) and of their weight-space ensemble (WSE) under the\n"
    "paper's data model: exactly (G) and by its Gaussian formula (F_p). A model is\n"
    "said by how many invariant (NV) and spurious (NS) features it learned.";

static const char example[] =
    "  bang theory -p 0.9 --model 2,3 --model 2,3 --overlap 1,1\n"
    "  bang theory -K 10 -p 0.8 --model v0-1,s0-4 --model v1-2,s3-8 --model v0,2,s9-12\n"
    "  bang theory -p 0.9 --model 2,4 --model 1,6 --best\n"
    "  bang theory --model 2,3 --model 2,3 --sweep p=0:1:0.1\n"
    "  bang theory --figure example-3 -o example-3.svg\n";

static int run_figure(cli *c, request *r)
{
    double shift = r->models.has_shift ? r->models.shift : 0.9;
    int known = 0, svg = r->output && bang_text_ends_with(r->output, ".svg");
    for (size_t i = 0; bang_lab_figures[i]; i++)
        known |= strcmp(bang_lab_figures[i], r->figure) == 0;
    if (!known)
        cli_problem(c, "--figure %.40s: unknown: choose f-curve, example-2 or example-3",
                    r->figure);
    if (!r->output || (!svg && !bang_text_ends_with(r->output, ".csv")))
        cli_problem(c, "--figure: needs a file to write: say -o FILE.svg or -o FILE.csv");
    if (r->models.model_count || r->models.has_overlap || r->models.weight_count ||
        r->models.has_alpha || r->models.has_scale || r->sweep.text || r->best || r->failure ||
        r->polynomial)
        cli_problem(c, "--figure: shows the paper's own models: only -K, -p and --sigma go with "
                       "it, and p only with the examples");
    if (r->models.has_shift && strcmp(r->figure, "f-curve") == 0)
        cli_problem(c, "--shift: f-curve shows several p: leave it out");
    bang_theory_problem problem;
    bang_error err = {0};
    bang_theory_problem_init(&problem, r->models.classes, shift);
    problem.sigma = r->models.sigma;
    problem.models = 1;
    if (bang_theory_check(&problem, &err) < 0)
        cli_problem(c, "%s", err.message);
    if (cli_usage_failed(c))
        return CLI_USAGE;
    json_t *figure = NULL;
    bang_text text = {0};
    int rc = bang_lab_figure(&figure, r->figure, r->models.classes, shift, r->models.sigma, &err);
    if (rc == 0)
        rc = svg ? bang_figure_svg(&text, figure, &err) : bang_figure_csv(&text, figure, &err);
    if (rc == 0)
        rc = bang_file_put(r->output, text.data, text.size, &err);
    bang_text_release(&text);
    json_decref(figure);
    if (rc < 0)
        return cli_fail(c, &err);
    if (c->json)
        return cli_print_json(c, json_pack("{ss ss}", "figure", r->figure, "output", r->output));
    return CLI_DONE;
}

static void print_best(const bang_theory_best *best, int models)
{
    puts("\nBest weights");
    if (models == 2) {
        printf("  WSE, Gaussian  alpha = %-22.4f %7.2f %%\n", best->alpha_gaussian,
               100 * best->wse_gaussian);
        if (isnan(best->alpha_exact[0]))
            puts("  WSE, exact     too large to search");
        else if (best->alpha_exact[0] == best->alpha_exact[1])
            printf("  WSE, exact     alpha = %-22.4f %7.2f %%\n", best->alpha_exact[0],
                   100 * best->wse_exact);
        else
            printf("  WSE, exact     %6.4f < alpha < %-13.4f %7.2f %%\n", best->alpha_exact[0],
                   best->alpha_exact[1], 100 * best->wse_exact);
    }
    if (!best->has_ose)
        return;
    printf("  OSE, Gaussian  ");
    int width = 0;
    for (int m = 0; m < models; m++)
        width += printf("%s%.4f", m ? ", " : "", best->ose_weights[m]);
    printf("%*s%7.2f %%\n", width < 31 ? 31 - width : 1, "", 100 * best->ose_gaussian);
}

static void print_predictions(const request *r, const bang_theory_problem *problem,
                              const bang_predictions *p, const bang_theory_best *best)
{
    printf("K = %lld classes, shift p = %g, ", (long long)problem->classes, problem->shift);
    if (problem->sigma > 0)
        printf("noise sigma = %g\n\n", problem->sigma);
    else
        puts("small-noise limit\n");
    puts("             exact G      F_p(x)         x   in distribution   method");
    for (size_t i = 0; i < p->count; i++) {
        const bang_prediction *one = &p->of[i];
        char name[24];
        bang_prediction_name(name, sizeof name, p, i);
        char x[24] = "–";
        if (!isnan(one->argument))
            snprintf(x, sizeof x, "%.4f", one->argument);
        printf("%-10s %7.2f %%   %7.2f %%  %*s          %7.2f %%   %s", name,
               100 * one->exact.accuracy, 100 * one->gaussian, isnan(one->argument) ? 10 : 8, x,
               100 * one->id, bang_theory_method_name(one->exact.method));
        if (one->exact.standard_error > 0)
            printf(", standard error %.4f %%", 100 * one->exact.standard_error);
        putchar('\n');
    }
    if (r->best)
        print_best(best, p->models);
    if (r->failure)
        puts("\nProbability that one given wrong class beats the true one");
    for (size_t i = 0; r->failure && i < p->count; i++) {
        char name[24];
        bang_prediction_name(name, sizeof name, p, i);
        printf("  %-8s  %.6g\n", name, p->of[i].failure);
    }
    if (r->polynomial)
        puts("\nExact accuracy as a polynomial");
    for (size_t i = 0; r->polynomial && i < p->count; i++) {
        char name[24];
        bang_prediction_name(name, sizeof name, p, i);
        printf("  %-8s  %s\n", name, p->of[i].polynomial);
    }
}

static int run_predictions(cli *c, request *r)
{
    bang_theory_problem problem;
    bang_predictions p = {0};
    bang_theory_best best = {0};
    bang_error err = {0};
    if (!r->models.has_shift)
        cli_problem(c, "--shift: missing: say how far the distribution shifts with -p P, 0 to 1");
    if (r->output)
        cli_problem(c, "--output: goes with --figure and --sweep only: leave it out");
    cli_models_problem(&problem, &r->models, c);
    int status = CLI_USAGE;
    if (!cli_usage_failed(c)) {
        int extras =
            (r->failure ? BANG_PREDICT_FAILURE : 0) | (r->polynomial ? BANG_PREDICT_POLYNOMIAL : 0);
        cli_bar bar;
        cli_bar_start(&bar, c, "theory");
        r->options.progress = &bar.progress;
        int rc = bang_predictions_make(&p, &problem, &r->options, extras, &err);
        if (rc == 0 && r->best)
            rc = bang_theory_find_best(&best, &problem, &r->options, &err);
        cli_bar_finish(&bar);
        r->options.progress = NULL;
        if (rc < 0) {
            status = cli_fail(c, &err);
        } else if (c->json) {
            status = cli_print_json(
                c, bang_predictions_tell(&p, &problem, r->best ? &best : NULL, extras));
        } else {
            print_predictions(r, &problem, &p, &best);
            status = CLI_DONE;
        }
    }
    bang_predictions_release(&p);
    bang_theory_problem_release(&problem);
    return status;
}

int cmd_theory(int argc, char **argv)
{
    request r = {.models = CLI_MODELS_INIT, .options = BANG_THEORY_OPTIONS_INIT};
    cli_option options[] = {
        CLI_MODEL_OPTIONS(&r.models),
        {"best", 0, NULL, "find the weights of the most accurate ensembles", cli_read_flag,
         &r.best},
        {"polynomial", 0, NULL, "G as an exact polynomial in p", cli_read_flag, &r.polynomial},
        {"failure", 0, NULL, "chance that one given wrong class wins", cli_read_flag, &r.failure},
        {"sweep", 0, "NAME=A:B:STEP", "CSV over p, K, sigma, alpha, scale, nv1 .. ns2, nvo, nso",
         cli_read_sweep, &r.sweep},
        {"figure", 0, "NAME", "a figure of the paper: f-curve, example-2, example-3", cli_read_text,
         &r.figure},
        {"output", 'o', "FILE", "where --figure (.svg or .csv) or --sweep writes", cli_read_text,
         &r.output},
        {"method", 0, "NAME", "auto, generating-function, lattice, series, monte-carlo",
         cli_read_text, &r.method},
        {"samples", 0, "N", "of monte-carlo, rounded up to 4096 (a few seconds)", cli_read_whole,
         &r.samples},
        {0},
    };
    cli c;
    if (cli_init(&c, "theory", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("theory", "-p P --model NV,NS [--model NV,NS ...] [options]", summary,
                       options, example);
        cli_release(&c);
        return status;
    }
    for (size_t i = 0; i < c.operand_count; i++)
        cli_problem(&c, "%.80s: unexpected: a model is said with --model", c.operands[i]);
    if (r.method && bang_theory_method_parse(&r.options.method, r.method) < 0)
        cli_problem(&c,
                    "--method %.40s: unknown: choose auto, generating-function, lattice, series or "
                    "monte-carlo",
                    r.method);
    if (r.samples < 0 || r.samples > INT64_C(1000000000000))
        cli_problem(&c, "--samples %lld: must be 1 to 1e12", (long long)r.samples);
    r.options.samples = r.samples;
    r.options.seed = (uint64_t)c.seed;
    r.options.threads = (int)c.threads;
    r.options.cancel = cli_cancel();
    if (r.figure) {
        status = run_figure(&c, &r);
    } else if (r.sweep.text) {
        if (!r.models.has_shift && !sweep_sets_shift(&r.sweep))
            cli_problem(&c, "--shift: missing: say how far the distribution shifts with -p P, 0 to "
                            "1");
        if (r.best || r.failure || r.polynomial)
            cli_problem(&c, "--sweep: prints accuracies only: leave --best, --failure and "
                            "--polynomial out");
        if (r.output && bang_text_ends_with(r.output, ".svg"))
            cli_problem(&c, "--sweep: writes CSV, not SVG: say -o FILE.csv");
        status = run_sweep(&c, &r.sweep, &r.models, &r.options, r.output);
    } else {
        status = run_predictions(&c, &r);
    }
    cli_release(&c);
    return status;
}
