#include <math.h>
#include <stdlib.h>

#include "average.h"

static const char summary[] =
    "Combines checkpoints of one architecture, whatever it is, tensor by tensor, at the\n"
    "speed of the disk and in little memory. A, B, ... and OUT are files (.safetensors,\n"
    ".pt, .npz), indexes of shards, or folders that hold one; a folder's other files\n"
    "(config, tokenizer) come from the first input.\n"
    "\n"
    "Methods, with x_i the inputs, w_i their weights (1/n each, unless given), b the base,\n"
    "d_i = x_i - b:\n"
    "  linear  sum_i w_i x_i; for two (1 - alpha) A + alpha B; with all 1/n the uniform soup\n"
    "  slerp   (sin((1-alpha) o) A + sin(alpha o) B)/sin o, o the angle between A and B;\n"
    "          linear where they are parallel or opposite\n"
    "  task    b + scale sum_i w_i d_i; the plain sum of the changes is --weights 1,1,..\n"
    "  ties    b + scale sum_i w_i t_i / sum_i w_i over the t_i with the sign of sum_i w_i t_i,\n"
    "          where t_i = d_i if it is among the largest of its model (--density), else 0\n"
    "  dare    b + scale sum_i w_i m_i d_i/(1 - drop), m_i = 0 with probability drop, else 1\n"
    "  stock   t mean_i x_i + (1 - t) b, t = n c/(1 + (n-1) c), c the mean cosine of the d_i,\n"
    "          t held within 0..1\n"
    "  fisher  sum_i w_i f_i x_i / sum_i w_i f_i, f_i from --fisher, number by number\n"
    "  greedy  uniform soup: best first, each next stays if --score gets strictly better;\n"
    "          inputs are scored as they are, soups as files like OUT\n"
    "\n"
    "With --score several alphas are tried one after the other and the best is written.\n"
    "\n"
    "--balance multiplies the change B - A by T |A|/|B - A|, over the model (norm) or each\n"
    "layer (layer-norm), before it is weighted: A + alpha s (B - A). T is --target, by\n"
    "default the median over the layers of |B - A|/|A|.\n"
    "--balance confidence finds alpha = 1/(1 + tau): at the temperature tau B is on average as\n"
    "confident as A, on --unlabelled data or else on --id. With both, or with --id alone, the\n"
    "labels of --id tell what accuracy that costs. layer-confidence finds one for each layer:\n"
    "tau_l = sqrt(t tau/u), t of A with B's layer, u of B with A's. The scale 2 alpha is that\n"
    "of the change next to alpha 0.5. A layer that no picture goes through (a text tower) is\n"
    "not measured: alpha 0.5. Memory is taken for up to four models as f32 meanwhile,\n"
    "whatever --max-memory says.\n"
    "\n"
    "Numbers are computed in f32 (f64 for F64) and rounded once. Weights are never\n"
    "normalised. Where a weight is 1 and the others 0, bytes are copied, NaN and infinite\n"
    "numbers too, with a warning; when a rule says so, the other inputs need not even have\n"
    "the same shape (another head). Running statistics of batch norm are combined linearly\n"
    "by every method, its counters are the last input's, other integers must be equal.";

static const char example[] =
    "  bang average pre.safetensors fine.safetensors -o robust.safetensors\n"
    "  bang average zeroshot/ finetuned/ --alpha 0.3,0.5,0.7 -o 'average-{alpha}'\n"
    "  bang average pre.pt fine.pt --rule 'head.*=0.3' -o out.safetensors   (the paper's Exp 1)\n"
    "  bang average pre.safetensors fine.safetensors --balance confidence --id photos/val \\\n"
    "      --unlabelled sketches -o balanced.safetensors\n"
    "  bang average a.pt b.pt c.pt --method greedy --score 'python3 evaluate.py {}' -o soup.pt\n";

static int read_rule(void *target, const char *value, bang_error *err)
{
    average_request *r = target;
    const char **rules = realloc((void *)r->rules, (r->rule_count + 1) * sizeof *rules);
    if (!rules)
        return bang_fail_memory(err);
    r->rules = rules;
    rules[r->rule_count++] = value;
    return 0;
}

