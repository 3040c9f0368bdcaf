/* A checkpoint to be written: where each tensor will lie is decided first, the
 * bytes come in any order, and the files appear whole or not at all.
 *
 *     bang_output *to;
 *     bang_output_plan(&to, "out.safetensors", items, count, &options, &err);  // touches no disk
 *     bang_output_begin(to, &err);          // part files, room reserved
 *     ... bang_stream_write fills them ...
 *     bang_output_commit(to, &err);
 *     bang_output_free(to);                 // without a commit nothing is left
 *
 * The name decides the format: .safetensors; .npz; .pt, .pth or .bin (zip, an
 * OrderedDict of tensors); .npy for a single tensor. NAME.safetensors.index.json
 * or a shard size gives shards NAME-00001-of-0000N.safetensors and the index; a
 * folder gets model.safetensors or shards of that name. What was there of an older
 * checkpoint of that name goes at the commit: shards that a replaced index names, and
 * in a folder the other form (model.safetensors, or the index and its shards).
 */
#ifndef BANG_STORE_OUTPUT_H
#define BANG_STORE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/json.h"
#include "bang/base/text.h"
#include "bang/store/checkpoint.h"
#include "bang/tensor/array.h"

typedef struct bang_output_item {
    const char *name; /* borrowed until the output is freed, as is shape */
    bang_dtype dtype;
    int rank;
    const size_t *shape; /* (rank) */
    /* Set by bang_output_plan: */
    uint64_t bytes;
    size_t file;     /* which file */
    uint64_t offset; /* of its first byte there */
} bang_output_item;

typedef struct bang_output_options {
    uint64_t shard_size; /* bytes of tensors a file may hold; 0: one file */
    int folder;          /* path is a folder, to be made if need be */
    json_t *metadata;    /* object of strings, or NULL; borrowed */
} bang_output_options;
#define BANG_OUTPUT_OPTIONS_INIT                                                                   \
    {                                                                                              \
        0, 0, NULL                                                                                 \
    }

typedef struct bang_output bang_output;

/* Fills in items, which stay in the caller's order. The caller frees the output. */
int bang_output_plan(bang_output **out, const char *path, bang_output_item *items, size_t count,
                     const bang_output_options *options, bang_error *err);
/* Bytes of all files together, and their paths (borrowed), that of an index last. */
uint64_t bang_output_bytes(const bang_output *output);
size_t bang_output_file_count(const bang_output *output);
const char *bang_output_file_path(const bang_output *output, size_t index);
/* What the commit would replace or remove of the files that c was read from, however
 * they are spelled or linked; NULL: nothing. Borrowed from either. */
const char *bang_output_overwrites(const bang_output *output, const bang_checkpoint *c);
/* Adds a line to problems for all that would keep outputs, (count), from being written:
 * an input, (input_count), in the way, no folder, no room on the disk. */
int bang_output_check(bang_text *problems, bang_output *const *outputs, size_t count,
                      const bang_checkpoint *const *inputs, size_t input_count, bang_error *err);
/* A file to be put beside the others at the commit (a config), copied from path;
 * only for a folder. */
int bang_output_copy(bang_output *output, const char *path, bang_error *err);
/* The output is a folder: it exists, its name ends with /, or the first input is
 * one and the name tells no format. */
int bang_output_is_folder(const char *path, const bang_checkpoint *first);
/* Adds the other files of the folder that c was read from (config, tokenizer),
 * if it was one. */
int bang_output_copy_others(bang_output *output, const bang_checkpoint *c, bang_error *err);
int bang_output_begin(bang_output *output, bang_error *err);
int bang_output_commit(bang_output *output, bang_error *err);
/* After outputs whose paths differ in a number, which stands where mark does in the last name of
 * pattern: removes the parts that killed runs have left of any such output, also of numbers that
 * were not written now. Those of runs that are alive stay. */
void bang_output_sweep_like(const char *pattern, const char *mark);
/* NULL is allowed. */
void bang_output_free(bang_output *output);

#endif
