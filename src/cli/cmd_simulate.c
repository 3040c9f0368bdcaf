#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/bridge/prediction.h"
#include "bang/lab/lab.h"
#include "bang/theory/simulate.h"
#include "models.h"

typedef struct request {
    cli_models models;
    const char *example, *fit, *draw;
    const bang_lab_example *paper; /* NULL unless --example */
    bang_simulation_options options;
    bang_theory_options theory;
} request;

static const char summary[] =
    "Draws the paper's data model, fits the models, combines them in output and\n"
    "weight space, and measures their accuracy out of distribution beside what\n"
    "theory predicts. Say one of the paper's examples, or models as for theory.\n"
    "\n"
    "--fit mean takes the mean of the samples of a class for its weights, population that\n"
    "of infinitely many, logistic what a logistic regression finds. That has smaller weights\n"
    "the more features a model has (about 1/n), so that ensembles weigh models with few\n"
    "features more: theory beside it is of heads of the sizes that were fitted (in JSON\n"
    "theory_fitted; theory is of equal ones, as in the paper).\n"
    "\n"
    "z is (measured - theory)/error. Where runs hardly ever differ, the error counts too\n"
    "little: if it is below half of what theory itself predicts, at most one environment a\n"
    "class and run (or one a sample), then z is by that one.";

static const char example[] =
    "  bang simulate --example 1-1 --runs 1000\n"
    "  bang simulate -K 10 -p 0.8 --model 2,8 --model 3,8 --overlap 1,2 --sigma 0.05\n";

static void check_request(cli *c, request *r)
{
    static const char *const fits[] = {"mean", "logistic", "population"};
    static const char *const draws[] = {"environment", "sample"};
    int fit = -1, draw = -1;
    for (int i = 0; i < 3; i++)
        if (strcmp(fits[i], r->fit) == 0)
            fit = i;
    for (int i = 0; i < 2; i++)
        if (strcmp(draws[i], r->draw) == 0)
            draw = i;
    if (fit < 0)
        cli_problem(c, "--fit %.40s: unknown: choose mean, logistic or population", r->fit);
    if (draw < 0)
        cli_problem(c, "--draw %.40s: unknown: choose environment or sample", r->draw);
    r->options.fit = fit < 0 ? BANG_FIT_MEAN : (bang_simulation_fit)fit;
    r->options.draw = draw < 0 ? BANG_DRAW_ENVIRONMENT : (bang_simulation_draw)draw;
    for (size_t i = 0; i < c->operand_count; i++)
        cli_problem(c, "%.80s: unexpected: a model is said with --model", c->operands[i]);
    if (!r->example) {
        if (!r->models.has_shift)
            cli_problem(c, "--shift: missing: say how far the distribution shifts with -p P");
        return;
    }
    r->paper = bang_lab_find_example(r->example);
    if (!r->paper)
        cli_problem(c, "--example %.40s: unknown: choose 1-1, 1-2, 2-1 or 2-2", r->example);
    if (r->models.model_count || r->models.has_overlap)
        cli_problem(c, "--example: names its own models: leave --model and --overlap out");
}

/* The example's models, under whatever else was asked for. */
static void use_example(request *r)
{
    cli_models *m = &r->models;
    m->model_count = 2;
    m->models[0] = r->paper->models[0];
    m->models[1] = r->paper->models[1];
    m->has_overlap = 1;
    m->overlap[0] = r->paper->overlap[0];
    m->overlap[1] = r->paper->overlap[1];
    if (!m->has_shift)
        m->shift = 0.9;
    /* the paper's rows hold for its own settings only */
    if (m->classes != 3 || m->shift != 0.9 || m->has_alpha || m->weight_count || m->has_scale ||
        m->sigma != 0.01)
        r->paper = NULL;
}

static json_t *triple(const double *models, int count, double wse, double ose)
{
    json_t *list = json_array(), *out = json_object();
    for (int m = 0; m < count; m++)
        json_array_append_new(list, bang_json_number(models[m]));
    json_object_set_new(out, "models", list);
    if (count > 1) {
        json_object_set_new(out, "wse", bang_json_number(wse));
        json_object_set_new(out, "ose", bang_json_number(ose));
    }
    return out;
}

/* The standard error that theory itself predicts, at most: one environment a
 * class and run, or one a sample. Where failures are too rare for the measured
 * one to mean anything (it is then far below), this one takes its place. */
