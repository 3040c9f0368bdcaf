/* From the places of a CLIP to tensors in another layout. */
#include "model/conversion.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/problems.h"

static const char ids_key[] = "bang.position_ids", prefix_key[] = "bang.text_prefix";
static const char *const ids_names[CLIP_TOWERS] = {"vision", "text"};

void bang_conversion_problem(planning *p, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    bang_text_add(&p->problems, "%s\n", line);
    p->problem_count++;
}

void bang_conversion_note(planning *p, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    json_array_append_new(p->plan->notes, json_string(line));
}

static bang_conversion_tensor *add_tensor(planning *p, const char *name)
{
    bang_conversion *plan = p->plan;
    size_t size = strlen(name) + 1;
    char *copy = bang_arena_alloc(&plan->state->arena, size, 1);
    if (!copy)
        return NULL;
    bang_conversion_tensor *tensor = &plan->tensors[plan->count++];
    tensor->name = memcpy(copy, name, size);
    return tensor;
}

static int add_whole(planning *p, const char *name, const bang_entry *entry, bang_error *err)
{
    bang_conversion_tensor *tensor = entry ? add_tensor(p, name) : NULL;
    if (!entry) /* a view that could not be had: err says why */
        return err->code ? err->code : bang_fail_memory(err);
    if (!tensor)
        return bang_fail_memory(err);
    tensor->dtype = entry->dtype;
    tensor->rank = entry->rank;
    tensor->shape = entry->shape;
    tensor->part_count = 1;
    tensor->parts[0] = entry;
    return 0;
}

/* q, k, v one below the other. */
static int add_joined(planning *p, const char *name, const clip_sources *sources, bang_error *err)
{
    const bang_entry *first = sources->entries[0];
    size_t *shape = bang_arena_alloc(&p->plan->state->arena, (size_t)first->rank, sizeof *shape);
    int rc = shape ? add_whole(p, name, first, err) : bang_fail_memory(err);
    if (rc < 0)
        return rc;
    bang_conversion_tensor *tensor = &p->plan->tensors[p->plan->count - 1];
    memcpy(shape, first->shape, (size_t)first->rank * sizeof *shape);
    shape[0] *= 3;
    tensor->shape = shape;
    tensor->part_count = 3;
    memcpy((void *)tensor->parts, (const void *)sources->entries, sizeof tensor->parts);
    return 0;
}

static int add_place(planning *p, const clip_place *where, bang_error *err)
{
    const clip_slot *slot = bang_clip_slot(where);
    clip_sources *sources = bang_conversion_sources(p, where);
    clip_place place = *where;
    char name[200];
    int rc = 0, turn = p->from_hf != p->to_hf;
    if (sources->done)
        return 0;
    sources->done = 1;
    int is_text = !p->to_hf && place.tower == CLIP_TEXT;
    int prefixed = is_text && (p->add_prefix || (p->keep_prefix && sources->has_prefix));
    size_t before = (size_t)snprintf(name, sizeof name, "%s", prefixed ? bang_clip_text : "");
    int many = slot->form == CLIP_STACKED && p->to_hf ? 3 : 1;
    for (place.third = 0; rc == 0 && place.third < many; place.third++) {
        const bang_entry *entry = sources->entries[turn ? 0 : place.third];
        bang_clip_name(name + before, sizeof name - before, &place, p->to_hf);
        if (turn && slot->form == CLIP_STACKED && p->from_hf) {
            rc = add_joined(p, name, sources, err);
            continue;
        }
        if (turn && slot->form == CLIP_TURNED)
            entry = bang_checkpoint_transposed(p->checkpoint, entry, err);
        else if (turn && slot->form == CLIP_STACKED)
            entry = bang_checkpoint_rows(p->checkpoint, entry,
                                         entry->shape[0] / 3 * (size_t)place.third,
                                         entry->shape[0] / 3, err);
        rc = add_whole(p, name, entry, err);
    }
    return rc;
}

