/* The machine that a pickle is a program for: a stack, marks in it, a memo. */
#include "store/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "store/pickle_text.h"

struct values {
    bang_value **items;
    size_t count, capacity;
};

struct machine {
    bang_pickle *pickle;
    const unsigned char *data;
    size_t size, at;
    const char *name;
    struct values stack, memo;
    size_t *marks;
    size_t mark_count, mark_capacity;
    bang_value *none, *truth, *falsehood;
    bang_error *err;
};

static int fail(const struct machine *m, const char *why)
{
    return bang_fail(m->err, BANG_EDATA, "%s: byte %zu of its pickle: %s", m->name, m->at, why);
}

static int fail_cut(struct machine *m)
{
    m->pickle->is_cut = 1;
    return fail(m, "it ends too early: the file is cut");
}

/* When a value could not be made. */
static int fail_value(const struct machine *m)
{
    return bang_fail(m->err, BANG_EMEMORY, "%s: out of memory, or too many values in its pickle",
                     m->name);
}

/* Room for one more. */
static int grow(void **items, size_t *capacity, size_t need, size_t size)
{
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

/* NULL says that memory was out when value was made. */
static int push(struct machine *m, bang_value *value)
{
    if (!value || grow((void **)&m->stack.items, &m->stack.capacity, m->stack.count + 1,
                       sizeof(bang_value *)) < 0)
        return fail_value(m);
    m->stack.items[m->stack.count++] = value;
    return 0;
}

/* Where the part of the stack behind the last mark begins. */
static size_t base(const struct machine *m)
{
    return m->mark_count > 0 ? m->marks[m->mark_count - 1] : 0;
}

static bang_value *top(const struct machine *m)
{
    return m->stack.count > base(m) ? m->stack.items[m->stack.count - 1] : NULL;
}

static bang_value *pop(struct machine *m)
{
    bang_value *value = top(m);
    m->stack.count -= value != NULL;
    return value;
}

static int push_mark(struct machine *m)
{
    if (grow((void **)&m->marks, &m->mark_capacity, m->mark_count + 1, sizeof *m->marks) < 0)
        return bang_fail_memory(m->err);
    m->marks[m->mark_count++] = m->stack.count;
    return 0;
}

/* Everything behind the last mark, which goes with it; valid until the next push. */
static int pop_mark(struct machine *m, struct values *out)
{
    if (m->mark_count == 0)
        return fail(m, "no mark where one is needed");
    size_t from = m->marks[--m->mark_count];
    *out = (struct values){.items = m->stack.items + from, .count = m->stack.count - from};
    if (!m->stack.items)
        out->items = NULL;
    m->stack.count = from;
    return 0;
}

/* The next size bytes; NULL when there are fewer. */
static const unsigned char *take(struct machine *m, uint64_t size)
{
    if (size > m->size - m->at)
        return NULL;
    const unsigned char *bytes = m->data + m->at;
    m->at += (size_t)size;
    return bytes;
}

static int take_number(struct machine *m, int size, uint64_t *out)
{
    const unsigned char *bytes = take(m, (uint64_t)size);
    *out = 0;
    for (int i = size - 1; bytes && i >= 0; i--)
        *out = *out << 8 | bytes[i];
    return bytes ? 0 : fail_cut(m);
}

/* Up to the end of the line. */
static int take_line(struct machine *m, const char **line, size_t *size)
{
    const char *from = (const char *)m->data + m->at;
    const char *end = memchr(from, '\n', m->size - m->at);
    if (!end)
        return fail_cut(m);
    *line = from;
    *size = (size_t)(end - from);
    m->at += *size + 1;
    return 0;
}

static int push_int(struct machine *m, int64_t integer)
{
    bang_value *value = bang_pickle_value(m->pickle, BANG_VALUE_INT);
    if (value)
        value->integer = integer;
    return push(m, value);
}

/* Text or bytes whose length comes first, as a number of so many bytes. */
static int push_bytes(struct machine *m, bang_value_kind kind, int length_size)
{
    uint64_t size;
    int code = take_number(m, length_size, &size);
    if (code < 0)
        return code;
    const unsigned char *bytes = take(m, size);
    if (!bytes)
        return fail_cut(m);
    bang_value *value = bang_pickle_value(m->pickle, kind);
    if (value) {
        value->text.bytes = (const char *)bytes;
        value->text.size = (size_t)size;
    }
    return push(m, value);
}

/* A whole number in so many little-endian bytes of two's complement. */
static int push_long(struct machine *m, int length_size)
{
    int code = push_bytes(m, BANG_VALUE_BIG, length_size);
    if (code < 0)
        return code;
    bang_value *value = top(m);
    const unsigned char *bytes = (const unsigned char *)value->text.bytes;
    size_t size = value->text.size;
    if (size > 8)
        return 0;
    uint64_t bits = size > 0 && bytes[size - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = size; i > 0; i--)
        bits = bits << 8 | bytes[i - 1];
    value->kind = BANG_VALUE_INT;
    value->integer = (int64_t)bits;
    return 0;
}

static int push_float(struct machine *m)
{
    const unsigned char *bytes = take(m, 8);
    if (!bytes)
        return fail_cut(m);
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) /* the only big-endian number of a pickle */
        bits = bits << 8 | bytes[i];
    bang_value *value = bang_pickle_value(m->pickle, BANG_VALUE_FLOAT);
    if (value)
        memcpy(&value->number, &bits, sizeof bits);
    return push(m, value);
}

