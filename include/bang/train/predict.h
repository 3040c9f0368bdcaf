/* Vision transformers at work on a set of pictures, in its order, in memory that does
 * not grow with it.
 *
 *     bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
 *     bang_predictor *predictor;
 *     bang_predicted some;
 *     bang_predictor_open(&predictor, models, count, &images, &options, &err);
 *     while ((rc = bang_predictor_next(&some, predictor, &err)) > 0)
 *         ... some.outputs[0] (some.count, classes), some.labels, some.index ...
 *     bang_predictor_close(predictor);
 *
 * Each model reads the pictures at its own size and through its own mean and standard
 * deviation; models of one size share what was decoded. Pictures are prepared by the
 * feed's threads while those of the predictor compute. An output does not depend on the
 * number of threads, on batch or on piece.
 *
 * After the last piece the predictor stands at the beginning again: an evaluation during
 * training keeps one, with the pictures in the feed's cache, and takes a pass whenever it
 * likes. Parameters are looked at in every pass, so they may have changed between two.
 *
 * Ranks share the set out piece by piece: each computes a part of the next piece, and all get
 * the outputs of all, the same that one process would have.
 */
#ifndef BANG_TRAIN_PREDICT_H
#define BANG_TRAIN_PREDICT_H

#include "bang/base/progress.h"
#include "bang/base/rank.h"
#include "bang/data/feed.h"
#include "bang/model/vit_file.h"

typedef struct bang_predict_options {
    bang_feed_options feed; /* size and channels of its transform are the models' */
    size_t batch;           /* pictures prepared at once; 0: chosen by their size */
    size_t piece;           /* pictures a thread takes at once; 0: chosen by the model's size */
    int threads;            /* that compute; 0: all cores */
    int features;           /* outputs are the head's inputs */
    /* Borrowed, NULL for none: told of pictures that all models have read, by any thread. */
    const bang_progress *progress;
    bang_ranks *ranks; /* that share the set; NULL: this process alone. Borrowed */
} bang_predict_options;
#define BANG_PREDICT_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .feed = {.transform = BANG_TRANSFORM_INIT }                                                \
    }

/* Valid until the next call. */
typedef struct bang_predicted {
    size_t count; /* pictures of this piece, at least 1 */
    /* (models) of each (count, classes): logits, or with features (count, features) */
    const float *const *outputs;
    const int64_t *labels; /* (count) */
    const uint32_t *index; /* (count) which pictures of the set, ascending */
} bang_predicted;

typedef struct bang_predictor bang_predictor;

/* models, (count) of them, and images are borrowed and must outlive the predictor. Each
 * model has a head, unless features are asked for. The caller closes it. */
int bang_predictor_open(bang_predictor **out, const bang_vit_model *const *models, size_t count,
                        const bang_images *images, const bang_predict_options *options,
                        bang_error *err);
/* The most pictures that a piece has. */
size_t bang_predictor_batch(const bang_predictor *predictor);
/* The next piece: 1; at the end of the set 0; or a negative code, after which the predictor can
 * only be closed. Pictures that the feed leaves out are in no piece. */
int bang_predictor_next(bang_predicted *out, bang_predictor *predictor, bang_error *err);
/* How many different pictures were left out so far, and why the n-th was. */
size_t bang_predictor_bad_count(const bang_predictor *predictor);
const char *bang_predictor_bad(const bang_predictor *predictor, size_t n);
/* Memory held for pixels, activations and outputs, the feed's not counted. */
size_t bang_predictor_bytes(const bang_predictor *predictor);
/* NULL is allowed. */
void bang_predictor_close(bang_predictor *predictor);

#endif
