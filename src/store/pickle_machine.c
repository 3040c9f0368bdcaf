#include "store/pickle_machine.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

int bang_machine_fail(const bang_machine *m, const char *why)
{
    return bang_fail(m->err, BANG_EDATA, "%s: byte %zu of its pickle: %s", m->name, m->at, why);
}

int bang_machine_fail_cut(bang_machine *m)
{
    m->pickle->is_cut = 1;
    return bang_machine_fail(m, "it ends too early: the file is cut");
}

int bang_machine_fail_value(const bang_machine *m)
{
    if (!m->pickle->is_full)
        return bang_fail_memory(m->err);
    return bang_fail(m->err, BANG_EDATA,
                     "%s: byte %zu of its pickle: more than %d values or %d items: no checkpoint "
                     "needs so many: save a state_dict alone",
                     m->name, m->at, BANG_PICKLE_VALUES_MOST, BANG_PICKLE_ITEMS_MOST);
}

/* Room for need of them. */
static int grow(const bang_machine *m, void **items, size_t *capacity, size_t need, size_t size)
{
    if (need > BANG_PICKLE_VALUES_MOST) {
        m->pickle->is_full = 1;
        return -1;
    }
    if (need <= *capacity)
        return 0;
    size_t wish = need < 2 * *capacity ? 2 * *capacity : need + 64;
    void *grown = wish < SIZE_MAX / 2 / size ? realloc(*items, wish * size) : NULL;
    if (!grown)
        return -1;
    *items = grown;
    *capacity = wish;
    return 0;
}

int bang_machine_push(bang_machine *m, bang_value *value)
{
    if (!value || grow(m, (void **)&m->stack.items, &m->stack.capacity, m->stack.count + 1,
                       sizeof(bang_value *)) < 0)
        return bang_machine_fail_value(m);
    m->stack.items[m->stack.count++] = value;
    return 0;
}

/* Where the part of the stack behind the last mark begins. */
static size_t base(const bang_machine *m)
{
    return m->mark_count > 0 ? m->marks[m->mark_count - 1] : 0;
}

bang_value *bang_machine_top(const bang_machine *m)
{
    return m->stack.count > base(m) ? m->stack.items[m->stack.count - 1] : NULL;
}

bang_value *bang_machine_pop(bang_machine *m)
{
    bang_value *value = bang_machine_top(m);
    m->stack.count -= value != NULL;
    return value;
}

bang_value **bang_machine_pop_many(bang_machine *m, size_t count)
{
    if (m->stack.count - base(m) < count || count == 0)
        return NULL;
    m->stack.count -= count;
    return m->stack.items + m->stack.count;
}

int bang_machine_push_mark(bang_machine *m)
{
    if (grow(m, (void **)&m->marks, &m->mark_capacity, m->mark_count + 1, sizeof *m->marks) < 0)
        return bang_machine_fail_value(m);
    m->marks[m->mark_count++] = m->stack.count;
    return 0;
}

int bang_machine_pop_mark(bang_machine *m, bang_machine_values *out)
{
    if (m->mark_count == 0)
        return bang_machine_fail(m, "no mark where one is needed");
    size_t from = m->marks[--m->mark_count];
    *out = (bang_machine_values){.count = m->stack.count - from};
    if (out->count > 0)
        out->items = m->stack.items + from;
    m->stack.count = from;
    return 0;
}

const unsigned char *bang_machine_take(bang_machine *m, uint64_t size)
{
    if (size > m->size - m->at)
        return NULL;
    const unsigned char *bytes = m->data + m->at;
    m->at += (size_t)size;
    return bytes;
}

int bang_machine_take_number(bang_machine *m, int size, uint64_t *out)
{
    const unsigned char *bytes = bang_machine_take(m, (uint64_t)size);
    *out = 0;
    for (int i = size - 1; bytes && i >= 0; i--)
        *out = *out << 8 | bytes[i];
    return bytes ? 0 : bang_machine_fail_cut(m);
}

int bang_machine_take_line(bang_machine *m, const char **line, size_t *size)
{
    const char *from = (const char *)m->data + m->at;
    const char *end = memchr(from, '\n', m->size - m->at);
    if (!end)
        return bang_machine_fail_cut(m);
    *line = from;
    *size = (size_t)(end - from);
    m->at += *size + 1;
    return 0;
}

static int put_memo(bang_machine *m, uint64_t index)
{
    bang_value *value = bang_machine_top(m);
    /* Picklers count up, so a number beyond the bytes so far is a lie. */
    if (!value || index > m->at + 256)
        return bang_machine_fail(m, "a memo out of bounds");
    bang_machine_values *memo = &m->memo;
    size_t before = memo->capacity;
    if (grow(m, (void **)&memo->items, &memo->capacity, (size_t)index + 1, sizeof(bang_value *)) <
        0)
        return bang_machine_fail_value(m);
    if (memo->capacity > before)
        memset(memo->items + before, 0, (memo->capacity - before) * sizeof(bang_value *));
    memo->items[index] = value;
    memo->count++; /* of puts: what MEMOIZE counts by */
    return 0;
}

static int push_memo(bang_machine *m, uint64_t index)
{
    if (index >= m->memo.capacity || !m->memo.items[index])
        return bang_machine_fail(m, "a memo that was never put");
    return bang_machine_push(m, m->memo.items[index]);
}

/* PUT or GET with a decimal number. */
static int take_index(bang_machine *m, uint64_t *index)
{
    const char *line = NULL;
    size_t size = 0;
    char digits[24] = "";
    int64_t value = -1;
    int code = bang_machine_take_line(m, &line, &size);
    if (code < 0)
        return code;
    if (size < sizeof digits)
        memcpy(digits, line, size);
    if (bang_text_to_int64(&value, digits) < 0 || value < 0)
        return bang_machine_fail(m, "a memo without a number");
    *index = (uint64_t)value;
    return 0;
}

int bang_machine_memo(bang_machine *m, int size, int is_put)
{
    uint64_t index = m->memo.count;
    int code = 0;
    if (size < 0)
        code = take_index(m, &index);
    else if (size > 0)
        code = bang_machine_take_number(m, size, &index);
    if (code < 0)
        return code;
    return is_put ? put_memo(m, index) : push_memo(m, index);
}
