/* A small judge of XML and HTML: tags balance, attributes are quoted, entities
 * are known, and nothing is in the text that XML cannot hold.
 *
 *     const char *problem = markup_problem(svg.data, 0);
 *     if (problem) fail_msg("%s", problem);
 */
#ifndef BANG_TESTS_TEST_REPORT_MARKUP_H
#define BANG_TESTS_TEST_REPORT_MARKUP_H

#include <ctype.h>

#include "testing.h"

static char markup_message[256];

static inline const char *markup_complain(const char *what, const char *at)
{
    snprintf(markup_message, sizeof markup_message, "%s at: %.60s", what, at);
    return markup_message;
}

static inline const char *markup_character(const char *p)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    if ((unsigned char)*p < 0x20 && *p != '\n')
        return markup_complain("control character", p);
    if (*p == '>')
        return markup_complain("bare >", p);
    if (*p != '&')
        return NULL;
    for (size_t i = 0; i < 5; i++)
        if (strncmp(p, entities[i], strlen(entities[i])) == 0)
            return NULL;
    return markup_complain("unknown entity", p);
}

/* Moves *p from after the name of a tag to after its '>'. */
static inline const char *markup_attributes(const char **at, int *closed)
{
    const char *p = *at;
    for (;;) {
        p += strspn(p, " \n");
        if (*p == '/' || *p == '>')
            break;
        size_t name = strcspn(p, "= \n<>\"'/");
        if (!name)
            return markup_complain("no attribute", p);
        p += name;
        if (strncmp(p, "=\"", 2) != 0)
            return markup_complain("attribute without quotes", p);
        for (p += 2; *p != '"'; p++) {
            const char *problem =
                *p == '<' || !*p ? markup_complain("broken attribute", p) : markup_character(p);
            if (problem)
                return problem;
        }
        p++;
    }
    *closed = *p == '/';
    p += *closed;
    if (*p != '>')
        return markup_complain("tag does not end", p);
    *at = p + 1;
    return NULL;
}

static inline int markup_is_void(const char *name, size_t length)
{
    return (length == 4 && strncmp(name, "meta", 4) == 0) ||
           (length == 3 && strncmp(name, "img", 3) == 0);
}

static inline int markup_utf8(const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        int more = *p < 0x80 ? 0 : *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : *p >= 0xC2 ? 1 : -1;
        if (more < 0 || *p > 0xF4)
            return 0;
        for (p++; more > 0; more--, p++)
            if ((*p & 0xC0) != 0x80)
                return 0;
    }
    return 1;
}

/* NULL, or what is wrong with the text. */
static inline const char *markup_problem(const char *text, int html)
{
    enum { DEEP = 64 };
    const char *open[DEEP];
    size_t length[DEEP];
    int depth = 0, roots = 0;
    const char *p = text, *problem;
    if (!markup_utf8(text))
        return "not UTF-8";
    if (html && strncmp(p, "<!DOCTYPE html>\n", 16) == 0)
        p += 16;
    while (*p) {
        if (*p != '<') {
            if (depth == 0 && !isspace((unsigned char)*p))
                return markup_complain("text outside", p);
            problem = markup_character(p++);
            if (problem)
                return problem;
            continue;
        }
        int end = p[1] == '/', closed = 0;
        const char *name = p + 1 + end;
        size_t size = strcspn(name, " \n/>");
        if (!size || !isalpha((unsigned char)*name))
            return markup_complain("no tag", p);
        p = name + size;
        if ((problem = markup_attributes(&p, &closed)))
            return problem;
        if (end) {
            if (depth == 0 || length[depth - 1] != size ||
                strncmp(open[depth - 1], name, size) != 0)
                return markup_complain("closes what is not open", name);
            depth--;
        } else if (!closed && !(html && markup_is_void(name, size))) {
            roots += depth == 0;
            if (depth == DEEP)
                return markup_complain("too deep", name);
            open[depth] = name;
            length[depth++] = size;
            if (size == 5 && strncmp(name, "style", 5) == 0 && !(p = strstr(p, "</style>")))
                return "style does not end";
            if (size == 6 && strncmp(name, "script", 6) == 0 && !(p = strstr(p, "</script>")))
                return "script does not end";
        }
    }
    if (depth)
        return markup_complain("never closed", open[depth - 1]);
    return roots == 1 ? NULL : "not one root";
}

static inline size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *p = strstr(text, part); p; p = strstr(p + strlen(part), part))
        count++;
    return count;
}

#endif
