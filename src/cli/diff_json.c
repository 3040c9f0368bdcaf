/* What bang diff found, as JSON. What is not defined is null. */
#include "diff.h"

static void add_change(json_t *object, const bang_change *change)
{
    json_object_set_new(object, "cosine", bang_json_number(change->cosine));
    json_object_set_new(object, "norm_ratio", bang_json_number(change->norm_ratio));
    json_object_set_new(object, "relative_change", bang_json_number(change->relative_change));
    json_object_set_new(object, "max_abs", bang_json_number(change->max_abs));
    json_object_set_new(object, "norm_a", bang_json_number(change->norm_a));
    json_object_set_new(object, "norm_b", bang_json_number(change->norm_b));
    json_object_set_new(object, "parameters", json_integer((json_int_t)change->count));
    json_object_set_new(object, "nan", json_integer((json_int_t)change->not_finite));
}

static json_t *shape_of(const bang_entry *entry)
{
    json_t *shape = json_array();
    for (int i = 0; i < entry->rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)entry->shape[i]));
    return shape;
}

static json_t *tensor_of(const diff_result *r, const bang_tensor_change *tensor)
{
    json_t *object = json_pack("{ss}", "name", tensor->a->name);
    add_change(object, &tensor->change);
    json_object_set_new(object, "equal", json_boolean(tensor->equal));
    json_object_set_new(object, "dtype", json_string(bang_dtype_name(tensor->a->dtype)));
    if (tensor->a->dtype != tensor->b->dtype)
        json_object_set_new(object, "dtype_b", json_string(bang_dtype_name(tensor->b->dtype)));
    json_object_set_new(object, "shape", shape_of(tensor->a));
    json_object_set_new(object, "layer", json_string(r->found.layers[tensor->layer].name));
    return object;
}

static json_t *names_of(const bang_entry *const *entries, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(entries[i]->name));
    return list;
}

static json_t *layers_of(const diff_result *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->found.layer_count; i++) {
        json_t *object = json_pack("{ss}", "name", r->layers[i]->name);
        add_change(object, &r->layers[i]->change);
        json_object_set_new(object, "tensors", json_integer((json_int_t)r->layers[i]->tensors));
        json_object_set_new(object, "equal", json_integer((json_int_t)r->layers[i]->equal));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *diff_json(const diff_result *r)
{
    const bang_difference *d = &r->found;
    json_t *tensors = json_array(), *different = json_array(), *total = json_object();
    for (size_t i = 0; i < d->count; i++)
        json_array_append_new(tensors, tensor_of(r, r->tensors[i]));
    for (size_t i = 0; i < d->different_count; i++)
        json_array_append_new(different, json_pack("{ss ss}", "name", d->different[i].a->name,
                                                   "why", d->different[i].why));
    add_change(total, &d->total);
    json_object_set_new(total, "tensors", json_integer((json_int_t)d->count));
    json_object_set_new(total, "equal", json_integer((json_int_t)d->equal));
    return json_pack("{so so so so so so}", "tensors", tensors, "only_a",
                     names_of(d->only_a, d->only_a_count), "only_b",
                     names_of(d->only_b, d->only_b_count), "different", different, "layers",
                     layers_of(r), "total", total);
}
