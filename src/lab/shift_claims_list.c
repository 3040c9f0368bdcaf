/* What the paper claims, as differences with a direction. */
#include "lab/shift_show.h"

/* Smallest effects that count: points of accuracy, of confidence or margin; what "nearly" is. */
#define SMALL 0.005
#define SMALL_CONFIDENCE 0.02
#define NEARLY 0.01
#define SAME_LOSS 0.0025 /* half of the 0.5 % that the paper has */

#define OOD_OF(a, b)                                                                               \
    {                                                                                              \
        SHIFT_ACCURACY, a, SHIFT_OOD, b, SHIFT_OOD                                                 \
    }
#define ID_OF(a, b)                                                                                \
    {                                                                                              \
        SHIFT_ACCURACY, a, 0, b, 0                                                                 \
    }
#define ONE(quantity, a, set)                                                                      \
    {                                                                                              \
        quantity, a, set, NULL, 0                                                                  \
    }
/* Roles of parts: LONG is a second look at what MAIN says. */
#define PART SHIFT_NEEDED
#define TURN SHIFT_TURNS
#define LONG SHIFT_SECOND
#define ABOVE SHIFT_IS_ABOVE, 0, SMALL
#define MORE_OFTEN SHIFT_IS_ABOVE, 0, 0 /* of rare groups: by any amount */
#define NOT_ABOVE SHIFT_IS_NOT_ABOVE, 0, SMALL
#define SHOWN SHIFT_IS_SHOWN, 0, SMALL
#define ABOVE_CONFIDENCE SHIFT_IS_ABOVE, 0, SMALL_CONFIDENCE

static const shift_clause pre_and_fine[] = {
    {PART, "FM over PM on ID", ID_OF("vanilla/fine", "pre"), ABOVE},
    {TURN, "PM over FM on OOD", OOD_OF("pre", "vanilla/fine"), ABOVE},
    {LONG, "LONG: FM over PM on ID", ID_OF("long-vanilla/fine", "pre"), SHOWN},
    {LONG, "LONG: PM over FM on OOD", OOD_OF("pre", "long-vanilla/fine"), ABOVE},
};
#define BETTER(name, set)                                                                          \
    {                                                                                              \
        PART, name, ONE(SHIFT_ALL, "vanilla", set), ABOVE                                          \
    }
static const shift_clause average_beats[] = {
    {TURN, "mean of the five", ONE(SHIFT_ALL, "vanilla", SHIFT_OOD), ABOVE},
    BETTER("V2", 1),
    BETTER("R", 2),
    BETTER("A", 3),
    BETTER("S", 4),
    BETTER("O", 5),
    {LONG, "LONG: mean of the five", ONE(SHIFT_ALL, "long-vanilla", SHIFT_OOD), ABOVE},
};
static const shift_clause average_id[] = {
    {PART, "over the better of the two", ONE(SHIFT_ALL, "vanilla", 0), ABOVE},
    {LONG, "LONG", ONE(SHIFT_ALL, "long-vanilla", 0), ABOVE},
};
static const shift_clause average_id_costs[] = {
    {PART, "average over FM on ID", ID_OF("vanilla/avg", "vanilla/fine"), SHIFT_IS_ABOVE, -NEARLY,
     -NEARLY},
    {LONG, "LONG", ID_OF("long-vanilla/avg", "long-vanilla/fine"), SHIFT_IS_ABOVE, -NEARLY,
     -NEARLY},
};
#define SHARE(name, set)                                                                           \
    {                                                                                              \
        PART, name, ONE(SHIFT_FFT, "vanilla", set), SHIFT_IS_ABOVE, SMALL, SMALL                   \
    }
static const shift_clause false_false_true[] = {SHARE("V2", 1), SHARE("R", 2), SHARE("A", 3),
                                                SHARE("S", 4), SHARE("O", 5)};
#define MORE(name, set)                                                                            \
    {                                                                                              \
        PART, name, ONE(SHIFT_BEYOND, "vanilla", set), ABOVE                                       \
    }
static const shift_clause beyond_gain[] = {MORE("V2", 1), MORE("R", 2), MORE("A", 3), MORE("S", 4),
                                           MORE("O", 5)};
#define BOTH(name, set)                                                                            \
    {                                                                                              \
        PART, name, ONE(SHIFT_BOTH, "vanilla", set), ABOVE                                         \
    }
static const shift_clause improve_both[] = {BOTH("ID", 0), BOTH("V2", 1), BOTH("R", 2),
                                            BOTH("A", 3),  BOTH("S", 4),  BOTH("O", 5)};