/* 0, 1, 2, ... as many as there are positions. */
static int add_ids(planning *p, int tower, bang_error *err)
{
    const bang_entry *entry = bang_conversion_positions(p, tower);
    if (!entry)
        return 0;
    bang_conversion_tensor *tensor = add_tensor(p, bang_clip_ids[tower]);
    size_t *shape = bang_arena_alloc(&p->plan->state->arena, 2, sizeof *shape);
    if (!tensor || !shape)
        return bang_fail_memory(err);
    shape[0] = 1;
    shape[1] = entry->shape[0];
    tensor->dtype = BANG_I64;
    tensor->rank = 2;
    tensor->shape = shape;
    bang_conversion_note(p, "%s: made again", tensor->name);
    return 0;
}

static int leave_metadata(planning *p, const char *key, const char *text, bang_error *err)
{
    if (!p->plan->metadata)
        p->plan->metadata = json_object();
    return json_object_set_new(p->plan->metadata, key, json_string(text)) < 0
               ? bang_fail_memory(err)
               : 0;
}

static void take_metadata(planning *p, const char *key)
{
    json_object_del(p->plan->metadata, key);
    if (json_object_size(p->plan->metadata) == 0) {
        json_decref(p->plan->metadata);
        p->plan->metadata = NULL;
    }
}

/* Away from open_clip's layout a note is left, on the way back it is taken. */
static int settle_prefix(planning *p, bang_error *err)
{
    const char *noted = json_string_value(json_object_get(p->plan->metadata, prefix_key));
    if (p->lost_prefix)
        return leave_metadata(p, prefix_key, bang_clip_text, err);
    if (noted && p->plan->to == BANG_LAYOUT_CLIP_OPEN_CLIP) {
        p->add_prefix = strcmp(noted, bang_clip_text) == 0;
        take_metadata(p, prefix_key);
    }
    return 0;
}

/* The same with position_ids, which only Hugging Face's layout has. */
static int settle_ids(planning *p, bang_error *err)
{
    const char *noted = json_string_value(json_object_get(p->plan->metadata, ids_key));
    char text[32] = "";
    if (p->to_hf && noted) {
        for (int t = 0; t < CLIP_TOWERS; t++)
            p->ids[t] = !p->from_hf && strstr(noted, ids_names[t]) != NULL;
        take_metadata(p, ids_key);
    }
    if (p->to_hf || !(p->ids[0] || p->ids[1]))
        return 0;
    for (int t = 0; t < CLIP_TOWERS; t++)
        if (p->ids[t])
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? "," : "",
                     ids_names[t]);
    return leave_metadata(p, ids_key, text, err);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* An extra may have the name that another tensor gets. */
