#include "bang/base/json.h"

#include <math.h>

#include "bang/base/text.h"

json_t *bang_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

char *bang_json_line(const json_t *value)
{
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
}

int bang_json_parse(json_t **out, const char *text, size_t size, bang_error *err)
{
    json_error_t why;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (*out)
        return 0;
    if (json_error_code(&why) == json_error_out_of_memory)
        return bang_fail_memory(err);
    bang_text_flatten(why.text); /* it quotes what is there, line breaks too */
    return bang_fail(err, BANG_EDATA, "line %d, column %d: %s: not valid JSON", why.line,
                     why.column, why.text);
}