static const shift_clause twice[] = {
    {TURN, "FFT less twice TTF on OOD", ONE(SHIFT_TWICE, "vanilla", SHIFT_OOD), MORE_OFTEN},
    {PART,
     "FFT on OOD less FFT on ID",
     {SHIFT_FFT, "vanilla", SHIFT_OOD, "vanilla", 0},
     MORE_OFTEN},
};
#define LOST(name, set)                                                                            \
    {                                                                                              \
        PART, name " less ID", {SHIFT_TTF, "vanilla", set, "vanilla", 0}, SHIFT_IS_WITHIN, 0,      \
            SAME_LOSS                                                                              \
    }
static const shift_clause same_losses[] = {LOST("V2", 1), LOST("R", 2), LOST("A", 3), LOST("S", 4),
                                           LOST("O", 5)};
#define NEGATIVE(name, set)                                                                        \
    {                                                                                              \
        PART, name, ONE(SHIFT_ONE, "vanilla", set), SHIFT_IS_BELOW, 0, SMALL                       \
    }
static const shift_clause improve_one[] = {NEGATIVE("V2", 1), NEGATIVE("R", 2), NEGATIVE("A", 3),
                                           NEGATIVE("S", 4), NEGATIVE("O", 5)};
static const shift_clause wse_ose[] = {
    {PART, "MAIN", OOD_OF("vanilla/avg", "vanilla/ose"), ABOVE},
    {LONG, "LONG", OOD_OF("long-vanilla/avg", "long-vanilla/ose"), ABOVE},
};
static const shift_clause wse_ose_fashion[] = {
    {PART, "WSE over OSE", {SHIFT_FASHION, "wse", 0, "ose", 0}, NOT_ABOVE},
};

static const shift_clause bang_ls[] = {
    {PART, "MAIN", OOD_OF("ls-10/avg", "vanilla/avg"), ABOVE},
    {LONG, "LONG", OOD_OF("long-ls-10/avg", "long-vanilla/avg"), ABOVE},
};
static const shift_clause bang_mixup[] = {
    {PART, "MAIN", OOD_OF("mixup/avg", "vanilla/avg"), ABOVE},
    {LONG, "LONG", OOD_OF("long-mixup/avg", "long-vanilla/avg"), ABOVE},
};
static const shift_clause bang_both[] = {
    {PART, "MAIN", OOD_OF("mixup-ls-10/avg", "vanilla/avg"), ABOVE},
    {LONG, "LONG", OOD_OF("long-mixup-ls-10/avg", "long-vanilla/avg"), ABOVE},
};
static const shift_clause better_fine[] = {
    {PART, "LS", OOD_OF("ls-10/fine", "vanilla/fine"), ABOVE},
    {PART, "Mixup", OOD_OF("mixup/fine", "vanilla/fine"), ABOVE},
    {PART, "Mixup + LS", OOD_OF("mixup-ls-10/fine", "vanilla/fine"), ABOVE},
};
static const shift_clause other_augmentations[] = {
    {PART, "flip", OOD_OF("flip/avg", "vanilla/avg"), NOT_ABOVE},
    {PART, "rotate", OOD_OF("rotate/avg", "vanilla/avg"), NOT_ABOVE},
    {PART, "color", OOD_OF("color/avg", "vanilla/avg"), NOT_ABOVE},
};
static const shift_clause mixup_over_others[] = {
    {PART, "over flip", OOD_OF("mixup/avg", "flip/avg"), ABOVE},
    {PART, "over rotate", OOD_OF("mixup/avg", "rotate/avg"), ABOVE},
    {PART, "over color", OOD_OF("mixup/avg", "color/avg"), ABOVE},
};
#define SAME(name, a, b)                                                                           \
    {                                                                                              \
        PART, name, OOD_OF(a, b), SHIFT_IS_WITHIN, 0, SMALL                                        \
    }
static const shift_clause insensitive[] = {
    SAME("LS 0.05 against 0.10", "ls-05/avg", "ls-10/avg"),
    SAME("LS 0.15", "ls-15/avg", "ls-10/avg"),
    SAME("LS 0.20", "ls-20/avg", "ls-10/avg"),
    SAME("with Mixup 0.05", "mixup-ls-05/avg", "mixup-ls-10/avg"),
    SAME("with Mixup 0.15", "mixup-ls-15/avg", "mixup-ls-10/avg"),
    SAME("with Mixup 0.20", "mixup-ls-20/avg", "mixup-ls-10/avg"),
};

