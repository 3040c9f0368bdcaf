#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { COMMON = 5, HELP_COLUMN = 30 };

static void common_options(cli_option out[COMMON + 1], cli *c)
{
    const cli_option table[COMMON + 1] = {
        {"json", 0, NULL, "print one JSON object and nothing else", cli_read_flag, &c->json},
        {"seed", 0, "N", "of all that is drawn at random (1)", cli_read_whole, &c->seed},
        {"threads", 0, "N", "at most this many (all cores)", cli_read_whole, &c->threads},
        {"quiet", 'q', NULL, "no progress, no remarks", cli_read_flag, &c->quiet},
        {"help", 'h', NULL, "this text", cli_read_flag, &c->help},
        {0},
    };
    memcpy(out, table, sizeof table);
}

/* Memory was out while the options were looked at: what they say is not known, so the usage is
 * not wrong. */
static int starved, refused;

void cli_refuse(void)
{
    refused = 1;
}

int cli_final_status(int status)
{
    int lacking = starved || bang_memory_refused();
    if (status == CLI_DONE && lacking)
        fprintf(stderr, "bang: out of memory: what was printed may lack something\n");
    if (status == CLI_USAGE && refused)
        return CLI_FAILED;
    return (status == CLI_DONE || status == CLI_USAGE) && lacking ? CLI_FAILED : status;
}

int cli_init(cli *c, const char *command, int argc)
{
    *c = (cli){.command = command, .seed = 1, .quiet = !cli_speaks(), .ranks = cli_ranks()};
    c->operands = calloc((size_t)argc + 1, sizeof *c->operands);
    if (c->operands)
        return 0;
    fprintf(stderr, "bang %s: out of memory\n", command);
    return -1;
}

void cli_starve(cli *c)
{
    starved = 1;
    c->starved = 1;
}

void cli_release(cli *c)
{
    free(c->operands);
    bang_text_release(&c->problems);
}

int cli_read_flag(void *target, const char *value, bang_error *err)
{
    (void)value;
    (void)err;
    *(int *)target = 1;
    return 0;
}

int cli_read_text(void *target, const char *value, bang_error *err)
{
    (void)err;
    *(const char **)target = value;
    return 0;
}

int cli_read_real(void *target, const char *value, bang_error *err)
{
    return bang_text_to_double(target, value) < 0
               ? bang_fail(err, BANG_EUSAGE, "is no number: write one such as 0.9")
               : 0;
}

int cli_read_whole(void *target, const char *value, bang_error *err)
{
    return bang_text_to_int64(target, value) < 0
               ? bang_fail(err, BANG_EUSAGE, "is no whole number: write one such as 3")
               : 0;
}

/* As GNU's tools: K M G T and KiB MiB GiB TiB are powers of 1024, KB MB GB TB of 1000. */
int cli_read_bytes(void *target, const char *value, bang_error *err)
{
    static const char units[] = "KMGT";
    char number[32];
    double factor = 1, amount = 0;
    size_t size = strlen(value), base = 1024;
    int binary = size > 2 && strcmp(value + size - 2, "iB") == 0;
    if (binary) {
        size -= 2;
    } else if (size > 1 && value[size - 1] == 'B') {
        base = 1000;
        size--;
    }
    const char *unit = size > 0 ? strchr(units, value[size - 1]) : NULL;
    if (unit && *unit) {
        for (const char *u = units; u <= unit; u++)
            factor *= (double)base;
        size--;
    } else if (base == 1000 || binary)
        size = 0; /* "64B", "64iB" */
    snprintf(number, sizeof number, "%.*s", (int)(size < sizeof number ? size : 0), value);
    if (bang_text_to_double(&amount, number) < 0 || amount < 0 || amount * factor > 0x1p60)
        return bang_fail(err, BANG_EUSAGE, "is no amount of bytes: write one such as 64M or 5GB");
    *(uint64_t *)target = (uint64_t)(amount * factor);
    return 0;
}

