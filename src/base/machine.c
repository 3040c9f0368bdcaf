#include "bang/base/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bang/base/file.h"

void bang_machine_processor(char *out, size_t size)
{
    char *text = NULL;
    size_t length;
    snprintf(out, size, "unknown");
    if (bang_file_read(&text, &length, "/proc/cpuinfo", NULL) < 0)
        return;
    /* "model name\t: AMD EPYC 7B13\n" */
    const char *line = strstr(text, "model name"), *end = line ? strchr(line, '\n') : NULL;
    const char *colon = end ? memchr(line, ':', (size_t)(end - line)) : NULL;
    while (colon && colon < end && (*colon == ':' || *colon == ' '))
        colon++;
    if (colon && colon < end)
        snprintf(out, size, "%.*s", (int)(end - colon), colon);
    free(text);
}

int bang_machine_cores(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
