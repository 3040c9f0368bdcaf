/* Which values of a pickle are the tensors of a model: those of a state dict,
 * of one inside a training checkpoint, or of a pickled module. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "store/pytorch.h"

enum {
    DEPTH_MOST = 100,
    SHOWN_MOST = 8,       /* names that a note lists */
    STEPS_PER_VALUE = 16, /* containers may be shared, but not without end */
    BYTES_PER_BYTE = 16,  /* of names, for a byte of the pickle */
    BYTES_MOST = 1 << 27, /* of names */
};

struct walk {
    bang_torch_list *out;
    bang_pickle *pickle;
    const char *name; /* of the file */
    bang_text path;   /* to where it is now */
    bang_text left;   /* names of what is no tensor: "a, b" */
    size_t left_count;
    size_t steps, bytes; /* how many more are allowed */
    int depth;
    int attributes; /* objects are looked into: TorchScript */
    int nested;     /* names were joined */
    bang_error *err;
};

static int visit(struct walk *w, bang_value *value);

static int fail_endless(const struct walk *w)
{
    return bang_fail(w->err, BANG_EDATA, "%s: its containers hold each other without end: damaged",
                     w->name);
}

static void leave_out(struct walk *w)
{
    char shown[BANG_SHOWN];
    if (w->left_count++ < SHOWN_MOST)
        bang_text_add(&w->left, "%s%s", w->left.size > 0 ? ", " : "",
                      bang_bytes_show(shown, w->path.data ? w->path.data : ""));
}

/* Back to what the text was when it had size bytes. */
static void cut(bang_text *text, size_t size)
{
    if (text->data) {
        text->size = size;
        text->data[size] = '\0';
    }
}

/* Adds a key to the path; 1 if it cannot be part of a name. */
static int enter(struct walk *w, const bang_value *key)
{
    size_t size = key->kind == BANG_VALUE_TEXT ? key->text.size : 24;
    if (size >= w->bytes || w->steps == 0)
        return fail_endless(w);
    w->bytes -= size;
    w->steps--;
    if (w->path.size > 0)
        bang_text_add_bytes(&w->path, ".", 1);
    if (key->kind == BANG_VALUE_INT)
        bang_text_add(&w->path, "%lld", (long long)key->integer);
    else if (key->kind == BANG_VALUE_TEXT && !memchr(key->text.bytes, 0, size))
        bang_text_add_bytes(&w->path, key->text.bytes, size);
    else
        bang_text_add(&w->path, "(a key that is no text)");
    if (w->path.failed)
        return bang_fail_memory(w->err);
    return key->kind != BANG_VALUE_TEXT && key->kind != BANG_VALUE_INT;
}

static int add_tensor(struct walk *w, const bang_value *tensor)
{
    bang_torch_list *list = w->out;
    const char *path = w->path.data ? w->path.data : "";
    size_t size = strlen(path);
    if (size >= w->bytes)
        return fail_endless(w);
    w->bytes -= size;
    json_t *text = json_stringn(path, size);
    json_decref(text);
    if (!text)
        return bang_fail(w->err, BANG_EDATA, "%s: a tensor's name is no UTF-8", w->name);
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct bang_torch_item *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return bang_fail_memory(w->err);
        list->items = items;
        list->capacity = capacity;
    }
    char *name = bang_pickle_room(w->pickle, size + 1, 1);
    if (!name)
        return bang_fail_memory(w->err);
    memcpy(name, path, size + 1);
    list->items[list->count++] = (struct bang_torch_item){name, tensor};
    return 0;
}

/* All tensors of a dict. What has none is left out under its own name. */
static int visit_dict(struct walk *w, const bang_value *dict)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i + 1 < dict->list.count; i += 2) {
        size_t path = w->path.size, left = w->left.size, left_count = w->left_count;
        size_t count = w->out->count;
        code = enter(w, dict->list.items[i]);
        if (code == 0)
            code = visit(w, dict->list.items[i + 1]);
        if (code >= 0 && w->out->count == count) {
            code = 0;
            cut(&w->left, left);
            w->left_count = left_count;
            leave_out(w);
        }
        cut(&w->path, path);
    }
    return code;
}

/* The attribute of that name that a module keeps its parts in. */
static const bang_value *part(const bang_value *state, const char *name)
{
    const bang_value *dict = bang_value_get(state, name);
    return dict && dict->kind == BANG_VALUE_DICT ? dict : NULL;
}

/* Any number of objects may share a state: it is looked through once. */
static int is_module(const bang_value *value)
{
    bang_value *state = bang_value_state(value);
    if (state && state->is_module == 0)
        state->is_module = part(state, "_parameters") && part(state, "_modules") ? 1 : -1;
    return state && state->is_module > 0;
}

