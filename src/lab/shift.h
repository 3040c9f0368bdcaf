/* The lab: BANG end to end on shifted digits (section 4, appendices C.1, D.7, E.2, E.4-E.6, H).
 * A small ViT is pre-trained on a broad mixture (PM), fine-tuned in one domain in many ways (FM),
 * averaged with itself, and measured on that domain (ID) and five others (OOD).
 *
 * Work goes in three rounds, each a parallel loop whose tasks run on one thread, so that no
 * number depends on threads: pre-training (a task per seed), fine-tuning (per seed and method),
 * measuring (per seed and method). Models are kept in FOLDER/models/seed-S/NAME.safetensors with
 * the digest of what made them; a run that goes on takes those whose digest fits.
 *
 * A unit is one seed. Its record "lab/seed-S" holds (accuracies and the like are fractions, one
 * number per set in the order of "sets" unless said):
 *
 *     {"sets": ["ID", "V2", "R", "A", "S", "O"], "n": [..],
 *      "pre": MEMBER,
 *      "methods": {"vanilla": METHOD, "ls-10": .., "mixup-ls-10": .., "long-vanilla": ..},
 *      "contrasts": [{"a": "mixup-ls-10/avg", "b": "vanilla/avg", "only_a": [..], "only_b": [..]}],
 *      "curve": [{"rate", "steps", "schedule", "fine": [accuracy], "avg": [accuracy]}, ..],
 *      "fashion": {..}, "maps": MAPS}            curve, fashion and maps: where they are run
 *     MEMBER  {"accuracy": [..], "confidence": [..], "ece": [..], "nll": [..]}
 *     METHOD  {"fine": MEMBER, "avg": MEMBER, "ose": MEMBER,        avg, ose: alpha = 1/2
 *              "ose_probabilities": MEMBER, "fine_calibrated": MEMBER, "calibrated_ose": MEMBER,
 *              "temperature": {"pre", "fine"},                     fitted on ID validation
 *              "alphas": [0, .1, .. 1],
 *              "wse": [[accuracy per set] per alpha], "wse_confidence": [[..]],
 *              "ose_alphas": [[..]],                               the same of outputs
 *              "validation": [accuracy on ID validation per alpha],
 *              "exp1": [[accuracy per set] for alpha .2 .3 .4 .5],  head alone re-scaled
 *              "groups": [[TTT TTF TFT TFF FTT FTF FFT FFF] per set],
 *              "margin": {"pre": [[TT TF FT FF] per set], "fine": [[..]], "avg": [[..]]},
 *                                                                  null: an empty group
 *              "balance": {"confidence-id": {"alpha", "accuracy": [..]}, "confidence-ood": ..,
 *                          "layer-confidence-id": {"alphas": {layer: alpha}, "accuracy"},
 *                          "layer-confidence-ood": ..,        and with 1/(1 + sqrt(tau)):
 *                          "confidence-root-id", "confidence-root-ood"}}
 *     MAPS    {"n": [..], "gradcam": KIND, "hirescam": KIND, "png": base64 of a sheet}
 *     KIND    {"correlation": {"pre-fine": [..], "fine-other": .., "pre-avg": .., "fine-avg": ..},
 *              "effective": {"pre": [patches], "fine", "avg"},
 *              "ood": {"apart", "over_pre", "over_fine"}}   each [mean over OOD images, variance]
 *
 * Maps are of vanilla and of the true class, "png" of the first seed alone; other is
 * mixup-ls-10/fine. "apart" is correlation fine-other less pre-fine, "over_pre" and "over_fine" are
 * the average's effective patches less PM's and FM's, image by image.
 *
 * A member is named METHOD/fine, METHOD/avg, METHOD/ose, METHOD/calibrated_ose,
 * METHOD/confidence-ood, ... or "pre"; METHOD/exp1 and METHOD/exp2 (all weights at alpha) are at
 * the best alpha of .2 .. .5 of each set, METHOD/id-alpha at the smallest of the best alphas on ID
 * validation; of vanilla and long-vanilla also METHOD/exp1-20, -30, -40 and METHOD/exp2-20, ..,
 * each at that alpha (in hundredths) on all sets.
 *
 * only_a counts images that a alone has right. Contrasts: each method's members against its own
 * average and its base's, and any two members that claims about accuracy name, within MAIN and
 * within LONG ("pre" is of both). A pair stands once, in either order.
 *
 * The options of a record name all that it depends on: images, steps and methods, "mnist" and
 * "fashion" (digests; null: Fashion-MNIST is not installed), and "recipes", a digest of all
 * trainings and of some images of each part. Images without labels, by which confidence-ood is
 * balanced, are of digits that no other part has (broad test of bang/data/shift.h).
 */
#ifndef BANG_LAB_SHIFT_H
#define BANG_LAB_SHIFT_H

#include "bang/data/shift.h"
#include "bang/model/vit_file.h"
#include "bang/train/tune.h"
#include "lab/lab.h"

enum { SHIFT_SETS = 6, SHIFT_ALPHAS = 11, SHIFT_EXP1 = 4 };
extern const char *const shift_set_names[SHIFT_SETS]; /* "ID", "V2", "R", "A", "S", "O" */
extern const double shift_alphas[SHIFT_ALPHAS];

/* A way of fine-tuning. */
typedef struct shift_method {
    const char *name;  /* "mixup-ls-10" */
    const char *title; /* "Mixup + LS(0.10)" */
    double smoothing, mixup;
    const char *augment; /* as --augment, or NULL */
    double rate;
    int steps; /* 500: MAIN, 1,200: LONG */
    int quick; /* part of the quick scale */
} shift_method;
const shift_method *shift_methods(size_t *count);

/* Images of a seed. */
typedef struct shift_data {
    bang_images broad, tune, validation; /* in memory */
    bang_images test[SHIFT_SETS];
} shift_data;

/* From units to what a person sees: chapters takes, in the order of the page,
 *     {"key": "lab/averages", "section": "The lab: why averages work", "show": [..]}
 * each for a record of its own, and result the summary for programs (of the first record, the
 * others may have an empty one). Pure functions of the records; options: their scale alone. */
int shift_summary(json_t *result, json_t *chapters, const json_t *units,
                  const bang_lab_options *options, bang_error *err);

/* Fashion-MNIST (appendix D.7.3): a linear probe of the pre-trained tower serves the towers of
 * PM, FM and their averages. result takes
 *     {"n", "alphas", "pre", "fine", "wse": [accuracy per alpha], "ose": [..],
 *      "only_wse", "only_ose"}                 the two: images that one alone has right, at 1/2
 * Left empty, with a note in result["missing"], where the data are not installed; torn files are
 * an error. */
int shift_fashion(json_t *result, const bang_vit_model *pre, const bang_vit_model *fine,
                  uint64_t seed, bang_cancel *cancel, bang_error *err);

/* Maps (Figure 2, right) of PM, FM, the average and another FM (NULL: none), the models in this
 * order, on the first images of each test set; all of the true class. result takes "maps" of a
 * record. picture: with the sheet of some images, "png". */
enum { SHIFT_MAP_IMAGES = 500 };
int shift_maps(json_t *result, const bang_vit_model *const models[4], const shift_data *data,
               int picture, bang_cancel *cancel, bang_error *err);
/* The chapter of maps, from the records: the sheet, a table, and verdicts by the lab's rule. Left
 * empty when no unit has maps. */
void shift_maps_show(json_t *show, const json_t *units);

#endif
