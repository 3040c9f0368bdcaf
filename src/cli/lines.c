#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"

char **lines_read(cli *c, const char *option, const char *path, char **text, size_t *count)
{
    bang_error err = {0};
    size_t size, lines = 1;
    *count = 0;
    if (bang_file_read(text, &size, path, &err) < 0) {
        cli_problem(c, "--%s %s", option, err.message);
        return NULL;
    }
    if (strlen(*text) != size) {
        cli_problem(c, "--%s %.200s: holds a byte 0: must be text", option, path);
        return NULL;
    }
    while (size > 0 && strchr("\r\n\t ", (*text)[size - 1]))
        (*text)[--size] = '\0';
    for (size_t i = 0; i < size; i++)
        lines += (*text)[i] == '\n';
    char **out = size > 0 ? calloc(lines, sizeof *out) : NULL;
    if (!out) {
        cli_problem(c, "--%s %.200s: %s", option, path,
                    size > 0 ? "out of memory" : "is empty: write a line for each");
        return NULL;
    }
    for (char *at = *text, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        size_t length = strlen(at);
        if (length > 0 && at[length - 1] == '\r')
            at[--length] = '\0';
        json_t *valid = json_string(at);
        if (strspn(at, " \t") == length) {
            cli_problem(c, "--%s %.200s: line %zu: is blank", option, path, *count + 1);
            *at = '\0';
        } else if (!valid)
            cli_problem(c, "--%s %.200s: line %zu: is not UTF-8", option, path, *count + 1);
        json_decref(valid);
        out[(*count)++] = at;
    }
    return out;
}
