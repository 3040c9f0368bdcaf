#include "bang/base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bang/base/text.h"
#include "base/os.h"

int bang_fail(bang_error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    /* A message often wraps the one it replaces: compose aside, then copy. */
    bang_error composed = {.code = code};
    va_list args;
    va_start(args, format);
    int length = vsnprintf(composed.message, sizeof composed.message, format, args);
    va_end(args);
    if (length < 0)
        composed.message[0] = '\0';
    else if ((size_t)length >= sizeof composed.message)
        memcpy(composed.message + sizeof composed.message - 4, "...", 4);
    bang_text_flatten(composed.message); /* what it quotes may hold line breaks */
    *err = composed;
    return code;
}

static atomic_int watched, refused;

void bang_memory_watch(void)
{
    bang_json_watch();
    atomic_store(&watched, 1);
}

void bang_memory_refuse(void)
{
    atomic_store(&refused, 1);
}

int bang_memory_refused(void)
{
    return atomic_load(&watched) && atomic_load(&refused);
}

int bang_fail_memory(bang_error *err)
{
    bang_memory_refuse();
    return bang_fail(err, BANG_EMEMORY, "out of memory: try a smaller case or fewer threads");
}
