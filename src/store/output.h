/* Files that are being written. Private to this room. */
#ifndef BANG_STORE_OUTPUT_PRIVATE_H
#define BANG_STORE_OUTPUT_PRIVATE_H

#include "bang/base/file.h"
#include "bang/store/output.h"

/* Bytes that are no tensor's: headers, directories. */
typedef struct bang_span {
    uint64_t offset;
    bang_text bytes;
} bang_span;

typedef struct bang_output_file {
    char *path;
    uint64_t size;
    bang_span *spans; /* (span_count) by offset; what nobody fills is zero */
    size_t span_count;
    bang_file *file; /* while it is written */
    int direct;      /* its descriptor for O_DIRECT, or -1 */
} bang_output_file;

struct bang_output {
    char *path;
    int folder, made_folder;
    size_t kept;             /* of the path of a folder that was made: what was there before */
    bang_output_item *items; /* (item_count) the caller's */
    size_t item_count;
    bang_output_file *files; /* (file_count) */
    size_t file_count;
    char *index_path;      /* NULL without shards */
    bang_file *index_file; /* held from the beginning: two runs may differ in their shards */
    char *stale; /* the other form: an index beside a single file, or that beside shards */
    bang_text index;
    char **copies;          /* (copy_count) files to be put into the folder */
    bang_file **copy_files; /* (copy_count) the same while they are written, or NULL */
    size_t copy_count;
    /* A zip tells the check sum of each tensor, so its bytes must come in order:
     * the stream then calls bang_output_saw for each piece, and finish rewrites
     * the spans. */
    int in_order;
    uint32_t *sums; /* (item_count) */
    int (*finish)(bang_output *output, bang_error *err);
};

/* What makes old files a checkpoint: their index, and in a folder the single file. */
enum { BANG_OUTPUT_MARKS = 2 };
typedef struct bang_output_mark {
    char *path; /* NULL where there can be none */
    char *note; /* where it is kept, hidden, until what it stands for is gone */
    enum { BANG_MARK_STAYS, BANG_MARK_NOTED, BANG_MARK_MOVED } state;
} bang_output_mark;

/* Files of the checkpoint that the output takes the place of. */
typedef struct bang_output_old {
    char **paths; /* (count) to be removed at the commit, in this order; they may be missing */
    size_t count;
    size_t left; /* from here on they are of a checkpoint before that, whose run was killed */
    int clash;   /* the old index names a file that is written */
    bang_output_mark marks[BANG_OUTPUT_MARKS]; /* the index, the single file */
} bang_output_old;

/* The caller releases, also after a failure. */
int bang_output_find_old(bang_output_old *out, const bang_output *output, bang_error *err);
void bang_output_release_old(bang_output_old *old);

/* Removes the parts that a killed run may have left in the place of this output. */
void bang_output_sweep(const bang_output *output);

/* A new file at the end of the list; takes path over, frees it on failure. */
bang_output_file *bang_output_add_file(bang_output *output, char *path);
/* A new span at the end of file; its bytes are the caller's to fill. NULL: no memory. */
bang_span *bang_output_add_span(bang_output_file *file, uint64_t offset);
/* Writes all spans of a file again, after their bytes have changed. */
int bang_output_rewrite(bang_output_file *file, bang_error *err);
void bang_output_saw(bang_output *output, size_t item, const void *bytes, size_t size);

/* The other formats: one file each, items in the caller's order. */
int bang_output_plan_zip(bang_output *output, json_t *metadata, bang_error *err);
int bang_output_plan_npy(bang_output *output, bang_error *err);

/* Sorts items as the reference writer does, sets their offsets from the start of
 * the file, and adds length and JSON to out. Their bytes must be set. */
int bang_safetensors_header(bang_text *out, bang_output_item **items, size_t count,
                            json_t *metadata, const char *path, bang_error *err);

#endif
