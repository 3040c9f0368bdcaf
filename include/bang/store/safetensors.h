/* safetensors: a little-endian u64 N, N bytes of JSON, then the data.
 *
 *     {"__metadata__": {"key": "text"},
 *      "0.weight": {"dtype": "F32", "shape": [64, 784], "data_offsets": [0, 200704]}, ...}
 *
 * Offsets count from the end of the JSON; sorted, they cover the rest of the
 * file without hole or overlap. Files are written as the reference writer
 * does: tensors by number type, then by name, JSON without spaces and padded
 * to a multiple of 8.
 *
 *     bang_tensors model = {0};
 *     bang_safetensors_read(&model, path, &err);
 *     const bang_array *weight = bang_tensors_find(&model, "0.weight");
 *     bang_tensors_release(&model);
 */
#ifndef BANG_STORE_SAFETENSORS_H
#define BANG_STORE_SAFETENSORS_H

#include "bang/base/json.h"
#include "bang/tensor/array.h"

typedef struct bang_tensor {
    char *name;
    bang_array array;
} bang_tensor;

/* Named tensors; one that is zeroed is empty. */
typedef struct bang_tensors {
    size_t count, capacity;
    bang_tensor *items; /* (count) */
    json_t *metadata;   /* object of strings, or NULL */
} bang_tensors;

/* Takes the array over (it is zeroed) when 0 is returned; a name that is there
 * already is an error. */
int bang_tensors_add(bang_tensors *tensors, const char *name, bang_array *array, bang_error *err);
/* Borrowed, or NULL. */
const bang_array *bang_tensors_find(const bang_tensors *tensors, const char *name);
int bang_tensors_set_metadata(bang_tensors *tensors, const char *key, const char *value,
                              bang_error *err);
/* Borrowed, or NULL. */
const char *bang_tensors_metadata(const bang_tensors *tensors, const char *key);
void bang_tensors_release(bang_tensors *tensors);

/* The caller releases what is read, in the order of the data. A number type that
 * bang_dtype does not know is an error that names the tensor. */
int bang_safetensors_read(bang_tensors *out, const char *path, bang_error *err);
/* The same from memory; name is for messages. */
int bang_safetensors_parse(bang_tensors *out, const void *data, size_t size, const char *name,
                           bang_error *err);
/* Metadata by key. */
int bang_safetensors_write(const char *path, const bang_tensors *tensors, bang_error *err);

#endif
