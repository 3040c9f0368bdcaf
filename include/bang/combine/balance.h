/* How much of a fine-tuned model's change an average should take, from confidence alone.
 *
 * An average is dominated by the more confident of its two models (proposition 4 of the paper:
 * a model (L w, L Phi) next to (w, Phi)). With tau the temperature at which the fine-tuned
 * model is on average as confident as the pre-trained one, on data without labels, its logits are
 * tau times too large, and
 *
 *     (1 - alpha) z_pre + alpha z_fine  with  alpha = 1/(1 + tau)
 *
 * is proportional to z_pre + z_fine/tau, a sum of two equally confident models. (To ask instead
 * for the scale s at which pre + s (fine - pre) is as confident as pre finds s = 0: no change.)
 *
 * Whole model: alpha as above for all weights. It is right where averaged weights give averaged
 * logits, so for small changes. Where scales of several layers multiply it does too much: in the
 * paper's model each layer then has the weights 1 and 1/L, and the pre-trained model dominates.
 *
 * Layer by layer: tau(l) is the temperature of the pre-trained model with the fine-tuned layer l,
 * tau(-l) that of the fine-tuned model with the pre-trained layer l, and
 *
 *     tau_l = sqrt(tau(l) tau/tau(-l)),   alpha_l = 1/(1 + tau_l).
 *
 * Both hybrids lose confidence because their layers were not made for each other; the quotient
 * takes that out. In the paper's model, where w and Phi are each L times too large, tau = L^2,
 * tau(l) = tau(-l) = L r with r < 1 the fewer features that both models share, and tau_l = L:
 * alpha_l gives both models the same weight in each layer, which is what the proposition asks
 * for. tau(l) alone would be L r, and without common features 0. Of two layers the tau_l
 * multiply to tau.
 *
 *     scale of the change, next to the plain average's 1/2:  s = 2 alpha
 *
 * A fine-tuned model that is less confident has tau < 1, alpha > 1/2 and s > 1.
 */
#ifndef BANG_COMBINE_BALANCE_H
#define BANG_COMBINE_BALANCE_H

#include <stddef.h>

#include "bang/base/error.h"

/* What a model does on the data: fills *confidence with its mean confidence, in 0..1, and *tau
 * with the temperature, above 0, at which that equals target. hybrid (layers) says with 1 which
 * layers are the fine-tuned model's: all 0 is the pre-trained, all 1 the fine-tuned one. The
 * first call is for the pre-trained model, with its target not known yet (NaN): tau is not looked
 * at. */
typedef int (*bang_balance_probe)(void *context, double *confidence, double *tau, double target,
                                  const unsigned char *hybrid, size_t layers, bang_error *err);

typedef struct bang_balance_layer {
    double confidence; /* of the pre-trained model with this layer, or of the fine-tuned model */
    double without;    /* of the fine-tuned model without this layer, or of the pre-trained one */
    double tau, alpha, scale;
} bang_balance_layer;

typedef struct bang_balance {
    double confidence;          /* of the pre-trained model */
    bang_balance_layer whole;   /* of the fine-tuned model */
    size_t layer_count;         /* 0 unless asked for */
    bang_balance_layer *layers; /* (layer_count) owned */
} bang_balance;

/* layers: how many there are; by_layer: measure each, with two probes (none if it is the only
 * one). The caller releases it. */
int bang_balance_find(bang_balance *out, size_t layers, int by_layer, bang_balance_probe probe,
                      void *context, bang_error *err);
void bang_balance_release(bang_balance *balance);
/* 1/(1 + tau) */
double bang_balance_alpha(double tau);

#endif
