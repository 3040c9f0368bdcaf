/* Records, whatever they hold, become a page of the elements that pages have and of no others:
 * no text of theirs turns into markup. */
#include "bang/report/report.h"
#include "files.h"

/* What the page itself may open; svg's own included. */
static int is_ours(const char *name, size_t length)
{
    static const char *const ours[] = {"a",
                                       "article",
                                       "aside",
                                       "b",
                                       "body",
                                       "br",
                                       "button",
                                       "caption",
                                       "circle",
                                       "clipPath",
                                       "code",
                                       "col",
                                       "colgroup",
                                       "dd",
                                       "defs",
                                       "desc",
                                       "details",
                                       "div",
                                       "dl",
                                       "dt",
                                       "em",
                                       "figcaption",
                                       "figure",
                                       "footer",
                                       "g",
                                       "h1",
                                       "h2",
                                       "h3",
                                       "h4",
                                       "head",
                                       "header",
                                       "html",
                                       "i",
                                       "img",
                                       "li",
                                       "line",
                                       "linearGradient",
                                       "main",
                                       "meta",
                                       "nav",
                                       "ol",
                                       "p",
                                       "path",
                                       "pattern",
                                       "polygon",
                                       "polyline",
                                       "pre",
                                       "rect",
                                       "script",
                                       "section",
                                       "small",
                                       "span",
                                       "stop",
                                       "strong",
                                       "style",
                                       "sub",
                                       "summary",
                                       "sup",
                                       "svg",
                                       "symbol",
                                       "table",
                                       "tbody",
                                       "td",
                                       "text",
                                       "tfoot",
                                       "th",
                                       "thead",
                                       "time",
                                       "title",
                                       "tr",
                                       "tspan",
                                       "ul",
                                       "use"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strlen(ours[i]) == length && strncmp(ours[i], name, length) == 0)
            return 1;
    return 0;
}

static void check(const char *page)
{
    int scripts = 0;
    if (strncmp(page, "<!DOCTYPE html>", 15) != 0)
        abort();
    for (const char *at = page + 1; (at = strchr(at, '<'));) {
        const char *name = at + 1 + (at[1] == '/');
        size_t length = strcspn(name, " \t\r\n/>");
        if (!is_ours(name, length))
            abort();
        /* what the page's own script and style hold is text */
        if (strncmp(at, "<script", 7) == 0) {
            scripts++;
            at = strstr(at, "</script>");
        } else if (strncmp(at, "<style", 6) == 0) {
            at = strstr(at, "</style>");
        }
        if (!at)
            abort();
        at++;
    }
    if (scripts != 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_error err = {0};
    char *page;
    size_t length;
    prepare_folder();
    put("results.jsonl", data, size);
    if (bang_report_write(place("report.html"), folder, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n'))
            abort();
        return 0;
    }
    if (bang_file_read(&page, &length, place("report.html"), &err) < 0)
        abort();
    if (strlen(page) != length)
        abort();
    check(page);
    free(page);
    return 0;
}