static double predicted_error(const request *r, const bang_simulation_result *s, double expected)
{
    double draws =
        r->options.draw == BANG_DRAW_SAMPLE ? (double)r->options.test : (double)r->models.classes;
    return sqrt(fmax(expected * (1 - expected), 1e-12) / (draws * (double)s->runs));
}

static int is_measured(const request *r, const bang_simulation_result *s, double error,
                       double expected)
{
    return error > predicted_error(r, s, expected) / 2;
}

static double z_score(const request *r, const bang_simulation_result *s, double measured,
                      double error, double expected)
{
    return (measured - expected) /
           (is_measured(r, s, error, expected) ? error : predicted_error(r, s, expected));
}

static json_t *z_json(const request *r, const bang_simulation_result *s, const bang_predictions *p)
{
    double models[BANG_THEORY_MAX_MODELS];
    for (int m = 0; m < s->models; m++)
        models[m] = z_score(r, s, s->mean[m], s->error[m], p->of[m].exact.accuracy);
    double ose = s->models > 1 ? p->of[s->models].exact.accuracy : NAN;
    double wse = s->models > 1 ? p->of[s->models + 1].exact.accuracy : NAN;
    return triple(models, s->models, z_score(r, s, s->wse_mean, s->wse_error, wse),
                  z_score(r, s, s->ose_mean, s->ose_error, ose));
}

/* said: of the models as they were said; p: of those with the heads that were fitted. */
static int print_json(const cli *c, const request *r, const bang_simulation_result *s,
                      const bang_predictions *said, const bang_predictions *p)
{
    const bang_lab_example *e = r->paper;
    json_t *out =
        json_pack("{sI so so so so}", "runs", (json_int_t)s->runs, "measured",
                  triple(s->mean, s->models, s->wse_mean, s->ose_mean), "stderr",
                  triple(s->error, s->models, s->wse_error, s->ose_error), "theory",
                  bang_predictions_json(said, bang_prediction_exact), "z", z_json(r, s, p));
    if (r->options.fit == BANG_FIT_LOGISTIC)
        json_object_set_new(out, "theory_fitted", bang_predictions_json(p, bang_prediction_exact));
    json_object_set_new(
        out, "paper",
        e ? triple(e->paper_simulated, 2, e->paper_simulated[2], e->paper_simulated[3])
          : json_null());
    json_object_set_new(
        out, "paper_theory",
        e ? triple(e->paper_predicted, 2, e->paper_predicted[2], e->paper_predicted[3])
          : json_null());
    json_object_set_new(out, "method", bang_predictions_json(said, bang_prediction_method));
    return cli_print_json(c, out);
}

/* 1 where z is not by the error beside it. */
static int print_row(const request *r, const bang_simulation_result *s, const char *name,
                     double mean, double error, double theory, const double *paper)
{
    printf("%-10s %7.2f %%", name, 100 * mean);
    if (isnan(error))
        printf("       –");
    else
        printf("  %6.3f", 100 * error);
    double z = z_score(r, s, mean, isnan(error) ? 0 : error, theory);
    printf("  %9.2f %%", 100 * theory);
    if (isnan(z))
        printf("      –");
    else
        printf("  %+5.1f", z);
    if (paper)
        printf("      %5.1f %%", 100 * *paper);
    putchar('\n');
    return !isnan(z) && !is_measured(r, s, error, theory);
}

static void print_table(const request *r, const bang_simulation_result *s,
                        const bang_predictions *p)
{
    printf("%lld run%s, %s%s\n\n", (long long)s->runs, s->runs == 1 ? "" : "s",
           r->options.draw == BANG_DRAW_ENVIRONMENT ? "one draw of Q each" : "Q drawn per sample",
           r->options.fit == BANG_FIT_LOGISTIC && s->models > 1
               ? "; theory of heads as large as those of the logistic fit"
               : "");
    printf("            measured   error      theory      z%s\n", r->paper ? "        paper" : "");
    int predicted = 0;
    for (int m = 0; m < s->models; m++) {
        char name[24];
        bang_prediction_name(name, sizeof name, p, (size_t)m);
        predicted |= print_row(r, s, name, s->mean[m], s->error[m], p->of[m].exact.accuracy,
                               r->paper ? &r->paper->paper_simulated[m] : NULL);
    }
    if (s->models > 1) {
        predicted |=
            print_row(r, s, "WSE", s->wse_mean, s->wse_error, p->of[s->models + 1].exact.accuracy,
                      r->paper ? &r->paper->paper_simulated[2] : NULL);
        predicted |=
            print_row(r, s, "OSE", s->ose_mean, s->ose_error, p->of[s->models].exact.accuracy,
                      r->paper ? &r->paper->paper_simulated[3] : NULL);
    }
    if (predicted)
        puts("z: by the error that theory predicts, where the measured one is below half of it");
}

