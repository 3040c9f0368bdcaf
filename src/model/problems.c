#include "model/problems.h"

#include <string.h>

int bang_problems_fail(bang_text *lines, const char *path, bang_text *all, bang_error *err)
{
    enum { ROOM = 800 };
    bang_text list = {0};
    size_t more = 0;
    int rc = 0;
    for (const char *line = lines->data, *end; line && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        if (all)
            bang_text_add(all, "%s: %.*s\n", path, (int)(end - line), line);
        if (more || (list.size > 0 && list.size + (size_t)(end - line) > ROOM))
            more++;
        else
            bang_text_add(&list, "%s%.*s", list.size ? "; " : "", (int)(end - line), line);
    }
    if (more)
        bang_text_add(&list, "; and %zu more", more);
    if (lines->failed || list.failed)
        rc = bang_fail_memory(err);
    else if (list.size > 0)
        rc = bang_fail(err, BANG_EDATA, "%s: %s", path, list.data);
    bang_text_release(&list);
    bang_text_release(lines);
    return rc;
}
