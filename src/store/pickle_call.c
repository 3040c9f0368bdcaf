/* What the calls in a pickle stand for. None is made: some are known to give a
 * tensor or a container, some give data that nobody asks for. */
#include <string.h>

#include "store/pickle.h"

enum { KEY_MOST = 1024 }; /* of a storage: some digits, and compared often */

enum action {
    UNKNOWN,
    TENSOR,    /* (storage, offset, size, stride, ...) */
    TYPED,     /* the same, with a dtype behind two more */
    PARAMETER, /* (tensor, ...) */
    SUBCLASS,  /* (function, type, arguments, state) */
    DICT,      /* () or (pairs) */
    SET,       /* (list) */
    SAME,      /* (tuple) gives that */
    INSTANCE,  /* (class, ...) */
    DATA,      /* harmless, and holds no tensors */
};

static const struct {
    const char *name;
    enum action action;
} known[] = {
    {"torch._utils._rebuild_tensor", TENSOR},
    {"torch._utils._rebuild_tensor_v2", TENSOR},
    {"torch._utils._rebuild_tensor_v3", TYPED},
    {"torch._utils._rebuild_parameter", PARAMETER},
    {"torch._utils._rebuild_parameter_with_state", PARAMETER},
    {"torch.nn.parameter.Parameter", PARAMETER},
    {"torch.nn.parameter.Buffer", PARAMETER},
    {"torch._tensor._rebuild_from_type_v2", SUBCLASS},
    {"collections.OrderedDict", DICT},
    {"collections.defaultdict", DICT},
    {"collections.Counter", DICT},
    {"builtins.dict", DICT},
    {"__builtin__.dict", DICT},
    {"builtins.set", SET},
    {"__builtin__.set", SET},
    {"builtins.frozenset", SET},
    {"__builtin__.frozenset", SET},
    {"torch.Size", SAME},
    {"torch.jit._pickle.build_intlist", SAME},
    {"torch.jit._pickle.build_boollist", SAME},
    {"torch.jit._pickle.build_doublelist", SAME},
    {"torch.jit._pickle.build_tensorlist", SAME},
    {"torch.jit._pickle.restore_type_tag", SAME},
    {"copyreg._reconstructor", INSTANCE},
    {"copy_reg._reconstructor", INSTANCE},
    {"copyreg.__newobj__", INSTANCE},
    {"copy_reg.__newobj__", INSTANCE},
    {"copyreg.__newobj_ex__", INSTANCE},
    {"argparse.Namespace", DATA},
    {"torch.device", DATA},
    {"torch.serialization._get_layout", DATA},
    {"numpy.core.multiarray.scalar", DATA},
    {"numpy._core.multiarray.scalar", DATA},
    {"numpy.core.multiarray._reconstruct", DATA},
    {"numpy._core.multiarray._reconstruct", DATA},
    {"numpy.dtype", DATA},
    {"numpy.ndarray", DATA},
    {"_codecs.encode", DATA},
    {"builtins.bytearray", DATA},
    {"__builtin__.bytearray", DATA},
    {"builtins.complex", DATA},
    {"builtins.slice", DATA},
    {"builtins.range", DATA},
    {"pathlib.Path", DATA},
    {"pathlib.PosixPath", DATA},
    {"pathlib.PurePosixPath", DATA},
    {"pathlib.WindowsPath", DATA},
};

static enum action action_of(const bang_value *callee)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bang_value_is_global(callee, known[i].name))
            return known[i].action;
    return UNKNOWN;
}

static bang_value *argument(const bang_value *arguments, size_t index)
{
    return index < arguments->list.count ? arguments->list.items[index] : NULL;
}

static int is_kind(const bang_value *value, bang_value_kind kind)
{
    return value && value->kind == kind;
}