int cli_numbers(double *out, int most, const char *text)
{
    for (int count = 0;;) {
        char item[64];
        size_t size = strcspn(text, ",");
        if (size >= sizeof item || count == most)
            return -1;
        memcpy(item, text, size);
        item[size] = '\0';
        if (bang_text_to_double(&out[count++], item) < 0)
            return -1;
        if (text[size] == '\0')
            return count;
        text += size + 1;
    }
}

char *cli_with_alpha(const char *name, const char *alpha)
{
    static const char mark[] = "{alpha}";
    bang_text path = {0};
    for (const char *found; (found = strstr(name, mark)); name = found + strlen(mark)) {
        bang_text_add_bytes(&path, name, (size_t)(found - name));
        bang_text_add(&path, "%s", alpha);
    }
    bang_text_add(&path, "%s", name);
    if (path.failed)
        bang_text_release(&path);
    return path.data;
}

void cli_problem(cli *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char line[1400];
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (strstr(line, "out of memory")) /* as bang_fail_memory has it */
        cli_starve(c);
    bang_text_add(&c->problems, "bang %s: %s\n", c->command, line);
}

int cli_usage_failed(cli *c)
{
    bang_error err = {0};
    if (c->problems.failed)
        cli_starve(c);
    if (c->starved) {
        bang_fail(&err, BANG_EMEMORY, "out of memory: try a smaller case or fewer threads");
        if (cli_agree(&err))
            cli_say("bang %s: %s\n", c->command, err.message);
        return 1;
    }
    if (!c->problems.size)
        return 0;
    /* for ranks that have none: "bang COMMAND: " is not part of it */
    size_t skip = strlen("bang : ") + strlen(c->command);
    bang_fail(&err, BANG_EUSAGE, "%.*s", (int)strcspn(c->problems.data, "\n") - (int)skip,
              c->problems.data + skip);
    if (cli_agree(&err))
        cli_put_clean(stderr, c->problems.data);
    return 1;
}

int cli_status(int code)
{
    return code == BANG_ECANCELLED ? CLI_INTERRUPTED : code == BANG_EUSAGE ? CLI_USAGE : CLI_FAILED;
}

int cli_fail(const cli *c, const bang_error *err)
{
    bang_error agreed = *err;
    if (cli_agree(&agreed))
        cli_say("bang %s: %s\n", c->command,
                agreed.code == BANG_ECANCELLED ? "interrupted" : agreed.message);
    return cli_status(agreed.code);
}

