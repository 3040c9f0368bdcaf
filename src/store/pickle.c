/* What the opcodes of a pickle do. */
#include "store/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "store/pickle_machine.h"
#include "store/pickle_text.h"

static int push_int(bang_machine *m, int64_t integer)
{
    bang_value *value = bang_pickle_value(m->pickle, BANG_VALUE_INT);
    if (value)
        value->integer = integer;
    return bang_machine_push(m, value);
}

/* Text or bytes whose length comes first, as a number of so many bytes. */
static int push_bytes(bang_machine *m, bang_value_kind kind, int length_size)
{
    uint64_t size;
    int code = bang_machine_take_number(m, length_size, &size);
    if (code < 0)
        return code;
    const unsigned char *bytes = bang_machine_take(m, size);
    if (!bytes)
        return bang_machine_fail_cut(m);
    bang_value *value = bang_pickle_value(m->pickle, kind);
    if (value) {
        value->text.bytes = (const char *)bytes;
        value->text.size = (size_t)size;
    }
    return bang_machine_push(m, value);
}

/* A whole number in so many little-endian bytes of two's complement. */
static int push_long(bang_machine *m, int length_size)
{
    int code = push_bytes(m, BANG_VALUE_BIG, length_size);
    if (code < 0)
        return code;
    bang_value *value = bang_machine_top(m);
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

static int push_float(bang_machine *m)
{
    const unsigned char *bytes = bang_machine_take(m, 8);
    if (!bytes)
        return bang_machine_fail_cut(m);
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) /* the only big-endian number of a pickle */
        bits = bits << 8 | bytes[i];
    bang_value *value = bang_pickle_value(m->pickle, BANG_VALUE_FLOAT);
    if (value)
        memcpy(&value->number, &bits, sizeof bits);
    return bang_machine_push(m, value);
}