static bang_value *make_tensor(bang_pickle *pickle, bang_value *arguments, int typed,
                               const char **why)
{
    const bang_value *dtype = typed ? argument(arguments, 6) : NULL;
    if (!is_kind(argument(arguments, 0), BANG_VALUE_STORAGE) ||
        !is_kind(argument(arguments, 1), BANG_VALUE_INT) ||
        !is_kind(argument(arguments, 2), BANG_VALUE_TUPLE) ||
        !is_kind(argument(arguments, 3), BANG_VALUE_TUPLE) ||
        (typed && !is_kind(dtype, BANG_VALUE_GLOBAL))) {
        *why = "a tensor is not made of a storage, an offset, sizes and strides";
        return NULL;
    }
    /* Flags of a view whose numbers are to be changed when they are read. */
    const bang_value *flags = argument(arguments, typed ? 7 : 6);
    if (flags && flags->kind != BANG_VALUE_NONE &&
        (flags->kind != BANG_VALUE_DICT || flags->list.count > 0)) {
        *why = "a tensor is negated or conjugated only when used (neg, conj), which is not read: "
               "save its resolve_neg().resolve_conj()";
        return NULL;
    }
    bang_value *tensor = bang_pickle_value(pickle, BANG_VALUE_TENSOR);
    if (!tensor)
        return NULL;
    tensor->tensor.storage = argument(arguments, 0);
    tensor->tensor.geometry = arguments;
    tensor->tensor.dtype = dtype;
    return tensor;
}

/* Items of another container may be taken over as often as there are bytes, not
 * as often as a small file could ask for. */
static int charge(bang_pickle *pickle, size_t count, const char **why)
{
    if (count > pickle->size - pickle->copied) {
        *why = "containers are copied again and again";
        return -1;
    }
    pickle->copied += count;
    return 0;
}

static bang_value *make_dict(bang_pickle *pickle, const bang_value *arguments, const char **why)
{
    bang_value *dict = bang_pickle_value(pickle, BANG_VALUE_DICT);
    const bang_value *from = NULL; /* defaultdict has a factory before it */
    for (size_t i = 0; !from && i < arguments->list.count; i++)
        if (is_kind(argument(arguments, i), BANG_VALUE_LIST) ||
            is_kind(argument(arguments, i), BANG_VALUE_DICT))
            from = argument(arguments, i);
    if (!dict || !from)
        return dict;
    if (charge(pickle, from->list.count, why) < 0)
        return NULL;
    if (from->kind == BANG_VALUE_DICT)
        return bang_pickle_extend(pickle, dict, from->list.items, from->list.count) < 0 ? NULL
                                                                                        : dict;
    for (size_t i = 0; i < from->list.count; i++) {
        const bang_value *pair = from->list.items[i];
        if ((pair->kind != BANG_VALUE_TUPLE && pair->kind != BANG_VALUE_LIST) ||
            pair->list.count != 2) {
            *why = "a dict is not made of pairs";
            return NULL;
        }
        if (bang_pickle_extend(pickle, dict, pair->list.items, 2) < 0)
            return NULL;
    }
    return dict;
}

static bang_value *make_set(bang_pickle *pickle, const bang_value *arguments, const char **why)
{
    bang_value *set = bang_pickle_value(pickle, BANG_VALUE_SET);
    const bang_value *from = argument(arguments, 0);
    if (!set || !(is_kind(from, BANG_VALUE_LIST) || is_kind(from, BANG_VALUE_TUPLE)))
        return set;
    if (charge(pickle, from->list.count, why) < 0)
        return NULL;
    return bang_pickle_extend(pickle, set, from->list.items, from->list.count) < 0 ? NULL : set;
}

static bang_value *make_object(bang_pickle *pickle, bang_value_kind kind, const bang_value *class)
{
    bang_value *object = bang_pickle_value(pickle, kind);
    if (object)
        object->object.class = class;
    return object;
}

/* Two callees are one if they have the same name. */
static int same_callee(const bang_value *a, const bang_value *b)
{
    if (a->kind != BANG_VALUE_GLOBAL || b->kind != BANG_VALUE_GLOBAL)
        return a->kind != BANG_VALUE_GLOBAL && b->kind != BANG_VALUE_GLOBAL;
    return a->global.module_size == b->global.module_size &&
           a->global.name_size == b->global.name_size &&
           memcmp(a->global.module, b->global.module, a->global.module_size) == 0 &&
           memcmp(a->global.name, b->global.name, a->global.name_size) == 0;
}

