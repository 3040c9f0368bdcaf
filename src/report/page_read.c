#include "report/page_read.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "report/draw.h"

int bang_read_numbers(double *out, const json_t *array, size_t count, const char *what,
                      bang_error *err)
{
    if (!json_is_array(array))
        return bang_fail(err, BANG_EDATA, "%s is no array", what);
    if (json_array_size(array) != count)
        return bang_fail(err, BANG_EDATA, "%s is of length %zu instead of %zu", what,
                         json_array_size(array), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        if (json_is_number(value))
            out[i] = json_number_value(value);
        else if (json_is_null(value))
            out[i] = NAN;
        else
            return bang_fail(err, BANG_EDATA, "value %zu of %s is no number", i + 1, what);
    }
    return 0;
}

int bang_read_array(const double **out, bang_arena *arena, const json_t *array, size_t count,
                    const char *what, bang_error *err)
{
    double *values = bang_arena_alloc(arena, count, sizeof *values);
    if (!values)
        return bang_fail_memory(err);
    *out = values;
    return bang_read_numbers(values, array, count, what, err);
}

int bang_read_limit(double *out, const json_t *entry, const char *name, bang_error *err)
{
    const json_t *value = json_object_get(entry, name);
    if (value && !json_is_number(value) && !json_is_null(value))
        return bang_fail(err, BANG_EDATA, "\"%s\" is no number", name);
    *out = json_number_value(value);
    return 0;
}

int bang_read_color(int *out, const json_t *entry, int otherwise, const char *what, bang_error *err)
{
    const json_t *color = json_object_get(entry, "color");
    json_int_t wanted = color ? json_integer_value(color) : otherwise;
    if ((color && !json_is_integer(color)) || wanted < 0 || wanted > INT_MAX)
        return bang_fail(err, BANG_EDATA, "the colour of %s is no whole number", what);
    *out = (int)wanted;
    return 0;
}

int bang_read_texts(const char *const **out, bang_arena *arena, const json_t *array, int gaps,
                    const char *what, bang_error *err)
{
    size_t count = json_array_size(array);
    const char **texts = bang_arena_alloc(arena, count, sizeof *texts);
    if (!texts)
        return bang_fail_memory(err);
    *out = texts;
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(array, i);
        texts[i] = json_string_value(text);
        if (!texts[i] && !(gaps && json_is_null(text)))
            return bang_fail(err, BANG_EDATA, "%s %zu is no text", what, i + 1);
    }
    return 0;
}

int bang_read_series(const char **name, int *color, const bang_read_part *parts, size_t part_count,
                     bang_arena *arena, const json_t *item, size_t index, size_t count,
                     bang_error *err)
{
    char what[64];
    if (!json_is_object(item))
        return bang_fail(err, BANG_EDATA, "series %zu is no object", index + 1);
    snprintf(what, sizeof what, "series %zu", index + 1);
    if (bang_page_string(name, item, "name", err) < 0 ||
        bang_read_color(color, item, (int)(index % INT_MAX), what, err) < 0)
        return err->code;
    for (size_t i = 0; i < part_count; i++) {
        const json_t *values = json_object_get(item, parts[i].name);
        if (parts[i].optional && (!values || json_is_null(values)))
            continue;
        snprintf(what, sizeof what, "\"%s\" of series %zu", parts[i].name, index + 1);
        if (bang_read_array(parts[i].values, arena, values, count, what, err) < 0)
            return err->code;
    }
    return 0;
}

int bang_read_shape(int *out, const json_t *value, const char *what, bang_error *err)
{
    const char *name = json_string_value(value);
    *out = 0;
    if (!value || json_is_null(value))
        return 0;
    if (!name)
        return bang_fail(err, BANG_EDATA, "the shape of %s is no text", what);
    *out = bang_draw_shape(name);
    if (*out < 0)
        return bang_fail(err, BANG_EDATA, "the shape of %s, \"%.40s\", is unknown", what, name);
    return 0;
}