/* The opcodes whose argument is a line of text. */
static int push_line(bang_machine *m, int opcode)
{
    const char *line;
    size_t size;
    int code = bang_machine_take_line(m, &line, &size);
    if (code < 0)
        return code;
    if (opcode == 'I' && size == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return bang_machine_push(m, line[1] == '1' ? m->truth : m->falsehood);
    return bang_machine_push(m, bang_pickle_line(m->pickle, opcode, line, size));
}

/* A container of what stands behind the last mark. */
static int push_marked(bang_machine *m, bang_value_kind kind)
{
    bang_machine_values items;
    int code = bang_machine_pop_mark(m, &items);
    if (code < 0)
        return code;
    if (kind == BANG_VALUE_DICT && items.count % 2 != 0)
        return bang_machine_fail(m, "a key without a value");
    if (kind == BANG_VALUE_TUPLE && items.count == 0)
        return bang_machine_push(m, m->empty);
    bang_value *value = bang_pickle_value(m->pickle, kind);
    if (!value || bang_pickle_extend(m->pickle, value, items.items, items.count) < 0)
        return bang_machine_fail_value(m);
    return bang_machine_push(m, value);
}

static int push_tuple(bang_machine *m, size_t count)
{
    bang_value **items = bang_machine_pop_many(m, count);
    if (!items)
        return bang_machine_fail(m, "too few values for a tuple");
    bang_value *value = bang_pickle_value(m->pickle, BANG_VALUE_TUPLE);
    if (!value || bang_pickle_extend(m->pickle, value, items, count) < 0)
        return bang_machine_fail_value(m);
    return bang_machine_push(m, value);
}

/* Puts items into the container on top of the stack, or into an instance of a
 * class that is derived from one. */
static int add_items(bang_machine *m, bang_value_kind kind, const bang_machine_values *items)
{
    bang_value *to = bang_machine_top(m);
    if (!to || (kind == BANG_VALUE_DICT && items->count % 2 != 0))
        return bang_machine_fail(m, "items for no container");
    if (to->kind == BANG_VALUE_OBJECT || to->kind == BANG_VALUE_CALL) {
        if (!to->object.items)
            to->object.items = bang_pickle_value(m->pickle, kind);
        if (!to->object.items)
            return bang_machine_fail_value(m);
        to = to->object.items;
    }
    if (to->kind != kind)
        return bang_machine_fail(m, "items for a container of another kind");
    return bang_pickle_extend(m->pickle, to, items->items, items->count) < 0
               ? bang_machine_fail_value(m)
               : 0;
}

/* The items behind the last mark, or the count on top of the stack. */
static int add(bang_machine *m, bang_value_kind kind, size_t count)
{
    bang_machine_values items = {.count = count};
    if (count == 0) {
        int code = bang_machine_pop_mark(m, &items);
        return code < 0 ? code : add_items(m, kind, &items);
    }
    items.items = bang_machine_pop_many(m, count);
    if (!items.items)
        return bang_machine_fail(m, "too few values for a container");
    return add_items(m, kind, &items);
}

static int make_global(bang_machine *m, const char *module, size_t module_size, const char *name,
                       size_t name_size, bang_value **out)
{
    if (module_size > UINT32_MAX || name_size > UINT32_MAX)
        return bang_machine_fail(m, "a name that is too long");
    *out = bang_pickle_value(m->pickle, BANG_VALUE_GLOBAL);
    if (!*out)
        return bang_machine_fail_value(m);
    (*out)->global.module = module;
    (*out)->global.module_size = (uint32_t)module_size;
    (*out)->global.name = name;
    (*out)->global.name_size = (uint32_t)name_size;
    return 0;
}

static int take_global(bang_machine *m, bang_value **out)
{
    const char *module = "", *name = "";
    size_t module_size = 0, name_size = 0;
    int code = bang_machine_take_line(m, &module, &module_size);
    if (code == 0)
        code = bang_machine_take_line(m, &name, &name_size);
    return code < 0 ? code : make_global(m, module, module_size, name, name_size, out);
}

static int push_global(bang_machine *m, int on_stack)
{
    bang_value *global = NULL;
    int code;
    if (on_stack) {
        const bang_value *name = bang_machine_pop(m), *module = bang_machine_pop(m);
        if (!name || !module || name->kind != BANG_VALUE_TEXT || module->kind != BANG_VALUE_TEXT)
            return bang_machine_fail(m, "a global without a name");
        code = make_global(m, module->text.bytes, module->text.size, name->text.bytes,
                           name->text.size, &global);
    } else {
        code = take_global(m, &global);
    }
    return code < 0 ? code : bang_machine_push(m, global);
}

typedef bang_value *maker(bang_pickle *pickle, const bang_value *callee, bang_value *arguments,
                          const char **why);

/* Calls or makes an instance, in our sense of it. */
static int push_made(bang_machine *m, maker *make, const bang_value *callee, bang_value *arguments)
{
    const char *why = NULL;
    if (!callee || !arguments || arguments->kind != BANG_VALUE_TUPLE)
        return bang_machine_fail(m, "a call without a function or arguments");
    bang_value *value = make(m->pickle, callee, arguments, &why);
    return !value && why ? bang_machine_fail(m, why) : bang_machine_push(m, value);
}

static int reduce(bang_machine *m, int opcode)
{
    if (opcode == 0x92)
        bang_machine_pop(m); /* named arguments, of no use */
    bang_value *arguments = bang_machine_pop(m);
    const bang_value *callee = bang_machine_pop(m);
    return push_made(m, opcode == 'R' ? bang_pickle_call : bang_pickle_instance, callee, arguments);
}

/* INST and OBJ of the oldest protocols: arguments behind a mark. */
static int push_instance(bang_machine *m, int opcode)
{
    bang_value *class = NULL;
    int code = opcode == 'i' ? take_global(m, &class) : 0;
    if (code == 0)
        code = push_marked(m, BANG_VALUE_TUPLE);
    if (code < 0)
        return code;
    bang_value *arguments = bang_machine_pop(m);
    if (opcode == 'o') {
        if (arguments->list.count == 0)
            return bang_machine_fail(m, "an instance of nothing");
        class = arguments->list.items[0];
        arguments->list.items++;
        arguments->list.count--;
        arguments->list.capacity--;
    }
    maker *make = arguments->list.count > 0 ? bang_pickle_call : bang_pickle_instance;
    return push_made(m, make, class, arguments);
}

/* Sets attributes. Those of containers and tensors are nobody's business. */
static int build(bang_machine *m)
{
    bang_value *state = bang_machine_pop(m), *to = bang_machine_top(m);
    if (!state || !to)
        return bang_machine_fail(m, "attributes of nothing");
    if (to->kind == BANG_VALUE_OBJECT || to->kind == BANG_VALUE_CALL)
        to->object.state = state;
    return 0;
}

static int persistent(bang_machine *m)
{
    const bang_value *id = bang_machine_pop(m);
    const char *why = NULL;
    if (!id)
        return bang_machine_fail(m, "no persistent id");
    bang_value *value = bang_pickle_persistent(m->pickle, id, &why);
    return !value && why ? bang_machine_fail(m, why) : bang_machine_push(m, value);
}

static int drop(bang_machine *m)
{
    bang_machine_values nothing;
    return bang_machine_pop(m) ? 0 : bang_machine_pop_mark(m, &nothing);
}

static int protocol(bang_machine *m)
{
    uint64_t version;
    int code = bang_machine_take_number(m, 1, &version);
    if (code == 0 && version > 5)
        code = bang_machine_fail(m, "a protocol newer than 5");
    return code;
}

static int push_small(bang_machine *m, int size)
{
    uint64_t bits;
    int code = bang_machine_take_number(m, size, &bits);
    return code < 0 ? code : push_int(m, size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits);
}

enum { NOT_MINE = 1 };

/* Opcodes that push a number or a text. */
static int step_plain(bang_machine *m, int opcode)
{
    switch (opcode) {
    case 'N':
        return bang_machine_push(m, m->none);
    case 0x88:
        return bang_machine_push(m, m->truth);
    case 0x89:
        return bang_machine_push(m, m->falsehood);
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
static int step_container(bang_machine *m, int opcode)
{
    switch (opcode) {
    case ')':
        return bang_machine_push(m, m->empty);
    case ']':
        return bang_machine_push(m, bang_pickle_value(m->pickle, BANG_VALUE_LIST));
    case '}':
        return bang_machine_push(m, bang_pickle_value(m->pickle, BANG_VALUE_DICT));
    case 0x8f:
        return bang_machine_push(m, bang_pickle_value(m->pickle, BANG_VALUE_SET));
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
static int step_other(bang_machine *m, int opcode)
{
    switch (opcode) {
    case 0x80:
        return protocol(m);
    case 0x95: /* a frame helps those who read from a stream */
        return bang_machine_take(m, 8) ? 0 : bang_machine_fail_cut(m);
    case '(':
        return bang_machine_push_mark(m);
    case '0':
        return drop(m);
    case '1':
        return bang_machine_pop_mark(m, &(bang_machine_values){0});
    case '2':
        return bang_machine_top(m) ? bang_machine_push(m, bang_machine_top(m))
                                   : bang_machine_fail(m, "nothing to double");
    case 'p':
        return bang_machine_memo(m, -1, 1);
    case 'q':
        return bang_machine_memo(m, 1, 1);
    case 'r':
        return bang_machine_memo(m, 4, 1);
    case 0x94:
        return bang_machine_memo(m, 0, 1);
    case 'g':
        return bang_machine_memo(m, -1, 0);
    case 'h':
        return bang_machine_memo(m, 1, 0);
    case 'j':
        return bang_machine_memo(m, 4, 0);
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

static int step(bang_machine *m, int opcode)
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

static int run(bang_machine *m)
{
    m->none = bang_pickle_value(m->pickle, BANG_VALUE_NONE);
    m->truth = bang_pickle_value(m->pickle, BANG_VALUE_BOOL);
    m->falsehood = bang_pickle_value(m->pickle, BANG_VALUE_BOOL);
    m->empty = bang_pickle_value(m->pickle, BANG_VALUE_TUPLE);
    if (!m->none || !m->truth || !m->falsehood || !m->empty)
        return bang_machine_fail_value(m);
    m->truth->integer = 1;
    for (;;) {
        const unsigned char *opcode = bang_machine_take(m, 1);
        if (!opcode)
            return bang_machine_fail_cut(m);
        if (*opcode == '.')
            break;
        int code = step(m, *opcode);
        if (code < 0)
            return code;
    }
    m->pickle->root = bang_machine_pop(m);
    m->pickle->used = m->at;
    return m->pickle->root ? 0 : bang_machine_fail(m, "it ends with nothing");
}

int bang_pickle_parse(bang_pickle *out, const void *data, size_t size, const char *name,
                      bang_error *err)
{
    *out = (bang_pickle){.size = size};
    bang_machine m = {.pickle = out, .data = data, .size = size, .name = name, .err = err};
    int code = run(&m);
    free(m.stack.items);
    free(m.memo.items);
    free(m.marks);
    return code;
}