static const shift_clause over_confident[] = {
    {TURN, "FM on OOD", ONE(SHIFT_OVER, "vanilla/fine", SHIFT_OOD), ABOVE_CONFIDENCE},
    {PART,
     "more than PM",
     {SHIFT_OVER, "vanilla/fine", SHIFT_OOD, "pre", SHIFT_OOD},
     ABOVE_CONFIDENCE},
    {PART,
     "more than on ID",
     {SHIFT_OVER, "vanilla/fine", SHIFT_OOD, "vanilla/fine", 0},
     ABOVE_CONFIDENCE},
    {LONG, "LONG: FM on OOD", ONE(SHIFT_OVER, "long-vanilla/fine", SHIFT_OOD), ABOVE_CONFIDENCE},
};
static const shift_clause temperature[] = {
    {PART, "on ID", ONE(SHIFT_OVER, "vanilla/fine_calibrated", 0), SHIFT_IS_WITHIN, 0,
     SMALL_CONFIDENCE},
    {TURN, "on OOD", ONE(SHIFT_OVER, "vanilla/fine_calibrated", SHIFT_OOD), ABOVE_CONFIDENCE},
    {LONG, "LONG: on ID", ONE(SHIFT_OVER, "long-vanilla/fine_calibrated", 0), SHOWN},
    {LONG, "LONG: on OOD", ONE(SHIFT_OVER, "long-vanilla/fine_calibrated", SHIFT_OOD),
     ABOVE_CONFIDENCE},
};
#define EASES(role, name, method, base, set)                                                       \
    {                                                                                              \
        role, name, {SHIFT_GAP, base "/fine", set, method "/fine", set}, ABOVE_CONFIDENCE          \
    }
static const shift_clause ls_eases[] = {
    EASES(TURN, "on OOD", "ls-10", "vanilla", SHIFT_OOD),
    EASES(PART, "on ID", "ls-10", "vanilla", 0),
    EASES(LONG, "LONG: on OOD", "long-ls-10", "long-vanilla", SHIFT_OOD),
};
static const shift_clause mixup_eases[] = {
    EASES(TURN, "on OOD", "mixup", "vanilla", SHIFT_OOD),
    EASES(PART, "on ID", "mixup", "vanilla", 0),
    EASES(LONG, "LONG: on OOD", "long-mixup", "long-vanilla", SHIFT_OOD),
};
static const shift_clause both_ease[] = {
    EASES(TURN, "on OOD", "mixup-ls-10", "vanilla", SHIFT_OOD),
    EASES(PART, "on ID", "mixup-ls-10", "vanilla", 0),
    EASES(LONG, "LONG: on OOD", "long-mixup-ls-10", "long-vanilla", SHIFT_OOD),
};
#define NO_EASE(method)                                                                            \
    {                                                                                              \
        PART, method, {SHIFT_GAP, "vanilla/fine", SHIFT_OOD, method "/fine", SHIFT_OOD},           \
            SHIFT_IS_NOT_ABOVE, 0, SMALL_CONFIDENCE                                                \
    }
static const shift_clause others_do_not_ease[] = {NO_EASE("flip"), NO_EASE("rotate"),
                                                  NO_EASE("color")};
