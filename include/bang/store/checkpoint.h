/* A checkpoint of any format: what tensors it has and where their bytes lie.
 * Only headers are held in memory, whatever the size of the model.
 *
 *     bang_checkpoint *model;
 *     bang_checkpoint_open(&model, "model.safetensors", &err);
 *     const bang_entry *weight = bang_checkpoint_find(model, "head.weight");
 *     bang_checkpoint_read(model, weight, 0, numbers, weight->bytes, &err);
 *     bang_checkpoint_close(model);
 *
 * Formats: safetensors, one file or an index (model.safetensors.index.json) with
 * its shards; PyTorch's .pt, .pth, .bin (zip, or as torch.save wrote before
 * 1.6), also with an index; .npz; .npy. They are told apart by their content.
 */
#ifndef BANG_STORE_CHECKPOINT_H
#define BANG_STORE_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/json.h"
#include "bang/tensor/array.h"

/* One tensor. All memory belongs to the checkpoint. */
typedef struct bang_entry {
    const char *name;
    bang_dtype dtype;
    int rank;
    const size_t *shape; /* (rank) */
    uint64_t bytes;      /* product of the shape times the bits of a number, / 8 */
    size_t file;         /* which of the checkpoint's files holds it */
    uint64_t offset;     /* of its first number in that file */
    /* How the bytes lie there. Plain (NULL, 0): one after the other in C order,
     * little-endian, so that a reader may take them from the file itself. */
    const ptrdiff_t *strides; /* (rank) steps in numbers; NULL: C order without gaps */
    int swapped;              /* big-endian */
} bang_entry;

typedef struct bang_checkpoint_file {
    char *path;               /* to open; for a compressed member of a zip NULL */
    char *name;               /* what messages and recipes call it: without folders */
    uint64_t size;            /* bytes; of a compressed member when unpacked */
    char header_digest[65];   /* SHA-256 of the JSON, the pickle or the .npy header; or "" */
    struct bang_input *input; /* private to the room */
} bang_checkpoint_file;

typedef struct bang_checkpoint {
    char *path;         /* as the caller said it */
    const char *format; /* "safetensors", "safetensors-sharded", "pytorch", "pytorch-legacy",
                         * "pytorch-sharded", "npz", "npy" */
    int is_folder;      /* path names a folder */
    char *index;        /* path of the index that names the files, or NULL */
    size_t count;
    bang_entry *entries; /* (count) in the order of the data; PyTorch's as in the state_dict */
    size_t file_count;
    bang_checkpoint_file *files; /* (file_count) */
    json_t *metadata;            /* object of strings, or NULL */
    json_t *notes; /* list of strings: what was left out or renamed while reading; or NULL */
    struct bang_checkpoint_state *state; /* private to the room */
} bang_checkpoint;

/* path names a file, an index, or a folder that holds one. The caller closes it. */
int bang_checkpoint_open(bang_checkpoint **out, const char *path, bang_error *err);
/* The same from the bytes of one file, which must stay; name is for messages. */
int bang_checkpoint_parse(bang_checkpoint **out, const void *data, size_t size, const char *name,
                          bang_error *err);
void bang_checkpoint_close(bang_checkpoint *checkpoint);

/* Borrowed, or NULL. */
const bang_entry *bang_checkpoint_find(const bang_checkpoint *checkpoint, const char *name);

/* size bytes from offset on of the tensor as it would lie in a safetensors file
 * (C order, little-endian). May be called from several threads. */
int bang_checkpoint_read(const bang_checkpoint *checkpoint, const bang_entry *entry,
                         uint64_t offset, void *out, size_t size, bang_error *err);

/* 1 if the bytes can be taken from the file as they are. */
int bang_entry_is_plain(const bang_entry *entry);
/* How many numbers; where numbers share bytes, how many bytes. */
uint64_t bang_entry_count(const bang_entry *entry);
/* Bytes of what bang_entry_count counts. */
size_t bang_entry_step(const bang_entry *entry);

int bang_entry_same_shape(const bang_entry *a, const bang_entry *b);
/* "(10, 42)", "(7,)" or "()" into out, cut to size. */
void bang_entry_shape_text(char *out, size_t size, const bang_entry *entry);

/* Other ways to see a tensor of this checkpoint, which owns what is returned;
 * NULL when memory is out or the tensor has no such view (err says).
 * transposed: of rank 2. rows: shape[0] cut to first .. first+count-1. */
const bang_entry *bang_checkpoint_transposed(bang_checkpoint *checkpoint, const bang_entry *entry,
                                             bang_error *err);
const bang_entry *bang_checkpoint_rows(bang_checkpoint *checkpoint, const bang_entry *entry,
                                       size_t first, size_t count, bang_error *err);

#endif
