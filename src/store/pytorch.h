/* From the values of a pickle to the tensors of a checkpoint. Private to this room. */
#ifndef BANG_STORE_PYTORCH_H
#define BANG_STORE_PYTORCH_H

#include "store/checkpoint.h"
#include "store/pickle.h"

/* Tensors by name, in the order of the pickle. */
typedef struct bang_torch_list {
    size_t count, capacity;
    struct bang_torch_item {
        const char *name; /* terminated, in the pickle's memory */
        const bang_value *tensor;
    } * items;
} bang_torch_list;

/* Which values of the pickle are tensors of a model, and their names. Notes of
 * c say what was left out. The caller frees out->items, also after a failure. */
int bang_torch_collect(bang_torch_list *out, bang_checkpoint *c, size_t file, bang_pickle *pickle,
                       bang_error *err);

/* Where a storage lies. */
typedef struct bang_torch_place {
    size_t file;
    uint64_t offset, bytes;
} bang_torch_place;

/* Finds the storage of that key, whose numbers have size bytes each. */
typedef int bang_torch_find(bang_torch_place *out, void *context, const bang_value *key,
                            size_t size, bang_error *err);

/* Adds what was collected, in that order: storages may lie in any. */
int bang_torch_add(bang_checkpoint *c, const bang_torch_list *list, const char *name,
                   bang_torch_find *find, void *context, int swapped, bang_error *err);

/* The number type of torch.FloatStorage or torch.float32; *is_untyped for a
 * storage of bytes. -1: not known. */
int bang_torch_dtype(bang_dtype *out, int *is_untyped, const bang_value *global);

#endif