static const shift_clause head_scaled[] = {
    {PART, "alpha from the other seeds", OOD_OF("vanilla/exp1-others", "vanilla/avg"),
     SHIFT_IS_WITHIN, 0, SMALL},
    {PART, "best alpha of each set, as the paper takes it", OOD_OF("vanilla/exp1", "vanilla/avg"),
     SHOWN},
    {LONG, "LONG, from the other seeds", OOD_OF("long-vanilla/exp1-others", "long-vanilla/avg"),
     SHIFT_IS_WITHIN, 0, SMALL},
};
static const shift_clause all_scaled[] = {
    {PART, "alpha from the other seeds", OOD_OF("vanilla/exp2-others", "vanilla/avg"), ABOVE},
    {PART, "best alpha of each set, as the paper takes it", OOD_OF("vanilla/exp2", "vanilla/avg"),
     SHOWN},
    {LONG, "LONG, from the other seeds", OOD_OF("long-vanilla/exp2-others", "long-vanilla/avg"),
     ABOVE},
};
static const shift_clause nearly_bang[] = {
    {PART, "BANG over Exp 2", OOD_OF("mixup-ls-10/avg", "vanilla/exp2"), SHIFT_IS_WITHIN, 0,
     NEARLY},
    {LONG, "LONG", OOD_OF("long-mixup-ls-10/avg", "long-vanilla/exp2"), SHIFT_IS_WITHIN, 0, NEARLY},
};
static const shift_clause bang_over_exp2[] = {
    {PART, "MAIN", OOD_OF("mixup-ls-10/avg", "vanilla/exp2"), ABOVE},
    {LONG, "LONG", OOD_OF("long-mixup-ls-10/avg", "long-vanilla/exp2"), ABOVE},
};
static const shift_clause corrects_more[] = {
    {PART, "MAIN", {SHIFT_CORRECTED, "mixup-ls-10", SHIFT_OOD, "vanilla", SHIFT_OOD}, ABOVE},
    {LONG,
     "LONG",
     {SHIFT_CORRECTED, "long-mixup-ls-10", SHIFT_OOD, "long-vanilla", SHIFT_OOD},
     ABOVE},
};
static const shift_clause margins[] = {
    {PART, "WiSE-FT", ONE(SHIFT_MARGIN_SUM, "vanilla", SHIFT_OOD), SHIFT_IS_BELOW, 0,
     SMALL_CONFIDENCE},
    {PART, "BANG", ONE(SHIFT_MARGIN_SUM, "mixup-ls-10", SHIFT_OOD), ABOVE_CONFIDENCE},
    {LONG, "LONG: WiSE-FT", ONE(SHIFT_MARGIN_SUM, "long-vanilla", SHIFT_OOD), SHIFT_IS_BELOW, 0,
     SMALL_CONFIDENCE},
    {LONG, "LONG: BANG", ONE(SHIFT_MARGIN_SUM, "long-mixup-ls-10", SHIFT_OOD), ABOVE_CONFIDENCE},
};
static const shift_clause calibrated[] = {
    {PART, "MAIN", OOD_OF("mixup-ls-10/avg", "vanilla/calibrated_ose"), ABOVE},
    {LONG, "LONG", OOD_OF("long-mixup-ls-10/avg", "long-vanilla/calibrated_ose"), ABOVE},
};
#define BALANCED(role, name, prefix, kind, against)                                                \
    {                                                                                              \
        role, name, OOD_OF(prefix "vanilla/" kind, prefix against), ABOVE                          \
    }
#define AS_GOOD(role, name, prefix, kind, against)                                                 \
    {                                                                                              \
        role, name, OOD_OF(prefix "vanilla/" kind, prefix against), SHIFT_IS_ABOVE, -SMALL, -SMALL \
    }
static const shift_clause balanced[] = {
    BALANCED(PART, "one alpha", "", "confidence-ood", "vanilla/avg"),
    BALANCED(PART, "an alpha per layer", "", "layer-confidence-ood", "vanilla/avg"),
    BALANCED(LONG, "LONG: one alpha", "long-", "confidence-ood", "vanilla/avg"),
    BALANCED(LONG, "LONG: an alpha per layer", "long-", "layer-confidence-ood", "vanilla/avg"),
};
static const shift_clause balanced_id[] = {
    BALANCED(PART, "one alpha", "", "confidence-ood", "vanilla/id-alpha"),
    BALANCED(PART, "an alpha per layer", "", "layer-confidence-ood", "vanilla/id-alpha"),
    BALANCED(LONG, "LONG: one alpha", "long-", "confidence-ood", "vanilla/id-alpha"),
    BALANCED(LONG, "LONG: an alpha per layer", "long-", "layer-confidence-ood", "vanilla/id-alpha"),
};
static const shift_clause balanced_bang[] = {
    AS_GOOD(PART, "one alpha", "", "confidence-ood", "mixup-ls-10/avg"),
    AS_GOOD(PART, "an alpha per layer", "", "layer-confidence-ood", "mixup-ls-10/avg"),
    AS_GOOD(LONG, "LONG: one alpha", "long-", "confidence-ood", "mixup-ls-10/avg"),
    AS_GOOD(LONG, "LONG: an alpha per layer", "long-", "layer-confidence-ood", "mixup-ls-10/avg"),
};
static const shift_clause balanced_oracle[] = {
    AS_GOOD(PART, "one alpha", "", "confidence-ood", "vanilla/exp2"),
    AS_GOOD(PART, "an alpha per layer", "", "layer-confidence-ood", "vanilla/exp2"),
    AS_GOOD(LONG, "LONG: one alpha", "long-", "confidence-ood", "vanilla/exp2"),
    AS_GOOD(LONG, "LONG: an alpha per layer", "long-", "layer-confidence-ood", "vanilla/exp2"),
};