int cmd_average(int argc, char **argv)
{
    average_request r = {.method = "linear",
                         .target = NAN,
                         .scale = 1,
                         .density = 0.2,
                         .drop = 0.9,
                         .on_integer = "error",
                         .on_missing = "error",
                         .confidence = {.pictures = PICTURE_OPTIONS_INIT},
                         .dtype = -1};
    cli_option options[] = {
        {"output", 'o', "OUT", "where to write; {alpha} in it for several alphas", cli_read_text,
         &r.output},
        {"alpha", 'a', "A[,A2,..]",
         "weight of the last of two (0.5); several: one pass, many files", cli_read_text, &r.alpha},
        {"weights", 'w', "W1,W2,..", "one for each input (1/n)", cli_read_text, &r.weights},
        {"rule", 0, "GLOB=A", "other alpha, or W1,W2,.., for tensors that match; the last wins",
         read_rule, &r},
        {"method", 'm', "NAME", "linear, slerp, task, ties, dare, stock, fisher, greedy (linear)",
         cli_read_text, &r.method},
        {"base", 0, "FILE", "what the inputs were fine-tuned from: task, ties, dare, stock",
         checkpoints_read, &r.base},
        {"fisher", 0, "FILE", "Fisher weights, once for each input", checkpoints_read, &r.fishers},
        {"score", 0, "COMMAND", "greedy, several alphas: prints a number for {}, more is better",
         cli_read_text, &r.score},
        {"scale", 0, "S", "task, ties, dare: of the combined change (1)", cli_read_real, &r.scale},
        {"density", 0, "D", "ties: part of the changes that is kept (0.2)", cli_read_real,
         &r.density},
        {"drop", 0, "P", "dare: probability that a change is dropped (0.9)", cli_read_real,
         &r.drop},
        {"scope", 0, "WHAT", "tensor, layer or model: measured together (ties model, else tensor)",
         cli_read_text, &r.scope},
        {"balance", 0, "HOW", "norm, layer-norm, confidence or layer-confidence: see above",
         cli_read_text, &r.balance},
        {"target", 0, "T", "balance of norms: |change|/|first| to reach (median over layers)",
         cli_read_real, &r.target},
        {"id", 0, "DATA", "balance of confidence: data with labels, as bang predict takes it",
         cli_read_text, &r.confidence.id},
        {"unlabelled", 0, "DATA",
         "measure confidence there, without labels (--id); several are one set",
         balance_read_source, &r.confidence},
        {"count", 0, "N", "measure on so many, drawn evenly; 0 all (all; of layers 1000)",
         balance_read_count, &r.confidence},
        {"head", 0, "FILE", "of both, where the models have none", cli_read_text,
         &r.confidence.head},
        PICTURE_OPTIONS(&r.confidence.pictures),
        {"dtype", 0, "TYPE", "write real tensors as keep, f32, f16 or bf16 (keep)", dtype_read,
         &r.dtype},
        {"on-integer", 0, "HOW", "integers that differ: error, first or last (error)",
         cli_read_text, &r.on_integer},
        {"on-missing", 0, "HOW", "tensors not all have: error, keep or drop (error)", cli_read_text,
         &r.on_missing},
        {"allow-nan", 0, NULL, "write computed NaN and infinite numbers too", cli_read_flag,
         &r.allow_nan},
        {"hash", 0, NULL, "SHA-256 of all bytes of the inputs into the recipe", cli_read_flag,
         &r.hash},
        {"shard-size", 0, "SIZE", "bytes of tensors that a file may hold, such as 5GB",
         cli_read_bytes, &r.shard_size},
        {"max-memory", 0, "SIZE", "of the whole process (64M; M is 2^20, MB 10^6)", cli_read_bytes,
         &r.max_memory},
        {"dry-run", 'n', NULL, "check all and show what would be done", cli_read_flag, &r.dry_run},
        {0},
    };
    cli c;
    if (cli_init(&c, "average", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    int status = CLI_DONE;
    if (c.help)
        cli_print_help("average", "A B [C ...] -o OUT", summary, options, example);
    else {
        average_check(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : average_go(&c, &r);
    }
    average_release(&r);
    cli_release(&c);
    return status;
}
