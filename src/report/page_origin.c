/* Where a result comes from: what is needed to compute it again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"
#include "report/page.h"

/* As few digits as give the same double back. */
static void add_real(bang_text *out, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    bang_text_add(out, "%s", text);
}

void bang_page_value(bang_text *out, const json_t *value)
{
    const char *key;
    json_t *member;
    int first = 1;
    switch (json_typeof(value)) {
    case JSON_STRING:
        bang_draw_escaped(out, json_string_value(value));
        break;
    case JSON_INTEGER:
        bang_text_add(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        add_real(out, json_real_value(value));
        break;
    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(value); i++) {
            bang_text_add(out, i ? ", " : "[");
            bang_page_value(out, json_array_get(value, i));
        }
        bang_text_add(out, json_array_size(value) ? "]" : "[]");
        break;
    case JSON_OBJECT:
        bang_text_add(out, "{");
        json_object_foreach((json_t *)value, key, member)
        {
            bang_text_add(out, first ? "" : ", ");
            bang_draw_escaped(out, key);
            bang_text_add(out, ": ");
            bang_page_value(out, member);
            first = 0;
        }
        bang_text_add(out, "}");
        break;
    default:
        bang_text_add(out, "%s", json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "–");
    }
}

static void add_pair(bang_text *out, const char *name, const json_t *value)
{
    bang_text_add(out, "<dt>");
    bang_draw_escaped(out, name);
    bang_text_add(out, "</dt><dd>");
    bang_page_value(out, value);
    bang_text_add(out, "</dd>\n");
}

void bang_page_origin(bang_page *page, const json_t *record)
{
    bang_text *out = &page->out;
    if (!json_is_object(record)) {
        bang_text_add(out, "<p class=\"problem\">This record cannot be shown: it is no "
                           "object.</p>\n");
        return;
    }
    const char *key = json_string_value(json_object_get(record, "key")), *name;
    json_t *value;
    bang_text_add(out, "<details><summary>How to reproduce <code>");
    bang_draw_escaped(out, key ? key : "(no key)");
    bang_text_add(out, "</code></summary>\n");
    const char *command = json_string_value(json_object_get(record, "command"));
    if (command) {
        bang_text_add(out, "<pre class=\"command\"><code>");
        bang_draw_escaped(out, command);
        bang_text_add(out, "</code></pre>\n");
    }
    bang_text_add(out, "<dl>\n");
    json_object_foreach((json_t *)record, name, value)
    {
        /* What came out is shown above or in the file; the rest is how. */
        static const char *const apart[] = {"key", "section", "show", "result", "options"};
        int skip = 0;
        for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++)
            skip |= strcmp(name, apart[i]) == 0;
        skip |= command && strcmp(name, "command") == 0;
        if (!skip)
            add_pair(out, name, value);
    }
    const json_t *options = json_object_get(record, "options");
    if (options && !json_is_object(options))
        add_pair(out, "options", options);
    json_object_foreach((json_t *)options, name, value) add_pair(out, name, value);
    bang_text_add(out, "</dl></details>\n");
}