static const shift_clause quadratic[] = {
    {PART, "bend over the grid", ONE(SHIFT_BEND, "", SHIFT_OOD), ABOVE},
    {PART, "R\u00b2, each point predicted by the others", ONE(SHIFT_FIT, "", SHIFT_OOD),
     SHIFT_IS_ABOVE, .8, .8},
};
static const shift_clause above_curve[] = {
    {PART, "BANG (LS)", ONE(SHIFT_ABOVE_CURVE, "ls-10", SHIFT_OOD), ABOVE},
    {PART, "BANG (Mixup)", ONE(SHIFT_ABOVE_CURVE, "mixup", SHIFT_OOD), ABOVE},
    {PART, "BANG (Mixup + LS)", ONE(SHIFT_ABOVE_CURVE, "mixup-ls-10", SHIFT_OOD), ABOVE},
};

#define PARTS(list) sizeof list / sizeof *list, list
static const shift_claim claims[] = {
    {SHIFT_AVERAGES, 0, "Table 2, PM and FM",
     "The fine-tuned model (FM) is better than the pre-trained one (PM) in distribution and worse "
     "out of it",
     PARTS(pre_and_fine)},
    {SHIFT_AVERAGES, 0, "Table 2, WiSE-FT",
     "On all five shifted sets the average of PM and FM is better than the better of the two",
     PARTS(average_beats)},
    {SHIFT_AVERAGES, 0, "Table 2, WiSE-FT in distribution",
     "In distribution, too, the average is better than the better of the two", PARTS(average_id)},
    {SHIFT_AVERAGES, 0, "Beyond the paper",
     "In distribution the average costs no more than 1 point of FM's accuracy",
     PARTS(average_id_costs)},
    {SHIFT_AVERAGES, 0, "Figure 2 (left)",
     "On every shifted set the average gets a substantial share of images right that both of its "
     "models get wrong (FalseFalseTrue; substantial is what counts here: more than 0.5 % of all)",
     PARTS(false_false_true)},
    {SHIFT_AVERAGES, 1, "Figure 2 (left)",
     "On some shifted sets the share of FalseFalseTrue is larger than the whole improvement over "
     "the better model (0 where there is none)",
     PARTS(beyond_gain)},
    {SHIFT_AVERAGES, 0, "Figure 7, left (appendix C.1)",
     "ImproveContri(TT+FF) is positive on every set", PARTS(improve_both)},
    {SHIFT_AVERAGES, 1, "Figure 7, left (appendix C.1)",
     "ImproveContri(TF+FT) is negative on some sets: a confident FM wins where it is wrong",
     PARTS(improve_one)},
    {SHIFT_AVERAGES, 0, "Figure 7, right (appendix C.1)",
     "FalseFalseTrue is much more frequent than TrueTrueFalse (more than twice), and more so out "
     "of distribution",
     PARTS(twice)},
    {SHIFT_AVERAGES, 0, "Figure 7, right (appendix C.1)",
     "TrueTrueFalse is nearly the same on all sets (within 0.25 points of ID)", PARTS(same_losses)},
    {SHIFT_AVERAGES, 0, "Figure 16, left (appendix D.7.3)",
     "On shifted sets with the same labels averaging weights (WSE) is better than averaging "
     "outputs (OSE)",
     PARTS(wse_ose)},
    {SHIFT_AVERAGES, 0, "Figure 16, right (appendix D.7.3)",
     "On a task with other labels (Fashion-MNIST) WSE is no better than OSE",
     PARTS(wse_ose_fashion)},

    {SHIFT_BANG, 0, "Table 2, BANG (LS)", "BANG with label smoothing beats WiSE-FT",
     PARTS(bang_ls)},
    {SHIFT_BANG, 0, "Table 2, BANG (Mixup)", "BANG with Mixup beats WiSE-FT", PARTS(bang_mixup)},
    {SHIFT_BANG, 0, "Table 2, BANG (Mixup + LS)", "BANG with both beats WiSE-FT", PARTS(bang_both)},
    {SHIFT_BANG, 0, "Table 2, fine-tuning",
     "Label smoothing and Mixup also make the fine-tuned model better out of distribution",
     PARTS(better_fine)},
    {SHIFT_BANG, 0, "Table 8 (appendix E.5)", "Flip, rotate and color do not improve the average",
     PARTS(other_augmentations)},
    {SHIFT_BANG, 0, "Table 8 (appendix E.5)",
     "The average with Mixup is better than those with flip, rotate, color",
     PARTS(mixup_over_others)},
    {SHIFT_BANG, 0, "Table 9 (appendix E.5)",
     "BANG hardly depends on the strength of label smoothing (within 0.5 points of 0.10)",
     PARTS(insensitive)},

    {SHIFT_CALIBRATION, 0, "Figure 6",
     "FM is over-confident out of distribution: more than PM, and more than in distribution",
     PARTS(over_confident)},
    {SHIFT_CALIBRATION, 0, "Figure 18 b (appendix E.5)",
     "A temperature fitted in distribution calibrates FM there, but out of distribution it stays "
     "over-confident",
     PARTS(temperature)},
    {SHIFT_CALIBRATION, 0, "Figure 18 c (appendix E.5)",
     "Label smoothing brings FM's confidence nearer to its "
     "accuracy",
     PARTS(ls_eases)},
    {SHIFT_CALIBRATION, 0, "Figure 18 d (appendix E.5)",
     "Mixup brings FM's confidence nearer to its accuracy", PARTS(mixup_eases)},
    {SHIFT_CALIBRATION, 0, "Figure 18 e (appendix E.5)",
     "Both together bring FM's confidence nearer to its accuracy", PARTS(both_ease)},
    {SHIFT_CALIBRATION, 0, "Figure 19 (appendix E.5)",
     "Flip, rotate and color do not bring FM's confidence nearer to its accuracy",
     PARTS(others_do_not_ease)},
    {SHIFT_CALIBRATION, 0, "Table 10, Exp 1 (appendix E.6)",
     "Re-scaling the classifier alone hardly changes WiSE-FT (within 0.5 points)",
     PARTS(head_scaled)},
    {SHIFT_CALIBRATION, 0, "Table 10, Exp 2 (appendix E.6)",
     "Re-scaling the whole fine-tuned change improves WiSE-FT", PARTS(all_scaled)},
    {SHIFT_CALIBRATION, 0, "Table 10, Exp 2 and BANG (appendix E.6)",
     "Exp 2 with its best alpha of each set nearly equals BANG (within 1 point)",
     PARTS(nearly_bang)},
    {SHIFT_CALIBRATION, 0, "Table 10, BANG (appendix E.6)", "BANG is better than Exp 2",
     PARTS(bang_over_exp2)},
    {SHIFT_CALIBRATION, 0, "Table 11 (appendix E.6)",
     "BANG corrects more of what FM alone gets wrong than WiSE-FT does (N1/N2)",
     PARTS(corrects_more)},
    {SHIFT_CALIBRATION, 0, "Figure 20 (appendix E.6)",
     "Where PM is right and FM wrong, the two margins add up to less than 0 for WiSE-FT and to "
     "more than 0 for BANG",
     PARTS(margins)},
    {SHIFT_CALIBRATION, 0, "Beyond the paper",
     "BANG is better than an ensemble of outputs calibrated in distribution", PARTS(calibrated)},
    {SHIFT_CALIBRATION, 0, "Beyond the paper",
     "Balance by confidence, which finds alpha from unlabelled OOD images, improves WiSE-FT",
     PARTS(balanced)},
    {SHIFT_CALIBRATION, 0, "Beyond the paper",
     "Balance by confidence is better than the alpha that is best in distribution",
     PARTS(balanced_id)},
    {SHIFT_CALIBRATION, 0, "Beyond the paper",
     "Balance by confidence is as good as BANG, which has to fine-tune anew (no more than "
     "0.5 points below)",
     PARTS(balanced_bang)},
    {SHIFT_CALIBRATION, 0, "Beyond the paper",
     "Balance by confidence is as good as Exp 2, whose alpha the test labels chose (no more "
     "than 0.5 points below)",
     PARTS(balanced_oracle)},

    {SHIFT_CURVE, 0, "Figure 21 (appendix H)",
     "The average's OOD accuracy is a quadratic function of FM's: bent, and with R\u00b2 of 0.8 or "
     "more",
     PARTS(quadratic)},
    {SHIFT_CURVE, 0, "Figure 21, BANG (appendix H)",
     "BANG lies above the curve of vanilla fine-tuning", PARTS(above_curve)},
};

const shift_claim *shift_claims(size_t *count)
{
    *count = sizeof claims / sizeof *claims;
    return claims;
}
