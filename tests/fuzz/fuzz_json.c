/* JSON that is read must be written and read again as the same value. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "bang/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value, *again;
    bang_error err = {0};
    if (bang_json_parse(&value, (const char *)data, size, &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || value)
            abort();
        return 0;
    }
    char *line = bang_json_line(value);
    if (!line || strchr(line, '\n') || bang_json_parse(&again, line, strlen(line), &err) < 0 ||
        !json_equal(value, again))
        abort();
    bang_text escaped = {0};
    bang_text_add_escaped(&escaped, line);
    if (escaped.failed || (escaped.data && strpbrk(escaped.data, "<>\"'")))
        abort();
    bang_text_release(&escaped);
    json_decref(value);
    json_decref(again);
    free(line);
    return 0;
}
