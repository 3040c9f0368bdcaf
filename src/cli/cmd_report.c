#include <stdio.h>
#include <sys/stat.h>

#include "bang/report/report.h"
#include "cli.h"

static const char summary[] = "Writes one HTML file, readable without a network, from the records\n"
                              "(DIR/results.jsonl) of a run.";

int cmd_report(int argc, char **argv)
{
    const char *output = NULL;
    cli_option options[] = {
        {"output", 'o', "FILE", "where to write the HTML", cli_read_text, &output},
        {0},
    };
    cli c;
    if (cli_init(&c, "report", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 2);
    if (c.help) {
        cli_print_help("report", "DIR -o FILE.html", summary, options,
                       "  bang report run -o run.html\n");
        cli_release(&c);
        return CLI_DONE;
    }
    if (c.operand_count != 1)
        cli_problem(&c, "%zu folders named: name one, the folder of a run", c.operand_count);
    if (!output)
        cli_problem(&c, "--output: missing: say where to write with -o FILE.html");
    int status = CLI_USAGE;
    if (!cli_usage_failed(&c)) {
        struct stat info;
        bang_error err = {0};
        int rc = stat(c.operands[0], &info) == 0 && S_ISDIR(info.st_mode)
                     ? bang_report_write(output, c.operands[0], &err)
                     : bang_fail(&err, BANG_EIO, "%.200s: is no folder: name the folder of a run",
                                 c.operands[0]);
        status = rc < 0 ? cli_fail(&c, &err) : CLI_DONE;
        if (status == CLI_DONE && c.json)
            status = cli_print_json(&c, json_pack("{ss}", "output", output));
        else if (status == CLI_DONE && !c.quiet)
            puts(output);
    }
    cli_release(&c);
    return status;
}