static int run_simulation(cli *c, request *r)
{
    bang_theory_problem problem;
    bang_predictions p = {0}, said = {0};
    bang_simulation_result result;
    bang_error err = {0};
    cli_models_problem(&problem, &r->models, c);
    if (problem.models > 0 && bang_theory_check(&problem, &err) == 0 &&
        bang_simulation_check(&problem, &r->options, &err) < 0)
        cli_problem(c, "%s", err.message);
    int status = CLI_USAGE;
    if (!cli_usage_failed(c)) {
        cli_bar bar;
        cli_bar_start(&bar, c, "runs");
        r->options.progress = &bar.progress;
        int rc = bang_simulate(&result, &problem, &r->options, &err);
        cli_bar_finish(&bar);
        r->options.progress = NULL;
        if (rc == 0 && cli_speaks()) {
            bang_theory_problem fitted = bang_simulation_fitted(&problem, &r->options, &result);
            rc = bang_predictions_make(&p, &fitted, &r->theory, 0, &err);
            if (rc == 0)
                rc = bang_predictions_make(&said, &problem, &r->theory, 0, &err);
        }
        if (rc < 0) {
            status = cli_fail(c, &err);
        } else if (!cli_speaks()) {
            status = CLI_DONE;
        } else if (c->json) {
            status = print_json(c, r, &result, &said, &p);
        } else {
            print_table(r, &result, &p);
            status = CLI_DONE;
        }
    }
    bang_predictions_release(&p);
    bang_predictions_release(&said);
    bang_theory_problem_release(&problem);
    return status;
}

int cmd_simulate(int argc, char **argv)
{
    request r = {.models = CLI_MODELS_INIT,
                 .fit = "mean",
                 .draw = "environment",
                 .options = BANG_SIMULATION_OPTIONS_INIT,
                 .theory = BANG_THEORY_OPTIONS_INIT};
    r.models.sigma = 0.01;
    cli_option options[] = {
        {"example", 0, "NAME", "of the paper: 1-1, 1-2, 2-1 or 2-2 (K = 3, p = 0.9)", cli_read_text,
         &r.example},
        CLI_MODEL_OPTIONS(&r.models),
        {"runs", 0, "N", "simulations (1000)", cli_read_whole, &r.options.runs},
        {"train", 0, "N", "training samples per run (20000)", cli_read_whole, &r.options.train},
        {"test", 0, "N", "test samples per run (10000)", cli_read_whole, &r.options.test},
        {"fit", 0, "HOW", "mean, logistic or population (mean)", cli_read_text, &r.fit},
        {"draw", 0, "HOW", "of Q, by environment or sample (environment)", cli_read_text, &r.draw},
        {"dimension", 0, "D", "of the space (K times the number of features)", cli_read_whole,
         &r.options.dimension},
        {"full", 0, NULL, "draw every coordinate of every sample (slow)", cli_read_flag,
         &r.options.full},
        {"ridge", 0, "R", "of the logistic fit (0.001)", cli_read_real, &r.options.ridge},
        {0},
    };
    cli c;
    if (cli_init(&c, "simulate", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    if (c.help) {
        cli_print_help("simulate", "--example NAME | -p P --model NV,NS ... [options]", summary,
                       options, example);
        cli_release(&c);
        return CLI_DONE;
    }
    check_request(&c, &r);
    if (r.paper)
        use_example(&r);
    else if (r.example && cli_usage_failed(&c)) {
        cli_release(&c);
        return CLI_USAGE;
    }
    r.options.seed = r.theory.seed = (uint64_t)c.seed;
    r.options.threads = r.theory.threads = (int)c.threads;
    r.options.cancel = r.theory.cancel = cli_cancel();
    r.options.ranks = c.ranks;
    int status = run_simulation(&c, &r);
    cli_release(&c);
    return status;
}
