/* Names of any kind, progress bars and signals. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bang/base/utf8.h"
#include "cli.h"

enum { MESSAGE = 4096 };

static bang_cancel cancel;
static volatile sig_atomic_t launched;

/* A launcher says stop to all ranks again when the first of them has ended; rank 0 may still be
 * saving. */
static void on_signal(int number)
{
    if (bang_cancel_raise(&cancel) && !(launched && number == SIGTERM))
        _exit(CLI_INTERRUPTED);
}

static void on_early_signal(int number)
{
    static const char text[] = "bang: interrupted\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(CLI_INTERRUPTED);
}

/* Who started this may want it to ignore them: a shell does for what runs in the background. */
static void handle(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = handler}, old;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void cli_catch(void)
{
    handle(on_early_signal);
}

bang_cancel *cli_cancel(void)
{
    launched = bang_ranks_launched();
    handle(on_signal);
    return &cancel;
}

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cli_columns(void)
{
    struct winsize size = {0};
    int known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
    return !known ? 80 : size.ws_col < 40 ? 40 : size.ws_col;
}

int cli_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) /* the first that says something decides */
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
                   strstr(value, "utf-8");
    }
    return 0;
}

size_t cli_characters(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* Controls are below blank, DEL, and U+0080 to U+009F, which begin with C2 in UTF-8. Bytes that
 * are no UTF-8 might be such a control to a terminal of another kind. */
static size_t clean(char *out, const char *s, size_t size, int lines)
{
    unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];
    int control = c < 0x20 || c == 0x7F || (c == 0xC2 && next < 0xA0);
    if (size == 0 || (control && !(lines && c == '\n'))) {
        *out = '?';
        return 1;
    }
    memcpy(out, s, size);
    return size;
}

/* In one piece, since others may write to the same place in the meantime; what is longer than a
 * pipe takes as one cannot be. */
static void put_clean(FILE *to, const char *s, int lines)
{
    char out[MESSAGE];
    size_t used = 0;
    while (*s) {
        size_t size = bang_utf8_character(s);
        if (used + size >= sizeof out) {
            fwrite(out, 1, used, to);
            used = 0;
        }
        used += clean(out + used, s, size, lines);
        s += size ? size : 1;
    }
    if (used > 0)
        fwrite(out, 1, used, to);
}

void cli_print_clean(const char *s)
{
    put_clean(stdout, s, 0);
}

void cli_put_clean(FILE *to, const char *lines)
{
    put_clean(to, lines, 1);
}

void cli_say(const char *format, ...)
{
    char text[MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_clean(stderr, text, 1);
}

void cli_print_name(const char *name, size_t width)
{
    const char *dots = cli_is_utf8() ? "…" : "...";
    size_t size = cli_characters(name), mark = cli_characters(dots);
    if (size > width) {
        for (size_t skip = size - (width - mark); skip; name++)
            skip -= ((unsigned char)name[1] & 0xC0) != 0x80;
        fputs(dots, stdout);
        size = width;
    }
    cli_print_clean(name);
    printf("%*s", (int)(width - size), "");
}

/* May be called by several threads: a torn bar is redrawn a tenth of a second
 * later, so no lock is worth it, but only one may pass the clock. */
static void draw(void *context, uint64_t done, uint64_t total)
{
    static atomic_flag drawing = ATOMIC_FLAG_INIT;
    cli_bar *bar = context;
    if (!bar->active || atomic_flag_test_and_set(&drawing))
        return;
    double now = cli_seconds();
    if (now - bar->last >= 0.1) { /* short work shows no bar at all */
        struct winsize size = {0};
        int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
        char line[512];
        int said = atomic_load(&bar->said);
        const char *label = said ? bar->text[said - 1] : bar->label;
        double seconds = now - bar->begin;
        if (!bang_progress_tells(done > bar->from ? done - bar->from : 0,
                                 total > bar->from ? total - bar->from : 0, seconds))
            seconds = 0;           /* neither pace nor time left yet */
        else if (done > bar->from) /* as if all had gone at the pace of what was done since */
            seconds *= (double)done / (double)(done - bar->from);
        if (bar->bytes)
            bang_progress_render_bytes(line, sizeof line, label, done, total, seconds, width - 1);
        else
            bang_progress_render(line, sizeof line, label, done, total, seconds, width - 1);
        fprintf(stderr, "\r%s\033[K", line);
        bar->last = now;
    }
    atomic_flag_clear(&drawing);
}

/* A terminal that knows how to erase a line; an editor's window says it is dumb. */
static int can_erase(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void cli_bar_start(cli_bar *bar, const cli *c, const char *label)
{
    *bar = (cli_bar){.progress = {draw, bar}, .label = label, .begin = cli_seconds()};
    bar->last = bar->begin;
    bar->active = !c->quiet && can_erase();
}

void cli_bar_say(cli_bar *bar, const char *what)
{
    int next = atomic_load(&bar->said) == 1 ? 2 : 1;
    snprintf(bar->text[next - 1], sizeof bar->text[0], "%s", what);
    atomic_store(&bar->said, next);
}

void cli_bar_finish(cli_bar *bar)
{
    if (bar->active && bar->last > bar->begin)
        fputs("\r\033[K", stderr);
    bar->active = 0;
}
