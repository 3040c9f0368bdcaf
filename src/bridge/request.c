#include "request.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bang/bridge/bridge.h"

enum { THREADS_MAX = 4096 };

const char *bang_bridge_version(void)
{
    return BANG_VERSION;
}

void bang_bridge_free(char *told)
{
    free(told);
}

int bang_request_parse(json_t **out, const char *text, bang_error *err)
{
    *out = NULL;
    if (!text)
        return bang_fail(err, BANG_EUSAGE, "request: missing: give a JSON object");
    int rc = bang_json_parse(out, text, strlen(text), err);
    if (rc < 0)
        return rc;
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return bang_fail(err, BANG_EUSAGE, "request: is no JSON object");
    }
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(*out, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(*out, key);
    }
    return 0;
}

int bang_request_unpack(json_t *request, bang_error *err, const char *format, ...)
{
    json_error_t why;
    va_list list;
    va_start(list, format);
    int rc = json_vunpack_ex(request, &why, JSON_STRICT, format, list);
    va_end(list);
    return rc == 0 ? 0 : bang_fail(err, BANG_EUSAGE, "request: %s", why.text);
}

int bang_request_numbers(double *out, int most, const char *key, const json_t *array,
                         bang_error *err)
{
    size_t count = json_array_size(array);
    if (!array)
        return 0;
    if (!json_is_array(array) || count == 0 || count > (size_t)most)
        return bang_fail(err, BANG_EUSAGE, "%s: must be 1 to %d numbers", key, most);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(array, i);
        if (!json_is_number(one))
            return bang_fail(err, BANG_EUSAGE, "%s: entry %zu is no number", key, i + 1);
        out[i] = json_number_value(one);
    }
    return (int)count;
}

int bang_request_threads(int threads, bang_error *err)
{
    return threads >= 0 && threads <= THREADS_MAX
               ? 0
               : bang_fail(err, BANG_EUSAGE, "threads %d: must be 0 (all cores) to %d", threads,
                           THREADS_MAX);
}

int bang_request_answer(char **out, json_t *told, bang_error *err)
{
    *out = told ? bang_json_line(told) : NULL;
    json_decref(told);
    return *out ? 0 : bang_fail_memory(err);
}
