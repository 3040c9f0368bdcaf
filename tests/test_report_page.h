/* What tests of the report share: records, and a report that is read back.
 *
 *     show(folder, "[{\"kind\":\"text\",\"text\":\"t\"}]");
 *     has("<p>t</p>");
 */
#ifndef BANG_TESTS_TEST_REPORT_PAGE_H
#define BANG_TESTS_TEST_REPORT_PAGE_H

#include "test_report_picture.h"

#include "bang/base/file.h"
#include "bang/base/record.h"
#include "bang/report/figure.h"
#include "bang/report/report.h"

static char *html; /* of the last report, given back by the next */

static inline int drop_all(void **state)
{
    release_drawn(state);
    free(html);
    html = NULL;
    return drop_folder(state);
}

static inline void append(const char *folder, json_t *record)
{
    bang_error err = {0};
    assert_non_null(record);
    if (bang_record_append(folder, record, &err) < 0)
        fail_msg("%s", err.message);
    json_decref(record);
}

static inline json_t *json(const char *text)
{
    json_t *value = NULL;
    bang_error err = {0};
    if (bang_json_parse(&value, text, strlen(text), &err) < 0)
        fail_msg("%s in %s", err.message, text);
    return value;
}

/* A record with these entries, given as the text of a JSON array. */
static inline json_t *record(const char *key, const char *section, const char *show)
{
    json_t *all = json_pack("{s:s, s:s, s:{s:i, s:f}, s:{}}", "key", key, "version", "0.1.0",
                            "options", "seed", 7, "p", 0.1, "result");
    if (section)
        json_object_set_new(all, "section", json_string(section));
    if (show)
        json_object_set_new(all, "show", json(show));
    return all;
}

/* Writes and reads the report, and checks what holds for every one. */
static inline const char *write_report(const char *folder)
{
    bang_error err = {0};
    size_t size;
    const char *path = in_folder(folder, "report.html");
    free(html);
    html = NULL;
    if (bang_report_write(path, folder, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(bang_file_read(&html, &size, path, &err), 0);
    const char *problem = markup_problem(html, 1);
    if (problem)
        fail_msg("%s", problem);
    static const char *const forbidden[] = {"<link", "<iframe", "url(", "@import", "javascript:"};
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        assert_null(strstr(html, forbidden[i]));
    assert_int_equal(count_of(html, "<script"), 1); /* our own */
    assert_int_equal(count_of(html, "src="), count_of(html, "\" src=\"data:image/png;base64,"));
    assert_int_equal(count_of(html, "http://") + count_of(html, "https://"),
                     count_of(html, "xmlns=\"http://www.w3.org/2000/svg\""));
    return html;
}

static inline const char *show(const char *folder, const char *entries)
{
    append(folder, record("key", "Section", entries));
    return write_report(folder);
}

static inline void has(const char *part)
{
    if (!strstr(html, part))
        fail_msg("missing: %s\nin: %s", part, strstr(html, "<main>"));
}

/* What bang_figure_svg or bang_figure_csv makes of an entry. */
static inline const char *figure(int (*write)(bang_text *, const json_t *, bang_error *),
                                 const char *text)
{
    bang_error err = {0};
    json_t *entry = json(text);
    bang_text_release(&drawn);
    if (write(&drawn, entry, &err) < 0)
        fail_msg("%s", err.message);
    json_decref(entry);
    return drawn.data;
}

/* The entry leaves a note that begins like this, and nothing else. */
static inline void refuses(const char *folder, const char *entry, const char *why)
{
    char entries[1000], said[300];
    snprintf(entries, sizeof entries, "[%s]", entry);
    snprintf(said, sizeof said, "This entry cannot be shown: %s", why);
    append(folder, record("key", "Section", entries));
    write_report(folder);
    has(said);
    assert_null(strstr(html, "<figure"));
}

#endif
