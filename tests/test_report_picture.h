/* What tests of charts share: a picture, and what must hold for every one.
 *
 *     bang_text_release(&drawn);
 *     bang_chart_lines(&drawn, &chart);
 *     const char *svg = judge();
 */
#ifndef BANG_TESTS_TEST_REPORT_PICTURE_H
#define BANG_TESTS_TEST_REPORT_PICTURE_H

#include "test_report_markup.h"

#include "bang/base/text.h"

/* Room for the pictures of a test, given back when it ends. */
static bang_text drawn;

static inline int release_drawn(void **state)
{
    (void)state;
    bang_text_release(&drawn);
    return 0;
}

/* What must hold for every picture, whatever it shows; returns it. */
static inline const char *judge(void)
{
    assert_false(drawn.failed);
    assert_int_equal(strlen(drawn.data), drawn.size);
    const char *problem = markup_problem(drawn.data, 0);
    if (problem)
        fail_msg("%s", problem);
    assert_non_null(strstr(drawn.data, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""));
    assert_null(strstr(drawn.data, "nan"));
    assert_null(strstr(drawn.data, "inf"));
    assert_null(strstr(drawn.data, " id=")); /* two charts of one page would share it */
    double width = 0, height = 0;
    const char *box = strstr(drawn.data, "viewBox=\"0 0 ");
    assert_non_null(box);
    assert_int_equal(sscanf(box, "viewBox=\"0 0 %lf %lf\"", &width, &height), 2);
    assert_in_range((long)width, 50, 820);
    for (const char *p = drawn.data; (p = strstr(p, "<text x=\"")); p++) {
        double x, y;
        assert_int_equal(sscanf(p, "<text x=\"%lf\" y=\"%lf\"", &x, &y), 2);
        if (x < 0 || x > width || y < 0 || y > height)
            fail_msg("outside %g x %g: %.80s", width, height, p);
    }
    return drawn.data;
}

/* A text that no chart may take for markup. */
static const char hostile[] =
    "<script>alert(\"x\")</script>&amp; ' ]]> \x01\x1b \xff\xc3( \xed\xa0\x80";

/* Number `index` of the elements that begin like this, e.g. "<rect class=\"bar\"". */
static inline const char *element_at(const char *start, size_t index)
{
    const char *p = drawn.data - 1;
    for (size_t i = 0; i <= index; i++)
        if (!(p = strstr(p + 1, start)))
            fail_msg("no %s number %zu", start, i + 1);
    return p;
}

/* An attribute of the element at p that is a number. */
static inline double attribute(const char *p, const char *name)
{
    char key[40];
    double value = 0;
    snprintf(key, sizeof key, " %s=\"", name);
    const char *at = strstr(p, key);
    if (!at || at > strchr(p, '>') || sscanf(at + strlen(key), "%lf", &value) != 1)
        fail_msg("no number %s in %.80s", name, p);
    return value;
}

#endif