/* A buffer that the module's own state dict would not have: one of set, or NULL. */
static int is_passing(struct walk *w, const bang_value *set, const bang_value *key)
{
    if (!set || set->kind != BANG_VALUE_SET || key->kind != BANG_VALUE_TEXT)
        return 0;
    if (set->list.count >= w->steps)
        return fail_endless(w);
    w->steps -= set->list.count;
    for (size_t i = 0; i < set->list.count; i++) {
        const bang_value *item = set->list.items[i];
        if (item->kind == BANG_VALUE_TEXT && item->text.size == key->text.size &&
            memcmp(item->text.bytes, key->text.bytes, key->text.size) == 0)
            return 1;
    }
    return 0;
}

/* As the module's state_dict() names them. */
static int visit_module(struct walk *w, const bang_value *state)
{
    static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
    int code = 0;
    if (state->list.count >= w->steps) /* what looking for the parts costs */
        return fail_endless(w);
    w->steps -= state->list.count;
    const bang_value *passing_set = bang_value_get(state, "_non_persistent_buffers_set");
    for (int p = 0; p < 3; p++) {
        const bang_value *dict = part(state, parts[p]);
        for (size_t i = 0; dict && code == 0 && i + 1 < dict->list.count; i += 2) {
            bang_value *key = dict->list.items[i], *value = dict->list.items[i + 1];
            size_t path = w->path.size;
            int passing = p == 1 ? is_passing(w, passing_set, key) : 0;
            code = passing ? passing : enter(w, key);
            if (code == 0 && (value->kind == BANG_VALUE_TENSOR || is_module(value)))
                code = visit(w, value);
            code = code > 0 ? 0 : code;
            cut(&w->path, path);
        }
    }
    return code;
}

static int visit_inside(struct walk *w, const bang_value *value)
{
    const bang_value *state = bang_value_state(value);
    if (value->kind == BANG_VALUE_DICT) {
        w->nested = w->nested || w->path.size > 0;
        return visit_dict(w, value);
    }
    if (is_module(value))
        return visit_module(w, state);
    if (value->kind == BANG_VALUE_OBJECT && value->object.items &&
        value->object.items->kind == BANG_VALUE_DICT)
        return visit_dict(w, value->object.items);
    return w->attributes && state ? visit_dict(w, state) : 0;
}

static int visit(struct walk *w, bang_value *value)
{
    if (value->kind == BANG_VALUE_TENSOR)
        return add_tensor(w, value);
    if (value->busy || w->depth >= DEPTH_MOST) /* holds itself, or might as well */
        return 0;
    value->busy = 1;
    w->depth++;
    int code = visit_inside(w, value);
    w->depth--;
    value->busy = 0;
    return code;
}

/* Leaves out everything of dict but the value of one key. */
static int leave_others(struct walk *w, const bang_value *dict, const bang_value *taken)
{
    for (size_t i = 0; i + 1 < dict->list.count; i += 2) {
        if (dict->list.items[i + 1] == taken)
            continue;
        size_t path = w->path.size;
        int code = enter(w, dict->list.items[i]);
        if (code < 0)
            return code;
        leave_out(w);
        cut(&w->path, path);
    }
    return 0;
}

/* The state dict of a training checkpoint stands under one of these keys. */
static int collect_dict(struct walk *w, bang_checkpoint *c, bang_value *dict)
{
    static const char *const usual[] = {"state_dict", "model_state_dict", "model", "module",
                                        "net",        "params_ema",       "params"};
    for (size_t i = 0; w->depth < 4 && i < sizeof usual / sizeof *usual; i++) {
        bang_value *value = bang_value_get(dict, usual[i]);
        if (!value || (value->kind != BANG_VALUE_DICT && !is_module(value)))
            continue;
        w->depth++;
        int code = value->kind == BANG_VALUE_DICT ? collect_dict(w, c, value) : visit(w, value);
        w->depth--;
        if (code == 0 && w->out->count > 0) {
            code = bang_checkpoint_note(c, w->err, "the tensors are those of \"%s\"", usual[i]);
            return code < 0 ? code : leave_others(w, dict, value);
        }
        if (code < 0)
            return code;
        cut(&w->left, 0);
        w->left_count = 0;
        w->nested = 0;
    }
    return visit(w, dict);
}