static int find_twins(planning *p, bang_error *err)
{
    const bang_conversion *plan = p->plan;
    const char **names = calloc(plan->count + 1, sizeof *names);
    if (!names)
        return bang_fail_memory(err);
    for (size_t i = 0; i < plan->count; i++)
        names[i] = plan->tensors[i].name;
    qsort((void *)names, plan->count, sizeof *names, by_name);
    for (size_t i = 1; i < plan->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            bang_conversion_problem(p, "%.200s: two tensors would have that name", names[i]);
    free((void *)names);
    return 0;
}

static int emit(planning *p, bang_error *err)
{
    int rc = settle_prefix(p, err);
    for (size_t i = 0; rc == 0 && i < p->checkpoint->count; i++) {
        const clip_assigned *a = &p->assigned[i];
        const bang_entry *entry = &p->checkpoint->entries[i];
        if (a->role == CLIP_PLACED)
            rc = add_place(p, &a->place, err);
        else if (a->role != CLIP_DROPPED)
            rc = add_whole(p, a->role == CLIP_IDS ? bang_clip_ids[a->place.tower] : a->name, entry,
                           err);
    }
    if (rc == 0)
        rc = settle_ids(p, err);
    for (int t = 0; rc == 0 && p->to_hf && t < CLIP_TOWERS; t++)
        if (p->ids[t])
            rc = add_ids(p, t, err);
    return rc == 0 ? find_twins(p, err) : rc;
}

static int is_clip(bang_layout layout)
{
    return layout == BANG_LAYOUT_CLIP_HF || layout == BANG_LAYOUT_CLIP_OPENAI ||
           layout == BANG_LAYOUT_CLIP_OPEN_CLIP;
}

static int plan_layout(planning *p, bang_text *problems, bang_error *err)
{
    bang_conversion *plan = p->plan;
    if (!is_clip(plan->to))
        return bang_fail(err, BANG_EUSAGE,
                         "%s: nothing is converted to it: choose clip-hf, clip-openai or "
                         "clip-open_clip",
                         bang_layout_name(plan->to));
    if (!is_clip(plan->from))
        return bang_fail(err, BANG_EDATA, "%s: layout %s: only a CLIP can take another layout",
                         p->checkpoint->path, bang_layout_name(plan->from));
    int rc = bang_conversion_assign(p, err);
    if (rc == 0 && p->foreign && p->to_hf)
        bang_conversion_problem(p,
                                "%s...: an image tower that is no ViT: clip-hf has no names "
                                "for it",
                                p->foreign);
    if (rc == 0)
        bang_conversion_check(p);
    if (rc == 0 && p->problem_count == 0)
        rc = emit(p, err);
    if (rc == 0 && p->problem_count > 0)
        rc = bang_problems_fail(&p->problems, p->checkpoint->path, problems, err);
    bang_text_release(&p->problems);
    return rc;
}

int bang_conversion_plan(bang_conversion **out, bang_checkpoint *checkpoint, bang_layout to,
                         bang_text *problems, bang_error *err)
{
    bang_conversion *plan = calloc(1, sizeof *plan);
    bang_error why = {0};
    *out = NULL;
    if (!plan)
        return bang_fail_memory(err);
    plan->state = calloc(1, sizeof *plan->state);
    plan->notes = json_array();
    /* What save_file of transformers says of PyTorch's tensors, and its reader wants. */
    int torch = !checkpoint->metadata && strncmp(checkpoint->format, "pytorch", 7) == 0;
    plan->metadata = checkpoint->metadata ? json_copy(checkpoint->metadata)
                     : torch              ? json_pack("{ss}", "format", "pt")
                                          : NULL;
    plan->checkpoint = checkpoint;
    plan->from = bang_layout_guess(checkpoint);
    plan->to = to;
    int rc = plan->state && plan->notes && (plan->metadata || !(checkpoint->metadata || torch)) &&
                     checkpoint->count <= SIZE_MAX / 4
                 ? 0
                 : bang_fail_memory(&why);
    size_t most = 3 * checkpoint->count + CLIP_TOWERS;
    if (rc == 0)
        plan->tensors = bang_arena_alloc(&plan->state->arena, most, sizeof *plan->tensors);
    if (rc == 0 && !plan->tensors)
        rc = bang_fail_memory(&why);
    planning p = {.plan = plan,
                  .checkpoint = checkpoint,
                  .from_hf = plan->from == BANG_LAYOUT_CLIP_HF,
                  .to_hf = to == BANG_LAYOUT_CLIP_HF};
    if (rc == 0 && to != BANG_LAYOUT_UNKNOWN)
        rc = plan_layout(&p, problems, &why);
    for (size_t i = 0; rc == 0 && to == BANG_LAYOUT_UNKNOWN && i < checkpoint->count; i++)
        rc = add_whole(&p, checkpoint->entries[i].name, &checkpoint->entries[i], &why);
    if (rc < 0) {
        bang_conversion_free(plan);
        return bang_fail(err, rc, "%s", why.message);
    }
    *out = plan;
    return 0;
}

void bang_conversion_free(bang_conversion *plan)
{
    if (!plan)
        return;
    json_decref(plan->metadata);
    json_decref(plan->notes);
    if (plan->state)
        bang_arena_release(&plan->state->arena);
    free(plan->state);
    free(plan);
}