/* Edits (insert, delete, replace) that turn a into b. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return 99;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replace = corner + (a[i - 1] != b[j - 1]);
            size_t change = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            corner = row[j];
            row[j] = replace < change ? replace : change;
        }
    }
    return row[n];
}

static const cli_option *find_named(const cli_option *options, const char *name, size_t size)
{
    for (; options->name; options++)
        if (strlen(options->name) == size && memcmp(options->name, name, size) == 0)
            return options;
    return NULL;
}

static const cli_option *find_letter(const cli_option *options, char letter)
{
    for (; options->name; options++)
        if (options->letter && options->letter == letter)
            return options;
    return NULL;
}

static void unknown_option(cli *c, const cli_option *own, const cli_option *common,
                           const char *argument)
{
    const char *name = argument + strspn(argument, "-"), *nearest = NULL;
    size_t least = 3;
    const cli_option *tables[2] = {own, common};
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->name; o++)
            if (distance(name, o->name) < least) {
                least = distance(name, o->name);
                nearest = o->name;
            }
    if (nearest)
        cli_problem(c, "%.80s: unknown option: did you mean --%s?", argument, nearest);
    else
        cli_problem(c, "%.80s: unknown option: see bang %s --help", argument, c->command);
}

static void take_value(cli *c, const cli_option *option, const char *value)
{
    bang_error err = {0};
    int rc = option->read(option->target, value, &err);
    if (rc == BANG_EMEMORY)
        cli_starve(c);
    else if (rc < 0)
        cli_problem(c, "--%s%s%.80s: %s", option->name, value ? " " : "", value ? value : "",
                    err.message);
}

void cli_add_command(bang_text *out, const cli *c)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./,:=%+@^-";
    bang_text_add(out, "bang");
    for (int i = 1; i < c->argc; i++) {
        const char *s = c->argv[i];
        bang_text_add(out, " ");
        if (*s && s[strspn(s, plain)] == '\0') {
            bang_text_add(out, "%s", s);
            continue;
        }
        bang_text_add(out, "'");
        for (; *s; s++)
            bang_text_add(out, *s == '\'' ? "'\\''" : "%c", *s);
        bang_text_add(out, "'");
    }
}

void cli_parse(cli *c, const cli_option *own, int argc, char **argv, int first)
{
    c->argc = argc;
    c->argv = argv;
    cli_option common[COMMON + 1];
    common_options(common, c);
    for (int i = first; i < argc; i++) {
        const char *argument = argv[i], *value = NULL;
        const cli_option *option;
        if (argument[0] != '-' || argument[1] == '\0') {
            c->operands[c->operand_count++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            while (++i < argc)
                c->operands[c->operand_count++] = argv[i];
            break;
        }
        if (argument[1] == '-') {
            size_t size = strcspn(argument + 2, "=");
            option = find_named(own, argument + 2, size);
            if (!option)
                option = find_named(common, argument + 2, size);
            if (argument[2 + size] == '=')
                value = argument + 3 + size;
        } else {
            option = find_letter(own, argument[1]);
            if (!option)
                option = find_letter(common, argument[1]);
            if (argument[2])
                value = argument + 2;
        }
        if (!option) {
            unknown_option(c, own, common, argument);
            continue;
        }
        if (!option->argument && value)
            cli_problem(c, "%.80s: takes no value: write --%s", argument, option->name);
        else if (option->argument && !value && i + 1 == argc)
            cli_problem(c, "--%s: needs a value: write --%s %s", option->name, option->name,
                        option->argument);
        else
            take_value(c, option, option->argument && !value ? argv[++i] : value);
    }
    if (c->threads < 0 || c->threads > 4096)
        cli_problem(c, "--threads %lld: must be 0 (all cores) to 4096", (long long)c->threads);
    if (c->seed < 0)
        cli_problem(c, "--seed %lld: must not be negative", (long long)c->seed);
    cli_ranks_note(c);
}

static void print_options(const cli_option *options)
{
    for (; options->name; options++) {
        char left[80];
        snprintf(left, sizeof left, "  %c%c%c --%s%s%s", options->letter ? '-' : ' ',
                 options->letter ? options->letter : ' ', options->letter ? ',' : ' ',
                 options->name, options->argument ? " " : "",
                 options->argument ? options->argument : "");
        if (strlen(left) < HELP_COLUMN)
            printf("%-*s %s\n", HELP_COLUMN, left, options->help);
        else
            printf("%s\n%*s %s\n", left, HELP_COLUMN, "", options->help);
    }
}

void cli_print_help(const char *command, const char *operands, const char *summary,
                    const cli_option *options, const char *example)
{
    cli none = {0};
    cli_option common[COMMON + 1];
    common_options(common, &none);
    printf("Usage: bang %s %s\n\n%s\n\nOptions:\n", command, operands, summary);
    print_options(options);
    print_options(common);
    printf("\nExample:\n%s", example);
}

/* JSON leaves DEL and U+0080 to U+009F as they are, which a terminal may obey. */
static void put_json(const char *line)
{
    for (const unsigned char *s = (const unsigned char *)line; *s; s++) {
        int wide = s[0] == 0xC2 && s[1] >= 0x80 && s[1] < 0xA0;
        if (!wide && *s != 0x7F) {
            putchar(*s);
            continue;
        }
        s += wide;
        printf("\\u%04x", *s);
    }
    putchar('\n');
}

int cli_print_json(const cli *c, json_t *value)
{
    char *line = bang_json_line(value);
    json_decref(value);
    if (!line) {
        fprintf(stderr, "bang %s: out of memory\n", c->command);
        return CLI_FAILED;
    }
    put_json(line); /* main looks whether it arrived */
    free(line);
    return CLI_DONE;
}

void cli_check_output(cli *c, const char *path, const char *end)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    /* a pipe or a device has no ending */
    if (dot && !bang_text_ends_with(path, end))
        cli_problem(c, "--output %.200s: holds %s data: end it in %s", path, end + 1, end);
}