/* The opcodes whose argument is a line of text. */
static int push_line(struct machine *m, int opcode)
{
    const char *line;
    size_t size;
    int code = take_line(m, &line, &size);
    if (code < 0)
        return code;
    if (opcode == 'I' && size == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push(m, line[1] == '1' ? m->truth : m->falsehood);
    return push(m, bang_pickle_line(m->pickle, opcode, line, size));
}

/* A container of what stands behind the last mark. */
static int push_marked(struct machine *m, bang_value_kind kind)
{
    struct values items;
    int code = pop_mark(m, &items);
    if (code < 0)
        return code;
    if (kind == BANG_VALUE_DICT && items.count % 2 != 0)
        return fail(m, "a key without a value");
    bang_value *value = bang_pickle_value(m->pickle, kind);
    if (!value || bang_pickle_extend(m->pickle, value, items.items, items.count) < 0)
        return fail_value(m);
    return push(m, value);
}

static int push_tuple(struct machine *m, size_t count)
{
    if (m->stack.count - base(m) < count)
        return fail(m, "too few values for a tuple");
    m->stack.count -= count;
    bang_value *value = bang_pickle_value(m->pickle, BANG_VALUE_TUPLE);
    if (!value || bang_pickle_extend(m->pickle, value, m->stack.items + m->stack.count, count) < 0)
        return fail_value(m);
    return push(m, value);
}

/* Puts items into the container on top of the stack, or into an instance of a
 * class that is derived from one. */
static int add_items(struct machine *m, bang_value_kind kind, const struct values *items)
{
    bang_value *to = top(m);
    if (!to || (kind == BANG_VALUE_DICT && items->count % 2 != 0))
        return fail(m, "items for no container");
    if (to->kind == BANG_VALUE_OBJECT || to->kind == BANG_VALUE_CALL) {
        if (!to->object.items)
            to->object.items = bang_pickle_value(m->pickle, kind);
        if (!to->object.items)
            return fail_value(m);
        to = to->object.items;
    }
    if (to->kind != kind)
        return fail(m, "items for a container of another kind");
    return bang_pickle_extend(m->pickle, to, items->items, items->count) < 0 ? fail_value(m) : 0;
}

/* The items behind the last mark, or the count on top of the stack. */
static int add(struct machine *m, bang_value_kind kind, size_t count)
{
    struct values items = {.count = count};
    if (count == 0) {
        int code = pop_mark(m, &items);
        return code < 0 ? code : add_items(m, kind, &items);
    }
    if (m->stack.count - base(m) < count)
        return fail(m, "too few values for a container");
    m->stack.count -= count;
    items.items = m->stack.items + m->stack.count;
    return add_items(m, kind, &items);
}

static int put_memo(struct machine *m, uint64_t index)
{
    bang_value *value = top(m);
    /* Picklers count up, so a number beyond the bytes so far is a lie. */
    if (!value || index > m->at + 256)
        return fail(m, "a memo out of bounds");
    struct values *memo = &m->memo;
    size_t before = memo->capacity;
    if (grow((void **)&memo->items, &memo->capacity, (size_t)index + 1, sizeof(bang_value *)) < 0)
        return bang_fail_memory(m->err);
    if (memo->capacity > before)
        memset(memo->items + before, 0, (memo->capacity - before) * sizeof(bang_value *));
    memo->items[index] = value;
    memo->count++; /* of puts: what MEMOIZE counts by */
    return 0;
}

static int push_memo(struct machine *m, uint64_t index)
{
    if (index >= m->memo.capacity || !m->memo.items[index])
        return fail(m, "a memo that was never put");
    return push(m, m->memo.items[index]);
}

/* PUT or GET with a decimal number. */
static int take_index(struct machine *m, uint64_t *index)
{
    const char *line;
    size_t size;
    char digits[24] = "";
    int64_t value = -1;
    int code = take_line(m, &line, &size);
    if (code < 0)
        return code;
    if (size < sizeof digits)
        memcpy(digits, line, size);
    if (bang_text_to_int64(&value, digits) < 0 || value < 0)
        return fail(m, "a memo without a number");
    *index = (uint64_t)value;
    return 0;
}

static int make_global(struct machine *m, const char *module, size_t module_size, const char *name,
                       size_t name_size, bang_value **out)
{
    if (module_size > UINT32_MAX || name_size > UINT32_MAX)
        return fail(m, "a name that is too long");
    *out = bang_pickle_value(m->pickle, BANG_VALUE_GLOBAL);
    if (!*out)
        return fail_value(m);
    (*out)->global.module = module;
    (*out)->global.module_size = (uint32_t)module_size;
    (*out)->global.name = name;
    (*out)->global.name_size = (uint32_t)name_size;
    return 0;
}

static int take_global(struct machine *m, bang_value **out)
{
    const char *module, *name;
    size_t module_size, name_size;
    int code = take_line(m, &module, &module_size);
    if (code == 0)
        code = take_line(m, &name, &name_size);
    return code < 0 ? code : make_global(m, module, module_size, name, name_size, out);
}

static int push_global(struct machine *m, int on_stack)
{
    bang_value *global = NULL;
    int code;
    if (on_stack) {
        const bang_value *name = pop(m), *module = pop(m);
        if (!name || !module || name->kind != BANG_VALUE_TEXT || module->kind != BANG_VALUE_TEXT)
            return fail(m, "a global without a name");
        code = make_global(m, module->text.bytes, module->text.size, name->text.bytes,
                           name->text.size, &global);
    } else {
        code = take_global(m, &global);
    }
    return code < 0 ? code : push(m, global);
}

typedef bang_value *maker(bang_pickle *pickle, const bang_value *callee, bang_value *arguments,
                          const char **why);

/* Calls or makes an instance, in our sense of it. */
static int push_made(struct machine *m, maker *make, const bang_value *callee,
                     bang_value *arguments)
{
    const char *why = NULL;
    if (!callee || !arguments || arguments->kind != BANG_VALUE_TUPLE)
        return fail(m, "a call without a function or arguments");
    bang_value *value = make(m->pickle, callee, arguments, &why);
    return !value && why ? fail(m, why) : push(m, value);
}

static int reduce(struct machine *m, int opcode)
{
    if (opcode == 0x92)
        pop(m); /* named arguments, of no use */
    bang_value *arguments = pop(m);
    const bang_value *callee = pop(m);
    return push_made(m, opcode == 'R' ? bang_pickle_call : bang_pickle_instance, callee, arguments);
}

/* INST and OBJ of the oldest protocols: arguments behind a mark. */
static int push_instance(struct machine *m, int opcode)
{
    bang_value *class = NULL;
    int code = opcode == 'i' ? take_global(m, &class) : 0;
    if (code == 0)
        code = push_marked(m, BANG_VALUE_TUPLE);
    if (code < 0)
        return code;
    bang_value *arguments = pop(m);
    if (opcode == 'o') {
        if (arguments->list.count == 0)
            return fail(m, "an instance of nothing");
        class = arguments->list.items[0];
        arguments->list.items++;
        arguments->list.count--;
        arguments->list.capacity--;
    }
    maker *make = arguments->list.count > 0 ? bang_pickle_call : bang_pickle_instance;
    return push_made(m, make, class, arguments);
}

/* Sets attributes. Those of containers and tensors are nobody's business. */
static int build(struct machine *m)
{
    bang_value *state = pop(m), *to = top(m);
    if (!state || !to)
        return fail(m, "attributes of nothing");
    if (to->kind == BANG_VALUE_OBJECT || to->kind == BANG_VALUE_CALL)
        to->object.state = state;
    return 0;
}

static int persistent(struct machine *m)
{
    const bang_value *id = pop(m);
    const char *why = NULL;
    if (!id)
        return fail(m, "no persistent id");
    bang_value *value = bang_pickle_persistent(m->pickle, id, &why);
    return !value && why ? fail(m, why) : push(m, value);
}

static int drop(struct machine *m)
{
    struct values nothing;
    return pop(m) ? 0 : pop_mark(m, &nothing);
}

static int protocol(struct machine *m)
{
    uint64_t version;
    int code = take_number(m, 1, &version);
    if (code == 0 && version > 5)
        code = fail(m, "a protocol newer than 5");
    return code;
}

static int push_small(struct machine *m, int size)
{
    uint64_t bits;
    int code = take_number(m, size, &bits);
    return code < 0 ? code : push_int(m, size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits);
}

static int memo(struct machine *m, int size, int is_put)
{
    uint64_t index = m->memo.count;
    int code = 0;
    if (size < 0)
        code = take_index(m, &index);
    else if (size > 0)
        code = take_number(m, size, &index);
    if (code < 0)
        return code;
    return is_put ? put_memo(m, index) : push_memo(m, index);
}

enum { NOT_MINE = 1 };

/* Opcodes that push a number or a text. */
static int step_plain(struct machine *m, int opcode)
{
    switch (opcode) {
    case 'N':
        return push(m, m->none);
    case 0x88:
        return push(m, m->truth);
    case 0x89:
        return push(m, m->falsehood);
    case 'K':
        return push_small(m, 1);
    case 'M':
        return push_small(m, 2);
    case 'J':
        return push_small(m, 4);
    case 0x8a:
        return push_long(m, 1);
    case 0x8b:
        return push_long(m, 4);
    case 'G':
        return push_float(m);
    case 'I':
    case 'L':
    case 'F':
    case 'S':
    case 'V':
        return push_line(m, opcode);
    case 'U':
    case 0x8c:
        return push_bytes(m, BANG_VALUE_TEXT, 1);
    case 'T':
    case 'X':
        return push_bytes(m, BANG_VALUE_TEXT, 4);
    case 0x8d:
        return push_bytes(m, BANG_VALUE_TEXT, 8);
    case 'C':
        return push_bytes(m, BANG_VALUE_BYTES, 1);
    case 'B':
        return push_bytes(m, BANG_VALUE_BYTES, 4);
    case 0x8e:
    case 0x96:
        return push_bytes(m, BANG_VALUE_BYTES, 8);
    default:
        return NOT_MINE;
    }
}

/* Opcodes that make containers or fill them. */
static int step_container(struct machine *m, int opcode)
{
    switch (opcode) {
    case ')':
        return push(m, bang_pickle_value(m->pickle, BANG_VALUE_TUPLE));
    case ']':
        return push(m, bang_pickle_value(m->pickle, BANG_VALUE_LIST));
    case '}':
        return push(m, bang_pickle_value(m->pickle, BANG_VALUE_DICT));
    case 0x8f:
        return push(m, bang_pickle_value(m->pickle, BANG_VALUE_SET));
    case 't':
        return push_marked(m, BANG_VALUE_TUPLE);
    case 'l':
        return push_marked(m, BANG_VALUE_LIST);
    case 'd':
        return push_marked(m, BANG_VALUE_DICT);
    case 0x91:
        return push_marked(m, BANG_VALUE_SET);
    case 0x85:
    case 0x86:
    case 0x87:
        return push_tuple(m, (size_t)opcode - 0x84);
    case 'a':
        return add(m, BANG_VALUE_LIST, 1);
    case 'e':
        return add(m, BANG_VALUE_LIST, 0);
    case 's':
        return add(m, BANG_VALUE_DICT, 2);
    case 'u':
        return add(m, BANG_VALUE_DICT, 0);
    case 0x90:
        return add(m, BANG_VALUE_SET, 0);
    default:
        return NOT_MINE;
    }
}

/* Opcodes of the stack, the memo, and of objects. */
static int step_other(struct machine *m, int opcode)
{
    switch (opcode) {
    case 0x80:
        return protocol(m);
    case 0x95: /* a frame helps those who read from a stream */
        return take(m, 8) ? 0 : fail_cut(m);
    case '(':
        return push_mark(m);
    case '0':
        return drop(m);
    case '1':
        return pop_mark(m, &(struct values){0});
    case '2':
        return top(m) ? push(m, top(m)) : fail(m, "nothing to double");
    case 'p':
        return memo(m, -1, 1);
    case 'q':
        return memo(m, 1, 1);
    case 'r':
        return memo(m, 4, 1);
    case 0x94:
        return memo(m, 0, 1);
    case 'g':
        return memo(m, -1, 0);
    case 'h':
        return memo(m, 1, 0);
    case 'j':
        return memo(m, 4, 0);
    case 'c':
        return push_global(m, 0);
    case 0x93:
        return push_global(m, 1);
    case 'R':
    case 0x81:
    case 0x92:
        return reduce(m, opcode);
    case 'i':
    case 'o':
        return push_instance(m, opcode);
    case 'b':
        return build(m);
    case 'Q':
        return persistent(m);
    default:
        return NOT_MINE;
    }
}

static int step(struct machine *m, int opcode)
{
    int code = step_plain(m, opcode);
    if (code == NOT_MINE)
        code = step_container(m, opcode);
    if (code == NOT_MINE)
        code = step_other(m, opcode);
    if (code == NOT_MINE)
        code = bang_fail(m->err, BANG_EDATA,
                         "%s: byte %zu of its pickle: opcode 0x%02x is not read: save it with "
                         "torch.save",
                         m->name, m->at - 1, (unsigned)opcode);
    return code;
}

static int run(struct machine *m)
{
    m->none = bang_pickle_value(m->pickle, BANG_VALUE_NONE);
    m->truth = bang_pickle_value(m->pickle, BANG_VALUE_BOOL);
    m->falsehood = bang_pickle_value(m->pickle, BANG_VALUE_BOOL);
    if (!m->none || !m->truth || !m->falsehood)
        return fail_value(m);
    m->truth->integer = 1;
    for (;;) {
        const unsigned char *opcode = take(m, 1);
        if (!opcode)
            return fail_cut(m);
        if (*opcode == '.')
            break;
        int code = step(m, *opcode);
        if (code < 0)
            return code;
    }
    m->pickle->root = pop(m);
    m->pickle->used = m->at;
    return m->pickle->root ? 0 : fail(m, "it ends with nothing");
}

int bang_pickle_parse(bang_pickle *out, const void *data, size_t size, const char *name,
                      bang_error *err)
{
    *out = (bang_pickle){.size = size};
    struct machine m = {.pickle = out, .data = data, .size = size, .name = name, .err = err};
    int code = run(&m);
    free(m.stack.items);
    free(m.memo.items);
    free(m.marks);
    return code;
}