static bang_value *make_unknown(bang_pickle *pickle, const bang_value *callee)
{
    size_t kept = pickle->call_count < BANG_PICKLE_CALLS ? pickle->call_count : BANG_PICKLE_CALLS;
    int is_new = 1;
    for (size_t i = 0; is_new && i < kept; i++)
        is_new = !same_callee(pickle->calls[i], callee);
    if (is_new && kept < BANG_PICKLE_CALLS)
        pickle->calls[kept] = callee;
    pickle->call_count += (size_t)is_new;
    return make_object(pickle, BANG_VALUE_CALL, callee);
}

/* A tensor of a class of its own: (function, type, arguments, state). */
static bang_value *make_subclass(bang_pickle *pickle, const bang_value *callee,
                                 bang_value *arguments, const char **why)
{
    const bang_value *function = argument(arguments, 0);
    bang_value *inner = argument(arguments, 2);
    enum action action = function ? action_of(function) : UNKNOWN;
    if (!is_kind(inner, BANG_VALUE_TUPLE))
        return make_unknown(pickle, callee);
    if (action == TENSOR || action == TYPED)
        return make_tensor(pickle, inner, action == TYPED, why);
    return make_unknown(pickle, function);
}

bang_value *bang_pickle_instance(bang_pickle *pickle, const bang_value *class,
                                 bang_value *arguments, const char **why)
{
    enum action action = action_of(class);
    if (action == DICT)
        return make_dict(pickle, arguments, why);
    if (action == SET)
        return make_set(pickle, arguments, why);
    return make_object(pickle, BANG_VALUE_OBJECT, class);
}

bang_value *bang_pickle_call(bang_pickle *pickle, const bang_value *callee, bang_value *arguments,
                             const char **why)
{
    bang_value *first = argument(arguments, 0);
    enum action action = action_of(callee);
    switch (action) {
    case TENSOR:
    case TYPED:
        return make_tensor(pickle, arguments, action == TYPED, why);
    case PARAMETER:
        return is_kind(first, BANG_VALUE_TENSOR) ? first : make_unknown(pickle, callee);
    case SUBCLASS:
        return make_subclass(pickle, callee, arguments, why);
    case DICT:
        return make_dict(pickle, arguments, why);
    case SET:
        return make_set(pickle, arguments, why);
    case SAME:
        return first ? first : arguments;
    case INSTANCE:
        return first ? make_object(pickle, BANG_VALUE_OBJECT, first) : make_unknown(pickle, callee);
    case DATA:
        return make_object(pickle, BANG_VALUE_OBJECT, callee);
    default:
        return make_unknown(pickle, callee);
    }
}

bang_value *bang_pickle_persistent(bang_pickle *pickle, const bang_value *id, const char **why)
{
    *why = "a persistent id is none of PyTorch's";
    if (id->kind != BANG_VALUE_TUPLE)
        return NULL;
    bang_value *class = argument(id, 1);
    const bang_value *view = argument(id, 5);
    /* Before 1.6 the class of a network came with its source text. */
    if (bang_value_is_text(argument(id, 0), "module") && is_kind(class, BANG_VALUE_GLOBAL)) {
        *why = NULL;
        return class;
    }
    if (!bang_value_is_text(argument(id, 0), "storage") || !is_kind(class, BANG_VALUE_GLOBAL) ||
        !is_kind(argument(id, 2), BANG_VALUE_TEXT) || argument(id, 2)->text.size > KEY_MOST ||
        !is_kind(argument(id, 4), BANG_VALUE_INT) || argument(id, 4)->integer < 0)
        return NULL;
    *why = NULL;
    bang_value *storage = bang_pickle_value(pickle, BANG_VALUE_STORAGE);
    if (!storage)
        return NULL;
    storage->storage.type = class;
    storage->storage.key = argument(id, 2);
    storage->storage.count = argument(id, 4)->integer;
    storage->storage.view = view && view->kind != BANG_VALUE_NONE ? view : NULL;
    return bang_pickle_extend(pickle, &pickle->storages, &storage, 1) < 0 ? NULL : storage;
}
