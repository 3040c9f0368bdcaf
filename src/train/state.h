/* The file of a training that can be resumed: safetensors, a tensor per item, and
 * in the metadata under "bang.state" a JSON object of all that must be the same when
 * it is gone on with. Private to this room. */
#ifndef BANG_TRAIN_STATE_PRIVATE_H
#define BANG_TRAIN_STATE_PRIVATE_H

#include "bang/base/json.h"
#include "bang/base/rank.h"
#include "bang/base/text.h"
#include "bang/tensor/array.h"
#include "bang/train/train.h"

enum { TRAIN_ITEMS_MOST = 10 };

typedef struct train_saver {
    const bang_train_state *how;
    bang_ranks *ranks; /* of which rank 0 reads and writes */
    json_t *about;     /* owned */
    struct {
        const char *name;
        bang_dtype dtype;
        size_t count;
        void *data;
    } items[TRAIN_ITEMS_MOST]; /* borrowed memory, written and read in place */
    size_t count;
    double last;    /* clock at the last write */
    uint64_t saved; /* step of the file, 0: none */
} train_saver;

/* how has a path. Takes about over, also on failure; NULL is out of memory. */
int train_saver_init(train_saver *out, const bang_train_state *how, bang_ranks *ranks,
                     json_t *about, bang_error *err);
void train_saver_release(train_saver *saver);
void train_saver_add(train_saver *saver, const char *name, bang_dtype dtype, size_t count,
                     void *data);

/* Fills the items from the file, on all ranks. 1; 0 if it is not there or not to be resumed. Fails
 * too where the disk has no room for what is to be written. */
int train_saver_load(train_saver *saver, bang_error *err);
/* What a file of ours never holds is damage; step is what was loaded, sound what else the caller
 * has looked at. */
int train_saver_accept(const train_saver *saver, uint64_t step, uint64_t steps, int sound,
                       bang_error *err);
/* 1 when it is time to write. */
int train_saver_is_due(const train_saver *saver);
int train_saver_save(train_saver *saver, uint64_t step, bang_error *err);
/* The same in the middle of the work, which a full disk need not end: see how->missed. */
int train_saver_try(train_saver *saver, uint64_t step, bang_error *err);

/* The options that a result depends on, by name; a new reference or NULL. */
json_t *train_about(const bang_train_options *options);
/* Does text, the metadata of a state or NULL, say the same as about? Where one of the two is of
 * several ranks, their number and that of their threads may differ. path is for messages. */
int train_about_accept(const json_t *about, const char *text, const char *path, bang_error *err);
/* Adds a digest of bytes; -1 with err. */
int train_about_bytes(json_t *about, const char *key, const void *data, size_t size,
                      bang_error *err);

/* The same for a perceptron and its data; start (start_size bytes) is where it begins. */
int train_about_mlp(json_t **out, const bang_mlp *shape, const bang_rows *rows,
                    const int64_t *labels, const bang_train_options *options, const void *start,
                    size_t start_size, bang_error *err);

#endif
