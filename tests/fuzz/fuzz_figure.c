/* An entry of a record's "show", whatever it holds, becomes a figure or an
 * error with a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/report/figure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*writer)(bang_text *out, const json_t *entry, bang_error *err);

static void try_writer(writer write, const json_t *entry)
{
    bang_text out = {0};
    bang_error err = {0};
    int code = write(&out, entry, &err);
    if (code < 0 ? !err.message[0] : out.failed || out.size == 0)
        abort();
    bang_text_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *entry;
    if (bang_json_parse(&entry, (const char *)data, size, NULL) < 0)
        return 0;
    try_writer(bang_figure_svg, entry);
    try_writer(bang_figure_csv, entry);
    json_decref(entry);
    return 0;
}
