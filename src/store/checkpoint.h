/* How the formats fill a checkpoint. Private to this room. */
#ifndef BANG_STORE_CHECKPOINT_PRIVATE_H
#define BANG_STORE_CHECKPOINT_PRIVATE_H

#include <pthread.h>

#include "bang/base/arena.h"
#include "bang/store/checkpoint.h"
#include "store/bytes.h"

/* A member of a zip that is compressed: unpacked to an unnamed temporary file
 * when it is first read, so that any part of it can be read and memory stays small. */
typedef struct bang_packed {
    size_t file;     /* of the checkpoint: the zip */
    uint64_t offset; /* of the compressed bytes */
    uint64_t size;   /* of the compressed bytes; unpacked it is the file's size */
    uint32_t crc;    /* of the unpacked bytes */
} bang_packed;

/* The bytes of one file. */
typedef struct bang_input {
    bang_source source; /* not open while a packed member was not read */
    int direct;         /* the same file opened with O_DIRECT, or -1 */
    int is_packed;
    bang_packed packed;
    pthread_mutex_t lock; /* held while it is unpacked */
} bang_input;

typedef struct bang_checkpoint_state {
    bang_arena arena; /* names, shapes, strides */
    size_t capacity;
    size_t *order;            /* (count) entries by name, once complete */
    struct bang_pages *pages; /* cache for tensors that are not plain */
    pthread_mutex_t lock;     /* over pages */
} bang_checkpoint_state;

/* An empty one; the caller closes it. */
int bang_checkpoint_new(bang_checkpoint **out, const char *path, bang_error *err);
/* Once all tensors are there: makes them known by name, refuses a name that is there twice. */
int bang_checkpoint_complete(bang_checkpoint *c, bang_error *err);
/* Adds a file by its path, which is opened. Its number to *index. */
int bang_checkpoint_add_path(bang_checkpoint *c, size_t *index, const char *path, bang_error *err);
/* The same with what was opened already; source is taken over unless that fails. */
int bang_checkpoint_add_source(bang_checkpoint *c, size_t *index, const char *path,
                               bang_source *source, bang_error *err);
int bang_checkpoint_add_memory(bang_checkpoint *c, size_t *index, const void *data, size_t size,
                               const char *name, bang_error *err);
/* A member of a zip as a file of its own. */
int bang_checkpoint_add_packed(bang_checkpoint *c, size_t *index, const char *name, uint64_t size,
                               const bang_packed *packed, bang_error *err);
/* The source of a file that is not packed. */
const bang_source *bang_checkpoint_source(const bang_checkpoint *c, size_t file);
/* Copies name, shape and strides; computes bytes from shape and dtype and holds
 * what the tensor covers (also by strides) against the file's size. Names must
 * be new: bang_checkpoint_open checks that once all are there. */
int bang_checkpoint_add(bang_checkpoint *c, const bang_entry *given, bang_error *err);
int bang_checkpoint_note(bang_checkpoint *c, bang_error *err, const char *format, ...)
    BANG_PRINTF(3, 4);

/* The formats: each adds the tensors of one file, sets format, metadata, and the
 * file's header_digest. is_... look at the first bytes. */
int bang_open_safetensors(bang_checkpoint *c, size_t file, bang_error *err);
int bang_is_zip(const bang_source *source);
int bang_open_zip(bang_checkpoint *c, size_t file,
                  bang_error *err); /* .pt or .npz by its members */
int bang_is_legacy_pytorch(const bang_source *source);
int bang_open_legacy_pytorch(bang_checkpoint *c, size_t file, bang_error *err);
int bang_is_npy(const bang_source *source);
int bang_open_npy(bang_checkpoint *c, size_t file, bang_error *err); /* one tensor named "array" */

/* An index: names of tensors and of the files beside it that hold them. The
 * formats of the files are told by bang_open_file. */
int bang_open_index(bang_checkpoint *c, const bang_source *source, bang_error *err);
/* Adds the tensors of a file, whatever its format. */
int bang_open_file(bang_checkpoint *c, size_t file, bang_error *err);

/* Unpacks to an unnamed temporary file in $TMPDIR or /var/tmp and opens it as
 * *out; checks size and crc. */
int bang_inflate(bang_source *out, const bang_source *zip, const bang_packed *packed, uint64_t size,
                 bang_error *err);

#endif