static int collect(struct walk *w, bang_checkpoint *c, bang_value *root)
{
    if (root->kind == BANG_VALUE_TENSOR) {
        bang_text_add(&w->path, "tensor");
        return w->path.failed ? bang_fail_memory(w->err) : add_tensor(w, root);
    }
    if (root->kind == BANG_VALUE_DICT)
        return collect_dict(w, c, root);
    int module = is_module(root);
    if (root->kind == BANG_VALUE_OBJECT && root->object.items && !module)
        return root->object.items->kind == BANG_VALUE_DICT ? collect_dict(w, c, root->object.items)
                                                           : 0;
    w->attributes = !module;
    int code = visit(w, root);
    /* What else a module has is no part of its state dict either. */
    w->left_count = 0;
    w->nested = 0;
    return code;
}

/* "a.b, c.d" for messages. */
static void list_calls(bang_text *out, const bang_pickle *pickle)
{
    char shown[BANG_SHOWN];
    for (size_t i = 0; i < pickle->call_count && i < BANG_PICKLE_CALLS; i++)
        bang_text_add(out, "%s%s", i > 0 ? ", " : "", bang_value_show(shown, pickle->calls[i]));
    if (pickle->call_count > BANG_PICKLE_CALLS)
        bang_text_add(out, " and others");
}

/* Calls are never made. Beside a state dict they have no business; a pickled
 * module may have attributes that only they could make. */
static int judge_calls(bang_checkpoint *c, const bang_pickle *pickle, const char *name,
                       bang_error *err)
{
    bang_text calls = {0};
    if (pickle->call_count == 0)
        return 0;
    list_calls(&calls, pickle);
    int code = 0;
    if (calls.failed)
        code = bang_fail_memory(err);
    else if (is_module(pickle->root))
        code =
            bang_checkpoint_note(c, err, "calls in the pickle that were not made: %s", calls.data);
    else
        code = bang_fail(err, BANG_EDATA,
                         "%s: calls %s: only tensors and containers are read, nothing is run: save "
                         "a state_dict with torch.save(model.state_dict(), ...)",
                         name, calls.data);
    bang_text_release(&calls);
    return code;
}

/* Takes prefix off if all names have it; 1 if it did. */
static int strip(bang_torch_list *list, const char *prefix, bang_checkpoint *c, bang_error *err)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i].name, prefix, length) != 0 || !list->items[i].name[length])
            return 0;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].name += length;
    int code = bang_checkpoint_note(c, err, "prefix \"%s\" was taken off", prefix);
    return code < 0 ? code : 1;
}

/* What wrappers put before all names; the two occur in either order. */
static int strip_wrappers(bang_torch_list *list, bang_checkpoint *c, bang_error *err)
{
    int distributed = strip(list, "module.", c, err);
    int compiled = distributed < 0 ? distributed : strip(list, "_orig_mod.", c, err);
    if (compiled > 0 && !distributed)
        compiled = strip(list, "module.", c, err);
    return compiled < 0 ? compiled : 0;
}

static int note(bang_checkpoint *c, const struct walk *w)
{
    int code = 0;
    if (w->nested)
        code = bang_checkpoint_note(c, w->err, "names of nested dicts were joined with dots");
    if (code == 0 && w->left_count > SHOWN_MOST)
        code = bang_checkpoint_note(c, w->err, "left out: %s and %zu more", w->left.data,
                                    w->left_count - SHOWN_MOST);
    else if (code == 0 && w->left_count > 0)
        code = bang_checkpoint_note(c, w->err, "left out: %s", w->left.data ? w->left.data : "");
    return code;
}

int bang_torch_collect(bang_torch_list *out, bang_checkpoint *c, size_t file, bang_pickle *pickle,
                       bang_error *err)
{
    const char *name = bang_checkpoint_source(c, file)->name;
    size_t bytes = BYTES_PER_BYTE * pickle->used + 65536;
    *out = (bang_torch_list){0};
    struct walk w = {.out = out,
                     .pickle = pickle,
                     .name = name,
                     .steps = STEPS_PER_VALUE * pickle->values + 1024,
                     .bytes = bytes < BYTES_MOST ? bytes : BYTES_MOST,
                     .err = err};
    int code = judge_calls(c, pickle, name, err);
    if (code == 0)
        code = collect(&w, c, pickle->root);
    if (code == 0 && out->count == 0)
        code = bang_fail(err, BANG_EDATA,
                         "%s: holds no tensors by name: save a state_dict with "
                         "torch.save(model.state_dict(), ...)",
                         name);
    if (code == 0 && (w.left.failed || w.path.failed))
        code = bang_fail_memory(err);
    if (code == 0)
        code = note(c, &w);
    if (code == 0)
        code = strip_wrappers(out, c, err);
    bang_text_release(&w.path);
    bang_text_release(&w.left);
    return code;
}
