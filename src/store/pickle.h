/* Python's pickles as data: a tree of plain values. No code is ever run; a call
 * that is not known to make a tensor or a container stays a value that remembers
 * what was to be called. Private to this room.
 *
 *     bang_pickle pickle;
 *     bang_pickle_parse(&pickle, bytes, size, "model.pt", &err);   // bytes must stay
 *     if (pickle.root->kind == BANG_VALUE_DICT) ...
 *     bang_pickle_release(&pickle);
 *
 * Containers may hold themselves and each other any number of times: whoever
 * walks the tree counts his steps.
 */
#ifndef BANG_STORE_PICKLE_H
#define BANG_STORE_PICKLE_H

#include "bang/base/arena.h"
#include "store/bytes.h"

typedef enum bang_value_kind {
    BANG_VALUE_NONE,
    BANG_VALUE_BOOL,    /* integer: 0 or 1 */
    BANG_VALUE_INT,     /* integer */
    BANG_VALUE_BIG,     /* text: the bytes of an integer of more than 64 bits, if known */
    BANG_VALUE_FLOAT,   /* number */
    BANG_VALUE_TEXT,    /* text: in UTF-8 unless the file lies */
    BANG_VALUE_BYTES,   /* text */
    BANG_VALUE_TUPLE,   /* list */
    BANG_VALUE_LIST,    /* list */
    BANG_VALUE_SET,     /* list */
    BANG_VALUE_DICT,    /* list: key, value, key, value, ... */
    BANG_VALUE_GLOBAL,  /* global: a class or a function by its name */
    BANG_VALUE_STORAGE, /* storage */
    BANG_VALUE_TENSOR,  /* tensor */
    BANG_VALUE_OBJECT,  /* object: an instance of any class as its state */
    BANG_VALUE_CALL,    /* object: what an unknown call would have returned */
} bang_value_kind;

typedef struct bang_value bang_value;
struct bang_value {
    bang_value_kind kind;
    /* For whoever walks the tree: */
    signed char busy;      /* on the way to here */
    signed char is_module; /* of a DICT: it is a module's state: 1, it is not: -1, 0: not known */
    union {
        int64_t integer;
        double number;
        struct {
            const char *bytes; /* not terminated */
            size_t size;
        } text;
        struct {
            bang_value **items;
            size_t count, capacity;
        } list;
        struct {
            const char *module, *name; /* not terminated */
            uint32_t module_size, name_size;
        } global;
        struct {
            const bang_value *type; /* a GLOBAL: torch.FloatStorage */
            const bang_value *key;  /* TEXT */
            const bang_value *view; /* (key, offset, count) of old files, or NULL */
            int64_t count;          /* of numbers */
        } storage;
        struct {
            const bang_value *storage;
            const bang_value *geometry; /* TUPLE: the arguments of the call that made it */
            const bang_value *dtype;    /* a GLOBAL: torch.float8_e5m2, or NULL: the storage's */
        } tensor;
        struct {
            const bang_value *class; /* what it is an instance of, or what was to be called */
            bang_value *state;       /* what was to become its attributes, or NULL */
            bang_value *items;       /* DICT or LIST of what was put into it, or NULL */
        } object;
    };
};

enum {
    BANG_PICKLE_MOST = 100000000,        /* bytes */
    BANG_PICKLE_UNPACKED_MOST = 8000000, /* bytes of a deflated one; PyTorch deflates none */
    BANG_PICKLE_VALUES_MOST = 1 << 22,   /* values, and places on the stack and in the memo */
    BANG_PICKLE_ITEMS_MOST = 1 << 23,    /* items of all containers together */
    BANG_PICKLE_CALLS = 8,
};

typedef struct bang_pickle {
    bang_value *root;
    size_t used;                                /* bytes, with the one that ends it */
    int is_cut;                                 /* it failed because the bytes ended */
    int is_full;                                /* it failed because it makes too much */
    size_t values;                              /* how many were made */
    size_t items;                               /* how many were put into containers */
    size_t call_count;                          /* of different unknown calls; the first: */
    const bang_value *calls[BANG_PICKLE_CALLS]; /* GLOBALs, or other values that were called */
    bang_value storages;                        /* list: every STORAGE, as often as it occurs */
    /* Private: */
    bang_arena arena;
    char *room;
    size_t left;
    size_t copied; /* items taken over from one container into another */
    size_t size;
} bang_pickle;

/* The caller releases it, also after a failure. */
int bang_pickle_parse(bang_pickle *out, const void *data, size_t size, const char *name,
                      bang_error *err);
void bang_pickle_release(bang_pickle *pickle);

/* 1 if value is the GLOBAL of that dotted name. */
int bang_value_is_global(const bang_value *value, const char *name);
/* 1 if value is that TEXT. */
int bang_value_is_text(const bang_value *value, const char *text);
/* A GLOBAL's dotted name for a message. */
const char *bang_value_show(char out[BANG_SHOWN], const bang_value *value);
/* The value of that key of a DICT, or NULL; the last where there are several. */
bang_value *bang_value_get(const bang_value *dict, const char *key);
/* The attributes of an OBJECT or a CALL as a DICT, or NULL. */
bang_value *bang_value_state(const bang_value *object);

/* For the parts of the unpickler. NULL when memory is out or there are too many values. */
void *bang_pickle_room(bang_pickle *pickle, size_t count, size_t size);
bang_value *bang_pickle_value(bang_pickle *pickle, bang_value_kind kind);
/* Adds count items; -1 when memory is out or there are too many. */
int bang_pickle_extend(bang_pickle *pickle, bang_value *list, bang_value *const *items,
                       size_t count);
/* What calling callee with arguments (a TUPLE) gives. *why: NULL, or what is wrong
 * with the arguments; NULL without *why when memory is out. */
bang_value *bang_pickle_call(bang_pickle *pickle, const bang_value *callee, bang_value *arguments,
                             const char **why);
/* An instance of class, not initialised. */
bang_value *bang_pickle_instance(bang_pickle *pickle, const bang_value *class,
                                 bang_value *arguments, const char **why);
/* What a persistent id of PyTorch stands for. */
bang_value *bang_pickle_persistent(bang_pickle *pickle, const bang_value *id, const char **why);

#endif
