#include "bang/base/json.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "bang/base/text.h"
#include "base/os.h"

json_t *bang_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Debian's jansson aborts when it finds no memory in the middle of a string that it reads, so
 * what a value needs to come to its end is kept for that case. */
static _Alignas(max_align_t) char reserve[1 << 16];
static atomic_size_t reserve_used;

void *bang_json_reserve(size_t size)
{
    size_t step = _Alignof(max_align_t), at = atomic_load(&reserve_used);
    if (size > sizeof reserve - step)
        return NULL;
    size_t need = size / step * step + step;
    do
        if (at > sizeof reserve - need)
            return NULL;
    while (!atomic_compare_exchange_weak(&reserve_used, &at, at + need));
    return reserve + at;
}

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory)
        return memory;
    bang_memory_refuse();
    return bang_json_reserve(size);
}

static void release(void *memory)
{
    if ((char *)memory < reserve || (char *)memory >= reserve + sizeof reserve)
        free(memory);
}

void bang_json_watch(void)
{
    json_set_alloc_funcs(allocate, release);
}

char *bang_json_text(const json_t *value, size_t flags)
{
    char *text = bang_memory_refused() ? NULL : json_dumps(value, flags);
    if (!text || !bang_memory_refused())
        return text;
    release(text); /* it may be of the reserve, and what it tells may lack something */
    return NULL;
}

char *bang_json_line(const json_t *value)
{
    return bang_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
}

int bang_json_parse(json_t **out, const char *text, size_t size, bang_error *err)
{
    json_error_t why;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (*out)
        return 0;
    /* when it finds no memory for a value, jansson says nothing at all; for a string, something
     * else */
    if (!*why.text || json_error_code(&why) == json_error_out_of_memory || bang_memory_refused())
        return bang_fail_memory(err);
    return bang_fail(err, BANG_EDATA, "line %d, column %d: %s: not valid JSON", why.line,
                     why.column, why.text);
}

/* At most so many bytes become of what begins with this character, outside of strings: of values
 * and their places in jansson's tables, while these grow. */
static size_t price(char character)
{
    switch (character) {
    case '{':
        return 240;
    case '[':
        return 160; /* with a first number in it */
    case ':':
    case '"':
        return 80;
    case ',':
        return 56;
    default:
        return 0;
    }
}

int bang_json_parse_foreign(json_t **out, const char *text, size_t size, bang_error *err)
{
    size_t cost = 0, most = BANG_JSON_FACTOR * size + BANG_JSON_FREE;
    int quoted = 0;
    *out = NULL;
    for (size_t i = 0; i < size && cost <= most; i++) {
        if (quoted && text[i] == '\\') {
            i++;
            continue;
        }
        cost += quoted ? 0 : price(text[i]);
        quoted = text[i] == '"' ? !quoted : quoted;
    }
    if (cost > most)
        return bang_fail(err, BANG_EDATA,
                         "more and smaller values than make sense: they would take more than %d "
                         "times its size in memory",
                         BANG_JSON_FACTOR);
    return bang_json_parse(out, text, size, err);
}
